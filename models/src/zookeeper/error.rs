//! Why ZooKeeper did not do what it was asked for.
//!
//! Source: `KeeperException.Code` of ZooKeeper 3.8.0.

use std::fmt;

use host::digest_enum;

/// An error of a server. (That the connection was lost, only the client's library says.)
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ZkError {
    /// In a `multi` that was not done: what stood behind the operation that could not be.
    RuntimeInconsistency,
    /// What cannot be asked: the root deleted, a path that is none.
    BadArguments,
    /// The node is not there.
    NoNode,
    /// The node has another version.
    BadVersion,
    /// An ephemeral node has no children.
    NoChildrenForEphemerals,
    /// The node is there already.
    NodeExists,
    /// The node has children.
    NotEmpty,
    /// The session is no more.
    SessionExpired,
    /// The session's client is at another server by now.
    SessionMoved,
}

impl ZkError {
    /// Every one.
    pub const ALL: [Self; 9] = [
        Self::RuntimeInconsistency,
        Self::BadArguments,
        Self::NoNode,
        Self::BadVersion,
        Self::NoChildrenForEphemerals,
        Self::NodeExists,
        Self::NotEmpty,
        Self::SessionExpired,
        Self::SessionMoved,
    ];

    /// Its code, as the wire has it.
    #[must_use]
    pub const fn code(self) -> i32 {
        match self {
            Self::RuntimeInconsistency => -2,
            Self::BadArguments => -8,
            Self::NoNode => -101,
            Self::BadVersion => -103,
            Self::NoChildrenForEphemerals => -108,
            Self::NodeExists => -110,
            Self::NotEmpty => -111,
            Self::SessionExpired => -112,
            Self::SessionMoved => -118,
        }
    }

    /// The error of that code.
    #[must_use]
    pub fn of_code(code: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|error| error.code() == code)
    }
}

impl fmt::Display for ZkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RuntimeInconsistency => "RUNTIMEINCONSISTENCY",
            Self::BadArguments => "BADARGUMENTS",
            Self::NoNode => "NONODE",
            Self::BadVersion => "BADVERSION",
            Self::NoChildrenForEphemerals => "NOCHILDRENFOREPHEMERALS",
            Self::NodeExists => "NODEEXISTS",
            Self::NotEmpty => "NOTEMPTY",
            Self::SessionExpired => "SESSIONEXPIRED",
            Self::SessionMoved => "SESSIONMOVED",
        })
    }
}

digest_enum!(ZkError {
    1 => RuntimeInconsistency,
    2 => BadArguments,
    3 => NoNode,
    4 => BadVersion,
    5 => NoChildrenForEphemerals,
    6 => NodeExists,
    7 => NotEmpty,
    8 => SessionExpired,
    9 => SessionMoved,
});
