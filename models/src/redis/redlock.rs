//! Redlock: one lock on a majority of Redis servers that know nothing of each other.
//!
//! Source: "Distributed Locks with Redis", the parts about several instances,
//! <https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>. The allowance for clock drift, for which
//! the page gives no number, is that of its author's `redlock-rb`: 1 % and 2 ms.
//!
//! | the page's step | here |
//! |---|---|
//! | 1. get the current time | `acquire` |
//! | 2. `SET NX PX` with one key and one random value on all servers, in turn, with a small timeout for each | `acquire`, `gather`, `taking` |
//! | 3. it is ours if a majority said yes, and the time since then is less than the lease | `granted` |
//! | 4. its validity is what is left of the lease, less an allowance for drift | `granted`, `promised` |
//! | 5. otherwise unlock all servers, also those that seem not to have it | `clean_up` |
//! | retry after a random delay | the client, as the script's `retry` says |
//! | release on all servers | `release` |
//! | extend with a script on all servers; by a majority, within the validity | `renew`, `extension` |
//!
//! Departures: none in what is sent. Fencing tokens are no part of the page: see [`MajorityToken`]. Each
//! [switch](RedlockLock) is a departure of its own, with its source. Of a library, what its switches say is here, and not: that
//! `redlock-rb` and `node-redlock` keep one value for all tries of a call, that `node-redlock` gives its keys back after the
//! last of them, and that Redisson's keys are hashes.

mod tokens;
mod votes;

use std::fmt;
use std::rc::Rc;

use host::{Duration, MonoTime, Part, Server, until};
use spec::{Authorities, LockName};

use self::votes::Votes;
use super::lock::{COUNTER, Memory};
use super::{Command, Key, RedisHost, Script, Value};
use crate::link::Link;
use crate::lock::Renew;
use crate::lock::redlock::{
    Accept, ExtendBy, FailedExtend, LeaseStart, MajorityToken, NodeError, RedlockLock, Stop, Unlock, WhenTold, points,
};
use crate::recipe::{Acquired, Lease, Recipe, Release, Renewal};

/// A client's locks on several Redis servers. A lock's name is its key's.
pub struct Redlock<H: RedisHost>(Rc<Inner<H>>);

struct Inner<H: RedisHost> {
    nodes: Vec<Rc<Link<H, Command>>>,
    quorum: usize,
    ttl: Duration,
    switches: RedlockLock,
    memory: Memory,
}

impl<H: RedisHost> Redlock<H> {
    /// Locks on these servers, which are asked in this order.
    #[must_use]
    pub fn new(servers: &[Server<Command>], ttl: Duration, switches: &RedlockLock) -> Self {
        let link = |server: &Server<Command>| Rc::new(Link::new(*server, switches.node_timeout));
        Self(Rc::new(Inner {
            nodes: servers.iter().map(link).collect(),
            quorum: switches.quorum_of(servers.len()),
            ttl,
            switches: switches.clone(),
            memory: Memory::default(),
        }))
    }
}

impl<H: RedisHost> Recipe<H> for Redlock<H> {
    /// The owner value.
    type Proof = Value;

    async fn connect(&self, host: &H) {
        // Nobody waits for a server of which there are enough without it: the others are opened meanwhile.
        let open = |node: &Rc<Link<H, Command>>| {
            let (host, node) = (host.clone(), Rc::clone(node));
            async move { node.open(&host).await.is_ok() }
        };
        let opening: Vec<_> = self.0.nodes.iter().map(|node| host.spawn(Part::WORKER, open(node))).collect();
        until(opening, |open| open.iter().filter(|open| **open == Some(true)).count() >= self.0.quorum).await;
    }

    fn renewing(&self, _: LockName) -> Option<Renew> {
        self.0.switches.renew
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let Inner { switches, quorum, memory, .. } = &*self.0;
        let value = memory.value(host, switches.value);
        let asked_at = self.now(host); // 1
        host.point(points::ASKING).await;
        let stops = |votes: &Votes| switches.stop == Stop::AtQuorum && votes.yes() >= *quorum;
        let votes = self.gather(host, |_| Some(self.taking(lock, &value)), stops).await; // 2
        match self.granted(host, lock, &value, &votes, asked_at).await {
            Some(_) if switches.on_error == NodeError::Raised && !votes.are_clear() => Acquired::Failed,
            Some(lease) => Acquired::Granted(lease),                 // 3, 4
            None => self.clean_up(host, lock, &value, &votes).await, // 5
        }
    }

    async fn renew(&self, host: &H, lock: LockName, lease: &Lease<Value>, by: Option<Duration>) -> Renewal {
        let ttl = by.unwrap_or(self.0.ttl);
        let until = self.now(host) + self.promised(ttl);
        let votes = self.gather(host, |_| Some(self.extension(lock, &lease.proof, ttl)), |_| false).await;
        if votes.yes() >= self.0.quorum && self.now(host) < until {
            return Renewal::Extended { until };
        }
        if self.0.switches.on_failed_extend == FailedExtend::CleanUp {
            self.give_back(host, lock, &lease.proof).await;
        }
        let is_no = votes.are_clear() && votes.yes() < self.0.quorum;
        if is_no { Renewal::Refused } else { Renewal::Failed }
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        let votes = self.give_back(host, lock, &lease.proof).await;
        if votes.yes() >= self.0.quorum { Release::Confirmed } else { Release::Refused }
    }
}

impl<H: RedisHost> Redlock<H> {
    /// What the clock reads on which the client counts.
    fn now(&self, host: &H) -> MonoTime {
        self.0.switches.clock.clock().read(host)
    }

    /// What a lease of that length promises.
    fn promised(&self, ttl: Duration) -> Duration {
        ttl.saturating_sub(self.0.switches.drift(ttl))
    }

    /// Steps 3 and 4: the lease, if a majority said yes and there is time left of it.
    async fn granted(
        &self,
        host: &H,
        lock: LockName,
        value: &Value,
        votes: &Votes,
        asked_at: MonoTime,
    ) -> Option<Lease<Value>> {
        let Inner { switches, quorum, ttl, .. } = &*self.0;
        if votes.yes() < *quorum {
            return None;
        }
        host.point(points::QUORUM).await;
        let token = self.number(host, lock, value, votes).await?;
        let counted_from = if switches.lease_from == LeaseStart::Request { asked_at } else { self.now(host) };
        if switches.lease == WhenTold::Granted {
            let told = Command::pexpire(lock, px(*ttl));
            self.gather(host, |place| votes.said_yes(place).then(|| told.clone()), |_| false).await;
        }
        // The validity is what is left from the first look at the clock, from whenever the lease is counted.
        let (now, end) = (self.now(host), asked_at + self.promised(*ttl));
        let is_valid = match switches.accept {
            Accept::ValidityLeft => now < end,
            Accept::ValidityNotNegative => now <= end,
            Accept::QuorumAlone => true,
        };
        if !is_valid {
            return None;
        }
        host.point(points::VALID).await;
        let until = Some(counted_from + self.promised(*ttl));
        Some(Lease { proof: value.clone(), token, until, counted: self.counted(votes) })
    }

    /// How a server is asked for the key.
    fn taking(&self, key: Key, value: &Value) -> Command {
        let all_may_take =
            || u32::try_from(self.0.nodes.len()).map_or(self.0.ttl, |n| self.0.switches.node_timeout * n);
        let first = match self.0.switches.lease {
            WhenTold::Asking => self.0.ttl,
            WhenTold::Granted => all_may_take() * 2,
        };
        let (value, px) = (value.clone(), Some(px(first)));
        match self.0.switches.token {
            MajorityToken::None => Command::set_nx(key, value, px),
            _ => Script::LockWithToken { key, value, px, counter: COUNTER }.into(),
        }
    }

    /// How a server is asked to let the key live longer.
    fn extension(&self, key: Key, value: &Value, ttl: Duration) -> Command {
        let (value, px) = (value.clone(), px(ttl));
        match self.0.switches.extend {
            ExtendBy::Majority => Script::CompareAndPexpire { key, value, px }.into(),
            ExtendBy::CreateIfMissing => Script::ExtendOrCreate { key, value, px }.into(),
        }
    }

    /// Gives the key back on every server.
    async fn give_back(&self, host: &H, key: Key, value: &Value) -> Votes {
        self.gather(host, |_| Some(removal(key, value)), |_| false).await
    }

    /// Gives back what a try that has failed may have taken.
    async fn clean_up(&self, host: &H, lock: LockName, value: &Value, votes: &Votes) -> Acquired<Value> {
        let unlock = self.0.switches.unlock;
        let is_asked = |place| match unlock {
            Unlock::Everywhere => true,
            Unlock::WhereGranted => votes.said_yes(place),
            Unlock::NotBetweenTries => false,
        };
        let undone = self.gather(host, |place| is_asked(place).then(|| removal(lock, value)), |_| false).await;
        if votes.leave_something(&undone) { Acquired::Failed } else { Acquired::Denied }
    }

    /// The servers that said yes.
    fn counted(&self, votes: &Votes) -> Authorities {
        let mut counted = Authorities::NONE;
        for (place, node) in self.0.nodes.iter().enumerate() {
            if votes.said_yes(place) {
                counted.count(node.server().node());
            }
        }
        counted
    }
}

/// How a server is asked to give the key back.
fn removal(key: Key, value: &Value) -> Command {
    Script::CompareAndDelete { key, value: value.clone() }.into()
}

/// A length in the whole milliseconds that Redis is told.
fn px(ttl: Duration) -> i64 {
    i64::try_from(ttl.as_millis()).unwrap_or(i64::MAX)
}

impl<H: RedisHost> Clone for Redlock<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: RedisHost> fmt::Debug for Redlock<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redlock").field("nodes", &self.0.nodes).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
