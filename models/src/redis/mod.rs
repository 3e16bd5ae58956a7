//! Locks on Redis: the server, its commands and replies, and the recipe of the lock on one server.
//!
//! | file | what |
//! |---|---|
//! | [`server`] | the server's state machine |
//! | [`command`], [`reply`], [`value`] | what travels |
//! | `keyspace` | the keys, and when they are gone |
//! | [`lock`] | the lock on one server: `SET NX PX`, compare-and-delete |

pub mod command;
mod keyspace;
pub mod lock;
pub mod reply;
pub mod server;
pub mod value;

pub use command::{Command, Key};
pub use lock::SingleRedis;
pub use reply::{RedisError, Reply};
pub use server::Redis;
pub use value::Value;

use host::Calls;

use crate::recipe::LockHost;

/// A process that can reach Redis servers.
pub trait RedisHost: LockHost + Calls<Command> {}

impl<H: LockHost + Calls<Command>> RedisHost for H {}
