//! The ways to give the key back.

use super::{SingleRedis, Way};
use crate::link::LinkError;
use crate::lock::{ReleaseBy, points};
use crate::redis::{Command, Key, RedisHost, Reply, Script, Value};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Gives the key back. Whether the server said that it did.
    pub(super) async fn give_back(&self, host: &H, key: Key, value: &Value) -> Result<bool, LinkError> {
        let deleted = match self.0.switches.release {
            ReleaseBy::Checked => {
                self.0.link.call(host, Script::CompareAndDelete { key, value: value.clone() }.into()).await?
            }
            ReleaseBy::Unchecked => self.0.link.call(host, Command::Del { key }).await?,
            ReleaseBy::CheckThenDelete => {
                if !self.reads_own(host, key, value).await? {
                    return Ok(false);
                }
                self.0.link.call(host, Command::Del { key }).await?
            }
            ReleaseBy::Transaction => return self.delete_watched(host, key, value).await,
        };
        Ok(deleted == Reply::Int(1))
    }

    /// Whether the key holds the client's value: held it, by the time the answer is there.
    pub(super) async fn reads_own(&self, host: &H, key: Key, value: &Value) -> Result<bool, LinkError> {
        let is_own = self.0.link.call(host, Command::Get { key }).await? == Reply::Bulk(value.clone());
        if is_own {
            host.point(points::READ).await;
        }
        Ok(is_own)
    }

    /// As between the reading and the deleting the key must not change.
    async fn delete_watched(&self, host: &H, key: Key, value: &Value) -> Result<bool, LinkError> {
        let link = &self.0.link;
        link.call(host, Command::Watch { key }).await?;
        if !self.reads_own(host, key, value).await? {
            link.call(host, Command::Unwatch).await?;
            return Ok(false);
        }
        link.call(host, Command::Multi).await?;
        link.call(host, Command::Del { key }).await?;
        Ok(link.call(host, Command::Exec).await? == Reply::Array(vec![Reply::Int(1)]))
    }
}
