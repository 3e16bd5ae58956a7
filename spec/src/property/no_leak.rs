//! **no-leak**: no lock stays for ever with an owner that does not use it, while a live client waits.
//!
//! Broken if, from some instant to the horizon and for at least the bound `leak`, a quorum of servers has an
//! owner that is not in its section (it is dead, or through, or was never told), and somebody waits. Servers
//! that are dead in the end have no owners: what they stop is for `progress`. What
//! lasts for less when the run ends is left undecided: a lock may be on its way back. The bound is longer
//! than the lease, which ends many such states by itself.
//!
//! Source: the bug reports on locks that stay behind: a holder that dies between `SETNX` and `EXPIRE`
//! (redis/redis-py#818), a late grant that is renewed for ever (redisson/redisson#2714).

use host::{Duration, NodeId, SimTime};

use crate::grants::LockId;
use crate::history::Activity;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::owners::Tenure;
use crate::property::{Check, Facts};
use crate::queue::Wait;
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "no-leak",
    statement: "a lock may not stay for ever with an owner that does not use it while somebody waits",
    level: Level::Return,
    check: Check::Within { key: "leak", bound: |bounds| bounds.leak, check },
};

/// Broken since the lock was out of use, owned, and waited for. The one that waits was in the right.
fn check(case: &Case<'_>, bound: Duration) -> Finding {
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let end = case.liveness_end();
    let waiting = waiting_at_the_end(case, end);
    let (mut broken, mut is_open): (Option<Evidence>, bool) = (None, false);
    for tenure in case.owners().tenures.iter().filter(|tenure| lasts(case, tenure, end)) {
        let claim = &case.grants[tenure.claim];
        let Ok(found) = waiting.binary_search_by_key(&claim.lock, |waiting| waiting.lock) else { continue };
        let Some(unused) = unused_since(case, tenure) else { continue };
        let since = unused.max(waiting[found].since);
        if end.since(since) < bound {
            is_open = true;
        } else if broken.as_ref().is_none_or(|broken| since < broken.at) {
            let wait = waiting[found].wait;
            broken = Some(Evidence {
                at: since,
                attempts: vec![case.grants[wait.first].attempt, claim.attempt],
                entries: vec![tenure.entry, case.lives()[wait.first.index()].entry],
                overlap: None,
            });
        }
    }
    match broken {
        Some(evidence) => Finding::Broken(evidence),
        None if is_open => Finding::too_late_to_say("a lock was owned and not used"),
        None => Finding::Holds,
    }
}

/// Whether a quorum of servers that live still has that owner at the end of the run.
fn lasts(case: &Case<'_>, tenure: &Tenure, end: SimTime) -> bool {
    let owns = case.owners().at_the_end(tenure.claim);
    let is_dead = |server: &NodeId| case.history.nodes[server.index()].doing(end) == Activity::Dead;
    let lives = |server: &&NodeId| !(case.rules.mortal().contains(*server) && is_dead(server));
    let living = case.rules.authorities.iter().filter(|server| owns.contains(**server)).filter(lives);
    tenure.to == SimTime::NEVER && living.count() >= case.rules.quorum
}

/// Since when the owner has not been in its section, if it is not at the end of the run.
fn unused_since(case: &Case<'_>, tenure: &Tenure) -> Option<SimTime> {
    let life = &case.lives()[tenure.claim.index()];
    let was_inside = life.entered < life.over;
    match (was_inside, life.over == SimTime::NEVER) {
        (true, true) => None,
        (true, false) => Some(life.over.max(tenure.from)),
        (false, _) => Some(tenure.from),
    }
}

/// A lock for which somebody waits at the end of the run.
struct Waiting<'c> {
    lock: LockId,
    /// Since when somebody has waited without a break.
    since: SimTime,
    /// The wait that began it.
    wait: &'c Wait,
}

/// By lock.
fn waiting_at_the_end<'c>(case: &'c Case<'_>, end: SimTime) -> Vec<Waiting<'c>> {
    let mut waiting = Vec::new();
    for waits in case.waits().chunk_by(|a, b| a.lock == b.lock) {
        let (mut run, mut until) = (&waits[0], SimTime::ZERO);
        for wait in waits {
            if wait.from > until {
                run = wait;
            }
            until = until.max(wait.to);
        }
        if until >= end {
            waiting.push(Waiting { lock: run.lock, since: run.from, wait: run });
        }
    }
    waiting
}

#[cfg(test)]
mod tests {
    use crate::Property::NoLeak;
    use crate::history::Ending;
    use crate::testing::{Story, lasting, ms};

    /// Client 1 has the lock from 10 ms, for good; client 2 waits for it from 50 ms to the horizon.
    fn held() -> Story {
        let mut story = Story::new();
        story.rules.bounds.leak = lasting(9_000);
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        story.at(50).client(2).asks("orders").denied();
        story
    }

    #[test]
    fn a_lock_that_its_dead_owner_keeps_breaks_it() {
        let mut story = held();
        story.at(100).client(1).dies();
        let broken = story.broken(NoLeak);
        assert_eq!((broken.at, broken.overlap), (ms(100), None));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [1, 3], "the owner's, and the first try of the one that waits");
    }

    #[test]
    fn it_begins_when_all_three_are_so() {
        let mut story = Story::new();
        story.rules.bounds.leak = lasting(9_000);
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        story.at(100).client(1).ended();
        story.at(300).client(2).asks("orders").denied();
        story.at(400).client(3).asks("orders").denied();
        assert_eq!(story.broken(NoLeak).at, ms(300), "that somebody waits");
        let mut story = Story::new();
        story.rules.bounds.leak = lasting(9_000);
        story.at(10).client(2).asks("orders").denied();
        story.at(20).client(1).asks("orders").failed();
        story.at(200).client(1).owned_by(1);
        assert_eq!(story.broken(NoLeak).at, ms(200), "that a late request is executed");
    }

    #[test]
    fn a_lock_in_use_is_no_leak_however_long() {
        held().holds(NoLeak);
        let mut story = held();
        story.at(100).client(1).pauses();
        story.holds(NoLeak);
    }

    #[test]
    fn a_lock_that_is_freed_in_the_end_is_no_leak() {
        let mut story = held();
        story.at(100).client(1).dies();
        story.at(9_900).server(1).frees();
        story.holds(NoLeak);
    }

    #[test]
    fn without_anybody_who_waits_to_the_end_nothing_is_leaked() {
        let mut story = held();
        story.at(100).client(1).dies();
        story.at(9_000).client(2).asks_again("orders").denied().gives_up();
        story.holds(NoLeak);
        let mut story = held();
        story.at(100).client(1).dies();
        story.at(9_000).client(2).dies();
        story.holds(NoLeak);
        story.at(9_500).client(3).asks("orders").denied();
        story.undecided(NoLeak);
    }

    #[test]
    fn who_relieves_another_in_the_same_instant_waits_on_for_it() {
        let mut story = held();
        story.at(100).client(1).dies();
        story.at(9_000).client(2).asks_again("orders").denied().gives_up();
        story.at(9_000).client(3).asks("orders").denied();
        assert_eq!(story.broken(NoLeak).at, ms(100));
    }

    #[test]
    fn what_lasts_for_less_than_the_bound_is_undecided() {
        let mut story = held();
        story.at(1_000).client(1).ended();
        assert_eq!(story.broken(NoLeak).at, ms(1_000));
        let mut story = held();
        story.at(1_001).client(1).ended();
        story.undecided(NoLeak);
    }

    #[test]
    fn a_run_that_is_stuck_lasts_to_its_horizon() {
        let mut story = held();
        story.at(100).client(1).dies();
        (story.history.end, story.history.ending) = (ms(200), Ending::Stuck);
        assert_eq!(story.broken(NoLeak).at, ms(100));
        story.history.ending = Ending::Budget;
        story.undecided(NoLeak);
    }

    #[test]
    fn an_owner_at_less_than_a_quorum_owns_nothing() {
        let mut story = Story::with_servers(3, 2);
        story.rules.bounds.leak = lasting(9_000);
        story.at(10).client(1).asks("orders").owned_by(1).failed();
        story.at(50).client(2).asks("orders").denied();
        story.holds(NoLeak);
        story.at(60).client(1).owned_by(2);
        assert_eq!(story.broken(NoLeak).at, ms(60));
    }

    #[test]
    fn a_dead_server_has_no_owners() {
        let mut story = held();
        story.at(100).client(1).dies();
        story.at(200).server(1).dies();
        story.holds(NoLeak);
        story.at(300).server(1).restarts();
        story.holds(NoLeak);
        story.at(300).client(1).remembered_by(1);
        assert_eq!(story.broken(NoLeak).at, ms(100));
    }

    #[test]
    fn locks_are_told_apart() {
        let mut story = held();
        story.at(100).client(3).takes_lock("parcels", 200);
        story.at(110).client(3).dies();
        story.holds(NoLeak);
    }
}
