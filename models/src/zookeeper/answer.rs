//! What a ZooKeeper server answers, and what it tells who watches.
//!
//! Source: `zookeeper.jute` of ZooKeeper 3.8.0.

use std::fmt;

use host::{digest_enum, digest_struct};

use super::Value;
use super::api::Credentials;
use super::error::ZkError;
use super::path::{Millis, NodeName, Path, SessionId, Zxid};

/// The answer to a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ZkReply {
    /// `ConnectResponse`: the session is there.
    Connected(Box<Connected>),
    /// `ConnectResponse` without a session: the one asked for is no more, or the password is another. The server closes the
    /// connection.
    Expired,
    /// To all else.
    Answer(Box<Answer>),
}

/// A session, as a server has begun it or goes on with it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Connected {
    /// How long it lives without a word of its client.
    pub timeout: Millis,
    /// What the client shows to go on with it.
    pub session: Credentials,
}

/// `ReplyHeader`, and what was done or found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The change that was asked for, or the newest that this server has, if none was.
    pub zxid: Zxid,
    /// What was done or found, or why not.
    pub outcome: Result<Body, ZkError>,
}

/// What was done or found, by the request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// To a ping, the end of a session, watches that are set again.
    Nothing,
    /// `Create2Response`
    Created {
        /// Where the node is, with its number.
        path: Path,
        /// What it is like.
        stat: Stat,
    },
    /// Of a node that is deleted.
    Deleted,
    /// `ExistsResponse`
    Exists {
        /// What the node is like.
        stat: Stat,
    },
    /// `GetDataResponse`
    Data {
        /// What is in it.
        data: Value,
        /// What the node is like.
        stat: Stat,
    },
    /// `SetDataResponse`
    Set {
        /// What the node is like now.
        stat: Stat,
    },
    /// `GetChildren2Response`
    Children {
        /// Their names. (In the order of their pieces; of a real server, in none.)
        names: Vec<NodeName>,
        /// What their parent is like.
        stat: Stat,
    },
    /// `SyncResponse`
    Synced {
        /// Of no meaning.
        path: Path,
    },
    /// `MultiResponse`: all was done.
    Multi {
        /// What each says.
        results: Vec<OpResult>,
    },
    /// `MultiResponse`: nothing was done.
    MultiFailed {
        /// Which could not be, counted from 0.
        at: usize,
        /// Why not.
        error: ZkError,
        /// How many were asked for.
        of: usize,
    },
}

/// What one operation of a multi says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OpResult {
    /// `create`, whichever way it was asked: what the node is like, is not told within a multi (of a container alone, and
    /// read over). It was created by the change that the answer names.
    Created {
        /// Where the node is, with its number.
        path: Path,
    },
    /// `delete`
    Deleted,
    /// `setData`
    Set {
        /// What the node is like now.
        stat: Stat,
    },
    /// `check`
    Checked,
}

/// `Stat`: what a node is like. Left out: when it was created and changed, on the leader's wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stat {
    /// The change that created it.
    pub czxid: Zxid,
    /// The change that wrote it last.
    pub mzxid: Zxid,
    /// The change that gave or took a child of it last; at first the one that created it.
    pub pzxid: Zxid,
    /// How often it was written since it was created.
    pub version: i32,
    /// How often children came and went.
    pub cversion: i32,
    /// The session with which it goes.
    pub owner: Option<SessionId>,
    /// How many bytes are in it.
    pub data_length: u32,
    /// How many children it has.
    pub children: u32,
}

/// `WatcherEvent`: what is told, once, to who watches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ZkEvent {
    /// What happened.
    pub kind: EventKind,
    /// To which node.
    pub path: Path,
}

/// `EventType`
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum EventKind {
    /// It was created.
    Created,
    /// It was deleted.
    Deleted,
    /// It was written.
    DataChanged,
    /// A child came or went.
    ChildrenChanged,
}

impl ZkReply {
    /// The answer, if it is one to a request within a session.
    #[must_use]
    pub fn into_answer(self) -> Option<Answer> {
        match self {
            Self::Answer(answer) => Some(*answer),
            Self::Connected(_) | Self::Expired => None,
        }
    }
}

impl Body {
    /// What the node is like that it is about.
    #[must_use]
    pub const fn stat(&self) -> Option<&Stat> {
        match self {
            Self::Created { stat, .. }
            | Self::Exists { stat }
            | Self::Data { stat, .. }
            | Self::Set { stat }
            | Self::Children { stat, .. } => Some(stat),
            Self::Nothing | Self::Deleted | Self::Synced { .. } | Self::Multi { .. } | Self::MultiFailed { .. } => None,
        }
    }
}

digest_enum!(ZkReply { 1 => Connected(connected), 2 => Expired, 3 => Answer(answer) });
digest_struct!(Answer { zxid, outcome });
digest_struct!(Connected { timeout, session });
digest_enum!(Body {
    1 => Nothing,
    2 => Created { path, stat },
    3 => Deleted,
    4 => Exists { stat },
    5 => Data { data, stat },
    6 => Set { stat },
    7 => Children { names, stat },
    8 => Synced { path },
    9 => Multi { results },
    10 => MultiFailed { at, error, of },
});
digest_enum!(OpResult { 1 => Created { path }, 2 => Deleted, 3 => Set { stat }, 4 => Checked });
digest_struct!(Stat { czxid, mzxid, pzxid, version, cversion, owner, data_length, children });
digest_struct!(ZkEvent { kind, path });
digest_enum!(EventKind { 1 => Created, 2 => Deleted, 3 => DataChanged, 4 => ChildrenChanged });

impl fmt::Display for ZkReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected(connected) => {
                let Connected { timeout: Millis(timeout), session } = **connected;
                write!(f, "session {} of {timeout} ms", session.session)
            }
            Self::Expired => f.write_str("the session is no more"),
            Self::Answer(answer) => answer.fmt(f),
        }
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(body) => body.fmt(f)?,
            Err(error) => error.fmt(f)?,
        }
        write!(f, " @{}", self.zxid)
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("ok"),
            Self::Created { path, .. } => write!(f, "created {path}"),
            Self::Deleted => f.write_str("deleted"),
            Self::Exists { stat } => write!(f, "there, created {}", stat.czxid),
            Self::Data { data, stat } => write!(f, "{data}, version {}", stat.version),
            Self::Set { stat } => write!(f, "version {}", stat.version),
            Self::Children { names, .. } => {
                f.write_str("[")?;
                for (i, name) in names.iter().enumerate() {
                    write!(f, "{}{name}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Synced { .. } => f.write_str("synced"),
            Self::Multi { results } => write!(f, "{} done", results.len()),
            Self::MultiFailed { at, error, .. } => write!(f, "none done: {error} of number {at}"),
        }
    }
}

impl fmt::Display for ZkEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            EventKind::Created => "created",
            EventKind::Deleted => "deleted",
            EventKind::DataChanged => "written",
            EventKind::ChildrenChanged => "its children changed",
        };
        write!(f, "{}: {kind}", self.path)
    }
}
