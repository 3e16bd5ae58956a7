//! The properties, by name.

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
}
