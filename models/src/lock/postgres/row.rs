//! The switches of a row that is locked for a transaction.

use host::Operation;

use super::super::switch::{Choice, choices};
use super::super::{LockFacts, Occasion};
use super::facts;

/// `SELECT … FOR UPDATE`
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowLock {
    /// What a statement does about a row that somebody has.
    pub if_locked: IfLocked,
    /// In how many transactions several locks of one program are.
    pub transactions: Transactions,
}

const SELECT: &str = "https://www.postgresql.org/docs/15/sql-select.html#SQL-FOR-UPDATE-SHARE";

choices! {
    IfLocked at "if-locked": "What the statement does if another transaction has the row." {
        Wait = "wait", "It waits, in the row's queue", SELECT;
        NoWait = "nowait", "It fails at once (`NOWAIT`), and the client asks again after a while", SELECT;
        Skip = "skip", "It finds no row (`SKIP LOCKED`), and the client asks again after a while", SELECT;
    }
}

choices! {
    Transactions at "transactions": "In how many transactions the locks are that a program has at once." {
        Each = "each", "Each in one of its own, on a connection of its own",
            "https://www.postgresql.org/docs/15/explicit-locking.html#LOCKING-ROWS";
        One = "one", "All in one, which commits when the last of them is given back: its server sees whom it waits for while it has others",
            "https://www.postgresql.org/docs/15/explicit-locking.html#LOCKING-DEADLOCKS";
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "postgres-row",
    title: "a row of PostgreSQL, locked for a transaction by `SELECT … FOR UPDATE` (token: the row's version)",
    operations: &[
        Operation("startup"),
        Operation("begin"),
        Operation("select"),
        Operation("insert"),
        Operation("update"),
        Operation("commit"),
        Operation("rollback"),
    ],
    switches: &[IfLocked::SWITCH, Transactions::SWITCH],
    ..facts()
};

impl RowLock {
    /// The requests that it sends, each on its occasion.
    #[expect(clippy::unused_self, reason = "every lock is asked for its own")]
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release};
        let sent = [
            ("startup", Acquire),
            ("begin", Acquire),
            ("insert", Acquire),
            ("select", Acquire),
            ("update", Acquire),
            ("rollback", Acquire),
            ("commit", Release),
        ];
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }
}
