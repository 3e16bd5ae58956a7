//! What a client asks of an etcd server: the calls of its gRPC services KV, Lease, Watch and Lock, as far as locks use
//! them.
//!
//! Source: `rpc.proto` and `v3lock.proto` of etcd 3.4.23.
//!
//! Left out: transactions within transactions, compares of ranges, `ignore_value` and `ignore_lease`, `keys_only`, the
//! other bounds of revisions in a range, ranges without an end, compaction, progress notices and fragments of watches,
//! the list of leases, authentication, and what is asked of a cluster's members.

use std::fmt;

use host::{Operation, Request, digest_enum, digest_struct};
use spec::{ObjectName, OpId, Version};

use super::key::{Key, Keys, LeaseId, Revision, WatchId};
use super::{Push, Reply, Value};

/// A call to an etcd server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Rpc {
    /// `KV.Range`
    Range(Box<Range>),
    /// `KV.Put`
    Put(Box<Put>),
    /// `KV.DeleteRange`
    Delete(Box<Delete>),
    /// `KV.Txn`
    Txn(Box<Txn>),
    /// `Lease.LeaseGrant`
    LeaseGrant {
        /// Seconds to live. Too few are raised to the least.
        ttl: i64,
        /// Its number. `None`: the server chooses one.
        id: Option<LeaseId>,
    },
    /// `Lease.LeaseRevoke`
    LeaseRevoke {
        /// Which lease.
        id: LeaseId,
    },
    /// `Lease.LeaseKeepAlive`
    LeaseKeepAlive {
        /// Which lease.
        id: LeaseId,
    },
    /// `Lease.LeaseTimeToLive`
    LeaseTimeToLive {
        /// Which lease.
        id: LeaseId,
        /// Whether the answer names its keys.
        keys: bool,
    },
    /// `Watch.Watch`, to create one. Its events are pushed on the connection.
    Watch(Box<Watch>),
    /// `Watch.Watch`, to cancel one of the same connection.
    WatchCancel {
        /// Which watch.
        id: WatchId,
    },
    /// `Lock.Lock` of v3lock: the server queues for the client, and answers once it owns the lock.
    Lock {
        /// The lock's name: the keys are below it, behind a slash.
        name: host::Name,
        /// The lease that owns it. `None`: the server grants one of 60 s.
        lease: Option<LeaseId>,
    },
    /// `Lock.Unlock` of v3lock: deletes the key.
    Unlock {
        /// The key that `Lock` has answered.
        key: Key,
    },
}

/// `RangeRequest`: reads keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Range {
    /// Which.
    pub keys: Keys,
    /// At most so many. `None`: all.
    pub limit: Option<u64>,
    /// As they were at that revision. `None`: as they are.
    pub revision: Option<Revision>,
    /// In which order. `None`: as the keys sort.
    pub sort: Option<(SortBy, Order)>,
    /// Only what was created at that revision or before (`max_create_revision`).
    pub created_by: Option<Revision>,
    /// Answered by the server that was asked from what it has, be that old.
    pub serializable: bool,
    /// Only how many there are.
    pub count_only: bool,
}

/// By what a range is sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SortBy {
    /// The key.
    Key,
    /// How often it was put since it was created.
    Version,
    /// When it was created.
    Create,
    /// When it was put last.
    Mod,
    /// The value.
    Value,
}

/// Which way a range is sorted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// The least first.
    Ascending,
    /// The greatest first.
    Descending,
}

/// `PutRequest`: sets a key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Put {
    /// Which.
    pub key: Key,
    /// Its new value.
    pub value: Value,
    /// The lease it hangs on from now on. `None`: on none, whatever it hung on.
    pub lease: Option<LeaseId>,
    /// Whether to answer what was there.
    pub prev_kv: bool,
}

/// `DeleteRangeRequest`: deletes keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Delete {
    /// Which.
    pub keys: Keys,
    /// Whether to answer what was there.
    pub prev_kv: bool,
}

/// `TxnRequest`: if all of this holds do that, else the other; nobody sees a part of it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Txn {
    /// What is to hold.
    pub compare: Vec<Compare>,
    /// What is done if all of it does.
    pub success: Vec<Op>,
    /// What is done else.
    pub failure: Vec<Op>,
    /// For the history: which operation on an object it is, if it is one. No server reads it, and it is not on the wire.
    pub errand: Option<Errand>,
}

/// An operation on an object that is in the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Errand {
    /// Which of its attempt's.
    pub op: OpId,
    /// On which object.
    pub object: ObjectName,
    /// The version that the client had read.
    pub based_on: Option<Version>,
}

/// One operation of a transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Op {
    /// Reads.
    Range(Range),
    /// Sets.
    Put(Put),
    /// Deletes.
    Delete(Delete),
}

/// One condition of a transaction: the key's own number stands left of the relation, the operand right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Compare {
    /// Of which key.
    pub key: Key,
    /// How the two have to be to each other.
    pub relation: Relation,
    /// What of it, and compared with what.
    pub operand: Operand,
}

/// How two things are to each other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Relation {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `>`
    Greater,
    /// `<`
    Less,
}

/// What of a key is compared, and with what. A key that is not there has 0 for every number, and no value: comparing
/// that fails.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Operand {
    /// When it was created.
    Create(Revision),
    /// When it was put last.
    Mod(Revision),
    /// How often it was put since it was created.
    Version(u64),
    /// Its value.
    Value(Value),
    /// The lease it hangs on.
    Lease(Option<LeaseId>),
}

/// `WatchCreateRequest`: tell me of changes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watch {
    /// To which keys.
    pub keys: Keys,
    /// From that revision on, be it past. `None`: from now on.
    pub from: Option<Revision>,
    /// Not of puts (filter `NOPUT`).
    pub no_put: bool,
    /// Not of deletions (filter `NODELETE`).
    pub no_delete: bool,
    /// Whether to say what was there before.
    pub prev_kv: bool,
}

impl Request for Rpc {
    type Reply = Reply;
    type Push = Push;
}

impl Rpc {
    /// The name by which faults know it.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Range(_) => "get",
            Self::Put(_) => "put",
            Self::Delete(_) => "delete",
            Self::Txn(_) => "txn",
            Self::LeaseGrant { .. } => "lease-grant",
            Self::LeaseRevoke { .. } => "lease-revoke",
            Self::LeaseKeepAlive { .. } => "keep-alive",
            Self::LeaseTimeToLive { .. } => "time-to-live",
            Self::Watch(_) => "watch",
            Self::WatchCancel { .. } => "watch-cancel",
            Self::Lock { .. } => "lock",
            Self::Unlock { .. } => "unlock",
        })
    }
}

impl Range {
    /// Reads these keys, as they are, linearizably.
    #[must_use]
    pub const fn of(keys: Keys) -> Self {
        Self { keys, limit: None, revision: None, sort: None, created_by: None, serializable: false, count_only: false }
    }

    /// Of the keys that begin so, the one created first (`WithFirstCreate`).
    #[must_use]
    pub const fn first_created(prefix: host::Name) -> Self {
        Self { limit: Some(1), sort: Some((SortBy::Create, Order::Ascending)), ..Self::of(Keys::Under(prefix)) }
    }

    /// Of the keys that begin so and were created by then, the one created last (`WithLastCreate`, `WithMaxCreateRev`).
    #[must_use]
    pub const fn last_created_by(prefix: host::Name, revision: Revision) -> Self {
        Self {
            limit: Some(1),
            sort: Some((SortBy::Create, Order::Descending)),
            created_by: Some(revision),
            ..Self::of(Keys::Under(prefix))
        }
    }
}

impl Put {
    /// Sets a key that hangs on a lease, or on none.
    #[must_use]
    pub const fn new(key: Key, value: Value, lease: Option<LeaseId>) -> Self {
        Self { key, value, lease, prev_kv: false }
    }
}

impl Delete {
    /// Deletes one key.
    #[must_use]
    pub const fn one(key: Key) -> Self {
        Self { keys: Keys::One(key), prev_kv: false }
    }
}

impl Watch {
    /// Tells of every change to these keys.
    #[must_use]
    pub const fn of(keys: Keys, from: Option<Revision>) -> Self {
        Self { keys, from, no_put: false, no_delete: false, prev_kv: false }
    }
}

impl Compare {
    /// `CreateRevision(key) = revision`: 0 if the key is not there.
    #[must_use]
    pub const fn created_at(key: Key, revision: Revision) -> Self {
        Self { key, relation: Relation::Equal, operand: Operand::Create(revision) }
    }
}

/// Packs each request into its call or operation.
macro_rules! packed {
    ($($variant:ident),*) => { $(
        impl From<$variant> for Rpc {
            fn from(request: $variant) -> Self {
                Self::$variant(Box::new(request))
            }
        }
    )* };
}
packed!(Range, Put, Delete, Txn, Watch);

digest_enum!(Rpc {
    1 => Range(range),
    2 => Put(put),
    3 => Delete(delete),
    4 => Txn(txn),
    5 => LeaseGrant { ttl, id },
    6 => LeaseRevoke { id },
    7 => LeaseKeepAlive { id },
    8 => LeaseTimeToLive { id, keys },
    9 => Watch(watch),
    10 => WatchCancel { id },
    11 => Lock { name, lease },
    12 => Unlock { key },
});
digest_enum!(Op { 1 => Range(range), 2 => Put(put), 3 => Delete(delete) });
digest_enum!(SortBy { 1 => Key, 2 => Version, 3 => Create, 4 => Mod, 5 => Value });
digest_enum!(Order { 1 => Ascending, 2 => Descending });
digest_enum!(Relation { 1 => Equal, 2 => NotEqual, 3 => Greater, 4 => Less });
digest_enum!(Operand { 1 => Create(revision), 2 => Mod(revision), 3 => Version(times), 4 => Value(value), 5 => Lease(id) });
digest_struct!(Range { keys, limit, revision, sort, created_by, serializable, count_only });
digest_struct!(Put { key, value, lease, prev_kv });
digest_struct!(Delete { keys, prev_kv });
digest_struct!(Txn { compare, success, failure, errand });
digest_struct!(Errand { op, object, based_on });
digest_struct!(Compare { key, relation, operand });
digest_struct!(Watch { keys, from, no_put, no_delete, prev_kv });

impl fmt::Display for Rpc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Put(put) => put.fmt(f),
            Self::Delete(delete) => delete.fmt(f),
            Self::Txn(txn) => txn.fmt(f),
            Self::LeaseGrant { ttl, id } => write!(f, "grant {ttl} s{}", As(" as lease ", *id)),
            Self::LeaseRevoke { id } => write!(f, "revoke {id:?}"),
            Self::LeaseKeepAlive { id } => write!(f, "keep {id:?} alive"),
            Self::LeaseTimeToLive { id, .. } => write!(f, "time to live of {id:?}"),
            Self::Watch(watch) => watch.fmt(f),
            Self::WatchCancel { id } => write!(f, "cancel watch {}", id.0),
            Self::Lock { name, lease } => write!(f, "lock {name}{}", As(" for lease ", *lease)),
            Self::Unlock { key } => write!(f, "unlock {key}"),
        }
    }
}

/// Words before a value, if there is one.
struct As<T>(&'static str, Option<T>);

impl<T: fmt::Display> fmt::Display for As<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.1.as_ref().map_or(Ok(()), |value| write!(f, "{}{value}", self.0))
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "get {}{}{}", self.keys, As(" at ", self.revision), As(" created by ", self.created_by))?;
        if let Some((by, order)) = self.sort {
            let (by, order) = (format!("{by:?}").to_lowercase(), format!("{order:?}").to_lowercase());
            write!(f, " by {by} {order}")?;
        }
        let (local, count) =
            (if self.serializable { " serializable" } else { "" }, if self.count_only { " count" } else { "" });
        write!(f, "{}{local}{count}", As(" limit ", self.limit))
    }
}

impl fmt::Display for Put {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "put {} {}{}", self.key, self.value, As(" on lease ", self.lease))
    }
}

impl fmt::Display for Delete {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "delete {}", self.keys)
    }
}

impl fmt::Display for Txn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "if {} then {} else {}", List(&self.compare), List(&self.success), List(&self.failure))
    }
}

struct List<'a, T>(&'a [T]);

impl<T: fmt::Display> fmt::Display for List<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, item) in self.0.iter().enumerate() {
            write!(f, "{}{item}", if i == 0 { "" } else { ", " })?;
        }
        f.write_str("]")
    }
}

impl fmt::Display for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range(range) => range.fmt(f),
            Self::Put(put) => put.fmt(f),
            Self::Delete(delete) => delete.fmt(f),
        }
    }
}

impl fmt::Display for Compare {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let relation = match self.relation {
            Relation::Equal => "=",
            Relation::NotEqual => "!=",
            Relation::Greater => ">",
            Relation::Less => "<",
        };
        let key = self.key;
        match &self.operand {
            Operand::Create(revision) => write!(f, "create({key}) {relation} {revision}"),
            Operand::Mod(revision) => write!(f, "mod({key}) {relation} {revision}"),
            Operand::Version(times) => write!(f, "version({key}) {relation} {times}"),
            Operand::Value(value) => write!(f, "value({key}) {relation} {value}"),
            Operand::Lease(Some(id)) => write!(f, "lease({key}) {relation} {id}"),
            Operand::Lease(None) => write!(f, "lease({key}) {relation} none"),
        }
    }
}

impl fmt::Display for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.no_put, self.no_delete) {
            (true, false) => " for deletions",
            (false, true) => " for puts",
            _ => "",
        };
        write!(f, "watch {}{what}{}", self.keys, As(" from ", self.from))
    }
}
