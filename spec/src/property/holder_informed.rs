//! **holder-informed**: a client that takes the lock to be its own, while the service does not (or no
//! longer), is put right within the bound `inform`.
//!
//! Counted is the time during which the client's process runs and believes, as `belief-exclusion` has it:
//! who stands still cannot be told. A client that the service never made the owner is in the wrong from its
//! grant on. A server that is dead has not given the lock to anybody else, and one that comes back and
//! remembers its owners has not let them down.
//!
//! Source: the bug reports on lost locks whose holders work on, such as etcd-io/etcd#11456 (a lock call
//! returns though the lease is gone) and rails/rails#58658 (a silent reconnect).

use host::{Duration, SimTime};

use crate::grants::ClaimId;
use crate::history::Activity;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::owners::Tenure;
use crate::property::belief_exclusion::beliefs;
use crate::property::{Check, Facts};
use crate::verdict::Evidence;
use crate::windows::Stretch;

pub(super) const FACTS: Facts = Facts {
    name: "holder-informed",
    statement: "who has lost the lock may not go on for longer than the bound without knowing",
    level: Level::Tenure,
    check: Check::Within { key: "inform", bound: |bounds| bounds.inform, check },
};

/// Broken once a client has been in the wrong for longer than the bound. In the right is whoever owns the
/// lock then, if anybody does.
fn check(case: &Case<'_>, bound: Duration) -> Finding {
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let tenures = case.owners().by_claim();
    let mut beliefs = beliefs(case, case.liveness_end());
    beliefs.sort_unstable_by_key(|belief| (case.grants[belief.claim].attempt, belief.from));
    let (mut broken, mut open): (Option<Evidence>, Option<ClaimId>) = (None, None);
    for beliefs in beliefs.chunk_by(|a, b| a.claim == b.claim) {
        let claim = beliefs[0].claim;
        for error in errors(&tenures, claim) {
            match judge_error(case, beliefs, &error, bound) {
                Outcome::Corrected => {}
                Outcome::Open => open = open.or(Some(claim)),
                Outcome::Late(at) if broken.as_ref().is_none_or(|broken| at < broken.at) => {
                    broken = Some(evidence(case, &error, claim, at));
                }
                Outcome::Late(_) => {}
            }
        }
    }
    match (broken, open) {
        (Some(evidence), _) => Finding::Broken(evidence),
        (None, Some(_)) => Finding::too_late_to_say("a client took a lost lock to be its own"),
        (None, None) => Finding::Holds,
    }
}

/// A stretch during which the service does not have the claim as the owner, its end excluded.
struct Error {
    from: SimTime,
    to: SimTime,
    /// The tenure that was over before.
    lost: Option<Tenure>,
}

/// The time outside the tenures of a claim.
fn errors(tenures: &[Tenure], claim: ClaimId) -> Vec<Error> {
    let first = tenures.partition_point(|tenure| tenure.claim < claim);
    let own = tenures[first..].iter().take_while(|tenure| tenure.claim == claim);
    let mut errors = vec![Error { from: SimTime::ZERO, to: SimTime::NEVER, lost: None }];
    for tenure in own {
        if let Some(last) = errors.last_mut() {
            last.to = tenure.from;
        }
        errors.push(Error { from: tenure.to, to: SimTime::NEVER, lost: Some(*tenure) });
    }
    errors
}

enum Outcome {
    /// It was put right in time, or did not believe.
    Corrected,
    /// The run ended before.
    Open,
    /// It was not, and here the bound was passed.
    Late(SimTime),
}

/// How long the client believed in it while it ran.
fn judge_error(case: &Case<'_>, beliefs: &[Stretch], error: &Error, bound: Duration) -> Outcome {
    let node = &case.history.nodes[case.grants[beliefs[0].claim].attempt.client().index()];
    let mut left = bound;
    for belief in beliefs {
        let (from, to) = (belief.from.max(error.from), belief.to.min(error.to));
        for (since, until) in node.stretches(from, to, Activity::acts) {
            let lasted = until.since(since);
            if lasted > left {
                return Outcome::Late(since + left);
            }
            left -= lasted;
        }
    }
    let end = case.liveness_end();
    let is_open = beliefs.last().is_some_and(|last| last.to >= end) && error.to > end && error.from < end;
    if is_open { Outcome::Open } else { Outcome::Corrected }
}

fn evidence(case: &Case<'_>, error: &Error, claim: ClaimId, at: SimTime) -> Evidence {
    let owners = case.owners();
    let lock = case.grants[claim].lock;
    let is_owner = |one: &&Tenure| case.grants[one.claim].lock == lock && one.from <= at && at < one.to;
    let owner = owners.tenures.iter().find(is_owner);
    let granted = case.grants[claim].granted.map(|granted| granted.entry);
    let lost = error.lost.as_ref().and_then(|tenure| owners.end_of(tenure));
    Evidence {
        at,
        attempts: owner
            .map(|owner| owner.claim)
            .into_iter()
            .chain([claim])
            .map(|one| case.grants[one].attempt)
            .collect(),
        entries: granted.into_iter().chain(lost).collect(),
        overlap: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Property::HolderInformed;
    use crate::rules::Policy;
    use crate::testing::{Story, lasting, ms};

    /// Client 1, which never looks at its clock, has the lock from 10 ms; it must learn of a loss in 20 ms.
    fn held() -> Story {
        let mut story = Story::new();
        story.rules.bounds.inform = lasting(20);
        story.policy(1, Policy::Naive);
        story.at(10).client(1).takes(100);
        story
    }

    #[test]
    fn who_works_on_without_its_lock_breaks_it() {
        let mut story = held();
        story.at(50).server(1).frees();
        story.at(60).client(2).takes(150);
        story.at(71).client(1).ended();
        let broken = story.broken(HolderInformed);
        assert_eq!((broken.at, broken.overlap), (ms(70), None));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [2, 3], "the grant and the loss");
    }

    #[test]
    fn who_learns_of_it_within_the_bound_does_not() {
        for learns in ["told", "ended", "dead"] {
            let mut story = held();
            story.at(50).server(1).frees();
            let client = story.at(70).client(1);
            let _ = match learns {
                "told" => client.told_of_loss(),
                "ended" => client.ended(),
                _ => client.dies(),
            };
            story.holds(HolderInformed);
        }
    }

    #[test]
    fn a_client_that_looks_at_its_clock_learns_at_its_deadline() {
        let mut story = held();
        story.policy(1, Policy::Checked);
        story.at(80).server(1).frees();
        story.holds(HolderInformed);
        let mut story = held();
        story.policy(1, Policy::Checked);
        story.at(79).server(1).frees();
        assert_eq!(story.broken(HolderInformed).at, ms(99));
    }

    #[test]
    fn only_running_time_counts() {
        let mut story = held();
        story.at(40).client(1).pauses();
        story.at(50).server(1).frees();
        story.at(500).client(1).resumes();
        story.at(510).client(1).hangs();
        story.at(600).client(1).resumes();
        story.at(610).client(1).ended();
        story.holds(HolderInformed);
        story.history.nodes[1].activity[3].0 = ms(599);
        assert_eq!(story.broken(HolderInformed).at, ms(609));
    }

    #[test]
    fn a_claim_that_no_server_ever_owned_is_wrong_from_the_grant_on() {
        let mut story = held();
        story.policy(2, Policy::Naive);
        story.at(20).client(2).asks("orders").granted(150);
        story.at(41).client(2).ended();
        let broken = story.broken(HolderInformed);
        assert_eq!((broken.at, &broken.attempts[..]), (ms(40), &[story.attempt(1), story.attempt(2)][..]));
    }

    #[test]
    fn a_lock_that_was_lost_before_the_grant_is_lost_from_the_grant_on() {
        let mut story = Story::new();
        story.rules.bounds.inform = lasting(20);
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(50).server(1).frees();
        story.at(60).client(1).granted(200);
        story.at(80).client(1).ended();
        story.holds(HolderInformed);
        story.history.entries[4].at = ms(81);
        assert_eq!(story.broken(HolderInformed).at, ms(80));
    }

    #[test]
    fn a_lock_that_was_lost_and_taken_anew_was_lost_in_between() {
        let mut story = held();
        story.at(50).server(1).frees();
        story.at(70).client(1).owned_by(1);
        story.at(90).client(1).ended();
        story.holds(HolderInformed);
        story.history.entries[4].at = ms(71);
        assert_eq!(story.broken(HolderInformed).at, ms(70));
    }

    #[test]
    fn a_service_that_remembers_has_not_let_its_owner_down() {
        let mut story = held();
        story.at(20).server(1).dies();
        story.at(60).server(1).restarts();
        story.at(60).client(1).remembered_by(1);
        story.at(90).client(1).ended();
        story.holds(HolderInformed);
        let mut story = held();
        story.at(20).server(1).dies();
        story.at(60).server(1).restarts();
        story.at(90).client(1).ended();
        assert_eq!(story.broken(HolderInformed).at, ms(80), "and one that does not has");
    }

    #[test]
    fn a_holder_that_has_its_lock_to_the_end_has_nothing_to_learn() {
        held().holds(HolderInformed);
        let mut story = held();
        story.at(50).server(1).frees();
        story.at(55).client(1).owned_by(1);
        story.holds(HolderInformed);
    }

    #[test]
    fn a_run_that_ends_before_the_bound_decides_nothing() {
        let mut story = held();
        story.at(9_990).server(1).frees();
        story.undecided(HolderInformed);
        let mut story = held();
        story.at(9_979).server(1).frees();
        assert_eq!(story.broken(HolderInformed).at, ms(9_999));
    }

    #[test]
    fn where_no_server_says_who_owns_what_it_cannot_be_said() {
        let mut story = Story::new();
        story.rules.bounds.inform = lasting(20);
        story.at(10).client(1).asks("orders").granted(100);
        story.undecided(HolderInformed);
    }
}
