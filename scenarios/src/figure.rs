//! Figures: what a scenario may expect of a run beside verdicts, as numbers.
//!
//! Every figure has one value a run, or none (an instant at which nothing happened). All values are
//! whole: ns of a length of time or an instant, a count, or parts per million of the seeds.
//!
//! | figure | in the file | value of a run |
//! |---|---|---|
//! | a metric | `measure.METRIC.STATISTIC` | see [`Metric`] |
//! | a first break | `first.PROPERTY` | the instant at which the property was first broken |
//! | a share | `share.PROPERTY` | none: it is of all runs together |
//! | a milestone | `reach` | the instant at which a client came there |

mod metric;

use host::SimTime;
use spec::{Judgement, Property, Verdict};

pub use self::metric::{Counted, Metric};
use crate::cell::Milestone;

/// In what a figure is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// In ns.
    Time,
    /// Things.
    Count,
    /// In parts per million.
    Share,
}

impl Unit {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Time => "ns",
            Self::Count => "count",
            Self::Share => "ppm",
        }
    }
}

/// Of which of a metric's values something is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Statistic {
    /// Of the value of every seed.
    Each,
    /// Of the smallest.
    Min,
    /// Of the one in the middle; of an even number, of the lower of the two.
    Median,
    /// Of their sum divided by their number, exactly.
    Mean,
    /// Of the smallest that at least 99 of 100 do not exceed.
    P99,
    /// Of the largest.
    Max,
    /// Of their sum.
    Total,
}

impl Statistic {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 7] = [Self::Each, Self::Min, Self::Median, Self::Mean, Self::P99, Self::Max, Self::Total];

    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Each => "each",
            Self::Min => "min",
            Self::Median => "median",
            Self::Mean => "mean",
            Self::P99 => "p99",
            Self::Max => "max",
            Self::Total => "total",
        }
    }

    /// Whether it can only be told from all values together.
    pub(crate) const fn needs_all(self) -> bool {
        matches!(self, Self::Median | Self::P99)
    }
}

/// What is expected to be some number.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Figure {
    /// A statistic of a metric.
    Measure(Metric, Statistic),
    /// When the property is first broken, in every seed in which it is.
    First(Property),
    /// In how many of the seeds the property is broken.
    Share(Property),
    /// When a milestone is reached, in every seed.
    Reach(Milestone),
}

impl Figure {
    /// In what it is counted.
    #[must_use]
    pub const fn unit(&self) -> Unit {
        match self {
            Self::Measure(metric, _) => metric.unit(),
            Self::First(_) | Self::Reach(_) => Unit::Time,
            Self::Share(_) => Unit::Share,
        }
    }

    /// Its path in scenario files and results: `measure.effects.total`, `reach.A.granted`.
    #[must_use]
    pub fn path(&self) -> String {
        match self {
            Self::Measure(metric, statistic) => format!("measure.{}.{}", metric.name(), statistic.name()),
            Self::First(property) => format!("first.{}", property.name()),
            Self::Share(property) => format!("share.{}", property.name()),
            Self::Reach(Milestone { client, point, nth, .. }) => {
                let client = client.as_ref().map_or_else(String::new, |client| format!("{client}."));
                let nth = if *nth == 1 { String::new() } else { format!(".{nth}") };
                format!("reach.{client}{}{nth}", point.0)
            }
        }
    }

    /// Whether a seed without a value is no matter: what is never broken is never first broken.
    pub(crate) const fn may_be_missing(&self) -> bool {
        matches!(self, Self::First(_))
    }

    /// Of which values of the seeds it is told.
    pub(crate) const fn statistic(&self) -> Statistic {
        match self {
            Self::Measure(_, statistic) => *statistic,
            Self::First(_) | Self::Reach(_) => Statistic::Each,
            Self::Share(_) => Statistic::Total,
        }
    }
}

/// What a figure is expected to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wanted {
    /// So much, or at most `within` more or less.
    Near {
        /// So much.
        is: i64,
        /// By how much it may be off.
        within: i64,
    },
    /// Neither less nor more than that.
    Between {
        /// The least; `None`: as little as there can be.
        min: Option<i64>,
        /// The most; `None`: as much as there can be.
        max: Option<i64>,
    },
    /// An instant that never comes.
    Never,
}

impl Wanted {
    /// Whether a value is as wanted. `None`: what was to be timed did not happen.
    #[must_use]
    pub fn admits(self, value: Option<i64>) -> bool {
        match (value, self) {
            (None, wanted) => wanted == Self::Never,
            (Some(value), wanted) => wanted.admits_mean(value.into(), 1),
        }
    }

    /// Whether the mean of so many values with that sum is as wanted; nothing is rounded.
    #[must_use]
    pub fn admits_mean(self, total: i128, count: u64) -> bool {
        let times = |bound: i64| i128::from(bound) * i128::from(count);
        match self {
            Self::Near { is, within } => (total - times(is)).abs() <= times(within),
            Self::Between { min, max } => {
                min.is_none_or(|min| times(min) <= total) && max.is_none_or(|max| total <= times(max))
            }
            Self::Never => false,
        }
    }
}

/// A figure, and what it is expected to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FigureClaim {
    /// What.
    pub figure: Figure,
    /// How much.
    pub wanted: Wanted,
}

/// When a property was first broken in a run, if it was.
pub(crate) fn first_break(judgement: &Judgement, property: Property) -> Option<i64> {
    judgement.verdicts.get(&property).and_then(Verdict::evidence).map(|evidence| instant(evidence.at))
}

/// An instant as a figure's value.
pub(crate) fn instant(at: SimTime) -> i64 {
    count(at.as_nanos())
}

fn count(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_all_different() {
        let mut names: Vec<_> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        names.extend(Statistic::ALL.iter().map(|statistic| statistic.name()));
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }

    #[test]
    fn bounds_belong_to_what_is_wanted() {
        let near = Wanted::Near { is: 10, within: 2 };
        assert_eq!([7, 8, 12, 13].map(|value| near.admits(Some(value))), [false, true, true, false]);
        let between = Wanted::Between { min: Some(-1), max: Some(1) };
        assert_eq!([-2, -1, 1, 2].map(|value| between.admits(Some(value))), [false, true, true, false]);
        let open = Wanted::Between { min: None, max: None };
        assert!([i64::MIN, i64::MAX].into_iter().all(|value| open.admits(Some(value))));
    }

    #[test]
    fn what_did_not_happen_is_wanted_only_if_it_never_should() {
        assert!(Wanted::Never.admits(None) && !Wanted::Never.admits(Some(0)));
        assert!(!Wanted::Between { min: None, max: None }.admits(None));
    }

    #[test]
    fn a_mean_is_not_rounded_before_it_is_compared() {
        let most = Wanted::Between { min: None, max: Some(7) };
        assert!(most.admits_mean(700, 100) && !most.admits_mean(701, 100));
        let near = Wanted::Near { is: -7, within: 1 };
        assert_eq!([-801, -800, -600, -599].map(|total| near.admits_mean(total, 100)), [false, true, true, false]);
    }
}
