//! Whether two lock servers decided at once: `one-primary`.
//!
//! A server takes the place of another that is not told. What the other has granted and still knows, or grants before it is told, it takes
//! to be so while the new one grants as well. Broken when both have made somebody the owner: the old one has an owner as it is
//! replaced, or makes one after that, and the new one makes one after that. While only one of them is asked, nobody is let in twice.
//!
//! That the new one lacks what a dead one had granted is another promise, `no-lossy-failover`. A lock whose owner is a session does
//! without that one: sessions end with their server.
//!
//! Source: chapter 27.3 of the documentation of PostgreSQL 15: the old primary must be told that it is the primary no longer.

use std::collections::BTreeMap;

use host::{NodeId, SimTime};

use crate::history::{Activity, Cause, LockName, Note};
use crate::judge::Case;

/// When two first decided at once.
pub(super) fn first_beside_another(case: &Case<'_>) -> Option<SimTime> {
    if case.grants.mentions.replicating.is_empty() {
        return None;
    }
    let died = |server: NodeId, since: SimTime, by: SimTime| {
        let mut activity = case.history.nodes[server.index()].activity.iter();
        activity.any(|(at, doing)| *doing == Activity::Dead && since <= *at && *at <= by)
    };
    // Since when each server has had an owner for a key. With its process all are gone.
    let mut owned: BTreeMap<(NodeId, LockName), SimTime> = BTreeMap::new();
    let mut pairs: Vec<Pair> = Vec::new();
    for entry in &case.history.entries {
        match entry.note {
            Note::Owner { cause: Cause::Promotion | Cause::Restart, .. } => {}
            Note::Owner { authority, key, attempt: Some(_), .. } => {
                owned.insert((authority, key), entry.at);
                pairs.iter_mut().for_each(|pair| pair.grants(authority));
                if pairs.iter().any(|pair| pair.old_decides && pair.new_decides) {
                    return Some(entry.at);
                }
            }
            Note::Owner { authority, key, attempt: None, .. } => _ = owned.remove(&(authority, key)),
            Note::Demoted { authority } => pairs.retain(|pair| pair.old != authority),
            Note::Promoted { authority: new, instead_of: old } => {
                let is_owned = |((server, _), since): (&(NodeId, LockName), &SimTime)| {
                    *server == old && !died(old, *since, entry.at)
                };
                pairs.retain(|pair| pair.old != new);
                pairs.push(Pair { old, new, old_decides: owned.iter().any(is_owned), new_decides: false });
                owned.retain(|(server, _), _| *server != old);
            }
            _ => {}
        }
    }
    None
}

/// A server and the one that has taken its place, and which of them have owners that they made by themselves.
struct Pair {
    old: NodeId,
    new: NodeId,
    old_decides: bool,
    new_decides: bool,
}

impl Pair {
    fn grants(&mut self, server: NodeId) {
        self.old_decides |= self.old == server;
        self.new_decides |= self.new == server;
    }
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
    fn two_that_both_grant_decide_at_once() {
        let mut story = story();
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(story.breach(OnePrimary), None, "nobody has asked the new one");
        story.at(60).client(2).asks("orders").owned_by(2);
        assert_eq!(story.breach(OnePrimary), Some(ms(60)));
    }

    #[test]
    fn of_a_dead_one_or_one_without_an_owner_nothing_is_left() {
        for dies in [true, false] {
            let mut story = story();
            if dies {
                story.at(40).server(1).dies();
            } else {
                story.at(40).server(1).frees();
            }
            story.at(50).server(2).promoted_instead_of(1);
            story.at(60).client(2).asks("orders").owned_by(2);
            assert_eq!(story.breach(OnePrimary), None, "it is the new one that grants");
        }
    }

    #[test]
    fn what_one_had_before_it_died_it_does_not_have_when_it_is_back() {
        let mut story = story();
        story.at(30).server(1).dies();
        story.at(40).server(1).restarts();
        story.at(50).server(2).promoted_instead_of(1);
        story.at(60).client(2).asks("orders").owned_by(2);
        assert_eq!(story.breach(OnePrimary), None);
    }

    #[test]
    fn one_that_is_back_and_was_not_told_decides_as_well() {
        for (told, asked) in [(false, true), (true, true), (false, false)] {
            let mut story = story();
            story.at(40).server(1).dies();
            story.at(50).server(2).promoted_instead_of(1);
            if asked {
                story.at(55).client(3).asks("orders").owned_by(2);
            }
            story.at(60).server(1).restarts();
            if told {
                story.at(60).server(1).demoted();
            }
            story.at(70).client(2).asks("orders").owned_by(1);
            assert_eq!(story.breach(OnePrimary), (!told && asked).then_some(ms(70)), "{told} {asked}");
        }
    }

    #[test]
    fn without_a_failover_there_is_one() {
        assert_eq!(story().breach(OnePrimary), None);
    }
}
