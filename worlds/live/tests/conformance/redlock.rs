//! Redlock on five real servers, as published and as its libraries have it: what is contracted of it.
//!
//! The recipe is the simulator's own, over the host of the live world; who stands in its way are servers that are killed,
//! stopped, started again, and set to another time. What hangs on who asks first is decided by a server that stands
//! still until all have asked, and by nobody's haste.
//!
//! | contracted | here |
//! |---|---|
//! | 1: all up: five keys, and the TTL less what it took and the allowance | `grants::with_all_five` |
//! | 2, 3: two may be down, and three may not | `grants::two_down`, `grants::three_down` |
//! | 4: who has three keeps them | `grants::another_has_three` |
//! | 5: two, two and one: nobody wins | `grants::a_split` |
//! | 6: slower than the lease | `time::slower_than_the_lease`, `time::slower_than_the_lease_unlooked_at` |
//! | 7: the client's wall clock is set back meanwhile | `time::set_back_meanwhile` |
//! | 8: a server that said yes is started again | `time::without_memory`, `time::with_memory` |
//! | 9: the clock of a server that said yes jumps | `time::a_jump` |
//! | 10: an extension after the end | `time::too_late`, `time::too_late_and_taken_anew` |
//! | 11: a client that stands still behind its quorum | `redlock-pause-acquiring`, in the tests of the live world |
//! | 12: who comes too late gives back nothing | `grants::a_stale_release` |

mod grants;
mod time;

use std::io;

use fencepost_live::client::{LiveHost, run};
use fencepost_live::servers::redis::{KEEPS_NOTHING, RedisServer};
use host::{Duration, NodeId, Server};
use libtest_mimic::Failed;
use models::lock::RedlockLock;
use models::lock::redlock::Library;
use models::recipe::{Acquired, Lease, Recipe};
use models::redis::{Command, Redlock, Value};

use crate::common::{Named, Outcome};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 15] = [
    ("redlock: with all five it has all five", grants::with_all_five),
    ("redlock: two of five may be down", grants::two_down),
    ("redlock: three of five may not be down", grants::three_down),
    ("redlock: who has three keeps them", grants::another_has_three),
    ("redlock: two, two and one, and nobody wins", grants::a_split),
    ("redlock: a stale release gives back nothing", grants::a_stale_release),
    ("redlock: a majority slower than the lease is none", time::slower_than_the_lease),
    ("redlock: who does not look at the clock has it all the same", time::slower_than_the_lease_unlooked_at),
    ("redlock: a wall clock that is set back meanwhile", time::set_back_meanwhile),
    ("redlock: a server without memory gives a second majority", time::without_memory),
    ("redlock: a server with a log does not", time::with_memory),
    ("redlock: a server whose clock jumps gives a second majority", time::a_jump),
    ("redlock: an extension after the end is none", time::too_late),
    ("redlock: an extension after the end takes the lock anew, if it may", time::too_late_and_taken_anew),
    ("redlock: short enough a lease is over for everybody", time::the_end_of_a_lease),
];

/// The lease of a lock that is not to run out meanwhile.
const TTL: Duration = Duration::from_secs(10);
/// Longer than a server stands still here, and than the machine is busy.
const PATIENT: Duration = Duration::from_secs(20);
const LOCK: &str = "orders";

/// Five servers that know nothing of each other.
struct Five {
    servers: Vec<RedisServer>,
}

impl Five {
    fn start() -> Result<Self, Failed> {
        Self::start_with(KEEPS_NOTHING)
    }

    fn start_with(settings: &[(&str, &str)]) -> Result<Self, Failed> {
        let servers = (0..5).map(|_| RedisServer::start(settings)).collect::<Result<_, _>>()?;
        Ok(Self { servers })
    }

    /// A client that draws as that name does.
    fn client(&self, name: &str) -> LiveHost {
        let ports: Vec<u16> = self.servers.iter().map(RedisServer::port).collect();
        LiveHost::alone(1, name, &ports)
    }

    /// What each server has under the lock's key; `None`: it has no such key.
    fn values(&self) -> io::Result<Vec<Option<Vec<u8>>>> {
        (0..self.servers.len()).map(|place| self.value(place)).collect()
    }

    /// What that server has under the lock's key, or that it does not run.
    fn value(&self, place: usize) -> io::Result<Option<Vec<u8>>> {
        let reply = self.servers[place].connect()?.ask(&["GET", LOCK])?;
        let lines: Vec<&[u8]> = reply.split(|byte| *byte == b'\n').collect();
        Ok(if reply == b"$-1\r\n" {
            None
        } else {
            lines.get(1).map(|line| line.strip_suffix(b"\r").unwrap_or(line).to_vec())
        })
    }

    /// Requires that the servers have this under the lock's key, and counts the comparison.
    fn have(&self, expected: &[Option<&Value>; 5]) -> Outcome {
        let has: Vec<_> = self.values()?;
        let expected: Vec<_> = expected.iter().map(|value| value.map(|value| value.as_bytes().to_vec())).collect();
        must(has == expected, || format!("the servers have {has:?}, not {expected:?}"))
    }

    /// Waits until that server has the key, or has it no more.
    async fn until_it_has(&self, host: &LiveHost, place: usize, has: bool) -> Outcome {
        while self.value(place)?.is_some() != has {
            host::Host::sleep(host, Duration::from_millis(1)).await;
        }
        Ok(())
    }
}

/// A lock on these servers, in this order.
fn lock_on(places: &[u16], ttl: Duration, switches: &RedlockLock) -> Redlock<LiveHost> {
    let servers: Vec<Server<Command>> = places.iter().map(|place| Server::on(NodeId::new(*place))).collect();
    Redlock::new(&servers, ttl, switches)
}

const ALL: [u16; 5] = [0, 1, 2, 3, 4];

/// As that library has it, and patient with servers.
fn of(library: Library, ttl: Duration) -> RedlockLock {
    RedlockLock { node_timeout: PATIENT, ..RedlockLock::of_library(library, ttl, PATIENT) }
}

fn published(ttl: Duration) -> RedlockLock {
    of(Library::Published, ttl)
}

/// Asks for the lock, once.
async fn ask(host: &LiveHost, lock: &Redlock<LiveHost>) -> Acquired<Value> {
    lock.acquire(host, LOCK.into()).await
}

/// Asks for the lock, which must be granted.
async fn granted(host: &LiveHost, lock: &Redlock<LiveHost>) -> Result<Lease<Value>, Failed> {
    match ask(host, lock).await {
        Acquired::Granted(lease) => {
            count(&COUNTS.replies, 1);
            Ok(lease)
        }
        other => Err(format!("it was to be granted, and was {other:?}").into()),
    }
}

/// Asks for the lock, which must not be granted.
async fn denied(host: &LiveHost, lock: &Redlock<LiveHost>) -> Outcome {
    let answer = ask(host, lock).await;
    must(answer == Acquired::Denied, || format!("it was to be denied, and was {answer:?}"))
}

/// One comparison.
fn must(holds: bool, why: impl FnOnce() -> String) -> Outcome {
    count(&COUNTS.replies, 1);
    if holds {
        return Ok(());
    }
    count(&COUNTS.different, 1);
    Err(why().into())
}

/// Plays that on this thread.
fn play(body: impl AsyncFnOnce() -> Outcome) -> Outcome {
    run(body())?
}
