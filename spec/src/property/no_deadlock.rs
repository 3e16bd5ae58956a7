//! **no-deadlock**: no clients wait for each other in a circle.
//!
//! A client waits for another if it waits for a lock that the other is in the section of, by its own belief
//! and by the servers'. A circle breaks the property when it closes, whatever opens it again: a lease that
//! runs out, or somebody who gives up. A client that waits for a lock that it has itself, and cannot enter
//! again, waits for itself; one that is let in while it has it has not waited. Of a client with several threads it is the thread that waits, and the thread that has:
//! one that waits for another of its own process will be let in when that is through.
//!
//! What nobody uses any more, such as a key that an attempt left behind, makes nobody wait for its owner: that
//! is for `progress` and `no-leak`. Neither is one try that is given up at once a wait.
//!
//! Source: Coffman, Elphick, Shoshani, "System Deadlocks", 1971: circular wait.

use std::collections::BTreeSet;

use host::{AttemptId, NodeId, SimTime};

use crate::grants::{ClaimId, LockId};
use crate::history::{Note, Thread};
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::queue::Wait;
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "no-deadlock",
    statement: "clients may not wait for each other in a circle",
    level: Level::Conduct,
    check: Check::Looks(check),
};

/// Broken when the first circle closes. Named are its clients' tries, each waiting for the next.
fn check(case: &Case<'_>) -> Finding {
    if !some_tries_overlap(case) || !somebody_waits_and_has(case) {
        return Finding::Holds;
    }
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let mut graph = Graph::of(case);
    for change in changes(case) {
        if let Some(circle) = graph.take(case, &change) {
            let entries = circle.iter().map(|claim| case.lives()[claim.index()].entry).collect();
            let attempts = circle.iter().map(|claim| case.grants[*claim].attempt).collect();
            return Finding::Broken(Evidence { at: change.at, attempts, entries, overlap: None });
        }
    }
    Finding::Holds
}

/// Whether some client ever had two tries, or sections, at once: most do one thing after the other, and nothing more need
/// be known of them. Deaths are not looked at here.
fn some_tries_overlap(case: &Case<'_>) -> bool {
    // By client: what is not over yet.
    let mut open: Vec<Option<ClaimId>> = vec![None; case.history.nodes.len()];
    case.grants.mentions.asking.iter().any(|mention| {
        let open = &mut open[case.grants[mention.claim].attempt.client().index()];
        match case.history.entries[mention.entry].note {
            Note::Attempting { .. } | Note::Granted { .. } => {
                open.replace(mention.claim).is_some_and(|other| other != mention.claim)
            }
            _ => {
                *open = open.filter(|open| *open != mention.claim);
                false
            }
        }
    })
}

/// Whether some client may have waited for one lock while it had one: without that nobody waits in a circle,
/// and most runs are done with.
fn somebody_waits_and_has(case: &Case<'_>) -> bool {
    // By client: until when each of its threads has any lock.
    let mut has_until: Vec<Vec<(Thread, SimTime)>> = vec![Vec::new(); case.history.nodes.len()];
    for ((_, claim), life) in case.grants.claims().zip(case.lives()) {
        let threads = &mut has_until[claim.attempt.client().index()];
        let place = threads.iter().position(|(thread, _)| *thread == life.thread).unwrap_or_else(|| {
            threads.push((life.thread, SimTime::ZERO));
            threads.len() - 1
        });
        let until = &mut threads[place].1;
        if life.asked < *until {
            return true;
        }
        if life.entered < life.over {
            *until = life.over.max(*until);
        }
    }
    false
}

/// Who waits and has.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Actor {
    client: NodeId,
    thread: Thread,
}

impl Actor {
    fn of(case: &Case<'_>, claim: ClaimId) -> Self {
        Self { client: case.grants[claim].attempt.client(), thread: case.lives()[claim.index()].thread }
    }
}

/// What begins or ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum What {
    /// Ends come first: what ends in an instant is over when another begins.
    Released,
    WaitOver,
    Held,
    Waits,
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Change {
    at: SimTime,
    what: What,
    /// Whose it is.
    attempt: AttemptId,
    /// The claim that is held; of a wait, its first try.
    claim: ClaimId,
}

/// In order.
fn changes(case: &Case<'_>) -> Vec<Change> {
    let mut changes = Vec::new();
    let mut add = |claim: ClaimId, begins: (SimTime, What), ends: (SimTime, What)| {
        let attempt = case.grants[claim].attempt;
        changes.extend([begins, ends].map(|(at, what)| Change { at, what, attempt, claim }));
    };
    for wait in case.waits().iter().filter(|wait| wait.from < wait.to && !enters_again(case, wait)) {
        add(wait.first, (wait.from, What::Waits), (wait.to, What::WaitOver));
    }
    for tenure in &case.owners().tenures {
        let life = &case.lives()[tenure.claim.index()];
        let (from, to) = (life.entered.max(tenure.from), life.over.min(tenure.to));
        if from < to {
            add(tenure.claim, (from, What::Held), (to, What::Released));
        }
    }
    changes.sort_unstable();
    changes
}

/// Whether it ends as its thread is let in where it is in already: that was on its way, and waited for nobody.
fn enters_again(case: &Case<'_>, wait: &Wait) -> bool {
    let (actor, lock) = (Actor::of(case, wait.first), case.grants[wait.first].lock);
    let own = || {
        let own = case.grants.claims().filter(|(id, claim)| claim.lock == lock && Actor::of(case, *id) == actor);
        own.map(|(id, _)| case.lives()[id.index()])
    };
    own().any(|life| life.entered == wait.to) && own().any(|life| life.entered <= wait.from && life.is_inside(wait.to))
}

/// Who waits for what, and who has it, at one instant.
struct Graph {
    /// By lock: the claims that have it.
    holders: Vec<Vec<ClaimId>>,
    /// The first tries of the waits.
    waits: Vec<(Actor, ClaimId)>,
}

impl Graph {
    fn of(case: &Case<'_>) -> Self {
        Self { holders: vec![Vec::new(); case.grants.locks()], waits: Vec::new() }
    }

    /// Takes in what changed; gives back the circle that it closes.
    fn take(&mut self, case: &Case<'_>, change: &Change) -> Option<Vec<ClaimId>> {
        let Change { what, claim, .. } = *change;
        let (actor, lock) = (Actor::of(case, claim), case.grants[claim].lock);
        match what {
            What::Released => self.holders[lock.index()].retain(|one| *one != claim),
            What::WaitOver => self.waits.retain(|(_, one)| *one != claim),
            What::Held => self.holders[lock.index()].push(claim),
            What::Waits => self.waits.push((actor, claim)),
        }
        match what {
            What::Released | What::WaitOver => None,
            What::Held | What::Waits => self.circle(case, actor),
        }
    }

    /// A circle of waits through that one.
    fn circle(&self, case: &Case<'_>, actor: Actor) -> Option<Vec<ClaimId>> {
        let (mut seen, mut path) = (BTreeSet::new(), Vec::new());
        self.leads_back(case, actor, actor, &mut seen, &mut path).then_some(path)
    }

    /// Whether `from` waits, over whatever many others, for `to`; the path there.
    fn leads_back(
        &self,
        case: &Case<'_>,
        from: Actor,
        to: Actor,
        seen: &mut BTreeSet<Actor>,
        path: &mut Vec<ClaimId>,
    ) -> bool {
        for (_, wait) in self.waits.iter().filter(|(actor, _)| *actor == from) {
            path.push(*wait);
            for next in self.holders_of(case, case.grants[*wait].lock) {
                if next == to || (seen.insert(next) && self.leads_back(case, next, to, seen, path)) {
                    return true;
                }
            }
            path.pop();
        }
        false
    }

    fn holders_of(&self, case: &Case<'_>, lock: LockId) -> impl Iterator<Item = Actor> {
        self.holders[lock.index()].iter().map(|claim| Actor::of(case, *claim))
    }
}

#[cfg(test)]
mod tests {
    use crate::Property::NoDeadlock;
    use crate::testing::{Story, ms};

    /// Client 1 has `orders` from 10 ms, client 2 `parcels` from 20 ms.
    fn crossed() -> Story {
        let mut story = Story::new();
        story.at(10).client(1).takes_lock("orders", 1_000);
        story.at(20).client(2).takes_lock("parcels", 1_000);
        story
    }

    #[test]
    fn two_that_wait_for_each_other_break_it() {
        let mut story = crossed();
        story.at(30).client(1).asks("parcels");
        story.at(32).client(1).denied();
        story.at(40).client(2).asks("orders");
        story.at(42).client(2).denied();
        let broken = story.broken(NoDeadlock);
        assert_eq!((broken.at, broken.overlap), (ms(40), None));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [8, 6], "what each asks for");
    }

    #[test]
    fn a_circle_of_three_breaks_it_and_a_chain_does_not() {
        let mut story = crossed();
        story.at(25).client(3).takes_lock("goods", 1_000);
        story.at(30).client(1).asks("parcels").denied();
        story.at(40).client(2).asks("goods").denied();
        story.holds(NoDeadlock);
        story.at(50).client(3).asks("orders").denied();
        let broken = story.broken(NoDeadlock);
        assert_eq!((broken.at, broken.attempts), (ms(50), [3, 1, 2].map(|client| story.attempt(client)).to_vec()));
    }

    #[test]
    fn who_takes_the_locks_in_one_order_waits_in_no_circle() {
        let mut story = Story::new();
        story.at(10).client(1).takes_lock("orders", 1_000);
        story.at(20).client(2).asks("orders").denied();
        story.at(30).client(1).takes_lock("parcels", 1_000);
        story.holds(NoDeadlock);
    }

    #[test]
    fn a_client_that_waits_for_its_own_lock_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(1_000);
        story.at(20).client(1).asks("orders").denied();
        let broken = story.broken(NoDeadlock);
        assert_eq!((broken.at, broken.attempts), (ms(20), vec![story.attempt(1)]));
    }

    #[test]
    fn who_is_let_in_where_it_is_in_already_has_waited_for_nobody() {
        let mut story = Story::new();
        story.rules.queues = true;
        story.at(10).client(1).takes(1_000);
        story.at(10).client(1).asks("orders");
        story.at(24).client(1).granted(1_000);
        story.holds(NoDeadlock);
    }

    #[test]
    fn one_try_that_is_given_up_at_once_is_no_wait() {
        let mut story = crossed();
        story.at(30).client(1).asks("parcels");
        story.at(31).client(2).asks("orders").denied();
        story.at(32).client(1).denied().gives_up();
        story.holds(NoDeadlock);
        let mut story = crossed();
        story.at(30).client(1).asks("parcels").denied();
        story.at(40).client(2).asks("orders").denied();
        story.at(50).client(1).asks_again("parcels").denied().gives_up();
        assert_eq!(story.broken(NoDeadlock).at, ms(40), "one that is tried again is");
    }

    #[test]
    fn what_has_run_out_or_is_left_behind_makes_nobody_wait_for_its_owner() {
        let mut story = crossed();
        story.at(30).client(1).asks("parcels").denied();
        story.at(35).server(1).removes("parcels", None);
        story.at(40).client(2).asks("orders").denied();
        story.holds(NoDeadlock);
        let mut story = crossed();
        story.at(30).client(1).asks("parcels").denied();
        story.at(40).client(2).ended().asks("orders").denied();
        story.holds(NoDeadlock);
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1).failed();
        story.at(20).client(1).asks_again("orders").denied();
        story.holds(NoDeadlock);
    }

    #[test]
    fn a_lock_that_changes_hands_can_lead_into_a_circle() {
        let mut story = Story::new();
        story.at(10).client(1).takes_lock("orders", 1_000);
        story.at(20).client(3).takes_lock("parcels", 1_000);
        story.at(30).client(1).asks("parcels").denied();
        let third = story.attempt(3);
        story.at(50).client(3).ended().releasing();
        story.at(50).server(1).removes("parcels", Some(third));
        story.at(60).client(2).takes_lock("parcels", 1_000);
        story.holds(NoDeadlock);
        story.at(70).client(2).asks("orders").denied();
        assert_eq!(story.broken(NoDeadlock).at, ms(70));
    }

    #[test]
    fn a_thread_that_waits_for_another_of_its_process_is_no_circle() {
        let mut story = Story::new();
        story.at(10).client(1).takes(1_000);
        story.at(20).client(1).asks_in(1, "orders").denied();
        story.holds(NoDeadlock);
        // Neither are two processes of which each has one thread that holds and one that waits.
        let mut story = crossed();
        story.at(30).client(1).asks_in(1, "parcels").denied();
        story.at(40).client(2).asks_in(1, "orders").denied();
        story.holds(NoDeadlock);
    }

    #[test]
    fn two_threads_of_one_process_can_be_a_circle() {
        let mut story = Story::new();
        story.at(10).client(1).takes_lock("orders", 1_000);
        story.at(20).client(1).asks_in(1, "parcels").names_owner(1, "parcels").granted(1_000);
        story.at(30).client(1).asks_in(1, "orders").denied();
        story.at(40).client(1).asks("parcels").denied();
        assert_eq!(story.broken(NoDeadlock).at, ms(40));
    }

    #[test]
    fn a_wait_that_leads_nowhere_is_no_part_of_the_circle() {
        let mut story = crossed();
        story.at(25).client(3).takes_lock("goods", 1_000);
        story.at(30).client(1).asks("goods").denied();
        story.at(31).client(1).asks("parcels").denied();
        let second = story.attempt(1);
        story.at(40).client(2).asks("orders").denied();
        assert_eq!(story.broken(NoDeadlock).attempts, [story.attempt(2), second]);
    }
}
