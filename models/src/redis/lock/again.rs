//! The ways to enter a lock again that is held.

use super::{SingleRedis, Way};
use crate::link::LinkError;
use crate::lock;
use crate::recipe::Again;
use crate::redis::{Command, Key, Lives, RedisHost, Reply, Script, Value};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Enters again, as the client's switch says.
    pub(super) async fn enter(&self, host: &H, key: Key, value: &Value) -> Again {
        let asked_at = self.now(host);
        let entered = match self.0.switches.again {
            lock::Again::Separate => return Again::NotReentrant,
            lock::Again::CountedInProcess => return Again::Entered { until: None },
            lock::Again::OneScript => self.extend_own(host, key, value.clone()).await,
            lock::Again::ReadThenSet => self.read_then_set(host, key, value).await,
        };
        match entered {
            Ok(true) => Again::Entered { until: self.0.ttl.map(|ttl| ttl.deadline(asked_at)) },
            Ok(false) => Again::Denied,
            Err(_) => Again::Failed,
        }
    }

    async fn extend_own(&self, host: &H, key: Key, value: Value) -> Result<bool, LinkError> {
        // What does not expire is the client's until it releases.
        let Some(ttl) = self.0.ttl else { return Ok(true) };
        let reply = self.0.link.call(host, Script::CompareAndPexpire { key, value, px: ttl.px }.into()).await?;
        Ok(reply == Reply::Int(1))
    }

    /// Whatever has happened to the key since it was read, it is overwritten.
    async fn read_then_set(&self, host: &H, key: Key, value: &Value) -> Result<bool, LinkError> {
        if !self.reads_own(host, key, value).await? {
            return Ok(false);
        }
        let lives = Lives::px(self.0.ttl.map(|ttl| ttl.px));
        let set = Command::Set { key, value: value.clone(), only: None, get: false, lives };
        Ok(self.0.link.call(host, set).await? == Reply::Ok)
    }
}
