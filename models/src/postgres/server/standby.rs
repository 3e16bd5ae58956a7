//! From a primary to its standby, and how that takes its place.
//!
//! Source: chapter 27 of the documentation of PostgreSQL 15; `walsender.c`, `walreceiver.c`.
//!
//! A standby says how far it has the log, and is sent what follows, as soon as the primary has it on its own disk; it says again when its own
//! has it. It does what the records say, and answers whoever only reads. An operator promotes it: from then on it writes. Its
//! sessions, with their advisory locks, live on. The old primary is not told.

use host::{CallId, ConnId, Context, Deadline, Duration, Origin, Server, TimerId};
use spec::{Cause, Note};

use super::super::PgRequest;
use super::super::wal::{FromStandby, Lsn, ToStandby, Wal};
use super::Postgres;
use super::backends::{Backend, Waits};
use super::log::wal;
use crate::domain::Locks;
use crate::lock::Synchronous;

/// The timer of what waits to be sent.
pub(super) const SEND: TimerId = TimerId(1);
/// The timer of another try to reach the primary.
pub(super) const RETRY: TimerId = TimerId(2);

/// `wal_retrieve_retry_interval`
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// What a standby knows of its primary.
#[derive(Debug)]
pub(super) struct Follows {
    pub(super) of: Server<PgRequest>,
    conn: Option<ConnId>,
}

/// What a primary knows of its standby.
#[derive(Debug)]
pub(super) struct Feed {
    conn: ConnId,
    /// Up to where it was sent the log.
    sent: Lsn,
    /// Up to where its disk has it.
    flushed: Lsn,
    is_awaited: bool,
}

impl Follows {
    pub(super) const fn new(of: Server<PgRequest>) -> Self {
        Self { of, conn: None }
    }
}

/// The standby.
impl Postgres {
    /// Looks for the primary.
    pub(super) fn follow(&mut self, cx: &mut Context<Locks>) {
        if let Some(follows) = &mut self.follows {
            follows.conn = Some(cx.connect(follows.of));
        }
    }

    pub(super) fn say_what_is_here(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if self.follows.as_ref().is_some_and(|follows| follows.conn == Some(conn)) {
            let flushed = self.log.flushed();
            cx.keep_alive(conn, self.settings.keepalive);
            cx.request(conn, CallId::new(0), FromStandby { flushed });
        }
    }

    /// The primary has sent some of its log.
    pub(super) fn take_records(&mut self, cx: &mut Context<Locks>, conn: ConnId, sent: ToStandby) {
        let Some(follows) = self.follows.as_ref().filter(|follows| follows.conn == Some(conn)) else { return };
        let (primary, known) = (follows.of.node(), self.log.flushed());
        if sent.from != known {
            return;
        }
        for mut record in sent.records {
            if let Wal::Checkpoint { sequences, .. } = &mut record {
                sequences.clear();
            }
            self.replay(&record);
            if let Wal::Commit { shadow: Some((_, notes)), .. } = record {
                let authority = cx.node;
                cx.note(Note::Replicated { authority, primary, notes });
            }
            self.log.keep(cx, record);
        }
        cx.disk.sync();
        self.say_what_is_here(cx, conn);
    }

    /// An operator makes it a primary.
    pub(super) fn promote(&mut self, cx: &mut Context<Locks>) {
        let Some(follows) = self.follows.take() else { return };
        if let Some(conn) = follows.conn {
            cx.close(conn);
        }
        cx.cancel_timer(RETRY);
        // `synchronous_standby_names` is for who has standbys: whoever promotes one empties it, or nothing would ever commit there.
        self.settings.synchronous = Synchronous::Local;
        self.write(cx, Wal::Promoted);
        self.flush(cx);
        self.owners.name_again(cx, Cause::Promotion);
        let (authority, instead_of) = (cx.node, follows.of.node());
        cx.note(Note::Promoted { authority, instead_of });
    }

    /// Whether that was between the two servers.
    pub(super) fn standby_lost(&mut self, cx: &mut Context<Locks>, conn: ConnId) -> bool {
        if let Some(follows) = &mut self.follows
            && follows.conn == Some(conn)
        {
            follows.conn = None;
            cx.set_timer(RETRY, Deadline::Mono(cx.mono + RETRY_AFTER));
            return true;
        }
        let was_fed = self.feed.take_if(|feed| feed.conn == conn).is_some();
        let waits = |backend: &Backend| backend.waits_for_standby(Lsn(u64::MAX));
        if was_fed && self.backends.values().any(waits) {
            self.say_if_alone(cx);
        }
        was_fed
    }
}

/// The primary.
impl Postgres {
    /// The standby has so much.
    pub(super) fn standby_says(&mut self, cx: &mut Context<Locks>, from: Origin, says: FromStandby) {
        let FromStandby { flushed } = says;
        match &mut self.feed {
            Some(feed) if feed.conn == from.conn => feed.flushed = flushed,
            feed => {
                *feed = Some(Feed { conn: from.conn, sent: flushed, flushed, is_awaited: false });
                cx.keep_alive(from.conn, self.settings.keepalive);
            }
        }
        cx.reply(from, ToStandby { from: flushed, records: Vec::new() });
        self.those_that_wait(cx, flushed);
    }

    /// Whether the standby's disk has the log up to there.
    pub(super) fn standby_has(&self, lsn: Lsn) -> bool {
        self.feed.as_ref().is_some_and(|feed| feed.flushed >= lsn)
    }

    /// A commit waits for the standby: that none is there, an operator would like to know.
    pub(super) fn say_if_alone(&self, cx: &mut Context<Locks>) {
        if self.feed.is_none() {
            let authority = cx.node;
            cx.note(Note::Unreplicated { authority });
        }
    }

    /// Commits that waited for the standby are done.
    fn those_that_wait(&mut self, cx: &mut Context<Locks>, flushed: Lsn) {
        let done: Vec<_> = self
            .backends
            .iter()
            .filter(|(_, backend)| backend.waits_for_standby(flushed))
            .map(|(pid, _)| *pid)
            .collect();
        for pid in done {
            let Some(running) = self.backend(pid).running.as_mut() else { continue };
            if let Waits::Standby(_, outcome) = std::mem::replace(&mut running.waits, Waits::No) {
                self.has_committed(cx, pid);
                self.answer(cx, pid, Ok(outcome), None);
                self.go_on(cx, pid);
            }
        }
    }

    /// What the disk has and the standby was not sent is sent, at once or when it is due.
    pub(super) fn feed(&mut self, cx: &mut Context<Locks>) {
        let flushed = self.log.flushed();
        let Some(feed) = &mut self.feed else { return };
        if feed.sent >= flushed || feed.is_awaited {
            return;
        }
        let lag = self.settings.lag.sample(|| cx.random());
        if lag == Duration::ZERO {
            self.send(cx);
        } else {
            feed.is_awaited = true;
            cx.set_timer(SEND, Deadline::Mono(cx.mono + lag));
        }
    }

    pub(super) fn send(&mut self, cx: &mut Context<Locks>) {
        let flushed = self.log.flushed();
        let Some(feed) = &mut self.feed else { return };
        feed.is_awaited = false;
        let first = usize::try_from(feed.sent.0).unwrap_or(usize::MAX);
        let records: Vec<Wal> = cx.disk.records().iter().filter_map(wal).skip(first).cloned().collect();
        let from = feed.sent;
        feed.sent = flushed;
        if !records.is_empty() {
            cx.push(feed.conn, ToStandby { from, records });
        }
    }
}

impl Backend {
    fn waits_for_standby(&self, flushed: Lsn) -> bool {
        self.running.as_ref().is_some_and(|running| matches!(running.waits, Waits::Standby(lsn, _) if lsn <= flushed))
    }
}
