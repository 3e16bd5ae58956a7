//! The lock servers of a run: started in the order in which they need each other, and put in touch.

use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use models::lock::{PgServers, SentinelServers, ServerKind, Service};
use scenarios::Cell;
use sim::NodeSpec;

use super::PATIENCE;
use super::lives::{Up, guard, open};
use crate::refusal::{pg_settings, settings};
use crate::resp::Connection;
use crate::servers::etcd::{EtcdCluster, EtcdMember};
use crate::servers::pgbouncer::PgBouncer;
use crate::servers::postgres::{PgServer, PgTemplate};
use crate::servers::redis::RedisServer;
use crate::servers::sentinel::Sentinel;
use crate::servers::zookeeper::{ZkEnsemble, ZkServer};

/// A lock server that was started.
pub(super) enum Started {
    Redis(Box<Up>),
    Sentinel(Sentinel),
    Member(Box<EtcdMember>),
    ZooKeeper(Box<ZkServer>),
    Postgres(Box<PgServer>),
    Pooler(Box<PgBouncer>),
}

impl Started {
    /// Where it listens.
    pub(super) const fn port(&self) -> u16 {
        match self {
            Self::Redis(up) => up.server.port(),
            Self::Sentinel(sentinel) => sentinel.port(),
            Self::Member(member) => member.port(),
            Self::ZooKeeper(server) => server.port(),
            Self::Postgres(server) => server.port(),
            Self::Pooler(pooler) => pooler.port(),
        }
    }
}

/// What each of a cell's lock servers is.
pub(crate) fn kinds(cell: &Cell) -> Vec<ServerKind> {
    cell.lock.facts().servers(&cell.service).map(|(_, kind)| kind).collect()
}

/// Starts the lock servers of a cell, which are the first of these nodes. `own_clocks`: each has a wall clock of its own,
/// that can be stepped.
pub(super) fn start<'n>(
    cell: &Cell,
    nodes: impl Iterator<Item = &'n NodeSpec>,
    own_clocks: bool,
) -> io::Result<Vec<Started>> {
    if let Service::Etcd(servers) = &cell.service {
        let members = EtcdCluster::start_set(servers, guard()?)?.into_members();
        return Ok(members.into_iter().map(|member| Started::Member(Box::new(member))).collect());
    }
    if let Service::ZooKeeper(servers) = &cell.service {
        let servers = ZkEnsemble::start_set(servers, &guard()?)?.into_servers();
        return Ok(servers.into_iter().map(|server| Started::ZooKeeper(Box::new(server))).collect());
    }
    if let Service::Postgres(servers) = &cell.service {
        return postgres(servers);
    }
    let settings = settings(&cell.service);
    let mut started: Vec<Started> = Vec::new();
    for (kind, spec) in kinds(cell).into_iter().zip(nodes) {
        let ahead = own_clocks.then_some(spec.wall_offset);
        started.push(match (kind, &cell.service) {
            (ServerKind::Sentinel, Service::Sentinel(servers)) => {
                // The first of the servers is the primary.
                let primary = started.first().map_or(0, Started::port);
                Started::Sentinel(sentinel(primary, servers, ahead)?)
            }
            _ => {
                let up = open(RedisServer::start_shut(&settings, guard()?, ahead)?, || ())?;
                if let (ServerKind::Replica, Some(primary)) = (kind, started.first()) {
                    follow(&up.server, primary.port())?;
                }
                Started::Redis(Box::new(up))
            }
        });
    }
    if let Service::Sentinel(servers) = &cell.service {
        are_in_touch(&started, servers)?;
    }
    Ok(started)
}

/// A primary, its standby, and the pooler before it, as far as they are asked for.
fn postgres(set: &PgServers) -> io::Result<Vec<Started>> {
    let (template, settings) = (PgTemplate::new()?, pg_settings(set));
    let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, value.as_str())).collect();
    let primary = PgServer::start_set(&template, &settings, Some(guard()?), None)?;
    let standby = match set.standbys {
        0 => None,
        _ => Some(primary.follow(&template, &settings, Some(guard()?), None)?),
    };
    let pooler = set.pooler.map(|pooler| PgBouncer::start(primary.port(), &pooler, Some(&guard()?))).transpose()?;
    let servers = [Some(primary), standby].into_iter().flatten().map(|server| Started::Postgres(Box::new(server)));
    Ok(servers.chain(pooler.map(|pooler| Started::Pooler(Box::new(pooler)))).collect())
}

fn sentinel(primary: u16, servers: &SentinelServers, ahead: Option<i64>) -> io::Result<Sentinel> {
    let settings = [
        ("down-after-milliseconds", servers.down_after.as_millis().to_string()),
        ("failover-timeout", servers.failover_timeout.as_millis().to_string()),
    ];
    Sentinel::start_with((primary, servers.quorum), &settings, Some(guard()?), ahead)
}

/// Makes it a replica, which it is after a restart too, and waits until it is one.
fn follow(replica: &RedisServer, primary: u16) -> io::Result<()> {
    let mut line = Connection::open_socket(&replica.socket())?;
    line.ask(&["REPLICAOF", "127.0.0.1", &primary.to_string()])?;
    line.ask(&["CONFIG", "REWRITE"])?;
    until("a replica is in touch", || says(&mut line, "replication", "master_link_status:up"))
}

/// Waits until every Sentinel knows of all others and of all replicas.
fn are_in_touch(started: &[Started], servers: &SentinelServers) -> io::Result<()> {
    let all = format!("slaves={},sentinels={}", servers.replicas, servers.sentinels);
    for server in started {
        if let Started::Sentinel(sentinel) = server {
            let mut line = sentinel.connect()?;
            until("the Sentinels have found each other", || says(&mut line, "sentinel", &all))?;
        }
    }
    Ok(())
}

/// Whether that section of its `INFO` has this.
fn says<S: io::Read + io::Write>(line: &mut Connection<S>, section: &str, what: &str) -> io::Result<bool> {
    Ok(String::from_utf8_lossy(&line.ask(&["INFO", section])?).contains(what))
}

fn until(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("{what}: not within {} s", PATIENCE.as_secs())));
        }
        sleep(BETWEEN_LOOKS);
    }
    Ok(())
}

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
