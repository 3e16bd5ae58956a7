//! The lock, and what its program makes of its statements.

use models::lock::AdvisoryLock;
use models::lock::postgres::{Lasts, Looks, OnLoss, OnTimeout, TokenOf, Waits};
use sim::What;

use crate::world::{Client, Program, World, about, ms};

/// Has it from 1 s to 5 s, and lives on.
fn holds(client: Client) -> Program {
    Box::pin(async move {
        client.sleep(1_000).await;
        let lease = client.acquire().await.expect("nobody else has it");
        client.sleep(4_000).await;
        client.release(&lease).await;
        client.sleep(90_000).await;
    })
}

/// Asks at 2 s, and lives on.
fn asks(client: Client) -> Program {
    Box::pin(async move {
        client.sleep(2_000).await;
        if let Some(lease) = client.acquire().await {
            client.release(&lease).await;
        }
        client.sleep(90_000).await;
    })
}

/// Asks every second from 6 s on, until it has it or 20 s have passed.
fn polls(client: Client) -> Program {
    Box::pin(async move {
        client.sleep(6_000).await;
        for _ in 0..20 {
            if let Some(lease) = client.acquire().await {
                return client.release(&lease).await;
            }
            client.sleep(1_000).await;
        }
        client.say("gives up");
    })
}

fn default() -> AdvisoryLock {
    AdvisoryLock::default()
}

fn poll() -> AdvisoryLock {
    AdvisoryLock { waits: Waits::Poll, ..default() }
}

#[test]
fn who_waits_is_let_in_and_who_polls_is_told_no() {
    for lasts in [Lasts::Session, Lasts::Transaction] {
        let log = World::default()
            .client("A", AdvisoryLock { lasts, ..default() }, holds)
            .client("B", AdvisoryLock { lasts, ..default() }, asks)
            .client("C", AdvisoryLock { lasts, ..poll() }, asks)
            .play();
        assert!(about(log.at("B has it"), 5_000), "{lasts:?}");
        assert!(about(log.at("C is denied"), 2_000), "{lasts:?}");
        assert!(log.says("A released") && log.says("B released"), "{lasts:?}");
    }
}

#[test]
fn the_server_gives_up_for_who_has_said_how_long_it_waits() {
    for lasts in [Lasts::Session, Lasts::Transaction] {
        let short = AdvisoryLock { lasts, lock_timeout: ms(500), ..default() };
        let log =
            World::default().client("A", default(), holds).client("B", short, asks).client("C", poll(), polls).play();
        assert!(about(log.at("B is denied"), 2_500), "{lasts:?}");
        assert!(about(log.at("C has it"), 6_000), "{lasts:?}: nothing is left behind");
    }
}

#[test]
fn who_was_refused_asks_again_on_the_same_connection() {
    fn asks_twice(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(2_000).await;
            assert!(client.acquire().await.is_none());
            client.sleep(5_000).await;
            client.acquire().await;
        })
    }
    for lasts in [Lasts::Session, Lasts::Transaction] {
        let short = AdvisoryLock { lasts, lock_timeout: ms(500), ..default() };
        let log = World::default().client("A", default(), holds).client("B", short, asks_twice).play();
        assert!(about(log.at("B has it"), 7_500), "{lasts:?}: no transaction is left open");
    }
}

#[test]
fn what_becomes_of_a_statement_that_is_given_up_is_who_has_the_lock_then() {
    let play = |on_timeout| {
        let impatient = AdvisoryLock { client_timeout: Some(ms(1_000)), on_timeout, ..default() };
        World::default().client("A", default(), holds).client("B", impatient, asks).client("C", poll(), polls).play()
    };
    for (on_timeout, told) in [(OnTimeout::Closed, "B failed"), (OnTimeout::Cancelled, "B is denied")] {
        let log = play(on_timeout);
        assert!(about(log.at(told), 3_000), "{on_timeout:?}");
        assert!(about(log.at("C has it"), 6_000), "{on_timeout:?}");
    }
    let log = play(OnTimeout::Returned);
    assert!(about(log.at("B failed"), 3_000));
    assert!(log.says("C gives up"), "B's session has it, and B does not know");
}

#[test]
fn a_lost_session_is_an_error_or_is_passed_over() {
    fn looks(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.sleep(3_000).await;
            client.look(&lease).await;
            client.release(&lease).await;
        })
    }
    for lasts in [Lasts::Session, Lasts::Transaction] {
        for looks_at in [Looks::Connection, Looks::Server] {
            let play = |on_loss, is_lost: bool| {
                let world =
                    World::default().client("A", AdvisoryLock { lasts, looks: looks_at, on_loss, ..default() }, looks);
                let links = world.links(0);
                if is_lost { world.strike(2_000, What::Reset(links)).play() } else { world.play() }
            };
            for on_loss in [OnLoss::Error, OnLoss::Reconnect] {
                let log = play(on_loss, false);
                assert!(log.says("A goes on") && log.says("A released"), "{lasts:?} {looks_at:?} {on_loss:?}");
            }
            let log = play(OnLoss::Error, true);
            assert!(log.says("A stops") && log.says("A could not release"), "{lasts:?} {looks_at:?}");
            let log = play(OnLoss::Reconnect, true);
            assert!(log.says("A goes on"), "{lasts:?} {looks_at:?}");
            // A session that never had it is told so; a `COMMIT` outside a transaction is a warning.
            assert_eq!(log.says("A could not release"), lasts == Lasts::Session, "{looks_at:?}");
        }
    }
}

#[test]
fn a_heartbeat_finds_out_what_nobody_has_said() {
    fn holds_long(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.sleep(3_500).await;
            client.look(&lease).await;
        })
    }
    let play = |heartbeat| {
        let world = World::default().client("A", AdvisoryLock { heartbeat, ..default() }, holds_long);
        let links = world.links(0);
        world.fault(2_500, 60_000, What::Cut(links, sim::Held::Dropped)).play()
    };
    let log = play(Some(ms(2_000)));
    // The beat at 3 s is lost, and not answered for a second.
    assert!(about(log.at("A stops"), 4_500));
    assert!(!play(None).says("A stops"));
}

#[test]
fn those_that_share_have_it_together() {
    fn shares(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(2_000).await;
            let lease = client.share().await.expect("it comes to it");
            client.sleep(1_000).await;
            client.release(&lease).await;
        })
    }
    let log = World::default()
        .client("A", default(), shares)
        .client("B", default(), shares)
        .client("C", default(), asks)
        .client("D", default(), holds)
        .play();
    assert!(about(log.at("A has it"), 5_000) && about(log.at("B has it"), 5_000));
    assert!(log.says("A released") && log.says("B released"), "each with what it has");
    assert!(log.says("C has it"));
}

#[test]
fn tokens_are_numbers_that_rise() {
    fn twice(client: Client) -> Program {
        Box::pin(async move {
            let mut last = None;
            for _ in 0..3 {
                let lease = client.acquire().await.expect("nobody else has it");
                client.say(if lease.token > last { "rises" } else { "falls" });
                last = lease.token;
                client.release(&lease).await;
            }
            client.say(format!("token {:?}", last.map(|token| token.0)));
        })
    }
    for lasts in [Lasts::Session, Lasts::Transaction] {
        let last_of = |token, last: &str| {
            let log = World::default().client("A", AdvisoryLock { lasts, token, ..default() }, twice).play();
            assert!(log.says("A rises") && !log.says("A falls") && log.says(last), "{lasts:?} {token:?} {last}");
        };
        last_of(TokenOf::VersionRow, "A token Some(3)");
        last_of(TokenOf::Sequence, "A token Some(3)");
        last_of(TokenOf::Xid, "A token Some(722)");
    }
}
