//! When faults strike, and what of a run is counted.

use host::{Connection, Duration, Ending, Host, Part};
use models::redis::Command;
use sim::{Bounds, Lasts, What, When};
use spec::{Cause, Note};

use crate::probe::*;

fn reached(clients: Vec<host::NodeId>, plus: u64) -> When {
    When::Milestone { clients, point: HERE, nth: 1, plus: ms(plus) }
}

#[test]
fn a_milestone_is_its_client_s_and_the_fault_may_come_some_time_after() {
    let pause = |when| fault(What::Pause(node(CLIENT)), when, lasts(1_000));
    let sleeps = async |tells: Tells| {
        tells.host.point(HERE).await;
        for _ in 0..2 {
            tells.host.sleep(ms(20)).await;
            tells.tell(());
        }
    };
    let (what, outcome) = play(vec![pause(reached(vec![SERVER], 0))], sleeps);
    assert_eq!((told(&what), outcome.strikes.len()), (vec![(20, "()"), (40, "()")], 0));
    let (what, _) = play(vec![pause(reached(vec![CLIENT], 30))], sleeps);
    assert_eq!(told(&what), [(20, "()"), (1_030, "()")]);
}

#[test]
fn each_fault_ends_at_its_own_moment() {
    let pause = |until| fault(What::Pause(node(CLIENT)), at(5), Lasts::Until(at(until)));
    let (what, outcome) = play(vec![pause(100), pause(300)], async |tells| {
        tells.host.sleep(ms(10)).await;
        tells.tell(());
    });
    assert_eq!(told(&what), [(300, "()")]);
    let end =
        |fault: usize| outcome.strikes.iter().find(|strike| strike.fault == fault).and_then(|strike| strike.until);
    assert_eq!([0, 1].map(|fault| end(fault).map(|end| end.as_nanos() / 1_000_000)), [Some(100), Some(300)]);
}

#[test]
fn what_recurs_does_so_as_often_as_it_says_and_is_waited_for() {
    let every = When::Every { at: ms(10), every: ms(100), times: Some(3) };
    let (_, outcome) = play(vec![fault(What::Pause(node(SERVER)), every, lasts(20))], calls);
    let strikes: Vec<_> = outcome.strikes.iter().map(|strike| strike.from.as_nanos() / 1_000_000).collect();
    assert_eq!(strikes, [10, 110, 210]);
    assert_eq!((outcome.ending, outcome.end.as_nanos() / 1_000_000), (Ending::Quiet, 230));
}

#[test]
fn a_server_that_stops_in_its_step_leaves_the_next_request_where_it_is() {
    let stall = fault(What::Stall(sim::Target::Node(SERVER), Part::REQUESTS), at(3), lasts(57));
    let owner = When::Milestone { clients: vec![CLIENT], point: host::Point("owner"), nth: 1, plus: ms(0) };
    let pause = fault(What::Pause(node(SERVER)), owner, lasts(1_000));
    let (_, outcome) = play(vec![stall, pause], async |tells| {
        let [one, other] = [tells.connect().await, tells.connect().await].map(|opened| opened.expect("it lives"));
        let set = |lock| Command::set_nx(host::Name::fixed(lock), "value".into(), None);
        let [first, second] = [tells.host.open_attempt(), tells.host.open_attempt()];
        let takes = async { tells.host.attempt(first, one.call(set("lock"), LONG)).await.is_ok() };
        let takes_another = async {
            tells.host.sleep(ms(1)).await;
            tells.host.attempt(second, other.call(set("other"), LONG)).await.is_ok()
        };
        let both: [std::pin::Pin<Box<dyn Future<Output = bool>>>; 2] = [Box::pin(takes), Box::pin(takes_another)];
        host::all(both).await;
    });
    let owned: Vec<_> = outcome.notes.iter().map(|noted| noted.at.as_nanos() / 1_000_000).collect();
    assert_eq!(owned, [60, 1_060]);
}

#[test]
fn a_key_that_expires_sooner_wakes_the_timer_of_one_that_was_to_come() {
    let (_, outcome) = play(vec![], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        for (lock, px) in [("slow", 5_000), ("quick", 100)] {
            let attempt = tells.host.open_attempt();
            let set = Command::set_nx(host::Name::fixed(lock), "value".into(), Some(px));
            let _ = tells.host.attempt(attempt, connection.call(set, LONG)).await;
        }
        tells.host.sleep(ms(300)).await;
    });
    let gone = |note: &Note| matches!(note, Note::Owner { attempt: None, cause: Cause::Expiry, .. });
    let expired: Vec<_> =
        outcome.notes.iter().filter(|noted| gone(&noted.note)).map(|noted| noted.at.as_nanos() / 1_000_000).collect();
    // Set at 10 ms; through the whole of its last millisecond it is there.
    assert_eq!(expired, [111]);
}

#[test]
fn messages_are_counted_and_what_is_no_use_to_anybody_is_not_sent() {
    let (_, outcome) = play(vec![], calls);
    assert_eq!(outcome.messages, 2);
    // It gives up and closes while the server stands still.
    let pause = fault(What::Pause(node(SERVER)), at(5), lasts(100));
    let (_, outcome) = play(vec![pause], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        host::first(connection.call(incr(), LONG), tells.host.sleep(ms(20))).await;
        drop(connection);
        tells.host.sleep(ms(200)).await;
    });
    assert_eq!(outcome.messages, 1, "the request");
}

#[test]
fn what_leaves_for_the_resource_is_noted() {
    let (_, outcome) = play(vec![], async |tells| {
        let attempt = tells.host.open_attempt();
        let _ = tells.host.attempt(attempt, writes(&tells)).await;
    });
    let names: Vec<_> = outcome.notes.iter().map(|noted| matches!(noted.note, Note::Left { .. })).collect();
    assert_eq!(names, [true, false], "it leaves, and is applied");
}

#[test]
fn what_is_dropped_acts_in_its_own_attempt() {
    struct TakesOnDrop(fencepost_madsim::MadHost);
    impl Drop for TakesOnDrop {
        fn drop(&mut self) {
            let (host, told) = (self.0.clone(), Told::default());
            drop(self.0.spawn(Part::WORKER, async move {
                let tells = Tells { host, told };
                let connection = tells.connect().await.expect("the server lives");
                let _ = connection.call(Command::set_nx(host::Name::fixed("lock"), "v".into(), None), LONG).await;
            }));
        }
    }
    let (_, outcome) = play(vec![], async |tells| {
        let attempt = tells.host.open_attempt();
        let held = TakesOnDrop(tells.host.clone());
        let waits = tells.host.attempt(attempt, async move {
            let _held = held;
            std::future::pending::<()>().await;
        });
        host::first(waits, tells.host.sleep(ms(10))).await;
        tells.host.sleep(ms(50)).await;
    });
    let owner = |note: &Note| matches!(note, Note::Owner { attempt: Some(attempt), .. } if attempt.ordinal() == 1);
    assert!(outcome.notes.iter().any(|noted| owner(&noted.note)), "{:?}", outcome.notes);
}

#[test]
fn a_task_that_is_aborted_goes_no_further() {
    use host::Task;
    let (what, _) = play(vec![], async |tells| {
        let (host, told) = (tells.host.clone(), std::rc::Rc::clone(&tells.told));
        let task = tells.host.spawn(Part::WORKER, async move {
            host.sleep(ms(50)).await;
            Tells { host, told }.tell("too late");
        });
        tells.host.sleep(ms(10)).await;
        task.abort();
        tells.host.sleep(ms(100)).await;
    });
    assert_eq!(told(&what), []);
}

#[test]
fn a_failing_call_costs_its_own_connection_s_calls_alone() {
    use host::Operation;
    use sim::{Direction, MessageMatch};
    let late = |nth, by| {
        let (direction, operation) = (Direction::Reply, Operation("incr"));
        let which = MessageMatch { direction, operation, clients: node(CLIENT), server: None, nth: Some(nth) };
        fault(What::Delay(which, host::Span::Fixed(ms(by))), at(0), Lasts::ToTheEnd)
    };
    let (what, _) = play(vec![late(1, 5_000), late(2, 300)], async |tells| {
        let [one, other] = [tells.connect().await, tells.connect().await].map(|opened| opened.expect("it lives"));
        let calls: [std::pin::Pin<Box<dyn Future<Output = bool>>>; 2] = [
            Box::pin(async { one.call(incr(), ms(100)).await.is_ok() }),
            Box::pin(async { other.call(incr(), LONG).await.is_ok() }),
        ];
        tells.tell(host::all(calls).await);
    });
    assert_eq!(what[0].1, "[false, true]");
}

#[test]
fn a_run_ends_with_its_budget_or_its_horizon() {
    let busy = || {
        async |tells: Tells| {
            for _ in 0..1_000 {
                tells.host.sleep(ms(1)).await;
            }
        }
    };
    let bounds = |horizon, events| Bounds { horizon: Duration::from_millis(horizon), events };
    assert_eq!(play_within(bounds(60_000, 100), busy()).ending, Ending::Budget);
    let outcome = play_within(bounds(500, 100_000), busy());
    assert_eq!((outcome.ending, outcome.end.as_nanos()), (Ending::Horizon, 500_000_000));
}

#[test]
fn wall_clocks_begin_where_they_are_told_to_and_keys_live_by_the_server_s() {
    const HOUR: i64 = 3_600_000_000_000;
    let (what, outcome) = play_at([HOUR, -HOUR], async |tells| {
        tells.tell(tells.host.wall().millis() - 1_700_000_000_000);
        let connection = tells.connect().await.expect("the server lives");
        let attempt = tells.host.open_attempt();
        let set = Command::set_nx(host::Name::fixed("lock"), "value".into(), Some(100));
        let _ = tells.host.attempt(attempt, connection.call(set, LONG)).await;
        tells.host.sleep(ms(300)).await;
    });
    assert_eq!(told(&what), [(0, "-3600000")]);
    let expiry = outcome.notes.iter().find(|noted| matches!(noted.note, Note::Owner { attempt: None, .. }));
    assert_eq!(expiry.map(|noted| noted.at.as_nanos() / 1_000_000), Some(107));
}
