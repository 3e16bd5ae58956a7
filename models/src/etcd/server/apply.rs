//! An entry is committed: what it changes, and who is told.

use host::Context;
use spec::{Cause, Note, Version};

use super::{Command, Etcd, EtcdLog, clocks};
use crate::domain::Locks;
use crate::etcd::answer::{Body, version_found};
use crate::etcd::api::{Errand, Txn};
use crate::etcd::owners::{Passed, found_own};
use crate::etcd::store::{Applied, Change};
use crate::log;

impl Etcd {
    pub(super) fn apply(&mut self, cx: &mut Context<Locks>, applied: log::Applied<EtcdLog>) {
        let Some(proposal) = &applied.entry.proposal else { return };
        let Command { change, is_asked } = &proposal.command;
        let before = self.store.history().len();
        let outcome = self.store.apply(change);
        self.count(cx, change, &outcome);
        let events = self.store.history()[before..].to_vec();
        let cause =
            |is_over: bool| if *is_asked && !is_over { Cause::Request(proposal.attempt) } else { Cause::Expiry };
        let found = match (change, &outcome) {
            (Change::Txn(txn), Ok(_)) => found_own(txn, &events),
            _ => None,
        };
        let first = |stem| self.store.first_created(stem).map(|kv| kv.key);
        let passed = self.owners.take(&events, found, proposal.attempt, first);
        // What it knew to be agreed upon before it last started it has said before.
        for Passed { lock, to, is_over } in passed.into_iter().filter(|_| !applied.again) {
            let (member, index, leads) = (cx.node, applied.entry.place.index, self.member.leads());
            cx.note(Note::Applied { member, index, leads, key: lock, attempt: to, cause: cause(is_over) });
        }
        if let (Change::Txn(Txn { errand: Some(errand), .. }), Ok((_, Body::Txn { succeeded, responses })), false) =
            (change, &outcome, applied.again)
        {
            let Errand { op, object, based_on } = *errand;
            let (index, leads, attempt) = (applied.entry.place.index, self.member.leads(), proposal.attempt);
            let replaced = succeeded.then(|| Version(version_found(responses).0 - 1));
            cx.note(Note::Acted { index, leads, attempt, op, object, based_on, replaced });
        }
        if !events.is_empty() {
            let header = self.header(cx);
            self.watches.tell(cx, header, &self.store, &events);
            self.lockings_see(cx, &events);
        }
        let waiting = applied.ticket.and_then(|ticket| self.waiting.remove(&ticket));
        if let Some(waiting) = waiting {
            self.answer(cx, waiting.whom, outcome);
        }
    }

    /// What the leader counts follows.
    fn count(&mut self, cx: &mut Context<Locks>, change: &Change, outcome: &Applied) {
        if outcome.is_err() {
            return;
        }
        match change {
            Change::Grant { id, .. } => {
                let lease = &self.store.leases()[id];
                self.lessor.granted(*id, lease, clocks(cx));
                self.set_pass(cx);
            }
            Change::Revoke { id } => {
                self.lessor.revoked(*id);
                self.tell_of_end(cx, *id);
            }
            Change::Checkpoint { id, .. } => {
                if let Some(lease) = self.store.leases().get(id) {
                    self.lessor.checkpointed(*id, lease, clocks(cx));
                }
            }
            Change::Put(_) | Change::Delete(_) | Change::Txn(_) | Change::Bump { .. } => {}
        }
    }
}
