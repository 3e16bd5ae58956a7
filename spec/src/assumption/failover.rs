//! Whether a failover lost a grant: `no-lossy-failover`.
//!
//! A server that copied another takes its place. What the other had granted or extended, and has not come to it, is
//! lost: broken when it is promoted. So is a promise that it knows, and does not take over, as one whose clock says that
//! the lease is over. And whatever the other, if it lives on and knows nothing, grants or extends from then on, until
//! it is told: that will be thrown away.
//!
//! How far a copy had come, the copy says: up to which of the other's notes about owners and extensions.

use std::collections::{BTreeMap, BTreeSet};

use host::{NodeId, SimTime};

use super::ledger::earlier;
use crate::grants::ClaimId;
use crate::history::{Activity, LockName, Note};
use crate::judge::Case;

/// The first loss of a grant in a failover.
pub(super) fn first_loss(case: &Case<'_>) -> Option<SimTime> {
    if case.grants.mentions.replicating.is_empty() {
        return None;
    }
    let mut walk = Walk::default();
    let mut first = None;
    for entry in &case.history.entries {
        match entry.note {
            Note::Owner { authority, key, attempt, .. } => {
                walk.forget_earlier_lives(case, authority, entry.at);
                first = earlier(first, walk.says(authority, attempt.is_some(), entry.at));
                match attempt.and_then(|attempt| case.grants.of_attempt(attempt)) {
                    Some(claim) => _ = walk.owners.insert((authority, key), claim),
                    None => _ = walk.owners.remove(&(authority, key)),
                }
            }
            Note::Extended { authority, .. } => {
                walk.forget_earlier_lives(case, authority, entry.at);
                first = earlier(first, walk.says(authority, true, entry.at));
            }
            Note::Replicated { authority, primary, notes } => {
                walk.forget_earlier_lives(case, primary, entry.at);
                walk.copied.insert((authority, primary), notes as usize);
            }
            Note::Demoted { authority } => _ = walk.replaced.remove(&authority),
            Note::Promoted { authority, instead_of } => {
                let is_lossy =
                    walk.has_lost(authority, instead_of) || walk.has_dropped(case, authority, instead_of, entry.at);
                first = earlier(first, is_lossy.then_some(entry.at));
                walk.replaced.remove(&authority);
                walk.replaced.insert(instead_of);
            }
            _ => {}
        }
        if first.is_some() {
            break;
        }
    }
    first
}

#[derive(Default)]
struct Walk {
    /// Of each server, in the order of its notes about owners and extensions since it started: whether it granted or
    /// extended something.
    said: BTreeMap<NodeId, Vec<bool>>,
    /// When each server's process started, as far as that has been looked at.
    started: BTreeMap<NodeId, SimTime>,
    /// Up to which of the second's notes the first has come.
    copied: BTreeMap<(NodeId, NodeId), usize>,
    owners: BTreeMap<(NodeId, LockName), ClaimId>,
    /// Servers whose place another has taken, and that have not been told.
    replaced: BTreeSet<NodeId>,
}

impl Walk {
    /// A server says something about an owner: when a grant is lost with it, if it is.
    fn says(&mut self, server: NodeId, is_grant: bool, at: SimTime) -> Option<SimTime> {
        self.said.entry(server).or_default().push(is_grant);
        (is_grant && self.replaced.contains(&server)).then_some(at)
    }

    /// What a server said in an earlier life of its process counts no more.
    fn forget_earlier_lives(&mut self, case: &Case<'_>, server: NodeId, at: SimTime) {
        let activity = case.history.nodes[server.index()].activity.iter().take_while(|(since, _)| *since <= at);
        let died = activity.filter(|(_, doing)| *doing == Activity::Dead).map(|(since, _)| *since).last();
        if let Some(died) = died
            && self.started.insert(server, died) != Some(died)
        {
            self.said.remove(&server);
            self.copied.retain(|(_, of), _| *of != server);
            self.owners.retain(|(of, _), _| *of != server);
        }
    }

    /// Whether the old one granted or extended something that has not come to the new one.
    fn has_lost(&self, new: NodeId, old: NodeId) -> bool {
        let copied = self.copied.get(&(new, old)).copied().unwrap_or(0);
        self.said.get(&old).is_some_and(|said| said.iter().skip(copied).any(|is_grant| *is_grant))
    }

    /// Whether the new one does not take over an owner of the old one's to whom the lock is promised.
    fn has_dropped(&self, case: &Case<'_>, new: NodeId, old: NodeId, at: SimTime) -> bool {
        let mut owned = self.owners.iter().filter(|((of, _), _)| *of == old);
        owned.any(|((_, key), claim)| self.owners.get(&(new, *key)) != Some(claim) && case.is_promised(*claim, at))
    }
}

#[cfg(test)]
mod tests {
    use crate::Assumption::NoLossyFailover;
    use crate::testing::{Story, ms};

    /// Two servers, the second of which copies the first. The first grants at 10 ms.
    fn story() -> Story {
        let mut story = Story::with_servers(2, 1);
        story.declare(NoLossyFailover);
        story.at(10).client(1).takes(100);
        story
    }

    #[test]
    fn a_grant_that_has_not_come_to_the_new_one_is_lost() {
        for (copied, breach) in [(None, Some(ms(50))), (Some(0), Some(ms(50))), (Some(1), None)] {
            let mut story = story();
            if let Some(notes) = copied {
                story.at(20).server(2).has_copied(1, notes);
            }
            story.at(40).server(1).dies();
            if breach.is_none() {
                story.at(50).client(1).taken_over_by(2);
            }
            story.at(50).server(2).promoted_instead_of(1);
            assert_eq!(story.breach(NoLossyFailover), breach, "{copied:?}");
        }
    }

    #[test]
    fn a_release_that_has_not_come_is_no_grant() {
        let mut story = story();
        story.at(20).server(2).has_copied(1, 1);
        story.at(25).client(1).releasing();
        story.at(30).server(1).frees();
        story.at(50).client(1).taken_over_by(2);
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(story.breach(NoLossyFailover), None);
    }

    #[test]
    fn an_extension_that_has_not_come_is_lost() {
        let mut story = story();
        story.at(20).server(2).has_copied(1, 1);
        story.at(25).client(1).extended_by(1, None);
        story.at(50).client(1).taken_over_by(2);
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(story.breach(NoLossyFailover), Some(ms(50)));
    }

    #[test]
    fn a_promise_that_is_known_and_dropped_is_lost_unless_it_is_over() {
        for (at, breach) in [(50, Some(ms(50))), (150, None)] {
            let mut story = story();
            story.at(20).server(2).has_copied(1, 1);
            story.at(at).server(2).promoted_instead_of(1);
            assert_eq!(story.breach(NoLossyFailover), breach);
        }
    }

    #[test]
    fn what_the_old_one_grants_before_it_is_told_will_be_thrown_away() {
        let mut story = story();
        story.at(20).server(2).has_copied(1, 1);
        story.at(50).client(1).taken_over_by(2);
        story.at(50).server(2).promoted_instead_of(1);
        story.at(60).client(2).takes(200);
        assert_eq!(story.breach(NoLossyFailover), Some(ms(60)));
        let mut told = self::story();
        told.at(20).server(2).has_copied(1, 1);
        told.at(50).client(1).taken_over_by(2);
        told.at(50).server(2).promoted_instead_of(1);
        told.at(55).server(1).demoted();
        told.at(60).client(2).takes(200);
        assert_eq!(told.breach(NoLossyFailover), None);
    }

    #[test]
    fn without_a_failover_nothing_is_lost() {
        assert_eq!(story().breach(NoLossyFailover), None);
    }

    #[test]
    fn what_was_said_in_an_earlier_life_is_not_missed() {
        let mut story = story();
        story.at(20).server(1).dies();
        story.at(30).server(1).restarts();
        story.at(40).client(2).asks("orders").owned_by(1);
        story.at(45).server(2).has_copied(1, 1);
        story.at(50).client(2).taken_over_by(2);
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(story.breach(NoLossyFailover), None);
    }
}
