//! Which locks there are, and how each can be set.
//!
//! A scenario chooses one of these; its switches are types, and each has a default with a source.

pub mod etcd;
pub mod postgres;
mod redis;
mod redisson;
pub mod redlock;
mod renew;
mod sentinel;
mod server;
mod service;
pub mod switch;
pub mod zookeeper;

pub use etcd::{EtcdLock, EtcdServers, KeyLock, LEAST_LEASE, MOST_MEMBERS, MutexLock, RecordLock};
pub use postgres::{
    AdvisoryLock, LeaseRowLock, MOST_POOLED, MOST_PROBES, PgLock, PgServers, PgTimeouts, PoolMode, Pooler, RowLock,
    Synchronous,
};
pub use redis::{
    Again, Extend, LateGrant, LeaseClock, LeaseFrom, Local, OnDenied, OnError, OwnerValue, RedisLock, ReleaseBy, Take,
    TokenSource, ZeroLength, points,
};
pub use redisson::{Order, RedissonLock, Resend, SLOT, Told, Waits};
pub use redlock::RedlockLock;
pub use renew::{OnFailure, RegistryEntry, Renew, Stops};
pub use sentinel::{FindsPrimary, MOST as MOST_SENTINELS, SentinelLock, SentinelServers, VerifiesPrimary, WaitFor};
pub use server::{MOST_NODES, Persistence, RedisServer, TtlClock};
pub use service::{ServerGroup, ServerKind, Service};
pub use zookeeper::{HerdLock, QueueLock, ZkLock, ZkServers};

use host::{Clock, Duration, Name, Operation, Point, Ppm, nanos};
use spec::{Assumption, Level, Promise};

use switch::Switch;

/// A lock as a scenario chooses it: a recipe and its switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lock {
    /// A lock on one Redis server: owner value, compare-and-delete.
    Redis(RedisLock),
    /// Redisson's lock on one Redis server: a hash that counts its owner's entries.
    Redisson(RedissonLock),
    /// Redlock: a majority of several Redis servers.
    Redlock(RedlockLock),
    /// The lock of [`Lock::Redis`], on a primary that Sentinel names.
    Sentinel(SentinelLock),
    /// A lock on an etcd cluster.
    Etcd(EtcdLock),
    /// A lock on a ZooKeeper ensemble.
    ZooKeeper(ZkLock),
    /// A lock on PostgreSQL.
    Postgres(PgLock),
    /// No lock: everybody is let in.
    None,
}

/// On which occasion a recipe sends a request or passes a point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Occasion {
    /// When it asks for the lock.
    Acquire,
    /// When it extends the lease.
    Renew,
    /// When it gives the lock back.
    Release,
    /// When it takes the lock away from whoever has it.
    Reap,
}

/// What the loader must know of a lock to check a scenario's words.
#[derive(Clone, Copy, Debug)]
pub struct LockFacts {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One line for `list`.
    pub title: &'static str,
    /// Its servers, in groups; all of its nodes in this order.
    pub groups: &'static [ServerGroup],
    /// The program points of its recipe, beside those of every client.
    pub points: &'static [Point],
    /// The requests of its recipe, by the names that faults use.
    pub operations: &'static [Operation],
    /// What its servers push to those that wait, by the names that faults use.
    pub pushes: &'static [Operation],
    /// Whether it can give a fencing token.
    pub has_token: bool,
    /// Whether it is an election, and its holders are called leaders.
    pub elects: bool,
    /// What can be set about it, in the order of `show lock`.
    pub switches: &'static [Switch],
    /// The name of its servers' settings, below `service`.
    pub service_name: &'static str,
    /// What can be set about its servers, below `service.NAME`.
    pub service: &'static [Switch],
}

impl LockFacts {
    /// The names of its servers, if they are set so, each with its kind.
    pub fn servers(&self, service: &Service) -> impl Iterator<Item = (String, ServerKind)> {
        let named = |group: &ServerGroup| {
            let kind = group.kind;
            group.names(service).map(move |name| (name, kind))
        };
        self.groups.iter().flat_map(named)
    }
}

/// Every lock, in the order of `list`.
pub const LOCKS: &[LockFacts] = &[
    redis::FACTS,
    redisson::FACTS,
    sentinel::FACTS,
    redlock::FACTS,
    etcd::FACTS[0],
    etcd::FACTS[1],
    etcd::FACTS[2],
    etcd::FACTS[3],
    zookeeper::FACTS[0],
    zookeeper::FACTS[1],
    zookeeper::FACTS[2],
    postgres::FACTS[0],
    postgres::FACTS[1],
    postgres::FACTS[2],
    crate::none::FACTS,
];

/// The requests of the guarded resource, by the names that faults use.
pub const RESOURCE_OPERATIONS: &[Operation] =
    &[Operation("read"), Operation("write"), Operation("mark"), Operation("ticket"), Operation("effect")];

impl Lock {
    /// What the loader must know of it.
    #[must_use]
    pub const fn facts(&self) -> &'static LockFacts {
        match self {
            Self::Redis(_) => &LOCKS[0],
            Self::Redisson(_) => &LOCKS[1],
            Self::Sentinel(_) => &LOCKS[2],
            Self::Redlock(_) => &LOCKS[3],
            Self::Etcd(lock) => &LOCKS[4 + lock.place()],
            Self::ZooKeeper(lock) => &LOCKS[8 + lock.place()],
            Self::Postgres(lock) => &LOCKS[11 + lock.place()],
            Self::None => &LOCKS[14],
        }
    }

    /// The requests that it sends as it is set, each on its occasion.
    #[must_use]
    pub fn operations(&self) -> Vec<(Operation, Occasion)> {
        match self {
            Self::Redis(lock) => lock.operations(),
            Self::Redisson(lock) => lock.operations(),
            Self::Redlock(lock) => lock.operations(),
            Self::Sentinel(lock) => lock.operations(),
            Self::Etcd(lock) => lock.operations(),
            Self::ZooKeeper(lock) => lock.operations(),
            Self::Postgres(lock) => lock.operations(),
            Self::None => Vec::new(),
        }
    }

    /// What its servers push as it is set.
    #[must_use]
    pub fn pushes(&self) -> &'static [Operation] {
        match self {
            Self::Redisson(lock) => lock.pushes(),
            Self::Etcd(lock) => lock.pushes(),
            Self::ZooKeeper(_) => zookeeper::PUSHES,
            Self::Postgres(_) => postgres::PUSHES,
            Self::Redis(_) | Self::Sentinel(_) | Self::Redlock(_) | Self::None => &[],
        }
    }

    /// The points of its own that it passes as it is set, each on its occasion.
    #[must_use]
    pub fn points(&self) -> Vec<(Point, Occasion)> {
        match self {
            Self::Redis(lock) | Self::Sentinel(SentinelLock { redis: lock, .. }) => lock.points(),
            Self::Redlock(lock) => lock.points(),
            Self::Redisson(_) | Self::Etcd(_) | Self::ZooKeeper(_) | Self::Postgres(_) | Self::None => Vec::new(),
        }
    }

    /// The key on its servers that counts its grants, if there is one.
    #[must_use]
    pub const fn counter(&self) -> Option<Name> {
        match self {
            Self::Redis(RedisLock { token: TokenSource::IncrInScript | TokenSource::IncrBeforeSet, .. })
            | Self::Sentinel(SentinelLock {
                redis: RedisLock { token: TokenSource::IncrInScript | TokenSource::IncrBeforeSet, .. },
                ..
            }) => Some(crate::redis::lock::COUNTER),
            Self::Redlock(RedlockLock { token, .. }) if !matches!(token, redlock::MajorityToken::None) => {
                Some(crate::redis::lock::COUNTER)
            }
            Self::Redis(_)
            | Self::Redisson(_)
            | Self::Sentinel(_)
            | Self::Redlock(_)
            | Self::Etcd(_)
            | Self::ZooKeeper(_)
            | Self::Postgres(_)
            | Self::None => None,
        }
    }

    /// Whether somebody can take it away from its owner.
    #[must_use]
    pub const fn can_be_reaped(&self) -> bool {
        match self {
            Self::Redis(_) | Self::Sentinel(_) => true,
            Self::Redisson(_)
            | Self::Redlock(_)
            | Self::Etcd(_)
            | Self::ZooKeeper(_)
            | Self::Postgres(_)
            | Self::None => false,
        }
    }

    /// Whether its holder can ask for more time.
    #[must_use]
    pub const fn can_be_extended(&self) -> bool {
        match self {
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) | Self::Sentinel(_) => true,
            // What has a session is the owner's for as long as that lives, and has no lease of its own.
            Self::Etcd(lock) => !lock.has_session(),
            Self::Postgres(lock) => !lock.is_on_a_connection(),
            Self::ZooKeeper(_) | Self::None => false,
        }
    }

    /// Whether it is a session's on one connection, and goes with that.
    #[must_use]
    pub const fn is_on_a_connection(&self) -> bool {
        matches!(self, Self::Postgres(lock) if lock.is_on_a_connection())
    }

    /// Whether several may have it together, if they ask for it so.
    #[must_use]
    pub const fn can_be_shared(&self) -> bool {
        match self {
            Self::ZooKeeper(lock) => lock.can_be_shared(),
            Self::Postgres(lock) => lock.can_be_shared(),
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) | Self::Sentinel(_) | Self::Etcd(_) | Self::None => {
                false
            }
        }
    }

    /// Whether it extends its lease in the background.
    #[must_use]
    pub const fn renews(&self) -> bool {
        self.renews_every().is_some()
    }

    /// Whether it does anything in the background: it extends its lease, or its library keeps a session alive.
    #[must_use]
    pub const fn works_in_background(&self) -> bool {
        match self {
            Self::Etcd(lock) => lock.has_session() || self.renews(),
            Self::ZooKeeper(_) => true,
            Self::Postgres(lock) => lock.works_in_background(),
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) | Self::Sentinel(_) | Self::None => self.renews(),
        }
    }

    /// Whether its holder may be told that it is lost: by what is done in the background, or since its connection is its session.
    #[must_use]
    pub const fn tells_of_loss(&self) -> bool {
        match self {
            Self::Postgres(lock) => lock.is_on_a_connection() || self.works_in_background(),
            Self::Redis(_)
            | Self::Redisson(_)
            | Self::Redlock(_)
            | Self::Sentinel(_)
            | Self::Etcd(_)
            | Self::ZooKeeper(_)
            | Self::None => self.works_in_background(),
        }
    }

    /// How often it extends its lease in the background. `None`: it does not.
    #[must_use]
    pub const fn renews_every(&self) -> Option<Duration> {
        match self {
            Self::Redis(RedisLock { renew: Some(renew), .. })
            | Self::Redlock(RedlockLock { renew: Some(renew), .. })
            | Self::Redisson(RedissonLock { renew, .. })
            | Self::Sentinel(SentinelLock { redis: RedisLock { renew: Some(renew), .. }, .. }) => Some(renew.every),
            Self::Etcd(lock) => match lock.renew() {
                Some(renew) => Some(renew.every),
                None => None,
            },
            Self::Redis(_)
            | Self::Sentinel(_)
            | Self::Redlock(_)
            | Self::ZooKeeper(_)
            | Self::Postgres(_)
            | Self::None => None,
        }
    }

    /// What its promises on a level rest on.
    #[must_use]
    pub const fn needs(&self, level: Level) -> &'static [Assumption] {
        match self {
            // They rest on the same: what one of them does worse than the published lock is its own fault.
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) => redis_needs(level),
            Self::Sentinel(_) => sentinel::needs(level),
            Self::Etcd(lock) => lock.needs(level),
            Self::ZooKeeper(_) => ZkLock::needs(level),
            Self::Postgres(lock) => lock.needs(level),
            // It promises nothing, so that nobody has to keep a promise to it.
            Self::None => &[],
        }
    }

    /// The slice of a lease that is set aside for clocks that do not agree: the promise is shorter by that.
    #[must_use]
    pub fn drift_allowance(&self, ttl: Duration) -> Duration {
        match self {
            Self::Redis(_) | Self::Redisson(_) | Self::Sentinel(_) => crate::redis::lock::drift(ttl),
            Self::Redlock(lock) => lock.drift(ttl),
            Self::Etcd(lock) => lock.drift_allowance(ttl),
            Self::ZooKeeper(lock) => lock.drift_allowance(ttl),
            Self::Postgres(lock) => lock.drift_allowance(ttl),
            Self::None => Duration::ZERO,
        }
    }

    /// How many of so many servers must take a client for the owner, for it to be one.
    #[must_use]
    pub fn quorum_of(&self, servers: usize) -> usize {
        match self {
            Self::Redlock(lock) => lock.quorum_of(servers),
            Self::Redis(_)
            | Self::Redisson(_)
            | Self::Sentinel(_)
            | Self::Etcd(_)
            | Self::ZooKeeper(_)
            | Self::Postgres(_)
            | Self::None => 1,
        }
    }

    /// For how long a grant of it is promised.
    #[must_use]
    pub const fn promise(&self) -> Promise {
        match self {
            Self::Etcd(lock) => lock.promise(),
            Self::ZooKeeper(_) => Promise::WhileOwned,
            Self::Postgres(lock) => lock.promise(),
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) | Self::Sentinel(_) | Self::None => Promise::UntilDue,
        }
    }

    /// If nobody but those that want it too counts how long its holder has it: on which of their clocks.
    #[must_use]
    pub const fn counted_by_rivals_on(&self) -> Option<Clock> {
        match self {
            Self::Etcd(lock) => lock.counted_by_rivals_on(),
            Self::Postgres(lock) => lock.counted_by_rivals_on(),
            Self::Redis(_)
            | Self::Redisson(_)
            | Self::Redlock(_)
            | Self::Sentinel(_)
            | Self::ZooKeeper(_)
            | Self::None => None,
        }
    }

    /// Whether it is a row of a database on whose clock nothing about it is counted.
    #[must_use]
    pub const fn is_in_rows_of_clients(&self) -> bool {
        matches!(self, Self::Postgres(lock) if lock.counted_by_rivals_on().is_some())
    }

    /// Whether its servers keep those that want it in a queue: one try may take as long as it takes.
    #[must_use]
    pub const fn queues(&self) -> bool {
        match self {
            Self::Etcd(lock) => lock.queues(),
            Self::ZooKeeper(_) => true,
            Self::Postgres(lock) => lock.queues(),
            Self::Redis(_) | Self::Redisson(_) | Self::Redlock(_) | Self::Sentinel(_) | Self::None => false,
        }
    }

    /// The clock on which its clients count their leases.
    #[must_use]
    pub const fn lease_clock(&self) -> Clock {
        match self {
            Self::Redis(lock) | Self::Sentinel(SentinelLock { redis: lock, .. }) => lock.clock.clock(),
            Self::Redlock(lock) => lock.clock.clock(),
            Self::Redisson(_) | Self::Etcd(_) | Self::ZooKeeper(_) | Self::Postgres(_) | Self::None => Clock::Monotonic,
        }
    }

    /// By how much a lock server's clock may run faster than a holder's before the lease's allowance
    /// for drift is used up: `1/(1 - drift/TTL) - 1`, rounded down.
    ///
    /// A lease that is all allowance is never granted: then no rate is too fast.
    #[must_use]
    pub fn rate_allowance(&self, ttl: Duration) -> Ppm {
        const MOST: Ppm = Ppm::new(1_000_000);
        let drift = self.drift_allowance(ttl);
        let Some(promised) = ttl.checked_sub(drift).map(nanos).filter(|promised| *promised > 0) else { return MOST };
        // 1/(1 - drift/TTL) - 1 = drift/(TTL - drift).
        let ppm = u128::from(nanos(drift)) * u128::from(Ppm::WHOLE) / u128::from(promised);
        i32::try_from(ppm).ok().filter(|ppm| *ppm < MOST.get()).map_or(MOST, Ppm::new)
    }
}

/// What a lock rests on whose grants are keys on one server. If that has a disk, its disk must keep what it is told.
const fn redis_needs(level: Level) -> &'static [Assumption] {
    use Assumption::{DelayedRestart, NoStep, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens, SyncedDisk};
    match level {
        // On nothing. The owner value is compared in the step that deletes or extends, and is nobody else's;
        // neither a circle of waits nor the order of those that wait is anybody's but the lock's.
        Level::Conduct => &[],
        // The script draws the token in the step that takes the key, on one server: whatever the clocks,
        // pauses and messages do, the grant that is newest has the highest token. Only a server that forgets
        // its counter breaks this. If its disk does, that is the disk's fault; that a lock keeps its counter in
        // memory alone is the lock's own: a restart that is delayed past every TTL saves the keys from being
        // granted twice, and does nothing for the counter.
        Level::Fence => &[SyncedDisk],
        // The token is drawn with the grant, so that tokens are in the order of grants. What could turn them
        // round is a grant whose news is late, and whose key was gone before the promise: then a later grant
        // can be over when the earlier one's promise begins. (A counter that is forgotten is the lock's own
        // fault, as above.)
        Level::Token => &[RateWithinDrift, NoStep, SyncedDisk],
        // The key must outlive the promise: the server's clock may not gain on the holder's, by rate or
        // by a step, and a server that has forgotten the key may not answer before the promise is over: be it
        // that it has no disk, or that its disk forgets.
        // A holder that looks at its clock knows by itself when that is, and nobody may take the key away
        // before. A pause is no excuse, since only running time counts.
        Level::Grant | Level::Tenure => &[RateWithinDrift, NoStep, DelayedRestart, SyncedDisk],
        // And a holder must be awake to see its promise end.
        Level::Belief => &[RateWithinDrift, NoStep, DelayedRestart, SyncedDisk, PauseWithinValidity],
        // And an operation that was sent in time may arrive late: only the resource can tell.
        Level::Effect => {
            &[RateWithinDrift, NoStep, DelayedRestart, SyncedDisk, PauseWithinValidity, ResourceChecksTokens]
        }
        // Whoever dies, the lease ends what is left behind, on the server's clock: one that is set back makes
        // it last.
        Level::Return => &[NoStep],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn redis() -> Lock {
        Lock::Redis(RedisLock::default())
    }

    #[test]
    fn the_rate_allowance_is_what_the_drift_allowance_covers() {
        let allowance = |ms| redis().rate_allowance(Duration::from_millis(ms)).get();
        // 102 ms of 10 s: 102/9,898.
        assert_eq!(allowance(10_000), 10_305);
        assert_eq!(allowance(30_000), 10_169);
        // 3 ms of 100 ms: 3/97.
        assert_eq!(allowance(100), 30_927);
        assert_eq!([allowance(4), allowance(3), allowance(2), allowance(0)], [1_000_000; 4]);
    }

    #[test]
    fn every_level_rests_on_at_least_what_those_below_it_rest_on() {
        let ladder = [Level::Conduct, Level::Return, Level::Token, Level::Grant, Level::Belief, Level::Effect];
        for pair in ladder.windows(2) {
            let (lower, upper) = (redis().needs(pair[0]), redis().needs(pair[1]));
            assert!(lower.iter().all(|assumption| upper.contains(assumption)), "{pair:?}");
            assert!(lower.len() < upper.len(), "{pair:?}");
        }
        assert_eq!(redis().needs(Level::Fence), [Assumption::SyncedDisk], "one server's tokens follow its grants");
    }

    #[test]
    fn who_promises_nothing_rests_on_nothing() {
        assert!(Level::ALL.iter().all(|level| Lock::None.needs(*level).is_empty()));
    }
}
