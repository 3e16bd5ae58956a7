//! Asynchronous replication between Redis servers.
//!
//! Sources: the Redis 7.0.15 source (`replication.c`, `server.c`, `db.c`, `config.c` for the defaults), its
//! documentation of `WAIT`, and what such servers answer.
//!
//! | file | what |
//! |---|---|
//! | [`feed`] | what a primary sends its replicas, and what an offset counts |
//! | `primary` | whom it feeds, how far they are, `min-replicas-to-write` |
//! | `replica` | the connection to the primary, what a replica does with what comes |
//! | `role` | `REPLICAOF`, `ROLE`, `INFO`, `CLIENT KILL` |
//! | `wait` | `WAIT` |
//! | `served` | one step of a server that is not alone |
//!
//! * **Effects.** What a command or a script did is replicated, not what it was asked: `SET … PX` as a deadline on
//!   the primary's wall clock, an expired key as `DEL`. One command, script or transaction arrives whole.
//! * **Replicas** refuse to write. They do not expire keys: they hide those that are over on *their* wall clock, and
//!   keep them until the primary says `DEL`.
//! * **Histories.** A primary's stream has an identity and an offset. A replica that was promoted keeps the old
//!   identity up to where it left it: who was no further than that goes on from there, everybody else throws
//!   his keys away and is sent all of the new ones (`PSYNC`).
//! * **Clocks.** Once a second by the monotonic clock (`replicationCron`); how old an acknowledgement is, in whole
//!   seconds of the wall clock (`server.unixtime`).
//! * **A lag** is how long the stream waits in the primary's output buffer, as it does for a replica or a network that
//!   takes it slowly: what waits there is lost with the primary.
//!
//! A world begins with servers that have been in touch for long: all hold the same empty data set of one history.
//! A restarted server begins a history of its own, and is what its configuration file says: `CONFIG REWRITE` writes it.
//!
//! Not modelled: the handshake before `PSYNC` (a ping, authentication, `REPLCONF`), the time that a snapshot takes to
//! write and to load, a backlog that is too short, the buffer's limits, writable replicas.

pub mod feed;
mod primary;
mod replica;
mod role;
mod served;
mod wait;

use std::collections::BTreeMap;

use host::{ConnId, Context, Deadline, Duration, NodeId, Span, TimerId, span};

use super::Key;
use crate::domain::{Locks, Record};
use feed::{Feed, History, Streamed};
use primary::Feeds;
use replica::Follower;
pub use role::{Info, Link, Role};
use wait::Waits;

/// How a server replicates.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Replicates {
    /// Whose replica it is from the start; `None`: a primary.
    pub of: Option<NodeId>,
    /// How long what it has for its replicas waits in its output buffer.
    pub lag: Span,
    /// `min-replicas-to-write`: with fewer good replicas it refuses to write. 0: never.
    pub min_replicas: u16,
    /// `min-replicas-max-lag`: a replica is good if its last acknowledgement is no older, in whole seconds.
    pub max_lag: Duration,
}

/// One server's part in replication.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Replication {
    settings: Replicates,
    /// The process's identity, anew in each life.
    run: u64,
    history: History,
    /// The history that it followed until it was promoted, and how far that is also its own.
    former: Option<(History, u64)>,
    /// How much of the history there is.
    offset: u64,
    /// All of the history since its process started or was sent the whole, in order.
    backlog: Vec<Streamed>,
    /// Where the backlog begins: who has less cannot go on from there.
    backlog_from: u64,
    pub(super) follows: Option<Follower>,
    pub(super) feeds: Feeds,
    pub(super) waits: Waits,
    /// The connections on which clients have asked for something, and the offset behind what they last asked for.
    clients: BTreeMap<ConnId, u64>,
    /// The keys that the current step has changed, in order.
    changed: Vec<Key>,
    /// How often it has told the history of owners since it started. A shadow: nothing that it does depends on it.
    owner_notes: u32,
    /// What it last told the history of how far it has come.
    told_of: u32,
}

/// What a server's configuration file says of replication.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Config {
    /// `replicaof`.
    pub replica_of: Option<NodeId>,
}

impl Replication {
    pub(super) fn new(settings: Replicates) -> Self {
        Self {
            settings,
            run: 0,
            history: History::FIRST,
            former: None,
            offset: 0,
            backlog: Vec::new(),
            backlog_from: 0,
            follows: None,
            feeds: Feeds::default(),
            waits: Waits::default(),
            clients: BTreeMap::new(),
            changed: Vec::new(),
            owner_notes: 0,
            told_of: 0,
        }
    }

    /// The process starts.
    pub(super) fn start(&mut self, cx: &mut Context<Locks>) {
        *self = Self::new(self.settings);
        self.run = cx.random();
        let written = cx.disk.records().iter().rev().find_map(|record| match record {
            Record::Config(config) => Some(*config),
            _ => None,
        });
        let config = written.unwrap_or(Config { replica_of: self.settings.of });
        match written {
            // It has lost what it had: nobody can go on from its history.
            Some(_) => self.history = History::fresh(cx),
            None => self.write_config(cx, config),
        }
        match config.replica_of {
            Some(primary) => self.follow(cx, primary),
            None => cx.lead(true),
        }
        let phase = Duration::from_nanos(span::uniform(0, CRON_NANOS - 1, || cx.random()));
        cx.set_timer(CRON, Deadline::Mono(cx.mono + phase));
    }

    fn write_config(&self, cx: &mut Context<Locks>, config: Config) {
        cx.disk.append(Record::Config(config));
        cx.disk.sync();
    }

    /// Whether it is a replica.
    pub(super) const fn is_replica(&self) -> bool {
        self.follows.is_some()
    }

    /// A key has changed in this step.
    pub(super) fn change(&mut self, key: Key) {
        // A replica does what it is told, and passes that on.
        if !self.is_replica() && !self.changed.contains(&key) {
            self.changed.push(key);
        }
    }

    /// The history was told of an owner.
    pub(super) const fn owner_was_noted(&mut self) {
        self.owner_notes += 1;
    }

    /// What a client asked for on that connection is done, and streamed.
    pub(super) fn served(&mut self, conn: ConnId) {
        if !self.feeds.feeds(conn) {
            self.clients.insert(conn, self.offset);
        }
    }

    /// The connection is gone.
    pub(super) fn forget(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        self.clients.remove(&conn);
        self.feeds.forget(conn);
        self.waits.forget(conn);
        self.lose_link(cx, conn);
    }

    /// Once a second.
    pub(super) fn cron(&mut self, cx: &mut Context<Locks>, keys: &super::keyspace::Keyspace) {
        cx.set_timer(CRON, Deadline::Mono(cx.mono + Duration::from_nanos(CRON_NANOS)));
        self.attend_to_primary(cx);
        self.attend_to_replicas(cx, keys);
    }

    /// The next thing of the history happens: it is kept, and every replica is told.
    fn stream(&mut self, cx: &mut Context<Locks>, streamed: Streamed) {
        self.offset = streamed.offset;
        self.feeds.send(cx, self.settings.lag, &Feed::Next(streamed.clone()));
        self.backlog.push(streamed);
    }
}

/// The wall clock in whole seconds, as Redis keeps it in `server.unixtime`.
fn unixtime(cx: &Context<Locks>) -> i64 {
    cx.wall.millis().div_euclid(1_000)
}

/// `replicationCron` runs once a second, by the timers of the event loop: on the monotonic clock.
const CRON_NANOS: u64 = 1_000_000_000;
/// `repl-timeout`: silence of so many seconds ends a connection between primary and replica.
const TIMEOUT_SECONDS: i64 = 60;

/// The timers of a server that replicates.
pub(super) const CRON: TimerId = TimerId(1);
pub(super) const OUTPUT: TimerId = TimerId(2);
pub(super) const WAITING: TimerId = TimerId(3);

#[cfg(test)]
mod tests;
