//! `v3lock`: the server queues for its client. What it does next says [`v3lock`](crate::etcd::v3lock); here it is done.

use std::collections::BTreeMap;

use host::{AttemptId, ConnId, Context, Name, Origin};

use super::{Etcd, For};
use crate::domain::Locks;
use crate::etcd::Reply;
use crate::etcd::answer::EventKind;
use crate::etcd::key::{Key, LeaseId, Revision};
use crate::etcd::v3lock::{Locking, Next};

/// Clients for which the server queues.
#[derive(Default, Debug)]
pub(super) struct Lockings {
    all: BTreeMap<u64, Queued>,
    /// The keys that are to be deleted before they go on.
    awaited: Vec<(u64, Key)>,
    next: u64,
}

/// A client for which the server queues.
#[derive(Debug)]
struct Queued {
    from: Origin,
    /// In whose name all is done that is done for it.
    attempt: Option<AttemptId>,
    locking: Locking,
}

impl Etcd {
    pub(super) fn lock(&mut self, cx: &mut Context<Locks>, from: Origin, name: Name, lease: Option<LeaseId>) {
        let (locking, next) = Locking::begin(name, lease, self.servers.version);
        let id = self.lockings.next;
        self.lockings.next += 1;
        self.lockings.all.insert(id, Queued { from, attempt: cx.attempt, locking });
        self.go_on(cx, id, next);
    }

    /// What was asked for it is answered.
    pub(super) fn locking_hears(&mut self, cx: &mut Context<Locks>, id: u64, reply: Reply) {
        if let Some(queued) = self.lockings.all.get_mut(&id) {
            let next = queued.locking.on_reply(reply);
            self.go_on(cx, id, next);
        }
    }

    /// That connection is closed: who was queued for on it leaves.
    pub(super) fn lockings_forget(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let of_conn = self.lockings.all.iter_mut().filter(|(_, queued)| queued.from.conn == conn);
        let left: Vec<_> = of_conn.map(|(id, queued)| (*id, queued.locking.on_cancel())).collect();
        for (id, next) in left {
            self.lockings.awaited.retain(|(of, _)| *of != id);
            if let Some(next) = next {
                self.go_on(cx, id, next);
            }
        }
    }

    /// These happened: who waited for one of them goes on.
    pub(super) fn lockings_see(&mut self, cx: &mut Context<Locks>, events: &[EventKind]) {
        for event in events {
            let EventKind::Delete { key, .. } = event else { continue };
            let (seen, others) =
                std::mem::take(&mut self.lockings.awaited).into_iter().partition(|(_, awaited)| awaited == key);
            self.lockings.awaited = others;
            seen.into_iter().for_each(|(id, _)| self.locking_sees(cx, id));
        }
    }

    fn locking_sees(&mut self, cx: &mut Context<Locks>, id: u64) {
        if let Some(queued) = self.lockings.all.get_mut(&id) {
            let next = queued.locking.on_deleted();
            self.go_on(cx, id, next);
        }
    }

    fn go_on(&mut self, cx: &mut Context<Locks>, id: u64, next: Next) {
        let Some(Queued { from, attempt, .. }) = self.lockings.all.get(&id) else { return };
        let (from, whose) = (*from, std::mem::replace(&mut cx.attempt, *attempt));
        match next {
            Next::Ask(rpc) => self.ask(cx, For::Locking(id), rpc),
            Next::Await(key, revision) if self.was_deleted(key, revision) => self.locking_sees(cx, id),
            Next::Await(key, _) => self.lockings.awaited.push((id, key)),
            Next::Answer(reply) => {
                self.lockings.all.remove(&id);
                cx.reply(from, reply);
            }
        }
        cx.attempt = whose;
    }

    /// Whether that key was deleted at that revision or later.
    fn was_deleted(&self, key: Key, since: Revision) -> bool {
        let mut late = self.store.history().iter().rev().take_while(|kind| kind.revision() >= since);
        late.any(|kind| matches!(kind, EventKind::Delete { .. }) && kind.key() == key)
    }
}
