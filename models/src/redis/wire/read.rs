//! From what a client sends to the command that a server makes of it.
//!
//! Sources: the Redis 7.0.15 source (`server.c`, `t_*.c`, `expire.c`) and what such a server answers. The number of
//! arguments is looked at first, when a transaction queues as well; everything else when the command runs, the
//! words before the numbers.

use std::fmt;
use std::num::NonZeroU64;

use host::Name;

use super::lua;
use crate::redis::{
    Command, ExpireIf, FairScript, Key, Length, ListCommand, Lives, Malformed, Queue, RedisError, Script, SetIf,
    SortedCommand, Told, Value,
};

/// Something that a Redis server answers, and the model does not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotModelled {
    /// What.
    pub what: &'static str,
}

impl fmt::Display for NotModelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "not modelled: {}", self.what)
    }
}

impl std::error::Error for NotModelled {}

impl Command {
    /// What a server makes of these arguments, the command's name first. Arguments that Redis refuses are a command
    /// too, which is answered with an error.
    ///
    /// # Errors
    /// If the model knows no such command, or not in this form.
    pub fn from_args(args: &[Value]) -> Result<Self, NotModelled> {
        let malformed = |error, queues| Self::Malformed(Malformed { args: args.to_vec(), error, queues });
        match read(args) {
            Ok(command) => Ok(command),
            Err(Unread::NotModelled(what)) => Err(NotModelled { what }),
            Err(Unread::Uncounted(command)) => Ok(malformed(RedisError::WrongNumberOfArguments { command }, false)),
            Err(Unread::Refused(error)) => Ok(malformed(error, true)),
        }
    }
}

/// Why there is no command.
enum Unread {
    /// There are too few arguments of that command, or too many.
    Uncounted(Name),
    /// They are not what the command takes.
    Refused(RedisError),
    /// The model does not know it.
    NotModelled(&'static str),
}

impl From<RedisError> for Unread {
    fn from(error: RedisError) -> Self {
        Self::Refused(error)
    }
}

fn read(args: &[Value]) -> Result<Command, Unread> {
    let [name, rest @ ..] = args else { return Err(Unread::NotModelled("no command at all")) };
    let name = String::from_utf8_lossy(name.as_bytes()).to_lowercase();
    let wrong = || Unread::Uncounted(name.as_str().into());
    let one = |command: fn(Key) -> Command| match rest {
        [only] => Ok(command(key(only)?)),
        _ => Err(wrong()),
    };
    // Redis takes several keys or fields here, the model one.
    let first = |command: fn(Key) -> Command| match rest {
        [] => Err(wrong()),
        [only] => Ok(command(key(only)?)),
        _ => Err(Unread::NotModelled("several keys in one command")),
    };
    let none = |command: Command| if rest.is_empty() { Ok(command) } else { Err(wrong()) };
    match name.as_str() {
        "set" => match rest {
            [of, value, options @ ..] => set(key(of)?, value, options),
            _ => Err(wrong()),
        },
        "setnx" => match rest {
            [of, value] => Ok(Command::Setnx { key: key(of)?, value: value.clone() }),
            _ => Err(wrong()),
        },
        "get" => one(|key| Command::Get { key }),
        "del" => first(|key| Command::Del { key }),
        "exists" => first(|key| Command::Exists { key }),
        "expire" | "pexpire" => match rest {
            [of, length, conditions @ ..] => {
                let only = conditions_of(conditions)?;
                let length = integer(length)?;
                let length = if name == "expire" { Length::Seconds(length) } else { Length::Millis(length) };
                Ok(Command::Expire { key: key(of)?, length, only })
            }
            _ => Err(wrong()),
        },
        "persist" => one(|key| Command::Persist { key }),
        "ttl" => one(|key| Command::Ttl { key }),
        "pttl" => one(|key| Command::Pttl { key }),
        "pexpiretime" => one(|key| Command::Pexpiretime { key }),
        "incr" => one(|key| Command::Incr { key }),
        "hset" => match rest {
            [of, field, value] => Ok(Command::Hset { key: key(of)?, field: field.clone(), value: value.clone() }),
            [_, _, _, more @ ..] if more.len() % 2 == 0 => Err(Unread::NotModelled("several fields in one command")),
            // It looks for pairs when it runs.
            [_, _, _, ..] => Err(RedisError::WrongNumberOfArguments { command: "hset".into() }.into()),
            _ => Err(wrong()),
        },
        "hget" | "hexists" => match rest {
            [of, field] if name == "hget" => Ok(Command::Hget { key: key(of)?, field: field.clone() }),
            [of, field] => Ok(Command::Hexists { key: key(of)?, field: field.clone() }),
            _ => Err(wrong()),
        },
        "hdel" => match rest {
            [of, field] => Ok(Command::Hdel { key: key(of)?, field: field.clone() }),
            [_, _, ..] => Err(Unread::NotModelled("several fields in one command")),
            _ => Err(wrong()),
        },
        "hincrby" => match rest {
            [of, field, by] => Ok(Command::Hincrby { key: key(of)?, field: field.clone(), by: integer(by)? }),
            _ => Err(wrong()),
        },
        "rpush" | "lpop" | "lindex" | "lrange" | "lrem" => list(&name, rest, wrong),
        "zadd" | "zscore" | "zincrby" | "zrem" | "zrange" => sorted(&name, rest, wrong),
        "subscribe" => match rest {
            [channel] => Ok(Command::Subscribe { channel: channel.clone() }),
            [] => Err(wrong()),
            _ => Err(Unread::NotModelled("several channels in one command")),
        },
        "publish" => match rest {
            [channel, message] => Ok(Command::Publish { channel: channel.clone(), message: message.clone() }),
            _ => Err(wrong()),
        },
        "wait" => match rest {
            [replicas, timeout] => {
                let replicas = integer(replicas)?;
                let timeout = integer(timeout).map_err(|_| RedisError::TimeoutNotAnInteger)?;
                Ok(Command::Wait { replicas, timeout })
            }
            _ => Err(wrong()),
        },
        "eval" => match rest {
            [text, count, rest @ ..] => script(text, count, rest).map(Command::Eval),
            _ => Err(wrong()),
        },
        "multi" => none(Command::Multi),
        "exec" if !rest.is_empty() => Err(RedisError::AbortedUncounted.into()),
        "exec" => Ok(Command::Exec),
        "discard" => none(Command::Discard),
        "watch" => first(|key| Command::Watch { key }),
        "unwatch" => none(Command::Unwatch),
        _ => Err(Unread::NotModelled("this command")),
    }
}

/// `SET` with its options, which may come in any order; of those that are repeated, the last counts.
fn set(key: Key, value: &Value, options: &[Value]) -> Result<Command, Unread> {
    let (mut only, mut get, mut keeps) = (None, false, false);
    let mut lives: Option<(&str, &Value)> = None;
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match word(option).as_str() {
            "nx" if only != Some(SetIf::Xx) => only = Some(SetIf::Nx),
            "xx" if only != Some(SetIf::Nx) => only = Some(SetIf::Xx),
            "get" => get = true,
            "keepttl" if lives.is_none() => keeps = true,
            unit @ ("ex" | "px" | "exat" | "pxat") if !keeps => {
                let unit = ["ex", "px", "exat", "pxat"].into_iter().find(|known| *known == unit).unwrap_or_default();
                if lives.is_some_and(|(other, _)| other != unit) {
                    return Err(RedisError::Syntax.into());
                }
                lives = Some((unit, options.next().ok_or(RedisError::Syntax)?));
            }
            _ => return Err(RedisError::Syntax.into()),
        }
    }
    let lives = match lives {
        None if keeps => Lives::AsBefore,
        None => Lives::Forever,
        Some(("ex", number)) => Lives::Ex(integer(number)?),
        Some(("px", number)) => Lives::Px(integer(number)?),
        Some(("exat", number)) => Lives::ExAt(integer(number)?),
        Some((_, number)) => Lives::PxAt(integer(number)?),
    };
    Ok(Command::Set { key, value: value.clone(), only, get, lives })
}

/// What is asked of a list. Of ranges and counts, the model knows those that mean all of it.
fn list(name: &str, rest: &[Value], wrong: impl Fn() -> Unread) -> Result<Command, Unread> {
    let (of, what) = match (name, rest) {
        ("rpush", [of, value]) => (of, ListCommand::Rpush(value.clone())),
        ("lpop", [of]) => (of, ListCommand::Lpop),
        ("lindex", [of, index]) => (of, ListCommand::Lindex(known(index)?)),
        ("lrange", [of, from, to]) if [from.as_bytes(), to.as_bytes()] == [b"0".as_slice(), b"-1"] => {
            (of, ListCommand::All)
        }
        ("lrem", [of, count, value]) if count.as_bytes() == b"0" => (of, ListCommand::Lrem(value.clone())),
        ("lindex" | "lrange" | "lrem", [_, _] | [_]) | (_, [] | [_]) => return Err(wrong()),
        _ => return Err(Unread::NotModelled("a part of a list, or several values in one command")),
    };
    Ok(Command::List { key: key(of)?, what })
}

/// What is asked of a sorted set.
fn sorted(name: &str, rest: &[Value], wrong: impl Fn() -> Unread) -> Result<Command, Unread> {
    let whole = |score: &Value| score.as_integer().ok_or(Unread::NotModelled("scores that are no whole numbers"));
    let (of, what) = match (name, rest) {
        ("zadd", [of, score, member]) => (of, SortedCommand::Zadd(whole(score)?, member.clone())),
        ("zscore", [of, member]) => (of, SortedCommand::Zscore(member.clone())),
        ("zincrby", [of, by, member]) => (of, SortedCommand::Zincrby(whole(by)?, member.clone())),
        ("zrem", [of, member]) => (of, SortedCommand::Zrem(member.clone())),
        ("zrange", [of, from, to]) if [from.as_bytes(), to.as_bytes()] == [b"0".as_slice(), b"-1"] => {
            (of, SortedCommand::All)
        }
        (_, [] | [_]) | ("zadd" | "zincrby" | "zrange", [_, _]) | ("zscore" | "zincrby", [_, _, _, ..]) => {
            return Err(wrong());
        }
        _ => return Err(Unread::NotModelled("a part of a sorted set, or several members in one command")),
    };
    Ok(Command::Sorted { key: key(of)?, what })
}

/// The conditions of `EXPIRE`.
fn conditions_of(words: &[Value]) -> Result<Option<ExpireIf>, Unread> {
    let mut all = Vec::new();
    for option in words {
        all.push(match word(option).as_str() {
            "nx" => ExpireIf::Nx,
            "xx" => ExpireIf::Xx,
            "gt" => ExpireIf::Gt,
            "lt" => ExpireIf::Lt,
            _ => return Err(RedisError::UnsupportedOption { option: key(option)? }.into()),
        });
    }
    let has = |one| all.contains(&one);
    let [nx, xx, gt, lt] = [ExpireIf::Nx, ExpireIf::Xx, ExpireIf::Gt, ExpireIf::Lt].map(has);
    match all.first() {
        _ if nx && (xx || gt || lt) => Err(RedisError::ExpireNxWithOther.into()),
        _ if gt && lt => Err(RedisError::ExpireGtWithLt.into()),
        _ if xx && (gt || lt) => Err(Unread::NotModelled("two conditions of EXPIRE")),
        only => Ok(only.copied()),
    }
}

/// The script of that text.
fn script(text: &Value, count: &Value, rest: &[Value]) -> Result<Script, Unread> {
    const UNKNOWN: Unread = Unread::NotModelled("this script");
    let text = std::str::from_utf8(text.as_bytes()).map_err(|_| UNKNOWN)?;
    Ok(match (text, count.as_bytes(), rest) {
        (lua::COMPARE_AND_DELETE, b"1", [of, value]) => {
            Script::CompareAndDelete { key: key(of)?, value: value.clone() }
        }
        (lua::COMPARE_AND_PEXPIRE, b"1", [of, value, px]) => {
            Script::CompareAndPexpire { key: key(of)?, value: value.clone(), px: known(px)? }
        }
        (lua::LOCK_WITH_TOKEN, b"2", [of, counter, value, px @ ..]) if px.len() <= 1 => {
            let px = px.first().map(known).transpose()?;
            Script::LockWithToken { key: key(of)?, value: value.clone(), px, counter: key(counter)? }
        }
        (lua::RAISE_COUNTER, b"2", [of, counter, value, to]) => {
            Script::RaiseCounter { key: key(of)?, value: value.clone(), counter: key(counter)?, to: known(to)? }
        }
        (lua::EXTEND_OR_CREATE, b"1", [of, value, px]) => {
            Script::ExtendOrCreate { key: key(of)?, value: value.clone(), px: known(px)? }
        }
        (lua::EXTEND_BY_ADDING, b"1", [of, value, px]) => {
            Script::ExtendByAdding { key: key(of)?, value: value.clone(), px: known(px)? }
        }
        (lua::HASH_LOCK, b"1", [of, px, owner, request @ ..]) if request.len() <= 1 => {
            let request = request.first().map(known).transpose()?;
            let request = request.and_then(|request| NonZeroU64::new(request.cast_unsigned()));
            Script::HashLock { key: key(of)?, owner: owner.clone(), px: known(px)?, request }
        }
        (lua::HASH_UNLOCK, b"1", [of, px, owner]) => {
            Script::HashUnlock { key: key(of)?, owner: owner.clone(), px: known(px)?, tells: false }
        }
        (lua::HASH_UNLOCK_AND_TELL, b"1", [of, px, owner, _]) => {
            Script::HashUnlock { key: key(of)?, owner: owner.clone(), px: known(px)?, tells: true }
        }
        (lua::FAIR_LOCK, b"3", [of, _, _, owner, px, now, slot, up, ttl]) => {
            let (queue, told) = (queue(up), if ttl.as_bytes() == b"1" { Told::NextEnd } else { Told::OwnDeadline });
            let (key, owner, px, now, slot) = (key(of)?, owner.clone(), known(px)?, known(now)?, known(slot)?);
            Script::from(FairScript::Lock { key, owner, px, now, slot, queue, told })
        }
        (lua::FAIR_UNLOCK, b"3", [of, _, _, owner, px, now, _]) => {
            Script::from(FairScript::Unlock { key: key(of)?, owner: owner.clone(), px: known(px)?, now: known(now)? })
        }
        (lua::FAIR_LEAVE, b"2", [waiting, _, owner, slot, up]) => {
            // The lock itself is none of its keys: it is named in that of the queue.
            let waiting = key(waiting)?;
            let lock = waiting.split_once('{').and_then(|(_, rest)| rest.strip_suffix('}')).ok_or(UNKNOWN)?;
            let (owner, slot, queue) = (owner.clone(), known(slot)?, queue(up));
            Script::from(FairScript::Leave { key: lock.into(), owner, slot, queue })
        }
        (lua::HASH_EXTEND, b"1", [of, px, owner]) => {
            Script::HashExtend { key: key(of)?, owner: owner.clone(), px: known(px)? }
        }
        _ => return Err(UNKNOWN),
    })
}

fn queue(moves_up: &Value) -> Queue {
    if moves_up.as_bytes() == b"1" { Queue::MovesUp } else { Queue::Drifts }
}

fn key(of: &Value) -> Result<Key, Unread> {
    let text = std::str::from_utf8(of.as_bytes()).map_err(|_| Unread::NotModelled("names that are not text"))?;
    Ok(text.into())
}

fn word(option: &Value) -> String {
    String::from_utf8_lossy(option.as_bytes()).to_lowercase()
}

fn integer(number: &Value) -> Result<i64, Unread> {
    Ok(number.as_integer().ok_or(RedisError::NotAnInteger)?)
}

/// A number of which only what is done with it would say that it is none.
fn known(number: &Value) -> Result<i64, Unread> {
    number.as_integer().ok_or(Unread::NotModelled("what comes of a number that is none"))
}
