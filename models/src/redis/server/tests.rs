//! The server, stepped without a kernel: the edges of expiry and of arguments, and the two clocks.

use std::num::NonZeroU32;

use host::{AttemptId, CallId, ConnId, Deadline, Effect, NodeId, Operation, Shortages};

use spec::{Cause, Note};

use super::*;
use crate::redis::{Command, Key, Lives, Script, SetIf};

mod channels;
mod collections;
mod fair;
mod owners;
mod persistence;
mod shortage;

/// A server, the clock on its wall, and the client that is asking.
struct Bench {
    redis: Redis,
    now: i64,
    /// What the monotonic clock reads, in ms.
    mono: u64,
    asker: Option<AttemptId>,
    owners: Vec<Option<AttemptId>>,
    causes: Vec<Cause>,
    /// Whose lease, and who asked.
    extended: Vec<(AttemptId, Option<AttemptId>)>,
    /// What the clock of the keys' lives must read for the timer to be due.
    timer: Option<i64>,
    /// What the machine lacks.
    short: Shortages,
    /// What was pushed, and to whom.
    pushed: Vec<(ConnId, String)>,
}

const A: &str = "value of A";
const B: &str = "value of B";
const LOCK: &str = "lock";
const COUNTER: &str = "lock:token";

fn attempt(client: u16) -> AttemptId {
    AttemptId::new(NodeId::new(client), NonZeroU32::MIN)
}

impl Bench {
    fn new() -> Self {
        let (redis, now) = (Redis::default(), 1_700_000_000_000);
        let (asker, owners, causes, extended, timer) = (None, Vec::new(), Vec::new(), Vec::new(), None);
        let (short, pushed) = (Shortages::default(), Vec::new());
        Self { redis, now, mono: 0, asker, owners, causes, extended, timer, short, pushed }
    }

    /// From here on, that client's attempt is asking.
    fn as_client(&mut self, client: u16) -> &mut Self {
        self.asker = Some(attempt(client));
        self
    }

    fn wait(&mut self, ms: i64) {
        self.now += ms;
    }

    fn step(&mut self, step: impl FnOnce(&mut Redis, &mut Context<Locks>)) -> Option<Reply> {
        let mut cx =
            Context::at(NodeId::new(7), MonoTime::from_nanos(self.mono * NANOS), WallTime::from_millis(self.now));
        cx.attempt = self.asker;
        cx.shortages = self.short;
        step(&mut self.redis, &mut cx);
        assert!(cx.disk.records().is_empty(), "it has no persistence");
        let mut reply = None;
        for effect in cx.effects {
            match effect {
                Effect::Reply(_, message) => reply = Some(message.try_into().expect("a reply of Redis")),
                Effect::Note(Note::Owner { authority, key, attempt, cause }) => {
                    assert_eq!((authority, &*key), (NodeId::new(7), LOCK));
                    self.owners.push(attempt);
                    self.causes.push(cause);
                }
                Effect::Note(Note::Extended { authority, key, attempt, by }) => {
                    assert_eq!((authority, &*key), (NodeId::new(7), LOCK));
                    self.extended.push((attempt, by));
                }
                Effect::SetTimer(_, Deadline::Wall(at)) => self.timer = Some(at.millis()),
                Effect::SetTimer(_, Deadline::Mono(at)) => self.timer = Some((at.as_nanos() / NANOS).cast_signed()),
                Effect::CancelTimer(_) => self.timer = None,
                Effect::Push(conn, message) => self.pushed.push((conn, message.to_string())),
                other => panic!("{other:?}"),
            }
        }
        reply
    }

    /// Lets the timer fire, whatever the clock reads now, and says when it was due, in ms from `since`.
    fn fire(&mut self, since: i64) -> Option<i64> {
        let due = self.timer.take()?;
        self.step(|redis, cx| redis.on_timer(cx, EXPIRY));
        Some(due - since)
    }

    fn ask(&mut self, command: Command) -> Reply {
        self.ask_on(ConnId::new(0), command)
    }

    fn ask_on(&mut self, conn: ConnId, command: Command) -> Reply {
        let from = Origin { conn, call: CallId::new(0), operation: Operation("any") };
        self.step(|redis, cx| redis.on_message(cx, from, command.into())).expect("a reply")
    }

    fn eval(&mut self, script: Script) -> Reply {
        self.ask(script.into())
    }

    fn set(&mut self, value: &str, px: Option<i64>) -> Reply {
        self.set_as(value, None, false, Lives::px(px))
    }

    fn set_as(&mut self, value: &str, only: Option<SetIf>, get: bool, lives: Lives) -> Reply {
        self.ask(Command::Set { key: LOCK.into(), value: value.into(), only, get, lives })
    }

    fn set_nx(&mut self, value: &str, px: impl Into<Option<i64>>) -> Reply {
        self.ask(Command::set_nx(LOCK.into(), value.into(), px.into()))
    }

    fn lock(&mut self, value: &str, px: i64) -> Reply {
        let (key, counter) = (LOCK.into(), COUNTER.into());
        self.eval(Script::LockWithToken { key, value: value.into(), px: Some(px), counter })
    }

    fn extend(&mut self, value: &str, px: i64) -> Reply {
        self.eval(Script::CompareAndPexpire { key: LOCK.into(), value: value.into(), px })
    }

    fn release(&mut self, value: &str) -> Reply {
        self.eval(Script::CompareAndDelete { key: LOCK.into(), value: value.into() })
    }

    fn get(&mut self) -> Reply {
        self.ask(Command::Get { key: LOCK.into() })
    }

    fn del(&mut self) -> Reply {
        self.ask(Command::Del { key: LOCK.into() })
    }

    fn exists(&mut self) -> Reply {
        self.ask(Command::Exists { key: LOCK.into() })
    }

    fn pttl(&mut self) -> Reply {
        self.ask(Command::Pttl { key: LOCK.into() })
    }

    fn pexpire(&mut self, px: i64) -> Reply {
        self.ask(Command::pexpire(LOCK.into(), px))
    }

    fn incr(&mut self) -> Reply {
        self.ask(Command::Incr { key: LOCK.into() })
    }
}

type Ask = fn(&mut Bench) -> Reply;

const OK: Reply = Reply::Ok;
const NIL: Reply = Reply::Nil;
const NO: Reply = Reply::Int(0);
const YES: Reply = Reply::Int(1);

fn error(reply: Reply) -> String {
    match reply {
        Reply::Error(error) => error.to_string(),
        other => panic!("no error: {other:?}"),
    }
}

#[test]
fn only_the_first_takes_the_key() {
    let mut t = Bench::new();
    assert_eq!(t.set_nx(A, 30_000), OK);
    assert_eq!(t.set_nx(B, 30_000), NIL);
    assert_eq!(t.get(), Reply::Bulk(A.into()));
    t.wait(1_000);
    assert_eq!(t.pttl(), Reply::Int(29_000));
}

#[test]
fn only_the_owner_releases_and_only_once() {
    let mut t = Bench::new();
    t.set_nx(A, 30_000);
    assert_eq!(t.release(B), NO);
    assert_eq!(t.get(), Reply::Bulk(A.into()));
    assert_eq!(t.release(A), YES);
    assert_eq!(t.release(A), NO);
    assert_eq!(t.pttl(), Reply::Int(-2));
}

#[test]
fn a_time_to_live_must_be_positive() {
    let mut t = Bench::new();
    t.set(B, None);
    for px in [0, -5, i64::MIN, i64::MAX] {
        // An error even where the key's existence would have refused the command.
        assert_eq!(error(t.set_nx(A, px)), "ERR invalid expire time in 'set' command", "{px}");
        assert_eq!(error(t.lock(A, px)), "ERR invalid expire time in 'set' command", "{px}");
        assert_eq!(error(t.set(A, Some(px))), "ERR invalid expire time in 'set' command", "{px}");
    }
    assert_eq!(t.get(), Reply::Bulk(B.into()));
}

#[test]
fn pexpire_takes_what_is_not_positive_as_a_deletion() {
    let mut t = Bench::new();
    assert_eq!(t.pexpire(1_000), NO);
    assert_eq!(t.set_nx(A, None), OK);
    assert_eq!(t.pttl(), Reply::Int(-1));
    assert_eq!(t.pexpire(20_000), YES);
    assert_eq!(t.pttl(), Reply::Int(20_000));
    assert_eq!(error(t.pexpire(i64::MAX)), "ERR invalid expire time in 'pexpire' command");
    assert_eq!(t.pexpire(0), YES);
    assert_eq!(t.exists(), NO);
    t.set(A, None);
    assert_eq!(t.pexpire(-1), YES);
    assert_eq!(t.exists(), NO);
}

#[test]
fn an_expired_key_is_free_for_the_next() {
    let mut t = Bench::new();
    t.set_nx(A, 50);
    t.wait(60);
    assert_eq!(t.get(), NIL);
    assert_eq!(t.set_nx(B, 5_000), OK);
    assert_eq!(t.extend(A, 1_000), NO);
    assert_eq!(t.pttl(), Reply::Int(5_000));
    assert_eq!(t.extend(B, 9_000), YES);
    assert_eq!(t.pttl(), Reply::Int(9_000));
}

#[test]
fn at_its_deadline_a_key_is_still_there() {
    // One command each, since the first that finds the key expired takes it away.
    #[rustfmt::skip]
    let table: [(Ask, Reply, Reply); 8] = [
        (|t| t.set_nx(B, 10), NIL, OK),
        (|t| t.lock(B, 10), NIL, YES),
        (Bench::get, Reply::Bulk(A.into()), NIL),
        (Bench::del, YES, NO),
        (Bench::exists, YES, NO),
        (Bench::pttl, NO, Reply::Int(-2)),
        (|t| t.pexpire(10), YES, NO),
        (|t| t.release(A), YES, NO),
    ];
    for (i, (command, at_deadline, after)) in table.into_iter().enumerate() {
        for (elapsed, expected) in [(10_000, at_deadline), (10_001, after)] {
            let mut t = Bench::new();
            t.set_nx(A, 10_000);
            t.wait(elapsed);
            assert_eq!(command(&mut t), expected, "command {i} after {elapsed} ms");
        }
    }
}

#[test]
fn the_deadline_is_on_the_wall_clock() {
    let mut t = Bench::new();
    t.set_nx(A, 10_000);
    t.wait(-60_000);
    assert_eq!(t.pttl(), Reply::Int(70_000));
    t.wait(60_000 + 10_001);
    assert_eq!(t.set_nx(B, 10_000), OK);
}

#[test]
fn set_clears_the_time_to_live() {
    let mut t = Bench::new();
    t.set_nx(A, 10_000);
    assert_eq!(t.set(B, None), OK);
    assert_eq!(t.pttl(), Reply::Int(-1));
    t.set(B, Some(70));
    assert_eq!(t.pttl(), Reply::Int(70));
}

#[test]
fn del_frees_the_key() {
    let mut t = Bench::new();
    assert_eq!(t.del(), NO);
    t.set_nx(A, None);
    assert_eq!(t.del(), YES);
    assert_eq!(t.set_nx(B, None), OK);
}

#[test]
fn incr_counts_from_nothing_and_keeps_the_time_to_live() {
    let mut t = Bench::new();
    assert_eq!(t.incr(), Reply::Int(1));
    assert_eq!(t.pttl(), Reply::Int(-1));
    t.pexpire(10_000);
    assert_eq!(t.incr(), Reply::Int(2));
    assert_eq!(t.get(), Reply::Bulk("2".into()));
    assert_eq!(t.pttl(), Reply::Int(10_000));
    t.wait(10_001);
    assert_eq!(t.incr(), Reply::Int(1));
}

#[test]
fn incr_refuses_what_it_cannot_count() {
    let mut t = Bench::new();
    t.set("abc", None);
    assert_eq!(error(t.incr()), "ERR value is not an integer or out of range");
    t.set("9223372036854775807", None);
    assert_eq!(error(t.incr()), "ERR increment or decrement would overflow");
    assert_eq!(t.get(), Reply::Bulk("9223372036854775807".into()));
}

#[test]
fn tokens_rise_from_grant_to_grant_and_only_then() {
    let mut t = Bench::new();
    assert_eq!(t.lock(A, 10_000), Reply::Int(1));
    assert_eq!(t.lock(B, 10_000), NIL);
    t.release(A);
    assert_eq!(t.lock(B, 10_000), Reply::Int(2));
    t.wait(10_001);
    assert_eq!(t.lock(A, 10_000), Reply::Int(3));
}

#[test]
fn a_script_that_fails_in_the_middle_is_not_undone() {
    let mut t = Bench::new();
    t.ask(Command::Setnx { key: COUNTER.into(), value: "abc".into() });
    assert_eq!(error(t.lock(A, 10_000)), "ERR value is not an integer or out of range");
    assert_eq!(t.get(), Reply::Bulk(A.into()));
}

#[test]
fn a_restart_forgets_everything() {
    let mut t = Bench::new();
    t.lock(A, 10_000);
    t.step(Redis::on_start);
    assert_eq!(t.get(), NIL);
    assert_eq!(t.lock(B, 10_000), Reply::Int(1));
}

#[test]
fn on_a_monotonic_clock_a_step_changes_no_lease() {
    let mut t = Bench::new();
    t.redis = Redis::new(RedisServer { ttl_clock: TtlClock::Monotonic, ..RedisServer::default() });
    let start = t.now;
    t.as_client(1).set_nx(A, 10_000);
    t.now += 3_600_000;
    assert_eq!((t.pttl(), t.timer), (Reply::Int(10_000), Some(10_001)));
    t.mono += 10_000;
    assert_eq!(t.pttl(), NO);
    t.mono += 1;
    assert_eq!(t.exists(), NO);
    // An instant of the wall clock is still one, seen from now.
    t.now = start;
    t.set_as(A, None, false, Lives::PxAt(start + 5_000));
    assert_eq!(t.pttl(), Reply::Int(5_000));
    t.set_as(A, None, false, Lives::ExAt((start + 5_000) / 1_000));
    assert_eq!(t.pttl(), Reply::Int(5_000));
    t.step(Redis::on_start);
    t.set_nx(A, 10_000);
    t.now += 3_600_000;
    assert_eq!(t.pttl(), Reply::Int(10_000), "a restart does not change the clock");
}
