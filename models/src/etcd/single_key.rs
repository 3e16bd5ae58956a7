//! A lock that is one key: whoever puts it while it is not there has it, for as long as the lease lives on which it hangs.
//!
//! Sources: python-etcd3, `etcd3/locks.py`, <https://github.com/kragniz/python-etcd3/blob/master/etcd3/locks.py>; Patroni,
//! `patroni/dcs/etcd3.py`, <https://github.com/patroni/patroni/blob/master/patroni/dcs/etcd3.py>.
//!
//! | python-etcd3 | Patroni | here |
//! |---|---|---|
//! | `_try_acquire`: a lease for each try, those of tries that were denied are left to end | `_do_refresh_lease`: one lease, kept alive before each try | `lease_for_a_try` |
//! | puts the key if it was never created | `attempt_to_acquire_leader` | `try_to_take` |
//! | `_wait_delete_event`, then tries again | the leader's loop comes round | `acquire_by`, or the client's own retry |
//! | `refresh` | `update_leader`, for `retry_timeout` if nobody answers | `renew` |
//! | `release`: deletes the key if its value is one's own | `delete_leader` | `release` |
//! | `__enter__` calls `acquire`, and does not look at what it says | | [`Expires`] |
//!
//! Departures: neither tells the program until when it may act; here it counts the lease from before it was asked for.
//! python-etcd3 counts how long it waits on the wall clock, here it is the monotonic one. Patroni puts its own name, and knows the key by
//! its revision when it deletes it; here it is a value of its own, as python-etcd3 has it.

use std::cell::{Cell, OnceCell};
use std::fmt;
use std::rc::Rc;

use host::{Duration, Either, MonoTime, Purpose, first};
use spec::{Authorities, LockName};

use super::client::{Client, Failure, Way};
use super::watch::until_deleted;
use super::{
    Body, Compare, Delete, EtcdError, EtcdHost, Key, Keys, LeaseId, Op, Operand, Put, Range, Relation, Response,
    Revision, Rpc, Txn, Value, names,
};
use crate::lock::Renew;
use crate::lock::etcd::{Expires, KeyLibrary, KeyLock, Waits};
use crate::recipe::{Acquired, Lease, Recipe, Release, Renewal};

/// A client's locks on an etcd cluster, each one key.
pub struct EtcdKey<H: EtcdHost>(Rc<Inner<H>>);

struct Inner<H: EtcdHost> {
    client: Client<H>,
    way: Way,
    switches: KeyLock,
    /// What this client puts.
    value: OnceCell<Value>,
    /// The lease of its former tries.
    lease: Cell<Option<LeaseId>>,
}

/// What the owner shows, beside its value. `None`: it has nothing, and goes on all the same.
pub(super) type Hanging = Option<LeaseId>;

/// How a try ended.
enum Tried {
    Taken(Lease<Hanging>),
    /// Another has it, as it is since that revision.
    Busy(Revision),
}

impl<H: EtcdHost> EtcdKey<H> {
    /// Locks on that cluster.
    #[must_use]
    pub fn new(way: Way, switches: &KeyLock) -> Self {
        let client = Client::new(&way.members, way.timeout);
        Self(Rc::new(Inner { client, way, switches: *switches, value: OnceCell::new(), lease: Cell::new(None) }))
    }

    fn key(&self, lock: LockName) -> Key {
        names::only_key(self.0.switches.library, lock)
    }

    fn value(&self, host: &H) -> Value {
        let fresh = || Value::from(format!("{:016x}", host.random(Purpose::Recipe)).as_str());
        self.0.value.get_or_init(fresh).clone()
    }

    /// A lease that has its whole length.
    async fn lease_for_a_try(&self, host: &H) -> Result<LeaseId, Failure> {
        let Inner { client, way, switches, lease, .. } = &*self.0;
        if switches.library == KeyLibrary::Patroni
            && let Some(former) = lease.get()
            && self.keep_alive(host, former).await?
        {
            return Ok(former);
        }
        let granted = client.call(host, Rpc::LeaseGrant { ttl: way.seconds(), id: None }).await?;
        let Body::LeaseGrant { id, .. } = granted.body else { return Err(Failure::Unclear) };
        lease.set(Some(id));
        Ok(id)
    }

    /// Whether it lives, and now for its whole length again.
    async fn keep_alive(&self, host: &H, id: LeaseId) -> Result<bool, Failure> {
        let answer = self.0.client.call(host, Rpc::LeaseKeepAlive { id }).await?;
        Ok(matches!(answer.body, Body::LeaseKeepAlive { ttl: 1.., .. }))
    }

    /// Puts the key, unless it is there.
    async fn try_to_take(&self, host: &H, lock: LockName) -> Result<Tried, Failure> {
        let asked = host.monotonic();
        let lease = self.lease_for_a_try(host).await?;
        let key = self.key(lock);
        let txn = Txn {
            compare: vec![Compare::created_at(key, Revision(0))],
            success: vec![Op::Put(Put::new(key, self.value(host), Some(lease)))],
            failure: vec![Op::Range(Range::of(Keys::One(key)))],
            errand: None,
        };
        let response = self.0.client.call(host, txn.into()).await?;
        if is_done(&response) {
            return Ok(Tried::Taken(Lease {
                proof: Some(lease),
                token: Some(response.header.revision.as_token()),
                until: Some(asked + self.0.way.ttl),
                counted: Authorities::one(self.0.way.cluster),
            }));
        }
        Ok(Tried::Busy(since(&response).unwrap_or(response.header.revision)))
    }

    /// Tries, and again whenever the key is gone.
    async fn take(&self, host: &H, lock: LockName) -> Result<Option<Lease<Hanging>>, Failure> {
        loop {
            match self.try_to_take(host, lock).await? {
                Tried::Taken(lease) => return Ok(Some(lease)),
                Tried::Busy(since) => match self.0.switches.waits {
                    Waits::Polling => return Ok(None),
                    Waits::Watching => until_deleted(host, &self.0.client, self.key(lock), since.next()).await,
                },
            }
        }
    }
}

impl<H: EtcdHost> Recipe<H> for EtcdKey<H> {
    type Proof = Hanging;

    fn renewing(&self, _: LockName) -> Option<Renew> {
        self.0.switches.renew
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Hanging> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Hanging> {
        let taken = match until {
            None => self.take(host, lock).await,
            Some(until) => match first(self.take(host, lock), host.sleep(until.left(host.monotonic()))).await {
                Either::Left(taken) => taken,
                Either::Right(()) => Ok(None),
            },
        };
        match (taken, self.0.switches.expires) {
            (Ok(Some(lease)), _) => Acquired::Granted(lease),
            (Ok(None), Expires::GivesUp) => Acquired::Denied,
            (Ok(None), Expires::GoesOn) => Acquired::Granted(Lease::until_released(None)),
            (Err(Failure::Refused(EtcdError::LeaseNotFound)), _) => Acquired::Denied,
            (Err(_), _) => Acquired::Failed,
        }
    }

    async fn renew(&self, host: &H, _: LockName, lease: &Lease<Hanging>, _: Option<Duration>) -> Renewal {
        let Some(id) = lease.proof else { return Renewal::Refused };
        let end = host.monotonic() + self.0.switches.retry_timeout;
        let mut pause = SHORTEST;
        loop {
            let asked = host.monotonic();
            match self.keep_alive(host, id).await {
                Ok(true) => return Renewal::Extended { until: asked + self.0.way.ttl },
                Ok(false) => return Renewal::Refused,
                Err(_) if host.monotonic() + pause >= end => return Renewal::Failed,
                Err(_) => host.sleep(pause).await,
            }
            pause = (pause * 2).min(LONGEST);
        }
    }

    async fn release(&self, host: &H, lock: LockName, _: &Lease<Hanging>) -> Release {
        let key = self.key(lock);
        let own = Compare { key, relation: Relation::Equal, operand: Operand::Value(self.value(host)) };
        let txn = Txn { compare: vec![own], success: vec![Op::Delete(Delete::one(key))], ..Txn::default() };
        match self.0.client.call(host, txn.into()).await {
            Ok(response) if is_done(&response) => Release::Confirmed,
            Ok(_) | Err(_) => Release::Refused,
        }
    }
}

/// How long Patroni waits before it tries again, first and later (`patroni/utils.py`, `Retry`).
const SHORTEST: Duration = Duration::from_millis(100);
const LONGEST: Duration = Duration::from_secs(1);

/// Whether what a transaction compared held.
pub(super) const fn is_done(response: &Response) -> bool {
    matches!(response.body, Body::Txn { succeeded: true, .. })
}

/// Since when the key that was found is as it is.
fn since(response: &Response) -> Option<Revision> {
    let Body::Txn { responses, .. } = &response.body else { return None };
    match &responses.first()?.body {
        Body::Range { kvs, .. } => Some(kvs.first()?.mod_revision),
        _ => None,
    }
}

impl<H: EtcdHost> Clone for EtcdKey<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: EtcdHost> fmt::Debug for EtcdKey<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdKey").field("client", &self.0.client).finish_non_exhaustive()
    }
}
