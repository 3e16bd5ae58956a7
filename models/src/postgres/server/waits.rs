//! Waiting for locks, and whatever ends a wait.
//!
//! Source: `proc.c`, `postgres.c` of PostgreSQL 15.
//!
//! | what ends it | the answer |
//! |---|---|
//! | the lock is had | the statement goes on |
//! | `deadlock_timeout` has passed since the wait began, and there is a circle | 40P01, to whoever looked |
//! | `lock_timeout` has | 55P03 |
//! | `statement_timeout` has passed since the statement began; somebody cancels it | 57014 |
//! | an operator ends the session | 57P01, and it is over |
//! | `client_connection_check_interval`: the client has gone | none |
//!
//! Whoever waits looks for circles once, `deadlock_timeout` after it began to wait.

use host::Context;

use super::super::api::Setting;
use super::super::deadlock::{self, Found};
use super::super::error::SqlState;
use super::super::key::{Pid, Strength};
use super::super::lock_table::{Acquired, LockTag};
use super::Postgres;
use super::backends::{Step, Waits};
use super::timeouts::Timeout;
use crate::domain::Locks;

impl Postgres {
    /// A timeout of a backend is over.
    pub(super) fn is_over(&mut self, cx: &mut Context<Locks>, pid: Pid, timeout: Timeout) {
        match timeout {
            Timeout::Deadlock => self.look_for_circle(cx, pid),
            Timeout::Lock => self.give_up(cx, pid, SqlState::LockNotAvailable),
            Timeout::Statement => self.cancel(cx, pid),
            Timeout::Idle => self.idle_for_too_long(cx, pid),
            Timeout::Check => self.look_at_connection(cx, pid),
        }
    }

    /// Asks for a lock, and waits for it. `None`: it is had.
    pub(super) fn wait_for(&mut self, cx: &mut Context<Locks>, pid: Pid, tag: LockTag, mode: Strength) -> Option<Step> {
        match self.locks.acquire(pid, tag, mode, true) {
            Acquired::Yes | Acquired::No => None,
            Acquired::Deadlock => Some(Step::Failed(SqlState::DeadlockDetected)),
            Acquired::Waits => {
                self.arm_for(cx, pid, Timeout::Deadlock, Setting::DeadlockTimeout);
                self.arm_for(cx, pid, Timeout::Lock, Setting::LockTimeout);
                Some(Step::Waits)
            }
        }
    }

    /// A backend has got the lock for which it waited.
    pub(super) fn resume(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        self.waits_no_longer(cx, pid);
        let Some(running) = self.backend(pid).running.as_mut() else { return };
        let step = match std::mem::replace(&mut running.waits, Waits::No) {
            Waits::Advisory => self.has_advised(cx, pid),
            Waits::Row(run) => self.go_on_with_row(cx, pid, run),
            Waits::Sessions(waiting) => self.has_outlived(cx, pid, waiting),
            waits @ (Waits::No | Waits::Standby(..)) => {
                running.waits = waits;
                return;
            }
        };
        self.conclude(cx, pid, step);
        self.go_on(cx, pid);
    }

    fn waits_no_longer(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        for timeout in [Timeout::Deadlock, Timeout::Lock] {
            self.disarm(cx, pid, timeout);
        }
    }

    /// It waits for a lock no longer, and the statement fails.
    fn give_up(&mut self, cx: &mut Context<Locks>, pid: Pid, why: SqlState) {
        self.locks.leave(pid);
        self.waits_no_longer(cx, pid);
        self.drop_place(pid);
        self.conclude(cx, pid, Step::Failed(why));
        self.go_on(cx, pid);
    }

    fn look_for_circle(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        match deadlock::check(&self.locks, pid) {
            Found::Nothing => {}
            Found::Reorder(queues) => queues.iter().for_each(|(tag, order)| self.locks.reorder(*tag, order)),
            Found::Deadlock => self.give_up(cx, pid, SqlState::DeadlockDetected),
        }
    }

    /// What the statement waits for is given up. One that waits for the standby has committed, and says so.
    pub(super) fn cancel(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let Some(running) = &self.backend(pid).running else { return };
        match &running.waits {
            Waits::No => {}
            Waits::Advisory | Waits::Row(_) | Waits::Sessions(_) => self.give_up(cx, pid, SqlState::QueryCanceled),
            Waits::Standby(_, outcome) => {
                let outcome = outcome.clone();
                self.has_committed(cx, pid);
                self.answer(cx, pid, Ok(outcome), Some(SqlState::Warning));
                self.go_on(cx, pid);
            }
        }
    }

    fn idle_for_too_long(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let is_in_transaction = self.backend(pid).transaction.is_some();
        let why =
            if is_in_transaction { SqlState::IdleInTransactionSessionTimeout } else { SqlState::IdleSessionTimeout };
        self.end_session(cx, pid, why);
    }

    /// `client_connection_check_interval`
    fn look_at_connection(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        if self.backend(pid).is_left {
            self.end_backend(cx, pid);
        } else {
            self.arm_for(cx, pid, Timeout::Check, Setting::ClientConnectionCheckInterval);
        }
    }
}
