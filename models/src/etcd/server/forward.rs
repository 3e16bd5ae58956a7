//! What followers have the leader answer, beside the log: keeping leases alive, and how long they have.
//!
//! Source: `LeaseRenew` and `waitLeader` in `etcdserver/v3_server.go`, `lease/leasehttp` of etcd 3.4.23.
//!
//! Whoever was asked and does not answer is waited for, whoever leads by then: a client whose member has asked a leader that
//! stands still can keep nothing alive for 7 s (seen on real servers: `worlds/live/tests/etcd/times.rs`). What comes later
//! goes to the new leader.
//!
//! Departures: who finds no leader, or one that is none any more, asks again after a tick or when it hears of a new one;
//! etcd asks at once, over and over, or waits for an election timeout.

use host::{CallId, ConnId, Context, Deadline, NodeId, Origin, Server, digest_enum};

use super::{AGAIN, Etcd, Overdue, TICK};
use crate::domain::Locks;
use crate::etcd::{EtcdError, LeaseId, Reply};

/// What a member asks of the leader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Forwarded {
    /// Keep a lease alive.
    KeepAlive {
        /// Which.
        id: LeaseId,
    },
    /// Say how long it has.
    TimeToLive {
        /// Which.
        id: LeaseId,
        /// Whether its keys are to be named.
        keys: bool,
    },
}

digest_enum!(Forwarded { 1 => KeepAlive { id }, 2 => TimeToLive { id, keys } });

impl std::fmt::Display for Forwarded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::KeepAlive { id } => write!(f, "keep {id:?} alive, for another member"),
            Self::TimeToLive { id, .. } => write!(f, "time to live of {id:?}, for another member"),
        }
    }
}

/// What is on its way to the leader.
#[derive(Default, Debug)]
pub(super) struct Forwards {
    /// In the order in which it came.
    open: Vec<Open>,
    /// To who leads, and to those who did and still owe an answer.
    ways: Vec<Way>,
    /// Who is taken for the leader.
    leader: Option<NodeId>,
    /// The number of the next.
    next: u32,
}

/// A question that is not answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    call: CallId,
    /// Who waits for it.
    pub(super) from: Origin,
    what: Forwarded,
    /// On which connection it was asked, if it was.
    sent: Option<ConnId>,
}

impl Open {
    /// Whether somebody was asked, who owes an answer.
    pub(super) const fn is_sent(&self) -> bool {
        self.sent.is_some()
    }
}

/// The connection to who is taken for the leader, or was.
#[derive(Clone, Copy, Debug)]
struct Way {
    leader: NodeId,
    conn: ConnId,
    is_open: bool,
}

impl Forwards {
    /// That question is open no more.
    pub(super) fn take(&mut self, call: CallId) -> Option<Open> {
        let place = self.open.iter().position(|open| open.call == call)?;
        Some(self.open.remove(place))
    }

    /// The connection is there.
    pub(super) fn opened(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if let Some(way) = self.ways.iter_mut().find(|way| way.conn == conn) {
            way.is_open = true;
            self.send(cx);
        }
    }

    /// Whether a way to a leader is gone, and something is to be asked again.
    pub(super) fn lost(&mut self, conn: ConnId) -> bool {
        let Some(place) = self.ways.iter().position(|way| way.conn == conn) else { return false };
        self.ways.remove(place);
        self.open.iter_mut().filter(|open| open.sent == Some(conn)).for_each(|open| open.sent = None);
        self.open.iter().any(|open| !open.is_sent())
    }

    /// That one leads now. Whoever did and owes nothing is left.
    fn turn_to(&mut self, cx: &mut Context<Locks>, leader: NodeId) {
        self.leader = Some(leader);
        let Self { open, ways, .. } = self;
        ways.retain(|way| {
            let stays = way.leader == leader || open.iter().any(|open| open.sent == Some(way.conn));
            if !stays {
                cx.close(way.conn);
            }
            stays
        });
        if ways.iter().all(|way| way.leader != leader) {
            let conn = cx.connect(Server::<crate::etcd::Rpc>::on(leader));
            ways.push(Way { leader, conn, is_open: false });
        }
    }

    fn send(&mut self, cx: &mut Context<Locks>) {
        let leads = |way: &&Way| Some(way.leader) == self.leader && way.is_open;
        let Some(Way { conn, .. }) = self.ways.iter().find(leads).copied() else { return };
        for open in self.open.iter_mut().filter(|open| !open.is_sent()) {
            open.sent = Some(conn);
            cx.request(conn, open.call, open.what);
        }
    }
}

impl Etcd {
    /// Has the leader answer.
    pub(super) fn forward(&mut self, cx: &mut Context<Locks>, from: Origin, what: Forwarded) {
        let call = CallId::new(self.forwards.next);
        self.forwards.next += 1;
        self.forwards.open.push(Open { call, from, what, sent: None });
        self.wait(cx, Overdue::Forward(call));
        self.forward_again(cx);
    }

    /// Asks who leads now what nobody was asked.
    pub(super) fn forward_again(&mut self, cx: &mut Context<Locks>) {
        if self.forwards.open.iter().all(Open::is_sent) {
            return;
        }
        if self.lessor.leads() {
            // It is the leader itself by now.
            let (own, others): (Vec<_>, Vec<_>) =
                std::mem::take(&mut self.forwards.open).into_iter().partition(|open| !open.is_sent());
            self.forwards.open = others;
            for Open { from, what, .. } in own {
                match what {
                    Forwarded::KeepAlive { id } => self.keep_alive(cx, from, id),
                    Forwarded::TimeToLive { id, keys } => self.time_to_live(cx, from, id, keys),
                }
            }
            return;
        }
        // A new leader counts no leases before it has applied all there was.
        let Some(leader) = self.member.leader().filter(|leader| *leader != cx.node) else {
            cx.set_timer(AGAIN, Deadline::Mono(cx.mono + TICK));
            return;
        };
        self.forwards.turn_to(cx, leader);
        self.forwards.send(cx);
    }

    /// The leader, or who was taken for it, answers.
    pub(super) fn leader_answers(&mut self, cx: &mut Context<Locks>, call: CallId, reply: Reply) {
        if reply == Reply::Failed(EtcdError::NoLeader) {
            // It leads no more.
            if let Some(open) = self.forwards.open.iter_mut().find(|open| open.call == call) {
                open.sent = None;
            }
            cx.set_timer(AGAIN, Deadline::Mono(cx.mono + TICK));
        } else if let Some(open) = self.forwards.take(call) {
            cx.reply(open.from, reply);
        }
    }
}
