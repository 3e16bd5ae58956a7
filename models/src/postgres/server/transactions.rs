//! Transactions: their numbers, how they commit and fail.
//!
//! Source: `xact.c` of PostgreSQL 15. What a transaction has is freed when it has committed, and that is when its record is on the disk, and
//! on the standby's if the server is set so: until then others see nothing of it, and wait.

use std::collections::BTreeSet;

use host::Context;
use spec::{Cause, Note, Version};

use super::super::answer::Outcome;
use super::super::key::{Pid, Strength, Xid};
use super::super::lock_table::{Acquired, LockTag};
use super::super::row::{RowKey, Table};
use super::super::session::{Level, Transaction};
use super::super::wal::{Lsn, Wal};
use super::Postgres;
use super::backends::Waits;
use crate::domain::Locks;
use crate::lock::Synchronous;

impl Postgres {
    /// The number of the transaction, or of a savepoint in it; from now on it has one, and so has what it is in.
    pub(super) fn number(&mut self, pid: Pid, level: usize) -> Xid {
        for level in 0..=level {
            let (next, transaction) = (self.next_xid, self.backend(pid).transaction.as_mut());
            let Some(Level { xids, .. }) = transaction.and_then(|transaction| transaction.levels.get_mut(level)) else {
                break;
            };
            if xids.is_empty() {
                xids.push(next);
                self.next_xid = next.next();
                self.heap.begin(next, pid);
                let had = self.locks.acquire(pid, LockTag::Transaction(next), Strength::Exclusive, false);
                debug_assert_eq!(had, Acquired::Yes, "nobody waits for what was not there");
            }
        }
        let transaction = self.backend(pid).transaction.as_ref().expect("only a transaction has numbers");
        transaction.levels[level].xids[0]
    }

    /// The number of what is being done: of the innermost savepoint.
    pub(super) fn own_number(&mut self, pid: Pid) -> Xid {
        let level = self.backend(pid).transaction.as_ref().map_or(0, |transaction| transaction.levels.len() - 1);
        self.number(pid, level)
    }

    /// The number of what is being done, which writes something.
    pub(super) fn number_to_write(&mut self, cx: &mut Context<Locks>, pid: Pid, key: RowKey) -> Xid {
        let xid = self.own_number(pid);
        let transaction = self.backend(pid).transaction.as_mut().expect("it has a number");
        let level = transaction.levels.last_mut().expect("the transaction itself");
        let is_first = level.touched.is_empty();
        level.touched.insert(key);
        transaction.has_written = true;
        if is_first {
            self.write(cx, Wal::Used(xid));
        }
        xid
    }

    pub(super) fn has_written(&mut self, pid: Pid) {
        if let Some(transaction) = &mut self.backend(pid).transaction {
            transaction.has_written = true;
        }
    }

    /// Commits the transaction, of which that is the answer. `None`: it waits for the standby.
    pub(super) fn commit(&mut self, cx: &mut Context<Locks>, pid: Pid, outcome: Outcome) -> Option<Outcome> {
        let Some(lsn) = self.write_commit(cx, pid) else {
            self.has_committed(cx, pid);
            return Some(outcome);
        };
        self.flush(cx);
        if self.settings.synchronous == Synchronous::Standby && !self.standby_has(lsn) {
            let running = self.backend(pid).running.as_mut()?;
            running.waits = Waits::Standby(lsn, outcome);
            self.say_if_alone(cx);
            return None;
        }
        self.has_committed(cx, pid);
        Some(outcome)
    }

    /// Writes down that it has committed. Up to where the disk must have the log; `None`: it need not wait.
    fn write_commit(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Option<Lsn> {
        let attempt = self.backend(pid).attempt();
        let transaction = self.backend(pid).transaction.as_mut()?;
        let depth = transaction.levels.len();
        if depth > 1 {
            transaction.release(1);
            self.backend(pid).advisory.merge_levels(1);
        }
        let transaction = self.backends.get(&pid)?.transaction.as_ref()?;
        let has_written = transaction.has_written;
        let level = &transaction.levels[0];
        let xid = level.xids.iter().max().copied()?;
        let rows: Vec<_> = level
            .touched
            .iter()
            .map(|key| (*key, self.heap.visible(*key, pid).and_then(|tid| self.heap.row(*key, tid)).cloned()))
            .filter(|(key, row)| self.heap.committed(*key) != row.as_ref())
            .collect();
        let leases = || rows.iter().filter(|(key, _)| key.table == Table::Leases);
        let told =
            leases().map(|(key, row)| self.owners.notes_of(*key, (self.heap.committed(*key), row.as_ref()), attempt));
        let notes = self.owners.notes + told.sum::<u32>();
        // So a standby can say up to which change of owners it has what was committed: of a session's lock, its token.
        let shadow = (attempt.is_some() || leases().next().is_some()).then_some((attempt, notes));
        self.write(cx, Wal::Commit { xid, rows, shadow });
        has_written.then_some(self.log.end())
    }

    /// It has committed: others see what it did, and it has nothing any more.
    pub(super) fn has_committed(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let cause = self.cause(pid);
        self.end_transaction(cx, pid, true, cause);
    }

    /// The transaction has failed, or the savepoint that it is in: what it had is free, and nothing more is done in it.
    pub(super) fn fail_transaction(&mut self, cx: &mut Context<Locks>, pid: Pid) {
        let Some(transaction) = &self.backend(pid).transaction else { return };
        let (is_block, innermost) = (transaction.is_block, transaction.levels.len() - 1);
        // Nobody asked for that: the server takes away what it had given.
        let cause = Cause::SessionEnd;
        if !is_block {
            return self.end_transaction(cx, pid, false, cause);
        }
        // What there is to go back to stays.
        let Some(transaction) = &mut self.backend(pid).transaction else { return };
        transaction.has_failed = true;
        let (savepoint, before) =
            (transaction.levels[innermost].savepoint, transaction.levels[innermost].before.clone());
        self.fail_levels(cx, pid, innermost, cause);
        if let Some(transaction) = &mut self.backend(pid).transaction {
            transaction.levels.push(Level::new(savepoint, &before));
        }
    }

    /// The transaction is over.
    pub(super) fn end_transaction(&mut self, cx: &mut Context<Locks>, pid: Pid, commits: bool, cause: Cause) {
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        if commits {
            let Some(transaction) = backend.transaction.take() else { return };
            backend.settings.end_local();
            self.settle_rows(cx, pid, &transaction);
            let Transaction { levels, .. } = transaction;
            for level in levels {
                level.xids.iter().for_each(|xid| self.heap.commit(*xid));
                self.free_rows(cx, pid, &level.xids, &level.touched, cause);
            }
            self.release_advisory(cx, pid, |advisory| advisory.end_levels(0), cause);
        } else if backend.transaction.is_some() {
            self.fail_levels(cx, pid, 0, cause);
            if let Some(backend) = self.backends.get_mut(&pid) {
                backend.transaction = None;
            }
        }
        self.locks.release(pid, LockTag::Session(pid), Strength::Exclusive);
    }

    /// What was done from that level on is nothing.
    pub(super) fn fail_levels(&mut self, cx: &mut Context<Locks>, pid: Pid, from: usize, cause: Cause) {
        let backend = self.backend(pid);
        let Some(transaction) = backend.transaction.as_mut() else { return };
        let levels = transaction.levels.split_off(from);
        transaction.effects.retain(|effect| effect.level < from);
        if let Some(first) = levels.first() {
            backend.settings = first.before.clone();
        }
        for level in levels.iter().rev() {
            for xid in &level.xids {
                self.heap.abort(*xid, &level.touched);
            }
            self.free_rows(cx, pid, &level.xids, &level.touched, cause);
        }
        self.release_advisory(cx, pid, |advisory| advisory.end_levels(from), cause);
    }

    /// Those that wait for these transactions need not any more.
    fn free_rows(&mut self, cx: &mut Context<Locks>, pid: Pid, xids: &[Xid], touched: &BTreeSet<RowKey>, cause: Cause) {
        for key in touched.iter().filter(|key| key.table == Table::Locks) {
            let holder = self.heap.holder(*key);
            self.owners.row(cx, *key, holder, (None, cause));
        }
        for xid in xids {
            self.locks.release(pid, LockTag::Transaction(*xid), Strength::Exclusive);
        }
    }

    /// The history is told what its commit changes, while it can be compared with what was.
    fn settle_rows(&mut self, cx: &mut Context<Locks>, pid: Pid, transaction: &Transaction) {
        let by = self.backend(pid).attempt();
        let touched = transaction.levels.iter().flat_map(|level| &level.touched);
        for key in touched.filter(|key| key.table == Table::Leases) {
            let now = self.heap.visible(*key, pid).and_then(|tid| self.heap.row(*key, tid));
            let was = self.heap.committed(*key);
            if was != now {
                self.owners.lease(cx, *key, (was, now), by);
            }
        }
        for effect in &transaction.effects {
            let (attempt, errand) = (effect.attempt, effect.errand);
            cx.note(Note::Wrote {
                attempt,
                op: errand.op,
                object: errand.object,
                based_on: errand.based_on,
                replaced: Version(effect.replaced.cast_unsigned()),
            });
        }
    }
}
