//! One figure over the seeds of a cell.
//!
//! What is kept does not grow with the number of seeds, but for a median or a p99, which need one number a
//! seed, and only while the seeds are being played.

use crate::figure::{FigureClaim, Statistic};

/// The values of one figure, a seed after another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Series {
    /// How many seeds had a value.
    pub seeds: u64,
    /// How many had none.
    pub missing: u64,
    /// The smallest value, and the first seed that had it.
    pub min: Option<(i64, u64)>,
    /// The largest value, and the first seed that had it.
    pub max: Option<(i64, u64)>,
    /// The sum of all values.
    pub total: i128,
    /// In how many seeds it was not as wanted, if that can be said of a seed.
    pub off: u64,
    /// The first of them.
    pub first_off: Option<u64>,
    /// The first seed without a value.
    first_missing: Option<u64>,
    /// Every value, if they are needed.
    all: Vec<i64>,
}

impl Series {
    pub(super) const fn new() -> Self {
        Self {
            seeds: 0,
            missing: 0,
            min: None,
            max: None,
            total: 0,
            off: 0,
            first_off: None,
            first_missing: None,
            all: Vec::new(),
        }
    }

    /// Takes in the value of the next seed.
    pub(super) fn add(&mut self, claim: &FigureClaim, seed: u64, value: Option<i64>) {
        if value.is_none() && claim.figure.may_be_missing() {
            return;
        }
        if claim.figure.statistic() == Statistic::Each && !claim.wanted.admits(value) {
            self.off += 1;
            self.first_off.get_or_insert(seed);
        }
        let Some(value) = value else {
            self.missing += 1;
            self.first_missing.get_or_insert(seed);
            return;
        };
        self.seeds += 1;
        self.total += i128::from(value);
        if self.min.is_none_or(|(min, _)| value < min) {
            self.min = Some((value, seed));
        }
        if self.max.is_none_or(|(max, _)| max < value) {
            self.max = Some((value, seed));
        }
        if claim.figure.statistic().needs_all() {
            self.all.push(value);
        }
    }

    /// The statistic of the values so far. A mean is rounded down; of each there is none.
    pub(super) fn value(&mut self, statistic: Statistic) -> Option<i64> {
        let whole = |number: i128| i64::try_from(number).unwrap_or(i64::MAX);
        match statistic {
            Statistic::Each => None,
            Statistic::Min => self.min.map(|(value, _)| value),
            Statistic::Max => self.max.map(|(value, _)| value),
            Statistic::Median => self.at_rank(1, 2),
            Statistic::P99 => self.at_rank(99, 100),
            Statistic::Mean => (self.seeds > 0).then(|| whole(self.total.div_euclid(self.seeds.into()))),
            Statistic::Total => Some(whole(self.total)),
        }
    }

    /// Whether it is as wanted. What some seed does not have is not, and neither is what no seed has.
    pub(super) fn is_as_wanted(&self, claim: &FigureClaim, value: Option<i64>) -> bool {
        match claim.figure.statistic() {
            Statistic::Each => self.off == 0 && self.seeds + self.missing > 0,
            _ if self.missing > 0 => false,
            Statistic::Mean => claim.wanted.admits_mean(self.total, self.seeds),
            _ => claim.wanted.admits(value),
        }
    }

    /// The one seed that shows what the figure came to, if one does.
    pub(super) fn witness(&self, statistic: Statistic) -> Option<u64> {
        let extreme = match statistic {
            Statistic::Min => self.min,
            Statistic::Max => self.max,
            _ => None,
        };
        let extreme = extreme.map(|(_, seed)| seed);
        self.first_off.or(self.first_missing).or(extreme)
    }

    /// The smallest value that at least `part` of `whole` do not exceed. Drops the values.
    fn at_rank(&mut self, part: usize, whole: usize) -> Option<i64> {
        let mut all = std::mem::take(&mut self.all);
        all.sort_unstable();
        let rank = (all.len() * part).div_ceil(whole);
        all.get(rank.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Figure, Metric, Wanted};

    fn claim(statistic: Statistic, wanted: Wanted) -> FigureClaim {
        FigureClaim { figure: Figure::Measure(Metric::Effects, statistic), wanted }
    }

    fn series(claim: &FigureClaim, values: impl IntoIterator<Item = Option<i64>>) -> Series {
        let mut series = Series::new();
        for (seed, value) in (10..).zip(values) {
            series.add(claim, seed, value);
        }
        series
    }

    fn value(statistic: Statistic, values: impl IntoIterator<Item = i64>) -> Option<i64> {
        let claim = claim(statistic, ANY);
        series(&claim, values.into_iter().map(Some)).value(statistic)
    }

    const ANY: Wanted = Wanted::Between { min: None, max: None };

    #[test]
    fn each_statistic_is_told_exactly() {
        let values = [3, -1, 4, 1, -5, 9];
        let told = Statistic::ALL.map(|statistic| value(statistic, values));
        assert_eq!(told, [None, Some(-5), Some(1), Some(1), Some(9), Some(9), Some(11)]);
    }

    #[test]
    fn a_rank_is_the_nearest_one_that_enough_values_do_not_exceed() {
        assert_eq!(value(Statistic::Median, 1..=5), Some(3));
        assert_eq!(value(Statistic::Median, 1..=4), Some(2));
        assert_eq!(value(Statistic::P99, 1..=100), Some(99));
        assert_eq!(value(Statistic::P99, 1..=101), Some(100));
        assert_eq!(value(Statistic::P99, 1..=99), Some(99));
        assert_eq!(value(Statistic::P99, []), None);
    }

    #[test]
    fn a_seed_that_is_off_is_counted_and_the_first_is_named() {
        let claim = claim(Statistic::Each, Wanted::Near { is: 5, within: 1 });
        let series = series(&claim, [Some(5), Some(7), None, Some(4), Some(3)]);
        assert_eq!((series.off, series.witness(Statistic::Each)), (3, Some(11)));
        assert!(!series.is_as_wanted(&claim, None));
    }

    #[test]
    fn the_smallest_and_the_largest_are_shown_by_the_seeds_that_had_them_first() {
        let of = |statistic| {
            let claim = claim(statistic, ANY);
            series(&claim, [2, 8, 1, 8, 1].map(Some)).witness(statistic)
        };
        assert_eq!([Statistic::Min, Statistic::Max, Statistic::Total].map(of), [Some(12), Some(11), None]);
    }

    #[test]
    fn what_some_seed_does_not_have_is_not_as_wanted_however_wide() {
        for statistic in Statistic::ALL {
            let claim = claim(statistic, ANY);
            let mut whole = series(&claim, [Some(1), Some(2)]);
            let value = whole.value(statistic);
            assert!(whole.is_as_wanted(&claim, value), "{statistic:?}");
            let mut holed = series(&claim, [Some(1), None]);
            let value = holed.value(statistic);
            assert!(!holed.is_as_wanted(&claim, value), "{statistic:?}");
            assert_eq!(holed.witness(Statistic::Total), Some(11));
        }
    }

    #[test]
    fn only_ranks_keep_a_number_a_seed() {
        for statistic in Statistic::ALL {
            let claim = claim(statistic, ANY);
            let kept = series(&claim, (0..1_000).map(Some)).all.len();
            assert_eq!(kept, if statistic.needs_all() { 1_000 } else { 0 }, "{statistic:?}");
        }
    }
}
