//! A cell over many seeds, and a scenario over its cells.
//!
//! Runs are independent, so they are played in parallel; their results are taken in the order of the
//! seeds, so that a sweep is the same on any number of threads. What is kept of a run is a few numbers:
//! the memory of a sweep does not grow with the number of seeds.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use host::{Duration, Fold};
use rayon::prelude::*;
use spec::{Assumption, Property, Verdict};

use crate::cell::{Cell, Expected};
use crate::contender::Contender;
use crate::run::{Player, Run};

/// What somebody who waits may look at, and stop.
#[derive(Debug, Default)]
pub struct Progress {
    runs: AtomicU64,
    stop: AtomicBool,
}

impl Progress {
    /// How many runs have ended.
    #[must_use]
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Asks the sweep to stop: the cell that is being played is given up, finished ones are kept.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether the sweep was asked to stop.
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

/// What a cell's runs add up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// How many seeds were played.
    pub seeds: u64,
    /// For each property.
    pub properties: BTreeMap<Property, PropertyTally>,
    /// In how many seeds some fault never landed.
    pub vacuous: u64,
    /// For each fault, in how many seeds it never landed; those that always did are not listed.
    pub missed_faults: BTreeMap<String, u64>,
    /// In how many seeds some property could not be decided.
    pub inconclusive: u64,
    /// The longest overlap of promised windows of each seed.
    pub grant_overlap: Overlaps,
    /// The longest overlap of beliefs of each seed.
    pub belief_overlap: Overlaps,
    /// For each assumption that some broken property rests on, in how many seeds it was not met.
    pub assumptions_broken: BTreeMap<Assumption, u64>,
    /// How many events there were in all.
    pub events: u64,
    /// A fold of all trace hashes, in the order of the seeds.
    pub hash: u64,
    /// What is expected but not so, in words. None: all is as expected.
    pub differences: Vec<String>,
    /// One of these: the assumptions outside of which it was broken are not those expected.
    pub outside_differs: Option<String>,
}

/// One property over the seeds of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PropertyTally {
    /// In how many seeds it was broken.
    pub broken: u64,
    /// In how many of them although the lock had got all that it assumes.
    pub inside: u64,
    /// The first of them.
    pub first_seed: Option<u64>,
    /// How often it should be.
    pub expected: Expected,
    /// Whether that is so.
    pub as_expected: bool,
}

/// How a cell came out. Broken promises outrank untested ones, and those outrank undecided ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Standing {
    /// All is as expected.
    AsExpected,
    /// Some property could not be decided.
    Inconclusive,
    /// Some fault never landed: nothing was tried.
    Vacuous,
    /// Something is not as expected.
    Differs,
}

impl Tally {
    /// How the cell came out.
    #[must_use]
    pub fn standing(&self) -> Standing {
        if !self.differences.is_empty() {
            Standing::Differs
        } else if self.vacuous > 0 {
            Standing::Vacuous
        } else if self.inconclusive > 0 {
            Standing::Inconclusive
        } else {
            Standing::AsExpected
        }
    }

    /// The first seed that broke something, and the properties it broke.
    #[must_use]
    pub fn first_violation(&self) -> Option<u64> {
        self.properties.values().filter_map(|property| property.first_seed).min()
    }
}

/// How long overlaps were, one figure a seed, in whole milliseconds rounded up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overlaps {
    /// How many seeds had each figure: as many entries as there are different figures.
    seeds: BTreeMap<u64, u64>,
    count: u64,
}

impl Overlaps {
    fn add(&mut self, overlap: Duration) {
        let millis = u64::try_from(overlap.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        *self.seeds.entry(millis).or_default() += 1;
        self.count += 1;
    }

    /// The longest, in ms rounded up; 0 if there is none.
    #[must_use]
    pub fn max_ms(&self) -> u64 {
        self.seeds.keys().next_back().copied().unwrap_or(0)
    }

    /// The median over the seeds (of an even number, the lower one), in ms rounded up.
    #[must_use]
    pub fn median_ms(&self) -> u64 {
        let middle = self.count.div_ceil(2);
        let mut below = 0;
        for (millis, seeds) in &self.seeds {
            below += seeds;
            if below >= middle {
                return *millis;
            }
        }
        0
    }
}

/// Plays a cell with these seeds. `None`: it was stopped.
///
/// Runs in the thread pool that it is called in.
#[must_use]
pub fn sweep(cell: &Cell, contender: &Contender, seeds: Range<u64>, progress: &Progress) -> Option<Tally> {
    let mut tally = Tally::new(cell, seeds.end - seeds.start);
    let mut hash = Fold::new(0);
    let mut from = seeds.start;
    while from < seeds.end {
        let to = seeds.end.min(from + BATCH);
        // Counted from 0, since rayon keeps the order of such a range only for `usize`.
        let batch = usize::try_from(to - from).expect("a batch is small");
        let figures: Vec<Option<Figures>> = (0..batch)
            .into_par_iter()
            .with_min_len(MIN_SHARE)
            .map_init(
                || Player::new(cell, contender),
                |player, offset| {
                    let seed = from + offset as u64;
                    if progress.is_stopped() {
                        return None;
                    }
                    let figures = Figures::of(&player.play(seed));
                    progress.runs.fetch_add(1, Ordering::Relaxed);
                    Some(figures)
                },
            )
            .collect();
        for (seed, figures) in (from..to).zip(figures) {
            let figures = figures?;
            hash.word(figures.hash);
            tally.add(cell, seed, &figures);
        }
        from = to;
    }
    tally.hash = hash.value();
    tally.compare(cell);
    Some(tally)
}

/// What the runs of these seeds add up to, one after the other, whoever plays them.
#[must_use]
pub fn tally(cell: &Cell, seeds: Range<u64>, mut play: impl FnMut(u64) -> Run) -> Tally {
    let mut tally = Tally::new(cell, seeds.end - seeds.start);
    let mut hash = Fold::new(0);
    for seed in seeds {
        let figures = Figures::of(&play(seed));
        hash.word(figures.hash);
        tally.add(cell, seed, &figures);
    }
    tally.hash = hash.value();
    tally.compare(cell);
    tally
}

/// What is kept of a run.
struct Figures {
    verdicts: Vec<(Property, Mark)>,
    landed: Vec<bool>,
    grant_overlap: Duration,
    belief_overlap: Duration,
    /// For each broken property, what the lock had been promised and did not get.
    outside: Vec<(Property, Vec<Assumption>)>,
    events: u64,
    hash: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Holds,
    Broken,
    Inconclusive,
    Vacuous,
}

impl Figures {
    fn of(run: &Run) -> Self {
        let judgement = &run.judgement;
        let mark = |verdict: &Verdict| match verdict {
            Verdict::Holds => Mark::Holds,
            Verdict::Broken(_) => Mark::Broken,
            Verdict::Inconclusive(_) => Mark::Inconclusive,
            Verdict::Vacuous(_) => Mark::Vacuous,
        };
        Self {
            verdicts: judgement.verdicts.iter().map(|(property, verdict)| (*property, mark(verdict))).collect(),
            landed: run.landed.clone(),
            grant_overlap: judgement.measures.grant_overlap,
            belief_overlap: judgement.measures.belief_overlap,
            outside: judgement.outside.iter().map(|(property, needs)| (*property, needs.clone())).collect(),
            events: run.events,
            hash: run.hash,
        }
    }
}

impl Tally {
    fn new(cell: &Cell, seeds: u64) -> Self {
        let property = |property: &Property| {
            let expected = cell.expectations.get(property).map_or(Expected::Holds, |expectation| expectation.expected);
            (*property, PropertyTally { broken: 0, inside: 0, first_seed: None, expected, as_expected: false })
        };
        Self {
            seeds,
            properties: Property::ALL.iter().map(property).collect(),
            vacuous: 0,
            missed_faults: BTreeMap::new(),
            inconclusive: 0,
            grant_overlap: Overlaps::default(),
            belief_overlap: Overlaps::default(),
            assumptions_broken: BTreeMap::new(),
            events: 0,
            hash: 0,
            differences: Vec::new(),
            outside_differs: None,
        }
    }

    fn add(&mut self, cell: &Cell, seed: u64, figures: &Figures) {
        for (property, mark) in &figures.verdicts {
            if *mark == Mark::Broken
                && let Some(tally) = self.properties.get_mut(property)
            {
                tally.broken += 1;
                tally.first_seed.get_or_insert(seed);
            }
        }
        let any = |wanted: Mark| figures.verdicts.iter().any(|(_, mark)| *mark == wanted);
        self.inconclusive += u64::from(any(Mark::Inconclusive));
        self.vacuous += u64::from(figures.landed.contains(&false));
        for (fault, _) in cell.faults.iter().zip(&figures.landed).filter(|(_, landed)| !**landed) {
            *self.missed_faults.entry(fault.name.clone()).or_default() += 1;
        }
        self.grant_overlap.add(figures.grant_overlap);
        self.belief_overlap.add(figures.belief_overlap);
        for (property, _) in figures.outside.iter().filter(|(_, needs)| needs.is_empty()) {
            if let Some(tally) = self.properties.get_mut(property) {
                tally.inside += 1;
            }
        }
        let outside: BTreeSet<Assumption> = figures.outside.iter().flat_map(|(_, needs)| needs).copied().collect();
        for assumption in outside {
            *self.assumptions_broken.entry(assumption).or_default() += 1;
        }
        self.events += figures.events;
    }

    /// Holds what came out against what is expected.
    fn compare(&mut self, cell: &Cell) {
        let seeds = self.seeds;
        for (property, tally) in &mut self.properties {
            tally.as_expected = match tally.expected {
                Expected::Always => tally.broken == seeds,
                Expected::Broken => tally.broken > 0,
                Expected::Holds => tally.broken == 0,
                Expected::Free => true,
            };
            if !tally.as_expected {
                let (name, broken) = (property.name(), tally.broken);
                let expected = match tally.expected {
                    Expected::Always => "broken in every one",
                    Expected::Broken => "broken in at least one",
                    Expected::Holds | Expected::Free => "holding in every one",
                };
                self.differences.push(format!("{name} broken in {broken} of {seeds} seeds, expected {expected}"));
            }
        }
        if let Some(expected) = &cell.outside {
            self.compare_outside(expected);
        }
    }

    fn compare_outside(&mut self, expected: &[Assumption]) {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let found: Vec<Assumption> = self.assumptions_broken.keys().copied().collect();
        // An excuse that some seeds have does not excuse the others.
        let mixed = self.properties.iter().find(|(_, tally)| 0 < tally.inside && tally.inside < tally.broken);
        let difference = if found != expected {
            let names = |all: &[Assumption]| all.iter().map(|one| one.name()).collect::<Vec<_>>().join(", ");
            format!("outside [{}], expected outside [{}]", names(&found), names(&expected))
        } else if let Some((property, PropertyTally { broken, inside, .. })) = mixed {
            let (name, outside) = (property.name(), broken - inside);
            format!("{name} broken outside the lock's assumptions in {outside} seeds, but inside in {inside} more")
        } else {
            return;
        };
        self.outside_differs = Some(difference.clone());
        self.differences.push(difference);
    }
}

/// How many runs are in memory at once.
const BATCH: u64 = 4_096;
/// How many runs one thread takes at a time: a run is short, and a share costs more than some.
const MIN_SHARE: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;

    /// A cell that expects `outside`, with seeds in which a belief was broken with these excuses.
    fn differences(outside: &str, excuses: &[&[Assumption]]) -> Vec<String> {
        let text = format!(
            r#"
            name = "sweep"
            title = "sweep"
            source = "own"
            lock = "redis"
            [client.A]
            [[expect]]
            always = ["belief-exclusion"]
            because = "it is broken here"
            outside = {outside}
            "#
        );
        let cell = load("sweep.toml", &text, &[]).expect("it is a scenario").cells.remove(0);
        let mut tally = Tally::new(&cell, excuses.len() as u64);
        for (seed, needs) in (0..).zip(excuses) {
            let verdicts = vec![(Property::BeliefExclusion, Mark::Broken)];
            let outside = vec![(Property::BeliefExclusion, needs.to_vec())];
            let (grant_overlap, belief_overlap) = (Duration::ZERO, Duration::ZERO);
            let landed = Vec::new();
            tally.add(
                &cell,
                seed,
                &Figures { verdicts, landed, grant_overlap, belief_overlap, outside, events: 0, hash: 0 },
            );
        }
        tally.compare(&cell);
        assert_eq!(tally.outside_differs.as_ref(), tally.differences.first());
        tally.differences
    }

    #[test]
    fn an_excuse_that_some_seeds_have_does_not_excuse_the_others() {
        const PAUSE: &[Assumption] = &[Assumption::PauseWithinValidity];
        let expected = "[\"pause-within-validity\"]";
        assert_eq!(differences(expected, &[PAUSE, PAUSE]), [""; 0]);
        assert_eq!(differences("[]", &[&[], &[]]), [""; 0]);
        let mixed = "belief-exclusion broken outside the lock's assumptions in 2 seeds, but inside in 1 more";
        assert_eq!(differences(expected, &[PAUSE, &[], PAUSE]), [mixed]);
        let wrong = "outside [pause-within-validity], expected outside []";
        assert_eq!(differences("[]", &[PAUSE, PAUSE]), [wrong]);
    }
}
