//! What the machine's clocks read. All processes of a run share one machine, so that its monotonic clock, counted from the
//! run's start, is the true time of all of them.

use host::{MonoTime, Ppm, Segment, SimTime, Ticking, WallTime};
use rustix::time::{ClockId, clock_gettime};

/// `CLOCK_MONOTONIC`.
pub(crate) fn monotonic() -> MonoTime {
    MonoTime::from_nanos(unsigned(ClockId::Monotonic))
}

/// `CLOCK_BOOTTIME`.
pub(crate) fn boottime() -> MonoTime {
    MonoTime::from_nanos(unsigned(ClockId::Boottime))
}

/// `CLOCK_REALTIME`.
pub(crate) fn wall() -> WallTime {
    WallTime::from_nanos(nanos(ClockId::Realtime))
}

/// The true time of a run that began when the monotonic clock read `zero`.
pub(crate) fn since(zero: MonoTime) -> SimTime {
    SimTime::from_nanos(monotonic().as_nanos().saturating_sub(zero.as_nanos()))
}

/// What all clocks read as a run begins; they run true from then on.
pub(crate) fn first_segment() -> Segment {
    let (mono, boot, wall) = (monotonic().as_nanos(), boottime().as_nanos(), wall().as_nanos());
    Segment { since: SimTime::ZERO, mono, boot, wall, rate: Ppm::ZERO, ticking: Ticking::All }
}

fn unsigned(clock: ClockId) -> u64 {
    u64::try_from(nanos(clock)).unwrap_or(0)
}

fn nanos(clock: ClockId) -> i64 {
    let reading = clock_gettime(clock);
    reading.tv_sec * 1_000_000_000 + reading.tv_nsec
}
