//! Who takes part in a scenario: the lock that its clients use, and the check of its resource — ours,
//! or a user's own.

use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use host::{Clock, Duration, NodeId, Server};
use models::etcd::{EtcdKey, EtcdMutex, EtcdV3Lock, KubernetesLease, Rpc, Way};
use models::guard::{Check, Guard, Ruling, Seen};
use models::lock::postgres::TargetSession;
use models::lock::zookeeper::Library;
use models::lock::{EtcdLock, Lock, PgLock, QueueLock, ZkLock};
use models::none::NoLock;
use models::postgres::{self, LeaseRow, PgAdvisory, PgRequest, PgRow};
use models::recipe::Recipe;
use models::redis::{Ask, Command, Redisson, Redlock, SingleRedis, on_primary};
use models::resource::Op;
use models::script::Script;
use models::zookeeper::{self, CuratorMutex, ZkHerd, ZkMutex, ZkRequest};
use models::{Locks, play};
use sim::SimHost;

use crate::kernel::{LocksHost, Program};

/// A process in a simulated world of locks: what a user's own lock is given.
pub type LabHost = SimHost<Locks>;

/// What a lock finds in its world.
#[derive(Clone, Debug)]
pub struct Bench {
    /// The Redis servers.
    pub redis: Vec<Server<Command>>,
    /// The Sentinels that watch them, if there are any.
    pub sentinels: Vec<Server<Ask>>,
    /// The members of an etcd cluster, if that is what they are.
    pub etcd: Vec<Server<Rpc>>,
    /// The servers of a ZooKeeper ensemble, if that is what they are.
    pub zookeeper: Vec<Server<ZkRequest>>,
    /// The PostgreSQL servers, if that is what they are, each with the one that locks for it: itself, or the one that a pooler stands before.
    pub postgres: Vec<(Server<PgRequest>, NodeId)>,
    /// By what name the history calls the cluster, or the ensemble.
    pub cluster: NodeId,
    /// If the objects are in the lock's own store: what of an operation is compared there.
    pub objects: Option<Guard>,
    /// Whether, in PostgreSQL, a step of a migration comes before each write: an index is made.
    pub migrates: bool,
    /// The lease's length, as the scenario sets it. `None`: no expiry.
    pub ttl: Option<Duration>,
    /// How long to wait for an answer, as the scenario sets it.
    pub call_timeout: Duration,
}

impl Bench {
    /// The way to the cluster.
    fn way(&self) -> Way {
        let ttl = self.ttl.expect("the loader refuses locks of etcd without a lease");
        let (cluster, members, timeout) = (self.cluster, self.etcd.clone(), self.call_timeout);
        Way { cluster, members, ttl, timeout, objects: self.objects }
    }

    /// The way to PostgreSQL.
    fn way_to_postgres(&self, target: TargetSession) -> postgres::Way {
        let (servers, timeout) = (self.postgres.clone(), self.call_timeout);
        postgres::Way { servers, target, timeout, objects: self.objects, migrates: self.migrates }
    }

    /// The way into the ensemble.
    fn way_to_zookeeper(&self) -> zookeeper::Way {
        let timeout = self.ttl.expect("the loader refuses locks of ZooKeeper without a session's length");
        zookeeper::Way { ensemble: self.cluster, servers: self.zookeeper.clone(), timeout, objects: self.objects }
    }
}

/// A lock that takes part in a scenario, and, if it is not the scenario's own, the resource's check.
#[derive(Clone)]
pub struct Contender {
    name: String,
    /// `None`: each client has the lock that the scenario says.
    own: Option<Arc<MakeClients>>,
    /// Of a lock of a user's own: how many servers make a grant.
    quorum: usize,
    check: Option<OwnCheck>,
}

/// A check of a user's own.
#[derive(Clone)]
pub(crate) struct OwnCheck(Arc<Judges>);

type Judges = dyn Fn(&Op, Seen) -> Ruling + Send + Sync;

impl Check for OwnCheck {
    fn judge(&self, op: &Op, seen: Seen) -> Ruling {
        (self.0)(op, seen)
    }
}

type MakeClients = dyn Fn(&Bench, Server<Op>, Rc<Script>) -> Program<LabHost> + Send + Sync;

impl Contender {
    /// The locks that the scenario itself says, `lock` for most or all of its clients.
    #[must_use]
    pub fn built_in(lock: &Lock) -> Self {
        Self { name: lock.facts().name.to_owned(), own: None, quorum: 1, check: None }
    }

    /// A user's own lock, on one server, which counts its leases on the monotonic clock. `make` is called for each process, so
    /// that each has connections of its own.
    pub fn own<R, F>(name: &str, make: F) -> Self
    where
        R: Recipe<LabHost>,
        F: Fn(&Bench) -> R + Send + Sync + 'static,
    {
        let make = Arc::new(make);
        let clients = move |bench: &Bench, resource, script| {
            let make = Arc::clone(&make);
            program(bench, Clock::Monotonic, resource, script, move |bench| make(bench))
        };
        Self { name: name.to_owned(), own: Some(Arc::new(clients)), quorum: 1, check: None }
    }

    /// The same, against a resource that decides by `check` instead of what the scenario says.
    #[must_use]
    pub fn with_check(self, check: impl Fn(&Op, Seen) -> Ruling + Send + Sync + 'static) -> Self {
        Self { check: Some(OwnCheck(Arc::new(check))), ..self }
    }

    /// The same, but it takes so many of the servers that a client counts to make it the owner.
    #[must_use]
    pub fn with_quorum(self, quorum: usize) -> Self {
        Self { quorum, ..self }
    }

    /// How many servers make a grant, if the scenario does not say it by its lock.
    pub(crate) fn own_quorum(&self) -> Option<usize> {
        self.own.as_ref().map(|_| self.quorum)
    }

    pub(crate) fn check(&self) -> Option<OwnCheck> {
        self.check.clone()
    }

    /// The clock on which a client counts its lease for which the scenario says that lock.
    pub(crate) const fn lease_clock(&self, lock: &Lock) -> Clock {
        if self.own.is_some() { Clock::Monotonic } else { lock.lease_clock() }
    }

    /// Its name in reports.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The program of a client for which the scenario says that lock.
    pub(crate) fn client(
        &self,
        lock: &Lock,
        bench: &Bench,
        resource: Server<Op>,
        script: Rc<Script>,
    ) -> Program<LabHost> {
        match &self.own {
            Some(own) => own(bench, resource, script),
            None => built_in(lock, bench, resource, script),
        }
    }
}

/// The program of a client that uses one of the locks that scenario files name, on whichever host.
pub(crate) fn built_in<H: LocksHost>(
    lock: &Lock,
    bench: &Bench,
    resource: Server<Op>,
    script: Rc<Script>,
) -> Program<H> {
    let clock = lock.lease_clock();
    match lock {
        Lock::Redis(switches) => {
            let switches = switches.clone();
            program(bench, clock, resource, script, move |bench| {
                SingleRedis::new(bench.redis[0], bench.ttl, bench.call_timeout, &switches)
            })
        }
        Lock::Redisson(switches) => {
            let switches = switches.clone();
            program(bench, clock, resource, script, move |bench| {
                let ttl = bench.ttl.expect("the loader refuses this lock without a lease");
                Redisson::new(bench.redis[0], ttl, bench.call_timeout, &switches)
            })
        }
        Lock::Sentinel(switches) => {
            let switches = switches.clone();
            program(bench, clock, resource, script, move |bench| {
                on_primary(&bench.sentinels, bench.ttl, bench.call_timeout, &switches)
            })
        }
        Lock::Redlock(switches) => {
            let switches = switches.clone();
            program(bench, clock, resource, script, move |bench| {
                let ttl = bench.ttl.expect("the loader refuses this lock without a lease");
                Redlock::new(&bench.redis, ttl, &switches)
            })
        }
        Lock::Etcd(lock) => match *lock {
            EtcdLock::Mutex(switches) => {
                program(bench, clock, resource, script, move |bench| EtcdMutex::new(bench.way(), &switches))
            }
            EtcdLock::V3Lock(on_failed_unlock) => {
                program(bench, clock, resource, script, move |bench| EtcdV3Lock::new(bench.way(), on_failed_unlock))
            }
            EtcdLock::Key(switches) => {
                program(bench, clock, resource, script, move |bench| EtcdKey::new(bench.way(), &switches))
            }
            EtcdLock::Record(switches) => {
                program(bench, clock, resource, script, move |bench| KubernetesLease::new(bench.way(), &switches))
            }
        },
        Lock::ZooKeeper(lock) => match *lock {
            ZkLock::Queue(switches @ QueueLock { library: Library::Documentation, .. }) => {
                program(bench, clock, resource, script, move |bench| ZkMutex::new(bench.way_to_zookeeper(), &switches))
            }
            ZkLock::Queue(switches @ QueueLock { library: Library::Curator, .. }) => {
                program(bench, clock, resource, script, move |bench| {
                    CuratorMutex::new(bench.way_to_zookeeper(), &switches)
                })
            }
            ZkLock::Herd(switches) => {
                program(bench, clock, resource, script, move |bench| ZkHerd::new(bench.way_to_zookeeper(), &switches))
            }
        },
        Lock::Postgres(lock) => match *lock {
            PgLock::Advisory(switches) => program(bench, clock, resource, script, move |bench| {
                PgAdvisory::new(bench.way_to_postgres(switches.target), &switches)
            }),
            PgLock::Row(switches) => program(bench, clock, resource, script, move |bench| {
                PgRow::new(bench.way_to_postgres(TargetSession::default()), &switches)
            }),
            PgLock::Lease(switches) => program(bench, clock, resource, script, move |bench| {
                let ttl = bench.ttl.expect("the loader refuses this lock without a lease");
                LeaseRow::new(bench.way_to_postgres(TargetSession::default()), ttl, &switches)
            }),
        },
        Lock::None => program(bench, clock, resource, script, |_| NoLock),
    }
}

/// The program of a client that plays its script with the recipe that `make` makes for it.
fn program<H: LocksHost, R: Recipe<H>>(
    bench: &Bench,
    clock: Clock,
    resource: Server<Op>,
    script: Rc<Script>,
    make: impl Fn(&Bench) -> R + 'static,
) -> Program<H> {
    let bench = bench.clone();
    Box::new(move |host| {
        let recipe = make(&bench);
        Box::pin(play(host, recipe, clock, resource, Rc::clone(&script)))
    })
}

impl fmt::Debug for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Contender({})", self.name)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use sim::{Bounds, Entity, NodeSpec, Sim};

    use super::*;
    use crate::catalogue;
    use crate::language::load;

    #[test]
    fn a_client_s_future_is_small() {
        // A combinator that is an `async fn` holds its futures twice, and doubles what is around it at each level.
        const MOST: usize = 3_000;
        let entry = catalogue::find("gc-pause").expect("it is in the catalogue");
        let cell = load(entry.file, entry.text, &[]).expect("every file loads").cells.remove(0);
        let servers = vec![Server::on(NodeId::new(0))];
        let bench = Bench {
            redis: servers,
            sentinels: Vec::new(),
            etcd: Vec::new(),
            zookeeper: Vec::new(),
            postgres: Vec::new(),
            cluster: NodeId::default(),
            objects: None,
            migrates: false,
            ttl: cell.ttl,
            call_timeout: cell.network.call_timeout,
        };
        let resource = Server::on(NodeId::new(0));
        let make = built_in(&cell.lock, &bench, resource, Rc::new(cell.clients[0].script.clone()));
        let size = Rc::new(Cell::new(0));
        let seen = Rc::clone(&size);
        let program: Program<LabHost> = Box::new(move |host| {
            let future = make(host);
            seen.set(size_of_val(&*future));
            future
        });
        let mut sim = Sim::new(0, false);
        let spec = NodeSpec { name: "client".into(), entity: Entity::WORLD, rate: host::Ppm::ZERO, wall_offset: 0 };
        sim.client(spec, program);
        let _ = sim.run(Bounds { horizon: Duration::from_secs(1), events: 1 });
        assert!((1..MOST).contains(&size.get()), "{} bytes", size.get());
    }
}
