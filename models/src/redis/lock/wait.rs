//! How a client waits until replicas have its key.
//!
//! Source: Redisson since 3.23 (`RedissonBaseLock`, `checkLockSyncedSlaves`), and the documentation of `WAIT`, which says
//! what it is worth: an acknowledged write is in the memory of so many replicas, and one that has not got it may be
//! promoted all the same. What was taken and is not acknowledged is given back.

use super::{SingleRedis, Way};
use crate::lock::WaitFor;
use crate::redis::{Command, RedisHost, Reply};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Waits, on the connection on which the key was taken. Whether so many replicas have it.
    pub(super) async fn is_replicated(&self, host: &H, wait: WaitFor) -> bool {
        let timeout = i64::try_from(wait.timeout.as_millis()).unwrap_or(i64::MAX);
        let wait_for = Command::Wait { replicas: wait.replicas.into(), timeout };
        matches!(self.0.link.call(host, wait_for).await, Ok(Reply::Int(acked)) if acked >= wait.replicas.into())
    }
}
