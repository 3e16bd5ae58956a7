//! A primary, its replicas and the Sentinels that watch them: how they are set, and how faults may mean them.

use models::lock::{FindsPrimary, Lock, SentinelLock, SentinelServers, Service, WaitFor};

use super::*;

fn sentinel(text: &str) -> String {
    top(&format!("lock = \"redis-sentinel\"\n{text}"))
}

fn fault(what: &str) -> String {
    sentinel(&format!("[fault.f]\n{what}\n"))
}

fn does(text: &str) -> What {
    cell(&fault(text)).faults[0].what.clone()
}

#[test]
fn its_lock_is_that_of_one_server_and_more() {
    let Lock::Sentinel(SentinelLock { redis, finds, wait, .. }) =
        cell(&top("lock.redis-sentinel = { release = \"unchecked\", finds = \"told\", wait = { replicas = 2 } }")).lock
    else {
        panic!("another lock")
    };
    assert_eq!((redis.release, finds), (models::lock::ReleaseBy::Unchecked, FindsPrimary::Told));
    assert_eq!(wait, Some(WaitFor { replicas: 2, timeout: host::Duration::from_secs(1) }));
    refuse(&top("lock.redis-sentinel.wait = { replicas = «0» }"), "0 lies outside 1 to 15");
    refuse(&top("lock.redis-sentinel.wait = «{}»"), "missing `replicas`");
}

#[test]
fn its_servers_are_named_and_grouped() {
    let two = |text: &str| does(&format!("{text}\n[service.redis-sentinel]\nreplicas = 2\nsentinels = 3"));
    assert_eq!(two("pause = \"replicas\""), What::Pause(nodes(&["replica-1", "replica-2"])));
    assert_eq!(two("pause = \"sentinels\""), What::Pause(nodes(&["sentinel-1", "sentinel-2", "sentinel-3"])));
    assert_eq!(does("kill = \"primary\""), What::Kill(vec![NodeRef::Primary]));
    assert_eq!(does("promote = \"replica-1\""), What::Promote(nodes(&["replica-1"])));
    assert_eq!(cell(&sentinel("")).service, Service::Sentinel(SentinelServers::default()));
}

#[test]
fn what_can_never_apply_is_refused() {
    refuse(
        &fault("promote = «\"redis-1\"»"),
        "this can never apply: only a replica, or a standby, can be made the primary",
    );
    refuse(
        &fault("promote = «\"sentinel-1\"»"),
        "this can never apply: only a replica, or a standby, can be made the primary",
    );
    refuse(&fault("pause = «\"replica-2\"»"), "this cell has no node `replica-2`");
    refuse(
        &sentinel("[service.redis-sentinel]\nreplicas = 0\n[fault.f]\npause = «\"replicas\"»"),
        "this lock has no replicas",
    );
    let redis = |text: &str| top(&format!("lock = \"redis\"\n{text}"));
    refuse(&redis("[fault.f]\nkill = «\"primary\"»"), "this lock's servers have no primary");
    refuse(
        &redis("service.«redis-sentinel» = {}"),
        "these are not the servers of this cell's lock, which are set below `service.redis`",
    );
    refuse(
        &sentinel("service.redis-sentinel.quorum = «4»"),
        "a quorum of more Sentinels than there are never comes about",
    );
    refuse(
        &sentinel("service.redis-sentinel.min-replicas-max-lag = «\"1500ms\"»"),
        "Redis takes this in whole seconds",
    );
}

#[test]
fn servers_that_talk_to_each_other_can_be_cut_off() {
    accept(&fault("cut = { between = [\"redis-1\", \"replica-1\"] }"));
    accept(&fault("slow = { from = \"sentinels\", to = \"servers\", by = \"1s\" }"));
    refuse(
        &fault("cut = «{ between = [\"sentinels\", \"resource\"] }»"),
        "this can never apply: nothing passes between these nodes",
    );
}
