//! `CREATE INDEX CONCURRENTLY`: a statement that waits for others which have no lock that it wants.
//!
//! Source: `DefineIndex` and `WaitForOlderSnapshots` in `indexcmds.c` of PostgreSQL 15, and what a server of 15.20 does.
//!
//! Before it may be used, an index must have nothing less than whoever still looks at the table as it was could find there. So the
//! statement waits for every session that is in the midst of a statement, until the transaction of that has ended; a session that
//! waits for an advisory lock is one. Through the lock manager, so that a circle is found. Three of its transactions have numbers: two
//! have committed before it waits.
//!
//! Left out: that it waits before that for those who have written the table and not committed; that a second on the same table begins
//! when the first is done; and the invalid index that one which fails leaves behind.

use host::Context;

use super::super::answer::{Outcome, Tag};
use super::super::error::SqlState;
use super::super::key::{Pid, Strength};
use super::super::lock_table::LockTag;
use super::super::wal::Wal;
use super::Postgres;
use super::backends::{Step, Waits};
use crate::domain::Locks;

impl Postgres {
    pub(super) fn create_index(&mut self, cx: &mut Context<Locks>, pid: Pid) -> Step {
        if self.only_reads(pid) {
            return Step::Failed(SqlState::ReadOnlySqlTransaction);
        }
        if self.backend(pid).transaction.as_ref().is_some_and(|transaction| transaction.is_block) {
            return Step::Failed(SqlState::ActiveSqlTransaction);
        }
        for _ in 0..2 {
            self.write(cx, Wal::Used(self.next_xid));
            self.next_xid = self.next_xid.next();
        }
        self.flush(cx);
        let looking = self.looking(pid);
        for other in &looking {
            if !self.is_awaited(*other) {
                self.locks.acquire(*other, LockTag::Session(*other), Strength::Exclusive, false);
            }
        }
        self.outlive(cx, pid, looking)
    }

    /// The transaction has ended for which it waited first.
    pub(super) fn has_outlived(&mut self, cx: &mut Context<Locks>, pid: Pid, mut waiting: Vec<Pid>) -> Step {
        let ended = waiting.remove(0);
        self.locks.release(pid, LockTag::Session(ended), Strength::Shared);
        self.outlive(cx, pid, waiting)
    }

    /// Waits for one after the other; of those that are left, for whoever has been in the midst of a statement since.
    fn outlive(&mut self, cx: &mut Context<Locks>, pid: Pid, waiting: Vec<Pid>) -> Step {
        let looking = self.looking(pid);
        let left: Vec<Pid> =
            waiting.into_iter().filter(|other| looking.contains(other) && self.is_awaited(*other)).collect();
        let Some(next) = left.first() else {
            let xid = self.number(pid, 0);
            self.write(cx, Wal::Used(xid));
            self.has_written(pid);
            return Step::Done(Outcome::Done(Tag::CreateIndex));
        };
        let step = self.wait_for(cx, pid, LockTag::Session(*next), Strength::Shared);
        if let Some(running) = self.backend(pid).running.as_mut() {
            running.waits = Waits::Sessions(left);
        }
        step.expect("its transaction has not ended")
    }

    /// Those others of its database that are in the midst of a statement: they have a snapshot.
    fn looking(&mut self, pid: Pid) -> Vec<Pid> {
        let database = self.backend(pid).database;
        let others = self.backends.iter().filter(|(other, backend)| **other != pid && backend.database == database);
        others.filter(|(_, backend)| backend.has_snapshot()).map(|(other, _)| *other).collect()
    }

    /// Whether somebody waits, or has waited, for the end of the transaction that a session is in.
    fn is_awaited(&self, pid: Pid) -> bool {
        self.locks.is_held_by(pid, LockTag::Session(pid))
    }
}
