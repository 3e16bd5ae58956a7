//! **progress**: never longer than the bound `progress` is there a live client that waits for a lock, and
//! no live client in its section.
//!
//! It says nothing of why: the lock may be free and nobody gets it, a dead owner may still have it, or an
//! orphan that nobody knows of. Nor of who gets it: that is `fairness`. A holder that stands still is in its
//! section; a client that stands still does not wait, and begins anew when it runs again.
//!
//! Source: deadlock freedom, "some process that wants in gets in" (Dijkstra 1965), with a bound.

use host::{Duration, SimTime};

use crate::grants::LockId;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::owners::Tenure;
use crate::property::{Check, Facts};
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "progress",
    statement: "nobody may wait for longer than the bound while nobody is in the lock's section",
    level: Level::Return,
    check: Check::Within { key: "progress", bound: |bounds| bounds.progress, check },
};

/// Broken once it has lasted for longer than the bound. The one that waits was in the right; beside it
/// stands whoever owns the lock, if anybody does.
fn check(case: &Case<'_>, bound: Duration) -> Finding {
    let end = case.liveness_end();
    let (mut broken, mut is_open): (Option<Evidence>, bool) = (None, false);
    for idle in idle(case, end) {
        if idle.to.since(idle.from) > bound {
            let at = idle.from + bound;
            if broken.as_ref().is_none_or(|broken| at < broken.at) {
                broken = Some(evidence(case, &idle, at));
            }
        } else {
            is_open |= idle.to == end;
        }
    }
    match broken {
        Some(evidence) => Finding::Broken(evidence),
        None if is_open => Finding::too_late_to_say("a client waited for a lock that nobody used"),
        None => Finding::Holds,
    }
}

/// A stretch during which somebody waits for a lock and nobody is in its section, its end excluded.
struct Idle {
    lock: LockId,
    from: SimTime,
    to: SimTime,
}

/// How many do what, from some instant on.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    lock: LockId,
    at: SimTime,
    waiting: i32,
    inside: i32,
}

fn idle(case: &Case<'_>, end: SimTime) -> Vec<Idle> {
    let mut found: Vec<Idle> = Vec::new();
    let changes = changes(case, end);
    for of_lock in changes.chunk_by(|a, b| a.lock == b.lock) {
        let (mut waiting, mut inside, mut since) = (0, 0, None);
        // What happens at one instant happens together: a lock that passes from hand to hand is in use.
        for at_once in of_lock.chunk_by(|a, b| a.at == b.at) {
            for change in at_once {
                waiting += change.waiting;
                inside += change.inside;
            }
            let Change { lock, at, .. } = at_once[0];
            match (waiting > 0 && inside == 0, since) {
                (true, None) => since = Some(at),
                (false, Some(from)) => {
                    found.push(Idle { lock, from, to: at });
                    since = None;
                }
                _ => {}
            }
        }
    }
    found
}

/// In order, by lock. What lasts to the end of the run ends with it.
fn changes(case: &Case<'_>, end: SimTime) -> Vec<Change> {
    let mut changes = Vec::new();
    for wait in case.waits() {
        let (lock, inside) = (wait.lock, 0);
        changes.push(Change { lock, at: wait.from, waiting: 1, inside });
        changes.push(Change { lock, at: wait.to, waiting: -1, inside });
    }
    for ((_, claim), life) in case.grants.claims().zip(case.lives()) {
        if life.entered < life.over {
            let (lock, waiting) = (claim.lock, 0);
            changes.push(Change { lock, at: life.entered, waiting, inside: 1 });
            changes.push(Change { lock, at: life.over.min(end), waiting, inside: -1 });
        }
    }
    changes.sort_unstable();
    changes
}

fn evidence(case: &Case<'_>, idle: &Idle, at: SimTime) -> Evidence {
    let waits = case.waits().iter();
    let wait = waits.filter(|wait| wait.lock == idle.lock && wait.to > idle.from).min_by_key(|wait| wait.from);
    let first = wait.map(|wait| wait.first);
    let is_owner = |one: &&Tenure| case.grants[one.claim].lock == idle.lock && one.from <= at && at < one.to;
    let owner = case.owners().tenures.iter().find(is_owner);
    Evidence {
        at,
        attempts: first.into_iter().chain(owner.map(|owner| owner.claim)).map(|one| case.grants[one].attempt).collect(),
        entries: first
            .map(|first| case.lives()[first.index()].entry)
            .into_iter()
            .chain(owner.map(|owner| owner.entry))
            .collect(),
        overlap: None,
    }
}

#[cfg(test)]
mod tests {
    use crate::Property::Progress;
    use crate::history::Ending;
    use crate::testing::{Story, lasting, ms};

    fn bounded(bound: u64) -> Story {
        let mut story = Story::new();
        story.rules.bounds.progress = lasting(bound);
        story
    }

    #[test]
    fn a_free_lock_that_nobody_gets_breaks_it() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders").denied();
        story.at(111).client(1).asks_again("orders").owned_by(1).granted(200);
        let broken = story.broken(Progress);
        assert_eq!((broken.at, broken.overlap), (ms(110), None));
        assert_eq!((broken.attempts, broken.entries), (vec![story.nth_attempt(1, 1)], vec![0]));
    }

    #[test]
    fn a_wait_within_the_bound_does_not() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders").denied();
        story.at(110).client(1).asks_again("orders").owned_by(1).granted(200).ended();
        story.holds(Progress);
    }

    #[test]
    fn a_dead_owner_breaks_it_and_is_named() {
        let mut story = bounded(100);
        story.at(10).client(1).takes(1_000);
        story.at(20).client(2).asks("orders").denied();
        story.at(50).client(1).dies();
        let broken = story.broken(Progress);
        assert_eq!(broken.at, ms(150));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [3, 1]);
    }

    #[test]
    fn a_holder_in_its_section_may_take_its_time_also_if_it_stands_still() {
        let mut story = bounded(100);
        story.at(10).client(1).takes(1_000);
        story.at(20).client(2).asks("orders").denied();
        story.at(30).client(1).pauses();
        story.at(900).client(1).resumes();
        story.at(950).client(1).ended();
        story.at(1_050).client(2).asks_again("orders").owned_by(1).granted(2_000).ended();
        story.holds(Progress);
        let mut story = bounded(100);
        story.at(20).client(2).asks("orders").denied();
        story.at(30).client(1).asks("orders").granted(1_000);
        story.at(131).client(1).ended();
        story.at(132).client(2).dies();
        story.holds(Progress);
    }

    #[test]
    fn who_relieves_whom_makes_no_difference() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders").denied();
        story.at(60).client(2).asks("orders").denied();
        story.at(80).client(1).asks_again("orders").denied().gives_up();
        story.at(130).client(2).asks_again("orders").denied().gives_up();
        assert_eq!(story.broken(Progress).at, ms(110), "somebody waited all the time");
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders").denied();
        story.at(60).client(1).asks_again("orders").denied().gives_up();
        story.at(60).client(2).asks("orders").denied();
        story.at(130).client(2).asks_again("orders").denied().gives_up();
        assert_eq!(story.broken(Progress).at, ms(110), "what happens at one instant happens together");
    }

    #[test]
    fn a_lock_that_passes_from_hand_to_hand_is_in_use() {
        let mut story = bounded(100);
        story.at(10).client(3).asks("orders").denied();
        story.at(20).client(1).takes(100);
        story.at(80).client(1).ended();
        story.at(80).client(2).takes(160);
        story.at(115).client(3).asks_again("orders").denied().gives_up();
        story.at(120).client(2).ended();
        story.holds(Progress);
    }

    #[test]
    fn who_stands_still_does_not_wait() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders").denied();
        story.at(60).client(1).pauses();
        story.at(500).client(1).resumes();
        story.at(600).client(1).asks_again("orders").owned_by(1).granted(900).ended();
        story.holds(Progress);
    }

    #[test]
    fn a_wait_that_is_younger_than_the_bound_at_the_horizon_is_undecided() {
        let mut story = bounded(100);
        story.at(9_900).client(1).asks("orders").denied();
        story.undecided(Progress);
        let mut story = bounded(100);
        story.at(9_899).client(1).asks("orders").denied();
        assert_eq!(story.broken(Progress).at, ms(9_999));
    }

    #[test]
    fn a_run_that_is_stuck_lasts_to_its_horizon() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("orders");
        (story.history.end, story.history.ending) = (ms(20), Ending::Stuck);
        assert_eq!(story.broken(Progress).at, ms(110));
        story.history.ending = Ending::Budget;
        story.undecided(Progress);
    }

    #[test]
    fn each_lock_must_make_progress() {
        let mut story = bounded(100);
        story.at(10).client(1).asks("parcels").denied();
        story.at(20).client(2).takes(1_000);
        assert_eq!(story.broken(Progress).at, ms(110));
    }
}
