//! What a lock had been promised by its environment, and whether it got it.

use std::fmt;

mod failover;
pub(crate) mod ledger;
mod pause;
mod primary;
mod rate;
mod rivals;
mod servers;

/// One promise that a lock may rest on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Assumption {
    /// No holder stands still past its own deadline.
    PauseWithinValidity,
    /// No lock server's clock runs faster against a holder's than the drift allowance covers.
    RateWithinDrift,
    /// No clock on which a live lease is counted is stepped.
    NoStep,
    /// A lock server that lost its memory stays out for longer than the longest TTL.
    DelayedRestart,
    /// A lock server's disk keeps what it was told to keep.
    SyncedDisk,
    /// No failover loses a grant, or an extension of one.
    NoLossyFailover,
    /// No lock server decides beside the one that has taken its place.
    OnePrimary,
    /// The guarded resource compares tokens, on all that the lock protects: of two holders it lets pass the newer,
    /// and after that nothing of the older.
    ResourceChecksTokens,
}

impl Assumption {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 8] = [
        Self::PauseWithinValidity,
        Self::RateWithinDrift,
        Self::NoStep,
        Self::DelayedRestart,
        Self::SyncedDisk,
        Self::NoLossyFailover,
        Self::OnePrimary,
        Self::ResourceChecksTokens,
    ];

    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PauseWithinValidity => "pause-within-validity",
            Self::RateWithinDrift => "rate-within-drift",
            Self::NoStep => "no-step",
            Self::DelayedRestart => "delayed-restart",
            Self::SyncedDisk => "synced-disk",
            Self::NoLossyFailover => "no-lossy-failover",
            Self::OnePrimary => "one-primary",
            Self::ResourceChecksTokens => "resource-checks-tokens",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Assumption {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for one in Assumption::ALL {
            assert_eq!(Assumption::from_name(&one.to_string()), Some(one));
        }
        assert_eq!(Assumption::from_name("no-steps"), None);
    }
}
