//! Who may act: epochs, and one vote in each.

use std::collections::BTreeMap;

use host::{Context, NodeId, span};

use super::{MAX_DESYNC, Sentinel, now};
use crate::domain::Locks;

impl Sentinel {
    /// `sentinelVoteLeader`: votes for the candidate, unless there was a vote in that epoch or a later one. What the
    /// last vote was.
    pub(super) fn vote(&mut self, cx: &mut Context<Locks>, epoch: u64, candidate: NodeId) -> (NodeId, u64) {
        let memory = &mut self.memory;
        if epoch > memory.epoch {
            memory.epoch = epoch;
        }
        if memory.vote_epoch < epoch && memory.epoch <= epoch {
            (memory.vote, memory.vote_epoch) = (Some(candidate), memory.epoch);
            if candidate != self.id {
                // Who has voted for another does not try himself for a while.
                self.failover.started_at = Some(now(cx) + desync(cx));
            }
            self.remember(cx);
        }
        (self.memory.vote.unwrap_or(candidate), self.memory.vote_epoch)
    }

    /// `sentinelGetLeader`: whom a majority of all Sentinels, and at least the quorum, has voted for in that epoch. This
    /// one votes now if it has not, for whoever is ahead or for itself.
    pub(super) fn leader(&mut self, cx: &mut Context<Locks>, epoch: u64) -> Option<NodeId> {
        let current = self.memory.epoch;
        let mut votes: BTreeMap<NodeId, usize> = BTreeMap::new();
        for (leader, in_epoch) in self.others.values().filter_map(|other| other.vote) {
            if in_epoch == current {
                *votes.entry(leader).or_default() += 1;
            }
        }
        let ahead = first_of_most(&votes).map(|(leader, _)| leader);
        let (own, in_epoch) = self.vote(cx, epoch, ahead.unwrap_or(self.id));
        if in_epoch == epoch {
            *votes.entry(own).or_default() += 1;
        }
        let needed = self.settings.quorum.max(self.settings.sentinels.len() / 2 + 1);
        first_of_most(&votes).filter(|(_, votes)| *votes >= needed).map(|(leader, _)| leader)
    }
}

fn first_of_most(votes: &BTreeMap<NodeId, usize>) -> Option<(NodeId, usize)> {
    let most = votes.values().max()?;
    votes.iter().find(|(_, votes)| *votes == most).map(|(leader, votes)| (*leader, *votes))
}

/// Up to a second, so that Sentinels do not try all at once.
pub(super) fn desync(cx: &Context<Locks>) -> i64 {
    span::uniform(0, MAX_DESYNC - 1, || cx.random()).cast_signed()
}
