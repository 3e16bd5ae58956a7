//! The switches of a row that says until when whose it is.

use host::Operation;
use spec::{Assumption, Level};

use super::super::{LockFacts, Occasion};
use super::facts;

/// A lease in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeaseRowLock {}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "lease-row",
    title: "a lease in a row of PostgreSQL, as ShedLock has it: no session, no transaction",
    operations: &[Operation("startup"), Operation("insert"), Operation("update"), Operation("delete")],
    ..facts()
};

impl LeaseRowLock {
    /// The requests that it sends, each on its occasion.
    #[expect(clippy::unused_self, reason = "it has no switches yet")]
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release};
        let sent = [("startup", Acquire), ("insert", Acquire), ("update", Acquire), ("update", Release)];
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }

    /// What its promises rest on.
    pub(super) const fn needs(self, level: Level) -> &'static [Assumption] {
        use Assumption::{
            NoLossyFailover, NoStep, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens, SyncedDisk,
        };
        match level {
            Level::Conduct => &[],
            // The row is the lock and its token: it is what the disk has, and what a standby has of it.
            Level::Fence => &[SyncedDisk, NoLossyFailover],
            // The row's end must outlast the promise, on whichever wall clock it is compared with.
            Level::Token | Level::Grant | Level::Tenure => &[RateWithinDrift, NoStep, SyncedDisk, NoLossyFailover],
            Level::Belief => &[RateWithinDrift, NoStep, SyncedDisk, NoLossyFailover, PauseWithinValidity],
            Level::Effect => {
                &[RateWithinDrift, NoStep, SyncedDisk, NoLossyFailover, PauseWithinValidity, ResourceChecksTokens]
            }
            // A clock that is set back makes a dead owner's lease last.
            Level::Return => &[NoStep],
        }
    }
}
