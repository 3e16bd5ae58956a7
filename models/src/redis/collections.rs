//! Lists and sorted sets: what a queue of waiters is made of.
//!
//! Sources: the Redis 7.0.15 source (`t_list.c`, `t_zset.c`) and what such a server answers. A collection from which
//! the last element is taken is gone. Scores are whole numbers here, and as exact as Redis's (which are doubles) up
//! to 2^53; those that are not whole are not modelled, and neither are several elements in one command.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

use host::digest_enum;

use super::execute::{Effect, Step, bulk, yes_or_no};
use super::keyspace::Data;
use super::{Key, RedisError, Reply, Value};

/// What is asked of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListCommand {
    /// `RPUSH key value`
    Rpush(Value),
    /// `LPOP key`
    Lpop,
    /// `LINDEX key index`: below zero, from the end.
    Lindex(i64),
    /// `LRANGE key 0 -1`: all of it.
    All,
    /// `LREM key 0 value`: wherever it stands.
    Lrem(Value),
}

/// What is asked of a sorted set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SortedCommand {
    /// `ZADD key score member`
    Zadd(i64, Value),
    /// `ZSCORE key member`
    Zscore(Value),
    /// `ZINCRBY key by member`
    Zincrby(i64, Value),
    /// `ZREM key member`
    Zrem(Value),
    /// `ZRANGE key 0 -1`: all of it, the lowest score first.
    All,
}

impl ListCommand {
    pub(super) const fn effect(&self) -> Effect {
        match self {
            Self::Rpush(_) => Effect::Grows,
            Self::Lpop | Self::Lrem(_) => Effect::Writes,
            Self::Lindex(_) | Self::All => Effect::Reads,
        }
    }

    /// Redis's name of it.
    pub(super) const fn verb(&self) -> &'static str {
        match self {
            Self::Rpush(_) => "rpush",
            Self::Lpop => "lpop",
            Self::Lindex(_) => "lindex",
            Self::All => "lrange",
            Self::Lrem(_) => "lrem",
        }
    }
}

impl SortedCommand {
    pub(super) const fn effect(&self) -> Effect {
        match self {
            Self::Zadd(..) | Self::Zincrby(..) => Effect::Grows,
            Self::Zrem(_) => Effect::Writes,
            Self::Zscore(_) | Self::All => Effect::Reads,
        }
    }

    /// Redis's name of it.
    pub(super) const fn verb(&self) -> &'static str {
        match self {
            Self::Zadd(..) => "zadd",
            Self::Zscore(_) => "zscore",
            Self::Zincrby(..) => "zincrby",
            Self::Zrem(_) => "zrem",
            Self::All => "zrange",
        }
    }
}

impl Step<'_> {
    pub(super) fn list(&mut self, key: Key, what: ListCommand) -> Result<Reply, RedisError> {
        // Only what puts something in makes a list.
        if !matches!(what, ListCommand::Rpush(_)) && !self.exists(&key) {
            return Ok(match what {
                ListCommand::Lpop | ListCommand::Lindex(_) => Reply::Nil,
                ListCommand::All => Reply::Array(Vec::new()),
                ListCommand::Lrem(_) | ListCommand::Rpush(_) => Reply::Int(0),
            });
        }
        let empty = || Data::List(VecDeque::new());
        let Data::List(list) = self.data_mut(key, empty) else { return Err(RedisError::WrongType) };
        let before = list.len();
        let reply = match what {
            ListCommand::Rpush(value) => {
                list.push_back(value);
                Reply::Int(list.len() as i64)
            }
            ListCommand::Lpop => bulk(list.pop_front()),
            ListCommand::Lindex(index) => {
                let place = if index < 0 { index + list.len() as i64 } else { index };
                bulk(usize::try_from(place).ok().and_then(|place| list.get(place)).cloned())
            }
            ListCommand::All => Reply::Array(list.iter().cloned().map(Reply::Bulk).collect()),
            ListCommand::Lrem(value) => {
                list.retain(|other| *other != value);
                Reply::Int((before - list.len()) as i64)
            }
        };
        let (has_changed, is_empty) = (list.len() != before, list.is_empty());
        self.settle(&key, has_changed, is_empty);
        Ok(reply)
    }

    pub(super) fn sorted(&mut self, key: Key, what: SortedCommand) -> Result<Reply, RedisError> {
        if !matches!(what, SortedCommand::Zadd(..) | SortedCommand::Zincrby(..)) && !self.exists(&key) {
            return Ok(match what {
                SortedCommand::All => Reply::Array(Vec::new()),
                SortedCommand::Zscore(_) => Reply::Nil,
                _ => Reply::Int(0),
            });
        }
        let empty = || Data::Sorted(BTreeMap::new());
        let Data::Sorted(scores) = self.data_mut(key, empty) else { return Err(RedisError::WrongType) };
        let score = |score: i64| Reply::Bulk(score.into());
        let (reply, has_changed) = match what {
            SortedCommand::Zadd(score, member) => {
                let old = scores.insert(member, score);
                (yes_or_no(old.is_none()), old != Some(score))
            }
            SortedCommand::Zscore(member) => (scores.get(&member).map_or(Reply::Nil, |found| score(*found)), false),
            SortedCommand::Zincrby(by, member) => {
                let of = scores.entry(member).or_insert(0);
                *of = of.saturating_add(by);
                (score(*of), true)
            }
            SortedCommand::Zrem(member) => {
                let is_gone = scores.remove(&member).is_some();
                (yes_or_no(is_gone), is_gone)
            }
            SortedCommand::All => {
                let mut all: Vec<_> = scores.iter().map(|(member, score)| (*score, member.clone())).collect();
                all.sort();
                (Reply::Array(all.into_iter().map(|(_, member)| Reply::Bulk(member)).collect()), false)
            }
        };
        let is_empty = scores.is_empty();
        self.settle(&key, has_changed, is_empty);
        Ok(reply)
    }

    /// A collection may have changed, and is gone if nothing is left in it.
    fn settle(&mut self, key: &Key, has_changed: bool, is_empty: bool) {
        if is_empty {
            self.delete(key);
        } else if has_changed {
            self.touch(key, true);
        }
    }
}

digest_enum!(ListCommand { 1 => Rpush(value), 2 => Lpop, 3 => Lindex(index), 4 => All, 5 => Lrem(value) });
digest_enum!(SortedCommand {
    1 => Zadd(score, member),
    2 => Zscore(member),
    3 => Zincrby(by, member),
    4 => Zrem(member),
    5 => All,
});

/// A command on a key, as one would type it.
pub(super) struct On<'a, C>(pub(super) &'a Key, pub(super) &'a C);

impl fmt::Display for On<'_, ListCommand> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key, what) = self;
        match what {
            ListCommand::Rpush(value) => write!(f, "RPUSH {key} {value}"),
            ListCommand::Lpop => write!(f, "LPOP {key}"),
            ListCommand::Lindex(index) => write!(f, "LINDEX {key} {index}"),
            ListCommand::All => write!(f, "LRANGE {key} 0 -1"),
            ListCommand::Lrem(value) => write!(f, "LREM {key} 0 {value}"),
        }
    }
}

impl fmt::Display for On<'_, SortedCommand> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(key, what) = self;
        match what {
            SortedCommand::Zadd(score, member) => write!(f, "ZADD {key} {score} {member}"),
            SortedCommand::Zscore(member) => write!(f, "ZSCORE {key} {member}"),
            SortedCommand::Zincrby(by, member) => write!(f, "ZINCRBY {key} {by} {member}"),
            SortedCommand::Zrem(member) => write!(f, "ZREM {key} {member}"),
            SortedCommand::All => write!(f, "ZRANGE {key} 0 -1"),
        }
    }
}
