//! Lock services, lock recipes, the guarded resource, and the client around a lock.
//!
//! This crate knows `host` and `spec` and nothing below them: a model cannot learn the true time.
//!
//! | file | what |
//! |---|---|
//! | [`domain`] | what travels, what is written to disk, and how it reads |
//! | [`recipe`] | what a lock is to a client: `acquire`, `renew`, `release` |
//! | [`lock`] | which locks there are, their switches, and what each rests on |
//! | [`none`] | no lock, for comparison |
//! | [`redis`] | the Redis server, and the lock on one of them |
//! | [`etcd`] | etcd: its requests and answers |
//! | [`zookeeper`] | ZooKeeper: its requests and answers |
//! | [`postgres`] | PostgreSQL: its statements and answers |
//! | [`resource`], [`guard`] | what the locks protect, and the check that protects it without them |
//! | [`script`], [`client`] | what a client does, and the program that does it |
//! | [`log`](mod@log) | a replicated log: what servers stand on that agree by majority |
//! | [`link`] | a connection that is opened again when it broke |

pub mod client;
pub mod domain;
pub mod etcd;
pub mod guard;
pub mod link;
pub mod lock;
pub mod log;
pub mod none;
pub mod postgres;
pub mod recipe;
pub mod redis;
pub mod resource;
#[cfg(test)]
mod rig;
pub mod script;
#[cfg(test)]
mod testing;
pub mod zookeeper;

pub use client::play;
pub use domain::{Locks, Message, Nudge, Record};
pub use recipe::{LockHost, Recipe};
pub use redis::{RedisHost, SingleRedis};
pub use resource::{Resource, ResourceHost};
