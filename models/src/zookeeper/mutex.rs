//! The lock of ZooKeeper's documentation: a queue of sequential, ephemeral nodes, of which each watches the one before it.
//!
//! Source: <https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks>.
//!
//! | the source's step | here |
//! |---|---|
//! | 1: creates `guid-lock-`, sequential and ephemeral | `Queue::enter` |
//! | note: who has not heard of it looks for its guid when it is connected again | [`Adopts`](crate::lock::zookeeper::Adopts) |
//! | 2: `getChildren`, without a watch | `Queue::turn` |
//! | 3: whoever has the lowest number has the lock | `Queue::turn` |
//! | 4: `exists`, with a watch on the next lower number | `Queue::wait_behind` |
//! | 5: not there: again from 2; else waits until it is told, and then again from 2 | `Queue::wait` |
//! | unlock: deletes its node | `release` |
//! | shared locks: `read-` waits for the next lower `write-` alone (here it is `lock-` still), that for all | `Queue::turn` |
//!
//! Departures: whoever watches goes on as well when it is told of its session, be that over or not. The recipe says nothing of
//! a limit to the wait, nor of what its holder does when it is told that the connection is lost:
//! [`Stops`](crate::lock::zookeeper::Stops).

use std::fmt;
use std::rc::Rc;

use host::{MonoTime, Purpose};
use spec::{LockName, Mode};

use super::client::{Failure, Way};
use super::objects;
use super::path::Guid;
use super::queue::{Queue, Ticket, by};
use super::{ZkError, ZkHost};
use crate::lock::zookeeper::QueueLock;
use crate::recipe::{Acquired, Lease, Recipe, Release};
use crate::resource::{Op, OpReply};

/// A client's locks on a ZooKeeper ensemble.
pub struct ZkMutex<H: ZkHost>(Rc<Queue<H>>);

impl<H: ZkHost> ZkMutex<H> {
    /// Locks on that ensemble.
    #[must_use]
    pub fn new(way: Way, switches: &QueueLock) -> Self {
        Self(Rc::new(Queue::new(way, switches)))
    }

    async fn acquire_so(&self, host: &H, lock: LockName, mode: Mode, until: Option<MonoTime>) -> Acquired<Ticket> {
        let guid = Guid(host.random(Purpose::Recipe));
        let Some(Ok(place)) = by(host, until, self.0.enter(host, (lock, mode), guid)).await else {
            return Acquired::Failed;
        };
        match by(host, until, self.0.wait(host, lock, &place)).await {
            Some(Ok(cversion)) => self.0.granted(place, cversion),
            // Its node is gone: its session was over.
            Some(Err(Failure::Refused(ZkError::NoNode))) => Acquired::Denied,
            Some(Err(_)) | None if self.0.delete(host, place.ticket.path).await => Acquired::Denied,
            Some(Err(_)) | None => Acquired::Failed,
        }
    }
}

impl<H: ZkHost> Recipe<H> for ZkMutex<H> {
    type Proof = Ticket;

    async fn connect(&self, host: &H) {
        self.0.client.start(host);
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Ticket> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Ticket> {
        self.acquire_so(host, lock, Mode::Exclusive, until).await
    }

    async fn acquire_shared(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Ticket> {
        self.acquire_so(host, lock, Mode::Shared, until).await
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

impl<H: ZkHost> Clone for ZkMutex<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: ZkHost> fmt::Debug for ZkMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZkMutex").field("client", &self.0.client).finish_non_exhaustive()
    }
}
