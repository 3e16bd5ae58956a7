//! A small world for trying faults on: one server that keeps a number, and programs that log what
//! they see with their own monotonic milliseconds.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use host::{
    AttemptId, CallError, Calls, Connection, Context, Deadline, Digest, Domain, Duration, Fold, Host, MonoTime, NodeId,
    Operation, Origin, Point, Ppm, Request, Server, Service, SimTime, Span, TimerId, WallTime,
};
use sim::{Bounds, Entity, Fault, Lasts, NodeSpec, Outcome, Sim, SimConnection, SimHost, Target, What, When};

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
        };
        fold.word(tag);
        fold.word(value);
    }
}

impl Domain for Probe {
    type Message = Message;
    type Note = Note;
    type Record = u64;

    fn operation(message: &Message) -> Operation {
        Operation(match message {
            Message::Ask(Ask::Put(_)) => "put",
            Message::Ask(Ask::Get) => "get",
            Message::Ask(Ask::Watch) => "watch",
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

/// The server's milestone.
pub(crate) const STORED: Point = Point("stored");

/// What the server does with its disk.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Persistence {
    None,
    Written,
    Synced,
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
        self.kept = cx.disk.records().last().copied().unwrap_or(0);
        cx.set_timer(TimerId(1), Deadline::Mono(cx.mono + secs(10)));
        cx.set_timer(TimerId(2), Deadline::Boot(cx.boot + secs(10)));
        cx.set_timer(TimerId(3), Deadline::Wall(cx.wall + secs(10)));
    }
    fn on_message(&mut self, cx: &mut Context<Probe>, from: Origin, message: Message) {
        let Message::Ask(ask) = message else { return };
        match ask {
            Ask::Put(value) => {
                self.kept = value;
                if self.persistence != Persistence::None {
                    cx.disk.append(value);
                }
                if self.persistence == Persistence::Synced {
                    cx.disk.sync();
                }
                cx.note(Note::Stored(value, cx.attempt));
                for watcher in &self.watchers {
                    cx.push(*watcher, Pushed(value));
                }
            }
            Ask::Watch => self.watchers.push(from.conn),
            Ask::Get => {}
        }
        cx.reply(from, Kept(self.kept));
    }
    fn on_timer(&mut self, cx: &mut Context<Probe>, timer: TimerId) {
        cx.note(Note::Fired(timer.0));
    }
    fn on_close(&mut self, _: &mut Context<Probe>, conn: host::ConnId) {
        self.watchers.retain(|watcher| *watcher != conn);
    }
}

pub(crate) type Process = SimHost<Probe>;
pub(crate) type Line = SimConnection<Probe, Ask>;
pub(crate) const SERVER: NodeId = NodeId::new(0);
pub(crate) const CLIENT: NodeId = NodeId::new(1);
pub(crate) const OTHER: NodeId = NodeId::new(2);

pub(crate) const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}
pub(crate) const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

/// What programs logged: their monotonic milliseconds since their start, and words.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<(u64, String)>>>);

impl Log {
    pub(crate) fn say(&self, host: &Process, words: impl std::fmt::Debug) {
        self.0.borrow_mut().push((clock(host), format!("{words:?}")));
    }
    /// As `say`, without an outcome's decoration.
    pub(crate) fn word(&self, host: &Process, word: &str) {
        self.0.borrow_mut().push((clock(host), word.to_owned()));
    }
    pub(crate) fn lines(&self) -> Vec<(u64, String)> {
        self.0.borrow().clone()
    }
    pub(crate) fn words(&self) -> Vec<String> {
        self.lines().into_iter().map(|(_, words)| words).collect()
    }
}

/// The process's monotonic clock in ms since the run began.
pub(crate) fn clock(host: &Process) -> u64 {
    (host.monotonic() - MonoTime::from_nanos(1_000_000_000)).as_millis() as u64
}

/// The process's wall clock in ms since the run began.
pub(crate) fn wall(host: &Process) -> i64 {
    host.wall().millis() - WallTime::from_nanos(1_700_000_000_000_000_000).millis()
}

pub(crate) async fn until(host: &Process, at_ms: u64) {
    host.sleep(ms(at_ms.saturating_sub(clock(host)))).await;
}

pub(crate) async fn line(host: &Process) -> Line {
    host.connect(server(), secs(1)).await.expect("the server is there")
}

pub(crate) const fn server() -> Server<Ask> {
    Server::on(SERVER)
}

pub(crate) async fn put(line: &Line, value: u64) -> Result<Kept, CallError> {
    line.call(Ask::Put(value), secs(1)).await
}

pub(crate) async fn get(line: &Line) -> Result<Kept, CallError> {
    line.call(Ask::Get, secs(1)).await
}

/// A world with one server and any clients.
pub(crate) struct World {
    pub(crate) sim: Sim<Probe>,
    pub(crate) log: Log,
    pub(crate) horizon: Duration,
}

impl World {
    pub(crate) fn new(persistence: Persistence) -> Self {
        Self::with_rates(persistence, Ppm::ZERO)
    }

    pub(crate) fn with_rates(persistence: Persistence, server_rate: Ppm) -> Self {
        let mut sim = Sim::new(7, true);
        let spec = NodeSpec { rate: server_rate, ..spec("server") };
        sim.service(spec, Box::new(move || Box::new(Store::new(persistence))));
        Self { sim, log: Log::default(), horizon: secs(60) }
    }

    pub(crate) fn client<F: Future<Output = ()> + 'static>(
        self,
        program: impl Fn(Process, Log) -> F + 'static,
    ) -> Self {
        self.client_at(Ppm::ZERO, program)
    }

    pub(crate) fn client_at<F: Future<Output = ()> + 'static>(
        mut self,
        rate: Ppm,
        program: impl Fn(Process, Log) -> F + 'static,
    ) -> Self {
        let log = self.log.clone();
        let spec = NodeSpec { rate, ..spec("client") };
        self.sim.client(spec, Box::new(move |host| Box::pin(program(host, log.clone()))));
        self
    }

    pub(crate) fn fault(mut self, when: When, what: What, lasts: Lasts) -> Self {
        self.sim.fault(Fault { entity: Entity::named("fault"), what, when, lasts });
        self
    }

    pub(crate) fn fault_if(self, on: bool, when: When, what: What, lasts: Lasts) -> Self {
        if on { self.fault(when, what, lasts) } else { self }
    }

    /// Plays the world and gives what was logged.
    pub(crate) fn run(self) -> (Log, Outcome<Note>) {
        let outcome = self.sim.run(Bounds { horizon: self.horizon, events: 100_000 });
        (self.log, outcome)
    }

    pub(crate) fn words(self) -> Vec<String> {
        self.run().0.words()
    }
}

pub(crate) fn spec(name: &str) -> NodeSpec {
    NodeSpec { name: name.to_owned(), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 }
}

pub(crate) const fn at(millis: u64) -> When {
    When::At(ms(millis))
}

pub(crate) const fn lasts(millis: u64) -> Lasts {
    Lasts::For(Span::Fixed(ms(millis)))
}

pub(crate) fn on(node: NodeId) -> Vec<Target> {
    vec![Target::Node(node)]
}

/// Both directions between two nodes.
pub(crate) fn between(one: NodeId, other: NodeId) -> Vec<sim::Link> {
    vec![one_way(one, other), one_way(other, one)]
}

pub(crate) const fn one_way(from: NodeId, to: NodeId) -> sim::Link {
    sim::Link { from: Target::Node(from), to: Target::Node(to) }
}

/// True milliseconds at which the server's timer fired.
pub(crate) fn fired(outcome: &Outcome<Note>, timer: u32) -> Option<u64> {
    let is_it = |noted: &&sim::Noted<Note>| noted.note == Note::Fired(timer);
    outcome.notes.iter().find(is_it).map(|noted| millis(noted.at))
}

pub(crate) fn millis(at: SimTime) -> u64 {
    at.as_nanos() / 1_000_000
}
