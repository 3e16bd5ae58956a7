//! What becomes of a grant that comes when nobody waits for it any more.

use std::rc::Rc;

use host::Part;
use spec::LockName;

use super::{SingleRedis, Way};
use crate::lock::LateGrant;
use crate::recipe::{Acquired, Lease, Recipe, Renewal};
use crate::redis::{RedisHost, Value};

impl<H: RedisHost, W: Way<H>> SingleRedis<H, W> {
    /// Asks in a task of the library's own, which lives on when the caller is interrupted.
    pub(super) async fn ask_in_background(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let caller = Rc::new(());
        let (waits, this, own_host) = (Rc::downgrade(&caller), self.clone(), host.clone());
        // Like the renewal, this is no business of the worker's thread.
        let asking = host.spawn(Part::RENEWAL, async move {
            let answer = this.ask(&own_host, lock).await;
            if waits.upgrade().is_none()
                && let Acquired::Granted(lease) = &answer
            {
                this.take_late_grant(&own_host, lock, lease).await;
            }
            answer
        });
        let answer = asking.await;
        drop(caller);
        answer
    }

    /// A grant has come, and nobody waits for it any more.
    async fn take_late_grant(&self, host: &H, lock: LockName, lease: &Lease<Value>) {
        match (self.0.switches.late_grant, self.0.switches.renew) {
            (LateGrant::GivenBack, _) => _ = self.release(host, lock, lease).await,
            (LateGrant::Kept, Some(renew)) => loop {
                host.sleep(renew.every).await;
                if !matches!(self.renew(host, lock, lease, None).await, Renewal::Extended { .. }) {
                    return;
                }
            },
            (LateGrant::Kept, None) | (LateGrant::Forgotten, _) => {}
        }
    }
}
