//! What a member that follows and its leader tell each other beside the log, on one connection that the follower opens.
//!
//! Source: `Learner.java`, `LearnerHandler.java` and `QuorumPacket` types of `Leader.java` of ZooKeeper 3.8.0.

use std::fmt;

use host::{Digest, Fold, Operation, digest_enum, digest_struct};

use super::path::{Millis, SessionId};
use super::tree::Change;

/// Who waits for something, where: a number that no member gives twice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket {
    /// The member, counted from 0.
    pub member: u16,
    /// Counted from a number drawn anew in each life.
    pub number: u64,
}

/// From a member that follows to its leader. None of it is answered as such.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ToLeader {
    /// `FOLLOWERINFO`: it follows from now on.
    Follow,
    /// `REQUEST`: something to be agreed upon, for a client.
    Request {
        /// Who waits for it.
        ticket: Ticket,
        /// In whose session; of a session that ends or begins, that one.
        session: SessionId,
        /// What.
        change: Change,
    },
    /// `SYNC`: how far is the log?
    Sync {
        /// Who waits for it.
        ticket: Ticket,
    },
    /// `REVALIDATE`: a client wants to go on with its session here.
    Revalidate {
        /// Who waits for it.
        ticket: Ticket,
        /// The session.
        session: SessionId,
        /// How long it is to live from now on without a word of its client.
        timeout: Millis,
    },
    /// `PING`, as the answer to the leader's: whose clients were heard since the last one.
    Touched(Vec<(SessionId, Millis)>),
}

/// From a leader to who follows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FromLeader {
    /// `UPTODATE`: who has applied so much may serve clients.
    UpToDate {
        /// The index of an entry.
        index: u64,
    },
    /// `PING`
    Ping,
    /// `SYNC`: what was agreed upon when it was asked.
    Synced {
        /// Who waits for it.
        ticket: Ticket,
        /// The index of its last entry.
        index: u64,
    },
    /// `REVALIDATE`: whether there is such a session.
    Validated {
        /// Who waits for it.
        ticket: Ticket,
        /// Whether there is.
        is_valid: bool,
    },
}

impl ToLeader {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Follow => "follow",
            Self::Request { .. } => "forward",
            Self::Sync { .. } => "leader-sync",
            Self::Revalidate { .. } => "revalidate",
            Self::Touched(_) => "touched",
        })
    }
}

impl FromLeader {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::UpToDate { .. } => "up-to-date",
            Self::Ping => "leader-ping",
            Self::Synced { .. } => "synced",
            Self::Validated { .. } => "validated",
        })
    }
}

digest_struct!(Ticket { member, number });
digest_enum!(FromLeader {
    1 => UpToDate { index },
    2 => Ping,
    3 => Synced { ticket, index },
    4 => Validated { ticket, is_valid },
});

impl Digest for ToLeader {
    fn digest(&self, fold: &mut Fold) {
        match self {
            Self::Follow => fold.word(1),
            Self::Request { ticket, session, change } => {
                fold.word(2);
                ticket.digest(fold);
                session.digest(fold);
                change.digest(fold);
            }
            Self::Sync { ticket } => {
                fold.word(3);
                ticket.digest(fold);
            }
            Self::Revalidate { ticket, session, timeout } => {
                fold.word(4);
                ticket.digest(fold);
                session.digest(fold);
                timeout.digest(fold);
            }
            Self::Touched(sessions) => {
                fold.word(5);
                for (session, timeout) in sessions {
                    session.digest(fold);
                    timeout.digest(fold);
                }
            }
        }
    }
}

impl fmt::Display for ToLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Follow => f.write_str("follows"),
            Self::Request { session, change, .. } => write!(f, "forwards for session {session}: {change}"),
            Self::Sync { .. } => f.write_str("how far is the log?"),
            Self::Revalidate { session, .. } => write!(f, "is there session {session}?"),
            Self::Touched(sessions) => write!(f, "{} sessions were heard", sessions.len()),
        }
    }
}

impl fmt::Display for FromLeader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UpToDate { index } => write!(f, "up to date with entry {index}"),
            Self::Ping => f.write_str("ping"),
            Self::Synced { index, .. } => write!(f, "agreed upon up to entry {index}"),
            Self::Validated { is_valid: true, .. } => f.write_str("there is"),
            Self::Validated { is_valid: false, .. } => f.write_str("there is none"),
        }
    }
}
