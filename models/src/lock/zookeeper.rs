//! Locks on a ZooKeeper ensemble: which there are, how each can be set, and how its servers are.
//!
//! | lock | nodes | who owns it |
//! |---|---|---|
//! | [`QueueLock`] | a queue of sequential nodes below the lock's, each on its owner's session | whose number is the lowest |
//! | [`HerdLock`] | one node below the lock's, on its owner's session | who created it |

mod herd;
mod queue;
mod servers;

pub use herd::HerdLock;
pub use queue::{Adopts, Deletes, Library, Looks, LostAfter, Order, QueueLock, Stops, TokenOf};
pub(super) use servers::NAME;
pub use servers::ZkServers;

use host::{Duration, Operation};
use spec::{Assumption, Level};

use super::{LockFacts, Occasion};

/// A lock on a ZooKeeper ensemble.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZkLock {
    /// Clients queue.
    Queue(QueueLock),
    /// All that want it watch one node.
    Herd(HerdLock),
}

/// What the loader must know of each.
pub(super) const FACTS: [LockFacts; 3] = [queue::DOCUMENTATION, queue::CURATORS, herd::FACTS];

/// What watches tell.
const EVENT: Operation = Operation("event");

/// What its servers push.
pub(super) const PUSHES: &[Operation] = &[EVENT];

/// What is the same for all of them.
const fn facts() -> LockFacts {
    LockFacts {
        name: "",
        title: "",
        groups: &servers::GROUP,
        points: &[],
        operations: &[],
        pushes: PUSHES,
        has_token: true,
        elects: false,
        switches: &[],
        service_name: NAME,
        service: &servers::SERVICE,
    }
}

impl ZkLock {
    /// Its place among [`FACTS`].
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Queue(QueueLock { library: Library::Documentation, .. }) => 0,
            Self::Queue(QueueLock { library: Library::Curator, .. }) => 1,
            Self::Herd(_) => 2,
        }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        match self {
            Self::Queue(lock) => lock.operations(),
            Self::Herd(_) => herd::SENT.iter().map(|(name, occasion)| (Operation(name), *occasion)).collect(),
        }
    }

    /// Whether several may have it together.
    pub(super) const fn can_be_shared(self) -> bool {
        matches!(self, Self::Queue(QueueLock { library: Library::Documentation, .. }))
    }

    /// At which news its holder stops.
    const fn stops(self) -> Stops {
        match self {
            Self::Queue(lock) => lock.stops,
            Self::Herd(lock) => lock.stops,
        }
    }

    /// By how much earlier than a session may end its holder stops, if its clock is right: who stops when the connection is
    /// lost has waited for two thirds of it, and for a tenth of a second.
    pub(super) fn drift_allowance(self, ttl: Duration) -> Duration {
        match self.stops() {
            Stops::Suspended => (ttl / 3).saturating_sub(Duration::from_millis(100)),
            Stops::Lost => Duration::ZERO,
        }
    }

    /// What its promises rest on.
    pub(super) const fn needs(level: Level) -> &'static [Assumption] {
        use Assumption::{PauseWithinValidity, RateWithinDrift, ResourceChecksTokens, SyncedDisk};
        match level {
            // Nodes are created in the order of the log, one at a time, whatever clocks, pauses and messages do. The log is
            // what disks have synced.
            Level::Conduct | Level::Fence | Level::Token | Level::Grant => &[SyncedDisk],
            // Who ends a session is the leader, by its monotonic clock, and the holder says every third of the timeout, by its
            // own, that it is there: it takes a pause, or clocks of which one is three times as fast, to miss that.
            Level::Tenure => &[SyncedDisk, PauseWithinValidity],
            // A holder that hears nothing for two thirds of the timeout, by its own clock, stops; the leader waits for all of it.
            Level::Belief => &[SyncedDisk, PauseWithinValidity, RateWithinDrift],
            Level::Effect => &[SyncedDisk, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens],
            // The session of who is gone ends by itself.
            Level::Return => &[],
        }
    }
}
