//! The lock on one Redis server.
//!
//! Source: "Distributed Locks with Redis", the part about a single instance,
//! <https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>. The allowance for clock
//! drift, for which the page gives no number, is that of its author's `redlock-rb`: 1 % and 2 ms.
//!
//! | the page's step | here |
//! |---|---|
//! | a random value, unique among all clients and all requests | [`Memory::value`] |
//! | take the key with `SET key value NX PX ttl` | `take` |
//! | it is ours for the time to live, less what it took to acquire | [`Ttl::deadline`], `acquire` |
//! | release with a script that compares the value | `give_back` |
//! | extend with a script that compares the value | `extend` |
//!
//! Departures: the page lets the client judge for itself how long it has got. Here it counts from
//! before the request was sent and takes off the drift allowance, as the page does for several
//! instances; a grant whose time is over when it arrives is given back. With no TTL the key never
//! expires, against the page's advice. Each [switch](RedisLock) is one more departure, with its source; each step's
//! ways are in a file named for it.

mod again;
mod extend;
mod late;
mod local;
mod memory;
mod reap;
mod release;
mod take;
mod ttl;
mod wait;

use std::fmt;
use std::marker::PhantomData;
use std::rc::Rc;

use host::{Duration, MonoTime, Server};
use spec::{Authorities, LockName};

use super::way::Way;
use super::{Command, RedisHost, Value};
use crate::link::Link;
use crate::lock::{LateGrant, LeaseFrom, Local, OnError, RedisLock, Renew, WaitFor};
use crate::recipe::{Acquired, Again, Lease, Reaped, Recipe, Release, Renewal};
use crate::script::Reaping;
pub(super) use memory::Memory;
pub use take::COUNTER;
use take::NotTaken;
pub(super) use ttl::Ttl;
pub use ttl::drift;

/// A client's locks on one Redis server, or on whichever it finds at the end of another way. A lock's name is its
/// key's.
pub struct SingleRedis<H: RedisHost, W = Link<H, Command>>(Rc<Inner<W>>, PhantomData<fn(H)>);

struct Inner<W> {
    link: W,
    ttl: Option<Ttl>,
    switches: RedisLock,
    /// How many replicas must have a key, and how long to wait for that, before it counts as taken.
    wait: Option<WaitFor>,
    memory: Memory,
}

impl<H: RedisHost> SingleRedis<H> {
    /// Locks on that server; `timeout` is for connecting and for each call.
    #[must_use]
    pub fn new(server: Server<Command>, ttl: Option<Duration>, timeout: Duration, switches: &RedisLock) -> Self {
        Self::by(Link::new(server, timeout), ttl, switches, None)
    }
}

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Locks on the server to which that way leads.
    pub(crate) fn by(link: W, ttl: Option<Duration>, switches: &RedisLock, wait: Option<WaitFor>) -> Self {
        let (ttl, switches) = (ttl.map(Ttl::of), switches.clone());
        Self(Rc::new(Inner { link, ttl, switches, wait, memory: Memory::default() }), PhantomData)
    }
}

impl<H: RedisHost, W: Way<H>> Recipe<H> for SingleRedis<H, W> {
    /// The owner value.
    type Proof = Value;

    async fn connect(&self, host: &H) {
        // If it fails, the first call tries again.
        let _ = self.0.link.open(host).await;
    }

    fn renewing(&self, lock: LockName) -> Option<Renew> {
        let renew = self.0.switches.renew?;
        self.0.memory.registry.begin(lock, renew.entry).then_some(renew)
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        if self.0.switches.local == Local::None {
            return self.ask_server(host, lock).await;
        }
        // What is not granted, or given up, is free for the other threads.
        let Some(taken) = self.0.memory.local.take(lock) else { return Acquired::Denied };
        let acquired = self.ask_server(host, lock).await;
        if let Acquired::Granted(_) = acquired {
            taken.keep();
        }
        acquired
    }

    async fn acquire_again(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Again {
        self.enter(host, lock, &lease.proof).await
    }

    async fn renew(&self, host: &H, lock: LockName, lease: &Lease<Value>, by: Option<Duration>) -> Renewal {
        match by.map(Ttl::of).or(self.0.ttl) {
            Some(ttl) => self.extend(host, lock, &lease.proof, ttl).await,
            None => Renewal::Refused,
        }
    }

    async fn reap(&self, host: &H, lock: LockName, how: Reaping) -> Reaped {
        self.take_away(host, lock, how).await.unwrap_or(Reaped::Failed)
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        match self.give_back(host, lock, &lease.proof).await {
            Ok(true) => {
                self.0.memory.registry.released(lock);
                self.0.memory.local.free(lock);
                Release::Confirmed
            }
            _ => {
                if self.0.switches.local == Local::FreedInAnyCase {
                    self.0.memory.local.free(lock);
                }
                Release::Refused
            }
        }
    }
}

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// What the clock reads on which the client counts.
    fn now(&self, host: &H) -> MonoTime {
        self.0.switches.clock.clock().read(host)
    }

    async fn ask_server(&self, host: &H, lock: LockName) -> Acquired<Value> {
        match self.0.switches.late_grant {
            LateGrant::Forgotten => self.ask(host, lock).await,
            LateGrant::Kept | LateGrant::GivenBack => self.ask_in_background(host, lock).await,
        }
    }

    /// Asks for the lock, once.
    async fn ask(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let Inner { switches, memory, .. } = &*self.0;
        let value = memory.value(host, switches.value);
        let asked_at = memory.asked_at(self.now(host), lock, switches.lease_from);
        let token = match self.take(host, lock, &value).await {
            Ok(token) => token,
            Err(NotTaken::Held) => return Acquired::Denied,
            Err(_) if switches.on_error == OnError::TakeForGranted => None,
            // Nothing was sent, so nothing can be left behind; but nobody said no either.
            Err(NotTaken::NotSent) => return Acquired::Failed,
            Err(NotTaken::Unclear) => {
                if switches.on_error == OnError::CleanUp {
                    let _ = self.give_back(host, lock, &value).await;
                }
                return Acquired::Failed;
            }
        };
        let asked_at = if switches.lease_from == LeaseFrom::Reply { self.now(host) } else { asked_at };
        let until = self.0.ttl.map(|ttl| ttl.deadline(asked_at));
        if switches.lease_from == LeaseFrom::Request && until.is_some_and(|until| self.now(host) >= until) {
            // The reply was so long on its way that the lease is over.
            return match self.give_back(host, lock, &value).await {
                Ok(_) => Acquired::Denied,
                Err(_) => Acquired::Failed,
            };
        }
        if let Some(wait) = self.0.wait
            && !self.is_replicated(host, wait).await
        {
            let _ = self.give_back(host, lock, &value).await;
            return Acquired::Failed;
        }
        memory.granted(lock);
        let counted = Authorities::one(self.0.link.server());
        Acquired::Granted(Lease { proof: value, token, until, counted })
    }
}

impl<H: RedisHost, W> Clone for SingleRedis<H, W> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0), PhantomData)
    }
}

impl<H: RedisHost, W: fmt::Debug> fmt::Debug for SingleRedis<H, W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleRedis").field("link", &self.0.link).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
