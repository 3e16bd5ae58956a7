//! **owner-release**: what an attempt owns, nobody else releases, cleans up, takes over or extends.
//!
//! Broken when a lock server executes somebody else's request on the key of an owner that is not over: a
//! release without a look at the owner, a janitor with a wrong view, an acquire that overwrites, a renewal
//! that does not ask whose lease it is. What an owner has left behind (it was denied or failed, its section
//! is over, its client is dead) anybody may clean up: it is of no use to anyone, and in the way.
//!
//! A client may enter a lock again that it has: then the key passes from its one attempt to the other, and
//! either may extend the lease. To release it under the feet of the other breaks the property all the same.
//!
//! Source: "Distributed Locks with Redis", redis.io: "this is important in order to avoid removing a lock
//! that was created by another client".

use crate::grants::ClaimId;
use crate::history::{Cause, Note};
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::owners::{Blow, Taking};
use crate::property::{Check, Facts};
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "owner-release",
    statement: "nobody else may release, clean up, take over or extend what an attempt owns",
    level: Level::Conduct,
    check: Check::Looks(check),
};

/// Broken at the first such request. The owner was in the right.
fn check(case: &Case<'_>) -> Finding {
    if case.servers_are_silent() {
        return Finding::unwitnessed();
    }
    let taken = case.owners().takings.iter().filter_map(|taking| by_others(case, taking));
    let extended = extended(case);
    let first = taken.chain(extended).min_by_key(|(entry, _)| *entry);
    let evidence = first.map(|(entry, owner)| {
        let entry_of_note = &case.history.entries[entry];
        let by = match entry_of_note.note {
            Note::Owner { cause: Cause::Request(by), .. } | Note::Extended { by, .. } => by,
            _ => None,
        };
        Evidence {
            at: entry_of_note.at,
            attempts: [Some(case.grants[owner].attempt), by].into_iter().flatten().collect(),
            entries: vec![entry],
            overlap: None,
        }
    });
    evidence.into()
}

/// The note of a taking that somebody else asked for, and whose key it was.
fn by_others(case: &Case<'_>, taking: &Taking) -> Option<(usize, ClaimId)> {
    let Taking { at, entry: Some(entry), from, to, blow: Blow::Said(Cause::Request(by)) } = *taking else {
        return None;
    };
    let owner = case.grants[from].attempt;
    // A client that enters its own lock again takes it from nobody.
    let enters = to.is_some_and(|to| case.grants[to].attempt.client() == owner.client());
    let is_foreign = by != Some(owner) && !enters;
    (is_foreign && at < case.lives()[from.index()].over).then_some((entry, from))
}

/// The notes of leases that another client extended, and whose they were.
fn extended<'c>(case: &'c Case<'_>) -> impl Iterator<Item = (usize, ClaimId)> + 'c {
    case.grants.mentions.owning.iter().filter_map(|said| {
        let (i, entry) = (said.entry, &case.history.entries[said.entry]);
        let Note::Extended { attempt, by, .. } = entry.note else { return None };
        let owner = said.claim?;
        let is_foreign = by.is_none_or(|by| by.client() != attempt.client());
        (is_foreign && entry.at < case.lives()[owner.index()].over).then_some((i, owner))
    })
}

#[cfg(test)]
mod tests {
    use crate::Property::OwnerRelease;
    use crate::testing::{Story, ms};

    #[test]
    fn a_release_that_removes_the_successors_lock_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(101).server(1).frees();
        story.at(105).client(2).takes(200);
        story.at(120).client(1).ended().releasing().deletes(1);
        let broken = story.broken(OwnerRelease);
        assert_eq!((broken.at, broken.overlap), (ms(120), None));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [story.last_but(0)]);
    }

    #[test]
    fn a_release_of_ones_own_breaks_nothing() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).deletes(1);
        story.at(20).client(1).takes(100).ended().releasing().deletes(1);
        story.holds(OwnerRelease);
    }

    #[test]
    fn what_expires_or_is_evicted_nobody_released() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).server(1).evicts();
        story.at(60).client(2).takes(160);
        story.at(161).server(1).frees();
        story.at(170).client(3).takes(260);
        story.at(180).server(1).dies();
        story.holds(OwnerRelease);
    }

    #[test]
    fn a_janitor_that_removes_a_live_lock_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).observer().deletes(1);
        let broken = story.broken(OwnerRelease);
        assert_eq!((broken.at, &broken.attempts[..]), (ms(50), &[story.attempt(1)][..]));
    }

    #[test]
    fn a_lock_of_somebody_who_has_not_heard_yet_is_live() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(20).observer().deletes(1);
        assert_eq!(story.broken(OwnerRelease).at, ms(20));
    }

    #[test]
    fn what_an_owner_has_left_behind_anybody_may_clean_up() {
        for end in ["dead", "failed", "denied", "given up", "ended"] {
            let mut story = Story::new();
            let client = story.at(10).client(1).asks("orders").owned_by(1);
            let _ = match end {
                "dead" => client.granted(100).dies(),
                "failed" => client.failed(),
                "denied" => client.denied(),
                "given up" => client.gives_up(),
                _ => client.granted(100).ended(),
            };
            story.at(20).client(1).extended_by(1, None);
            story.at(20).observer().deletes(1);
            story.holds(OwnerRelease);
        }
    }

    #[test]
    fn an_acquire_that_overwrites_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).client(2).takes(150);
        let broken = story.broken(OwnerRelease);
        assert_eq!((broken.at, &broken.attempts[..]), (ms(50), &[story.attempt(1), story.attempt(2)][..]));
    }

    #[test]
    fn a_client_may_enter_its_own_lock_again_but_not_release_it_under_its_feet() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).client(1).takes(150);
        let outer = story.nth_attempt(1, 1);
        story.at(60).client(1).extended_by(1, Some(outer));
        story.holds(OwnerRelease);
        story.at(70).server(1).removes("orders", Some(outer));
        assert_eq!(story.broken(OwnerRelease).attempts, [story.attempt(1), outer]);
    }

    #[test]
    fn a_renewal_that_extends_the_successors_lease_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(101).server(1).frees();
        story.at(105).client(2).takes(200);
        let (first, own) = (story.attempt(1), story.attempt(2));
        story.at(110).client(2).extended_by(1, Some(own));
        story.holds(OwnerRelease);
        story.at(120).client(2).extended_by(1, Some(first));
        let broken = story.broken(OwnerRelease);
        assert_eq!((broken.at, &broken.attempts[..]), (ms(120), &[own, first][..]));
    }

    #[test]
    fn where_no_server_says_who_owns_what_it_cannot_be_said() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").granted(100);
        story.undecided(OwnerRelease);
    }
}
