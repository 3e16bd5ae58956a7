//! Clocks, randomness, order, the trace hash, and how runs end.

use host::{Calls, Connection, Domain as _, Ending, Host, NodeId, Ppm, Purpose, Server, Span, Stage};

use crate::probe::*;
use sim::{Bounds, Lasts, RecordKind, Sim, When};

#[test]
fn a_step_moves_wall_timers_and_a_rate_moves_all_and_neither_outlives_the_fault() {
    for (what, lasts, fired_at) in [
        (None, Lasts::ToTheEnd, [10_000, 10_000, 10_000]),
        (Some(What::StepClock(on(SERVER), 8_000_000_000)), Lasts::Instant, [10_000, 10_000, 2_000]),
        (Some(What::StepClock(on(SERVER), -5_000_000_000)), Lasts::Instant, [10_000, 10_000, 15_000]),
        // 1 s at the normal rate, then everything at twice the rate.
        (Some(What::ClockRate(on(SERVER), Ppm::new(1_000_000))), Lasts::ToTheEnd, [5_500, 5_500, 5_500]),
        // For 2 s the clocks count 4: a slew ends with the fault.
        (Some(What::ClockRate(on(SERVER), Ppm::new(1_000_000))), lasts(2_000), [8_000, 8_000, 8_000]),
        // 4 s of sleep: the monotonic timer waits for them, the others do not notice.
        (Some(What::MachineSleep(on(SERVER))), lasts(4_000), [14_000, 10_000, 10_000]),
        (Some(What::VmStop(on(SERVER))), lasts(4_000), [14_000, 14_000, 14_000]),
        // They come due within the pause, and fire when it ends.
        (Some(What::Pause(on(SERVER))), lasts(12_000), [13_000, 13_000, 13_000]),
    ] {
        let mut world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(20)).await });
        if let Some(what) = what.clone() {
            world = world.fault(at(1_000), what, lasts);
        }
        let (_, outcome) = world.run();
        assert_eq!([1, 2, 3].map(|timer| fired(&outcome, timer)), fired_at.map(Some), "{what:?}");
    }
}

#[test]
fn a_program_sees_its_own_machine_s_clocks() {
    let program = |host: Process, log: Log| async move {
        host.sleep(secs(10)).await;
        log.word(&host, &format!("{} {}", clock(&host), wall(&host)));
    };
    let (log, outcome) = World::new(Persistence::None).client_at(Ppm::new(1_000_000), program).run();
    assert_eq!(log.words(), ["10000 10000"]);
    assert_eq!(millis(outcome.end), 5_000, "a clock at twice the rate counts 10 s in 5");
}

#[test]
fn a_wall_clock_may_be_ahead_from_the_start() {
    let log = Log::default();
    let (out, mut sim) = (log.clone(), Sim::<Probe>::new(7, false));
    let spec = sim::NodeSpec { wall_offset: -3_000_000_000, ..spec("client") };
    let program = move |host: Process| {
        let out = out.clone();
        Box::pin(async move { out.word(&host, &format!("{} {}", clock(&host), wall(&host))) }) as _
    };
    sim.client(spec, Box::new(program));
    assert_eq!(sim.run(Bounds { horizon: secs(1), events: 9 }).ending, Ending::Quiet);
    assert_eq!(log.words(), ["0 -3000"]);
}

#[test]
fn the_server_s_rate_is_its_own() {
    let world = World::with_rates(Persistence::None, Ppm::new(-500_000));
    let (_, outcome) = world.client(|host, _| async move { host.sleep(secs(30)).await }).run();
    assert_eq!(fired(&outcome, 1), Some(20_000));
}

#[test]
fn recording_changes_nothing_and_a_seed_is_a_run() {
    let run = |seed, recording| {
        let mut world = World::new(Persistence::None);
        (world.sim, world.seed) = (Sim::new(seed, recording), seed);
        world.sim.service(spec("server"), Box::new(|| Box::new(Store::new(Persistence::None))));
        let world = world.client(|host, log| async move {
            let line = line(&host).await;
            for _ in 0..5 {
                host.sleep(Span::Uniform { from: ms(1), to: ms(9) }.sample(|| host.random(Purpose::Workload))).await;
                log.say(&host, get(&line).await);
            }
        });
        world.fault(at(10), What::Pause(on(CLIENT)), lasts(7)).run().1
    };
    let (bare, recorded, again, other) = (run(3, false), run(3, true), run(3, true), run(4, true));
    assert_eq!(bare.hash, recorded.hash);
    assert_eq!((bare.events, bare.records.len()), (recorded.events, 0));
    assert_eq!(recorded.records, again.records);
    assert_ne!(recorded.hash, other.hash);
    assert!(recorded.records.iter().any(|record| record.kind == RecordKind::Fault));
}

#[test]
fn a_recipe_s_draw_shifts_nothing_and_a_workload_s_draw_shifts_the_workload() {
    let run = |extra: Option<Purpose>| {
        let world = World::new(Persistence::None).client(move |host, log| async move {
            let line = line(&host).await;
            for _ in 0..5 {
                if let Some(purpose) = extra {
                    host.random(purpose);
                }
                host.sleep(ms(host.random(Purpose::Workload) % 100)).await;
                get(&line).await.expect("an answer");
                log.word(&host, "answered");
            }
        });
        world.run().0.lines()
    };
    assert_eq!(run(None), run(Some(Purpose::Recipe)));
    assert_ne!(run(None), run(Some(Purpose::Workload)));
}

#[test]
fn a_node_s_draws_do_not_depend_on_who_else_is_there() {
    let draws = |crowd: usize| {
        let mut world = World::new(Persistence::None);
        for _ in 0..crowd {
            let nobody = spec("somebody-else");
            world.sim.service(nobody, Box::new(|| Box::new(Store::new(Persistence::None))));
        }
        let world = world.client(|host, log| async move { log.say(&host, host.random(Purpose::Recipe)) });
        world.words()
    };
    assert_eq!(draws(0), draws(3));
    // Two that are there draw each its own.
    let draw = |host: Process, log: Log| async move { log.say(&host, host.random(Purpose::Recipe)) };
    let mut world = World::new(Persistence::None).client(draw);
    let log = world.log.clone();
    world.sim.client(spec("another client"), Box::new(move |host| Box::pin(draw(host, log.clone()))));
    let words = world.words();
    assert_ne!(words[0], words[1]);
}

#[test]
fn each_link_draws_for_itself_and_each_way_for_itself() {
    let mut world = World::new(Persistence::None);
    world.sim.service(spec("another"), Box::new(|| Box::new(Store::new(Persistence::None))));
    for (from, to) in [(2, 0), (2, 1), (0, 2), (1, 2)] {
        world.sim.latency(NodeId::new(from), NodeId::new(to), Span::Uniform { from: ms(1), to: ms(1_000) });
    }
    let world = world.client(move |host, _| async move {
        for server in [0, 1] {
            host.connect(Server::<Ask>::on(NodeId::new(server)), secs(9)).await.expect("it is there");
        }
    });
    let (_, outcome) = world.run();
    let mut sent = 0;
    let mut took = Vec::new();
    for record in outcome.records.iter().filter(|record| ["connect", "accept"].contains(&record.text.as_str())) {
        match record.kind {
            RecordKind::Leave => sent = record.at.as_nanos(),
            RecordKind::Arrive => {
                took.push(record.at.as_nanos() - sent);
                sent = record.at.as_nanos();
            }
            _ => {}
        }
    }
    took.sort_unstable();
    assert_eq!(took.len(), 4);
    assert!(took.windows(2).all(|pair| pair[0] != pair[1]), "{took:?}");
}

#[test]
fn a_run_ends_quietly_when_nothing_can_change_any_more() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(2)).await });
    let (_, outcome) = world.run();
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, 2_000));
}

#[test]
fn a_run_waits_for_a_planned_fault_and_its_end() {
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(2)).await });
    let (_, outcome) = world.fault(at(5_000), What::Pause(on(SERVER)), lasts(1_000)).run();
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, 6_000));
}

#[test]
fn a_run_ends_at_its_horizon_and_at_its_budget() {
    let forever = |host: Process, _| async move {
        loop {
            host.sleep(secs(1)).await;
        }
    };
    let (_, outcome) = World::new(Persistence::None).client(forever).run();
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Horizon, 60_000));
    let mut world = World::new(Persistence::None).client(forever);
    let outcome = world.sim.run(Bounds { horizon: secs(60), events: 20 });
    assert_eq!((outcome.ending, outcome.events), (Ending::Budget, 20));
}

#[test]
fn a_program_that_never_lets_time_pass_spends_the_budget() {
    let calls = |host: Process, _: Log| async move {
        let line = line(&host).await;
        line.call(Ask::Get, ms(0)).await.expect_err("no time to answer");
        while get(&line).await.is_err() {}
    };
    let listens = |host: Process, _: Log| async move {
        let line = line(&host).await;
        line.call(Ask::Get, ms(0)).await.expect_err("no time to answer");
        while line.pushed().await.is_none() {}
    };
    let spawns = |host: Process, _: Log| async move {
        loop {
            host.spawn(host::Part::WORKER, async {}).await;
        }
    };
    let alone = || World::new(Persistence::None);
    for mut world in [alone().client(calls), alone().client(listens), alone().client(spawns)] {
        assert_eq!(world.sim.run(Bounds { horizon: secs(60), events: 1_000 }).ending, Ending::Budget);
    }
}

#[test]
fn a_client_that_waits_for_nothing_is_stuck() {
    let world = World::new(Persistence::None).client(|_, _| std::future::pending());
    let (_, outcome) = world.run();
    assert_eq!(outcome.ending, Ending::Stuck);
    assert_eq!(millis(outcome.end), 10_000, "the last event was a timer of the server");
}

#[test]
fn a_cue_comes_at_an_instant_or_with_a_milestone() {
    let mut world = World::new(Persistence::None);
    world.sim.cue(When::At(secs(3)));
    world.sim.cue(When::Milestone { clients: vec![OTHER], point: host::Point("here"), nth: 1, plus: ms(250) });
    let world = world
        .client_at(Ppm::new(1_000_000), |host, log| async move {
            host.cue(host::Cue(0)).await;
            log.word(&host, "at three true seconds");
            host.cue(host::Cue(1)).await;
            log.word(&host, "after the other");
        })
        .client(|host, _| async move {
            until(&host, 4_000).await;
            host.point(host::Point("here")).await;
        });
    let (log, outcome) = world.run();
    assert_eq!(log.words(), ["at three true seconds", "after the other"]);
    assert_eq!((log.lines()[0].0, millis(outcome.end)), (6_000, 4_250));
}

#[test]
fn equal_times_run_in_the_order_in_which_they_were_planned() {
    let world = World::new(Persistence::None)
        .client(|host, log| async move {
            host.sleep(secs(1)).await;
            log.word(&host, "first");
        })
        .client(|host, log| async move {
            host.sleep(secs(1)).await;
            log.word(&host, "second");
        });
    assert_eq!(world.words(), ["first", "second"]);
}

#[test]
fn what_counts_as_an_event_is_written_down() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        line.call(Ask::Watch, secs(1)).await.expect("watching");
        put(&line, 3).await.expect("kept");
        line.pushed().await;
        // By then, no timer is left of what has been answered or given up.
        host::first(host.sleep(secs(1)), std::future::ready(())).await;
        host.sleep(secs(2)).await;
    });
    let (_, outcome) = world.fault(at(0), What::Pause(on(SERVER)), lasts(1)).run();
    // The fault's moment and end; connect, watch, put: leave and arrive, and so do their answers (the
    // accept is the machine's own, it does not leave) and the push; the sleep.
    assert_eq!(outcome.events, 2 + 3 + 4 + 4 + 2 + 1);
    // Two requests, two replies, a push, a sleep.
    assert_eq!(outcome.application_events, 6);
    // The server's: two requests, two replies, a push. The client's: all else.
    assert_eq!([0, 1].map(|node| outcome.nodes[node].steps), [5, 8]);
}

#[test]
fn records_tell_who_sent_what_to_whom() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        put(&line, 3).await.expect("kept");
    });
    let (_, outcome) = world.run();
    let text = Probe::describe_message(&Message::Ask(Ask::Put(3)));
    let of_put: Vec<_> = outcome.records.iter().filter(|record| record.text == text).collect();
    assert_eq!(
        of_put.iter().map(|r| r.kind).collect::<Vec<_>>(),
        [RecordKind::Decide, RecordKind::Leave, RecordKind::Arrive]
    );
    assert!(of_put.windows(2).all(|pair| pair[0].message == pair[1].message && pair[0].at < pair[1].at));
    assert_eq!((of_put[0].node, of_put[0].peer, of_put[2].node), (CLIENT, Some(SERVER), SERVER));
}

#[test]
fn all_that_an_attempt_sends_and_is_sent_is_recorded_as_its_own() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let attempt = host.open_attempt();
        let body = async { get(&line(&host).await).await };
        host.attempt(attempt, body).await.expect("an answer");
        host.sleep(ms(10)).await;
    });
    let (_, outcome) = world.run();
    let sent = outcome.records.iter().filter(|record| record.kind == RecordKind::Decide);
    let tagged: Vec<_> = sent.map(|record| (record.text.as_str(), record.attempt.is_some())).collect();
    // The close says nothing on anybody's behalf.
    assert_eq!(tagged, [("connect", true), ("Ask(Get)", true), ("Kept(Kept(0))", true), ("close", false)]);
}
