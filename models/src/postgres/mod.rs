//! Locks on PostgreSQL 15: its statements and answers, and what it makes of them.
//!
//! | file | what |
//! |---|---|
//! | [`key`] | keys of advisory locks, numbers of backends and transactions |
//! | [`api`] | what a client asks: one statement at a time |
//! | [`row`] | tables and rows, and what a statement says of them |
//! | [`answer`], [`error`] | what a server answers |
//! | [`names`] | which keys and rows locks have |
//! | [`wire`] | statements and answers as text, for the real server |

pub mod answer;
pub mod api;
pub mod error;
pub mod key;
pub mod names;
pub mod row;
pub mod wire;

pub use answer::{Outcome, PgPush, PgReply, Status, Tag};
pub use api::{Advise, PgRequest, Scope, Setting, Wait};
pub use error::{PgError, SqlState};
pub use key::{AdvisoryKey, Database, Pid, Strength, Xid};
pub use row::{Assign, Condition, Delete, Insert, Instant, OnConflict, Row, RowKey, Select, Table, Update, VersionTo};

use host::Calls;

use crate::recipe::LockHost;

/// What is in a row: text.
pub type Value = crate::redis::Value;

/// A process that can reach PostgreSQL servers.
pub trait PgHost: LockHost + Calls<PgRequest> {}

impl<H: LockHost + Calls<PgRequest>> PgHost for H {}
