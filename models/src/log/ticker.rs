//! A member's clock: it ticks, on the monotonic clock.

use host::{Duration, MonoTime, nanos};

/// What becomes of ticks that a process was too slow for: it stood still, or waited for its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Late {
    /// One of them comes late, the others are dropped, and the next one comes when it always would have: Go's
    /// `time.Ticker` (`runtime/time.go` adds whole periods), which etcd uses.
    Dropped,
    /// One of them comes late, and the next one an interval later: a thread that sleeps between its rounds, as
    /// `ZooKeeper`'s leader does.
    Shifted,
}

/// When the next tick is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Ticker {
    every: Duration,
    late: Late,
    due: MonoTime,
}

impl Ticker {
    pub(super) const fn new(every: Duration, late: Late, first: MonoTime) -> Self {
        Self { every, late, due: first }
    }

    /// The one that is due is taken at that time. When is the next one?
    pub(super) fn next(&mut self, now: MonoTime) -> MonoTime {
        self.due = match self.late {
            Late::Shifted => now + self.every,
            Late::Dropped => {
                let (late, every) = (nanos(now - self.due), nanos(self.every));
                self.due + Duration::from_nanos((late / every + 1) * every)
            }
        };
        self.due
    }
}

#[cfg(test)]
mod tests {
    use super::{Late, Ticker};
    use host::{Duration, MonoTime};

    const fn at(ms: u64) -> MonoTime {
        MonoTime::from_nanos(ms * 1_000_000)
    }

    #[test]
    fn a_ticker_of_go_keeps_its_beat_and_drops_what_it_was_too_slow_for() {
        let mut ticker = Ticker::new(Duration::from_millis(100), Late::Dropped, at(1_030));
        assert_eq!(ticker.next(at(1_030)), at(1_130));
        assert_eq!(ticker.next(at(1_130)), at(1_230));
        // It stood still from before the tick at 1,230 to 4,555: one tick, and the beat goes on.
        assert_eq!(ticker.next(at(4_555)), at(4_630));
        // A tick late by exactly one interval is two ticks in one.
        assert_eq!(ticker.next(at(4_730)), at(4_830));
    }

    #[test]
    fn a_thread_that_sleeps_between_its_rounds_shifts_its_beat() {
        let mut ticker = Ticker::new(Duration::from_millis(100), Late::Shifted, at(1_030));
        assert_eq!(ticker.next(at(1_030)), at(1_130));
        assert_eq!(ticker.next(at(4_555)), at(4_655));
    }
}
