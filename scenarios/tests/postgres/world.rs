//! A server, perhaps a standby, and some clients, each with switches and a program of its own.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use host::{Duration, Host, NodeId, Ppm, Server, Span};
use models::lock::{AdvisoryLock, PgServers};
use models::postgres::server::Postgres;
use models::postgres::{Hold, PgAdvisory, PgRequest, Way};
use models::recipe::{Acquired, Lease, Recipe, Release};
use models::{Locks, Nudge};
use sim::{Bounds, Entity, Fault, Lasts, Link, NodeSpec, Sim, SimHost, Target, What, When};
use spec::LockName;

pub(crate) type Process = SimHost<Locks>;
pub(crate) type Held = Lease<Rc<Hold<Process>>>;

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// What happened, each with the millisecond in which it did.
#[derive(Clone, Default)]
pub(crate) struct Log(Rc<RefCell<Vec<(u64, String)>>>);

impl Log {
    fn say(&self, host: &Process, what: impl ToString) {
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

/// A client's process, and its recipe.
#[derive(Clone)]
pub(crate) struct Client {
    pub(crate) host: Process,
    pub(crate) recipe: PgAdvisory<Process>,
    name: &'static str,
    log: Log,
}

impl Client {
    pub(crate) fn say(&self, what: impl ToString) {
        self.log.say(&self.host, format!("{} {}", self.name, what.to_string()));
    }

    pub(crate) async fn sleep(&self, length: u64) {
        self.host.sleep(ms(length)).await;
    }

    /// Asks for the lock as one attempt, and says what came of it.
    pub(crate) async fn acquire(&self) -> Option<Held> {
        self.told(self.recipe.acquire_by(&self.host, lock(), None)).await
    }

    pub(crate) async fn share(&self) -> Option<Held> {
        self.told(self.recipe.acquire_shared(&self.host, lock(), None)).await
    }

    async fn told(&self, asked: impl Future<Output = Acquired<Rc<Hold<Process>>>>) -> Option<Held> {
        match self.host.attempt(self.host.open_attempt(), asked).await {
            Acquired::Granted(lease) => {
                self.say("has it");
                return Some(lease);
            }
            Acquired::Denied => self.say("is denied"),
            Acquired::Failed => self.say("failed"),
        }
        None
    }

    pub(crate) async fn release(&self, lease: &Held) {
        self.say(match self.recipe.release(&self.host, lock(), lease).await {
            Release::Confirmed => "released",
            Release::EntriesLeft | Release::Refused => "could not release",
        });
    }

    /// Whether it would go on if it looked.
    pub(crate) async fn look(&self, lease: &Held) {
        let is_lost = self.recipe.knows_of_loss(lock(), lease);
        let is_held = !is_lost && self.recipe.is_still_held(&self.host, lock(), lease).await;
        self.say(if is_held { "goes on" } else { "stops" });
    }
}

/// Whether that is when it was to be, some round trips later.
pub(crate) fn about(at: u64, expected: u64) -> bool {
    (expected..expected + 100).contains(&at)
}

fn lock() -> LockName {
    LockName::from("orders")
}

pub(crate) type Program = fn(Client) -> Pin<Box<dyn Future<Output = ()>>>;

#[derive(Default)]
pub(crate) struct World {
    pub(crate) settings: PgServers,
    pub(crate) clients: Vec<(&'static str, AdvisoryLock, Program)>,
    pub(crate) faults: Vec<Fault<Nudge>>,
}

impl World {
    pub(crate) fn client(mut self, name: &'static str, switches: AdvisoryLock, program: Program) -> Self {
        self.clients.push((name, switches, program));
        self
    }

    pub(crate) fn fault(mut self, at: u64, lasts: u64, what: What<Nudge>) -> Self {
        let (when, lasts) = (When::At(ms(at)), Lasts::For(Span::Fixed(ms(lasts))));
        self.faults.push(Fault { entity: Entity::named("fault"), what, when, lasts });
        self
    }

    pub(crate) fn strike(mut self, at: u64, what: What<Nudge>) -> Self {
        let (when, lasts) = (When::At(ms(at)), Lasts::Instant);
        self.faults.push(Fault { entity: Entity::named("strike"), what, when, lasts });
        self
    }

    /// The connections of the `nth` client to the primary.
    pub(crate) fn links(&self, nth: u16) -> Vec<Link> {
        let (server, client) = (Target::Node(NodeId::new(0)), Target::Node(NodeId::new(self.servers() + nth)));
        vec![Link { from: client, to: server }, Link { from: server, to: client }]
    }

    const fn servers(&self) -> u16 {
        1 + self.settings.standbys
    }

    pub(crate) fn play(self) -> Log {
        let mut sim = Sim::<Locks>::new(3, false);
        let spec =
            |name: &str| NodeSpec { name: name.into(), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 };
        let primary = Server::on(NodeId::new(0));
        let settings = self.settings.clone();
        sim.service(spec("pg-1"), Box::new(move || Box::new(Postgres::primary(settings.clone()))));
        if self.settings.standbys > 0 {
            let settings = self.settings.clone();
            sim.service(spec("standby-1"), Box::new(move || Box::new(Postgres::standby(settings.clone(), primary))));
        }
        let servers: Vec<(Server<PgRequest>, NodeId)> =
            (0..self.servers()).map(NodeId::new).map(|node| (Server::on(node), node)).collect();
        let log = Log::default();
        for (name, switches, program) in self.clients {
            let (servers, log) = (servers.clone(), log.clone());
            let make = move |host: Process| -> Pin<Box<dyn Future<Output = ()>>> {
                let way = Way { servers: servers.clone(), target: switches.target, timeout: ms(1_000), objects: None };
                let client = Client { host, recipe: PgAdvisory::new(way, &switches), name, log: log.clone() };
                Box::pin(async move {
                    client.recipe.connect(&client.host).await;
                    program(client).await;
                })
            };
            sim.client(spec(name), Box::new(make));
        }
        for fault in &self.faults {
            sim.fault(fault.clone());
        }
        let _ = sim.run(Bounds { horizon: Duration::from_secs(120), events: 1_000_000 });
        log
    }
}
