//! Whose doing a revision was.

use std::collections::{BTreeMap, BTreeSet};

use host::SimTime;
use models::etcd::answer::OpResponse;
use models::etcd::{Body, EventKind, Key, LeaseId, Op, Reply, Revision, Rpc};

use super::Asked;

/// Who asked for a revision.
pub(super) struct Doer<'a> {
    pub(super) asked: &'a Asked,
    /// It fits, and nobody was answered so.
    pub(super) is_guess: bool,
}

/// What clients have asked, and what of it is known to be done.
pub(super) struct Doers<'a> {
    asked: &'a [Asked],
    /// By the revision of which they were answered: what has changed something.
    answered: BTreeMap<Revision, &'a Asked>,
    /// What may have been done, by its place.
    open: BTreeSet<usize>,
    /// The lease on which each key hangs.
    leases: BTreeMap<Key, Option<LeaseId>>,
}

impl<'a> Doers<'a> {
    pub(super) fn new(asked: &'a [Asked]) -> Self {
        let (mut answered, mut open) = (BTreeMap::new(), BTreeSet::new());
        for (place, one) in asked.iter().enumerate() {
            match &one.answer {
                Some((_, Reply::Done(response))) => {
                    if has_changed(&response.body) {
                        answered.insert(response.header.revision, one);
                    } else if is_open_though_answered(&one.rpc) {
                        open.insert(place);
                    }
                }
                Some((_, Reply::Failed(error))) if !error.is_open() => {}
                Some(_) | None => _ = open.insert(place),
            }
        }
        Self { asked, answered, open, leases: BTreeMap::new() }
    }

    /// Who asked for these events, which somebody heard of then. `None`: nobody, a lease was over.
    ///
    /// # Errors
    /// If that cannot be known.
    pub(super) fn of(
        &mut self,
        revision: Revision,
        at: SimTime,
        events: &[EventKind],
    ) -> Result<Option<Doer<'a>>, String> {
        let one = self.find(revision, at, events);
        for event in events {
            match event {
                EventKind::Put(kv) => _ = self.leases.insert(kv.key, kv.lease),
                EventKind::Delete { key, .. } => _ = self.leases.remove(key),
            }
        }
        one
    }

    fn find(&mut self, revision: Revision, at: SimTime, events: &[EventKind]) -> Result<Option<Doer<'a>>, String> {
        if let Some(answered) = self.answered.get(&revision) {
            return Ok(Some(Doer { asked: answered, is_guess: false }));
        }
        let asked = self.asked;
        let fits = |place: &usize| asked[*place].at <= at && self.fits(&asked[*place].rpc, events);
        let open: Vec<usize> = self.open.iter().copied().filter(fits).collect();
        let Some(first) = open.first().copied() else {
            return if self.hung_on_one_lease(events) {
                Ok(None)
            } else {
                Err(format!("nobody says that it asked for what revision {revision} is"))
            };
        };
        if open.iter().any(|other| asked[*other].attempt != asked[first].attempt) {
            return Err(format!("two may have asked for what revision {revision} is"));
        }
        self.open.remove(&first);
        Ok(Some(Doer { asked: &asked[first], is_guess: asked[first].answer.is_none() }))
    }

    /// Whether that request, if it was served, may have come to these events.
    fn fits(&self, rpc: &Rpc, events: &[EventKind]) -> bool {
        let puts = |key: Key| events.iter().any(|event| matches!(event, EventKind::Put(kv) if kv.key == key));
        let all_deletes = |is: &dyn Fn(&Key) -> bool| {
            events.iter().all(|event| matches!(event, EventKind::Delete { key, .. } if is(key)))
        };
        match rpc {
            Rpc::Put(put) => events.len() == 1 && puts(put.key),
            Rpc::Delete(delete) => all_deletes(&|key| delete.keys.contains(key)),
            Rpc::Txn(txn) => {
                [&txn.success, &txn.failure].into_iter().any(|ops| events.iter().all(|event| does(ops, event)))
            }
            Rpc::LeaseRevoke { id } => all_deletes(&|key| self.leases.get(key) == Some(&Some(*id))),
            Rpc::Lock { name, lease } => match events {
                // Its server grants it a lease that nobody else knows of, unless it brings one.
                [EventKind::Put(kv)] => {
                    let is_its_own = lease.is_none_or(|lease| kv.lease == Some(lease));
                    is_its_own && kv.key.stem().strip_suffix('/') == Some(name.as_str())
                }
                // It gives its place up.
                [EventKind::Delete { key, .. }] => lease.is_some() && key.lease() == *lease,
                _ => false,
            },
            Rpc::Unlock { key } => all_deletes(&|other| other == key),
            Rpc::Range(_)
            | Rpc::LeaseGrant { .. }
            | Rpc::LeaseKeepAlive { .. }
            | Rpc::LeaseTimeToLive { .. }
            | Rpc::Watch(_)
            | Rpc::WatchCancel { .. } => false,
        }
    }

    fn hung_on_one_lease(&self, events: &[EventKind]) -> bool {
        let lease = |event: &EventKind| match event {
            EventKind::Delete { key, .. } => self.leases.get(key).copied().flatten(),
            EventKind::Put(_) => None,
        };
        let first = events.first().and_then(lease);
        first.is_some() && events.iter().all(|event| lease(event) == first)
    }
}

/// Whether an answer says that its revision is its own.
fn has_changed(body: &Body) -> bool {
    match body {
        Body::Put { .. } => true,
        Body::Delete { deleted, .. } => *deleted > 0,
        Body::Txn { responses, .. } => has_written(responses),
        _ => false,
    }
}

/// Whether an operation of a transaction has changed something.
pub(super) fn has_written(responses: &[OpResponse]) -> bool {
    responses.iter().any(|OpResponse { body, .. }| has_changed(body))
}

/// What is answered with a revision that need not be its own.
const fn is_open_though_answered(rpc: &Rpc) -> bool {
    matches!(rpc, Rpc::LeaseRevoke { .. } | Rpc::Lock { .. } | Rpc::Unlock { .. })
}

/// Whether one of these operations does that.
fn does(ops: &[Op], event: &EventKind) -> bool {
    ops.iter().any(|op| match (op, event) {
        (Op::Put(put), EventKind::Put(kv)) => put.key == kv.key,
        (Op::Delete(delete), EventKind::Delete { key, .. }) => delete.keys.contains(key),
        _ => false,
    })
}
