//! The lock on one Redis server.
//!
//! Source: "Distributed Locks with Redis", the part about a single instance,
//! <https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>. The allowance for clock
//! drift, for which the page gives no number, is that of its author's `redlock-rb`: 1 % and 2 ms.
//!
//! | the page's step | here |
//! |---|---|
//! | a random value, unique among all clients and all requests | [`fresh_value`] |
//! | take the key with `SET key value NX PX ttl` | [`take`](SingleRedis::take) |
//! | it is ours for the time to live, less what it took to acquire | [`Ttl::deadline`], `acquire` |
//! | release with a script that compares the value | [`delete`](SingleRedis::delete) |
//! | extend with a script that compares the value | `renew` |
//!
//! Departures: the page lets the client judge for itself how long it has got. Here it counts from
//! before the request was sent and takes off the drift allowance, as the page does for several
//! instances; a grant whose time is over when it arrives is given back. With
//! [`IncrInScript`](TokenSource::IncrInScript) the key is taken by a script that also draws a token.
//! With no TTL the key never expires, against the page's advice.

use std::fmt;
use std::rc::Rc;

use host::{Duration, MonoTime, Part, Purpose, Server};
use spec::{Authorities, LockName, Token};

use super::{Command, Key, RedisHost, Reply, Script, Value};
use crate::link::{Link, LinkError};
use crate::lock::{LateGrant, RedisLock, TokenSource};
use crate::recipe::{Acquired, Lease, Recipe, Release, Renewal};

/// A client's locks on one Redis server. A lock's name is its key's.
pub struct SingleRedis<H: RedisHost>(Rc<Inner<H>>);

struct Inner<H: RedisHost> {
    link: Link<H, Command>,
    token: TokenSource,
    ttl: Option<Ttl>,
    renew_every: Option<Duration>,
    late_grant: LateGrant,
}

/// The clock drift for which a lease of that length makes allowance.
#[must_use]
pub fn drift(ttl: Duration) -> Duration {
    ttl / 100 + Duration::from_millis(2)
}

impl<H: RedisHost> SingleRedis<H> {
    /// Locks on that server; `timeout` is for connecting and for each call.
    #[must_use]
    pub fn new(server: Server<Command>, ttl: Option<Duration>, timeout: Duration, switches: &RedisLock) -> Self {
        Self(Rc::new(Inner {
            link: Link::new(server, timeout),
            token: switches.token,
            ttl: ttl.map(Ttl::of),
            renew_every: switches.renew,
            late_grant: switches.late_grant,
        }))
    }
}

impl<H: RedisHost> Recipe<H> for SingleRedis<H> {
    /// The owner value.
    type Proof = Value;

    async fn connect(&self, host: &H) {
        // If it fails, the first call tries again.
        let _ = self.0.link.open(host).await;
    }

    fn renew_every(&self) -> Option<Duration> {
        self.0.renew_every
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        match self.0.late_grant {
            LateGrant::Forgotten => self.ask(host, lock).await,
            LateGrant::Kept | LateGrant::GivenBack => self.ask_in_background(host, lock).await,
        }
    }

    async fn renew(&self, host: &H, lock: LockName, lease: &Lease<Value>, by: Option<Duration>) -> Renewal {
        let Some(ttl) = by.map(Ttl::of).or(self.0.ttl) else { return Renewal::Failed };
        let (key, value) = (lock, lease.proof.clone());
        let start = host.monotonic();
        match self.0.link.call(host, Script::CompareAndPexpire { key, value, px: ttl.px }.into()).await {
            Ok(Reply::Int(1)) => Renewal::Extended { until: ttl.deadline(start) },
            _ => Renewal::Failed,
        }
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        match self.delete(host, lock, lease.proof.clone()).await {
            Ok(Reply::Int(1)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

impl<H: RedisHost> SingleRedis<H> {
    /// Asks for the lock, once.
    async fn ask(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let value = fresh_value(host);
        let start = host.monotonic();
        let token = match self.take(host, lock, value.clone()).await {
            Ok(Reply::Ok) => None,
            Ok(Reply::Int(count @ 0..)) => Some(Token(count.cast_unsigned())),
            Ok(Reply::Nil) => return Acquired::Denied,
            // Nothing was sent, so nothing can be left behind; but nobody said no either.
            Err(LinkError::NotSent(_)) => return Acquired::Failed,
            Ok(_) | Err(LinkError::NoReply(_)) => {
                let _ = self.delete(host, lock, value).await;
                return Acquired::Failed;
            }
        };
        let until = self.0.ttl.map(|ttl| ttl.deadline(start));
        if until.is_some_and(|until| host.monotonic() >= until) {
            // The reply was so long on its way that the lease is over.
            return match self.delete(host, lock, value).await {
                Ok(_) => Acquired::Denied,
                Err(_) => Acquired::Failed,
            };
        }
        let counted = Authorities::one(self.0.link.server().node());
        Acquired::Granted(Lease { proof: value, token, until, counted })
    }

    /// Asks in a task of the library's own, which lives on when the caller is interrupted.
    async fn ask_in_background(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let caller = Rc::new(());
        let (waits, this, own_host) = (Rc::downgrade(&caller), self.clone(), host.clone());
        // Like the renewal, this is no business of the worker's thread.
        let asking = host.spawn(Part::RENEWAL, async move {
            let answer = this.ask(&own_host, lock).await;
            if waits.upgrade().is_none()
                && let Acquired::Granted(lease) = &answer
            {
                this.take_late_grant(&own_host, lock, lease).await;
            }
            answer
        });
        let answer = asking.await;
        drop(caller);
        answer
    }

    /// A grant has come, and nobody waits for it any more.
    async fn take_late_grant(&self, host: &H, lock: LockName, lease: &Lease<Value>) {
        match (self.0.late_grant, self.0.renew_every) {
            (LateGrant::GivenBack, _) => _ = self.release(host, lock, lease).await,
            (LateGrant::Kept, Some(every)) => loop {
                host.sleep(every).await;
                if self.renew(host, lock, lease, None).await == Renewal::Failed {
                    return;
                }
            },
            (LateGrant::Kept, None) | (LateGrant::Forgotten, _) => {}
        }
    }

    async fn take(&self, host: &H, key: Key, value: Value) -> Result<Reply, LinkError> {
        let px = self.0.ttl.map(|ttl| ttl.px);
        let command = match self.0.token {
            TokenSource::None => Command::set_nx(key, value, px),
            TokenSource::IncrInScript => Script::LockWithToken { key, value, px, counter: COUNTER }.into(),
        };
        self.0.link.call(host, command).await
    }

    async fn delete(&self, host: &H, key: Key, value: Value) -> Result<Reply, LinkError> {
        self.0.link.call(host, Script::CompareAndDelete { key, value }.into()).await
    }
}

/// The key that counts the grants of all locks: from grant to grant of any of them, tokens rise.
pub const COUNTER: Key = Key::fixed("token");

/// Twenty random bytes, in hexadecimal.
fn fresh_value<H: RedisHost>(host: &H) -> Value {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [0; 40];
    for sixteen in text.chunks_mut(16) {
        let mut word = host.random(Purpose::Recipe);
        for digit in sixteen {
            *digit = DIGITS[(word & 0xF) as usize];
            word >>= 4;
        }
    }
    Value::from(&text[..])
}

/// The length of a lease, in the whole milliseconds that Redis is told.
#[derive(Clone, Copy)]
struct Ttl {
    px: i64,
    /// Less the allowance for drift.
    promised: Duration,
}

impl Ttl {
    fn of(ttl: Duration) -> Self {
        let px = i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX);
        let told = Duration::from_millis(px.cast_unsigned());
        Self { px, promised: told.saturating_sub(drift(told)) }
    }

    /// The promised end of a lease for which the client asked at `start` or later.
    fn deadline(self, start: MonoTime) -> MonoTime {
        start + self.promised
    }
}

impl<H: RedisHost> Clone for SingleRedis<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: RedisHost> fmt::Debug for SingleRedis<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SingleRedis").field("link", &self.0.link).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
