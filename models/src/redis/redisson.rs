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
//! | `lock`: who was denied subscribes, asks again, waits for a message or the time to live that it was told | [`waiting`](self) |
//! | `RedissonFairLock`: a queue of those that wait | [`fair`](super::fair) |
//! | `acquireFailedAsync`: who gives up leaves the queue | `give_up` |
//!
//! Departures: one thread a client. Who waits has a connection of its own, which it closes afterwards; Redisson keeps
//! some of them, and unsubscribes. A caller that is interrupted keeps its connection for its next wait. The lease
//! has an end on the client's clock, counted from before the first request and less the drift allowance; Redisson
//! asks no clock, and a naive client does not either. A request that is not answered is sent again as
//! [`Resend`] says, and after three times the attempt has failed.

mod waiting;

use std::cell::OnceCell;
use std::fmt;
use std::num::NonZeroU64;
use std::rc::Rc;

use host::{Duration, Either, MonoTime, Purpose, Server, first};
use spec::{Authorities, LockName};

use super::fair::{channel_in_queue, channel_of};
use super::lock::Ttl;
use super::{Command, FairScript, Queue, RedisHost, Reply, Script, Told, Value};
use crate::link::{Link, LinkError};
use crate::lock::{Order, RedissonLock, Renew, Resend, Waits};
use crate::recipe::{Acquired, Again, Lease, Recipe, Release, Renewal, after_delay};
use waiting::Waiting;

/// A client's locks on one Redis server, as Redisson takes them.
pub struct Redisson<H: RedisHost>(Rc<Inner<H>>);

struct Inner<H: RedisHost> {
    link: Link<H, Command>,
    ttl: Ttl,
    switches: RedissonLock,
    owner: OnceCell<Value>,
    waiting: Waiting<H>,
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
        let waiting = Waiting::new(server, timeout);
        Self(Rc::new(Inner { link, ttl: Ttl::of(ttl), switches: switches.clone(), owner: OnceCell::new(), waiting }))
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
        let (owner, px, switches) = (self.owner(host), self.0.ttl.px, &self.0.switches);
        let mut resends = if self.0.switches.resend == Resend::Never { 0 } else { RESENDS };
        loop {
            let owner = owner.clone();
            let script = match self.queue() {
                None => Script::HashLock { key, owner, px, request },
                Some(queue) => {
                    let (now, slot) = (host.wall().millis(), millis(switches.slot));
                    Script::from(FairScript::Lock { key, owner, px, now, slot, queue, told: switches.told.into() })
                }
            };
            match self.0.link.call(host, script.into()).await {
                Ok(Reply::Nil) => return Entry::In(self.0.ttl.deadline(asked_at)),
                Ok(Reply::Int(told)) => {
                    self.0.waiting.is_told(Some(told));
                    return Entry::Held;
                }
                Err(LinkError::NoReply(_)) if resends > 0 => resends -= 1,
                Ok(_) | Err(_) => {
                    self.0.waiting.is_told(None);
                    return Entry::Unclear;
                }
            }
        }
    }

    /// The queue of those that wait, if there is one.
    fn queue(&self) -> Option<Queue> {
        match self.0.switches.order {
            Order::Any => None,
            Order::Queue => Some(Queue::MovesUp),
            Order::DriftingQueue => Some(Queue::Drifts),
        }
    }

    async fn give_back(&self, host: &H, key: LockName, owner: &Value) -> Release {
        let (owner, px) = (owner.clone(), self.0.ttl.px);
        let script = match self.queue() {
            None => {
                let tells = self.0.switches.waits != Waits::Retry;
                Script::HashUnlock { key, owner, px, tells }
            }
            Some(_) => Script::from(FairScript::Unlock { key, owner, px, now: host.wall().millis() }),
        };
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
            Entry::In(until) => {
                self.0.waiting.is_over(lock);
                Acquired::Granted(Lease {
                    proof: self.owner(host),
                    token: None,
                    until: Some(until),
                    counted: Authorities::one(self.0.link.server().node()),
                })
            }
            Entry::Held => Acquired::Denied,
            Entry::Unclear => Acquired::Failed,
        }
    }

    async fn await_turn(&self, host: &H, lock: LockName, delay: Duration, until: Option<MonoTime>) -> bool {
        let heeds_time = match self.0.switches.waits {
            Waits::Retry => return after_delay(host, delay, until).await,
            Waits::MessageOrTtl => true,
            Waits::Message => false,
        };
        let channel = match self.queue() {
            None => channel_of(&lock),
            Some(_) => channel_in_queue(&lock, &self.owner(host)),
        };
        let turn = self.0.waiting.turn(host, lock, channel, heeds_time, delay);
        let Some(until) = until else {
            turn.await;
            return true;
        };
        matches!(first(turn, host.sleep(until.left(host.monotonic()))).await, Either::Left(()))
    }

    async fn give_up(&self, host: &H, key: LockName) {
        self.0.waiting.is_over(key);
        if let Some(queue) = self.queue() {
            let (owner, slot) = (self.owner(host), millis(self.0.switches.slot));
            let script = Script::from(FairScript::Leave { key, owner, slot, queue });
            // If it is not answered, the deadline will see to it.
            let _ = self.0.link.call(host, script.into()).await;
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

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

impl From<crate::lock::Told> for Told {
    fn from(told: crate::lock::Told) -> Self {
        match told {
            crate::lock::Told::NextEnd => Self::NextEnd,
            crate::lock::Told::OwnDeadline => Self::OwnDeadline,
        }
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
