//! The execution of one command or one script, on one reading of the clocks.
//!
//! Sources: the Redis 7.0.15 source (`t_string.c`, `t_hash.c`, `expire.c`, `db.c`) and what such a server
//! answers.

use std::collections::BTreeMap;

use host::{AttemptId, ConnId, Context, Shortage};
use spec::{Cause, Note};

use super::channels::Channels;
use super::keyspace::{Data, Entry, Keyspace};
use super::persist::Log;
use super::replication::Replication;
use super::reply::Refusal;
use super::transaction::Transactions;
use super::{Command, ExpireIf, Key, Length, Lives, RedisError, Reply, SetIf, Value};
use crate::domain::Locks;
use crate::lock::Persistence;

/// One step of the server's thread.
pub(super) struct Step<'a> {
    pub(super) keys: &'a mut Keyspace,
    pub(super) transactions: &'a mut Transactions,
    pub(super) channels: &'a mut Channels,
    pub(super) log: &'a mut Log,
    pub(super) cx: &'a mut Context<Locks>,
    /// The clock of the times to live in ms, read once.
    pub(super) now: i64,
    /// The wall clock in ms, read once: what `EXAT` and `PXAT` are about.
    pub(super) wall: i64,
    /// The server's part in replication, if it has one.
    pub(super) replication: Option<&'a mut Replication>,
    /// The connection that asks, if one does.
    pub(super) asking: Option<ConnId>,
}

/// What a command may do to the data set.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Reads,
    /// Change it, or make it smaller.
    Writes,
    /// Make it larger.
    Grows,
}

impl Command {
    /// What Redis's table of commands says of it. Of a script it says nothing: its commands are looked at as
    /// it runs.
    pub(super) const fn effect(&self) -> Effect {
        match self {
            Self::Set { .. } | Self::Setnx { .. } | Self::Incr { .. } | Self::Hset { .. } | Self::Hincrby { .. } => {
                Effect::Grows
            }
            Self::List { what, .. } => what.effect(),
            Self::Sorted { what, .. } => what.effect(),
            Self::Del { .. } | Self::Expire { .. } | Self::Persist { .. } | Self::Hdel { .. } => Effect::Writes,
            Self::Get { .. }
            | Self::Exists { .. }
            | Self::Ttl { .. }
            | Self::Pttl { .. }
            | Self::Pexpiretime { .. }
            | Self::Hget { .. }
            | Self::Hexists { .. }
            | Self::Subscribe { .. }
            | Self::Publish { .. }
            | Self::Eval(_)
            | Self::Multi
            | Self::Exec
            | Self::Discard
            | Self::Watch { .. }
            | Self::Unwatch
            | Self::Malformed(_)
            | Self::Ping
            | Self::Info
            | Self::Role
            | Self::Wait { .. }
            | Self::ReplicaOf { .. }
            | Self::ConfigRewrite
            | Self::ClientKill
            | Self::Psync { .. }
            | Self::ReplconfAck { .. } => Effect::Reads,
        }
    }
}

impl Step<'_> {
    /// Runs a command that is not about transactions.
    pub(super) fn run(&mut self, command: Command) -> Result<Reply, RedisError> {
        if let Some(why) = self.refuses(command.effect()) {
            return Err(RedisError::Refused(why));
        }
        Ok(match command {
            Command::Set { key, value, only, get, lives } => self.set(key, value, only, get, lives)?,
            Command::Setnx { key, value } => {
                let set = self.set(key, value, Some(SetIf::Nx), false, Lives::Forever)?;
                yes_or_no(set == Reply::Ok)
            }
            Command::Get { key } => bulk(self.string(&key)?),
            Command::Del { key } => yes_or_no(self.delete(&key)),
            Command::Exists { key } => yes_or_no(self.exists(&key)),
            Command::Expire { key, length, only } => yes_or_no(self.expire(&key, length, only)?),
            Command::Persist { key } => yes_or_no(self.persist(&key)),
            Command::Ttl { key } => Reply::Int(match self.pttl(&key) {
                none @ ..0 => none,
                left => left.saturating_add(500) / 1_000,
            }),
            Command::Pttl { key } => Reply::Int(self.pttl(&key)),
            Command::Pexpiretime { key } => Reply::Int(match self.pttl(&key) {
                none @ ..0 => none,
                left => left.saturating_add(self.wall),
            }),
            Command::Incr { key } => Reply::Int(self.incr(key)?),
            Command::Hset { key, field, value } => {
                let old = self.hash_mut(key)?.insert(field, value);
                self.touch(&key, true);
                yes_or_no(old.is_none())
            }
            Command::Hget { key, field } => bulk(self.hget(&key, &field)?),
            Command::Hexists { key, field } => yes_or_no(self.hget(&key, &field)?.is_some()),
            Command::Hdel { key, field } => yes_or_no(self.hdel(&key, &field)?),
            Command::Hincrby { key, field, by } => Reply::Int(self.hincrby(key, field, by)?),
            Command::List { key, what } => self.list(key, what)?,
            Command::Sorted { key, what } => self.sorted(key, what)?,
            Command::Publish { channel, message } => self.publish(&channel, &message),
            Command::Eval(script) => script.run(self)?,
            Command::Malformed(malformed) => return Err(malformed.error),
            Command::Multi
            | Command::Exec
            | Command::Discard
            | Command::Watch { .. }
            | Command::Unwatch
            | Command::Subscribe { .. } => {
                unreachable!("the server sees to what is of one connection before it comes to the data")
            }
            Command::Ping => Reply::Pong,
            Command::Info
            | Command::Role
            | Command::Wait { .. }
            | Command::ReplicaOf { .. }
            | Command::ConfigRewrite
            | Command::ClientKill => self.about_replication(command),
            Command::Psync { .. } | Command::ReplconfAck { .. } => {
                unreachable!("the server hands what replicas send to its part in replication")
            }
        })
    }

    /// Why the server does not serve such a command. A server that keeps no snapshots has none that failed.
    pub(super) fn refuses(&self, effect: Effect) -> Option<Refusal> {
        if effect == Effect::Reads {
            return None;
        }
        if self.log.persistence == Persistence::Save && self.cx.shortages.of(Shortage::Disk) {
            return Some(Refusal::Short(Shortage::Disk));
        }
        if effect == Effect::Grows && self.cx.shortages.of(Shortage::Memory) {
            return Some(Refusal::Short(Shortage::Memory));
        }
        let replication = self.replication.as_deref()?;
        if replication.lacks_replicas() {
            return Some(Refusal::NoReplicas);
        }
        replication.is_replica().then_some(Refusal::ReadOnly)
    }

    fn set(
        &mut self,
        key: Key,
        value: Value,
        only: Option<SetIf>,
        get: bool,
        lives: Lives,
    ) -> Result<Reply, RedisError> {
        // The arguments are looked at before the key: a bad one is an error even if the key exists.
        let when = self.set_deadline(lives)?;
        let old = if get { Some(bulk(self.string(&key)?)) } else { None };
        let exists = self.exists(&key);
        if only.is_some_and(|only| exists != (only == SetIf::Xx)) {
            return Ok(old.unwrap_or(Reply::Nil));
        }
        let when = match lives {
            Lives::AsBefore => self.live(&key).and_then(|entry| entry.when),
            _ => when,
        };
        let owner = self.cx.attempt;
        self.insert(key, Entry { data: Data::String(value), when, owner });
        Ok(old.unwrap_or(Reply::Ok))
    }

    /// The deadline that `SET` is told. It may have passed: then the key is as good as not set.
    fn set_deadline(&self, lives: Lives) -> Result<Option<i64>, RedisError> {
        let invalid = RedisError::InvalidExpire { command: "set" };
        let (length, since) = match lives {
            Lives::Forever | Lives::AsBefore => return Ok(None),
            Lives::Ex(seconds) => (Length::Seconds(seconds), self.now),
            Lives::Px(millis) => (Length::Millis(millis), self.now),
            // On another clock than the wall's, 1970 was so long ago.
            Lives::ExAt(seconds) => (Length::Seconds(seconds), self.now - self.wall),
            Lives::PxAt(millis) => (Length::Millis(millis), self.now - self.wall),
        };
        let millis = length.millis().filter(|millis| *millis > 0).ok_or(invalid)?;
        millis.checked_add(since).map(Some).ok_or(invalid)
    }

    fn expire(&mut self, key: &Key, length: Length, only: Option<ExpireIf>) -> Result<bool, RedisError> {
        let command = match length {
            Length::Seconds(_) => "expire",
            Length::Millis(_) => "pexpire",
        };
        let when = length.millis().and_then(|millis| self.now.checked_add(millis));
        let (when, now) = (when.ok_or(RedisError::InvalidExpire { command })?, self.now);
        let Some(entry) = self.live(key) else { return Ok(false) };
        let old = entry.when;
        let applies = match only {
            None => true,
            Some(ExpireIf::Nx) => old.is_none(),
            Some(ExpireIf::Xx) => old.is_some(),
            Some(ExpireIf::Gt) => old.is_some_and(|old| when > old),
            Some(ExpireIf::Lt) => old.is_none_or(|old| when < old),
        };
        if !applies {
            return Ok(false);
        }
        if when > now {
            entry.when = Some(when);
            let owner = entry.owner;
            self.touch(key, true);
            self.note_extended(*key, owner);
        } else {
            self.delete(key);
        }
        Ok(true)
    }

    fn persist(&mut self, key: &Key) -> bool {
        let had_deadline = self.live(key).is_some_and(|entry| entry.when.take().is_some());
        if had_deadline {
            self.touch(key, true);
        }
        had_deadline
    }

    /// What is left of its time in ms; -1: it has no end; -2: it does not exist.
    pub(super) fn pttl(&mut self, key: &Key) -> i64 {
        let now = self.now;
        match self.live(key) {
            None => -2,
            Some(Entry { when: None, .. }) => -1,
            Some(Entry { when: Some(when), .. }) => when.saturating_sub(now),
        }
    }

    fn incr(&mut self, key: Key) -> Result<i64, RedisError> {
        let old = match self.string(&key)? {
            None => 0,
            Some(value) => value.as_integer().ok_or(RedisError::NotAnInteger)?,
        };
        let new = old.checked_add(1).ok_or(RedisError::Overflow)?;
        let when = self.live(&key).and_then(|entry| entry.when);
        self.insert(key, Entry { data: Data::String(new.into()), when, owner: None });
        Ok(new)
    }

    /// Makes a counter at least that.
    pub(super) fn raise(&mut self, key: Key, to: i64) -> Result<(), RedisError> {
        if let Some(why) = self.refuses(Effect::Grows) {
            return Err(RedisError::Refused(why));
        }
        // What is no number counts as none.
        if self.string(&key)?.and_then(|value| value.as_integer()).unwrap_or(0) < to {
            // As `SET` does, it clears the time to live.
            self.insert(key, Entry { data: Data::String(to.into()), when: None, owner: None });
        }
        Ok(())
    }

    pub(super) fn holds(&mut self, key: &Key, value: &Value) -> Result<bool, RedisError> {
        Ok(self.string(key)?.is_some_and(|held| held == *value))
    }

    fn string(&mut self, key: &Key) -> Result<Option<Value>, RedisError> {
        match self.live(key).map(|entry| &entry.data) {
            None => Ok(None),
            Some(Data::String(value)) => Ok(Some(value.clone())),
            Some(_) => Err(RedisError::WrongType),
        }
    }

    pub(super) fn hget(&mut self, key: &Key, field: &Value) -> Result<Option<Value>, RedisError> {
        match self.live(key).map(|entry| &entry.data) {
            None => Ok(None),
            Some(Data::Hash(fields)) => Ok(fields.get(field).cloned()),
            Some(_) => Err(RedisError::WrongType),
        }
    }

    pub(super) fn hincrby(&mut self, key: Key, field: Value, by: i64) -> Result<i64, RedisError> {
        if let Some(why) = self.refuses(Effect::Grows) {
            return Err(RedisError::Refused(why));
        }
        let old = match self.hget(&key, &field)? {
            None => 0,
            Some(value) => value.as_integer().ok_or(RedisError::FieldNotAnInteger)?,
        };
        let new = old.checked_add(by).ok_or(RedisError::Overflow)?;
        self.hash_mut(key)?.insert(field, new.into());
        self.touch(&key, true);
        Ok(new)
    }

    fn hdel(&mut self, key: &Key, field: &Value) -> Result<bool, RedisError> {
        if self.hget(key, field)?.is_none() {
            return Ok(false);
        }
        let fields = self.hash_mut(*key)?;
        fields.remove(field);
        if fields.is_empty() {
            self.delete(key);
        } else {
            self.touch(key, true);
        }
        Ok(true)
    }

    /// The fields of a hash, which is made if there is none: nobody's, until a lock calls it its own.
    fn hash_mut(&mut self, key: Key) -> Result<&mut BTreeMap<Value, Value>, RedisError> {
        match self.data_mut(key, || Data::Hash(BTreeMap::new())) {
            Data::Hash(fields) => Ok(fields),
            _ => Err(RedisError::WrongType),
        }
    }

    /// What the key holds, which is made if there is none: nobody's.
    pub(super) fn data_mut(&mut self, key: Key, empty: impl FnOnce() -> Data) -> &mut Data {
        if !self.exists(&key) {
            self.insert(key, Entry { data: empty(), when: None, owner: None });
        }
        &mut self.live(&key).expect("it was there, or has been made").data
    }

    pub(super) fn exists(&mut self, key: &Key) -> bool {
        self.live(key).is_some()
    }

    /// The key, if it exists. Every access goes through here, so that no command sees an expired key.
    pub(super) fn live(&mut self, key: &Key) -> Option<&mut Entry> {
        if self.replication.as_ref().is_some_and(|replication| replication.is_replica()) {
            // A replica hides what is over, and keeps it.
            return if self.keys.is_stale(key, self.now) { None } else { self.keys.get_mut(key) };
        }
        let place = self.keys.place_of(key).ok()?;
        if let Some(expired) = self.keys.take_expired(place, self.now) {
            self.touch(key, false);
            self.note_removal(key, &expired, Cause::Expiry);
            return None;
        }
        Some(self.keys.at_mut(place))
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        let owner = entry.owner;
        let replaced = self.keys.insert(key, entry);
        self.touch(&key, true);
        if owner.is_some() || replaced.is_some_and(|entry| entry.owner.is_some()) {
            self.note_owner(key, owner, self.request());
        }
    }

    pub(super) fn delete(&mut self, key: &Key) -> bool {
        self.remove(key, self.request())
    }

    pub(super) fn evict(&mut self, key: &Key) {
        self.remove(key, Cause::Eviction);
    }

    fn remove(&mut self, key: &Key, cause: Cause) -> bool {
        // An expired key is not there to be deleted.
        self.live(key);
        let Some(removed) = self.keys.remove(key) else { return false };
        self.touch(key, false);
        self.note_removal(key, &removed, cause);
        true
    }

    /// Says whose locks a server has found on its disk; that some ran out while it was down, it sees now.
    pub(super) fn name_owners(&mut self) {
        for (key, owner) in self.keys.owners() {
            self.note_owner(key, Some(owner), Cause::Restart);
            self.live(&key);
        }
    }

    /// A key has changed, or (if it does not exist any more) is gone: transactions that watch it will not run, and
    /// the log and replicas are to be told.
    pub(super) fn touch(&mut self, key: &Key, exists: bool) {
        self.transactions.touch(key, exists);
        self.log.change(*key);
        if let Some(replication) = &mut self.replication {
            replication.change(*key);
        }
    }

    /// From here on the key is the asking attempt's.
    pub(super) fn own(&mut self, key: &Key) {
        let asking = self.cx.attempt;
        let Some(entry) = self.live(key) else { return };
        if entry.owner != asking {
            entry.owner = asking;
            self.note_owner(*key, asking, self.request());
        }
    }

    /// What is done because a client asked.
    const fn request(&self) -> Cause {
        Cause::Request(self.cx.attempt)
    }

    fn note_removal(&mut self, key: &Key, removed: &Entry, cause: Cause) {
        if removed.owner.is_some() {
            self.note_owner(*key, None, cause);
        }
    }

    fn note_extended(&mut self, key: Key, owner: Option<AttemptId>) {
        if let Some(attempt) = owner {
            let (authority, by) = (self.cx.node, self.cx.attempt);
            self.count_owner_note();
            self.cx.note(Note::Extended { authority, key, attempt, by });
        }
    }

    fn note_owner(&mut self, key: Key, attempt: Option<AttemptId>, cause: Cause) {
        let authority = self.cx.node;
        self.count_owner_note();
        self.cx.note(Note::Owner { authority, key, attempt, cause });
    }

    fn count_owner_note(&mut self) {
        if let Some(replication) = &mut self.replication {
            replication.owner_was_noted();
        }
    }
}

/// 1 or 0, as Redis says yes or no.
pub(super) fn yes_or_no(yes: bool) -> Reply {
    Reply::Int(yes.into())
}

pub(super) fn bulk(value: Option<Value>) -> Reply {
    value.map_or(Reply::Nil, Reply::Bulk)
}
