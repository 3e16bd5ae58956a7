//! What a primary sends its replicas.
//!
//! An offset counts what was streamed: one for a step's changes, one for a ping, one for the wish to hear how far the
//! replica is. (Redis counts bytes. Nothing but the order of offsets is ever looked at.)

use std::fmt;

use host::{Context, Digest, Fold, digest_enum};

use crate::domain::Locks;
use crate::redis::Key;
use crate::redis::keyspace::{Data, Entry};

/// The identity of a primary's stream (`replid`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct History(u64);

impl History {
    /// The one with which a world begins.
    pub(super) const FIRST: Self = Self(0);

    /// One that nobody has yet.
    pub(super) fn fresh(cx: &Context<Locks>) -> Self {
        Self(cx.random())
    }
}

/// One message to a replica. What is in it is between servers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToReplica(pub(super) Feed);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Feed {
    /// `+CONTINUE`: the replica goes on from where it is, in a history of that name.
    Continue(History),
    /// `+FULLRESYNC` and the snapshot: all keys, at that offset of that history. Last, a shadow: how often the
    /// primary had told of owners.
    Whole(History, u64, Vec<(Key, Entry)>, u32),
    /// The next of the stream.
    Next(Streamed),
}

/// One part of the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Streamed {
    /// The offset behind it.
    pub(super) offset: u64,
    pub(super) what: What,
    /// How often the primary had told the history of owners. A shadow.
    pub(super) owner_notes: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum What {
    /// What one step did, in order: the key as it was then, or nothing.
    Changes(Vec<(Key, Option<Entry>)>),
    /// `PING`
    Ping,
    /// `REPLCONF GETACK`
    AckWanted,
}

digest_enum!(Feed { 1 => Continue(history), 2 => Whole(history, offset, keys, notes), 3 => Next(streamed) });
digest_enum!(What { 1 => Changes(changes), 2 => Ping, 3 => AckWanted });
digest_enum!(Data { 1 => String(value), 2 => Hash(fields), 3 => List(items), 4 => Sorted(scores) });

impl Digest for History {
    fn digest(&self, fold: &mut Fold) {
        fold.word(self.0);
    }
}

impl Digest for ToReplica {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}

impl Digest for Streamed {
    fn digest(&self, fold: &mut Fold) {
        let Self { offset, what, owner_notes } = self;
        offset.digest(fold);
        what.digest(fold);
        owner_notes.digest(fold);
    }
}

impl Digest for Entry {
    fn digest(&self, fold: &mut Fold) {
        let Self { data, when, owner } = self;
        data.digest(fold);
        when.digest(fold);
        owner.digest(fold);
    }
}

impl fmt::Display for ToReplica {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Feed::Continue(_) => f.write_str("+CONTINUE"),
            Feed::Whole(_, offset, keys, _) => write!(f, "+FULLRESYNC at {offset}, {} keys", keys.len()),
            Feed::Next(Streamed { offset, what: What::Changes(changes), .. }) => {
                write!(f, "stream {offset}:")?;
                for (key, entry) in changes {
                    match entry {
                        None => write!(f, " DEL {key}")?,
                        Some(Entry { data: Data::String(value), when: Some(when), .. }) => {
                            write!(f, " SET {key} {value} PXAT {when}")?;
                        }
                        Some(Entry { data: Data::String(value), .. }) => write!(f, " SET {key} {value}")?,
                        Some(Entry { data: Data::Hash(_), .. }) => write!(f, " HSET {key}")?,
                        Some(Entry { data: Data::List(_), .. }) => write!(f, " RPUSH {key}")?,
                        Some(Entry { data: Data::Sorted(_), .. }) => write!(f, " ZADD {key}")?,
                    }
                }
                Ok(())
            }
            Feed::Next(Streamed { offset, what: What::Ping, .. }) => write!(f, "stream {offset}: PING"),
            Feed::Next(Streamed { offset, what: What::AckWanted, .. }) => {
                write!(f, "stream {offset}: REPLCONF GETACK")
            }
        }
    }
}
