//! One member of a ZooKeeper ensemble, or a server alone.
//!
//! Source: `server/` and `server/quorum/` of ZooKeeper 3.8.0, <https://github.com/apache/zookeeper/tree/release-3.8.0>.
//!
//! | file | what |
//! |---|---|
//! | here | what a member is, and what becomes of what comes |
//! | `clients` | sessions of clients at this member, and what they ask, in its order |
//! | `quorum` | who looks for a leader, who follows, who leads, and what they ask of each other |
//! | `apply` | an entry is agreed upon: what it changes, and who is told |
//! | `watches` | who is told of changes |
//! | [`tracker`](super::tracker) | how long sessions live: what the leader counts |
//! | [`tree`](super::tree) | nodes and sessions: what all agree on |
//!
//! * **The log** is [`log`](crate::log), Raft, in place of ZAB. Both have one leader for each epoch, who puts changes in one order,
//!   and has them agreed upon by a majority that writes them down first; both elect nobody who has not all that was agreed upon; and
//!   both begin an epoch with the leader's predecessors' changes. What a lock can see of it: the order, the epoch in the numbers of
//!   changes, who serves when, and for how long nobody does. What it cannot: how a follower is brought up to date (`DIFF`, `TRUNC`,
//!   `SNAP`), that ZAB elects the member with the newest log and the highest number of those that look, and that it counts an
//!   epoch as soon as a leader has found its followers, be that in vain.
//! * **When** somebody looks for a leader is ZooKeeper's own rule, not Raft's: see `quorum`.
//! * **Clock**: the *monotonic* one, for all of it; the wall clock for how often containers are looked at
//!   (`ContainerManager.java`).
//! * **Order**: what a session asks of its member is answered in that order. What changes something goes to the leader at once, and
//!   what reads waits until all before it is done (`CommitProcessor.java`). A read is answered from what this member has.
//! * **Restart.** All state follows from the log, which the disk has.
//!
//! * **Who stood still** may end the sessions whose time has passed meanwhile before it reads that their clients are there, or after:
//!   two threads wake, and either may be first (on real servers, stopped for 7.5 to 8 s with sessions of 4 s: over in 10 of 10 rounds
//!   alone, and of three in 3 of 6). Which is first is drawn.
//!
//! Left out: observers, reconfiguration, snapshots, quotas, throttling, local sessions. Passwords are a number.

mod apply;
mod clients;
mod quorum;
mod watches;

use std::collections::BTreeMap;

use host::{ConnId, Context, Deadline, Duration, MonoTime, Never, NodeId, Origin, Service, TimerId};

use spec::{Cause, Note};

use super::ZkError;
use super::learner::Ticket;
use super::owners::Owners;
use super::path::SessionId;
use super::tree::{Change, Tree};
use crate::domain::{Locks, Message, Record};
use crate::lock::ZkServers;
use crate::log::{Event, Late, Member, Packet, Replicated, Settings, Written};
use clients::Clients;
use quorum::Role;
use watches::Watches;

/// What an ensemble agrees upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ZkLog {}

/// What a leader has agreed upon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// What is to be changed.
    pub change: Change,
    /// Why it is not, if it is not: it has a number all the same.
    pub refused: Option<ZkError>,
    /// Who waits for it. `None`: the leader does it of itself.
    pub ticket: Option<Ticket>,
}

host::digest_struct!(Command { change, refused, ticket });

impl Replicated for ZkLog {
    type Domain = Locks;
    type Command = Command;
    // The log is kept whole: ZooKeeper has snapshots every 100,000 entries, more than a run has.
    type Image = Never;

    fn message(packet: Packet<Self>) -> Message {
        Message::ZkPeer(Box::new(packet))
    }

    fn record(written: Written<Self>) -> Record {
        Record::ZooKeeper(written)
    }

    fn written(record: &Record) -> Option<&Written<Self>> {
        match record {
            Record::ZooKeeper(written) => Some(written),
            _ => None,
        }
    }
}

/// Sessions may be over.
const EXPIRY: TimerId = TimerId(1);
/// A leader's half tick; of who follows: its leader may be silent for too long.
const QUORUM: TimerId = TimerId(2);
/// Who looks for a leader stands for election.
const STAND: TimerId = TimerId(3);
/// Containers are looked at.
const CONTAINERS: TimerId = TimerId(4);

/// `znode.container.checkIntervalMs`
const BETWEEN_LOOKS: Duration = Duration::from_secs(60);

/// One member.
#[derive(Debug)]
pub struct ZooKeeper {
    members: Vec<NodeId>,
    servers: ZkServers,
    member: Member<ZkLog>,
    tree: Tree,
    owners: Owners,
    role: Role,
    clients: Clients,
    watches: Watches,
    /// The number of the next ticket.
    next_ticket: u64,
    /// The number of the next session that begins here.
    next_session: u64,
    /// Where its ticks begin: a number that is drawn.
    phase: u64,
    /// It stood still past that whole tick, and reads what came before it ends sessions.
    reads_first: Option<MonoTime>,
    /// The ensemble was there before the world began: who asks before it has its leader waits.
    is_beginning: bool,
}

impl ZooKeeper {
    /// A member of the ensemble of these, all of which are set so.
    #[must_use]
    pub fn new(members: &[NodeId], servers: ZkServers) -> Self {
        let settings = Settings {
            members: members.to_vec(),
            tick: servers.tick / 2,
            heartbeat_ticks: 1,
            // Nobody waits for that: ZooKeeper's own rules are quicker.
            election_ticks: 4 * usize::from(servers.sync_limit) + 4,
            late: Late::Shifted,
            // Who looks for a leader finds the one there is.
            pre_vote: true,
            head_start: false,
            first: members.first().copied(),
        };
        Self {
            members: members.to_vec(),
            servers,
            member: Member::new(settings),
            tree: Tree::default(),
            owners: Owners::default(),
            role: Role::Looking,
            clients: Clients::default(),
            watches: Watches::default(),
            next_ticket: 0,
            next_session: 0,
            phase: 0,
            reads_first: None,
            is_beginning: false,
        }
    }

    const fn is_alone(&self) -> bool {
        self.members.len() == 1
    }

    /// The ensemble's name in the history.
    fn ensemble(&self) -> NodeId {
        self.members[0]
    }

    /// Its place among the members.
    fn seat(&self, node: NodeId) -> u16 {
        let seat = self.members.iter().position(|member| *member == node).expect("it is a member");
        u16::try_from(seat).expect("few members")
    }

    fn ticket(&mut self, cx: &Context<Locks>) -> Ticket {
        let number = self.next_ticket;
        self.next_ticket += 1;
        Ticket { member: self.seat(cx.node), number }
    }

    /// A number that no session has: the member, and behind it a count that begins anywhere. (`initializeNextSessionId`: the time.)
    fn fresh_session(&mut self, cx: &Context<Locks>) -> SessionId {
        let number = self.next_session;
        self.next_session += 1;
        SessionId((u64::from(self.seat(cx.node)) + 1) << 56 | (number & ((1 << 56) - 1)))
    }

    /// What the disk had was lost: all members have an earlier state. One speaks for all.
    fn is_restored(&self, cx: &mut Context<Locks>) {
        let authority = self.ensemble();
        if authority == cx.node {
            cx.note(Note::DiskLost { authority });
            for (key, _, attempt) in self.owners.all() {
                cx.note(Note::Owner { authority, key, attempt: Some(attempt), cause: Cause::Restart });
            }
        }
    }

    /// All that has come of what the member was handed.
    fn take_events(&mut self, cx: &mut Context<Locks>) {
        while let Some(event) = self.member.next_event() {
            match event {
                Event::Applied(applied) => self.apply(cx, &applied),
                Event::Leads { .. } => self.begin_to_lead(cx),
                Event::Deposed => self.part(cx),
                Event::Leader { leader, .. } => self.leader_changed(cx, leader),
                Event::Restored(snapshot) => match *snapshot.image {},
                Event::Readable(_) => {}
            }
        }
    }
}

impl Service<Locks> for ZooKeeper {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        *self = Self::new(&self.members, self.servers);
        self.next_ticket = cx.random() >> 1;
        self.next_session = cx.random();
        self.phase = cx.random();
        let has_lost = cx.disk.take_lost() > 0;
        self.member.start(cx);
        self.is_beginning = self.member.term() == 0;
        self.take_events(cx);
        if has_lost {
            self.is_restored(cx);
        }
        if self.is_alone() {
            self.member.stand(cx);
            self.take_events(cx);
        } else {
            self.look_again(cx);
        }
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        self.expire_before_it_reads(cx);
        match message {
            Message::Zk(request) => self.serve(cx, from, *request),
            Message::ZkPeer(packet) => self.member.on_message(cx, from, *packet),
            Message::ZkToLeader(what) => self.learner_says(cx, from.conn, *what),
            _ => {}
        }
        self.take_events(cx);
    }

    fn on_push(&mut self, cx: &mut Context<Locks>, conn: ConnId, message: Message) {
        match message {
            Message::ZkPeer(packet) => self.member.on_push(cx, conn, *packet),
            Message::ZkFromLeader(what) => self.leader_says(cx, conn, what),
            _ => {}
        }
        self.take_events(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        if !self.member.on_timer(cx, timer) {
            match timer {
                EXPIRY => self.expire(cx),
                QUORUM => self.look_at_quorum(cx),
                STAND => self.stand(cx),
                CONTAINERS => self.look_at_containers(cx),
                _ => {}
            }
        }
        self.take_events(cx);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if !self.member.on_open(cx, conn) {
            self.leader_found(cx, conn);
        }
        self.take_events(cx);
    }

    fn on_close(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if !self.member.on_close(cx, conn) && !self.quorum_loses(cx, conn) {
            self.clients_lose(conn);
        }
        self.take_events(cx);
    }
}

/// A timer on the monotonic clock.
fn set(cx: &mut Context<Locks>, timer: TimerId, at: MonoTime) {
    cx.set_timer(timer, Deadline::Mono(at));
}

/// Sessions that were heard, with their timeouts.
type Touched = BTreeMap<SessionId, super::Millis>;

#[cfg(test)]
mod tests;
