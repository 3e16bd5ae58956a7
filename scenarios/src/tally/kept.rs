//! What is kept of a run until it is counted: a few numbers, so that a batch of runs takes little room.

use host::Duration;
use spec::{Assumption, Property, Verdict};

use crate::cell::Cell;
use crate::figure::{Figure, FigureClaim, first_break, instant};
use crate::run::Run;

/// What is kept of a run until it is counted.
pub(crate) struct Kept {
    pub(super) verdicts: Vec<(Property, Mark)>,
    pub(super) landed: Vec<bool>,
    /// How many grants there were.
    pub(super) given: u64,
    pub(super) grant_overlap: Duration,
    pub(super) belief_overlap: Duration,
    /// For each broken property, what the lock had been promised and did not get.
    pub(super) outside: Vec<(Property, Vec<Assumption>)>,
    /// For each of the cell's figures.
    pub(super) values: Vec<Option<i64>>,
    /// Whether what is searched for is so.
    pub(super) beyond: bool,
    pub(super) events: u64,
    pub(crate) hash: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    Holds,
    Broken,
    Inconclusive,
    Vacuous,
}

impl Kept {
    pub(crate) fn of(cell: &Cell, run: &Run) -> Self {
        let judgement = &run.judgement;
        let mark = |verdict: &Verdict| match verdict {
            Verdict::Holds => Mark::Holds,
            Verdict::Broken(_) => Mark::Broken,
            Verdict::Inconclusive(_) => Mark::Inconclusive,
            Verdict::Vacuous(_) => Mark::Vacuous,
        };
        let mut reached = run.reached.iter();
        let value = |claim: &FigureClaim| match &claim.figure {
            Figure::Measure(metric, _) => metric.of(run),
            Figure::First(property) => first_break(judgement, *property),
            Figure::Share(_) => None,
            Figure::Reach(_) => reached.next().copied().flatten().map(instant),
        };
        Self {
            verdicts: judgement.verdicts.iter().map(|(property, verdict)| (*property, mark(verdict))).collect(),
            landed: run.landed.clone(),
            given: judgement.measures.given,
            grant_overlap: judgement.measures.grant_overlap,
            belief_overlap: judgement.measures.belief_overlap,
            outside: judgement.outside.iter().map(|(property, needs)| (*property, needs.clone())).collect(),
            values: cell.figures.iter().map(value).collect(),
            beyond: cell.criterion.is_some_and(|criterion| criterion.is_met(run)),
            events: run.events,
            hash: run.hash,
        }
    }
}
