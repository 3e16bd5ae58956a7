//! Who is told of changes.
//!
//! Source: `mvcc/watchable_store.go` and `etcdserver/api/v3rpc/watch.go` of etcd 3.4.23. Events come in the order of
//! revisions, without gaps, each once, when this member has applied them: a member that is behind tells late.
//!
//! Departures: what is past already is told at once; etcd catches up every 100 ms. Who is slow to read is no matter.

use std::collections::BTreeMap;

use host::{ConnId, Context, Origin};

use super::Etcd;
use crate::domain::Locks;
use crate::etcd::answer::{Body, Event, EventKind, Header, Push};
use crate::etcd::api::Watch;
use crate::etcd::key::{Revision, WatchId};
use crate::etcd::store::Store;

/// Every watch, by its connection and its number there.
#[derive(Default, Debug)]
pub(super) struct Watches {
    all: BTreeMap<(ConnId, WatchId), Watch>,
    /// By connection: the number of the next.
    next: BTreeMap<ConnId, WatchId>,
}

impl Etcd {
    pub(super) fn watch(&mut self, cx: &mut Context<Locks>, from: Origin, watch: Watch) {
        let next = self.watches.next.entry(from.conn).or_default();
        let id = *next;
        next.0 += 1;
        self.done(cx, from, Body::WatchCreated { id });
        let past = watch.from.filter(|first| *first <= self.store.revision()).map_or(Vec::new(), |first| {
            self.store.history().iter().filter(|kind| kind.revision() >= first).cloned().collect()
        });
        let header = self.header(cx);
        for events in past.chunk_by(|one, next| one.revision() == next.revision()) {
            push(cx, (from.conn, id), &watch, header, &self.store, events);
        }
        self.watches.all.insert((from.conn, id), watch);
    }
}

impl Watches {
    pub(super) fn cancel(&mut self, conn: ConnId, id: WatchId) {
        self.all.remove(&(conn, id));
    }

    /// The connection is gone, and its watches with it.
    pub(super) fn forget(&mut self, conn: ConnId) {
        if self.next.remove(&conn).is_some() {
            self.all.retain(|(of, _), _| *of != conn);
        }
    }

    /// These happened, in one revision.
    pub(super) fn tell(&self, cx: &mut Context<Locks>, header: Header, store: &Store, events: &[EventKind]) {
        for (whom, watch) in &self.all {
            push(cx, *whom, watch, header, store, events);
        }
    }
}

/// Tells a watch of those of these events that it is about.
fn push(
    cx: &mut Context<Locks>,
    (conn, id): (ConnId, WatchId),
    watch: &Watch,
    header: Header,
    store: &Store,
    events: &[EventKind],
) {
    let concerns = |kind: &&EventKind| {
        let is_filtered = match kind {
            EventKind::Put(_) => watch.no_put,
            EventKind::Delete { .. } => watch.no_delete,
        };
        !is_filtered && watch.keys.contains(&kind.key()) && kind.revision() >= watch.from.unwrap_or(Revision(0))
    };
    let events: Vec<Event> = events.iter().filter(concerns).map(|kind| store.event(kind, watch.prev_kv)).collect();
    if !events.is_empty() {
        cx.push(conn, Push { header, watch: id, events: events.into() });
    }
}
