//! The library, as its program hears of it, when something befalls its connections.

use host::{Host, NodeId};
use models::zookeeper::{Failure, Mode, ZkRequest};
use sim::{Held, Link, Target, What};

use crate::world::{World, ms};

/// Nothing passes between the client and these, either way.
fn cut(world: &World, servers: impl IntoIterator<Item = u16>) -> What<models::Nudge> {
    let both = |server| {
        let (client, server) = (world.client_node(), Target::Node(NodeId::new(server)));
        [Link { from: client, to: server }, Link { from: server, to: client }]
    };
    What::Cut(servers.into_iter().flat_map(both).collect(), Held::Dropped)
}

#[test]
fn who_has_nothing_to_say_keeps_its_session() {
    let played = World::new(3, 6_000).play(5, |host, _, log| {
        Box::pin(async move {
            host.sleep(ms(60_000)).await;
            log.say(&host, "end");
        })
    });
    assert!(played.iter().all(|log| log.says("end") && !log.says("suspended")));
}

#[test]
fn who_stood_still_is_connected_until_it_has_looked_and_expired_when_it_is_connected_again() {
    let world = World::new(3, 4_000);
    let pause = What::Pause(vec![world.client_node()]);
    let played = world.fault(3_000, 9_230, pause).play(20, |host, client, log| {
        Box::pin(async move {
            let session = client.session();
            host.sleep(ms(3_500)).await;
            log.say(&host, if session.is_connected() { "wakes connected" } else { "wakes without" });
            while !session.is_expired() {
                client.changed().await;
            }
            host.sleep(ms(100)).await;
            log.say(&host, "end");
        })
    });
    let mut longest = 0;
    for log in played {
        assert_eq!(log.at("wakes connected"), 12_230);
        assert_eq!(log.at("suspended"), 12_330, "100 ms later");
        let expired = log.at("expired");
        // Up to a second before it connects, and two round trips.
        assert!((12_334..13_340).contains(&expired), "{expired}");
        assert_eq!(log.at("connecting").max(expired - 10), log.at("connecting"), "it was connected until just before");
        longest = longest.max(expired);
    }
    assert!(longest > 13_000);
}

#[test]
fn what_is_not_answered_is_lost_after_two_thirds_and_the_session_goes_on_elsewhere() {
    let world = World::new(3, 6_000);
    // From all of them, until it has given its connection up, and has not tried another.
    let all = cut(&world, 0..3);
    let played = world.fault(1_000, 3_550, all).play(10, |host, client, log| {
        Box::pin(async move {
            host.sleep(ms(500)).await;
            let session = client.session();
            let create = |name: &str| ZkRequest::create(name.into(), "".into(), Mode::Ephemeral);
            client.call(&host, create("/a")).await.expect("it is created");
            log.say(&host, "created");
            host.sleep(ms(1_000)).await;
            let lost = client.call(&host, create("/b")).await;
            assert_eq!(lost, Err(Failure::ConnectionLoss));
            log.say(&host, "lost");
            let path = "/a".into();
            client.call(&host, ZkRequest::Exists { path, watch: false }).await.expect("it waits for a connection");
            log.say(&host, "found");
            assert!(session.is_connected() && session.suspended().is_none());
        })
    });
    for log in played {
        // It has heard of what it created last, and reads for 4 s, and 100 ms more.
        let heard = log.at("created");
        assert!((heard + 4_099..=heard + 4_102).contains(&log.at("lost")), "{}", log.at("lost"));
        assert_eq!(log.at("suspended"), log.at("lost"));
        assert!(log.at("found") > 4_550 && !log.says("expired"));
    }
}

#[test]
fn a_watch_is_set_again_and_tells_what_it_has_missed() {
    let mut world = World::new(2, 6_000);
    // It is created while the first client has no connection.
    world.other = Some(|host, client, _| {
        Box::pin(async move {
            host.sleep(ms(2_001)).await;
            let create = ZkRequest::create("/a".into(), "".into(), Mode::Persistent);
            client.call(&host, create).await.expect("it is created");
        })
    });
    let links = [0, 1].map(|server| Link { from: world.client_node(), to: Target::Node(NodeId::new(server)) });
    let played = world.fault(2_000, 1, What::Reset(links.into())).play(10, |host, client, log| {
        Box::pin(async move {
            host.sleep(ms(100)).await;
            let (found, watch) = client.exists(&host, "/a".into()).await.expect("it answers");
            assert!(found.is_none());
            // The loss of the connection is told to who watches, and costs no watch.
            client.told(&watch).await;
            log.say(&host, "told");
            while client.watches() > 0 {
                client.changed().await;
            }
            log.say(&host, "told of the node");
        })
    });
    for log in played {
        assert_eq!(
            (log.at("told"), log.at("suspended")),
            (2_101, 2_101),
            "the reset takes its way, and the library 100 ms"
        );
        let (again, told) = (log.at("connected again"), log.at("told of the node"));
        assert!((again..again + 5).contains(&told), "{told}");
    }
}

#[test]
fn who_has_one_server_waits_for_a_second_and_up_to_another() {
    let world = World::new(1, 6_000);
    let reset = What::Reset(vec![Link { from: world.client_node(), to: Target::Node(NodeId::new(0)) }]);
    let played = world.fault(1_000, 1, reset).play(20, |host, _, log| {
        Box::pin(async move {
            host.sleep(ms(10_000)).await;
            log.say(&host, "end");
        })
    });
    let again: Vec<_> = played.iter().map(|log| log.at("connecting")).collect();
    assert!(again.iter().all(|at| (2_100..3_102).contains(at)), "{again:?}");
    assert!(again.iter().max() > again.iter().min());
}

#[test]
fn a_session_that_is_given_up_has_a_successor_at_once() {
    let played = World::new(3, 6_000).play(3, |host, client, log| {
        Box::pin(async move {
            host.sleep(ms(1_000)).await;
            let first = client.session();
            client.inject_expiration();
            assert!(first.is_expired());
            let created = client.call(&host, ZkRequest::create("/a".into(), "".into(), Mode::Ephemeral)).await;
            // What is asked before the loop has looked is lost with the session.
            assert_eq!(created, Err(Failure::Expired));
            while client.session().is_expired() || client.session().id().is_none() {
                client.changed().await;
            }
            log.say(&host, "another");
            assert_ne!(client.session().id(), first.id());
        })
    });
    for log in played {
        assert!(log.at("another") <= 1_010);
    }
}
