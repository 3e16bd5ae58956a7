//! `Lock` and `Unlock` of v3lock: the server queues in the client's place.
//!
//! Source: `etcdserver/api/v3lock/lock.go` and `clientv3/concurrency/{key,mutex,session}.go` of etcd 3.4.23, and what such
//! a server answers.
//!
//! 1. Without a lease, one of 60 s is granted. Nobody keeps it alive but the client.
//! 2. A transaction puts the key `name/lease`, if it is not there, and asks who is first in the queue. Whoever
//!    is there already keeps its place.
//! 3. Who is not first looks for the one before it, and waits until that one's key is deleted; then again.
//! 4. When there is nobody before it, the lock is taken to be held. **Nobody looks whether its own key is there still**:
//!    one whose lease has ended meanwhile is told that it holds a lock, whose key does not exist. (etcd 3.5 looks, and so
//!    does one whose version is [`Fixed`](Version::Fixed).)
//!
//! A wait that fails gives the place up: the key is deleted. Left out: that the session may keep the lease alive once
//! before it lets go of it.

use host::Name;

use super::answer::{Body, Header, Reply, Response};
use super::api::{Compare, Delete, Op, Put, Range, Rpc, Txn};
use super::error::EtcdError;
use super::key::{Key, LeaseId, Revision};
use super::names;
use crate::lock::etcd::Version;

/// The seconds to live of a lease that the client did not bring.
const TTL: i64 = 60;

/// One who waits for a lock, as its server sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locking {
    /// The lock's name, with its slash.
    queue: Name,
    key: Option<Key>,
    stage: Stage,
    version: Version,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    Grants,
    Enters,
    /// Who was created at that revision or before comes first.
    Looks(Revision),
    Waits(Revision),
    Checks,
    GivesUp(EtcdError),
}

/// What the server does next for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Next {
    /// Serve this request, as if a client had sent it, and hand the answer [back](Locking::on_reply).
    Ask(Rpc),
    /// Wait for this key to be deleted at that revision or later, and say [so](Locking::on_deleted).
    Await(Key, Revision),
    /// Answer the client.
    Answer(Reply),
}

impl Locking {
    /// Somebody asks for a lock.
    #[must_use]
    pub fn begin(name: Name, lease: Option<LeaseId>, version: Version) -> (Self, Next) {
        let mut locking = Self { queue: names::queue(name), key: None, stage: Stage::Grants, version };
        let next = match lease {
            Some(lease) => locking.enter(lease),
            None => Next::Ask(Rpc::LeaseGrant { ttl: TTL, id: None }),
        };
        (locking, next)
    }

    /// What was asked for it is answered.
    pub fn on_reply(&mut self, reply: Reply) -> Next {
        let response = match reply {
            Reply::Done(response) => *response,
            Reply::Failed(error) => return self.fail(error),
        };
        match (self.stage, response.body) {
            (Stage::Grants, Body::LeaseGrant { id, .. }) => self.enter(id),
            (Stage::Enters, Body::Txn { succeeded, responses }) => {
                let mut found = responses.iter().map(|response| match &response.body {
                    Body::Range { kvs, .. } => kvs.first().map(|kv| kv.create_revision),
                    _ => None,
                });
                let own = found.next().flatten();
                let own = if succeeded { response.header.revision } else { own.unwrap_or_default() };
                match found.next().flatten() {
                    Some(first) if first != own => self.look(Revision(own.0 - 1)),
                    _ => self.hold(response.header),
                }
            }
            (Stage::Looks(before), Body::Range { kvs, .. }) => match kvs.first() {
                None if self.version == Version::Fixed => self.check(),
                None => self.hold(response.header),
                Some(kv) => {
                    self.stage = Stage::Waits(before);
                    Next::Await(kv.key, response.header.revision)
                }
            },
            (Stage::Checks, Body::Range { kvs, .. }) if kvs.is_empty() => {
                Next::Answer(Reply::Failed(EtcdError::SessionExpired))
            }
            (Stage::Checks, Body::Range { .. }) => self.hold(response.header),
            (Stage::GivesUp(error), _) => Next::Answer(Reply::Failed(error)),
            (stage, body) => unreachable!("{stage:?} is not answered by {body:?}"),
        }
    }

    /// The key that was waited for is deleted.
    pub fn on_deleted(&mut self) -> Next {
        let Stage::Waits(before) = self.stage else { unreachable!("it does not wait") };
        self.look(before)
    }

    fn enter(&mut self, lease: LeaseId) -> Next {
        let key = Key::under(self.queue, lease);
        (self.key, self.stage) = (Some(key), Stage::Enters);
        let first = || Op::Range(Range::first_created(self.queue));
        Next::Ask(
            Txn {
                compare: vec![Compare::created_at(key, Revision(0))],
                success: vec![Op::Put(Put::new(key, "".into(), Some(lease))), first()],
                failure: vec![Op::Range(Range::of(super::Keys::One(key))), first()],
                errand: None,
            }
            .into(),
        )
    }

    fn look(&mut self, before: Revision) -> Next {
        self.stage = Stage::Looks(before);
        Next::Ask(Range::last_created_by(self.queue, before).into())
    }

    /// Whether its own key is there still.
    fn check(&mut self) -> Next {
        self.stage = Stage::Checks;
        let key = self.key.expect("it is in the queue");
        Next::Ask(Range::of(super::Keys::One(key)).into())
    }

    /// Who asked is gone: it gives up, if it stands in the queue by now.
    pub fn on_cancel(&mut self) -> Option<Next> {
        let waits = matches!(self.stage, Stage::Looks(_) | Stage::Waits(_) | Stage::Checks);
        waits.then(|| self.fail(EtcdError::Timeout))
    }

    fn hold(&self, header: Header) -> Next {
        let key = self.key.expect("it is in the queue");
        Next::Answer(Reply::Done(Box::new(Response { header, body: Body::Lock { key } })))
    }

    /// Before it is in the queue that is all; after it, it leaves.
    fn fail(&mut self, error: EtcdError) -> Next {
        let error = if error == EtcdError::LeaseNotFound { EtcdError::LockLeaseNotFound } else { error };
        match (self.stage, self.key) {
            (Stage::Looks(_) | Stage::Waits(_) | Stage::Checks, Some(key)) => {
                self.stage = Stage::GivesUp(error);
                Next::Ask(Delete::one(key).into())
            }
            (Stage::GivesUp(first), _) => Next::Answer(Reply::Failed(first)),
            _ => Next::Answer(Reply::Failed(error)),
        }
    }
}

/// What `Unlock` answers, once the key is deleted, or was not there.
#[must_use]
pub fn unlocked(reply: Reply) -> Reply {
    match reply {
        Reply::Done(response) => Reply::Done(Box::new(Response { body: Body::Unlock, ..*response })),
        Reply::Failed(EtcdError::EmptyKey) => Reply::Failed(EtcdError::LockEmptyKey),
        failed @ Reply::Failed(_) => failed,
    }
}
