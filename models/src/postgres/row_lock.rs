//! A lock that is a row: the transaction has it that has locked the row.
//!
//! Source: <https://www.postgresql.org/docs/15/explicit-locking.html#LOCKING-ROWS>,
//! <https://www.postgresql.org/docs/15/sql-select.html#SQL-FOR-UPDATE-SHARE>; for a row that is not there Quartz, `StdRowLockSemaphore`,
//! <https://github.com/quartz-scheduler/quartz/blob/main/quartz/src/main/java/org/quartz/impl/jdbcjobstore/StdRowLockSemaphore.java>.
//!
//! | the source's step | here |
//! |---|---|
//! | a transaction block around the section | `RowLocks::transaction`, `release` |
//! | `SELECT … FOR UPDATE`: waits for whoever has the row | `RowLocks::lock` |
//! | `NOWAIT`: an error; `SKIP LOCKED`: no row | [`IfLocked`] |
//! | Quartz: no row is found, and so it is made, and asked for again | `RowLocks::lock_what_was_not_found` |
//! | what the transaction writes counts when it commits | `operate` |
//! | a deadlock: one of the transactions is aborted, with all that it has locked | `RowLocks::take`, `knows_of_loss` |
//!
//! The row's `version` is counted up in the same transaction, and is the token: who commits has been the only one with it.
//!
//! Departures: the row is created in a statement outside of the transaction (Quartz: inside, so that others wait for its commit), and by who
//! first wants it before it asks. The sources say nothing of a program's connections: each transaction has one for itself, which is kept
//! for the next.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::fmt;
use std::rc::Rc;

use host::MonoTime;
use spec::{Authorities, LockName, Token};

use super::client::{Failure, Pool, Session, Waited, Way};
use super::names::row;
use super::objects;
use super::{Assign, Insert, OnConflict, Outcome, PgHost, PgRequest, Row, Select, Table, Tag, Update, VersionTo, Wait};
use crate::lock::postgres::{IfLocked, Returns, RowLock, Transactions};
use crate::recipe::{Acquired, Lease, Recipe, Release};
use crate::resource::{Op, OpReply};

/// A client's locks that are rows.
pub struct PgRow<H: PgHost>(Rc<RowLocks<H>>);

struct RowLocks<H: PgHost> {
    pool: Pool<H>,
    switches: RowLock,
    /// Locks whose row is there.
    known: RefCell<BTreeSet<LockName>>,
    /// The transaction that the next lock is to be in, if all are to be in one.
    current: RefCell<Option<Rc<Transaction<H>>>>,
}

/// A transaction that has rows locked.
pub struct Transaction<H: PgHost> {
    session: Rc<Session<H>>,
    /// How many locks are not given back yet.
    held: Cell<u32>,
    /// It was rolled back, or nobody knows what became of it.
    is_lost: Cell<bool>,
}

/// What a transaction that wants a row came to.
enum Asked {
    Had(Box<Row>),
    Refused,
    /// Nothing was found to be locked.
    NotFound,
    /// The session is over, or the program waits no longer.
    Unknown,
}

impl<H: PgHost> PgRow<H> {
    /// Locks on that server.
    #[must_use]
    pub fn new(way: Way, switches: &RowLock) -> Self {
        let pool = Pool::new(way, 1, Returns::AsItIs);
        Self(Rc::new(RowLocks { pool, switches: *switches, known: RefCell::default(), current: RefCell::default() }))
    }
}

impl<H: PgHost> Transaction<H> {
    fn goes_on(&self) -> bool {
        !self.is_lost.get() && self.session.is_open()
    }
}

impl<H: PgHost> RowLocks<H> {
    async fn take(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Rc<Transaction<H>>> {
        if self.make_row(host, lock).await.is_err() {
            return Acquired::Failed;
        }
        let Some(transaction) = self.transaction(host).await else { return Acquired::Failed };
        let mut asked = self.lock(host, &transaction.session, lock, until).await;
        if matches!(asked, Asked::NotFound) {
            asked = self.lock_what_was_not_found(host, &transaction.session, lock, until).await;
        }
        match asked {
            Asked::Had(row) => {
                transaction.held.set(transaction.held.get() + 1);
                let token = u64::try_from(row.version).ok().map(Token);
                let counted = Authorities::one(transaction.session.authority());
                Acquired::Granted(Lease { proof: transaction, token, until: None, counted })
            }
            Asked::Refused | Asked::NotFound => {
                // What it has locked before goes with it.
                transaction.is_lost.set(true);
                let _ = transaction.session.ask(PgRequest::Rollback).await;
                self.pool.give_back(Rc::clone(&transaction.session)).await;
                Acquired::Denied
            }
            Asked::Unknown => {
                transaction.is_lost.set(true);
                transaction.session.end();
                Acquired::Failed
            }
        }
    }

    /// The transaction in which the lock is to be: a new one, unless all are in one and that goes on.
    async fn transaction(&self, host: &H) -> Option<Rc<Transaction<H>>> {
        let is_shared = self.switches.transactions == Transactions::One;
        let current = self.current.borrow().as_ref().filter(|current| is_shared && current.goes_on()).cloned();
        if current.is_some() {
            return current;
        }
        let session = self.pool.take(host).await?;
        session.ask(PgRequest::Begin).await.ok()?;
        let transaction = Rc::new(Transaction { session, held: Cell::new(0), is_lost: Cell::new(false) });
        self.current.replace(Some(Rc::clone(&transaction)));
        Some(transaction)
    }

    /// Has the transaction lock the row, and count it up.
    async fn lock(&self, host: &H, session: &Session<H>, lock: LockName, until: Option<MonoTime>) -> Asked {
        let wait = match self.switches.if_locked {
            IfLocked::Wait => Wait::Wait,
            IfLocked::NoWait => Wait::NoWait,
            IfLocked::Skip => Wait::SkipLocked,
        };
        let select = Select { row: row(Table::Locks, lock), for_update: Some(wait), errand: None };
        match session.ask_until(host, PgRequest::Select(Box::new(select)), until).await {
            Waited::Over(Ok(Outcome::Row(Some(_)))) => {}
            Waited::Over(Ok(Outcome::Row(None))) => return Asked::NotFound,
            Waited::Over(Ok(_) | Err(Failure::Refused(_))) => return Asked::Refused,
            Waited::Over(Err(Failure::Lost)) | Waited::GivenUp => return Asked::Unknown,
        }
        let set = vec![Assign::Version(VersionTo::Next)];
        let update = Update { row: row(Table::Locks, lock), set, only_if: Vec::new(), errand: None };
        match session.ask(PgRequest::Update(Box::new(update))).await {
            Ok(Outcome::Row(Some(row))) => Asked::Had(row),
            Ok(_) | Err(Failure::Refused(_)) => Asked::Refused,
            Err(Failure::Lost) => Asked::Unknown,
        }
    }

    /// Somebody has the row, if such rows are skipped; or it is gone, as when a backup is put back that does not have it. Then it is made
    /// once more.
    async fn lock_what_was_not_found(
        &self,
        host: &H,
        session: &Session<H>,
        lock: LockName,
        until: Option<MonoTime>,
    ) -> Asked {
        match Self::is_there(session, lock).await {
            Ok(false) => {}
            Ok(true) | Err(Failure::Refused(_)) => return Asked::Refused,
            Err(Failure::Lost) => return Asked::Unknown,
        }
        self.known.borrow_mut().remove(&lock);
        match self.make_row(host, lock).await {
            Ok(()) => self.lock(host, session, lock, until).await,
            Err(_) => Asked::Refused,
        }
    }

    /// Sees to it that there is a row to be locked, be somebody in a transaction or not.
    async fn make_row(&self, host: &H, lock: LockName) -> Result<(), Failure> {
        if self.known.borrow().contains(&lock) {
            return Ok(());
        }
        let session = self.pool.take(host).await.ok_or(Failure::Lost)?;
        let made = Self::make_row_on(&session, lock).await;
        self.pool.give_back(session).await;
        made?;
        self.known.borrow_mut().insert(lock);
        Ok(())
    }

    /// Looks first: whoever creates a row that is there, and is being written, waits for who writes it.
    async fn make_row_on(session: &Session<H>, lock: LockName) -> Result<(), Failure> {
        if !Self::is_there(session, lock).await? {
            let row = row(Table::Locks, lock);
            let insert = Insert { row, set: vec![], on_conflict: OnConflict::Nothing, errand: None };
            session.ask(PgRequest::Insert(Box::new(insert))).await?;
        }
        Ok(())
    }

    /// Whether there is a row that was committed, be it locked or not.
    async fn is_there(session: &Session<H>, lock: LockName) -> Result<bool, Failure> {
        let select = Select { row: row(Table::Locks, lock), for_update: None, errand: None };
        Ok(session.ask(PgRequest::Select(Box::new(select))).await? != Outcome::Row(None))
    }
}

impl<H: PgHost> Recipe<H> for PgRow<H> {
    /// The transaction that has the row.
    type Proof = Rc<Transaction<H>>;

    async fn connect(&self, host: &H) {
        self.0.pool.fill(host).await;
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Rc<Transaction<H>>> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Rc<Transaction<H>>> {
        self.0.take(host, lock, until).await
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Rc<Transaction<H>>>) -> bool {
        !lease.proof.goes_on()
    }

    fn keeps_objects(&self) -> bool {
        self.0.pool.way().objects.is_some()
    }

    async fn operate(&self, _: &H, lease: &Lease<Rc<Transaction<H>>>, op: &Op) -> Option<OpReply> {
        objects::operate(&lease.proof.session, self.0.pool.way(), op).await
    }

    async fn release(&self, _: &H, _: LockName, lease: &Lease<Rc<Transaction<H>>>) -> Release {
        let transaction = &lease.proof;
        if !transaction.goes_on() {
            return Release::Refused;
        }
        transaction.held.set(transaction.held.get() - 1);
        if transaction.held.get() > 0 {
            // The row is free when the transaction is over, which has others still.
            return Release::Confirmed;
        }
        self.0.current.take();
        let committed = transaction.session.ask(PgRequest::Commit).await;
        self.0.pool.give_back(Rc::clone(&transaction.session)).await;
        match committed {
            Ok(Outcome::Done(Tag::Commit)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

impl<H: PgHost> fmt::Debug for Transaction<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transaction").field("session", &self.session).field("held", &self.held).finish_non_exhaustive()
    }
}

impl<H: PgHost> Clone for PgRow<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: PgHost> fmt::Debug for PgRow<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgRow").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}
