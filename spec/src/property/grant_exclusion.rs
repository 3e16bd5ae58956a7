//! **grant-exclusion**: no two promised windows of one lock overlap.
//!
//! This is the promise of the service and its recipe together, on the clocks that they were told to
//! rest on; what a client believes is another matter (`belief-exclusion`). Antirez defends this
//! reading of Redlock, and Kleppmann's clock jump attacks it: "Is Redlock safe?" and "How to do
//! distributed locking", 2016.
//!
//! What is promised to whom is worked out in [`windows`](crate::windows). Two attempts of one client
//! count too: if a restarted client gets the lock while the lease of its former life is promised to
//! last, the service has granted twice. An attempt does not overlap itself, and those that share a lock may have it together.

use crate::judge::Case;
use crate::level::Level;
use crate::overlap;
use crate::property::{Check, Facts};
use crate::verdict::{Evidence, Measures};

pub(super) const FACTS: Facts = Facts {
    name: "grant-exclusion",
    statement: "no two grants may be promised for the same time",
    level: Level::Grant,
    check: Check::Counts(check),
};

/// Broken at the first instant at which two windows are open. The older one was in the right.
///
/// A cluster whose members keep one log promises nothing twice, unless they make different things of an entry: then
/// broken at the first of those.
fn check(case: &Case<'_>, measures: &mut Measures) -> Option<Evidence> {
    if let Some(&entry) = case.grants.mentions.disagreeing.first() {
        let noted = &case.history.entries[entry];
        let attempts = noted.note.attempt().into_iter().collect();
        return Some(Evidence { at: noted.at, attempts, entries: vec![entry], overlap: None });
    }
    let overlap = overlap::sweep(case.promised.windows(), case.grants.locks(), |window| {
        case.grants[window.claim].party(window.claim)
    })?;
    measures.grant_overlap = overlap.longest;
    Some(Evidence {
        at: overlap.at,
        attempts: overlap.pair.iter().map(|window| case.grants[window.claim].attempt).collect(),
        entries: overlap.pair.iter().map(|window| window.entry).collect(),
        overlap: Some(overlap.longest),
    })
}

#[cfg(test)]
mod tests {
    use crate::Property::GrantExclusion;
    use crate::rules::Promise;
    use crate::testing::{Story, lasting, ms};

    #[test]
    fn two_windows_that_overlap_break_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(60).client(2).takes(160);
        let broken = story.broken(GrantExclusion);
        assert_eq!((broken.at, broken.overlap), (ms(60), lasting(40)));
        assert_eq!(broken.attempts, [story.attempt(1), story.attempt(2)]);
        assert_eq!(broken.entries, [2, 5], "the two `granted` notes");
    }

    #[test]
    fn those_that_share_may_have_it_together_and_nobody_else_with_them() {
        let mut story = Story::new();
        story.at(10).client(1).asks_to_share("orders").names_owner(1, "orders").granted(100);
        story.at(20).client(2).asks_to_share("orders").names_owner(1, "orders/shared").granted(120);
        story.holds(GrantExclusion);
        story.at(110).client(3).takes(160);
        let broken = story.broken(GrantExclusion);
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(3)]);
    }

    #[test]
    fn a_window_that_begins_when_another_ends_does_not_overlap_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(100).client(2).takes(160);
        story.holds(GrantExclusion);
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.just_before(100).client(2).takes(160);
        assert_eq!(story.broken(GrantExclusion).overlap, Some(host::Duration::from_nanos(1)));
    }

    #[test]
    fn a_release_makes_room() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).client(1).ended().releasing();
        story.at(50).client(2).takes(160);
        story.holds(GrantExclusion);
    }

    #[test]
    fn what_is_given_back_at_once_was_promised_for_an_instant() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(50).client(2).takes(160).ended().releasing();
        assert_eq!(story.broken(GrantExclusion).at, ms(50));
        let mut story = Story::new();
        story.at(10).client(1).takes(100).ended().releasing();
        story.at(20).client(2).takes(160);
        story.holds(GrantExclusion);
    }

    #[test]
    fn what_is_granted_as_the_run_ends_was_promised_for_an_instant() {
        let mut story = Story::new();
        story.at(9_950).client(1).takes(10_050);
        story.at(10_000).client(2).takes(10_100);
        assert_eq!(story.broken(GrantExclusion).at, ms(10_000));
    }

    #[test]
    fn windows_of_different_locks_do_not_meet() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(60).client(2).takes_lock("parcels", 160);
        story.holds(GrantExclusion);
    }

    #[test]
    fn a_client_that_comes_back_may_overlap_its_former_life() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(1).dies();
        story.at(30).client(1).restarts().takes(130);
        let broken = story.broken(GrantExclusion);
        assert_eq!(broken.at, ms(30));
        assert_eq!(broken.attempts, [story.nth_attempt(1, 1), story.nth_attempt(1, 2)]);
    }

    #[test]
    fn members_that_make_different_things_of_one_entry_break_it() {
        let mut story = Story::new();
        story.rules.promise = Promise::WhileOwned;
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        story.at(50).server(1).frees();
        story.at(60).client(2).asks("orders").owned_by(1).granted_for_good();
        story.holds(GrantExclusion);
        story.at(70).server(1).disagrees("orders", None);
        let broken = story.broken(GrantExclusion);
        assert_eq!((broken.at, broken.entries), (ms(70), vec![7]));
    }

    #[test]
    fn the_longest_overlap_need_not_be_the_first() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(90).client(2).takes(200);
        story.at(150).client(3).takes(300);
        let broken = story.broken(GrantExclusion);
        assert_eq!((broken.at, broken.overlap), (ms(90), lasting(50)));
        assert_eq!(Some(story.judged().measures.grant_overlap), lasting(50));
    }
}
