//! A PostgreSQL 15 server: a primary, or a standby that follows one.
//!
//! Sources: the source of PostgreSQL 15, by file where the rules are; its documentation; and what a server of 15.20 does.
//!
//! | file | what |
//! |---|---|
//! | here | what a server is, and what becomes of what comes |
//! | `backends` | the processes that serve connections: from one statement to the next |
//! | `statements` | what each statement does |
//! | `rows` | those about rows, which may have to wait several times |
//! | `index` | the one that waits for other sessions' statements |
//! | `transactions` | their numbers, how they commit and fail |
//! | `waits` | waiting for locks, and whatever ends a wait: a timeout, a deadlock, an operator |
//! | `timeouts` | when those are over |
//! | `log` | what is written down when, and what is there after a crash |
//! | `standby` | from a primary to its standby, and how that takes its place |
//! | [`session`](super::session) | what a session has: settings, savepoints, advisory locks |
//! | [`lock_table`](super::lock_table), [`deadlock`](super::deadlock) | who has which lock, who waits; circles |
//! | [`heap`](super::heap) | rows and their versions |
//! | [`wal`](super::wal) | records, and how far ahead sequences are written down |
//!
//! * **Advisory locks** are in memory: no disk and no standby has them. A standby has its own, and keeps them when it is promoted.
//! * **A session** lives as long as its backend, and that as long as its connection: until the client closes it, its machine says that it
//!   is no more, or the server's machine has asked in vain (TCP keepalive). While it executes a statement, and so while it waits for a
//!   lock, a backend does not look at its connection, unless `client_connection_check_interval` says so: a client that has gone is in the
//!   queue still, and is let in.
//! * **Clocks.** A timeout has its end by the *wall* clock, and an alarm that counts by itself: a clock that is set back makes it late, one that is
//!   set ahead may make it early (`timeouts`). `now()` is the wall clock. Keepalive is the machine's own.
//! * **A crash** of the server is a restart: what is on its disk is there, and no session. (When one backend crashes, all do.)
//!
//! Left out: how long a restart, a promotion or the end of a backend takes (a real one has a lock for some ms more), `max_connections`,
//! other isolation levels, several databases but for advisory locks (rows and sequences are one set), snapshots of standbys for longer than a statement, archives and `pg_rewind`, cascading and several standbys,
//! checkpoints by themselves (the first would come after 5 min).

mod backends;
mod index;
mod log;
mod rows;
mod standby;
mod statements;
mod timeouts;
mod transactions;
mod waits;

use std::collections::BTreeMap;

use host::{ConnId, Context, Name, Origin, Server, Service, TimerId};

use super::PgRequest;
use super::heap::Heap;
use super::key::{Pid, Xid};
use super::lock_table::LockTable;
use super::owners::Owners;
use super::wal::Sequence;
use crate::domain::{Locks, Message, Nudge};
use crate::lock::PgServers;
use backends::Backend;
use log::Log;
use standby::{Feed, Follows};

/// A PostgreSQL server.
#[derive(Debug)]
pub struct Postgres {
    settings: PgServers,
    /// Whom it follows, if it is a standby.
    follows: Option<Follows>,
    /// Its standby, once that has asked.
    feed: Option<Feed>,
    backends: BTreeMap<Pid, Backend>,
    /// By connection.
    pids: BTreeMap<ConnId, Pid>,
    last_pid: Pid,
    locks: LockTable,
    heap: Heap,
    sequences: BTreeMap<Name, Sequence>,
    next_xid: Xid,
    log: Log,
    owners: Owners,
}

/// The first transaction that a new server numbers: before it are those of `initdb`.
pub const FIRST_XID: Xid = Xid(720);

impl Postgres {
    /// A server that takes writes from the start.
    #[must_use]
    pub fn primary(settings: PgServers) -> Self {
        Self {
            settings,
            follows: None,
            feed: None,
            backends: BTreeMap::new(),
            pids: BTreeMap::new(),
            last_pid: Pid(100),
            locks: LockTable::default(),
            heap: Heap::default(),
            sequences: BTreeMap::new(),
            next_xid: FIRST_XID,
            log: Log::default(),
            owners: Owners::default(),
        }
    }

    /// One that follows that one, until it is promoted.
    #[must_use]
    pub fn standby(settings: PgServers, of: Server<PgRequest>) -> Self {
        Self { follows: Some(Follows::new(of)), ..Self::primary(settings) }
    }

    /// The backend that serves a connection.
    #[must_use]
    pub fn pid(&self, conn: ConnId) -> Option<Pid> {
        self.pids.get(&conn).copied()
    }

    /// Whether it writes nothing.
    const fn is_in_recovery(&self) -> bool {
        self.follows.is_some()
    }

    fn backend(&mut self, pid: Pid) -> &mut Backend {
        self.backends.get_mut(&pid).expect("it is there while it is served")
    }

    /// Those that have got what they waited for go on, and whoever then has, until nobody has.
    fn settle(&mut self, cx: &mut Context<Locks>) {
        while let Some(pid) = self.locks.take_woken() {
            self.resume(cx, pid);
        }
        self.feed(cx);
    }
}

impl Service<Locks> for Postgres {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        let (settings, follows) = (self.settings.clone(), self.follows.take());
        *self = Self { follows: follows.map(|follows| Follows::new(follows.of)), ..Self::primary(settings) };
        self.recover(cx);
        self.follow(cx);
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        match message {
            Message::Pg(request) => self.take_in(cx, from, request),
            Message::PgFromStandby(says) => self.standby_says(cx, from, says),
            // Who speaks something else is hung up on.
            _ => cx.close(from.conn),
        }
        self.settle(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        match timer {
            log::WRITER => self.write_behind(cx),
            standby::SEND => self.send(cx),
            standby::RETRY => self.follow(cx),
            TimerId(backend) => self.on_alarm(cx, Pid(backend)),
        }
        self.settle(cx);
    }

    fn on_stop(&mut self, cx: &mut Context<Locks>) {
        self.shut_down(cx);
        self.checkpoint(cx);
    }

    fn on_nudge(&mut self, cx: &mut Context<Locks>, nudge: Nudge) {
        if nudge == Nudge::Promote {
            self.promote(cx);
        }
        self.settle(cx);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        self.say_what_is_here(cx, conn);
    }

    fn on_push(&mut self, cx: &mut Context<Locks>, conn: ConnId, message: Message) {
        if let Message::PgToStandby(records) = message {
            self.take_records(cx, conn, *records);
        }
        self.settle(cx);
    }

    fn on_close(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if !self.standby_lost(cx, conn) {
            self.client_is_gone(cx, conn);
        }
        self.settle(cx);
    }
}

#[cfg(test)]
mod tests;
