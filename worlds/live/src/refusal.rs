//! What real servers on one machine cannot be made to do, in words.
//!
//! Whatever this world does not know is refused by its name, so that a new kind of fault is never played as nothing.

use std::fmt;

use host::{Duration, NodeId, Operation, Span};
use models::Nudge;
use models::lock::etcd::Version;
use models::lock::{
    Lock, Persistence, PgLock, PgServers, PgTimeouts, ServerKind, Service, Synchronous, TtlClock, ZkServers,
};
use models::script::points;
use scenarios::{Cell, Contender, Player};
use sim::{Fault, Held, Lasts, Link, MessageMatch, NodeSpec, Target, What, When};

use crate::backends;
use crate::run::servers::kinds;
use crate::run::world::{Cast, World};

/// Why something cannot be played on real servers.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Refusal(String);

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a cell cannot be played on real servers with this seed, each reason once; none: it can.
#[must_use]
pub fn refusals(cell: &Cell, seed: u64) -> Vec<Refusal> {
    let contender = Contender::built_in(&cell.lock);
    let mut world = World::default();
    Player::new(cell, &contender).build_on(&mut world, seed);
    let mut why = of_service(cell);
    let is = |cast: fn(&Cast) -> bool| {
        let nodes = world.nodes.iter().enumerate().filter(move |(_, (_, of))| cast(of));
        nodes.map(|(node, _)| NodeId::new(u16::try_from(node).unwrap_or(u16::MAX))).collect::<Vec<_>>()
    };
    let of_kind = |wanted| {
        let kinds = (0..).map(NodeId::new).zip(kinds(cell));
        kinds.filter(|(_, kind)| *kind == wanted).map(|(node, _)| node).collect::<Vec<_>>()
    };
    let roles = Roles {
        resources: is(|cast| matches!(cast, Cast::Resource(_))),
        clients: is(|cast| matches!(cast, Cast::Client)),
        sentinels: of_kind(ServerKind::Sentinel),
        members: of_kind(ServerKind::Etcd).into_iter().chain(of_kind(ServerKind::ZooKeeper)).collect(),
        ensemble: of_kind(ServerKind::ZooKeeper),
        databases: of_kind(ServerKind::Postgres).into_iter().chain(of_kind(ServerKind::PgStandby)).collect(),
        standbys: of_kind(ServerKind::PgStandby),
        poolers: of_kind(ServerKind::PgBouncer),
        operations: [cell.lock.facts().operations, cell.lock.facts().pushes].concat(),
        leads: kinds(cell).iter().any(|kind| {
            matches!(kind, ServerKind::Primary | ServerKind::Etcd | ServerKind::ZooKeeper | ServerKind::Postgres)
        }),
    };
    why.extend(world.nodes.iter().flat_map(|(spec, cast)| of_node(spec, cast)));
    if roles.members.iter().any(|member| world.nodes[member.index()].0.wall_offset != 0) {
        why.push("a clock of its own for a server of a cluster: it reads the machine's".to_owned());
    }
    let is_played = |link: &Link| roles.is_of_a_client(link);
    let mut long = world.latencies.iter().filter(|(.., latency)| takes_long(latency));
    if long.any(|(from, to, _)| !is_played(&Link { from: Target::Node(*from), to: Target::Node(*to) })) {
        why.push("a network that takes so long: all is on one machine".to_owned());
    }
    why.extend(world.faults.iter().flat_map(|fault| roles.of_fault(fault)));
    why.extend(world.cues.iter().filter_map(of_moment).map(str::to_owned));
    // Those behind the cell's own are for figures alone.
    let cues = world.cues.iter().take(cell.cues.len());
    let mut moments = world.faults.iter().map(|fault| &fault.when).chain(cues);
    let is_told_late = |when: &When| match when {
        When::Milestone { point, .. } => {
            let is_of_objects = [points::WRITE_APPLIED, points::REFUSED].contains(point);
            *point == points::OWNER || is_of_objects && cell.resource.is_in_store
        }
        _ => false,
    };
    if !roles.members.is_empty() && moments.any(is_told_late) {
        why.push("the moment in which a cluster changes something: it is over when it is told of".to_owned());
    }
    let mut why: Vec<Refusal> = why.into_iter().map(Refusal).collect();
    why.sort();
    why.dedup();
    why
}

fn of_service(cell: &Cell) -> Vec<String> {
    let mut why = Vec::new();
    let kinds = cell.lock.facts().servers(&cell.service).map(|(_, kind)| kind);
    for kind in kinds {
        match kind {
            ServerKind::Redis
            | ServerKind::Primary
            | ServerKind::Replica
            | ServerKind::Sentinel
            | ServerKind::Etcd
            | ServerKind::ZooKeeper
            | ServerKind::Postgres
            | ServerKind::PgStandby
            | ServerKind::PgBouncer => {}
            #[expect(unreachable_patterns, reason = "a new kind of server is refused until it has its line here")]
            _ => why.push(format!("a server that is a {}: nobody starts it yet", kind.role())),
        }
    }
    if let Service::Sentinel(servers) = &cell.service
        && servers.lag != Span::Fixed(Duration::ZERO)
    {
        why.push("a lag of what is replicated: nobody holds back what a real primary sends".to_owned());
    }
    if let Service::Etcd(servers) = &cell.service
        && servers.version == Version::Fixed
    {
        why.push("a version of etcd without the faults of 3.4.23: that is the one that is here".to_owned());
    }
    if let Service::ZooKeeper(servers) = &cell.service {
        if servers.sync_limit != ZkServers::default().sync_limit {
            why.push("a `sync-limit` that is not as shipped".to_owned());
        }
        if cell.resource.is_in_store {
            why.push("objects in an ensemble: what is read of them leaves no trace in its log".to_owned());
        }
    }
    why.extend(of_postgres(cell).into_iter().map(str::to_owned));
    if cell.service.redis().ttl_clock == TtlClock::Monotonic {
        why.push("a server that counts leases on the monotonic clock: there is none".to_owned());
    }
    why
}

fn of_postgres(cell: &Cell) -> Vec<&'static str> {
    let Service::Postgres(servers) = &cell.service else { return Vec::new() };
    let mut why = Vec::new();
    if servers.standbys > 0 && !matches!(cell.lock, Lock::Postgres(PgLock::Advisory(_))) {
        why.push("a lock that is a row, and a standby: how far that has come with rows no server writes into its log");
    }
    if cell.resource.is_in_store {
        why.push("objects in the database: what becomes of rows no server writes into its log");
    }
    if servers.lag != Span::Fixed(Duration::ZERO) {
        why.push("a lag of what is replicated: nobody holds back what a real primary sends");
    }
    why
}

/// How a PostgreSQL server is started that is to be set so.
pub(crate) fn pg_settings(set: &PgServers) -> Vec<(&'static str, String)> {
    let millis = |duration: Duration| duration.as_millis().to_string();
    let PgTimeouts { deadlock, lock, statement, idle_session, idle_in_transaction, connection_check } = set.timeouts;
    let mut settings = vec![
        ("deadlock_timeout", millis(deadlock)),
        ("lock_timeout", millis(lock)),
        ("statement_timeout", millis(statement)),
        ("idle_session_timeout", millis(idle_session)),
        ("idle_in_transaction_session_timeout", millis(idle_in_transaction)),
        ("client_connection_check_interval", millis(connection_check)),
        ("tcp_keepalives_idle", set.keepalive.idle.as_secs().to_string()),
        ("tcp_keepalives_interval", set.keepalive.interval.as_secs().to_string()),
        ("tcp_keepalives_count", set.keepalive.count.to_string()),
        ("tcp_user_timeout", millis(set.keepalive.user_timeout)),
    ];
    if set.synchronous == Synchronous::Standby {
        settings.push(("synchronous_standby_names", "standby".to_owned()));
    }
    settings.extend(backends::SETTINGS.map(|(name, value)| (name, value.to_owned())));
    settings
}

/// How a Redis server is started that is to be set so.
pub(crate) fn settings(service: &Service) -> Vec<(String, String)> {
    let keeps: &[(&str, &str)] = match service.redis().persistence {
        Persistence::None => &[("save", ""), ("appendonly", "no")],
        Persistence::Save => &[("save", "3600 1 300 100 60 10000"), ("appendonly", "no")],
        Persistence::AofEverysec => &[("save", ""), ("appendonly", "yes"), ("appendfsync", "everysec")],
        Persistence::AofAlways => &[("save", ""), ("appendonly", "yes"), ("appendfsync", "always")],
    };
    let own = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    // What it does to keys it tells.
    let mut settings: Vec<_> = keeps.iter().copied().chain([("notify-keyspace-events", "EA")]).map(own).collect();
    if let Service::Sentinel(servers) = service {
        settings.push(("min-replicas-to-write".to_owned(), servers.min_replicas.to_string()));
        settings.push(("min-replicas-max-lag".to_owned(), servers.max_lag.as_secs().to_string()));
        // Else who begins to follow waits five seconds for others that want the same snapshot.
        settings.push(own(("repl-diskless-sync-delay", "0")));
    }
    settings
}

fn of_node(spec: &NodeSpec, cast: &Cast) -> Vec<String> {
    let rate =
        (spec.rate != host::Ppm::ZERO).then_some("clocks that run fast or slow: all processes count the machine's");
    let is_resource = matches!(cast, Cast::Resource(_));
    let ahead = (spec.wall_offset != 0 && is_resource).then_some("a clock of the guarded resource's own");
    rate.into_iter().chain(ahead).map(str::to_owned).collect()
}

/// Who is what.
struct Roles {
    resources: Vec<NodeId>,
    clients: Vec<NodeId>,
    sentinels: Vec<NodeId>,
    /// Members of an etcd cluster, or servers of a ZooKeeper ensemble.
    members: Vec<NodeId>,
    /// The second of these.
    ensemble: Vec<NodeId>,
    /// PostgreSQL servers, those that begin as standbys, and poolers.
    databases: Vec<NodeId>,
    standbys: Vec<NodeId>,
    poolers: Vec<NodeId>,
    /// What is asked of the lock servers, and what they push.
    operations: Vec<Operation>,
    /// Whether some server is a primary.
    leads: bool,
}

impl Roles {
    fn of_fault(&self, fault: &Fault<Nudge>) -> Vec<String> {
        let name = fault.what.name();
        let lasts = match &fault.lasts {
            Lasts::Until(when) => of_moment(when),
            Lasts::By(..) => Some("a restart by another clock than true time: nobody waits by one"),
            Lasts::Instant | Lasts::For(_) | Lasts::ToTheEnd => None,
        };
        let why = self.of_what(&fault.what).err().map(|why| format!("{name}: {why}"));
        of_moment(&fault.when).into_iter().chain(lasts).map(str::to_owned).chain(why).collect()
    }

    /// The table of faults: how each is played, or why not.
    fn of_what(&self, what: &What<Nudge>) -> Result<(), &'static str> {
        match what {
            // By SIGSTOP and SIGCONT.
            What::Pause(targets) => self.is_a_process(targets),
            What::Throttle { target, .. } => self.is_a_process(&[*target]),
            // By SIGKILL.
            What::Kill(targets) => self.may_end(targets),
            // By SIGTERM.
            What::Shutdown(targets) => {
                let is_client = |target: &Target| match target {
                    Target::Node(node) => self.clients.contains(node),
                    Target::Reacher | Target::Leader => true,
                };
                if targets.iter().any(is_client) {
                    return Err("a client that is asked to end is not played yet");
                }
                self.may_end(targets)
            }
            // By what the program is told.
            What::Cancel(_) => Ok(()),
            // A server has a clock of its own, preloaded; a client reads the machine's, and adds to it.
            What::StepClock(targets, _) if self.touch(&self.databases, targets) => {
                Err("a PostgreSQL server reads the machine's clock, by which its log tells when")
            }
            What::StepClock(targets, _) if self.has_a_member(targets) => {
                Err("a server of a cluster reads the machine's clock")
            }
            What::StepClock(targets, _) => self.is_a_process(targets),
            // A client's own runtime leaves that part out.
            What::Stall(target, _) => match target {
                Target::Node(node) if self.clients.contains(node) => Ok(()),
                Target::Reacher => Ok(()),
                Target::Node(_) | Target::Leader => Err("a signal stops a server, and not a part of it"),
            },
            What::MachineSleep(_) | What::VmStop(_) => Err("the machine cannot be put to sleep"),
            What::ClockRate(..) => Err("all processes count the machine's time"),
            What::PowerOff(_) => Err("a process can be killed, but what it wrote is with the kernel and safe"),
            What::Restore(..) => Err("nobody makes a backup of a server's folder"),
            What::Shortage(..) | What::SlowDisk(..) => Err("the machine has disk and memory"),
            // As an operator does.
            What::Nudge(targets, Nudge::Promote) if self.are(&self.standbys, targets) => Ok(()),
            What::Nudge(..) => Err("nobody can reach into the server"),
            // By the client itself, which loses what it is about to send and what has just come.
            What::Cut(links, Held::Dropped) if links.iter().all(|link| self.is_of_a_client(link)) => Ok(()),
            What::Drop(matches) | What::Delay(matches, _) if self.is_read_by_a_client(matches) => Ok(()),
            What::Cut(..) | What::Slow(..) | What::Reset(_) | What::HalfOpen { .. } => {
                Err("nobody stands between the processes of this machine")
            }
            What::Drop(_) | What::Delay(..) => Err("nobody reads what passes between the processes"),
            #[expect(unreachable_patterns, reason = "a new kind of fault is refused until it has its line here")]
            _ => Err("this world does not know it"),
        }
    }

    fn is_a_process(&self, targets: &[Target]) -> Result<(), &'static str> {
        for target in targets {
            match target {
                Target::Node(node) if self.resources.contains(node) => {
                    return Err("the guarded resource is in the process that runs the play");
                }
                Target::Leader if !self.leads => return Err("no server here leads"),
                Target::Node(_) | Target::Reacher | Target::Leader => {}
            }
        }
        Ok(())
    }

    /// Whether a client of etcd or PostgreSQL is at one end of it, and a server at the other.
    fn is_of_a_client(&self, link: &Link) -> bool {
        let is = |nodes: &[NodeId], target| matches!(target, Target::Node(node) if nodes.contains(&node));
        let is_far = |other| is(&self.members, other) || is(&self.databases, other);
        let joins = |one, other| is(&self.clients, one) && is_far(other);
        joins(link.from, link.to) || joins(link.to, link.from)
    }

    /// Whether it is about what one client of etcd asks and hears.
    fn is_read_by_a_client(&self, matches: &MessageMatch) -> bool {
        let counts_alone = matches.nth.is_none() || matches.clients.len() == 1;
        !self.members.is_empty() && counts_alone && self.operations.contains(&matches.operation)
    }

    fn are(&self, nodes: &[NodeId], targets: &[Target]) -> bool {
        targets.iter().all(|target| matches!(target, Target::Node(node) if nodes.contains(node)))
    }

    fn touch(&self, nodes: &[NodeId], targets: &[Target]) -> bool {
        !nodes.is_empty()
            && targets.iter().any(|target| match target {
                Target::Node(node) => nodes.contains(node),
                Target::Leader => true,
                Target::Reacher => false,
            })
    }

    fn has_a_member(&self, targets: &[Target]) -> bool {
        targets.iter().any(|target| match target {
            Target::Node(node) => self.members.contains(node),
            Target::Leader => !self.members.is_empty(),
            Target::Reacher => false,
        })
    }

    fn may_end(&self, targets: &[Target]) -> Result<(), &'static str> {
        let watches = |target: &Target| matches!(target, Target::Node(node) if self.sentinels.contains(node));
        if targets.iter().any(watches) {
            return Err("a Sentinel that ends is not played yet");
        }
        if self.touch(&self.poolers, targets) {
            return Err("a pooler that ends is not played yet");
        }
        let is_of_ensemble = |target: &Target| match target {
            Target::Node(node) => self.ensemble.contains(node),
            Target::Leader => !self.ensemble.is_empty(),
            Target::Reacher => false,
        };
        if targets.iter().any(is_of_ensemble) {
            return Err("a server of ZooKeeper that ends is not played yet");
        }
        self.is_a_process(targets)
    }
}

/// Whether messages take so long that it is a part of the claim, and no matter of the network that somebody has. (A client
/// of etcd takes that time itself.)
pub(crate) fn takes_long(latency: &Span) -> bool {
    latency.shortest() > LONGEST_LATENCY || latency.longest().is_some_and(|longest| longest > LONGEST_TAIL)
}

fn of_moment(when: &When) -> Option<&'static str> {
    match when {
        When::At(_) | When::Every { .. } | When::Milestone { .. } => None,
        When::Step { .. } => Some("a node's nth step: nobody counts the steps of a real process"),
    }
}

/// Even what comes soonest takes longer.
const LONGEST_LATENCY: Duration = Duration::from_millis(20);
/// What comes last may take longer.
const LONGEST_TAIL: Duration = Duration::from_secs(1);
