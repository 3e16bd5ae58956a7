//! What the runs of a cell add up to, held against what the cell expects.
//!
//! What is kept does not grow with the number of seeds; see [`series`] for the one exception.

mod kept;
mod overlaps;
mod series;

use std::collections::{BTreeMap, BTreeSet};

use spec::{Assumption, Property};

pub use reports::Standing;

pub(crate) use self::kept::Kept;
use self::kept::Mark;
pub use self::overlaps::Overlaps;
pub use self::series::Series;
use crate::cell::{Cell, Expected};
use crate::figure::{Figure, FigureClaim};
use crate::report;

/// What a cell's runs add up to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tally {
    /// How many seeds were played.
    pub seeds: u64,
    /// For each property that is judged.
    pub properties: BTreeMap<Property, PropertyTally>,
    /// In how many seeds some placed fault never landed; all, if a drawn one landed in none.
    pub vacuous: u64,
    /// For each placed fault, in how many seeds it never landed; those that always did are not listed. Also
    /// the drawn ones that landed in none, and the profile, if nothing of it did.
    pub missed_faults: BTreeMap<String, u64>,
    /// For each fault of the cell, in how many seeds it landed.
    landed: Vec<u64>,
    /// In how many seeds some property could not be decided.
    pub inconclusive: u64,
    /// In how many seeds nobody was granted a lock, although some script asks for one.
    pub ungranted: u64,
    /// The longest overlap of promised windows of each seed.
    pub grant_overlap: Overlaps,
    /// The longest overlap of beliefs of each seed.
    pub belief_overlap: Overlaps,
    /// For each assumption that some broken property rests on, in how many seeds it was not met.
    pub assumptions_broken: BTreeMap<Assumption, u64>,
    /// What is expected to be some number, in the order of the cell's claims.
    pub figures: Vec<FigureTally>,
    /// In how many seeds what is searched for along a bisected axis was so.
    pub beyond: u64,
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
    /// In how many seeds it could not be decided.
    pub inconclusive: u64,
    /// In how many seeds it was not broken and some fault never landed: they say nothing of it.
    pub untried: u64,
    /// The first seed that broke it.
    pub first_seed: Option<u64>,
    /// How often it should be.
    pub expected: Expected,
    /// Whether that is so, or may be so for all that was tried.
    pub as_expected: bool,
}

/// What is expected to be some number, and what it came to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FigureTally {
    /// What is expected.
    pub claim: FigureClaim,
    /// Its values.
    pub series: Series,
    /// The statistic of them. A mean is rounded down; of each seed there is none.
    pub value: Option<i64>,
    /// Whether it is as expected.
    pub as_expected: bool,
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

impl Tally {
    pub(crate) fn new(cell: &Cell, seeds: u64) -> Self {
        let property = |property: &Property| {
            let expected = cell.expectations.get(property).map_or(Expected::Holds, |expectation| expectation.expected);
            let none = PropertyTally {
                broken: 0,
                inside: 0,
                inconclusive: 0,
                untried: 0,
                first_seed: None,
                expected,
                as_expected: false,
            };
            (*property, none)
        };
        Self {
            seeds,
            properties: Property::ALL.iter().filter(|one| one.is_judged(&cell.bounds)).map(property).collect(),
            vacuous: 0,
            missed_faults: BTreeMap::new(),
            landed: vec![0; cell.faults.len()],
            inconclusive: 0,
            ungranted: 0,
            grant_overlap: Overlaps::default(),
            belief_overlap: Overlaps::default(),
            assumptions_broken: BTreeMap::new(),
            figures: cell.figures.iter().map(FigureTally::new).collect(),
            beyond: 0,
            events: 0,
            hash: 0,
            differences: Vec::new(),
            outside_differs: None,
        }
    }

    /// Takes in the run of the next seed.
    pub(crate) fn add(&mut self, cell: &Cell, seed: u64, run: &Kept) {
        for (property, mark) in &run.verdicts {
            let Some(tally) = self.properties.get_mut(property) else { continue };
            match mark {
                Mark::Broken => {
                    tally.broken += 1;
                    tally.first_seed.get_or_insert(seed);
                }
                Mark::Inconclusive => tally.inconclusive += 1,
                Mark::Vacuous => tally.untried += 1,
                Mark::Holds => {}
            }
        }
        let any = |wanted: Mark| run.verdicts.iter().any(|(_, mark)| *mark == wanted);
        self.inconclusive += u64::from(any(Mark::Inconclusive));
        self.ungranted += u64::from(run.given == 0 && cell.wants_a_grant());
        self.vacuous += u64::from(cell.missed(&run.landed).next().is_some());
        for fault in cell.missed(&run.landed) {
            *self.missed_faults.entry(fault.name.clone()).or_default() += 1;
        }
        for (count, landed) in self.landed.iter_mut().zip(&run.landed) {
            *count += u64::from(*landed);
        }
        self.grant_overlap.add(run.grant_overlap);
        self.belief_overlap.add(run.belief_overlap);
        for (property, _) in run.outside.iter().filter(|(_, needs)| needs.is_empty()) {
            if let Some(tally) = self.properties.get_mut(property) {
                tally.inside += 1;
            }
        }
        let outside: BTreeSet<Assumption> = run.outside.iter().flat_map(|(_, needs)| needs).copied().collect();
        for assumption in outside {
            *self.assumptions_broken.entry(assumption).or_default() += 1;
        }
        for (figure, value) in self.figures.iter_mut().zip(&run.values) {
            figure.series.add(&figure.claim, seed, *value);
        }
        self.beyond += u64::from(run.beyond);
        self.events += run.events;
    }

    /// Holds what came out against what is expected.
    pub(crate) fn compare(&mut self, cell: &Cell) {
        self.find_untried(cell);
        let seeds = self.seeds;
        for (property, tally) in &mut self.properties {
            tally.as_expected = match tally.expected {
                // Where nothing was tried, nothing could break: that seed is vacuous, and no counter-example.
                Expected::Always => tally.broken + tally.untried == seeds,
                Expected::Broken => tally.broken + tally.untried > 0,
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
        for figure in &mut self.figures {
            figure.compare(&self.properties, seeds);
            // A number over seeds of which some tried nothing is not the number that the claim is about.
            figure.as_expected |= self.vacuous > 0;
        }
        let off = self.figures.iter().filter(|figure| !figure.as_expected);
        let off: Vec<_> = off
            .map(|figure| reports::figure::sentence(&figure.claim.figure.path(), &report::figure(figure, self)))
            .collect();
        self.differences.extend(off);
        if let Some(expected) = &cell.outside {
            self.compare_outside(expected);
        }
    }

    /// A drawn fault that landed in no seed was not tried, nor was a profile of which nothing ever landed. (A
    /// seed without faults is one: in half of the seeds each family is absent. And a profile that has none is
    /// what it says.)
    fn find_untried(&mut self, cell: &Cell) {
        let drawn = cell.faults.iter().zip(&self.landed).filter(|(fault, _)| fault.is_drawn());
        let (of_profile, own): (Vec<_>, Vec<_>) = drawn.partition(|(fault, _)| fault.family.is_some());
        let mut untried: Vec<String> =
            own.into_iter().filter(|(_, landed)| **landed == 0).map(|(fault, _)| fault.name.clone()).collect();
        if let (Some(profile), false) = (cell.profile, of_profile.is_empty())
            && of_profile.iter().all(|(_, landed)| **landed == 0)
        {
            untried.push(format!("{}:*", profile.name()));
        }
        if !untried.is_empty() {
            self.vacuous = self.seeds;
            for tally in self.properties.values_mut() {
                tally.untried = self.seeds - tally.broken;
            }
            self.missed_faults.extend(untried.into_iter().map(|name| (name, self.seeds)));
        }
    }

    fn compare_outside(&mut self, expected: &[Assumption]) {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let found: Vec<Assumption> = self.assumptions_broken.keys().copied().collect();
        // An excuse that some seeds have does not excuse the others.
        let mixed = self.properties.iter().find(|(_, tally)| 0 < tally.inside && tally.inside < tally.broken);
        // What was not tried can have broken no assumption.
        let is_lacking = self.vacuous > 0 && found.iter().all(|one| expected.contains(one));
        let difference = if found != expected && !is_lacking {
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

impl FigureTally {
    fn new(claim: &FigureClaim) -> Self {
        Self { claim: claim.clone(), series: Series::new(), value: None, as_expected: false }
    }

    /// Holds it against what is expected, when all seeds are in.
    fn compare(&mut self, properties: &BTreeMap<Property, PropertyTally>, seeds: u64) {
        (self.value, self.as_expected) = match &self.claim.figure {
            // The share of the seeds is the mean of what is a million where it is broken, and nothing elsewhere.
            Figure::Share(property) => {
                let broken = properties.get(property).map_or(0, |tally| tally.broken);
                let millionths = i128::from(broken) * MILLION;
                let share = i64::try_from(millionths / i128::from(seeds)).unwrap_or(i64::MAX);
                (Some(share), self.claim.wanted.admits_mean(millionths, seeds))
            }
            _ => {
                let value = self.series.value(self.claim.figure.statistic());
                (value, self.series.is_as_wanted(&self.claim, value))
            }
        };
    }

    /// The one seed that shows what it came to, if one does.
    #[must_use]
    pub fn witness(&self) -> Option<u64> {
        match self.claim.figure {
            Figure::Share(_) => None,
            _ => self.series.witness(self.claim.figure.statistic()),
        }
    }
}

const MILLION: i128 = 1_000_000;

#[cfg(test)]
mod tests;
