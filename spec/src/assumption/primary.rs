//! Whether two lock servers decided at once: `one-primary`.
//!
//! A server takes the place of another that lives, and is not told. What the other has granted by then, or grants before it is told,
//! it may take to be so while the new one grants it to somebody else. Broken when the new one is promoted, if the old one lives and
//! has an owner then; if it has none, or comes to life later, when it next makes somebody the owner.
//!
//! That the new one lacks what a dead one had granted is another promise, `no-lossy-failover`. A lock whose owner is a session does
//! without that one: sessions end with their server.
//!
//! Source: chapter 27.3 of the documentation of PostgreSQL 15: the old primary must be told that it is the primary no longer.

use std::collections::BTreeSet;

use host::{NodeId, SimTime};

use crate::history::{Activity, LockName, Note};
use crate::judge::Case;

/// When two first decided at once.
pub(super) fn first_beside_another(case: &Case<'_>) -> Option<SimTime> {
    if case.grants.mentions.replicating.is_empty() {
        return None;
    }
    let lives = |server: NodeId, at| case.history.nodes[server.index()].doing(at) != Activity::Dead;
    let mut owned: BTreeSet<(NodeId, LockName)> = BTreeSet::new();
    let mut replaced: BTreeSet<NodeId> = BTreeSet::new();
    for entry in &case.history.entries {
        match entry.note {
            Note::Owner { authority, attempt: Some(_), .. } if replaced.contains(&authority) => return Some(entry.at),
            Note::Owner { authority, key, attempt: Some(_), .. } => _ = owned.insert((authority, key)),
            Note::Owner { authority, key, attempt: None, .. } => _ = owned.remove(&(authority, key)),
            Note::Demoted { authority } => _ = replaced.remove(&authority),
            Note::Promoted { authority, instead_of } => {
                let has_owner = owned.iter().any(|(server, _)| *server == instead_of);
                if has_owner && lives(instead_of, entry.at) {
                    return Some(entry.at);
                }
                owned.retain(|(server, _)| *server != instead_of);
                replaced.remove(&authority);
                replaced.insert(instead_of);
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use crate::Assumption::OnePrimary;
    use crate::testing::{Story, ms};

    /// Two servers, the second of which copies the first. The first grants at 10 ms.
    fn story() -> Story {
        let mut story = Story::with_servers(2, 1);
        story.declare(OnePrimary);
        story.at(10).client(1).takes(100);
        story
    }

    #[test]
    fn who_takes_the_place_of_one_that_lives_and_has_an_owner_decides_beside_it() {
        let mut story = story();
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(story.breach(OnePrimary), Some(ms(50)));
    }

    #[test]
    fn of_a_dead_one_or_one_without_an_owner_nothing_is_left() {
        let mut dead = story();
        dead.at(40).server(1).dies();
        dead.at(50).server(2).promoted_instead_of(1);
        assert_eq!(dead.breach(OnePrimary), None);
        let mut idle = story();
        idle.at(40).server(1).frees();
        idle.at(50).server(2).promoted_instead_of(1);
        assert_eq!(idle.breach(OnePrimary), None);
        idle.at(60).client(2).asks("orders").owned_by(2);
        assert_eq!(idle.breach(OnePrimary), None, "it is the new one that grants");
    }

    #[test]
    fn one_that_is_back_and_was_not_told_decides_as_well() {
        for told in [false, true] {
            let mut story = story();
            story.at(40).server(1).dies();
            story.at(50).server(2).promoted_instead_of(1);
            story.at(60).server(1).restarts();
            if told {
                story.at(60).server(1).demoted();
            }
            story.at(70).client(2).asks("orders").owned_by(1);
            assert_eq!(story.breach(OnePrimary), (!told).then_some(ms(70)));
        }
    }

    #[test]
    fn without_a_failover_there_is_one() {
        assert_eq!(story().breach(OnePrimary), None);
    }
}
