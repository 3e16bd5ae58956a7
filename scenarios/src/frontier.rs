//! Frontiers: where, along an axis that is a range, something turns.
//!
//! An axis with `bisect` is a range of which only the values are played that it takes to find the two
//! neighbours between which a *criterion* turns: a property is broken in some seed on the one side and in none
//! on the other; a metric is above zero in some seed, and in none (for the margin: below zero). It turns once
//! along the axis, or the search finds one of the places where it does.
//!
//! A frontier can be held against a number, and against a closed form: what a line of arithmetic, with a
//! source, says of the same world.

use host::{Duration, nanos};
use models::lock::Lock;
use spec::{Property, Verdict};

use crate::figure::{Metric, Unit};
use crate::run::Run;

/// What turns along a bisected axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Criterion {
    /// The metric is above zero; the margin: below zero.
    Metric(Metric),
    /// The property is broken.
    Property(Property),
}

impl Criterion {
    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Metric(metric) => metric.name(),
            Self::Property(property) => property.name(),
        }
    }

    /// Whether a run lies beyond it.
    pub(crate) fn is_met(self, run: &Run) -> bool {
        match self {
            Self::Property(property) => run.judgement.verdicts.get(&property).is_some_and(Verdict::is_broken),
            Self::Metric(metric) => metric.of(run).is_some_and(|value| match metric {
                Metric::GrantMargin => value < 0,
                _ => value > 0,
            }),
        }
    }
}

/// How a range is searched.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bisection {
    /// For what.
    pub criterion: Criterion,
    /// In what its values are: lengths of time or numbers.
    pub unit: Unit,
    /// All its values, upwards.
    pub values: Vec<i64>,
}

/// What is expected of a frontier. Numbers are in the axis' unit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrontierClaim {
    /// Where it lies, if a number is given.
    pub is: Option<i64>,
    /// How far off its two sides may be.
    pub within: i64,
    /// What arithmetic says, and where it says that the frontier lies.
    pub closed_form: Option<(ClosedForm, i64)>,
}

/// Between which neighbours the criterion turns, on one line of cells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frontier {
    /// The first cell of the line: an index into the scenario's.
    pub line: usize,
    /// The two values, the lower one first. `None`: both ends of the axis lie on one side.
    pub between: Option<(i64, i64)>,
    /// Whether it is as expected.
    pub as_expected: bool,
}

impl FrontierClaim {
    /// Whether both sides lie where they are expected.
    #[must_use]
    pub fn admits(&self, between: Option<(i64, i64)>) -> bool {
        let Some((below, above)) = between else { return false };
        let near = |is: i64| is.saturating_sub(self.within) <= below && above <= is.saturating_add(self.within);
        self.is.is_none_or(near) && self.closed_form.is_none_or(|(_, is)| near(is))
    }
}

/// Looks for the two neighbours of `0..count` between which `is_beyond` turns; both ends are looked at first.
/// `Some(None)`: they are alike. `None`: it was stopped.
pub(crate) fn bisect(count: usize, mut is_beyond: impl FnMut(usize) -> Option<bool>) -> Option<Option<(usize, usize)>> {
    let (mut below, mut above) = (0, count - 1);
    let first = is_beyond(below)?;
    if first == is_beyond(above)? {
        return Some(None);
    }
    while above - below > 1 {
        let middle = below.midpoint(above);
        if is_beyond(middle)? == first {
            below = middle;
        } else {
            above = middle;
        }
    }
    Some(Some((below, above)))
}

/// The most values of an axis that a search looks at.
pub(crate) const fn most_steps(count: usize) -> usize {
    2 + count.saturating_sub(1).next_power_of_two().ilog2() as usize
}

/// Arithmetic that says where a frontier lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ClosedForm {
    /// By how many ppm a lock server's clock may run faster than a true holder's, before a key of the lease
    /// ends before the promise: `drift/(TTL - drift)`, rounded down.
    ///
    /// Source: a key lives at least `TTL/r` of true time after it was asked for, if its server's clock runs `r`
    /// times as fast, and a promise made on a true clock ends `TTL - drift` after that. So `r` may be at most
    /// `TTL/(TTL - drift)`. The asymmetry (a fast server is unsafe, a slow one only wasteful) is that of leases
    /// in Gray and Cheriton, "Leases", 1989.
    LeaseDrift,
    /// How long a holder may stand still that began to so long `after` it asked for the lock, before its own
    /// deadline passes: `TTL - drift - after`.
    ///
    /// Source: "Distributed Locks with Redis" gives the validity of a lock as its time to live, less what it
    /// took to get it, less the allowance for clock drift.
    PauseValidity {
        /// So long after it had asked.
        after: Duration,
    },
    /// By how much a lock server's wall clock must be set forward for its key to be gone so long `after` it was
    /// set: `TTL - after`, the remaining time to live.
    ///
    /// Source: Kleppmann, "How to do distributed locking", 2016: a clock that jumps forward past the end of the
    /// lease ends it at once. A smaller jump ends it earlier than was promised, but not yet.
    JumpRemaining {
        /// So long after it was set.
        after: Duration,
    },
}

impl ClosedForm {
    /// Their names in scenario files and results.
    pub const NAMES: [&str; 3] = ["lease-drift", "pause-validity", "jump-remaining"];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaseDrift => Self::NAMES[0],
            Self::PauseValidity { .. } => Self::NAMES[1],
            Self::JumpRemaining { .. } => Self::NAMES[2],
        }
    }

    /// In what its value is.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::LeaseDrift => Unit::Count,
            Self::PauseValidity { .. } | Self::JumpRemaining { .. } => Unit::Time,
        }
    }

    /// Where the frontier lies for that lock with leases of that length: ppm or ns. Below zero: nowhere.
    #[must_use]
    pub fn value(self, lock: &Lock, ttl: Duration) -> i64 {
        let ns = |length: Duration| i64::try_from(nanos(length)).unwrap_or(i64::MAX);
        match self {
            Self::LeaseDrift => lock.rate_allowance(ttl).get().into(),
            Self::PauseValidity { after } => ns(ttl) - ns(lock.drift_allowance(ttl)) - ns(after),
            Self::JumpRemaining { after } => ns(ttl) - ns(after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(count: usize, turns_at: usize) -> (Option<(usize, usize)>, usize) {
        let mut looked = 0;
        let found = bisect(count, |at| {
            looked += 1;
            Some(at >= turns_at)
        });
        (found.expect("nobody stops it"), looked)
    }

    #[test]
    fn the_two_neighbours_are_found_wherever_it_turns_and_in_few_steps() {
        for count in 2..70 {
            for turns_at in 1..count {
                let (found, looked) = search(count, turns_at);
                assert_eq!(found, Some((turns_at - 1, turns_at)));
                assert!(looked <= most_steps(count), "{looked} of {count}");
            }
            assert_eq!(search(count, 0), (None, 2));
            assert_eq!(search(count, count), (None, 2));
        }
        assert_eq!((most_steps(2), most_steps(3), most_steps(401)), (2, 3, 11));
    }

    #[test]
    fn it_turns_either_way_and_can_be_stopped() {
        assert_eq!(bisect(9, |at| Some(at < 4)), Some(Some((3, 4))));
        assert_eq!(bisect(9, |at| (at != 4).then_some(at > 5)), None);
        assert_eq!(bisect(1, |_| Some(true)), Some(None));
    }

    #[test]
    fn both_sides_lie_within_what_is_expected() {
        let claim = FrontierClaim { is: Some(100), within: 10, closed_form: Some((ClosedForm::LeaseDrift, 105)) };
        assert!(claim.admits(Some((95, 110))));
        for wrong in [Some((94, 110)), Some((95, 111)), None] {
            assert!(!claim.admits(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn closed_forms_are_worked_out_by_hand() {
        let ms = Duration::from_millis;
        let lock = Lock::Redis(models::lock::RedisLock::default());
        let value = |form: ClosedForm| form.value(&lock, ms(10_000));
        // The allowance for 10 s is 102 ms, and 102/9,898 is 0.010305…
        assert_eq!(value(ClosedForm::LeaseDrift), 10_305);
        assert_eq!(value(ClosedForm::PauseValidity { after: ms(2) }), 9_896_000_000);
        assert_eq!(value(ClosedForm::JumpRemaining { after: ms(4_000) }), 6_000_000_000);
        assert_eq!(value(ClosedForm::JumpRemaining { after: ms(11_000) }), -1_000_000_000);
    }
}
