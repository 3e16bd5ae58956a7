//! A machine's clocks as straight pieces, exact both ways, in integers only.
//!
//! Every machine has three clocks that share one oscillator, and so one rate error. They differ in
//! what stops and what steps them:
//!
//! | clock | steps | stands still while the machine sleeps | while the virtual machine is stopped |
//! |---|---|---|---|
//! | monotonic | never | yes | yes |
//! | boot time | never | no | yes |
//! | wall | either way | no | yes |
//!
//! A slew is a rate error that lasts for a while: it moves all three. At the end of their range, centuries
//! away, clocks stand.

use serde::{Deserialize, Serialize};

use crate::program::Host;
use crate::ratio::Ppm;
use crate::time::{Deadline, Duration, MonoTime, SimTime, WallTime};

/// One of a machine's clocks, as a program chooses it to count on.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// `CLOCK_MONOTONIC`.
    #[default]
    Monotonic,
    /// `CLOCK_BOOTTIME`.
    Boottime,
    /// `CLOCK_REALTIME`.
    Wall,
}

impl Clock {
    /// What it reads in that process, as a count of ns. The wall clock's may go back.
    pub fn read(self, host: &impl Host) -> MonoTime {
        match self {
            Self::Monotonic => host.monotonic(),
            Self::Boottime => host.boottime(),
            Self::Wall => MonoTime::from_nanos(u64::try_from(host.wall().as_nanos()).unwrap_or(0)),
        }
    }

    /// What it reads at that instant, which lies in the segment. (The wall clock's reading, as in [`read`](Self::read).)
    #[must_use]
    pub fn at(self, segment: &Segment, at: SimTime) -> MonoTime {
        match self {
            Self::Monotonic => segment.mono_at(at),
            Self::Boottime => segment.boot_at(at),
            Self::Wall => MonoTime::from_nanos(u64::try_from(segment.wall_at(at).as_nanos()).unwrap_or(0)),
        }
    }

    /// What it reads as a segment begins.
    #[must_use]
    pub fn first_of(self, segment: &Segment) -> MonoTime {
        MonoTime::from_nanos(match self {
            Self::Monotonic => segment.mono,
            Self::Boottime => segment.boot,
            Self::Wall => u64::try_from(segment.wall).unwrap_or(0),
        })
    }

    /// The instant at which it reads so much.
    #[must_use]
    pub fn deadline(self, reading: MonoTime) -> Deadline {
        match self {
            Self::Monotonic => Deadline::Mono(reading),
            Self::Boottime => Deadline::Boot(reading),
            Self::Wall => Deadline::Wall(WallTime::from_nanos(i64::try_from(reading.as_nanos()).unwrap_or(i64::MAX))),
        }
    }

    /// By how much it counts in a million of true time, in such a segment.
    #[must_use]
    pub const fn rate_in(self, segment: &Segment) -> u64 {
        let runs = match self {
            Self::Monotonic => matches!(segment.ticking, Ticking::All),
            Self::Boottime | Self::Wall => !matches!(segment.ticking, Ticking::None),
        };
        if runs { segment.rate.per_million() } else { 0 }
    }
}

/// Which of a machine's clocks run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ticking {
    /// All of them.
    All,
    /// Boot time and wall clock; the monotonic clock stands (the machine sleeps).
    AllButMonotonic,
    /// None (the virtual machine is stopped).
    None,
}

/// A straight piece of a node's clocks: from `since` to the next segment they run at one rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Segment {
    /// When it begins, in true time.
    pub since: SimTime,
    /// What the monotonic clock reads then, in ns.
    pub mono: u64,
    /// What the boot-time clock reads then, in ns.
    pub boot: u64,
    /// What the wall clock reads then, in ns since 1970.
    pub wall: i64,
    /// The rate error of all three.
    pub rate: Ppm,
    /// Which of them run.
    pub ticking: Ticking,
}

impl Segment {
    /// What the monotonic clock reads at `at`, which is not before the segment.
    #[inline]
    #[must_use]
    pub fn mono_at(&self, at: SimTime) -> MonoTime {
        let counted = if self.ticking == Ticking::All { self.counted(at) } else { 0 };
        MonoTime::from_nanos(self.mono.saturating_add(counted))
    }

    /// What the boot-time clock reads at `at`, which is not before the segment.
    #[inline]
    #[must_use]
    pub fn boot_at(&self, at: SimTime) -> MonoTime {
        let counted = if self.ticking == Ticking::None { 0 } else { self.counted(at) };
        MonoTime::from_nanos(self.boot.saturating_add(counted))
    }

    /// What the wall clock reads at `at`, which is not before the segment.
    #[inline]
    #[must_use]
    pub fn wall_at(&self, at: SimTime) -> WallTime {
        let counted = if self.ticking == Ticking::None { 0 } else { self.counted(at) };
        WallTime::from_nanos(self.wall.saturating_add_unsigned(counted))
    }

    /// What all of them read at `at`, which is not before the segment: monotonic, boot time, wall.
    #[inline]
    #[must_use]
    pub fn all_at(&self, at: SimTime) -> (MonoTime, MonoTime, WallTime) {
        let counted = self.counted(at);
        let (mono, others) = match self.ticking {
            Ticking::All => (counted, counted),
            Ticking::AllButMonotonic => (0, counted),
            Ticking::None => (0, 0),
        };
        (
            MonoTime::from_nanos(self.mono.saturating_add(mono)),
            MonoTime::from_nanos(self.boot.saturating_add(others)),
            WallTime::from_nanos(self.wall.saturating_add_unsigned(others)),
        )
    }

    /// When, within this segment taken to last for ever, the monotonic clock first reads at least
    /// `reading`. `None`: it stands still and never does.
    #[inline]
    #[must_use]
    pub fn when_mono(&self, reading: MonoTime) -> Option<SimTime> {
        self.after(reading.as_nanos().saturating_sub(self.mono), self.ticking == Ticking::All)
    }

    /// What the monotonic clock reads when it has counted so much from `at` on, and when that is; see
    /// [`when_mono`](Self::when_mono).
    #[inline]
    #[must_use]
    pub fn mono_after(&self, at: SimTime, counted: Duration) -> (MonoTime, Option<SimTime>) {
        let end = self.mono_at(at) + counted;
        if self.rate == Ppm::ZERO && self.ticking == Ticking::All && end.as_nanos() < u64::MAX {
            // It counts true time, and none was cut off.
            return (end, Some(at + counted));
        }
        (end, self.when_mono(end))
    }

    /// When, within this segment taken to last for ever, the clock that the deadline names first
    /// reads at least that. `None`: it stands still and never does.
    #[inline]
    #[must_use]
    pub fn when(&self, deadline: Deadline) -> Option<SimTime> {
        match deadline {
            Deadline::Mono(reading) => self.when_mono(reading),
            Deadline::Boot(reading) => {
                self.after(reading.as_nanos().saturating_sub(self.boot), self.ticking != Ticking::None)
            }
            Deadline::Wall(reading) => {
                let ahead = reading.as_nanos().saturating_sub(self.wall);
                self.after(u64::try_from(ahead).unwrap_or(0), self.ticking != Ticking::None)
            }
        }
    }

    /// The segment that follows from `at` on with nothing changed: the clocks' readings carried over.
    #[must_use]
    pub fn carried_to(&self, at: SimTime) -> Self {
        Self {
            since: at,
            mono: self.mono_at(at).as_nanos(),
            boot: self.boot_at(at).as_nanos(),
            wall: self.wall_at(at).as_nanos(),
            ..*self
        }
    }

    /// How many ns a running clock has counted since the segment began, rounded down.
    #[inline]
    fn counted(&self, at: SimTime) -> u64 {
        let true_time = at.as_nanos() - self.since.as_nanos();
        if self.rate == Ppm::ZERO { true_time } else { ratio(true_time, self.rate.per_million(), Ppm::WHOLE, false) }
    }

    /// The first true instant at which a clock of this rate has counted `counted` ns.
    #[inline]
    fn after(&self, counted: u64, runs: bool) -> Option<SimTime> {
        if counted == 0 {
            return Some(self.since);
        }
        if !runs {
            return None;
        }
        let true_time =
            if self.rate == Ppm::ZERO { counted } else { ratio(counted, Ppm::WHOLE, self.rate.per_million(), true) };
        Some(SimTime::from_nanos(self.since.as_nanos().saturating_add(true_time)))
    }
}

/// `value * by / of`, rounded up or down; saturates.
fn ratio(value: u64, by: u64, of: u64, up: bool) -> u64 {
    if let Some(product) = value.checked_mul(by) {
        return if up { product.div_ceil(of) } else { product / of };
    }
    let (product, of) = (u128::from(value) * u128::from(by), u128::from(of));
    u64::try_from(if up { product.div_ceil(of) } else { product / of }).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segment(since: u64, rate: i32, ticking: Ticking) -> Segment {
        Segment { since: SimTime::from_nanos(since), mono: 5, boot: 7, wall: 11, rate: Ppm::new(rate), ticking }
    }

    #[test]
    fn conversion_is_exact_both_ways() {
        for rate in [-500_000, -200, -1, 0, 1, 137, 500_000] {
            for since in [0, 17, 1 << 40] {
                let clock = segment(since, rate, Ticking::All);
                for reading in (5..2_000).chain((1 << 50)..(1 << 50) + 500) {
                    let reading = MonoTime::from_nanos(reading);
                    let at = clock.when_mono(reading).expect("the clock runs");
                    assert_eq!(clock.all_at(at), (clock.mono_at(at), clock.boot_at(at), clock.wall_at(at)));
                    assert!(clock.mono_at(at) >= reading);
                    let just_before = SimTime::from_nanos(at.as_nanos().saturating_sub(1));
                    assert!(at == clock.since || clock.mono_at(just_before) < reading, "{rate} {reading:?}");
                }
            }
        }
    }

    #[test]
    fn what_it_reads_a_while_later_is_what_it_then_reads() {
        let tickings = [Ticking::All, Ticking::AllButMonotonic, Ticking::None];
        for clock in tickings.into_iter().flat_map(|ticking| {
            [(0, 0), (0, 137), (1 << 40, -200), (1 << 40, 0)].map(|(since, rate)| segment(since, rate, ticking))
        }) {
            for (passed, wait) in [(0, 0), (0, 1), (17, 1_000_003), (1 << 50, 10_000_000_000), (3, u64::MAX)] {
                let (at, wait) = (clock.since.plus_nanos(passed), Duration::from_nanos(wait));
                let end = clock.mono_at(at) + wait;
                assert_eq!(clock.mono_after(at, wait), (end, clock.when_mono(end)), "{clock:?} {at:?} {wait:?}");
            }
        }
    }

    #[test]
    fn a_sleeping_machine_counts_boot_time_and_wall_only() {
        let clock = segment(100, 0, Ticking::AllButMonotonic);
        let later = SimTime::from_nanos(1_100);
        assert_eq!(clock.mono_at(later).as_nanos(), 5);
        assert_eq!(clock.boot_at(later).as_nanos(), 1_007);
        assert_eq!(clock.wall_at(later).as_nanos(), 1_011);
        assert_eq!(clock.all_at(later), (clock.mono_at(later), clock.boot_at(later), clock.wall_at(later)));
        assert_eq!(clock.when(Deadline::Mono(MonoTime::from_nanos(6))), None);
        assert_eq!(clock.when(Deadline::Boot(MonoTime::from_nanos(8))), Some(SimTime::from_nanos(101)));
    }

    #[test]
    fn a_stopped_machine_counts_nothing() {
        let clock = segment(100, 0, Ticking::None);
        let later = SimTime::from_nanos(1_100);
        assert_eq!((clock.boot_at(later).as_nanos(), clock.wall_at(later).as_nanos()), (7, 11));
        assert_eq!(clock.all_at(later), (clock.mono_at(later), clock.boot_at(later), clock.wall_at(later)));
        assert_eq!(clock.when(Deadline::Wall(WallTime::from_nanos(12))), None);
    }

    #[test]
    fn at_the_end_of_their_range_clocks_stand() {
        let clock = Segment { wall: 1 << 62, ..segment(0, 0, Ticking::All) };
        assert_eq!(clock.mono_at(SimTime::NEVER).as_nanos(), u64::MAX);
        assert_eq!(clock.boot_at(SimTime::NEVER).as_nanos(), u64::MAX);
        assert_eq!(clock.wall_at(SimTime::NEVER).as_nanos(), i64::MAX);
    }

    #[test]
    fn a_deadline_that_has_passed_is_due_at_once() {
        let clock = segment(100, 0, Ticking::None);
        assert_eq!(clock.when(Deadline::Wall(WallTime::from_nanos(-4))), Some(clock.since));
        assert_eq!(clock.when_mono(MonoTime::from_nanos(5)), Some(clock.since));
    }
}
