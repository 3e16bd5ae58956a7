//! The processes that serve connections, from one statement to the next.
//!
//! Source: `postgres.c` of PostgreSQL 15. A backend does one statement after the other. What comes meanwhile waits in its socket, and so
//! does the news that the client has gone: it is read when all before it is done.

use std::collections::VecDeque;

use host::{AttemptId, ConnId, Context, Origin};
use spec::Cause;

use super::super::answer::{Outcome, PgPush, PgReply, Status};
use super::super::api::{PgRequest, Setting};
use super::super::error::{PgError, SqlState};
use super::super::key::{Database, Pid};
use super::super::session::{Advisory, Settings, Transaction};
use super::super::wal::Lsn;
use super::Postgres;
use super::rows::RowRun;
use super::timeouts::{Timeout, Timeouts};
use crate::domain::Locks;

/// A process that serves one connection.
#[derive(Debug)]
pub(super) struct Backend {
    conn: ConnId,
    pub(super) database: Database,
    /// What has come and was not begun.
    inbox: VecDeque<Asked>,
    pub(super) running: Option<Running>,
    pub(super) transaction: Option<Transaction>,
    pub(super) settings: Settings,
    pub(super) advisory: Advisory,
    pub(super) timeouts: Timeouts,
    /// The news that its client has gone is in its socket.
    pub(super) is_left: bool,
}

/// A statement, and who wants to know.
#[derive(Debug)]
pub(super) struct Asked {
    from: Origin,
    pub(super) attempt: Option<AttemptId>,
    pub(super) request: PgRequest,
}

/// A statement that was begun.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) asked: Asked,
    pub(super) waits: Waits,
}

/// What a statement waits for, if it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    /// Nothing.
    No,
    /// An advisory lock.
    Advisory,
    /// A row.
    Row(RowRun),
    /// The ends of these sessions' transactions, one after the other.
    Sessions(Vec<Pid>),
    /// Until the standby has all before that; then this is what it answers.
    Standby(Lsn, Outcome),
}

/// How far a statement has come.
#[derive(Debug)]
pub(super) enum Step {
    Done(Outcome),
    /// It is done, with a warning.
    Warned(Outcome, SqlState),
    Failed(SqlState),
    /// It waits.
    Waits,
    /// The session is over, in the midst of it.
    Over,
}

impl Postgres {
    /// Something has come on a connection.
    pub(super) fn take_in(&mut self, cx: &mut Context<Locks>, from: Origin, request: PgRequest) {
        let Some(pid) = self.pid(from.conn) else { return self.start_backend(cx, from, request) };
        let attempt = cx.attempt;
        self.backend(pid).inbox.push_back(Asked { from, attempt, request });
        self.go_on(cx, pid);
    }

    /// The postmaster has a backend for it.
    fn start_backend(&mut self, cx: &mut Context<Locks>, from: Origin, request: PgRequest) {
        let PgRequest::Startup(database) = request else { return cx.close(from.conn) };
        let pid = Pid(self.last_pid.0 + 1);
        self.last_pid = pid;
        let backend = Backend {
            conn: from.conn,
            database,
            inbox: VecDeque::new(),
            running: None,
            transaction: None,
            settings: Settings::default(),
            advisory: Advisory::default(),
            timeouts: Timeouts::default(),
            is_left: false,
        };
        self.backends.insert(pid, backend);
        self.pids.insert(from.conn, pid);
        cx.keep_alive(from.conn, self.settings.keepalive);
        cx.reply(from, PgReply { outcome: Ok(Outcome::Started(pid)), warning: None, status: Status::Idle });
        self.rest(cx, pid);
    }

    /// The backend takes up what has come, if it is free.
    pub(super) fn go_on(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        while let Some(backend) = self.backends.get_mut(&pid)
            && backend.running.is_none()
        {
            let Some(asked) = backend.inbox.pop_front() else {
                return if backend.is_left { self.end_backend(cx, pid) } else { self.rest(cx, pid) };
            };
            backend.running = Some(Running { asked, waits: Waits::No });
            self.disarm(cx, pid, Timeout::Idle);
            self.arm_for(cx, pid, Timeout::Statement, Setting::StatementTimeout);
            self.arm_for(cx, pid, Timeout::Check, Setting::ClientConnectionCheckInterval);
            let step = self.begin_statement(cx, pid);
            self.conclude(cx, pid, step);
        }
    }

    /// What comes of a statement that has come so far.
    pub(super) fn conclude(&mut self, cx: &mut Context<Locks>, pid: Pid, step: Step) {
        match step {
            Step::Waits | Step::Over => {}
            Step::Failed(state) => self.fail(cx, pid, state),
            Step::Warned(outcome, warning) => self.complete(cx, pid, outcome, Some(warning)),
            Step::Done(outcome) => self.complete(cx, pid, outcome, None),
        }
    }

    /// A statement is done. One that is a transaction of its own commits.
    fn complete(&mut self, cx: &mut Context<Locks>, pid: Pid, outcome: Outcome, warning: Option<SqlState>) {
        if self.backend(pid).transaction.as_ref().is_some_and(|transaction| !transaction.is_block) {
            if let Some(outcome) = self.commit(cx, pid, outcome) {
                self.answer(cx, pid, Ok(outcome), warning);
            }
        } else {
            self.answer(cx, pid, Ok(outcome), warning);
        }
    }

    /// A statement is not done: its transaction has failed, or the savepoint that it is in.
    fn fail(&mut self, cx: &mut Context<Locks>, pid: Pid, state: SqlState) {
        self.fail_transaction(cx, pid);
        self.answer(cx, pid, Err(PgError::error(state)), None);
    }

    /// Answers the statement, and is free.
    pub(super) fn answer(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        outcome: Result<Outcome, PgError>,
        warning: Option<SqlState>,
    ) {
        for timeout in [Timeout::Statement, Timeout::Check] {
            self.disarm(cx, pid, timeout);
        }
        let backend = self.backend(pid);
        let status = backend.status();
        if let Some(running) = backend.running.take() {
            cx.reply(running.asked.from, PgReply { outcome, warning, status });
        }
        // What has come meanwhile is taken up by whoever called, in a loop.
    }

    /// Nothing is asked of it.
    fn rest(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let setting = match self.backend(pid).status() {
            Status::Idle => Setting::IdleSessionTimeout,
            Status::InTransaction | Status::Failed => Setting::IdleInTransactionSessionTimeout,
        };
        self.arm_for(cx, pid, Timeout::Idle, setting);
    }

    /// The client has closed the connection, or its machine has, or nobody answers there. A backend that is not at rest reads it
    /// when it is.
    pub(super) fn client_is_gone(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let Some(pid) = self.pid(conn) else { return };
        self.backend(pid).is_left = true;
        self.go_on(cx, pid);
    }

    /// The server ends a session: the client is told why.
    pub(super) fn end_session(&mut self, cx: &mut Context<Locks>, pid: Pid, why: SqlState) {
        self.locks.leave(pid);
        self.drop_place(pid);
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        let conn = backend.conn;
        match backend.running.take() {
            Some(Running { asked, .. }) => {
                let (outcome, status) = (Err(PgError::fatal(why)), Status::Idle);
                cx.reply(asked.from, PgReply { outcome, warning: None, status });
            }
            None => cx.push(conn, PgPush(why)),
        }
        cx.close(conn);
        self.end_backend(cx, pid);
    }

    /// A backend ends: its transaction has failed, and its locks are free.
    pub(super) fn end_backend(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        // Nobody asked for its locks to be given back.
        let cause = Cause::SessionEnd;
        self.locks.leave(pid);
        self.drop_place(pid);
        self.end_transaction(cx, pid, false, cause);
        self.release_advisory(cx, pid, Advisory::all, cause);
        for timeout in Timeout::ALL {
            self.disarm(cx, pid, timeout);
        }
        self.locks.forget(pid);
        let Some(backend) = self.backends.remove(&pid) else { return };
        self.pids.remove(&backend.conn);
        // Whoever asked is not there any more; the machine counts what it owes.
        for asked in backend.running.map(|running| running.asked).into_iter().chain(backend.inbox) {
            let outcome = Err(PgError::fatal(SqlState::AdminShutdown));
            cx.reply(asked.from, PgReply { outcome, warning: None, status: Status::Idle });
        }
    }

    /// All sessions are ended, since the server is to end.
    pub(super) fn shut_down(&mut self, cx: &mut Context<Locks>) {
        let pids: Vec<Pid> = self.backends.keys().copied().collect();
        for pid in pids {
            self.end_session(cx, pid, SqlState::AdminShutdown);
        }
    }
}

impl Backend {
    /// Where its session is.
    pub(super) fn status(&self) -> Status {
        match &self.transaction {
            Some(transaction) if transaction.has_failed => Status::Failed,
            Some(transaction) if transaction.is_block => Status::InTransaction,
            _ => Status::Idle,
        }
    }

    /// Whether it is in the midst of a statement that looks at rows as they were. Of those that make an index this one is none, and
    /// what waits for the standby has committed.
    pub(super) fn has_snapshot(&self) -> bool {
        self.running.as_ref().is_some_and(|running| matches!(running.waits, Waits::Advisory | Waits::Row(_)))
    }

    /// On whose behalf it does what it does.
    pub(super) fn attempt(&self) -> Option<AttemptId> {
        self.running.as_ref().and_then(|running| running.asked.attempt)
    }
}
