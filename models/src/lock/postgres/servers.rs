//! The settings of PostgreSQL servers.

use host::{Duration, KeepAlive, Span};

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

/// For what a commit waits: `synchronous_commit`, with `synchronous_standby_names` or without.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchronous {
    /// For the server's own disk.
    Local,
    /// For the standby's disk as well.
    Standby,
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

/// How long a client has a connection to the server for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolMode {
    /// For a transaction.
    Transaction,
    /// Until it leaves; then `DISCARD ALL` is run.
    Session,
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
