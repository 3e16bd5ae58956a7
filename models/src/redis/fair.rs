//! The scripts of Redisson's fair lock: a queue of those that wait, each with a deadline after which it is taken for
//! dead.
//!
//! Source: `RedissonFairLock`,
//! <https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonFairLock.java>.
//!
//! | the source's step | here |
//! |---|---|
//! | whoever is at the head and past its deadline is thrown out, before all else | `prune` |
//! | `tryLockInnerAsync`: in, if the lock is free and nobody is ahead; else into the queue, at its end | `lock` |
//! | `unlockInnerAsync`: one entry less; with the last, the head of the queue is told | `unlock` |
//! | `acquireFailedAsync`: out of the queue | `leave` |
//!
//! The deadlines are on the clocks of those that ask: each script is told what its client's wall clock reads.
//!
//! Departures: the slot is one length for all; Redisson of some versions takes the client's own limit of time
//! instead, where there is one.

use std::fmt;

use host::digest_enum;

use super::execute::Step;
use super::{Command, Key, ListCommand, RedisError, Reply, SortedCommand, Value};

/// A script of the fair lock. `now` is what the client's wall clock reads, in ms; `slot` how many ms each of those
/// ahead is given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FairScript {
    /// In, or into the queue: nil, or for how many ms to wait.
    Lock {
        /// Which lock.
        key: Key,
        /// Whose entry.
        owner: Value,
        /// The lock's time to live in ms.
        px: i64,
        /// The time.
        now: i64,
        /// The slot.
        slot: i64,
        /// What becomes of the deadlines of the others.
        queue: Queue,
        /// What who is in the queue already is told.
        told: Told,
    },
    /// One entry less: 1, or 0 if there are more, or nil if it is not the owner's.
    Unlock {
        /// Which lock.
        key: Key,
        /// Whose entry.
        owner: Value,
        /// The lock's time to live in ms if entries are left.
        px: i64,
        /// The time.
        now: i64,
    },
    /// Out of the queue.
    Leave {
        /// Which lock.
        key: Key,
        /// Who leaves.
        owner: Value,
        /// The slot.
        slot: i64,
        /// What becomes of the deadlines of the others.
        queue: Queue,
    },
}

/// What becomes of the deadlines of those behind when somebody goes in or leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Queue {
    /// They move up by a slot.
    MovesUp,
    /// Nothing: who leaves and comes again is a slot behind the last, and pushes the deadlines ahead.
    Drifts,
}

/// For how long who is in the queue already is told to wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Told {
    /// Until the lease is over; of a lock that is free, until the deadline of the head of the queue.
    NextEnd,
    /// Until a slot before its own deadline: below zero, once that has passed.
    OwnDeadline,
}

digest_enum!(Queue { 1 => MovesUp, 2 => Drifts });
digest_enum!(Told { 1 => NextEnd, 2 => OwnDeadline });

/// The list of those that wait.
pub(super) fn queue_of(lock: &Key) -> Key {
    format!("redisson_lock_queue:{{{lock}}}").into()
}

/// The sorted set of their deadlines.
pub(super) fn deadlines_of(lock: &Key) -> Key {
    format!("redisson_lock_timeout:{{{lock}}}").into()
}

/// On which channel those that wait for the lock hear of its release.
pub(crate) fn channel_of(lock: &Key) -> Value {
    format!("redisson_lock__channel:{{{lock}}}").as_str().into()
}

/// On which channel one of those that wait in its queue does.
pub(crate) fn channel_in_queue(lock: &Key, owner: &Value) -> Value {
    [channel_of(lock).as_bytes(), b":", owner.as_bytes()].concat().as_slice().into()
}

impl FairScript {
    /// The name by which faults know it.
    pub(super) const fn operation(&self) -> &'static str {
        match self {
            Self::Lock { .. } => "set",
            Self::Unlock { .. } => "release",
            Self::Leave { .. } => "leave",
        }
    }

    pub(super) fn run(self, step: &mut Step<'_>) -> Result<Reply, RedisError> {
        match self {
            Self::Lock { key, owner, px, now, slot, queue, told } => {
                let place = Place { key, owner, slot };
                place.lock(step, px, now, queue, told)
            }
            Self::Unlock { key, owner, px, now } => unlock(step, &key, owner, px, now),
            Self::Leave { key, owner, slot, queue } => Place { key, owner, slot }.leave(step, queue),
        }
    }
}

/// Somebody's place in a lock's queue.
struct Place {
    key: Key,
    owner: Value,
    slot: i64,
}

impl Place {
    fn lock(self, step: &mut Step<'_>, px: i64, now: i64, queue: Queue, told: Told) -> Result<Reply, RedisError> {
        let Self { key, owner, slot } = self;
        let (waiting, deadlines) = (queue_of(&key), deadlines_of(&key));
        let first = prune(step, &key, now)?;
        if !step.exists(&key) && first.as_ref().is_none_or(|first| *first == owner) {
            step.run(Command::List { key: waiting, what: ListCommand::Lpop })?;
            step.run(Command::Sorted { key: deadlines, what: SortedCommand::Zrem(owner.clone()) })?;
            if queue == Queue::MovesUp {
                let all = step.run(Command::Sorted { key: deadlines, what: SortedCommand::All })?;
                move_up(step, deadlines, members(all), slot)?;
            }
            step.run(Command::Hset { key, field: owner, value: 1.into() })?;
            step.own(&key);
            step.run(Command::pexpire(key, px))?;
            return Ok(Reply::Nil);
        }
        if step.hget(&key, &owner)?.is_some() {
            step.hincrby(key, owner, 1)?;
            step.own(&key);
            step.run(Command::pexpire(key, px))?;
            return Ok(Reply::Nil);
        }
        if let Some(own) = score(step, deadlines, owner.clone())? {
            return Ok(Reply::Int(match (told, first) {
                (Told::OwnDeadline, _) => own - slot - now,
                (Told::NextEnd, Some(first)) if !step.exists(&key) => {
                    score(step, deadlines, first)?.map_or(0, |deadline| deadline - now)
                }
                // A key lives through the whole millisecond of its end.
                (Told::NextEnd, _) => step.pttl(&key) + 1,
            }));
        }
        let left = match step.run(Command::List { key: waiting, what: ListCommand::Lindex(-1) })? {
            Reply::Bulk(last) => score(step, deadlines, last)?.unwrap_or(now) - now,
            _ => step.pttl(&key),
        };
        let what = SortedCommand::Zadd(left + slot + now, owner.clone());
        step.run(Command::Sorted { key: deadlines, what })?;
        step.run(Command::List { key: waiting, what: ListCommand::Rpush(owner) })?;
        Ok(Reply::Int(left))
    }

    fn leave(self, step: &mut Step<'_>, queue: Queue) -> Result<Reply, RedisError> {
        let Self { key, owner, slot } = self;
        let (waiting, deadlines) = (queue_of(&key), deadlines_of(&key));
        if queue == Queue::MovesUp {
            let all = members(step.run(Command::List { key: waiting, what: ListCommand::All })?);
            let behind = all.into_iter().skip_while(|other| *other != owner).skip(1);
            move_up(step, deadlines, behind.collect(), slot)?;
        }
        step.run(Command::Sorted { key: deadlines, what: SortedCommand::Zrem(owner.clone()) })?;
        step.run(Command::List { key: waiting, what: ListCommand::Lrem(owner) })?;
        Ok(Reply::Nil)
    }
}

fn unlock(step: &mut Step<'_>, key: &Key, owner: Value, px: i64, now: i64) -> Result<Reply, RedisError> {
    let first = prune(step, key, now)?;
    if step.exists(key) {
        if step.hget(key, &owner)?.is_none() {
            return Ok(Reply::Nil);
        }
        if step.hincrby(*key, owner, -1)? > 0 {
            step.run(Command::pexpire(*key, px))?;
            return Ok(Reply::Int(0));
        }
        step.run(Command::Del { key: *key })?;
    }
    // Who gives back what has run out is told that it has, and tells the next in line all the same.
    if let Some(first) = first {
        step.publish(&channel_in_queue(key, &first), &UNLOCKED.into());
    }
    Ok(Reply::Int(1))
}

/// Throws out who is at the head of the queue and past its deadline, and whoever is at the head then. Who is at it
/// now.
fn prune(step: &mut Step<'_>, key: &Key, now: i64) -> Result<Option<Value>, RedisError> {
    let (waiting, deadlines) = (queue_of(key), deadlines_of(key));
    loop {
        let Reply::Bulk(first) = step.run(Command::List { key: waiting, what: ListCommand::Lindex(0) })? else {
            return Ok(None);
        };
        if score(step, deadlines, first.clone())?.is_none_or(|deadline| deadline > now) {
            return Ok(Some(first));
        }
        step.run(Command::Sorted { key: deadlines, what: SortedCommand::Zrem(first) })?;
        step.run(Command::List { key: waiting, what: ListCommand::Lpop })?;
    }
}

fn move_up(step: &mut Step<'_>, deadlines: Key, who: Vec<Value>, slot: i64) -> Result<(), RedisError> {
    who.into_iter().try_for_each(|member| {
        step.run(Command::Sorted { key: deadlines, what: SortedCommand::Zincrby(-slot, member) }).map(drop)
    })
}

fn score(step: &mut Step<'_>, deadlines: Key, member: Value) -> Result<Option<i64>, RedisError> {
    let reply = step.run(Command::Sorted { key: deadlines, what: SortedCommand::Zscore(member) })?;
    Ok(if let Reply::Bulk(score) = reply { score.as_integer() } else { None })
}

fn members(reply: Reply) -> Vec<Value> {
    let Reply::Array(replies) = reply else { return Vec::new() };
    let member = |reply| if let Reply::Bulk(member) = reply { Some(member) } else { None };
    replies.into_iter().filter_map(member).collect()
}

/// What is published when a lock is given back.
pub(super) const UNLOCKED: &str = "0";

digest_enum!(FairScript {
    1 => Lock { key, owner, px, now, slot, queue, told },
    2 => Unlock { key, owner, px, now },
    3 => Leave { key, owner, slot, queue },
});

impl fmt::Display for FairScript {
    /// Its name, keys and arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lock { key, owner, px, now, slot, .. } => write!(f, "fair-lock {key} {owner} {px} {now} {slot}"),
            Self::Unlock { key, owner, px, now } => write!(f, "fair-unlock {key} {owner} {px} {now}"),
            Self::Leave { key, owner, slot, .. } => write!(f, "fair-leave {key} {owner} {slot}"),
        }
    }
}
