//! Tables and rows, and what a statement says of them.
//!
//! All tables have the same columns, of which each uses what it needs:
//!
//! ```sql
//! CREATE TABLE locks (name text PRIMARY KEY, owner text, ends bigint NOT NULL DEFAULT 0,
//!                     version bigint NOT NULL DEFAULT 0, value text NOT NULL DEFAULT '');
//! ```
//!
//! `ends` is an instant in microseconds, as PostgreSQL counts its own times, since 1970. A statement names one row, by its
//! primary key, so that it finds one or none.
//!
//! Left out: other columns and types, statements over several rows, foreign keys, `FOR SHARE` and `FOR KEY SHARE` (and so
//! `MultiXact`s), `FOR NO KEY UPDATE` by name (an `UPDATE` of other columns than the key takes it; with `FOR UPDATE` and with itself it
//! conflicts as `FOR UPDATE` does).

use std::fmt;

use host::{Name, digest_enum, digest_struct};

use super::Value;
use super::api::Wait;
use crate::etcd::Errand;

/// A table, by what it is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Table {
    /// Rows that transactions lock.
    Locks,
    /// Rows that say until when whose they are.
    Leases,
    /// Rows whose version is a fencing token.
    Tokens,
    /// The objects that a lock protects, if they are in its own store.
    Objects,
}

impl Table {
    /// Every table.
    pub const ALL: [Self; 4] = [Self::Locks, Self::Leases, Self::Tokens, Self::Objects];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Locks => "locks",
            Self::Leases => "leases",
            Self::Tokens => "tokens",
            Self::Objects => "objects",
        }
    }
}

/// Which row: its table, and its primary key there.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RowKey {
    /// In which table.
    pub table: Table,
    /// `name`
    pub name: Name,
}

/// A row, without its primary key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    /// Who has it. `None`: `NULL`.
    pub owner: Option<Value>,
    /// Until when, in µs since 1970.
    pub ends: i64,
    /// How often it was written, or what a client wrote there.
    pub version: i64,
    /// What else there is to it.
    pub value: Value,
}

impl Default for Row {
    fn default() -> Self {
        Self { owner: None, ends: 0, version: 0, value: "".into() }
    }
}

/// `SELECT owner, ends, version, value FROM table WHERE name = …`
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Select {
    /// Which.
    pub row: RowKey,
    /// `FOR UPDATE`: whether to lock it, and what to do if somebody has. `None`: to read it alone, which waits for nobody.
    pub for_update: Option<Wait>,
    /// For the history: which operation on an object it is, if it is one.
    pub errand: Option<Errand>,
}

/// `INSERT INTO table (name, …) VALUES (…) … RETURNING owner, ends, version, value`. Answered with the row as it is then, or with none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Insert {
    /// Which.
    pub row: RowKey,
    /// What is in its columns; in the others their defaults are. (`VersionTo::Next`: 1.)
    pub set: Vec<Assign>,
    /// What if it is there.
    pub on_conflict: OnConflict,
    /// For the history: which operation on an object it is, if it is one.
    pub errand: Option<Errand>,
}

/// `ON CONFLICT (name)`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OnConflict {
    /// Not said: it is an error, [`UniqueViolation`](super::SqlState::UniqueViolation).
    Fail,
    /// `DO NOTHING`: answered with no row.
    Nothing,
    /// `DO UPDATE SET … WHERE …`: answered with no row if a condition does not hold.
    Update {
        /// What is in its columns from then on.
        set: Vec<Assign>,
        /// Only if all of this holds.
        only_if: Vec<Condition>,
    },
}

/// `UPDATE table SET … WHERE name = … AND … RETURNING owner, ends, version, value`. Answered with the row as it is then, or with none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Update {
    /// Which.
    pub row: RowKey,
    /// What is in its columns from then on.
    pub set: Vec<Assign>,
    /// Only if all of this holds.
    pub only_if: Vec<Condition>,
    /// For the history: which operation on an object it is, if it is one.
    pub errand: Option<Errand>,
}

/// `DELETE FROM table WHERE name = … AND … RETURNING owner, ends, version, value`. Answered with the row as it was, or with none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delete {
    /// Which.
    pub row: RowKey,
    /// Only if all of this holds.
    pub only_if: Vec<Condition>,
}

/// What a column is to be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Assign {
    /// `owner = …`
    Owner(Option<Value>),
    /// `ends = …`
    Ends(Instant),
    /// `version = …`
    Version(VersionTo),
    /// `value = …`
    Value(Value),
}

/// What a version is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionTo {
    /// `version + 1`, of the row as it is when it is written.
    Next,
    /// That.
    Number(i64),
}

/// What must be so for a row to be found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Condition {
    /// `owner = …`
    OwnerIs(Value),
    /// `owner IS NULL`
    Unowned,
    /// `ends <= …`
    EndsBy(Instant),
    /// `ends > …`
    EndsAfter(Instant),
    /// `version = …`
    VersionIs(i64),
    /// `version < …`
    VersionBelow(i64),
}

/// An instant, in µs since 1970, by somebody's wall clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instant {
    /// That. It was read from the client's clock.
    At(i64),
    /// So long after `now()`: when the transaction began, by the server's clock. However long the statement has waited since, it is that.
    AfterNow(i64),
    /// So long after `clock_timestamp()`: the server's clock when the column is written or compared.
    AfterClock(i64),
}

digest_enum!(Table { 1 => Locks, 2 => Leases, 3 => Tokens, 4 => Objects });
digest_struct!(RowKey { table, name });
digest_struct!(Row { owner, ends, version, value });
digest_struct!(Select { row, for_update, errand });
digest_struct!(Insert { row, set, on_conflict, errand });
digest_enum!(OnConflict { 1 => Fail, 2 => Nothing, 3 => Update { set, only_if } });
digest_struct!(Update { row, set, only_if, errand });
digest_struct!(Delete { row, only_if });
digest_enum!(Assign { 1 => Owner(owner), 2 => Ends(ends), 3 => Version(version), 4 => Value(value) });
digest_enum!(VersionTo { 1 => Next, 2 => Number(number) });
digest_enum!(Condition {
    1 => OwnerIs(owner),
    2 => Unowned,
    3 => EndsBy(when),
    4 => EndsAfter(when),
    5 => VersionIs(version),
    6 => VersionBelow(version),
});
digest_enum!(Instant { 1 => At(micros), 2 => AfterNow(micros), 3 => AfterClock(micros) });

impl fmt::Display for RowKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.table.name(), self.name)
    }
}
