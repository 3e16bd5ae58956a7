//! The model of an ensemble that agrees at once: what all its servers agree on, and who watches what, without the log
//! between them.

use std::collections::BTreeSet;

use models::zookeeper::tree::{Applied, Change, Happened, Tree, What};
use models::zookeeper::{
    Answer, Body, Delete, EventKind, Millis, Op, Path, SessionId, SetData, SetWatches, ZkError, ZkEvent, ZkRequest,
};

use crate::sequence::CLIENTS;

/// An ensemble.
pub(crate) struct Model {
    pub(crate) tree: Tree,
    clients: [Client; CLIENTS],
}

/// What is kept of a client.
#[derive(Default)]
struct Client {
    session: Option<SessionId>,
    /// Watches on nodes, there or not, and on nodes' children: of its connection.
    data: BTreeSet<Path>,
    child: BTreeSet<Path>,
    told: Vec<Told>,
}

/// What one change had told a client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Told {
    pub(crate) events: Vec<ZkEvent>,
    /// What a session takes with it goes in any order.
    pub(crate) in_order: bool,
}

impl Model {
    pub(crate) fn new(size: usize) -> Self {
        let mut tree = Tree::default();
        if size > 1 {
            tree.begin_epoch();
        }
        Self { tree, clients: Default::default() }
    }

    /// A client begins a session.
    pub(crate) fn open(&mut self, client: usize, session: SessionId, timeout: Millis) {
        self.tree.apply(&Change::Open { session, timeout }, None);
        self.clients[client].session = Some(session);
    }

    /// A client's connection is lost, and its watches with it.
    pub(crate) fn lose(&mut self, client: usize) {
        let Client { data, child, .. } = &mut self.clients[client];
        data.clear();
        child.clear();
    }

    /// What the client was told since it was last asked.
    pub(crate) fn take_told(&mut self, client: usize) -> Vec<Told> {
        std::mem::take(&mut self.clients[client].told)
    }

    /// What is answered to a request.
    pub(crate) fn ask(&mut self, client: usize, request: &ZkRequest) -> Answer {
        let session = self.clients[client].session.expect("it has a session");
        let one = |op| Change::One { session, op };
        let outcome = match request {
            ZkRequest::Create(create) => return self.change(&one(Op::Create((**create).clone()))),
            ZkRequest::Delete(delete) => return self.change(&one(Op::Delete(*delete))),
            ZkRequest::SetData(set) => return self.change(&one(Op::SetData((**set).clone()))),
            ZkRequest::Multi(multi) => return self.change(&Change::Multi { session, multi: (**multi).clone() }),
            ZkRequest::CloseSession => {
                let answer = self.change(&Change::Close { session });
                self.clients[client] = Client { told: self.take_told(client), ..Client::default() };
                return answer;
            }
            ZkRequest::Exists { path, watch } => {
                self.watch(client, *path, *watch, true);
                self.tree.stat(path).map(|stat| Body::Exists { stat })
            }
            ZkRequest::GetData { path, watch } => {
                let found = self.tree.data(path).map(|(data, stat)| Body::Data { data, stat });
                self.watch(client, *path, *watch && found.is_ok(), true);
                found
            }
            ZkRequest::GetChildren { path, watch } => {
                let found = self.children(path);
                self.watch(client, *path, *watch && found.is_ok(), false);
                found
            }
            ZkRequest::Sync { path } => Ok(Body::Synced { path: *path }),
            ZkRequest::Ping => Ok(Body::Nothing),
            ZkRequest::SetWatches(watches) => {
                self.set_watches(client, watches);
                Ok(Body::Nothing)
            }
            ZkRequest::Connect(_) => panic!("a session begins otherwise"),
        };
        Answer { zxid: self.tree.zxid(), outcome }
    }

    fn children(&self, path: &Path) -> Result<Body, ZkError> {
        let stat = self.tree.stat(path)?;
        Ok(Body::Children { names: self.tree.children(path)?.collect(), stat })
    }

    fn watch(&mut self, client: usize, path: Path, watch: bool, data: bool) {
        let Client { data: on_data, child, .. } = &mut self.clients[client];
        if watch {
            (if data { on_data } else { child }).insert(path);
        }
    }

    fn change(&mut self, change: &Change) -> Answer {
        let Applied { zxid, outcome, happened } = self.tree.apply(change, None);
        let in_order = !matches!(change, Change::Close { .. });
        for client in &mut self.clients {
            let events: Vec<ZkEvent> = happened.iter().flat_map(|happened| client.hears(happened)).collect();
            if !events.is_empty() {
                client.told.push(Told { events, in_order });
            }
        }
        Answer { zxid, outcome }
    }

    fn set_watches(&mut self, client: usize, watches: &SetWatches) {
        let mut events = Vec::new();
        let own = &mut self.clients[client];
        let mut tell = |kind, path: &Path| events.push(ZkEvent { kind, path: *path });
        for path in &watches.data {
            match self.tree.stat(path) {
                Err(_) => tell(EventKind::Deleted, path),
                Ok(stat) if stat.mzxid > watches.since => tell(EventKind::DataChanged, path),
                Ok(_) => _ = own.data.insert(*path),
            }
        }
        for path in &watches.exist {
            match self.tree.stat(path) {
                Ok(_) => tell(EventKind::Created, path),
                Err(_) => _ = own.data.insert(*path),
            }
        }
        for path in &watches.child {
            match self.tree.stat(path) {
                Err(_) => tell(EventKind::Deleted, path),
                Ok(stat) if stat.pzxid > watches.since => tell(EventKind::ChildrenChanged, path),
                Ok(_) => _ = own.child.insert(*path),
            }
        }
        own.told.push(Told { events, in_order: true });
    }
}

impl Client {
    /// What is told of that, to who watches; once.
    fn hears(&mut self, happened: &Happened) -> Vec<ZkEvent> {
        let (own, parents) = happened.events();
        let is_deleted = happened.what == What::Deleted;
        let on_node = self.data.remove(&own.path);
        let on_children = is_deleted && self.child.remove(&own.path);
        let on_parent = parents.filter(|event| self.child.remove(&event.path));
        (on_node || on_children).then_some(own).into_iter().chain(on_parent).collect()
    }
}

/// What makes the tree empty.
pub(crate) fn deletes_of_all(tree: &Tree) -> Vec<ZkRequest> {
    fn below(tree: &Tree, path: Path, all: &mut Vec<ZkRequest>) {
        let parent = if path.is_root() { String::new() } else { path.to_string() };
        for name in tree.children(&path).into_iter().flatten().collect::<Vec<_>>() {
            let child = Path::below(parent.as_str().into(), name);
            if child != Path::from("/zookeeper") {
                below(tree, child, all);
                all.push(ZkRequest::Delete(Delete { path: child, version: None }));
            }
        }
    }
    let mut all = Vec::new();
    below(tree, Path::ROOT, &mut all);
    all.push(ZkRequest::SetData(Box::new(SetData { path: Path::ROOT, data: "".into(), version: None })));
    all
}
