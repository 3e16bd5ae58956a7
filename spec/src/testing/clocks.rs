//! What becomes of a machine's clocks.

use host::{Clock, Ppm, SimTime};

use super::Teller;
use crate::history::{Segment, Ticking};

/// A machine.
impl Teller<'_> {
    /// It counts its leases on that clock.
    pub(crate) fn counts_on(self, clock: Clock) -> Self {
        self.story.history.nodes[self.node.index()].lease_clock = clock;
        self
    }

    /// Its clocks run at that rate from now on.
    pub(crate) fn runs_at(self, ppm: i32) -> Self {
        self.sets_clocks(|segment| segment.rate = Ppm::new(ppm))
    }

    /// Its wall clock jumps by so many milliseconds.
    pub(crate) fn steps(self, by: i64) -> Self {
        self.sets_clocks(|segment| segment.wall += by * 1_000_000)
    }

    /// Only those of its clocks run from now on.
    pub(crate) fn ticks(self, ticking: Ticking) -> Self {
        self.sets_clocks(|segment| segment.ticking = ticking)
    }

    fn sets_clocks(self, set: impl FnOnce(&mut Segment)) -> Self {
        let clocks = &mut self.story.history.nodes[self.node.index()].clocks;
        let mut segment = clocks.last().map_or_else(true_clock, |last| last.carried_to(self.story.now));
        set(&mut segment);
        clocks.push(segment);
        self
    }
}

/// A clock that runs true.
pub(super) const fn true_clock() -> Segment {
    Segment { since: SimTime::ZERO, mono: 0, boot: 0, wall: 0, rate: Ppm::ZERO, ticking: Ticking::All }
}
