//! The keys of one server, their expiry, and in their shadow the attempts that own them.

use std::collections::{BTreeMap, VecDeque};

use host::AttemptId;

use super::{Key, Value};

/// What a key holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Data {
    String(Value),
    Hash(BTreeMap<Value, Value>),
    List(VecDeque<Value>),
    /// The score of each member.
    Sorted(BTreeMap<Value, i64>),
}

/// One key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Entry {
    pub(super) data: Data,
    /// The time, in ms since 1970, after which the key is gone. `None`: it stays.
    pub(super) when: Option<i64>,
    /// The attempt that took the lock whose key this is. A shadow: no reply depends on it.
    pub(super) owner: Option<AttemptId>,
}

/// All keys. Expired ones stay until they are [taken away](Self::take_expired).
///
/// In the order of their names. There are a few, and one of them is mostly asked for by the very name that it has.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Keyspace {
    entries: Vec<(Key, Entry)>,
}

impl Keyspace {
    /// Takes the key at that place away if it has expired.
    ///
    /// Redis keeps a key through the whole millisecond of its deadline: it is gone once the clock reads
    /// more.
    pub(super) fn take_expired(&mut self, place: usize, now: i64) -> Option<Entry> {
        if now > self.entries[place].1.when? { Some(self.entries.remove(place).1) } else { None }
    }

    /// The key at that place.
    pub(super) fn at_mut(&mut self, place: usize) -> &mut Entry {
        &mut self.entries[place].1
    }

    /// The deadline of the owned key that expires next.
    pub(super) fn next_expiry(&self) -> Option<i64> {
        self.entries.iter().filter(|(_, entry)| entry.owner.is_some()).filter_map(|(_, entry)| entry.when).min()
    }

    /// Some owned key that has expired.
    pub(super) fn expired_lock(&self, now: i64) -> Option<Key> {
        let has_expired = |entry: &Entry| entry.owner.is_some() && entry.when.is_some_and(|when| now > when);
        self.entries.iter().find(|(_, entry)| has_expired(entry)).map(|(key, _)| *key)
    }

    /// Whether the key is in the memory, and has expired.
    pub(super) fn is_stale(&self, key: &Key, now: i64) -> bool {
        self.get(key).and_then(|entry| entry.when).is_some_and(|when| now > when)
    }

    /// The key as it is in the memory, over or not.
    pub(super) fn get(&self, key: &Key) -> Option<&Entry> {
        self.place_of(key).ok().map(|place| &self.entries[place].1)
    }

    /// All keys as they are in the memory.
    pub(super) fn all(&self) -> Vec<(Key, Entry)> {
        self.entries.clone()
    }

    /// Puts other keys in the place of all. Gives back those that were there.
    pub(super) fn replace_all(&mut self, all: Vec<(Key, Entry)>) -> Vec<Key> {
        let before = std::mem::take(&mut self.entries);
        for (key, entry) in all {
            self.insert(key, entry);
        }
        before.into_iter().map(|(key, _)| key).collect()
    }

    /// All keys that have expired.
    pub(super) fn all_expired(&self, now: i64) -> Vec<Key> {
        self.entries.iter().map(|(key, _)| *key).filter(|key| self.is_stale(key, now)).collect()
    }

    /// The keys that have owners.
    pub(super) fn owners(&self) -> Vec<(Key, AttemptId)> {
        self.entries.iter().filter_map(|(key, entry)| Some((*key, entry.owner?))).collect()
    }

    pub(super) fn get_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.place_of(key).ok().map(|place| &mut self.entries[place].1)
    }

    /// Gives back what was there.
    pub(super) fn insert(&mut self, key: Key, entry: Entry) -> Option<Entry> {
        match self.place_of(&key) {
            Ok(place) => Some(std::mem::replace(&mut self.entries[place].1, entry)),
            Err(place) => {
                self.entries.insert(place, (key, entry));
                None
            }
        }
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Entry> {
        self.place_of(key).ok().map(|place| self.entries.remove(place).1)
    }

    /// Where the key is, or would be.
    #[inline]
    pub(super) fn place_of(&self, key: &Key) -> Result<usize, usize> {
        self.entries.binary_search_by(|(other, _)| other.cmp(key))
    }
}
