//! What travels between PostgreSQL's clients and servers, as text.
//!
//! The simulator carries statements and answers as they are. These are for the real server, which must be told the same and
//! whose answers are held against the model's. Frames are left to a library that knows the protocol: here are the text of a statement
//! (a simple query), and what an answer says, field by field, as text (`format` 0).
//!
//! Source: the documentation of PostgreSQL 15, part VI (commands) and chapter 55 (protocol), and what a server of 15.20 answers.
//!
//! An answer does not say what it answers, so who reads one must know what was asked. A statement is read again as well, as far as it is one
//! that is written here: servers write down what they were asked, and so do transcripts.
//!
//! Expressions name columns with their table: beside an `ON CONFLICT`, a bare one could mean the row that was to be inserted too.

mod read;
mod say;
mod sql;
#[cfg(test)]
mod tests;

use std::fmt;

use super::answer::PgReply;
use super::api::PgRequest;
use super::error::SqlState;
use super::names::SEQUENCE;
use super::row::Table;

/// What a server has said in answer to one query, up to `ReadyForQuery` or the end of the session.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Said {
    /// `DataRow`: its columns. `None` among them: `NULL`.
    pub row: Option<Vec<Option<String>>>,
    /// `CommandComplete`
    pub tag: Option<String>,
    /// `ErrorResponse`
    pub error: Option<Failure>,
    /// `NoticeResponse` whose severity is `WARNING`: the code of the first.
    pub warning: Option<String>,
    /// `ReadyForQuery`: its byte. `None`: it never came, for the session is over.
    pub status: Option<u8>,
}

impl Said {
    /// Whether the server hangs up after it.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.status.is_none()
    }
}

/// `ErrorResponse`, as far as it matters.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// The field `V`: `ERROR`, `FATAL`, `PANIC`.
    pub severity: String,
    /// The field `C`.
    pub code: String,
}

/// A server has said, or was asked, what is not known here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BadText(String);

impl BadText {
    fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for BadText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadText {}

impl PgRequest {
    /// The statement. `None`: it is none, but [how a session begins](Self::Startup).
    ///
    /// Values must be text. What an `UPDATE` sets must not be nothing, and no column twice.
    #[must_use]
    pub fn to_sql(&self) -> Option<String> {
        say::statement(self)
    }

    /// What that statement asks, if it is written as [`to_sql`](Self::to_sql) writes it; what is for the history is not in it.
    ///
    /// # Errors
    /// If it is nothing that the model knows.
    pub fn from_sql(text: &str) -> Result<Self, BadText> {
        sql::statement(text)
    }
}

impl PgReply {
    /// What a server has said to that request. Of [a session's beginning](PgRequest::Startup) the row is the number of the backend.
    ///
    /// # Errors
    /// If it is nothing that the model knows, or no answer to that.
    pub fn read(request: &PgRequest, said: &Said) -> Result<Self, BadText> {
        read::reply(request, said)
    }
}

impl SqlState {
    /// The one with that code.
    ///
    /// # Errors
    /// If it is none that the model knows.
    pub fn from_code(code: &str) -> Result<Self, BadText> {
        let known = Self::ALL.iter().find(|state| state.code() == code);
        known.copied().ok_or_else(|| BadText::new(format!("an error or warning that is not known: {code}")))
    }
}

/// The statements that make the tables and the sequence, in an empty database.
pub fn schema() -> impl Iterator<Item = String> {
    let table = |table: Table| {
        format!(
            "CREATE TABLE {} (name text PRIMARY KEY, owner text, ends bigint NOT NULL DEFAULT 0, \
             version bigint NOT NULL DEFAULT 0, value text NOT NULL DEFAULT '')",
            table.name()
        )
    };
    let sequence = format!("CREATE SEQUENCE {}", say::identifier(SEQUENCE.as_str()));
    Table::ALL.into_iter().map(table).chain([sequence])
}

/// The columns of a row, in the order in which they are asked for.
const COLUMNS: &str = "owner, ends, version, value";
