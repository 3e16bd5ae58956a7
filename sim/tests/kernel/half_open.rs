//! Connections that only one side takes to be alive.

use crate::probe::*;
use host::{Connection, NodeId, Part};
use sim::{Lasts, Target};

fn half_open(forgets: NodeId, believes: NodeId) -> What {
    What::HalfOpen { forgets: vec![Target::Node(forgets)], believes: vec![Target::Node(believes)] }
}

/// Waits for pushes, and asks at 3 s.
fn listens_and_asks(world: World) -> World {
    world.client(|host, log| async move {
        let line = std::rc::Rc::new(line(&host).await);
        let _ = line.call(Ask::Watch, secs(1)).await;
        let (ears, heard, own) = (line.clone(), log.clone(), host.clone());
        drop(host::Host::spawn(&host, Part::RENEWAL, async move {
            heard.say(&own, ears.pushed().await.map(|pushed| pushed.0));
        }));
        until(&host, 3_000).await;
        log.say(&host, get(&line).await.map(|kept| kept.0));
        until(&host, 5_000).await;
    })
}

#[test]
fn a_client_that_believes_learns_when_it_speaks() {
    for (what, expected) in [
        (None, vec![(3_002, "Ok(0)")]),
        (Some(half_open(SERVER, CLIENT)), vec![(3_002, "Err(Closed)"), (3_002, "None")]),
        (Some(What::Reset(between(CLIENT, SERVER))), vec![(1_001, "None"), (3_000, "Err(Closed)")]),
    ] {
        let world = listens_and_asks(World::new(Persistence::None));
        let told = what.is_some();
        let world = match what {
            Some(what) => world.fault(at(1_000), what, Lasts::Instant),
            None => world,
        };
        let (log, outcome) = world.run();
        let mut lines = log.lines();
        lines.sort();
        assert_eq!(lines, expected.into_iter().map(|(at, words)| (at, words.to_owned())).collect::<Vec<_>>());
        assert_eq!(outcome.strikes.first().map(|strike| strike.met), told.then_some(1));
        // The server has lost it, one way or the other.
        let closed = times(&outcome, &Note::Closed);
        assert_eq!(closed.first().copied().unwrap_or(5_001), if told { 1_001 } else { 5_001 });
    }
}

#[test]
fn a_server_that_believes_learns_when_it_speaks() {
    for on_off in [false, true] {
        let world = listens_and_asks(World::new(Persistence::None)).client(|host, _| async move {
            let line = line(&host).await;
            until(&host, 2_000).await;
            let _ = put(&line, 8).await;
            until(&host, 6_000).await;
        });
        let world = world.fault_if(on_off, at(1_000), half_open(CLIENT, SERVER), Lasts::Instant);
        let (log, outcome) = world.run();
        // It pushes at 2,001, and the client's machine knows nothing of it at 2,002.
        let closed = times(&outcome, &Note::Closed);
        assert_eq!(closed[0], if on_off { 2_003 } else { 5_001 });
        let first = &log.lines()[0];
        assert_eq!((first.0, first.1.as_str()), if on_off { (1_001, "None") } else { (2_002, "Some(8)") });
    }
}

#[test]
fn only_open_connections_between_the_two_are_touched() {
    let world = listens_and_asks(World::new(Persistence::None));
    let world = world.client(|host, _| async move { host::Host::sleep(&host, secs(4)).await });
    let world = world.fault(at(1_000), half_open(SERVER, OTHER), Lasts::Instant);
    let (log, outcome) = world.fault(at(1_000), half_open(CLIENT, OTHER), Lasts::Instant).run();
    assert_eq!(outcome.strikes.iter().map(|strike| strike.met).collect::<Vec<_>>(), [0, 0]);
    assert_eq!(log.words()[0], "Ok(0)");
}

#[test]
fn a_side_that_has_forgotten_has_nothing_more_to_forget() {
    let world = listens_and_asks(World::new(Persistence::None));
    let world = world.fault(at(1_000), half_open(SERVER, CLIENT), Lasts::Instant);
    let (_, outcome) = world.fault(at(1_500), half_open(SERVER, CLIENT), Lasts::Instant).run();
    assert_eq!(outcome.strikes.iter().map(|strike| strike.met).collect::<Vec<_>>(), [1, 0]);
}
