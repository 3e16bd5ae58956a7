//! What a client asks of a ZooKeeper server, as far as locks use it.
//!
//! Source: `zookeeper.jute` and `ZooDefs.OpCode` of ZooKeeper 3.8.0.
//!
//! | request | opcode |
//! |---|---|
//! | [`ZkRequest::Connect`] | none: the first thing that is said on a connection |
//! | [`ZkRequest::Create`] | `create2`, 15; of a [container](Mode::Container) `createContainer`, 19 |
//! | [`ZkRequest::Delete`], [`Exists`](ZkRequest::Exists), [`GetData`](ZkRequest::GetData), [`SetData`](ZkRequest::SetData) | 2, 3, 4, 5 |
//! | [`ZkRequest::Sync`] | 9 |
//! | [`ZkRequest::Ping`] | 11 |
//! | [`ZkRequest::GetChildren`] | `getChildren2`, 12 |
//! | [`Op::Check`] | 13, in a multi only |
//! | [`ZkRequest::Multi`] | 14 |
//! | [`ZkRequest::SetWatches`] | 101 |
//! | [`ZkRequest::CloseSession`] | -11 |
//!
//! Left out: access control (every node is open to the world), quotas, persistent and recursive watches, watches taken
//! back, nodes with a time to live, read-only sessions, authentication, reconfiguration.

use std::fmt;

use host::{Operation, Request, digest_enum, digest_struct};

use super::answer::{ZkEvent, ZkReply};
use super::path::{Millis, Path, SessionId, Zxid};
use crate::etcd::{Errand, Value};

/// A request to a ZooKeeper server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZkRequest {
    /// Begins a session, or goes on with one at this server.
    Connect(Box<Connect>),
    /// Says that the client is there.
    Ping,
    /// Ends the session, and all that is ephemeral in it.
    CloseSession,
    /// Creates a node.
    Create(Box<Create>),
    /// Deletes a node that has no children.
    Delete(Delete),
    /// Asks whether a node is there.
    Exists {
        /// Which.
        path: Path,
        /// Whether to tell of its next change, be that its creation.
        watch: bool,
    },
    /// Reads a node.
    GetData {
        /// Which.
        path: Path,
        /// Whether to tell of its next change. Of a node that is not there, nothing is told.
        watch: bool,
    },
    /// Writes a node.
    SetData(Box<SetData>),
    /// Asks for the names of a node's children.
    GetChildren {
        /// Of which.
        path: Path,
        /// Whether to tell when one comes or goes.
        watch: bool,
    },
    /// Answered once this server has all that the leader had agreed upon when it was asked.
    Sync {
        /// Of no meaning.
        path: Path,
    },
    /// Does all of it, or nothing.
    Multi(Box<Multi>),
    /// Watches again what was watched on a connection before.
    SetWatches(Box<SetWatches>),
}

/// `ConnectRequest`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Connect {
    /// The newest change that the client has seen: a server that is behind that refuses it.
    pub last_seen: Zxid,
    /// How long the session is to live without a word of its client. The server answers what it makes of that.
    pub timeout: Millis,
    /// The session to go on with. `None`: a new one.
    pub session: Option<Credentials>,
}

/// What a client shows to go on with its session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Credentials {
    /// The session.
    pub session: SessionId,
    /// Its password: sixteen bytes, in two halves.
    pub password: (u64, u64),
}

/// `CreateRequest`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Create {
    /// Where; if it is sequential, without its number.
    pub path: Path,
    /// What is in it.
    pub data: Value,
    /// What kind of node.
    pub mode: Mode,
}

/// `CreateMode`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It stays until it is deleted.
    Persistent,
    /// The same, with the parent's count behind its name.
    PersistentSequential,
    /// It is gone with the session that created it.
    Ephemeral,
    /// The same, with the parent's count behind its name.
    EphemeralSequential,
    /// The server deletes it some time after its last child is gone.
    Container,
}

/// `DeleteRequest`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Delete {
    /// Which.
    pub path: Path,
    /// Only if it has that version.
    pub version: Option<i32>,
}

/// `SetDataRequest`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetData {
    /// Which.
    pub path: Path,
    /// What is in it from now on.
    pub data: Value,
    /// Only if it has that version.
    pub version: Option<i32>,
}

/// `MultiTransactionRecord`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Multi {
    /// What is done, in this order.
    pub ops: Vec<Op>,
    /// For the history: what a client does to an object in the cluster.
    pub errand: Option<Errand>,
}

/// One operation of a [`Multi`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Creates a node.
    Create(Create),
    /// Deletes a node.
    Delete(Delete),
    /// Writes a node.
    SetData(SetData),
    /// Changes nothing. The node must be there.
    Check {
        /// Which.
        path: Path,
        /// And have that version.
        version: Option<i32>,
    },
}

/// `SetWatches`: what has changed since is told at once.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct SetWatches {
    /// The newest change that the client has seen.
    pub since: Zxid,
    /// Nodes that were there, and are watched.
    pub data: Vec<Path>,
    /// Nodes that were not there, and are watched.
    pub exist: Vec<Path>,
    /// Nodes whose children are watched.
    pub child: Vec<Path>,
}

impl Mode {
    /// Whether it gets a number.
    #[must_use]
    pub const fn is_sequential(self) -> bool {
        matches!(self, Self::PersistentSequential | Self::EphemeralSequential)
    }

    /// Whether it is gone with its session.
    #[must_use]
    pub const fn is_ephemeral(self) -> bool {
        matches!(self, Self::Ephemeral | Self::EphemeralSequential)
    }
}

impl ZkRequest {
    /// Creates a node.
    #[must_use]
    pub fn create(path: Path, data: Value, mode: Mode) -> Self {
        Self::Create(Box::new(Create { path, data, mode }))
    }

    /// What it does to an object in the ensemble, for the history.
    #[must_use]
    pub fn errand(&self) -> Option<Errand> {
        match self {
            Self::Multi(multi) => multi.errand,
            _ => None,
        }
    }

    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Connect(_) => "connect",
            Self::Ping => "ping",
            Self::CloseSession => "close-session",
            Self::Create(_) => "create",
            Self::Delete(_) => "delete",
            Self::Exists { .. } => "exists",
            Self::GetData { .. } => "get-data",
            Self::SetData(_) => "set-data",
            Self::GetChildren { .. } => "get-children",
            Self::Sync { .. } => "sync",
            Self::Multi(_) => "multi",
            Self::SetWatches(_) => "set-watches",
        })
    }
}

impl Request for ZkRequest {
    type Reply = ZkReply;
    type Push = ZkEvent;
}

digest_enum!(ZkRequest {
    1 => Connect(connect),
    2 => Ping,
    3 => CloseSession,
    4 => Create(create),
    5 => Delete(delete),
    6 => Exists { path, watch },
    7 => GetData { path, watch },
    8 => SetData(set),
    9 => GetChildren { path, watch },
    10 => Sync { path },
    11 => Multi(multi),
    12 => SetWatches(watches),
});
digest_enum!(Mode {
    1 => Persistent,
    2 => PersistentSequential,
    3 => Ephemeral,
    4 => EphemeralSequential,
    5 => Container,
});
digest_enum!(Op { 1 => Create(create), 2 => Delete(delete), 3 => SetData(set), 4 => Check { path, version } });
digest_struct!(Connect { last_seen, timeout, session });
digest_struct!(Credentials { session, password });
digest_struct!(Create { path, data, mode });
digest_struct!(Delete { path, version });
digest_struct!(SetData { path, data, version });
digest_struct!(Multi { ops, errand });
digest_struct!(SetWatches { since, data, exist, child });

/// `, at VERSION`, if there is one.
struct At(Option<i32>);

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |version| write!(f, " at version {version}"))
    }
}

/// Text behind it, if so.
const fn or_nothing(is_so: bool, text: &'static str) -> &'static str {
    if is_so { text } else { "" }
}

impl fmt::Display for ZkRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect(connect) => connect.fmt(f),
            Self::Ping => f.write_str("ping"),
            Self::CloseSession => f.write_str("close session"),
            Self::Create(create) => create.fmt(f),
            Self::Delete(delete) => delete.fmt(f),
            Self::Exists { path, watch } => write!(f, "exists {path}{}", or_nothing(*watch, ", and watch")),
            Self::GetData { path, watch } => write!(f, "get data {path}{}", or_nothing(*watch, ", and watch")),
            Self::SetData(set) => set.fmt(f),
            Self::GetChildren { path, watch } => write!(f, "get children {path}{}", or_nothing(*watch, ", and watch")),
            Self::Sync { path } => write!(f, "sync {path}"),
            Self::Multi(multi) => multi.fmt(f),
            Self::SetWatches(watches) => watches.fmt(f),
        }
    }
}

impl fmt::Display for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Millis(timeout) = self.timeout;
        match &self.session {
            Some(Credentials { session, .. }) => write!(f, "go on with session {session}, seen {}", self.last_seen),
            None => write!(f, "begin a session of {timeout} ms"),
        }
    }
}

impl fmt::Display for Create {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            Mode::Persistent => "",
            Mode::PersistentSequential => " sequential",
            Mode::Ephemeral => " ephemeral",
            Mode::EphemeralSequential => " ephemeral sequential",
            Mode::Container => " container",
        };
        write!(f, "create{mode} {}", self.path)
    }
}

impl fmt::Display for Delete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delete {}{}", self.path, At(self.version))
    }
}

impl fmt::Display for SetData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "set data {}{}", self.path, At(self.version))
    }
}

impl fmt::Display for Multi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("multi [")?;
        for (i, op) in self.ops.iter().enumerate() {
            write!(f, "{}{op}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(create) => create.fmt(f),
            Self::Delete(delete) => delete.fmt(f),
            Self::SetData(set) => set.fmt(f),
            Self::Check { path, version } => write!(f, "check {path}{}", At(*version)),
        }
    }
}

impl fmt::Display for SetWatches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.data.len() + self.exist.len() + self.child.len();
        write!(f, "watch {count} again, seen {}", self.since)
    }
}
