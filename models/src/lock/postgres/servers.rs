//! The settings of PostgreSQL servers.

use host::{Duration, KeepAlive, Span};

use super::super::service::{ServerGroup, ServerKind, Service};
use super::super::switch::{Choice, Switch, Takes, choices};

/// How a server, its standby and a pooler before it are set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PgServers {
    /// How many standbys the primary has: none or one.
    pub standbys: u16,
    /// For what a commit waits, beside its own disk.
    pub synchronous: Synchronous,
    /// How long what the primary has for its standby waits before it is sent.
    pub lag: Span,
    /// `tcp_keepalives_idle`, `tcp_keepalives_interval`, `tcp_keepalives_count`
    pub keepalive: KeepAlive,
    /// What a session has for its own timeouts, unless it sets them.
    pub timeouts: PgTimeouts,
    /// The pooler before the primary, if there is one: then clients know only that.
    pub pooler: Option<Pooler>,
}

choices! {
    Synchronous at "synchronous": "For what a commit waits: `synchronous_commit`, with `synchronous_standby_names` or without." {
        Local = "local", "For the server's own disk", WAL;
        Standby = "standby", "For the standby's disk as well", WAL;
    }
}

/// Timeouts of a session. Zero: none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PgTimeouts {
    /// `deadlock_timeout`
    pub deadlock: Duration,
    /// `lock_timeout`
    pub lock: Duration,
    /// `statement_timeout`
    pub statement: Duration,
    /// `idle_session_timeout`
    pub idle_session: Duration,
    /// `idle_in_transaction_session_timeout`
    pub idle_in_transaction: Duration,
    /// `client_connection_check_interval`
    pub connection_check: Duration,
}

/// `pgbouncer`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pooler {
    /// `pool_mode`
    pub mode: PoolMode,
    /// `default_pool_size`
    pub size: u16,
    /// `server_lifetime`: an idle connection to the server that is older is closed.
    pub server_lifetime: Duration,
}

choices! {
    PoolMode at "pooler.mode": "For how long a client of the pooler has a connection to the server for itself: `pool_mode`." {
        Transaction = "transaction", "For a transaction", "https://www.pgbouncer.org/features.html, SQL feature map for pooling modes";
        Session = "session", "Until it leaves; then `DISCARD ALL` is run (`server_reset_query`)", POOLER;
    }
}

impl Default for PgServers {
    fn default() -> Self {
        Self {
            standbys: 0,
            synchronous: Synchronous::Local,
            lag: Span::Fixed(Duration::ZERO),
            keepalive: KeepAlive::LINUX,
            timeouts: PgTimeouts::default(),
            pooler: None,
        }
    }
}

impl Default for PgTimeouts {
    fn default() -> Self {
        let off = Duration::ZERO;
        Self {
            deadlock: Duration::from_secs(1),
            lock: off,
            statement: off,
            idle_session: off,
            idle_in_transaction: off,
            connection_check: off,
        }
    }
}

impl Default for Pooler {
    fn default() -> Self {
        Self { mode: PoolMode::Transaction, size: 20, server_lifetime: Duration::from_secs(3_600) }
    }
}

/// The servers, in groups: a pooler stands before the primary.
const fn servers(service: &Service) -> Option<&PgServers> {
    match service {
        Service::Postgres(servers) => Some(servers),
        Service::Redis(_) | Service::Sentinel(_) | Service::Etcd(_) | Service::ZooKeeper(_) => None,
    }
}

/// Its servers.
pub(super) const GROUPS: [ServerGroup; 3] = [
    ServerGroup { prefix: "pg", kind: ServerKind::Postgres, size: |service| u16::from(servers(service).is_some()) },
    ServerGroup {
        prefix: "standby",
        kind: ServerKind::PgStandby,
        size: |service| servers(service).map_or(0, |servers| servers.standbys),
    },
    ServerGroup {
        prefix: "pgbouncer",
        kind: ServerKind::PgBouncer,
        size: |service| servers(service).map_or(0, |servers| u16::from(servers.pooler.is_some())),
    },
];

/// The name of its servers' settings.
pub(in crate::lock) const NAME: &str = "postgres";

/// The most connections of a pooler to its server.
pub const MOST_POOLED: u16 = 100;

const WAL: &str = "https://www.postgresql.org/docs/15/runtime-config-wal.html#GUC-SYNCHRONOUS-COMMIT";
const TCP: &str =
    "https://www.postgresql.org/docs/15/runtime-config-connection.html#RUNTIME-CONFIG-TCP-SETTINGS; man 7 tcp";
const STATEMENTS: &str =
    "https://www.postgresql.org/docs/15/runtime-config-client.html#RUNTIME-CONFIG-CLIENT-STATEMENT";
const POOLER: &str = "https://www.pgbouncer.org/config.html";

/// A setting that is a span of time.
const fn duration(path: &'static str, about: &'static str, default: &'static str, source: &'static str) -> Switch {
    Switch { path, about, takes: Takes::Duration { default, source } }
}

/// What can be set about them.
pub(super) const SERVICE: [Switch; 16] = [
    Switch {
        path: "standbys",
        about: "How many standbys the primary has, in hot standby.",
        takes: Takes::Number {
            least: 0,
            most: 1,
            default: "0",
            source: "https://www.postgresql.org/docs/15/warm-standby.html#STREAMING-REPLICATION",
        },
    },
    Synchronous::SWITCH,
    Switch {
        path: "lag",
        about: "How long what the primary has for its standby waits before it is sent.",
        takes: Takes::Span { default: "0s", source: "our own: how far behind a standby is, its reader decides" },
    },
    duration(
        "keepalive.idle",
        "After how long a silence the server asks whether a client's machine is there: `tcp_keepalives_idle`.",
        "7200s",
        TCP,
    ),
    duration(
        "keepalive.interval",
        "How long it waits for the answer before it asks again: `tcp_keepalives_interval`.",
        "75s",
        TCP,
    ),
    Switch {
        path: "keepalive.count",
        about: "After how many questions without an answer the session is over: `tcp_keepalives_count`.",
        takes: Takes::Number { least: 1, most: MOST_PROBES, default: "9", source: TCP },
    },
    duration(
        "keepalive.user-timeout",
        "For how long something that was sent, or asked, may be in vain: `tcp_user_timeout`. Then the session is over, however \
         many questions are left. Zero: as long as TCP has it.",
        "0s",
        TCP,
    ),
    duration(
        "deadlock-timeout",
        "How long a statement has waited for a lock when the server looks for a circle: `deadlock_timeout`.",
        "1s",
        "https://www.postgresql.org/docs/15/runtime-config-locks.html#GUC-DEADLOCK-TIMEOUT",
    ),
    duration(
        "lock-timeout",
        "How long a statement waits for a lock: `lock_timeout`. Zero: as long as it takes.",
        "0s",
        STATEMENTS,
    ),
    duration(
        "statement-timeout",
        "How long a statement takes: `statement_timeout`. Zero: as long as it takes.",
        "0s",
        STATEMENTS,
    ),
    duration(
        "idle-session-timeout",
        "How long a session asks nothing: `idle_session_timeout`. Zero: as long as it likes.",
        "0s",
        STATEMENTS,
    ),
    duration(
        "idle-in-transaction-timeout",
        "The same of a session in a transaction: `idle_in_transaction_session_timeout`.",
        "0s",
        STATEMENTS,
    ),
    duration(
        "connection-check",
        "How often the server looks, while a statement runs, whether its client is there: `client_connection_check_interval`. Zero: never.",
        "0s",
        "https://www.postgresql.org/docs/15/runtime-config-connection.html#GUC-CLIENT-CONNECTION-CHECK-INTERVAL",
    ),
    PoolMode::SWITCH,
    Switch {
        path: "pooler.size",
        about: "How many connections the pooler has to the server: `default_pool_size`.",
        takes: Takes::Number { least: 1, most: MOST_POOLED, default: "20", source: POOLER },
    },
    duration(
        "pooler.server-lifetime",
        "How old an idle connection to the server may become: `server_lifetime`.",
        "3600s",
        POOLER,
    ),
];

/// The most questions of `tcp_keepalives_count`: what Linux takes.
pub const MOST_PROBES: u16 = 127;
