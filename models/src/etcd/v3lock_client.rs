//! A lock for which the server queues: a client of v3lock, with a session of its own.
//!
//! Source: `etcdserver/api/v3lock/v3lockpb/v3lock.proto` of etcd 3.4: `Lock` takes a name and the client's lease, and answers
//! the key that it owns; `Unlock` deletes that key.
//!
//! | what a client does | here |
//! |---|---|
//! | grants a lease and keeps it alive | [`session`](super::session) |
//! | `Lock`, on a stream of its own, for as long as it likes to wait | `acquire_by` |
//! | `Unlock` | `release` |
//!
//! Departures: the answer has no revision of the key; as a token there is that of its header, from when the server looked and
//! found nobody before it.

use std::fmt;
use std::rc::Rc;

use host::{Calls, Connection, Duration, MonoTime, Part, Server};
use spec::{Authorities, LockName};

use super::client::{Client, Way};
use super::session::{Session, Sessions};
use super::{Body, EtcdHost, Key, Reply, Response, Rpc};
use crate::lock::etcd::OnFailedUnlock;
use crate::recipe::{Acquired, Lease, Recipe, Release};

/// A client's locks, for which an etcd cluster queues.
pub struct EtcdV3Lock<H: EtcdHost>(Rc<Inner<H>>);

struct Inner<H: EtcdHost> {
    client: Client<H>,
    way: Way,
    sessions: Sessions,
    on_failed_unlock: OnFailedUnlock,
}

/// What the owner shows: the key that the server has named, on its session.
#[derive(Clone, Debug)]
pub struct Named {
    key: Key,
    session: Rc<Session>,
}

/// For as long as any run: who does not say how long it waits, waits.
const FOR_EVER: Duration = Duration::from_secs(1 << 32);

impl<H: EtcdHost> EtcdV3Lock<H> {
    /// Locks on that cluster.
    #[must_use]
    pub fn new(way: Way, on_failed_unlock: OnFailedUnlock) -> Self {
        let (client, sessions) = (Client::new(&way.members, way.timeout), Sessions::new(way.seconds()));
        Self(Rc::new(Inner { client, way, sessions, on_failed_unlock }))
    }

    /// Has the server queue. `None`: nobody knows what came of it.
    async fn lock(&self, host: &H, lock: LockName, session: &Session, until: Option<MonoTime>) -> Option<Reply> {
        let Inner { client, .. } = &*self.0;
        let member: Server<Rpc> = client.turn(host);
        let stream = <H as Calls<Rpc>>::connect(host, member, client.timeout()).await.ok()?;
        let patience = until.map_or(FOR_EVER, |until| until.left(host.monotonic()));
        stream.call(Rpc::Lock { name: lock, lease: Some(session.lease) }, patience).await.ok()
    }

    fn granted(&self, response: &Response, key: Key, session: Rc<Session>) -> Acquired<Named> {
        Acquired::Granted(Lease {
            proof: Named { key, session },
            token: Some(response.header.revision.as_token()),
            until: None,
            counted: Authorities::one(self.0.way.cluster),
        })
    }
}

impl<H: EtcdHost> Recipe<H> for EtcdV3Lock<H> {
    type Proof = Named;

    async fn connect(&self, host: &H) {
        // The library's own loop belongs to no attempt.
        let (inner, own_host) = (Rc::clone(&self.0), host.clone());
        drop(host.spawn(Part::RENEWAL, async move { inner.sessions.keep_alive(&own_host, &inner.client).await }));
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Named> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Named> {
        let Inner { client, sessions, .. } = &*self.0;
        let Ok(session) = sessions.current(host, client).await else { return Acquired::Failed };
        match self.lock(host, lock, &session, until).await {
            Some(Reply::Done(response)) => match response.body {
                Body::Lock { key } => self.granted(&response, key, session),
                _ => Acquired::Failed,
            },
            Some(Reply::Failed(error)) if !error.is_open() => Acquired::Denied,
            Some(Reply::Failed(_)) | None => Acquired::Failed,
        }
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Named>) -> bool {
        lease.proof.session.is_done()
    }

    async fn release(&self, host: &H, _: LockName, lease: &Lease<Named>) -> Release {
        match self.0.client.call(host, Rpc::Unlock { key: lease.proof.key }).await {
            Ok(_) => Release::Confirmed,
            Err(_) => {
                if self.0.on_failed_unlock == OnFailedUnlock::SessionLeft {
                    self.0.sessions.leave(&lease.proof.session);
                }
                Release::Refused
            }
        }
    }
}

impl<H: EtcdHost> Clone for EtcdV3Lock<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: EtcdHost> fmt::Debug for EtcdV3Lock<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdV3Lock").field("client", &self.0.client).finish_non_exhaustive()
    }
}
