//! What a client's library keeps.

use std::collections::BTreeSet;

use fencepost_live::jute::Connection;
use models::zookeeper::{Answer, Connected, EventKind, Path, ZkError, ZkEvent, ZkRequest, Zxid};

/// A client, as its library is.
#[derive(Default)]
pub(super) struct Client {
    pub(super) connection: Option<Connection>,
    /// Its session, and what that is to the model.
    pub(super) session: Option<(Connected, Connected)>,
    /// The newest change that it has seen.
    pub(super) seen: Zxid,
    /// Nodes that it watches, that were there, and that were not; and those whose children it watches.
    pub(super) data: BTreeSet<Path>,
    pub(super) exist: BTreeSet<Path>,
    pub(super) child: BTreeSet<Path>,
    /// How often it has lost its connection.
    pub(super) moves: usize,
    /// Where it is.
    pub(super) server: usize,
}

impl Client {
    /// What the library keeps of what it has asked and heard (`ZKWatchManager.materialize`, `ExistsWatchRegistration`).
    pub(super) fn keep(&mut self, request: &ZkRequest, events: &[ZkEvent], said: &Answer) {
        self.seen = self.seen.max(said.zxid);
        for event in events {
            match event.kind {
                EventKind::Created | EventKind::DataChanged => {
                    self.data.remove(&event.path);
                    self.exist.remove(&event.path);
                }
                EventKind::ChildrenChanged => _ = self.child.remove(&event.path),
                EventKind::Deleted => {
                    self.data.remove(&event.path);
                    self.exist.remove(&event.path);
                    self.child.remove(&event.path);
                }
            }
        }
        match (request, &said.outcome) {
            (ZkRequest::Exists { path, watch: true } | ZkRequest::GetData { path, watch: true }, Ok(_)) => {
                self.data.insert(*path);
            }
            (ZkRequest::Exists { path, watch: true }, Err(ZkError::NoNode)) => _ = self.exist.insert(*path),
            (ZkRequest::GetChildren { path, watch: true }, Ok(_)) => _ = self.child.insert(*path),
            _ => {}
        }
    }
}
