//! What redis-server 7.0.15 answered, asked by hand: one table for each subject, two connections, `A` and `B`.
//!
//! A row waits, asks, and holds the answer against what the real server said.

use std::num::NonZeroU64;

use host::Shortage;

use super::*;
use crate::redis::{ExpireIf, Length, Lives, SetIf};

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

fn ttl(name: &str) -> Command {
    Command::Ttl { key: key(name) }
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

fn expire(name: &str, seconds: i64, only: Option<ExpireIf>) -> Command {
    Command::Expire { key: key(name), length: Length::Seconds(seconds), only }
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

fn hexists(name: &str, field: &str) -> Command {
    Command::Hexists { key: key(name), field: field.into() }
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
fn one_lock_two_clients() {
    holds(&mut Bench::new(), vec![
        (A, Command::set_nx(key("L"), "A".into(), Some(30_000)), "+OK"),
        (B, Command::set_nx(key("L"), "B".into(), Some(30_000)), "nil"),
        (A, get("L"), "\"A\""),
        (A, pttl("L"), ":30000"),
        (A, ttl("L"), ":30"),
        (B, release("B"), ":0"),
        (A, release("A"), ":1"),
        (A, release("A"), ":0"),
        (A, pttl("L"), ":-2"),
        (A, ttl("L"), ":-2"),
        (A, Command::Setnx { key: key("L"), value: "A".into() }, ":1"),
        (B, Command::Setnx { key: key("L"), value: "B".into() }, ":0"),
        (A, ttl("L"), ":-1"),
        (A, del("L"), ":1"),
        (B, Command::Setnx { key: key("L"), value: "B".into() }, ":1"),
        (B, persist("L"), ":0"),
    ]);
}

#[test]
#[rustfmt::skip]
fn seconds_are_rounded_to_the_nearest() {
    holds(&mut Bench::new(), vec![
        (A, set_px("L", "A", 1_499), "+OK"), (A, ttl("L"), ":1"),
        (A, set_px("L", "A", 1_500), "+OK"), (A, ttl("L"), ":2"),
        (A, set_px("L", "A", 499), "+OK"), (A, ttl("L"), ":0"),
    ]);
}

#[test]
#[rustfmt::skip]
fn set_and_its_options() {
    use SetIf::{Nx, Xx};
    let forever = Lives::Forever;
    let until = |ms| Lives::PxAt(ms);
    holds(&mut Bench::new(), vec![
        (A, set_as("k", "v", Some(Nx), true, forever), "nil"),
        (A, set_as("k", "w", Some(Nx), true, forever), "\"v\""),
        (A, get("k"), "\"v\""),
        (A, set_as("k", "w", Some(Xx), true, forever), "\"v\""),
        (A, get("k"), "\"w\""),
        (A, set_as("n", "v", Some(Xx), false, forever), "nil"),
        (A, set_as("n", "v", Some(Xx), true, forever), "nil"),
        (A, exists("n"), ":0"),
        // A deadline that has passed is taken, and the key with it; none at all is refused.
        (A, set_as("k", "v", None, false, until(1)), "+OK"),
        (A, exists("k"), ":0"),
        (A, set_as("k", "v", None, false, Lives::ExAt(1)), "+OK"),
        (A, get("k"), "nil"),
        (A, set_as("k", "v", None, false, until(0)), "-ERR invalid expire time in 'set' command"),
        (A, set_as("k", "v", None, false, until(-5)), "-ERR invalid expire time in 'set' command"),
        (A, set_as("k", "v", None, false, until(i64::MAX)), "+OK"),
        (A, set_as("k", "v", None, false, Lives::ExAt(i64::MAX)),
            "-ERR invalid expire time in 'set' command"),
        (A, set_as("k", "v", Some(Nx), false, until(1)), "nil"),
        (A, set_as("k", "v", None, false, Lives::Ex(0)), "-ERR invalid expire time in 'set' command"),
        (A, set_as("k", "v", None, false, Lives::Ex(i64::MAX / 1_000)),
            "-ERR invalid expire time in 'set' command"),
        (A, set_as("k", "v", None, false, Lives::Ex(5)), "+OK"),
        (A, set_as("k", "w", Some(Xx), false, Lives::AsBefore), "+OK"),
        (A, pttl("k"), ":5000"),
        (A, set_as("k", "w", Some(Xx), false, forever), "+OK"),
        (A, pttl("k"), ":-1"),
        (A, set_as("x", "w", None, false, Lives::AsBefore), "+OK"),
        (A, pttl("x"), ":-1"),
    ]);
}

#[test]
#[rustfmt::skip]
fn expire_and_its_conditions() {
    use ExpireIf::{Gt, Lt, Nx, Xx};
    holds(&mut Bench::new(), vec![
        (A, expire("k", 10, None), ":0"),
        (A, expire("k", 10, Some(Nx)), ":0"),
        (A, set("k", "v"), "+OK"),
        (A, expire("k", 10, Some(Xx)), ":0"),
        (A, expire("k", 10, Some(Gt)), ":0"),
        (A, expire("k", 10, Some(Nx)), ":1"),
        (A, expire("k", 10, Some(Nx)), ":0"),
        (A, expire("k", 5, Some(Xx)), ":1"),
        (A, expire("k", 4, Some(Gt)), ":0"),
        (A, expire("k", 5, Some(Gt)), ":0"),
        (A, expire("k", 50, Some(Gt)), ":1"),
        (A, expire("k", 400, Some(Lt)), ":0"),
        (A, expire("k", 50, Some(Lt)), ":0"),
        (A, expire("k", 40, Some(Lt)), ":1"),
        (A, ttl("k"), ":40"),
        (A, persist("k"), ":1"),
        (A, persist("k"), ":0"),
        (A, expire("k", 5, Some(Lt)), ":1"),
        (A, expire("k", i64::MAX, None), "-ERR invalid expire time in 'expire' command"),
        (A, expire("k", i64::MIN, None), "-ERR invalid expire time in 'expire' command"),
        (A, Command::pexpire(key("k"), i64::MAX), "-ERR invalid expire time in 'pexpire' command"),
        (A, expire("k", -1, Some(Gt)), ":0"),
        (A, expire("k", -1, Some(Lt)), ":1"),
        (A, exists("k"), ":0"),
        (A, set("k", "v"), "+OK"),
        (A, Command::pexpire(key("k"), i64::MIN), ":1"),
        (A, exists("k"), ":0"),
    ]);
}

#[test]
#[rustfmt::skip]
fn a_key_holds_one_type() {
    holds(&mut Bench::new(), vec![
        (A, hset("h", "f", "v"), ":1"),
        (A, Command::set_nx(key("h"), "v".into(), None), "nil"),
        (A, Command::Setnx { key: key("h"), value: "v".into() }, ":0"),
        (A, set_as("h", "v", Some(SetIf::Nx), true, Lives::Forever), WRONG_TYPE),
        (A, set_as("h", "v", None, true, Lives::Forever), WRONG_TYPE),
        (A, get("h"), WRONG_TYPE),
        (A, incr("h"), WRONG_TYPE),
        (A, set("k", "v"), "+OK"),
        (A, hset("k", "f", "v"), WRONG_TYPE),
        (A, hget("k", "f"), WRONG_TYPE),
        (A, hexists("k", "f"), WRONG_TYPE),
        (A, hdel("k", "f"), WRONG_TYPE),
        (A, Command::Hincrby { key: key("k"), field: "f".into(), by: 1 }, WRONG_TYPE),
        (A, set("L", "v"), "+OK"),
        (A, enter("me", 1_000, None), WRONG_TYPE),
        (A, leave("me", 1_000), WRONG_TYPE),
        // `SET` without a condition asks for no type.
        (A, set("h", "v"), "+OK"),
        (A, get("h"), "\"v\""),
    ]);
}

#[test]
#[rustfmt::skip]
fn hashes() {
    holds(&mut Bench::new(), vec![
        (A, hset("h", "f", "v"), ":1"),
        (A, hset("h", "f", "v2"), ":0"),
        (A, hset("h", "g", "1"), ":1"),
        (A, hincrby("f", 1), "-ERR hash value is not an integer"),
        (A, hincrby("g", 5), ":6"),
        (A, hset("h", "g", "9223372036854775807"), ":0"),
        (A, hincrby("g", 1), "-ERR increment or decrement would overflow"),
        (A, hincrby("g", -1), ":9223372036854775806"),
        (A, expire("h", 100, None), ":1"),
        (A, hincrby("m", -1), ":-1"),
        (A, ttl("h"), ":100"),
        (A, hget("h", "m"), "\"-1\""),
        (A, hexists("h", "m"), ":1"),
        (A, hdel("h", "m"), ":1"),
        (A, hdel("h", "m"), ":0"),
        (A, hget("h", "m"), "nil"),
        (A, hget("missing", "f"), "nil"),
        (A, hdel("h", "f"), ":1"),
        (A, hdel("h", "g"), ":1"),
        (A, exists("h"), ":0"),
    ]);
}

#[test]
#[rustfmt::skip]
fn a_lock_that_counts_its_owners_entries() {
    holds(&mut Bench::new(), vec![
        (A, enter("me", 1_000, None), "nil"),
        (A, enter("me", 1_000, None), "nil"),
        (B, enter("you", 1_000, None), ":1000"),
        (A, keep("me", 2_000), ":1"),
        (B, keep("you", 2_000), ":0"),
        (B, leave("you", 3_000), "nil"),
        (A, pttl("L"), ":2000"),
        (A, leave("me", 3_000), ":0"),
        (A, pttl("L"), ":3000"),
        (A, leave("me", 3_000), ":1"),
        (A, leave("me", 3_000), "nil"),
        (A, keep("me", 2_000), ":0"),
        // A request that is repeated counts once.
        (A, enter("me", 1_000, Some(1)), "nil"),
        (A, enter("me", 1_000, Some(1)), "nil"),
        (A, hget("L", "me"), "\"1\""),
        (A, enter("me", 1_000, Some(2)), "nil"),
        (A, hget("L", "me"), "\"2\""),
        (B, enter("you", 1_000, Some(1)), ":1000"),
    ]);
}

#[test]
#[rustfmt::skip]
fn the_other_ways_to_extend() {
    let add = |value: &str, px| Script::ExtendByAdding { key: key("L"), value: value.into(), px }.into();
    let create = |value: &str, px| Script::ExtendOrCreate { key: key("L"), value: value.into(), px }.into();
    holds(&mut Bench::new(), vec![
        (A, set_px("L", "a", 1_000), "+OK"),
        (A, add("a", 5_000), ":6000"),
        (A, pttl("L"), ":6000"),
        (B, add("b", 5_000), ":0"),
        (A, persist("L"), ":1"),
        (A, add("a", 0), ":0"),
        (A, get("L"), "nil"),
        (A, create("a", 5_000), "+OK"),
        (B, create("b", 5_000), "nil"),
        (A, create("a", 6_000), "+OK"),
        (A, pttl("L"), ":6000"),
        (A, create("a", 0), "-ERR invalid expire time in 'set' command"),
        (A, get("L"), "\"a\""),
    ]);
}

#[test]
#[rustfmt::skip]
fn transactions() {
    use Command::{Discard, Exec, Multi, Unwatch};
    holds(&mut Bench::new(), vec![
        (A, Multi, "+OK"),
        (A, Command::set_nx(key("L"), "a".into(), Some(10_000)), "+QUEUED"),
        (A, incr("t"), "+QUEUED"),
        (B, get("L"), "nil"),
        (A, Exec, "[+OK, :1]"),
        (A, Exec, "-ERR EXEC without MULTI"),
        (A, Discard, "-ERR DISCARD without MULTI"),
        (A, Multi, "+OK"),
        (A, Multi, "-ERR MULTI calls can not be nested"),
        (A, watch("L"), "-ERR WATCH inside MULTI is not allowed"),
        (A, Unwatch, "+QUEUED"),
        (A, incr("t"), "+QUEUED"),
        (A, Exec, "[+OK, :2]"),
        (A, Multi, "+OK"), (A, incr("t"), "+QUEUED"), (A, Discard, "+OK"), (A, get("t"), "\"2\""),
        // What fails when it runs does not undo what ran, and keeps nothing from running.
        (A, Multi, "+OK"),
        (A, set_px("L", "a", 0), "+QUEUED"),
        (A, set("s", "abc"), "+QUEUED"),
        (A, incr("s"), "+QUEUED"),
        (A, incr("t"), "+QUEUED"),
        (A, Exec, "[-ERR invalid expire time in 'set' command, +OK, -ERR value is not an integer or out of range, :3]"),
        (A, Multi, "+OK"), (A, Exec, "[]"),
    ]);
}

#[test]
#[rustfmt::skip]
fn what_is_watched_must_not_change() {
    use Command::{Discard, Exec, Multi, Unwatch};
    let released = || [(A, Multi, "+OK"), (A, del("L"), "+QUEUED")];
    let mut server = Bench::new();
    let mut play = |rows: Vec<(By, Command, &'static str)>, last: &'static str| {
        holds(&mut server, rows.into_iter().chain(released()).chain([(A, Exec, last)]).collect());
    };
    play(vec![(A, set("L", "a"), "+OK"), (A, watch("L"), "+OK"), (B, set("L", "b"), "+OK")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, get("L"), "\"b\"")], "[:1]");
    play(vec![(A, watch("L"), "+OK"), (B, del("L"), ":0")], "[:0]");
    play(vec![(A, watch("L"), "+OK"), (A, set("L", "own"), "+OK")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, Command::pexpire(key("L"), 1_000), ":1")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, persist("L"), ":1")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, Command::set_nx(key("L"), "b".into(), None), "nil")], "[:1]");
    play(vec![(A, watch("L"), "+OK"), (B, hset("L", "f", "1"), ":1")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, hdel("L", "f"), ":1")], "nil");
    play(vec![(A, watch("L"), "+OK"), (B, incr("L"), ":1"), (A, Unwatch, "+OK")], "[:1]");
    play(vec![(A, watch("L"), "+OK"), (B, incr("L"), ":1"), (A, Multi, "+OK"), (A, Discard, "+OK")], "[:1]");
    play(vec![(A, watch("L"), "+OK"), (A, Multi, "+OK"), (A, Exec, "[]"), (B, incr("L"), ":1")], "[:1]");
}

#[test]
#[rustfmt::skip]
fn what_is_watched_must_not_expire_but_may_have_expired() {
    use Command::{Exec, Multi};
    let transaction = |told| vec![(A, Multi, "+OK"), (A, incr("t"), "+QUEUED"), (A, Exec, told)];
    let mut server = Bench::new();
    holds(&mut server, vec![(A, set_px("L", "a", 30), "+OK"), (A, watch("L"), "+OK")]);
    server.wait(31);
    holds(&mut server, transaction("nil"));

    holds(&mut server, vec![(A, set_px("L", "a", 30), "+OK"), (A, watch("L"), "+OK")]);
    server.wait(31);
    holds(&mut server, vec![(B, get("L"), "nil")]);
    holds(&mut server, transaction("nil"));

    holds(&mut server, vec![(A, set_px("L", "a", 30), "+OK")]);
    server.wait(31);
    holds(&mut server, vec![(A, watch("L"), "+OK"), (B, get("L"), "nil")]);
    holds(&mut server, transaction("[:1]"));

    holds(&mut server, vec![(A, set_px("L", "a", 30), "+OK")]);
    server.wait(31);
    holds(&mut server, vec![(A, watch("L"), "+OK")]);
    holds(&mut server, transaction("[:2]"));

    holds(&mut server, vec![(A, set_px("L", "a", 30), "+OK")]);
    server.wait(31);
    holds(&mut server, vec![(A, watch("L"), "+OK"), (B, set("L", "b"), "+OK")]);
    holds(&mut server, transaction("nil"));
}

#[test]
fn a_connection_that_closes_takes_its_transaction_along() {
    let mut server = Bench::new();
    holds(&mut server, vec![(A, Command::Multi, "+OK"), (A, incr("t"), "+QUEUED")]);
    server.step(|redis, cx| redis.on_close(cx, ConnId::new(A as u32)));
    holds(&mut server, vec![(A, Command::Exec, "-ERR EXEC without MULTI"), (A, get("t"), "nil")]);
}

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
