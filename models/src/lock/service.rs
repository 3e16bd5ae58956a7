//! The servers behind a lock: in which groups they come, and how they are set.
//!
//! A lock declares its groups as data; which node is what follows from them, in their order.

use host::Clock;

use super::etcd::EtcdServers;
use super::postgres::PgServers;
use super::sentinel::SentinelServers;
use super::server::RedisServer;
use super::zookeeper::ZkServers;

/// What a lock server does: what runs on its machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ServerKind {
    /// A Redis server that takes writes from the start, and knows of no other.
    Redis,
    /// A Redis server that takes writes from the start, and feeds replicas.
    Primary,
    /// A Redis server that is a replica at the start.
    Replica,
    /// A Sentinel.
    Sentinel,
    /// A member of an etcd cluster.
    Etcd,
    /// A member of a ZooKeeper ensemble.
    ZooKeeper,
    /// A PostgreSQL server that takes writes from the start.
    Postgres,
    /// A PostgreSQL server that is another's standby at the start.
    PgStandby,
    /// A pooler before a PostgreSQL server.
    PgBouncer,
}

impl ServerKind {
    /// Every kind.
    pub const ALL: [Self; 9] = [
        Self::Redis,
        Self::Primary,
        Self::Replica,
        Self::Sentinel,
        Self::Etcd,
        Self::ZooKeeper,
        Self::Postgres,
        Self::PgStandby,
        Self::PgBouncer,
    ];

    /// By which name its nodes draw randomness, with their number in their group: never by the number of the node, so
    /// that the same faults can be played against every lock.
    #[must_use]
    pub const fn role(self) -> &'static str {
        match self {
            Self::Redis | Self::Primary | Self::Etcd | Self::ZooKeeper | Self::Postgres => "server",
            Self::Replica | Self::PgStandby => "replica",
            Self::Sentinel => "sentinel",
            Self::PgBouncer => "pooler",
        }
    }

    /// The word of scenario files for all servers of this kind, if there is one beside `servers`, which is for all of
    /// any kind.
    #[must_use]
    pub const fn group_word(self) -> Option<&'static str> {
        match self {
            Self::Redis
            | Self::Primary
            | Self::Etcd
            | Self::ZooKeeper
            | Self::Postgres
            | Self::PgStandby
            | Self::PgBouncer => None,
            Self::Replica => Some("replicas"),
            Self::Sentinel => Some("sentinels"),
        }
    }

    /// Whether it talks to the other servers of its world.
    #[must_use]
    pub const fn talks(self) -> bool {
        match self {
            Self::Redis => false,
            Self::Primary
            | Self::Replica
            | Self::Sentinel
            | Self::Etcd
            | Self::ZooKeeper
            | Self::Postgres
            | Self::PgStandby
            | Self::PgBouncer => true,
        }
    }

    /// Whether it is one of several that agree, of which one leads.
    #[must_use]
    pub const fn agrees(self) -> bool {
        match self {
            Self::Redis
            | Self::Primary
            | Self::Replica
            | Self::Sentinel
            | Self::Postgres
            | Self::PgStandby
            | Self::PgBouncer => false,
            Self::Etcd | Self::ZooKeeper => true,
        }
    }

    /// Whether it decides by itself who owns a lock, and not as one of several that agree.
    #[must_use]
    pub const fn decides(self) -> bool {
        match self {
            Self::Redis | Self::Primary | Self::Replica | Self::Postgres | Self::PgStandby => true,
            Self::Sentinel | Self::Etcd | Self::ZooKeeper | Self::PgBouncer => false,
        }
    }

    /// Whether it can make somebody the owner of a lock.
    #[must_use]
    pub const fn grants(self) -> bool {
        match self {
            Self::Redis
            | Self::Primary
            | Self::Replica
            | Self::Etcd
            | Self::ZooKeeper
            | Self::Postgres
            | Self::PgStandby => true,
            Self::Sentinel | Self::PgBouncer => false,
        }
    }

    /// Whether it keeps all that it has in memory, of which it may run short: then it evicts what it knows, or refuses to learn
    /// more, as it is set.
    #[must_use]
    pub const fn lives_in_memory(self) -> bool {
        match self {
            Self::Redis | Self::Primary | Self::Replica => true,
            Self::Sentinel | Self::Etcd | Self::ZooKeeper | Self::Postgres | Self::PgStandby | Self::PgBouncer => false,
        }
    }

    /// Whether an operator can have it take the place of the server that it follows.
    #[must_use]
    pub const fn can_be_promoted(self) -> bool {
        matches!(self, Self::Replica | Self::PgStandby)
    }

    /// Whether it hands on what clients send, and stands for its servers: then they know no others.
    #[must_use]
    pub const fn stands_before(self) -> bool {
        matches!(self, Self::PgBouncer)
    }
}

/// Servers of one kind that a lock needs.
#[derive(Clone, Copy, Debug)]
pub struct ServerGroup {
    /// They are called `PREFIX-1`, `PREFIX-2`, …
    pub prefix: &'static str,
    /// What each of them is.
    pub kind: ServerKind,
    /// How many there are, of servers that are set so.
    pub size: fn(&Service) -> u16,
}

impl ServerGroup {
    /// Their names, if they are set so.
    pub fn names(self, service: &Service) -> impl Iterator<Item = String> + use<> {
        (1..=(self.size)(service)).map(move |i| format!("{}-{i}", self.prefix))
    }
}

/// How the servers of a cell are set: `service` of a scenario.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Service {
    /// Redis servers that know nothing of each other: `service.redis`.
    Redis(RedisServer),
    /// A primary, its replicas and the Sentinels that watch them: `service.redis-sentinel`.
    Sentinel(SentinelServers),
    /// The members of an etcd cluster: `service.etcd`.
    Etcd(EtcdServers),
    /// The members of a ZooKeeper ensemble: `service.zookeeper`.
    ZooKeeper(ZkServers),
    /// A PostgreSQL server, its standby and the pooler before it: `service.postgres`.
    Postgres(PgServers),
}

impl Default for Service {
    fn default() -> Self {
        Self::Redis(RedisServer::default())
    }
}

impl Service {
    /// The servers of that name, as they are if nothing is set; those of `redis` if there is none.
    #[must_use]
    pub fn by_default(name: Option<&str>) -> Self {
        match name {
            Some(super::sentinel::NAME) => Self::Sentinel(SentinelServers::default()),
            Some(super::etcd::NAME) => Self::Etcd(EtcdServers::default()),
            Some(super::zookeeper::NAME) => Self::ZooKeeper(ZkServers::default()),
            Some(super::postgres::NAME) => Self::Postgres(PgServers::default()),
            _ => Self::default(),
        }
    }

    /// How each of its Redis servers is set that knows of no other.
    #[must_use]
    pub fn redis(&self) -> RedisServer {
        match self {
            Self::Redis(redis) => *redis,
            Self::Sentinel(_) | Self::Etcd(_) | Self::ZooKeeper(_) | Self::Postgres(_) => RedisServer::default(),
        }
    }

    /// Whether its servers end a session that does nothing for some time.
    #[must_use]
    pub fn ends_idle_sessions(&self) -> bool {
        matches!(self, Self::Postgres(servers) if !(servers.timeouts.idle_session + servers.timeouts.idle_in_transaction).is_zero())
    }

    /// The clock on which a server of that kind counts the leases that it gave.
    #[must_use]
    pub fn lease_clock(&self, kind: ServerKind) -> Clock {
        match kind {
            ServerKind::Redis => self.redis().ttl_clock.clock(),
            // A Sentinel gives none, nor does a pooler. Of PostgreSQL, `now()` and `clock_timestamp()` read it.
            ServerKind::Primary
            | ServerKind::Replica
            | ServerKind::Sentinel
            | ServerKind::Postgres
            | ServerKind::PgStandby
            | ServerKind::PgBouncer => Clock::Wall,
            // 3.4.23 reads the wall clock as well, to its disadvantage.
            ServerKind::Etcd | ServerKind::ZooKeeper => Clock::Monotonic,
        }
    }
}
