//! Locks on ZooKeeper 3.8: its requests and answers, and what it makes of them.
//!
//! | file | what |
//! |---|---|
//! | [`path`] | paths of nodes, numbers of sessions and of changes |
//! | [`api`] | what a client asks |
//! | [`answer`], [`error`] | what a server answers, and what it tells who watches |
//! | [`tree`] | nodes and sessions: what all servers agree on |
//! | [`wire`] | the same as bytes, for real servers |

pub mod answer;
pub mod api;
pub mod error;
pub mod path;
pub mod tree;
pub mod wire;

pub use answer::{Answer, Body, Connected, EventKind, OpResult, Stat, ZkEvent, ZkReply};
pub use api::{Connect, Create, Credentials, Delete, Mode, Multi, Op, SetData, SetWatches, ZkRequest};
pub use error::ZkError;
pub use path::{Guid, Millis, NodeName, Path, SessionId, Zxid};

/// What is in a node: bytes.
pub type Value = crate::redis::Value;

use host::Calls;

use crate::recipe::LockHost;

/// A process that can reach ZooKeeper servers.
pub trait ZkHost: LockHost + Calls<ZkRequest> {}

impl<H: LockHost + Calls<ZkRequest>> ZkHost for H {}
