//! The ways to extend the lease.

use super::{SingleRedis, Ttl, Way};
use crate::link::LinkError;
use crate::lock::{Extend, ZeroLength, points};
use crate::recipe::Renewal;
use crate::redis::{Command, Key, RedisHost, Reply, Script, Value};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Extends the lease, as the client's switch says.
    pub(super) async fn extend(&self, host: &H, key: Key, value: &Value, ttl: Ttl) -> Renewal {
        let (switches, px) = (&self.0.switches, ttl.px);
        if px == 0 && switches.zero == ZeroLength::Refused {
            return Renewal::Refused;
        }
        let asked_at = self.now(host);
        let own = value.clone();
        let reply = match switches.extend {
            Extend::Checked => self.0.link.call(host, Script::CompareAndPexpire { key, value: own, px }.into()).await,
            Extend::Unchecked => self.0.link.call(host, Command::pexpire(key, px)).await,
            Extend::CreateIfMissing => {
                self.0.link.call(host, Script::ExtendOrCreate { key, value: own, px }.into()).await
            }
            Extend::AddToRest => self.0.link.call(host, Script::ExtendByAdding { key, value: own, px }.into()).await,
            Extend::ReleaseThenTake => self.drop_and_take(host, key, own, px).await,
        };
        match reply {
            Ok(Reply::Int(0) | Reply::Nil) => Renewal::Refused,
            Ok(Reply::Int(length @ 1..)) if switches.extend == Extend::AddToRest => {
                Renewal::Extended { until: Ttl::of_px(length).deadline(asked_at) }
            }
            Ok(Reply::Int(1) | Reply::Ok) => Renewal::Extended { until: ttl.deadline(asked_at) },
            Ok(_) | Err(_) => Renewal::Failed,
        }
    }

    /// Gives the key back and takes it again. Between the two it is anybody's.
    async fn drop_and_take(&self, host: &H, key: Key, value: Value, px: i64) -> Result<Reply, LinkError> {
        if !self.give_back(host, key, &value).await? {
            return Ok(Reply::Nil);
        }
        host.point(points::DROPPED).await;
        self.0.link.call(host, Command::set_nx(key, value, Some(px))).await
    }
}
