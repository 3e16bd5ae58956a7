//! How long leases live, and what is answered without a majority: in windows of the client's own stamps.

use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use fencepost_live::gateway::Gateway;
use fencepost_live::servers::etcd::EtcdCluster;
use host::NodeId;
use libtest_mimic::Failed;
use models::etcd::wire::Json;
use models::etcd::{Body, EtcdError, Keys, LeaseId, Put, Range, Reply, Rpc};

use crate::common::{Named, Outcome};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 6] = [
    ("a lease ends within half a second of its time", a_lease_ends_within_half_a_second_of_its_time),
    ("a lease that is over is not kept alive", a_lease_that_is_over_is_not_kept_alive),
    (
        "a new leader gives leases their whole time and a second",
        a_new_leader_gives_leases_their_whole_time_and_a_second,
    ),
    (
        "without a majority nothing but what is local is answered",
        without_a_majority_nothing_but_what_is_local_is_answered,
    ),
    (
        "who follows a leader that stands still keeps nothing alive",
        who_follows_a_leader_that_stands_still_keeps_nothing_alive,
    ),
    ("a leader that stood still leaves a lease that others keep alive, or ends it", a_leader_that_stood_still),
];

/// How much later than it should something may happen, for a machine that is busy.
const BUSY: Duration = Duration::from_millis(1_500);
/// Between two looks of a leader for leases that are over.
const PASS: Duration = Duration::from_millis(500);
const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn lease(number: u64) -> LeaseId {
    LeaseId::new(number).expect("not 0")
}

fn ask(gateway: &Gateway, rpc: impl Into<Rpc>) -> Result<Reply, Failed> {
    begin(gateway, rpc).end().map(|(reply, _)| reply)
}

/// A request that waits for its answer, while something else happens.
struct Asked {
    rpc: Rpc,
    waits: JoinHandle<std::io::Result<(u16, Json, Duration)>>,
}

fn begin(gateway: &Gateway, rpc: impl Into<Rpc>) -> Asked {
    let (gateway, rpc) = (gateway.clone(), rpc.into());
    let (path, body) = rpc.to_json();
    let waits = spawn(move || {
        let asked = Instant::now();
        let (status, said) = gateway.post(path, &body)?;
        Ok((status, said, asked.elapsed()))
    });
    Asked { rpc, waits }
}

impl Asked {
    /// The answer, and how long it took.
    fn end(self) -> Result<(Reply, Duration), Failed> {
        let (status, said, took) = self.waits.join().map_err(|_| "who asked has panicked")??;
        count(&COUNTS.replies, 1);
        Ok((Reply::from_json(&self.rpc, NodeId::new(0), status, &said)?, took))
    }
}

fn body(gateway: &Gateway, rpc: impl Into<Rpc>) -> Result<Body, Failed> {
    let reply = ask(gateway, rpc)?;
    Ok(reply.into_result().map_err(|error| error.to_string())?.body)
}

/// A lease with a key on it; when it was granted, at the earliest and at the latest.
fn granted(gateway: &Gateway, number: u64, ttl: i64) -> Result<(Instant, Instant), Failed> {
    let from = Instant::now();
    body(gateway, Rpc::LeaseGrant { ttl, id: Some(lease(number)) })?;
    let to = Instant::now();
    body(gateway, Put::new(key(number), "v".into(), Some(lease(number))))?;
    Ok((from, to))
}

fn key(number: u64) -> models::etcd::Key {
    models::etcd::Key::under("k/".into(), lease(number))
}

fn is_there(gateway: &Gateway, number: u64) -> Result<bool, Failed> {
    match body(gateway, Range { serializable: true, ..Range::of(Keys::One(key(number))) })? {
        Body::Range { count, .. } => Ok(count == 1),
        other => Err(format!("no range: {other}").into()),
    }
}

/// When the key is gone: it was there at the first instant, and was not at the second.
fn gone(gateway: &Gateway, number: u64) -> Result<(Instant, Instant), Failed> {
    let mut there = Instant::now();
    loop {
        let asked = Instant::now();
        if !is_there(gateway, number)? {
            return Ok((there, Instant::now()));
        }
        there = asked;
        sleep(Duration::from_millis(10));
    }
}

fn is_between(what: &str, (there, gone): (Instant, Instant), first: Instant, last: Instant) -> Outcome {
    if gone >= first && there <= last {
        count(&COUNTS.ended, 1);
        return Ok(());
    }
    count(&COUNTS.different, 1);
    Err(format!("{what}: {:?} too early, or {:?} too late", first.duration_since(gone), there.duration_since(last))
        .into())
}

fn a_lease_ends_within_half_a_second_of_its_time() -> Outcome {
    let cluster = EtcdCluster::start(1)?;
    let gateway = cluster.gateway(0);
    for (number, ttl) in [(1, 2), (2, 3), (3, 2)] {
        let (from, to) = granted(gateway, number, ttl)?;
        let ttl = seconds(ttl.cast_unsigned());
        is_between("expiry", gone(gateway, number)?, from + ttl, to + ttl + PASS + BUSY)?;
    }
    Ok(())
}

/// A leader that stands still counts on: what it is asked when it goes on is too late.
fn a_lease_that_is_over_is_not_kept_alive() -> Outcome {
    let mut cluster = EtcdCluster::start(1)?;
    let gateway = &cluster.gateway(0).clone();
    granted(gateway, 1, 2)?;
    cluster.pause(0)?;
    sleep(seconds(3));
    let asked = begin(gateway, Rpc::LeaseKeepAlive { id: lease(1) });
    cluster.resume(0)?;
    match asked.end()?.0.into_result().map(|response| response.body) {
        Ok(Body::LeaseKeepAlive { ttl: 0, .. }) => {}
        other => return Err(format!("kept alive: {other:?}").into()),
    }
    if is_there(gateway, 1)? { Err("the answer came before the key was gone".into()) } else { Ok(()) }
}

fn a_new_leader_gives_leases_their_whole_time_and_a_second() -> Outcome {
    const TTL: i64 = 3;
    let mut cluster = EtcdCluster::start(3)?;
    let leader = cluster.wait_until_led()?;
    let other = cluster.gateway((leader + 1) % 3).clone();
    let (_, granted) = granted(&other, 1, TTL)?;
    sleep(seconds(2));
    let killed = Instant::now();
    cluster.kill(leader)?;
    // What is asked meanwhile is answered once there is a leader, or not in time.
    let asked = Instant::now();
    match ask(&other, Put::new("x".into(), "1".into(), None))? {
        Reply::Done(_) => {}
        Reply::Failed(EtcdError::Timeout | EtcdError::TimeoutLeaderFail | EtcdError::TimeoutConnectionLost)
            if asked.elapsed() >= seconds(7) => {}
        Reply::Failed(error) => return Err(format!("{error} after {:?}", asked.elapsed()).into()),
    }
    let (there, gone) = gone(&other, 1)?;
    cluster.wait_until_led()?;
    // The election takes a second from the last heartbeat on, which may have waited for the leader's disk, and two and one more at
    // most.
    let (first, last) = (killed, killed + seconds(6));
    let whole = seconds(TTL.cast_unsigned() + 1);
    is_between("a new leader", (there, gone), first + whole, last + whole + PASS + BUSY)?;
    if there > granted + seconds(TTL.cast_unsigned()) + PASS { Ok(()) } else { Err("nothing was added".into()) }
}

fn without_a_majority_nothing_but_what_is_local_is_answered() -> Outcome {
    let mut cluster = EtcdCluster::start(3)?;
    let leader = cluster.wait_until_led()?;
    let alone = cluster.gateway((leader + 1) % 3).clone();
    body(&alone, Put::new("s".into(), "1".into(), None))?;
    cluster.pause(leader)?;
    cluster.pause((leader + 2) % 3)?;
    let one = || Range::of(Keys::One("s".into()));
    let read = begin(&alone, one());
    let write = begin(&alone, Put::new("s".into(), "2".into(), None));
    match body(&alone, Range { serializable: true, ..one() })? {
        Body::Range { count: 1, .. } => {}
        other => return Err(format!("the local read: {other}").into()),
    }
    for (what, waits) in [("read", read), ("write", write)] {
        let (reply, took) = waits.end()?;
        match reply {
            Reply::Failed(EtcdError::Timeout | EtcdError::TimeoutConnectionLost) if took >= seconds(7) => {}
            // That its leader is lost is a change too: the read is given up at once.
            Reply::Failed(EtcdError::LeaderChanged) if what == "read" => {}
            other => return Err(format!("{what}: {other:?} after {took:?}").into()),
        }
    }
    cluster.resume(leader)?;
    cluster.resume((leader + 2) % 3)?;
    Ok(())
}

/// The lease is kept alive through the new leader. When the old one goes on, it may still propose to revoke it, as a follower:
/// 3.4.23 does, now and then; nothing else may end it.
fn a_leader_that_stood_still() -> Outcome {
    let mut cluster = EtcdCluster::start(3)?;
    let leader = cluster.wait_until_led()?;
    let other = cluster.gateway((leader + 1) % 3).clone();
    granted(&other, 1, 3)?;
    cluster.pause(leader)?;
    let began = Instant::now();
    // By the new leader: who follows the old one still asks that for seven seconds, whoever leads by then.
    let new = cluster.wait_until_led()?;
    let new = cluster.gateway(new).clone();
    while began.elapsed() < seconds(6) {
        body(&new, Rpc::LeaseKeepAlive { id: lease(1) })?;
        sleep(Duration::from_millis(200));
    }
    if !is_there(&other, 1)? {
        return Err("a lease that was kept alive has ended".into());
    }
    cluster.resume(leader)?;
    let resumed = Instant::now();
    let mut revoked = None;
    while resumed.elapsed() < seconds(2) && revoked.is_none() {
        if let Body::LeaseKeepAlive { ttl: 0, .. } = body(&new, Rpc::LeaseKeepAlive { id: lease(1) })? {
            revoked = Some(resumed.elapsed());
        }
        sleep(Duration::from_millis(20));
    }
    println!("a leader that stood still has revoked what others kept alive: {revoked:?}");
    cluster.wait_until_led()?;
    Ok(())
}

/// A member that follows a leader which stands still asks that for seven seconds, though another leads by then, and the
/// client whom it serves can keep nothing alive: a lease of three seconds ends, in the new leader's time.
fn who_follows_a_leader_that_stands_still_keeps_nothing_alive() -> Outcome {
    let mut cluster = EtcdCluster::start(3)?;
    let leader = cluster.wait_until_led()?;
    let other = cluster.gateway((leader + 1) % 3).clone();
    granted(&other, 1, 3)?;
    cluster.pause(leader)?;
    let paused = Instant::now();
    let asked = begin(&other, Rpc::LeaseKeepAlive { id: lease(1) });
    let whole = seconds(3 + 1);
    let (first, last) = (paused, paused + seconds(3));
    is_between("a new leader", gone(&other, 1)?, first + whole, last + whole + PASS + BUSY)?;
    match asked.end()? {
        (Reply::Failed(EtcdError::Timeout), took) if took >= seconds(7) => {}
        other => return Err(format!("kept alive: {other:?}").into()),
    }
    cluster.resume(leader)?;
    Ok(())
}
