//! Lives of processes and machines: faults that overlap, and what one life leaves to the next.

use std::rc::Rc;

use crate::probe::*;
use host::{Activity, Calls, ConnectError, Connection, Ending, Host, Part, Task};
use sim::{Held, Lasts, Target, When};

fn kill() -> What {
    What::Kill(on(SERVER))
}

fn power_off() -> What {
    What::PowerOff(on(SERVER))
}

fn asleep() -> What {
    What::MachineSleep(on(SERVER))
}

/// A world whose client does nothing for a while.
fn idle() -> World {
    World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(30)).await })
}

#[test]
fn a_process_that_several_faults_keep_dead_starts_again_when_the_last_of_them_ends() {
    for (one, two) in [(kill(), kill()), (kill(), power_off()), (power_off(), kill()), (power_off(), power_off())] {
        for (ends, starts) in [((4_000, 6_000), vec![0, 6_000]), ((6_000, 4_000), vec![0, 6_000])] {
            let world = idle().fault(at(1_000), one.clone(), Lasts::Until(at(ends.0)));
            let (_, outcome) = world.fault(at(2_000), two.clone(), Lasts::Until(at(ends.1))).run();
            assert_eq!(times(&outcome, &Note::Started), starts, "{one:?}, {two:?}");
            let activity: Vec<_> = outcome.nodes[0].activity.iter().map(|(at, what)| (millis(*at), *what)).collect();
            assert_eq!(activity, [(1_000, Activity::Dead), (6_000, Activity::Running)]);
        }
        let world = idle().fault(at(1_000), one.clone(), Lasts::ToTheEnd);
        let (_, outcome) = world.fault(at(2_000), two.clone(), lasts(1_000)).run();
        assert_eq!(times(&outcome, &Note::Started), [0], "the first keeps it dead: {one:?}, {two:?}");
    }
}

#[test]
fn a_client_knows_that_a_connection_is_closed_once_the_word_has_come() {
    let world = World::new(Persistence::None).latency(SERVER, CLIENT, 50).client(|host, log| async move {
        let line = line(&host).await;
        for at in [390, 440, 460] {
            until(&host, at).await;
            log.say(&host, line.is_open());
        }
    });
    let (log, _) = world.fault(at(400), kill(), lasts(10)).run();
    assert_eq!(log.words(), ["true", "true", "false"]);
}

#[test]
fn a_client_that_two_faults_kill_is_made_anew_once() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        log.word(&host, "begins");
        host.sleep(secs(8)).await;
        log.word(&host, "done");
    });
    let world = world.fault(at(1_000), What::Kill(on(CLIENT)), lasts(4_000));
    let (log, outcome) = world.fault(at(2_000), What::Kill(on(CLIENT)), lasts(8_000)).run();
    assert_eq!(log.words(), ["begins", "begins", "done"]);
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, 18_000));
}

#[test]
fn a_machine_that_has_power_again_refuses_until_its_process_lives() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        for at in [1_100, 2_100, 4_100] {
            until(&host, at).await;
            log.say(&host, host.connect(server(), ms(500)).await.err());
        }
    });
    let world = world.fault(at(1_000), power_off(), lasts(1_000)).fault(at(1_500), kill(), lasts(2_500));
    assert_eq!(world.words(), ["Some(TimedOut)", "Some(Refused)", "None"]);
}

#[test]
fn no_process_starts_on_a_machine_that_sleeps() {
    let world = idle().fault(at(1_000), kill(), lasts(1_000));
    let (_, outcome) = world.fault(at(1_500), asleep(), lasts(3_500)).run();
    assert_eq!(times(&outcome, &Note::Started), [0, 5_000]);
}

#[test]
fn a_machine_that_loses_power_neither_sleeps_nor_stands_any_more() {
    for what in [asleep(), What::VmStop(on(SERVER))] {
        let world = idle().fault(at(1_000), what.clone(), lasts(9_000));
        let (_, outcome) = world.fault(at(2_000), power_off(), lasts(1_000)).run();
        assert_eq!(times(&outcome, &Note::Started), [0, 3_000], "{what:?}");
        let fired = times(&outcome, &Note::Fired(1));
        assert_eq!(fired, [13_000], "its monotonic clock runs, and goes on running");
    }
}

#[test]
fn a_fault_of_what_lives_does_not_strike_the_dead_nor_their_next_life() {
    let stalls = What::Stall(Target::Node(SERVER), Part::REQUESTS);
    let throttle = What::Throttle { target: Target::Node(SERVER), run: ms(200), stop: secs(9) };
    let answers = |first: What, second: What, second_at: u64| {
        let world = World::new(Persistence::None).client(|host, log| async move {
            until(&host, 3_500).await;
            let line = line(&host).await;
            log.say(&host, get(&line).await.is_ok());
        });
        let world = world.fault(at(1_000), first, lasts(2_000));
        world.fault(at(second_at), second, lasts(8_000)).words()
    };
    for what in [What::Pause(on(SERVER)), stalls, throttle] {
        assert_eq!(answers(kill(), what.clone(), 2_000), ["true"], "{what:?} of a dead process");
        assert_eq!(answers(kill(), what.clone(), 900), ["true"], "{what:?} of a process that dies");
        assert_eq!(answers(kill(), what.clone(), 3_200), ["false"], "{what:?} of a living process");
    }
    for what in [asleep(), What::VmStop(on(SERVER))] {
        assert_eq!(answers(power_off(), what.clone(), 2_000), ["true"], "{what:?} of a machine without power");
    }
}

#[test]
fn a_throttled_process_that_is_killed_or_left_alone_while_it_stands_runs_again() {
    for (what, ends) in [(None, 1_500), (Some(What::Kill(on(CLIENT))), 3_000)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            host.point(host::Point("here")).await;
            until(&host, 1_200).await;
            log.word(&host, "runs");
        });
        // It stands from 1,000 to 11,000 ms, but the fault ends at 1,500.
        let throttle = What::Throttle { target: Target::Node(CLIENT), run: ms(1_000), stop: secs(10) };
        let world = world.fault(at(0), throttle, lasts(1_500));
        let world = match what {
            Some(what) => world.fault(at(1_100), what, lasts(1_900)),
            None => world,
        };
        assert_eq!(world.run().0.lines(), [(ends, "runs".to_owned())]);
    }
}

#[test]
fn a_process_killed_on_a_sleeping_machine_resets_its_connections_when_that_wakes() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        log.say(&host, line.pushed().await);
    });
    let world = world.fault(at(1_000), asleep(), lasts(4_000)).fault(at(2_000), kill(), Lasts::ToTheEnd);
    assert_eq!(world.run().0.lines(), [(5_001, "None".to_owned())]);
}

#[test]
fn who_connects_to_a_sleeping_machine_whose_process_dies_is_refused_when_it_wakes() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        until(&host, 1_500).await;
        log.say(&host, host.connect(server(), secs(20)).await.err() == Some(ConnectError::Refused));
    });
    let world = world.fault(at(1_000), asleep(), lasts(4_000)).fault(at(2_000), kill(), Lasts::ToTheEnd);
    assert_eq!(world.run().0.lines(), [(5_001, "true".to_owned())]);
}

#[test]
fn a_client_that_dies_while_it_connects_leaves_no_open_end() {
    for (what, closed) in [(None, vec![]), (Some(What::Kill(on(CLIENT))), vec![3])] {
        let world = World::new(Persistence::None).client(|host, _| async move {
            let _line = line(&host).await;
            host.sleep(secs(1)).await;
        });
        let world = match what {
            Some(what) => world.fault(When::At(host::Duration::from_micros(500)), what, Lasts::ToTheEnd),
            None => world,
        };
        let world = world.client(|host, _| async move { host.sleep(secs(1)).await });
        assert_eq!(times(&world.run().1, &Note::Closed), closed);
    }
}

#[test]
fn a_connection_that_is_given_up_as_it_opens_is_closed() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let connecting = host.clone();
        let task = Rc::new(host.spawn(Part::WORKER, async move {
            let _line = line(&connecting).await;
            std::future::pending::<()>().await;
        }));
        // The answer comes while the worker hangs; before it sees it, the renewal aborts it.
        let (beat, doomed) = (host.clone(), Rc::clone(&task));
        let renewal = host.spawn(Part::RENEWAL, async move {
            beat.sleep(ms(100)).await;
            doomed.abort();
            beat.sleep(ms(100)).await;
        });
        renewal.await;
        host.sleep(ms(100)).await;
    });
    let stall = What::Stall(Target::Node(CLIENT), Part::WORKER);
    let (_, outcome) = world.fault(at(1), stall, lasts(500)).run();
    assert_eq!(times(&outcome, &Note::Closed), [502], "its part had to run first");
}

#[test]
fn what_a_cut_holds_is_the_machine_s_and_is_lost_with_its_power() {
    for (what, length, kept) in [
        (What::Kill(on(CLIENT)), Lasts::ToTheEnd, vec![6]),
        (What::PowerOff(on(CLIENT)), Lasts::ToTheEnd, vec![]),
        // It has power again when the cut heals, but not its memory.
        (What::PowerOff(on(CLIENT)), lasts(100), vec![]),
    ] {
        let world = World::new(Persistence::None)
            .client(|host, _| async move {
                let Ok(line) = host.connect(server(), secs(1)).await else { return };
                if clock(&host) < 100 {
                    until(&host, 100).await;
                    let _ = put(&line, 6).await;
                }
            })
            .client(|host, _| async move { host.sleep(secs(5)).await });
        let world = world.fault(at(50), What::Cut(between(CLIENT, SERVER), Held::Linger), lasts(2_000));
        let (_, outcome) = world.fault(at(500), what, length).run();
        assert_eq!(stored(&outcome), kept);
    }
}

#[test]
fn a_request_on_the_wire_to_an_earlier_life_is_not_served_by_the_next() {
    for (what, told) in [(kill(), "Err(Closed)"), (power_off(), "Err(Closed)")] {
        let world = World::new(Persistence::None).latency(CLIENT, SERVER, 100).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 1_000).await;
            log.say(&host, put(&line, 3).await);
            // One that is on its way meanwhile is the new life's.
            until(&host, 1_950).await;
            log.say(&host, host.connect(server(), secs(1)).await.is_ok());
        });
        let when = When::Every { at: ms(1_050), every: ms(950), times: Some(2) };
        let (log, outcome) = world.fault(when, what, lasts(0)).run();
        assert_eq!(log.words(), [told, "true"]);
        assert_eq!((stored(&outcome), times(&outcome, &Note::Started)), (vec![], vec![0, 1_050, 2_000]));
    }
}

#[test]
fn what_dies_and_starts_again_before_a_step_does_not_take_it() {
    // The server's first step is a timer; the client's fourth is the leaving of its put.
    let both = |node, nth| When::Step { node, nth };
    let world = idle().fault(both(SERVER, 1), kill(), Lasts::Until(both(SERVER, 1)));
    let outcome = world.run().1;
    assert_eq!(times(&outcome, &Note::Started), [0, 10_000]);
    assert_eq!(times(&outcome, &Note::Fired(1)), [20_000]);
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        host.sleep(ms(5)).await;
        if clock(&host) < 10 {
            let attempt = host.open_attempt();
            let _ = host.attempt(attempt, host::all([put(&line, 8), put(&line, 9)])).await;
        }
    });
    let world = world.fault(both(CLIENT, 4), What::Kill(on(CLIENT)), Lasts::Until(both(CLIENT, 4)));
    let outcome = world.run().1;
    assert!(noted(&outcome, |note| matches!(note, Note::Left(_) | Note::Stored(..))).is_empty());
    assert_eq!(outcome.nodes[1].steps, 7, "what the dead had decided is not a step of the living");
}

#[test]
fn a_process_that_is_killed_again_as_it_starts_does_not_start() {
    // The same milestone ends one kill and begins another.
    let when = || When::Milestone { clients: vec![], point: host::Point("here"), nth: 1, plus: ms(0) };
    let world = World::new(Persistence::None).client(|host, _| async move {
        host.sleep(secs(2)).await;
        host.point(host::Point("here")).await;
        host.sleep(secs(5)).await;
    });
    let world = world.fault(at(1_000), kill(), Lasts::Until(when())).fault(when(), kill(), lasts(1_000));
    let (_, outcome) = world.run();
    assert_eq!((times(&outcome, &Note::Started), outcome.ignored_dead_effects), (vec![0, 3_000], 0));
}

#[test]
fn a_fault_that_lasts_no_time_leaves_nothing_behind() {
    for what in [What::Pause(on(SERVER)), asleep(), What::Stall(Target::Node(SERVER), Part::REQUESTS), kill()] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            until(&host, 2_000).await;
            let line = line(&host).await;
            log.say(&host, get(&line).await.is_ok());
        });
        assert_eq!(world.fault(at(1_000), what.clone(), Lasts::Instant).words(), ["true"], "{what:?}");
    }
}
