//! For the history: whose key is the first of its lock. Nothing in the model reads it.
//!
//! A lock is a prefix, and its owner's is the key below it that was created first: so it is with `concurrency.Mutex` and with
//! `v3lock`. A key that is not made of a lease's number is no lock's.

use std::collections::BTreeMap;

use host::{AttemptId, Name};

use crate::etcd::Key;
use crate::etcd::answer::EventKind;
use crate::etcd::api::{Operand, Txn};
use crate::etcd::store::{Applied, Change, Store};

/// Who stands behind which key.
#[derive(Default, Debug)]
pub(super) struct Owners {
    attempts: BTreeMap<Key, AttemptId>,
    /// By prefix.
    locks: BTreeMap<Name, Owned>,
}

#[derive(Clone, Copy, Debug)]
struct Owned {
    /// The lock's name.
    lock: Name,
    owner: Option<(Key, Option<AttemptId>)>,
}

impl Owners {
    /// An entry was applied. Gives back the locks that have another owner now.
    pub(super) fn take(
        &mut self,
        store: &Store,
        change: &Change,
        outcome: &Applied,
        events: &[EventKind],
        attempt: Option<AttemptId>,
    ) -> Vec<(Name, Option<AttemptId>)> {
        let mut touched: Vec<Key> = events.iter().map(EventKind::key).filter(|key| key.lease().is_some()).collect();
        for event in events {
            match (event, attempt) {
                (EventKind::Put(kv), Some(attempt)) if kv.create_revision == kv.mod_revision => {
                    self.attempts.insert(kv.key, attempt);
                }
                (EventKind::Delete { key, .. }, _) => drop(self.attempts.remove(key)),
                (EventKind::Put(_), _) => {}
            }
        }
        // Who asks anew, in the same session, finds its key there, and stands behind it from then on: but not one whose
        // request was late, after it had asked anew.
        if let (Change::Txn(txn), Ok(_), Some(attempt)) = (change, outcome, attempt)
            && let Some(key) = found_own(txn, events)
            && self.attempts.get(&key).is_some_and(|former| *former < attempt)
        {
            self.attempts.insert(key, attempt);
            touched.push(key);
        }
        touched.iter().filter_map(|key| self.look_again(store, key.stem())).collect()
    }

    /// The lock and the attempt of its owner, if that key is the owner's.
    pub(super) fn owned_by(&self, key: &Key) -> Option<(Name, AttemptId)> {
        let Owned { lock, owner } = self.locks.get(&key.stem())?;
        let (first, attempt) = (*owner)?;
        Some((*lock, attempt.filter(|_| first == *key)?))
    }

    /// The lock, and who owns it, if that has changed.
    fn look_again(&mut self, store: &Store, stem: Name) -> Option<(Name, Option<AttemptId>)> {
        let first = store.first_created(stem).map(|kv| kv.key);
        let owner = first.map(|key| (key, self.attempts.get(&key).copied()));
        let lock = || Name::from(stem.trim_end_matches('/'));
        let owned = self.locks.entry(stem).or_insert_with(|| Owned { lock: lock(), owner: None });
        if owned.owner == owner {
            return None;
        }
        owned.owner = owner;
        Some((owned.lock, owner.and_then(|(_, attempt)| attempt)))
    }
}

/// The key that was to be created, and was there already.
fn found_own(txn: &Txn, events: &[EventKind]) -> Option<Key> {
    let compare = txn.compare.first()?;
    (events.is_empty() && compare.operand == Operand::Create(crate::etcd::Revision(0))).then_some(compare.key)
}
