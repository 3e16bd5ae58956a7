//! **no-lost-update**: every accepted read-modify-write was based on the version that it replaced, and none is undone.
//!
//! A blind write, one that is based on no version, loses nothing that it claimed to build on. Whose
//! attempt a write belongs to plays no part: an update is lost whoever loses it.
//!
//! An object that falls back behind an accepted write, with a backup, with a failover to a standby that lags, with a disk that loses
//! what it had, has lost that update. It is seen when a version is replaced once more.
//!
//! Source: the lost-update anomaly (P4 in Berenson et al., "A Critique of ANSI SQL Isolation Levels",
//! 1995), here for one object at a time.

use crate::history::{History, Note, ObjectName, Version};
use crate::judge::Case;
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::verdict::{Evidence, Measures};

pub(super) const FACTS: Facts = Facts {
    name: "no-lost-update",
    statement: "a write may replace only the version that it was based on, and may not be undone",
    level: Level::Effect,
    check: Check::Counts(check),
};

/// Broken at the first write that replaced another version than it was based on, or one that was replaced before. In the right was
/// the writer of what was lost.
fn check(case: &Case<'_>, measures: &mut Measures) -> Option<Evidence> {
    let mut broken = None;
    let mut newest: Vec<(ObjectName, Version)> = Vec::new();
    for mention in &case.grants.mentions.acting {
        let (i, entry) = (mention.entry, &case.history.entries[mention.entry]);
        let Note::Wrote { attempt, object, based_on, replaced, .. } = entry.note else { continue };
        let is_undone = has_fallen_back(&mut newest, object, replaced);
        if !is_undone && based_on.is_none_or(|based_on| based_on == replaced) {
            continue;
        }
        measures.lost_updates += 1;
        if broken.is_none() {
            let lost =
                last_write(case.history, i, |other, version| other == object && (!is_undone || version == replaced));
            let attempts = lost.and_then(|(_, writer)| writer).into_iter().chain(attempt).collect();
            let entries = lost.map(|(entry, _)| entry).into_iter().chain([i]).collect();
            broken = Some(Evidence { at: entry.at, attempts, entries, overlap: None });
        }
    }
    broken
}

/// Whether a newer version of the object was there before that one was replaced.
fn has_fallen_back(newest: &mut Vec<(ObjectName, Version)>, object: ObjectName, replaced: Version) -> bool {
    let written = Version(replaced.0.saturating_add(1));
    match newest.iter_mut().find(|(other, _)| *other == object) {
        Some((_, newest)) => replaced < std::mem::replace(newest, written),
        None => {
            newest.push((object, written));
            false
        }
    }
}

/// The last accepted write before that entry of such an object, which replaced such a version: where it is, and who wrote.
fn last_write(
    history: &History,
    before: usize,
    is_such: impl Fn(ObjectName, Version) -> bool,
) -> Option<(usize, Option<host::AttemptId>)> {
    history.entries[..before].iter().enumerate().rev().find_map(|(i, entry)| match entry.note {
        Note::Wrote { attempt, object, replaced, .. } if is_such(object, replaced) => Some((i, attempt)),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use crate::Property::NoLostUpdate;
    use crate::testing::{Story, ms};

    #[test]
    fn a_write_based_on_a_version_that_is_gone_loses_an_update() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0);
        story.at(110).client(2).takes(200).read(0);
        story.at(120).client(2).wrote(Some(0), 0);
        story.at(130).client(1).wrote(Some(0), 1);
        let broken = story.broken(NoLostUpdate);
        assert_eq!(broken.at, ms(130));
        assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
        assert_eq!(broken.entries, [story.last_but(1), story.last_but(0)]);
        assert_eq!(story.judged().measures.lost_updates, 1);
    }

    #[test]
    fn a_write_based_on_what_it_replaced_loses_nothing() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0).wrote(Some(0), 0);
        story.at(110).client(2).takes(200).read(1).wrote(Some(1), 1);
        story.holds(NoLostUpdate);
    }

    #[test]
    fn a_version_that_is_replaced_once_more_has_come_back_from_the_dead() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).read(0).wrote(Some(0), 0);
        let undone = story.last_but(0);
        story.at(20).client(1).wrote(Some(1), 1);
        story.at(110).client(2).takes(200).read(0).wrote(Some(0), 0);
        let broken = story.broken(NoLostUpdate);
        assert_eq!(broken.at, ms(110));
        assert_eq!(broken.attempts, [story.attempt(1), story.attempt(2)]);
        assert_eq!(broken.entries, [undone, story.last_but(0)]);
        story.at(120).client(2).wrote(Some(1), 1);
        assert_eq!(story.judged().measures.lost_updates, 1, "from there it goes on");
        let mut blind = Story::new();
        blind.at(10).client(1).takes(100).wrote(None, 0);
        blind.at(110).client(2).takes(200).on("another").wrote(None, 0);
        blind.holds(NoLostUpdate);
        blind.at(120).client(2).wrote(None, 0);
        assert_eq!(blind.broken(NoLostUpdate).at, ms(120));
    }

    #[test]
    fn a_blind_write_loses_nothing() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).wrote(None, 0);
        story.at(20).client(2).takes(100).wrote(None, 1);
        story.holds(NoLostUpdate);
    }

    #[test]
    fn a_write_outside_any_attempt_loses_updates_too() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).wrote(Some(0), 0);
        story.at(20).observer().wrote(Some(0), 1);
        let broken = story.broken(NoLostUpdate);
        assert_eq!(broken.attempts, [story.attempt(1)]);
    }

    #[test]
    fn every_lost_update_is_counted_and_the_first_is_shown() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).wrote(Some(0), 0);
        story.at(20).client(2).takes(100).wrote(Some(0), 1);
        story.at(30).client(2).wrote(Some(0), 2);
        assert_eq!(story.judged().measures.lost_updates, 2);
        assert_eq!(story.broken(NoLostUpdate).at, ms(20));
    }

    #[test]
    fn the_update_that_was_lost_is_the_last_one_to_the_same_object() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).wrote(Some(0), 0);
        let lost = story.last_but(0);
        story.at(20).client(2).takes(100).on("another").wrote(Some(0), 0);
        story.at(30).client(3).takes(100).wrote(Some(0), 1);
        assert_eq!(story.broken(NoLostUpdate).entries, [lost, story.last_but(0)]);
    }
}
