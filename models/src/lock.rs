//! Which locks there are, and how each can be set.
//!
//! A scenario chooses one of these; its switches are types, and each has a default with a source.

use host::{Duration, Operation, Point};

/// A lock as a scenario chooses it: a recipe and its switches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lock {
    /// A lock on one Redis server: owner value, compare-and-delete.
    Redis(RedisLock),
}

/// The switches of the lock on one Redis server.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RedisLock {
    /// Where the fencing token comes from.
    pub token: TokenSource,
    /// How often the lease is extended in the background. `None`: never (Redis clients do not do it
    /// by themselves).
    pub renew: Option<Duration>,
}

/// Where a Redis lock takes its fencing token from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TokenSource {
    /// It has none: the owner value is random and has no order.
    #[default]
    None,
    /// `INCR` in the script that takes the lock, so that tokens are in the order of grants.
    IncrInScript,
}

/// What the loader must know of a lock to check a scenario's words.
#[derive(Clone, Copy, Debug)]
pub struct LockFacts {
    /// Its name in scenario files.
    pub name: &'static str,
    /// One line for `list`.
    pub title: &'static str,
    /// Its servers are called `PREFIX-1`, `PREFIX-2`, …
    pub server_prefix: &'static str,
    /// How many servers it has.
    pub servers: u16,
    /// The program points of its recipe, beside those of every client.
    pub points: &'static [Point],
    /// The requests of its recipe, by the names that faults use.
    pub operations: &'static [Operation],
    /// Whether it can give a fencing token.
    pub has_token: bool,
}

/// Every lock, in the order of `list`.
pub const LOCKS: &[LockFacts] = &[LockFacts {
    name: "redis",
    title: "one Redis server, SET NX PX with an owner value, compare-and-delete",
    server_prefix: "redis",
    servers: 1,
    points: &[],
    operations: &[Operation("set"), Operation("renew"), Operation("release")],
    has_token: true,
}];

/// The requests of the guarded resource, by the names that faults use.
pub const RESOURCE_OPERATIONS: &[Operation] = &[Operation("read"), Operation("write")];

impl Lock {
    /// What the loader must know of it.
    #[must_use]
    pub const fn facts(&self) -> &'static LockFacts {
        match self {
            Self::Redis(_) => &LOCKS[0],
        }
    }
}
