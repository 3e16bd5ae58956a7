//! How the guarded resource decides whether to accept an operation.
//!
//! A check is a pure function of the operation and of what the resource knows of its object, so that a
//! test can lay a broken one beside the real ones: any function of that shape is a [`Check`].
//!
//! What each lets pass; *barrier* is the token that was last recorded, *token* is the operation's own:
//!
//! | check | mark | read | write |
//! |---|---|---|---|
//! | `open` | all | all | all |
//! | `fence_w` | | all | token not below the barrier; recorded |
//! | `fence_le` | | all | token above the barrier; recorded |
//! | `fence_rc` | | token not below the barrier | token not below the barrier; recorded |
//! | `fence_rw` | | token not below the barrier; recorded | token not below the barrier; recorded |
//! | `mark` | token not below the barrier; recorded | token not below the barrier | token not below the barrier; recorded |
//! | `unique` | all; recorded | all | token equal to the barrier |
//! | `version` | | all | based on the present version |
//! | `owner_key` | | the owner's key is there | the owner's key is there |
//!
//! A token that was not given cannot be compared: a check that compares lets nothing without one pass.
//! A check that knows no marks treats one as it treats a write, if it is asked. To draw a number is to mark with it
//! where a check knows marks that have an order, and passes elsewhere. Effects pass everywhere.
//!
//! Sources: Kleppmann, "How to do distributed locking" (2016): `fence_w` is the check of its figure. "Fence all
//! accesses" there: `fence_rc` and `fence_rw` are the two ways to read that for reads. Junqueira, "Note on
//! fencing and distributed locks" (2016): `mark`. Sanfilippo, "Is Redlock safe?" (2016): `unique`. Optimistic
//! locking (Kung and Robinson, 1981): `version`. `Mutex.IsOwner` of etcd: `owner_key`, which needs the objects to be where the
//! locks are. `fence_le` is found in write-ups that refuse what is "less than
//! or equal": the fencepost error.

use spec::{Token, Version};

use crate::resource::{Action, Op};

/// The resource's check. The names are those of the literature.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Guard {
    /// It accepts everything.
    #[default]
    Open,
    /// It refuses writes whose token is below the highest that wrote. It does not look at reads.
    FenceW,
    /// It refuses writes whose token is not above the highest that wrote: also a holder's own second write.
    FenceLe,
    /// It refuses reads and writes whose token is below the highest that wrote. Reads record nothing.
    FenceRc,
    /// It refuses reads and writes whose token is below the highest seen; both record theirs.
    FenceRw,
    /// As [`FenceRc`](Self::FenceRc), and a holder can record its token by an operation of its own, a mark.
    Mark,
    /// Whoever marks last may write. Tokens need no order: they are only compared for equality.
    Unique,
    /// It refuses writes that are not based on the present version: compare and set. It needs no token.
    Version,
    /// It refuses reads and writes of whose lock the owner's key is gone: objects in the lock's own store, in one
    /// transaction with a look at that key.
    OwnerKey,
}

impl Guard {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 9] = [
        Self::Open,
        Self::FenceW,
        Self::FenceLe,
        Self::FenceRc,
        Self::FenceRw,
        Self::Mark,
        Self::Unique,
        Self::Version,
        Self::OwnerKey,
    ];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::FenceW => "fence_w",
            Self::FenceLe => "fence_le",
            Self::FenceRc => "fence_rc",
            Self::FenceRw => "fence_rw",
            Self::Mark => "mark",
            Self::Unique => "unique",
            Self::Version => "version",
            Self::OwnerKey => "owner_key",
        }
    }

    /// Whether it orders operations by their tokens: then the clients must have some that can be ordered.
    #[must_use]
    pub const fn orders_tokens(self) -> bool {
        match self {
            Self::FenceW | Self::FenceLe | Self::FenceRc | Self::FenceRw | Self::Mark => true,
            Self::Open | Self::Unique | Self::Version | Self::OwnerKey => false,
        }
    }

    /// Whether clients can mark.
    #[must_use]
    pub const fn takes_marks(self) -> bool {
        matches!(self, Self::Mark | Self::Unique)
    }

    /// Whether it records tokens.
    #[must_use]
    pub const fn keeps_barrier(self) -> bool {
        self.orders_tokens() || self.takes_marks()
    }

    /// Whether it refuses anything.
    #[must_use]
    pub const fn refuses(self) -> bool {
        !matches!(self, Self::Open)
    }
}

/// What a check knows of the object that an operation is about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    /// Its present version.
    pub version: Version,
    /// The token that was last recorded for it.
    pub barrier: Option<Token>,
}

/// A rule by which a resource accepts or refuses.
pub trait Check: 'static {
    /// Judges one operation.
    fn judge(&self, op: &Op, seen: Seen) -> Ruling;
}

/// What a check says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ruling {
    /// The operation is carried out.
    Accept {
        /// The object's barrier from here on.
        barrier: Option<Token>,
    },
    /// It is not, and nothing changes.
    Refuse,
}

impl Check for Guard {
    fn judge(&self, op: &Op, Seen { version, barrier }: Seen) -> Ruling {
        let token = op.token;
        let recorded = Ruling::Accept { barrier: token };
        let unrecorded = Ruling::Accept { barrier };
        // Equal is enough: a holder's second operation carries the token of its first.
        let not_below = token.is_some() && token >= barrier;
        let (passes, then) = match (self, op.action) {
            // What is done once and for all, no check of an object can take back; what is counted is nobody's yet.
            (_, Action::Effect { .. }) => (true, unrecorded),
            (Self::Mark, Action::Ticket) => (not_below, recorded),
            (_, Action::Ticket) => (true, unrecorded),

            (Self::Open, _) | (Self::FenceW | Self::FenceLe | Self::Unique | Self::Version, Action::Read) => {
                (true, unrecorded)
            }
            (Self::FenceRc | Self::Mark, Action::Read) => (not_below, unrecorded),
            (Self::FenceLe, Action::Write { .. } | Action::Mark) => (token > barrier, recorded),
            (Self::FenceRw, _) | (Self::FenceW | Self::FenceRc | Self::Mark, Action::Write { .. } | Action::Mark) => {
                (not_below, recorded)
            }
            (Self::Unique, Action::Mark) => (token.is_some(), recorded),
            (Self::Unique, Action::Write { .. }) => (token.is_some() && token == barrier, unrecorded),
            (Self::Version, Action::Write { based_on }) => (based_on == Some(version), unrecorded),
            (Self::Version, Action::Mark) => (true, unrecorded),
            // There is no key in a store of one's own.
            (Self::OwnerKey, _) => (false, unrecorded),
        };
        if passes { then } else { Ruling::Refuse }
    }
}

impl<F: Fn(&Op, Seen) -> Ruling + 'static> Check for F {
    fn judge(&self, op: &Op, seen: Seen) -> Ruling {
        self(op, seen)
    }
}

/// How a check is applied, whatever it says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Manner {
    /// Whether anything can come between the check and what it allows.
    pub act: Act,
    /// Whether the barrier outlives the process.
    pub max: Max,
    /// Whose barrier it is.
    pub barrier: Reach,
}

/// When the check is made, for an operation that takes the resource some time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Act {
    /// In one step with the act, when the time is over.
    #[default]
    Atomic,
    /// When the operation arrives. What it allows, and what it records, comes when the time is over, whatever has
    /// happened since.
    CheckThenAct,
    /// When the operation arrives, and in the same step it records the token. The act comes later.
    RecordThenAct,
}

impl Act {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 3] = [Self::Atomic, Self::CheckThenAct, Self::RecordThenAct];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::CheckThenAct => "check-then-act",
            Self::RecordThenAct => "record-then-act",
        }
    }
}

/// What becomes of the barrier when the resource's process dies. The objects are always on the disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Max {
    /// It is on the disk, beside the object, before anybody hears of it.
    #[default]
    Durable,
    /// It is in memory, and forgotten.
    Volatile,
}

impl Max {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 2] = [Self::Durable, Self::Volatile];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Durable => "durable",
            Self::Volatile => "volatile",
        }
    }
}

/// How far a barrier reaches.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reach {
    /// Each object has its own.
    #[default]
    PerObject,
    /// There is one for all objects.
    Whole,
}

impl Reach {
    /// All of them, in the order of documentation.
    pub const ALL: [Self; 2] = [Self::PerObject, Self::Whole];

    /// Its name in scenario files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PerObject => "per-object",
            Self::Whole => "whole",
        }
    }
}

#[cfg(test)]
mod tests;
