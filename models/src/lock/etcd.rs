//! Locks on an etcd cluster: which there are, how each can be set, and how the cluster's members are.
//!
//! | lock | keys | who owns it |
//! |---|---|---|
//! | [`MutexLock`], v3lock | a queue of keys below the lock's name, each on its owner's session | whose key was created first |
//! | [`KeyLock`] | one key, put if it is not there, on a lease | who put it |
//! | [`RecordLock`] | one key without a lease, in which the owner writes that it is there | who wrote it last |

mod key;
mod mutex;
mod record;
mod servers;

pub use key::{Expires, KeyLibrary, KeyLock, Waits};
pub use mutex::{AfterWait, Looks, MutexLock, OnFailedUnlock};
pub use record::{DeadlineFrom, Identity, JudgedBy, LengthOf, RecordLock};
pub(super) use servers::NAME;
pub use servers::{Checkpoints, EtcdServers, LEAST_LEASE, MOST_MEMBERS, PreVote, Restored, Version};

use host::{Clock, Duration, Operation};
use spec::{Assumption, Level, Promise};

use super::switch::Choice;
use super::{LockFacts, Occasion, Renew};

/// A lock on an etcd cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EtcdLock {
    /// `concurrency.Mutex`.
    Mutex(MutexLock),
    /// v3lock: the server queues for its client. What becomes of its session if it could not unlock.
    V3Lock(OnFailedUnlock),
    /// One key that is put if it is not there.
    Key(KeyLock),
    /// A record that its holder keeps writing.
    Record(RecordLock),
}

/// What the loader must know of each.
pub(super) const FACTS: [LockFacts; 4] = [mutex::FACTS, V3LOCK, key::FACTS, record::FACTS];

/// What watches tell.
const EVENTS: Operation = Operation("events");

/// What is the same for all of them.
const fn facts() -> LockFacts {
    LockFacts {
        name: "",
        title: "",
        groups: &servers::GROUP,
        points: &[],
        operations: &[],
        pushes: &[],
        has_token: true,
        elects: false,
        switches: &[],
        service_name: NAME,
        service: &servers::SERVICE,
    }
}

const V3LOCK: LockFacts = LockFacts {
    name: "etcd-v3lock",
    title: "the same queue, in which the server stands for its client: v3lock of etcd",
    operations: &[Operation("lease-grant"), Operation("keep-alive"), Operation("lock"), Operation("unlock")],
    switches: &[OnFailedUnlock::SWITCH],
    ..facts()
};

impl EtcdLock {
    /// Its place among [`FACTS`].
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Mutex(_) => 0,
            Self::V3Lock(_) => 1,
            Self::Key(_) => 2,
            Self::Record(_) => 3,
        }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release, Renew};
        let sent: &[_] = match self {
            Self::Mutex(_) => &mutex::SENT,
            Self::V3Lock(_) => {
                &[("lease-grant", Acquire), ("lock", Acquire), ("keep-alive", Renew), ("unlock", Release)]
            }
            Self::Key(lock) => return lock.operations(),
            Self::Record(_) => &record::SENT,
        };
        sent.iter().map(|(name, occasion)| (Operation(name), *occasion)).collect()
    }

    /// What its servers push.
    pub(super) const fn pushes(self) -> &'static [Operation] {
        match self {
            Self::Mutex(_) | Self::Key(KeyLock { waits: Waits::Watching, .. }) => &[EVENTS],
            Self::V3Lock(_) | Self::Key(_) | Self::Record(_) => &[],
        }
    }

    /// How its lease is extended, beside its library's own sessions.
    pub(super) const fn renew(self) -> Option<Renew> {
        match self {
            Self::Mutex(_) | Self::V3Lock(_) => None,
            Self::Key(lock) => lock.renew,
            Self::Record(lock) => Some(lock.renew()),
        }
    }

    /// Whether its library keeps a session alive.
    pub(super) const fn has_session(self) -> bool {
        matches!(self, Self::Mutex(_) | Self::V3Lock(_))
    }

    /// For how long a grant of it is promised.
    pub(super) const fn promise(self) -> Promise {
        match self {
            Self::Mutex(_) | Self::V3Lock(_) => Promise::WhileOwned,
            Self::Key(_) | Self::Record(_) => Promise::UntilDue,
        }
    }

    /// By how much its promise is shorter than the lease.
    pub(super) fn drift_allowance(self, ttl: Duration) -> Duration {
        match self {
            Self::Mutex(_) | Self::V3Lock(_) | Self::Key(_) => Duration::ZERO,
            Self::Record(lock) => ttl.saturating_sub(lock.promised()),
        }
    }

    /// Whether clients stand in a queue.
    pub(super) const fn queues(self) -> bool {
        matches!(self, Self::Mutex(_) | Self::V3Lock(_))
    }

    /// If nobody but its rivals counts how long it has not been extended: on which of their clocks.
    pub(super) const fn counted_by_rivals_on(self) -> Option<Clock> {
        if matches!(self, Self::Record(_)) { Some(Clock::Monotonic) } else { None }
    }

    /// What its promises rest on.
    pub(super) const fn needs(self, level: Level) -> &'static [Assumption] {
        use Assumption::{PauseWithinValidity, RateWithinDrift, ResourceChecksTokens, SyncedDisk};
        match (level, self.promise()) {
            // Keys are created in the order of the log, one at a time, whatever clocks, pauses and messages do. The log
            // is what disks have synced.
            (Level::Conduct | Level::Fence | Level::Token, _) | (Level::Grant, Promise::WhileOwned) => &[SyncedDisk],
            // The lease must outlive what its holder was promised, on another's clock.
            (Level::Grant | Level::Tenure, Promise::UntilDue) => &[SyncedDisk, RateWithinDrift],
            // Who ends a session is the leader, by its monotonic clock, and the holder keeps it alive at a third of the
            // lease by its own: it takes a pause, or clocks of which one is three times as fast, to miss that.
            (Level::Tenure, Promise::WhileOwned) => &[SyncedDisk, PauseWithinValidity],
            // And the program counts from when an answer came, where the server counts from when it made it: it
            // believes for longer than it should by the answer's way, and by what a slow clock adds.
            (Level::Belief, _) => &[SyncedDisk, PauseWithinValidity, RateWithinDrift],
            (Level::Effect, _) => &[SyncedDisk, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens],
            // The session of who is gone ends by itself.
            (Level::Return, _) => &[],
        }
    }
}
