//! The properties, by name. Each has a file below with its statement, its check, a minimal history
//! that breaks it and one that comes close and does not.

use std::fmt;

pub(crate) mod belief_exclusion;
pub(crate) mod effect_order;
pub(crate) mod fairness;
pub(crate) mod grant_exclusion;
pub(crate) mod holder_informed;
pub(crate) mod no_deadlock;
pub(crate) mod no_leak;
pub(crate) mod no_lost_update;
pub(crate) mod no_needless_loss;
pub(crate) mod owner_release;
pub(crate) mod progress;
pub(crate) mod rightful_accepted;
pub(crate) mod single_effect;
pub(crate) mod token_order;

/// One thing that a lock, or a lock and its resource together, may promise.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Property {
    /// No two promised windows overlap.
    GrantExclusion,
    /// No two clients believe at one instant that they may act.
    BeliefExclusion,
    /// Over accepted operations, in the order in which they were applied, the grants never go back.
    EffectOrder,
    /// Every accepted read-modify-write was based on the version it replaced.
    NoLostUpdate,
    /// No operation of a rightful holder is refused.
    RightfulAccepted,
    /// Tokens rise from one holder to the next.
    TokenOrder,
    /// What an attempt owns, nobody else releases, cleans up, takes over or extends.
    OwnerRelease,
    /// A client that takes a lock to be its own which it has lost is put right within a bound.
    HolderInformed,
    /// No lock stays for ever with an owner that does not use it, while somebody waits.
    NoLeak,
    /// Never longer than a bound does somebody wait for a lock that nobody uses.
    Progress,
    /// No clients wait for each other in a circle.
    NoDeadlock,
    /// Nobody is overtaken more often than a bound.
    Fairness,
    /// No live holder loses its lock while it has a right to it.
    NoNeedlessLoss,
    /// A side effect is done once.
    SingleEffect,
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 14] = [
        Self::GrantExclusion,
        Self::BeliefExclusion,
        Self::EffectOrder,
        Self::NoLostUpdate,
        Self::RightfulAccepted,
        Self::TokenOrder,
        Self::OwnerRelease,
        Self::HolderInformed,
        Self::NoLeak,
        Self::Progress,
        Self::NoDeadlock,
        Self::Fairness,
        Self::NoNeedlessLoss,
        Self::SingleEffect,
    ];

    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GrantExclusion => "grant-exclusion",
            Self::BeliefExclusion => "belief-exclusion",
            Self::EffectOrder => "effect-order",
            Self::NoLostUpdate => "no-lost-update",
            Self::RightfulAccepted => "rightful-accepted",
            Self::TokenOrder => "token-order",
            Self::OwnerRelease => "owner-release",
            Self::HolderInformed => "holder-informed",
            Self::NoLeak => "no-leak",
            Self::Progress => "progress",
            Self::NoDeadlock => "no-deadlock",
            Self::Fairness => "fairness",
            Self::NoNeedlessLoss => "no-needless-loss",
            Self::SingleEffect => "single-effect",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back() {
        for one in Property::ALL {
            assert_eq!(Property::from_name(&one.to_string()), Some(one));
        }
        assert_eq!(Property::from_name("grant exclusion"), None);
    }
}
