//! What an etcd server answers, and what it pushes to who watches.
//!
//! Source: `rpc.proto`, `kv.proto` and `v3lock.proto` of etcd 3.4.23.

use std::fmt;
use std::rc::Rc;

use host::{NodeId, digest_enum, digest_struct};
use spec::Version;

use super::Value;
use super::error::EtcdError;
use super::key::{Key, LeaseId, Revision, WatchId};

/// The answer to a call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// It was served.
    Done(Box<Response>),
    /// It was not; of some errors nobody knows whether it will be.
    Failed(EtcdError),
}

/// What was done, and who says so.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Response {
    /// Who says so, and when.
    pub header: Header,
    /// What was done.
    pub body: Body,
}

/// `ResponseHeader`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// Who answers.
    pub member: NodeId,
    /// The cluster's revision, as the one who answers has it.
    pub revision: Revision,
    /// The term of the log, as the one who answers has it.
    pub term: u64,
}

/// What was done, by the call that asked for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Body {
    /// `RangeResponse`
    Range {
        /// The keys, in the order asked for, up to the limit.
        kvs: Vec<KeyValue>,
        /// Whether there are more than the limit.
        more: bool,
        /// How many there are, whatever the limit.
        count: u64,
    },
    /// `PutResponse`
    Put {
        /// What was there, if that was asked.
        prev_kv: Option<Box<KeyValue>>,
    },
    /// `DeleteRangeResponse`
    Delete {
        /// How many keys were deleted.
        deleted: u64,
        /// What was there, if that was asked.
        prev_kvs: Vec<KeyValue>,
    },
    /// `TxnResponse`
    Txn {
        /// Whether all that was compared held.
        succeeded: bool,
        /// What each operation of that branch says.
        responses: Vec<OpResponse>,
    },
    /// `LeaseGrantResponse`
    LeaseGrant {
        /// The lease's number.
        id: LeaseId,
        /// Its seconds to live.
        ttl: i64,
    },
    /// `LeaseRevokeResponse`
    LeaseRevoke,
    /// `LeaseKeepAliveResponse`
    LeaseKeepAlive {
        /// Which lease.
        id: LeaseId,
        /// Its seconds to live from now on. 0: it is no more.
        ttl: i64,
    },
    /// `LeaseTimeToLiveResponse`
    LeaseTimeToLive {
        /// Which lease.
        id: LeaseId,
        /// How many seconds are left, rounded down. -1: it is no more.
        ttl: i64,
        /// How many it was granted. 0: it is no more.
        granted: i64,
        /// The keys that hang on it, if that was asked.
        keys: Vec<Key>,
    },
    /// `WatchResponse`, created
    WatchCreated {
        /// Its number on this connection.
        id: WatchId,
    },
    /// `WatchResponse`, canceled
    WatchCanceled {
        /// Its number on this connection.
        id: WatchId,
    },
    /// `LockResponse`
    Lock {
        /// The key that is held.
        key: Key,
    },
    /// `UnlockResponse`
    Unlock,
}

/// `ResponseOp`: what one operation of a transaction says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpResponse {
    /// The revision in its header.
    pub revision: Revision,
    /// What was done.
    pub body: Body,
}

/// The version of the one object that a transaction has found: how often it was put. 0: it is not there.
#[must_use]
pub fn version_found(responses: &[OpResponse]) -> Version {
    let found = responses.iter().find_map(|response| match &response.body {
        Body::Range { kvs, .. } => kvs.first().map(|kv| kv.version),
        _ => None,
    });
    Version(found.unwrap_or(0))
}

/// `KeyValue`: a key as it is, or was.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyValue {
    /// Its name.
    pub key: Key,
    /// When it was created.
    pub create_revision: Revision,
    /// When it was put last.
    pub mod_revision: Revision,
    /// How often it was put since it was created.
    pub version: u64,
    /// Its value.
    pub value: Value,
    /// The lease it hangs on.
    pub lease: Option<LeaseId>,
}

/// `WatchResponse`: what is pushed to who watches.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Push {
    /// Who says so, and when.
    pub header: Header,
    /// To which watch of the connection.
    pub watch: WatchId,
    /// What has happened, in the order of revisions. Those of one revision come together.
    pub events: Rc<[Event]>,
}

/// `Event`: a change to a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Event {
    /// What was done to it.
    pub kind: EventKind,
    /// What was there before, if that was asked.
    pub prev_kv: Option<KeyValue>,
}

/// What was done to a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum EventKind {
    /// It was put, and is so now.
    Put(KeyValue),
    /// It was deleted.
    Delete {
        /// Which.
        key: Key,
        /// When.
        mod_revision: Revision,
    },
}

impl Reply {
    /// As a result.
    ///
    /// # Errors
    /// What the server said.
    pub fn into_result(self) -> Result<Response, EtcdError> {
        match self {
            Self::Done(response) => Ok(*response),
            Self::Failed(error) => Err(error),
        }
    }
}

impl Event {
    /// The key that was changed.
    #[must_use]
    pub const fn key(&self) -> Key {
        self.kind.key()
    }

    /// When.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.kind.revision()
    }
}

impl EventKind {
    /// The key that was changed.
    #[must_use]
    pub const fn key(&self) -> Key {
        match self {
            Self::Put(kv) => kv.key,
            Self::Delete { key, .. } => *key,
        }
    }

    /// When.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        match self {
            Self::Put(kv) => kv.mod_revision,
            Self::Delete { mod_revision, .. } => *mod_revision,
        }
    }
}

digest_enum!(Reply { 1 => Done(response), 2 => Failed(error) });
digest_struct!(Response { header, body });
digest_struct!(Header { member, revision, term });
digest_enum!(Body {
    1 => Range { kvs, more, count },
    2 => Put { prev_kv },
    3 => Delete { deleted, prev_kvs },
    4 => Txn { succeeded, responses },
    5 => LeaseGrant { id, ttl },
    6 => LeaseRevoke,
    7 => LeaseKeepAlive { id, ttl },
    8 => LeaseTimeToLive { id, ttl, granted, keys },
    9 => WatchCreated { id },
    10 => WatchCanceled { id },
    11 => Lock { key },
    12 => Unlock,
});
digest_struct!(OpResponse { revision, body });
digest_struct!(KeyValue { key, create_revision, mod_revision, version, value, lease });
digest_struct!(Push { header, watch, events });
digest_struct!(Event { kind, prev_kv });
digest_enum!(EventKind { 1 => Put(kv), 2 => Delete { key, mod_revision } });

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Done(response) => write!(f, "{} at revision {}", response.body, response.header.revision),
            Self::Failed(error) => write!(f, "error: {error}"),
        }
    }
}

impl fmt::Display for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range { kvs, count, .. } => {
                write!(f, "{count} keys")?;
                list(f, kvs)
            }
            Self::Put { .. } => f.write_str("put"),
            Self::Delete { deleted, .. } => write!(f, "{deleted} deleted"),
            Self::Txn { succeeded, responses } => {
                f.write_str(if *succeeded { "succeeded" } else { "not succeeded" })?;
                list(f, responses)
            }
            Self::LeaseGrant { id, ttl } => write!(f, "{id:?} granted for {ttl} s"),
            Self::LeaseRevoke => f.write_str("revoked"),
            Self::LeaseKeepAlive { id, ttl: 0 } => write!(f, "{id:?} is no more"),
            Self::LeaseKeepAlive { id, ttl } => write!(f, "{id:?} lives {ttl} s from now"),
            Self::LeaseTimeToLive { id, ttl: -1, .. } => write!(f, "{id:?} is no more"),
            Self::LeaseTimeToLive { id, ttl, .. } => write!(f, "{id:?} has {ttl} s left"),
            Self::WatchCreated { id } => write!(f, "watch {} created", id.0),
            Self::WatchCanceled { id } => write!(f, "watch {} canceled", id.0),
            Self::Lock { key } => write!(f, "{key} is held"),
            Self::Unlock => f.write_str("unlocked"),
        }
    }
}

fn list<T: fmt::Display>(f: &mut fmt::Formatter<'_>, items: &[T]) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(i, item)| write!(f, "{}{item}", if i == 0 { ": " } else { ", " }))
}

impl fmt::Display for OpResponse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.body.fmt(f)
    }
}

impl fmt::Display for KeyValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} (created {}", self.key, self.value, self.create_revision)?;
        if self.mod_revision != self.create_revision {
            write!(f, ", put {}", self.mod_revision)?;
        }
        f.write_str(")")
    }
}

impl fmt::Display for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "watch {}", self.watch.0)?;
        list(f, &self.events)
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            EventKind::Put(kv) => write!(f, "put {kv}"),
            EventKind::Delete { key, mod_revision } => write!(f, "{key} deleted at {mod_revision}"),
        }
    }
}
