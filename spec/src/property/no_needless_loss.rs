//! **no-needless-loss**: a live holder does not lose its lock while it has a right to it.
//!
//! A holder is a claim in its section whose process does not stand still. It loses the lock when a quorum of
//! servers has it as the owner no more. It has a right to it
//!
//! * while its promised window is open, whatever takes the lock away: an expiry before its time, an
//!   eviction, a server that forgets, somebody else's release, or its own recipe (a renewal that releases
//!   and acquires anew, a clean-up after one error). Its own release closes the window first.
//! * if it is promised for as long as it is owned: unless it is given back, or its session is over, be it with the server whose
//!   session it was, and had not been kept alive for as long as a lease is.
//! * if the lock renews itself, beyond that: when the lease runs out although nothing kept the renewal from
//!   being tried. It was kept from it if a try was under way when the lease ran out (it had no answer, so
//!   the holder was cut off, or the server was busy), or if less than one interval between renewals had
//!   passed since the last try, or since the grant, not counting the time during which the renewal hung or
//!   the whole process stood still.
//!
//! Without the first, a lock is lost that was promised; without the second, a renewal that is given up after
//! one error, or never begun, goes unseen: the promise has run out in peace.
//!
//! Source: the bug reports on renewals that end at the first error (redisson/redisson#2515, hashicorp/consul
//! PR 1162), on a clean-up that takes away what is held (go-redsync/redsync PR 151), and on an extension that
//! deletes (redis/redis-py#4279).

use host::{Duration, NodeId, SimTime};

use crate::grants::ClaimId;
use crate::history::{Activity, Cause, Entry, Note};
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::owners::{Blow, Taking, Tenure};
use crate::property::{Check, Facts};
use crate::rules::Promise;
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "no-needless-loss",
    statement: "a live holder may not lose the lock while it has a right to it",
    level: Level::Tenure,
    check: Check::Looks(check),
};

/// Broken when the lock is lost. The holder was in the right; beside it stands whoever took the lock away.
fn check(case: &Case<'_>) -> Finding {
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let owners = case.owners();
    // By the time of the loss, since they are told in the order in which they began.
    let losses = owners.tenures.iter().filter_map(|tenure| Some((tenure, &owners.takings[tenure.ended_by?])));
    let needless = losses.filter(|(tenure, taking)| is_needless(case, tenure, taking));
    let first = needless.min_by_key(|(tenure, _)| tenure.to);
    first.map(|(tenure, taking)| evidence(case, tenure, taking)).into()
}

fn is_needless(case: &Case<'_>, tenure: &Tenure, taking: &Taking) -> bool {
    let (claim, at) = (tenure.claim, tenure.to);
    let node = &case.history.nodes[case.grants[claim].attempt.client().index()];
    // Whether it was in its section comes last: it takes a look at what became of every claim, which few runs need.
    (case.is_promised(claim, at)
        || is_kept_alive(case, tenure, taking)
        || taking.blow == Blow::Said(Cause::Expiry) && is_neglected(case, claim, at))
        && node.doing(at) != Activity::Paused
        && case.lives()[claim.index()].is_inside(at)
}

/// Whether a lock that is promised for as long as it is owned was taken away although its session had been kept alive.
fn is_kept_alive(case: &Case<'_>, tenure: &Tenure, taking: &Taking) -> bool {
    let (Promise::WhileOwned, Some(ttl)) = (case.rules.promise, case.rules.ttl) else { return false };
    if !matches!(taking.blow, Blow::Said(Cause::Expiry | Cause::SessionEnd) | Blow::Death) {
        return true;
    }
    let upto = case.grants.mentions.owning.partition_point(|said| case.history.entries[said.entry].at < tenure.to);
    // How old its lease was when it became the owner, nobody says.
    let is_kept = |entry: &&Entry| matches!(entry.note, Note::Extended { .. });
    let own = case.grants.mentions.owning[..upto].iter().rev().filter(|said| said.claim == Some(tenure.claim));
    let mut kept = own.map(|said| &case.history.entries[said.entry]).filter(is_kept);
    // Whoever led has counted by its own clock, and that may be a fast one. Who did, is not told: any may have.
    let reads = |counter: NodeId, at| case.history.reading(counter, at);
    let counted = |last: SimTime| {
        case.rules.counting().iter().map(move |node| reads(*node, tenure.to) - reads(*node, last)).max()
    };
    kept.next().and_then(|last| counted(last.at)).is_some_and(|most| most < ttl)
}

/// Whether the lock renews itself, and could have tried once more before that instant.
fn is_neglected(case: &Case<'_>, claim: ClaimId, at: SimTime) -> bool {
    let Some(every) = case.rules.renews else { return false };
    let attempt = case.grants[claim].attempt;
    let upto = case.history.entries.partition_point(|entry| entry.at <= at);
    let last = case.history.entries[..upto].iter().rev().find(|entry| {
        entry.note.attempt() == Some(attempt)
            && matches!(
                entry.note,
                Note::Granted { .. } | Note::Renewing { .. } | Note::Renewed { .. } | Note::RenewalFailed { .. }
            )
    });
    let Some(last) = last.filter(|last| !matches!(last.note, Note::Renewing { .. })) else { return false };
    let node = &case.history.nodes[attempt.client().index()];
    let could = node.stretches(last.at, at, Activity::renews);
    could.iter().map(|(from, to)| to.since(*from)).sum::<Duration>() > every
}

fn evidence(case: &Case<'_>, tenure: &Tenure, taking: &Taking) -> Evidence {
    let holder = case.grants[tenure.claim].attempt;
    let by = match taking.blow {
        Blow::Said(Cause::Request(by)) => by.filter(|by| *by != holder),
        _ => None,
    };
    Evidence {
        at: tenure.to,
        attempts: [Some(holder), by].into_iter().flatten().collect(),
        entries: [Some(tenure.entry), taking.entry].into_iter().flatten().collect(),
        overlap: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Property::NoNeedlessLoss;
    use crate::history::{Activity, Ticking};
    use crate::rules::Promise;
    use crate::testing::{Story, lasting, ms};

    /// Client 1 has the lock from 10 ms, and was promised it until 100 ms.
    fn held() -> Story {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story
    }

    #[test]
    fn whatever_takes_a_promised_lock_away_breaks_it() {
        let mut story = held();
        story.at(50).server(1).frees();
        let broken = story.broken(NoNeedlessLoss);
        assert_eq!((broken.at, broken.overlap), (ms(50), None));
        assert_eq!((broken.attempts, broken.entries), (vec![story.attempt(1)], vec![1, 3]));
        let mut story = held();
        story.at(50).server(1).evicts();
        story.broken(NoNeedlessLoss);
        let mut story = held();
        story.at(50).client(1).deletes(1);
        assert_eq!(story.broken(NoNeedlessLoss).attempts, [story.attempt(1)], "its own recipe did");
        let mut story = held();
        story.at(50).client(2).takes(150);
        assert_eq!(story.broken(NoNeedlessLoss).attempts, [story.attempt(1), story.attempt(2)]);
    }

    #[test]
    fn a_server_that_forgets_breaks_it_and_one_that_remembers_does_not() {
        let mut story = held();
        story.at(50).server(1).dies();
        story.holds(NoNeedlessLoss);
        story.at(60).server(1).restarts();
        let broken = story.broken(NoNeedlessLoss);
        assert_eq!((broken.at, broken.entries), (ms(60), vec![1]));
        story.at(60).client(1).remembered_by(1);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn a_server_that_stays_away_until_the_promise_is_over_takes_nothing() {
        let mut story = held();
        story.at(50).server(1).dies();
        story.at(100).server(1).restarts();
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn a_lease_that_runs_out_after_its_promise_is_lost_in_peace() {
        let mut story = held();
        story.at(100).server(1).frees();
        story.holds(NoNeedlessLoss);
        let mut story = held();
        story.just_before(100).server(1).frees();
        story.broken(NoNeedlessLoss);
    }

    #[test]
    fn who_gives_its_lock_back_does_not_lose_it() {
        let mut story = held();
        story.at(50).client(1).ended().releasing().deletes(1);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn a_dead_holder_has_nothing_to_lose() {
        let mut story = held();
        story.at(40).client(1).dies();
        story.at(50).observer().deletes(1);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn who_stands_still_when_its_time_is_over_by_the_servers_clock_has_itself_to_blame() {
        let mut story = held();
        story.at(40).client(1).pauses().ticks(Ticking::AllButMonotonic);
        story.at(101).server(1).frees();
        story.holds(NoNeedlessLoss);
        let mut story = held();
        story.at(40).client(1).hangs();
        story.at(50).server(1).frees();
        story.broken(NoNeedlessLoss);
    }

    #[test]
    fn what_was_not_promised_yet_is_not_lost() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(50).server(1).frees();
        story.at(60).client(1).granted(100);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn a_renewal_moves_the_right() {
        let mut story = held();
        story.at(60).client(1).renewed(150);
        story.at(120).server(1).frees();
        assert_eq!(story.broken(NoNeedlessLoss).at, ms(120));
        story.history.entries[4].at = ms(150);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn what_is_promised_for_as_long_as_it_is_owned_is_taken_by_a_session_that_was_not_kept_alive() {
        // The lease is 90 ms long.
        let owned = || {
            let mut story = Story::new();
            story.rules.promise = Promise::WhileOwned;
            story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
            story
        };
        let mut story = owned();
        story.at(50).server(1).frees();
        story.holds(NoNeedlessLoss);
        for (lost, needless) in [(149, true), (150, false)] {
            let mut story = owned();
            story.at(60).client(1).extended_by(1, None);
            story.at(lost).server(1).frees();
            assert_eq!(story.judged().verdicts[&NoNeedlessLoss].is_broken(), needless, "{lost}");
        }
        // A fast clock has counted 90 ms sooner.
        let mut story = owned();
        story.at(20).server(1).runs_at(100_000);
        story.at(60).client(1).extended_by(1, None);
        story.at(145).server(1).frees();
        story.holds(NoNeedlessLoss);
        let mut story = owned();
        story.rules.is_in_sessions = true;
        story.at(60).server(1).dies();
        story.holds(NoNeedlessLoss);
        let mut story = owned();
        story.at(300).observer().deletes(1);
        assert_eq!(story.broken(NoNeedlessLoss).at, ms(300), "whoever else takes it");
        let mut story = owned();
        story.at(200).client(1).ended().releasing().deletes(1);
        story.holds(NoNeedlessLoss);
    }

    /// As `held`, with a lock that renews itself every 30 ms; the lease is over at 101 ms.
    fn renewing(tell: impl Fn(&mut Story)) -> Story {
        let mut story = held();
        story.rules.renews = lasting(30);
        tell(&mut story);
        story.at(101).server(1).frees();
        story
    }

    #[test]
    fn a_renewal_that_is_given_up_or_never_begun_breaks_it() {
        let story = renewing(|_| {});
        assert_eq!(story.broken(NoNeedlessLoss).at, ms(101));
        let story = renewing(|story| {
            story.at(40).client(1).renewing();
            story.at(70).client(1).renewal_failed();
        });
        story.broken(NoNeedlessLoss);
    }

    #[test]
    fn who_tried_to_the_end_was_cut_off() {
        let story = renewing(|story| {
            story.at(40).client(1).renewing();
            story.at(71).client(1).renewal_failed();
        });
        story.holds(NoNeedlessLoss);
        let story = renewing(|story| {
            story.at(40).client(1).renewing();
        });
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn who_stood_still_could_not_try_but_a_renewal_outlives_its_worker() {
        let story = renewing(|story| {
            story.at(40).client(1).pauses();
            story.at(101).client(1).resumes();
        });
        story.holds(NoNeedlessLoss);
        let story = renewing(|story| {
            story.at(40).client(1).becomes(Activity::Unrenewed);
        });
        story.holds(NoNeedlessLoss);
        let story = renewing(|story| {
            story.at(40).client(1).hangs();
        });
        story.broken(NoNeedlessLoss);
    }

    #[test]
    fn a_lock_that_does_not_renew_itself_is_lost_when_its_time_is_over() {
        let mut story = renewing(|_| {});
        story.rules.renews = None;
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn beyond_its_promise_only_time_may_take_a_lock_away_needlessly() {
        let mut story = held();
        story.rules.renews = lasting(30);
        story.at(101).observer().deletes(1);
        story.holds(NoNeedlessLoss);
    }

    #[test]
    fn of_several_servers_a_quorum_must_be_lost() {
        let mut story = Story::with_servers(3, 2);
        story.at(10).client(1).asks("orders").owned_by(1).owned_by(2).owned_by(3).granted(100);
        story.at(50).server(1).frees();
        story.holds(NoNeedlessLoss);
        story.at(60).server(2).frees();
        assert_eq!(story.broken(NoNeedlessLoss).at, ms(60));
    }
}
