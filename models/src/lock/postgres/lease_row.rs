//! The switches of a row that says until when whose it is.

use host::Operation;
use spec::{Assumption, Level};

use super::super::switch::{Choice, choices};
use super::super::{LockFacts, Occasion};
use super::facts;

/// A lease in a row.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LeaseRowLock {
    /// By which clock it is found to be over.
    pub judged_by: JudgedBy,
    /// Whose row is given back.
    pub gives_back: GivesBack,
}

choices! {
    JudgedBy at "clock": "By which clock who wants the lock finds that another's lease is over." {
        Client = "client", "By its own wall clock, with which the holder's was written into the row",
            "https://github.com/lukas-krecan/ShedLock/issues/231";
        Store = "store", "By the server's, with which both are compared in the statement",
            "https://github.com/lukas-krecan/ShedLock#jdbctemplate, usingDbTime";
        Observed = "observed", "By its own monotonic clock: once it has seen the row unchanged for as long as a lease is",
            "https://github.com/awslabs/amazon-dynamodb-lock-client, AmazonDynamoDBLockClient.java, acquireLock";
    }
}

choices! {
    GivesBack at "release": "Whose lease a release ends." {
        Own = "own", "Its own: the row must have its owner still",
            "https://github.com/awslabs/amazon-dynamodb-lock-client, AmazonDynamoDBLockClient.java, releaseLock";
        Whoever = "whoever", "That of whoever has the lock by then",
            "https://github.com/lukas-krecan/ShedLock/blob/shedlock-parent-2.5.0/providers/jdbc/shedlock-provider-jdbc-template/src/main/java/net/javacrumbs/shedlock/provider/jdbctemplate/JdbcTemplateStorageAccessor.java";
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "lease-row",
    title: "a lease in a row of PostgreSQL, as ShedLock has it: no session, no transaction (token: the row's version, which ShedLock does not count)",
    operations: &[Operation("startup"), Operation("insert"), Operation("update"), Operation("select")],
    switches: &[JudgedBy::SWITCH, GivesBack::SWITCH],
    ..facts()
};

impl LeaseRowLock {
    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release};
        let asks: &[&str] = match self.judged_by {
            JudgedBy::Client | JudgedBy::Store => &["startup", "insert"],
            JudgedBy::Observed => &["startup", "select", "insert", "update"],
        };
        let asks = asks.iter().map(|name| (Operation(name), Acquire));
        asks.chain([(Operation("update"), Release)]).collect()
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
