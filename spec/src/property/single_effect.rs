//! **single-effect**: a side effect is done once in a run.
//!
//! An effect is known by its name: whoever means two charges calls them by two names. It does not matter who
//! did it again, the same attempt or another; an effect that its receiver has recognised as done before is
//! not done again, and not in the history.
//!
//! No lock alone gives this, and no fence: what is sent cannot be called back, and the receiver keeps no
//! token. Source: Antirez, "Is Redlock safe?", 2016, and the bug reports on work that is done twice under a
//! lock that works (liquibase/liquibase#2816).

use std::collections::BTreeMap;

use crate::history::Note;
use crate::judge::{Case, Finding};
use crate::level::Level;
use crate::property::{Check, Facts};
use crate::verdict::Evidence;

pub(super) const FACTS: Facts = Facts {
    name: "single-effect",
    statement: "a side effect may be done only once",
    // Not that of effects: what a mail server takes, nobody compares with anything.
    level: Level::Belief,
    check: Check::Looks(check),
};

/// Broken at the first effect that had been done before. Who did it first was in the right.
fn check(case: &Case<'_>) -> Finding {
    let mut done = BTreeMap::new();
    for mention in &case.grants.mentions.acting {
        let (i, entry) = (mention.entry, &case.history.entries[mention.entry]);
        let Note::Effected { attempt, effect, .. } = entry.note else { continue };
        if let Some((first, by)) = done.insert(effect, (i, attempt)) {
            let attempts = [by, attempt].into_iter().flatten().collect();
            return Finding::Broken(Evidence { at: entry.at, attempts, entries: vec![first, i], overlap: None });
        }
    }
    Finding::Holds
}

#[cfg(test)]
mod tests {
    use crate::Property::SingleEffect;
    use crate::testing::{Story, ms};

    #[test]
    fn an_effect_that_is_done_again_breaks_it() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).does("charge");
        story.at(110).client(2).takes(200).does("charge");
        let broken = story.broken(SingleEffect);
        assert_eq!((broken.at, broken.overlap), (ms(110), None));
        assert_eq!(broken.attempts, [story.attempt(1), story.attempt(2)]);
        assert_eq!(broken.entries, [3, 7]);
    }

    #[test]
    fn it_does_not_matter_who_did_it_again() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).does("charge").does("charge");
        assert_eq!(story.broken(SingleEffect).attempts, [story.attempt(1); 2]);
        let mut story = Story::new();
        story.at(10).observer().does("charge");
        story.at(20).client(1).takes(100).does("charge");
        assert_eq!(story.broken(SingleEffect).attempts, [story.attempt(1)]);
    }

    #[test]
    fn effects_of_other_names_are_others() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100).does("charge").does("mail");
        story.holds(SingleEffect);
    }
}
