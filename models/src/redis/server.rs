//! One Redis server: a thread that runs one command after another.
//!
//! Sources: the Redis 7.0.15 source (`t_string.c`, `expire.c`, `db.c`) and what such a server answers.
//!
//! * **Clock.** A time to live becomes an absolute deadline on the *wall* clock, in whole ms, so that a
//!   step of the clock moves every deadline at once. The clock is read once for a command or a script.
//! * **Expiry.** A key is there while `now <= deadline`. It is taken away by the next command that
//!   touches it. Redis also looks for expired keys by itself, ten times a second, and finds most of them;
//!   here the keys of locks, and only those, are found at once, by a timer on the wall clock. No command
//!   can tell the difference, but the history can: what has expired is owned no more.
//! * **Persistence.** None: a restarted server is empty, counters included.
//!
//! Not modelled: eviction and other limits of memory, replication, transactions, blocking commands,
//! publish and subscribe, types other than strings.

use host::{AttemptId, Context, Deadline, Origin, Service, TimerId, WallTime};
use spec::Note;

use super::keyspace::{Entry, Keyspace};
use super::{Command, Key, RedisError, Reply, Value};
use crate::domain::{Locks, Message};

/// A Redis server.
///
/// # Who owns a key
///
/// The history is told who owns a lock's key; no reply depends on it. A key that `SET` or
/// lock-with-token writes is owned by the attempt that asked for it, and a key that is deleted or found
/// expired is nobody's. A renewal changes no owner: the history is told whose lease it was that was
/// extended, whoever asked. A key that no attempt has set is not mentioned.
///
/// A key that expires is mentioned when it does; late, if the process stands still then, and never, if
/// it is dead.
#[derive(Default, Debug)]
pub struct Redis {
    keys: Keyspace,
    /// The deadline of the lock that expires next, as the timer is set.
    next_expiry: Option<i64>,
}

impl Service<Locks> for Redis {
    fn on_start(&mut self, _: &mut Context<Locks>) {
        *self = Self::default();
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Redis(command) = message else { panic!("not a Redis command: {message:?}") };
        let now = cx.wall.millis();
        let reply = Step { keys: &mut self.keys, cx, now }.run(command).unwrap_or_else(Reply::Error);
        cx.reply(from, reply);
        self.await_expiry(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, _: TimerId) {
        let now = cx.wall.millis();
        let mut step = Step { keys: &mut self.keys, cx, now };
        // Whichever key expires next, it is gone if it has expired, and if a step has taken the clock
        // back since, it is not.
        while let Some(key) = step.keys.expired_lock(now) {
            step.live(&key);
        }
        self.next_expiry = None;
        self.await_expiry(cx);
    }
}

impl Redis {
    /// Sets the timer for the next lock that expires.
    fn await_expiry(&mut self, cx: &mut Context<Locks>) {
        let next = self.keys.next_expiry();
        if next == self.next_expiry {
            return;
        }
        self.next_expiry = next;
        match next {
            // It is there through the whole millisecond of its deadline.
            Some(when) => cx.set_timer(EXPIRY, Deadline::Wall(WallTime::from_millis(when.saturating_add(1)))),
            None => cx.cancel_timer(EXPIRY),
        }
    }
}

/// The one timer of the server.
const EXPIRY: TimerId = TimerId(0);

/// The execution of one command or script.
struct Step<'a> {
    keys: &'a mut Keyspace,
    cx: &'a mut Context<Locks>,
    /// The wall clock in ms, read once.
    now: i64,
}

impl Step<'_> {
    fn run(&mut self, command: Command) -> Result<Reply, RedisError> {
        Ok(match command {
            Command::Set { key, value, nx, px } => self.set(key, value, nx, px)?,
            Command::Get { key } => self.live(&key).map_or(Reply::Nil, |entry| Reply::Bulk(entry.value.clone())),
            Command::Del { key } => count(self.delete(&key)),
            Command::Exists { key } => count(self.live(&key).is_some()),
            Command::Pttl { key } => Reply::Int(self.pttl(&key)),
            Command::Pexpire { key, px } => count(self.pexpire(&key, px)?),
            Command::Incr { key } => Reply::Int(self.incr(key)?),
            Command::CompareAndDelete { key, value } => count(self.holds(&key, &value) && self.delete(&key)),
            Command::CompareAndPexpire { key, value, px } => count(self.holds(&key, &value) && self.pexpire(&key, px)?),
            Command::LockWithToken { key, value, px, counter } => match self.set(key, value, true, px)? {
                Reply::Ok => Reply::Int(self.incr(counter)?),
                refused => refused,
            },
        })
    }

    fn set(&mut self, key: Key, value: Value, nx: bool, px: Option<i64>) -> Result<Reply, RedisError> {
        // The arguments are looked at before the key: a bad one is an error even if the key exists.
        let when = match px {
            None => None,
            Some(px) if px <= 0 => return Err(RedisError::InvalidExpire { command: "set" }),
            Some(px) => Some(self.deadline(px, "set")?),
        };
        if self.live(&key).is_some() && nx {
            return Ok(Reply::Nil);
        }
        let owner = self.cx.attempt;
        self.insert(key, Entry { value, when, owner });
        Ok(Reply::Ok)
    }

    fn pttl(&mut self, key: &Key) -> i64 {
        let now = self.now;
        match self.live(key) {
            None => -2,
            Some(Entry { when: None, .. }) => -1,
            Some(Entry { when: Some(when), .. }) => *when - now,
        }
    }

    fn pexpire(&mut self, key: &Key, px: i64) -> Result<bool, RedisError> {
        let (when, now) = (self.deadline(px, "pexpire")?, self.now);
        let Some(entry) = self.live(key) else { return Ok(false) };
        if when > now {
            entry.when = Some(when);
            let owner = entry.owner;
            self.note_extended(*key, owner);
        } else {
            self.delete(key);
        }
        Ok(true)
    }

    fn incr(&mut self, key: Key) -> Result<i64, RedisError> {
        let (old, when) = match self.live(&key) {
            None => (0, None),
            Some(entry) => (entry.value.as_integer().ok_or(RedisError::NotAnInteger)?, entry.when),
        };
        let new = old.checked_add(1).ok_or(RedisError::Overflow)?;
        self.insert(key, Entry { value: new.into(), when, owner: None });
        Ok(new)
    }

    fn holds(&mut self, key: &Key, value: &Value) -> bool {
        self.live(key).is_some_and(|entry| entry.value == *value)
    }

    /// The deadline `px` ms from now.
    fn deadline(&self, px: i64, command: &'static str) -> Result<i64, RedisError> {
        self.now.checked_add(px).ok_or(RedisError::InvalidExpire { command })
    }

    /// The key, if it exists. Every access goes through here, so that no command sees an expired key.
    fn live(&mut self, key: &Key) -> Option<&mut Entry> {
        if let Some(expired) = self.keys.take_expired(key, self.now) {
            self.note_removal(key, &expired);
        }
        self.keys.get_mut(key)
    }

    fn insert(&mut self, key: Key, entry: Entry) {
        let owner = entry.owner;
        let replaced = self.keys.insert(key, entry);
        if owner.is_some() || replaced.is_some_and(|entry| entry.owner.is_some()) {
            self.note_owner(key, owner);
        }
    }

    fn delete(&mut self, key: &Key) -> bool {
        // An expired key is not there to be deleted.
        self.live(key);
        let Some(removed) = self.keys.remove(key) else { return false };
        self.note_removal(key, &removed);
        true
    }

    fn note_removal(&mut self, key: &Key, removed: &Entry) {
        if removed.owner.is_some() {
            self.note_owner(*key, None);
        }
    }

    fn note_extended(&mut self, key: Key, owner: Option<AttemptId>) {
        if let Some(attempt) = owner {
            let authority = self.cx.node;
            self.cx.note(Note::Extended { authority, key, attempt });
        }
    }

    fn note_owner(&mut self, key: Key, attempt: Option<AttemptId>) {
        let authority = self.cx.node;
        self.cx.note(Note::Owner { authority, key, attempt });
    }
}

/// 1 or 0, as Redis says yes or no.
fn count(yes: bool) -> Reply {
    Reply::Int(yes.into())
}

#[cfg(test)]
mod tests;
