//! A row that a transaction has locked.

use models::lock::postgres::{IfLocked, RowLock, Transactions};
use models::postgres::PgRow;
use sim::What;

use crate::world::{Client, Process, Program, World, about, after_a_backup_without_the_row};

type Row = Client<PgRow<Process>>;

const WAYS: [IfLocked; 3] = [IfLocked::Wait, IfLocked::NoWait, IfLocked::Skip];

fn of(if_locked: IfLocked) -> RowLock {
    RowLock { if_locked, ..RowLock::default() }
}

/// Has it from 1 s to 5 s.
fn holds(client: Row) -> Program {
    Box::pin(async move {
        client.sleep(1_000).await;
        let lease = client.acquire().await.expect("nobody else has it");
        client.sleep(4_000).await;
        client.release(&lease).await;
    })
}

/// Asks at 2 s, and at 6 s if it does not have it.
fn asks(client: Row) -> Program {
    Box::pin(async move {
        client.sleep(2_000).await;
        let mut lease = client.acquire().await;
        if lease.is_none() {
            client.sleep(4_000).await;
            lease = client.acquire().await;
        }
        client.release(&lease.expect("it is free by then")).await;
    })
}

#[test]
fn who_waits_is_let_in_and_who_does_not_is_told_no() {
    for if_locked in WAYS {
        let log = World::default().client("A", of(if_locked), holds).client("B", of(if_locked), asks).play();
        assert_eq!(log.says("B is denied"), if_locked != IfLocked::Wait, "{if_locked:?}");
        if if_locked == IfLocked::Wait {
            assert!(about(log.at("B has it"), 5_000));
        } else {
            assert!(about(log.at("B is denied"), 2_000), "{if_locked:?}");
            assert!(about(log.at("B has it"), 6_000), "{if_locked:?}: no transaction is left open");
        }
        assert!(log.says("A released") && log.says("B released"), "{if_locked:?}");
    }
}

#[test]
fn its_token_is_how_often_the_row_was_had() {
    /// Has it at 1 s and at 2 s; the third time its transaction is lost.
    fn thrice(client: Row) -> Program {
        Box::pin(async move {
            for _ in 0..3 {
                client.sleep(1_000).await;
                let lease = client.acquire().await.expect("nobody else has it");
                client.say(format!("token {:?}", lease.token.map(|token| token.0)));
                if lease.token.is_some_and(|token| token.0 < 3) {
                    client.release(&lease).await;
                } else {
                    client.sleep(2_000).await;
                    client.look(&lease).await;
                    client.release(&lease).await;
                }
            }
        })
    }
    fn after(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(6_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.say(format!("token {:?}", lease.token.map(|token| token.0)));
        })
    }
    let world = World::default().client("A", RowLock::default(), thrice).client("B", RowLock::default(), after);
    let links = world.links(0);
    let log = world.strike(4_000, What::Reset(links)).play();
    assert!(log.says("A token Some(1)") && log.says("A token Some(2)") && log.says("A token Some(3)"));
    assert!(log.says("A stops") && log.says("A could not release"));
    assert!(log.says("B token Some(3)"), "what was not committed was not counted");
}

#[test]
fn locks_in_one_transaction_are_free_together() {
    /// Has two, and gives the first back at 3 s and the other at 5 s.
    fn two(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let first = client.acquire_of("orders").await.expect("nobody else has it");
            let second = client.acquire_of("stock").await.expect("nobody else has it");
            client.sleep(2_000).await;
            client.release_of("orders", &first).await;
            client.sleep(2_000).await;
            client.release_of("stock", &second).await;
        })
    }
    for (transactions, free) in [(Transactions::Each, 3_000), (Transactions::One, 5_000)] {
        let switches = RowLock { transactions, ..RowLock::default() };
        let log = World::default().client("A", switches, two).client("B", RowLock::default(), asks).play();
        assert!(about(log.at("B has it"), free), "{transactions:?}");
        assert!(!log.says("A could not release"), "{transactions:?}");
    }
}

#[test]
fn who_is_refused_one_of_several_has_none_of_them() {
    fn wants_both(client: Row) -> Program {
        Box::pin(async move {
            client.sleep(2_000).await;
            let other = client.acquire_of("stock").await.expect("nobody else has it");
            assert!(client.acquire_of("orders").await.is_none(), "A has it");
            client.look(&other).await;
            client.release_of("stock", &other).await;
        })
    }
    let one = RowLock { transactions: Transactions::One, if_locked: IfLocked::NoWait };
    let log = World::default().client("A", RowLock::default(), holds).client("B", one, wants_both).play();
    assert!(log.says("B stops") && log.says("B could not release"));
    let each = RowLock { transactions: Transactions::Each, ..one };
    let log = World::default().client("A", RowLock::default(), holds).client("B", each, wants_both).play();
    assert!(log.says("B goes on") && log.says("B released"));
}

#[test]
fn a_row_that_is_gone_is_made_once_more() {
    for if_locked in WAYS {
        let log = after_a_backup_without_the_row(of(if_locked));
        assert!(log.says("A token Some(1), and once more"), "{if_locked:?}");
    }
}
