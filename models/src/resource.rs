//! The guarded resource: named objects, each a cell with a version, that clients read and overwrite.
//!
//! It is what a lock is for. Nothing about it knows of locks: it sees operations, some of which carry
//! a token, and its [check](crate::guard) accepts or refuses. A check and what follows from it are one
//! step, and the barrier (the highest token seen) is kept with each object, on the disk, beside its
//! version: it is durable before the answer leaves.
//!
//! Not modelled: several replicas, a check apart from the act, a barrier that is forgotten in a crash,
//! and the content of objects: a version stands for it.

use std::collections::BTreeMap;
use std::fmt;

use host::{Calls, Context, Never, Operation, Origin, Request, Service, digest_enum};
use spec::{Note, ObjectName, OpId, Token, Version};

use crate::domain::{Locks, Message, Record, With};
use crate::guard::{Check, Guard, Ruling};
use crate::recipe::LockHost;

/// A process that can reach the guarded resource.
pub trait ResourceHost: LockHost + Calls<Op> {}

impl<H: LockHost + Calls<Op>> ResourceHost for H {}

/// A request to the resource.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Tell an object's version.
    Read {
        /// Which of its attempt's operations it is.
        op: OpId,
        /// Which object.
        object: ObjectName,
        /// The client's token, if its lock gave one.
        token: Option<Token>,
    },
    /// Overwrite an object.
    Write {
        /// Which of its attempt's operations it is.
        op: OpId,
        /// Which object.
        object: ObjectName,
        /// The client's token, if its lock gave one.
        token: Option<Token>,
        /// The version that the client had read; `None`: none.
        based_on: Option<Version>,
    },
}

/// What the resource answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OpReply {
    /// Done. For a read, the version it saw; for a write, the version it made.
    Version(Version),
    /// The check said no.
    Refused,
}

impl Request for Op {
    type Reply = OpReply;
    type Push = Never;
}

impl Op {
    /// Which of its attempt's operations it is.
    #[must_use]
    pub const fn id(&self) -> OpId {
        match self {
            Self::Read { op, .. } | Self::Write { op, .. } => *op,
        }
    }

    /// The object it is about.
    #[must_use]
    pub const fn object(&self) -> &ObjectName {
        match self {
            Self::Read { object, .. } | Self::Write { object, .. } => object,
        }
    }

    /// The token it carries.
    #[must_use]
    pub const fn token(&self) -> Option<Token> {
        match self {
            Self::Read { token, .. } | Self::Write { token, .. } => *token,
        }
    }

    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        match self {
            Self::Read { .. } => Operation("read"),
            Self::Write { .. } => Operation("write"),
        }
    }
}

digest_enum!(Op { 1 => Read { op, object, token }, 2 => Write { op, object, token, based_on } });
digest_enum!(OpReply { 1 => Version(version), 2 => Refused });

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { object, token, .. } => write!(f, "READ {object}{}", With(*token)),
            Self::Write { object, token, based_on: Some(version), .. } => {
                write!(f, "WRITE {object} based on v{}{}", version.0, With(*token))
            }
            Self::Write { object, token, based_on: None, .. } => write!(f, "WRITE {object} blind{}", With(*token)),
        }
    }
}

impl fmt::Display for OpReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => write!(f, "v{}", version.0),
            Self::Refused => f.write_str("refused"),
        }
    }
}

/// The resource, as it is written to the disk: one object's new state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stored {
    object: ObjectName,
    state: State,
}

/// One object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct State {
    version: Version,
    /// The highest token seen, if the check keeps one.
    barrier: Option<Token>,
}

impl State {
    const FIRST: Self = Self { version: Version(0), barrier: None };
}

/// The resource's state machine, with its check.
#[derive(Debug)]
pub struct Resource<C = Guard> {
    check: C,
    objects: BTreeMap<ObjectName, State>,
}

impl<C: Check> Resource<C> {
    /// A resource in which every object has version 0.
    #[must_use]
    pub const fn new(check: C) -> Self {
        Self { check, objects: BTreeMap::new() }
    }
}

impl<C: Check> Service<Locks> for Resource<C> {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        self.objects.clear();
        for record in cx.disk.records() {
            let Record::Stored(Stored { object, state }) = record;
            self.objects.insert(*object, *state);
        }
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Op(op) = message else { panic!("not an operation on the resource: {message:?}") };
        let before = self.objects.get(op.object()).copied().unwrap_or(State::FIRST);
        let reply = match self.check.judge(&op, before.barrier) {
            Ruling::Refuse => {
                cx.note(Note::Refused { attempt: cx.attempt, op: op.id(), object: *op.object() });
                OpReply::Refused
            }
            Ruling::Accept { barrier } => {
                let after = State { version: version_after(&op, before.version), barrier };
                if after != before {
                    self.store(cx, op.object(), after);
                }
                cx.note(accepted(&op, before.version, cx));
                OpReply::Version(after.version)
            }
        };
        cx.reply(from, reply);
    }
}

impl<C> Resource<C> {
    /// The new state is on the disk before anybody hears of it.
    fn store(&mut self, cx: &mut Context<Locks>, object: &ObjectName, state: State) {
        cx.disk.append(Record::Stored(Stored { object: *object, state }));
        cx.disk.sync();
        self.objects.insert(*object, state);
    }
}

const fn version_after(op: &Op, before: Version) -> Version {
    match op {
        Op::Read { .. } => before,
        Op::Write { .. } => Version(before.0 + 1),
    }
}

/// What the history is told of an accepted operation. `cx` tells on whose behalf; nothing else knows.
fn accepted(op: &Op, before: Version, cx: &Context<Locks>) -> Note {
    let attempt = cx.attempt;
    match op.clone() {
        Op::Read { op, object, .. } => Note::Read { attempt, op, object, version: before },
        Op::Write { op, object, based_on, .. } => Note::Wrote { attempt, op, object, based_on, replaced: before },
    }
}

#[cfg(test)]
mod tests;
