//! What waits while a process, a part of it or its machine does not run, and in which order it is taken up.

use crate::probe::*;
use host::{Calls, Connection, Cue, Duration, Either, Host, Part, Point, Ppm, Stage, Task, first};
use sim::{Held, Lasts, RecordKind, Target, When};

/// Until so many true ms. (As a moment it is in the queue from the start, before all that a run brings.)
fn until_ms(millis: u64) -> Lasts {
    Lasts::Until(at(millis))
}

fn pause(host: host::NodeId) -> What {
    What::Pause(on(host))
}

fn stall(part: Part) -> What {
    let node = if part == Part::REQUESTS { SERVER } else { CLIENT };
    What::Stall(Target::Node(node), part)
}

#[test]
fn a_reply_in_the_socket_beats_a_timer_due_at_the_very_instant_of_the_resume() {
    let mut world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        host.cue(Cue(0)).await;
        log.say(&host, line.call(Ask::Get, secs(5)).await);
    });
    world.sim.cue(at(1_000));
    let world = world.fault(at(1_001), pause(CLIENT), until_ms(6_000));
    assert_eq!(world.run().0.lines(), [(6_000, "Ok(Kept(0))".to_owned())]);
}

#[test]
fn what_is_in_the_socket_comes_before_what_arrives_at_the_very_instant_of_the_resume() {
    let world = || {
        World::new(Persistence::None).client(|host, _| async move {
            let line = line(&host).await;
            for value in 1..=2 {
                until(&host, 100 * value).await;
                let _ = first(put(&line, value), host.sleep(ms(1))).await;
            }
            host.sleep(secs(1)).await;
        })
    };
    let (_, plain) = world().run();
    let arrives = plain.records.iter().find(|r| r.kind == RecordKind::Arrive && r.text == "Ask(Put(2))");
    let resume = When::At(Duration::from_nanos(arrives.expect("it arrives").at.as_nanos()));
    for what in [pause(SERVER), stall(Part::REQUESTS)] {
        let (_, outcome) = world().fault(at(50), what, Lasts::Until(resume.clone())).run();
        assert_eq!(stored(&outcome), [1, 2]);
    }
}

#[test]
fn what_is_in_the_socket_of_a_paused_process_is_past_every_cut() {
    for (what, answered) in [(pause(CLIENT), true), (What::MachineSleep(on(CLIENT)), false)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 100).await;
            log.say(&host, line.call(Ask::Get, secs(2)).await.is_ok());
        });
        let world = world.fault(at(101), what, lasts(1_000));
        let world = world.fault(at(500), What::Cut(between(CLIENT, SERVER), Held::Dropped), lasts(10_000));
        assert_eq!(world.words(), [format!("{answered}")], "a sleeping machine has not taken it in");
    }
}

#[test]
fn a_close_stays_behind_the_requests_that_a_pause_or_a_stall_holds() {
    for what in [pause(SERVER), stall(Part::REQUESTS)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 100).await;
            log.say(&host, put(&line, 8).await);
            host.sleep(secs(9)).await;
        });
        let (log, outcome) = world.fault(at(50), what, lasts(5_000)).run();
        assert_eq!(log.words(), ["Err(TimedOut)"]);
        let told = noted(&outcome, |note| matches!(note, Note::Stored(..) | Note::Closed));
        assert_eq!(told, [(5_050, Note::Stored(8, None)), (5_050, Note::Closed)]);
    }
}

#[test]
fn the_socket_keeps_its_order_however_pauses_and_stalls_overlap() {
    let spans = [(50, 350), (150, 450)];
    for (what, other) in
        [(stall(Part::REQUESTS), pause(SERVER)), (pause(SERVER), stall(Part::REQUESTS)), (pause(SERVER), pause(SERVER))]
    {
        let world = World::new(Persistence::None).client(|host, _| async move {
            let line = line(&host).await;
            for value in 1..=4 {
                until(&host, 100 * value).await;
                let _ = first(put(&line, value), host.sleep(ms(1))).await;
            }
            host.sleep(secs(1)).await;
        });
        let world = world.fault(at(spans[0].0), what, until_ms(spans[0].1));
        let (_, outcome) = world.fault(at(spans[1].0), other, until_ms(spans[1].1)).run();
        let when: Vec<_> = noted(&outcome, |note| matches!(note, Note::Stored(..)));
        assert_eq!(stored(&outcome), [1, 2, 3, 4]);
        assert!(when.iter().all(|(at, _)| *at == 450), "held to the end of the last: {when:?}");
    }
}

#[test]
fn a_reply_to_a_stalled_part_beats_a_timer_that_has_expired_before_it_came() {
    let world = World::new(Persistence::None).latency(SERVER, CLIENT, 2_000).client(|host, log| async move {
        let line = host.connect(server(), secs(5)).await.expect("the server is there");
        until(&host, 3_000).await;
        log.say(&host, line.call(Ask::Get, secs(1)).await);
    });
    let world = world.fault(at(3_001), stall(Part::WORKER), until_ms(7_000));
    assert_eq!(world.run().0.lines(), [(7_000, "Ok(Kept(0))".to_owned())]);
}

#[test]
fn a_machine_that_wakes_answers_who_connects_though_its_process_stands_still() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        until(&host, 200).await;
        log.say(&host, host.connect(server(), secs(20)).await.is_ok());
    });
    let world = world.fault(at(100), pause(SERVER), lasts(10_000));
    let (log, _) = world.fault(at(150), What::MachineSleep(on(SERVER)), lasts(2_000)).run();
    assert_eq!(log.lines(), [(2_151, "true".to_owned())]);
}

/// A client whose worker puts 1 and whose renewal puts 2, each on a connection of its own, at 100 ms.
fn two_parts() -> World {
    World::new(Persistence::None).client(|host, _| async move {
        let (one, two) = (line(&host).await, line(&host).await);
        let beat = host.clone();
        let renewal = host.spawn(Part::RENEWAL, async move {
            until(&beat, 100).await;
            two.call(Ask::Put(2), secs(9)).await
        });
        until(&host, 100).await;
        one.call(Ask::Put(1), secs(9)).await.expect("kept");
        renewal.await.expect("kept");
    })
}

#[test]
fn what_a_stalled_part_has_decided_does_not_leave_and_what_another_has_does() {
    assert_eq!(stored(&two_parts().run().1), [1, 2]);
    // Its steps: two connects leave and are accepted, two sleeps end, two puts leave.
    let when = When::Step { node: CLIENT, nth: 7 };
    let (_, outcome) = two_parts().fault(when, stall(Part::WORKER), lasts(1_000)).run();
    let when: Vec<_> = noted(&outcome, |note| matches!(note, Note::Stored(..)));
    assert_eq!(when, [(101, Note::Stored(2, None)), (1_101, Note::Stored(1, None))]);
}

#[test]
fn an_answer_that_a_stalled_server_has_decided_does_not_leave() {
    for (step, answered) in [(1, 1_102), (2, 1_102), (3, 102)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 100).await;
            line.call(Ask::Get, secs(5)).await.expect("an answer");
            log.word(&host, "answered");
        });
        // Its steps: the request arrives, the answer leaves.
        let when = When::Step { node: SERVER, nth: step };
        let world = world.fault(when, stall(Part::REQUESTS), lasts(1_000));
        let (log, outcome) = world.run();
        assert_eq!(log.lines(), [(answered, "answered".to_owned())], "before step {step}");
        assert_eq!(outcome.nodes[0].steps, 2, "what waits is no step yet");
    }
}

#[test]
fn a_timer_that_has_come_due_fires_once_whatever_its_clock_does_next() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(30)).await });
    let world = world.fault(at(9_000), pause(SERVER), lasts(3_000));
    let (_, outcome) = world.fault(at(11_000), What::StepClock(on(SERVER), -5_000_000_000), Lasts::Instant).run();
    assert_eq!(times(&outcome, &Note::Fired(3)), [12_000]);
}

#[test]
fn a_fault_before_the_step_in_which_a_timer_fires_makes_it_fire_once() {
    // The server's steps are its three timers: on the monotonic, the boot-time and the wall clock.
    for (what, fires) in [
        (What::MachineSleep(on(SERVER)), [12_000; 3]),
        (What::VmStop(on(SERVER)), [12_000; 3]),
        (What::StepClock(on(SERVER), -5_000_000_000), [10_000, 10_000, 15_000]),
        (What::ClockRate(on(SERVER), Ppm::new(-500_000)), [10_000; 3]),
    ] {
        let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(30)).await });
        let when = When::Step { node: SERVER, nth: 1 };
        let is_instant = matches!(what, What::StepClock(..));
        let length = if is_instant { Lasts::Instant } else { lasts(2_000) };
        let (_, outcome) = world.fault(when, what.clone(), length).run();
        let fired = [1, 2, 3].map(|timer| times(&outcome, &Note::Fired(timer)));
        assert_eq!(fired, fires.map(|at| vec![at]), "{what:?}");
        assert_eq!(outcome.nodes[0].steps, 3);
    }
}

#[test]
fn a_task_whose_sleep_a_fault_overtakes_wakes_once() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        host.sleep(secs(1)).await;
        log.word(&host, "awake");
        host.sleep(secs(9)).await;
    });
    let when = When::Step { node: CLIENT, nth: 1 };
    let (log, outcome) = world.fault(when, What::StepClock(on(CLIENT), 1), Lasts::Instant).run();
    assert_eq!((log.lines(), outcome.nodes[1].steps), (vec![(1_000, "awake".to_owned())], 2));
}

#[test]
fn timers_of_one_instant_keep_their_order_when_a_clock_changes() {
    for what in [What::StepClock(on(CLIENT), 5), What::ClockRate(on(CLIENT), Ppm::new(1_000_000))] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            // Both of their timers' places are free again, the second is taken first.
            host::all([host.sleep(ms(1)), host.sleep(ms(2))]).await;
            let sleeps = |name: &'static str| {
                let (host, log) = (host.clone(), log.clone());
                async move {
                    until(&host, 1_000).await;
                    log.word(&host, name);
                }
            };
            host::all(["one", "two", "three"].map(sleeps)).await;
        });
        let length = if matches!(what, What::StepClock(..)) { Lasts::Instant } else { Lasts::ToTheEnd };
        assert_eq!(world.fault(at(500), what, length).words(), ["one", "two", "three"]);
    }
}

#[test]
fn a_step_of_one_machine_s_clock_does_not_move_a_timer_behind_another_s() {
    let sleeps = |name| {
        move |host: Process, log: Log| async move {
            host.sleep(secs(1)).await;
            log.word(&host, name);
        }
    };
    let world = World::new(Persistence::None).client(sleeps("one")).client(sleeps("two"));
    let step = What::StepClock(on(CLIENT), 1);
    assert_eq!(world.fault(at(500), step, Lasts::Instant).words(), ["one", "two"]);
}

#[test]
fn a_timer_that_waited_fires_before_one_that_is_due_as_its_process_runs_again() {
    let sleeps = |seconds, name| {
        move |host: Process, log: Log| async move {
            host.sleep(secs(seconds)).await;
            log.word(&host, name);
        }
    };
    let world = World::new(Persistence::None).client(sleeps(2, "waited")).client(sleeps(6, "due"));
    assert_eq!(world.fault(at(1_000), pause(CLIENT), until_ms(6_000)).words(), ["waited", "due"]);
}

#[test]
fn a_stall_of_a_part_that_a_process_does_not_have_holds_nothing_up() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let (watching, other) = (line(&host).await, line(&host).await);
        watching.call(Ask::Watch, secs(1)).await.expect("watching");
        put(&other, 1).await.expect("kept");
        watching.pushed().await;
        log.word(&host, "pushed");
    });
    let stall = What::Stall(Target::Node(SERVER), Part::WORKER);
    let (log, _) = world.fault(at(0), stall, lasts(5_000)).run();
    assert!(log.lines()[0].0 < 10);
}

#[test]
fn a_timer_is_moved_or_forgotten_though_it_was_due_and_is_one_however_often_it_was_set() {
    for (second, fires) in
        [(None, vec![2_001]), (Some(Some(3_000)), vec![8_050]), (Some(Some(0)), vec![5_050]), (Some(None), vec![])]
    {
        let world = World::new(Persistence::None).client(move |host, _| async move {
            let line = line(&host).await;
            until(&host, 1_000).await;
            line.call(Ask::Alarm(Some(1_000)), secs(9)).await.expect("set");
            if let Some(second) = second {
                until(&host, 1_800).await;
                line.call(Ask::Alarm(second), secs(9)).await.expect("set");
            }
            host.sleep(secs(20)).await;
        });
        // It comes due while the second request is in the socket.
        let world = world.fault_if(second.is_some(), at(1_500), pause(SERVER), until_ms(5_050));
        assert_eq!(times(&world.run().1, &Note::Fired(ALARM.0)), fires, "{second:?}");
    }
}

#[test]
fn a_timer_that_was_given_up_while_it_waited_does_not_fire_another_in_its_place() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let sleeper = host.clone();
        let doomed = host.spawn(Part::WORKER, async move { sleeper.sleep(ms(200)).await });
        let (beat, out) = (host.clone(), log.clone());
        drop(host.spawn(Part::RENEWAL, async move {
            until(&beat, 300).await;
            doomed.abort();
            beat.sleep(ms(1)).await;
            // One of these has the place of the timer that hangs.
            host::all([450, 500].map(|at| until(&beat, at))).await;
            out.word(&beat, "beats");
        }));
        host.sleep(secs(2)).await;
    });
    let world = world.fault(at(100), stall(Part::WORKER), lasts(800));
    assert_eq!(world.fault(at(400), pause(CLIENT), lasts(600)).run().0.lines(), [(1_000, "beats".to_owned())]);
}

#[test]
fn a_sleep_of_no_time_ends_at_once_and_one_for_ever_never() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        host.sleep(ms(0)).await;
        log.word(&host, "at once");
        let raced = first(host.sleep(Duration::MAX), host.sleep(secs(1))).await;
        log.say(&host, matches!(raced, Either::Right(())));
        let line = host.connect(server(), Duration::MAX).await.expect("the server is there");
        log.say(&host, line.call(Ask::Get, Duration::MAX).await);
    });
    assert_eq!(world.words(), ["at once", "true", "Ok(Kept(0))"]);
}

#[test]
fn a_pause_within_a_pause_ends_with_the_last() {
    for (first_ends, second_ends) in [(3_000, 6_000), (6_000, 3_000)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            host.point(Point("here")).await;
            until(&host, 1_500).await;
            log.word(&host, "runs");
        });
        let world = world.fault(at(1_000), pause(CLIENT), until_ms(first_ends));
        let world = world.fault(at(2_000), What::MachineSleep(on(CLIENT)), until_ms(second_ends));
        // The monotonic clock stood while the machine slept.
        let slept = second_ends - 2_000;
        assert_eq!(world.run().0.lines(), [(6_000.max(second_ends) - slept, "runs".to_owned())]);
    }
}
