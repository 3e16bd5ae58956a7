//! One Redis server: a thread that runs one command after another.
//!
//! Sources: the Redis 7.0.15 source (`t_string.c`, `expire.c`, `db.c`) and what such a server answers.
//!
//! * **Clock.** A time to live becomes an absolute deadline on the *wall* clock, in whole ms, so that a
//!   step of the clock moves every deadline at once. The clock is read once for a command or a script. What
//!   many have asked for, and no Redis does, is [`TtlClock::Monotonic`].
//! * **Expiry.** A key is there while `now <= deadline`. It is taken away by the next command that
//!   touches it. Redis also looks for expired keys by itself, ten times a second, and finds most of them;
//!   here the keys of locks, and only those, are found at once, by a timer on the wall clock. No command
//!   can tell the difference, but the history can: what has expired is owned no more.
//! * **Persistence.** As it is told: nothing, snapshots, a log (see `persist`). A server that keeps snapshots has the
//!   save points of the default configuration: on a machine whose disk cannot be written it refuses to write
//!   (`MISCONF`).
//! * **Memory.** No policy of eviction: on a machine that is short of memory the server refuses to grow
//!   (`OOM`). What it evicts, a fault evicts.
//!
//! One of several servers is more than this: see [`replication`](super::replication).
//!
//! Not modelled: blocking commands other than `WAIT`, types other than strings, hashes, lists and sorted sets,
//! conditions of `EXPIRE` in pairs, the interpreter of scripts.

use host::{ConnId, Context, Deadline, MonoTime, Origin, Service, TimerId, WallTime};

use super::Reply;
use super::channels::Channels;
use super::execute::Step;
use super::keyspace::Keyspace;
use super::persist::{FLUSH, Log};
use super::replication::{Replicates, Replication};
use super::transaction::Transactions;
use crate::domain::{Locks, Message, Nudge};
use crate::lock::{RedisServer, TtlClock};

/// A Redis server.
///
/// # Who owns a key
///
/// The history is told who owns a lock's key; no reply depends on it. A key that `SET` writes, alone or in a
/// script, is owned by the attempt that asked for it, and so is the hash that a lock's script counts in. A key
/// that is deleted, evicted or found expired is nobody's. A renewal changes no owner: the history is told whose lease it was that was
/// extended, whoever asked. A key that no attempt has set is not mentioned.
///
/// A key that expires is mentioned when it does; late, if the process stands still then, and never, if
/// it is dead.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Redis {
    clock: TtlClock,
    pub(super) keys: Keyspace,
    pub(super) transactions: Transactions,
    channels: Channels,
    pub(super) log: Log,
    /// The deadline of the lock that expires next, as the timer is set.
    next_expiry: Option<i64>,
    /// Its part among several servers, if it is not alone.
    pub(super) replication: Option<Box<Replication>>,
}

impl Service<Locks> for Redis {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        let settings =
            RedisServer { ttl_clock: self.clock, persistence: self.log.persistence, ..RedisServer::default() };
        *self = Self { replication: self.replication.take(), ..Self::new(settings) };
        self.load(cx);
        if let Some(replication) = &mut self.replication {
            replication.start(cx);
        }
        self.end_step(cx);
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Redis(command) = message else { panic!("not a Redis command: {message:?}") };
        if self.replication.is_some() {
            self.take_in(cx, from, command);
        } else {
            let reply = self.step(cx).serve(from.conn, command).unwrap_or_else(Reply::Error);
            cx.reply(from, reply);
        }
        self.end_step(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        match timer {
            FLUSH => return self.flush(cx),
            EXPIRY => {}
            other => return self.on_replication_timer(cx, other),
        }
        let mut step = self.step(cx);
        // Whichever key expires next, it is gone if it has expired, and if a step has taken the clock
        // back since, it is not.
        while let Some(key) = step.keys.expired_lock(step.now) {
            step.live(&key);
        }
        self.next_expiry = None;
        self.come_to_rest(cx);
        self.keep(cx);
    }

    fn on_stop(&mut self, cx: &mut Context<Locks>) {
        self.keep_all(cx);
    }

    fn on_nudge(&mut self, cx: &mut Context<Locks>, nudge: Nudge) {
        match nudge {
            Nudge::Evict(key) => self.step(cx).evict(&key),
            Nudge::Promote => self.step(cx).promote(),
        }
        self.come_to_rest(cx);
        self.keep(cx);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if let Some(replication) = &mut self.replication {
            replication.opened(cx, conn);
        }
    }

    fn on_push(&mut self, cx: &mut Context<Locks>, conn: ConnId, message: Message) {
        let (Message::Feed(feed), Some(replication)) = (message, &mut self.replication) else { return };
        replication.take_in(cx, (&mut self.keys, &mut self.transactions), conn, *feed);
    }

    fn on_close(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        self.transactions.forget(conn);
        self.channels.forget(conn);
        if let Some(replication) = &mut self.replication {
            replication.forget(cx, conn);
        }
    }
}

impl Redis {
    /// A server without keys, set so.
    #[must_use]
    pub fn new(settings: RedisServer) -> Self {
        Self { clock: settings.ttl_clock, log: Log::new(settings.persistence), ..Self::default() }
    }

    /// One of several servers, primary or replica. It keeps no keys on its disk.
    #[must_use]
    pub fn replicated(settings: Replicates) -> Self {
        Self { replication: Some(Box::new(Replication::new(settings))), ..Self::default() }
    }

    /// What every step ends with.
    fn end_step(&mut self, cx: &mut Context<Locks>) {
        self.await_expiry(cx);
        self.keep(cx);
    }

    pub(super) fn step<'a>(&'a mut self, cx: &'a mut Context<Locks>) -> Step<'a> {
        let wall = cx.wall.millis();
        let now = match self.clock {
            TtlClock::Wall => wall,
            TtlClock::Monotonic => i64::try_from(cx.mono.as_nanos() / NANOS).unwrap_or(i64::MAX),
        };
        let Self { keys, transactions, channels, log, replication, .. } = self;
        let replication = replication.as_deref_mut();
        Step { keys, transactions, channels, log, cx, now, wall, replication, asking: None }
    }

    /// Sets the timer for the next lock that expires.
    pub(super) fn await_expiry(&mut self, cx: &mut Context<Locks>) {
        // A replica waits to be told.
        let is_replica = self.replication.as_ref().is_some_and(|replication| replication.is_replica());
        let next = if is_replica { None } else { self.keys.next_expiry() };
        if next == self.next_expiry {
            return;
        }
        self.next_expiry = next;
        // It is there through the whole millisecond of its deadline.
        match next.map(|when| when.saturating_add(1)) {
            Some(gone) => cx.set_timer(EXPIRY, deadline(self.clock, gone)),
            None => cx.cancel_timer(EXPIRY),
        }
    }
}

/// When that clock reads so many ms.
fn deadline(clock: TtlClock, millis: i64) -> Deadline {
    match clock {
        TtlClock::Wall => Deadline::Wall(WallTime::from_millis(millis)),
        TtlClock::Monotonic => {
            let millis = u64::try_from(millis).unwrap_or(0);
            Deadline::Mono(MonoTime::from_nanos(millis.saturating_mul(NANOS)))
        }
    }
}

/// Of a millisecond.
const NANOS: u64 = 1_000_000;

/// The timer of the locks that expire.
const EXPIRY: TimerId = TimerId(0);

#[cfg(test)]
mod tests;
