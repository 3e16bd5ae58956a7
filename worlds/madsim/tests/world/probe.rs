//! A small world: a Redis server, and a client whose program tells the test what it sees.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use fencepost_madsim::{MadHost, MadSim};
use host::{Calls, ConnectError, Connection, Duration, Host, Name, NodeId, Point, Ppm, Server, Span};
use models::Nudge;
use models::redis::{Command, Redis};
use scenarios::Kernel;
use sim::{Bounds, Entity, Fault, Lasts, Link, NodeSpec, Outcome, Target, What, When};
use spec::Note;

pub(crate) const SERVER: NodeId = NodeId::new(0);
pub(crate) const CLIENT: NodeId = NodeId::new(1);
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
        let millis = (self.host.monotonic().as_nanos() - 1_000_000_000) / 1_000_000;
        self.told.borrow_mut().push((millis, format!("{what:?}")));
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
    let told = Told::default();
    let spec =
        |name| NodeSpec { name: Name::fixed(name), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 };
    let mut world = MadSim::new(7);
    world.awaited_service(spec("redis-1"), Box::new(|| Box::<Redis>::default()));
    let tells = Rc::clone(&told);
    world.client(spec("A"), Box::new(move |host| Box::pin(program(Tells { host, told: Rc::clone(&tells) }))));
    for (from, to) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        world.latency(from, to, latency);
    }
    for fault in faults {
        world.fault(fault);
    }
    let outcome = world.run(Bounds { horizon: Duration::from_secs(60), events: 100_000 });
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

pub(crate) fn told(what: &[(u64, String)]) -> Vec<(u64, &str)> {
    what.iter().map(|(at, what)| (*at, what.as_str())).collect()
}
