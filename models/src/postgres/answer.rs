//! What a PostgreSQL server answers.
//!
//! Source: chapter 55 of the documentation of PostgreSQL 15, and what a server of 15.20 says.

use std::fmt;

use host::{digest_enum, digest_struct};

use super::error::{PgError, SqlState};
use super::key::Pid;
use super::row::Row;

/// All that a server says in answer to one statement, up to `ReadyForQuery`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgReply {
    /// What was done or found, or why not.
    pub outcome: Result<Outcome, PgError>,
    /// `NoticeResponse`: a warning that came with it.
    pub warning: Option<SqlState>,
    /// Where the session is after it. (After a fatal error it is nowhere: `Idle`.)
    pub status: Status,
}

/// What was done or found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// `BackendKeyData`: that backend serves the connection from now on.
    Started(Pid),
    /// `CommandComplete` of what answers nothing else.
    Done(Tag),
    /// Of a function that returns `void`: the lock is had.
    Void,
    /// Of a function that returns `boolean`.
    Bool(bool),
    /// Of a function that returns a number. `None`: `NULL`.
    Number(Option<i64>),
    /// The row that was found or written, if there was one.
    Row(Option<Box<Row>>),
}

/// `CommandComplete`, of what answers nothing else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// `BEGIN`
    Begin,
    /// `COMMIT`
    Commit,
    /// `ROLLBACK`: also to a `COMMIT` of a transaction that has failed.
    Rollback,
    /// `SAVEPOINT`
    Savepoint,
    /// `RELEASE`
    Release,
    /// `DISCARD ALL`
    DiscardAll,
    /// `SET`
    Set,
    /// `CHECKPOINT`
    Checkpoint,
    /// `CREATE INDEX`
    CreateIndex,
}

/// `ReadyForQuery`: where a session is.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Status {
    /// `I`: in no transaction block.
    #[default]
    Idle,
    /// `T`
    InTransaction,
    /// `E`: in a transaction block that has failed, where nothing is done but to leave it.
    Failed,
}

/// What a server says unasked: why it ends the session. The connection is closed behind it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PgPush(pub SqlState);

impl PgReply {
    /// Whether the session is over with it.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        self.outcome.as_ref().is_err_and(|error| error.fatal)
    }
}

digest_struct!(PgReply { outcome, warning, status });
digest_enum!(Outcome {
    1 => Started(pid),
    2 => Done(tag),
    3 => Void,
    4 => Bool(value),
    5 => Number(value),
    6 => Row(row),
});
digest_enum!(Tag {
    1 => Begin,
    2 => Commit,
    3 => Rollback,
    4 => Savepoint,
    5 => Release,
    6 => DiscardAll,
    7 => Set,
    8 => Checkpoint,
    9 => CreateIndex,
});
digest_enum!(Status { 1 => Idle, 2 => InTransaction, 3 => Failed });

impl host::Digest for PgPush {
    fn digest(&self, fold: &mut host::Fold) {
        self.0.digest(fold);
    }
}

impl fmt::Display for PgReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.outcome {
            Ok(outcome) => outcome.fmt(f)?,
            Err(error) => error.fmt(f)?,
        }
        self.warning.map_or(Ok(()), |warning| write!(f, " (warning {warning})"))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started(pid) => write!(f, "backend {pid}"),
            Self::Done(tag) => f.write_str(tag.text()),
            Self::Void => f.write_str("done"),
            Self::Bool(true) => f.write_str("t"),
            Self::Bool(false) => f.write_str("f"),
            Self::Number(Some(number)) => number.fmt(f),
            Self::Number(None) => f.write_str("null"),
            Self::Row(Some(row)) => row.fmt(f),
            Self::Row(None) => f.write_str("no row"),
        }
    }
}

impl Tag {
    /// Every tag.
    pub const ALL: [Self; 9] = [
        Self::Begin,
        Self::Commit,
        Self::Rollback,
        Self::Savepoint,
        Self::Release,
        Self::DiscardAll,
        Self::Set,
        Self::Checkpoint,
        Self::CreateIndex,
    ];

    /// As the server has it.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::Begin => "BEGIN",
            Self::Commit => "COMMIT",
            Self::Rollback => "ROLLBACK",
            Self::Savepoint => "SAVEPOINT",
            Self::Release => "RELEASE",
            Self::DiscardAll => "DISCARD ALL",
            Self::Set => "SET",
            Self::Checkpoint => "CHECKPOINT",
            Self::CreateIndex => "CREATE INDEX",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = self.owner.as_ref().map_or_else(|| "null".to_owned(), |owner| format!("{owner:?}"));
        write!(f, "owner {owner}, ends {}, version {}, value {:?}", self.ends, self.version, self.value)
    }
}

impl fmt::Display for PgPush {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the session is over: {}", self.0)
    }
}
