//! The way to a version of a row that nobody else has, and the waits on it.

use host::Context;

use super::super::super::api::Wait;
use super::super::super::heap::{Look, State};
use super::super::super::key::{Pid, Strength, Xid};
use super::super::super::lock_table::{Acquired, LockTag, Tid};
use super::super::super::row::RowKey;
use super::super::Postgres;
use super::super::backends::{Backend, Step, Waits};
use crate::domain::Locks;

/// How far a statement has come with its row.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::postgres::server) struct RowRun {
    pub(super) key: RowKey,
    /// The version that it is at. `None`: it looks whether there is one that keeps it from inserting its own.
    pub(super) at: Option<Tid>,
    /// It is on its way from an old version to the last.
    pub(super) follows: bool,
    /// It is at another version than the one that it saw.
    pub(super) moved: bool,
    /// The version before which it has its place.
    pub(super) place: Option<Tid>,
    /// The transaction for whose end it waits.
    pub(super) awaits: Option<Xid>,
}

/// What came of the way to a row.
pub(super) enum Found {
    /// This version; whether it is another than the statement saw.
    Version(Tid, bool),
    /// None.
    Gone,
    /// Somebody has it, and the statement does not wait.
    Busy,
    /// It waits, or has failed.
    Stop(Step),
}

impl Postgres {
    /// The way to a version that nobody else has.
    pub(super) fn find(&mut self, cx: &mut Context<Locks>, pid: Pid, run: &mut RowRun, waits: Wait) -> Found {
        let key = run.key;
        while let Some(tid) = run.at {
            if run.follows {
                match self.heap.look(key, tid, pid) {
                    Look::Live => run.follows = false,
                    Look::Updated(next) => run.at = Some(next),
                    Look::Deleted => return Found::Gone,
                    Look::Depends(xid) => {
                        if let Some(stop) = self.wait_for_end(cx, pid, run, xid, waits) {
                            return stop;
                        }
                    }
                }
                continue;
            }
            match self.heap.state(key, tid, pid) {
                State::Free => {
                    self.leave_place(pid, run);
                    return Found::Version(tid, run.moved);
                }
                State::Deleted => {
                    self.leave_place(pid, run);
                    return Found::Gone;
                }
                State::Updated(next) => {
                    self.leave_place(pid, run);
                    (run.at, run.follows, run.moved) = (Some(next), true, true);
                }
                State::Busy(xid) => {
                    if let Some(stop) = self.take_place(cx, pid, run, tid, waits) {
                        return stop;
                    }
                    if let Some(stop) = self.wait_for_end(cx, pid, run, xid, waits) {
                        return stop;
                    }
                }
            }
        }
        Found::Gone
    }

    /// The place before a version. `None`: it is had.
    fn take_place(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        run: &mut RowRun,
        tid: Tid,
        waits: Wait,
    ) -> Option<Found> {
        if run.place == Some(tid) {
            return None;
        }
        let tag = LockTag::Tuple(run.key, tid);
        if waits != Wait::Wait {
            let is_had = self.locks.acquire(pid, tag, Strength::Exclusive, false) == Acquired::Yes;
            run.place = is_had.then_some(tid);
            return (!is_had).then_some(Found::Busy);
        }
        let stop = self.wait_for(cx, pid, tag, Strength::Exclusive).map(Found::Stop);
        if !matches!(stop, Some(Found::Stop(Step::Failed(_)))) {
            // When the wait is over, it has it.
            run.place = Some(tid);
        }
        stop
    }

    /// Waits until a transaction is over. `None`: it is.
    pub(super) fn wait_for_end(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        run: &mut RowRun,
        xid: Xid,
        waits: Wait,
    ) -> Option<Found> {
        let tag = LockTag::Transaction(xid);
        if waits != Wait::Wait {
            self.leave_place(pid, run);
            return Some(Found::Busy);
        }
        match self.wait_for(cx, pid, tag, Strength::Shared) {
            None => {
                self.locks.release(pid, tag, Strength::Shared);
                None
            }
            Some(step) => {
                run.awaits = matches!(step, Step::Waits).then_some(xid);
                Some(Found::Stop(step))
            }
        }
    }

    /// The statement waits, and will go on from there; or it has failed, and has no place any more.
    pub(super) fn stop(&mut self, pid: Pid, mut run: RowRun, found: Found) -> Step {
        let Found::Stop(step) = found else { return Step::Over };
        if matches!(step, Step::Waits) {
            if let Some(running) = &mut self.backend(pid).running {
                running.waits = Waits::Row(run);
            }
        } else {
            self.leave_place(pid, &mut run);
        }
        step
    }

    fn leave_place(&mut self, pid: Pid, run: &mut RowRun) {
        if let Some(tid) = run.place.take() {
            self.locks.release(pid, LockTag::Tuple(run.key, tid), Strength::Exclusive);
        }
    }

    /// A statement that waits for a row has no place before it any more.
    pub(in crate::postgres::server) fn drop_place(&mut self, pid: Pid) {
        let Some(running) = self.backends.get_mut(&pid).and_then(|backend| backend.running.as_mut()) else { return };
        if let Waits::Row(run) = &mut running.waits {
            let mut run = *run;
            running.waits = Waits::No;
            self.leave_place(pid, &mut run);
        }
    }
}

impl Backend {
    /// Whether it waits with a version of that row in hand.
    pub(super) fn is_about(&self, key: RowKey) -> bool {
        self.running.as_ref().is_some_and(|running| matches!(&running.waits, Waits::Row(run) if run.key == key))
    }
}
