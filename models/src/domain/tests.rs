//! How messages and notes read, and what becomes of them on their way through the kernel.

use std::num::{NonZeroU32, NonZeroU64};

use host::{Digest, MonoTime, NodeId, Request};
use spec::{Authorities, Cause, Mode, OpId, Thread, Version};

use super::*;
use crate::redis::{ExpireIf, Length, Lives, RedisError, Script, SetIf, Value};
use crate::resource::{Action, Key, Work};

use host::Name;

fn attempt() -> AttemptId {
    AttemptId::new(NodeId::new(3), NonZeroU32::MIN)
}

fn op(action: Action) -> Op {
    let id = OpId(u32::from(action != Action::Read));
    Op { id, object: "account".into(), token: Some(Token(33)), takes: Work::NONE, action }
}

fn read() -> Op {
    op(Action::Read)
}

fn write(based_on: Option<Version>) -> Op {
    op(Action::Write { based_on })
}

#[test]
fn messages_read_like_what_one_would_type() {
    let [lock, counter] = ["lock:orders", "lock:orders:token"].map(Name::from);
    let key = || lock;
    let value = || Value::from("7f3a5c00112233445566778899aabbccddeeff00");
    let set = |only, get, lives| Command::Set { key: lock, value: value(), only, get, lives };
    let expire = |only| Command::Expire { key: lock, length: Length::Seconds(5), only: Some(only) };
    let eval = |script: Script| Message::from(Command::from(script));
    #[rustfmt::skip]
    let table: Vec<(Message, &str)> = vec![
        (Command::set_nx(key(), value(), Some(10_000)).into(), r#"SET lock:orders "7f3a…" NX PX 10000"#),
        (set(None, false, Lives::Forever).into(), r#"SET lock:orders "7f3a…""#),
        (set(Some(SetIf::Xx), true, Lives::AsBefore).into(), r#"SET lock:orders "7f3a…" XX GET KEEPTTL"#),
        (set(None, false, Lives::Ex(10)).into(), r#"SET lock:orders "7f3a…" EX 10"#),
        (set(None, false, Lives::ExAt(9)).into(), r#"SET lock:orders "7f3a…" EXAT 9"#),
        (set(None, false, Lives::PxAt(9)).into(), r#"SET lock:orders "7f3a…" PXAT 9"#),
        (Command::Setnx { key: key(), value: value() }.into(), r#"SETNX lock:orders "7f3a…""#),
        (Command::Get { key: key() }.into(), "GET lock:orders"),
        (Command::Del { key: key() }.into(), "DEL lock:orders"),
        (Command::Exists { key: key() }.into(), "EXISTS lock:orders"),
        (Command::Persist { key: key() }.into(), "PERSIST lock:orders"),
        (Command::Ttl { key: key() }.into(), "TTL lock:orders"),
        (Command::Pttl { key: key() }.into(), "PTTL lock:orders"),
        (Command::pexpire(key(), 500).into(), "PEXPIRE lock:orders 500"),
        (expire(ExpireIf::Nx).into(), "EXPIRE lock:orders 5 NX"),
        (expire(ExpireIf::Xx).into(), "EXPIRE lock:orders 5 XX"),
        (expire(ExpireIf::Gt).into(), "EXPIRE lock:orders 5 GT"),
        (expire(ExpireIf::Lt).into(), "EXPIRE lock:orders 5 LT"),
        (Command::Incr { key: counter }.into(), "INCR lock:orders:token"),
        (Command::Hset { key: key(), field: "f".into(), value: "v".into() }.into(), r#"HSET lock:orders "f" "v""#),
        (Command::Hget { key: key(), field: "f".into() }.into(), r#"HGET lock:orders "f""#),
        (Command::Hexists { key: key(), field: "f".into() }.into(), r#"HEXISTS lock:orders "f""#),
        (Command::Hdel { key: key(), field: "f".into() }.into(), r#"HDEL lock:orders "f""#),
        (Command::Hincrby { key: key(), field: "f".into(), by: -1 }.into(), r#"HINCRBY lock:orders "f" -1"#),
        (Command::Multi.into(), "MULTI"),
        (Command::Exec.into(), "EXEC"),
        (Command::Discard.into(), "DISCARD"),
        (Command::Watch { key: key() }.into(), "WATCH lock:orders"),
        (Command::Unwatch.into(), "UNWATCH"),
        (eval(Script::CompareAndDelete { key: key(), value: value() }),
            r#"EVAL compare-and-delete lock:orders "7f3a…""#),
        (eval(Script::CompareAndPexpire { key: key(), value: value(), px: 9_000 }),
            r#"EVAL compare-and-pexpire lock:orders "7f3a…" 9000"#),
        (eval(Script::LockWithToken { key: key(), value: value(), px: Some(10_000), counter }),
            r#"EVAL lock-with-token lock:orders lock:orders:token "7f3a…" PX 10000"#),
        (eval(Script::ExtendOrCreate { key: key(), value: value(), px: 9_000 }),
            r#"EVAL extend-or-create lock:orders "7f3a…" 9000"#),
        (eval(Script::ExtendByAdding { key: key(), value: value(), px: 9_000 }),
            r#"EVAL extend-by-adding lock:orders "7f3a…" 9000"#),
        (eval(Script::HashLock { key: key(), owner: value(), px: 9_000, request: None }),
            r#"EVAL hash-lock lock:orders "7f3a…" 9000"#),
        (eval(Script::HashLock { key: key(), owner: value(), px: 9_000, request: NonZeroU64::new(7) }),
            r#"EVAL hash-lock lock:orders "7f3a…" 9000 7"#),
        (eval(Script::HashUnlock { key: key(), owner: value(), px: 9_000, tells: false }),
            r#"EVAL hash-unlock lock:orders "7f3a…" 9000"#),
        (eval(Script::HashExtend { key: key(), owner: value(), px: 9_000 }),
            r#"EVAL hash-extend lock:orders "7f3a…" 9000"#),
        (Reply::Queued.into(), "+QUEUED"),
        (Reply::NilArray.into(), "nil"),
        (Reply::Array(vec![Reply::Ok, Reply::Int(1)]).into(), "[+OK, :1]"),
        (Reply::Ok.into(), "+OK"),
        (Reply::Nil.into(), "nil"),
        (Reply::Int(33).into(), ":33"),
        (Reply::Bulk("33".into()).into(), "\"33\""),
        (Reply::Error(RedisError::NotAnInteger).into(), "-ERR value is not an integer or out of range"),
        (read().into(), "READ account, token 33"),
        (write(Some(Version(3))).into(), "WRITE account based on v3, token 33"),
        (write(None).into(), "WRITE account blind, token 33"),
        (Op { token: None, ..read() }.into(), "READ account"),
        (op(Action::Mark).into(), "MARK account, token 33"),
        (OpReply::Version(Version(4)).into(), "v4"),
        (op(Action::Ticket).into(), "TICKET account, token 33"),
        (Op { token: None, ..op(Action::Effect { key: NonZeroU32::new(17).map(Key) }) }.into(), "DO account once, key 17"),
        (Op { token: None, ..op(Action::Effect { key: None }) }.into(), "DO account"),
        (OpReply::Done.into(), "done"),
        (OpReply::Ticket(Token(7)).into(), "token 7"),
        (OpReply::Refused.into(), "refused"),
    ];
    for (message, text) in table {
        assert_eq!(Locks::describe_message(&message), text);
    }
}

#[test]
fn notes_read_as_sentences() {
    let (attempt, op, until) = (attempt(), OpId(1), MonoTime::from_nanos(9_898_765_432));
    let (authority, key, object) = (NodeId::new(0), Name::from("orders"), Name::from("account"));
    let by = Some(attempt);
    let granted = |token, until| Note::Granted { attempt, token, until, counted: Authorities::one(authority) };
    let owner = |attempt, cause| Note::Owner { authority, key, attempt, cause };
    let (replaced, version) = (Version(3), Version(3));
    let wrote = |attempt, based_on| Note::Wrote { attempt, op, object, based_on, replaced };
    #[rustfmt::skip]
    let table = [
        (
            Note::Attempting { attempt, lock: key, thread: Thread::default(), after: None, mode: Mode::Exclusive },
            "node-3#1 asks for orders",
        ),
        (
            Note::Attempting { attempt, lock: key, thread: Thread::default(), after: None, mode: Mode::Shared },
            "node-3#1 asks for orders, to share it",
        ),
        (granted(Some(Token(33)), Some(until)), "node-3#1 takes the lock to be its own until its clock reads 9.898 s, token 33"),
        (granted(None, None), "node-3#1 takes the lock to be its own until it releases"),
        (Note::Denied { attempt }, "node-3#1 is denied"),
        (Note::Failed { attempt }, "node-3#1 got no clear answer"),
        (Note::Renewing { attempt }, "node-3#1 is about to extend its lease"),
        (Note::Renewed { attempt, until }, "node-3#1 has extended its lease until its clock reads 9.898 s"),
        (Note::RenewalFailed { attempt }, "node-3#1 could not extend its lease"),
        (Note::ToldOfLoss { attempt }, "node-3#1 learns that its lock is lost"),
        (Note::Checked { attempt, op }, "node-3#1 goes ahead with operation 1"),
        (Note::Left { attempt, op }, "operation 1 of node-3#1 leaves"),
        (Note::Releasing { attempt }, "node-3#1 begins to release"),
        (Note::Released { attempt }, "node-3#1 has released"),
        (Note::ReleaseRefused { attempt }, "node-3#1 could not release"),
        (Note::Ended { attempt }, "node-3#1 is through with its section"),
        (Note::GaveUp { attempt }, "node-3#1 was the last try"),
        (owner(by, Cause::Request(by)), "orders belongs to node-3#1"),
        (owner(None, Cause::Request(by)), "orders belongs to nobody: asked by node-3#1"),
        (owner(None, Cause::Request(None)), "orders belongs to nobody: asked by somebody outside any attempt"),
        (owner(None, Cause::Expiry), "orders belongs to nobody: its lease is over"),
        (owner(None, Cause::Eviction), "orders belongs to nobody: evicted"),
        (owner(None, Cause::Restart), "orders belongs to nobody: lost in a restart"),
        (Note::Extended { authority, key, attempt, by }, "orders belongs to node-3#1 for longer"),
        (Note::Extended { authority, key, attempt, by: None }, "orders belongs to node-3#1 for longer, as asked by somebody outside any attempt"),
        (Note::Read { attempt: by, op, object, version }, "account v3 is read by node-3#1"),
        (wrote(by, Some(Version(2))), "account v3 is overwritten by node-3#1, based on v2"),
        (wrote(None, None), "account v3 is overwritten by somebody outside any attempt, blind"),
        (Note::Refused { attempt: by, op, object }, "operation 1 of node-3#1 on account is refused"),
        (Note::Effected { attempt: by, op, effect: Name::from("charge") }, "charge is done by node-3#1"),
    ];
    for (note, text) in table {
        assert_eq!(Locks::describe_note(&note), text);
    }
}

#[test]
fn what_leaves_towards_the_resource_is_noted() {
    let left = |message: Message| Locks::left(&message, attempt());
    assert_eq!(left(read().into()), Some(Note::Left { attempt: attempt(), op: OpId(0) }));
    assert_eq!(left(write(None).into()), Some(Note::Left { attempt: attempt(), op: OpId(1) }));
    assert_eq!(left(Command::Get { key: "orders".into() }.into()), None);
    assert_eq!(left(OpReply::Refused.into()), None);
}

#[test]
fn services_mark_the_milestones_that_a_client_cannot_see() {
    let (attempt, op, object) = (attempt(), OpId(1), Name::from("account"));
    let by = Some(attempt);
    let (authority, key, cause) = (NodeId::new(0), Name::from("orders"), Cause::Request(by));
    let owner = |attempt| Note::Owner { authority, key, attempt, cause };
    let wrote = Note::Wrote { attempt: by, op, object, based_on: None, replaced: Version(0) };
    let refused = |attempt| Note::Refused { attempt, op, object };
    assert_eq!(Locks::milestone(&owner(by)), Some((attempt, points::OWNER)));
    assert_eq!(Locks::milestone(&owner(None)), None);
    assert_eq!(Locks::milestone(&wrote), Some((attempt, points::WRITE_APPLIED)));
    assert_eq!(Locks::milestone(&refused(by)), Some((attempt, points::REFUSED)));
    assert_eq!(Locks::milestone(&refused(None)), None);
    let marked = Note::Marked { attempt: by, op, object };
    assert_eq!(Locks::milestone(&marked), Some((attempt, points::MARKED)));
    let passed = Note::Passed { attempt: by, op, object };
    assert_eq!(Locks::milestone(&passed), Some((attempt, points::CHECK_PASSED)));
    let effected = Note::Effected { attempt: by, op, effect: object };
    assert_eq!(Locks::milestone(&effected), Some((attempt, points::EFFECTED)));
    assert_eq!(Locks::milestone(&Note::Ended { attempt }), None);
}

#[test]
fn faults_know_requests_by_what_a_lock_wants_of_them() {
    let (key, value) = (Name::from("orders"), Value::from("a"));
    let name = |message: Message| Locks::operation(&message).0;
    let (k, v) = (|| key, || value.clone());
    assert_eq!(name(Command::set_nx(k(), v(), None).into()), "set");
    assert_eq!(
        name(Command::from(Script::LockWithToken { key: k(), value: v(), px: None, counter: k() }).into()),
        "set"
    );
    assert_eq!(name(Command::from(Script::CompareAndPexpire { key: k(), value: v(), px: 1 }).into()), "renew");
    assert_eq!(name(Command::from(Script::CompareAndDelete { key: k(), value: v() }).into()), "release");
    assert_eq!(name(Command::Incr { key: k() }.into()), "incr");
    assert_eq!([name(read().into()), name(write(None).into())], ["read", "write"]);
}

#[test]
fn a_message_is_unpacked_only_as_what_it_is() {
    assert_eq!(Op::try_from(Message::from(read())), Ok(read()));
    assert_eq!(Command::try_from(Message::from(read())), Err(read().into()));
    assert_eq!(<Op as Request>::Push::try_from(Message::from(read())), Err(read().into()));
}

#[test]
fn messages_fit_a_cache_line() {
    // They are moved through the event queue: a larger variant belongs in a box.
    assert!(size_of::<Message>() <= 64, "{}", size_of::<Message>());
}

#[test]
fn digests_are_written_down() {
    // Golden: a change here changes every trace hash, and with it the engine version.
    let set = Command::set_nx("orders".into(), "a".into(), Some(10_000));
    let error = Reply::Error(RedisError::InvalidExpire { command: "set" });
    let messages = [set.into(), write(Some(Version(3))).into(), Message::from(error)];
    assert_eq!(
        messages.map(|message| message.digested()),
        [0xc152_2351_10f5_e195, 0xf2fb_3b49_b802_aa51, 0x795f_66a5_2a35_207d]
    );
}
