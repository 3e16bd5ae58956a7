//! Faults inside a service: what it is made to forget, and what its machine is short of.

use crate::probe::*;
use host::{Connection, Shortage};
use sim::{Lasts, RecordKind};

/// Puts 7 at once, and asks every second, four times.
async fn puts_and_asks(host: Process, log: Log) {
    let line = line(&host).await;
    let _ = put(&line, 7).await;
    for round in 1..=4 {
        until(&host, 1_000 * round).await;
        log.say(&host, line.call(Ask::Get, secs(20)).await.map(|kept| kept.0));
    }
}

fn forget() -> What {
    What::Nudge(on(SERVER), Nudge::Forget)
}

#[test]
fn a_nudge_acts_inside_a_service() {
    for (on_off, expected) in [(false, ["Ok(7)"; 4]), (true, ["Ok(7)", "Ok(0)", "Ok(0)", "Ok(0)"])] {
        let world = World::new(Persistence::None).client(puts_and_asks);
        let (log, outcome) = world.fault_if(on_off, at(1_500), forget(), Lasts::Instant).run();
        assert_eq!(log.words(), expected);
        assert_eq!(times(&outcome, &Note::Nudged(0)), if on_off { vec![1_500] } else { vec![] });
    }
}

#[test]
fn a_nudge_waits_for_a_process_that_stands_still_and_for_a_request_thread_that_hangs() {
    for what in [What::Pause(on(SERVER)), What::Stall(sim::Target::Node(SERVER), host::Part::REQUESTS)] {
        let world = World::new(Persistence::None).client(puts_and_asks).fault(at(1_200), what, lasts(3_000));
        let (log, outcome) = world.fault(at(1_500), forget(), Lasts::Instant).run();
        assert_eq!(times(&outcome, &Note::Nudged(0)), [4_200]);
        // What waited in the socket came after.
        assert_eq!(log.words(), ["Ok(7)", "Ok(0)", "Ok(0)", "Ok(0)"]);
    }
}

#[test]
fn a_nudge_means_nothing_to_the_dead_nor_to_their_next_life() {
    let world = World::new(Persistence::Synced).client(puts_and_asks);
    let world = world.fault(at(1_200), What::Kill(on(SERVER)), lasts(1_000));
    let (_, outcome) = world.fault(at(1_500), forget(), Lasts::Instant).run();
    assert_eq!(times(&outcome, &Note::Nudged(0)), []);
    // It stood still when it was nudged, and died before it could attend to it.
    let world = World::new(Persistence::Synced).client(puts_and_asks);
    let world = world.fault(at(1_200), What::Pause(on(SERVER)), lasts(3_000));
    let world = world.fault(at(1_500), forget(), Lasts::Instant);
    let (_, outcome) = world.fault(at(1_800), What::Kill(on(SERVER)), lasts(500)).run();
    assert_eq!(times(&outcome, &Note::Nudged(0)), []);
}

#[test]
fn a_fault_may_strike_before_the_step_in_which_a_nudge_would_act() {
    let mut struck = 0;
    for nth in 1..12 {
        let world = World::new(Persistence::None).client(puts_and_asks);
        let step = sim::When::Step { node: SERVER, nth };
        let world = world.fault(step, What::Kill(on(SERVER)), Lasts::ToTheEnd);
        let (_, outcome) = world.fault(at(1_500), forget(), Lasts::Instant).run();
        let killed = outcome.strikes.iter().find(|strike| strike.fault == 0).map(|strike| millis(strike.from));
        if killed == Some(1_500) {
            struck += 1;
            assert_eq!(times(&outcome, &Note::Nudged(0)), []);
        }
    }
    assert_eq!(struck, 1);
}

#[test]
fn what_a_nudge_says_is_in_the_hash() {
    let hash = |value| {
        let nudge = What::Nudge(on(SERVER), Nudge::Keep(value));
        // Nobody is there to note it.
        let world =
            World::new(Persistence::None).client(|host, _| async move { host::Host::sleep(&host, secs(2)).await });
        let world = world.fault(at(100), What::Kill(on(SERVER)), Lasts::ToTheEnd);
        let (_, outcome) = world.fault(at(200), nudge, Lasts::Instant).run();
        assert!(outcome.records.iter().any(|record| record.kind == RecordKind::Fault && record.text == "nudge"));
        outcome.hash
    };
    assert_eq!(hash(1), hash(1));
    assert_ne!(hash(1), hash(2));
}

#[test]
fn a_machine_may_be_short_of_memory_for_a_while() {
    for (on_off, expected) in [(false, [1, 2, 3]), (true, [1, 1, 3])] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            for value in 1..=3 {
                until(&host, 1_000 * value).await;
                log.say(&host, put(&line, value).await.map(|kept| kept.0));
            }
        });
        let what = What::Shortage(on(SERVER), Shortage::Memory);
        let words = world.fault_if(on_off, at(1_500), what, lasts(1_000)).words();
        assert_eq!(words, expected.map(|value| format!("Ok({value})")));
    }
}

#[test]
fn a_shortage_is_of_one_thing_on_one_machine_and_outlives_its_process() {
    for (node, what, after_the_kill) in
        [(SERVER, Shortage::Disk, "Ok(0)"), (SERVER, Shortage::Memory, "Ok(0)"), (CLIENT, Shortage::Disk, "Ok(7)")]
    {
        let world = World::new(Persistence::Synced).client(|host, log| async move {
            until(&host, 500).await;
            let _ = put(&line(&host).await, 7).await;
            until(&host, 2_000).await;
            log.say(&host, get(&line(&host).await).await.map(|kept| kept.0));
        });
        let world = world.fault(at(100), What::Shortage(on(node), what), Lasts::ToTheEnd);
        // A new process finds its machine as short as the old one did.
        let world = world.fault(at(300), What::Kill(on(SERVER)), lasts(50));
        let world = world.fault(at(1_000), What::Kill(on(SERVER)), lasts(50));
        assert_eq!(world.words(), [after_the_kill]);
    }
}

#[test]
fn a_slow_disk_keeps_the_request_thread_waiting_for_each_sync() {
    let slow = || What::SlowDisk(on(SERVER), host::Span::Fixed(ms(500)));
    for (persistence, on_off, expected) in [
        (Persistence::Synced, true, [1_502, 1_502, 4_002]),
        (Persistence::Synced, false, [1_002, 1_102, 4_002]),
        // Nothing waits for a disk that is not synced.
        (Persistence::Written, true, [1_002, 1_102, 4_002]),
    ] {
        let world = World::new(persistence).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 1_000).await;
            let _ = line.call(Ask::Put(7), secs(5)).await;
            log.word(&host, "put");
            until(&host, 4_000).await;
            let _ = put(&line, 8).await;
            log.word(&host, "put");
        });
        let world = world.client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 1_100).await;
            let _ = get(&line).await;
            log.word(&host, "got");
        });
        let (log, outcome) = world.fault_if(on_off, at(500), slow(), lasts(3_000)).run();
        assert_eq!(log.lines().iter().map(|line| line.0).collect::<Vec<_>>(), expected);
        let syncs = u32::from(persistence == Persistence::Synced);
        assert_eq!(outcome.strikes.first().map(|strike| strike.met), on_off.then_some(syncs));
        // Its timers run on.
        assert_eq!(fired(&outcome, 1), None, "the run is over before");
    }
}

#[test]
fn what_a_step_pushes_waits_for_its_sync_too() {
    for (on_off, pushed) in [(false, 1_002), (true, 1_502)] {
        let world = World::new(Persistence::Synced).client(|host, log| async move {
            let line = line(&host).await;
            let _ = line.call(Ask::Watch, secs(1)).await;
            log.say(&host, line.pushed().await.map(|pushed| pushed.0));
        });
        let world = world.client(|host, _| async move {
            let line = line(&host).await;
            until(&host, 1_000).await;
            let _ = line.call(Ask::Put(7), secs(5)).await;
        });
        let slow = What::SlowDisk(on(SERVER), host::Span::Fixed(ms(500)));
        let (log, _) = world.fault_if(on_off, at(500), slow, lasts(3_000)).run();
        assert_eq!(log.lines(), [(pushed, "Some(7)".to_owned())]);
    }
}

#[test]
fn a_timer_that_is_due_while_the_disk_is_waited_for_knows() {
    // Its first timer is due at 10 s; what is put at 9 s takes 500 ms to sync, or 1,500. If the process dies, the next one
    // does not wait; it is asked for an alarm that is due at 10 s too.
    for (sync, dies, waits) in [(500, false, false), (1_500, false, true), (1_500, true, false)] {
        let world = World::new(Persistence::Synced).client(move |host, _| async move {
            until(&host, 9_000).await;
            let _ = line(&host).await.call(Ask::Put(7), secs(5)).await;
            if dies {
                until(&host, 9_700).await;
                let _ = line(&host).await.call(Ask::Alarm(Some(300)), secs(5)).await;
            }
            until(&host, 12_000).await;
        });
        let slow = What::SlowDisk(on(SERVER), host::Span::Fixed(ms(sync)));
        let world = world.fault(at(0), slow, Lasts::ToTheEnd);
        let (_, outcome) = world.fault_if(dies, at(9_500), What::Kill(on(SERVER)), lasts(1)).run();
        let timer = if dies { ALARM.0 } else { 1 };
        assert!(fired(&outcome, timer).is_some_and(|at| (10_000..10_100).contains(&at)), "{sync} {dies}");
        assert_eq!(!times(&outcome, &Note::Said("waits for its disk")).is_empty(), waits, "{sync} {dies}");
    }
}

#[test]
fn a_slow_sync_that_death_cuts_short_is_over() {
    let world = World::new(Persistence::Synced).client(|host, log| async move {
        let first = line(&host).await;
        until(&host, 1_000).await;
        log.say(&host, first.call(Ask::Put(7), secs(9)).await.map(|kept| kept.0));
        until(&host, 3_000).await;
        log.say(&host, get(&line(&host).await).await.map(|kept| kept.0));
        until(&host, 9_000).await;
    });
    let world = world.fault(at(0), What::SlowDisk(on(SERVER), host::Span::Fixed(secs(5))), Lasts::ToTheEnd);
    let (log, _) = world.fault(at(1_500), What::Kill(on(SERVER)), lasts(500)).run();
    assert_eq!(log.lines(), [(1_501, "Err(Closed)".to_owned()), (3_004, "Ok(7)".to_owned())]);
}

#[test]
fn nobody_waits_for_a_sync_aside_and_until_its_end_a_loss_of_power_takes_what_it_covers() {
    for (on_off, outage, kept) in [(false, 1_100, 7), (true, 1_100, 0), (true, 1_600, 7)] {
        let world = World::new(Persistence::SyncedAside).client(|host, log| async move {
            let first = line(&host).await;
            until(&host, 1_000).await;
            let _ = first.call(Ask::Put(7), secs(5)).await;
            log.word(&host, "put");
            until(&host, 3_000).await;
            log.say(&host, get(&line(&host).await).await.map(|kept| kept.0));
        });
        let world = world.fault(at(outage), What::PowerOff(on(SERVER)), lasts(100));
        let slow = What::SlowDisk(on(SERVER), host::Span::Fixed(ms(500)));
        let (log, outcome) = world.fault_if(on_off, at(500), slow, lasts(3_000)).run();
        assert_eq!(log.lines(), [(1_002, "put".to_owned()), (3_004, format!("Ok({kept})"))], "{on_off} {outage}");
        assert_eq!(outcome.strikes.first().filter(|_| on_off).map_or(0, |strike| strike.met), u32::from(on_off));
    }
}

#[test]
fn what_another_thread_syncs_is_kept_although_its_process_dies_meanwhile() {
    let world = World::new(Persistence::SyncedAside).client(|host, log| async move {
        let first = line(&host).await;
        until(&host, 1_000).await;
        let _ = first.call(Ask::Put(7), secs(5)).await;
        until(&host, 3_000).await;
        log.say(&host, get(&line(&host).await).await.map(|kept| kept.0));
    });
    let slow = What::SlowDisk(on(SERVER), host::Span::Fixed(ms(500)));
    let world = world.fault(at(500), slow, lasts(3_000)).fault(at(1_100), What::Kill(on(SERVER)), lasts(100));
    let world = world.fault(at(1_800), What::PowerOff(on(SERVER)), lasts(100));
    assert_eq!(world.words(), ["Ok(7)"]);
}
