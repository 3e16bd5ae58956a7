//! The trace hash tells runs apart: whatever differs in what happened makes another hash.

use crate::probe::*;
use host::{Calls, Connection, Ending, Host, NodeId, Part, Point, Server};
use sim::{Bounds, Held, Lasts};

/// The hash of a world that is played without faults.
fn hash(world: World) -> u64 {
    world.run().1.hash
}

/// A program is the same each time, but for a choice.
fn chooses<F: Future<Output = ()> + 'static>(choice: bool, program: impl Fn(Process, bool) -> F + 'static) -> u64 {
    hash(World::new(Persistence::None).client(move |host, _| program(host, choice)))
}

#[test]
fn the_hash_tells_points_notes_messages_and_attempts_apart() {
    let point = |host: Process, choice| async move {
        host.point(Point(if choice { "here" } else { "there" })).await;
    };
    let note = |host: Process, choice| async move {
        host.note(Note::Said(if choice { "yes" } else { "no" }));
    };
    let message = |host: Process, choice| async move {
        let line = line(&host).await;
        line.call(if choice { Ask::Get } else { Ask::Watch }, secs(1)).await.expect("an answer");
    };
    // Same messages, on behalf of others; the server's notes say so too, but a get makes none.
    let attempt = |host: Process, choice| async move {
        let (line, attempt) = (line(&host).await, host.open_attempt());
        let attempt = if choice { host.open_attempt() } else { attempt };
        host.attempt(attempt, get(&line)).await.expect("an answer");
    };
    let passes = |host: Process, choice| async move {
        let (first, second) = (host.open_attempt(), host.open_attempt());
        host.attempt(if choice { first } else { second }, host.point(Point("here"))).await;
    };
    assert_ne!(chooses(true, point), chooses(false, point));
    assert_ne!(chooses(true, note), chooses(false, note));
    assert_ne!(chooses(true, message), chooses(false, message));
    assert_ne!(chooses(true, attempt), chooses(false, attempt));
    assert_ne!(chooses(true, passes), chooses(false, passes));
    assert_eq!(chooses(true, message), chooses(true, message));
}

/// Two servers that differ in nothing, not even in what is drawn for them.
fn twins() -> World {
    let mut world = World::new(Persistence::None);
    world.sim.service(spec("server"), Box::new(|| Box::new(Store::new(Persistence::None))));
    world
}

#[test]
fn the_hash_tells_connections_and_receivers_apart() {
    let lines = |host: Process, choice| async move {
        let (one, two) = (line(&host).await, line(&host).await);
        get(if choice { &one } else { &two }).await.expect("an answer");
    };
    assert_ne!(chooses(true, lines), chooses(false, lines));
    let reached = |server: NodeId| {
        hash(twins().client(move |host, _| async move {
            host.connect(Server::<Ask>::on(server), secs(1)).await.expect("it is there");
        }))
    };
    assert_ne!(reached(NodeId::new(0)), reached(NodeId::new(1)));
    // Neither is reached: only whom they were meant for differs.
    let lost = |server: NodeId| {
        let world = twins().client(move |host, _| async move {
            host.sleep(ms(1)).await;
            _ = host.connect(Server::<Ask>::on(server), ms(5)).await.err();
        });
        let links = vec![one_way(OTHER, SERVER), one_way(OTHER, NodeId::new(1))];
        hash(world.fault(at(0), What::Cut(links, Held::Dropped), Lasts::ToTheEnd))
    };
    assert_ne!(lost(NodeId::new(0)), lost(NodeId::new(1)));
}

#[test]
fn the_hash_tells_apart_whose_timers_they_are() {
    // Two clients that do nothing but sleep; the first or the second of them sleeps longer.
    let sleepers = |times: [u64; 2]| {
        let sleeps = |time| move |host: Process, _| async move { host.sleep(ms(time)).await };
        hash(World::new(Persistence::None).client(sleeps(times[0])).client(sleeps(times[1])))
    };
    assert_ne!(sleepers([1, 2]), sleepers([2, 1]));
    // Nothing happens but the seed.
    let idle = |seed| sim::Sim::<Probe>::new(seed, false).run(Bounds { horizon: secs(1), events: 9 }).hash;
    assert_ne!(idle(1), idle(2));
}

#[test]
fn the_hash_tells_faults_apart_by_whom_they_strike_and_when_they_end() {
    let struck = |nodes: Vec<sim::Target>, millis| {
        let world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
        hash(world.fault(at(1), What::Pause(nodes), lasts(millis)))
    };
    let both = || vec![sim::Target::Node(SERVER), sim::Target::Node(CLIENT)];
    assert_ne!(struck(both(), 5), struck(on(SERVER), 5));
    assert_ne!(struck(on(SERVER), 5), struck(on(SERVER), 6));
    let message = |held| {
        let world = World::new(Persistence::None).client(|host, _| async move {
            let line = line(&host).await;
            until(&host, 100).await;
            let _ = put(&line, 1).await;
        });
        hash(world.fault(at(50), What::Cut(between(SERVER, CLIENT), held), Lasts::ToTheEnd))
    };
    assert_ne!(message(Held::Linger), message(Held::Dropped));
}

#[test]
fn the_hash_covers_how_and_when_a_run_ended_and_what_the_dead_tried() {
    let ends = |horizon| {
        let mut world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(9)).await });
        world.horizon = horizon;
        world.run().1
    };
    let (one, two) = (ends(secs(1)), ends(secs(2)));
    assert_eq!((one.ending, two.ending, one.events), (Ending::Horizon, Ending::Horizon, two.events));
    assert_ne!(one.hash, two.hash);
    let budget = |events| {
        let mut world = World::new(Persistence::None).client(|host, _| async move { host.sleep(secs(1)).await });
        world.sim.run(Bounds { horizon: secs(1), events })
    };
    // The last event is the same: what came of it differs in how the run was stopped.
    assert_eq!((budget(1).ending, budget(2).ending, budget(1).events), (Ending::Quiet, Ending::Quiet, 1));
    assert_eq!(budget(1).hash, budget(2).hash);
    assert_ne!(budget(0).hash, budget(1).hash);
    let tries = |count| {
        let world = World::new(Persistence::None).client(move |host, _| async move {
            struct Tries(Process, u32);
            impl Drop for Tries {
                fn drop(&mut self) {
                    for _ in 0..self.1 {
                        self.0.note(Note::Said("dead"));
                    }
                }
            }
            let _guard = Tries(host.clone(), count);
            host.sleep(secs(9)).await;
        });
        hash(world.fault(at(1), What::Kill(on(CLIENT)), Lasts::ToTheEnd))
    };
    assert_ne!(tries(1), tries(2));
}

#[test]
fn the_hash_does_not_depend_on_which_places_things_have_in_the_kernel() {
    // The same events, but the first life's tasks and timers take places in another order.
    let spawns = |reversed: bool| {
        hash(World::new(Persistence::None).client(move |host, _| async move {
            let mut lengths = [3, 1, 2];
            if reversed {
                lengths.reverse();
            }
            let tasks: Vec<_> = lengths
                .iter()
                .map(|length| {
                    let (host, length) = (host.clone(), *length);
                    (length, host.clone().spawn(Part::WORKER, async move { host.sleep(ms(length)).await }))
                })
                .collect();
            for (_, task) in tasks {
                task.await;
            }
            host.point(Point("all")).await;
        }))
    };
    assert_eq!(spawns(true), spawns(false));
}
