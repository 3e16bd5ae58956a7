//! A lock that is one node: whoever creates it has it, and all that could not watch it and try again at once.
//!
//! Source: what <https://zookeeper.apache.org/doc/r3.8.0/recipes.html#sc_recipes_Locks> warns of ("herd effect"), and its
//! note on recoverable errors.
//!
//! | step | here |
//! |---|---|
//! | creates the node, ephemeral | `take` |
//! | who has not heard of it looks whose it is | `take` |
//! | it is there: watches it, waits until it is told, and tries again | `wait_and_take` |
//! | unlock: deletes it | `release` |
//!
//! Departures: none.

use std::fmt;
use std::rc::Rc;

use host::MonoTime;
use spec::{Authorities, LockName};

use super::client::{Client, Failure, Way};
use super::queue::{Ticket, by, make_nodes};
use super::{Body, Delete, Mode, Stat, Value, ZkError, ZkHost, ZkRequest, names};
use crate::lock::zookeeper::{HerdLock, Stops};
use crate::recipe::{Acquired, Lease, Recipe, Release};

/// A client's locks on a ZooKeeper ensemble, each one node.
pub struct ZkHerd<H: ZkHost>(Rc<Inner<H>>);

struct Inner<H: ZkHost> {
    client: Client<H>,
    way: Way,
    switches: HerdLock,
}

impl<H: ZkHost> ZkHerd<H> {
    /// Locks on that ensemble.
    #[must_use]
    pub fn new(way: Way, switches: &HerdLock) -> Self {
        Self(Rc::new(Inner { client: Client::new(&way.servers, way.timeout), way, switches: *switches }))
    }

    /// Tries to create the node. `None`: another has.
    async fn take(&self, host: &H, lock: LockName) -> Result<Option<Lease<Ticket>>, Failure> {
        let client = &self.0.client;
        let path = names::only(lock);
        let mut is_unsure = false;
        loop {
            let session = client.session();
            let create = ZkRequest::create(path, Value::from(""), Mode::Ephemeral);
            match client.call(host, create).await {
                Ok(Body::Created { stat, .. }) => return Ok(Some(self.lease(Ticket::new(path, session), &stat))),
                Err(Failure::Refused(ZkError::NoNode)) => {
                    let parents = [names::LOCKS.as_str().into(), names::lock(lock).as_str().into()];
                    make_nodes(host, client, parents, Mode::Persistent).await?;
                }
                Err(Failure::Refused(ZkError::NodeExists)) if is_unsure => {
                    let found = client.call(host, ZkRequest::Exists { path, watch: false }).await;
                    let own = |stat: &&Stat| stat.owner.is_some() && stat.owner == session.id();
                    match &found {
                        Ok(body) => {
                            return Ok(body
                                .stat()
                                .filter(own)
                                .map(|stat| self.lease(Ticket::new(path, session), stat)));
                        }
                        Err(Failure::ConnectionLoss | Failure::Refused(ZkError::NoNode)) => {}
                        Err(failure) => return Err(*failure),
                    }
                }
                Err(Failure::Refused(ZkError::NodeExists)) => return Ok(None),
                Err(Failure::ConnectionLoss) => is_unsure = true,
                Err(failure) => return Err(failure),
                Ok(_) => return Err(Failure::ConnectionLoss),
            }
        }
    }

    /// Tries, and again whenever it is told of the node.
    async fn wait_and_take(&self, host: &H, lock: LockName) -> Result<Lease<Ticket>, Failure> {
        let client = &self.0.client;
        loop {
            if let Some(lease) = self.take(host, lock).await? {
                return Ok(lease);
            }
            match client.exists(host, names::only(lock)).await {
                Ok((Some(_), watch)) => {
                    client.told(&watch).await;
                    client.forget(&watch);
                }
                Ok((None, watch)) => client.forget(&watch),
                Err(Failure::ConnectionLoss) => {}
                Err(failure) => return Err(failure),
            }
        }
    }

    fn lease(&self, proof: Ticket, stat: &Stat) -> Lease<Ticket> {
        let token = Some(stat.czxid.as_token());
        Lease { proof, token, until: None, counted: Authorities::one(self.0.way.ensemble) }
    }
}

impl<H: ZkHost> Recipe<H> for ZkHerd<H> {
    type Proof = Ticket;

    async fn connect(&self, host: &H) {
        self.0.client.start(host);
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Ticket> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Ticket> {
        match by(host, until, self.wait_and_take(host, lock)).await {
            Some(Ok(lease)) => Acquired::Granted(lease),
            // A try that is under way may yet create the node.
            Some(Err(_)) | None => Acquired::Failed,
        }
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Ticket>) -> bool {
        lease.proof.is_void(self.0.switches.stops)
    }

    async fn release(&self, host: &H, _: LockName, lease: &Lease<Ticket>) -> Release {
        let path = lease.proof.path;
        // The node of another has the same path. But what is asked in a session that is over nobody does.
        if lease.proof.is_void(Stops::Lost) {
            return Release::Refused;
        }
        match self.0.client.call(host, ZkRequest::Delete(Delete { path, version: None })).await {
            Ok(_) | Err(Failure::Refused(_)) => Release::Confirmed,
            Err(_) => Release::Refused,
        }
    }
}

impl<H: ZkHost> Clone for ZkHerd<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: ZkHost> fmt::Debug for ZkHerd<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ZkHerd").field("client", &self.0.client).finish_non_exhaustive()
    }
}
