//! From a cell to a world: nodes, links, faults and cues, every name resolved to a node.
//!
//! Nodes are numbered lock servers first, then the resource, then the clients. Their randomness is
//! keyed by role and name, never by number: the same client draws the same against every lock.

use std::cell::RefCell;
use std::rc::Rc;

use host::{Clock, Duration, NodeId, Server, Span};
use models::etcd::Etcd;
use models::lock::{Lock, SentinelServers, ServerKind, Service};
use models::postgres::pooler::PgBouncer;
use models::postgres::server::Postgres;
use models::redis::replication::Replicates;
use models::redis::sentinel::Watches;
use models::resource::{Op, Resource};
use models::script::Script;
use models::zookeeper::ZooKeeper;
use models::{Locks, Nudge, redis};
use sim::{Bounds, Entity, Lasts, Link, MessageMatch, NodeSpec, Outcome, ServiceFactory, Sim, Target, When};
use spec::{Note, Rules};

use crate::cell::{self, Cell, DiskFault, NodeRef};
use crate::contender::{Bench, Contender, built_in};
use crate::draw;
use crate::figure::Figure;
use crate::kernel::{Kernel, Program};
use crate::rules::rules;

type Fault = sim::Fault<Nudge>;
type What = sim::What<Nudge>;

/// A cell, ready to be built again for every seed.
pub(crate) struct World<'c> {
    cell: &'c Cell,
    contender: &'c Contender,
    nodes: Nodes,
    /// Of each client.
    seats: Vec<Seat<'c>>,
    specs: Vec<NodeSpec>,
    links: Vec<(NodeId, NodeId, Span)>,
    faults: Vec<Planned<'c>>,
    cues: Vec<When>,
    pub(crate) rules: Rules,
    built: RefCell<Option<Sim<Locks>>>,
}

/// A fault of a cell, as far as it is known before there is a seed.
#[expect(clippy::large_enum_variant, reason = "a cell has a handful of them, made once")]
enum Planned<'c> {
    Placed(Fault),
    Drawn(&'c cell::Fault),
}

/// What a client is made from.
struct Seat<'c> {
    lock: &'c Lock,
    bench: Bench,
    script: Rc<Script>,
}

/// The nodes of a world, by role.
#[derive(Clone, Debug)]
pub(crate) struct Nodes {
    names: Vec<String>,
    /// What each lock server is.
    kinds: Vec<ServerKind>,
}

impl Nodes {
    fn of(cell: &Cell) -> Self {
        let (mut names, kinds): (Vec<_>, Vec<_>) = cell.lock.facts().servers(&cell.service).unzip();
        names.push(RESOURCE.to_owned());
        names.extend(cell.clients.iter().map(|client| client.name.clone()));
        Self { names, kinds }
    }

    pub(crate) fn is_client(&self, node: NodeId) -> bool {
        node.index() > self.kinds.len()
    }

    pub(crate) fn is_server(&self, node: NodeId) -> bool {
        node.index() < self.kinds.len()
    }

    fn resource(&self) -> NodeId {
        id(self.kinds.len())
    }

    pub(crate) fn all_servers(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0..self.kinds.len()).map(id)
    }

    /// The lock servers of that kind.
    fn of_kind(&self, kind: ServerKind) -> impl Iterator<Item = NodeId> {
        self.all_servers().filter(move |server| self.kinds[server.index()] == kind)
    }

    /// The server that is the primary at first.
    fn first_primary(&self) -> NodeId {
        self.of_kind(ServerKind::Primary).next().unwrap_or_default()
    }

    /// Whether it is a lock server that watches others.
    pub(crate) fn watches(&self, node: NodeId) -> bool {
        self.kinds.get(node.index()) == Some(&ServerKind::Sentinel)
    }

    /// The lock servers that can make somebody the owner.
    pub(crate) fn granting(&self) -> impl Iterator<Item = NodeId> {
        self.all_servers().filter(|server| self.kinds[server.index()].grants())
    }

    /// Whether they keep one log, of what each of them grants.
    pub(crate) fn keep_a_log(&self) -> bool {
        self.granting().any(|server| !self.kinds[server.index()].decides())
    }

    /// Those that decide for themselves: members of a cluster are one, which is called by the first of them.
    pub(crate) fn authorities(&self) -> impl Iterator<Item = NodeId> {
        let first = self.granting().next();
        self.granting().filter(move |server| self.kinds[server.index()].decides() || Some(*server) == first)
    }

    /// The server that grants what is asked of that one: itself, unless it stands before another.
    pub(crate) fn locks_for(&self, server: NodeId) -> NodeId {
        let stands_before = self.kinds[server.index()].stands_before();
        self.granting().next().filter(|_| stands_before).unwrap_or(server)
    }

    pub(crate) fn clients(&self) -> impl Iterator<Item = NodeId> + use<> {
        (self.kinds.len() + 1..self.names.len()).map(id)
    }

    /// # Panics
    /// If there is no node of that name: the loader has checked it.
    pub(crate) fn named(&self, name: &str) -> NodeId {
        let place = self.names.iter().position(|other| other == name);
        id(place.expect("the loader refuses names of nodes that a cell does not have"))
    }

    fn entity(&self, node: NodeId) -> Entity {
        let index = node.index();
        if let Some(kind) = self.kinds.get(index) {
            let number = self.kinds[..=index].iter().filter(|other| *other == kind).count();
            Entity::named(&format!("{}/{number}", kind.role()))
        } else if self.is_client(node) {
            Entity::named(&format!("client/{}", self.names[index]))
        } else {
            Entity::named("resource")
        }
    }
}

impl<'c> World<'c> {
    pub(crate) fn of(cell: &'c Cell, contender: &'c Contender) -> Self {
        let nodes = Nodes::of(cell);
        let bench = |client: &cell::Client| Bench {
            redis: known_servers(client, &nodes).into_iter().map(Server::on).collect(),
            cluster: nodes.authorities().next().unwrap_or_default(),
            etcd: known_servers(client, &nodes).into_iter().map(Server::on).collect(),
            zookeeper: known_servers(client, &nodes).into_iter().map(Server::on).collect(),
            postgres: known_servers(client, &nodes)
                .into_iter()
                .map(|server| (Server::on(server), nodes.locks_for(server)))
                .collect(),
            sentinels: nodes.of_kind(ServerKind::Sentinel).map(Server::on).collect(),
            objects: cell.resource.is_in_store.then_some(cell.resource.guard),
            migrates: cell.resource.migrates,
            ttl: client.ttl,
            call_timeout: cell.network.call_timeout,
        };
        let seat = |client: &'c cell::Client| Seat {
            lock: &client.lock,
            bench: bench(client),
            script: Rc::new(client.script.clone()),
        };
        let lowering = Lowering { nodes: &nodes };
        Self {
            cell,
            contender,
            seats: cell.clients.iter().map(seat).collect(),
            specs: (0..nodes.names.len()).map(|index| spec(cell, &nodes, id(index))).collect(),
            links: links(cell, &nodes),
            faults: cell.faults.iter().map(|fault| lowering.planned(fault)).collect(),
            cues: lowering.cues(cell),
            rules: rules(cell, contender, &nodes),
            nodes,
            built: RefCell::new(None),
        }
    }

    /// The clock on which a node counts leases: a lock server those that it gave, a client its own.
    pub(crate) fn lease_clock(&self, node: NodeId) -> Clock {
        if let Some(kind) = self.nodes.kinds.get(node.index()) {
            return self.cell.service.lease_clock(*kind);
        }
        let seat = node.index().checked_sub(self.nodes.kinds.len() + 1).and_then(|client| self.seats.get(client));
        seat.map_or(Clock::Monotonic, |seat| self.contender.lease_clock(seat.lock))
    }

    pub(crate) const fn nodes(&self) -> &Nodes {
        &self.nodes
    }

    /// Plays the world with one seed, and with faults beside those of its cell.
    pub(crate) fn play(&self, seed: u64, recording: bool, more: &[Fault], bounds: Bounds) -> Outcome<Note> {
        let is_drawn = |fault: &Planned<'_>| matches!(fault, Planned::Drawn(_));
        if !more.is_empty() || self.faults.iter().any(is_drawn) {
            return self.build(seed, recording, more).run(bounds);
        }
        // What no seed changes is built once, and played over and over: building takes as long as a fifth of a short run.
        let mut built = self.built.borrow_mut();
        let sim = built.get_or_insert_with(|| self.build(seed, recording, &[]));
        sim.reset(seed, recording);
        sim.run(bounds)
    }

    fn build(&self, seed: u64, recording: bool, more: &[Fault]) -> Sim<Locks> {
        let mut sim = Sim::new(seed, recording);
        let client =
            |seat: &Seat<'_>| self.contender.client(seat.lock, &seat.bench, self.resource(), Rc::clone(&seat.script));
        self.build_on(&mut sim, seed, more, client);
        sim
    }

    /// The same on whichever kernel, its clients using the cell's own locks.
    pub(crate) fn build_anywhere<K: Kernel>(&self, kernel: &mut K, seed: u64) {
        let client = |seat: &Seat<'_>| built_in(seat.lock, &seat.bench, self.resource(), Rc::clone(&seat.script));
        self.build_on(kernel, seed, &[], client);
    }

    fn build_on<K: Kernel>(
        &self,
        kernel: &mut K,
        seed: u64,
        more: &[Fault],
        client: impl Fn(&Seat<'_>) -> Program<K::Host>,
    ) {
        let mut specs = self.specs.iter().cloned();
        for (kind, spec) in self.nodes.kinds.iter().zip(specs.by_ref()) {
            kernel.service(spec, server(*kind, &self.cell.service, &self.nodes));
        }
        if let Some(spec) = specs.next() {
            let cell::Resource { guard, manner, .. } = self.cell.resource.clone();
            let resource: ServiceFactory<Locks> = match self.contender.check() {
                Some(check) => Box::new(move || Box::new(Resource::new(check.clone(), manner))),
                None => Box::new(move || Box::new(Resource::new(guard, manner))),
            };
            kernel.awaited_service(spec, resource);
        }
        for (spec, seat) in specs.zip(&self.seats) {
            kernel.client(spec, client(seat));
        }
        for (from, to, latency) in &self.links {
            kernel.latency(*from, *to, *latency);
        }
        let lowering = Lowering { nodes: &self.nodes };
        for fault in &self.faults {
            kernel.fault(match fault {
                Planned::Placed(fault) => fault.clone(),
                Planned::Drawn(fault) => lowering.drawn(fault, seed),
            });
        }
        for fault in more {
            kernel.fault(fault.clone());
        }
        for cue in &self.cues {
            kernel.cue(cue.clone());
        }
    }

    fn resource(&self) -> Server<Op> {
        Server::on(self.nodes.resource())
    }
}

/// What runs on a lock server of that kind.
fn server(kind: ServerKind, service: &Service, nodes: &Nodes) -> ServiceFactory<Locks> {
    match (kind, service) {
        (ServerKind::Primary | ServerKind::Replica, Service::Sentinel(settings)) => {
            let of = (kind == ServerKind::Replica).then(|| nodes.first_primary());
            let SentinelServers { lag, min_replicas, max_lag, .. } = *settings;
            Box::new(move || Box::new(redis::Redis::replicated(Replicates { of, lag, min_replicas, max_lag })))
        }
        (ServerKind::Sentinel, Service::Sentinel(settings)) => {
            let watches = Watches {
                name: redis::sentinel_lock::NAME,
                primary: nodes.first_primary(),
                sentinels: nodes.of_kind(ServerKind::Sentinel).collect(),
                quorum: settings.quorum.into(),
                down_after: settings.down_after,
                failover_timeout: settings.failover_timeout,
                parallel_syncs: 1,
            };
            Box::new(move || Box::new(redis::Sentinel::new(watches.clone())))
        }
        (ServerKind::Etcd, Service::Etcd(settings)) => {
            let (members, settings): (Vec<_>, _) = (nodes.of_kind(ServerKind::Etcd).collect(), *settings);
            Box::new(move || Box::new(Etcd::new(&members, settings)))
        }
        (ServerKind::ZooKeeper, Service::ZooKeeper(settings)) => {
            let (members, settings): (Vec<_>, _) = (nodes.of_kind(ServerKind::ZooKeeper).collect(), *settings);
            Box::new(move || Box::new(ZooKeeper::new(&members, settings)))
        }
        (ServerKind::Postgres, Service::Postgres(settings)) => {
            let settings = settings.clone();
            Box::new(move || Box::new(Postgres::primary(settings.clone())))
        }
        (ServerKind::PgBouncer, Service::Postgres(settings)) => {
            let server = nodes.of_kind(ServerKind::Postgres).next().unwrap_or_default();
            let settings = settings.pooler.unwrap_or_default();
            Box::new(move || Box::new(PgBouncer::new(settings, Server::on(server))))
        }
        (ServerKind::PgStandby, Service::Postgres(settings)) => {
            let (settings, of) = (settings.clone(), nodes.of_kind(ServerKind::Postgres).next().unwrap_or_default());
            Box::new(move || Box::new(Postgres::standby(settings.clone(), Server::on(of))))
        }
        _ => {
            let settings = service.redis();
            Box::new(move || Box::new(redis::Redis::new(settings)))
        }
    }
}

/// The lock servers that a client knows, in its order: what stands before them, or all that grant.
fn known_servers(client: &cell::Client, nodes: &Nodes) -> Vec<NodeId> {
    if let Some(own) = &client.servers {
        return own.iter().map(|name| nodes.named(name)).collect();
    }
    let before: Vec<_> = nodes.all_servers().filter(|server| nodes.kinds[server.index()].stands_before()).collect();
    if before.is_empty() { nodes.granting().collect() } else { before }
}

fn spec(cell: &Cell, nodes: &Nodes, node: NodeId) -> NodeSpec {
    let name = nodes.names[node.index()].as_str();
    let settings = cell.nodes.get(name).copied().unwrap_or_default();
    NodeSpec { entity: nodes.entity(node), name: name.into(), rate: settings.rate, wall_offset: settings.wall_offset }
}

fn links(cell: &Cell, nodes: &Nodes) -> Vec<(NodeId, NodeId, Span)> {
    let mut links = Vec::new();
    let mut both_ways = |one, other, latency| links.extend([(one, other, latency), (other, one, latency)]);
    for client in nodes.clients() {
        both_ways(client, nodes.resource(), cell.network.client_resource);
        for server in nodes.all_servers() {
            both_ways(client, server, cell.network.client_server);
        }
    }
    for one in nodes.all_servers() {
        for other in nodes.all_servers().filter(|other| *other > one) {
            both_ways(one, other, cell.network.server_server);
        }
    }
    links
}

/// Replaces names by nodes.
struct Lowering<'n> {
    nodes: &'n Nodes,
}

impl Lowering<'_> {
    fn planned<'c>(&self, fault: &'c cell::Fault) -> Planned<'c> {
        if fault.is_drawn() { Planned::Drawn(fault) } else { Planned::Placed(self.fault(fault)) }
    }

    /// The fault as that seed has it. One that the seed does not have keeps its place, and never strikes.
    fn drawn(&self, fault: &cell::Fault, seed: u64) -> Fault {
        match draw::drawn(fault, seed) {
            Some(fault) => self.fault(&fault),
            None => Fault {
                entity: Entity::WORLD,
                what: What::Pause(Vec::new()),
                when: When::Every { at: Duration::ZERO, every: Duration::ZERO, times: Some(0) },
                lasts: Lasts::Instant,
            },
        }
    }

    fn fault(&self, fault: &cell::Fault) -> Fault {
        Fault {
            entity: Entity::named(&format!("fault/{}", fault.name)),
            what: self.what(&fault.what),
            when: self.when(&fault.when),
            lasts: match &fault.lasts {
                cell::Lasts::Instant => Lasts::Instant,
                cell::Lasts::For(span) => Lasts::For(*span),
                cell::Lasts::By(clock, span) => Lasts::By(*clock, *span),
                cell::Lasts::Until(when) => Lasts::Until(self.when(when)),
                cell::Lasts::ToTheEnd => Lasts::ToTheEnd,
            },
        }
    }

    /// The moments for which scripts wait, and behind them those of which the cell expects something.
    fn cues(&self, cell: &Cell) -> Vec<When> {
        let expected = cell.figures.iter().filter_map(|claim| match &claim.figure {
            Figure::Reach(milestone) => Some(self.milestone(milestone)),
            _ => None,
        });
        cell.cues.iter().map(|(_, when)| self.when(when)).chain(expected).collect()
    }

    fn what(&self, what: &cell::What) -> What {
        match what {
            cell::What::Pause(nodes) => What::Pause(self.targets(nodes)),
            cell::What::MachineSleep(nodes) => What::MachineSleep(self.targets(nodes)),
            cell::What::VmStop(nodes) => What::VmStop(self.targets(nodes)),
            cell::What::Kill(nodes) => What::Kill(self.targets(nodes)),
            cell::What::Shutdown(nodes) => What::Shutdown(self.targets(nodes)),
            cell::What::PowerOff(nodes) => What::PowerOff(self.targets(nodes)),
            cell::What::Restore { node, as_of } => What::Restore(self.targets(node), *as_of),
            cell::What::Cancel(nodes) => What::Cancel(self.targets(nodes)),
            cell::What::Stall { node, part } => What::Stall(self.target(node), *part),
            cell::What::Throttle { node, run, stop } => {
                What::Throttle { target: self.target(node), run: *run, stop: *stop }
            }
            cell::What::StepClock { node, by } => What::StepClock(self.targets(node), *by),
            cell::What::ClockRate { node, rate } => What::ClockRate(self.targets(node), *rate),
            cell::What::Disk { node, how: DiskFault::Fails(what) } => What::Shortage(self.targets(node), *what),
            cell::What::Disk { node, how: DiskFault::Slow(by) } => What::SlowDisk(self.targets(node), *by),
            cell::What::Promote(nodes) => What::Nudge(self.targets(nodes), Nudge::Promote),
            cell::What::Evict { node, key } => What::Nudge(self.targets(node), Nudge::Evict(*key)),
            cell::What::Cut { link, held } => What::Cut(self.links(link), *held),
            cell::What::Slow { link, by } => What::Slow(self.links(link), *by),
            cell::What::Reset(link) => What::Reset(self.links(link)),
            cell::What::HalfOpen { forgets, believes } => {
                What::HalfOpen { forgets: self.targets(forgets), believes: self.targets(believes) }
            }
            cell::What::Drop(message) => What::Drop(self.message(message)),
            cell::What::Delay { message, by } => What::Delay(self.message(message), *by),
        }
    }

    fn when(&self, when: &cell::When) -> When {
        match when {
            cell::When::At(at) => When::At(*at),
            cell::When::Within { .. } => unreachable!("what is drawn is drawn before it is lowered"),
            cell::When::Every { at, every, times } => When::Every { at: *at, every: *every, times: *times },
            cell::When::Milestone(milestone) => self.milestone(milestone),
        }
    }

    fn milestone(&self, milestone: &cell::Milestone) -> When {
        When::Milestone {
            clients: milestone.client.iter().map(|name| self.nodes.named(name)).collect(),
            point: milestone.point,
            nth: milestone.nth,
            plus: milestone.plus,
        }
    }

    fn message(&self, message: &cell::MessageMatch) -> MessageMatch {
        MessageMatch {
            direction: message.direction,
            operation: message.operation,
            clients: self.targets(&message.of),
            server: message.server.as_ref().map(|server| self.target(server)),
            nth: message.nth,
        }
    }

    fn links(&self, link: &cell::Link) -> Vec<Link> {
        match link {
            cell::Link::OneWay { from, to } => self.one_way(from, to),
            cell::Link::Between(one, other) => {
                let mut links = self.one_way(one, other);
                links.extend(self.one_way(other, one));
                links
            }
        }
    }

    fn one_way(&self, from: &[NodeRef], to: &[NodeRef]) -> Vec<Link> {
        let targets = self.targets(to);
        let from_one = |from: Target| targets.iter().map(move |to| Link { from, to: *to });
        self.targets(from).into_iter().flat_map(from_one).collect()
    }

    fn targets(&self, nodes: &[NodeRef]) -> Vec<Target> {
        nodes.iter().map(|node| self.target(node)).collect()
    }

    fn target(&self, node: &NodeRef) -> Target {
        match node {
            NodeRef::Named(name) => Target::Node(self.nodes.named(name)),
            NodeRef::Holder => Target::Reacher,
            NodeRef::Primary | NodeRef::Leader => Target::Leader,
            NodeRef::Any(_) => unreachable!("what is drawn is drawn before it is lowered"),
        }
    }
}

fn id(index: usize) -> NodeId {
    NodeId::new(u16::try_from(index).expect("the loader refuses worlds of so many nodes"))
}

/// The guarded resource's node.
const RESOURCE: &str = "resource";
