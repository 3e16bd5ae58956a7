//! `WAIT`: a client waits until replicas have what it wrote.
//!
//! Source: `replication.c` (`waitCommand`, `processClientsWaitingReplicas`) and `timeout.c` of Redis 7.0.15. What is
//! waited for is that replicas have *received*, in memory. A timeout takes nothing back, and other clients go on as if
//! nobody waited. The timeout is an instant of the *wall* clock: a step of the clock ends it early, or late.

use std::collections::{BTreeMap, VecDeque};

use host::{AttemptId, ConnId, Context, Deadline, Origin, WallTime};

use super::feed::What;
use super::{Replication, WAITING};
use crate::domain::Locks;
use crate::redis::{Command, RedisError, Reply};

/// Clients that wait for replicas. Nothing else on their connections is looked at meanwhile.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::redis) struct Waits {
    by_connection: BTreeMap<ConnId, Waiter>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Waiter {
    from: Origin,
    /// The offset that replicas are to have.
    offset: u64,
    replicas: usize,
    /// When the wall clock reads so many ms, it is enough. `None`: never.
    until: Option<i64>,
    /// What has come on the connection since.
    queue: VecDeque<Queued>,
}

/// A request that waits its turn.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::redis) struct Queued {
    pub(in crate::redis) from: Origin,
    pub(in crate::redis) attempt: Option<AttemptId>,
    pub(in crate::redis) command: Command,
}

impl Waits {
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.by_connection.remove(&conn);
    }

    /// If the connection waits, the request does too; else it is given back.
    pub(in crate::redis) fn queue(&mut self, queued: Queued) -> Option<Queued> {
        match self.by_connection.get_mut(&queued.from.conn) {
            Some(waiter) => {
                waiter.queue.push_back(queued);
                None
            }
            None => Some(queued),
        }
    }

    /// The server has changed its role: who waits is told so, and his connection ends.
    pub(super) fn send_away(&mut self, cx: &mut Context<Locks>) {
        for (conn, waiter) in std::mem::take(&mut self.by_connection) {
            cx.reply(waiter.from, Reply::Error(RedisError::Unblocked));
            cx.close(conn);
        }
        cx.cancel_timer(WAITING);
    }

    fn await_timeout(&self, cx: &mut Context<Locks>) {
        match self.by_connection.values().filter_map(|waiter| waiter.until).min() {
            Some(until) => cx.set_timer(WAITING, Deadline::Wall(WallTime::from_millis(until))),
            None => cx.cancel_timer(WAITING),
        }
    }
}

impl Replication {
    /// The offset behind what that client has asked for.
    fn offset_of(&self, conn: ConnId) -> u64 {
        self.clients.get(&conn).copied().unwrap_or(0)
    }

    /// How many replicas have all that the client has asked for: what `WAIT` answers at once in a transaction.
    pub(in crate::redis) fn acked(&self, conn: ConnId) -> Reply {
        count(self.feeds.acked(self.offset_of(conn)))
    }

    /// `WAIT replicas timeout`: the answer, if there is one already.
    pub(in crate::redis) fn wait(
        &mut self,
        cx: &mut Context<Locks>,
        from: Origin,
        replicas: i64,
        timeout: i64,
    ) -> Option<Reply> {
        if self.is_replica() {
            return Some(Reply::Error(RedisError::WaitOnReplica));
        }
        if timeout < 0 {
            return Some(Reply::Error(RedisError::NegativeTimeout));
        }
        let offset = self.offset_of(from.conn);
        let acked = self.feeds.acked(offset);
        // Less than none is as good as none.
        let replicas = usize::try_from(replicas).unwrap_or(0);
        if acked >= replicas {
            return Some(count(acked));
        }
        let until = (timeout > 0).then(|| cx.wall.millis().saturating_add(timeout));
        self.waits.by_connection.insert(from.conn, Waiter { from, offset, replicas, until, queue: VecDeque::new() });
        self.waits.await_timeout(cx);
        self.stream_next(cx, What::AckWanted);
        None
    }

    /// Answers those who have waited for long enough: what has come on their connections meanwhile is to be looked
    /// at now.
    pub(in crate::redis) fn end_waits(&mut self, cx: &mut Context<Locks>) -> Vec<Queued> {
        if self.waits.by_connection.is_empty() {
            return Vec::new();
        }
        let now = cx.wall.millis();
        let feeds = &self.feeds;
        let is_over = |waiter: &Waiter| {
            feeds.acked(waiter.offset) >= waiter.replicas || waiter.until.is_some_and(|until| now >= until)
        };
        let mut queued = Vec::new();
        for (_, waiter) in self.waits.by_connection.extract_if(.., |_, waiter| is_over(waiter)) {
            cx.reply(waiter.from, count(feeds.acked(waiter.offset)));
            queued.extend(waiter.queue);
        }
        self.waits.await_timeout(cx);
        queued
    }
}

fn count(replicas: usize) -> Reply {
    Reply::Int(i64::try_from(replicas).unwrap_or(i64::MAX))
}
