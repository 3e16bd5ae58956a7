//! The world of locks: what travels on its wires, what its services write to disk, and what of it all
//! the history is told.
//!
//! The kernel carries these things and knows none of them. Adding a service means a variant in
//! [`Message`] for each kind of thing it sends, and one in [`Record`] if it writes to disk.

use std::fmt;

use host::{AttemptId, Domain, Never, Operation, Point, digest_enum};
use spec::{Cause, Mode, Note, Token};

use crate::etcd::{self, EtcdLog};
use crate::log::{Packet, Written};
use crate::postgres::wal::{FromStandby, ToStandby, Wal};
use crate::postgres::{PgPush, PgReply, PgRequest};
use crate::redis::replication::Config;
use crate::redis::replication::feed::ToReplica;
use crate::redis::sentinel::{Answer, Ask, Memory, Told};
use crate::redis::{self, Command, Key, Published, Reply};
use crate::resource::{Op, OpReply, Stored};
use crate::script::points;
use crate::zookeeper::{FromLeader, ToLeader, ZkEvent, ZkLog, ZkReply, ZkRequest};

/// The domain of distributed locks.
#[derive(Clone, Copy, Debug)]
pub enum Locks {}

impl Domain for Locks {
    type Message = Message;
    type Note = Note;
    type Record = Record;
    type Nudge = Nudge;

    fn operation(message: &Message) -> Operation {
        match message {
            Message::Redis(command) => command.operation(),
            Message::Op(op) => op.operation(),
            Message::RedisPush(_) => Operation("message"),
            // A reply is known by what it answers; the kernel never asks.
            Message::RedisReply(_)
            | Message::OpReply(_)
            | Message::Answer(_)
            | Message::EtcdReply(_)
            | Message::ZkReply(_)
            | Message::PgReply(_) => Operation("reply"),
            Message::Feed(_) => Operation("replicate"),
            Message::Ask(ask) => Operation(ask.operation()),
            Message::Told(_) => Operation("told"),
            Message::Etcd(rpc) => rpc.operation(),
            Message::EtcdPush(_) => Operation("events"),
            Message::EtcdPeer(packet) => packet.operation(),
            Message::EtcdForward(_) => Operation("forward"),
            Message::Zk(request) => request.operation(),
            Message::ZkEvent(_) => Operation("event"),
            Message::ZkPeer(packet) => packet.operation(),
            Message::ZkToLeader(what) => what.operation(),
            Message::ZkFromLeader(what) => what.operation(),
            Message::Pg(request) => request.operation(),
            Message::PgPush(_) => Operation("fatal"),
            Message::PgFromStandby(_) => Operation("standby"),
            Message::PgToStandby(_) => Operation("replicate"),
        }
    }

    fn left(message: &Message, attempt: AttemptId) -> Option<Note> {
        match message {
            Message::Op(op) => Some(Note::Left { attempt, op: op.id }),
            Message::Etcd(etcd::Rpc::Txn(txn)) => txn.errand.map(|errand| Note::Left { attempt, op: errand.op }),
            Message::Zk(request) => request.errand().map(|errand| Note::Left { attempt, op: errand.op }),
            Message::Pg(request) => request.errand().map(|errand| Note::Left { attempt, op: errand.op }),
            _ => None,
        }
    }

    fn milestone(note: &Note) -> Option<(AttemptId, Point)> {
        match note {
            // One that a promoted replica has from before is no new owner.
            Note::Owner { cause: Cause::Promotion, .. } => None,
            Note::Owner { attempt, .. } | Note::Applied { attempt, leads: true, .. } => {
                attempt.map(|attempt| (attempt, points::OWNER))
            }
            Note::Acted { attempt, leads: true, replaced, .. } => attempt
                .map(|attempt| (attempt, if replaced.is_some() { points::WRITE_APPLIED } else { points::REFUSED })),
            Note::Wrote { attempt, .. } => attempt.map(|attempt| (attempt, points::WRITE_APPLIED)),
            Note::Marked { attempt, .. } => attempt.map(|attempt| (attempt, points::MARKED)),
            Note::Effected { attempt, .. } => attempt.map(|attempt| (attempt, points::EFFECTED)),
            Note::Passed { attempt, .. } => attempt.map(|attempt| (attempt, points::CHECK_PASSED)),
            Note::Refused { attempt, .. } => attempt.map(|attempt| (attempt, points::REFUSED)),
            _ => None,
        }
    }

    fn describe_message(message: &Message) -> String {
        message.to_string()
    }

    fn describe_note(note: &Note) -> String {
        describe(note)
    }
}

/// Whatever travels on a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Message {
    /// To a Redis server.
    Redis(Command),
    /// From a Redis server.
    RedisReply(Reply),
    /// From a Redis server, to who is subscribed.
    RedisPush(Published),
    /// To the guarded resource.
    Op(Op),
    /// From the guarded resource.
    OpReply(OpReply),
    /// From a Redis server to its replica.
    Feed(Box<ToReplica>),
    /// To a Sentinel.
    Ask(Ask),
    /// From a Sentinel.
    Answer(Answer),
    /// From a Sentinel to who has subscribed.
    Told(Told),
    /// To an etcd server.
    Etcd(etcd::Rpc),
    /// Between the members of an etcd cluster, about the log.
    EtcdPeer(Box<Packet<EtcdLog>>),
    /// From a member of an etcd cluster to the leader, beside the log.
    EtcdForward(etcd::Forwarded),
    /// From an etcd server.
    EtcdReply(etcd::Reply),
    /// From an etcd server, to who watches.
    EtcdPush(Box<etcd::Push>),
    /// To a ZooKeeper server.
    Zk(Box<ZkRequest>),
    /// From a ZooKeeper server.
    ZkReply(ZkReply),
    /// From a ZooKeeper server, to who watches.
    ZkEvent(Box<ZkEvent>),
    /// Between the members of a ZooKeeper ensemble, about the log.
    ZkPeer(Box<Packet<ZkLog>>),
    /// From a member of a ZooKeeper ensemble to its leader, beside the log.
    ZkToLeader(Box<ToLeader>),
    /// From the leader of a ZooKeeper ensemble to who follows it, beside the log.
    ZkFromLeader(FromLeader),
    /// To a PostgreSQL server.
    Pg(PgRequest),
    /// From a PostgreSQL server.
    PgReply(PgReply),
    /// From a PostgreSQL server, unasked.
    PgPush(PgPush),
    /// From a PostgreSQL standby to its primary.
    PgFromStandby(FromStandby),
    /// From a PostgreSQL primary to its standby.
    PgToStandby(Box<ToStandby>),
}

digest_enum!(Message {
    1 => Redis(command),
    2 => RedisReply(reply),
    3 => Op(op),
    4 => OpReply(reply),
    5 => RedisPush(published),
    6 => Feed(feed),
    7 => Ask(ask),
    8 => Answer(answer),
    9 => Told(told),
    10 => Etcd(rpc),
    11 => EtcdReply(reply),
    12 => EtcdPush(push),
    13 => EtcdPeer(packet),
    14 => EtcdForward(what),
    15 => Zk(request),
    16 => ZkReply(reply),
    17 => ZkEvent(event),
    18 => ZkPeer(packet),
    19 => ZkToLeader(what),
    20 => ZkFromLeader(what),
    21 => Pg(request),
    22 => PgReply(reply),
    23 => PgPush(push),
    24 => PgFromStandby(says),
    25 => PgToStandby(records),
});

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Redis(command) => command.fmt(f),
            Self::RedisReply(reply) => reply.fmt(f),
            Self::RedisPush(published) => published.fmt(f),
            Self::Op(op) => op.fmt(f),
            Self::OpReply(reply) => reply.fmt(f),
            Self::Feed(feed) => feed.fmt(f),
            Self::Ask(ask) => ask.fmt(f),
            Self::Answer(answer) => answer.fmt(f),
            Self::Told(told) => told.fmt(f),
            Self::Etcd(rpc) => rpc.fmt(f),
            Self::EtcdReply(reply) => reply.fmt(f),
            Self::EtcdPush(push) => push.fmt(f),
            Self::EtcdPeer(packet) => packet.fmt(f),
            Self::EtcdForward(what) => what.fmt(f),
            Self::Zk(request) => request.fmt(f),
            Self::ZkReply(reply) => reply.fmt(f),
            Self::ZkEvent(event) => event.fmt(f),
            Self::ZkPeer(packet) => packet.fmt(f),
            Self::ZkToLeader(what) => what.fmt(f),
            Self::ZkFromLeader(what) => what.fmt(f),
            Self::Pg(request) => request.fmt(f),
            Self::PgReply(reply) => reply.fmt(f),
            Self::PgPush(push) => push.fmt(f),
            Self::PgFromStandby(says) => says.fmt(f),
            Self::PgToStandby(records) => records.fmt(f),
        }
    }
}

/// Packs each kind of thing into its variant, and unpacks it; what is not of that kind is given back.
macro_rules! carried {
    ($($variant:ident($type:ty)),* $(,)?) => { $(
        impl From<$type> for Message {
            fn from(content: $type) -> Self {
                Self::$variant(content)
            }
        }

        impl TryFrom<Message> for $type {
            type Error = Message;

            fn try_from(message: Message) -> Result<Self, Message> {
                match message {
                    Message::$variant(content) => Ok(content),
                    other => Err(other),
                }
            }
        }
    )* };
}
carried!(
    Redis(Command),
    RedisReply(Reply),
    RedisPush(Published),
    Op(Op),
    OpReply(OpReply),
    Ask(Ask),
    Answer(Answer),
    Told(Told),
    Etcd(etcd::Rpc),
    EtcdReply(etcd::Reply),
    EtcdForward(etcd::Forwarded),
    ZkReply(ZkReply),
    ZkFromLeader(FromLeader),
    Pg(PgRequest),
    PgReply(PgReply),
    PgPush(PgPush),
    PgFromStandby(FromStandby),
);

/// What is large is boxed: unpacked for who gets it.
macro_rules! boxed {
    ($($variant:ident($type:ty)),* $(,)?) => { $(
        impl From<$type> for Message {
            fn from(content: $type) -> Self {
                Self::$variant(Box::new(content))
            }
        }

        impl TryFrom<Message> for $type {
            type Error = Message;

            fn try_from(message: Message) -> Result<Self, Message> {
                match message {
                    Message::$variant(content) => Ok(*content),
                    other => Err(other),
                }
            }
        }
    )* };
}
boxed!(
    Feed(ToReplica),
    EtcdPush(etcd::Push),
    Zk(ZkRequest),
    ZkEvent(ZkEvent),
    ZkToLeader(ToLeader),
    PgToStandby(ToStandby)
);

/// No message is the one that is never sent.
impl TryFrom<Message> for Never {
    type Error = Message;

    fn try_from(message: Message) -> Result<Self, Message> {
        Err(message)
    }
}

/// Whatever a service writes to its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Record {
    /// A Redis server: its keys, or a change to one.
    Redis(redis::Stored),
    /// The guarded resource: one object's new state.
    Stored(Stored),
    /// A Redis server: its configuration file.
    Config(Config),
    /// A Sentinel: its configuration file.
    Sentinel(Memory),
    /// A member of an etcd cluster: its log.
    Etcd(Written<EtcdLog>),
    /// A member of a ZooKeeper ensemble: its log.
    ZooKeeper(Written<ZkLog>),
    /// A PostgreSQL server: its log.
    Postgres(Wal),
}

/// Whatever a fault may do inside a service.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Nudge {
    /// A Redis server evicts this key to make room, as one with an `allkeys-…` policy does.
    Evict(Key),
    /// An operator makes a replica the primary.
    Promote,
}

digest_enum!(Nudge { 1 => Evict(key), 2 => Promote });

/// One line for a person.
fn describe(note: &Note) -> String {
    match note {
        Note::Attempting { attempt, lock, mode: Mode::Exclusive, .. } => format!("{attempt:?} asks for {lock}"),
        Note::Attempting { attempt, lock, mode: Mode::Shared, .. } => {
            format!("{attempt:?} asks for {lock}, to share it")
        }
        Note::Granted { attempt, token, until, .. } => {
            let until = match until {
                Some(until) => format!("until its clock reads {}", Clock(until.as_nanos())),
                None => "until it releases".to_owned(),
            };
            format!("{attempt:?} takes the lock to be its own {until}{}", With(*token))
        }
        Note::Denied { attempt } => format!("{attempt:?} is denied"),
        Note::Failed { attempt } => format!("{attempt:?} got no clear answer"),
        Note::GaveUp { attempt } => format!("{attempt:?} was the last try"),
        Note::Renewing { attempt } => format!("{attempt:?} is about to extend its lease"),
        Note::Renewed { attempt, until } => {
            format!("{attempt:?} has extended its lease until its clock reads {}", Clock(until.as_nanos()))
        }
        Note::RenewalFailed { attempt } => format!("{attempt:?} could not extend its lease"),
        Note::ToldOfLoss { attempt } => format!("{attempt:?} learns that its lock is lost"),
        Note::Checked { attempt, op } => format!("{attempt:?} goes ahead with operation {}", op.0),
        Note::Left { attempt, op } => format!("operation {} of {attempt:?} leaves", op.0),
        Note::Releasing { attempt } => format!("{attempt:?} begins to release"),
        Note::Released { attempt } => format!("{attempt:?} has released"),
        Note::ReleaseRefused { attempt } => format!("{attempt:?} could not release"),
        Note::Ended { attempt } => format!("{attempt:?} is through with its section"),
        Note::Owner { key, attempt: Some(attempt), .. } => format!("{key} belongs to {attempt:?}"),
        Note::Owner { key, attempt: None, cause, .. } => format!("{key} belongs to nobody: {}", Why(*cause)),
        Note::Applied { index, key, attempt: Some(attempt), .. } => {
            format!("entry {index} is applied: {key} belongs to {attempt:?}")
        }
        Note::Applied { index, key, attempt: None, cause, .. } => {
            format!("entry {index} is applied: {key} belongs to nobody: {}", Why(*cause))
        }
        Note::Acted { index, object, replaced: Some(replaced), attempt, .. } => {
            format!("entry {index} is applied: {object} v{} is overwritten by {}", replaced.0, Whom(*attempt))
        }
        Note::Acted { index, object, replaced: None, attempt, .. } => {
            format!("entry {index} is applied: {object} is not overwritten by {}", Whom(*attempt))
        }
        Note::Disagreed { key, attempt, .. } => format!("{key} belongs to {}, other than others say", Whom(*attempt)),
        Note::Promoted { .. } => "takes the place of its primary".to_owned(),
        Note::Demoted { .. } => "is another's replica from now on".to_owned(),
        Note::Replicated { notes, .. } => format!("has what its primary did, up to its change of owners {notes}"),
        Note::Unreplicated { .. } => "waits for a replica, and none is connected".to_owned(),
        Note::Extended { key, attempt, by, .. } if *by == Some(*attempt) => {
            format!("{key} belongs to {attempt:?} for longer")
        }
        Note::Extended { key, attempt, by, .. } => {
            format!("{key} belongs to {attempt:?} for longer, as asked by {}", Whom(*by))
        }
        Note::DiskLost { .. } => "the disk has lost what was not synced".to_owned(),
        Note::Read { attempt, object, version, .. } => {
            format!("{object} v{} is read by {}", version.0, Whom(*attempt))
        }
        Note::Wrote { attempt, object, based_on, replaced, .. } => {
            let based_on = match based_on {
                Some(version) => format!("based on v{}", version.0),
                None => "blind".to_owned(),
            };
            format!("{object} v{} is overwritten by {}, {based_on}", replaced.0, Whom(*attempt))
        }
        Note::Marked { attempt, object, .. } => format!("{object} is marked by {}", Whom(*attempt)),
        Note::Passed { attempt, op, object } => {
            format!("operation {} of {} on {object} passes the check", op.0, Whom(*attempt))
        }
        Note::Refused { attempt, op, object } => {
            format!("operation {} of {} on {object} is refused", op.0, Whom(*attempt))
        }
        Note::Effected { attempt, effect, .. } => format!("{effect} is done by {}", Whom(*attempt)),
    }
}

/// A token, if there is one, at the end of a line.
pub(crate) struct With(pub(crate) Option<Token>);

impl fmt::Display for With {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |token| write!(f, ", token {}", token.0))
    }
}

/// An attempt, or somebody outside any.
struct Whom(Option<AttemptId>);

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(attempt) => write!(f, "{attempt:?}"),
            None => f.write_str("somebody outside any attempt"),
        }
    }
}

/// What made an owner lose its key.
struct Why(Cause);

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Cause::Request(by) => write!(f, "asked by {}", Whom(by)),
            Cause::Expiry => f.write_str("its lease is over"),
            Cause::SessionEnd => f.write_str("its session is over"),
            Cause::Eviction => f.write_str("evicted"),
            Cause::Restart => f.write_str("lost in a restart"),
            Cause::Promotion => f.write_str("lost in a promotion"),
            Cause::Demotion => f.write_str("another server decides"),
        }
    }
}

/// A reading of a clock, in seconds to the millisecond.
struct Clock(u64);

impl fmt::Display for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03} s", self.0 / 1_000_000_000, self.0 / 1_000_000 % 1_000)
    }
}

#[cfg(test)]
mod tests;
