//! What a server writes down when, and what is there after a crash.
//!
//! Source: `xlog.c`, `walwriter.c` of PostgreSQL 15. A record is in the memory of the server until something must be on the disk: then all
//! before that is written, and synced, at once. What need not be is written by the WAL writer, which looks every 200 ms
//! (`wal_writer_delay`), but at once if it has found nothing to do for 50 times.

use host::{Context, Deadline, Duration, MonoTime, TimerId};
use spec::{Cause, Note};

use super::super::row::Table;
use super::super::wal::{Lsn, Sequence, Wal};
use super::Postgres;
use crate::domain::{Locks, Record};

/// The WAL writer's timer.
pub(super) const WRITER: TimerId = TimerId(0);

/// `wal_writer_delay`
const DELAY: Duration = Duration::from_millis(200);
/// `LOOPS_UNTIL_HIBERNATE`, of them.
const UNTIL_HIBERNATION: Duration = Duration::from_secs(10);
/// For how long it takes to be awake.
const AT_ONCE: Duration = Duration::from_millis(1);

/// The log of a server.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Log {
    /// In memory alone.
    unwritten: Vec<Wal>,
    /// How many records are on the disk.
    written: u64,
    /// When the WAL writer last had something to do.
    worked: MonoTime,
    is_awaited: bool,
}

impl Log {
    /// How far it goes.
    pub(super) const fn end(&self) -> Lsn {
        Lsn(self.written + self.unwritten.len() as u64)
    }

    /// How far the disk has it.
    pub(super) const fn flushed(&self) -> Lsn {
        Lsn(self.written)
    }

    /// Has the disk have a record of another server.
    pub(super) fn keep(&mut self, cx: &mut Context<Locks>, record: Wal) {
        self.written += 1;
        cx.disk.append(Record::Postgres(record));
    }
}

impl Postgres {
    /// Writes something down, in memory. The WAL writer will see it.
    pub(super) fn write(&mut self, cx: &mut Context<Locks>, record: Wal) {
        self.log.unwritten.push(record);
        if !self.log.is_awaited {
            self.log.is_awaited = true;
            let idle = cx.mono - self.log.worked;
            let next = if idle > UNTIL_HIBERNATION {
                cx.mono + AT_ONCE
            } else {
                // It looks at regular times.
                let looked = u32::try_from(idle.as_nanos() / DELAY.as_nanos()).unwrap_or(0);
                self.log.worked + DELAY * (looked + 1)
            };
            cx.set_timer(WRITER, Deadline::Mono(next));
        }
    }

    /// The WAL writer looks.
    pub(super) fn write_behind(&mut self, cx: &mut Context<Locks>) {
        self.log.is_awaited = false;
        self.log.worked = cx.mono;
        self.flush(cx);
    }

    /// All that was written down is on the disk.
    pub(super) fn flush(&mut self, cx: &mut Context<Locks>) {
        if self.log.unwritten.is_empty() {
            return;
        }
        self.log.written += self.log.unwritten.len() as u64;
        for record in self.log.unwritten.drain(..) {
            cx.disk.append(Record::Postgres(record));
        }
        cx.disk.sync();
    }

    /// All that is in memory is on the disk. The log of a standby is its primary's.
    pub(super) fn checkpoint(&mut self, cx: &mut Context<Locks>) {
        if self.is_in_recovery() {
            return;
        }
        let sequences = self.sequences.iter_mut().map(|(name, sequence)| (*name, sequence.checkpoint())).collect();
        let next_xid = self.next_xid;
        self.write(cx, Wal::Checkpoint { next_xid, sequences });
        self.flush(cx);
    }

    /// Takes up what the disk has.
    pub(super) fn recover(&mut self, cx: &mut Context<Locks>) {
        let records: Vec<Wal> = cx.disk.records().iter().filter_map(wal).cloned().collect();
        if cx.disk.take_lost() > 0 {
            let authority = cx.node;
            cx.note(Note::DiskLost { authority });
        }
        self.log.written = records.len() as u64;
        self.log.worked = cx.mono;
        records.iter().for_each(|record| self.replay(record));
        if !self.is_in_recovery() {
            self.owners.name_again(cx, Cause::Restart);
        }
    }

    /// Does what a record says.
    pub(super) fn replay(&mut self, record: &Wal) {
        match record {
            Wal::Used(xid) => self.next_xid = self.next_xid.max(xid.next()),
            Wal::Commit { xid, rows, shadow } => {
                self.next_xid = self.next_xid.max(xid.next());
                for (key, row) in rows {
                    self.heap.replay(*key, *xid, row.as_ref());
                    if key.table == Table::Leases {
                        let has_owner = row.as_ref().is_some_and(|row| row.owner.is_some());
                        let by = shadow.and_then(|(by, _)| by).filter(|_| has_owner);
                        self.owners.has_lease(*key, by);
                    }
                }
            }
            Wal::Sequence { name, last } => _ = self.sequences.insert(*name, Sequence::recovered(*last)),
            Wal::Promoted => self.follows = None,
            Wal::Checkpoint { next_xid, sequences } => {
                self.next_xid = self.next_xid.max(*next_xid);
                for (name, last) in sequences {
                    self.sequences.insert(*name, Sequence::recovered(*last));
                }
            }
        }
    }
}

/// What of the disk is the server's log: all of it.
pub(super) const fn wal(record: &Record) -> Option<&Wal> {
    match record {
        Record::Postgres(record) => Some(record),
        _ => None,
    }
}
