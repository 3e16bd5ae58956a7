//! Locks on PostgreSQL: which there are, how each can be set, and how its servers are.
//!
//! | lock | what is locked | who owns it |
//! |---|---|---|
//! | [`AdvisoryLock`] | a number, of which the server knows nothing else | the session, or the transaction, that has it |
//! | [`RowLock`] | a row, `FOR UPDATE` | the transaction that has it |
//! | [`LeaseRowLock`] | nothing: a row says until when whose it is | who wrote it last, until then |

mod advisory;
mod lease_row;
mod row;
mod servers;

pub use advisory::{AdvisoryLock, Lasts, Looks, OnLoss, OnTimeout, Returns, TargetSession, TokenOf, Waits};
pub use lease_row::{GivesBack, JudgedBy, LeaseRowLock};
pub use row::{IfLocked, RowLock, Transactions};
pub(super) use servers::NAME;
pub use servers::{MOST_POOLED, MOST_PROBES, PgServers, PgTimeouts, PoolMode, Pooler, Synchronous};

use host::{Clock, Duration, Operation};
use spec::{Assumption, Level, Promise};

use super::{LockFacts, Occasion};

/// A lock on PostgreSQL.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PgLock {
    /// An advisory lock.
    Advisory(AdvisoryLock),
    /// A row that is locked for a transaction.
    Row(RowLock),
    /// A row that says until when whose it is.
    Lease(LeaseRowLock),
}

/// What the loader must know of each.
pub(super) const FACTS: [LockFacts; 3] = [advisory::FACTS, row::FACTS, lease_row::FACTS];

/// Why a session is over.
const FATAL: Operation = Operation("fatal");

/// What its servers push.
pub(super) const PUSHES: &[Operation] = &[FATAL];

/// What is the same for all of them.
const fn facts() -> LockFacts {
    LockFacts {
        name: "",
        title: "",
        groups: &servers::GROUPS,
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

impl PgLock {
    /// Its place among [`FACTS`].
    pub(super) const fn place(self) -> usize {
        match self {
            Self::Advisory(_) => 0,
            Self::Row(_) => 1,
            Self::Lease(_) => 2,
        }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        match self {
            Self::Advisory(lock) => lock.operations(),
            Self::Row(lock) => lock.operations(),
            Self::Lease(lock) => lock.operations(),
        }
    }

    /// For how long a grant of it is promised.
    pub(super) const fn promise(self) -> Promise {
        match self {
            Self::Advisory(_) | Self::Row(_) => Promise::WhileOwned,
            Self::Lease(_) => Promise::UntilDue,
        }
    }

    /// Whether one who wants it stands in the server's queue.
    pub(super) const fn queues(self) -> bool {
        match self {
            Self::Advisory(lock) => matches!(lock.waits, Waits::Blocking),
            Self::Row(lock) => matches!(lock.if_locked, IfLocked::Wait),
            Self::Lease(_) => false,
        }
    }

    /// If only those that want it too count how long its owner has it: on which of their clocks.
    pub(super) const fn counted_by_rivals_on(self) -> Option<Clock> {
        match self {
            Self::Lease(LeaseRowLock { judged_by: JudgedBy::Observed, .. }) => Some(Clock::Monotonic),
            // By what its own wall clock says then of what the owner's has written into the row.
            Self::Lease(LeaseRowLock { judged_by: JudgedBy::Client, .. }) => Some(Clock::Wall),
            Self::Lease(LeaseRowLock { judged_by: JudgedBy::Store, .. }) | Self::Advisory(_) | Self::Row(_) => None,
        }
    }

    /// Whether several may have it together.
    pub(super) const fn can_be_shared(self) -> bool {
        matches!(self, Self::Advisory(_))
    }

    /// Whether it is lost with its connection.
    pub(super) const fn is_on_a_connection(self) -> bool {
        match self {
            Self::Advisory(_) | Self::Row(_) => true,
            Self::Lease(_) => false,
        }
    }

    /// Whether it does anything in the background.
    pub(super) const fn works_in_background(self) -> bool {
        matches!(self, Self::Advisory(AdvisoryLock { heartbeat: Some(_), .. }))
    }

    /// By how much its promise is shorter than the lease.
    pub(super) const fn drift_allowance(self, _: Duration) -> Duration {
        Duration::ZERO
    }

    /// What its promises rest on.
    pub(super) const fn needs(self, level: Level) -> &'static [Assumption] {
        use Assumption::{NoLossyFailover, OnePrimary, ResourceChecksTokens, SyncedDisk};
        if let Self::Lease(lock) = self {
            return lock.needs(level);
        }
        match level {
            // Whom the lock manager lets in, and in which order, is in one server's memory: nothing outside it has a say.
            Level::Conduct => &[],
            // A token is committed before it is given away, and a commit is what the disk has; a standby that takes its server's
            // place without it gives it away again, and so do two that decide at once.
            Level::Fence | Level::Token => &[SyncedDisk, NoLossyFailover, OnePrimary],
            // The lock is in the memory of one server, and goes with its sessions: with a crash they are all over before anybody can
            // ask again, there or on a standby. No clock ends it, so that neither clocks nor pauses can. But while a server lives
            // whose place another has taken, two may have the lock: no standby has heard of any.
            Level::Grant => &[OnePrimary],
            // A session that ends, since the client's machine has not answered for so long or since the server has crashed, may be over
            // for long before its holder knows: that it goes on is the lock's own fault, which nothing was promised to that could have
            // prevented it.
            Level::Tenure | Level::Belief => &[OnePrimary],
            // Where tokens are compared, `Fence` speaks.
            Level::Effect => &[OnePrimary, ResourceChecksTokens],
            // The session of who is gone ends by itself, be it after hours.
            Level::Return => &[],
        }
    }
}
