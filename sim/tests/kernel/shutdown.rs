//! A process that is asked to end, beside one that is killed.

use crate::probe::*;
use host::{Activity, Connection, Host};
use sim::{Lasts, When};

fn shutdown(node: host::NodeId) -> What {
    What::Shutdown(on(node))
}

/// Says something when it is dropped.
struct LastWords(Process);

impl Drop for LastWords {
    fn drop(&mut self) {
        self.0.note(Note::Said("goodbye"));
    }
}

#[test]
fn who_is_asked_to_end_has_last_words_and_who_is_killed_has_none() {
    for (what, said) in
        [(None, vec![9_000]), (Some(shutdown(CLIENT)), vec![1_000]), (Some(What::Kill(on(CLIENT))), vec![])]
    {
        let world = World::new(Persistence::None).client(|host, _| async move {
            let _words = LastWords(host.clone());
            host.sleep(secs(9)).await;
        });
        let world = match what {
            Some(what) => world.fault(at(1_000), what, Lasts::ToTheEnd),
            None => world,
        };
        let (_, outcome) = world.run();
        assert_eq!(times(&outcome, &Note::Said("goodbye")), said);
    }
}

#[test]
fn what_was_decided_before_the_end_still_leaves() {
    for (what, kept) in [(shutdown(CLIENT), vec![7]), (What::Kill(on(CLIENT)), vec![])] {
        let world = World::awaited().client(|host, _| async move {
            let line = line(&host).await;
            host.point(host::Point("about-to-put")).await;
            let _ = put(&line, 7).await;
        });
        // Before the step in which the request leaves.
        let struck = world.fault(When::Step { node: CLIENT, nth: 4 }, what, Lasts::ToTheEnd);
        let (_, outcome) = struck.run();
        assert_eq!(stored(&outcome), kept);
        assert_eq!(outcome.nodes[1].activity.last().map(|(_, doing)| *doing), Some(Activity::Dead));
    }
}

#[test]
fn a_service_is_told_and_closes_its_connections_and_starts_again() {
    for on_off in [false, true] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let first = line(&host).await;
            let _ = put(&first, 7).await;
            log.say(&host, first.pushed().await.map(|pushed| pushed.0));
            until(&host, 2_500).await;
            log.say(&host, get(&line(&host).await).await.map(|kept| kept.0));
        });
        let world = world.client(|host, _| async move {
            // What ends the first one's waiting if nothing else does.
            let line = line(&host).await;
            until(&host, 3_000).await;
            let _ = put(&line, 8).await;
        });
        let (log, outcome) = world.fault_if(on_off, at(1_000), shutdown(SERVER), lasts(1_000)).run();
        assert_eq!(times(&outcome, &Note::Stopping), if on_off { vec![1_000] } else { vec![] });
        if on_off {
            assert_eq!(log.lines(), [(1_001, "None".to_owned()), (2_504, "Ok(7)".to_owned())]);
            let activity: Vec<_> = outcome.nodes[0].activity.iter().map(|(at, doing)| (millis(*at), *doing)).collect();
            assert_eq!(activity, [(1_000, Activity::Dead), (2_000, Activity::Running)]);
        } else {
            assert_eq!(outcome.nodes[0].activity, []);
        }
    }
}

#[test]
fn who_stands_still_ends_when_it_runs_again_and_is_back_at_once_if_its_time_is_over() {
    for (length, back) in [(1_000, 3_000), (4_000, 5_000)] {
        let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
        let world = world.fault(at(500), What::Pause(on(SERVER)), lasts(2_500));
        let (_, outcome) = world.fault(at(1_000), shutdown(SERVER), lasts(length)).run();
        assert_eq!(times(&outcome, &Note::Stopping), [3_000]);
        assert_eq!(times(&outcome, &Note::Started), [0, back]);
    }
}

#[test]
fn who_is_killed_meanwhile_does_not_end_twice() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
    let world = world.fault(at(500), What::Pause(on(SERVER)), lasts(2_500));
    let world = world.fault(at(1_000), shutdown(SERVER), lasts(1));
    let (_, outcome) = world.fault(at(1_500), What::Kill(on(SERVER)), lasts(1)).run();
    assert_eq!((times(&outcome, &Note::Stopping), times(&outcome, &Note::Started)), (vec![], vec![0, 1_501]));
}

#[test]
fn the_dead_are_not_asked() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
    let world = world.fault(at(500), What::Kill(on(SERVER)), lasts(1_000));
    let (_, outcome) = world.fault(at(1_000), shutdown(SERVER), lasts(2_000)).run();
    assert_eq!((times(&outcome, &Note::Stopping), times(&outcome, &Note::Started)), (vec![], vec![0, 3_000]));
}

#[test]
fn what_is_closed_in_the_end_is_closed_at_the_server_too() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let _line = line(&host).await;
        host.sleep(secs(9)).await;
    });
    let world = world.client(|host, _| async move { host.sleep(secs(3)).await });
    let (_, outcome) = world.fault(at(1_000), shutdown(CLIENT), Lasts::ToTheEnd).run();
    assert_eq!(times(&outcome, &Note::Closed), [1_001]);
}
