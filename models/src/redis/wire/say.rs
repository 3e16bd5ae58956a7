//! From a command to what a client sends.

use super::lua;
use host::Name;

use crate::redis::fair::{channel_of, deadlines_of, queue_of};
use crate::redis::{
    Command, ExpireIf, FairScript, Key, Length, ListCommand, Lives, Malformed, Queue, Script, SetIf, SortedCommand,
    Told, Value,
};

impl Command {
    /// Redis's name of it, in lower case.
    pub(in crate::redis) fn name(&self) -> Name {
        let args = self.to_args();
        args.first().map_or_else(String::new, |name| String::from_utf8_lossy(name.as_bytes()).to_lowercase()).into()
    }

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
            Self::List { key, what } => list(of(key), what),
            Self::Sorted { key, what } => sorted(of(key), what),
            Self::Subscribe { channel } => vec!["SUBSCRIBE".into(), channel.clone()],
            Self::Publish { channel, message } => vec!["PUBLISH".into(), channel.clone(), message.clone()],
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
            Self::RaiseCounter { key, value, counter, to } => {
                (lua::RAISE_COUNTER, vec![key, counter], vec![value.clone(), (*to).into()])
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
            Self::HashUnlock { key, owner, px, tells } => {
                let text = if *tells { lua::HASH_UNLOCK_AND_TELL } else { lua::HASH_UNLOCK };
                let channel = tells.then(|| channel_of(key));
                let args = [Some((*px).into()), Some(owner.clone()), channel].into_iter().flatten();
                (text, vec![key], args.collect())
            }
            Self::Fair(script) => return script.to_args(),
            Self::HashExtend { key, owner, px } => (lua::HASH_EXTEND, vec![key], vec![(*px).into(), owner.clone()]),
        };
        let count = Value::from(keys.len().to_string().as_str());
        let keys = keys.into_iter().map(of);
        ["EVAL".into(), text.into(), count].into_iter().chain(keys).chain(args).collect()
    }
}

impl FairScript {
    fn to_args(&self) -> Vec<Value> {
        let yes = |yes: bool| Value::from(i64::from(yes));
        let (text, keys, args) = match self {
            Self::Lock { key, owner, px, now, slot, queue, told } => {
                let (up, ttl) = (yes(*queue == Queue::MovesUp), yes(*told == Told::NextEnd));
                let args = vec![owner.clone(), (*px).into(), (*now).into(), (*slot).into(), up, ttl];
                (lua::FAIR_LOCK, vec![*key, queue_of(key), deadlines_of(key)], args)
            }
            Self::Unlock { key, owner, px, now } => {
                let args = vec![owner.clone(), (*px).into(), (*now).into(), channel_of(key)];
                (lua::FAIR_UNLOCK, vec![*key, queue_of(key), deadlines_of(key)], args)
            }
            Self::Leave { key, owner, slot, queue } => {
                let args = vec![owner.clone(), (*slot).into(), yes(*queue == Queue::MovesUp)];
                (lua::FAIR_LEAVE, vec![queue_of(key), deadlines_of(key)], args)
            }
        };
        let count = Value::from(keys.len() as i64);
        ["EVAL".into(), text.into(), count].into_iter().chain(keys.iter().map(of)).chain(args).collect()
    }
}

fn list(key: Value, what: &ListCommand) -> Vec<Value> {
    match what {
        ListCommand::Rpush(value) => vec!["RPUSH".into(), key, value.clone()],
        ListCommand::Lpop => vec!["LPOP".into(), key],
        ListCommand::Lindex(index) => vec!["LINDEX".into(), key, (*index).into()],
        ListCommand::All => vec!["LRANGE".into(), key, 0.into(), (-1).into()],
        ListCommand::Lrem(value) => vec!["LREM".into(), key, 0.into(), value.clone()],
    }
}

fn sorted(key: Value, what: &SortedCommand) -> Vec<Value> {
    match what {
        SortedCommand::Zadd(score, member) => vec!["ZADD".into(), key, (*score).into(), member.clone()],
        SortedCommand::Zscore(member) => vec!["ZSCORE".into(), key, member.clone()],
        SortedCommand::Zincrby(by, member) => vec!["ZINCRBY".into(), key, (*by).into(), member.clone()],
        SortedCommand::Zrem(member) => vec!["ZREM".into(), key, member.clone()],
        SortedCommand::All => vec!["ZRANGE".into(), key, 0.into(), (-1).into()],
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
