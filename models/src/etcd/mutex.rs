//! `concurrency.Mutex`: a queue of keys under the lock's name, each on its owner's session; the oldest has the lock.
//!
//! Source: `clientv3/concurrency/mutex.go` and `key.go` of etcd 3.4, <https://github.com/etcd-io/etcd/blob/v3.4.23/clientv3/concurrency/mutex.go>.
//!
//! | the source's step | here |
//! |---|---|
//! | `Lock`: puts its key, unless it is there, and asks who is first, in one transaction | `queue_up` |
//! | whoever is first has it | `acquire_by` |
//! | `waitDeletes`: asks for the last of those before it, waits until that is deleted, and asks again | `wait_for_those_before` |
//! | `waitDelete`: a watch from the revision of the answer on | [`watch`](super::watch) |
//! | (3.5) and then asks whether its own key is there still | [`AfterWait`] |
//! | `Session.Done` | [`session`](super::session); [`Looks`] |
//! | `Unlock`: deletes its key, whether or not it is there | `release` |
//! | `IsOwner`: the condition `CreateRevision(key) = rev` for the program's own transactions | `guarded`; as a token, for others: `Lease::token` |
//!
//! Departures: a watch that breaks is made anew at the next member by the mutex itself, and by the library there.

use std::fmt;
use std::rc::Rc;

use host::{Either, MonoTime, Part, first};
use spec::{Authorities, LockName};

use super::answer::version_found;
use super::client::{Client, Failure, Way};
use super::session::{Session, Sessions};
use super::watch::until_deleted;
use super::{
    Body, Compare, Delete, Errand, EtcdHost, Key, KeyValue, Keys, Op, Operand, Put, Range, Relation, Response,
    Revision, Txn, Value, names,
};
use crate::guard::Guard;
use crate::lock::etcd::{AfterWait, Looks, MutexLock, OnFailedUnlock};
use crate::recipe::{Acquired, Lease, Recipe, Release};
use crate::resource::{Action, Op as GuardedOp, OpReply};

/// A client's locks on an etcd cluster, in one session after the other.
pub struct EtcdMutex<H: EtcdHost>(Rc<Inner<H>>);

struct Inner<H: EtcdHost> {
    client: Client<H>,
    way: Way,
    sessions: Sessions,
    switches: MutexLock,
}

/// What the owner shows: its key, which hangs on its session.
#[derive(Clone, Debug)]
pub struct Ticket {
    key: Key,
    session: Rc<Session>,
}

/// Where a client stands in the queue.
struct Place {
    key: Key,
    /// When its key was created.
    revision: Revision,
    is_first: bool,
}

impl<H: EtcdHost> EtcdMutex<H> {
    /// Locks on that cluster.
    #[must_use]
    pub fn new(way: Way, switches: &MutexLock) -> Self {
        let (client, sessions) = (Client::new(&way.members, way.timeout), Sessions::new(way.seconds()));
        Self(Rc::new(Inner { client, way, sessions, switches: *switches }))
    }

    /// Its key in the queue, put there unless it is there already; and whether it is the first.
    async fn queue_up(&self, host: &H, lock: LockName, session: &Session) -> Result<Place, Failure> {
        let stem = names::queue(lock);
        let key = Key::under(stem, session.lease);
        let first = Op::Range(Range::first_created(stem));
        let put = Op::Put(Put::new(key, Value::from(""), Some(session.lease)));
        let get = Op::Range(Range::of(Keys::One(key)));
        let txn = Txn {
            compare: vec![Compare::created_at(key, Revision(0))],
            success: vec![put, first.clone()],
            failure: vec![get, first],
            errand: None,
        };
        let response = self.0.client.call(host, txn.into()).await?;
        let Body::Txn { succeeded, responses } = response.body else { return Err(Failure::Unclear) };
        let found = |place: usize| match responses.get(place).map(|response| &response.body) {
            Some(Body::Range { kvs, .. }) => kvs.first(),
            _ => None,
        };
        let revision =
            if succeeded { response.header.revision } else { found(0).map_or(response.header.revision, created) };
        let is_first = found(1).is_none_or(|owner| owner.create_revision == revision);
        Ok(Place { key, revision, is_first })
    }

    /// Waits until every key before that revision is deleted.
    async fn wait_for_those_before(&self, host: &H, lock: LockName, revision: Revision) -> Result<(), Failure> {
        let before = Range::last_created_by(names::queue(lock), Revision(revision.0 - 1));
        loop {
            let response = self.0.client.call(host, before.clone().into()).await?;
            match only(&response) {
                None => return Ok(()),
                Some(last) => until_deleted(host, &self.0.client, last.key, response.header.revision).await,
            }
        }
    }

    /// Whether its key is there still, if it looks.
    async fn still_queues(&self, host: &H, key: Key) -> Result<bool, Failure> {
        match self.0.switches.after_wait {
            AfterWait::Unchecked => Ok(true),
            AfterWait::KeyChecked => {
                let response = self.0.client.call(host, Range::of(Keys::One(key)).into()).await?;
                Ok(only(&response).is_some())
            }
        }
    }

    async fn wait_in_queue(&self, host: &H, lock: LockName, place: &Place) -> Result<bool, Failure> {
        self.wait_for_those_before(host, lock, place.revision).await?;
        self.still_queues(host, place.key).await
    }

    async fn delete(&self, host: &H, key: Key) -> Result<Response, Failure> {
        self.0.client.call(host, Delete::one(key).into()).await
    }

    /// Nobody confirmed that its key in that session is deleted, or not there.
    fn is_not_confirmed(&self, session: &Rc<Session>) {
        if self.0.switches.on_failed_unlock == OnFailedUnlock::SessionLeft {
            self.0.sessions.leave(session);
        }
    }

    /// The operation as one transaction with what is compared: `Mutex.IsOwner`, or the object's version.
    fn guarded(&self, lease: &Lease<Ticket>, op: &GuardedOp) -> Option<Txn> {
        let object = names::object(op.object);
        let read = Op::Range(Range::of(Keys::One(object)));
        let (success, based_on) = match op.action {
            Action::Read => (vec![read], None),
            Action::Write { based_on } => (vec![Op::Put(Put::new(object, Value::from(""), None)), read], based_on),
            // The loader refuses what only a resource of its own can do.
            Action::Mark | Action::Ticket | Action::Effect { .. } => return None,
        };
        let compare = match (self.0.way.objects?, based_on) {
            (Guard::OwnerKey, _) => {
                Some(Compare::created_at(lease.proof.key, Revision(lease.token.map_or(0, |token| token.0))))
            }
            (Guard::Version, Some(version)) => {
                Some(Compare { key: object, relation: Relation::Equal, operand: Operand::Version(version.0) })
            }
            _ => None,
        };
        let errand = Some(Errand { op: op.id, object: op.object, based_on });
        Some(Txn { compare: compare.into_iter().collect(), success, failure: Vec::new(), errand })
    }

    fn granted(&self, place: &Place, session: Rc<Session>) -> Acquired<Ticket> {
        Acquired::Granted(Lease {
            proof: Ticket { key: place.key, session },
            token: Some(place.revision.as_token()),
            until: None,
            counted: Authorities::one(self.0.way.cluster),
        })
    }
}

impl<H: EtcdHost> Recipe<H> for EtcdMutex<H> {
    type Proof = Ticket;

    async fn connect(&self, host: &H) {
        // The library's own loop belongs to no attempt.
        let (inner, own_host) = (Rc::clone(&self.0), host.clone());
        drop(host.spawn(Part::RENEWAL, async move { inner.sessions.keep_alive(&own_host, &inner.client).await }));
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Ticket> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Ticket> {
        let Inner { client, sessions, .. } = &*self.0;
        let Ok(session) = sessions.current(host, client).await else { return Acquired::Failed };
        let Ok(place) = self.queue_up(host, lock, &session).await else {
            // What an answer would have told is lost with it: the key may stand in the queue until the session ends.
            self.is_not_confirmed(&session);
            return Acquired::Failed;
        };
        if place.is_first {
            return self.granted(&place, session);
        }
        let waiting = self.wait_in_queue(host, lock, &place);
        let waited = match until {
            None => Some(waiting.await),
            Some(until) => match first(waiting, host.sleep(until.left(host.monotonic()))).await {
                Either::Left(waited) => Some(waited),
                Either::Right(()) => None,
            },
        };
        match waited {
            Some(Ok(true)) => self.granted(&place, session),
            Some(Ok(false)) => Acquired::Denied,
            Some(Err(_)) | None => match self.delete(host, place.key).await {
                Ok(_) => Acquired::Denied,
                Err(_) => {
                    self.is_not_confirmed(&session);
                    Acquired::Failed
                }
            },
        }
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Ticket>) -> bool {
        lease.proof.session.is_done()
    }

    async fn is_still_held(&self, host: &H, _: LockName, lease: &Lease<Ticket>) -> bool {
        let key = Range::of(Keys::One(lease.proof.key));
        let look = match self.0.switches.looks {
            Looks::Library => return true,
            Looks::Cluster => key,
            Looks::Member => Range { serializable: true, ..key },
        };
        // Who gets no answer does not know.
        let response = self.0.client.call(host, look.into()).await;
        response.is_ok_and(|response| only(&response).is_some())
    }

    fn keeps_objects(&self) -> bool {
        self.0.way.objects.is_some()
    }

    async fn operate(&self, host: &H, lease: &Lease<Ticket>, op: &GuardedOp) -> Option<OpReply> {
        let txn = self.guarded(lease, op)?;
        let response = self.0.client.call(host, txn.into()).await.ok()?;
        match response.body {
            Body::Txn { succeeded: true, responses } => Some(OpReply::Version(version_found(&responses))),
            Body::Txn { succeeded: false, .. } => Some(OpReply::Refused),
            _ => None,
        }
    }

    async fn release(&self, host: &H, _: LockName, lease: &Lease<Ticket>) -> Release {
        match self.delete(host, lease.proof.key).await {
            Ok(_) => Release::Confirmed,
            Err(_) => {
                self.is_not_confirmed(&lease.proof.session);
                Release::Refused
            }
        }
    }
}

const fn created(kv: &KeyValue) -> Revision {
    kv.create_revision
}

/// The one key that a range found.
fn only(response: &Response) -> Option<&KeyValue> {
    match &response.body {
        Body::Range { kvs, .. } => kvs.first(),
        _ => None,
    }
}

impl<H: EtcdHost> Clone for EtcdMutex<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: EtcdHost> fmt::Debug for EtcdMutex<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdMutex").field("client", &self.0.client).finish_non_exhaustive()
    }
}
