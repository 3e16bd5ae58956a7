//! Curator's `InterProcessMutex`: the queue of the documentation with a retry policy, protected nodes, and states of its own.
//!
//! Source: `LockInternals.java`, `StandardLockInternalsDriver.java`, `CreateBuilderImpl.java`, `ProtectedMode.java`,
//! `FailedDeleteManager.java` and `ConnectionStateManager.java` of Curator 5.2,
//! <https://github.com/apache/curator/tree/apache-curator-5.2.0>.
//!
//! | the source's step | here |
//! |---|---|
//! | `attemptLock`: creates a protected node, parents as containers | `Queue::enter` |
//! | `findProtectedNodeInForeground`, `validateFoundNode`: who has not heard of it looks for it, in the same session | [`Adopts`](crate::lock::zookeeper::Adopts) |
//! | `RetryLoop`, `ExponentialBackoffRetry` | `Queue::before_again` |
//! | `internalLockLoop`: reads the children; the first has the lock | `Queue::turn` |
//! | `validateOurIndex`: its own is not among them: all again, as the policy says | `acquire_by` |
//! | `getData` with a watch on the one before it, then waits | `Queue::wait_behind` |
//! | `deleteOurPath`: `guaranteed` | [`Deletes`](crate::lock::zookeeper::Deletes) |
//! | nothing is looked at again once it is first | `acquire_by` |
//! | `setToSuspended`, `checkSessionExpiration` | `give_sessions_up` |
//! | `ConnectionStateErrorPolicy`: at what its user stops | [`Stops`](crate::lock::zookeeper::Stops) |
//! | `release`: deletes its node, and forgets the lock, deleted or not | `release` |
//!
//! Departures: the limit to the wait is on the monotonic clock. Entries are not counted (they are each thread's). A node of
//! which nobody has heard, and nobody asks any more, is looked for and deleted in the background by Curator, and stays here.

use std::fmt;
use std::rc::Rc;

use host::{Duration, MonoTime, Part, Purpose, first};
use spec::{LockName, Mode};

use super::client::{Failure, Session, Way};
use super::objects;
use super::path::Guid;
use super::queue::{Queue, Ticket, by};
use super::{ZkError, ZkHost};
use crate::lock::zookeeper::{LostAfter, QueueLock};
use crate::recipe::{Acquired, Lease, Recipe, Release};
use crate::resource::{Op, OpReply};

/// A client's locks on a ZooKeeper ensemble, through Curator.
pub struct CuratorMutex<H: ZkHost>(Rc<Queue<H>>);

impl<H: ZkHost> CuratorMutex<H> {
    /// Locks on that ensemble.
    #[must_use]
    pub fn new(way: Way, switches: &QueueLock) -> Self {
        Self(Rc::new(Queue::new(way, switches)))
    }
}

/// Takes sessions to be over whose connection was lost for so long, by the wall clock.
async fn give_sessions_up<H: ZkHost>(host: &H, queue: &Queue<H>) {
    loop {
        let (client, changed) = (&queue.client, queue.client.changed());
        let session = client.session();
        let Some(left) = until_given_up(&session, queue).filter(|_| !session.is_expired()).map(|end| end(host)) else {
            changed.await;
            continue;
        };
        if left.is_zero() {
            client.inject_expiration();
        } else {
            let _ = first(changed, host.sleep(left)).await;
        }
    }
}

/// How long the session has left, if its connection is lost.
fn until_given_up<'a, H: ZkHost>(session: &Session, queue: &Queue<H>) -> Option<impl Fn(&H) -> Duration + use<'a, H>> {
    let whole = session.timeout().unwrap_or(queue.way.timeout);
    let most = match queue.switches.lost_after {
        LostAfter::Whole => whole,
        LostAfter::Third => whole * 33 / 100,
        LostAfter::Never => return None,
    };
    let end = session.suspended()? + most;
    Some(move |host: &H| {
        let left = end.as_nanos().saturating_sub(host.wall().as_nanos());
        Duration::from_nanos(u64::try_from(left).unwrap_or(0))
    })
}

impl<H: ZkHost> Recipe<H> for CuratorMutex<H> {
    type Proof = Ticket;

    async fn connect(&self, host: &H) {
        self.0.client.start(host);
        let (queue, own_host) = (Rc::clone(&self.0), host.clone());
        drop(host.spawn(Part::RENEWAL, async move { give_sessions_up(&own_host, &queue).await }));
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Ticket> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Ticket> {
        let mut retries = 0;
        loop {
            let guid = Guid(host.random(Purpose::Recipe));
            let Some(Ok(place)) = by(host, until, self.0.enter(host, (lock, Mode::Exclusive), guid)).await else {
                return Acquired::Failed;
            };
            let waited = by(host, until, self.0.wait(host, lock, &place)).await;
            if let Some(Ok(cversion)) = waited {
                return self.0.granted(place, cversion);
            }
            let is_deleted = self.0.delete(host, place.ticket.path).await;
            let is_missing = matches!(waited, Some(Err(Failure::Refused(ZkError::NoNode))));
            if !is_missing || !self.0.tries_again(host, retries).await {
                return if is_deleted { Acquired::Denied } else { Acquired::Failed };
            }
            retries += 1;
        }
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Ticket>) -> bool {
        lease.proof.is_void(self.0.switches.stops)
    }

    async fn is_still_held(&self, host: &H, _: LockName, lease: &Lease<Ticket>) -> bool {
        self.0.is_still_held(host, &lease.proof).await
    }

    fn keeps_objects(&self) -> bool {
        self.0.way.objects.is_some()
    }

    async fn operate(&self, host: &H, lease: &Lease<Ticket>, op: &Op) -> Option<OpReply> {
        objects::operate(host, &self.0.client, self.0.way.objects?, lease.proof.path, op).await
    }

    async fn release(&self, host: &H, _: LockName, lease: &Lease<Ticket>) -> Release {
        self.0.release(host, &lease.proof).await
    }
}

impl<H: ZkHost> Clone for CuratorMutex<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: ZkHost> fmt::Debug for CuratorMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CuratorMutex").field("client", &self.0.client).finish_non_exhaustive()
    }
}
