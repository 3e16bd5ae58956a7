//! The scripts that locks send, each with what it does in Lua.
//!
//! What counts of a script is that its commands run in one step, on one reading of the clock, and that the language
//! [knows no integers](in_lua). The text of the language, its interpreter and `EVALSHA` are not modelled: a
//! script is known by its name.

use std::fmt;
use std::num::NonZeroU64;

use host::digest_enum;

use super::execute::Step;
use super::fair::{UNLOCKED, channel_of};
use super::{Command, FairScript, Key, Lives, RedisError, Reply, Value};

/// A script of a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Script {
    /// `if get(key) == value then return del(key) else return 0 end`
    ///
    /// The release script of <https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/>.
    CompareAndDelete {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
    },
    /// `if get(key) == value then return pexpire(key, px) else return 0 end`
    ///
    /// The same page's way to extend a lock.
    CompareAndPexpire {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
        /// Its new time to live in ms.
        px: i64,
    },
    /// `if set(key, value, 'NX', 'PX', px) then return incr(counter) else return nil end`
    LockWithToken {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// Its time to live in ms; without it, the key does not expire.
        px: Option<i64>,
        /// The key that counts the grants.
        counter: Key,
    },
    /// `if get(key) ~= value then return 0 end; if (tonumber(get(counter)) or 0) < to then set(counter, to) end; `
    /// `return 1`
    ///
    /// Our own: the write-back of a number that was read from a majority.
    RaiseCounter {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
        /// The key that counts the grants.
        counter: Key,
        /// What it has at least from now on.
        to: i64,
    },
    /// `if get(key) == value or exists(key) == 0 then return set(key, value, 'PX', px) else return nil end`
    ///
    /// The lock script of `leandromoreira/redlock-rb` when it extends, before its issue 36.
    ExtendOrCreate {
        /// Which key.
        key: Key,
        /// What it must hold, and will.
        value: Value,
        /// Its new time to live in ms.
        px: i64,
    },
    /// `if get(key) ~= value then return 0 end; local left = pttl(key); if left < 0 then left = 0 end; `
    /// `pexpire(key, left + px); return left + px`
    ///
    /// The extend script of redis-py, `replace_ttl` unset, but for the answer (redis-py's is 1).
    ExtendByAdding {
        /// Which key.
        key: Key,
        /// What it must hold.
        value: Value,
        /// By how many ms it is to live longer.
        px: i64,
    },
    /// `if exists(key) == 0 or hexists(key, owner) == 1 then hincrby(key, owner, 1); pexpire(key, px); return `
    /// `nil end; return pttl(key)`
    ///
    /// The lock script of Redisson's `RLock`. With a request's name, one that ran already changes nothing:
    /// `if hget(key, 'request') == request then return nil end` goes before, `hset(key, 'request', request)`
    /// after the count.
    HashLock {
        /// Which key.
        key: Key,
        /// The field that counts this owner's entries.
        owner: Value,
        /// The key's time to live in ms.
        px: i64,
        /// The request's name, if it is not to count twice.
        request: Option<NonZeroU64>,
    },
    /// `if hexists(key, owner) == 0 then return nil end; if hincrby(key, owner, -1) > 0 then pexpire(key, px); `
    /// `return 0 else del(key); return 1 end`
    ///
    /// The unlock script of Redisson's `RLock`. Those that wait may be told:
    /// `publish(channel, '0')` goes after the `del`.
    HashUnlock {
        /// Which key.
        key: Key,
        /// The field that counts this owner's entries.
        owner: Value,
        /// The key's time to live in ms if entries are left.
        px: i64,
        /// Whether those that wait are told, on the channel of the lock.
        tells: bool,
    },
    /// `if hexists(key, owner) == 1 then pexpire(key, px); return 1 else return 0 end`
    ///
    /// The renewal script of Redisson's watchdog.
    HashExtend {
        /// Which key.
        key: Key,
        /// The field that counts this owner's entries.
        owner: Value,
        /// The key's new time to live in ms.
        px: i64,
    },
    /// A script of Redisson's fair lock, which has much to say.
    Fair(Box<FairScript>),
}

/// The field of a lock's hash that holds the last request's name.
const REQUEST: &str = "request";

impl Script {
    /// The name by which faults know it: what a lock wants of it.
    #[must_use]
    pub const fn operation(&self) -> &'static str {
        match self {
            Self::LockWithToken { .. } | Self::HashLock { .. } => "set",
            Self::RaiseCounter { .. } => "raise",
            Self::CompareAndDelete { .. } | Self::HashUnlock { .. } => "release",
            Self::CompareAndPexpire { .. }
            | Self::ExtendOrCreate { .. }
            | Self::ExtendByAdding { .. }
            | Self::HashExtend { .. } => "renew",
            Self::Fair(script) => script.operation(),
        }
    }

    pub(super) fn run(self, step: &mut Step<'_>) -> Result<Reply, RedisError> {
        match self {
            Self::CompareAndDelete { key, value } => {
                if step.holds(&key, &value)? {
                    step.run(Command::Del { key })
                } else {
                    Ok(Reply::Int(0))
                }
            }
            Self::CompareAndPexpire { key, value, px } => {
                if step.holds(&key, &value)? {
                    step.run(Command::pexpire(key, px))
                } else {
                    Ok(Reply::Int(0))
                }
            }
            Self::LockWithToken { key, value, px, counter } => match step.run(Command::set_nx(key, value, px))? {
                Reply::Ok => match step.run(Command::Incr { key: counter })? {
                    Reply::Int(count) => Ok(Reply::Int(in_lua(count.into()))),
                    other => Ok(other),
                },
                refused => Ok(refused),
            },
            Self::RaiseCounter { key, value, counter, to } => {
                if !step.holds(&key, &value)? {
                    return Ok(Reply::Int(0));
                }
                step.raise(counter, to)?;
                Ok(Reply::Int(1))
            }
            Self::ExtendOrCreate { key, value, px } => {
                if !step.holds(&key, &value)? && step.exists(&key) {
                    return Ok(Reply::Nil);
                }
                let lives = Lives::Px(px);
                step.run(Command::Set { key, value, only: None, get: false, lives })
            }
            Self::ExtendByAdding { key, value, px } => {
                if !step.holds(&key, &value)? {
                    return Ok(Reply::Int(0));
                }
                // What does not expire has nothing left to be added to.
                let left = in_lua(step.pttl(&key).max(0).into());
                let length = in_lua(i128::from(left) + i128::from(in_lua(px.into())));
                if length.unsigned_abs() >= LONGEST_WRITTEN_OUT {
                    return Err(RedisError::NotAnInteger);
                }
                step.run(Command::pexpire(key, length))?;
                Ok(Reply::Int(length))
            }
            Self::HashLock { key, owner, px, request } => hash_lock(step, key, owner, px, request),
            Self::HashUnlock { key, owner, px, tells } => {
                if step.hget(&key, &owner)?.is_none() {
                    return Ok(Reply::Nil);
                }
                if step.hincrby(key, owner, -1)? > 0 {
                    step.run(Command::pexpire(key, px))?;
                    return Ok(Reply::Int(0));
                }
                let deleted = step.run(Command::Del { key })?;
                if tells {
                    step.publish(&channel_of(&key), &UNLOCKED.into());
                }
                Ok(deleted)
            }
            Self::Fair(script) => script.run(step),
            Self::HashExtend { key, owner, px } => match step.hget(&key, &owner)? {
                Some(_) => step.run(Command::pexpire(key, px)),
                None => Ok(Reply::Int(0)),
            },
        }
    }
}

fn hash_lock(
    step: &mut Step<'_>,
    key: Key,
    owner: Value,
    px: i64,
    request: Option<NonZeroU64>,
) -> Result<Reply, RedisError> {
    let request = request.map(|request| Value::from(request.get().cast_signed()));
    if let Some(request) = &request
        && step.hget(&key, &REQUEST.into())?.as_ref() == Some(request)
    {
        return Ok(Reply::Nil);
    }
    if step.exists(&key) && step.hget(&key, &owner)?.is_none() {
        return Ok(Reply::Int(in_lua(step.pttl(&key).into())));
    }
    step.hincrby(key, owner, 1)?;
    if let Some(value) = request {
        step.run(Command::Hset { key, field: REQUEST.into(), value })?;
    }
    step.own(&key);
    step.run(Command::pexpire(key, px))?;
    Ok(Reply::Nil)
}

/// A number as it comes out of a script. Lua's are binary floating point with 53 bits: a counter above 2^53 gives
/// some tokens twice, and skips others.
///
/// What is too large for 64 bits again becomes the least of them, as on every machine of the x86 family.
const fn in_lua(number: i128) -> i64 {
    let magnitude = number.unsigned_abs();
    let spare = (u128::BITS - magnitude.leading_zeros()).saturating_sub(53);
    let unit = 1 << spare;
    let (kept, rest) = (magnitude / unit, magnitude % unit);
    // To the nearest, in the middle to the even one.
    let up = rest * 2 > unit || rest * 2 == unit && kept % 2 == 1;
    let rounded = (kept + up as u128) * unit;
    match (number < 0, rounded) {
        (false, ..=0x7fff_ffff_ffff_ffff) => rounded as i64,
        (true, ..=0x7fff_ffff_ffff_ffff) => -(rounded as i64),
        _ => i64::MIN,
    }
}

/// From here on, Lua writes numbers with an exponent, which Redis does not take for integers.
const LONGEST_WRITTEN_OUT: u64 = 100_000_000_000_000_000;

impl From<FairScript> for Script {
    fn from(script: FairScript) -> Self {
        Self::Fair(Box::new(script))
    }
}

digest_enum!(Script {
    1 => CompareAndDelete { key, value },
    2 => CompareAndPexpire { key, value, px },
    3 => LockWithToken { key, value, px, counter },
    4 => ExtendOrCreate { key, value, px },
    5 => ExtendByAdding { key, value, px },
    6 => HashLock { key, owner, px, request },
    7 => HashUnlock { key, owner, px, tells },
    8 => HashExtend { key, owner, px },
    9 => Fair(script),
    10 => RaiseCounter { key, value, counter, to },
});

impl fmt::Display for Script {
    /// Its name, keys and arguments.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CompareAndDelete { key, value } => write!(f, "compare-and-delete {key} {value}"),
            Self::CompareAndPexpire { key, value, px } => write!(f, "compare-and-pexpire {key} {value} {px}"),
            Self::LockWithToken { key, value, px, counter } => {
                write!(f, "lock-with-token {key} {counter} {value}{}", Lives::px(*px))
            }
            Self::RaiseCounter { key, value, counter, to } => write!(f, "raise-counter {key} {counter} {value} {to}"),
            Self::ExtendOrCreate { key, value, px } => write!(f, "extend-or-create {key} {value} {px}"),
            Self::ExtendByAdding { key, value, px } => write!(f, "extend-by-adding {key} {value} {px}"),
            Self::HashLock { key, owner, px, request } => {
                write!(f, "hash-lock {key} {owner} {px}")?;
                request.map_or(Ok(()), |request| write!(f, " {request}"))
            }
            Self::HashUnlock { key, owner, px, .. } => write!(f, "hash-unlock {key} {owner} {px}"),
            Self::Fair(script) => script.fmt(f),
            Self::HashExtend { key, owner, px } => write!(f, "hash-extend {key} {owner} {px}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::in_lua;

    #[test]
    fn numbers_of_more_than_53_bits_come_out_of_a_script_rounded() {
        const EXACT: i64 = 1 << 53;
        for (number, out) in [
            (0, 0),
            (-7, -7),
            (EXACT, EXACT),
            (EXACT + 1, EXACT),
            (EXACT + 2, EXACT + 2),
            (EXACT + 3, EXACT + 4),
            (-EXACT - 1, -EXACT),
            (-i64::MAX, i64::MIN),
            (i64::MIN, i64::MIN),
            // It becomes 2^63, which has no place.
            (i64::MAX, i64::MIN),
            (i64::MAX - 1_023, i64::MAX - 1_023),
        ] {
            assert_eq!(in_lua(number.into()), out, "{number}");
        }
    }
}
