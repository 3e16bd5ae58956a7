//! **fairness**: nobody who waits for a lock is overtaken more often than the bound `overtakes`.
//!
//! A client is overtaken when another that began to wait for the same lock later is granted it first. Only
//! an unbroken wait counts: who stands still, gives up or dies has left the line, and who begins anew stands
//! at its end.
//!
//! Source: bounded bypass, as in the literature on mutual exclusion (Lynch, "Distributed Algorithms", 1996,
//! chapter 10).

use crate::grants::ClaimId;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::queue::Wait;
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "fairness",
    statement: "nobody who waits may be overtaken more often than the bound",
    level: Level::Conduct,
    check: Check::AtMost { key: "overtakes", bound: |bounds| bounds.overtakes, check },
};

/// Broken when somebody is overtaken once too often. That one was in the right.
fn check(case: &Case<'_>, bound: u32) -> Finding {
    let first = case.waits().chunk_by(|a, b| a.lock == b.lock).filter_map(|of_lock| overtaken(case, of_lock, bound));
    first.min_by_key(|evidence| evidence.at).into()
}

/// Whoever has waited longest has been overtaken most often: all that overtook a younger one overtook it
/// too. So one look at it with every grant is enough.
fn overtaken(case: &Case<'_>, waits: &[Wait], bound: u32) -> Option<Evidence> {
    let entry_of = |claim: ClaimId| case.grants[claim].granted.map(|granted| granted.entry);
    let mut grants: Vec<(usize, usize)> =
        waits.iter().enumerate().filter_map(|(i, wait)| Some((entry_of(wait.granted?)?, i))).collect();
    grants.sort_unstable();
    // The one that has waited longest, and how many of those that began before it were granted.
    let (mut oldest, mut granted_before) = (0, 0_usize);
    for (granted, (entry, winner)) in grants.into_iter().enumerate() {
        let now = case.history.entries[entry].at;
        let has_left = |wait: &Wait| match wait.granted.and_then(entry_of) {
            Some(granted) => granted <= entry,
            None => wait.to <= now,
        };
        while oldest < winner && has_left(&waits[oldest]) {
            granted_before += usize::from(waits[oldest].granted.is_some());
            oldest += 1;
        }
        if oldest >= winner {
            continue;
        }
        // All others that were granted so far began after it.
        let overtakes = granted + 1 - granted_before;
        if overtakes > bound as usize {
            let (waiter, by) = (waits[oldest].first, waits[winner].granted?);
            return Some(Evidence {
                at: now,
                attempts: [waiter, by].map(|claim| case.grants[claim].attempt).to_vec(),
                entries: vec![case.lives()[waiter.index()].entry, entry],
                overlap: None,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::Property::Fairness;
    use crate::testing::{Story, ms};

    fn bounded(bound: u32) -> Story {
        let mut story = Story::new();
        story.rules.bounds.overtakes = Some(bound);
        story
    }

    /// That client asks, is granted and gives back, all at once.
    fn passes(story: &mut Story, at: u64, client: u16) {
        story.at(at).client(client).takes(at + 90).ended().releasing().deletes(1);
    }

    #[test]
    fn who_is_overtaken_once_too_often_breaks_it() {
        let mut story = bounded(1);
        story.at(10).client(1).asks("orders").denied();
        passes(&mut story, 20, 2);
        story.holds(Fairness);
        passes(&mut story, 30, 2);
        let broken = story.broken(Fairness);
        assert_eq!((broken.at, broken.overlap), (ms(30), None));
        assert_eq!(broken.attempts, [story.attempt(1), story.attempt(2)]);
        assert_eq!(broken.entries, [0, story.last_but(3)], "its first try, and the grant");
    }

    #[test]
    fn who_came_first_overtakes_nobody() {
        let mut story = bounded(0);
        story.at(10).client(1).asks("orders").denied();
        story.at(20).client(2).asks("orders").denied();
        story.at(30).client(1).asks_again("orders").owned_by(1).granted(100).ended().deletes(1);
        story.at(40).client(2).asks_again("orders").owned_by(1).granted(100);
        story.holds(Fairness);
    }

    #[test]
    fn the_younger_of_two_has_been_overtaken_by_those_after_it_only() {
        let mut story = bounded(2);
        story.at(10).client(1).asks("orders").denied();
        passes(&mut story, 20, 3);
        story.at(30).client(2).asks("orders").denied();
        passes(&mut story, 40, 3);
        story.at(50).client(1).asks_again("orders").owned_by(1).granted(100).ended().deletes(1);
        passes(&mut story, 60, 3);
        story.holds(Fairness);
        passes(&mut story, 70, 3);
        assert_eq!((story.broken(Fairness).at, story.broken(Fairness).attempts[0]), (ms(70), story.attempt(2)));
    }

    #[test]
    fn those_that_leave_the_line_together_are_counted_once() {
        let mut story = bounded(0);
        for client in 1..=3 {
            story.at(10).client(client).asks("orders").denied();
        }
        // All at one instant, in their order.
        for client in 1..=3 {
            story.at(20).client(client).asks_again("orders").owned_by(1).granted(100).ended().deletes(1);
        }
        story.holds(Fairness);
    }

    #[test]
    fn of_two_grants_at_one_instant_the_first_overtakes() {
        let mut story = bounded(0);
        story.at(10).client(1).asks("orders").denied();
        story.at(15).client(2).asks("orders").denied();
        story.at(20).client(2).asks_again("orders").owned_by(1).granted(100).ended().deletes(1);
        story.at(20).client(1).asks_again("orders").owned_by(1).granted(100);
        assert_eq!(story.broken(Fairness).attempts, [story.nth_attempt(1, 1), story.attempt(2)]);
    }

    #[test]
    fn who_stands_still_gives_up_or_dies_has_left_the_line() {
        for leaves in ["pauses", "gives up", "dies"] {
            let mut story = bounded(0);
            story.at(10).client(1).asks("orders").denied();
            let client = story.at(15).client(1);
            let _ = match leaves {
                "pauses" => client.pauses(),
                "gives up" => client.asks_again("orders").denied().gives_up(),
                _ => client.dies(),
            };
            passes(&mut story, 20, 2);
            story.at(30).client(1).resumes();
            story.holds(Fairness);
        }
    }

    #[test]
    fn each_lock_has_its_own_line() {
        let mut story = bounded(0);
        story.at(10).client(1).asks("parcels").denied();
        passes(&mut story, 20, 2);
        story.holds(Fairness);
    }
}
