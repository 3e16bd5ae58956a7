//! One task of a process wakes another.

use host::{Bell, Host, Part};
use sim::{Target, What};

use crate::probe::*;

#[test]
fn a_bell_wakes_all_that_wait_in_the_order_in_which_they_began_to() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let bell = Bell::default();
        let waits = |word: &'static str| {
            let (bell, host, log) = (bell.clone(), host.clone(), log.clone());
            host.clone().spawn(Part::WORKER, async move {
                bell.rung().await;
                log.word(&host, word);
            })
        };
        let (one, other) = (waits("one"), waits("other"));
        host.sleep(ms(5)).await;
        log.word(&host, "rings");
        bell.ring();
        one.await;
        other.await;
    });
    let (log, outcome) = world.run();
    assert_eq!((log.words(), millis(outcome.end)), (["rings", "one", "other"].map(str::to_owned).to_vec(), 5));
}

#[test]
fn nobody_rings_for_those_that_wait_for_nobody() {
    let world = World::new(Persistence::None).client(|_, _| async { Bell::default().rung().await });
    assert_eq!(world.run().1.ending, host::Ending::Stuck);
}

#[test]
fn who_hangs_hears_a_bell_when_it_goes_on() {
    let play = |hangs: u64| {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let bell = Bell::default();
            let (hears, own, out) = (bell.clone(), host.clone(), log.clone());
            let task = host.spawn(Part::RENEWAL, async move {
                hears.rung().await;
                out.word(&own, "hears");
            });
            host.sleep(ms(10)).await;
            bell.ring();
            task.await;
        });
        let stall = What::Stall(Target::Node(CLIENT), Part::RENEWAL);
        millis(world.fault(at(5), stall, lasts(hangs)).run().1.end)
    };
    assert_eq!((play(1), play(100)), (10, 105));
}
