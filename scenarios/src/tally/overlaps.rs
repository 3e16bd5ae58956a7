//! The longest overlap of each seed, in whole milliseconds.

use std::collections::BTreeMap;

use host::Duration;

/// How long overlaps were, one figure a seed, in whole milliseconds rounded up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Overlaps {
    /// How many seeds had each figure: as many entries as there are different figures.
    seeds: BTreeMap<u64, u64>,
    count: u64,
}

impl Overlaps {
    pub(super) fn add(&mut self, overlap: Duration) {
        let millis = u64::try_from(overlap.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
        *self.seeds.entry(millis).or_default() += 1;
        self.count += 1;
    }

    /// Each length in ms rounded up, in ascending order, and how many seeds had it.
    pub fn lengths(&self) -> impl Iterator<Item = (u64, u64)> {
        self.seeds.iter().map(|(millis, seeds)| (*millis, *seeds))
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
