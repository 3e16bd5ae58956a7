//! A replicated log: several members agree, by Raft, on one sequence of entries, and each applies them in that order.
//!
//! The algorithm itself is the crate `raft` 0.7 (raft-rs, a port of etcd's). Around it, here: its clock, its disk, its way
//! to the others, and what makes it repeatable. Sources: etcd 3.4.23 (`etcdserver/raft.go`, `raft/node.go`, `rafthttp`), the
//! Raft thesis for what must hold.
//!
//! | file | what |
//! |---|---|
//! | [`member`] | one member: what a server hands to it, and what it hands back |
//! | [`packet`] | what members send each other, and how faults call it |
//! | [`entry`] | entries, proposals, and what is written to disk |
//! | `store` | the log in memory and on the disk: what `raft` reads |
//! | `translate` | from `raft`'s own messages to packets, and back |
//! | `streams` | the connections between members |
//! | `ticker` | its clock |
//! | `luck` | how long it waits before it stands for election |
//!
//! **How to use it.** A server owns a [`Member`] and hands it what comes ([`start`](Member::start),
//! [`on_timer`](Member::on_timer), [`on_open`](Member::on_open), …). In return there are [`Event`]s, in order:
//! the server takes them out with [`next_event`](Member::next_event) *in the same step*, until there is none. It may
//! [propose](Member::propose) and [ask for a read](Member::read) at any time, between two events too. What is replicated,
//! and how it travels and lies on the disk, says [`Replicated`].
//!
//! * **Clock.** The *monotonic* clock alone: a ticker ticks; heartbeats and elections are counted in ticks. A process
//!   that stood still has one late tick ([`Late`]).
//! * **Disk.** Entries, votes and terms are synced before anything leaves that rests on them: `raft`'s rules of a
//!   `Ready`. While its disk is slow, a member neither reads nor ticks, and what it says waits. All of its disk is the
//!   log's: a server keeps there what it logs, and nothing else.
//! * **Network.** Each member dials each other and reads there what that one writes, as etcd's streams do; after
//!   5 s of silence it dials again. What is lost with a connection is lost.
//! * **Restart** from what the disk has: the last image of the state, and the entries behind it, up to what it knew to be
//!   committed, are handed out again.
//! * **Repeatable.** `raft` draws its election timeouts from its thread's generator: they are overwritten after every step
//!   with a function of (a word from the service's stream, member, term, role). Messages leave in the order of the
//!   members, since `raft` keeps members in a map. Logging is compiled out.
//! * **Bounded.** Servers [compact](Member::compact); etcd does after 100,000 entries, more than a run has.
//!
//! Departures from etcd: the leader writes its own entries before it sends them, not while it does; a commit may be
//! learnt from a vote (raft-rs). Left out: members that join or leave, learners, handing leadership over, the second
//! stream for appends, limits to the size of messages. A member that has
//! lost what it had synced is outside: it may vote twice in one term, and nothing holds any more.

pub mod entry;
mod luck;
pub mod member;
pub mod packet;
mod store;
mod streams;
mod ticker;
mod translate;

use host::{Digest, Domain, Duration, NodeId, TimerId};

pub use entry::{Applied, Entry, Proposal, Ticket, Written};
pub use member::{Event, Member};
pub use packet::Packet;
pub use ticker::Late;

/// What one service replicates, and how it travels and lies on the disk of its domain.
pub trait Replicated: Clone + PartialEq + Eq + std::fmt::Debug + 'static {
    /// The domain in which that is.
    type Domain: Domain;
    /// What is proposed, agreed upon and applied.
    type Command: Digest + Clone + PartialEq + Eq + std::fmt::Debug + 'static;
    /// All of the applied state, for who is too far behind to be sent entries.
    type Image: Digest + Clone + PartialEq + Eq + std::fmt::Debug + 'static;

    /// A packet as a message of the domain.
    fn message(packet: Packet<Self>) -> <Self::Domain as Domain>::Message;
    /// What is written, as a record of the domain.
    fn record(written: Written<Self>) -> <Self::Domain as Domain>::Record;
    /// What was written, if the record is the log's.
    fn written(record: &<Self::Domain as Domain>::Record) -> Option<&Written<Self>>;
}

/// How a member is set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Settings {
    /// All members, this one among them: the same list for each. One, three or five.
    pub members: Vec<NodeId>,
    /// The interval of the ticker, on the monotonic clock (etcd: `heartbeat-interval`, 100 ms).
    pub tick: Duration,
    /// The leader sends heartbeats every so many ticks (etcd: 1).
    pub heartbeat_ticks: usize,
    /// A follower that has not heard from a leader for so many ticks up to twice as many, less one, drawn, stands for
    /// election; a leader that has not heard from a majority for so many steps down (etcd: 10).
    pub election_ticks: usize,
    /// What becomes of ticks that a member was too slow for.
    pub late: Late,
    /// Whether a member asks if it would be elected, before it stands (etcd 3.4: off).
    pub pre_vote: bool,
    /// Whether a member that has just started goes ahead by most of an election timeout: alone, by all ticks but one; else, if
    /// it has found two others within 5 s, by all but two (etcd: `initial-election-tick-advance`, on).
    pub head_start: bool,
    /// Who stands at once when the world begins, if anybody: a cluster that has been there for long has its leader.
    pub first: Option<NodeId>,
}

/// The timer of a member's ticker. The server around it has no timer of that name.
pub const TICK: TimerId = TimerId(1_000);

#[cfg(test)]
mod tests;
