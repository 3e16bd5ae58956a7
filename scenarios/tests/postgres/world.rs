//! A server, perhaps a standby, and some clients, each with switches and a program of its own.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use host::{Duration, Host, NodeId, Ppm, Server, Span};
use models::lock::postgres::{LeaseRowLock, RowLock, TargetSession};
use models::lock::{AdvisoryLock, PgServers};
use models::postgres::server::Postgres;
use models::postgres::{LeaseRow, PgAdvisory, PgRequest, PgRow, Way};
use models::recipe::{Acquired, Lease, Recipe, Release, Renewal};
use models::{Locks, Nudge};
use sim::{Bounds, Entity, Fault, Lasts, Link, NodeSpec, Sim, SimHost, Target, What, When};
use spec::LockName;

pub(crate) type Process = SimHost<Locks>;

/// What a lock is set to, from which a client has its recipe.
pub(crate) trait Switches: 'static {
    type Recipe: Recipe<Process> + Clone;

    fn target(&self) -> TargetSession {
        TargetSession::default()
    }

    fn recipe(&self, way: Way) -> Self::Recipe;
}

impl Switches for AdvisoryLock {
    type Recipe = PgAdvisory<Process>;

    fn target(&self) -> TargetSession {
        self.target
    }

    fn recipe(&self, way: Way) -> Self::Recipe {
        PgAdvisory::new(way, self)
    }
}

impl Switches for RowLock {
    type Recipe = PgRow<Process>;

    fn recipe(&self, way: Way) -> Self::Recipe {
        PgRow::new(way, self)
    }
}

/// How long a lease in a row is.
pub(crate) const TTL: u64 = 2_000;

impl Switches for LeaseRowLock {
    type Recipe = LeaseRow<Process>;

    fn recipe(&self, way: Way) -> Self::Recipe {
        LeaseRow::new(way, ms(TTL), self)
    }
}

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
pub(crate) struct Client<R = PgAdvisory<Process>> {
    pub(crate) host: Process,
    pub(crate) recipe: R,
    name: &'static str,
    log: Log,
}

impl<R: Recipe<Process>> Client<R> {
    pub(crate) fn say(&self, what: impl ToString) {
        self.log.say(&self.host, format!("{} {}", self.name, what.to_string()));
    }

    pub(crate) async fn sleep(&self, length: u64) {
        self.host.sleep(ms(length)).await;
    }

    /// Asks for the lock as one attempt, and says what came of it.
    pub(crate) async fn acquire(&self) -> Option<Lease<R::Proof>> {
        self.acquire_of("orders").await
    }

    /// The same, for the lock of that name.
    pub(crate) async fn acquire_of(&self, lock: &str) -> Option<Lease<R::Proof>> {
        self.told(self.recipe.acquire_by(&self.host, LockName::from(lock), None)).await
    }

    pub(crate) async fn share(&self) -> Option<Lease<R::Proof>> {
        self.told(self.recipe.acquire_shared(&self.host, lock(), None)).await
    }

    async fn told(&self, asked: impl Future<Output = Acquired<R::Proof>>) -> Option<Lease<R::Proof>> {
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

    /// Extends it, and says what came of it.
    pub(crate) async fn renew(&self, lease: &Lease<R::Proof>) {
        self.say(match self.recipe.renew(&self.host, lock(), lease, None).await {
            Renewal::Extended { .. } => "has it for longer",
            Renewal::Refused => "could not extend",
            Renewal::Failed => "does not know whether it extended",
        });
    }

    pub(crate) async fn release(&self, lease: &Lease<R::Proof>) {
        self.release_of("orders", lease).await;
    }

    /// Gives back the lock of that name.
    pub(crate) async fn release_of(&self, lock: &str, lease: &Lease<R::Proof>) {
        self.say(match self.recipe.release(&self.host, LockName::from(lock), lease).await {
            Release::Confirmed => "released",
            Release::EntriesLeft | Release::Refused => "could not release",
        });
    }

    /// Whether it would go on if it looked.
    pub(crate) async fn look(&self, lease: &Lease<R::Proof>) {
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

/// What a client does.
pub(crate) type Program = Pin<Box<dyn Future<Output = ()>>>;

/// Makes a client, which is told where the servers are.
pub(crate) type Make = Box<dyn Fn(Process, Vec<(Server<PgRequest>, NodeId)>, Log) -> Program>;

#[derive(Default)]
pub(crate) struct World {
    pub(crate) settings: PgServers,
    pub(crate) clients: Vec<(&'static str, Make)>,
    pub(crate) faults: Vec<Fault<Nudge>>,
}

impl World {
    pub(crate) fn client<S: Switches>(
        mut self,
        name: &'static str,
        switches: S,
        program: fn(Client<S::Recipe>) -> Program,
    ) -> Self {
        let make = move |host: Process, servers, log| -> Program {
            let way = Way { servers, target: switches.target(), timeout: ms(1_000), objects: None, migrates: false };
            let client = Client { host, recipe: switches.recipe(way), name, log };
            Box::pin(async move {
                client.recipe.connect(&client.host).await;
                program(client).await;
            })
        };
        self.clients.push((name, Box::new(make)));
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
        for (name, make) in self.clients {
            let (servers, log) = (servers.clone(), log.clone());
            sim.client(spec(name), Box::new(move |host| make(host, servers.clone(), log.clone())));
        }
        for fault in &self.faults {
            sim.fault(fault.clone());
        }
        let _ = sim.run(Bounds { horizon: Duration::from_secs(120), events: 1_000_000 });
        log
    }
}

/// One client has the lock, and once more when a backup was put back that does not have its row.
pub(crate) fn after_a_backup_without_the_row(switches: impl Switches) -> Log {
    fn before_and_after<R: Recipe<Process>>(client: Client<R>) -> Program {
        Box::pin(async move {
            client.sleep(1_000).await;
            let lease = client.acquire().await.expect("nobody else has it");
            client.release(&lease).await;
            client.sleep(3_000).await;
            if let Some(lease) = client.acquire().await {
                client.say(format!("token {:?}, and once more", lease.token.map(|token| token.0)));
            }
        })
    }
    let primary = vec![Target::Node(NodeId::new(0))];
    let world = World::default().client("A", switches, before_and_after);
    world.fault(2_000, 500, What::Restore(primary, ms(500))).play()
}
