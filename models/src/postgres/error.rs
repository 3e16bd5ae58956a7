//! Errors and warnings of PostgreSQL, by their code.
//!
//! Source: appendix A of the documentation of PostgreSQL 15, and where its source raises them.

use std::fmt;

use host::{digest_enum, digest_struct};

/// `ErrorResponse`: a statement was not done.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PgError {
    /// Why.
    pub state: SqlState,
    /// `FATAL`: the session is over, and the connection closed.
    pub fatal: bool,
}

digest_struct!(PgError { state, fatal });

macro_rules! states {
    ($($(#[$doc:meta])* $name:ident = $number:literal $code:literal),* $(,)?) => {
        /// `SQLSTATE`
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum SqlState { $($(#[$doc])* $name),* }

        impl SqlState {
            /// Every code that is known here.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// As the server has it.
            #[must_use]
            pub const fn code(self) -> &'static str {
                match self { $(Self::$name => $code),* }
            }
        }

        digest_enum!(SqlState { $($number => $name),* });
    };
}

states! {
    /// A warning: `pg_advisory_unlock` of what is not held.
    Warning = 1 "01000",
    /// Another row with that key is there.
    UniqueViolation = 2 "23505",
    /// A warning: `BEGIN` within a transaction block.
    ActiveSqlTransaction = 3 "25001",
    /// It is a standby, which writes nothing.
    ReadOnlySqlTransaction = 4 "25006",
    /// A savepoint outside a transaction block; a warning: `COMMIT` or `ROLLBACK` outside one.
    NoActiveSqlTransaction = 5 "25P01",
    /// The transaction block has failed: nothing is done but to leave it.
    InFailedSqlTransaction = 6 "25P02",
    /// The session stood idle in a transaction block for too long. The session is over.
    IdleInTransactionSessionTimeout = 7 "25P03",
    /// There is no savepoint of that name.
    InvalidSavepoint = 8 "3B001",
    /// The statement would wait in a circle with others.
    DeadlockDetected = 9 "40P01",
    /// The lock was not to be had at once, or within `lock_timeout`.
    LockNotAvailable = 11 "55P03",
    /// The statement was cancelled, or took longer than `statement_timeout`.
    QueryCanceled = 12 "57014",
    /// The session was ended, by an operator or since the server is to end.
    AdminShutdown = 13 "57P01",
    /// A process of the server has crashed: all sessions are over.
    CrashShutdown = 14 "57P02",
    /// The server starts, or is about to end.
    CannotConnectNow = 15 "57P03",
    /// The session stood idle for too long. The session is over.
    IdleSessionTimeout = 16 "57P05",
    /// What `pgbouncer` says when it ends a session, whatever the reason.
    ProtocolViolation = 18 "08P01",
}

impl PgError {
    /// The statement was not done; the session goes on.
    #[must_use]
    pub const fn error(state: SqlState) -> Self {
        Self { state, fatal: false }
    }

    /// The session is over.
    #[must_use]
    pub const fn fatal(state: SqlState) -> Self {
        Self { state, fatal: true }
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.code())
    }
}

impl fmt::Display for PgError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", if self.fatal { "fatal" } else { "error" }, self.state)
    }
}
