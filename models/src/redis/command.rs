//! The commands that the model answers, typed.
//!
//! Scripts are commands of their own, one for each script that a lock uses: what counts of a script is
//! that its commands run in one step, on one reading of the clock. The text of the language, its
//! interpreter and `EVALSHA` are not modelled.

use std::fmt;

use host::{Never, Operation, Request, digest_enum};

use super::{Reply, Value};

/// The name of a key. (Redis takes any bytes; the keys of locks are text.)
pub type Key = host::Name;

/// A request to a Redis server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// `SET key value [NX] [PX px]`
    Set {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// Only if the key does not exist.
        nx: bool,
        /// Its time to live in ms; without it, the key does not expire.
        px: Option<i64>,
    },
    /// `GET key`
    Get {
        /// Which key.
        key: Key,
    },
    /// `DEL key`
    Del {
        /// Which key.
        key: Key,
    },
    /// `EXISTS key`
    Exists {
        /// Which key.
        key: Key,
    },
    /// `PTTL key`
    Pttl {
        /// Which key.
        key: Key,
    },
    /// `PEXPIRE key px`
    Pexpire {
        /// Which key.
        key: Key,
        /// Its new time to live in ms.
        px: i64,
    },
    /// `INCR key`
    Incr {
        /// Which key.
        key: Key,
    },
    /// The release script: `DEL key` if it holds `value`. Returns 1 or 0.
    CompareAndDelete {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
    },
    /// The extend script: `PEXPIRE key px` if it holds `value`. Returns 1 or 0.
    CompareAndPexpire {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
        /// Its new time to live in ms.
        px: i64,
    },
    /// A lock script that gives a fencing token: `SET key value NX [PX px]`, and if that did, `INCR
    /// counter`. Returns the counter or nil.
    LockWithToken {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// Its time to live in ms; without it, the key does not expire.
        px: Option<i64>,
        /// The key that counts the grants.
        counter: Key,
    },
}

impl Request for Command {
    type Reply = Reply;
    type Push = Never;
}

impl Command {
    /// The name by which faults know it: what a lock wants of it, else the command's own.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Set { .. } | Self::LockWithToken { .. } => "set",
            Self::CompareAndPexpire { .. } => "renew",
            Self::CompareAndDelete { .. } => "release",
            Self::Get { .. } => "get",
            Self::Del { .. } => "del",
            Self::Exists { .. } => "exists",
            Self::Pttl { .. } => "pttl",
            Self::Pexpire { .. } => "pexpire",
            Self::Incr { .. } => "incr",
        })
    }
}

digest_enum!(Command {
    1 => Set { key, value, nx, px },
    2 => Get { key },
    3 => Del { key },
    4 => Exists { key },
    5 => Pttl { key },
    6 => Pexpire { key, px },
    7 => Incr { key },
    8 => CompareAndDelete { key, value },
    9 => CompareAndPexpire { key, value, px },
    10 => LockWithToken { key, value, px, counter },
});

impl fmt::Display for Command {
    /// As one would type it, scripts by their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { key, value, nx, px } => {
                let nx = if *nx { " NX" } else { "" };
                write!(f, "SET {key} {value}{nx}{}", Px(*px))
            }
            Self::Get { key } => write!(f, "GET {key}"),
            Self::Del { key } => write!(f, "DEL {key}"),
            Self::Exists { key } => write!(f, "EXISTS {key}"),
            Self::Pttl { key } => write!(f, "PTTL {key}"),
            Self::Pexpire { key, px } => write!(f, "PEXPIRE {key} {px}"),
            Self::Incr { key } => write!(f, "INCR {key}"),
            Self::CompareAndDelete { key, value } => write!(f, "EVAL compare-and-delete {key} {value}"),
            Self::CompareAndPexpire { key, value, px } => write!(f, "EVAL compare-and-pexpire {key} {value} {px}"),
            Self::LockWithToken { key, value, px, counter } => {
                write!(f, "EVAL lock-with-token {key} {counter} {value}{}", Px(*px))
            }
        }
    }
}

/// An optional time to live, as an option of `SET`.
struct Px(Option<i64>);

impl fmt::Display for Px {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |px| write!(f, " PX {px}"))
    }
}
