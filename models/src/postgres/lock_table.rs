//! Who has which lock of a server, and who waits for it: PostgreSQL's lock manager.
//!
//! Source: `src/backend/storage/lmgr/` of PostgreSQL 15: `README`, `lock.c`, `proc.c`, and what a server of 15.20 does.
//!
//! | there | here |
//! |---|---|
//! | `LockAcquire`: had at once if it conflicts neither with those that have it nor with *those that wait* | [`LockTable::acquire`] |
//! | `ProcSleep`: who has the lock in another mode goes before the first that must wait for that, and may be let in there; two that wait for each other so are a deadlock at once | `place` |
//! | `ProcLockWakeup`: in the order of the queue, whoever conflicts neither with those that have it nor with those that wait before | `wake` |
//! | `LOCALLOCK`: a session counts how often it has a lock in a mode | [`sessions`](super::server) |
//! | `DeadLockCheck` | [`deadlock`](super::deadlock) |
//!
//! Advisory locks, row locks and waits for the end of a transaction are all locks here, as they are there; so a circle of waits may
//! go through any of them. Two modes are enough for what is modelled: the many modes of `LOCK TABLE` are left out, as are groups of
//! parallel workers and the fast path, which no client sees.

use std::collections::BTreeMap;

use super::key::{AdvisoryKey, Database, Pid, Strength, Xid};
use super::row::RowKey;

/// What a lock is on: `LOCKTAG`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum LockTag {
    /// The end of a transaction: it has this of its own number, exclusively, from when it got the number.
    Transaction(Xid),
    /// The place before a version of a row that somebody has: the first that waits has it, and waits for the transaction; the others
    /// wait for this.
    Tuple(RowKey, Tid),
    /// The end of whatever transaction a session is in, if it has no number (`VirtualXactLock`): it has this exclusively once
    /// somebody waits for it.
    Session(Pid),
    /// An advisory lock.
    Advisory(Database, AdvisoryKey),
}

/// A version of a row.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Tid(pub(super) u64);

/// In which modes a session has a lock.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Modes {
    exclusive: bool,
    shared: bool,
}

/// A lock that somebody has or waits for.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Lock {
    /// In the order in which they came to have it.
    held: Vec<(Pid, Modes)>,
    /// In the order in which they will.
    pub(super) queue: Vec<(Pid, Strength)>,
}

/// All locks of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct LockTable {
    locks: BTreeMap<LockTag, Lock>,
    /// Who waits, for what.
    waits: BTreeMap<Pid, LockTag>,
    /// Who has got what they waited for, and was not told yet.
    woken: Vec<Pid>,
}

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Acquired {
    /// It is had.
    Yes,
    /// It is not, and the session does not wait for it.
    No,
    /// The session is in the queue.
    Waits,
    /// It would wait in a circle with one that waits already.
    Deadlock,
}

pub(super) const fn conflicts(one: Strength, other: Strength) -> bool {
    matches!((one, other), (Strength::Exclusive, _) | (_, Strength::Exclusive))
}

impl Modes {
    const fn set(&mut self, mode: Strength, has: bool) {
        match mode {
            Strength::Exclusive => self.exclusive = has,
            Strength::Shared => self.shared = has,
        }
    }

    const fn is_none(self) -> bool {
        !self.exclusive && !self.shared
    }

    const fn conflict_with(self, mode: Strength) -> bool {
        self.exclusive || matches!(mode, Strength::Exclusive) && self.shared
    }
}

impl Lock {
    fn modes(&self, pid: Pid) -> Modes {
        self.held.iter().find(|(holder, _)| *holder == pid).map_or_else(Modes::default, |(_, modes)| *modes)
    }

    fn grant(&mut self, pid: Pid, mode: Strength) {
        match self.held.iter_mut().find(|(holder, _)| *holder == pid) {
            Some((_, modes)) => modes.set(mode, true),
            None => {
                let mut modes = Modes::default();
                modes.set(mode, true);
                self.held.push((pid, modes));
            }
        }
    }

    /// Others that have it in a mode that conflicts: a session never waits for itself.
    pub(super) fn in_the_way(&self, pid: Pid, mode: Strength) -> impl Iterator<Item = Pid> {
        let others = self.held.iter().filter(move |(holder, modes)| *holder != pid && modes.conflict_with(mode));
        others.map(|(holder, _)| *holder)
    }

    fn is_free_for(&self, pid: Pid, mode: Strength) -> bool {
        self.in_the_way(pid, mode).next().is_none()
    }

    /// Where in the queue one belongs that wants it in that mode; `Ok(None)`: it need not wait.
    ///
    /// # Errors
    /// It would wait for one that waits for it.
    fn place(&self, pid: Pid, mode: Strength) -> Result<Option<usize>, ()> {
        let own = self.modes(pid);
        let Some(place) = self.queue.iter().position(|(_, wanted)| own.conflict_with(*wanted)) else {
            return Ok(Some(self.queue.len()));
        };
        if self.modes(self.queue[place].0).conflict_with(mode) {
            return Err(());
        }
        let is_let_in = !self.queue[..place].iter().any(|(_, ahead)| conflicts(mode, *ahead));
        Ok((!is_let_in || !self.is_free_for(pid, mode)).then_some(place))
    }

    /// Those that can have it now leave the queue.
    fn wake(&mut self) -> Vec<Pid> {
        let (mut woken, mut ahead, mut place) = (Vec::new(), Modes::default(), 0);
        while let Some(&(pid, mode)) = self.queue.get(place) {
            if !ahead.conflict_with(mode) && self.is_free_for(pid, mode) {
                self.queue.remove(place);
                self.grant(pid, mode);
                woken.push(pid);
            } else {
                ahead.set(mode, true);
                place += 1;
            }
        }
        woken
    }
}

impl LockTable {
    /// A session asks for a lock. It does not ask for what it has in that mode.
    pub(super) fn acquire(&mut self, pid: Pid, tag: LockTag, mode: Strength, waits: bool) -> Acquired {
        let lock = self.locks.entry(tag).or_default();
        let is_behind = lock.queue.iter().any(|(_, wanted)| conflicts(mode, *wanted));
        if !is_behind && lock.is_free_for(pid, mode) {
            lock.grant(pid, mode);
            return Acquired::Yes;
        }
        if !waits {
            return Acquired::No;
        }
        match lock.place(pid, mode) {
            Err(()) => Acquired::Deadlock,
            Ok(None) => {
                lock.grant(pid, mode);
                Acquired::Yes
            }
            Ok(Some(place)) => {
                lock.queue.insert(place, (pid, mode));
                self.waits.insert(pid, tag);
                Acquired::Waits
            }
        }
    }

    /// A session has it no longer in that mode.
    pub(super) fn release(&mut self, pid: Pid, tag: LockTag, mode: Strength) {
        let Some(lock) = self.locks.get_mut(&tag) else { return };
        let Some(place) = lock.held.iter().position(|(holder, _)| *holder == pid) else { return };
        lock.held[place].1.set(mode, false);
        if lock.held[place].1.is_none() {
            lock.held.remove(place);
        }
        self.wake(tag);
    }

    /// A session waits no longer.
    pub(super) fn leave(&mut self, pid: Pid) {
        let Some(tag) = self.waits.remove(&pid) else { return };
        if let Some(lock) = self.locks.get_mut(&tag) {
            lock.queue.retain(|(waiter, _)| *waiter != pid);
        }
        self.wake(tag);
    }

    /// Lets in who can have it now.
    pub(super) fn wake(&mut self, tag: LockTag) {
        let Some(lock) = self.locks.get_mut(&tag) else { return };
        for pid in lock.wake() {
            self.waits.remove(&pid);
            self.woken.push(pid);
        }
        if lock.held.is_empty() && lock.queue.is_empty() {
            self.locks.remove(&tag);
        }
    }

    /// The next that has got what it waited for.
    pub(super) fn take_woken(&mut self) -> Option<Pid> {
        (!self.woken.is_empty()).then(|| self.woken.remove(0))
    }

    /// A session that ends is not told any more.
    pub(super) fn forget(&mut self, pid: Pid) {
        self.woken.retain(|woken| *woken != pid);
    }

    /// Whether a session has it, in any mode.
    pub(super) fn is_held_by(&self, pid: Pid, tag: LockTag) -> bool {
        self.locks.get(&tag).is_some_and(|lock| !lock.modes(pid).is_none())
    }

    /// What a session waits for.
    pub(super) fn awaited_by(&self, pid: Pid) -> Option<LockTag> {
        self.waits.get(&pid).copied()
    }

    pub(super) fn lock(&self, tag: LockTag) -> Option<&Lock> {
        self.locks.get(&tag)
    }

    /// The queue in another order, of the same.
    pub(super) fn reorder(&mut self, tag: LockTag, order: &[Pid]) {
        if let Some(lock) = self.locks.get_mut(&tag) {
            let place = |pid: &Pid| order.iter().position(|other| other == pid);
            lock.queue.sort_by_key(|(pid, _)| place(pid));
        }
        self.wake(tag);
    }
}

#[cfg(test)]
mod tests {
    use super::Strength::{Exclusive, Shared};
    use super::*;

    const TAG: LockTag = LockTag::Advisory(Database(host::Name::fixed("postgres")), AdvisoryKey::Big(1));
    const A: Pid = Pid(1);
    const B: Pid = Pid(2);
    const C: Pid = Pid(3);
    const D: Pid = Pid(4);

    fn ask(table: &mut LockTable, pid: Pid, mode: Strength) -> Acquired {
        table.acquire(pid, TAG, mode, true)
    }

    fn woken(table: &mut LockTable) -> Vec<Pid> {
        std::iter::from_fn(|| table.take_woken()).collect()
    }

    #[test]
    fn who_comes_first_has_it_first_and_nobody_passes_one_that_waits() {
        let mut table = LockTable::default();
        assert_eq!(ask(&mut table, A, Shared), Acquired::Yes);
        assert_eq!(ask(&mut table, B, Exclusive), Acquired::Waits);
        assert_eq!(ask(&mut table, C, Shared), Acquired::Waits, "it would do with A, but B is before it");
        assert_eq!(table.acquire(D, TAG, Shared, false), Acquired::No);
        table.release(A, TAG, Shared);
        assert_eq!(woken(&mut table), [B]);
        table.release(B, TAG, Exclusive);
        assert_eq!(woken(&mut table), [C]);
    }

    #[test]
    fn those_that_share_are_let_in_together_but_not_past_one_that_does_not() {
        let mut table = LockTable::default();
        ask(&mut table, A, Exclusive);
        for (pid, mode) in [(B, Shared), (C, Shared), (D, Exclusive)] {
            assert_eq!(ask(&mut table, pid, mode), Acquired::Waits);
        }
        assert_eq!(ask(&mut table, Pid(5), Shared), Acquired::Waits);
        table.release(A, TAG, Exclusive);
        assert_eq!(woken(&mut table), [B, C]);
    }

    #[test]
    fn who_has_it_does_not_queue_behind_those_that_wait_for_it() {
        let mut table = LockTable::default();
        ask(&mut table, A, Exclusive);
        ask(&mut table, B, Exclusive);
        assert_eq!(
            table.acquire(A, TAG, Shared, false),
            Acquired::No,
            "who does not wait is only told that somebody does"
        );
        assert_eq!(ask(&mut table, A, Shared), Acquired::Yes);
    }

    #[test]
    fn two_that_share_it_and_both_want_it_alone_are_a_deadlock_at_once() {
        let mut table = LockTable::default();
        ask(&mut table, A, Shared);
        ask(&mut table, B, Shared);
        assert_eq!(ask(&mut table, A, Exclusive), Acquired::Waits);
        assert_eq!(ask(&mut table, B, Exclusive), Acquired::Deadlock);
        table.release(B, TAG, Shared);
        assert_eq!(woken(&mut table), [A]);
    }

    #[test]
    fn one_that_leaves_the_queue_makes_room_for_those_behind_it() {
        let mut table = LockTable::default();
        ask(&mut table, A, Shared);
        ask(&mut table, B, Exclusive);
        ask(&mut table, C, Shared);
        table.leave(B);
        assert_eq!(woken(&mut table), [C]);
        assert_eq!(table.awaited_by(B), None);
        table.release(A, TAG, Shared);
        table.release(C, TAG, Shared);
        assert!(table.locks.is_empty(), "nothing is kept of a lock that nobody has");
    }
}
