//! The primary's side: whom it feeds, how far they are, and whether they are enough to write.

use std::collections::{BTreeMap, VecDeque};

use host::{ConnId, Context, Deadline, MonoTime, NodeId, Span};

use super::feed::{Feed, History, Streamed, ToReplica, What};
use super::{OUTPUT, Replication, TIMEOUT_SECONDS, unixtime};
use crate::domain::Locks;
use crate::redis::Key;
use crate::redis::keyspace::Keyspace;

/// The replicas that a server feeds.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(in crate::redis) struct Feeds {
    by_connection: BTreeMap<ConnId, Fed>,
    /// How many were good when that was last looked at: once a second, and when one comes.
    good: usize,
    /// How often it has been looked at.
    looks: u64,
}

/// One replica, as its primary sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Fed {
    replica: NodeId,
    state: State,
    /// The offset of its last acknowledgement, and the second of the wall clock in which that came.
    acked: u64,
    acked_at: i64,
    /// What waits in the output buffer, and when it leaves.
    output: VecDeque<(MonoTime, Feed)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// It waits for a snapshot, since that second of the wall clock.
    Waits(i64),
    /// It was sent one, and has not acknowledged anything yet.
    Loads,
    Online,
}

impl Feeds {
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.by_connection.remove(&conn);
    }

    /// Ends all connections to replicas.
    pub(super) fn disconnect(&mut self, cx: &mut Context<Locks>) {
        for conn in std::mem::take(&mut self.by_connection).into_keys() {
            cx.close(conn);
        }
    }

    pub(super) fn feeds(&self, conn: ConnId) -> bool {
        self.by_connection.contains_key(&conn)
    }

    /// Sends something to everybody who gets the stream.
    pub(super) fn send(&mut self, cx: &mut Context<Locks>, lag: Span, feed: &Feed) {
        for (conn, fed) in &mut self.by_connection {
            if !matches!(fed.state, State::Waits(_)) {
                fed.put(cx, *conn, lag, feed.clone());
            }
        }
        self.await_output(cx);
    }

    /// What has waited in the output buffer for long enough leaves.
    pub(in crate::redis) fn flush(&mut self, cx: &mut Context<Locks>) {
        for (conn, fed) in &mut self.by_connection {
            while let Some((_, feed)) = fed.output.pop_front_if(|(at, _)| *at <= cx.mono) {
                cx.push(*conn, ToReplica(feed));
            }
        }
        self.await_output(cx);
    }

    fn await_output(&self, cx: &mut Context<Locks>) {
        if let Some(next) = self.by_connection.values().filter_map(|fed| Some(fed.output.front()?.0)).min() {
            cx.set_timer(OUTPUT, Deadline::Mono(next));
        }
    }

    /// How many replicas have acknowledged that much.
    pub(super) fn acked(&self, offset: u64) -> usize {
        self.by_connection.values().filter(|fed| fed.state == State::Online && fed.acked >= offset).count()
    }

    /// The nodes of all replicas, in the order in which they came.
    pub(super) fn replicas(&self) -> Vec<NodeId> {
        self.by_connection.values().map(|fed| fed.replica).collect()
    }

    fn count_good(&mut self, now: i64, max_lag: i64) {
        let is_good = |fed: &&Fed| fed.state == State::Online && now - fed.acked_at <= max_lag;
        self.good = self.by_connection.values().filter(is_good).count();
    }
}

impl Fed {
    fn put(&mut self, cx: &mut Context<Locks>, conn: ConnId, lag: Span, feed: Feed) {
        let leaves = cx.mono + lag.sample(|| cx.random());
        let leaves = self.output.back().map_or(leaves, |(before, _)| leaves.max(*before));
        if leaves <= cx.mono {
            cx.push(conn, ToReplica(feed));
        } else {
            self.output.push_back((leaves, feed));
        }
    }
}

impl Replication {
    /// `PSYNC`: a replica wants the stream, and has that much of that history.
    pub(in crate::redis) fn attach(
        &mut self,
        cx: &mut Context<Locks>,
        conn: ConnId,
        replica: NodeId,
        (history, offset): (History, u64),
    ) {
        let now = unixtime(cx);
        let is_own = history == self.history;
        let was_own = self.former.is_some_and(|(former, up_to)| former == history && offset <= up_to);
        let goes_on = (is_own || was_own) && (self.backlog_from..=self.offset).contains(&offset);
        let state = if goes_on { State::Online } else { State::Waits(now) };
        let mut fed = Fed { replica, state, acked: 0, acked_at: now, output: VecDeque::new() };
        if goes_on {
            fed.put(cx, conn, self.settings.lag, Feed::Continue(self.history));
            for streamed in self.backlog.iter().filter(|streamed| streamed.offset > offset) {
                fed.put(cx, conn, self.settings.lag, Feed::Next(streamed.clone()));
            }
        }
        self.clients.remove(&conn);
        self.feeds.by_connection.insert(conn, fed);
        self.feeds.await_output(cx);
        self.feeds.count_good(now, self.max_lag());
    }

    /// `REPLCONF ACK`: a replica says how far it is.
    pub(in crate::redis) fn acknowledge(&mut self, cx: &Context<Locks>, conn: ConnId, offset: u64) {
        let Some(fed) = self.feeds.by_connection.get_mut(&conn) else { return };
        (fed.acked, fed.acked_at) = (fed.acked.max(offset), unixtime(cx));
        if fed.state == State::Loads {
            fed.state = State::Online;
            self.feeds.count_good(unixtime(cx), self.max_lag());
        }
    }

    /// What the current step has changed is streamed.
    pub(in crate::redis) fn propagate(&mut self, cx: &mut Context<Locks>, keys: &Keyspace) {
        if self.changed.is_empty() {
            return;
        }
        let now = |key: Key| (key, keys.get(&key).cloned());
        let changes = std::mem::take(&mut self.changed).into_iter().map(now).collect();
        self.stream_next(cx, What::Changes(changes));
    }

    pub(super) fn stream_next(&mut self, cx: &mut Context<Locks>, what: What) {
        let streamed = Streamed { offset: self.offset + 1, what, owner_notes: self.owner_notes };
        self.stream(cx, streamed);
    }

    /// What has to be done for replicas once a second.
    pub(super) fn attend_to_replicas(&mut self, cx: &mut Context<Locks>, keys: &Keyspace) {
        let now = unixtime(cx);
        self.feeds.looks += 1;
        // A replica has pings of its primary's to pass on.
        if !self.is_replica() && self.feeds.looks.is_multiple_of(PING_EVERY) && !self.feeds.by_connection.is_empty() {
            self.stream_next(cx, What::Ping);
        }
        let is_lost = |fed: &Fed| fed.state == State::Online && now - fed.acked_at > TIMEOUT_SECONDS;
        for (conn, _) in self.feeds.by_connection.extract_if(.., |_, fed| is_lost(fed)) {
            cx.close(conn);
        }
        let waits = |fed: &Fed| match fed.state {
            State::Waits(since) => Some(now - since),
            State::Loads | State::Online => None,
        };
        // One snapshot is for all who wait: it is put off, so that others may come.
        if self.feeds.by_connection.values().filter_map(waits).max().is_some_and(|longest| longest >= SYNC_DELAY) {
            let whole = Feed::Whole(self.history, self.offset, keys.all(), self.owner_notes);
            let lag = self.settings.lag;
            for (conn, fed) in self.feeds.by_connection.iter_mut().filter(|(_, fed)| waits(fed).is_some()) {
                fed.state = State::Loads;
                fed.put(cx, *conn, lag, whole.clone());
            }
            self.feeds.await_output(cx);
        }
        self.feeds.count_good(now, self.max_lag());
    }

    /// Whether there are too few good replicas to write.
    pub(in crate::redis) fn lacks_replicas(&self) -> bool {
        !self.is_replica() && self.feeds.good < usize::from(self.settings.min_replicas)
    }

    fn max_lag(&self) -> i64 {
        i64::try_from(self.settings.max_lag.as_secs()).unwrap_or(i64::MAX)
    }
}

/// `repl-ping-replica-period`, in runs of the cron: 10 s.
const PING_EVERY: u64 = 10;
/// `repl-diskless-sync-delay`: how many seconds of the wall clock a replica waits for its snapshot at least.
const SYNC_DELAY: i64 = 5;
