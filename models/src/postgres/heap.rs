//! Rows and their versions: what a statement sees of them, and who has them.
//!
//! Source: `src/backend/access/heap/` of PostgreSQL 15 (`README.tuplock`, `heapam.c`, `heapam_visibility.c`), and chapter 13 of its
//! documentation.
//!
//! A row is a chain of versions. Each says which transaction wrote it, and, once another has locked, updated or deleted it, which, in
//! marks. What a transaction wrote is nothing once it has failed: its marks and versions are taken out then, so that whoever is not
//! in progress has committed.
//!
//! | there | here |
//! |---|---|
//! | a snapshot at the beginning of a statement: `HeapTupleSatisfiesMVCC` | [`Heap::visible`] |
//! | `HeapTupleSatisfiesUpdate` | [`Heap::state`] |
//! | `HeapTupleSatisfiesDirty` | [`Heap::look`] |
//! | `_bt_check_unique`, `check_exclusion_or_unique_constraint` | [`Heap::in_the_way`] |
//! | a transaction and a savepoint of it that have the same row: a `MultiXact` | several marks |

use std::collections::{BTreeMap, BTreeSet};

use super::key::{Pid, Xid};
use super::lock_table::Tid;
use super::row::{Row, RowKey};

/// All rows of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Heap {
    rows: BTreeMap<RowKey, Vec<Version>>,
    /// Transactions and savepoints that are in progress, with whose they are.
    in_progress: BTreeMap<Xid, Pid>,
    tids: u64,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Version {
    tid: Tid,
    row: Row,
    /// `xmin`
    by: Xid,
    /// `xmax`
    marks: Vec<(Xid, Mark)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mark {
    Lock(RowLock),
    Update(Tid),
    Delete,
}

impl Mark {
    const fn is_lock(self) -> bool {
        matches!(self, Self::Lock(_))
    }
}

/// How a row is locked, the weaker first. To others it is the same here: each keeps the other out.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum RowLock {
    /// `FOR NO KEY UPDATE`: as who is about to update it does.
    NoKeyUpdate,
    /// `FOR UPDATE`: as who asks for it does, or is about to delete it.
    Update,
}

/// What a session that wants to lock or write a version finds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// Nobody else has it.
    Free,
    /// That transaction has.
    Busy(Xid),
    /// There is another version of the row.
    Updated(Tid),
    /// The row is no more.
    Deleted,
}

/// What is there of a version, whoever wrote it, be it committed or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Look {
    /// It counts. (Somebody may have locked it.)
    Live,
    /// It depends on that transaction.
    Depends(Xid),
    /// There is another version.
    Updated(Tid),
    /// It is no more.
    Deleted,
}

/// What a row that is to be inserted meets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum InTheWay {
    Nothing,
    /// Whether there is a row depends on that transaction.
    Depends(Xid),
    /// This version of it.
    Version(Tid),
}

impl Heap {
    /// A transaction or a savepoint has got a number.
    pub(super) fn begin(&mut self, xid: Xid, pid: Pid) {
        self.in_progress.insert(xid, pid);
    }

    /// It has committed.
    pub(super) fn commit(&mut self, xid: Xid) {
        self.in_progress.remove(&xid);
    }

    /// It has failed: what it did to these rows is nothing.
    pub(super) fn abort(&mut self, xid: Xid, touched: &BTreeSet<RowKey>) {
        self.in_progress.remove(&xid);
        for key in touched {
            let Some(versions) = self.rows.get_mut(key) else { continue };
            versions.retain(|version| version.by != xid);
            for version in &mut *versions {
                version.marks.retain(|(by, _)| *by != xid);
            }
            if versions.is_empty() {
                self.rows.remove(key);
            }
        }
    }

    /// Forgets versions that nobody will ever see, and locks of transactions that are over. Not while somebody waits for the row, who may
    /// have to find its way from an old version to the last.
    pub(super) fn prune(&mut self, key: RowKey) {
        let Some(versions) = self.rows.get_mut(&key) else { return };
        let is_over = |xid: &Xid| !self.in_progress.contains_key(xid);
        versions.retain(|version| !version.marks.iter().any(|(by, mark)| !mark.is_lock() && is_over(by)));
        for version in &mut *versions {
            version.marks.retain(|(by, _)| !is_over(by));
        }
        if versions.is_empty() {
            self.rows.remove(&key);
        }
    }

    fn is_others(&self, xid: Xid, me: Pid) -> bool {
        self.in_progress.get(&xid).is_some_and(|pid| *pid != me)
    }

    fn version(&self, key: RowKey, tid: Tid) -> Option<&Version> {
        self.rows.get(&key)?.iter().find(|version| version.tid == tid)
    }

    fn version_mut(&mut self, key: RowKey, tid: Tid) -> Option<&mut Version> {
        self.rows.get_mut(&key)?.iter_mut().find(|version| version.tid == tid)
    }

    /// What is in a version.
    pub(super) fn row(&self, key: RowKey, tid: Tid) -> Option<&Row> {
        self.version(key, tid).map(|version| &version.row)
    }

    /// The version that a statement of that session sees, as it begins.
    pub(super) fn visible(&self, key: RowKey, me: Pid) -> Option<Tid> {
        let is_seen = |version: &&Version| {
            let is_gone = |(by, mark): &(Xid, Mark)| !mark.is_lock() && !self.is_others(*by, me);
            !self.is_others(version.by, me) && !version.marks.iter().any(is_gone)
        };
        self.rows.get(&key)?.iter().find(is_seen).map(|version| version.tid)
    }

    /// The last version that is committed.
    pub(super) fn committed(&self, key: RowKey) -> Option<&Row> {
        let nobody = Pid(0);
        self.visible(key, nobody).and_then(|tid| self.row(key, tid))
    }

    /// Who has a row, or is about to write it.
    pub(super) fn holder(&self, key: RowKey) -> Option<Pid> {
        let mut marks = self.rows.get(&key)?.iter().flat_map(|version| &version.marks);
        marks.find_map(|(by, _)| self.in_progress.get(by).copied())
    }

    /// What a session finds that wants to lock or write that version.
    pub(super) fn state(&self, key: RowKey, tid: Tid, me: Pid) -> State {
        let Some(version) = self.version(key, tid) else { return State::Deleted };
        if let Some((xid, _)) = version.marks.iter().find(|(by, _)| self.is_others(*by, me)) {
            return State::Busy(*xid);
        }
        match version.marks.iter().rev().find(|(_, mark)| !mark.is_lock()) {
            Some((_, Mark::Update(next))) => State::Updated(*next),
            Some(_) => State::Deleted,
            None => State::Free,
        }
    }

    /// What is there of that version, be it committed or not.
    pub(super) fn look(&self, key: RowKey, tid: Tid, me: Pid) -> Look {
        let Some(version) = self.version(key, tid) else { return Look::Deleted };
        if self.is_others(version.by, me) {
            return Look::Depends(version.by);
        }
        match version.marks.iter().rev().find(|(_, mark)| !mark.is_lock()) {
            Some((by, _)) if self.is_others(*by, me) => Look::Depends(*by),
            Some((_, Mark::Update(next))) => Look::Updated(*next),
            Some(_) => Look::Deleted,
            None => Look::Live,
        }
    }

    /// What a row of that key meets that is to be inserted.
    pub(super) fn in_the_way(&self, key: RowKey, me: Pid) -> InTheWay {
        for version in self.rows.get(&key).into_iter().flatten() {
            match self.look(key, version.tid, me) {
                Look::Live => return InTheWay::Version(version.tid),
                Look::Depends(xid) => return InTheWay::Depends(xid),
                Look::Updated(_) | Look::Deleted => {}
            }
        }
        InTheWay::Nothing
    }

    /// Whether that session has locked a version already, in that way or a stronger one.
    pub(super) fn has_locked(&self, key: RowKey, tid: Tid, me: Pid, lock: RowLock) -> bool {
        let marks = self.version(key, tid).map_or(&[][..], |version| &version.marks);
        let is_own = |xid: &Xid| self.in_progress.get(xid) == Some(&me);
        marks.iter().any(|(by, mark)| is_own(by) && matches!(mark, Mark::Lock(has) if *has >= lock))
    }

    /// Locks a version.
    pub(super) fn lock(&mut self, key: RowKey, tid: Tid, xid: Xid, lock: RowLock) {
        self.mark(key, tid, xid, Mark::Lock(lock));
    }

    /// A row that was not there.
    pub(super) fn insert(&mut self, key: RowKey, xid: Xid, row: Row) -> Tid {
        let tid = self.next_tid();
        self.rows.entry(key).or_default().push(Version { tid, row, by: xid, marks: Vec::new() });
        tid
    }

    /// Another version behind that one.
    pub(super) fn update(&mut self, key: RowKey, tid: Tid, xid: Xid, row: Row) -> Tid {
        let next = self.insert(key, xid, row);
        self.mark(key, tid, xid, Mark::Update(next));
        next
    }

    /// None behind that one.
    pub(super) fn delete(&mut self, key: RowKey, tid: Tid, xid: Xid) {
        self.mark(key, tid, xid, Mark::Delete);
    }

    fn mark(&mut self, key: RowKey, tid: Tid, xid: Xid, mark: Mark) {
        if let Some(version) = self.version_mut(key, tid)
            && !version.marks.contains(&(xid, mark))
        {
            version.marks.push((xid, mark));
        }
    }

    /// What a standby or a restart has of a row, committed by that transaction.
    pub(super) fn replay(&mut self, key: RowKey, xid: Xid, row: Option<&Row>) {
        self.rows.remove(&key);
        if let Some(row) = row {
            self.insert(key, xid, row.clone());
        }
    }

    fn next_tid(&mut self) -> Tid {
        self.tids += 1;
        Tid(self.tids)
    }
}

#[cfg(test)]
mod tests {
    use host::Name;

    use super::super::row::Table;
    use super::*;

    const KEY: RowKey = RowKey { table: Table::Locks, name: Name::fixed("orders") };
    const A: Pid = Pid(1);
    const B: Pid = Pid(2);

    fn row(version: i64) -> Row {
        Row { version, ..Row::default() }
    }

    /// A row that is committed, and two transactions in progress.
    fn heap() -> (Heap, Tid) {
        let mut heap = Heap::default();
        heap.replay(KEY, Xid(3), Some(&row(0)));
        let tid = heap.visible(KEY, A).expect("it is there");
        heap.begin(Xid(10), A);
        heap.begin(Xid(20), B);
        (heap, tid)
    }

    fn touched() -> BTreeSet<RowKey> {
        BTreeSet::from([KEY])
    }

    #[test]
    fn what_is_not_committed_only_its_own_transaction_sees() {
        let (mut heap, old) = heap();
        let new = heap.update(KEY, old, Xid(10), row(1));
        assert_eq!((heap.visible(KEY, A), heap.visible(KEY, B)), (Some(new), Some(old)));
        assert_eq!((heap.state(KEY, old, A), heap.state(KEY, old, B)), (State::Updated(new), State::Busy(Xid(10))));
        assert_eq!(heap.in_the_way(KEY, B), InTheWay::Depends(Xid(10)));
        heap.commit(Xid(10));
        assert_eq!((heap.visible(KEY, B), heap.state(KEY, old, B)), (Some(new), State::Updated(new)));
        heap.prune(KEY);
        assert_eq!((heap.row(KEY, old), heap.committed(KEY)), (None, Some(&row(1))));
    }

    #[test]
    fn what_has_failed_was_never_there() {
        let (mut heap, old) = heap();
        let before = heap.rows.clone();
        heap.lock(KEY, old, Xid(10), RowLock::Update);
        let new = heap.update(KEY, old, Xid(10), row(1));
        heap.delete(KEY, new, Xid(10));
        assert_eq!((heap.visible(KEY, A), heap.visible(KEY, B)), (None, Some(old)));
        heap.abort(Xid(10), &touched());
        assert_eq!(heap.rows, before);
    }

    #[test]
    fn a_savepoint_that_failed_leaves_the_lock_that_its_transaction_had_before() {
        let (mut heap, old) = heap();
        heap.lock(KEY, old, Xid(10), RowLock::Update);
        heap.begin(Xid(11), A);
        heap.update(KEY, old, Xid(11), row(1));
        heap.abort(Xid(11), &touched());
        assert_eq!((heap.state(KEY, old, A), heap.state(KEY, old, B)), (State::Free, State::Busy(Xid(10))));
        assert_eq!(heap.look(KEY, old, B), Look::Live, "it is locked, but it is there");
    }

    #[test]
    fn whether_a_row_may_be_inserted_depends_on_who_inserts_or_deletes_it() {
        let (mut heap, old) = heap();
        assert_eq!(heap.in_the_way(KEY, A), InTheWay::Version(old));
        heap.delete(KEY, old, Xid(10));
        assert_eq!((heap.in_the_way(KEY, A), heap.in_the_way(KEY, B)), (InTheWay::Nothing, InTheWay::Depends(Xid(10))));
        let new = heap.insert(KEY, Xid(10), row(5));
        assert_eq!(heap.in_the_way(KEY, A), InTheWay::Version(new));
        heap.commit(Xid(10));
        assert_eq!(heap.in_the_way(KEY, B), InTheWay::Version(new));
        assert_eq!(heap.state(KEY, old, B), State::Deleted, "the new row is another one");
    }
}
