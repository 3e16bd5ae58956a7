//! Statements about rows, which may have to wait several times.
//!
//! Source: `heap_lock_tuple`, `heap_update`, `heapam_tuple_lock`, `nodeModifyTable.c`, `nodeLockRows.c`, `execIndexing.c` of PostgreSQL 15.
//!
//! A row that another transaction has: the statement takes its place before that version, if nobody has it, and waits for the transaction;
//! those behind it wait for the place. When the transaction is over:
//!
//! * it only had it locked, or has failed: the row is the statement's;
//! * it has deleted it: there is no row;
//! * it has written another version: the statement *gives up its place*, goes to the last version, and waits again if somebody has that (for
//!   its transaction alone, if that writes it). What the statement asked of the row, it asks of that version anew.
//!
//! A row that is to be inserted waits for whoever inserts, updates or deletes one of that key.

mod way;

use host::Context;
use spec::{Note, Version};

use super::super::answer::Outcome;
use super::super::api::{PgRequest, Wait};
use super::super::error::SqlState;
use super::super::heap::{InTheWay, RowLock};
use super::super::key::{Pid, Strength};
use super::super::lock_table::{LockTag, Tid};
use super::super::row::{Assign, Condition, Instant, OnConflict, Row, RowKey, Table, VersionTo};
use super::super::session::Effect;
use super::Postgres;
use super::backends::Step;
use crate::domain::Locks;
use crate::etcd::Errand;
use way::Found;
pub(super) use way::RowRun;

/// What a statement has come to.
enum Wanted {
    Select(Option<Wait>),
    Update(Vec<Assign>, Vec<Condition>),
    Delete(Vec<Condition>),
    Insert(Vec<Assign>, OnConflict),
}

impl Postgres {
    /// A statement about a row begins: what it sees, it sees now.
    pub(super) fn begin_row(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Step {
        let Some((key, wanted, errand)) = self.wanted(pid) else { return Step::Over };
        if !self.backends.values().any(|backend| backend.is_about(key)) {
            self.heap.prune(key);
        }
        let is_read = matches!(wanted, Wanted::Select(None));
        if self.only_reads(pid) && !is_read {
            return Step::Failed(SqlState::ReadOnlySqlTransaction);
        }
        let seen = self.heap.visible(key, pid);
        let row = seen.and_then(|tid| self.heap.row(key, tid)).cloned();
        match (&wanted, &row) {
            (Wanted::Select(None), row) => {
                self.has_read(cx, pid, errand, row.as_ref());
                return Step::Done(Outcome::Row(row.clone().map(Box::new)));
            }
            (Wanted::Insert(..), _) => {
                if let Wanted::Insert(_, OnConflict::Fail) = wanted {
                    self.number_to_write(cx, pid, key);
                }
                let run = RowRun { key, at: None, follows: false, moved: false, place: None, awaits: None };
                return self.go_on_with_row(cx, pid, run);
            }
            (Wanted::Update(_, only_if) | Wanted::Delete(only_if), Some(row)) if !self.holds(cx, pid, row, only_if) => {
                return self.finds_none(cx, pid, errand);
            }
            (_, None) => return self.finds_none(cx, pid, errand),
            // Who is about to write has a number before it waits, who only locks gets it when it has the row.
            (Wanted::Update(..) | Wanted::Delete(_), Some(_)) => _ = self.own_number(pid),
            (Wanted::Select(_), Some(_)) => {}
        }
        let run = RowRun { key, at: seen, follows: false, moved: false, place: None, awaits: None };
        self.go_on_with_row(cx, pid, run)
    }

    /// What the running statement asks for.
    fn wanted(&mut self, pid: Pid) -> Option<(RowKey, Wanted, Option<Errand>)> {
        let running = self.backend(pid).running.as_ref()?;
        Some(match &running.asked.request {
            PgRequest::Select(select) => (select.row, Wanted::Select(select.for_update), select.errand),
            PgRequest::Update(update) => {
                (update.row, Wanted::Update(update.set.clone(), update.only_if.clone()), update.errand)
            }
            PgRequest::Delete(delete) => (delete.row, Wanted::Delete(delete.only_if.clone()), None),
            PgRequest::Insert(insert) => {
                (insert.row, Wanted::Insert(insert.set.clone(), insert.on_conflict.clone()), insert.errand)
            }
            _ => return None,
        })
    }

    /// A statement goes on, from the beginning or since what it waited for has come.
    pub(super) fn go_on_with_row(&mut self, cx: &mut Context<Locks>, pid: Pid, mut run: RowRun) -> Step {
        let Some((key, wanted, errand)) = self.wanted(pid) else { return Step::Over };
        if let Some(xid) = run.awaits.take() {
            self.locks.release(pid, LockTag::Transaction(xid), Strength::Shared);
        }
        let waits = match wanted {
            Wanted::Select(Some(wait)) => wait,
            _ => Wait::Wait,
        };
        loop {
            if let Wanted::Insert(set, on_conflict) = &wanted
                && run.at.is_none()
            {
                match self.heap.in_the_way(key, pid) {
                    InTheWay::Nothing => {
                        let row = self.assigned(cx, pid, &Row::default(), set);
                        return self.put(cx, pid, key, None, row, errand);
                    }
                    InTheWay::Depends(xid) => match self.wait_for_end(cx, pid, &mut run, xid, Wait::Wait) {
                        Some(stop) => return self.stop(pid, run, stop),
                        None => continue,
                    },
                    InTheWay::Version(tid) => match on_conflict {
                        OnConflict::Fail => return Step::Failed(SqlState::UniqueViolation),
                        OnConflict::Nothing => return self.finds_none(cx, pid, errand),
                        OnConflict::Update { .. } => run.at = Some(tid),
                    },
                }
            }
            match (self.find(cx, pid, &mut run, waits), &wanted) {
                (Found::Stop(step), _) => return self.stop(pid, run, Found::Stop(step)),
                (Found::Busy, _) if waits == Wait::SkipLocked => return Step::Done(Outcome::Row(None)),
                (Found::Busy, _) => return Step::Failed(SqlState::LockNotAvailable),
                // Somebody was quicker: whether there is a row is to be looked at anew.
                (Found::Gone | Found::Version(_, true), Wanted::Insert(..)) => {
                    run = RowRun { at: None, moved: false, follows: false, ..run };
                }
                (Found::Gone, _) => return self.finds_none(cx, pid, errand),
                (Found::Version(tid, moved), _) => return self.has_found(cx, pid, (key, tid, moved), wanted, errand),
            }
        }
    }

    /// The statement has its row, in that version.
    fn has_found(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        (key, tid, moved): (RowKey, Tid, bool),
        wanted: Wanted,
        errand: Option<Errand>,
    ) -> Step {
        let Some(row) = self.heap.row(key, tid).cloned() else { return Step::Done(Outcome::Row(None)) };
        // One that is looked at once more is locked before.
        let (set, only_if, lock) = match &wanted {
            Wanted::Select(_) => (None, &[][..], Some(RowLock::Update)),
            Wanted::Update(set, only_if) => (Some(set), &only_if[..], moved.then_some(RowLock::NoKeyUpdate)),
            Wanted::Delete(only_if) => (None, &only_if[..], moved.then_some(RowLock::Update)),
            Wanted::Insert(_, OnConflict::Update { set, only_if }) => {
                (Some(set), &only_if[..], Some(RowLock::NoKeyUpdate))
            }
            Wanted::Insert(..) => return Step::Over,
        };
        // Who has it so already does nothing for it, and needs no number.
        if let Some(lock) = lock.filter(|lock| !self.heap.has_locked(key, tid, pid, *lock)) {
            let xid = self.number_to_write(cx, pid, key);
            self.heap.lock(key, tid, xid, lock);
            self.row_has_owner(cx, pid, key);
        }
        if !self.holds(cx, pid, &row, only_if) {
            return self.finds_none(cx, pid, errand);
        }
        match (&wanted, set) {
            (Wanted::Delete(_), _) => {
                let xid = self.number_to_write(cx, pid, key);
                self.heap.delete(key, tid, xid);
                self.row_has_owner(cx, pid, key);
                Step::Done(Outcome::Row(Some(Box::new(row))))
            }
            (_, Some(set)) => {
                let new = self.assigned(cx, pid, &row, set);
                self.put(cx, pid, key, Some((tid, row.version)), new, errand)
            }
            (_, None) => {
                self.has_read(cx, pid, errand, Some(&row));
                Step::Done(Outcome::Row(Some(Box::new(row))))
            }
        }
    }

    /// Writes a row: over that version, or where none was.
    fn put(
        &mut self,
        cx: &mut Context<Locks>,
        pid: Pid,
        key: RowKey,
        over: Option<(Tid, i64)>,
        row: Row,
        errand: Option<Errand>,
    ) -> Step {
        let xid = self.number_to_write(cx, pid, key);
        match over {
            Some((tid, _)) => _ = self.heap.update(key, tid, xid, row.clone()),
            None => _ = self.heap.insert(key, xid, row.clone()),
        }
        self.row_has_owner(cx, pid, key);
        let attempt = self.backend(pid).attempt();
        if let (Some(errand), Some(transaction)) = (errand, &mut self.backend(pid).transaction) {
            let level = transaction.levels.len() - 1;
            let replaced = over.map_or(0, |(_, version)| version);
            transaction.effects.push(Effect { level, attempt, errand, replaced });
        }
        Step::Done(Outcome::Row(Some(Box::new(row))))
    }

    fn row_has_owner(&mut self, cx: &mut Context<Locks>, pid: Pid, key: RowKey) {
        if key.table == Table::Locks {
            let by = self.backend(pid).attempt();
            let holder = self.heap.holder(key);
            self.owners.row(cx, key, holder, (by, spec::Cause::Request(by)));
        }
    }

    /// There is no such row, or it is not as it is to be.
    fn finds_none(&mut self, cx: &mut Context<Locks>, pid: Pid, errand: Option<Errand>) -> Step {
        let attempt = self.backend(pid).attempt();
        match (errand, self.wanted(pid)) {
            (errand @ Some(_), Some((_, Wanted::Select(_), _))) => self.has_read(cx, pid, errand, None),
            (Some(errand), _) => cx.note(Note::Refused { attempt, op: errand.op, object: errand.object }),
            (None, _) => {}
        }
        Step::Done(Outcome::Row(None))
    }

    fn has_read(&mut self, cx: &mut Context<Locks>, pid: Pid, errand: Option<Errand>, row: Option<&Row>) {
        let attempt = self.backend(pid).attempt();
        if let Some(errand) = errand {
            let version = Version(row.map_or(0, |row| row.version).cast_unsigned());
            cx.note(Note::Read { attempt, op: errand.op, object: errand.object, version });
        }
    }

    fn holds(&mut self, cx: &Context<Locks>, pid: Pid, row: &Row, only_if: &[Condition]) -> bool {
        only_if.iter().all(|condition| match condition {
            Condition::OwnerIs(owner) => row.owner.as_ref() == Some(owner),
            Condition::Unowned => row.owner.is_none(),
            Condition::EndsBy(instant) => row.ends <= self.micros(cx, pid, *instant),
            Condition::EndsAfter(instant) => row.ends > self.micros(cx, pid, *instant),
            Condition::VersionIs(version) => row.version == *version,
            Condition::VersionBelow(version) => row.version < *version,
        })
    }

    fn assigned(&mut self, cx: &Context<Locks>, pid: Pid, row: &Row, set: &[Assign]) -> Row {
        let mut new = row.clone();
        for assign in set {
            match assign {
                Assign::Owner(owner) => new.owner.clone_from(owner),
                Assign::Ends(instant) => new.ends = self.micros(cx, pid, *instant),
                Assign::Version(VersionTo::Next) => new.version = row.version + 1,
                Assign::Version(VersionTo::Number(version)) => new.version = *version,
                Assign::Value(value) => new.value = value.clone(),
            }
        }
        new
    }

    fn micros(&mut self, cx: &Context<Locks>, pid: Pid, instant: Instant) -> i64 {
        match instant {
            Instant::At(micros) => micros,
            Instant::AfterNow(micros) => {
                self.backend(pid).transaction.as_ref().map_or(0, |transaction| transaction.began) + micros
            }
            Instant::AfterClock(micros) => cx.wall.as_nanos().div_euclid(1_000) + micros,
        }
    }
}
