//! The properties, by name. Each has a file below with its statement, its check, a minimal history
//! that breaks it and one that comes close and does not.

use std::fmt;

use host::Duration;

use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::rules::Bounds;
use crate::verdict::{Evidence, Measures};

mod belief_exclusion;
mod effect_order;
mod fairness;
mod grant_exclusion;
mod holder_informed;
mod no_deadlock;
mod no_leak;
mod no_lost_update;
mod no_needless_loss;
mod owner_release;
mod progress;
mod rightful_accepted;
mod single_effect;
mod token_order;

/// Writes down the properties, in the order of reports: `Name in file`, with what it says.
macro_rules! properties {
    ($( $(#[$doc:meta])* $name:ident in $file:ident, )*) => {
        /// One thing that a lock, or a lock and its resource together, may promise.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Property {
            $( $(#[$doc])* $name, )*
        }

        impl Property {
            /// All of them, in the order of reports.
            pub const ALL: [Self; [$( stringify!($name) ),*].len()] = [$( Self::$name ),*];

            /// What its file says of it.
            const fn facts(self) -> &'static Facts {
                match self {
                    $( Self::$name => &$file::FACTS, )*
                }
            }
        }
    };
}

properties! {
    /// No two promised windows overlap.
    GrantExclusion in grant_exclusion,
    /// No two clients believe at one instant that they may act.
    BeliefExclusion in belief_exclusion,
    /// Over accepted operations, in the order in which they were applied, the grants never go back.
    EffectOrder in effect_order,
    /// Every accepted read-modify-write was based on the version it replaced.
    NoLostUpdate in no_lost_update,
    /// No operation of a rightful holder is refused.
    RightfulAccepted in rightful_accepted,
    /// Tokens rise from one holder to the next.
    TokenOrder in token_order,
    /// What an attempt owns, nobody else releases, cleans up, takes over or extends.
    OwnerRelease in owner_release,
    /// A client that takes a lock to be its own which it has lost is put right within a bound.
    HolderInformed in holder_informed,
    /// No lock stays for ever with an owner that does not use it, while somebody waits.
    NoLeak in no_leak,
    /// Never longer than a bound does somebody wait for a lock that nobody uses.
    Progress in progress,
    /// No clients wait for each other in a circle.
    NoDeadlock in no_deadlock,
    /// Nobody is overtaken more often than a bound.
    Fairness in fairness,
    /// No live holder loses its lock while it has a right to it.
    NoNeedlessLoss in no_needless_loss,
    /// A side effect is done once.
    SingleEffect in single_effect,
}

/// How grave it is that a property is broken, the gravest first.
///
/// Not the first in time: that is mostly a belief, which does nothing by itself, while the story that
/// leads to harm contains it. Harm comes first: data is gone, a charge was made twice, an operation had an
/// effect out of turn. Then what the lock had promised and did not keep, from which harm comes sooner or
/// later: a lock that somebody else took from its owner, two holders at once (of which the former is often
/// the reason), a token that no resource can trust. Then what stands still for ever, or too long. Then what
/// hits one holder: its lock is gone, or it does not know. To turn a rightful holder away is safe, and it may
/// try again; one that is overtaken gets its turn. A belief harms nobody that the resource protects.
const BY_GRAVITY: [Property; Property::ALL.len()] = [
    Property::NoLostUpdate,
    Property::SingleEffect,
    Property::EffectOrder,
    Property::OwnerRelease,
    Property::GrantExclusion,
    Property::TokenOrder,
    Property::NoLeak,
    Property::NoDeadlock,
    Property::Progress,
    Property::NoNeedlessLoss,
    Property::HolderInformed,
    Property::RightfulAccepted,
    Property::Fairness,
    Property::BeliefExclusion,
];

/// What the file of a property says of it.
pub(crate) struct Facts {
    /// In scenario files and results.
    name: &'static str,
    /// What follows "it says that".
    statement: &'static str,
    level: Level,
    check: Check,
}

/// How a property is checked.
pub(crate) enum Check {
    /// It counts on the way, and is checked whether it is asked for or not.
    Counts(fn(&Case<'_>, &mut Measures) -> Option<Evidence>),
    /// It looks, and counts nothing.
    Looks(fn(&Case<'_>) -> Finding),
    /// It looks whether something happens within a bound: `key` below `bounds` in scenario files.
    Within { key: &'static str, bound: fn(&Bounds) -> Option<Duration>, check: fn(&Case<'_>, Duration) -> Finding },
    /// It looks whether something happens at most so often.
    AtMost { key: &'static str, bound: fn(&Bounds) -> Option<u32>, check: fn(&Case<'_>, u32) -> Finding },
}

impl Property {
    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// What it says, as a sentence without a beginning: "no two grants may …".
    #[must_use]
    pub const fn statement(self) -> &'static str {
        self.facts().statement
    }

    /// On which level it speaks.
    #[must_use]
    pub const fn level(self) -> Level {
        self.facts().level
    }

    /// The bound that it needs, by its name below `bounds`.
    #[must_use]
    pub const fn bound(self) -> Option<&'static str> {
        match self.facts().check {
            Check::Within { key, .. } | Check::AtMost { key, .. } => Some(key),
            Check::Counts(_) | Check::Looks(_) => None,
        }
    }

    /// Whether it can be judged: it has its bound, or needs none.
    #[must_use]
    pub fn is_judged(self, bounds: &Bounds) -> bool {
        match self.facts().check {
            Check::Within { bound, .. } => bound(bounds).is_some(),
            Check::AtMost { bound, .. } => bound(bounds).is_some(),
            Check::Counts(_) | Check::Looks(_) => true,
        }
    }

    /// The gravest of those of which that is so, if there is one.
    #[must_use]
    pub fn gravest(broken: impl Fn(Self) -> bool) -> Option<Self> {
        BY_GRAVITY.into_iter().find(|one| broken(*one))
    }

    /// Checks it. `None`: it counts nothing and is not asked for, or it has not got its bound.
    pub(crate) fn check(self, case: &Case<'_>, measures: &mut Measures, is_asked: bool) -> Option<Finding> {
        let bounds = &case.rules.bounds;
        let found = match self.facts().check {
            Check::Counts(check) => check(case, measures).into(),
            _ if !is_asked => return None,
            Check::Looks(check) => check(case),
            Check::Within { bound, check, .. } => check(case, bound(bounds)?),
            Check::AtMost { bound, check, .. } => check(case, bound(bounds)?),
        };
        Some(found)
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

    #[test]
    fn every_property_has_its_place_in_gravity() {
        for one in Property::ALL {
            assert_eq!(Property::gravest(|other| other == one), Some(one));
        }
    }

    #[test]
    fn the_gravest_is_told_and_not_the_first() {
        assert_eq!(Property::gravest(|_| true), Some(Property::NoLostUpdate));
        let broken = [Property::BeliefExclusion, Property::EffectOrder];
        assert_eq!(Property::gravest(|one| broken.contains(&one)), Some(Property::EffectOrder));
        assert_eq!(Property::gravest(|_| false), None);
    }

    #[test]
    fn each_bound_lets_its_property_be_judged_and_no_other() {
        let needy: Vec<_> = Property::ALL.into_iter().filter(|one| one.bound().is_some()).collect();
        let judged = |bounds: Bounds| {
            let judged = needy.iter().filter(|one| one.is_judged(&bounds));
            judged.filter_map(|one| one.bound()).collect::<Vec<_>>()
        };
        let (none, soon) = (Bounds::default(), Some(Duration::ZERO));
        assert_eq!(judged(none), [""; 0]);
        assert_eq!(judged(Bounds { progress: soon, ..none }), ["progress"]);
        assert_eq!(judged(Bounds { inform: soon, ..none }), ["inform"]);
        assert_eq!(judged(Bounds { leak: soon, ..none }), ["leak"]);
        assert_eq!(judged(Bounds { overtakes: Some(0), ..none }), ["overtakes"]);
        assert_eq!(needy.len(), 4);
        assert!(Property::ALL.into_iter().filter(|one| !needy.contains(one)).all(|one| one.is_judged(&none)));
    }
}
