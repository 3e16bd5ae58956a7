//! Processes that stand still, hang, die and start again.

use std::future::Future;
use std::rc::Rc;

use fencepost_madsim::MadHost;
use host::{AttemptId, Connection, Duration, Host, Name, Part, Point, Purpose};
use models::redis::Command;
use sim::{Lasts, Target, What, When};
use spec::Note;

use crate::probe::*;

#[test]
fn who_stands_still_does_not_see_its_timer_before_its_reply() {
    let pause = |when| fault(What::Pause(node(CLIENT)), when, lasts(5_000));
    let calls = async |tells: Tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.point(HERE).await;
        tells.tell("runs");
        tells.tell(connection.call(incr(), ms(100)).await);
    };
    let (what, outcome) = play(vec![pause(at(5))], calls);
    assert_eq!(told(&what), [(4, "\"runs\""), (5_005, "Ok(Int(1))")], "the reply was in the socket");
    assert_eq!(outcome.strikes[0].met, 1);
    let (what, _) = play(vec![pause(here())], calls);
    assert_eq!(told(&what), [(5_004, "\"runs\""), (5_008, "Ok(Int(1))")], "it stands at the point itself");
}

#[test]
fn a_process_that_stands_still_sends_nothing() {
    let pause = fault(What::Pause(node(SERVER)), at(5), lasts(1_000));
    let (what, outcome) = play(vec![pause], calls);
    assert_eq!(told(&what), [(1_007, "Ok(Int(1))")]);
    assert_eq!(outcome.strikes[0].met, 1, "the request waited in its socket");
}

#[test]
fn one_part_hangs_while_the_other_lives() {
    let stall = fault(What::Stall(Target::Node(CLIENT), Part::WORKER), at(15), lasts(20));
    let (what, outcome) = play(vec![stall], async |tells| {
        let (host, told) = (tells.host.clone(), Rc::clone(&tells.told));
        let renewal = tells.host.spawn(Part::RENEWAL, async move {
            let tells = Tells { host, told };
            for _ in 0..2 {
                tells.host.sleep(ms(10)).await;
                tells.tell("renewal");
            }
        });
        for _ in 0..2 {
            tells.host.sleep(ms(10)).await;
            tells.tell("worker");
        }
        renewal.await;
    });
    let at = |who: &str| what.iter().filter(|(_, what)| what == who).map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!((at("\"worker\""), at("\"renewal\"")), (vec![10, 35], vec![10, 20]));
    assert_eq!(outcome.nodes[1].activity.len(), 2);
}

#[test]
fn a_throttled_process_runs_and_stands_in_turn() {
    let what = What::Throttle { target: Target::Node(CLIENT), run: ms(10), stop: ms(90) };
    let (what, _) = play(vec![fault(what, at(0), lasts(250))], async |tells| {
        for _ in 0..3 {
            tells.host.sleep(ms(15)).await;
            tells.tell(());
        }
    });
    // It stands from 10 to 100, from 110 to 200, and from 210 to 250.
    assert_eq!(told(&what), [(100, "()"), (200, "()"), (250, "()")]);
}

#[test]
fn what_is_done_in_a_spawned_task_is_done_for_the_attempt() {
    let (_, outcome) = play(vec![], async |tells| {
        let attempt = tells.host.open_attempt();
        let (host, told) = (tells.host.clone(), Rc::clone(&tells.told));
        let takes = async move {
            let tells = Tells { host, told };
            let connection = tells.connect().await.expect("the server lives");
            let set = Command::set_nx(Name::fixed("lock"), "value".into(), None);
            tells.tell(connection.call(set, LONG).await);
        };
        tells.host.attempt(attempt, async { tells.host.spawn(Part::WORKER, takes).await }).await;
    });
    let owner = |note: &Note| matches!(note, Note::Owner { attempt: Some(attempt), .. } if attempt.ordinal() == 1);
    assert!(outcome.notes.iter().any(|noted| owner(&noted.note)), "{:?}", outcome.notes);
}

#[test]
fn a_service_that_is_stopped_in_its_own_step_answers_when_it_runs_again_or_never() {
    let owner = || When::Milestone { clients: vec![CLIENT], point: Point("owner"), nth: 1, plus: Duration::ZERO };
    let (what, _) = play(vec![fault(What::Pause(node(SERVER)), owner(), lasts(1_000))], takes);
    assert_eq!(told(&what), [(1_008, "Ok(Ok)")], "it stood with its answer in hand");
    let (what, _) = play(vec![fault(What::Kill(node(SERVER)), owner(), lasts(1_000))], takes);
    assert_eq!(told(&what), [(8, "Err(Closed)")]);
}

#[test]
fn a_service_that_is_stopped_attends_to_nothing_more() {
    let owner = When::Milestone { clients: vec![CLIENT], point: Point("owner"), nth: 1, plus: Duration::ZERO };
    let (what, _) = play(vec![fault(What::Pause(node(SERVER)), owner, lasts(1_000))], async |tells| {
        let attempt = tells.host.open_attempt();
        let [one, other] = [tells.connect().await, tells.connect().await].map(|opened| opened.expect("it lives"));
        let set = Command::set_nx(Name::fixed("lock"), "value".into(), None);
        let takes = async {
            _ = tells.host.attempt(attempt, one.call(set, LONG)).await;
        };
        let counts = async {
            tells.host.sleep(ms(1)).await;
            tells.tell(other.call(incr(), LONG).await);
        };
        let both: [std::pin::Pin<Box<dyn Future<Output = ()>>>; 2] = [Box::pin(takes), Box::pin(counts)];
        host::all(both).await;
    });
    assert_eq!(what.len(), 1);
    assert!(what[0].0 > 1_000, "{what:?}");
}

#[test]
fn a_part_that_hangs_before_it_begins_does_not_begin() {
    let stall = fault(What::Stall(Target::Node(CLIENT), Part::RENEWAL), at(5), lasts(45));
    let (what, _) = play(vec![stall], async |tells| {
        tells.host.sleep(ms(10)).await;
        let (host, told) = (tells.host.clone(), Rc::clone(&tells.told));
        tells.host.spawn(Part::RENEWAL, async move { Tells { host, told }.tell(()) }).await;
    });
    assert_eq!(told(&what), [(50, "()")]);
}

#[test]
fn drop_code_of_a_killed_process_has_no_effect() {
    struct Unlocks(MadHost, AttemptId);
    impl Drop for Unlocks {
        fn drop(&mut self) {
            self.0.note(Note::Ended { attempt: self.1 });
        }
    }
    let holds = async |tells: Tells| {
        let attempt = tells.host.open_attempt();
        let _held = Unlocks(tells.host.clone(), attempt);
        tells.host.point(HERE).await;
        tells.host.sleep(ms(50)).await;
    };
    let (_, outcome) = play(vec![], holds);
    assert_eq!((outcome.notes.len(), outcome.ignored_dead_effects), (1, 0));
    for paused in [false, true] {
        let mut faults = vec![fault(What::Kill(node(CLIENT)), at(20), lasts(20))];
        faults.extend(paused.then(|| fault(What::Pause(node(CLIENT)), here(), Lasts::ToTheEnd)));
        let (_, outcome) = play(faults, holds);
        let [Note::Ended { attempt }] = [&outcome.notes[0].note] else { panic!("{:?}", outcome.notes) };
        assert_eq!((outcome.notes.len(), attempt.ordinal()), (1, 2), "only the second life ends");
        assert_eq!(outcome.ignored_dead_effects, 1, "paused: {paused}");
    }
}

#[test]
fn a_restarted_process_has_new_attempts_and_goes_on_drawing() {
    let kill = fault(What::Kill(node(CLIENT)), at(20), lasts(20));
    let (what, _) = play(vec![kill], async |tells| {
        tells.tell((tells.host.open_attempt().ordinal(), tells.host.random(Purpose::Recipe)));
        tells.host.sleep(ms(50)).await;
    });
    assert_eq!(what.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 40]);
    assert!(what[0].1.starts_with("(1,") && what[1].1.starts_with("(2,"), "{what:?}");
    assert_ne!(what[0].1.split(',').next_back(), what[1].1.split(',').next_back());
}

#[test]
fn a_waiting_caller_can_be_interrupted() {
    use host::Stage;
    let cancel = fault(What::Cancel(node(CLIENT)), at(20), Lasts::Instant);
    let (what, outcome) = play(vec![cancel], async |tells| {
        tells.host.interrupted().await;
        tells.tell(());
    });
    assert_eq!(told(&what), [(20, "()")]);
    assert_eq!(outcome.strikes[0].met, 1);
}

#[test]
fn who_no_longer_waits_is_not_interrupted() {
    use host::Stage;
    let cancel = fault(What::Cancel(node(CLIENT)), at(20), Lasts::Instant);
    let (_, outcome) = play(vec![cancel], async |tells| {
        host::first(tells.host.interrupted(), tells.host.sleep(ms(5))).await;
        tells.host.sleep(ms(50)).await;
    });
    assert_eq!(outcome.strikes[0].met, 0);
}
