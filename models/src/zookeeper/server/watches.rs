//! Who is told of changes.
//!
//! Source: `WatchManager.java` and `DataTree.setWatches` of ZooKeeper 3.8.0. Each watch is told of one change, when this member has
//! applied it, and before its client is answered anything that has seen it. Who watches a node and its children is told once that
//! it is deleted.

use std::collections::{BTreeMap, BTreeSet};

use host::{ConnId, Context};

use crate::domain::Locks;
use crate::zookeeper::answer::{EventKind, ZkEvent};
use crate::zookeeper::api::SetWatches;
use crate::zookeeper::path::Path;
use crate::zookeeper::tree::{Happened, Tree, What};

/// Every watch.
#[derive(Default, Debug)]
pub(super) struct Watches {
    data: BTreeMap<Path, BTreeSet<ConnId>>,
    child: BTreeMap<Path, BTreeSet<ConnId>>,
}

impl Watches {
    /// That client is to be told of the node's next change.
    pub(super) fn add_data(&mut self, path: Path, conn: ConnId) {
        self.data.entry(path).or_default().insert(conn);
    }

    /// When the next child comes or goes.
    pub(super) fn add_child(&mut self, path: Path, conn: ConnId) {
        self.child.entry(path).or_default().insert(conn);
    }

    /// That client watches again; what has changed since is told at once.
    pub(super) fn set(&mut self, cx: &mut Context<Locks>, conn: ConnId, tree: &Tree, watches: &SetWatches) {
        let since = watches.since;
        let mut tell = |kind, path: &Path| cx.push(conn, ZkEvent { kind, path: *path });
        for path in &watches.data {
            match tree.stat(path) {
                Err(_) => tell(EventKind::Deleted, path),
                Ok(stat) if stat.mzxid > since => tell(EventKind::DataChanged, path),
                Ok(_) => self.add_data(*path, conn),
            }
        }
        for path in &watches.exist {
            match tree.stat(path) {
                Ok(_) => tell(EventKind::Created, path),
                Err(_) => self.add_data(*path, conn),
            }
        }
        for path in &watches.child {
            match tree.stat(path) {
                Err(_) => tell(EventKind::Deleted, path),
                Ok(stat) if stat.pzxid > since => tell(EventKind::ChildrenChanged, path),
                Ok(_) => self.add_child(*path, conn),
            }
        }
    }

    /// The connection is gone, and its watches with it.
    pub(super) fn forget(&mut self, conn: ConnId) {
        for watches in [&mut self.data, &mut self.child] {
            watches.retain(|_, conns| {
                conns.remove(&conn);
                !conns.is_empty()
            });
        }
    }

    /// That happened.
    pub(super) fn tell(&mut self, cx: &mut Context<Locks>, happened: &Happened) {
        if self.data.is_empty() && self.child.is_empty() {
            return;
        }
        let (event, of_parent) = happened.events();
        let mut told = self.data.remove(&event.path).unwrap_or_default();
        if happened.what == What::Deleted {
            told.append(&mut self.child.remove(&event.path).unwrap_or_default());
        }
        told.into_iter().for_each(|conn| cx.push(conn, event));
        if let Some(event) = of_parent {
            let told = self.child.remove(&event.path).unwrap_or_default();
            told.into_iter().for_each(|conn| cx.push(conn, event));
        }
    }
}
