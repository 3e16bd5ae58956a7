//! For the history: whose lock it is. Nothing in the model reads it; of real servers it is found out in the same way, from
//! what they tell of their keys.
//!
//! * Where clients queue, with `concurrency.Mutex` and with `v3lock`, a lock is a prefix, and its owner's is the key below it that
//!   was created first. These keys are made of leases' numbers.
//! * Where a lock has [one key](names::lock_of), its owner is who put that last. Nobody is, if it is not there, or says
//!   so. Who puts another name there than there was has found the other's time to be over.

use std::collections::BTreeMap;

use host::{AttemptId, Name};

use super::answer::EventKind;
use super::api::{Operand, Txn};
use super::key::{Key, Revision};
use super::names;

/// Who stands behind which key.
#[derive(Default, Debug)]
pub struct Owners {
    attempts: BTreeMap<Key, AttemptId>,
    /// By prefix, or by the one key.
    locks: BTreeMap<Name, Owned>,
    /// By the one key: the name that is there.
    holders: BTreeMap<Name, String>,
}

/// A lock has another owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passed {
    /// The lock's name.
    pub lock: Name,
    /// Its owner from now on.
    pub to: Option<AttemptId>,
    /// Nobody asked for it: the former owner's time is over.
    pub is_over: bool,
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
    ) -> Vec<Passed> {
        let mut touched: Vec<Key> = events.iter().map(EventKind::key).filter(|key| key.lease().is_some()).collect();
        for event in events {
            match (event, attempt) {
                (EventKind::Put(kv), Some(attempt))
                    if kv.create_revision == kv.mod_revision && kv.key.lease().is_some() =>
                {
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
        let mut changed: Vec<_> = touched.iter().filter_map(|key| self.look_again(key.stem(), &first)).collect();
        for event in events {
            if let Some(lock) = names::lock_of(event.key()) {
                changed.extend(self.take_single(lock, event, attempt).into_iter().flatten());
            }
        }
        changed
    }

    /// What happened to a lock's one key.
    fn take_single(&mut self, lock: Name, event: &EventKind, attempt: Option<AttemptId>) -> [Option<Passed>; 2] {
        let key = event.key();
        let stem = key.stem();
        let holder = match event {
            EventKind::Put(kv) => names::holder(&kv.value),
            EventKind::Delete { .. } => None,
        };
        let former = match &holder {
            Some(holder) => self.holders.insert(stem, holder.clone()),
            None => self.holders.remove(&stem),
        };
        let is_taken_over = former.is_some() && holder.is_some() && former != holder;
        let over = is_taken_over.then(|| self.owns(stem, lock, None)).flatten();
        let owner = holder.map(|_| (key, attempt));
        [over.map(|passed| Passed { is_over: true, ..passed }), self.owns(stem, lock, owner)]
    }

    /// Every lock that has an owner, with the attempt.
    pub fn all(&self) -> impl Iterator<Item = (Name, AttemptId)> {
        self.locks.values().filter_map(|owned| Some((owned.lock, owned.owner?.1?)))
    }

    /// The lock and the attempt of its owner, if that key is the owner's.
    #[must_use]
    pub fn owned_by(&self, key: &Key) -> Option<(Name, AttemptId)> {
        let Owned { lock, owner } = self.locks.get(&key.stem())?;
        let (first, attempt) = (*owner)?;
        Some((*lock, attempt.filter(|_| first == *key)?))
    }

    /// The lock, and who owns it, if that has changed.
    fn look_again(&mut self, stem: Name, first: impl Fn(Name) -> Option<Key>) -> Option<Passed> {
        let owner = first(stem).map(|key| (key, self.attempts.get(&key).copied()));
        self.owns(stem, Name::from(stem.trim_end_matches('/')), owner)
    }

    fn owns(&mut self, stem: Name, lock: Name, owner: Option<(Key, Option<AttemptId>)>) -> Option<Passed> {
        let owned = self.locks.entry(stem).or_insert(Owned { lock, owner: None });
        if owned.owner == owner {
            return None;
        }
        owned.owner = owner;
        Some(Passed { lock, to: owner.and_then(|(_, attempt)| attempt), is_over: false })
    }
}

/// The key in a queue that a transaction was to create, and that was there already: nothing happened then.
#[must_use]
pub fn found_own(txn: &Txn, events: &[EventKind]) -> Option<Key> {
    let compare = txn.compare.first()?;
    let enters = compare.key.lease().is_some() && compare.operand == Operand::Create(Revision(0));
    (events.is_empty() && enters).then_some(compare.key)
}
