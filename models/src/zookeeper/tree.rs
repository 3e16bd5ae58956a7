//! What an ensemble agrees on: nodes, and which sessions there are. A pure state machine over the entries of its log.
//!
//! Source: `PrepRequestProcessor.java`, `DataTree.java` and `DataNode.java` of ZooKeeper 3.8.0, and what such servers answer.
//!
//! * One count for all that is agreed upon, also for what could not be done, and for sessions that begin and end.
//! * A sequential node has its parent's count of creations behind its name. Every child that is created counts, sequential or not;
//!   one that could not be does not. The count is the parent's: it begins anew with another parent of the same name. It is a
//!   number of 32 bits, and stays at the highest, which is given again as soon as it is free (`createNode` keeps the greater of two
//!   counts).
//! * What a client sees as `cversion` counts goings as well: twice the creations, less the children there are.
//! * Which request could not be done is decided in the order of the log. In ZooKeeper the leader decides it before, over what is
//!   agreed upon and what is about to be: to the same end.
//!
//! Left out: `ctime` and `mtime`, access control, quotas, nodes with a time to live, the form of paths.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use host::digest_enum;

use super::Value;
use super::answer::{Body, EventKind, OpResult, Stat, ZkEvent};
use super::api::{Create, Delete, Mode, Multi, Op, SetData};
use super::error::ZkError;
use super::path::{Millis, NodeName, Path, SessionId, Zxid};

/// What an entry of the log says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// A session begins.
    Open {
        /// Its number.
        session: SessionId,
        /// How long it lives without a word of its client.
        timeout: Millis,
    },
    /// A session ends, and all that is ephemeral in it is deleted.
    Close {
        /// Its number.
        session: SessionId,
    },
    /// A client does one thing.
    One {
        /// In that session.
        session: SessionId,
        /// What.
        op: Op,
    },
    /// A client does several things, or none.
    Multi {
        /// In that session.
        session: SessionId,
        /// What.
        multi: Multi,
    },
    /// A container that nobody uses any more is deleted.
    Reap {
        /// Which.
        path: Path,
    },
}

digest_enum!(Change {
    1 => Open { session, timeout },
    2 => Close { session },
    3 => One { session, op },
    4 => Multi { session, multi },
    5 => Reap { path },
});

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open { .. } => f.write_str("begins"),
            Self::Close { .. } => f.write_str("ends"),
            Self::One { op, .. } => op.fmt(f),
            Self::Multi { multi, .. } => multi.fmt(f),
            Self::Reap { path } => write!(f, "delete container {path}"),
        }
    }
}

/// What came of an entry.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied {
    /// Its number.
    pub zxid: Zxid,
    /// What was done, or why nothing was.
    pub outcome: Result<Body, ZkError>,
    /// What happened to which nodes, in order.
    pub happened: Vec<Happened>,
}

/// Something happened to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Happened {
    /// To which.
    pub path: Path,
    /// What.
    pub what: What,
}

/// What happens to nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// It was written.
    Written,
}

impl Happened {
    /// What is told of it to who watches the node, and to who watches its parent's children.
    #[must_use]
    pub fn events(&self) -> (ZkEvent, Option<ZkEvent>) {
        let kind = match self.what {
            What::Created => EventKind::Created,
            What::Deleted => EventKind::Deleted,
            What::Written => return (ZkEvent { kind: EventKind::DataChanged, path: self.path }, None),
        };
        let parent = self.path.parent().map(|path| ZkEvent { kind: EventKind::ChildrenChanged, path });
        (ZkEvent { kind, path: self.path }, parent)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Node {
    data: Value,
    czxid: Zxid,
    mzxid: Zxid,
    pzxid: Zxid,
    version: i32,
    /// How many children were created.
    created: i32,
    /// The session with which it goes, or that of no session for a container.
    owner: Option<SessionId>,
    children: BTreeSet<NodeName>,
}

/// What stands where the owner would, in a container (`EphemeralType.CONTAINER_EPHEMERAL_OWNER`).
pub const CONTAINER: SessionId = SessionId(1 << 63);

impl Node {
    fn new(data: Value, owner: Option<SessionId>, zxid: Zxid) -> Self {
        let children = BTreeSet::new();
        Self { data, czxid: zxid, mzxid: zxid, pzxid: zxid, version: 0, created: 0, owner, children }
    }

    fn stat(&self) -> Stat {
        let children = u32::try_from(self.children.len()).expect("few children");
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            pzxid: self.pzxid,
            version: self.version,
            cversion: self.created.wrapping_mul(2).wrapping_sub(children.cast_signed()),
            // Clients are told of no owner then (`getClientEphemeralOwner`).
            owner: self.owner.filter(|owner| *owner != CONTAINER),
            data_length: u32::try_from(self.data.as_bytes().len()).expect("little data"),
            children,
        }
    }

    fn has(&self, version: Option<i32>) -> Result<(), ZkError> {
        if version.is_none_or(|version| version == self.version) { Ok(()) } else { Err(ZkError::BadVersion) }
    }
}

/// Nodes and sessions after some prefix of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tree {
    zxid: Zxid,
    /// The last change's; less than the other after another leader has begun.
    last: Zxid,
    nodes: BTreeMap<Path, Node>,
    sessions: BTreeMap<SessionId, Millis>,
}

/// What is there from the beginning, below the root.
const OWN: [&str; 3] = ["/zookeeper", "/zookeeper/quota", "/zookeeper/config"];

impl Default for Tree {
    fn default() -> Self {
        let mut nodes = BTreeMap::new();
        for path in [Path::ROOT].into_iter().chain(OWN.map(Path::from)) {
            if let Some(parent) = path.parent().and_then(|parent| nodes.get_mut(&parent)) {
                let parent: &mut Node = parent;
                parent.children.insert(path.name());
            }
            nodes.insert(path, Node::new("".into(), None, Zxid::default()));
        }
        Self { zxid: Zxid::default(), last: Zxid::default(), nodes, sessions: BTreeMap::new() }
    }
}

impl Tree {
    /// The last change's number, or the one with which a leader has begun since, which no change has.
    #[must_use]
    pub const fn zxid(&self) -> Zxid {
        self.zxid
    }

    /// The last change's number.
    #[must_use]
    pub const fn last(&self) -> Zxid {
        self.last
    }

    /// The sessions there are, with how long each lives without a word of its client.
    #[must_use]
    pub const fn sessions(&self) -> &BTreeMap<SessionId, Millis> {
        &self.sessions
    }

    /// Another leader begins.
    pub const fn begin_epoch(&mut self) {
        self.zxid = self.zxid.next_epoch();
    }

    /// Does what an entry says. `refused`: it was not to be done, for that reason, and only counts.
    pub fn apply(&mut self, change: &Change, refused: Option<ZkError>) -> Applied {
        self.zxid = self.zxid.next();
        self.last = self.zxid;
        let zxid = self.zxid;
        let mut writing = Writing { tree: self, happened: Vec::new(), before: Vec::new() };
        let outcome = match refused {
            Some(error) => Err(error),
            None => writing.change(change),
        };
        Applied { zxid, outcome, happened: writing.happened }
    }

    /// What the node is like.
    ///
    /// # Errors
    /// [`ZkError::NoNode`].
    pub fn stat(&self, path: &Path) -> Result<Stat, ZkError> {
        Ok(self.node(path)?.stat())
    }

    /// What is in the node, and what it is like.
    ///
    /// # Errors
    /// [`ZkError::NoNode`].
    pub fn data(&self, path: &Path) -> Result<(Value, Stat), ZkError> {
        let node = self.node(path)?;
        Ok((node.data.clone(), node.stat()))
    }

    /// The names of the node's children.
    ///
    /// # Errors
    /// [`ZkError::NoNode`].
    pub fn children(&self, path: &Path) -> Result<impl Iterator<Item = NodeName> + use<'_>, ZkError> {
        Ok(self.node(path)?.children.iter().copied())
    }

    /// What is ephemeral in that session.
    pub fn ephemerals(&self, session: SessionId) -> impl Iterator<Item = Path> {
        let own = move |(path, node): (&Path, &Node)| (node.owner == Some(session)).then_some(*path);
        self.nodes.iter().filter_map(own)
    }

    /// Containers that had children, and have none.
    pub fn unused_containers(&self) -> impl Iterator<Item = Path> {
        let is_unused = |node: &Node| node.owner == Some(CONTAINER) && node.created > 0 && node.children.is_empty();
        self.nodes.iter().filter(move |(_, node)| is_unused(node)).map(|(path, _)| *path)
    }

    /// Sets how many children of a node were created so far, as after so many locks: for tests.
    #[cfg(test)]
    fn set_created(&mut self, path: &Path, created: i32) {
        self.nodes.get_mut(path).expect("it is there").created = created;
    }

    fn node(&self, path: &Path) -> Result<&Node, ZkError> {
        self.nodes.get(path).ok_or(ZkError::NoNode)
    }
}

/// One entry, while it is done.
struct Writing<'t> {
    tree: &'t mut Tree,
    happened: Vec<Happened>,
    /// What each node was before it was touched, the oldest first.
    before: Vec<(Path, Option<Node>)>,
}

impl Writing<'_> {
    fn change(&mut self, change: &Change) -> Result<Body, ZkError> {
        match change {
            Change::Open { session, timeout } => {
                self.tree.sessions.insert(*session, *timeout);
                Ok(Body::Nothing)
            }
            Change::Close { session } => {
                self.tree.sessions.remove(session);
                let gone: Vec<Path> = self.tree.ephemerals(*session).collect();
                gone.into_iter().for_each(|path| self.remove(path));
                Ok(Body::Nothing)
            }
            Change::One { session, op } => {
                self.is_there(*session)?;
                match op {
                    Op::Create(create) => {
                        self.create(*session, create).map(|(path, stat)| Body::Created { path, stat })
                    }
                    Op::Delete(delete) => self.delete(delete).map(|()| Body::Deleted),
                    Op::SetData(set) => self.set(set).map(|stat| Body::Set { stat }),
                    Op::Check { path, version } => self.tree.node(path)?.has(*version).map(|()| Body::Nothing),
                }
            }
            Change::Multi { session, multi } => {
                self.is_there(*session)?;
                Ok(self.multi(*session, multi))
            }
            Change::Reap { path } => {
                let node = self.tree.node(path)?;
                if node.owner != Some(CONTAINER) {
                    return Err(ZkError::BadVersion);
                }
                if !node.children.is_empty() {
                    return Err(ZkError::NotEmpty);
                }
                self.remove(*path);
                Ok(Body::Deleted)
            }
        }
    }

    fn is_there(&self, session: SessionId) -> Result<(), ZkError> {
        if self.tree.sessions.contains_key(&session) { Ok(()) } else { Err(ZkError::SessionExpired) }
    }

    fn multi(&mut self, session: SessionId, multi: &Multi) -> Body {
        let mut results = Vec::with_capacity(multi.ops.len());
        for (at, op) in multi.ops.iter().enumerate() {
            match self.op(session, op) {
                Ok(result) => results.push(result),
                Err(error) => {
                    self.undo();
                    return Body::MultiFailed { at, error, of: multi.ops.len() };
                }
            }
        }
        Body::Multi { results }
    }

    fn op(&mut self, session: SessionId, op: &Op) -> Result<OpResult, ZkError> {
        match op {
            Op::Create(create) => self.create(session, create).map(|(path, _)| OpResult::Created { path }),
            Op::Delete(delete) => self.delete(delete).map(|()| OpResult::Deleted),
            Op::SetData(set) => self.set(set).map(|stat| OpResult::Set { stat }),
            Op::Check { path, version } => self.tree.node(path)?.has(*version).map(|()| OpResult::Checked),
        }
    }

    fn create(&mut self, session: SessionId, create: &Create) -> Result<(Path, Stat), ZkError> {
        let parent = self.tree.node(&parent_of(&create.path))?;
        let path = if create.mode.is_sequential() { create.path.numbered(parent.created) } else { create.path };
        if self.tree.nodes.contains_key(&path) {
            return Err(ZkError::NodeExists);
        }
        if parent.owner.is_some_and(|owner| owner != CONTAINER) {
            return Err(ZkError::NoChildrenForEphemerals);
        }
        let owner = match create.mode {
            Mode::Container => Some(CONTAINER),
            mode => mode.is_ephemeral().then_some(session),
        };
        let zxid = self.tree.zxid;
        let parent = self.touch(parent_of(&path)).expect("it is there");
        parent.children.insert(path.name());
        // It keeps the greater of two counts, and the number of the change with it.
        if let Some(created) = parent.created.checked_add(1) {
            (parent.created, parent.pzxid) = (created, zxid);
        }
        let node = Node::new(create.data.clone(), owner, zxid);
        let stat = node.stat();
        self.touch(path);
        self.tree.nodes.insert(path, node);
        self.happened.push(Happened { path, what: What::Created });
        Ok((path, stat))
    }

    fn delete(&mut self, delete: &Delete) -> Result<(), ZkError> {
        let Delete { path, version } = *delete;
        if path.is_root() || OWN.iter().any(|own| Path::from(*own) == path) {
            return Err(ZkError::BadArguments);
        }
        let node = self.tree.node(&path)?;
        node.has(version)?;
        if !node.children.is_empty() {
            return Err(ZkError::NotEmpty);
        }
        self.remove(path);
        Ok(())
    }

    fn set(&mut self, set: &SetData) -> Result<Stat, ZkError> {
        self.tree.node(&set.path)?.has(set.version)?;
        let zxid = self.tree.zxid;
        let node = self.touch(set.path).expect("it is there");
        node.data = set.data.clone();
        node.version = node.version.wrapping_add(1);
        node.mzxid = zxid;
        let stat = node.stat();
        self.happened.push(Happened { path: set.path, what: What::Written });
        Ok(stat)
    }

    /// A node is no more. It is there, and has no children.
    fn remove(&mut self, path: Path) {
        let zxid = self.tree.zxid;
        let parent = self.touch(parent_of(&path)).expect("a node has a parent");
        parent.children.remove(&path.name());
        parent.pzxid = zxid;
        self.touch(path);
        self.tree.nodes.remove(&path);
        self.happened.push(Happened { path, what: What::Deleted });
    }

    /// The node, to be changed.
    fn touch(&mut self, path: Path) -> Option<&mut Node> {
        let node = self.tree.nodes.get_mut(&path);
        self.before.push((path, node.as_deref().cloned()));
        node
    }

    /// Nothing was done.
    fn undo(&mut self) {
        for (path, node) in self.before.drain(..).rev() {
            match node {
                Some(node) => _ = self.tree.nodes.insert(path, node),
                None => _ = self.tree.nodes.remove(&path),
            }
        }
        self.happened.clear();
    }
}

/// Where the parent is; of the root, itself.
fn parent_of(path: &Path) -> Path {
    path.parent().unwrap_or(Path::ROOT)
}

#[cfg(test)]
mod tests;
