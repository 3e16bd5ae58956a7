//! What a run counts: messages that left, syncs of disks, and when each cue came.

use crate::probe::*;
use host::{Host, Point};
use sim::{Held, What, When};

/// A client that stores these numbers, one after another.
fn stores(world: World, numbers: &'static [u64]) -> World {
    world.client(move |host, _| async move {
        let line = line(&host).await;
        for number in numbers {
            let _ = put(&line, *number).await;
        }
    })
}

#[test]
fn requests_and_replies_are_counted_as_they_leave_and_nothing_else_is() {
    for (numbers, messages) in [(&[][..], 0), (&[1], 2), (&[1, 2, 3], 6)] {
        let (_, outcome) = stores(World::new(Persistence::None), numbers).run();
        assert_eq!(outcome.messages, messages, "connecting is no message");
    }
}

#[test]
fn what_a_cut_swallows_has_left_all_the_same_and_what_it_holds_leaves_once() {
    let cut = |held| What::Cut(vec![one_way(CLIENT, SERVER)], held);
    for (held, messages) in [(Held::Dropped, 1), (Held::Linger, 2)] {
        let world = stores(World::new(Persistence::None), &[1]);
        let (_, outcome) = world.fault(When::At(ms(2)), cut(held), lasts(500)).run();
        assert_eq!(outcome.messages, messages, "{held:?}");
    }
}

#[test]
fn every_sync_of_a_disk_is_counted() {
    for (persistence, syncs) in [(Persistence::None, 0), (Persistence::Written, 0), (Persistence::Synced, 2)] {
        let (_, outcome) = stores(World::new(persistence), &[1, 2]).run();
        assert_eq!(outcome.syncs, syncs, "{persistence:?}");
    }
}

#[test]
fn when_a_cue_came_is_told_of_each_in_their_order() {
    const HERE: Point = Point("here");
    let passes = |host: Process, _| async move {
        for at in [100, 250] {
            until(&host, at).await;
            host.point(HERE).await;
        }
    };
    let mut world = World::new(Persistence::None).client(passes);
    for nth in [2, 1, 3] {
        world.sim.cue(When::Milestone { clients: vec![CLIENT], point: HERE, nth, plus: ms(0) });
    }
    let (_, outcome) = world.run();
    let came: Vec<_> = outcome.cues.iter().map(|cue| cue.map(millis)).collect();
    assert_eq!(came, [Some(250), Some(100), None]);
}
