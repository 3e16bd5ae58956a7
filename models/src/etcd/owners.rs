//! For the history: whose key is the first of its lock. Nothing in the model reads it; of real servers it is found out in
//! the same way, from what they tell of their keys.
//!
//! A lock is a prefix, and its owner's is the key below it that was created first: so it is with `concurrency.Mutex` and with
//! `v3lock`. A key that is not made of a lease's number is no lock's.

use std::collections::BTreeMap;

use host::{AttemptId, Name};

use super::answer::EventKind;
use super::api::{Operand, Txn};
use super::key::{Key, Revision};

/// Who stands behind which key.
#[derive(Default, Debug)]
pub struct Owners {
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
    /// These happened in one revision, on behalf of that attempt; or nothing did, since it `found` its own key there
    /// already ([`found_own`]). Gives back the locks that have another owner now. `first`: of the keys that begin so, the one
    /// that was created first.
    pub fn take(
        &mut self,
        events: &[EventKind],
        found: Option<Key>,
        attempt: Option<AttemptId>,
        first: impl Fn(Name) -> Option<Key>,
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
        if let (Some(key), Some(attempt)) = (found, attempt)
            && self.attempts.get(&key).is_some_and(|former| *former < attempt)
        {
            self.attempts.insert(key, attempt);
            touched.push(key);
        }
        touched.iter().filter_map(|key| self.look_again(key.stem(), &first)).collect()
    }

    /// The lock and the attempt of its owner, if that key is the owner's.
    #[must_use]
    pub fn owned_by(&self, key: &Key) -> Option<(Name, AttemptId)> {
        let Owned { lock, owner } = self.locks.get(&key.stem())?;
        let (first, attempt) = (*owner)?;
        Some((*lock, attempt.filter(|_| first == *key)?))
    }

    /// The lock, and who owns it, if that has changed.
    fn look_again(&mut self, stem: Name, first: impl Fn(Name) -> Option<Key>) -> Option<(Name, Option<AttemptId>)> {
        let owner = first(stem).map(|key| (key, self.attempts.get(&key).copied()));
        let lock = || Name::from(stem.trim_end_matches('/'));
        let owned = self.locks.entry(stem).or_insert_with(|| Owned { lock: lock(), owner: None });
        if owned.owner == owner {
            return None;
        }
        owned.owner = owner;
        Some((owned.lock, owner.and_then(|(_, attempt)| attempt)))
    }
}

/// The key that a transaction was to create, and that was there already: nothing happened then.
#[must_use]
pub fn found_own(txn: &Txn, events: &[EventKind]) -> Option<Key> {
    let compare = txn.compare.first()?;
    (events.is_empty() && compare.operand == Operand::Create(Revision(0))).then_some(compare.key)
}
