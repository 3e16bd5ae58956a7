//! An entry is agreed upon: what it changes, and who is told.

use host::Context;
use spec::{Cause, Note, Version};

use super::{Command, ZkLog, ZooKeeper};
use crate::domain::Locks;
use crate::log::Applied;
use crate::zookeeper::answer::{Body, OpResult};
use crate::zookeeper::api::Multi;
use crate::zookeeper::tree::{self, Change};

impl ZooKeeper {
    pub(super) fn apply(&mut self, cx: &mut Context<Locks>, applied: &Applied<ZkLog>) {
        let Some(proposal) = &applied.entry.proposal else {
            // A server alone has no epochs.
            if !self.is_alone() {
                self.tree.begin_epoch();
            }
            self.serve_if_up_to_date(cx);
            return;
        };
        let Command { change, refused, ticket } = &proposal.command;
        let done = self.tree.apply(change, *refused);
        self.note(cx, applied, &done);
        for happened in &done.happened {
            self.watches.tell(cx, happened);
        }
        let own = ticket.filter(|ticket| ticket.member == self.seat(cx.node));
        match (change, own) {
            (Change::Open { .. }, Some(ticket)) => self.validated(cx, ticket, true),
            (_, Some(ticket)) => self.done(cx, ticket, done.zxid, done.outcome),
            (_, None) => {}
        }
        if let Change::Close { session } = change {
            self.forget(*session);
            self.hang_up(cx, *session);
        }
        if applied.entry.place.term == self.member.term() {
            self.settled(cx);
        }
        self.answer_syncs(cx);
        self.serve_if_up_to_date(cx);
    }

    /// For the history: who owns which lock now, and what became of an object.
    fn note(&mut self, cx: &mut Context<Locks>, applied: &Applied<ZkLog>, done: &tree::Applied) {
        let Some(proposal) = &applied.entry.proposal else { return };
        let Command { change, ticket, .. } = &proposal.command;
        let passed = self.owners.take(&done.happened, proposal.attempt, &self.tree);
        // What it knew to be agreed upon before it last started it has said before.
        if applied.again {
            return;
        }
        let cause = if ticket.is_some() { Cause::Request(proposal.attempt) } else { Cause::SessionEnd };
        let (member, index, leads) = (cx.node, applied.entry.place.index, self.member.leads());
        for (key, attempt) in passed {
            cx.note(Note::Applied { member, index, leads, key, attempt, cause });
        }
        if let (Change::Multi { multi: Multi { errand: Some(errand), .. }, .. }, Ok(body)) = (change, &done.outcome) {
            let replaced = version_written(body).map(|version| Version(version - 1));
            let (op, object, based_on) = (errand.op, errand.object, errand.based_on);
            cx.note(Note::Acted { index, leads, attempt: proposal.attempt, op, object, based_on, replaced });
        }
    }
}

/// The version that a multi has given to the object that it wrote.
fn version_written(body: &Body) -> Option<u64> {
    let Body::Multi { results } = body else { return None };
    results.iter().find_map(|result| match result {
        OpResult::Set { stat } => u64::try_from(stat.version).ok(),
        _ => None,
    })
}
