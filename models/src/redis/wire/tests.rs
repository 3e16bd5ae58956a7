//! There and back, and what Redis refuses for its form.

use std::num::NonZeroU64;

use super::NotModelled;
use crate::redis::{
    Command, ExpireIf, FairScript, Key, Length, ListCommand, Lives, Queue, RedisError, Reply, Script, SetIf,
    SortedCommand, Told, Value,
};

fn args(text: &str) -> Vec<Value> {
    text.split(' ').map(Value::from).collect()
}

fn refusal(text: &str) -> (String, bool) {
    match Command::from_args(&args(text)) {
        Ok(Command::Malformed(malformed)) => (malformed.error.to_string(), malformed.queues),
        other => panic!("{text}: {other:?}"),
    }
}

/// One of each kind, with every option.
fn commands() -> Vec<Command> {
    let (key, value): (Key, Value) = ("k".into(), "v".into());
    let (owner, px) = (value.clone(), 30);
    let mut all = vec![
        Command::Setnx { key, value: value.clone() },
        Command::Get { key },
        Command::Del { key },
        Command::Exists { key },
        Command::Persist { key },
        Command::Ttl { key },
        Command::Pttl { key },
        Command::Pexpiretime { key },
        Command::Incr { key },
        Command::Hset { key, field: "f".into(), value: value.clone() },
        Command::Hget { key, field: "f".into() },
        Command::Hexists { key, field: "f".into() },
        Command::Hdel { key, field: "f".into() },
        Command::Hincrby { key, field: "f".into(), by: -7 },
        Command::Multi,
        Command::Exec,
        Command::Discard,
        Command::Watch { key },
        Command::Unwatch,
        Script::CompareAndDelete { key, value: value.clone() }.into(),
        Script::CompareAndPexpire { key, value: value.clone(), px }.into(),
        Script::LockWithToken { key, value: value.clone(), px: Some(px), counter: "c".into() }.into(),
        Script::LockWithToken { key, value: value.clone(), px: None, counter: "c".into() }.into(),
        Script::RaiseCounter { key, value: value.clone(), counter: "c".into(), to: 9 }.into(),
        Script::ExtendOrCreate { key, value: value.clone(), px }.into(),
        Script::ExtendByAdding { key, value: value.clone(), px }.into(),
        Script::HashLock { key, owner: owner.clone(), px, request: None }.into(),
        Script::HashLock { key, owner: owner.clone(), px, request: NonZeroU64::new(9) }.into(),
        Script::HashUnlock { key, owner: owner.clone(), px, tells: false }.into(),
        Script::HashUnlock { key, owner: owner.clone(), px, tells: true }.into(),
        Script::HashExtend { key, owner: owner.clone(), px }.into(),
        Command::Subscribe { channel: "ch".into() },
        Command::Publish { channel: "ch".into(), message: value.clone() },
    ];
    all.extend(
        [
            ListCommand::Rpush(value.clone()),
            ListCommand::Lpop,
            ListCommand::Lindex(-1),
            ListCommand::All,
            ListCommand::Lrem(value.clone()),
        ]
        .map(|what| Command::List { key, what }),
    );
    all.extend(
        [
            SortedCommand::Zadd(-7, value.clone()),
            SortedCommand::Zscore(value.clone()),
            SortedCommand::Zincrby(px, value.clone()),
            SortedCommand::Zrem(value.clone()),
            SortedCommand::All,
        ]
        .map(|what| Command::Sorted { key, what }),
    );
    let (now, slot) = (1_700_000_000_000, 5_000);
    for (queue, told) in [(Queue::MovesUp, Told::NextEnd), (Queue::Drifts, Told::OwnDeadline)] {
        let owner = || owner.clone();
        let fair = [
            FairScript::Lock { key, owner: owner(), px, now, slot, queue, told },
            FairScript::Unlock { key, owner: owner(), px, now },
            FairScript::Leave { key, owner: owner(), slot, queue },
        ];
        all.extend(fair.map(|script| Script::from(script).into()));
    }
    let lives = [Lives::Forever, Lives::Ex(1), Lives::Px(2), Lives::ExAt(3), Lives::PxAt(4), Lives::AsBefore];
    for (only, get, lives) in [None, Some(SetIf::Nx), Some(SetIf::Xx)]
        .into_iter()
        .flat_map(|only| [false, true].map(|get| (only, get)))
        .flat_map(|(only, get)| lives.map(|lives| (only, get, lives)))
    {
        all.push(Command::Set { key, value: value.clone(), only, get, lives });
    }
    let conditions = [ExpireIf::Nx, ExpireIf::Xx, ExpireIf::Gt, ExpireIf::Lt].map(Some);
    for only in conditions.into_iter().chain([None]) {
        all.push(Command::Expire { key, length: Length::Seconds(5), only });
        all.push(Command::Expire { key, length: Length::Millis(-5), only });
    }
    all
}

#[test]
fn what_a_client_sends_is_the_command_again() {
    for command in commands() {
        assert_eq!(Command::from_args(&command.to_args()), Ok(command.clone()), "{command}");
    }
}

#[test]
fn words_are_taken_in_any_case_and_the_last_of_a_repeated_option_counts() {
    let command = Command::from_args(&args("sEt k v px 1 Nx PX 20 nx"));
    let (key, value, only) = ("k".into(), "v".into(), Some(SetIf::Nx));
    assert_eq!(command, Ok(Command::Set { key, value, only, get: false, lives: Lives::Px(20) }));
}

#[test]
fn the_number_of_arguments_keeps_a_command_out_of_a_transaction_and_nothing_else_does() {
    for short in ["SET k", "GET", "GET k k", "DEL", "EXISTS", "EXPIRE k", "HSET k f", "HINCRBY k f", "EVAL"] {
        let name = short.split(' ').next().unwrap_or_default().to_lowercase();
        assert_eq!(refusal(short), (format!("ERR wrong number of arguments for '{name}' command"), false), "{short}");
    }
    let aborted = "EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command";
    assert_eq!(refusal("EXEC now"), (aborted.to_owned(), true));
    assert_eq!(refusal("HSET k f v g"), ("ERR wrong number of arguments for 'hset' command".to_owned(), true));
    for (text, said) in [
        ("SET k v NX XX", "ERR syntax error"),
        ("SET k v PX 10 EX 1", "ERR syntax error"),
        ("SET k v PX 10 KEEPTTL", "ERR syntax error"),
        ("SET k v KEEPTTL EX 1", "ERR syntax error"),
        ("SET k v PX", "ERR syntax error"),
        // Words before numbers.
        ("SET k v PX abc NX what", "ERR syntax error"),
        ("SET k v PX abc", "ERR value is not an integer or out of range"),
        ("SET k v PX 1.5", "ERR value is not an integer or out of range"),
        ("PEXPIRE k 01", "ERR value is not an integer or out of range"),
        ("EXPIRE k x NX GT", "ERR NX and XX, GT or LT options at the same time are not compatible"),
        ("EXPIRE k 1 GT LT", "ERR GT and LT options at the same time are not compatible"),
        ("EXPIRE k 1 Soon", "ERR Unsupported option Soon"),
        ("HINCRBY k f +1", "ERR value is not an integer or out of range"),
    ] {
        assert_eq!(refusal(text), (said.to_owned(), true), "{text}");
    }
}

#[test]
fn what_is_not_modelled_says_so() {
    for text in ["LPUSH k v", "DEL a b", "EXPIRE k 1 XX GT", "HDEL k f g", "HSET k f v g w", "EVAL return 0"] {
        let NotModelled { what } = Command::from_args(&args(text)).expect_err(text);
        assert!(!what.is_empty());
    }
}

#[test]
fn replies_as_they_travel() {
    let array = Reply::Array(vec![Reply::Ok, Reply::Nil, Reply::Bulk("é".into()), Reply::Array(Vec::new())]);
    for (reply, bytes) in [
        (Reply::Ok, "+OK\r\n"),
        (Reply::Queued, "+QUEUED\r\n"),
        (Reply::Nil, "$-1\r\n"),
        (Reply::NilArray, "*-1\r\n"),
        (Reply::Int(-3), ":-3\r\n"),
        (Reply::Bulk("".into()), "$0\r\n\r\n"),
        (Reply::Error(RedisError::Syntax), "-ERR syntax error\r\n"),
        (array, "*4\r\n+OK\r\n$-1\r\n$2\r\né\r\n*0\r\n"),
    ] {
        assert_eq!(String::from_utf8_lossy(&reply.to_resp()), bytes);
    }
}
