//! The properties, by name. Each has a file below with its statement, its check, a minimal history
//! that breaks it and one that comes close and does not.

use std::fmt;

pub(crate) mod belief_exclusion;
pub(crate) mod effect_order;
pub(crate) mod grant_exclusion;
pub(crate) mod no_lost_update;
pub(crate) mod rightful_accepted;

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
}

impl Property {
    /// All of them, in the order of reports.
    pub const ALL: [Self; 5] =
        [Self::GrantExclusion, Self::BeliefExclusion, Self::EffectOrder, Self::NoLostUpdate, Self::RightfulAccepted];

    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GrantExclusion => "grant-exclusion",
            Self::BeliefExclusion => "belief-exclusion",
            Self::EffectOrder => "effect-order",
            Self::NoLostUpdate => "no-lost-update",
            Self::RightfulAccepted => "rightful-accepted",
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
