//! Locks on Redis: the server, its commands and replies, and the recipe of the lock on one server.
//!
//! | file | what |
//! |---|---|
//! | [`server`] | the server's state machine |
//! | `execute`, `transaction` | one command or script, one connection's transaction |
//! | `keyspace` | the keys, and when they are gone |
//! | `persist` | what of the keys is on the disk |
//! | `collections`, `channels` | lists and sorted sets; what is published |
//! | [`command`], [`script`], [`fair`], [`reply`], [`value`] | what travels |
//! | `wire` | the same as bytes: how a client says it, and what a server makes of it |
//! | [`replication`] | several servers: asynchronous replicas, promotion |
//! | [`sentinel`] | the Sentinel's state machine |
//! | [`lock`] | the lock on one server: `SET NX PX`, compare-and-delete, and its departures |
//! | [`redlock`] | the lock on a majority of several servers, as published, and its departures |
//! | [`sentinel_lock`] | the same lock, on a primary that Sentinel names |
//! | [`redisson`] | Redisson's lock: a hash that counts, a watchdog |

mod channels;
mod collections;
pub mod command;
mod execute;
pub mod fair;
mod keyspace;
pub mod lock;
mod persist;
pub mod redisson;
pub mod redlock;
pub mod replication;
pub mod reply;
pub mod script;
pub mod sentinel;
pub mod sentinel_lock;
pub mod server;
mod transaction;
pub mod value;
pub mod way;
mod wire;

pub use channels::Published;
pub use collections::{ListCommand, SortedCommand};
pub use command::{Command, ExpireIf, Key, Length, Lives, Malformed, SetIf};
pub use fair::{FairScript, Queue, Told};
pub use lock::SingleRedis;
pub use persist::Stored;
pub use redisson::Redisson;
pub use redlock::Redlock;
pub use reply::{RedisError, Reply};
pub use script::Script;
pub use sentinel::{Ask, Sentinel};
pub use sentinel_lock::{OnPrimary, SentinelHost, on_primary};
pub use server::Redis;
pub use value::Value;
pub use wire::NotModelled;

use host::Calls;

use crate::recipe::LockHost;

/// A process that can reach Redis servers.
pub trait RedisHost: LockHost + Calls<Command> {}

impl<H: LockHost + Calls<Command>> RedisHost for H {}
