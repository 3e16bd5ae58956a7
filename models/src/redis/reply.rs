//! What a Redis server answers.

use std::fmt;

use host::{Name, Shortage, digest_enum};

use super::Value;
use super::replication::Info;

/// A reply, as a value of RESP2.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Reply {
    /// The simple string `OK`.
    Ok,
    /// The simple string `QUEUED`: the command will run with its transaction.
    Queued,
    /// The null bulk string.
    Nil,
    /// The null array: a transaction that did not run, since a watched key had changed.
    NilArray,
    /// An integer.
    Int(i64),
    /// A bulk string.
    Bulk(Value),
    /// The replies of a transaction's commands.
    Array(Vec<Self>),
    /// An error.
    Error(RedisError),
    /// The simple string `PONG`.
    Pong,
    /// What `INFO` says.
    Info(Box<Info>),
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
    /// A field of a hash that should be an integer, and is not.
    FieldNotAnInteger,
    /// A counter that is already the largest integer.
    Overflow,
    /// A key that holds something of another type.
    WrongType,
    /// The command would write (or, for memory, grow), and the server does not.
    Refused(Refusal),
    /// `EXEC` of a transaction of which a command was refused when it was queued.
    Aborted,
    /// `EXEC` of a transaction that would write, and the server does not.
    AbortedFor(Refusal),
    /// `MULTI` within a transaction.
    NestedMulti,
    /// `WATCH` within a transaction.
    WatchInMulti,
    /// `EXEC` or `DISCARD` outside any transaction.
    WithoutMulti {
        /// The command.
        command: &'static str,
    },
    /// A connection that is subscribed asks for something else.
    Subscribed {
        /// The command, in lower case.
        command: Name,
    },
    /// Options that the command does not have, or not together.
    Syntax,
    /// Too few arguments, or too many.
    WrongNumberOfArguments {
        /// The command, in lower case.
        command: Name,
    },
    /// `EXEC` with an argument: the transaction is off.
    AbortedUncounted,
    /// `EXPIRE` with `NX` and another condition.
    ExpireNxWithOther,
    /// `EXPIRE` with `GT` and `LT`.
    ExpireGtWithLt,
    /// `EXPIRE` with a word that is no condition.
    UnsupportedOption {
        /// The word.
        option: Name,
    },
    /// `WAIT` on a replica.
    WaitOnReplica,
    /// `WAIT` for less than no time.
    NegativeTimeout,
    /// `WAIT` for a time that is no number.
    TimeoutNotAnInteger,
    /// What waited was sent away, since the server changed its role.
    Unblocked,
}

/// Why a server does not write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Its machine cannot.
    Short(Shortage),
    /// It has too few good replicas.
    NoReplicas,
    /// It is a replica.
    ReadOnly,
}

impl host::Digest for Refusal {
    fn digest(&self, fold: &mut host::Fold) {
        match self {
            Self::Short(what) => what.digest(fold),
            Self::NoReplicas => fold.word(100),
            Self::ReadOnly => fold.word(101),
        }
    }
}

digest_enum!(Reply {
    1 => Ok,
    2 => Nil,
    3 => Int(number),
    4 => Bulk(value),
    5 => Error(error),
    6 => Queued,
    7 => NilArray,
    8 => Array(replies),
    9 => Pong,
    10 => Info(info),
});
digest_enum!(RedisError {
    1 => InvalidExpire { command },
    2 => NotAnInteger,
    3 => Overflow,
    4 => FieldNotAnInteger,
    5 => WrongType,
    6 => Refused(why),
    7 => Aborted,
    8 => AbortedFor(why),
    9 => NestedMulti,
    10 => WatchInMulti,
    11 => WithoutMulti { command },
    12 => Syntax,
    13 => WrongNumberOfArguments { command },
    14 => ExpireNxWithOther,
    15 => ExpireGtWithLt,
    16 => UnsupportedOption { option },
    17 => AbortedUncounted,
    18 => Subscribed { command },
    32 => WaitOnReplica,
    33 => NegativeTimeout,
    34 => Unblocked,
    35 => TimeoutNotAnInteger,
});

impl fmt::Display for Reply {
    /// As on the wire, but for nil, strings and arrays, which are made readable.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("+OK"),
            Self::Queued => f.write_str("+QUEUED"),
            Self::Nil | Self::NilArray => f.write_str("nil"),
            Self::Int(number) => write!(f, ":{number}"),
            Self::Bulk(value) => write!(f, "{value}"),
            Self::Array(replies) => {
                f.write_str("[")?;
                for (i, reply) in replies.iter().enumerate() {
                    write!(f, "{}{reply}", if i == 0 { "" } else { ", " })?;
                }
                f.write_str("]")
            }
            Self::Error(error) => write!(f, "-{error}"),
            Self::Pong => f.write_str("+PONG"),
            Self::Info(info) => write!(f, "{info}"),
        }
    }
}

impl RedisError {
    /// The error of which a server has sent that text. `None`: the model knows no such. (In a script, the text goes on.)
    #[must_use]
    pub fn said(text: &str) -> Option<Self> {
        let all = [
            Self::InvalidExpire { command: "set" },
            Self::InvalidExpire { command: "expire" },
            Self::InvalidExpire { command: "pexpire" },
            Self::NotAnInteger,
            Self::FieldNotAnInteger,
            Self::Overflow,
            Self::WrongType,
            Self::Refused(Refusal::Short(Shortage::Disk)),
            Self::Refused(Refusal::Short(Shortage::Memory)),
            Self::Refused(Refusal::NoReplicas),
            Self::Refused(Refusal::ReadOnly),
            Self::AbortedFor(Refusal::Short(Shortage::Disk)),
            Self::AbortedFor(Refusal::Short(Shortage::Memory)),
            Self::Aborted,
            Self::NestedMulti,
            Self::WatchInMulti,
            Self::WithoutMulti { command: "EXEC" },
            Self::WithoutMulti { command: "DISCARD" },
        ];
        all.into_iter().find(|error| text.starts_with(&error.to_string()))
    }
}

impl fmt::Display for RedisError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidExpire { command } => write!(f, "ERR invalid expire time in '{command}' command"),
            Self::NotAnInteger => f.write_str("ERR value is not an integer or out of range"),
            Self::FieldNotAnInteger => f.write_str("ERR hash value is not an integer"),
            Self::Overflow => f.write_str("ERR increment or decrement would overflow"),
            Self::WrongType => f.write_str("WRONGTYPE Operation against a key holding the wrong kind of value"),
            Self::Refused(why) => f.write_str(refusal(*why)),
            Self::Aborted => f.write_str("EXECABORT Transaction discarded because of previous errors."),
            Self::AbortedFor(why) => write!(f, "EXECABORT Transaction discarded because of: {}", refusal(*why)),
            Self::NestedMulti => f.write_str("ERR MULTI calls can not be nested"),
            Self::WatchInMulti => f.write_str("ERR WATCH inside MULTI is not allowed"),
            Self::WithoutMulti { command } => write!(f, "ERR {command} without MULTI"),
            Self::Subscribed { command } => write!(
                f,
                "ERR Can't execute '{command}': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are \
                 allowed in this context"
            ),
            Self::Syntax => f.write_str("ERR syntax error"),
            Self::WrongNumberOfArguments { command } => {
                write!(f, "ERR wrong number of arguments for '{command}' command")
            }
            Self::AbortedUncounted => {
                f.write_str("EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command")
            }
            Self::ExpireNxWithOther => {
                f.write_str("ERR NX and XX, GT or LT options at the same time are not compatible")
            }
            Self::ExpireGtWithLt => f.write_str("ERR GT and LT options at the same time are not compatible"),
            Self::UnsupportedOption { option } => write!(f, "ERR Unsupported option {option}"),
            Self::WaitOnReplica => f.write_str(
                "ERR WAIT cannot be used with replica instances. Please also note that since Redis 4.0 if a replica is \
                 configured to be writable (which is not the default) writes to replicas are just local and are not \
                 propagated.",
            ),
            Self::NegativeTimeout => f.write_str("ERR timeout is negative"),
            Self::TimeoutNotAnInteger => f.write_str("ERR timeout is not an integer or out of range"),
            Self::Unblocked => f.write_str(
                "UNBLOCKED force unblock from blocking operation, instance state changed (master -> replica?)",
            ),
        }
    }
}

const fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::NoReplicas => "NOREPLICAS Not enough good replicas to write.",
        Refusal::ReadOnly => "READONLY You can't write against a read only replica.",
        Refusal::Short(Shortage::Disk) => {
            "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk. \
             Commands that may modify the data set are disabled, because this instance is configured to report \
             errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the \
             Redis logs for details about the RDB error."
        }
        Refusal::Short(Shortage::Memory) => "OOM command not allowed when used memory > 'maxmemory'.",
    }
}
