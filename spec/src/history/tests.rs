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
