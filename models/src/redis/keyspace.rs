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
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Keyspace {
    entries: BTreeMap<Key, Entry>,
}

impl Keyspace {
    /// Takes the key away if it has expired.
    ///
    /// Redis keeps a key through the whole millisecond of its deadline: it is gone once the clock reads
    /// more.
    pub(super) fn take_expired(&mut self, key: &str, now: i64) -> Option<Entry> {
        let when = self.entries.get(key)?.when?;
        if now > when { self.entries.remove(key) } else { None }
    }

    /// The deadline of the owned key that expires next.
    pub(super) fn next_expiry(&self) -> Option<i64> {
        self.entries.values().filter(|entry| entry.owner.is_some()).filter_map(|entry| entry.when).min()
    }

    /// Some owned key that has expired.
    pub(super) fn expired_lock(&self, now: i64) -> Option<Key> {
        let has_expired = |entry: &Entry| entry.owner.is_some() && entry.when.is_some_and(|when| now > when);
        self.entries.iter().find(|(_, entry)| has_expired(entry)).map(|(key, _)| *key)
    }

    /// Whether the key is in the memory, and has expired.
    pub(super) fn is_stale(&self, key: &str, now: i64) -> bool {
        self.entries.get(key).and_then(|entry| entry.when).is_some_and(|when| now > when)
    }

    /// The key as it is in the memory, over or not.
    pub(super) fn get(&self, key: &str) -> Option<&Entry> {
        self.entries.get(key)
    }

    /// All keys as they are in the memory.
    pub(super) fn all(&self) -> Vec<(Key, Entry)> {
        self.entries.iter().map(|(key, entry)| (*key, entry.clone())).collect()
    }

    /// Puts other keys in the place of all. Gives back those that were there.
    pub(super) fn replace_all(&mut self, all: Vec<(Key, Entry)>) -> Vec<Key> {
        std::mem::replace(&mut self.entries, all.into_iter().collect()).into_keys().collect()
    }

    /// All keys that have expired.
    pub(super) fn all_expired(&self, now: i64) -> Vec<Key> {
        self.entries.keys().filter(|key| self.is_stale(key, now)).copied().collect()
    }

    /// The keys that have owners.
    pub(super) fn owners(&self) -> Vec<(Key, AttemptId)> {
        self.entries.iter().filter_map(|(key, entry)| Some((*key, entry.owner?))).collect()
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// Gives back what was there.
    pub(super) fn insert(&mut self, key: Key, entry: Entry) -> Option<Entry> {
        self.entries.insert(key, entry)
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Entry> {
        self.entries.remove(key)
    }
}
