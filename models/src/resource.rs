//! The guarded resource: named objects, each a cell with a version, that clients read and overwrite; a counter of
//! which they may draw numbers; and a place of side effects.
//!
//! It is what a lock is for. Nothing about it knows of locks: it sees operations, some of which carry
//! a token, and its [check](crate::guard) accepts or refuses. Objects are on the disk before the answer
//! leaves, and so is the barrier beside them, unless the resource is told to keep it in memory.
//!
//! An operation may take the resource some time, on its monotonic clock: the work is the process's own, stands
//! still with it and is lost with it. Others are served in between. An atomic resource checks and acts in one
//! step at the end of that time; one that checks at the beginning carries out what its check had allowed,
//! whatever the others have done since. That is how code with a check in one statement and the write in another
//! behaves.
//!
//! Effects are not guarded: a mail that is sent, a card that is charged cannot be refused for what comes later. All
//! that helps is a receiver that knows them again by a key.
//!
//! Not modelled: several replicas, and the content of objects: a version stands for it.

mod op;

use std::collections::{BTreeMap, BTreeSet};

use host::{AttemptId, Calls, Context, Deadline, Origin, Service, TimerId};
use spec::{EffectName, Note, ObjectName, Token, Version};

pub use self::op::{Action, Key, Op, OpReply, Work};
use crate::domain::{Locks, Message, Record};
use crate::guard::{Act, Check, Guard, Manner, Max, Reach, Ruling, Seen};
use crate::recipe::LockHost;

/// A process that can reach the guarded resource.
pub trait ResourceHost: LockHost + Calls<Op> {}

impl<H: LockHost + Calls<Op>> ResourceHost for H {}

/// The resource's disk: one thing that has changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Stored {
    /// An object has a new version.
    Version(ObjectName, Version),
    /// A token was recorded.
    Barrier(Place, Token),
    /// A number was drawn.
    Ticket(Token),
    /// An effect with a key was done.
    Done(EffectName, Key),
}

/// What a barrier is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// All objects.
    Everywhere,
    /// That object.
    Object(ObjectName),
}

/// The resource's state machine, with its check.
#[derive(Debug)]
pub struct Resource<C = Guard> {
    check: C,
    manner: Manner,
    versions: BTreeMap<ObjectName, Version>,
    barriers: BTreeMap<Place, Token>,
    /// The number that was drawn last.
    ticket: Token,
    /// The effects that are not to be done again.
    done: BTreeSet<(EffectName, Key)>,
    /// What it works on, by the timer of its end.
    at_work: BTreeMap<TimerId, Job>,
    next_timer: TimerId,
}

/// An operation that takes time.
#[derive(Debug)]
struct Job {
    from: Origin,
    attempt: Option<AttemptId>,
    op: Op,
    /// What the check has said already.
    allowed: Option<Allowed>,
}

/// What the check let pass.
#[derive(Clone, Copy, Debug)]
struct Allowed {
    /// The token to record, if it is another than before.
    record: Option<Token>,
}

impl<C: Check> Resource<C> {
    /// A resource in which every object has version 0.
    #[must_use]
    pub const fn new(check: C, manner: Manner) -> Self {
        Self {
            check,
            manner,
            versions: BTreeMap::new(),
            barriers: BTreeMap::new(),
            ticket: Token(0),
            done: BTreeSet::new(),
            at_work: BTreeMap::new(),
            next_timer: TimerId(0),
        }
    }
}

impl<C: Check> Service<Locks> for Resource<C> {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        for record in cx.disk.records() {
            let Record::Stored(stored) = record else { continue };
            match stored {
                Stored::Version(object, version) => _ = self.versions.insert(*object, *version),
                Stored::Barrier(place, token) => _ = self.barriers.insert(*place, *token),
                Stored::Ticket(token) => self.ticket = *token,
                Stored::Done(effect, key) => _ = self.done.insert((*effect, *key)),
            }
        }
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Op(mut op) = message else { panic!("not an operation on the resource: {message:?}") };
        if op.action == Action::Ticket {
            op.token = Some(self.draw(cx));
        }
        if op.takes == Work::NONE {
            self.finish(cx, from, &op, None);
            return;
        }
        let allowed = match self.manner.act {
            Act::Atomic => None,
            Act::CheckThenAct | Act::RecordThenAct => {
                let Some(mut allowed) = self.check(cx, from, &op) else { return };
                if self.manner.act == Act::RecordThenAct {
                    self.record(cx, op.object, allowed.record.take());
                    sync(cx);
                }
                cx.note(Note::Passed { attempt: cx.attempt, op: op.id, object: op.object });
                Some(allowed)
            }
        };
        self.begin(cx, Job { from, attempt: cx.attempt, op, allowed });
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, timer: TimerId) {
        let Job { from, attempt, op, allowed } = self.at_work.remove(&timer).expect("a timer is set for some work");
        cx.attempt = attempt;
        self.finish(cx, from, &op, allowed);
    }
}

impl<C: Check> Resource<C> {
    /// Checks, unless that is done, and acts.
    fn finish(&mut self, cx: &mut Context<Locks>, from: Origin, op: &Op, allowed: Option<Allowed>) {
        if let Some(allowed) = allowed.or_else(|| self.check(cx, from, op)) {
            self.act(cx, from, op, allowed);
            sync(cx);
        }
    }

    /// Asks the check, and tells whoever it refuses.
    fn check(&self, cx: &mut Context<Locks>, from: Origin, op: &Op) -> Option<Allowed> {
        let barrier = self.barriers.get(&self.place(op.object)).copied();
        match self.check.judge(op, Seen { version: self.version(op.object), barrier }) {
            Ruling::Accept { barrier: after } => Some(Allowed { record: after.filter(|_| after != barrier) }),
            Ruling::Refuse => {
                cx.note(Note::Refused { attempt: cx.attempt, op: op.id, object: op.object });
                cx.reply(from, OpReply::Refused);
                None
            }
        }
    }
}

impl<C> Resource<C> {
    fn begin(&mut self, cx: &mut Context<Locks>, job: Job) {
        let timer = self.next_timer;
        self.next_timer.0 += 1;
        cx.set_timer(timer, Deadline::Mono(cx.mono + job.op.takes.length()));
        self.at_work.insert(timer, job);
    }

    /// Carries out what is allowed.
    fn act(&mut self, cx: &mut Context<Locks>, from: Origin, op: &Op, allowed: Allowed) {
        let (attempt, id, object) = (cx.attempt, op.id, op.object);
        let before = self.version(object);
        self.record(cx, object, allowed.record);
        let (note, reply) = match op.action {
            Action::Read => (Some(Note::Read { attempt, op: id, object, version: before }), OpReply::Version(before)),
            Action::Write { based_on } => {
                let after = Version(before.0 + 1);
                self.versions.insert(object, after);
                cx.disk.append(Record::Stored(Stored::Version(object, after)));
                (Some(Note::Wrote { attempt, op: id, object, based_on, replaced: before }), OpReply::Version(after))
            }
            Action::Mark => (Some(Note::Marked { attempt, op: id, object }), OpReply::Done),
            Action::Ticket => {
                let marks = allowed.record.map(|_| Note::Marked { attempt, op: id, object });
                (marks, OpReply::Ticket(op.token.expect("a number is drawn on arrival")))
            }
            Action::Effect { key } => {
                let is_new = key.is_none_or(|key| self.is_first(cx, object, key));
                (is_new.then_some(Note::Effected { attempt, op: id, effect: object }), OpReply::Done)
            }
        };
        note.into_iter().for_each(|note| cx.note(note));
        cx.reply(from, reply);
    }

    /// The next number.
    fn draw(&mut self, cx: &mut Context<Locks>) -> Token {
        self.ticket.0 += 1;
        cx.disk.append(Record::Stored(Stored::Ticket(self.ticket)));
        sync(cx);
        self.ticket
    }

    /// Whether no such effect was done before.
    fn is_first(&mut self, cx: &mut Context<Locks>, effect: EffectName, key: Key) -> bool {
        let is_first = self.done.insert((effect, key));
        if is_first {
            cx.disk.append(Record::Stored(Stored::Done(effect, key)));
        }
        is_first
    }

    fn record(&mut self, cx: &mut Context<Locks>, object: ObjectName, token: Option<Token>) {
        let Some(token) = token else { return };
        let place = self.place(object);
        self.barriers.insert(place, token);
        if self.manner.max == Max::Durable {
            cx.disk.append(Record::Stored(Stored::Barrier(place, token)));
        }
    }

    fn version(&self, object: ObjectName) -> Version {
        self.versions.get(&object).copied().unwrap_or(Version(0))
    }

    const fn place(&self, object: ObjectName) -> Place {
        match self.manner.barrier {
            Reach::PerObject => Place::Object(object),
            Reach::Whole => Place::Everywhere,
        }
    }
}

/// What a step has changed is on the disk before anybody hears of it, all of it or nothing.
fn sync(cx: &mut Context<Locks>) {
    if cx.disk.unsynced() > 0 {
        cx.disk.sync();
    }
}

#[cfg(test)]
mod tests;
