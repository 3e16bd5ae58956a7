//! The vocabulary of a history.
//!
//! Four voices speak in it: clients (what they did and believed), lock services (who owns what), the
//! guarded resource (what it accepted and refused), and whatever does side effects. Beside them stand the facts that only the
//! kernel knows: each node's clocks, and when it was running, paused or dead.
//!
//! Attempts carry the oracle's ids; the tokens under test are never trusted for order.

mod authorities;
mod note;

pub use authorities::Authorities;
pub use host::{Activity, Ending, Segment, Ticking};
use host::{Clock, Duration, MonoTime, Name, NodeId, SimTime};
pub use note::{Cause, EffectName, LockName, Mode, Note, ObjectName, OpId, Thread, Token, Version};
use serde::{Deserialize, Serialize};
/// A note with its place in true time.
pub type Entry = host::Noted<Note>;

/// What the kernel knows of one node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct NodeHistory {
    /// Its name in the scenario.
    pub name: Name,
    /// Its clocks, in order; the first segment begins with the run.
    pub clocks: Vec<Segment>,
    /// When its process changed from one activity to another, in order. It is running at first.
    pub activity: Vec<(SimTime, Activity)>,
    /// The clock on which it counts leases: a client its own, a lock server those that it gave.
    pub lease_clock: Clock,
}

/// All that is known of a run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct History {
    /// What was noted, in order.
    pub entries: Vec<Entry>,
    /// By node id.
    pub nodes: Vec<NodeHistory>,
    /// When the run ended, in true time.
    pub end: SimTime,
    /// When it would have ended at the latest.
    pub horizon: SimTime,
    /// How it ended.
    pub ending: Ending,
}

/// The shortest time there is.
pub(crate) const INSTANT: Duration = Duration::from_nanos(1);

impl History {
    /// The first instant after the run: in the one at which it ended, things still happened.
    pub(crate) fn over(&self) -> SimTime {
        self.end + INSTANT
    }

    /// The true instant from which on the clock on which the node counts its leases reads at least `reading`:
    /// the first one, of a clock that is never set back. [`SimTime::NEVER`] if it has not by the end of its
    /// last segment's reach.
    ///
    /// # Panics
    /// If the node is not in the history.
    #[must_use]
    pub fn when(&self, node: NodeId, reading: MonoTime) -> SimTime {
        let NodeHistory { clocks, lease_clock, .. } = &self.nodes[node.index()];
        // The clock reaches the reading in the last segment that begins below it, or is set past it as that
        // ends: the next one, if there is one, begins with more.
        let is_below = |segment: &Segment| lease_clock.first_of(segment) < reading;
        let below = match lease_clock {
            Clock::Monotonic | Clock::Boottime => clocks.partition_point(is_below),
            Clock::Wall => clocks.iter().rposition(is_below).map_or(0, |last| last + 1),
        };
        let within = clocks.get(below.saturating_sub(1));
        let reached = within.and_then(|segment| segment.when(lease_clock.deadline(reading)));
        let next = clocks.get(below).filter(|_| below > 0).map_or(SimTime::NEVER, |next| next.since);
        reached.unwrap_or(SimTime::NEVER).min(next)
    }

    /// What the clock of a node reads then on which it counts leases.
    pub(crate) fn reading(&self, node: NodeId, at: SimTime) -> MonoTime {
        let NodeHistory { clocks, lease_clock, .. } = &self.nodes[node.index()];
        let place = clocks.partition_point(|segment| segment.since <= at);
        lease_clock.at(&clocks[place.saturating_sub(1)], at)
    }
}

impl NodeHistory {
    /// What its process was doing at that instant; if it changed just then, what it changed to.
    #[must_use]
    pub fn doing(&self, at: SimTime) -> Activity {
        let changes = self.activity.partition_point(|(since, _)| *since <= at);
        changes.checked_sub(1).map_or(Activity::Running, |last| self.activity[last].1)
    }

    /// The stretches between two instants, the second excluded, during which its process was doing one of
    /// those things: as long as they can be, in order.
    pub(crate) fn stretches(
        &self,
        from: SimTime,
        to: SimTime,
        is: impl Fn(Activity) -> bool,
    ) -> Vec<(SimTime, SimTime)> {
        let mut found: Vec<(SimTime, SimTime)> = Vec::new();
        let first = self.activity.partition_point(|(since, _)| *since <= from);
        let changes = self.activity[first..].iter().copied().take_while(|(at, _)| *at < to);
        let (mut since, mut doing) = (from, self.doing(from));
        for (at, next) in changes.chain([(to, Activity::Dead)]) {
            if is(doing) && since < at {
                match found.last_mut() {
                    Some(last) if last.1 == since => last.1 = at,
                    _ => found.push((since, at)),
                }
            }
            (since, doing) = (at, next);
        }
        found
    }
}

#[cfg(test)]
mod tests;
