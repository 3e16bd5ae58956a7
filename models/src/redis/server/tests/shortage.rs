//! What redis-server 7.0.15 answered while its machine was short of something, asked by hand on two connections, `A`
//! and `B`. (What it answers otherwise is in `models/tests/transcripts`.)

use std::num::NonZeroU64;

use host::Shortage;

use super::*;
use crate::lock::Persistence;
use crate::redis::{Lives, SetIf};

/// Who asks.
#[derive(Clone, Copy)]
enum By {
    A,
    B,
}
use By::{A, B};

/// Plays a table of what to ask and what to be told.
fn holds(server: &mut Bench, rows: Vec<(By, Command, &str)>) {
    for (i, (by, command, told)) in rows.into_iter().enumerate() {
        let shown = command.to_string();
        let reply = server.ask_on(ConnId::new(by as u32), command);
        assert_eq!(reply.to_string(), told, "row {i}: {shown}");
    }
}

fn key(name: &str) -> Key {
    name.into()
}

fn set(name: &str, value: &str) -> Command {
    set_as(name, value, None, false, Lives::Forever)
}

fn set_px(name: &str, value: &str, px: i64) -> Command {
    set_as(name, value, None, false, Lives::px(Some(px)))
}

fn set_as(name: &str, value: &str, only: Option<SetIf>, get: bool, lives: Lives) -> Command {
    Command::Set { key: key(name), value: value.into(), only, get, lives }
}

fn get(name: &str) -> Command {
    Command::Get { key: key(name) }
}

fn del(name: &str) -> Command {
    Command::Del { key: key(name) }
}

fn exists(name: &str) -> Command {
    Command::Exists { key: key(name) }
}

fn pttl(name: &str) -> Command {
    Command::Pttl { key: key(name) }
}

fn persist(name: &str) -> Command {
    Command::Persist { key: key(name) }
}

fn incr(name: &str) -> Command {
    Command::Incr { key: key(name) }
}

fn hset(name: &str, field: &str, value: &str) -> Command {
    Command::Hset { key: key(name), field: field.into(), value: value.into() }
}

fn hincrby(field: &str, by: i64) -> Command {
    Command::Hincrby { key: key("h"), field: field.into(), by }
}

fn hget(name: &str, field: &str) -> Command {
    Command::Hget { key: key(name), field: field.into() }
}

fn hdel(name: &str, field: &str) -> Command {
    Command::Hdel { key: key(name), field: field.into() }
}

fn watch(name: &str) -> Command {
    Command::Watch { key: key(name) }
}

fn release(value: &str) -> Command {
    Script::CompareAndDelete { key: key("L"), value: value.into() }.into()
}

fn extend(value: &str, px: i64) -> Command {
    Script::CompareAndPexpire { key: key("L"), value: value.into(), px }.into()
}

fn lock_with_token(value: &str, px: i64) -> Command {
    Script::LockWithToken { key: key("L"), value: value.into(), px: Some(px), counter: key("t") }.into()
}

fn enter(owner: &str, px: i64, request: Option<u64>) -> Command {
    Script::HashLock { key: key("L"), owner: owner.into(), px, request: request.and_then(NonZeroU64::new) }.into()
}

fn leave(owner: &str, px: i64) -> Command {
    Script::HashUnlock { key: key("L"), owner: owner.into(), px, tells: false }.into()
}

fn keep(owner: &str, px: i64) -> Command {
    Script::HashExtend { key: key("L"), owner: owner.into(), px }.into()
}

const WRONG_TYPE: &str = "-WRONGTYPE Operation against a key holding the wrong kind of value";
const OOM: &str = "-OOM command not allowed when used memory > 'maxmemory'.";
const MISCONF: &str = "-MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to \
                       disk. Commands that may modify the data set are disabled, because this instance is configured \
                       to report errors during writes if RDB snapshotting fails (stop-writes-on-bgsave-error \
                       option). Please check the Redis logs for details about the RDB error.";
const ABORTED: &str = "-EXECABORT Transaction discarded because of previous errors.";

#[test]
#[rustfmt::skip]
fn without_memory_nothing_grows() {
    let mut server = Bench::new();
    holds(&mut server, vec![
        (A, set_px("L", "a", 60_000), "+OK"), (A, hset("h", "f", "1"), ":1"),
        (B, Command::Multi, "+OK"), (B, incr("t"), "+QUEUED"),
    ]);
    server.short.begin(Shortage::Memory);
    holds(&mut server, vec![
        (A, get("L"), "\"a\""), (A, pttl("L"), ":60000"), (A, exists("L"), ":1"), (A, hget("h", "f"), "\"1\""),
        (A, set("n", "v"), OOM), (A, Command::set_nx(key("L"), "v".into(), None), OOM),
        (A, Command::Setnx { key: key("L"), value: "v".into() }, OOM), (A, incr("t"), OOM),
        (A, set_px("L", "a", 0), OOM), (A, hset("h", "f", "v"), OOM), (A, hincrby("f", 1), OOM),
        (A, Command::pexpire(key("L"), 50_000), ":1"), (A, persist("L"), ":1"), (A, hdel("h", "f"), ":1"),
        (A, release("zz"), ":0"), (A, extend("a", 9_000), ":1"),
        (A, lock_with_token("x", 1_000), OOM), (A, enter("me", 1_000, None), WRONG_TYPE),
        (A, release("a"), ":1"), (A, enter("me", 1_000, None), OOM), (A, leave("me", 1_000), "nil"),
        (A, Command::Multi, "+OK"), (A, get("L"), OOM), (A, del("L"), OOM), (A, Command::Exec, ABORTED),
        (A, Command::Discard, "-ERR DISCARD without MULTI"),
        (B, Command::Exec,
            "-EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'."),
    ]);
    server.short.end(Shortage::Memory);
    holds(&mut server, vec![(A, enter("me", 60_000, None), "nil")]);
    server.short.begin(Shortage::Memory);
    // The count goes down, but the command could have made it longer.
    holds(&mut server, vec![(A, leave("me", 1_000), OOM), (A, keep("me", 1_000), ":1")]);
}

#[test]
#[rustfmt::skip]
fn without_a_disk_nothing_is_written() {
    let mut server = Bench::new();
    server.redis = Redis::new(RedisServer { persistence: Persistence::Save, ..RedisServer::default() });
    holds(&mut server, vec![
        (A, set_px("L", "a", 60_000), "+OK"), (A, hset("h", "f", "1"), ":1"),
        (B, Command::Multi, "+OK"), (B, del("t"), "+QUEUED"),
    ]);
    server.short.begin(Shortage::Disk);
    holds(&mut server, vec![
        (A, get("L"), "\"a\""), (A, pttl("L"), ":60000"), (A, exists("L"), ":1"), (A, hget("h", "f"), "\"1\""),
        (A, set("n", "v"), MISCONF), (A, Command::set_nx(key("L"), "v".into(), None), MISCONF),
        (A, incr("t"), MISCONF), (A, Command::pexpire(key("L"), 50_000), MISCONF), (A, persist("L"), MISCONF),
        (A, hset("h", "f", "v"), MISCONF), (A, hincrby("f", 1), MISCONF), (A, hdel("h", "f"), MISCONF),
        (A, del("h"), MISCONF), (A, del("nokey"), MISCONF),
        (A, release("zz"), ":0"), (A, release("a"), MISCONF), (A, extend("a", 9_000), MISCONF),
        (A, lock_with_token("x", 1_000), MISCONF), (A, leave("me", 1_000), WRONG_TYPE),
        (A, Command::Multi, "+OK"), (A, get("L"), "+QUEUED"), (A, del("L"), MISCONF), (A, Command::Exec, ABORTED),
        (A, watch("L"), "+OK"), (A, Command::Unwatch, "+OK"),
    ]);
    let refused = format!("-EXECABORT Transaction discarded because of: {}", &MISCONF[1..]);
    holds(&mut server, vec![(B, Command::Exec, &refused)]);
}

#[test]
fn a_server_that_keeps_no_snapshot_misses_none() {
    let mut server = Bench::new();
    server.short.begin(Shortage::Disk);
    holds(&mut server, vec![(A, set("n", "v"), "+OK")]);
}
