//! Locks on PostgreSQL 15: its statements and answers, and what it makes of them.
//!
//! | file | what |
//! |---|---|
//! | [`key`] | keys of advisory locks, numbers of backends and transactions |
//! | [`api`] | what a client asks: one statement at a time |
//! | [`row`] | tables and rows, and what a statement says of them |
//! | [`answer`], [`error`] | what a server answers |
//! | [`wire`] | statements and answers as text, for the real server |
//! | [`names`], `owners` | which keys and rows locks have, and for the history: whose they are |
//! | [`server`] | a server: a primary, or a standby |
//! | [`pooler`] | what stands between clients and a server |
//! | `session` | what a backend keeps of its session |
//! | `lock_table`, `deadlock` | who has which lock, who waits for it, and circles of those |
//! | `heap` | rows and their versions |
//! | [`wal`] | what a server writes down |
//! | [`client`] | what a program has of its server: sessions, and a pool of them |
//! | `advisory` | a number that a session or a transaction has |
//! | `row_lock` | a row that a transaction has locked |
//! | `lease_row` | a row that says whose it is, and until when |
//! | `objects` | objects that are in the database |

mod advisory;
pub mod answer;
pub mod api;
pub mod client;
mod deadlock;
pub mod error;
mod heap;
pub mod key;
mod lease_row;
mod lock_table;
pub mod names;
mod objects;
mod owners;
pub mod pooler;
pub mod row;
mod row_lock;
pub mod server;
mod session;
pub mod wal;
pub mod wire;

pub use advisory::{Hold, PgAdvisory};
pub use answer::{Outcome, PgPush, PgReply, Status, Tag};
pub use api::{Advise, PgRequest, Scope, Setting, Wait};
pub use client::{Failure, Pool, Session, Waited, Way};
pub use error::{PgError, SqlState};
pub use key::{AdvisoryKey, Database, Pid, Strength, Xid};
pub use lease_row::LeaseRow;
pub use row::{Assign, Condition, Delete, Insert, Instant, OnConflict, Row, RowKey, Select, Table, Update, VersionTo};
pub use row_lock::{PgRow, Transaction};

use host::Calls;

use crate::recipe::LockHost;

/// What is in a row: text.
pub type Value = crate::redis::Value;

/// A process that can reach PostgreSQL servers.
pub trait PgHost: LockHost + Calls<PgRequest> {}

impl<H: LockHost + Calls<PgRequest>> PgHost for H {}
