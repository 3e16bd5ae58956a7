//! What of the keys is on the disk: nothing, a snapshot, or a log of all changes (AOF).
//!
//! Sources: the Redis 7.0.15 source (`aof.c`, `server.c`), what such a server answers after a restart, and
//! <https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/>.
//!
//! | what | is written | is durable |
//! |---|---|---|
//! | `save` | when the process is asked to end | at once |
//! | `aof-always` | before the reply | before the reply |
//! | `aof-everysec` | before the reply, unless a sync lasts: then when that is over, or 2 s later | when the server's wall clock begins another second |
//!
//! A key's deadline is kept as it is, an instant; what it is when the server is back, its clock says then. The
//! syncs of `aof-everysec` are another thread's. Ten times a second, by the monotonic clock, the server looks
//! whether there is something to be written or synced; by the *wall* clock, in whole seconds, it says when: set back, it
//! does not sync for as long.
//!
//! Not modelled: save points while the server runs (the first comes after an hour), the rewriting of the log, a log that
//! cannot be written, the time that loading takes; a write that is not postponed any longer does not wait for the sync.

use std::mem;

use host::{Context, Deadline, Duration, TimerId};
use spec::Note;

use super::keyspace::{Entry, Keyspace};
use super::{Key, Redis};
use crate::domain::{Locks, Record};
use crate::lock::Persistence;

/// Something that a Redis server has on its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored(Kept);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Kept {
    /// All keys.
    Snapshot(Keyspace),
    /// What a key is from here on; `None`: gone.
    Change(Key, Option<Entry>),
}

/// What is on its way to the disk.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Log {
    pub(super) persistence: Persistence,
    /// The keys that this step has changed.
    changed: Vec<Key>,
    /// What is not written yet.
    unwritten: Vec<Stored>,
    /// In which second the first of it would have been written, had no sync lasted.
    postponed: Option<i64>,
    /// Something was written since the last sync began.
    written: bool,
    /// In which second the last sync began.
    synced: i64,
    /// The timer is set.
    is_awaited: bool,
}

impl Log {
    /// Of a server that keeps what it is told to.
    pub(super) fn new(persistence: Persistence) -> Self {
        Self { persistence, ..Self::default() }
    }

    /// A key has changed, or is gone.
    pub(super) fn change(&mut self, key: Key) {
        if self.keeps_changes() && !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// Whether every change is written.
    #[inline]
    const fn keeps_changes(&self) -> bool {
        matches!(self.persistence, Persistence::AofEverysec | Persistence::AofAlways)
    }

    /// Writes what is not written.
    fn write(&mut self, cx: &mut Context<Locks>) {
        self.postponed = None;
        self.written |= !self.unwritten.is_empty();
        mem::take(&mut self.unwritten).into_iter().for_each(|stored| cx.disk.append(Record::Redis(stored)));
    }

    /// Writes and syncs what is due.
    fn flush(&mut self, cx: &mut Context<Locks>) {
        let (second, sync_lasts) = (second(cx), cx.disk.is_syncing_aside());
        if !self.unwritten.is_empty() {
            let since = *self.postponed.get_or_insert(second);
            if !sync_lasts || second - since >= LONGEST_POSTPONED {
                self.write(cx);
            }
        }
        if self.written && !sync_lasts && second > self.synced {
            cx.disk.sync_aside();
            (self.written, self.synced) = (false, second);
        }
        if (self.written || !self.unwritten.is_empty()) && !self.is_awaited {
            self.is_awaited = true;
            cx.set_timer(FLUSH, Deadline::Mono(cx.mono + EVERY));
        }
    }
}

impl Redis {
    /// Reads what the disk has kept, and names the owners of the locks among it.
    pub(super) fn load(&mut self, cx: &mut Context<Locks>) {
        for record in cx.disk.records() {
            let Record::Redis(Stored(kept)) = record else { continue };
            match kept {
                Kept::Snapshot(keys) => self.keys = keys.clone(),
                Kept::Change(key, Some(entry)) => _ = self.keys.insert(*key, entry.clone()),
                Kept::Change(key, None) => _ = self.keys.remove(key),
            }
        }
        if cx.disk.take_lost() > 0 {
            let authority = cx.node;
            cx.note(Note::DiskLost { authority });
        }
        self.log.synced = second(cx);
        self.step(cx).name_owners();
    }

    /// What a step has changed is written, and synced, as it is to be.
    pub(super) fn keep(&mut self, cx: &mut Context<Locks>) {
        let Self { log, keys, .. } = self;
        if !log.keeps_changes() {
            return;
        }
        for key in log.changed.drain(..) {
            log.unwritten.push(Stored(Kept::Change(key, keys.get(&key).cloned())));
        }
        match log.persistence {
            Persistence::None | Persistence::Save => {}
            Persistence::AofEverysec => log.flush(cx),
            Persistence::AofAlways => {
                log.write(cx);
                if mem::take(&mut log.written) {
                    cx.disk.sync();
                }
            }
        }
    }

    /// It is time to look whether something is to be written or synced.
    pub(super) fn flush(&mut self, cx: &mut Context<Locks>) {
        self.log.is_awaited = false;
        self.log.flush(cx);
    }

    /// The process ends by itself: it leaves nothing undone.
    pub(super) fn keep_all(&mut self, cx: &mut Context<Locks>) {
        match self.log.persistence {
            Persistence::None => {}
            Persistence::Save => cx.disk.replace(Record::Redis(Stored(Kept::Snapshot(self.keys.clone())))),
            Persistence::AofEverysec | Persistence::AofAlways => {
                self.log.write(cx);
                if cx.disk.unsynced() > 0 {
                    cx.disk.sync();
                }
            }
        }
    }
}

/// The second of the wall clock.
fn second(cx: &Context<Locks>) -> i64 {
    cx.wall.millis().div_euclid(1_000)
}

/// The timer of the log.
pub(super) const FLUSH: TimerId = TimerId(4);

/// How often the server looks after its log, `hz` being 10.
const EVERY: Duration = Duration::from_millis(100);

/// For how many seconds a write waits for a sync.
const LONGEST_POSTPONED: i64 = 2;
