//! What travels between ZooKeeper's clients and servers, as bytes.
//!
//! The simulator carries requests and replies as they are. These are for the real server, which must be told the same and
//! whose answers are held against the model's.
//!
//! Source: `zookeeper.jute` of ZooKeeper 3.8.0 with `BinaryOutputArchive`, `MultiOperationRecord`, `MultiResponse`, and
//! what the server of that version answers. A frame is a length of four bytes and so much content: a record, behind a
//! header in all but the first frame of each side. Numbers are big-endian; text, bytes and lists have their length, of four
//! bytes, before them; nothing is left out.
//!
//! A reply does not say what it answers but by the number of the request (`xid`), so who reads one must know what was
//! asked. Read over: when a node was created and changed, and the version of its access rights.
//!
//! Within a multi a server takes `create2` (15), and answers as to `create` (1): `Op.Create` forgets which it was. Of a
//! container it answers as to `create2`.

mod jute;
mod log;
mod read;
mod say;

pub use jute::{BadBytes, cut_frame, frame};
pub use log::{Logged, read_log};

use super::answer::{Answer, ZkEvent, ZkReply};
use super::api::{Connect, ZkRequest};

/// The number by which a client knows its request, and the answer to it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Xid(pub i32);

impl Xid {
    /// Of an event, which nobody has asked for.
    pub const EVENT: Self = Self(-1);
    /// Of every ping.
    pub const PING: Self = Self(-2);
    /// Of watches that are set again.
    pub const SET_WATCHES: Self = Self(-8);

    /// The number under which the client's library sends a request; `next` if it has none of its own.
    #[must_use]
    pub const fn of(request: &ZkRequest, next: Self) -> Self {
        match request {
            ZkRequest::Ping => Self::PING,
            ZkRequest::SetWatches(_) => Self::SET_WATCHES,
            _ => next,
        }
    }
}

/// What a server says on a connection, once there is a session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Said {
    /// To who watches.
    Event(ZkEvent),
    /// To who has asked.
    Answer(Xid, Answer),
}

impl ZkRequest {
    /// The content of its frame. (To a session's beginning the number means nothing.)
    #[must_use]
    pub fn to_bytes(&self, xid: Xid) -> Vec<u8> {
        say::request(self, xid)
    }

    /// What was asked within a session, under which number.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_bytes(content: &[u8]) -> Result<(Xid, Self), BadBytes> {
        read::request(content)
    }
}

impl Connect {
    /// What the first frame on a connection asks for.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_bytes(content: &[u8]) -> Result<Self, BadBytes> {
        read::connect(content)
    }
}

impl ZkReply {
    /// The content of its frame, as the answer to the request with that number.
    #[must_use]
    pub fn to_bytes(&self, xid: Xid) -> Vec<u8> {
        say::reply(self, xid)
    }

    /// The answer to the first frame on a connection.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn connected_from_bytes(content: &[u8]) -> Result<Self, BadBytes> {
        read::connected(content)
    }
}

impl ZkEvent {
    /// The content of its frame.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        say::event(self)
    }
}

impl Said {
    /// What a server has said, to a client that knows what it has asked under which number.
    ///
    /// # Errors
    /// If it is nothing that the model knows, or answers nothing that was asked.
    pub fn from_bytes<'r>(content: &[u8], asked: impl FnOnce(Xid) -> Option<&'r ZkRequest>) -> Result<Self, BadBytes> {
        read::said(content, asked)
    }
}

/// Codes of operations: `ZooDefs.OpCode`.
mod code {
    pub(super) const ERROR: i32 = -1;
    pub(super) const CREATE_SESSION: i32 = -10;
    pub(super) const CLOSE_SESSION: i32 = -11;
    pub(super) const CREATE: i32 = 1;
    pub(super) const DELETE: i32 = 2;
    pub(super) const EXISTS: i32 = 3;
    pub(super) const GET_DATA: i32 = 4;
    pub(super) const SET_DATA: i32 = 5;
    pub(super) const SYNC: i32 = 9;
    pub(super) const PING: i32 = 11;
    pub(super) const GET_CHILDREN_2: i32 = 12;
    pub(super) const CHECK: i32 = 13;
    pub(super) const MULTI: i32 = 14;
    pub(super) const CREATE_2: i32 = 15;
    pub(super) const CREATE_CONTAINER: i32 = 19;
    pub(super) const DELETE_CONTAINER: i32 = 20;
    pub(super) const SET_WATCHES: i32 = 101;
}

/// `KeeperState.SyncConnected`: with every event.
const SYNC_CONNECTED: i32 = 3;
/// `Perms.ALL`
const ALL: i32 = 31;
/// Who may do all of that: everybody.
const WORLD: (&str, &str) = ("world", "anyone");

#[cfg(test)]
mod tests;
