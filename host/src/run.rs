//! What the kernel knows of a run and the checkers need: what was noted and when, what processes were doing,
//! how it ended.

use serde::{Deserialize, Serialize};

use crate::ids::NodeId;
use crate::time::SimTime;

/// A note with its place in true time: an entry of a history.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Noted<N> {
    /// When, in true time. Entries of a history are in order; equal times keep the order in which
    /// they happened.
    pub at: SimTime,
    /// Who noted it.
    pub node: NodeId,
    /// What.
    pub note: N,
}

/// What a node's process was doing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Activity {
    /// It runs.
    Running,
    /// It stands still (a pause, a sleeping machine, a stopped virtual machine) and does not know.
    Paused,
    /// Its acting part hangs, while others may live: the worker, not the renewal.
    Stalled,
    /// Its lease renewal hangs, while its acting part lives.
    Unrenewed,
    /// There is no process.
    Dead,
}

impl Activity {
    /// Whether the program that acts makes its steps.
    #[must_use]
    pub const fn acts(self) -> bool {
        matches!(self, Self::Running | Self::Unrenewed)
    }

    /// Whether a lease renewal makes its steps.
    #[must_use]
    pub const fn renews(self) -> bool {
        matches!(self, Self::Running | Self::Stalled)
    }

    /// Whether the program that acts makes no step, and does not know.
    #[must_use]
    pub const fn stands_still(self) -> bool {
        matches!(self, Self::Paused | Self::Stalled)
    }
}

/// How a run came to its end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// All clients finished, and nothing was left that could change a verdict.
    Quiet,
    /// True time reached the horizon.
    Horizon,
    /// The event budget was spent.
    Budget,
    /// No event was left, but clients were still waiting.
    Stuck,
}

#[cfg(test)]
mod tests {
    use super::Activity;

    #[test]
    fn who_stands_still_does_not_know_and_the_dead_do_not_stand() {
        let all = [Activity::Running, Activity::Paused, Activity::Stalled, Activity::Unrenewed, Activity::Dead];
        assert_eq!(all.map(Activity::stands_still), [false, true, true, false, false]);
        assert_eq!(all.map(Activity::acts), [true, false, false, true, false]);
        assert_eq!(all.map(Activity::renews), [true, false, true, false, false]);
    }
}
