//! A domain for trying faults on: a server that keeps a number, pushes it, writes it to its disk and has
//! alarms on every clock.

use host::{
    AttemptId, Context, Deadline, Digest, Domain, Fold, KeepAlive, MonoTime, Operation, Origin, Point, Request,
    Service, Shortage, TimerId,
};

pub(crate) use crate::world::*;

/// The domain of the probe.
pub(crate) struct Probe;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// Keep this number.
    Put(u64),
    /// What is kept?
    Get,
    /// Push every number that is kept from now on.
    Watch,
    /// Set the alarm so many ms from now, whatever it was; 0: in the past; nothing: forget it.
    Alarm(Option<u64>),
    /// Find out from now on whether I am there still.
    Heed(KeepAlive),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kept(pub(crate) u64);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Pushed(pub(crate) u64);

impl Request for Ask {
    type Reply = Kept;
    type Push = Pushed;
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Ask(Ask),
    Kept(Kept),
    Pushed(Pushed),
}

impl Digest for Message {
    fn digest(&self, fold: &mut Fold) {
        let (tag, value) = match self {
            Self::Ask(Ask::Put(value)) => (0, *value),
            Self::Ask(Ask::Get) => (1, 0),
            Self::Ask(Ask::Watch) => (2, 0),
            Self::Kept(Kept(value)) => (3, *value),
            Self::Pushed(Pushed(value)) => (4, *value),
            Self::Ask(Ask::Alarm(value)) => (5, value.unwrap_or(0)),
            Self::Ask(Ask::Heed(how)) => (6, how.idle.as_secs()),
        };
        fold.word(tag);
        fold.word(value);
    }
}

macro_rules! carried {
    ($($type:ident),*) => { $(
        impl From<$type> for Message {
            fn from(value: $type) -> Self {
                Self::$type(value)
            }
        }
        impl TryFrom<Message> for $type {
            type Error = ();
            fn try_from(message: Message) -> Result<Self, ()> {
                match message { Message::$type(value) => Ok(value), _ => Err(()) }
            }
        }
    )* };
}
carried!(Ask, Kept, Pushed);

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    /// The server keeps a number, on behalf of an attempt.
    Stored(u64, Option<AttemptId>),
    /// A timer of the server fired.
    Fired(u32),
    /// A server has done what was asked for: its last effect.
    Served,
    /// A server started.
    Started,
    /// A server learnt that a connection is gone.
    Closed,
    /// A server has been asked to end.
    Stopping,
    /// A fault has changed what a server keeps.
    Nudged(u64),
    /// A program says something.
    Said(&'static str),
    /// A tagged request left.
    Left(AttemptId),
}

impl Digest for Note {
    fn digest(&self, fold: &mut Fold) {
        let (tag, value) = match self {
            Self::Stored(value, _) => (0, *value),
            Self::Fired(timer) => (1, u64::from(*timer)),
            Self::Said(word) => (2, word.digested()),
            Self::Left(attempt) => (3, u64::from(attempt.ordinal())),
            Self::Started => (4, 0),
            Self::Closed => (5, 0),
            Self::Served => (6, 0),
            Self::Nudged(value) => (7, *value),
            Self::Stopping => (8, 0),
        };
        fold.word(tag);
        fold.word(value);
    }
}

impl Domain for Probe {
    type Message = Message;
    type Note = Note;
    type Record = u64;
    type Nudge = Nudge;

    fn operation(message: &Message) -> Operation {
        Operation(match message {
            Message::Ask(Ask::Put(_)) => "put",
            Message::Ask(Ask::Get) => "get",
            Message::Ask(Ask::Watch) => "watch",
            Message::Ask(Ask::Alarm(_)) => "alarm",
            Message::Ask(Ask::Heed(_)) => "heed",
            Message::Kept(_) => "kept",
            Message::Pushed(_) => "pushed",
        })
    }
    fn left(_: &Message, attempt: AttemptId) -> Option<Note> {
        Some(Note::Left(attempt))
    }
    fn milestone(note: &Note) -> Option<(AttemptId, Point)> {
        match note {
            Note::Stored(_, Some(attempt)) => Some((*attempt, STORED)),
            _ => None,
        }
    }
    fn describe_message(message: &Message) -> String {
        format!("{message:?}")
    }
    fn describe_note(note: &Note) -> String {
        format!("{note:?}")
    }
}

/// What a fault may do inside the server: it forgets what it keeps, or keeps something else.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nudge {
    Forget,
    Keep(u64),
}

impl Digest for Nudge {
    fn digest(&self, fold: &mut Fold) {
        match self {
            Self::Forget => fold.word(0),
            Self::Keep(value) => fold.word(1 + value),
        }
    }
}

/// The server's milestone.
pub(crate) const STORED: Point = Point("stored");

/// The server's alarm.
pub(crate) const ALARM: TimerId = TimerId(9);

/// What the server does with its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Persistence {
    None,
    Written,
    Synced,
    SyncedAside,
}

/// Keeps a number; has an alarm on each clock, 10 s after its start.
pub(crate) struct Store {
    pub(crate) persistence: Persistence,
    kept: u64,
    watchers: Vec<host::ConnId>,
}

impl Store {
    pub(crate) fn new(persistence: Persistence) -> Self {
        Self { persistence, kept: 0, watchers: Vec::new() }
    }
}

impl Service<Probe> for Store {
    fn on_start(&mut self, cx: &mut Context<Probe>) {
        cx.note(Note::Started);
        self.kept = cx.disk.records().last().copied().unwrap_or(0);
        cx.set_timer(TimerId(1), Deadline::Mono(cx.mono + secs(10)));
        cx.set_timer(TimerId(2), Deadline::Boot(cx.boot + secs(10)));
        cx.set_timer(TimerId(3), Deadline::Wall(cx.wall + secs(10)));
    }
    fn on_message(&mut self, cx: &mut Context<Probe>, from: Origin, message: Message) {
        let Message::Ask(ask) = message else { return };
        match ask {
            // A full memory keeps nothing new; on a full disk, nothing is written.
            Ask::Put(_) if cx.shortages.of(Shortage::Memory) => {}
            Ask::Put(value) => {
                self.kept = value;
                if self.persistence != Persistence::None && !cx.shortages.of(Shortage::Disk) {
                    cx.disk.append(value);
                }
                match self.persistence {
                    Persistence::Synced => cx.disk.sync(),
                    Persistence::SyncedAside => cx.disk.sync_aside(),
                    Persistence::None | Persistence::Written => {}
                }
                cx.note(Note::Stored(value, cx.attempt));
                for watcher in &self.watchers {
                    cx.push(*watcher, Pushed(value));
                }
            }
            Ask::Watch => self.watchers.push(from.conn),
            Ask::Get => {}
            Ask::Heed(how) => cx.keep_alive(from.conn, how),
            Ask::Alarm(wait) => {
                cx.set_timer(ALARM, Deadline::Mono(cx.mono + secs(1)));
                cx.cancel_timer(ALARM);
                match wait {
                    None => {}
                    Some(0) => cx.set_timer(ALARM, Deadline::Mono(MonoTime::from_nanos(0))),
                    Some(wait) => cx.set_timer(ALARM, Deadline::Mono(cx.mono + ms(wait))),
                }
            }
        }
        cx.reply(from, Kept(self.kept));
        cx.note(Note::Served);
    }
    /// It writes what it keeps to its disk.
    fn on_stop(&mut self, cx: &mut Context<Probe>) {
        cx.disk.replace(self.kept);
        cx.note(Note::Stopping);
    }
    fn on_nudge(&mut self, cx: &mut Context<Probe>, nudge: Nudge) {
        self.kept = match nudge {
            Nudge::Forget => 0,
            Nudge::Keep(value) => value,
        };
        cx.note(Note::Nudged(self.kept));
    }
    fn on_timer(&mut self, cx: &mut Context<Probe>, timer: TimerId) {
        cx.note(Note::Fired(timer.0));
        if cx.disk.is_syncing() {
            cx.note(Note::Said("waits for its disk"));
        }
    }
    /// It goes on pushing to watchers that are gone.
    fn on_close(&mut self, cx: &mut Context<Probe>, _: host::ConnId) {
        cx.note(Note::Closed);
    }
}
