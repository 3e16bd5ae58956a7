//! What a server writes down, and what it has of that after a crash.
//!
//! Source: `xlog.c`, `xact.c`, `sequence.c`, `walwriter.c` of PostgreSQL 15; chapter 30 of its documentation.
//!
//! | what | is written when | must be on the disk before |
//! |---|---|---|
//! | the rows of a transaction | it commits | its answer (`synchronous_commit`) |
//! | that a transaction has a number | it commits, or writes something | nothing, if it wrote nothing: then the WAL writer does it within 200 ms |
//! | a sequence | every 32 numbers, with the number that is 32 ahead: after a crash it goes on there | the answer of the transaction that drew it |
//! | advisory locks | never | |
//!
//! So after a crash a number of a transaction that only asked for it may be another's, and sequences jump. The rows of a transaction are one record
//! here, in its commit; what has failed leaves only its number. The disk keeps all records: a checkpoint, which there is when somebody asks for it
//! and when the server is asked to end, matters to sequences and numbers alone.

use std::fmt;

use host::{AttemptId, Name, digest_enum, digest_struct};

use super::key::Xid;
use super::row::{Row, RowKey};

/// How far a log goes: how many records there are before that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Debug)]
pub struct Lsn(pub u64);

impl host::Digest for Lsn {
    fn digest(&self, fold: &mut host::Fold) {
        fold.word(self.0);
    }
}

/// What is written down.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Wal {
    /// A transaction, or a savepoint of it, writes something, or fails.
    Used(Xid),
    /// A transaction has committed.
    Commit {
        /// The highest number of it and its savepoints.
        xid: Xid,
        /// What has become of these rows. `None`: deleted.
        rows: Vec<(RowKey, Option<Row>)>,
        /// For the history, if it was for an attempt or has changed whose a lease is: the attempt, and how many notes of owners there were by then.
        shadow: Option<(Option<AttemptId>, u32)>,
    },
    /// A sequence, as it is after a crash.
    Sequence {
        /// Which.
        name: Name,
        /// The last number that may have been drawn.
        last: i64,
    },
    /// The server has become one of its own.
    Promoted,
    /// All that is in memory is on the disk: what is behind this counts after a crash.
    Checkpoint {
        /// The number that the next transaction will have.
        next_xid: Xid,
        /// Every sequence as it is, not as far as it is written down. A standby is not told.
        sequences: Vec<(Name, i64)>,
    },
}

digest_enum!(Wal {
    1 => Used(xid),
    2 => Commit { xid, rows, shadow },
    3 => Sequence { name, last },
    4 => Promoted,
    5 => Checkpoint { next_xid, sequences },
});

/// From a standby, on a connection of its own: what it has, and that it wants what follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FromStandby {
    /// It has written down all before that.
    pub flushed: Lsn,
}

/// From a primary to a standby: the next records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToStandby {
    /// Where they begin.
    pub from: Lsn,
    /// They.
    pub records: Vec<Wal>,
}

digest_struct!(FromStandby { flushed });
digest_struct!(ToStandby { from, records });

impl fmt::Display for FromStandby {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "has the log up to {}", self.flushed.0)
    }
}

impl fmt::Display for ToStandby {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} records from {}", self.records.len(), self.from.0)
    }
}

/// A sequence: `Form_pg_sequence_data`.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Sequence {
    /// The last number that was drawn.
    last: i64,
    /// How many may be drawn before something must be written down.
    logged: i64,
    /// It was last written down before a checkpoint.
    is_old: bool,
}

/// `SEQ_LOG_VALS`
const AHEAD: i64 = 32;

impl Sequence {
    /// As it is after a crash, or on a standby.
    pub(super) const fn recovered(last: i64) -> Self {
        Self { last, logged: 0, is_old: true }
    }

    /// There is a checkpoint: the last number that was drawn.
    pub(super) const fn checkpoint(&mut self) -> i64 {
        self.is_old = true;
        self.last
    }

    /// The next number, and what must be written down.
    pub(super) const fn next(&mut self) -> (i64, Option<i64>) {
        self.last += 1;
        if self.logged > 0 && !self.is_old {
            self.logged -= 1;
            return (self.last, None);
        }
        // What is drawn first of all needs no room of its own.
        self.logged = AHEAD;
        self.is_old = false;
        (self.last, Some(self.last + AHEAD))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sequence_is_written_down_for_32_numbers_to_come() {
        let mut sequence = Sequence::default();
        let drawn: Vec<(i64, Option<i64>)> = (0..34).map(|_| sequence.next()).collect();
        assert_eq!(drawn[0], (1, Some(33)));
        assert!(drawn[1..33].iter().all(|(_, logged)| logged.is_none()));
        assert_eq!(drawn[33], (34, Some(66)));
    }

    #[test]
    fn after_a_crash_it_goes_on_behind_what_was_written_down() {
        let mut sequence = Sequence::default();
        let (_, logged) = sequence.next();
        let mut after = Sequence::recovered(logged.expect("the first is written down"));
        assert_eq!(after.next(), (34, Some(66)));
    }

    #[test]
    fn after_a_checkpoint_the_next_number_is_written_down() {
        let mut sequence = Sequence::default();
        (0..3).for_each(|_| _ = sequence.next());
        sequence.checkpoint();
        assert_eq!(sequence.next(), (4, Some(36)), "and so it goes on with 37 after a crash, as it does");
    }
}
