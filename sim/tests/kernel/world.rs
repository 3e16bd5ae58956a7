//! A small world for trying faults on: one server of the probe's domain, and programs that log what they see
//! with their own monotonic milliseconds.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use host::{CallError, Calls, Connection, Duration, Host, MonoTime, NodeId, Ppm, Server, SimTime, Span, WallTime};
use sim::{Bounds, Entity, Fault, Lasts, NodeSpec, Outcome, Sim, SimConnection, SimHost, Target, When};

use crate::probe::{Ask, Kept, Note, Nudge, Persistence, Probe, Store};

pub(crate) type Process = SimHost<Probe>;
pub(crate) type Line = SimConnection<Probe, Ask>;
pub(crate) type What = sim::What<Nudge>;
const SEED: u64 = 7;
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
    /// Leaves it empty.
    fn take(&self) -> Self {
        Self(Rc::new(RefCell::new(self.0.take())))
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
    pub(crate) seed: u64,
}

impl World {
    pub(crate) fn new(persistence: Persistence) -> Self {
        Self::with_rates(persistence, Ppm::ZERO)
    }

    pub(crate) fn with_rates(persistence: Persistence, server_rate: Ppm) -> Self {
        let mut sim = Sim::new(SEED, true);
        let spec = NodeSpec { rate: server_rate, ..spec("server") };
        sim.service(spec, Box::new(move || Box::new(Store::new(persistence))));
        Self { sim, log: Log::default(), horizon: secs(60), seed: SEED }
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

    /// What one node sends to another takes so long.
    pub(crate) fn latency(mut self, from: NodeId, to: NodeId, millis: u64) -> Self {
        self.sim.latency(from, to, Span::Fixed(ms(millis)));
        self
    }

    /// The same world with another kind of server, which the run's end waits for.
    pub(crate) fn awaited() -> Self {
        let mut world = Self::empty();
        world.sim.awaited_service(spec("server"), Box::new(|| Box::new(Store::new(Persistence::None))));
        world
    }

    /// A world without a server: the first that is added takes its place.
    pub(crate) fn empty() -> Self {
        let sim = Sim::new(SEED, true);
        Self { sim, log: Log::default(), horizon: secs(60), seed: SEED }
    }

    pub(crate) fn fault(mut self, when: When, what: What, lasts: Lasts) -> Self {
        self.sim.fault(Fault { entity: Entity::named("fault"), what, when, lasts });
        self
    }

    pub(crate) fn fault_if(self, on: bool, when: When, what: What, lasts: Lasts) -> Self {
        if on { self.fault(when, what, lasts) } else { self }
    }

    /// Plays the world and gives what was logged. Taken back to its beginning, it does the same again, whatever
    /// was played in between: in every test, nothing of a run is left for the next.
    pub(crate) fn run(mut self) -> (Log, Outcome<Note>) {
        let bounds = Bounds { horizon: self.horizon, events: 100_000 };
        let outcome = self.sim.run(bounds);
        let log = self.log.take();
        self.sim.reset(self.seed + 1, false);
        let _ = self.sim.run(bounds);
        self.log.take();
        self.sim.reset(self.seed, true);
        assert_eq!(self.sim.run(bounds).hash, outcome.hash, "a world that is reset is as good as new");
        assert_eq!(self.log.lines(), log.lines());
        (log, outcome)
    }

    pub(crate) fn words(self) -> Vec<String> {
        self.run().0.words()
    }
}

pub(crate) fn spec(name: &str) -> NodeSpec {
    NodeSpec { name: name.into(), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 }
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

/// What the history says of these notes, and at which true millisecond.
pub(crate) fn noted(outcome: &Outcome<Note>, is_meant: impl Fn(&Note) -> bool) -> Vec<(u64, Note)> {
    let meant = outcome.notes.iter().filter(|noted| is_meant(&noted.note));
    meant.map(|noted| (millis(noted.at), noted.note.clone())).collect()
}

/// At which true milliseconds the history says exactly this.
pub(crate) fn times(outcome: &Outcome<Note>, note: &Note) -> Vec<u64> {
    noted(outcome, |other| other == note).into_iter().map(|(at, _)| at).collect()
}

/// Which numbers the server kept, in order.
pub(crate) fn stored(outcome: &Outcome<Note>) -> Vec<u64> {
    let values = outcome.notes.iter().filter_map(|noted| match noted.note {
        Note::Stored(value, _) => Some(value),
        _ => None,
    });
    values.collect()
}

pub(crate) fn millis(at: SimTime) -> u64 {
    at.as_nanos() / 1_000_000
}
