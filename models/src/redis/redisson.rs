//! Redisson's re-entrant lock on one Redis server: a hash that counts its owner's entries, and a watchdog.
//!
//! Source: `RedissonLock` and `RedissonBaseLock`,
//! <https://github.com/redisson/redisson/tree/master/redisson/src/main/java/org/redisson>.
//!
//! | the source's step | here |
//! |---|---|
//! | the owner: the client's random id and the thread's | `owner` |
//! | `tryLockInnerAsync`: count one more in the hash, if it is the owner's or nobody's | `enter` |
//! | `unlockInnerAsync`: count one less, and delete the hash when none is left | `leave`, `release` |
//! | `renewExpirationAsync`: the watchdog's `PEXPIRE`, if the owner's field is there | `renew` |
//!
//! Departures: one thread a client. Waiters try again after a delay instead of waiting for a message. The lease
//! has an end on the client's clock, counted from before the first request and less the drift allowance; Redisson
//! asks no clock, and a naive client does not either. A request that is not answered is sent again as
//! [`Resend`] says, and after three times the attempt has failed.

use std::cell::OnceCell;
use std::fmt;
use std::num::NonZeroU64;
use std::rc::Rc;

use host::{Duration, MonoTime, Purpose, Server};
use spec::{Authorities, LockName};

use super::lock::Ttl;
use super::{Command, RedisHost, Reply, Script, Value};
use crate::link::{Link, LinkError};
use crate::lock::{RedissonLock, Renew, Resend};
use crate::recipe::{Acquired, Again, Lease, Recipe, Release, Renewal};

/// A client's locks on one Redis server, as Redisson takes them.
pub struct Redisson<H: RedisHost>(Rc<Inner<H>>);

struct Inner<H: RedisHost> {
    link: Link<H, Command>,
    ttl: Ttl,
    switches: RedissonLock,
    owner: OnceCell<Value>,
}

/// How often a request is sent again.
const RESENDS: u32 = 3;

/// How asking for the lock ended.
enum Entry {
    /// The client is in, until its clock reads this.
    In(MonoTime),
    /// Somebody else is.
    Held,
    Unclear,
}

impl<H: RedisHost> Redisson<H> {
    /// Locks on that server; `timeout` is for connecting and for each call.
    #[must_use]
    pub fn new(server: Server<Command>, ttl: Duration, timeout: Duration, switches: &RedissonLock) -> Self {
        let link = Link::new(server, timeout);
        Self(Rc::new(Inner { link, ttl: Ttl::of(ttl), switches: switches.clone(), owner: OnceCell::new() }))
    }

    fn owner(&self, host: &H) -> Value {
        let drawn = || Value::from(format!("{:016x}:1", host.random(Purpose::Recipe)).as_str());
        self.0.owner.get_or_init(drawn).clone()
    }

    async fn enter(&self, host: &H, key: LockName) -> Entry {
        let request = match self.0.switches.resend {
            Resend::ByName => NonZeroU64::new(host.random(Purpose::Recipe) | 1),
            Resend::Never | Resend::Blindly => None,
        };
        let asked_at = host.monotonic();
        let (owner, px) = (self.owner(host), self.0.ttl.px);
        let mut resends = if self.0.switches.resend == Resend::Never { 0 } else { RESENDS };
        loop {
            let script = Script::HashLock { key, owner: owner.clone(), px, request };
            match self.0.link.call(host, script.into()).await {
                Ok(Reply::Nil) => return Entry::In(self.0.ttl.deadline(asked_at)),
                Ok(Reply::Int(_)) => return Entry::Held,
                Err(LinkError::NoReply(_)) if resends > 0 => resends -= 1,
                Ok(_) | Err(_) => return Entry::Unclear,
            }
        }
    }

    async fn give_back(&self, host: &H, key: LockName, owner: &Value) -> Release {
        let script = Script::HashUnlock { key, owner: owner.clone(), px: self.0.ttl.px };
        match self.0.link.call(host, script.into()).await {
            Ok(Reply::Int(1)) => Release::Confirmed,
            Ok(Reply::Int(0)) => Release::EntriesLeft,
            _ => Release::Refused,
        }
    }
}

impl<H: RedisHost> Recipe<H> for Redisson<H> {
    /// The owner.
    type Proof = Value;

    async fn connect(&self, host: &H) {
        // If it fails, the first call tries again.
        let _ = self.0.link.open(host).await;
    }

    fn renewing(&self, _: LockName) -> Option<Renew> {
        Some(self.0.switches.renew)
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        match self.enter(host, lock).await {
            Entry::In(until) => Acquired::Granted(Lease {
                proof: self.owner(host),
                token: None,
                until: Some(until),
                counted: Authorities::one(self.0.link.server().node()),
            }),
            Entry::Held => Acquired::Denied,
            Entry::Unclear => Acquired::Failed,
        }
    }

    async fn acquire_again(&self, host: &H, lock: LockName, _: &Lease<Value>) -> Again {
        match self.enter(host, lock).await {
            Entry::In(until) => Again::Entered { until: Some(until) },
            Entry::Held => Again::Denied,
            Entry::Unclear => Again::Failed,
        }
    }

    async fn renew(&self, host: &H, key: LockName, lease: &Lease<Value>, by: Option<Duration>) -> Renewal {
        let ttl = by.map_or(self.0.ttl, Ttl::of);
        let asked_at = host.monotonic();
        let script = Script::HashExtend { key, owner: lease.proof.clone(), px: ttl.px };
        match self.0.link.call(host, script.into()).await {
            Ok(Reply::Int(1)) => Renewal::Extended { until: ttl.deadline(asked_at) },
            Ok(Reply::Int(0)) => Renewal::Refused,
            _ => Renewal::Failed,
        }
    }

    async fn leave(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        self.give_back(host, lock, &lease.proof).await
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        self.give_back(host, lock, &lease.proof).await
    }
}

impl<H: RedisHost> Clone for Redisson<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: RedisHost> fmt::Debug for Redisson<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redisson").field("link", &self.0.link).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
