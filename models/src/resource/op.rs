//! What can be asked of the guarded resource, and what it answers.

use std::fmt;
use std::num::NonZeroU32;

use host::{Digest, Duration, Fold, Never, Operation, Request, digest_enum};
use serde::{Deserialize, Serialize};
use spec::{ObjectName, OpId, Token, Version};

use crate::domain::With;

/// A request to the resource.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Op {
    /// Which of its attempt's operations it is.
    pub id: OpId,
    /// What it is about: an object, or the name of an effect.
    pub object: ObjectName,
    /// The client's token, if it has one.
    pub token: Option<Token>,
    /// How long the resource works on it.
    pub takes: Work,
    /// What is to be done.
    pub action: Action,
}

/// A length of work, to the microsecond. Every operation carries one through the event queue, so that it is
/// smaller than a [`Duration`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Work(u32);

impl Work {
    /// Work that takes no time.
    pub const NONE: Self = Self(0);

    /// The longest work: a little more than 71 minutes.
    pub const LONGEST: Self = Self(u32::MAX);

    /// Work of that length, rounded down; what is longer than the longest is the longest.
    #[must_use]
    pub fn of(length: Duration) -> Self {
        u32::try_from(length.as_micros()).map_or(Self::LONGEST, Self)
    }

    /// How long it takes.
    #[must_use]
    pub const fn length(self) -> Duration {
        Duration::from_micros(self.0 as u64)
    }
}

/// What a client wants done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    /// Tell the object's version.
    Read,
    /// Overwrite the object.
    Write {
        /// The version that the client had read; `None`: none.
        based_on: Option<Version>,
    },
    /// Record the token, so that nothing older can follow.
    Mark,
    /// Count up, and tell the number: the client's token from here on. It carries that number as its token.
    Ticket,
    /// Do what cannot be undone and has no version: send a mail, charge a card. What it is about is its name.
    Effect {
        /// What tells that it is the same effect: done once, it is not done again. `None`: nothing does.
        key: Option<Key>,
    },
}

/// An idempotency key: the number of an order, say. Never zero, so that an operation without one is no larger.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Key(pub NonZeroU32);

/// What the resource answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpReply {
    /// Done. For a read, the version it saw; for a write, the version it made.
    Version(Version),
    /// Done, and there is nothing to tell.
    Done,
    /// The number that was drawn.
    Ticket(Token),
    /// The check said no.
    Refused,
}

impl Request for Op {
    type Reply = OpReply;
    type Push = Never;
}

impl Op {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        self.action.operation()
    }
}

impl Action {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Read => Operation("read"),
            Self::Write { .. } => Operation("write"),
            Self::Mark => Operation("mark"),
            Self::Ticket => Operation("ticket"),
            Self::Effect { .. } => Operation("effect"),
        }
    }
}

impl Digest for Op {
    fn digest(&self, fold: &mut Fold) {
        let Self { id, object, token, takes, action } = self;
        id.digest(fold);
        object.digest(fold);
        token.digest(fold);
        takes.0.digest(fold);
        action.digest(fold);
    }
}
digest_enum!(Action { 1 => Read, 2 => Write { based_on }, 3 => Mark, 4 => Ticket, 5 => Effect { key } });
digest_enum!(OpReply { 1 => Version(version), 2 => Refused, 3 => Done, 4 => Ticket(token) });

impl Digest for Key {
    fn digest(&self, fold: &mut Fold) {
        self.0.get().digest(fold);
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let object = self.object;
        match self.action {
            Action::Read => write!(f, "READ {object}"),
            Action::Write { based_on: Some(version) } => write!(f, "WRITE {object} based on v{}", version.0),
            Action::Write { based_on: None } => write!(f, "WRITE {object} blind"),
            Action::Mark => write!(f, "MARK {object}"),
            Action::Ticket => write!(f, "TICKET {object}"),
            Action::Effect { key: Some(key) } => write!(f, "DO {object} once, key {}", key.0),
            Action::Effect { key: None } => write!(f, "DO {object}"),
        }?;
        With(self.token).fmt(f)
    }
}

impl fmt::Display for OpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "v{}", version.0),
            Self::Done => f.write_str("done"),
            Self::Ticket(token) => write!(f, "token {}", token.0),
            Self::Refused => f.write_str("refused"),
        }
    }
}
