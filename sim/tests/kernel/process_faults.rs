//! Faults of processes and machines: each shown by its effect, and by the absence of it when off.

use crate::probe::*;
use host::{Activity, Calls, Connection, Either, Host, Part, Point, Span, first};
use sim::{Entity, Fault, Lasts, Target, When};

/// Asks once a second, four times, and logs when each answer came.
async fn asks(host: Process, log: Log) {
    let line = line(&host).await;
    for round in 1..=4 {
        until(&host, 1_000 * round).await;
        let answer = line.call(Ask::Get, secs(20)).await;
        log.say(&host, answer);
    }
}

/// In which of the client's seconds it got its four answers.
fn seconds(log: &Log) -> Vec<u64> {
    log.lines().iter().map(|(at, _)| at / 1_000).collect()
}

#[test]
fn a_paused_client_runs_late_while_its_clocks_run_on() {
    for (on_off, expected) in [(false, [1, 2, 3, 4]), (true, [1, 6, 6, 6])] {
        let world = World::new(Persistence::None).client(asks);
        let (log, _) = world.fault_if(on_off, at(1_500), What::Pause(on(CLIENT)), lasts(5_000)).run();
        assert_eq!(seconds(&log), expected);
    }
}

#[test]
fn a_paused_server_answers_late() {
    for (on_off, expected) in [(false, [1, 2, 3, 4]), (true, [1, 6, 6, 6])] {
        let world = World::new(Persistence::None).client(asks);
        let (log, outcome) = world.fault_if(on_off, at(1_500), What::Pause(on(SERVER)), lasts(5_000)).run();
        assert_eq!(seconds(&log), expected);
        assert_eq!(outcome.strikes.first().map(|strike| strike.met), on_off.then_some(1));
        let activity: Vec<_> = outcome.nodes[0].activity.iter().map(|(at, what)| (millis(*at), *what)).collect();
        let paused = [(1_500, Activity::Paused), (6_500, Activity::Running)];
        assert_eq!(activity, if on_off { paused.to_vec() } else { vec![] });
    }
}

#[test]
fn while_it_sleeps_a_machine_counts_no_monotonic_time_and_while_it_is_stopped_no_time_at_all() {
    for (what, true_ms, mono, boot, wall_ms) in [
        (None, 4_000, 4_000, 4_000, 4_000),
        (Some(What::Pause(on(CLIENT))), 6_000, 6_000, 6_000, 6_000),
        (Some(What::MachineSleep(on(CLIENT))), 9_000, 4_000, 9_000, 9_000),
        (Some(What::VmStop(on(CLIENT))), 9_000, 4_000, 4_000, 4_000),
    ] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            host.sleep(ms(4_000)).await;
            let boot = (host.boottime() - host::MonoTime::from_nanos(1_000_000_000)).as_millis();
            log.word(&host, &format!("{} {boot} {}", clock(&host), wall(&host)));
        });
        let world = match what {
            Some(what) => world.fault(at(1_000), what, lasts(5_000)),
            None => world,
        };
        let (log, outcome) = world.run();
        assert_eq!(log.words(), [format!("{mono} {boot} {wall_ms}")]);
        assert_eq!(millis(outcome.end), true_ms);
    }
}

#[test]
fn a_paused_machine_still_answers_who_connects_and_a_sleeping_one_does_not() {
    for (what, expected) in [
        (What::Pause(on(SERVER)), "connected"),
        (What::MachineSleep(on(SERVER)), "TimedOut"),
        (What::VmStop(on(SERVER)), "TimedOut"),
    ] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            until(&host, 200).await;
            match host.connect(server(), ms(500)).await {
                Ok(_) => log.word(&host, "connected"),
                Err(error) => log.say(&host, error),
            }
        });
        assert_eq!(world.fault(at(100), what, lasts(5_000)).words(), [expected]);
    }
}

#[test]
fn after_a_pause_timers_fire_once_and_late_and_a_reply_in_the_socket_beats_them() {
    // The pause begins while the call is out: its reply and its timeout both come within it.
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        let (ticker, ticks) = (host.clone(), log.clone());
        drop(host.spawn(Part::WORKER, async move {
            for _ in 0..3 {
                ticker.sleep(secs(1)).await;
                ticks.word(&ticker, "tick");
            }
        }));
        host.point(Point("about-to-call")).await;
        log.say(&host, line.call(Ask::Get, secs(1)).await);
        host.sleep(secs(4)).await;
    });
    let (log, _) = world.fault(When::Step { node: CLIENT, nth: 5 }, What::Pause(on(CLIENT)), lasts(5_000)).run();
    let seen: Vec<_> = log.lines().into_iter().map(|(at, words)| format!("{}:{words}", at / 1_000)).collect();
    assert_eq!(seen, ["5:Ok(Kept(0))", "5:tick", "6:tick", "7:tick"]);
}

#[test]
fn a_pause_at_a_point_stops_the_program_exactly_there() {
    for (on_off, before, after) in [(false, 0, 0), (true, 0, 5)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            log.word(&host, "before");
            host.point(Point("here")).await;
            log.word(&host, "after");
        });
        let when = When::Milestone { clients: vec![CLIENT], point: Point("here"), nth: 1, plus: ms(0) };
        let (log, _) = world.fault_if(on_off, when, What::Pause(vec![Target::Reacher]), lasts(5_000)).run();
        assert_eq!(seconds(&log), [before, after]);
    }
}

#[test]
fn a_milestone_may_be_the_nth_and_its_fault_some_time_after() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        for _ in 0..3 {
            host.point(Point("here")).await;
            host.sleep(secs(1)).await;
            log.word(&host, "slept");
        }
    });
    let when = When::Milestone { clients: vec![], point: Point("here"), nth: 2, plus: ms(500) };
    let (log, outcome) = world.fault(when, What::Pause(vec![Target::Reacher]), lasts(5_000)).run();
    assert_eq!(seconds(&log), [1, 6, 7]);
    assert_eq!(millis(outcome.strikes[0].from), 1_500);
}

#[test]
fn a_stalled_part_of_a_client_hangs_while_the_other_lives() {
    for (part, worker, renewal) in [
        (None, [1, 2, 3], [1, 2, 3]),
        (Some(Part::WORKER), [1, 6, 7], [1, 2, 3]),
        (Some(Part::RENEWAL), [1, 2, 3], [1, 6, 7]),
    ] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let (beats, out) = (host.clone(), log.clone());
            let beat = host.spawn(Part::RENEWAL, async move {
                for _ in 0..3 {
                    beats.sleep(secs(1)).await;
                    out.word(&beats, "renewal");
                }
            });
            for _ in 0..3 {
                host.sleep(secs(1)).await;
                log.word(&host, "worker");
            }
            beat.await;
        });
        let world = match part {
            Some(part) => world.fault(at(1_500), What::Stall(Target::Node(CLIENT), part), lasts(5_000)),
            None => world,
        };
        let (log, outcome) = world.run();
        let hung = outcome.nodes[1].activity.iter().any(|(_, activity)| *activity == Activity::Stalled);
        assert_eq!(hung, part == Some(Part::WORKER), "the history says when the acting part hung");
        let lines = log.lines();
        let of = |who: &str| -> Vec<_> { lines.iter().filter(|l| l.1 == who).map(|l| l.0 / 1_000).collect() };
        assert_eq!((of("worker"), of("renewal")), (worker.to_vec(), renewal.to_vec()), "{part:?}");
    }
}

#[test]
fn a_stalled_server_answers_late_while_its_timers_run_on() {
    let world = World::new(Persistence::None).client(asks);
    let stall = What::Stall(Target::Node(SERVER), Part::REQUESTS);
    let (log, outcome) = world.fault(at(3_500), stall, lasts(10_000)).run();
    assert_eq!(seconds(&log), [1, 2, 3, 13]);
    assert_eq!(fired(&outcome, 1), Some(10_000));
}

#[test]
fn a_throttled_process_stands_again_and_again() {
    for (on_off, ticks) in [(false, 20), (true, 10)] {
        // Half of the time it stands: of its ticks of 1 ms it takes half within the same true time.
        let world = World::new(Persistence::None).client(|host, log| async move {
            let mut ticks = 0;
            while clock(&host) < 20 {
                match first(host.sleep(ms(1)), std::future::pending::<()>()).await {
                    Either::Left(()) => ticks += 1,
                    Either::Right(()) => {}
                }
            }
            log.word(&host, &format!("{ticks}"));
        });
        let what = What::Throttle { target: Target::Node(CLIENT), run: ms(2), stop: ms(2) };
        let counted: u64 = world.fault_if(on_off, at(0), what, lasts(100)).words()[0].parse().expect("a number");
        assert!(counted.abs_diff(ticks) <= 5, "{counted} instead of about {ticks}");
        assert_eq!(counted == 20, !on_off);
    }
}

#[test]
fn a_throttle_that_ends_while_its_process_runs_changes_nothing_more() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        for at in [600, 1_000, 1_600, 2_600] {
            until(&host, at).await;
            log.word(&host, "runs");
        }
    });
    let what = What::Throttle { target: Target::Node(CLIENT), run: ms(500), stop: ms(300) };
    let (log, outcome) = world.fault(at(0), what, lasts(1_000)).run();
    assert_eq!(log.lines().iter().map(|line| line.0).collect::<Vec<_>>(), [800, 1_000, 1_600, 2_600]);
    assert_eq!(outcome.nodes[1].activity.len(), 2);
}

#[test]
fn a_fault_may_last_until_a_milestone_or_to_the_end() {
    for (until_point, expected) in [(true, vec![1, 2, 3, 4]), (false, vec![1, 22, 22, 22])] {
        let world = World::new(Persistence::None).client(asks).client(|host, _| async move {
            host.sleep(ms(2_000)).await;
            host.point(Point("repaired")).await;
        });
        let milestone = When::Milestone { clients: vec![OTHER], point: Point("repaired"), nth: 1, plus: ms(0) };
        let lasts = if until_point { Lasts::Until(milestone) } else { Lasts::ToTheEnd };
        let (log, _) = world.fault(at(1_500), What::Pause(on(SERVER)), lasts).run();
        assert_eq!(seconds(&log), expected);
    }
}

#[test]
fn a_fault_may_come_again_and_again() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(10)).await });
    let when = When::Every { at: secs(1), every: secs(2), times: Some(3) };
    let (_, outcome) = world.fault(when, What::StepClock(on(CLIENT), 5), Lasts::Instant).run();
    assert_eq!(outcome.strikes.iter().map(|s| millis(s.from)).collect::<Vec<_>>(), [1_000, 3_000, 5_000]);
}

#[test]
fn a_fault_draws_for_itself_and_the_same_in_every_world() {
    let lengths = |names: &[&str], crowd: bool| {
        let mut world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
        if crowd {
            world = world.client(|host, _| async move { host.sleep(secs(1)).await });
        }
        for name in names {
            let (entity, what) = (Entity::named(name), What::Pause(on(SERVER)));
            let lasts = Lasts::For(Span::Uniform { from: ms(1), to: ms(1_000) });
            world.sim.fault(Fault { entity, what, when: at(1_000), lasts });
        }
        let strikes = world.run().1.strikes;
        strikes.iter().map(|strike| strike.until.expect("it ended").since(strike.from)).collect::<Vec<_>>()
    };
    let (both, other_way) = (lengths(&["one", "two"], false), lengths(&["two", "one"], true));
    assert_ne!(both[0], both[1]);
    assert_eq!((both[0], both[1]), (other_way[1], other_way[0]));
}

#[test]
fn how_long_a_fault_lasts_may_be_drawn_and_each_strike_draws_anew() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(10)).await });
    let when = When::Every { at: secs(1), every: secs(2), times: Some(3) };
    let drawn = Lasts::For(Span::Uniform { from: ms(1), to: ms(1_000) });
    let (_, outcome) = world.fault(when, What::Pause(on(CLIENT)), drawn).run();
    let lengths: Vec<_> = outcome.strikes.iter().map(|s| s.until.expect("it ended").since(s.from)).collect();
    assert!(lengths.iter().all(|length| (ms(1)..=ms(1_000)).contains(length)), "{lengths:?}");
    assert!(lengths[0] != lengths[1] && lengths[1] != lengths[2], "{lengths:?}");
}
