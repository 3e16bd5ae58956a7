//! How a Redis server can be set: `service.redis` of a scenario.

use host::Clock;

use super::service::{ServerGroup, ServerKind};
use super::switch::{Choice, PAGE, Switch, Takes, choices};

/// The settings of every Redis server of a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RedisServer {
    /// How many there are, for a lock on several.
    pub nodes: u16,
    /// On which clock it counts the lives of its keys.
    pub ttl_clock: TtlClock,
    /// What survives it.
    pub persistence: Persistence,
}

choices! {
    TtlClock at "ttl-clock": "On which clock the server counts the lives of its keys." {
        Wall = "wall", "The wall clock, which may be set",
            "https://github.com/redis/redis/blob/7.0.15/src/db.c, keyIsExpired";
        Monotonic = "monotonic", "The monotonic clock, which no Redis reads for this",
            "https://github.com/valkey-io/valkey/issues/2651, which asks for it";
    }
}

impl TtlClock {
    /// The machine's clock.
    #[must_use]
    pub const fn clock(self) -> Clock {
        match self {
            Self::Wall => Clock::Wall,
            Self::Monotonic => Clock::Monotonic,
        }
    }
}

choices! {
    Persistence at "persistence": "What survives the server's process." {
        None = "none", "Nothing: a restarted server is empty",
            "https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/";
        Save = "save", "A snapshot of all keys, taken when the process is asked to end",
            "https://github.com/redis/redis/blob/7.0.15/src/server.c, prepareForShutdown; save 3600 1 300 100 60 10000";
        AofEverysec = "aof-everysec", "A log of all changes, written before the reply and synced each second",
            "https://github.com/redis/redis/blob/7.0.15/src/aof.c, flushAppendOnlyFile";
        AofAlways = "aof-always", "A log of all changes, synced before the reply",
            "https://github.com/redis/redis/blob/7.0.15/src/aof.c, flushAppendOnlyFile";
    }
}

impl Default for RedisServer {
    fn default() -> Self {
        Self { nodes: 5, ttl_clock: TtlClock::default(), persistence: Persistence::default() }
    }
}

/// One server, for the locks that need no more.
pub(super) const ONE: [ServerGroup; 1] = [ServerGroup { prefix: "redis", kind: ServerKind::Redis, size: |_| 1 }];

/// The name of its settings.
pub(super) const NAME: &str = "redis";

/// Its switches, in the order of `show lock`.
pub(super) const SWITCHES: [Switch; 2] = [TtlClock::SWITCH, Persistence::SWITCH];

/// The same for a lock on several servers.
pub(super) const SWITCHES_OF_SEVERAL: [Switch; 3] = [NODES, TtlClock::SWITCH, Persistence::SWITCH];

/// The most servers of a lock on several.
pub const MOST_NODES: u16 = 9;

const NODES: Switch = Switch {
    path: "nodes",
    about: "How many servers there are.",
    takes: Takes::Number { least: 1, most: MOST_NODES, default: "5", source: PAGE },
};
