//! A row that says whose it is, and until when.

use models::lock::postgres::{GivesBack, JudgedBy, LeaseRowLock};
use models::postgres::LeaseRow;
use sim::{Target, What};

use crate::world::{Client, Process, Program, TTL, World, about, after_a_backup_without_the_row};

type Row = Client<LeaseRow<Process>>;

const CLOCKS: [JudgedBy; 3] = [JudgedBy::Client, JudgedBy::Store, JudgedBy::Observed];

fn by(judged_by: JudgedBy) -> LeaseRowLock {
    LeaseRowLock { judged_by, ..LeaseRowLock::default() }
}

/// Asks at 1 s, and does nothing more.
fn takes(client: Row) -> Program {
    Box::pin(async move {
        client.sleep(1_000).await;
        client.acquire().await.expect("nobody else has it");
    })
}

/// Asks every 100 ms from 1,100 ms on, until it has it.
fn polls(client: Row) -> Program {
    Box::pin(async move {
        client.sleep(1_100).await;
        loop {
            if let Some(lease) = client.acquire().await {
                client.say(format!("token {:?}", lease.token.map(|token| token.0)));
                return client.sleep(60_000).await;
            }
            client.sleep(100).await;
        }
    })
}

/// Has it from 1 s to 2 s.
fn holds(client: Row) -> Program {
    Box::pin(async move {
        client.sleep(1_000).await;
        let lease = client.acquire().await.expect("nobody else has it");
        client.sleep(1_000).await;
        client.release(&lease).await;
    })
}

#[test]
fn a_lease_that_is_not_given_back_is_over_with_its_time() {
    for clock in CLOCKS {
        let log = World::default().client("A", by(clock), takes).client("B", by(clock), polls).play();
        assert!(about(log.at("B is denied"), 1_100), "{clock:?}");
        // Who looks on counts from when it looked first.
        let from = if clock == JudgedBy::Observed { 1_100 } else { 1_000 };
        let at = log.at("B has it");
        assert!((from + TTL..from + TTL + 200).contains(&at), "{clock:?}: {at}");
        assert!(log.says("B token Some(2)"), "{clock:?}: it counts its owners");
    }
}

#[test]
fn a_lease_that_is_given_back_is_free_at_once() {
    for clock in CLOCKS {
        let log = World::default().client("A", by(clock), holds).client("B", by(clock), polls).play();
        let at = log.at("B has it");
        assert!(log.says("A released") && (2_000..2_200).contains(&at), "{clock:?}: {at}");
        assert!(log.says("B token Some(2)"), "{clock:?}");
    }
}

#[test]
fn of_two_that_find_it_over_in_the_same_moment_one_has_it() {
    for clock in CLOCKS {
        let world = World::default().client("A", by(clock), takes).client("B", by(clock), polls);
        let log = world.client("C", by(clock), polls).play();
        let apart = log.at("B has it").abs_diff(log.at("C has it"));
        assert!((TTL - 100..TTL + 200).contains(&apart), "{clock:?}: {apart}");
    }
}

#[test]
fn the_clock_that_counts_is_whose_it_is_said_to_be() {
    // By how much a clock is set ahead at 1,500 ms, whose that is, and when B has the lock.
    let has_it = |clock, node: u16, by_ns: i64| {
        let world = World::default().client("A", by(clock), takes).client("B", by(clock), polls);
        let stepped = vec![Target::Node(host::NodeId::new(node))];
        world.strike(1_500, What::StepClock(stepped, by_ns)).play().at("B has it")
    };
    let (ahead, server, a, b) = (10_000_000_000, 0, 1, 2);
    for (clock, whose) in [(JudgedBy::Client, b), (JudgedBy::Store, server)] {
        for node in [server, a, b] {
            let at = has_it(clock, node, ahead);
            let expected = if node == whose { 1_500 } else { 1_000 + TTL };
            assert!((expected..expected + 200).contains(&at), "{clock:?}, node {node}: {at}");
        }
    }
    for node in [server, a, b] {
        let at = has_it(JudgedBy::Observed, node, ahead);
        assert!((1_100 + TTL..1_300 + TTL).contains(&at), "node {node}: {at}");
    }
}

#[test]
fn a_lease_can_be_extended_by_who_has_it() {
    /// Has it at 1 s, and extends it at 2 s.
    fn extends(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.sleep(1_000).await;
            client.renew(&lease).await;
        })
    }
    for clock in CLOCKS {
        let log = World::default().client("A", by(clock), extends).client("B", by(clock), polls).play();
        let at = log.at("B has it");
        assert!(log.says("A has it for longer"), "{clock:?}");
        assert!((2_000 + TTL..2_300 + TTL).contains(&at), "{clock:?}: {at}");
        // Who looks on must see that the row has changed; to the others its owner is what counts.
        let token = if clock == JudgedBy::Observed { 3 } else { 2 };
        assert!(log.says(&format!("B token Some({token})")), "{clock:?}");
    }
}

#[test]
fn a_lease_that_is_over_or_anothers_is_not_extended() {
    /// Extends it when its time is over: at 4 s, when B has had it since 3 s, if there is a B.
    fn late(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.sleep(3_000).await;
            client.renew(&lease).await;
            client.release(&lease).await;
        })
    }
    for clock in CLOCKS {
        let log = World::default().client("A", by(clock), late).client("B", by(clock), polls).play();
        assert!(log.at("B has it") < 4_000, "{clock:?}");
        assert!(log.says("A could not extend") && log.says("A could not release"), "{clock:?}");
        let log = World::default().client("A", by(clock), late).play();
        // Nobody has looked on for so long: to who counts by what he sees it goes on.
        assert_eq!(log.says("A has it for longer"), clock == JudgedBy::Observed, "{clock:?}");
        assert!(log.says("A released"), "{clock:?}: the row has its name still");
    }
}

#[test]
fn a_release_ends_its_own_lease_or_that_of_whoever_has_it() {
    /// Gives it back at 4 s, when its time has been over for a second.
    fn late(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.sleep(3_000).await;
            client.release(&lease).await;
        })
    }
    /// Asks at 4,500 ms, when B has had it for a second and a half.
    fn third(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(4_500).await;
            client.acquire().await;
        })
    }
    for judged_by in [JudgedBy::Client, JudgedBy::Store] {
        let play = |gives_back| {
            let switches = LeaseRowLock { judged_by, gives_back };
            let world = World::default().client("A", switches, late).client("B", switches, polls);
            world.client("C", switches, third).play()
        };
        let log = play(GivesBack::Own);
        assert!(log.says("A could not release") && log.says("C is denied"), "{judged_by:?}");
        let log = play(GivesBack::Whoever);
        assert!(log.says("A released") && log.says("C has it"), "{judged_by:?}");
    }
}

#[test]
fn a_row_that_is_gone_is_made_once_more() {
    for clock in CLOCKS {
        let log = after_a_backup_without_the_row(by(clock));
        assert!(log.says("A token Some(1), and once more"), "{clock:?}");
    }
}
