//! Metrics: what is counted or timed in every run.

use host::{Duration, nanos};
use spec::Waits;

use super::{Unit, count};
use crate::run::Run;

/// What is counted or timed in every run. A run has one value of each: of lengths of time the longest
/// (of the margin the shortest), of counts the sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Metric {
    /// How long two promised windows overlapped.
    GrantOverlap,
    /// How long two clients both believed that they may act.
    BeliefOverlap,
    /// By how much the lock servers' ownership outlasted a promise; below zero, if it ended first.
    GrantMargin,
    /// How long a client waited for a lock, from its first try.
    Wait,
    /// How long a lock was wanted and no live client was inside its section.
    Outage,
    /// Accepted operations that were applied after one of a newer grant.
    StaleEffects,
    /// Accepted operations that were applied after a newer grant merely existed.
    AfterNewerGrant,
    /// Accepted writes that were not based on the version that they replaced.
    LostUpdates,
    /// Operations that the resource refused.
    Refused,
    /// Operations that the resource accepted.
    Effects,
    /// Grants.
    Given,
    /// Requests, replies and pushed messages that left a machine.
    Messages,
    /// How often a server, of the lock or of the resource, waited for its disk.
    Syncs,
}

impl Metric {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 13] = [
        Self::GrantOverlap,
        Self::BeliefOverlap,
        Self::GrantMargin,
        Self::Wait,
        Self::Outage,
        Self::StaleEffects,
        Self::AfterNewerGrant,
        Self::LostUpdates,
        Self::Refused,
        Self::Effects,
        Self::Given,
        Self::Messages,
        Self::Syncs,
    ];

    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::GrantOverlap => "grant-overlap",
            Self::BeliefOverlap => "belief-overlap",
            Self::GrantMargin => "grant-margin",
            Self::Wait => "wait",
            Self::Outage => "outage",
            Self::StaleEffects => "stale-effects",
            Self::AfterNewerGrant => "after-newer-grant",
            Self::LostUpdates => "lost-updates",
            Self::Refused => "refused",
            Self::Effects => "effects",
            Self::Given => "given",
            Self::Messages => "messages",
            Self::Syncs => "syncs",
        }
    }

    /// In what it is counted.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Self::GrantOverlap | Self::BeliefOverlap | Self::GrantMargin | Self::Wait | Self::Outage => Unit::Time,
            _ => Unit::Count,
        }
    }

    /// Its value in a run: what the judge measured, and what the kernel counted.
    pub(crate) fn of(self, run: &Run) -> Option<i64> {
        let (measures, counted) = (&run.judgement.measures, run.counted);
        Some(match self {
            Self::GrantOverlap => time(measures.grant_overlap),
            Self::BeliefOverlap => time(measures.belief_overlap),
            Self::GrantMargin => return measures.grant_margin,
            Self::Wait => time(Waits::of(&run.history).longest),
            Self::Outage => time(Waits::of(&run.history).outage),
            Self::StaleEffects => count(measures.stale_effects),
            Self::AfterNewerGrant => count(measures.after_newer_grant),
            Self::LostUpdates => count(measures.lost_updates),
            Self::Refused => count(measures.refused),
            Self::Effects => count(measures.effects),
            Self::Given => count(measures.given),
            Self::Messages => count(counted.messages),
            Self::Syncs => count(counted.syncs),
        })
    }
}

/// What the kernel counts of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Counted {
    /// Requests, replies and pushed messages that left a machine.
    pub messages: u64,
    /// How often a server, of the lock or of the resource, waited for its disk.
    pub syncs: u64,
}

fn time(length: Duration) -> i64 {
    count(nanos(length))
}
