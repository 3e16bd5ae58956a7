//! What keeps leases alive, and what ends them.
//!
//! Source: `LeaseRenew` and `LeaseTimeToLive` in `etcdserver/v3_server.go`, `run` in `etcdserver/server.go`, `Renew` in
//! `lease/lessor.go` of etcd 3.4.23. Who may be asked is the leader; what comes to another member is
//! [forwarded](super::forward).
//!
//! **Who ends a lease must be the leader.** In 3.4.23 one thread finds the leases that are over and another proposes to
//! revoke them, and neither asks whether the member still leads: if the process stood still, the first may run before
//! anything that came meanwhile is read, and the second after it, when the member follows already, and hands the
//! proposal on to its successor, who knows nothing of it and obeys (issue 15247; seen in 2 of 13 rounds on real servers).
//! Which of the two threads runs first is drawn here. Since 3.4.31 (pull request 17465) the member makes sure first,
//! with a majority, that it leads.

use host::{Context, Deadline, Origin, nanos};
use spec::Note;

use super::{Command, Etcd, Forwarded, PASS, clocks};
use crate::domain::Locks;
use crate::etcd::answer::Body;
use crate::etcd::lessor::{self, Renewal};
use crate::etcd::store::Change;
use crate::etcd::{EtcdError, LeaseId, Reply};
use crate::lock::etcd::Version;
use crate::log::Ticket;

/// What the leader owes an answer, and what it is not yet sure of.
#[derive(Default, Debug)]
pub(super) struct Held {
    /// Leases that are over, and who asked to keep them alive: they wait until those are revoked.
    over: Vec<(LeaseId, Origin, Asker)>,
    /// Leases that are over, once it is sure that this member leads.
    condemned: Vec<(Ticket, Vec<LeaseId>)>,
}

/// Who asks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Asker {
    Client,
    Member,
}

impl Etcd {
    /// A client keeps a lease alive.
    pub(super) fn keep_alive(&mut self, cx: &mut Context<Locks>, from: Origin, id: LeaseId) {
        self.renew(cx, from, Asker::Client, id);
    }

    /// A client asks how long a lease has.
    pub(super) fn time_to_live(&mut self, cx: &mut Context<Locks>, from: Origin, id: LeaseId, keys: bool) {
        if self.lessor.leads() {
            self.say_time_left(cx, from, id, keys);
        } else {
            self.forward(cx, from, Forwarded::TimeToLive { id, keys });
        }
    }

    /// Another member has been asked.
    pub(super) fn answer_member(&mut self, cx: &mut Context<Locks>, from: Origin, what: Forwarded) {
        match what {
            Forwarded::KeepAlive { id } => self.renew(cx, from, Asker::Member, id),
            Forwarded::TimeToLive { .. } if !self.lessor.leads() => cx.reply(from, Reply::Failed(EtcdError::NoLeader)),
            Forwarded::TimeToLive { id, keys } => self.say_time_left(cx, from, id, keys),
        }
    }

    fn renew(&mut self, cx: &mut Context<Locks>, from: Origin, asker: Asker, id: LeaseId) {
        match self.lessor.renew(id, &self.store, clocks(cx)) {
            Renewal::Lives(ttl) => {
                self.note_extended(cx, id);
                self.done(cx, from, Body::LeaseKeepAlive { id, ttl });
            }
            Renewal::Gone => self.done(cx, from, Body::LeaseKeepAlive { id, ttl: 0 }),
            Renewal::Over => self.held.over.push((id, from, asker)),
            Renewal::NotLeader => match asker {
                Asker::Client => self.forward(cx, from, Forwarded::KeepAlive { id }),
                Asker::Member => cx.reply(from, Reply::Failed(EtcdError::NoLeader)),
            },
        }
    }

    fn say_time_left(&self, cx: &mut Context<Locks>, from: Origin, id: LeaseId, keys: bool) {
        let left = self.lessor.left(id, clocks(cx));
        let body = match (self.store.leases().get(&id), left) {
            (Some(lease), Some(ttl)) => {
                let keys = if keys { lease.keys.iter().copied().collect() } else { Vec::new() };
                Body::LeaseTimeToLive { id, ttl, granted: lease.ttl, keys }
            }
            _ => Body::LeaseTimeToLive { id, ttl: -1, granted: 0, keys: Vec::new() },
        };
        self.done(cx, from, body);
    }

    /// For the history: whose locks hang on that lease.
    fn note_extended(&self, cx: &mut Context<Locks>, id: LeaseId) {
        let Some(lease) = self.store.leases().get(&id) else { return };
        for (lock, attempt) in lease.keys.iter().filter_map(|key| self.owners.owned_by(key)) {
            let authority = self.cluster();
            // Whoever the message was sent for: a session is its owner's.
            cx.note(Note::Extended { authority, key: lock, attempt, by: Some(attempt) });
        }
    }

    /// The member leads, and has applied what its predecessors had agreed upon.
    pub(super) fn promoted(&mut self, cx: &mut Context<Locks>) {
        self.bump(cx);
        self.lessor.promote(&self.store, clocks(cx), super::ELECTION);
        self.set_pass(cx);
    }

    /// It leads no more: who waits for the end of a lease is sent to who does.
    pub(super) fn deposed(&mut self, cx: &mut Context<Locks>) {
        self.lessor.demote();
        self.held.condemned.clear();
        for (id, from, asker) in std::mem::take(&mut self.held.over) {
            self.renew(cx, from, asker, id);
        }
    }

    /// A lease is no more: who wanted it kept alive is told so.
    pub(super) fn tell_of_end(&mut self, cx: &mut Context<Locks>, id: LeaseId) {
        let (ended, others) = std::mem::take(&mut self.held.over).into_iter().partition(|(over, ..)| *over == id);
        self.held.over = others;
        for (id, from, _) in ended {
            self.done(cx, from, Body::LeaseKeepAlive { id, ttl: 0 });
        }
    }

    /// Sets the next pass, if there is anything to look for.
    pub(super) fn set_pass(&mut self, cx: &mut Context<Locks>) {
        if self.pass.is_none() && self.lessor.leads() && !self.lessor.is_idle() {
            let (pass, since) = (nanos(lessor::PASS), nanos(cx.mono - self.started));
            let next = self.started + host::Duration::from_nanos((since / pass + 1) * pass);
            self.pass = Some(next);
            cx.set_timer(PASS, Deadline::Mono(next));
        }
    }

    pub(super) fn look_at_leases(&mut self, cx: &mut Context<Locks>) {
        self.pass = None;
        if !self.lessor.leads() {
            return;
        }
        let over = self.lessor.over(clocks(cx));
        for (id, remaining) in self.lessor.checkpoints(clocks(cx)) {
            self.member.propose(cx, Command { change: Change::Checkpoint { id, remaining }, is_asked: false });
        }
        self.revoke(cx, over);
        self.set_pass(cx);
    }

    /// The leases that 3.4.23 finds to be over before it reads what came while it stood still.
    pub(super) fn condemned_meanwhile(&mut self, cx: &mut Context<Locks>) -> Vec<LeaseId> {
        let is_late = self.pass.is_some_and(|pass| pass <= cx.mono);
        if self.servers.version == Version::Fixed || !is_late || !self.lessor.leads() || !cx.random().is_multiple_of(4)
        {
            return Vec::new();
        }
        self.lessor.over(clocks(cx))
    }

    /// Has those leases revoked.
    pub(super) fn revoke(&mut self, cx: &mut Context<Locks>, over: Vec<LeaseId>) {
        if over.is_empty() {
            return;
        }
        match self.servers.version {
            Version::V3_4_23 => self.propose_revokes(cx, over),
            Version::Fixed => {
                let ticket = self.member.read(cx);
                self.held.condemned.push((ticket, over));
            }
        }
    }

    /// Whether that was a question whether it leads. It does.
    pub(super) fn confirmed(&mut self, cx: &mut Context<Locks>, ticket: Ticket) -> bool {
        let Some(place) = self.held.condemned.iter().position(|(asked, _)| *asked == ticket) else { return false };
        let (_, over) = self.held.condemned.remove(place);
        if self.member.leads() {
            self.propose_revokes(cx, over);
        }
        true
    }

    fn propose_revokes(&mut self, cx: &mut Context<Locks>, over: Vec<LeaseId>) {
        for id in over {
            self.member.propose(cx, Command { change: Change::Revoke { id }, is_asked: false });
        }
    }
}
