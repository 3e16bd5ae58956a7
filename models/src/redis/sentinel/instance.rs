//! What a Sentinel knows of one server, and its connection to it. Times are ms of the Sentinel's wall clock.

use host::{CallId, ConnId, Context, NodeId, Server};

use super::ask::Ask;
use super::{MAX_PENDING, PING};
use crate::domain::{Locks, Message};
use crate::redis::Command;
use crate::redis::replication::{Info, Link as MasterLink, Role};

/// What a server is to a Sentinel.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Kind {
    Primary,
    Replica,
    Sentinel,
}

/// What a Sentinel knows of one server.
#[derive(Debug)]
pub(super) struct Instance {
    pub(super) kind: Kind,
    pub(super) node: NodeId,
    pub(super) link: Link,
    /// When its last `INFO` came.
    pub(super) info_at: Option<i64>,
    /// When the last hello was sent to it.
    pub(super) hello_at: i64,
    /// Subjectively down, and when it last became that.
    pub(super) is_down: bool,
    pub(super) down_since: Option<i64>,
    /// What it says it is, and since when it says so.
    pub(super) says_primary: bool,
    pub(super) role_since: i64,
    pub(super) replica: ReplicaInfo,
    /// Of a replica during a failover.
    pub(super) reconf: Reconf,
    /// Of another Sentinel: what it thinks of the primary, and when it said so.
    pub(super) finds_primary_down: bool,
    pub(super) vote: Option<(NodeId, u64)>,
    pub(super) opinion_at: i64,
}

/// What a replica says in its `INFO`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReplicaInfo {
    pub(super) of: Option<NodeId>,
    pub(super) of_since: i64,
    pub(super) link_up: bool,
    /// For how long its link to the primary has been down, in ms.
    pub(super) link_down_for: i64,
    pub(super) offset: u64,
    /// `run_id`
    pub(super) run: u64,
}

/// How far a replica is that is to follow another primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Reconf {
    /// It has not been told.
    No,
    /// It was told, then.
    Sent(i64),
    /// It says so itself.
    InProgress,
    /// It is in touch with it.
    Done,
}

impl Instance {
    /// `createSentinelRedisInstance`
    pub(super) const fn new(kind: Kind, node: NodeId, now: i64) -> Self {
        Self {
            kind,
            node,
            link: Link::new(now),
            info_at: None,
            hello_at: now,
            is_down: false,
            down_since: None,
            says_primary: matches!(kind, Kind::Primary),
            role_since: now,
            replica: ReplicaInfo { of: None, of_since: now, link_up: false, link_down_for: 0, offset: 0, run: 0 },
            reconf: Reconf::No,
            finds_primary_down: false,
            vote: None,
            opinion_at: now,
        }
    }

    /// `sentinelRedisInstanceNoDownFor`
    pub(super) fn not_down_for(&self, now: i64, time: i64) -> bool {
        self.down_since.is_none_or(|since| now - since > time)
    }

    /// Another Sentinel has said what it thinks.
    pub(super) const fn take_opinion(&mut self, now: i64, down: bool, vote: Option<(NodeId, u64)>) {
        self.opinion_at = now;
        self.finds_primary_down = down;
        if vote.is_some() {
            self.vote = vote;
        }
    }

    /// The lines of an `INFO`, as far as they are about the server itself.
    pub(super) fn read_info(&mut self, now: i64, info: &Info) {
        self.info_at = Some(now);
        let old = self.replica.of;
        self.replica.link_down_for = 0;
        (self.replica.offset, self.replica.run) = (info.offset, info.run);
        let says_primary = match &info.role {
            Role::Primary { .. } => true,
            Role::Replica { of, link } => {
                self.replica.of = Some(*of);
                if old != Some(*of) {
                    self.replica.of_since = now;
                }
                self.replica.link_up = *link == MasterLink::Up;
                if let MasterLink::Down { since } = link {
                    self.replica.link_down_for = i64::try_from(since.as_millis()).unwrap_or(i64::MAX);
                }
                false
            }
        };
        if says_primary != self.says_primary {
            (self.says_primary, self.role_since) = (says_primary, now);
            if !says_primary {
                self.replica.of_since = now;
            }
        }
    }
}

/// A Sentinel's connection to a server. Requests may be sent before it is open: they leave when it is.
#[derive(Debug)]
pub(super) struct Link {
    conn: Option<ConnId>,
    is_open: bool,
    unsent: Vec<(CallId, Message)>,
    pending: u32,
    /// When it was last opened.
    pub(super) opened_at: i64,
    reconnected_at: Option<i64>,
    /// When the oldest ping without an answer was sent.
    pub(super) unanswered_since: Option<i64>,
    pub(super) pinged_at: Option<i64>,
    /// When it last answered as a server in service does, and at all.
    pub(super) available_at: i64,
    pub(super) pong_at: i64,
}

impl Link {
    /// `createInstanceLink`: as if a ping had been sent just now, in case nothing is ever heard.
    const fn new(now: i64) -> Self {
        Self {
            conn: None,
            is_open: false,
            unsent: Vec::new(),
            pending: 0,
            opened_at: now,
            reconnected_at: None,
            unanswered_since: Some(now),
            pinged_at: None,
            available_at: now,
            pong_at: now,
        }
    }

    pub(super) fn is_on(&self, conn: ConnId) -> bool {
        self.conn == Some(conn)
    }

    pub(super) const fn is_connected(&self) -> bool {
        self.conn.is_some()
    }

    pub(super) const fn is_congested(&self) -> bool {
        self.pending >= MAX_PENDING
    }

    /// `sentinelReconnectInstance`
    pub(super) fn reconnect(&mut self, cx: &mut Context<Locks>, node: NodeId, kind: Kind, period: i64) {
        let now = super::now(cx);
        if self.conn.is_some() || self.reconnected_at.is_some_and(|at| now - at < period) {
            return;
        }
        (self.reconnected_at, self.opened_at) = (Some(now), now);
        self.conn = Some(cx.connect::<Command>(Server::on(node)));
        (self.is_open, self.pending) = (false, 0);
        self.unsent.clear();
        self.ping(cx, kind);
    }

    pub(super) fn close(&mut self, cx: &mut Context<Locks>) {
        if let Some(conn) = self.conn {
            cx.close(conn);
        }
        self.lost();
    }

    pub(super) fn lost(&mut self) {
        self.conn = None;
        self.is_open = false;
        self.unsent.clear();
    }

    pub(super) fn opened(&mut self, cx: &mut Context<Locks>) {
        self.is_open = true;
        if let Some(conn) = self.conn {
            for (call, message) in std::mem::take(&mut self.unsent) {
                cx.request(conn, call, message);
            }
        }
    }

    pub(super) fn send(&mut self, cx: &mut Context<Locks>, call: CallId, message: impl Into<Message>) {
        let Some(conn) = self.conn else { return };
        self.pending += 1;
        if self.is_open {
            cx.request(conn, call, message);
        } else {
            self.unsent.push((call, message.into()));
        }
    }

    /// `sentinelSendPing`
    pub(super) fn ping(&mut self, cx: &mut Context<Locks>, kind: Kind) {
        match kind {
            Kind::Primary | Kind::Replica => self.send(cx, PING, Command::Ping),
            Kind::Sentinel => self.send(cx, PING, Ask::Ping),
        }
        let now = super::now(cx);
        self.pinged_at = Some(now);
        self.unanswered_since.get_or_insert(now);
    }

    pub(super) const fn answered(&mut self) {
        self.pending = self.pending.saturating_sub(1);
    }

    pub(super) const fn heard_pong(&mut self, now: i64) {
        (self.available_at, self.pong_at, self.unanswered_since) = (now, now, None);
    }
}
