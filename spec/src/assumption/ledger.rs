//! What each assumption says of a run, measured from its history.
//!
//! Only assumptions that the lock declares are measured, for any of its properties. Each is measured
//! as it is stated, whether or not its breach did any harm.

use std::collections::BTreeMap;

use host::SimTime;

use super::{Assumption, failover, pause, primary, rate, servers};
use crate::history::Note;
use crate::judge::Case;

/// The declared assumptions that were broken, with the first instant of each.
pub(crate) fn measure(case: &Case<'_>) -> BTreeMap<Assumption, SimTime> {
    let mut declared = [false; Assumption::ALL.len()];
    for need in case.rules.needs.values().flatten() {
        declared[*need as usize] = true;
    }
    let declared = Assumption::ALL.into_iter().filter(|assumption| declared[*assumption as usize]);
    declared.filter_map(|assumption| Some((assumption, first_breach(case, assumption)?))).collect()
}

fn first_breach(case: &Case<'_>, assumption: Assumption) -> Option<SimTime> {
    match assumption {
        Assumption::PauseWithinValidity => pause::first_beyond_validity(case),
        Assumption::RateWithinDrift => rate::first_beyond_drift(case),
        Assumption::NoStep => servers::first_step(case),
        Assumption::DelayedRestart => servers::first_hasty_restart(case),
        Assumption::SyncedDisk => servers::first_loss_of_a_disk(case),
        Assumption::NoLossyFailover => failover::first_loss(case),
        Assumption::OnePrimary => primary::first_beside_another(case),
        Assumption::ResourceChecksTokens => {
            // True of the whole run, but no matter if nobody came to the resource.
            (!case.rules.resource_checks_tokens && resource_was_reached(case)).then_some(SimTime::ZERO)
        }
    }
}

fn resource_was_reached(case: &Case<'_>) -> bool {
    let is_operation = |note: &Note| {
        matches!(note, Note::Read { .. } | Note::Wrote { .. } | Note::Marked { .. } | Note::Refused { .. })
    };
    case.grants.mentions.acting.iter().any(|mention| is_operation(&case.history.entries[mention.entry].note))
}

/// The earlier of two instants, if there is any.
pub(super) fn earlier(a: Option<SimTime>, b: Option<SimTime>) -> Option<SimTime> {
    [a, b].into_iter().flatten().min()
}

#[cfg(test)]
mod tests {
    use crate::Assumption;
    use crate::testing::{Story, ms};

    #[test]
    fn a_resource_that_compares_no_tokens_breaks_that_promise_from_the_start() {
        let mut story = Story::new();
        story.declare(Assumption::ResourceChecksTokens);
        story.at(10).client(1).takes(100).read(0);
        assert_eq!(story.breach(Assumption::ResourceChecksTokens), Some(ms(0)));
        story.rules.resource_checks_tokens = true;
        assert_eq!(story.breach(Assumption::ResourceChecksTokens), None);
    }

    #[test]
    fn a_mark_reaches_the_resource_too() {
        let mut story = Story::new();
        story.declare(Assumption::ResourceChecksTokens);
        story.at(10).client(1).takes(100).marked();
        assert_eq!(story.breach(Assumption::ResourceChecksTokens), Some(ms(0)));
    }

    #[test]
    fn a_resource_that_nobody_reached_breaks_no_promise() {
        let mut story = Story::new();
        story.declare(Assumption::ResourceChecksTokens);
        story.at(10).client(1).takes(100).checked().left();
        assert_eq!(story.breach(Assumption::ResourceChecksTokens), None);
    }

    #[test]
    fn what_a_lock_does_not_declare_is_not_measured() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        assert!(story.judged().broken_assumptions.is_empty());
    }
}
