//! How somebody takes a lock away whose it is not: a janitor that tidies up, an operator.
//!
//! Source of the steps: sidekiq-unique-jobs, issue 580: a reaper lists the locks, looks for each whether its
//! job is among those that run, and deletes the others. That a job runs is a key of its own here, which the
//! worker keeps alive: `unless` names it.

use super::{SingleRedis, Way};
use crate::link::LinkError;
use crate::recipe::Reaped;
use crate::redis::{Command, Key, RedisHost, Reply, Script};
use crate::script::{Compare, Reaping};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Looks at the key, looks whether its owner is known to run, and deletes the key.
    pub(super) async fn take_away(&self, host: &H, key: Key, how: Reaping) -> Result<Reaped, LinkError> {
        let link = &self.0.link;
        let Reply::Bulk(seen) = link.call(host, Command::Get { key }).await? else { return Ok(Reaped::Left) };
        if let Some(sign) = how.unless
            && link.call(host, Command::Exists { key: sign }).await? != Reply::Int(0)
        {
            return Ok(Reaped::Left);
        }
        let delete = match how.compare {
            Compare::Name => Command::Del { key },
            Compare::Value => Script::CompareAndDelete { key, value: seen }.into(),
        };
        Ok(if link.call(host, delete).await? == Reply::Int(1) { Reaped::Deleted } else { Reaped::Left })
    }
}
