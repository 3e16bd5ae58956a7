//! What a judge may say.

use std::collections::BTreeMap;

use host::{AttemptId, Duration, SimTime};

use crate::Property;
use crate::assumption::Assumption;

/// The answer for one property of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It held from the beginning to the end of the run.
    Holds,
    /// It was broken.
    Broken(Evidence),
    /// The run ended before it could be said.
    Inconclusive(String),
    /// A fault that the run was about never landed, so that nothing was tried. Names the faults.
    Vacuous(Vec<String>),
}

impl Verdict {
    /// Whether the property was broken.
    #[must_use]
    pub const fn is_broken(&self) -> bool {
        matches!(self, Self::Broken(_))
    }

    /// What shows that the property was broken, if it was.
    #[must_use]
    pub const fn evidence(&self) -> Option<&Evidence> {
        match self {
            Self::Broken(evidence) => Some(evidence),
            _ => None,
        }
    }

    /// Its name in results.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Broken(_) => "broken",
            Self::Inconclusive(_) => "inconclusive",
            Self::Vacuous(_) => "vacuous",
        }
    }
}

/// What a broken property rests on, enough to find it in the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The first instant at which it was broken.
    pub at: SimTime,
    /// The attempts involved: the one that was in the right first, if there is one.
    pub attempts: Vec<AttemptId>,
    /// Indices into the history's entries: what to look at.
    pub entries: Vec<usize>,
    /// For properties that are about overlap: the longest stretch of the run during which any two
    /// overlapped, which need not be the first.
    pub overlap: Option<Duration>,
}

/// The figures of one run, counted whatever the verdicts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// The longest stretch during which two promised windows overlapped.
    pub grant_overlap: Duration,
    /// By how many ns the lock servers' ownership outlasted a promise, of all grants the least; below zero,
    /// if it ended first. Of a grant that was given back before either end nothing is known, and what
    /// outlasts the run is counted to its end.
    pub grant_margin: Option<i64>,
    /// The longest stretch during which two beliefs overlapped.
    pub belief_overlap: Duration,
    /// Accepted operations that were applied after one of a newer grant.
    pub stale_effects: u64,
    /// Accepted operations that were applied after a newer grant merely existed.
    pub after_newer_grant: u64,
    /// Accepted writes that were not based on the version they replaced.
    pub lost_updates: u64,
    /// Operations that the resource refused.
    pub refused: u64,
    /// Operations that the resource accepted.
    pub effects: u64,
    /// Grants: attempts with a grant point whose clients learnt of it.
    pub given: u64,
}

/// All that is said of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// For each property that was asked for.
    pub verdicts: BTreeMap<Property, Verdict>,
    /// The figures, of all properties, also of those that were not asked for.
    pub measures: Measures,
    /// Of the assumptions that the lock declares, those that were broken in this run, with the first
    /// instant of each.
    pub broken_assumptions: BTreeMap<Assumption, SimTime>,
    /// For each broken property, the assumptions on which it rests and which were broken by the time
    /// it was: what breaks later is no excuse. None: the lock is to blame.
    pub outside: BTreeMap<Property, Vec<Assumption>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_broken_property_has_evidence() {
        let evidence = Evidence { at: SimTime::ZERO, attempts: Vec::new(), entries: vec![7], overlap: None };
        let broken = Verdict::Broken(evidence.clone());
        assert_eq!((broken.is_broken(), broken.evidence(), broken.name()), (true, Some(&evidence), "broken"));
        let others = [Verdict::Holds, Verdict::Inconclusive(String::new()), Verdict::Vacuous(Vec::new())];
        assert!(others.iter().all(|verdict| !verdict.is_broken() && verdict.evidence().is_none()));
        assert_eq!(others.map(|verdict| verdict.name()), ["holds", "inconclusive", "vacuous"]);
    }
}
