//! **rightful-accepted**: no operation is refused while its grant is the newest and its promised
//! window is open.
//!
//! This is the fencepost itself: a resource that refuses tokens *equal* to the highest it has seen,
//! where it should refuse those below, turns away the holder's second operation. A lock whose tokens
//! do not follow the order of its grants breaks it too.
//!
//! *Newest*: no later grant point of the same lock lies before the refusal. Once there is one, to
//! refuse the older holder is what a fence is for. A claim that was never granted has no right.
//!
//! Source: the other half of fencing, which Kleppmann's figure takes for granted ("How to do
//! distributed locking", 2016): the client with the newer token is served.

use crate::history::Note;
use crate::judge::Case;
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::verdict::{Evidence, Measures};

pub(super) const FACTS: Facts = Facts {
    name: "rightful-accepted",
    statement: "the holder of the newest grant may not be refused while its promise lasts",
    level: Level::Fence,
    check: Check::Counts(check),
};

/// Broken at the first refusal of a rightful holder.
fn check(case: &Case<'_>, measures: &mut Measures) -> Option<Evidence> {
    let mut newest = case.grants.newest();
    let mut broken = None;
    for mention in &case.grants.mentions.acting {
        let (i, entry) = (mention.entry, &case.history.entries[mention.entry]);
        let Note::Refused { .. } = entry.note else { continue };
        measures.refused += 1;
        let Some(id) = mention.claim else { continue };
        let claim = &case.grants[id];
        let Some(granted) = claim.granted else { continue };
        let is_newest = claim.is_grant() && newest.before(i, claim.lock) == claim.rank;
        if broken.is_none() && is_newest && case.is_promised(id, entry.at) {
            let (attempts, entries) = (vec![claim.attempt], vec![granted.entry, i]);
            broken = Some(Evidence { at: entry.at, attempts, entries, overlap: None });
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use crate::Property::RightfulAccepted;
    use crate::testing::{Story, ms};

    #[test]
    fn a_refused_holder_of_the_newest_grant_is_wronged() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        story.at(20).client(1).refused();
        let broken = story.broken(RightfulAccepted);
        assert_eq!(broken.at, ms(20));
        assert_eq!(broken.attempts, [story.attempt(1)]);
        assert_eq!(broken.entries, [story.last_but(2), story.last_but(0)]);
        assert_eq!(story.judged().measures.refused, 1);
    }

    #[test]
    fn a_holder_may_be_refused_once_a_newer_grant_exists() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(30).client(2).asks("orders").owned_by(1);
        story.at(40).client(1).refused();
        // The grant counts, and from its grant point, because its client learns of it in the end.
        story.at(50).client(2).granted(200);
        story.holds(RightfulAccepted);
    }

    #[test]
    fn an_ownership_that_its_client_never_learns_of_takes_no_right_away() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(30).client(2).asks("orders").owned_by(1).failed();
        story.at(40).client(1).refused();
        assert_eq!(story.broken(RightfulAccepted).at, ms(40));
    }

    #[test]
    fn the_right_ends_with_the_window_to_the_nanosecond() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(100).client(1).refused();
        story.holds(RightfulAccepted);
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.just_before(100).client(1).refused();
        story.broken(RightfulAccepted);
    }

    #[test]
    fn who_has_begun_to_release_may_be_refused() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(1).releasing();
        story.at(30).client(1).refused();
        story.holds(RightfulAccepted);
    }

    #[test]
    fn a_lease_that_was_renewed_is_a_right_again() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(120).client(1).renewed(200);
        story.at(130).client(1).refused();
        assert_eq!(story.broken(RightfulAccepted).at, ms(130));
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(110).client(1).refused();
        story.at(120).client(1).renewed(200);
        story.holds(RightfulAccepted);
    }

    #[test]
    fn a_claim_without_a_grant_has_no_right() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").granted(100);
        story.at(20).client(1).refused();
        story.at(30).observer().refused();
        story.holds(RightfulAccepted);
        assert_eq!(story.judged().measures.refused, 2);
    }

    #[test]
    fn another_locks_newer_grant_takes_no_right_away() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(2).takes_lock("parcels", 100);
        story.at(30).client(1).refused();
        story.broken(RightfulAccepted);
    }
}
