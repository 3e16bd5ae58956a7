//! A small world: a Redis server, and a client whose program tells the test what it sees.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use fencepost_madsim::{MadHost, MadSim};
use host::{CallError, Calls, ConnectError, Connection, Duration, Host, Name, NodeId, Point, Ppm, Server, Span};
use models::guard::{Guard, Manner};
use models::redis::{Command, Redis};
use models::resource::{Action, Op, OpReply, Work};
use models::{Nudge, Resource};
use scenarios::Kernel;
use sim::{Bounds, Entity, Fault, Lasts, Link, NodeSpec, Outcome, Target, What, When};
use spec::{Note, OpId};

pub(crate) const SERVER: NodeId = NodeId::new(0);
pub(crate) const CLIENT: NodeId = NodeId::new(1);
pub(crate) const RESOURCE: NodeId = NodeId::new(2);
pub(crate) const HERE: Point = Point("here");
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// What the client's program tells the test, each with the whole milliseconds since the run began.
pub(crate) type Told = Rc<RefCell<Vec<(u64, String)>>>;

pub(crate) struct Tells {
    pub(crate) host: MadHost,
    pub(crate) told: Told,
}

impl Tells {
    pub(crate) fn tell(&self, what: impl std::fmt::Debug) {
        self.told.borrow_mut().push((self.millis(), format!("{what:?}")));
    }

    /// Since the run began.
    pub(crate) fn millis(&self) -> u64 {
        (self.host.monotonic().as_nanos() - 1_000_000_000) / 1_000_000
    }

    pub(crate) async fn connect(&self) -> Result<<MadHost as Calls<Command>>::Connection, ConnectError> {
        self.host.connect(Server::on(SERVER), Duration::from_secs(1)).await
    }
}

pub(crate) fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub(crate) fn incr() -> Command {
    Command::Incr { key: Name::fixed("n") }
}

/// Plays a client's program beside a Redis server, on links of 2 ms, with these faults.
pub(crate) fn play<F: Future<Output = ()> + 'static>(
    faults: Vec<Fault<Nudge>>,
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    play_on(Span::Fixed(ms(2)), faults, program)
}

pub(crate) fn play_on<F: Future<Output = ()> + 'static>(
    latency: Span,
    faults: Vec<Fault<Nudge>>,
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    play_setting(latency, [0, 0], BOUNDS, faults, program)
}

/// Plays it within bounds of its own.
pub(crate) fn play_within<F: Future<Output = ()> + 'static>(
    bounds: Bounds,
    program: impl Fn(Tells) -> F + 'static,
) -> Outcome<Note> {
    play_setting(Span::Fixed(ms(2)), [0, 0], bounds, Vec::new(), program).1
}

/// Plays it with the wall clocks of server and client so many ns ahead.
pub(crate) fn play_at<F: Future<Output = ()> + 'static>(
    ahead: [i64; 2],
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    play_setting(Span::Fixed(ms(2)), ahead, BOUNDS, Vec::new(), program)
}

const BOUNDS: Bounds = Bounds { horizon: Duration::from_secs(60), events: 100_000 };

fn play_setting<F: Future<Output = ()> + 'static>(
    latency: Span,
    [server, client]: [i64; 2],
    bounds: Bounds,
    faults: Vec<Fault<Nudge>>,
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    let told = Told::default();
    let spec = |name, wall_offset| NodeSpec {
        name: Name::fixed(name),
        entity: Entity::named(name),
        rate: Ppm::ZERO,
        wall_offset,
    };
    let mut world = MadSim::new(7);
    world.awaited_service(spec("redis-1", server), Box::new(|| Box::<Redis>::default()));
    let tells = Rc::clone(&told);
    world.client(spec("A", client), Box::new(move |host| Box::pin(program(Tells { host, told: Rc::clone(&tells) }))));
    let resource = || Resource::new(Guard::Open, Manner::default());
    world.awaited_service(spec("resource", 0), Box::new(move || Box::new(resource())));
    for (from, to) in [(SERVER, CLIENT), (CLIENT, SERVER), (RESOURCE, CLIENT), (CLIENT, RESOURCE)] {
        world.latency(from, to, latency);
    }
    for fault in faults {
        world.fault(fault);
    }
    let outcome = world.run(bounds);
    (told.take(), outcome)
}

pub(crate) fn fault(what: What<Nudge>, when: When, lasts: Lasts) -> Fault<Nudge> {
    Fault { entity: Entity::named("fault"), what, when, lasts }
}

pub(crate) fn at(millis: u64) -> When {
    When::At(ms(millis))
}

pub(crate) fn here() -> When {
    When::Milestone { clients: vec![CLIENT], point: HERE, nth: 1, plus: Duration::ZERO }
}

pub(crate) fn lasts(millis: u64) -> Lasts {
    Lasts::For(Span::Fixed(ms(millis)))
}

pub(crate) fn node(node: NodeId) -> Vec<Target> {
    vec![Target::Node(node)]
}

pub(crate) fn link(from: NodeId, to: NodeId) -> Vec<Link> {
    vec![Link { from: Target::Node(from), to: Target::Node(to) }]
}

/// Connects, passes `here`, and calls once.
pub(crate) async fn calls(tells: Tells) {
    let connection = tells.connect().await.expect("the server lives");
    tells.host.point(HERE).await;
    tells.tell(connection.call(incr(), LONG).await);
}

/// Writes once to the guarded resource.
pub(crate) async fn writes(tells: &Tells) -> Result<OpReply, CallError> {
    let server = Server::<Op>::on(RESOURCE);
    let connection = tells.host.connect(server, Duration::from_secs(1)).await.expect("it lives");
    let (id, object) = (OpId(0), Name::fixed("account"));
    let op = Op { id, object, token: None, takes: Work::NONE, action: Action::Write { based_on: None } };
    connection.call(op, LONG).await
}

/// Takes a lock, in the name of an attempt.
pub(crate) async fn takes(tells: Tells) {
    let attempt = tells.host.open_attempt();
    let connection = tells.connect().await.expect("the server lives");
    let set = Command::set_nx(Name::fixed("lock"), "value".into(), None);
    tells.tell(tells.host.attempt(attempt, connection.call(set, LONG)).await);
}

pub(crate) fn told(what: &[(u64, String)]) -> Vec<(u64, &str)> {
    what.iter().map(|(at, what)| (*at, what.as_str())).collect()
}
