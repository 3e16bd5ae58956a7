//! `v3lock`: the server queues for its client, as `concurrency.Mutex` does, and does not keep the lease alive.
//!
//! Source: `etcdserver/api/v3lock/lock.go` of etcd 3.4.23.
//!
//! Departure: the server is a client of itself there, and asks and watches; here it looks at its own state whenever that
//! changes. 3.4.23 does not look whether the key is there still when its turn has come (issue 11456).

use host::{Context, Name, Origin};

use super::{Etcd, Wants, fresh};
use crate::domain::Locks;
use crate::etcd::answer::Body;
use crate::etcd::api::{Compare, Op, Put, Range, Txn};
use crate::etcd::key::{Key, Keys, LeaseId, Revision};
use crate::etcd::store::{Applied, Change};
use crate::etcd::{EtcdError, Reply, Value};
use crate::lock::etcd::Version;

/// The lease that the server grants if the client has none, in seconds (`concurrency.NewSession`).
const DEFAULT_TTL: i64 = 60;

/// Clients whose turn has not come.
#[derive(Default, Debug)]
pub(super) struct Queue(Vec<Queued>);

#[derive(Clone, Copy, Debug)]
struct Queued {
    from: Origin,
    key: Key,
    revision: Revision,
}

impl Etcd {
    pub(super) fn lock(&mut self, cx: &mut Context<Locks>, from: Origin, name: Name, lease: Option<LeaseId>) {
        let stem = Name::from(format!("{name}/"));
        match lease {
            Some(lease) => self.queue_up(cx, from, stem, lease),
            None => {
                let id = fresh(cx);
                self.propose(cx, from, Change::Grant { id, ttl: DEFAULT_TTL }, Wants::Lease(stem));
            }
        }
    }

    /// The client has a lease now.
    pub(super) fn leased(&mut self, cx: &mut Context<Locks>, from: Origin, stem: Name, outcome: Applied) {
        match outcome {
            Ok((_, Body::LeaseGrant { id, .. })) => self.queue_up(cx, from, stem, id),
            other => self.answer(cx, from, other),
        }
    }

    fn queue_up(&mut self, cx: &mut Context<Locks>, from: Origin, stem: Name, lease: LeaseId) {
        let key = Key::under(stem, lease);
        let txn = Txn {
            compare: vec![Compare::created_at(key, Revision(0))],
            success: vec![Op::Put(Put::new(key, Value::from(""), Some(lease)))],
            failure: vec![Op::Range(Range::of(Keys::One(key)))],
        };
        self.propose(cx, from, Change::Txn(txn), Wants::Place(key));
    }

    /// It stands in the queue.
    pub(super) fn placed(&mut self, cx: &mut Context<Locks>, from: Origin, key: Key, outcome: Applied) {
        let Ok((revision, Body::Txn { succeeded, responses })) = outcome else {
            let error = outcome.err().unwrap_or(EtcdError::Timeout);
            let error = if error == EtcdError::LeaseNotFound { EtcdError::LockLeaseNotFound } else { error };
            cx.reply(from, Reply::Failed(error));
            return;
        };
        let own = responses.first().and_then(|response| match &response.body {
            Body::Range { kvs, .. } => kvs.first(),
            _ => None,
        });
        let revision = own.filter(|_| !succeeded).map_or(revision, |kv| kv.create_revision);
        self.queue.0.push(Queued { from, key, revision });
        self.advance_queue(cx);
    }

    /// Keys may be gone: whose turn has come?
    pub(super) fn advance_queue(&mut self, cx: &mut Context<Locks>) {
        let queued = std::mem::take(&mut self.queue.0);
        for one in queued {
            let first = self.store.first_created(one.key.stem());
            if first.is_some_and(|first| first.create_revision < one.revision) {
                self.queue.0.push(one);
                continue;
            }
            let is_there = self.store.get(&one.key).is_some_and(|kv| kv.create_revision == one.revision);
            if is_there || self.servers.version == Version::V3_4_23 {
                self.done(cx, one.from, Body::Lock { key: one.key });
            } else {
                cx.reply(one.from, Reply::Failed(EtcdError::LockLeaseNotFound));
            }
        }
    }
}
