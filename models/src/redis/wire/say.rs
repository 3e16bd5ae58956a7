//! From a command to what a client sends.

use super::lua;
use crate::redis::{Command, ExpireIf, Key, Length, Lives, Malformed, Script, SetIf, Value};

impl Command {
    /// The command's name and arguments, as a client sends them.
    #[must_use]
    pub fn to_args(&self) -> Vec<Value> {
        match self {
            Self::Set { key, value, only, get, lives } => {
                let mut args = vec!["SET".into(), of(key), value.clone()];
                args.extend(only.map(|only| if only == SetIf::Nx { "NX".into() } else { "XX".into() }));
                args.extend(get.then(|| "GET".into()));
                args.extend(lives_of(*lives));
                args
            }
            Self::Setnx { key, value } => vec!["SETNX".into(), of(key), value.clone()],
            Self::Get { key } => vec!["GET".into(), of(key)],
            Self::Del { key } => vec!["DEL".into(), of(key)],
            Self::Exists { key } => vec!["EXISTS".into(), of(key)],
            Self::Expire { key, length, only } => {
                let (name, length) = match length {
                    Length::Seconds(seconds) => ("EXPIRE", *seconds),
                    Length::Millis(millis) => ("PEXPIRE", *millis),
                };
                let mut args = vec![name.into(), of(key), length.into()];
                args.extend(only.map(|only| Value::from(condition(only))));
                args
            }
            Self::Persist { key } => vec!["PERSIST".into(), of(key)],
            Self::Ttl { key } => vec!["TTL".into(), of(key)],
            Self::Pttl { key } => vec!["PTTL".into(), of(key)],
            Self::Pexpiretime { key } => vec!["PEXPIRETIME".into(), of(key)],
            Self::Incr { key } => vec!["INCR".into(), of(key)],
            Self::Hset { key, field, value } => vec!["HSET".into(), of(key), field.clone(), value.clone()],
            Self::Hget { key, field } => vec!["HGET".into(), of(key), field.clone()],
            Self::Hexists { key, field } => vec!["HEXISTS".into(), of(key), field.clone()],
            Self::Hdel { key, field } => vec!["HDEL".into(), of(key), field.clone()],
            Self::Hincrby { key, field, by } => vec!["HINCRBY".into(), of(key), field.clone(), (*by).into()],
            Self::Eval(script) => script.to_args(),
            Self::Multi => vec!["MULTI".into()],
            Self::Exec => vec!["EXEC".into()],
            Self::Discard => vec!["DISCARD".into()],
            Self::Watch { key } => vec!["WATCH".into(), of(key)],
            Self::Unwatch => vec!["UNWATCH".into()],
            Self::Malformed(Malformed { args, .. }) => args.clone(),
            Self::Ping => vec!["PING".into()],
            Self::Info => vec!["INFO".into()],
            Self::Role => vec!["ROLE".into()],
            Self::Wait { replicas, timeout } => vec!["WAIT".into(), (*replicas).into(), (*timeout).into()],
            Self::ReplicaOf { primary: None } => vec!["REPLICAOF".into(), "NO".into(), "ONE".into()],
            // Who stands at that address is the world's to know.
            Self::ReplicaOf { primary: Some(primary) } => vec!["REPLICAOF".into(), node(*primary), "6379".into()],
            Self::ConfigRewrite => vec!["CONFIG".into(), "REWRITE".into()],
            Self::ClientKill => ["CLIENT", "KILL", "TYPE", "normal"].map(Value::from).to_vec(),
            Self::Psync { offset, .. } => vec!["PSYNC".into(), "?".into(), number(*offset)],
            Self::ReplconfAck { offset } => vec!["REPLCONF".into(), "ACK".into(), number(*offset)],
        }
    }
}

fn node(node: host::NodeId) -> Value {
    format!("{node:?}").as_str().into()
}

fn number(number: u64) -> Value {
    number.to_string().as_str().into()
}

impl Script {
    fn to_args(&self) -> Vec<Value> {
        let (text, keys, args): (_, Vec<&Key>, Vec<Value>) = match self {
            Self::CompareAndDelete { key, value } => (lua::COMPARE_AND_DELETE, vec![key], vec![value.clone()]),
            Self::CompareAndPexpire { key, value, px } => {
                (lua::COMPARE_AND_PEXPIRE, vec![key], vec![value.clone(), (*px).into()])
            }
            Self::LockWithToken { key, value, px, counter } => {
                let args = [Some(value.clone()), px.map(Value::from)].into_iter().flatten();
                (lua::LOCK_WITH_TOKEN, vec![key, counter], args.collect())
            }
            Self::ExtendOrCreate { key, value, px } => {
                (lua::EXTEND_OR_CREATE, vec![key], vec![value.clone(), (*px).into()])
            }
            Self::ExtendByAdding { key, value, px } => {
                (lua::EXTEND_BY_ADDING, vec![key], vec![value.clone(), (*px).into()])
            }
            Self::HashLock { key, owner, px, request } => {
                let request = request.map(|request| Value::from(request.get().cast_signed()));
                let args = [Some((*px).into()), Some(owner.clone()), request].into_iter().flatten();
                (lua::HASH_LOCK, vec![key], args.collect())
            }
            Self::HashUnlock { key, owner, px } => (lua::HASH_UNLOCK, vec![key], vec![(*px).into(), owner.clone()]),
            Self::HashExtend { key, owner, px } => (lua::HASH_EXTEND, vec![key], vec![(*px).into(), owner.clone()]),
        };
        let count = Value::from(keys.len().to_string().as_str());
        let keys = keys.into_iter().map(of);
        ["EVAL".into(), text.into(), count].into_iter().chain(keys).chain(args).collect()
    }
}

fn of(key: &Key) -> Value {
    key.as_str().into()
}

fn lives_of(lives: Lives) -> Vec<Value> {
    match lives {
        Lives::Forever => Vec::new(),
        Lives::Ex(seconds) => vec!["EX".into(), seconds.into()],
        Lives::Px(millis) => vec!["PX".into(), millis.into()],
        Lives::ExAt(seconds) => vec!["EXAT".into(), seconds.into()],
        Lives::PxAt(millis) => vec!["PXAT".into(), millis.into()],
        Lives::AsBefore => vec!["KEEPTTL".into()],
    }
}

const fn condition(only: ExpireIf) -> &'static str {
    match only {
        ExpireIf::Nx => "NX",
        ExpireIf::Xx => "XX",
        ExpireIf::Gt => "GT",
        ExpireIf::Lt => "LT",
    }
}
