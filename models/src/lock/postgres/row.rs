//! The switches of a row that is locked for a transaction.

use host::Operation;

use super::super::{LockFacts, Occasion};
use super::facts;

/// `SELECT … FOR UPDATE`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowLock {}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "postgres-row",
    title: "a row of PostgreSQL, locked for a transaction by `SELECT … FOR UPDATE`",
    operations: &[
        Operation("startup"),
        Operation("begin"),
        Operation("select"),
        Operation("insert"),
        Operation("update"),
        Operation("commit"),
        Operation("rollback"),
    ],
    ..facts()
};

impl RowLock {
    /// The requests that it sends, each on its occasion.
    #[expect(clippy::unused_self, reason = "it has no switches yet")]
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release};
        let sent = [("startup", Acquire), ("begin", Acquire), ("select", Acquire), ("commit", Release)];
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }
}
