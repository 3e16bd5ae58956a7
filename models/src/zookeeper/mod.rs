//! Locks on ZooKeeper 3.8: its requests and answers, and what it makes of them.
//!
//! | file | what |
//! |---|---|
//! | [`path`] | paths of nodes, numbers of sessions and of changes |
//! | [`api`] | what a client asks |
//! | [`answer`], [`error`] | what a server answers, and what it tells who watches |
//! | [`tree`] | nodes and sessions: what all servers agree on |
//! | [`wire`] | the same as bytes, for real servers |
//! | [`tracker`] | how long sessions live: what the leader counts |
//! | [`learner`] | what a leader and who follows it tell each other |
//! | [`server`] | one member of an ensemble |
//! | [`names`], [`owners`] | where locks are, and for the history: whose they are |
//! | [`client`] | what the client library does: one connection, one session after the other |
//! | `queue` | queues of sequential nodes: what `mutex` and `curator` have in common |
//! | `mutex` | the lock of the documentation |
//! | `curator` | Curator's `InterProcessMutex` |
//! | `herd` | one node, which all watch |
//! | `objects` | objects that are in the ensemble |

pub mod answer;
pub mod api;
pub mod client;
mod curator;
pub mod error;
mod herd;
pub mod learner;
mod mutex;
pub mod names;
mod objects;
pub mod owners;
pub mod path;
mod queue;
pub mod server;
pub mod tracker;
pub mod tree;
pub mod wire;

pub use answer::{Answer, Body, Connected, EventKind, OpResult, Stat, ZkEvent, ZkReply};
pub use api::{Connect, Create, Credentials, Delete, Mode, Multi, Op, SetData, SetWatches, ZkRequest};
pub use client::{Client, Failure, Session, Watch, Way};
pub use curator::CuratorMutex;
pub use error::ZkError;
pub use herd::ZkHerd;
pub use learner::{FromLeader, ToLeader};
pub use mutex::ZkMutex;
pub use path::{Guid, Millis, NodeName, Path, SessionId, Zxid};
pub use server::{ZkLog, ZooKeeper};

/// What is in a node: bytes.
pub type Value = crate::redis::Value;

use host::Calls;

use crate::recipe::LockHost;

/// A process that can reach ZooKeeper servers.
pub trait ZkHost: LockHost + Calls<ZkRequest> {}

impl<H: LockHost + Calls<ZkRequest>> ZkHost for H {}
