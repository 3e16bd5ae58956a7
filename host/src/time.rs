//! Four kinds of time, four types, so that none can be taken for another.
//!
//! | type | what it counts | who may read it |
//! |---|---|---|
//! | [`SimTime`] | true time since the run began | kernel and checkers only |
//! | [`MonoTime`] | a machine's monotonic clock (or its boot-time clock) | the machine's own programs |
//! | [`WallTime`] | a machine's wall clock, since 1970 | the machine's own programs |
//! | [`Duration`] | a length of time on whichever clock it is spent | everybody |
//!
//! All are whole nanoseconds. Nothing here is a float.

pub use core::time::Duration;

use core::fmt;
use core::ops::{Add, Sub};

use serde::{Deserialize, Serialize};

/// The whole nanoseconds of a duration.
///
/// # Panics
/// If the duration is longer than 584 years; the scenario loader refuses such durations.
#[must_use]
pub fn nanos(duration: Duration) -> u64 {
    whole_nanos(duration).expect("a duration in a run is shorter than 584 years")
}

/// As [`nanos`], but the longest that can be told for all that is longer.
#[inline]
fn saturated(duration: Duration) -> u64 {
    duration.as_secs().saturating_mul(1_000_000_000).saturating_add(u64::from(duration.subsec_nanos()))
}

/// In 64 bits, since every event adds durations to times; `Duration::as_nanos` takes 128.
#[inline]
fn whole_nanos(duration: Duration) -> Option<u64> {
    duration.as_secs().checked_mul(1_000_000_000)?.checked_add(u64::from(duration.subsec_nanos()))
}

/// True time: nanoseconds since the run began. No machine can read it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct SimTime(u64);

impl SimTime {
    /// The beginning of the run.
    pub const ZERO: Self = Self(0);
    /// Later than every instant of every run.
    pub const NEVER: Self = Self(u64::MAX);

    /// The instant `nanos` nanoseconds after the run began.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the run began.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// How long after `earlier` this is; zero if it is not after it.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl SimTime {
    /// So many ns later; saturates at [`NEVER`](Self::NEVER).
    #[inline]
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

impl Add<Duration> for SimTime {
    type Output = Self;
    /// Saturates at [`SimTime::NEVER`].
    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(saturated(duration)))
    }
}

impl fmt::Debug for SimTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for SimTime {
    /// Seconds with nine decimals, as in `12.004000000s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:09}s", self.0 / 1_000_000_000, self.0 % 1_000_000_000)
    }
}

/// A reading of a machine's monotonic clock, or of its boot-time clock: nanoseconds since some
/// instant of the machine's own. It never goes back; it means nothing on another machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
pub struct MonoTime(u64);

impl MonoTime {
    /// The reading `nanos` nanoseconds after the clock's origin.
    #[must_use]
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// Nanoseconds since the clock's origin.
    #[must_use]
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// What is left until `self`, read at `now`: zero if `self` has passed.
    #[must_use]
    pub const fn left(self, now: Self) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(now.0))
    }
}

impl Sub for MonoTime {
    type Output = Duration;
    /// The time between two readings of one clock.
    ///
    /// # Panics
    /// If `earlier` is later: a monotonic clock never goes back, so the operands were swapped.
    fn sub(self, earlier: Self) -> Duration {
        Duration::from_nanos(self.0.checked_sub(earlier.0).expect("a monotonic clock never goes back"))
    }
}

impl Add<Duration> for MonoTime {
    type Output = Self;
    /// Saturates: so late, no clock comes. `Duration::MAX` is a program's way to say "for ever".
    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add(saturated(duration)))
    }
}

impl Sub<Duration> for MonoTime {
    type Output = Self;
    /// Saturates at the clock's origin.
    fn sub(self, duration: Duration) -> Self {
        Self(self.0.saturating_sub(saturated(duration)))
    }
}

/// A reading of a machine's wall clock: nanoseconds since 1970. It may be stepped either way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct WallTime(i64);

impl WallTime {
    /// The reading `nanos` nanoseconds after (or, if negative, before) 1970.
    #[must_use]
    pub const fn from_nanos(nanos: i64) -> Self {
        Self(nanos)
    }

    /// The reading `millis` whole milliseconds after 1970.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since 1970.
    #[must_use]
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// Whole milliseconds since 1970, rounded down, as `gettimeofday` gives them to Redis.
    #[must_use]
    pub const fn millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }
}

impl Add<Duration> for WallTime {
    type Output = Self;
    /// Saturates, as the monotonic clock's readings do.
    #[inline]
    fn add(self, duration: Duration) -> Self {
        Self(self.0.saturating_add_unsigned(saturated(duration)))
    }
}

/// When a service's timer is due, and on which of its clocks: every timer in a model names the clock
/// that the real system reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deadline {
    /// On the monotonic clock: stops while the machine sleeps.
    Mono(MonoTime),
    /// On the boot-time clock: counts the sleep.
    Boot(MonoTime),
    /// On the wall clock: a step moves it.
    Wall(WallTime),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wall_milliseconds_round_down_on_both_sides_of_1970() {
        assert_eq!(WallTime::from_nanos(1_999_999).millis(), 1);
        assert_eq!(WallTime::from_nanos(-1).millis(), -1);
    }

    #[test]
    fn what_has_passed_is_not_left_and_what_is_to_come_is_not_past() {
        let [early, late] = [3, 8].map(MonoTime::from_nanos);
        assert_eq!((late.left(early).as_nanos(), early.left(late).as_nanos()), (5, 0));
        let [early, late] = [3, 8].map(SimTime::from_nanos);
        assert_eq!((late.since(early).as_nanos(), early.since(late).as_nanos()), (5, 0));
    }

    #[test]
    fn a_reading_saturates_where_its_range_ends() {
        let (mono, wall) = (MonoTime::from_nanos(5), WallTime::from_nanos(5));
        assert_eq!((mono + Duration::MAX).as_nanos(), u64::MAX);
        assert_eq!((mono - Duration::MAX).as_nanos(), 0);
        assert_eq!((wall + Duration::MAX).as_nanos(), i64::MAX);
        assert_eq!(SimTime::from_nanos(5) + Duration::MAX, SimTime::NEVER);
    }

    #[test]
    fn true_time_prints_as_seconds() {
        assert_eq!(SimTime::from_nanos(12_004_000_000).to_string(), "12.004000000s");
    }
}
