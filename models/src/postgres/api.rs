//! What a client asks of a PostgreSQL server, as far as locks use it: one statement, sent as a simple query.
//!
//! Source: the documentation of PostgreSQL 15, chapters 9.27.10 (advisory locks), 13.3 (locks), 19 (settings), 55 (protocol).
//!
//! A statement outside a transaction block is a transaction of its own. Answers come in the order of the statements; a statement that
//! waits for a lock keeps those behind it waiting.
//!
//! Left out: prepared statements and the extended protocol, several statements in one query, authentication, `LISTEN`, isolation levels
//! other than read committed, two-phase commit, `LOCK TABLE`.

use std::fmt;

use host::{Duration, Name, Operation, Request, digest_enum, digest_struct};
use spec::LockName;

use super::answer::{PgPush, PgReply};
use super::key::{AdvisoryKey, Database, Pid, Strength};
use super::row::{Delete, Insert, Select, Update};
use crate::etcd::Errand;

/// A statement, or what else a client sends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PgRequest {
    /// `StartupMessage`, the first thing that is said on a connection: a backend is to serve it.
    Startup(Database),
    /// `BEGIN`
    Begin,
    /// `COMMIT`
    Commit,
    /// `ROLLBACK`
    Rollback,
    /// `SAVEPOINT name`
    Savepoint(Name),
    /// `ROLLBACK TO SAVEPOINT name`
    RollbackTo(Name),
    /// `RELEASE SAVEPOINT name`
    ReleaseSavepoint(Name),
    /// `SELECT pg_advisory_lock(key)`, and its kin.
    Advise(Box<Advise>),
    /// `SELECT pg_advisory_unlock(key)`, or `pg_advisory_unlock_shared`
    Unlock {
        /// Which.
        key: AdvisoryKey,
        /// In which strength it is held.
        strength: Strength,
    },
    /// `SELECT pg_advisory_unlock_all()`
    UnlockAll,
    /// `DISCARD ALL`
    DiscardAll,
    /// `SELECT nextval('name')`
    NextVal(Name),
    /// `SELECT pg_current_xact_id()`: the transaction gets a number, if it has none.
    XactId,
    /// `SELECT pg_current_xact_id_if_assigned()`
    XactIdIfAssigned,
    /// `SET [LOCAL] name = …`
    Set {
        /// What.
        setting: Setting,
        /// To what, in whole ms. Zero: off.
        to: Duration,
        /// `LOCAL`: until the transaction ends.
        local: bool,
    },
    /// Reads a row, and may lock it.
    Select(Box<Select>),
    /// Creates a row.
    Insert(Box<Insert>),
    /// Writes a row.
    Update(Box<Update>),
    /// Deletes a row.
    Delete(Box<Delete>),
    /// `SELECT pg_cancel_backend(pid)`: what another session's statement waits for is to be given up.
    Cancel(Pid),
    /// `SELECT pg_terminate_backend(pid)`: another session is to end.
    Terminate(Pid),
    /// `SELECT pg_is_in_recovery()`: whether it is a standby.
    IsInRecovery,
    /// `SELECT 1`
    One,
    /// `CHECKPOINT`
    Checkpoint,
    /// `CREATE INDEX CONCURRENTLY`, on a table into which nobody writes meanwhile: it waits for all that has a snapshot of before.
    CreateIndex,
}

/// One of the eight functions by which advisory locks are taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Advise {
    /// Which lock.
    pub key: AdvisoryKey,
    /// With whom it is to be had.
    pub strength: Strength,
    /// Until when it is to be had.
    pub scope: Scope,
    /// `pg_try_…`: whether to answer at once, be it no.
    pub is_try: bool,
    /// For the history: the name of the lock whose key it is. No server reads it, and it is not on the wire.
    pub lock: Option<LockName>,
}

/// Until when an advisory lock is held.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Scope {
    /// Until it is unlocked as often as it was locked, or the session ends. What becomes of transactions does not matter.
    Session,
    /// `_xact_`: until the transaction ends. It cannot be unlocked.
    Transaction,
}

/// What a statement does about a row that somebody has locked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wait {
    /// Waits.
    Wait,
    /// `NOWAIT`: it is an error, [`LockNotAvailable`](super::SqlState::LockNotAvailable).
    NoWait,
    /// `SKIP LOCKED`: finds no row.
    SkipLocked,
}

/// What a session can set for itself: all of them spans of time. The TCP ones are whole seconds on the server.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Setting {
    /// `deadlock_timeout`
    DeadlockTimeout,
    /// `lock_timeout`
    LockTimeout,
    /// `statement_timeout`
    StatementTimeout,
    /// `idle_session_timeout`
    IdleSessionTimeout,
    /// `idle_in_transaction_session_timeout`
    IdleInTransactionSessionTimeout,
    /// `client_connection_check_interval`
    ClientConnectionCheckInterval,
}

impl Setting {
    /// Every setting.
    pub const ALL: [Self; 6] = [
        Self::DeadlockTimeout,
        Self::LockTimeout,
        Self::StatementTimeout,
        Self::IdleSessionTimeout,
        Self::IdleInTransactionSessionTimeout,
        Self::ClientConnectionCheckInterval,
    ];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DeadlockTimeout => "deadlock_timeout",
            Self::LockTimeout => "lock_timeout",
            Self::StatementTimeout => "statement_timeout",
            Self::IdleSessionTimeout => "idle_session_timeout",
            Self::IdleInTransactionSessionTimeout => "idle_in_transaction_session_timeout",
            Self::ClientConnectionCheckInterval => "client_connection_check_interval",
        }
    }
}

impl PgRequest {
    /// What it does to an object in the lock's own store, for the history.
    #[must_use]
    pub fn errand(&self) -> Option<Errand> {
        match self {
            Self::Select(select) => select.errand,
            Self::Insert(insert) => insert.errand,
            Self::Update(update) => update.errand,
            _ => None,
        }
    }

    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Startup(_) => "startup",
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Savepoint(_) | Self::RollbackTo(_) | Self::ReleaseSavepoint(_) => "savepoint",
            Self::Advise(advise) if advise.is_try => "try-lock",
            Self::Advise(_) => "lock",
            Self::Unlock { .. } | Self::UnlockAll => "unlock",
            Self::DiscardAll => "discard-all",
            Self::NextVal(_) => "nextval",
            Self::XactId | Self::XactIdIfAssigned => "xact-id",
            Self::Set { .. } => "set",
            Self::Select(_) => "select",
            Self::Insert(_) => "insert",
            Self::Update(_) => "update",
            Self::Delete(_) => "delete",
            Self::Cancel(_) => "cancel",
            Self::Terminate(_) => "terminate",
            Self::IsInRecovery => "is-in-recovery",
            Self::One => "one",
            Self::Checkpoint => "checkpoint",
            Self::CreateIndex => "create-index",
        })
    }
}

impl Request for PgRequest {
    type Reply = PgReply;
    type Push = PgPush;
}

digest_enum!(PgRequest {
    1 => Startup(database),
    2 => Begin,
    3 => Commit,
    4 => Rollback,
    5 => Savepoint(name),
    6 => RollbackTo(name),
    7 => ReleaseSavepoint(name),
    8 => Advise(advise),
    9 => Unlock { key, strength },
    10 => UnlockAll,
    11 => DiscardAll,
    12 => NextVal(name),
    13 => XactId,
    14 => XactIdIfAssigned,
    15 => Set { setting, to, local },
    16 => Select(select),
    17 => Insert(insert),
    18 => Update(update),
    19 => Delete(delete),
    20 => Cancel(pid),
    21 => Terminate(pid),
    22 => IsInRecovery,
    23 => One,
    24 => Checkpoint,
    25 => CreateIndex,
});
digest_struct!(Advise { key, strength, scope, is_try, lock });
digest_enum!(Scope { 1 => Session, 2 => Transaction });
digest_enum!(Wait { 1 => Wait, 2 => NoWait, 3 => SkipLocked });
digest_enum!(Setting {
    1 => DeadlockTimeout,
    2 => LockTimeout,
    3 => StatementTimeout,
    4 => IdleSessionTimeout,
    5 => IdleInTransactionSessionTimeout,
    6 => ClientConnectionCheckInterval,
});

impl fmt::Display for PgRequest {
    /// For a person; as SQL it is in `wire`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Startup(Database(name)) => write!(f, "begin a session in {name}"),
            Self::Begin => f.write_str("begin"),
            Self::Commit => f.write_str("commit"),
            Self::Rollback => f.write_str("rollback"),
            Self::Savepoint(name) => write!(f, "savepoint {name}"),
            Self::RollbackTo(name) => write!(f, "rollback to {name}"),
            Self::ReleaseSavepoint(name) => write!(f, "release savepoint {name}"),
            Self::Advise(advise) => advise.fmt(f),
            Self::Unlock { key, strength: Strength::Exclusive } => write!(f, "unlock {key}"),
            Self::Unlock { key, strength: Strength::Shared } => write!(f, "unlock {key}, shared"),
            Self::UnlockAll => f.write_str("unlock all"),
            Self::DiscardAll => f.write_str("discard all"),
            Self::NextVal(name) => write!(f, "next value of {name}"),
            Self::XactId => f.write_str("number of the transaction"),
            Self::XactIdIfAssigned => f.write_str("number of the transaction, if it has one"),
            Self::Set { setting, to, .. } => write!(f, "set {} to {} ms", setting.name(), to.as_millis()),
            Self::Select(select) if select.for_update.is_some() => write!(f, "select {} for update", select.row),
            Self::Select(select) => write!(f, "select {}", select.row),
            Self::Insert(insert) => write!(f, "insert {}", insert.row),
            Self::Update(update) => write!(f, "update {}", update.row),
            Self::Delete(delete) => write!(f, "delete {}", delete.row),
            Self::Cancel(pid) => write!(f, "cancel backend {pid}"),
            Self::Terminate(pid) => write!(f, "terminate backend {pid}"),
            Self::IsInRecovery => f.write_str("is it in recovery"),
            Self::One => f.write_str("select 1"),
            Self::Checkpoint => f.write_str("checkpoint"),
            Self::CreateIndex => f.write_str("create index concurrently"),
        }
    }
}

impl fmt::Display for Advise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, strength, scope, is_try, .. } = self;
        let what = if *is_try { "try to lock" } else { "lock" };
        let scope = if *scope == Scope::Transaction { " for the transaction" } else { "" };
        let shared = if *strength == Strength::Shared { ", shared" } else { "" };
        write!(f, "{what} {key}{scope}{shared}")
    }
}
