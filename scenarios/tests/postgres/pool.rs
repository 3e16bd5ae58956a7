//! Connections that are lent and come back, and to which server they go.

use models::Nudge;
use models::lock::postgres::{OnTimeout, Returns, TargetSession};
use models::lock::{AdvisoryLock, PgServers};
use sim::{Target, What};

use crate::world::{Client, Program, World, ms};

/// Has it from 1 s to 5 s.
fn holds(client: Client) -> Program {
    Box::pin(async move {
        client.sleep(1_000).await;
        let lease = client.acquire().await.expect("nobody else has it");
        client.sleep(4_000).await;
        client.release(&lease).await;
    })
}

#[test]
fn connections_are_lent_in_turn() {
    fn backends(client: Client) -> Program {
        Box::pin(async move {
            for _ in 0..4 {
                let lease = client.acquire().await.expect("nobody else has it");
                client.say(format!("on {}", lease.proof.session().backend()));
                client.release(&lease).await;
            }
        })
    }
    let log = World::default().client("A", AdvisoryLock { pool: 2, ..AdvisoryLock::default() }, backends).play();
    // Of a new server the first backend is the 101st.
    assert!(log.at("A on 101") < log.at("A on 102") && !log.says("A on 103"));
    let log = World::default().client("A", AdvisoryLock::default(), backends).play();
    assert!(log.says("A on 101") && !log.says("A on 102"));
}

#[test]
fn what_is_more_than_the_pool_keeps_is_closed() {
    fn two_at_once(client: Client) -> Program {
        Box::pin(async move {
            let (first, second) =
                (client.share().await.expect("it is free"), client.share().await.expect("it is shared"));
            client.say(format!("shares on {}", second.proof.session().backend()));
            client.release(&first).await;
            client.release(&second).await;
            for _ in 0..3 {
                let lease = client.acquire().await.expect("nobody else has it");
                client.say(format!("on {}", lease.proof.session().backend()));
                client.release(&lease).await;
            }
        })
    }
    let log = World::default().client("A", AdvisoryLock::default(), two_at_once).play();
    assert!(log.says("A shares on 102") && log.says("A on 101") && !log.says("A on 102"));
}

#[test]
fn what_a_session_has_it_has_when_it_is_back_unless_it_is_reset() {
    /// Gives up at 3 s, and is let in at 5 s by a session that it has used again by then.
    fn gives_up(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(2_000).await;
            client.acquire().await;
            client.sleep(4_000).await;
            // The session has it, and gets it once more.
            let lease = client.acquire().await.expect("its own session has it");
            client.release(&lease).await;
            client.sleep(90_000).await;
        })
    }
    fn asks_late(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(9_000).await;
            if let Some(lease) = client.acquire().await {
                client.release(&lease).await;
            }
        })
    }
    let play = |returns| {
        let (client_timeout, on_timeout) = (Some(ms(1_000)), OnTimeout::Returned);
        let pooled = AdvisoryLock { client_timeout, on_timeout, returns, ..AdvisoryLock::default() };
        let patient = AdvisoryLock { client_timeout, ..AdvisoryLock::default() };
        World::default()
            .client("A", AdvisoryLock::default(), holds)
            .client("B", pooled, gives_up)
            .client("C", patient, asks_late)
            .play()
    };
    let log = play(Returns::AsItIs);
    assert!(log.says("B released") && log.says("C failed"), "it was locked twice, and unlocked once");
    let log = play(Returns::Reset);
    assert!(log.says("B released") && log.says("C has it"));
}

#[test]
fn a_client_connects_to_the_first_server_that_will_do() {
    fn once(client: Client) -> Program {
        Box::pin(async move {
            client.sleep(3_000).await;
            if let Some(lease) = client.acquire().await {
                client.say(format!("at {:?}", lease.proof.session().authority()));
            }
        })
    }
    let play = |target, is_promoted: bool| {
        let settings = PgServers { standbys: 1, ..PgServers::default() };
        let world = World { settings, ..World::default() };
        let world = world.client("A", AdvisoryLock { target, ..AdvisoryLock::default() }, once);
        let primary = vec![Target::Node(host::NodeId::new(0))];
        let standby = vec![Target::Node(host::NodeId::new(1))];
        let world = world.fault(1_000, 60_000, What::Kill(primary));
        if is_promoted { world.strike(2_000, What::Nudge(standby, Nudge::Promote)).play() } else { world.play() }
    };
    assert!(play(TargetSession::Any, false).says("A at node-1"), "a standby has locks of its own");
    assert!(play(TargetSession::ReadWrite, false).says("A failed"));
    assert!(play(TargetSession::ReadWrite, true).says("A at node-1"));
}
