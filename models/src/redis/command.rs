//! The commands that the model answers, typed.
//!
//! A typed command cannot be malformed: what Redis refuses for its form, as `NX XX` or `PX 1.5`, is a variant of
//! its own, and only made of [arguments](Command::from_args). Two conditions of `EXPIRE` at once are not modelled.
//! The scripts of locks are commands too, each a variant of [`Script`].

use std::fmt;

use host::{Digest, Fold, NodeId, Operation, Request, digest_enum};

use super::collections::On;
use super::replication::feed::History;
use super::{ListCommand, Published, RedisError, Reply, Script, SortedCommand, Value};

/// The name of a key. (Redis takes any bytes; the keys of locks are text.)
pub type Key = host::Name;

/// A request to a Redis server.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Command {
    /// `SET key value [NX|XX] [GET] [EX s|PX ms|EXAT s|PXAT ms|KEEPTTL]`
    Set {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
        /// Only in this case.
        only: Option<SetIf>,
        /// Whether to answer with the old value.
        get: bool,
        /// How long the key lives.
        lives: Lives,
    },
    /// `SETNX key value`
    Setnx {
        /// Which key.
        key: Key,
        /// Its new value.
        value: Value,
    },
    /// `GET key`
    Get {
        /// Which key.
        key: Key,
    },
    /// `DEL key`
    Del {
        /// Which key.
        key: Key,
    },
    /// `EXISTS key`
    Exists {
        /// Which key.
        key: Key,
    },
    /// `EXPIRE key s [NX|XX|GT|LT]`, or `PEXPIRE` with ms
    Expire {
        /// Which key.
        key: Key,
        /// Its new time to live.
        length: Length,
        /// Only in this case.
        only: Option<ExpireIf>,
    },
    /// `PERSIST key`
    Persist {
        /// Which key.
        key: Key,
    },
    /// `TTL key`: in seconds, rounded to the nearest.
    Ttl {
        /// Which key.
        key: Key,
    },
    /// `PTTL key`: in ms.
    Pttl {
        /// Which key.
        key: Key,
    },
    /// `PEXPIRETIME key`: its deadline, in ms since 1970.
    Pexpiretime {
        /// Which key.
        key: Key,
    },
    /// `INCR key`
    Incr {
        /// Which key.
        key: Key,
    },
    /// `HSET key field value`
    Hset {
        /// Which key.
        key: Key,
        /// Which field.
        field: Value,
        /// Its new value.
        value: Value,
    },
    /// `HGET key field`
    Hget {
        /// Which key.
        key: Key,
        /// Which field.
        field: Value,
    },
    /// `HEXISTS key field`
    Hexists {
        /// Which key.
        key: Key,
        /// Which field.
        field: Value,
    },
    /// `HDEL key field`
    Hdel {
        /// Which key.
        key: Key,
        /// Which field.
        field: Value,
    },
    /// `HINCRBY key field by`
    Hincrby {
        /// Which key.
        key: Key,
        /// Which field.
        field: Value,
        /// How much more.
        by: i64,
    },
    /// What is asked of a list.
    List {
        /// Which key.
        key: Key,
        /// What.
        what: ListCommand,
    },
    /// What is asked of a sorted set.
    Sorted {
        /// Which key.
        key: Key,
        /// What.
        what: SortedCommand,
    },
    /// `SUBSCRIBE channel`
    Subscribe {
        /// To which channel.
        channel: Value,
    },
    /// `PUBLISH channel message`
    Publish {
        /// On which channel.
        channel: Value,
        /// What is said.
        message: Value,
    },
    /// `EVAL script …`
    Eval(Script),
    /// `MULTI`
    Multi,
    /// `EXEC`
    Exec,
    /// `DISCARD`
    Discard,
    /// `WATCH key`
    Watch {
        /// Which key.
        key: Key,
    },
    /// `UNWATCH`
    Unwatch,
    /// `PING`
    Ping,
    /// `INFO`
    Info,
    /// `ROLE`
    Role,
    /// `WAIT replicas ms`
    Wait {
        /// So many replicas are to have what this client has written.
        replicas: i64,
        /// Or so much time is to pass, in ms; 0: no end.
        timeout: i64,
    },
    /// `REPLICAOF host port`, or `NO ONE`
    ReplicaOf {
        /// Whose replica the server becomes.
        primary: Option<NodeId>,
    },
    /// `CONFIG REWRITE`
    ConfigRewrite,
    /// `CLIENT KILL TYPE normal`
    ClientKill,
    /// `PSYNC`: what a replica asks its primary for.
    Psync {
        /// Which stream it has followed.
        history: History,
        /// How much of it the replica has.
        offset: u64,
        /// Who asks.
        replica: NodeId,
    },
    /// `REPLCONF ACK`: how far a replica is. It is not answered.
    ReplconfAck {
        /// How far.
        offset: u64,
    },
    /// A command that Redis knows, with arguments that it does not take.
    Malformed(Malformed),
}

/// Arguments that Redis refuses for their form.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// The command's name, and what follows it.
    pub args: Vec<Value>,
    /// What Redis says to it.
    pub error: RedisError,
    /// Whether `MULTI` queues it all the same: it looks at the number of arguments alone.
    pub queues: bool,
}

/// When `SET` sets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SetIf {
    /// If the key does not exist.
    Nx,
    /// If it does.
    Xx,
}

/// When `EXPIRE` changes anything. A key without a time to live counts as one that lives for ever.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ExpireIf {
    /// If the key has no time to live.
    Nx,
    /// If it has one.
    Xx,
    /// If it then lives longer.
    Gt,
    /// If it then lives less long.
    Lt,
}

/// A time to live, in the unit in which it is given: the unit decides the command's name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Length {
    /// So many seconds.
    Seconds(i64),
    /// So many milliseconds.
    Millis(i64),
}

/// How long a key lives that `SET` has set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Lives {
    /// Until it is deleted.
    Forever,
    /// So many seconds from now.
    Ex(i64),
    /// So many milliseconds from now.
    Px(i64),
    /// Until the wall clock reads so many seconds since 1970.
    ExAt(i64),
    /// Until the wall clock reads so many milliseconds since 1970.
    PxAt(i64),
    /// `KEEPTTL`: as long as it would have lived.
    AsBefore,
}

impl Request for Command {
    type Reply = Reply;
    type Push = Published;
}

impl Command {
    /// How locks take their key: `SET key value NX [PX px]`.
    #[must_use]
    pub const fn set_nx(key: Key, value: Value, px: Option<i64>) -> Self {
        Self::Set { key, value, only: Some(SetIf::Nx), get: false, lives: Lives::px(px) }
    }

    /// `PEXPIRE key px`
    #[must_use]
    pub const fn pexpire(key: Key, px: i64) -> Self {
        Self::Expire { key, length: Length::Millis(px), only: None }
    }

    /// The name by which faults know it: what a lock wants of it, else the command's own.
    #[must_use]
    pub const fn operation(&self) -> Operation {
        Operation(match self {
            Self::Set { .. } | Self::Setnx { .. } => "set",
            Self::Expire { .. } => "renew",
            Self::Del { .. } => "release",
            Self::Eval(script) => script.operation(),
            Self::Get { .. } => "get",
            Self::Exists { .. } => "exists",
            Self::Persist { .. } => "persist",
            Self::Ttl { .. } => "ttl",
            Self::Pttl { .. } => "pttl",
            Self::Pexpiretime { .. } => "pexpiretime",
            Self::Incr { .. } => "incr",
            Self::Hset { .. } => "hset",
            Self::Hget { .. } => "hget",
            Self::Hexists { .. } => "hexists",
            Self::Hdel { .. } => "hdel",
            Self::Hincrby { .. } => "hincrby",
            Self::List { what, .. } => what.verb(),
            Self::Sorted { what, .. } => what.verb(),
            Self::Subscribe { .. } => "subscribe",
            Self::Publish { .. } => "publish",
            Self::Multi => "multi",
            Self::Exec => "exec",
            Self::Discard => "discard",
            Self::Watch { .. } => "watch",
            Self::Unwatch => "unwatch",
            Self::Malformed(_) => "malformed",
            Self::Ping => "ping",
            Self::Info => "info",
            Self::Role => "role",
            Self::Wait { .. } => "wait",
            Self::ReplicaOf { .. } => "replicaof",
            Self::ConfigRewrite => "config-rewrite",
            Self::ClientKill => "client-kill",
            Self::Psync { .. } => "psync",
            Self::ReplconfAck { .. } => "ack",
        })
    }
}

impl From<Script> for Command {
    fn from(script: Script) -> Self {
        Self::Eval(script)
    }
}

impl Lives {
    /// So many ms; without a number, for ever.
    #[must_use]
    pub const fn px(px: Option<i64>) -> Self {
        match px {
            Some(px) => Self::Px(px),
            None => Self::Forever,
        }
    }
}

impl Length {
    /// In ms; `None` if that is no 64-bit number.
    #[must_use]
    pub const fn millis(self) -> Option<i64> {
        match self {
            Self::Seconds(seconds) => seconds.checked_mul(1_000),
            Self::Millis(millis) => Some(millis),
        }
    }
}

digest_enum!(Command {
    1 => Set { key, value, only, get, lives },
    2 => Setnx { key, value },
    3 => Get { key },
    4 => Del { key },
    5 => Exists { key },
    6 => Expire { key, length, only },
    7 => Persist { key },
    8 => Ttl { key },
    9 => Pttl { key },
    10 => Incr { key },
    11 => Hset { key, field, value },
    12 => Hget { key, field },
    13 => Hexists { key, field },
    14 => Hdel { key, field },
    15 => Hincrby { key, field, by },
    16 => Eval(script),
    17 => Multi,
    18 => Exec,
    19 => Discard,
    20 => Watch { key },
    21 => Unwatch,
    22 => Pexpiretime { key },
    23 => Malformed(malformed),
    24 => List { key, what },
    25 => Sorted { key, what },
    26 => Subscribe { channel },
    27 => Publish { channel, message },
    30 => Ping,
    31 => Info,
    32 => Role,
    33 => Wait { replicas, timeout },
    34 => ReplicaOf { primary },
    35 => ConfigRewrite,
    36 => ClientKill,
    37 => Psync { history, offset, replica },
    38 => ReplconfAck { offset },
});

impl Digest for Malformed {
    fn digest(&self, fold: &mut Fold) {
        // What is wrong with them follows from the arguments.
        self.args.digest(fold);
    }
}

digest_enum!(SetIf { 1 => Nx, 2 => Xx });
digest_enum!(ExpireIf { 1 => Nx, 2 => Xx, 3 => Gt, 4 => Lt });
digest_enum!(Length { 1 => Seconds(seconds), 2 => Millis(millis) });
digest_enum!(Lives { 1 => Forever, 2 => Ex(s), 3 => Px(ms), 4 => ExAt(s), 5 => PxAt(ms), 6 => AsBefore });

impl fmt::Display for Command {
    /// As one would type it, scripts by their names.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Set { key, value, only, get, lives } => {
                write!(f, "SET {key} {value}")?;
                match only {
                    Some(SetIf::Nx) => f.write_str(" NX")?,
                    Some(SetIf::Xx) => f.write_str(" XX")?,
                    None => {}
                }
                f.write_str(if *get { " GET" } else { "" })?;
                lives.fmt(f)
            }
            Self::Setnx { key, value } => write!(f, "SETNX {key} {value}"),
            Self::Get { key } => write!(f, "GET {key}"),
            Self::Del { key } => write!(f, "DEL {key}"),
            Self::Exists { key } => write!(f, "EXISTS {key}"),
            Self::Expire { key, length, only } => {
                match length {
                    Length::Seconds(seconds) => write!(f, "EXPIRE {key} {seconds}")?,
                    Length::Millis(millis) => write!(f, "PEXPIRE {key} {millis}")?,
                }
                f.write_str(match only {
                    None => "",
                    Some(ExpireIf::Nx) => " NX",
                    Some(ExpireIf::Xx) => " XX",
                    Some(ExpireIf::Gt) => " GT",
                    Some(ExpireIf::Lt) => " LT",
                })
            }
            Self::Persist { key } => write!(f, "PERSIST {key}"),
            Self::Ttl { key } => write!(f, "TTL {key}"),
            Self::Pttl { key } => write!(f, "PTTL {key}"),
            Self::Pexpiretime { key } => write!(f, "PEXPIRETIME {key}"),
            Self::Incr { key } => write!(f, "INCR {key}"),
            Self::Hset { key, field, value } => write!(f, "HSET {key} {field} {value}"),
            Self::Hget { key, field } => write!(f, "HGET {key} {field}"),
            Self::Hexists { key, field } => write!(f, "HEXISTS {key} {field}"),
            Self::Hdel { key, field } => write!(f, "HDEL {key} {field}"),
            Self::Hincrby { key, field, by } => write!(f, "HINCRBY {key} {field} {by}"),
            Self::List { key, what } => On(key, what).fmt(f),
            Self::Sorted { key, what } => On(key, what).fmt(f),
            Self::Subscribe { channel } => write!(f, "SUBSCRIBE {channel}"),
            Self::Publish { channel, message } => write!(f, "PUBLISH {channel} {message}"),
            Self::Eval(script) => write!(f, "EVAL {script}"),
            Self::Multi => f.write_str("MULTI"),
            Self::Exec => f.write_str("EXEC"),
            Self::Discard => f.write_str("DISCARD"),
            Self::Watch { key } => write!(f, "WATCH {key}"),
            Self::Unwatch => f.write_str("UNWATCH"),
            Self::Malformed(Malformed { args, .. }) => {
                args.iter().enumerate().try_for_each(|(i, arg)| write!(f, "{}{arg}", if i == 0 { "" } else { " " }))
            }
            Self::Ping => f.write_str("PING"),
            Self::Info => f.write_str("INFO"),
            Self::Role => f.write_str("ROLE"),
            Self::Wait { replicas, timeout } => write!(f, "WAIT {replicas} {timeout}"),
            Self::ReplicaOf { primary: None } => f.write_str("REPLICAOF NO ONE"),
            Self::ReplicaOf { primary: Some(primary) } => write!(f, "REPLICAOF {primary:?}"),
            Self::ConfigRewrite => f.write_str("CONFIG REWRITE"),
            Self::ClientKill => f.write_str("CLIENT KILL TYPE normal"),
            Self::Psync { offset, .. } => write!(f, "PSYNC {offset}"),
            Self::ReplconfAck { offset } => write!(f, "REPLCONF ACK {offset}"),
        }
    }
}

impl fmt::Display for Lives {
    /// As an option of `SET`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forever => Ok(()),
            Self::Ex(seconds) => write!(f, " EX {seconds}"),
            Self::Px(millis) => write!(f, " PX {millis}"),
            Self::ExAt(seconds) => write!(f, " EXAT {seconds}"),
            Self::PxAt(millis) => write!(f, " PXAT {millis}"),
            Self::AsBefore => f.write_str(" KEEPTTL"),
        }
    }
}
