//! Keys of advisory locks, and the numbers by which PostgreSQL knows its backends and transactions.

use std::fmt;

use host::{Digest, Fold, Name, digest_enum};

/// The key of an advisory lock. The two kinds never meet: `42` and `(0, 42)` are two locks.
///
/// Source: `SET_LOCKTAG_INT64`, `SET_LOCKTAG_INT32` in `lockfuncs.c`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum AdvisoryKey {
    /// `bigint`
    Big(i64),
    /// `int, int`
    Pair(i32, i32),
}

digest_enum!(AdvisoryKey { 1 => Big(key), 2 => Pair(first, second) });

impl fmt::Display for AdvisoryKey {
    /// As the arguments of the functions.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Big(key) => write!(f, "{key}"),
            Self::Pair(first, second) => write!(f, "{first}, {second}"),
        }
    }
}

/// With whom it is to be had: an exclusive lock with nobody, a shared one with others that are shared.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Strength {
    /// With nobody.
    Exclusive,
    /// With all that share it.
    Shared,
}

digest_enum!(Strength { 1 => Exclusive, 2 => Shared });

/// A database of a server: advisory locks of another one are others.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Database(pub Name);

impl Default for Database {
    fn default() -> Self {
        Self(Name::fixed("postgres"))
    }
}

/// The number of a backend: the process that serves one connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Pid(pub u32);

impl fmt::Display for Pid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a transaction that has written something, or asked for its number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Xid(pub u64);

impl Xid {
    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

macro_rules! digest_inner {
    ($($type:ty),*) => { $(
        impl Digest for $type {
            fn digest(&self, fold: &mut Fold) {
                self.0.digest(fold);
            }
        }
    )* };
}
digest_inner!(Database, Pid, Xid);
