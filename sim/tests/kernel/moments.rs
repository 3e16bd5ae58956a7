//! Moments at which faults strike and end, and for what the end of a run waits.

use crate::probe::*;
use host::{Calls, Context, Cue, Deadline, Ending, Host, NodeId, Origin, Point, Ppm, Service, Stage, TimerId, first};
use sim::{Bounds, Held, Lasts, Sim, Target, When};

const HERE: Point = Point("here");

fn here(nth: u32, clients: Vec<NodeId>) -> When {
    When::Milestone { clients, point: HERE, nth, plus: ms(0) }
}

fn every(times: Option<u32>) -> When {
    When::Every { at: secs(1), every: secs(2), times }
}

/// A client that passes a point at these true milliseconds, and ends after the last.
fn passes(times: &'static [u64]) -> impl Fn(Process, Log) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
    move |host, _| {
        Box::pin(async move {
            for at in times {
                until(&host, *at).await;
                host.point(HERE).await;
            }
        })
    }
}

/// The milliseconds at which faults struck, and whom.
fn strikes(outcome: &sim::Outcome<Note>) -> Vec<(u64, Vec<NodeId>)> {
    outcome.strikes.iter().map(|strike| (millis(strike.from), strike.nodes.clone())).collect()
}

#[test]
fn a_milestone_is_counted_over_all_its_clients_and_strikes_who_reached_it() {
    for (nth, clients, struck) in [
        (1, vec![], vec![(100, vec![CLIENT])]),
        (2, vec![], vec![(150, vec![OTHER])]),
        (3, vec![], vec![(200, vec![CLIENT])]),
        (2, vec![OTHER], vec![(250, vec![OTHER])]),
        (5, vec![], vec![]),
    ] {
        let world = World::new(Persistence::None).client(passes(&[100, 200])).client(passes(&[150, 250]));
        let what = What::StepClock(vec![Target::Reacher], 5);
        let (_, outcome) = world.fault(here(nth, clients.clone()), what, Lasts::Instant).run();
        assert_eq!(strikes(&outcome), struck, "{nth} of {clients:?}");
    }
    let elsewhere = When::Milestone { clients: vec![], point: Point("elsewhere"), nth: 1, plus: ms(0) };
    let world = World::new(Persistence::None).client(passes(&[100]));
    let (_, outcome) = world.fault(elsewhere, What::StepClock(on(CLIENT), 5), Lasts::Instant).run();
    assert_eq!(strikes(&outcome), []);
}

#[test]
fn a_service_s_milestone_is_reached_by_the_client_whose_attempt_it_was() {
    let world = World::new(Persistence::None).client(passes(&[10])).client(|host, _| async move {
        let line = line(&host).await;
        host.attempt(host.open_attempt(), put(&line, 1)).await.expect("kept");
    });
    let when = When::Milestone { clients: vec![OTHER], point: STORED, nth: 1, plus: ms(0) };
    let (_, outcome) = world.fault(when, What::StepClock(vec![Target::Reacher], 5), Lasts::Instant).run();
    assert_eq!(strikes(&outcome), [(3, vec![OTHER])]);
}

#[test]
fn a_step_is_watched_when_it_is_about_to_be_taken_be_it_an_event_or_a_point() {
    // Its steps: it passes a point, its sleep ends, it passes another.
    for (nth, struck) in [(1, 0), (2, 100), (3, 100)] {
        let world = World::new(Persistence::None).client(|host, _| async move {
            host.point(HERE).await;
            host.sleep(ms(100)).await;
            host.point(HERE).await;
            host.sleep(ms(100)).await;
        });
        let when = When::Step { node: CLIENT, nth };
        let (_, outcome) = world.fault(when, What::Pause(on(CLIENT)), lasts(1_000)).run();
        assert_eq!((strikes(&outcome), millis(outcome.end)), (vec![(struck, vec![CLIENT])], 1_200));
    }
    // While it stands still, it is about to take no step.
    let world = World::new(Persistence::None).client(passes(&[100, 9_000]));
    let world = world.fault(at(50), What::Pause(on(CLIENT)), lasts(1_000));
    let step = When::Step { node: CLIENT, nth: 1 };
    let (_, outcome) = world.fault(step, What::StepClock(on(CLIENT), 1), Lasts::Instant).run();
    assert_eq!(strikes(&outcome)[1], (1_050, vec![CLIENT]));
}

#[test]
fn a_fault_on_who_reached_it_strikes_nobody_if_nobody_did() {
    for what in [
        What::Pause(vec![Target::Reacher]),
        What::Throttle { target: Target::Reacher, run: ms(1), stop: ms(1) },
        What::Cut(vec![sim::Link { from: Target::Reacher, to: Target::Node(SERVER) }], Held::Dropped),
    ] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            until(&host, 100).await;
            let line = line(&host).await;
            log.say(&host, get(&line).await.is_ok());
        });
        let (log, outcome) = world.fault(at(50), what, lasts(10_000)).run();
        assert_eq!((log.words(), strikes(&outcome)), (vec!["true".to_owned()], vec![(50, vec![])]));
    }
}

#[test]
fn an_end_that_comes_before_its_fault_ends_nothing() {
    let world = World::new(Persistence::None).client(passes(&[100, 200, 300, 9_000]));
    let (log, outcome) = world.fault(here(3, vec![]), What::Pause(on(SERVER)), Lasts::Until(here(2, vec![]))).run();
    assert_eq!(log.words(), [""; 0]);
    assert_eq!(outcome.strikes.iter().map(|strike| strike.until).collect::<Vec<_>>(), [None]);
    // The other way round it ends.
    let world = World::new(Persistence::None).client(passes(&[100, 200, 300, 9_000]));
    let (_, outcome) = world.fault(here(2, vec![]), What::Pause(on(SERVER)), Lasts::Until(here(3, vec![]))).run();
    assert_eq!(outcome.strikes[0].until.map(millis), Some(300));
}

#[test]
fn a_fault_that_comes_again_ends_each_time_or_with_the_moment_that_ends_them_all() {
    let world = World::new(Persistence::None).client(passes(&[9_000]));
    let rate = || What::ClockRate(on(SERVER), Ppm::new(1));
    let (_, outcome) = world.fault(every(Some(3)), rate(), Lasts::Until(at(4_500))).run();
    let ends: Vec<_> = outcome.strikes.iter().map(|strike| strike.until.map(millis)).collect();
    assert_eq!(ends, [Some(4_500), Some(4_500), None]);
    let world = World::new(Persistence::None).client(passes(&[9_000]));
    let each = When::Every { at: secs(2), every: secs(2), times: Some(4) };
    let (_, outcome) = world.fault(every(Some(3)), rate(), Lasts::Until(each)).run();
    let ends: Vec<_> = outcome.strikes.iter().map(|strike| strike.until.map(millis)).collect();
    assert_eq!(ends, [Some(2_000), Some(4_000), Some(6_000)]);
    let told = outcome.records.iter().filter(|record| record.kind == sim::RecordKind::FaultEnd);
    assert_eq!(told.count(), 3);
}

#[test]
fn a_fault_comes_as_often_as_is_said_and_a_run_does_not_wait_for_one_without_end() {
    for (times, end, count) in [(Some(0), 4_000, 0), (Some(1), 4_000, 1), (Some(4), 7_100, 4), (None, 4_000, 2)] {
        let world = World::new(Persistence::None).client(passes(&[4_000]));
        let (_, outcome) = world.fault(every(times), What::Pause(on(SERVER)), lasts(100)).run();
        let ended = (outcome.ending, millis(outcome.end), outcome.strikes.len());
        assert_eq!(ended, (Ending::Quiet, end, count), "{times:?}");
    }
}

#[test]
fn a_milestone_s_fault_some_time_after_is_waited_for_and_one_never_reached_is_not() {
    for (nth, end) in [(1, 600), (2, 100)] {
        let world = World::new(Persistence::None).client(passes(&[100]));
        let when = When::Milestone { clients: vec![], point: HERE, nth, plus: ms(500) };
        let (_, outcome) = world.fault(when, What::Pause(on(SERVER)), Lasts::ToTheEnd).run();
        assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, end));
    }
}

#[test]
fn a_fault_that_ends_early_is_not_waited_for_twice() {
    // Ended by its length and by nothing else, though the process has died meanwhile; then the run is quiet.
    let world = World::new(Persistence::None).client(passes(&[100]));
    let world = world.fault(at(50), What::Pause(on(SERVER)), lasts(1_000));
    let (_, outcome) = world.fault(at(60), What::Kill(on(SERVER)), lasts(200)).run();
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, 1_050));
}

#[test]
fn a_cue_is_not_waited_for_and_comes_to_who_asks_late() {
    let mut world = World::new(Persistence::None).client(|host, log| async move {
        host.sleep(secs(1)).await;
        host.cue(Cue(0)).await;
        log.word(&host, "it had come");
    });
    world.sim.cue(at(500));
    world.sim.cue(at(30_000));
    let (log, outcome) = world.run();
    assert_eq!((log.lines(), millis(outcome.end)), (vec![(1_000, "it had come".to_owned())], 1_000));
}

#[test]
fn of_two_rates_the_last_is_in_force_and_then_the_other_again() {
    let rate = |ppm| What::ClockRate(on(SERVER), Ppm::new(ppm));
    for (spans, fires) in [
        // 1 s normal, 1 s twice, 2 s half, and twice again: 1 + 2 + 1 + 6.
        ([(1_000, 20_000), (2_000, 4_000)], 7_000),
        // 1 s normal, 1 s twice, then half to 6 s, then normal again: 1 + 2 + 2 + 5.
        ([(1_000, 4_000), (2_000, 6_000)], 11_000),
    ] {
        let world = World::new(Persistence::None).client(passes(&[30_000]));
        let world = world.fault(at(spans[0].0), rate(1_000_000), Lasts::Until(at(spans[0].1)));
        let (_, outcome) = world.fault(at(spans[1].0), rate(-500_000), Lasts::Until(at(spans[1].1))).run();
        assert_eq!(times(&outcome, &Note::Fired(1)), [fires]);
    }
}

/// A client that sends one put at 100 ms and ends at once, over a link that takes 50 ms.
fn leaves_a_put(world: World) -> World {
    world.latency(CLIENT, SERVER, 50).client(|host, _| async move {
        let line = line(&host).await;
        until(&host, 100).await;
        let _ = first(put(&line, 1), host.sleep(ms(1))).await;
    })
}

#[test]
fn a_run_waits_for_what_is_on_its_way_to_an_awaited_service_and_to_no_other() {
    for (world, end, kept) in [(World::new(Persistence::None), 101, vec![]), (World::awaited(), 150, vec![1])] {
        let (_, outcome) = leaves_a_put(world).run();
        assert_eq!((outcome.ending, millis(outcome.end), stored(&outcome)), (Ending::Quiet, end, kept));
    }
}

/// Answers a second after it was asked, and says so.
struct Slow(Option<Origin>);

impl Service<Probe> for Slow {
    fn on_message(&mut self, cx: &mut Context<Probe>, from: Origin, _: Message) {
        self.0 = Some(from);
        cx.set_timer(TimerId(0), Deadline::Mono(cx.mono + secs(1)));
    }
    fn on_timer(&mut self, cx: &mut Context<Probe>, _: TimerId) {
        cx.note(Note::Served);
        cx.reply(self.0.take().expect("it was asked"), Kept(0));
    }
}

#[test]
fn a_run_waits_for_the_answer_that_an_awaited_service_owes_and_not_for_that_of_a_dead_one() {
    let play = |awaited: bool, dies: bool| {
        let mut world = World::empty();
        let factory: sim::ServiceFactory<Probe> = Box::new(|| Box::new(Slow(None)));
        if awaited {
            world.sim.awaited_service(spec("server"), factory);
        } else {
            world.sim.service(spec("server"), factory);
        }
        let (_, outcome) = leaves_a_put(world).fault_if(dies, at(500), What::Kill(on(SERVER)), Lasts::ToTheEnd).run();
        assert_eq!(outcome.ending, Ending::Quiet);
        (millis(outcome.end), times(&outcome, &Note::Served))
    };
    assert_eq!(play(true, false), (1_150, vec![1_150]));
    assert_eq!(play(true, true), (500, vec![]));
    assert_eq!(play(false, false), (101, vec![]));
}

#[test]
fn a_run_waits_for_the_heal_of_a_cut_and_what_that_releases_but_not_for_a_cut_without_end() {
    for (length, end, kept) in [(lasts(2_000), 2_140, vec![1]), (Lasts::ToTheEnd, 101, vec![])] {
        let held = What::Cut(vec![one_way(CLIENT, SERVER)], Held::Linger);
        let (_, outcome) = leaves_a_put(World::awaited()).fault(at(90), held, length).run();
        assert_eq!((outcome.ending, millis(outcome.end), stored(&outcome)), (Ending::Quiet, end, kept));
    }
}

#[test]
fn a_run_does_not_wait_for_what_died_with_its_reader() {
    // Nothing ends the pause; another service's timers are the last that can happen.
    for (what, end) in [(None, 10_000), (Some(What::Kill(on(SERVER))), 500)] {
        let mut world = leaves_a_put(World::awaited());
        world.sim.service(spec("another"), Box::new(|| Box::new(Store::new(Persistence::None))));
        let world = world.fault(at(90), What::Pause(on(SERVER)), Lasts::ToTheEnd);
        let world = match what {
            Some(what) => world.fault(at(500), what, Lasts::ToTheEnd),
            None => world,
        };
        let (_, outcome) = world.run();
        assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, end));
    }
}

#[test]
fn a_run_does_not_wait_for_what_is_lost_behind_a_lost_one() {
    // Two puts for the awaited service, on the wire when a short cut meets the first of them.
    for (held, more) in [(Held::Dropped, false), (Held::Linger, true)] {
        let world = World::awaited().latency(CLIENT, SERVER, 10).client(|host, _| async move {
            let line = line(&host).await;
            for at in [100, 105] {
                until(&host, at).await;
                let _ = first(put(&line, at), host.sleep(ms(0))).await;
            }
        });
        let cut = |held| What::Cut(vec![one_way(CLIENT, SERVER)], held);
        let world = world.fault(at(109), cut(held), lasts(3));
        // Held, it is sent again at 112, and the second waits for it; then it is lost after all.
        let (_, outcome) = world.fault_if(more, at(120), cut(Held::Dropped), lasts(30)).run();
        assert_eq!((outcome.ending, stored(&outcome)), (Ending::Quiet, vec![]));
        assert_eq!(millis(outcome.end), if more { 150 } else { 115 });
    }
}

#[test]
fn a_run_in_which_nothing_can_happen_any_more_is_quiet_if_its_clients_have_finished() {
    // What is on its way to the awaited service waits for ever, and its timers with it.
    let world = leaves_a_put(World::awaited()).fault(at(90), What::Pause(on(SERVER)), Lasts::ToTheEnd);
    let (_, outcome) = world.run();
    assert_eq!((outcome.ending, millis(outcome.end)), (Ending::Quiet, 10_000));
}

#[test]
fn a_world_without_clients_or_without_time_ends_at_once() {
    let nobody = World::new(Persistence::None).run().1;
    assert_eq!((nobody.ending, millis(nobody.end), nobody.events), (Ending::Quiet, 0, 0));
    let mut world = World::new(Persistence::None).client(|host, log| async move {
        host.sleep(ms(0)).await;
        log.word(&host, "at the first instant");
        host.sleep(ms(1)).await;
    });
    world.horizon = ms(0);
    let (log, outcome) = world.run();
    assert_eq!((log.words(), outcome.ending), (vec!["at the first instant".to_owned()], Ending::Horizon));
    let mut empty: Sim<Probe> = Sim::new(1, false);
    assert_eq!(empty.run(Bounds { horizon: secs(1), events: 1 }).ending, Ending::Quiet);
}

#[test]
fn a_run_may_last_for_centuries() {
    let mut world = World::new(Persistence::None).client(|host, _| async move {
        host.connect(server(), secs(1)).await.expect("the server is there");
        host.sleep(host::Duration::MAX).await;
    });
    world.horizon = host::Duration::MAX;
    // The wall clock runs out of its range first.
    let mut world = world.fault(every(None), What::StepClock(on(CLIENT), i64::MAX / 4), Lasts::Instant);
    let outcome = world.sim.run(Bounds { horizon: host::Duration::MAX, events: 1_000 });
    assert_eq!(outcome.ending, Ending::Budget);
    // The monotonic clock has run out of its range when it is asked, and all sleeps have ended with it.
    let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(host::Duration::MAX).await });
    let far = When::At(host::Duration::from_nanos(u64::MAX - 5));
    let mut world = world.fault(far, What::MachineSleep(on(CLIENT)), Lasts::ToTheEnd);
    let outcome = world.sim.run(Bounds { horizon: host::Duration::MAX, events: 1_000 });
    assert_eq!(outcome.ending, Ending::Quiet);
}
