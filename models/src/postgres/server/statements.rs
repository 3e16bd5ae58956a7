//! What each statement does, but for those about rows.
//!
//! Sources: chapters 9.27 and 20 of the documentation of PostgreSQL 15; `xact.c` (`BeginTransactionBlock` and its kin), `lockfuncs.c`,
//! `sequence.c`, `signalfuncs.c`, `discard.c`.

use host::{Context, Duration, Name};
use spec::Cause;

use super::super::answer::{Outcome, Tag};
use super::super::api::{Advise, PgRequest, Setting};
use super::super::error::SqlState;
use super::super::key::{AdvisoryKey, Pid, Strength};
use super::super::lock_table::{Acquired, LockTag};
use super::super::session::{Advisory, Level, Settings, Transaction};
use super::super::wal::Wal;
use super::Postgres;
use super::backends::{Step, Waits};
use crate::domain::Locks;

impl Postgres {
    /// A statement begins.
    pub(super) fn begin_statement(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Step {
        let is_standby = self.is_in_recovery();
        let backend = self.backend(pid);
        let Some(running) = &backend.running else { return Step::Over };
        let request = running.asked.request.clone();
        let leaves = matches!(request, PgRequest::Commit | PgRequest::Rollback | PgRequest::RollbackTo(_));
        match &backend.transaction {
            Some(transaction) if transaction.has_failed && !leaves => {
                return Step::Failed(SqlState::InFailedSqlTransaction);
            }
            Some(_) => {}
            None => {
                let began = cx.wall.as_nanos().div_euclid(1_000);
                backend.transaction = Some(Transaction::new(is_standby, began, &backend.settings));
            }
        }
        self.execute(cx, pid, request)
    }

    fn execute(&mut self, cx: &mut Context<Locks>, pid: Pid, request: PgRequest) -> Step {
        match request {
            // A second one changes nothing.
            PgRequest::Startup(_) | PgRequest::One => Step::Done(Outcome::Number(Some(1))),
            PgRequest::Begin => self.begin(pid),
            PgRequest::Commit => self.leave(cx, pid, true),
            PgRequest::Rollback => self.leave(cx, pid, false),
            PgRequest::Savepoint(name) => self.savepoint(pid, name),
            PgRequest::RollbackTo(name) => self.rollback_to(cx, pid, name),
            PgRequest::ReleaseSavepoint(name) => self.release_savepoint(pid, name),
            PgRequest::Advise(advise) => self.advise(cx, pid, *advise),
            PgRequest::Unlock { key, strength } => self.unlock(cx, pid, key, strength),
            PgRequest::UnlockAll => {
                let cause = self.cause(pid);
                self.release_advisory(cx, pid, Advisory::unlock_all, cause);
                Step::Done(Outcome::Void)
            }
            PgRequest::DiscardAll => self.discard_all(cx, pid),
            PgRequest::NextVal(name) => self.next_value(cx, pid, name),
            PgRequest::XactId if self.only_reads(pid) => Step::Failed(SqlState::ReadOnlySqlTransaction),
            PgRequest::XactId => {
                let xid = self.number(pid, 0);
                Step::Done(Outcome::Number(Some(xid.0.cast_signed())))
            }
            PgRequest::XactIdIfAssigned => {
                let xid = self.backend(pid).transaction.as_ref().and_then(Transaction::xid);
                Step::Done(Outcome::Number(xid.map(|xid| xid.0.cast_signed())))
            }
            PgRequest::Set { setting, to, local } => self.set(pid, setting, to, local),
            PgRequest::Select(_) | PgRequest::Insert(_) | PgRequest::Update(_) | PgRequest::Delete(_) => {
                self.begin_row(cx, pid)
            }
            PgRequest::Cancel(of) => self.signal(cx, pid, of, false),
            PgRequest::Terminate(of) => self.signal(cx, pid, of, true),
            PgRequest::CreateIndex => self.create_index(cx, pid),
            PgRequest::IsInRecovery => Step::Done(Outcome::Bool(self.is_in_recovery())),
            PgRequest::Checkpoint => {
                self.checkpoint(cx);
                Step::Done(Outcome::Done(Tag::Checkpoint))
            }
        }
    }

    /// What the statement of a backend brings about was asked for.
    pub(super) fn cause(&mut self, pid: Pid) -> Cause {
        Cause::Request(self.backend(pid).attempt())
    }

    /// Whether its transaction writes nothing.
    pub(super) fn only_reads(&mut self, pid: Pid) -> bool {
        self.backend(pid).transaction.as_ref().is_some_and(|transaction| transaction.only_reads)
    }

    fn begin(&mut self, pid: Pid) -> Step {
        let done = Outcome::Done(Tag::Begin);
        let transaction = self.backend(pid).transaction.as_mut().expect("one for each statement");
        if transaction.is_block {
            return Step::Warned(done, SqlState::ActiveSqlTransaction);
        }
        transaction.is_block = true;
        Step::Done(done)
    }

    /// `COMMIT` or `ROLLBACK`. One that has failed is rolled back in any case.
    fn leave(&mut self, cx: &mut Context<Locks>, pid: Pid, commits: bool) -> Step {
        let transaction = self.backend(pid).transaction.as_mut().expect("one for each statement");
        let tag = if commits && !transaction.has_failed { Tag::Commit } else { Tag::Rollback };
        if !transaction.is_block {
            return Step::Warned(Outcome::Done(tag), SqlState::NoActiveSqlTransaction);
        }
        if tag == Tag::Commit {
            // As one that is a transaction of its own: it is committed when it is done.
            transaction.is_block = false;
        } else {
            let cause = self.cause(pid);
            self.end_transaction(cx, pid, false, cause);
        }
        Step::Done(Outcome::Done(tag))
    }

    fn savepoint(&mut self, pid: Pid, name: Name) -> Step {
        let backend = self.backend(pid);
        let transaction = backend.transaction.as_mut().expect("one for each statement");
        if !transaction.is_block {
            return Step::Failed(SqlState::NoActiveSqlTransaction);
        }
        transaction.levels.push(Level::new(Some(name), &backend.settings));
        Step::Done(Outcome::Done(Tag::Savepoint))
    }

    fn rollback_to(&mut self, cx: &mut Context<Locks>, pid: Pid, name: Name) -> Step {
        let transaction = self.backend(pid).transaction.as_mut().expect("one for each statement");
        if !transaction.is_block {
            return Step::Failed(SqlState::NoActiveSqlTransaction);
        }
        let Some(savepoint) = transaction.savepoint(name) else {
            return Step::Failed(SqlState::InvalidSavepoint);
        };
        transaction.has_failed = false;
        let cause = self.cause(pid);
        self.fail_levels(cx, pid, savepoint, cause);
        // It is there still, as it was when it was made.
        let backend = self.backend(pid);
        let transaction = backend.transaction.as_mut().expect("one for each statement");
        transaction.levels.push(Level::new(Some(name), &backend.settings));
        Step::Done(Outcome::Done(Tag::Rollback))
    }

    fn release_savepoint(&mut self, pid: Pid, name: Name) -> Step {
        let backend = self.backend(pid);
        let transaction = backend.transaction.as_mut().expect("one for each statement");
        if !transaction.is_block {
            return Step::Failed(SqlState::NoActiveSqlTransaction);
        }
        let Some(savepoint) = transaction.savepoint(name) else {
            return Step::Failed(SqlState::InvalidSavepoint);
        };
        transaction.release(savepoint);
        backend.advisory.merge_levels(savepoint);
        Step::Done(Outcome::Done(Tag::Release))
    }

    fn advise(&mut self, cx: &mut Context<Locks>, pid: Pid, advise: Advise) -> Step {
        let database = self.backend(pid).database;
        if let Some(name) = advise.lock {
            self.owners.name(database, advise.key, name);
        }
        let tag = LockTag::Advisory(database, advise.key);
        if !self.backend(pid).advisory.has(advise.key, advise.strength) {
            if advise.is_try {
                if self.locks.acquire(pid, tag, advise.strength, false) != Acquired::Yes {
                    return Step::Done(Outcome::Bool(false));
                }
            } else if let Some(step) = self.wait_for(cx, pid, tag, advise.strength) {
                if let (Step::Waits, Some(running)) = (&step, self.backend(pid).running.as_mut()) {
                    running.waits = Waits::Advisory;
                }
                return step;
            }
        }
        self.has_advised(cx, pid)
    }

    /// The backend has the advisory lock that it asked for.
    pub(super) fn has_advised(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Step {
        let backend = self.backend(pid);
        let by = backend.attempt();
        let Some(PgRequest::Advise(advise)) = backend.running.as_ref().map(|running| &running.asked.request) else {
            return Step::Over;
        };
        let Advise { key, strength, scope, is_try, .. } = **advise;
        let level = backend.transaction.as_ref().map_or(0, |transaction| transaction.levels.len() - 1);
        backend.advisory.add(key, strength, scope, level);
        let database = backend.database;
        self.owners.let_in(cx, (database, key), pid, by);
        Step::Done(if is_try { Outcome::Bool(true) } else { Outcome::Void })
    }

    fn unlock(&mut self, cx: &mut Context<Locks>, pid: Pid, key: AdvisoryKey, mode: Strength) -> Step {
        match self.backend(pid).advisory.unlock(key, mode) {
            None => return Step::Warned(Outcome::Bool(false), SqlState::Warning),
            Some(true) => {
                let cause = self.cause(pid);
                self.free_advisory(cx, pid, (key, mode), cause);
            }
            Some(false) => {}
        }
        Step::Done(Outcome::Bool(true))
    }

    /// Gives back those advisory locks that the session has no longer.
    pub(super) fn release_advisory(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        which: impl FnOnce(&mut Advisory) -> Vec<(AdvisoryKey, Strength)>,
        cause: Cause,
    ) {
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        let gone = which(&mut backend.advisory);
        gone.into_iter().for_each(|of| self.free_advisory(cx, pid, of, cause));
    }

    fn free_advisory(&mut self, cx: &mut Context<Locks>, pid: Pid, (key, mode): (AdvisoryKey, Strength), cause: Cause) {
        let database = self.backend(pid).database;
        let tag = LockTag::Advisory(database, key);
        self.locks.release(pid, tag, mode);
        if !self.locks.is_held_by(pid, tag) {
            self.owners.left(cx, (database, key), pid, cause);
        }
    }

    fn discard_all(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Step {
        let backend = self.backend(pid);
        if backend.transaction.as_ref().is_some_and(|transaction| transaction.is_block) {
            return Step::Failed(SqlState::ActiveSqlTransaction);
        }
        backend.settings = Settings::default();
        // For no attempt only a pooler asks, when its client's session is over.
        let cause = backend.attempt().map_or(Cause::SessionEnd, |attempt| Cause::Request(Some(attempt)));
        self.release_advisory(cx, pid, Advisory::unlock_all, cause);
        Step::Done(Outcome::Done(Tag::DiscardAll))
    }

    /// What is drawn is drawn, whatever becomes of the transaction.
    fn next_value(&mut self, cx: &mut Context<Locks>, pid: Pid, name: Name) -> Step {
        if self.only_reads(pid) {
            return Step::Failed(SqlState::ReadOnlySqlTransaction);
        }
        let (number, last) = self.sequences.entry(name).or_default().next();
        if let Some(last) = last {
            // The transaction is numbered, so that its commit waits until that is on the disk.
            self.number(pid, 0);
            self.write(cx, Wal::Sequence { name, last });
            self.has_written(pid);
        }
        Step::Done(Outcome::Number(Some(number)))
    }

    fn set(&mut self, pid: Pid, setting: Setting, to: Duration, local: bool) -> Step {
        let backend = self.backend(pid);
        let is_block = backend.transaction.as_ref().is_some_and(|transaction| transaction.is_block);
        let done = Outcome::Done(Tag::Set);
        if local && !is_block {
            return Step::Warned(done, SqlState::NoActiveSqlTransaction);
        }
        backend.settings.set(setting, to, local);
        Step::Done(done)
    }

    /// Another session is told to give up what it does, or to end; or this one.
    fn signal(&mut self, cx: &mut Context<Locks>, pid: Pid, of: Pid, ends: bool) -> Step {
        if !self.backends.contains_key(&of) {
            return Step::Warned(Outcome::Bool(false), SqlState::Warning);
        }
        match (ends, of == pid) {
            (true, true) => {
                self.end_session(cx, pid, SqlState::AdminShutdown);
                return Step::Over;
            }
            (false, true) => return Step::Failed(SqlState::QueryCanceled),
            (true, false) => self.end_session(cx, of, SqlState::AdminShutdown),
            (false, false) => self.cancel(cx, of),
        }
        Step::Done(Outcome::Bool(true))
    }
}
