//! Locks on etcd 3.4: its requests and answers, and what it makes of them.
//!
//! | file | what |
//! |---|---|
//! | [`key`] | names of keys, and ranges of them |
//! | [`api`] | what a client asks |
//! | [`answer`], [`error`] | what a server answers, and what it pushes to who watches |
//! | `check` | what it refuses for its form |
//! | [`v3lock`] | how a server queues for a client |
//! | [`wire`] | all this as JSON, for real servers |
//! | [`store`] | keys and leases: what all members agree on |
//! | [`lessor`] | how long leases live: what the leader counts |
//! | [`owners`] | for the history: whose key is the first of its lock |
//! | [`server`] | one member of a cluster |
//! | `client` | what the client library sends to whom, and what a second time |
//! | `session` | leases that the library keeps alive |
//! | `watch` | waiting for a key to be gone |
//! | `names` | under which keys locks are |
//! | `mutex` | `concurrency.Mutex` |
//! | `v3lock_client` | a lock for which the server queues |
//! | `single_key` | one key, put if it is not there: python-etcd3, Patroni |
//! | `kubernetes` | a record that its holder keeps writing |

pub mod answer;
pub mod api;
mod check;
mod client;
pub mod error;
pub mod key;
mod kubernetes;
pub mod lessor;
mod mutex;
mod names;
pub mod owners;
pub mod server;
mod session;
mod single_key;
pub mod store;
pub mod v3lock;
mod v3lock_client;
mod watch;
pub mod wire;

pub use answer::{Body, Event, EventKind, Header, KeyValue, Push, Reply, Response};
pub use api::{Compare, Delete, Errand, Op, Operand, Order, Put, Range, Relation, Rpc, SortBy, Txn, Watch};
pub use check::check;
pub use client::Way;
pub use error::EtcdError;
pub use key::{Key, Keys, LeaseId, Revision, WatchId};
pub use kubernetes::KubernetesLease;
pub use mutex::EtcdMutex;
pub use server::{Etcd, EtcdLog, Forwarded};
pub use single_key::EtcdKey;
pub use v3lock_client::EtcdV3Lock;

/// The value of a key: bytes.
pub type Value = crate::redis::Value;

use host::Calls;

use crate::recipe::LockHost;

/// A process that can reach etcd servers.
pub trait EtcdHost: LockHost + Calls<Rpc> {}

impl<H: LockHost + Calls<Rpc>> EtcdHost for H {}
