//! A machine finds out whether the other side of a connection is there still.

use host::{Ending, KeepAlive};
use sim::{Held, Lasts, Outcome};

use crate::probe::*;

/// Asks after 10 s without a word, every 5 s, and gives up 5 s after the third question.
const HOW: KeepAlive = KeepAlive { idle: secs(10), interval: secs(5), count: 3, user_timeout: secs(0) };
/// The client was last heard when it had the reply.
const HEARD: u64 = 4;

/// A client that says nothing once it has asked to be heeded, until it asks for something at that second (0: never);
/// and another one that has the run go on.
fn heeded(how: Option<KeepAlive>, speaks: u64) -> World {
    let world = World::new(Persistence::None).client(move |host, log| async move {
        let line = line(&host).await;
        let _ = line_call(&line, how.map_or(Ask::Get, Ask::Heed)).await;
        if speaks > 0 {
            until(&host, speaks * 1_000).await;
            log.say(&host, get(&line).await.map(|kept| kept.0));
        }
        until(&host, 20_000_000).await;
    });
    let mut world = world.client(|host, _| async move { until(&host, 10_000_000).await });
    world.horizon = secs(200);
    world
}

async fn line_call(line: &Line, ask: Ask) -> Result<Kept, host::CallError> {
    host::Connection::call(line, ask, secs(1)).await
}

/// When the server learnt that the connection is gone.
fn closed(outcome: &Outcome<Note>) -> Vec<u64> {
    times(outcome, &Note::Closed)
}

#[test]
fn who_answers_is_there_and_who_was_not_asked_about_is_not_missed() {
    let (_, outcome) = heeded(Some(HOW), 0).run();
    assert_eq!(closed(&outcome), [0; 0]);
    let gone = || What::PowerOff(on(CLIENT));
    let (_, outcome) = heeded(None, 0).fault(at(15_000), gone(), Lasts::ToTheEnd).run();
    assert_eq!(closed(&outcome), [0; 0]);
    let (_, outcome) = heeded(Some(HOW), 0).fault(at(15_000), gone(), Lasts::ToTheEnd).run();
    assert_eq!(closed(&outcome), [35_000 + HEARD]);
}

#[test]
fn it_is_the_machine_that_answers() {
    // What befalls the client at 15 s, for how long, and when the server learns that the connection is gone.
    for (what, lasts, expected) in [
        (What::Pause(on(CLIENT)), Lasts::ToTheEnd, None),
        (What::Stall(sim::Target::Node(CLIENT), host::Part::WORKER), Lasts::ToTheEnd, None),
        // Questions at 20, 25 and 30 s.
        (What::MachineSleep(on(CLIENT)), lasts(15_003), None),
        (What::MachineSleep(on(CLIENT)), lasts(15_005), Some(35_000)),
        (What::VmStop(on(CLIENT)), Lasts::ToTheEnd, Some(35_000)),
        (What::PowerOff(on(CLIENT)), Lasts::ToTheEnd, Some(35_000)),
        // It is back, and knows nothing of it.
        (What::PowerOff(on(CLIENT)), lasts(7_000), Some(25_000)),
        (What::PowerOff(on(CLIENT)), lasts(5_000), Some(20_000)),
        (What::Cut(between(CLIENT, SERVER), Held::Linger), Lasts::ToTheEnd, Some(35_000)),
        (What::Cut(between(CLIENT, SERVER), Held::Dropped), Lasts::ToTheEnd, Some(35_000)),
        (What::Cut(vec![one_way(CLIENT, SERVER)], Held::Linger), Lasts::ToTheEnd, Some(35_000)),
        (What::Cut(vec![one_way(SERVER, CLIENT)], Held::Linger), Lasts::ToTheEnd, Some(35_000)),
        (What::Cut(between(CLIENT, OTHER), Held::Linger), Lasts::ToTheEnd, None),
        (What::Cut(between(CLIENT, SERVER), Held::Linger), lasts(15_003), None),
    ] {
        let name = format!("{what:?}, {lasts:?}");
        let (_, outcome) = heeded(Some(HOW), 0).fault(at(15_000), what, lasts).run();
        assert_eq!(closed(&outcome), expected.map(|at| at + HEARD).into_iter().collect::<Vec<_>>(), "{name}");
        let has_met = outcome.strikes[0].met > 0;
        let is_in_the_way = expected.is_some_and(|at| at != 20_000) || name.contains("15.003");
        assert_eq!(has_met, is_in_the_way, "{name}");
    }
}

#[test]
fn one_answer_is_enough_to_begin_anew() {
    let cut = || What::Cut(between(CLIENT, SERVER), Held::Linger);
    // Two questions in vain, the third at 30 s is answered; the next ones are at 40, 45 and 50 s.
    let world = heeded(Some(HOW), 0).fault(at(19_000), cut(), lasts(9_000)).fault(at(35_000), cut(), Lasts::ToTheEnd);
    assert_eq!(closed(&world.run().1), [55_000 + HEARD]);
}

#[test]
fn whatever_comes_is_an_answer() {
    // It speaks at 15 s: the server asks from 25 s on.
    for elsewhere in [false, true] {
        let world = heeded(Some(HOW), 15).fault(at(16_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
        let cut = What::Cut(between(CLIENT, OTHER), Held::Linger);
        let world = world.fault_if(elsewhere, at(14_000), cut, Lasts::ToTheEnd);
        assert_eq!(closed(&world.run().1), [40_002]);
    }
    // A question that waits for an answer is one too: the server has it in its socket, and would have given up at 35 s.
    let world = heeded(Some(HOW), 15).fault(at(14_000), What::Pause(on(SERVER)), lasts(24_000));
    let world = world.fault(at(15_500), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
    assert_eq!(closed(&world.run().1), [0; 0]);
}

#[test]
fn a_connection_that_one_side_has_forgotten_is_found_out_by_the_first_question() {
    let half_open = What::HalfOpen { forgets: targets(CLIENT), believes: targets(SERVER) };
    let (_, outcome) = heeded(Some(HOW), 0).fault(at(15_000), half_open, Lasts::Instant).run();
    assert_eq!(closed(&outcome), [20_000 + HEARD]);
}

fn targets(node: host::NodeId) -> Vec<sim::Target> {
    vec![sim::Target::Node(node)]
}

#[test]
fn who_is_given_up_hears_of_it_at_once_or_when_it_speaks() {
    for (links, expected) in [
        // The server can tell it, but not hear it.
        (vec![one_way(CLIENT, SERVER)], (60_000, "Err(Closed)")),
        // What it asks then is answered by a reset.
        (between(CLIENT, SERVER), (60_002, "Err(Closed)")),
    ] {
        let world = heeded(Some(HOW), 60).fault(at(15_000), What::Cut(links, Held::Linger), lasts(30_000));
        let (log, outcome) = world.run();
        assert_eq!(closed(&outcome), [35_000 + HEARD]);
        assert_eq!(log.lines(), [(expected.0, expected.1.to_owned())]);
    }
}

#[test]
fn it_counts_on_the_machine_s_own_monotonic_clock() {
    let off = |world: World| world.fault(at(15_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
    // 100 s of sleep do not count.
    let asleep = off(heeded(Some(HOW), 0)).fault(at(22_000), What::MachineSleep(on(SERVER)), lasts(100_000));
    assert_eq!(closed(&asleep.run().1), [135_000 + HEARD]);
    // Twice as fast from 15 s on: what is left of the 35 s takes half as long.
    let fast = What::ClockRate(on(SERVER), host::Ppm::new(1_000_000));
    let fast = off(heeded(Some(HOW), 0)).fault(at(15_000), fast, Lasts::ToTheEnd);
    assert_eq!(closed(&fast.run().1), [25_000 + HEARD / 2]);
}

#[test]
fn a_process_that_stands_still_learns_it_when_it_runs_and_one_that_dies_never() {
    let off = || heeded(Some(HOW), 0).fault(at(15_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
    let paused = off().fault(at(16_000), What::Pause(on(SERVER)), lasts(50_000));
    assert_eq!(closed(&paused.run().1), [66_000]);
    let stalled = What::Stall(sim::Target::Node(SERVER), host::Part::REQUESTS);
    assert_eq!(closed(&off().fault(at(16_000), stalled, lasts(50_000)).run().1), [66_000]);
    let killed = off().fault(at(16_000), What::Pause(on(SERVER)), lasts(50_000));
    let killed = killed.fault(at(40_000), What::Kill(on(SERVER)), lasts(1_000));
    assert_eq!(closed(&killed.run().1), [0; 0]);
    // A machine that was off itself has forgotten whom it had an eye on.
    let back = off().fault(at(22_000), What::PowerOff(on(SERVER)), lasts(1_000));
    assert_eq!(closed(&back.run().1), [0; 0]);
}

/// At 16 s the server pushes something to the client, which watches; and at 60 s again.
fn pushed_to(how: KeepAlive) -> World {
    let world = World::new(Persistence::None).client(move |host, _| async move {
        let line = line(&host).await;
        let _ = line_call(&line, Ask::Watch).await;
        let _ = line_call(&line, Ask::Heed(how)).await;
        until(&host, 10_000_000).await;
    });
    let mut world = world.client(|host, _| async move {
        let line = line(&host).await;
        until(&host, 16_000).await;
        let _ = put(&line, 5).await;
        until(&host, 60_000).await;
        let _ = put(&line, 6).await;
        until(&host, 10_000_000).await;
    });
    world.horizon = secs(2_000);
    world
}

#[test]
fn while_something_is_not_acknowledged_it_is_sent_again_and_nothing_is_asked() {
    // 204.6 s of doubled waits and six of two minutes.
    let in_vain = 16_001 + 924_600;
    for (what, lasts, expected) in [
        (What::PowerOff(on(CLIENT)), Lasts::ToTheEnd, Some(in_vain)),
        (What::MachineSleep(on(CLIENT)), Lasts::ToTheEnd, Some(in_vain)),
        (What::Cut(between(CLIENT, SERVER), Held::Linger), Lasts::ToTheEnd, Some(in_vain)),
        (What::Cut(between(CLIENT, SERVER), Held::Dropped), Lasts::ToTheEnd, Some(in_vain)),
        (What::Cut(between(CLIENT, SERVER), Held::Linger), lasts(300_000), None),
        // Sent again after 0.2, 0.6, 1.4, 3, 6.2 s, and then a machine is there that knows nothing of it.
        (What::PowerOff(on(CLIENT)), lasts(5_000), Some(16_001 + 6_200)),
        (What::Pause(on(CLIENT)), Lasts::ToTheEnd, None),
    ] {
        let name = format!("{what:?}, {lasts:?}");
        let (_, outcome) = pushed_to(HOW).fault(at(15_000), what, lasts).run();
        let closed: Vec<u64> = closed(&outcome);
        assert!(
            closed.len() == usize::from(expected.is_some())
                && closed.iter().zip(expected).all(|(at, expected)| at.abs_diff(expected) <= 1),
            "{name}: {closed:?}"
        );
    }
}

#[test]
fn a_user_timeout_ends_both_before_the_count_does() {
    let off = |world: World| world.fault(at(15_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
    // Asked at 20 s, 25 s and so on, whatever the count: it is over when it would ask for the first time after that long a silence.
    for (user_timeout, expected) in [(secs(12), 25_000), (secs(22), 35_000), (secs(33), 45_000), (secs(1), 25_000)] {
        let how = KeepAlive { user_timeout, ..HOW };
        assert_eq!(closed(&off(heeded(Some(how), 0)).run().1), [expected + HEARD], "{user_timeout:?}");
    }
    let how = KeepAlive { user_timeout: secs(30), ..HOW };
    let (_, outcome) = off(pushed_to(how)).run();
    let [at] = closed(&outcome)[..] else { panic!("it is closed once") };
    assert!(at.abs_diff(16_001 + 30_000) <= 1, "sent again until then, and no longer: {at}");
}

#[test]
fn what_linux_does_unasked() {
    let mut world = heeded(Some(KeepAlive::LINUX), 0).fault(at(15_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd);
    world.horizon = secs(9_000);
    assert_eq!(closed(&world.run().1), [7_875_000 + HEARD]);
}

#[test]
fn a_new_wish_replaces_the_old_one_and_a_closed_connection_has_none() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        let _ = line_call(&line, Ask::Heed(KeepAlive::LINUX)).await;
        let _ = line_call(&line, Ask::Heed(HOW)).await;
        until(&host, 10_000_000).await;
    });
    let world = world.client(|host, _| async move { until(&host, 10_000_000).await });
    let (_, outcome) = world.fault(at(5_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd).run();
    assert_eq!(closed(&outcome), [25_006]);

    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        let _ = line_call(&line, Ask::Heed(HOW)).await;
        drop(line);
    });
    let world = world.client(|host, _| async move { until(&host, 50_000).await });
    let (_, outcome) = world.fault(at(5_000), What::PowerOff(on(CLIENT)), Lasts::ToTheEnd).run();
    assert_eq!(closed(&outcome), [HEARD + 1], "it was told, and is told once");
    assert!(!outcome.records.iter().any(|record| record.text.contains("asks whether")), "{:?}", outcome.records);
}

#[test]
fn no_run_goes_on_for_its_sake_and_none_ends_before_it_while_somebody_waits() {
    let ends_early = |second: u64| {
        let world = World::new(Persistence::None).client(move |host, _| async move {
            let line = line(&host).await;
            let _ = line_call(&line, Ask::Heed(HOW)).await;
            until(&host, second * 1_000).await;
            // It takes its connection with it into the end of the run.
            std::mem::forget(line);
        });
        let (_, outcome) = world.run();
        (outcome.ending, millis(outcome.end), outcome.events)
    };
    let (ending, end, before) = ends_early(9);
    assert_eq!((ending, end), (Ending::Quiet, 9_000));
    let (ending, end, events) = ends_early(19);
    assert_eq!((ending, end, events), (Ending::Quiet, 19_000, before + 4), "one question, the server's three alarms");
    let (_, outcome) = heeded(Some(HOW), 0).run();
    assert_eq!(outcome.ending, Ending::Horizon);
}
