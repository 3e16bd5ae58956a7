//! What a cluster agrees on: keys with their revisions, and which leases there are. A pure state machine over the entries
//! of its log.
//!
//! Source: `mvcc/`, `etcdserver/apply.go` and `lease/lessor.go` of etcd 3.4.23, and what such a server answers.
//!
//! * One count of revisions for all keys. A transaction that changes anything is one revision, however much it changes;
//!   one that changes nothing, and a lease that is granted, is none.
//! * A key that is deleted and put again is another one: it begins at version 1.
//! * A lease's keys are deleted with it, in the order of their names, in one revision. A key hangs on the lease of its
//!   last put, and on no other.
//!
//! Left out: compaction (history is kept whole, so that a watch never comes too late), quotas and alarms. And that
//! members disagree about a transaction which writes, and reads a revision that has not been: the member that was asked
//! refuses it, and all others do it (etcd#18667, met on 3.4.23). No lock asks for that. How long a lease lives is no part
//! of this: see [`lessor`](super::lessor).

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use host::{Digest, Fold, digest_enum, digest_struct};

use super::answer::{Body, Event, EventKind, KeyValue, OpResponse};
use super::api::{Compare, Delete, Op, Operand, Order, Put, Range, Relation, SortBy, Txn};
use super::error::EtcdError;
use super::key::{Key, Keys, LeaseId, Revision};

/// What an entry of the log says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Change {
    /// Set a key.
    Put(Put),
    /// Delete keys.
    Delete(Delete),
    /// Do one thing or another.
    Txn(Txn),
    /// Let there be a lease.
    Grant {
        /// Its number.
        id: LeaseId,
        /// Its seconds to live, as asked for.
        ttl: i64,
    },
    /// Let there be no such lease.
    Revoke {
        /// Its number.
        id: LeaseId,
    },
    /// So much was left of a lease.
    Checkpoint {
        /// Its number.
        id: LeaseId,
        /// Seconds. 0: all of it again.
        remaining: i64,
    },
    /// Let the next revision be so much higher: nobody has seen one as high, whatever was forgotten.
    Bump {
        /// By how much.
        by: u64,
    },
}

digest_enum!(Change {
    1 => Put(put),
    2 => Delete(delete),
    3 => Txn(txn),
    4 => Grant { id, ttl },
    5 => Revoke { id },
    6 => Checkpoint { id, remaining },
    7 => Bump { by },
});

/// What came of an entry or a read: the revision in its header, and what was done.
pub type Applied = Result<(Revision, Body), EtcdError>;

/// A lease, as all members know it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease {
    /// Its seconds to live, as granted.
    pub ttl: i64,
    /// Its seconds to live from the next change of leaders on, if that was written down. 0: all of them.
    pub remaining: i64,
    /// What hangs on it.
    pub keys: BTreeSet<Key>,
}

impl Digest for Lease {
    fn digest(&self, fold: &mut Fold) {
        let Self { ttl, remaining, keys } = self;
        ttl.digest(fold);
        remaining.digest(fold);
        fold.word(keys.len() as u64);
        keys.iter().for_each(|key| key.digest(fold));
    }
}

/// Keys and leases after some prefix of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// The least that a lease may live, in seconds.
    min_ttl: i64,
    revision: Revision,
    keys: BTreeMap<Key, KeyValue>,
    /// Every change of a key there ever was.
    history: Vec<EventKind>,
    leases: BTreeMap<LeaseId, Lease>,
}

digest_struct!(Store { min_ttl, revision, keys, history, leases });

/// The longest that a lease may live, in seconds.
const MAX_TTL: i64 = 9_000_000_000;

impl Store {
    /// Of a new cluster, whose leases live so many seconds at least.
    #[must_use]
    pub const fn new(min_ttl: i64) -> Self {
        Self { min_ttl, revision: Revision(1), keys: BTreeMap::new(), history: Vec::new(), leases: BTreeMap::new() }
    }

    /// The last change's number.
    #[must_use]
    pub const fn revision(&self) -> Revision {
        self.revision
    }

    /// Every change of a key, oldest first.
    #[must_use]
    pub fn history(&self) -> &[EventKind] {
        &self.history
    }

    /// The leases there are.
    #[must_use]
    pub const fn leases(&self) -> &BTreeMap<LeaseId, Lease> {
        &self.leases
    }

    /// The key as it is.
    #[must_use]
    pub fn get(&self, key: &Key) -> Option<&KeyValue> {
        self.keys.get(key)
    }

    /// Of the keys that begin so, the one that was created first.
    #[must_use]
    pub fn first_created(&self, prefix: host::Name) -> Option<&KeyValue> {
        self.among(&Keys::Under(prefix)).min_by_key(|kv| kv.create_revision)
    }

    /// Does what an entry says.
    ///
    /// # Errors
    /// What it cannot be done for. Then nothing is.
    pub fn apply(&mut self, change: &Change) -> Applied {
        let mut writing = Writing { changed: false, store: self };
        let body = match change {
            Change::Put(put) => {
                writing.store.has_leases([put])?;
                writing.put(put)
            }
            Change::Delete(delete) => writing.delete(delete),
            Change::Txn(txn) => return writing.txn(txn),
            Change::Grant { id, ttl } => return self.grant(*id, *ttl),
            Change::Revoke { id } => {
                let lease = writing.store.leases.remove(id).ok_or(EtcdError::LeaseNotFound)?;
                lease.keys.iter().for_each(|key| writing.delete_one(*key));
                Body::LeaseRevoke
            }
            Change::Checkpoint { id, remaining } => {
                if let Some(lease) = writing.store.leases.get_mut(id) {
                    lease.remaining = *remaining;
                }
                // The leader says this to the others: nobody hears the answer.
                Body::LeaseRevoke
            }
            Change::Bump { by } => {
                writing.store.revision.0 += by;
                Body::LeaseRevoke
            }
        };
        Ok((writing.end(), body))
    }

    /// What a range answers.
    ///
    /// # Errors
    /// If its revision has not been yet.
    pub fn read(&self, range: &Range) -> Applied {
        Ok((self.revision, self.range(range, self.revision)?))
    }

    /// What a transaction that only reads answers.
    ///
    /// # Errors
    /// If one of its revisions has not been yet.
    pub fn read_txn(&self, txn: &Txn) -> Applied {
        let (succeeded, ops) = self.branch(txn);
        let read = |op: &Op| match op {
            Op::Range(range) => Ok(OpResponse { revision: self.revision, body: self.range(range, self.revision)? }),
            Op::Put(_) | Op::Delete(_) => unreachable!("it only reads"),
        };
        Ok((self.revision, Body::Txn { succeeded, responses: ops.iter().map(read).collect::<Result<_, _>>()? }))
    }

    /// The event of a change, as a watch tells it.
    #[must_use]
    pub fn event(&self, kind: &EventKind, prev_kv: bool) -> Event {
        let mut event = Event { kind: kind.clone(), prev_kv: None };
        if prev_kv {
            event.prev_kv = self.at(&event.key(), Revision(event.revision().0 - 1)).cloned();
        }
        event
    }

    fn among(&self, keys: &Keys) -> impl Iterator<Item = &KeyValue> {
        let keys = *keys;
        self.keys.range(keys.first()..).map(|(_, kv)| kv).take_while(move |kv| keys.contains(&kv.key))
    }

    /// The key as it was at a revision.
    fn at(&self, key: &Key, revision: Revision) -> Option<&KeyValue> {
        let mut past = self.history.iter().rev();
        match past.find(|kind| kind.revision() <= revision && kind.key() == *key)? {
            EventKind::Put(kv) => Some(kv),
            EventKind::Delete { .. } => None,
        }
    }

    /// The keys as they were at a revision, in their order.
    fn among_at(&self, keys: &Keys, revision: Revision) -> Vec<&KeyValue> {
        let touched: BTreeSet<Key> = self.history.iter().map(EventKind::key).filter(|key| keys.contains(key)).collect();
        touched.iter().filter_map(|key| self.at(key, revision)).collect()
    }

    /// What a range answers while the keys are at `now`.
    fn range(&self, range: &Range, now: Revision) -> Result<Body, EtcdError> {
        self.has_been(range, now)?;
        let mut kvs: Vec<&KeyValue> = match range.revision {
            Some(revision) if revision.0 > 0 && revision < now => self.among_at(&range.keys, revision),
            _ => self.among(&range.keys).collect(),
        };
        let count = kvs.len() as u64;
        if range.count_only {
            return Ok(Body::Range { kvs: Vec::new(), more: false, count });
        }
        if let Some(revision) = range.created_by.filter(|revision| revision.0 > 0) {
            kvs.retain(|kv| kv.create_revision <= revision);
        }
        if let Some((by, order)) = range.sort {
            // (Go's sort keeps the order of equals for a dozen, and promises nothing: with more, do not compare.)
            kvs.sort_by(|one, other| match order {
                Order::Ascending => compare_by(by, one, other),
                Order::Descending => compare_by(by, other, one),
            });
        }
        let limit = range.limit.filter(|limit| *limit > 0).and_then(|limit| usize::try_from(limit).ok());
        let more = limit.is_some_and(|limit| kvs.len() > limit);
        kvs.truncate(limit.unwrap_or(usize::MAX));
        Ok(Body::Range { kvs: kvs.into_iter().cloned().collect(), more, count })
    }

    fn has_been(&self, range: &Range, now: Revision) -> Result<(), EtcdError> {
        if range.revision.is_some_and(|revision| revision > now) { Err(EtcdError::FutureRevision) } else { Ok(()) }
    }

    /// Whether every lease is there on which something is to hang.
    fn has_leases<'p>(&self, puts: impl IntoIterator<Item = &'p Put>) -> Result<(), EtcdError> {
        let mut leases = puts.into_iter().filter_map(|put| put.lease);
        if leases.all(|id| self.leases.contains_key(&id)) { Ok(()) } else { Err(EtcdError::LeaseNotFound) }
    }

    fn grant(&mut self, id: LeaseId, ttl: i64) -> Applied {
        if ttl > MAX_TTL {
            return Err(EtcdError::LeaseTtlTooLarge);
        }
        if self.leases.contains_key(&id) {
            return Err(EtcdError::LeaseExists);
        }
        let ttl = ttl.max(self.min_ttl);
        self.leases.insert(id, Lease { ttl, remaining: 0, keys: BTreeSet::new() });
        Ok((self.revision, Body::LeaseGrant { id, ttl }))
    }

    /// Whether what a transaction compares holds, and what is done then.
    fn branch<'t>(&self, txn: &'t Txn) -> (bool, &'t [Op]) {
        let succeeded = txn.compare.iter().all(|compare| self.holds(compare));
        (succeeded, if succeeded { &txn.success } else { &txn.failure })
    }

    fn holds(&self, compare: &Compare) -> bool {
        let kv = self.get(&compare.key);
        let number = |of: fn(&KeyValue) -> Revision| kv.map_or(Revision(0), of);
        let ordering = match &compare.operand {
            Operand::Create(revision) => number(|kv| kv.create_revision).cmp(revision),
            Operand::Mod(revision) => number(|kv| kv.mod_revision).cmp(revision),
            Operand::Version(version) => kv.map_or(0, |kv| kv.version).cmp(version),
            Operand::Lease(lease) => kv.and_then(|kv| kv.lease).cmp(lease),
            Operand::Value(value) => match kv {
                Some(kv) => kv.value.cmp(value),
                None => return false,
            },
        };
        match compare.relation {
            Relation::Equal => ordering.is_eq(),
            Relation::NotEqual => ordering.is_ne(),
            Relation::Greater => ordering.is_gt(),
            Relation::Less => ordering.is_lt(),
        }
    }
}

fn compare_by(by: SortBy, one: &KeyValue, other: &KeyValue) -> Ordering {
    match by {
        SortBy::Key => one.key.cmp(&other.key),
        SortBy::Version => one.version.cmp(&other.version),
        SortBy::Create => one.create_revision.cmp(&other.create_revision),
        SortBy::Mod => one.mod_revision.cmp(&other.mod_revision),
        SortBy::Value => one.value.cmp(&other.value),
    }
}

/// One revision, while it is made.
struct Writing<'s> {
    store: &'s mut Store,
    changed: bool,
}

impl Writing<'_> {
    /// What the keys are at by now.
    const fn now(&self) -> Revision {
        if self.changed { self.store.revision.next() } else { self.store.revision }
    }

    fn end(self) -> Revision {
        self.store.revision = self.now();
        self.store.revision
    }

    fn put(&mut self, put: &Put) -> Body {
        let revision = self.store.revision.next();
        let was = self.store.keys.get(&put.key);
        let kv = KeyValue {
            key: put.key,
            create_revision: was.map_or(revision, |was| was.create_revision),
            mod_revision: revision,
            version: was.map_or(1, |was| was.version + 1),
            value: put.value.clone(),
            lease: put.lease,
        };
        let was = self.store.keys.insert(put.key, kv.clone());
        self.detach(was.as_ref());
        if let Some(lease) = put.lease.and_then(|id| self.store.leases.get_mut(&id)) {
            lease.keys.insert(put.key);
        }
        self.store.history.push(EventKind::Put(kv));
        self.changed = true;
        Body::Put { prev_kv: was.filter(|_| put.prev_kv).map(Box::new) }
    }

    fn delete(&mut self, delete: &Delete) -> Body {
        let doomed: Vec<KeyValue> = self.store.among(&delete.keys).cloned().collect();
        doomed.iter().for_each(|kv| self.delete_one(kv.key));
        let deleted = doomed.len() as u64;
        Body::Delete { deleted, prev_kvs: if delete.prev_kv { doomed } else { Vec::new() } }
    }

    fn delete_one(&mut self, key: Key) {
        let was = self.store.keys.remove(&key);
        self.detach(was.as_ref());
        self.store.history.push(EventKind::Delete { key, mod_revision: self.store.revision.next() });
        self.changed = true;
    }

    /// A key as it was hangs on its lease no more.
    fn detach(&mut self, was: Option<&KeyValue>) {
        let Some((key, id)) = was.and_then(|was| Some((was.key, was.lease?))) else { return };
        if let Some(lease) = self.store.leases.get_mut(&id) {
            lease.keys.remove(&key);
        }
    }

    fn txn(mut self, txn: &Txn) -> Applied {
        let (succeeded, ops) = self.store.branch(txn);
        // What cannot be done is found before anything is: first leases, then revisions.
        self.store.has_leases(ops.iter().filter_map(|op| if let Op::Put(put) = op { Some(put) } else { None }))?;
        for op in ops {
            if let Op::Range(range) = op {
                self.store.has_been(range, self.store.revision)?;
            }
        }
        let mut responses = Vec::with_capacity(ops.len());
        for op in ops {
            let body = match op {
                Op::Range(range) => self.store.range(range, self.now())?,
                Op::Put(put) => self.put(put),
                Op::Delete(delete) => self.delete(delete),
            };
            responses.push(OpResponse { revision: self.now(), body });
        }
        Ok((self.end(), Body::Txn { succeeded, responses }))
    }
}

#[cfg(test)]
mod tests;
