//! A server that stands on a replicated log, and does as little as can be: it keeps one number.

use std::fmt;

use host::{
    AttemptId, CallId, ConnId, Context, Digest, Domain, Fold, Never, NodeId, Operation, Origin, Point, Request,
    Service, TimerId, digest_enum,
};
use models::log::{Applied, Event, Member, Packet, Replicated, Settings, Ticket, Written};

/// The domain of the register; also, what its log is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Register {}

impl Replicated for Register {
    type Domain = Self;
    type Command = u64;
    type Image = State;

    fn message(packet: Packet<Self>) -> Message {
        Message::Peer(Box::new(packet))
    }
    fn record(written: Written<Self>) -> Written<Self> {
        written
    }
    fn written(record: &Written<Self>) -> Option<&Written<Self>> {
        Some(record)
    }
}

/// What clients ask.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Ask {
    /// Keep this number.
    Write(u64),
    /// What is kept?
    Read,
}

/// What they are told: which version of the register this is, and which number.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Told {
    pub(crate) version: u64,
    pub(crate) value: u64,
}

impl Request for Ask {
    type Reply = Told;
    type Push = Never;
}

/// What a member has applied.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct State {
    /// The index of the entry that wrote the number, and the number.
    pub(crate) now: Told,
    /// A digest of all that was written, in order.
    pub(crate) past: u64,
}

impl Digest for State {
    fn digest(&self, fold: &mut Fold) {
        fold.pair(self.now.version, self.now.value);
        fold.word(self.past);
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Peer(Box<Packet<Register>>),
    Ask(Ask),
    Told(Told),
}

digest_enum!(Message { 1 => Peer(packet), 2 => Ask(ask), 3 => Told(told) });
digest_enum!(Ask { 1 => Write(value), 2 => Read });

impl Digest for Told {
    fn digest(&self, fold: &mut Fold) {
        fold.pair(self.version, self.value);
    }
}

macro_rules! carried {
    ($($type:ident),*) => { $(
        impl From<$type> for Message {
            fn from(content: $type) -> Self {
                Self::$type(content)
            }
        }
        impl TryFrom<Message> for $type {
            type Error = ();
            fn try_from(message: Message) -> Result<Self, ()> {
                match message { Message::$type(content) => Ok(content), _ => Err(()) }
            }
        }
    )* };
}
carried!(Ask, Told);

impl TryFrom<Message> for Never {
    type Error = ();
    fn try_from(_: Message) -> Result<Self, ()> {
        Err(())
    }
}

/// What members and clients note.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Note {
    /// A member has started.
    Started,
    /// A member has applied an entry, and this is the state then.
    Applied { index: u64, term: u64, command: Option<u64>, state: State },
    /// A member was sent the state up to that index.
    Restored { index: u64, state: State },
    /// A member takes itself to be the leader.
    Elected { term: u64 },
    /// It has applied the entry with which it began to lead.
    Leads { term: u64 },
    /// It does not lead any more.
    Deposed,
    /// A client asks.
    Asked { op: u64, ask: Ask },
    /// A client was told.
    Told { op: u64, told: Told },
    /// A client gave up.
    GaveUp { op: u64 },
    /// A client gave up, when all was well.
    Unanswered { op: u64 },
}

impl Digest for Note {
    fn digest(&self, fold: &mut Fold) {
        match *self {
            Self::Started => fold.word(1),
            Self::Applied { index, term, command, state } => {
                fold.pair(2, index);
                fold.word(term);
                command.digest(fold);
                state.digest(fold);
            }
            Self::Restored { index, state } => {
                fold.pair(3, index);
                state.digest(fold);
            }
            Self::Elected { term } => fold.pair(4, term),
            Self::Leads { term } => fold.pair(5, term),
            Self::Deposed => fold.word(6),
            Self::Asked { op, ask } => {
                fold.pair(7, op);
                ask.digest(fold);
            }
            Self::Told { op, told } => {
                fold.pair(8, op);
                told.digest(fold);
            }
            Self::GaveUp { op } => fold.pair(9, op),
            Self::Unanswered { op } => fold.pair(10, op),
        }
    }
}

impl Domain for Register {
    type Message = Message;
    type Note = Note;
    type Record = Written<Self>;
    type Nudge = Nothing;

    fn operation(message: &Message) -> Operation {
        match message {
            Message::Peer(packet) => packet.operation(),
            Message::Ask(Ask::Write(_)) => Operation("write"),
            Message::Ask(Ask::Read) => Operation("read"),
            Message::Told(_) => Operation("told"),
        }
    }
    fn left(_: &Message, _: AttemptId) -> Option<Note> {
        None
    }
    fn milestone(_: &Note) -> Option<(AttemptId, Point)> {
        None
    }
    fn describe_message(message: &Message) -> String {
        match message {
            Message::Peer(packet) => packet.to_string(),
            other => format!("{other:?}"),
        }
    }
    fn describe_note(note: &Note) -> String {
        format!("{note:?}")
    }
}

/// No fault acts inside the register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nothing {}

impl Digest for Nothing {
    fn digest(&self, _: &mut Fold) {
        match *self {}
    }
}

/// The server.
pub(crate) struct Server {
    log: Member<Register>,
    state: State,
    waiting: Vec<(Ticket, Origin)>,
    /// It compacts its log whenever so many entries were applied since it last did.
    compacts: u64,
    compacted: u64,
}

impl Server {
    pub(crate) fn new(settings: Settings, compacts: u64) -> Self {
        Self { log: Member::new(settings), state: State::default(), waiting: Vec::new(), compacts, compacted: 0 }
    }

    /// What has come of it.
    fn settle(&mut self, cx: &mut Context<Register>) {
        while let Some(event) = self.log.next_event() {
            match event {
                Event::Leader { leader, term } if leader == Some(cx.node) => cx.note(Note::Elected { term }),
                Event::Leader { .. } => {}
                Event::Leads { term } => cx.note(Note::Leads { term }),
                Event::Deposed => cx.note(Note::Deposed),
                Event::Applied(applied) => self.apply(cx, &applied),
                Event::Restored(snapshot) => {
                    self.state = *snapshot.image;
                    self.compacted = snapshot.place.index;
                    cx.note(Note::Restored { index: snapshot.place.index, state: self.state });
                }
                Event::Readable(ticket) => self.answer(cx, ticket),
            }
        }
        if self.log.applied().index >= self.compacted + self.compacts {
            self.compacted = self.log.applied().index;
            self.log.compact(cx, self.state, self.compacts / 2);
        }
    }

    fn apply(&mut self, cx: &mut Context<Register>, applied: &Applied<Register>) {
        let place = applied.entry.place;
        let command = applied.entry.proposal.as_ref().map(|proposal| proposal.command);
        if let Some(value) = command {
            let mut past = Fold::new(self.state.past);
            past.word(value);
            self.state = State { now: Told { version: place.index, value }, past: past.value() };
        }
        cx.note(Note::Applied { index: place.index, term: place.term, command, state: self.state });
        if let Some(ticket) = applied.ticket {
            self.answer(cx, ticket);
        }
    }

    fn answer(&mut self, cx: &mut Context<Register>, ticket: Ticket) {
        if let Some(place) = self.waiting.iter().position(|(other, _)| *other == ticket) {
            let (_, origin) = self.waiting.remove(place);
            cx.reply(origin, self.state.now);
        }
    }
}

impl Service<Register> for Server {
    fn on_start(&mut self, cx: &mut Context<Register>) {
        cx.note(Note::Started);
        self.log.start(cx);
        self.settle(cx);
    }
    fn on_message(&mut self, cx: &mut Context<Register>, from: Origin, message: Message) {
        match message {
            Message::Peer(packet) => self.log.on_message(cx, from, *packet),
            Message::Ask(Ask::Write(value)) => {
                let ticket = self.log.propose(cx, value);
                self.waiting.push((ticket, from));
            }
            Message::Ask(Ask::Read) => {
                let ticket = self.log.read(cx);
                self.waiting.push((ticket, from));
            }
            Message::Told(_) => unreachable!("servers are not told"),
        }
        self.settle(cx);
    }
    fn on_timer(&mut self, cx: &mut Context<Register>, timer: TimerId) {
        assert!(self.log.on_timer(cx, timer), "it has no timers of its own");
        self.settle(cx);
    }
    fn on_open(&mut self, cx: &mut Context<Register>, conn: ConnId) {
        assert!(self.log.on_open(cx, conn), "it dials nobody itself");
        self.settle(cx);
    }
    fn on_push(&mut self, cx: &mut Context<Register>, conn: ConnId, message: Message) {
        let Message::Peer(packet) = message else { unreachable!("nobody else pushes") };
        self.log.on_push(cx, conn, *packet);
        self.settle(cx);
    }
    fn on_reply(&mut self, _: &mut Context<Register>, _: ConnId, _: CallId, _: Message) {
        unreachable!("members do not answer each other");
    }
    fn on_close(&mut self, cx: &mut Context<Register>, conn: ConnId) {
        self.log.on_close(cx, conn);
        self.settle(cx);
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(f)
    }
}

/// Every node of the cluster: they are the first of the world.
pub(crate) fn members(count: u16) -> Vec<NodeId> {
    (0..count).map(NodeId::new).collect()
}
