use host::AttemptId;

use super::*;
use crate::testing::{Story, ms};

const CLIENT: NodeId = NodeId::new(1);

fn when(story: &Story, reading: u64) -> SimTime {
    story.history.when(CLIENT, MonoTime::from_nanos(reading * 1_000_000))
}

#[test]
fn a_reading_is_reached_in_the_segment_that_counts_up_to_it() {
    let mut story = Story::new();
    story.at(100).client(1).runs_at(-500_000);
    story.at(300).client(1).runs_at(0);
    let readings = [0, 50, 100, 150, 200, 201].map(|reading| when(&story, reading));
    assert_eq!(readings, [ms(0), ms(50), ms(100), ms(200), ms(300), ms(301)]);
}

#[test]
fn a_clock_that_stands_still_reaches_nothing_meanwhile() {
    let mut story = Story::new();
    story.at(100).client(1).ticks(Ticking::AllButMonotonic);
    assert_eq!((when(&story, 100), when(&story, 101)), (ms(100), SimTime::NEVER));
    story.at(500).client(1).ticks(Ticking::All);
    assert_eq!((when(&story, 100), when(&story, 101)), (ms(100), ms(501)));
}

#[test]
fn a_lease_may_be_counted_on_a_clock_that_sleep_does_not_stop() {
    for (clock, at) in [(Clock::Monotonic, 501), (Clock::Boottime, 101), (Clock::Wall, 101)] {
        let mut story = Story::new();
        story.at(5).client(1).counts_on(clock);
        story.at(100).client(1).ticks(Ticking::AllButMonotonic);
        story.at(500).client(1).ticks(Ticking::All);
        assert_eq!(when(&story, 101), ms(at), "{clock:?}");
    }
}

#[test]
fn a_wall_clock_that_is_set_reaches_a_reading_for_good_when_it_is_last_below() {
    let set = |by: i64, back: i64| {
        let mut story = Story::new();
        story.at(5).client(1).counts_on(Clock::Wall);
        story.at(100).client(1).steps(by);
        story.at(200).client(1).steps(back);
        [150, 250].map(|reading| when(&story, reading))
    };
    assert_eq!(set(0, 0), [ms(150), ms(250)]);
    assert_eq!(set(1_000, 0), [ms(100), ms(100)], "it is set past both");
    assert_eq!(set(0, -100), [ms(250), ms(350)], "the first is reached twice");
    assert_eq!(set(1_000, -1_000), [ms(100), ms(250)], "set back to 200, it is below the second only");
}

#[test]
fn a_node_does_what_it_last_changed_to() {
    let mut story = Story::new();
    story.at(100).client(1).pauses();
    story.at(200).client(1).dies();
    let node = &story.history.nodes[CLIENT.index()];
    let doing = [99, 100, 199, 200].map(|at| node.doing(ms(at)));
    assert_eq!(doing, [Activity::Running, Activity::Paused, Activity::Paused, Activity::Dead]);
}

#[test]
fn authorities_are_a_set() {
    let (one, two) = (NodeId::new(1), NodeId::new(2));
    let mut both = Authorities::one(one).union(Authorities::one(two));
    assert_eq!((both.len(), both.contains(one)), (2, true));
    both.forget(one);
    assert_eq!(both, Authorities::one(two));
}

#[test]
fn notes_as_json_are_written_down() {
    // Golden: histories are kept in files, and read by later versions.
    let attempt = AttemptId::new(NodeId::new(2), std::num::NonZeroU32::MIN);
    let mut counted = Authorities::one(NodeId::new(0));
    counted.count(NodeId::new(4));
    let written = [
        (
            Note::Attempting { attempt, lock: "orders".into(), thread: Thread(1), after: None, mode: Mode::Exclusive },
            r#"{"attempting":{"attempt":{"client":2,"ordinal":1},"lock":"orders","thread":1,"after":null}}"#,
        ),
        (
            Note::Granted { attempt, token: Some(Token(33)), until: Some(MonoTime::from_nanos(9)), counted },
            r#"{"granted":{"attempt":{"client":2,"ordinal":1},"token":33,"until":9,"counted":[0,4]}}"#,
        ),
        (Note::ToldOfLoss { attempt }, r#"{"told-of-loss":{"attempt":{"client":2,"ordinal":1}}}"#),
        (
            Note::Owner { authority: NodeId::new(0), key: "orders".into(), attempt: None, cause: Cause::Expiry },
            r#"{"owner":{"authority":0,"key":"orders","attempt":null,"cause":"expiry"}}"#,
        ),
        (
            Note::Owner {
                authority: NodeId::new(0),
                key: "orders".into(),
                attempt: Some(attempt),
                cause: Cause::Request(Some(attempt)),
            },
            r#"{"owner":{"authority":0,"key":"orders","attempt":{"client":2,"ordinal":1},"cause":{"request":{"client":2,"ordinal":1}}}}"#,
        ),
        (
            Note::Wrote { attempt: None, op: OpId(3), object: "x".into(), based_on: None, replaced: Version(7) },
            r#"{"wrote":{"attempt":null,"op":3,"object":"x","based_on":null,"replaced":7}}"#,
        ),
    ];
    for (note, json) in written {
        let entry = Entry { at: ms(1), node: NodeId::new(2), note };
        let line = format!(r#"{{"at":1000000,"node":2,"note":{json}}}"#);
        assert_eq!(serde_json::to_string(&entry).expect("it is plain data"), line);
        assert_eq!(serde_json::from_str::<Entry>(&line).expect("it was just written"), entry);
    }
    assert!(serde_json::from_str::<Authorities>("[64]").is_err());
    assert!(serde_json::from_str::<AttemptId>(r#"{"client":2,"ordinal":0}"#).is_err());
}
