//! One member of an etcd cluster.
//!
//! Source: `etcdserver/` and `etcdserver/api/v3rpc/` of etcd 3.4.23, <https://github.com/etcd-io/etcd/tree/v3.4.23>.
//!
//! | file | what |
//! |---|---|
//! | here | who asks for what, and what becomes of what is agreed upon |
//! | `apply` | an entry is committed: what it changes, and who is told |
//! | `reads` | linearizable reads: the member asks the leader how far the log is |
//! | `leases` | what keeps leases alive, and what ends them |
//! | `forward` | what followers have the leader answer, beside the log |
//! | `watches` | who is told of changes |
//! | `locking` | `v3lock`: the server queues for its client |
//! | `backup` | a cluster is put back to what it was |
//!
//! * **Clock.** Ticks, timeouts of requests and leases are counted on the *monotonic* clock (but see
//!   [`lessor`](super::lessor) for 3.4's gate).
//! * **Writes** go through the log. What is not agreed upon in 7 s (5 s and two election timeouts) is answered with a
//!   timeout, and may be done all the same.
//! * **Restart.** All state follows from the log, which the disk has.
//!
//! Left out: quotas, alarms, compaction, authentication, joining and leaving members, the limit of what is not yet applied.
//! A write that waits while its member knows no leader is never refused before its time.

mod apply;
mod backup;
mod forward;
mod leases;
mod locking;
mod reads;
mod watches;

use std::collections::{BTreeMap, VecDeque};

use host::{CallId, ConnId, Context, Deadline, Duration, MonoTime, Never, NodeId, Origin, Service, TimerId};

use super::answer::{Body, Header, Response};
use super::api::{Delete, Op, Range, Rpc, Txn};
use super::check::check;
use super::lessor::{Clocks, Counting, Gate, Lessor};
use super::owners::Owners;
use super::store::{Change, Store};
use super::v3lock::unlocked;
use super::{EtcdError, LeaseId, Reply};
use crate::domain::{Locks, Message, Record};
use crate::lock::etcd::{Checkpoints, EtcdServers, LEAST_LEASE, PreVote, Version};
use crate::log::{Event, Late, Member, Packet, Replicated, Settings, Ticket, Written};
pub use forward::Forwarded;
use forward::Forwards;
use leases::Held;
use locking::Lockings;
use reads::{Query, Reads};
use watches::Watches;

/// What a cluster agrees upon.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EtcdLog {}

/// What is proposed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// What is to be changed.
    pub change: Change,
    /// Whether a client asked for it. Else a leader did, since a lease is over, or is long.
    pub is_asked: bool,
}

host::digest_struct!(Command { change, is_asked });

impl Replicated for EtcdLog {
    type Domain = Locks;
    type Command = Command;
    // Nothing is ever compacted: etcd does so after 100,000 entries, more than a run has.
    type Image = Never;

    fn message(packet: Packet<Self>) -> Message {
        Message::EtcdPeer(Box::new(packet))
    }

    fn record(written: Written<Self>) -> Record {
        Record::Etcd(written)
    }

    fn written(record: &Record) -> Option<&Written<Self>> {
        match record {
            Record::Etcd(written) => Some(written),
            _ => None,
        }
    }
}

/// `heartbeat-interval`
const TICK: Duration = Duration::from_millis(100);
/// `election-timeout`, in ticks
const ELECTION_TICKS: u32 = 10;
/// The election timeout.
const ELECTION: Duration = Duration::from_millis(1_000);
/// `ReqTimeout`: 5 s and two election timeouts.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(7);

/// The leader's pass over its leases.
const PASS: TimerId = TimerId(1);
/// Some request has waited for too long.
const OVERDUE: TimerId = TimerId(2);
/// What could not be forwarded is tried again.
const AGAIN: TimerId = TimerId(3);

/// One member.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<NodeId>,
    servers: EtcdServers,
    member: Member<EtcdLog>,
    store: Store,
    lessor: Lessor,
    owners: Owners,
    /// What was proposed for clients of this member, and is not applied.
    waiting: BTreeMap<Ticket, Waiting>,
    /// When what was asked for is too late, in order.
    overdue: VecDeque<(MonoTime, Overdue)>,
    reads: Reads,
    held: Held,
    forwards: Forwards,
    watches: Watches,
    lockings: Lockings,
    /// When the process started: it looks at its leases at whole passes from then.
    started: MonoTime,
    /// When the pass is due that is set. `None`: none is.
    pass: Option<MonoTime>,
    /// It has started from a backup, and has not led since.
    awaits_bump: bool,
    /// When it was last elected. (`leadElectedTime`: what others are elected, it does not count.)
    elected: Option<MonoTime>,
}

/// What was asked for 7 s ago.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Overdue {
    Proposal(Ticket),
    Read(Ticket),
    Forward(CallId),
}

/// Who waits for an entry to be applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Waiting {
    whom: For,
    /// When it was asked for.
    since: MonoTime,
}

/// For whom something is asked, and what it is to be told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum For {
    /// A client: what was done.
    Client(Origin),
    /// A client of `v3lock`: that it is unlocked.
    Unlocking(Origin),
    /// The server itself, which queues for a client.
    Locking(u64),
}

impl Etcd {
    /// A member of the cluster of these, all of which are set so.
    #[must_use]
    pub fn new(members: &[NodeId], servers: EtcdServers) -> Self {
        let settings = Settings {
            members: members.to_vec(),
            tick: TICK,
            heartbeat_ticks: 1,
            election_ticks: ELECTION_TICKS as usize,
            late: Late::Dropped,
            pre_vote: servers.pre_vote == PreVote::On,
            head_start: true,
            first: members.first().copied(),
        };
        let counting = Counting {
            gate: if servers.version == Version::V3_4_23 { Gate::Wall } else { Gate::Monotonic },
            retry: REQUEST_TIMEOUT,
            checkpoints: (servers.checkpoints == Checkpoints::Persisted).then_some(BETWEEN_CHECKPOINTS),
        };
        Self {
            members: members.to_vec(),
            servers,
            member: Member::new(settings),
            store: Store::new(LEAST_LEASE.as_secs().cast_signed()),
            lessor: Lessor::new(counting),
            owners: Owners::default(),
            waiting: BTreeMap::new(),
            overdue: VecDeque::new(),
            reads: Reads::default(),
            held: Held::default(),
            forwards: Forwards::default(),
            watches: Watches::default(),
            lockings: Lockings::default(),
            started: MonoTime::from_nanos(0),
            pass: None,
            awaits_bump: false,
            elected: None,
        }
    }

    fn serve(&mut self, cx: &mut Context<Locks>, from: Origin, rpc: Rpc) {
        if let Err(error) = check(&rpc) {
            cx.reply(from, Reply::Failed(error));
            return;
        }
        match rpc {
            Rpc::LeaseKeepAlive { id } => self.keep_alive(cx, from, id),
            Rpc::LeaseTimeToLive { id, keys } => self.time_to_live(cx, from, id, keys),
            Rpc::Watch(watch) => self.watch(cx, from, *watch),
            Rpc::WatchCancel { id } => {
                self.watches.cancel(from.conn, id);
                self.done(cx, from, Body::WatchCanceled { id });
            }
            Rpc::Lock { name, lease } => self.lock(cx, from, name, lease),
            Rpc::Unlock { key } => self.ask(cx, For::Unlocking(from), Delete::one(key).into()),
            other => self.ask(cx, For::Client(from), other),
        }
    }

    /// Does what reads and writes, for whomever.
    fn ask(&mut self, cx: &mut Context<Locks>, whom: For, rpc: Rpc) {
        match rpc {
            Rpc::Range(range) if range.serializable => self.answer_query(cx, whom, &Query::Range(range)),
            Rpc::Range(range) => self.read(cx, whom, Query::Range(range)),
            Rpc::Txn(txn) if is_local(&txn) => self.answer_query(cx, whom, &Query::Txn(txn, cx.attempt)),
            Rpc::Txn(txn) if only_reads(&txn) => self.read(cx, whom, Query::Txn(txn, cx.attempt)),
            Rpc::Txn(txn) => self.propose(cx, whom, Change::Txn(*txn)),
            Rpc::Put(put) => self.propose(cx, whom, Change::Put(*put)),
            Rpc::Delete(delete) => self.propose(cx, whom, Change::Delete(*delete)),
            Rpc::LeaseGrant { ttl, id } => {
                let id = id.unwrap_or_else(|| fresh(cx));
                self.propose(cx, whom, Change::Grant { id, ttl });
            }
            Rpc::LeaseRevoke { id } => self.propose(cx, whom, Change::Revoke { id }),
            _ => unreachable!("what is neither read nor write has been served"),
        }
    }

    /// Has it agreed upon; who waits hears when it is applied.
    fn propose(&mut self, cx: &mut Context<Locks>, whom: For, change: Change) {
        let ticket = self.member.propose(cx, Command { change, is_asked: true });
        self.waiting.insert(ticket, Waiting { whom, since: cx.mono });
        self.wait(cx, Overdue::Proposal(ticket));
    }

    /// That is too late in 7 s.
    fn wait(&mut self, cx: &mut Context<Locks>, what: Overdue) {
        let at = cx.mono + REQUEST_TIMEOUT;
        if self.overdue.is_empty() {
            cx.set_timer(OVERDUE, Deadline::Mono(at));
        }
        self.overdue.push_back((at, what));
    }

    /// What was asked for 7 s ago and is not answered never will be.
    fn expire(&mut self, cx: &mut Context<Locks>) {
        while let Some((_, what)) = self.overdue.pop_front_if(|(at, _)| *at <= cx.mono) {
            match what {
                Overdue::Proposal(ticket) => {
                    if let Some(waiting) = self.waiting.remove(&ticket) {
                        let has_found_no_leader = self.member.withdraw(ticket);
                        let why = self.why_late(waiting.since);
                        let why = if has_found_no_leader { EtcdError::DeadlineExceeded } else { why };
                        self.tell(cx, waiting.whom, Reply::Failed(why));
                    }
                }
                Overdue::Read(ticket) => self.give_up_read(cx, ticket, EtcdError::Timeout),
                Overdue::Forward(call) => {
                    if let Some(forwarded) = self.forwards.take(call) {
                        let is_led = self.member.leader().is_some();
                        let why = if is_led || forwarded.is_sent() { EtcdError::Timeout } else { EtcdError::NoLeader };
                        cx.reply(forwarded.from, Reply::Failed(why));
                    }
                }
            }
        }
        if let Some((at, _)) = self.overdue.front() {
            cx.set_timer(OVERDUE, Deadline::Mono(*at));
        }
    }

    /// What is said to who has waited since then (`parseProposeCtxErr`).
    fn why_late(&self, since: MonoTime) -> EtcdError {
        let is_between = |elected: MonoTime| since < elected && elected < since + ELECTION * 2;
        if self.elected.is_some_and(is_between) { EtcdError::TimeoutLeaderFail } else { EtcdError::Timeout }
    }

    /// All that has come of what the member was handed.
    fn take_events(&mut self, cx: &mut Context<Locks>) {
        while let Some(event) = self.member.next_event() {
            match event {
                Event::Applied(applied) => self.apply(cx, applied),
                Event::Leads { .. } => self.promoted(cx),
                Event::Deposed => self.deposed(cx),
                Event::Leader { leader: Some(leader), .. } => {
                    if leader == cx.node {
                        self.elected = Some(cx.mono);
                    }
                    self.leader_changed(cx);
                }
                Event::Leader { leader: None, .. } => {}
                Event::Restored(snapshot) => match *snapshot.image {},
                Event::Readable(ticket) => self.readable(cx, ticket),
            }
        }
    }

    /// What was asked of the last leader is asked anew, or of the new one.
    fn leader_changed(&mut self, cx: &mut Context<Locks>) {
        self.fail_reads(cx, EtcdError::LeaderChanged);
        self.forward_again(cx);
    }

    fn header(&self, cx: &Context<Locks>) -> Header {
        Header { member: cx.node, revision: self.store.revision(), term: self.member.term() }
    }

    fn done(&self, cx: &mut Context<Locks>, from: Origin, body: Body) {
        let header = self.header(cx);
        cx.reply(from, Reply::Done(Box::new(Response { header, body })));
    }

    /// Answers with what came of an entry or a read.
    fn answer(&mut self, cx: &mut Context<Locks>, whom: For, outcome: super::store::Applied) {
        let reply = match outcome {
            Ok((revision, body)) => {
                let header = Header { revision, ..self.header(cx) };
                Reply::Done(Box::new(Response { header, body }))
            }
            Err(error) => Reply::Failed(error),
        };
        self.tell(cx, whom, reply);
    }

    fn tell(&mut self, cx: &mut Context<Locks>, whom: For, reply: Reply) {
        match whom {
            For::Client(from) => cx.reply(from, reply),
            For::Unlocking(from) => cx.reply(from, unlocked(reply)),
            For::Locking(id) => self.locking_hears(cx, id, reply),
        }
    }

    /// The cluster's name in the history.
    fn cluster(&self) -> NodeId {
        self.members[0]
    }
}

impl Service<Locks> for Etcd {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        *self = Self::new(&self.members, self.servers);
        self.started = cx.mono;
        let has_lost = cx.disk.take_lost() > 0;
        self.member.start(cx);
        self.take_events(cx);
        if has_lost {
            self.is_restored(cx);
        }
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        match message {
            Message::Etcd(rpc) => self.serve(cx, from, rpc),
            Message::EtcdPeer(packet) => self.member.on_message(cx, from, *packet),
            Message::EtcdForward(what) => self.answer_member(cx, from, what),
            _ => {}
        }
        self.take_events(cx);
    }

    fn on_push(&mut self, cx: &mut Context<Locks>, conn: ConnId, message: Message) {
        if let Message::EtcdPeer(packet) = message {
            let condemned = self.condemned_meanwhile(cx);
            self.member.on_push(cx, conn, *packet);
            self.take_events(cx);
            self.revoke(cx, condemned);
            self.take_events(cx);
        }
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        if !self.member.on_timer(cx, timer) {
            match timer {
                PASS => self.look_at_leases(cx),
                OVERDUE => self.expire(cx),
                AGAIN => self.forward_again(cx),
                _ => {}
            }
        }
        self.take_events(cx);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if !self.member.on_open(cx, conn) {
            self.forwards.opened(cx, conn);
        }
        self.take_events(cx);
    }

    fn on_reply(&mut self, cx: &mut Context<Locks>, _: ConnId, call: CallId, reply: Message) {
        if let Message::EtcdReply(reply) = reply {
            self.leader_answers(cx, call, reply);
        }
        self.take_events(cx);
    }

    fn on_close(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if !self.member.on_close(cx, conn) {
            self.watches.forget(conn);
            self.lockings_forget(cx, conn);
            if self.forwards.lost(conn) {
                cx.set_timer(AGAIN, Deadline::Mono(cx.mono + TICK));
            }
        }
        self.take_events(cx);
    }
}

/// Whether a transaction changes nothing, whatever holds.
fn only_reads(txn: &Txn) -> bool {
    txn.success.iter().chain(&txn.failure).all(|op| matches!(op, Op::Range(_)))
}

/// Whether a transaction is answered from what the member has: whatever it does is such a read (`isTxnSerializable`). One that does
/// nothing is.
fn is_local(txn: &Txn) -> bool {
    txn.success.iter().chain(&txn.failure).all(|op| matches!(op, Op::Range(Range { serializable: true, .. })))
}

/// A number for a lease that nobody has chosen one for.
fn fresh(cx: &Context<Locks>) -> LeaseId {
    let number = cx.random() >> 1;
    LeaseId::new(number.max(1)).expect("not 0")
}

fn clocks(cx: &Context<Locks>) -> Clocks {
    Clocks { mono: cx.mono, wall: cx.wall }
}

/// How often what is left of long leases is written down (`lease/lessor.go`, `defaultLeaseCheckpointInterval`).
const BETWEEN_CHECKPOINTS: Duration = Duration::from_secs(300);

#[cfg(test)]
mod tests;
