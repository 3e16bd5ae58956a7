//! A world that was played with one seed plays another as if it were new.

use crate::probe::*;
use host::{Host, Point, Ppm, Purpose};
use sim::{Bounds, Held, Lasts, Link, Target, When};

const HERE: Point = Point("here");

/// Two clients race to a point. Whoever is there first is cut off from the server for a while; a clock changes its
/// rate; and when the run is over both are still asleep.
fn race() -> World {
    let client = |draws| {
        move |host: Process, _: Log| async move {
            let line = line(&host).await;
            for _ in 0..draws {
                host.random(Purpose::Workload);
            }
            host.sleep(ms(host.random(Purpose::Workload) % 100)).await;
            host.point(HERE).await;
            get(&line).await.expect("an answer, after the cut at the latest");
            host.sleep(secs(9)).await;
        }
    };
    let first = When::Milestone { clients: vec![], point: HERE, nth: 1, plus: ms(0) };
    let cut = What::Cut(vec![Link { from: Target::Reacher, to: Target::Node(SERVER) }], Held::Linger);
    World::new(Persistence::None)
        .client(client(0))
        .client(client(1))
        .fault(first, cut, lasts(200))
        .fault(at(500), What::ClockRate(on(CLIENT), Ppm::new(500_000)), lasts(100))
        .fault(at(600), What::StepClock(on(OTHER), 1_000_000), Lasts::Instant)
}

#[test]
fn nothing_of_a_run_with_another_seed_is_left() {
    let play = |world: &mut World, seed| {
        world.sim.reset(seed, false);
        // Every other run is cut off early, and leaves timers behind that would be due in the next.
        let horizon = if seed % 2 == 0 { ms(30) } else { secs(1) };
        world.sim.run(Bounds { horizon, events: 1_000 })
    };
    let (mut used, mut first) = (race(), Vec::new());
    for seed in 0..24 {
        let (new, again) = (play(&mut race(), seed), play(&mut used, seed));
        assert_eq!(new.hash, again.hash, "seed {seed}");
        first.extend(new.strikes.first().map(|strike| strike.nodes[0]));
    }
    assert!(first.contains(&CLIENT) && first.contains(&OTHER), "{first:?}");
}

#[test]
fn a_world_is_not_played_twice_without_a_reset() {
    let mut world = race();
    let bounds = Bounds { horizon: secs(1), events: 1_000 };
    let _ = world.sim.run(bounds);
    let again = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| world.sim.run(bounds)));
    let why = again.err().and_then(|panic| panic.downcast_ref::<&str>().map(|why| (*why).to_owned()));
    assert!(why.is_some_and(|why| why.contains("reset before it is played again")));
}
