//! One client, some servers, one fault.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use host::{Duration, Host, NodeId, Ppm, Server, Span};
use models::lock::ZkServers;
use models::zookeeper::{Client, ZkRequest, ZooKeeper};
use models::{Locks, Nudge};
use sim::{Bounds, Entity, Fault, Lasts, NodeSpec, Sim, SimHost, Target, What, When};

pub(crate) type Process = SimHost<Locks>;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What happened, each with the millisecond in which it did.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<(u64, String)>>>);

impl Log {
    pub(crate) fn say(&self, host: &Process, what: impl ToString) {
        // A machine's clock reads a second when the run begins.
        self.0.borrow_mut().push((host.monotonic().as_nanos() / 1_000_000 - 1_000, what.to_string()));
    }

    /// When that was said first.
    pub(crate) fn at(&self, what: &str) -> u64 {
        let log = self.0.borrow();
        log.iter().find(|(_, said)| said == what).unwrap_or_else(|| panic!("{what}: never said, but {log:?}")).0
    }

    pub(crate) fn says(&self, what: &str) -> bool {
        self.0.borrow().iter().any(|(_, said)| said == what)
    }
}

pub(crate) struct World {
    pub(crate) servers: u16,
    pub(crate) timeout: Duration,
    pub(crate) faults: Vec<Fault<Nudge>>,
    pub(crate) seed: u64,
    /// A second client, to which nothing happens.
    pub(crate) other: Option<Program>,
}

pub(crate) type Program = fn(Process, Client<Process>, Log) -> Pin<Box<dyn Future<Output = ()>>>;

impl World {
    /// Some servers, and sessions of so many ms.
    pub(crate) const fn new(servers: u16, timeout: u64) -> Self {
        Self { servers, timeout: ms(timeout), faults: Vec::new(), seed: 0, other: None }
    }

    pub(crate) fn client_node(&self) -> Target {
        Target::Node(NodeId::new(self.servers))
    }

    pub(crate) fn fault(mut self, at: u64, lasts: u64, what: What<Nudge>) -> Self {
        let (when, lasts) = (When::At(ms(at)), Lasts::For(Span::Fixed(ms(lasts))));
        self.faults.push(Fault { entity: Entity::named("fault"), what, when, lasts });
        self
    }

    /// Plays a client with each of these seeds, and gives back what it said.
    pub(crate) fn play(&self, seeds: u64, program: Program) -> Vec<Log> {
        (0..seeds).map(|seed| Self { faults: self.faults.clone(), seed, ..*self }.play_once(program)).collect()
    }

    fn play_once(&self, program: Program) -> Log {
        let mut sim = Sim::<Locks>::new(self.seed, false);
        let members: Vec<_> = (0..self.servers).map(NodeId::new).collect();
        let settings = ZkServers { members: self.servers, ..ZkServers::default() };
        let spec =
            |name: &str| NodeSpec { name: name.into(), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 };
        for server in 1..=self.servers {
            let members = members.clone();
            sim.service(
                spec(&format!("server-{server}")),
                Box::new(move || Box::new(ZooKeeper::new(&members, settings))),
            );
        }
        let servers: Vec<Server<ZkRequest>> = (0..self.servers).map(|node| Server::on(NodeId::new(node))).collect();
        let (log, timeout) = (Log::default(), self.timeout);
        let out = log.clone();
        let begin = move |host: &Process| {
            let client = Client::new(&servers, timeout);
            client.start(host);
            client
        };
        let (first, second) = (begin.clone(), begin);
        sim.client(
            spec("client"),
            Box::new(move |host| {
                let client = first(&host);
                watch_session(&host, &client, &out);
                program(host, client, out.clone())
            }),
        );
        if let Some(other) = self.other {
            let make = move |host| {
                let client = second(&host);
                other(host, client, Log::default())
            };
            sim.client(spec("other"), Box::new(make));
        }
        for fault in &self.faults {
            sim.fault(fault.clone());
        }
        let _ = sim.run(Bounds { horizon: Duration::from_secs(120), events: 1_000_000 });
        log
    }
}

/// Says what becomes of the first session.
fn watch_session(host: &Process, client: &Client<Process>, log: &Log) {
    let (own_host, client, log) = (host.clone(), client.clone(), log.clone());
    drop(host.spawn(host::Part::RENEWAL, async move {
        let session = client.session();
        let (mut was_connected, mut suspensions) = (false, 0);
        while !session.is_expired() {
            client.changed().await;
            if session.is_connected() != was_connected {
                was_connected = session.is_connected();
                log.say(
                    &own_host,
                    match (was_connected, suspensions) {
                        (true, 0) => "connected",
                        (true, _) => "connected again",
                        (false, _) => "connecting",
                    },
                );
            }
            if session.suspensions() != suspensions {
                suspensions = session.suspensions();
                log.say(&own_host, "suspended");
            }
        }
        log.say(&own_host, "expired");
    }));
}
