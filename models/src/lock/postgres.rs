//! Locks on PostgreSQL: how its servers are set.

mod servers;

pub use servers::{PgServers, PgTimeouts, PoolMode, Pooler, Synchronous};
