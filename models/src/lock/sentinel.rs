//! The switches of the lock on a primary that Sentinel names, and the settings of its servers.

use host::{Duration, Operation, Span};
use spec::{Assumption, Level};

use super::redis::RedisLock;
use super::service::{ServerGroup, ServerKind, Service};
use super::switch::{Choice, PAGE, Switch, Takes, choices};
use super::{LockFacts, Occasion, redis};

/// The lock on a primary that Sentinel names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SentinelLock {
    /// What it does there: as the lock on one server.
    pub redis: RedisLock,
    /// How it finds the primary.
    pub finds: FindsPrimary,
    /// Whether it asks the server.
    pub verifies: VerifiesPrimary,
    /// For how many replicas it waits when it has taken the key. `None`: for none.
    pub wait: Option<WaitFor>,
}

/// How a client waits for replicas.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitFor {
    /// For how many.
    pub replicas: u16,
    /// For how long.
    pub timeout: Duration,
}

choices! {
    FindsPrimary at "finds": "When the client asks Sentinel who is the primary." {
        OnConnect = "on-connect", "When it connects, and so after its connection broke or a replica answered",
            "https://redis.io/docs/latest/develop/reference/sentinel-clients/, and redis-py's SentinelConnectionPool";
        Told = "told", "As `on-connect`, and it is told of every switch: it then leaves its connection",
            "https://github.com/redis/jedis/blob/master/src/main/java/redis/clients/jedis/JedisSentinelPool.java";
        Once = "once", "When it starts, and never again",
            "our own: an address that is resolved once, as from a configuration";
    }
}

choices! {
    VerifiesPrimary at "verifies": "Whether the client asks the server that Sentinel has named for its role." {
        ByRole = "by-role", "It does; one that is no primary is not used",
            "https://redis.io/docs/latest/develop/reference/sentinel-clients/, step 3";
        Unasked = "unasked", "It does not",
            "https://github.com/redis/jedis/blob/master/src/main/java/redis/clients/jedis/JedisSentinelPool.java";
    }
}

/// How the servers are set: a primary, replicas, and the Sentinels that watch them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SentinelServers {
    /// How many replicas the primary has.
    pub replicas: u16,
    /// How many Sentinels there are.
    pub sentinels: u16,
    /// How many Sentinels must find the primary down.
    pub quorum: u16,
    /// `down-after-milliseconds`
    pub down_after: Duration,
    /// `failover-timeout`
    pub failover_timeout: Duration,
    /// How long what the primary has for its replicas waits in its output buffer.
    pub lag: Span,
    /// `min-replicas-to-write`
    pub min_replicas: u16,
    /// `min-replicas-max-lag`
    pub max_lag: Duration,
}

impl Default for SentinelServers {
    fn default() -> Self {
        Self {
            replicas: 1,
            sentinels: 3,
            quorum: 2,
            down_after: Duration::from_secs(30),
            failover_timeout: Duration::from_secs(180),
            lag: Span::Fixed(Duration::ZERO),
            min_replicas: 0,
            max_lag: Duration::from_secs(10),
        }
    }
}

/// The settings, for sizes of groups.
const fn servers(service: &Service) -> Option<&SentinelServers> {
    match service {
        Service::Sentinel(servers) => Some(servers),
        Service::Redis(_) | Service::Etcd(_) | Service::ZooKeeper(_) | Service::Postgres(_) => None,
    }
}

const GROUPS: [ServerGroup; 3] = [
    ServerGroup { prefix: "redis", kind: ServerKind::Primary, size: |_| 1 },
    ServerGroup {
        prefix: "replica",
        kind: ServerKind::Replica,
        size: |service| servers(service).map_or(0, |servers| servers.replicas),
    },
    ServerGroup {
        prefix: "sentinel",
        kind: ServerKind::Sentinel,
        size: |service| servers(service).map_or(0, |servers| servers.sentinels),
    },
];

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "redis-sentinel",
    title: "the lock of `redis`, on a primary with replicas that Sentinel watches",
    groups: &GROUPS,
    points: redis::FACTS.points,
    operations: &[
        Operation("set"),
        Operation("renew"),
        Operation("release"),
        Operation("get"),
        Operation("incr"),
        Operation("watch"),
        Operation("multi"),
        Operation("exec"),
        Operation("where"),
        Operation("role"),
        Operation("wait"),
    ],
    pushes: &[],
    has_token: true,
    elects: false,
    switches: &SWITCHES,
    service_name: NAME,
    service: &SERVICE,
};

/// The name of its servers' settings.
pub(super) const NAME: &str = "redis-sentinel";

/// `wait.replicas` and `wait.timeout`.
const WAIT_SOURCE: &str = "https://github.com/redisson/redisson/wiki/2.-Configuration, checkLockSyncedSlaves";

const SWITCHES: [Switch; redis::SWITCHES.len() + 4] = {
    let mut all = [FindsPrimary::SWITCH; redis::SWITCHES.len() + 4];
    all[1] = VerifiesPrimary::SWITCH;
    all[2] = Switch {
        path: "wait.replicas",
        about: "How many replicas must have a key that was taken (`WAIT`); one that fewer have is given back.",
        takes: Takes::Number { least: 1, most: MOST, default: "none: it does not wait", source: WAIT_SOURCE },
    };
    all[3] = Switch {
        path: "wait.timeout",
        about: "How long the client has the primary wait for them.",
        takes: Takes::Duration { default: "1s", source: WAIT_SOURCE },
    };
    let mut i = 0;
    while i < redis::SWITCHES.len() {
        all[4 + i] = redis::SWITCHES[i];
        i += 1;
    }
    all
};

/// The most servers of one kind.
pub const MOST: u16 = 15;

/// Where the defaults of a Sentinel come from.
const CONF: &str = "https://github.com/redis/redis/blob/7.0.15/sentinel.conf";
/// Where those of a server come from.
const SERVER_CONF: &str = "https://github.com/redis/redis/blob/7.0.15/redis.conf";

const SERVICE: [Switch; 8] = [
    Switch {
        path: "replicas",
        about: "How many replicas the primary has.",
        takes: Takes::Number { least: 0, most: MOST, default: "1", source: PAGE },
    },
    Switch {
        path: "sentinels",
        about: "How many Sentinels watch them.",
        takes: Takes::Number {
            least: 1,
            most: MOST,
            default: "3",
            source: "https://redis.io/docs/latest/operate/oss_and_stack/management/sentinel/",
        },
    },
    Switch {
        path: "quorum",
        about: "How many Sentinels must find the primary down; a failover needs a majority of all as well.",
        takes: Takes::Number { least: 1, most: MOST, default: "2", source: CONF },
    },
    Switch {
        path: "down-after",
        about: "After how long a silence a Sentinel finds a server down.",
        takes: Takes::Duration { default: "30s", source: CONF },
    },
    Switch {
        path: "failover-timeout",
        about: "How long a step of a failover may take; twice that, until it is tried again.",
        takes: Takes::Duration { default: "180s", source: CONF },
    },
    Switch {
        path: "lag",
        about: "How long what is to be replicated waits in the primary's output buffer.",
        takes: Takes::Span { default: "0s", source: "our own: how far behind a replica is, its reader decides" },
    },
    Switch {
        path: "min-replicas-to-write",
        about: "With fewer good replicas the primary refuses to write.",
        takes: Takes::Number { least: 0, most: MOST, default: "0", source: SERVER_CONF },
    },
    Switch {
        path: "min-replicas-max-lag",
        about: "A replica is good if its last acknowledgement is no older, in whole seconds.",
        takes: Takes::Duration { default: "10s", source: SERVER_CONF },
    },
];

impl SentinelLock {
    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(&self) -> Vec<(Operation, Occasion)> {
        let mut sent = self.redis.operations();
        // Whatever it does, its connection may be gone, or no primary at its end.
        for occasion in [Occasion::Acquire, Occasion::Renew, Occasion::Release, Occasion::Reap] {
            sent.push((Operation("where"), occasion));
            if self.verifies == VerifiesPrimary::ByRole {
                sent.push((Operation("role"), occasion));
            }
        }
        if self.wait.is_some() {
            sent.push((Operation("wait"), Occasion::Acquire));
        }
        sent
    }
}

/// What it rests on: as the lock on one server, and on failovers that lose nothing.
pub(super) const fn needs(level: Level) -> &'static [Assumption] {
    use Assumption::{
        DelayedRestart, NoLossyFailover, NoStep, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens,
    };
    match level {
        Level::Conduct => &[],
        // The counter of tokens is lost with the grants.
        Level::Fence => &[NoLossyFailover],
        Level::Token => &[RateWithinDrift, NoStep, NoLossyFailover],
        Level::Grant | Level::Tenure => &[RateWithinDrift, NoStep, DelayedRestart, NoLossyFailover],
        Level::Belief => &[RateWithinDrift, NoStep, DelayedRestart, NoLossyFailover, PauseWithinValidity],
        Level::Effect => {
            &[RateWithinDrift, NoStep, DelayedRestart, NoLossyFailover, PauseWithinValidity, ResourceChecksTokens]
        }
        // A release that is lost leaves the lock to its lease.
        Level::Return => &[NoStep],
    }
}
