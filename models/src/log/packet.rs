//! What members send each other.

use std::fmt;
use std::rc::Rc;

use host::{Digest, Fold, NodeId, Operation};

use super::Replicated;
use super::entry::{Entry, Place, Proposal, Snapshot, Ticket};

/// What travels between two members.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Packet<L: Replicated> {
    /// Who dialled reads on this connection what the other has for it.
    Stream {
        /// Who.
        reader: NodeId,
    },
    /// The state that was sent on this connection has come.
    Taken,
    /// Nothing was said for a while; the connection is alive.
    Alive,
    /// Somebody's proposal, for the leader.
    Propose(Rc<Proposal<L>>),
    /// What the algorithm has to say.
    Letter(Letter<L>),
}

/// A message of the algorithm. Members are counted from 1.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Letter<L: Replicated> {
    /// Who says it; of a read that is passed on: who asked first.
    pub from: u64,
    /// In which term; 0: in none.
    pub term: u64,
    /// What.
    pub what: What<L>,
}

/// What a member says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What<L: Replicated> {
    /// The leader has entries that belong behind that place.
    Append {
        /// The place before them.
        after: Place,
        /// How far the log is committed.
        commit: u64,
        /// The entries.
        entries: Vec<Entry<L>>,
    },
    /// The log has the leader's entries up to that index, or does not fit.
    AppendReply {
        /// The last index that is the leader's; if it does not fit: where it should have.
        index: u64,
        /// How far it is known to be committed.
        commit: u64,
        /// Where it may fit.
        refused: Option<Place>,
    },
    /// The leader is there.
    Heartbeat {
        /// How far the log is committed, as far as the receiver has it.
        commit: u64,
        /// A read that waits for a majority to answer.
        read: Option<Ticket>,
    },
    /// To that.
    HeartbeatReply {
        /// How far the log is known to be committed.
        commit: u64,
        /// The read, again.
        read: Option<Ticket>,
    },
    /// A member wants to be the leader.
    Vote(Candidacy),
    /// To that.
    VoteReply(Ballot),
    /// A member asks whether it would be elected.
    PreVote(Candidacy),
    /// To that.
    PreVoteReply(Ballot),
    /// A state, for who is too far behind to be sent entries.
    Snapshot(Snapshot<L>),
    /// How far is the log committed? The leader makes sure that it still is one before it answers.
    ReadIndex {
        /// Who asks.
        read: Ticket,
    },
    /// So far.
    ReadIndexReply {
        /// Up to that index.
        index: u64,
        /// Who asked.
        read: Ticket,
    },
}

/// What a candidate has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Candidacy {
    /// Its last entry.
    pub last: Place,
    /// The last one that it knows to be committed.
    pub commit: Place,
}

/// An answer to a candidate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ballot {
    /// Whether it has the vote.
    pub granted: bool,
    /// If not: the last entry that the voter knows to be committed.
    pub commit: Place,
}

impl<L: Replicated> Packet<L> {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Stream { .. } => "stream",
            Self::Taken => "snapshot-taken",
            Self::Alive => "alive",
            Self::Propose(_) => "propose",
            Self::Letter(letter) => match &letter.what {
                What::Append { .. } => "append",
                What::AppendReply { .. } => "append-reply",
                What::Heartbeat { .. } => "heartbeat",
                What::HeartbeatReply { .. } => "heartbeat-reply",
                What::Vote(_) => "vote",
                What::VoteReply(_) => "vote-reply",
                What::PreVote(_) => "pre-vote",
                What::PreVoteReply(_) => "pre-vote-reply",
                What::Snapshot(_) => "snapshot",
                What::ReadIndex { .. } => "read-index",
                What::ReadIndexReply { .. } => "read-index-reply",
            },
        })
    }
}

impl<L: Replicated> Digest for Packet<L> {
    fn digest(&self, fold: &mut Fold) {
        match self {
            Self::Stream { reader } => {
                fold.word(1);
                reader.digest(fold);
            }
            Self::Alive => fold.word(2),
            Self::Propose(proposal) => {
                fold.word(3);
                proposal.digest(fold);
            }
            Self::Taken => fold.word(15),
            Self::Letter(letter) => letter.digest(fold),
        }
    }
}

impl<L: Replicated> Digest for Letter<L> {
    fn digest(&self, fold: &mut Fold) {
        let Self { from, term, what } = self;
        fold.pair(*from, *term);
        // Their tags and those of packets differ.
        match what {
            What::Append { after, commit, entries } => {
                fold.pair(4, *commit);
                after.digest(fold);
                entries.digest(fold);
            }
            What::AppendReply { index, commit, refused } => {
                fold.pair(5, *commit);
                fold.word(*index);
                refused.digest(fold);
            }
            What::Heartbeat { commit, read } => {
                fold.pair(6, *commit);
                read.digest(fold);
            }
            What::HeartbeatReply { commit, read } => {
                fold.pair(7, *commit);
                read.digest(fold);
            }
            What::Vote(candidacy) => candidacy.fold(8, fold),
            What::VoteReply(ballot) => ballot.fold(9, fold),
            What::PreVote(candidacy) => candidacy.fold(10, fold),
            What::PreVoteReply(ballot) => ballot.fold(11, fold),
            What::Snapshot(snapshot) => {
                fold.word(12);
                snapshot.digest(fold);
            }
            What::ReadIndex { read } => {
                fold.word(13);
                read.digest(fold);
            }
            What::ReadIndexReply { index, read } => {
                fold.pair(14, *index);
                read.digest(fold);
            }
        }
    }
}

impl Candidacy {
    fn fold(self, tag: u64, fold: &mut Fold) {
        let Self { last, commit } = self;
        fold.word(tag);
        last.digest(fold);
        commit.digest(fold);
    }
}

impl Ballot {
    fn fold(self, tag: u64, fold: &mut Fold) {
        let Self { granted, commit } = self;
        fold.pair(tag, u64::from(granted));
        commit.digest(fold);
    }
}

impl<L: Replicated> fmt::Display for Packet<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream { reader } => write!(f, "{reader:?} reads here"),
            Self::Taken => f.write_str("has taken the state"),
            Self::Alive => f.write_str("alive"),
            Self::Propose(proposal) => write!(f, "propose {:?}", proposal.command),
            Self::Letter(letter) => letter.fmt(f),
        }
    }
}

impl<L: Replicated> fmt::Display for Letter<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { from, term, what } = self;
        match what {
            What::Append { after, commit, entries } => {
                write!(f, "append {} behind {}, committed {commit}", entries.len(), after.index)?;
            }
            What::AppendReply { index, refused: None, .. } => write!(f, "has {index}")?,
            What::AppendReply { index, refused: Some(hint), .. } => {
                write!(f, "does not fit at {index}, perhaps at {}", hint.index)?;
            }
            What::Heartbeat { commit, .. } => write!(f, "heartbeat, committed {commit}")?,
            What::HeartbeatReply { commit, .. } => write!(f, "heartbeat heard, committed {commit}")?,
            What::Vote(candidacy) => write!(f, "vote for who has {}", candidacy.last.index)?,
            What::PreVote(candidacy) => write!(f, "would vote for who has {}", candidacy.last.index)?,
            What::VoteReply(ballot) | What::PreVoteReply(ballot) => {
                f.write_str(if ballot.granted { "has the vote" } else { "has not the vote" })?;
            }
            What::Snapshot(snapshot) => write!(f, "the state up to {}", snapshot.place.index)?,
            What::ReadIndex { .. } => f.write_str("how far is it committed?")?,
            What::ReadIndexReply { index, .. } => write!(f, "committed {index}")?,
        }
        write!(f, " (member {from}, term {term})")
    }
}
