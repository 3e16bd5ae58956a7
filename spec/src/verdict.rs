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

/// What a broken property rests on, enough to find it in the trace.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Evidence {
    /// The first instant at which it was broken.
    pub at: SimTime,
    /// The attempts involved: the one that was in the right first, if there is one.
    pub attempts: Vec<AttemptId>,
    /// Indices into the history's entries: what to look at.
    pub entries: Vec<usize>,
    /// For properties that are about overlap, the longest.
    pub overlap: Option<Duration>,
}

/// The figures of one run, counted whatever the verdicts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Measures {
    /// The longest overlap of two promised windows.
    pub grant_overlap: Duration,
    /// The longest overlap of two beliefs.
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
    /// Grants.
    pub given: u64,
}

/// All that is said of one run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Judgement {
    /// For each property.
    pub verdicts: BTreeMap<Property, Verdict>,
    /// The figures.
    pub measures: Measures,
    /// The assumptions that were broken in this run, with the first instant of each.
    pub broken_assumptions: BTreeMap<Assumption, SimTime>,
    /// For each broken property, the broken assumptions on which it rests. None: the lock is to blame.
    pub outside: BTreeMap<Property, Vec<Assumption>>,
}
