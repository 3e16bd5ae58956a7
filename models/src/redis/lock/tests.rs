//! The lock on one server, asked directly.

use host::{Host, MonoTime};
use spec::Token;

use super::take::COUNTER;
use super::*;
use crate::guard::Guard;
use crate::lock::{LateGrant, Local, Renew, TokenSource};
use crate::redis::Reply;
use crate::testing::{Bench, Mishap, REDIS};

const LOCK: LockName = LockName::fixed("orders");
const TTL: Duration = Duration::from_secs(10);
const DRIFT: Duration = Duration::from_millis(102);
const TIMEOUT: Duration = Duration::from_secs(60);
const NANOSECOND: Duration = Duration::from_nanos(1);

fn lock(token: TokenSource, ttl: Option<Duration>) -> SingleRedis<Bench> {
    SingleRedis::new(REDIS, ttl, TIMEOUT, &RedisLock { token, ..RedisLock::default() })
}

fn plain() -> SingleRedis<Bench> {
    lock(TokenSource::None, Some(TTL))
}

fn acquire(bench: &Bench, lock: &SingleRedis<Bench>) -> Acquired<Value> {
    bench.run(lock.acquire(bench, LOCK)).expect("an answer")
}

fn granted(bench: &Bench, lock: &SingleRedis<Bench>) -> Lease<Value> {
    match acquire(bench, lock) {
        Acquired::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn pttl(bench: &Bench) -> Reply {
    bench.serve(None, REDIS, Command::Pttl { key: LOCK })
}

const GONE: Reply = Reply::Int(-2);

#[test]
fn a_lease_is_the_ttl_less_the_drift_allowance_from_before_the_request() {
    let bench = Bench::new(Guard::Open);
    bench.pause(Duration::from_secs(5));
    bench.mishap("set", Mishap::ReplyTakes(Duration::from_secs(3)));
    let asked_at = bench.monotonic();
    let lease = granted(&bench, &plain());
    assert_eq!(lease.until, Some(asked_at + (TTL - DRIFT)));
    assert_eq!((lease.token, lease.counted), (None, Authorities::one(REDIS.node())));
    assert_eq!(pttl(&bench), Reply::Int(7_000));
}

#[test]
fn a_lease_is_counted_in_the_whole_milliseconds_that_redis_was_told() {
    let bench = Bench::new(Guard::Open);
    let ttl = Duration::from_micros(100_900);
    let lease = granted(&bench, &lock(TokenSource::None, Some(ttl)));
    assert_eq!(lease.until, Some(MonoTime::default() + Duration::from_millis(97)));
    assert_eq!(pttl(&bench), Reply::Int(100));
}

#[test]
fn a_held_lock_is_denied() {
    let bench = Bench::new(Guard::Open);
    granted(&bench, &plain());
    assert_eq!(acquire(&bench, &plain()), Acquired::Denied);
}

#[test]
fn tokens_count_the_grants() {
    let bench = Bench::new(Guard::Open);
    let lock = lock(TokenSource::IncrInScript, Some(TTL));
    let first = granted(&bench, &lock);
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    assert_eq!(bench.run(lock.release(&bench, LOCK, &first)), Some(Release::Confirmed));
    let second = granted(&bench, &lock);
    assert_eq!((first.token, second.token), (Some(Token(1)), Some(Token(2))));
}

#[test]
fn every_attempt_has_a_value_of_its_own() {
    let bench = Bench::new(Guard::Open);
    let first = granted(&bench, &plain());
    bench.run(plain().release(&bench, LOCK, &first));
    let second = granted(&bench, &plain());
    assert_ne!(first.proof, second.proof);
    assert_eq!(format!("{:?}", first.proof).len(), "\"\"".len() + 40);
}

#[test]
fn a_grant_whose_time_is_over_when_it_arrives_is_given_back() {
    // The key would live for the drift allowance yet.
    let validity = TTL - DRIFT;
    for (reply_takes, in_time) in [(validity - NANOSECOND, true), (validity, false)] {
        let bench = Bench::new(Guard::Open);
        bench.mishap("set", Mishap::ReplyTakes(reply_takes));
        let outcome = acquire(&bench, &plain());
        assert_eq!(matches!(outcome, Acquired::Granted(_)), in_time, "{outcome:?}");
        assert_eq!(outcome == Acquired::Denied, !in_time);
        assert_eq!(pttl(&bench) == GONE, !in_time);
    }
}

#[test]
fn a_grant_that_cannot_be_given_back_is_not_called_denied() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("set", Mishap::ReplyTakes(TTL));
    bench.mishap("release", Mishap::RequestLost);
    assert_eq!(acquire(&bench, &plain()), Acquired::Failed);
}

#[test]
fn an_attempt_without_an_answer_is_cleaned_up() {
    let bench = Bench::new(Guard::Open);
    let lock = lock(TokenSource::None, None);
    bench.mishap("set", Mishap::ReplyLost);
    assert_eq!(acquire(&bench, &lock), Acquired::Failed);
    assert_eq!(pttl(&bench), GONE);
    // Unless that fails, too.
    bench.mishap("set", Mishap::ReplyLost);
    bench.mishap("release", Mishap::RequestLost);
    assert_eq!(acquire(&bench, &lock), Acquired::Failed);
    assert_eq!(pttl(&bench), Reply::Int(-1));
}

#[test]
fn an_attempt_that_could_not_be_sent_fails_and_the_next_connects_again() {
    let bench = Bench::new(Guard::Open);
    let lock = plain();
    bench.mishap("connect", Mishap::RequestLost);
    assert_eq!(acquire(&bench, &lock), Acquired::Failed);
    granted(&bench, &lock);
}

#[test]
fn an_error_is_no_grant() {
    let bench = Bench::new(Guard::Open);
    let counter = Command::Setnx { key: COUNTER, value: "abc".into() };
    bench.serve(None, REDIS, counter);
    // Redis has set the key by the time it finds that it cannot count.
    assert_eq!(acquire(&bench, &lock(TokenSource::IncrInScript, Some(TTL))), Acquired::Failed);
    assert_eq!(pttl(&bench), GONE);
}

#[test]
fn a_renewal_counts_from_before_its_request() {
    let bench = Bench::new(Guard::Open);
    let lock = plain();
    let lease = granted(&bench, &lock);
    bench.pause(Duration::from_secs(4));
    bench.mishap("renew", Mishap::ReplyTakes(Duration::from_secs(1)));
    let asked_at = bench.monotonic();
    let until = asked_at + (TTL - DRIFT);
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Extended { until }));
    assert_eq!(pttl(&bench), Reply::Int(9_000));
}

#[test]
fn a_renewal_may_ask_for_another_length() {
    let bench = Bench::new(Guard::Open);
    let lock = plain();
    let lease = granted(&bench, &lock);
    let by = Duration::from_secs(20);
    let until = bench.monotonic() + (by - Duration::from_millis(202));
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, Some(by))), Some(Renewal::Extended { until }));
    assert_eq!(pttl(&bench), Reply::Int(20_000));
}

#[test]
fn what_has_expired_can_be_neither_renewed_nor_released() {
    let bench = Bench::new(Guard::Open);
    let lock = plain();
    let lease = granted(&bench, &lock);
    bench.pause(TTL + Duration::from_millis(1));
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Refused));
    granted(&bench, &plain());
    assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Refused));
    assert_eq!(pttl(&bench), Reply::Int(10_000));
}

#[test]
fn what_is_not_answered_counts_as_not_done() {
    let bench = Bench::new(Guard::Open);
    let lock = plain();
    let lease = granted(&bench, &lock);
    bench.mishap("renew", Mishap::RequestLost);
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Failed));
    bench.mishap("release", Mishap::ReplyLost);
    assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Refused));
}

#[test]
fn without_a_ttl_the_lease_has_no_end() {
    let bench = Bench::new(Guard::Open);
    let lock = lock(TokenSource::None, None);
    let lease = granted(&bench, &lock);
    assert_eq!((lease.until, pttl(&bench)), (None, Reply::Int(-1)));
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Refused));
    assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Confirmed));
}

/// The keyspace at the end of 20 s, after a caller gave up on a grant that came 100 ms late.
fn after_a_late_grant(late_grant: LateGrant) -> Reply {
    let bench = Bench::new(Guard::Open);
    bench.mishap("set", Mishap::ReplyTakes(Duration::from_millis(100)));
    let switches = RedisLock { late_grant, renew: Some(Renew::every(Duration::from_secs(3))), ..RedisLock::default() };
    let lock = SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &switches);
    bench.run(async {
        let gave_up = host::first(lock.acquire(&bench, LOCK), bench.sleep(Duration::from_millis(50))).await;
        assert_eq!(gave_up, host::Either::Right(()));
        bench.sleep(Duration::from_secs(9)).await;
    });
    pttl(&bench)
}

#[test]
fn a_late_grant_is_forgotten_or_kept_or_given_back() {
    assert_eq!(after_a_late_grant(LateGrant::Forgotten), Reply::Int(950), "what is left of the 10 s");
    assert_eq!(after_a_late_grant(LateGrant::Kept), Reply::Int(7_050), "last renewed at 6.1 s");
    assert_eq!(after_a_late_grant(LateGrant::GivenBack), GONE);
}

#[test]
fn a_grant_that_is_waited_for_is_the_callers_own() {
    for late_grant in [LateGrant::Kept, LateGrant::GivenBack] {
        let bench = Bench::new(Guard::Open);
        let lock = SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &RedisLock { late_grant, ..RedisLock::default() });
        let lease = granted(&bench, &lock);
        assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Confirmed));
    }
}

mod switches;

#[test]
fn threads_that_ask_each_other_do_not_ask_the_server() {
    for (local, again) in [(Local::FreedInAnyCase, true), (Local::FreedIfConfirmed, false)] {
        let bench = Bench::new(Guard::Open);
        let lock = SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &RedisLock { local, ..RedisLock::default() });
        let lease = granted(&bench, &lock);
        bench.pause(TTL * 2);
        assert_eq!(acquire(&bench, &lock), Acquired::Denied, "the server would have given it");
        assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Refused));
        assert_eq!(matches!(acquire(&bench, &lock), Acquired::Granted(_)), again);
    }
}

#[test]
fn a_thread_that_is_not_granted_the_lock_or_gives_up_leaves_it_to_the_others() {
    let bench = Bench::new(Guard::Open);
    let switches = RedisLock { local: Local::FreedIfConfirmed, ..RedisLock::default() };
    let lock = SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &switches);
    let rival = granted(&bench, &plain());
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    bench.run(plain().release(&bench, LOCK, &rival));
    bench.mishap("set", Mishap::RequestLost);
    bench.run(host::first(lock.acquire(&bench, LOCK), bench.sleep(Duration::from_millis(50))));
    let lease = granted(&bench, &lock);
    assert_eq!(bench.run(lock.release(&bench, LOCK, &lease)), Some(Release::Confirmed));
    granted(&bench, &lock);
}
