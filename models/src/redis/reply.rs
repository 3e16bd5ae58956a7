//! What a Redis server answers.

use std::fmt;

use host::digest_enum;

use super::Value;

/// A reply, as a value of RESP2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The simple string `OK`.
    Ok,
    /// The null bulk string.
    Nil,
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Value),
    /// An error.
    Error(RedisError),
}

/// An error reply, by its cause; printed, it is Redis's text.
///
/// In a script, Redis appends the script's digest and line to the text: that suffix is left out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RedisError {
    /// A time to live that is not positive, or too large to be added to the time.
    InvalidExpire {
        /// The command that was given it.
        command: &'static str,
    },
    /// A value that should be an integer, and is not.
    NotAnInteger,
    /// A counter that is already the largest integer.
    Overflow,
}

digest_enum!(Reply { 1 => Ok, 2 => Nil, 3 => Int(number), 4 => Bulk(value), 5 => Error(error) });
digest_enum!(RedisError { 1 => InvalidExpire { command }, 2 => NotAnInteger, 3 => Overflow });

impl fmt::Display for Reply {
    /// As on the wire, but for nil and for strings, which are made readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("+OK"),
            Self::Nil => f.write_str("nil"),
            Self::Int(number) => write!(f, ":{number}"),
            Self::Bulk(value) => write!(f, "{value}"),
            Self::Error(error) => write!(f, "-{error}"),
        }
    }
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidExpire { command } => write!(f, "ERR invalid expire time in '{command}' command"),
            Self::NotAnInteger => f.write_str("ERR value is not an integer or out of range"),
            Self::Overflow => f.write_str("ERR increment or decrement would overflow"),
        }
    }
}
