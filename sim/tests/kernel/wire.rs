//! One direction of a connection is a stream: its order, what breaks it, and what cuts make of it.

use crate::probe::*;
use host::{Connection, Host, NodeId, Span, first};
use sim::{Direction, Held, Lasts, MessageMatch, Target, When};

/// A world whose client puts 1, 2, … at these milliseconds, without waiting, over a link that takes 10 ms;
/// and then closes.
fn puts(times: &'static [u64]) -> World {
    World::new(Persistence::None).latency(CLIENT, SERVER, 10).client(move |host, _| async move {
        let line = line(&host).await;
        for (value, at) in (1..).zip(times) {
            until(&host, *at).await;
            let _ = first(line.call(Ask::Put(value), secs(60)), host.sleep(ms(0))).await;
        }
        host.sleep(secs(5)).await;
    })
}

fn cut(held: Held) -> What {
    What::Cut(vec![one_way(CLIENT, SERVER)], held)
}

/// What was stored, and when.
fn arrivals(world: World) -> Vec<(u64, u64)> {
    let of_note = |(at, note)| match note {
        Note::Stored(value, _) => (at, value),
        note => panic!("not asked for: {note:?}"),
    };
    noted(&world.run().1, |note| matches!(note, Note::Stored(..))).into_iter().map(of_note).collect()
}

#[test]
fn nothing_arrives_behind_what_a_cut_has_lost_though_it_was_on_the_wire_after_the_heal() {
    // The first arrives at about 110 if it can, the second at about 115; 3 and 4 are sent after the heal.
    let world = |held| puts(&[100, 105, 120, 125]).fault(at(109), cut(held), lasts(3));
    assert_eq!(arrivals(world(Held::Dropped)), []);
    // It is sent again at the heal; the others wait for it.
    assert_eq!(arrivals(world(Held::Linger)), [(122, 1), (122, 2), (130, 3), (135, 4)]);
}

#[test]
fn what_was_on_the_wire_before_the_lost_one_arrives() {
    // The second message meets the cut as it leaves; the first is past it.
    let world = puts(&[100, 105]).fault(at(104), cut(Held::Dropped), lasts(3));
    assert_eq!(arrivals(world), [(110, 1)]);
    let second = MessageMatch {
        direction: Direction::Request,
        operation: host::Operation("put"),
        clients: on(CLIENT),
        server: None,
        nth: Some(2),
    };
    let world = puts(&[100, 105, 120]).fault(at(0), What::Drop(second), Lasts::ToTheEnd);
    assert_eq!(arrivals(world), [(110, 1)]);
}

#[test]
fn what_a_cut_holds_goes_on_when_no_cut_is_left_and_in_order() {
    for (one, two) in [((90, 400), (300, 1_000)), ((90, 1_000), (300, 400))] {
        for (held, expected) in [(Held::Linger, vec![1, 2, 3]), (Held::Dropped, vec![])] {
            let world = puts(&[100, 350, 500]).fault(at(one.0), cut(Held::Linger), Lasts::Until(at(one.1)));
            let arrived = arrivals(world.fault(at(two.0), cut(held), Lasts::Until(at(two.1))));
            // While both are in force, what meets them meets the first.
            let linger_alone = held == Held::Dropped && one.1 == 1_000;
            let expected = if linger_alone { vec![1, 2, 3] } else { expected };
            assert_eq!(
                arrived.iter().map(|(_, value)| *value).collect::<Vec<_>>(),
                expected,
                "{one:?} {two:?} {held:?}"
            );
            assert!(arrived.iter().all(|(at, _)| *at == 1_010), "{arrived:?}");
        }
    }
}

#[test]
fn a_cut_holds_again_what_it_meets_again() {
    // Sent again at 112, it would arrive at 122, and the second has come at 115; another cut is in between.
    let world = puts(&[100, 105]).fault(at(109), cut(Held::Linger), lasts(3));
    assert_eq!(arrivals(world.fault(at(120), cut(Held::Linger), lasts(30))), [(160, 1), (160, 2)]);
    let world = puts(&[100, 105]).fault(at(109), cut(Held::Linger), lasts(3));
    assert_eq!(arrivals(world.fault(at(120), cut(Held::Dropped), lasts(30))), []);
}

#[test]
fn a_sleeping_receiver_takes_what_came_in_order() {
    // The second has come while the first waits for the heal; then the machine sleeps and wakes.
    let world = puts(&[100, 105]).fault(at(109), cut(Held::Linger), lasts(3));
    assert_eq!(arrivals(world.fault(at(113), What::MachineSleep(on(SERVER)), lasts(100))), [(213, 1), (213, 2)]);
    // It loses power instead: nothing is waited for, and who asks later is told so.
    let world = puts(&[100, 105, 300]).fault(at(109), cut(Held::Linger), lasts(3));
    let (_, outcome) = world.fault(at(113), What::PowerOff(on(SERVER)), lasts(100)).run();
    let resets = outcome.records.iter().filter(|record| record.text == "reset").count();
    assert_eq!((stored(&outcome), resets), (vec![], 1));
}

#[test]
fn what_was_sent_before_the_close_of_a_timed_out_call_arrives_and_the_close_behind_it() {
    for (slow, cut_too) in [(false, false), (true, false), (true, true)] {
        let world = World::new(Persistence::None).latency(CLIENT, SERVER, if slow { 300 } else { 1 }).client(
            |host, log| async move {
                let line = line(&host).await;
                until(&host, 1_000).await;
                log.say(&host, line.call(Ask::Put(7), ms(100)).await.is_ok());
                host.sleep(secs(3)).await;
            },
        );
        let held = What::Cut(between(CLIENT, SERVER), Held::Linger);
        let (log, outcome) = world.fault_if(cut_too, at(1_200), held, lasts(800)).run();
        let told = noted(&outcome, |note| matches!(note, Note::Stored(..) | Note::Closed));
        // Held by the cut on the wire, both are sent again at 2,000.
        let arrive = if cut_too { [2_300, 2_300] } else { [1_300, 1_400] };
        let expected = [(arrive[0], Note::Stored(7, None)), (arrive[1], Note::Closed)];
        assert_eq!(log.words(), [format!("{}", !slow)]);
        assert_eq!(told, if slow { expected.to_vec() } else { vec![(1_001, Note::Stored(7, None))] });
    }
}

#[test]
fn a_killed_client_s_reset_comes_behind_its_requests_and_a_machine_without_power_says_nothing() {
    for (what, told) in [
        (What::Kill(on(CLIENT)), vec![(110, Note::Stored(1, None)), (115, Note::Closed)]),
        (What::PowerOff(on(CLIENT)), vec![(110, Note::Stored(1, None))]),
        (What::Reset(between(CLIENT, SERVER)), vec![(110, Note::Stored(1, None)), (115, Note::Closed)]),
    ] {
        let world = puts(&[100]).client(|host, _| async move { host.sleep(secs(3)).await });
        let length = if matches!(what, What::Reset(_)) { Lasts::Instant } else { Lasts::ToTheEnd };
        let (_, outcome) = world.fault(at(105), what.clone(), length).run();
        assert_eq!(noted(&outcome, |note| matches!(note, Note::Stored(..) | Note::Closed)), told, "{what:?}");
    }
}

#[test]
fn a_killed_server_s_reset_comes_behind_its_answers() {
    for (what, answers) in [(What::Kill(on(SERVER)), "[true, false]"), (What::PowerOff(on(SERVER)), "[true]")] {
        let world = World::new(Persistence::None).latency(SERVER, CLIENT, 50).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 100).await;
            let answer = put(&line, 1).await.is_ok();
            let pushed = first(line.pushed(), host.sleep(secs(2))).await;
            let told = matches!(pushed, host::Either::Left(None)).then_some(false);
            log.say(&host, [Some(answer), told].into_iter().flatten().collect::<Vec<_>>());
        });
        assert_eq!(world.fault(at(120), what, Lasts::ToTheEnd).words(), [answers]);
    }
}

#[test]
fn a_reset_strikes_connections_that_use_the_link_either_way_and_no_others() {
    let other = NodeId::new(2);
    for (links, lost, met) in [
        (vec![one_way(CLIENT, SERVER)], true, 1),
        (vec![one_way(SERVER, CLIENT)], true, 1),
        (between(SERVER, CLIENT), true, 1),
        (between(SERVER, other), false, 1),
        (between(other, CLIENT), false, 0),
    ] {
        let world = World::new(Persistence::None)
            .client(|host, log| async move {
                let line = line(&host).await;
                until(&host, 1_000).await;
                log.say(&host, get(&line).await.is_err());
            })
            .client(|host, _| async move {
                let _line = line(&host).await;
                host.sleep(secs(1)).await;
            });
        let (log, outcome) = world.fault(at(500), What::Reset(links), Lasts::Instant).run();
        assert_eq!((log.words(), outcome.strikes[0].met), (vec![format!("{lost}")], met));
    }
}

#[test]
fn what_leaves_behind_a_reset_is_not_served() {
    // The client's fourth step is the leaving of its put: the reset strikes before it.
    for (step, kept) in [(4, vec![]), (6, vec![1])] {
        let world = puts(&[100]);
        let when = When::Step { node: CLIENT, nth: step };
        let (_, outcome) = world.fault(when, What::Reset(between(CLIENT, SERVER)), Lasts::Instant).run();
        assert_eq!(stored(&outcome), kept, "before step {step}");
    }
}

#[test]
fn a_machine_that_is_off_or_asleep_sends_no_reset() {
    for (what, told) in [(What::PowerOff(on(SERVER)), None), (What::MachineSleep(on(SERVER)), Some(4_001))] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            if matches!(first(line.pushed(), host.sleep(secs(8))).await, host::Either::Left(None)) {
                log.word(&host, "told");
            }
        });
        // Its own machine's reset, too, would tell the client, were that not asleep.
        let world = world.fault(at(1_000), what, lasts(3_000));
        let (log, _) = world.fault(at(2_000), What::Reset(between(CLIENT, SERVER)), Lasts::Instant).run();
        assert_eq!(log.lines().first().map(|(at, _)| *at), told);
    }
}

#[test]
fn a_fault_has_met_only_what_it_acted_on() {
    // The client is paused while other faults are in force at its machine and on its links.
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        until(&host, 1_500).await;
        put(&line, 1).await.expect("kept");
    });
    let quiet_link = between(CLIENT, NodeId::new(2));
    let world = world
        .client(|host, _| async move { host.sleep(secs(8)).await })
        .fault(at(200), What::Pause(vec![Target::Node(CLIENT)]), lasts(100))
        .fault(at(1_000), What::Pause(on(NodeId::new(2))), lasts(5_000))
        .fault(at(1_000), What::Cut(quiet_link.clone(), Held::Dropped), lasts(5_000))
        .fault(at(1_000), What::Slow(quiet_link, Span::Fixed(ms(1))), lasts(5_000))
        .fault(at(1_000), What::ClockRate(on(CLIENT), host::Ppm::new(5)), lasts(5_000))
        .fault(at(1_000), What::Pause(vec![Target::Node(CLIENT)]), lasts(2_000))
        .fault(at(3_500), What::Pause(vec![Target::Node(CLIENT)]), lasts(100));
    let met: Vec<_> = world.run().1.strikes.iter().map(|strike| strike.met).collect();
    assert_eq!(met, [0, 0, 0, 0, 0, 1, 0]);
}

#[test]
fn each_fault_that_stops_a_server_meets_the_request_that_comes_meanwhile() {
    let throttle = What::Throttle { target: Target::Node(SERVER), run: ms(1), stop: secs(9) };
    for what in [
        What::Pause(vec![Target::Node(SERVER), Target::Node(SERVER)]),
        What::MachineSleep(on(SERVER)),
        What::VmStop(on(SERVER)),
        What::Kill(on(SERVER)),
        What::PowerOff(on(SERVER)),
        What::Stall(Target::Node(SERVER), host::Part::REQUESTS),
        throttle,
    ] {
        for (asks_at, met) in [(30, 0), (150, 1)] {
            // It is on its way when the fault strikes.
            let world = World::new(Persistence::None).latency(CLIENT, SERVER, 60).client(move |host, _| async move {
                let line = line(&host).await;
                until(&host, asks_at).await;
                let _ = first(line.call(Ask::Get, secs(9)), host.sleep(secs(3))).await;
            });
            let (_, outcome) = world.fault(at(200), what.clone(), lasts(1_000)).run();
            assert_eq!(outcome.strikes[0].nodes, [SERVER]);
            assert_eq!(outcome.strikes[0].met, met, "{what:?}");
        }
    }
}

#[test]
fn the_nodes_that_a_fault_strikes_are_told_in_their_order() {
    let both = vec![Target::Node(CLIENT), Target::Node(SERVER), Target::Node(CLIENT)];
    let (_, outcome) = puts(&[]).fault(at(1), What::Pause(both), lasts(1)).run();
    assert_eq!(outcome.strikes[0].nodes, [SERVER, CLIENT]);
}

#[test]
fn a_message_fault_that_has_ended_meets_nothing() {
    for (length, met) in [(lasts(3), 1), (lasts(10), 2)] {
        let put = MessageMatch {
            direction: Direction::Request,
            operation: host::Operation("put"),
            clients: on(CLIENT),
            server: None,
            nth: None,
        };
        let world = puts(&[100, 105]).fault(at(99), What::Delay(put, Span::Fixed(ms(300))), length);
        let (_, outcome) = world.run();
        assert_eq!(outcome.strikes[0].met, met);
    }
}

#[test]
fn a_message_that_waits_for_its_fault_s_nth_is_not_met() {
    let put = |nth| MessageMatch {
        direction: Direction::Request,
        operation: host::Operation("put"),
        clients: vec![Target::Reacher],
        server: Some(Target::Node(SERVER)),
        nth,
    };
    for (nth, seen) in [(Some(1), [410, 115]), (Some(2), [110, 415]), (Some(3), [110, 115]), (None, [410, 415])] {
        let delay = What::Delay(put(nth), Span::Fixed(ms(300)));
        let seen = if nth == Some(1) { [410, 410] } else { seen };
        // The reacher is the client itself: it takes the step.
        let here = When::Step { node: CLIENT, nth: 1 };
        let world = puts(&[100, 105]).fault(here, delay, Lasts::ToTheEnd);
        let arrived: Vec<_> = arrivals(world).into_iter().map(|(at, _)| at).collect();
        assert_eq!(arrived, seen, "{nth:?}");
    }
}

#[test]
fn a_reset_of_what_is_closed_has_met_nothing() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        drop(line(&host).await);
        host.sleep(secs(1)).await;
    });
    let (_, outcome) = world.fault(at(500), What::Reset(between(CLIENT, SERVER)), Lasts::Instant).run();
    assert_eq!(outcome.strikes[0].met, 0);
}

#[test]
fn what_came_while_a_service_stood_still_is_served_before_its_timers_whichever_was_first() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        line.call(Ask::Alarm(Some(100)), secs(9)).await.expect("set");
        until(&host, 500).await;
        put(&line, 1).await.expect("kept");
        host.sleep(secs(2)).await;
    });
    let (_, outcome) = world.fault(at(50), What::Pause(on(SERVER)), lasts(950)).run();
    let told = noted(&outcome, |note| matches!(note, Note::Stored(..) | Note::Fired(_)));
    assert_eq!(told.first(), Some(&(1_000, Note::Stored(1, None))), "{told:?}");
    assert!(told.len() > 1 && told.iter().all(|(at, _)| *at == 1_000), "{told:?}");
}
