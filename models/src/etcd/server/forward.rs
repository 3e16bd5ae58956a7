//! What followers have the leader answer, beside the log: keeping leases alive, and how long they have.
//!
//! Source: `LeaseRenew` and `waitLeader` in `etcdserver/v3_server.go`, `lease/leasehttp` of etcd 3.4.23.
//!
//! Departures: who finds no leader, or one that is none any more, asks again after a tick or when it hears of a new one;
//! etcd asks at once, over and over, or waits for an election timeout. And who has asked a leader that stands still asks
//! the new one as soon as it hears of it; etcd waits 7 s for the old one, whoever leads by then, and a client whom it serves
//! can keep nothing alive meanwhile (seen on real servers: `worlds/live/tests/etcd/times.rs`).

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
    way: Option<Way>,
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
    is_sent: bool,
}

/// The connection to who is taken for the leader.
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
        if let Some(way) = self.way.as_mut().filter(|way| way.conn == conn) {
            way.is_open = true;
            self.send(cx);
        }
    }

    /// Whether it was the way to the leader that is gone, and something is to be asked again.
    pub(super) fn lost(&mut self, conn: ConnId) -> bool {
        if self.way.take_if(|way| way.conn == conn).is_none() {
            return false;
        }
        self.open.iter_mut().for_each(|open| open.is_sent = false);
        !self.open.is_empty()
    }

    fn send(&mut self, cx: &mut Context<Locks>) {
        let Some(way) = self.way.filter(|way| way.is_open) else { return };
        for open in self.open.iter_mut().filter(|open| !open.is_sent) {
            open.is_sent = true;
            cx.request(way.conn, open.call, open.what);
        }
    }
}

impl Etcd {
    /// Has the leader answer.
    pub(super) fn forward(&mut self, cx: &mut Context<Locks>, from: Origin, what: Forwarded) {
        let call = CallId::new(self.forwards.next);
        self.forwards.next += 1;
        self.forwards.open.push(Open { call, from, what, is_sent: false });
        self.wait(cx, Overdue::Forward(call));
        self.forward_again(cx);
    }

    /// Asks who leads now what is open.
    pub(super) fn forward_again(&mut self, cx: &mut Context<Locks>) {
        if self.forwards.open.is_empty() {
            return;
        }
        if self.lessor.leads() {
            // It is the leader itself by now.
            for Open { from, what, .. } in std::mem::take(&mut self.forwards.open) {
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
        if self.forwards.way.is_none_or(|way| way.leader != leader) {
            if let Some(old) = self.forwards.way.take() {
                cx.close(old.conn);
            }
            self.forwards.open.iter_mut().for_each(|open| open.is_sent = false);
            let conn = cx.connect(Server::<super::Rpc>::on(leader));
            self.forwards.way = Some(Way { leader, conn, is_open: false });
        }
        self.forwards.send(cx);
    }

    /// The leader, or who was taken for it, answers.
    pub(super) fn leader_answers(&mut self, cx: &mut Context<Locks>, call: CallId, reply: Reply) {
        if reply == Reply::Failed(EtcdError::NoLeader) {
            // It leads no more.
            if let Some(open) = self.forwards.open.iter_mut().find(|open| open.call == call) {
                open.is_sent = false;
            }
            cx.set_timer(AGAIN, Deadline::Mono(cx.mono + TICK));
        } else if let Some(open) = self.forwards.take(call) {
            cx.reply(open.from, reply);
        }
    }
}
