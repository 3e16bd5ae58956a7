//! Each departure from the published lock, seen at the server: what it does where the published lock does
//! something else.

use super::*;
use crate::lock::switch::Choice;
use crate::lock::{Again as Entering, Extend, LeaseFrom, OnError, OwnerValue, RegistryEntry, ReleaseBy, Renew, Take};
use crate::lock::{OnDenied, ZeroLength, points};
use crate::recipe::Again;
use crate::redis::{Lives, Script};

fn with(switches: RedisLock) -> SingleRedis<Bench> {
    SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &switches)
}

fn default() -> RedisLock {
    RedisLock::default()
}

fn release(bench: &Bench, lock: &SingleRedis<Bench>, lease: &Lease<Value>) -> Release {
    bench.run(lock.release(bench, LOCK, lease)).expect("an answer")
}

fn renew(bench: &Bench, lock: &SingleRedis<Bench>, lease: &Lease<Value>) -> Renewal {
    bench.run(lock.renew(bench, LOCK, lease, None)).expect("an answer")
}

fn again(bench: &Bench, lock: &SingleRedis<Bench>, lease: &Lease<Value>) -> Again {
    bench.run(lock.acquire_again(bench, LOCK, lease)).expect("an answer")
}

fn get(bench: &Bench) -> Reply {
    bench.serve(None, REDIS, Command::Get { key: LOCK })
}

/// The lease runs out, and a rival takes the key.
fn overtaken(bench: &Bench) {
    bench.pause(TTL + Duration::from_millis(1));
    rival(bench);
}

fn rival(bench: &Bench) {
    let lives = Lives::Px(10_000);
    bench.serve(None, REDIS, Command::Set { key: LOCK, value: "rival".into(), only: None, get: false, lives });
}

const RIVAL: fn() -> Reply = || Reply::Bulk("rival".into());

#[test]
fn each_release_frees_what_is_ones_own() {
    for release_by in ReleaseBy::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { release: *release_by, ..default() }));
        let lease = granted(&bench, &lock);
        assert_eq!((release(&bench, &lock, &lease), pttl(&bench)), (Release::Confirmed, GONE), "{release_by:?}");
    }
}

#[test]
fn only_an_unchecked_release_frees_what_is_a_rivals() {
    for release_by in ReleaseBy::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { release: *release_by, ..default() }));
        let lease = granted(&bench, &lock);
        overtaken(&bench);
        let told = release(&bench, &lock, &lease);
        let expected = match release_by {
            ReleaseBy::Unchecked => (Release::Confirmed, Reply::Nil),
            _ => (Release::Refused, RIVAL()),
        };
        assert_eq!((told, get(&bench)), expected, "{release_by:?}");
    }
}

#[test]
fn between_the_look_and_the_deletion_the_key_may_become_a_rivals() {
    for (release_by, told, left) in [
        (ReleaseBy::CheckThenDelete, Release::Confirmed, Reply::Nil),
        (ReleaseBy::Transaction, Release::Refused, RIVAL()),
    ] {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { release: release_by, ..default() }));
        let lease = granted(&bench, &lock);
        bench.at(points::READ, overtaken);
        assert_eq!((release(&bench, &lock, &lease), get(&bench)), (told, left), "{release_by:?}");
    }
}

#[test]
fn set_then_expire_leaves_a_key_without_an_end_in_between() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { take: Take::SetThenExpire, ..default() }));
    bench.at(points::TAKEN, |bench| {
        assert_eq!(pttl(bench), Reply::Int(-1));
    });
    granted(&bench, &lock);
    assert_eq!((bench.log().contains(&points::TAKEN.0.to_owned()), pttl(&bench)), (true, Reply::Int(10_000)));
}

#[test]
fn what_does_not_come_to_expire_is_given_back_as_any_failed_attempt() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { take: Take::SetThenExpire, ..default() }));
    bench.mishap("renew", Mishap::RequestLost);
    assert_eq!((acquire(&bench, &lock), pttl(&bench)), (Acquired::Failed, GONE));
}

#[test]
fn who_is_denied_may_help_a_key_to_expire() {
    for (on_denied, without_end, with_end) in [
        (OnDenied::Nothing, -1, 6_000),
        (OnDenied::LetExpire, 10_000, 6_000),
        (OnDenied::LetExpireAnew, 10_000, 10_000),
    ] {
        let left = |lives: Lives| {
            let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { on_denied, ..default() }));
            let set = Command::Set { key: LOCK, value: "rival".into(), only: None, get: false, lives };
            bench.serve(None, REDIS, set);
            bench.pause(Duration::from_secs(4));
            assert_eq!(acquire(&bench, &lock), Acquired::Denied);
            pttl(&bench)
        };
        let left = [left(Lives::Forever), left(Lives::Px(10_000))];
        assert_eq!(left, [without_end, with_end].map(Reply::Int), "{on_denied:?}");
    }
}

#[test]
fn a_token_drawn_before_the_key_is_taken_may_be_old_by_then() {
    let first = with(RedisLock { token: TokenSource::IncrBeforeSet, ..default() });
    let bench = Bench::new(Guard::Open);
    bench.at(points::COUNTED, |bench| {
        bench.serve(None, REDIS, Command::Incr { key: COUNTER });
    });
    assert_eq!(granted(&bench, &first).token, Some(Token(1)));
    // The number is drawn also where the key is then denied.
    assert_eq!(acquire(&bench, &first), Acquired::Denied);
    assert_eq!(bench.serve(None, REDIS, Command::Get { key: COUNTER }), Reply::Bulk("4".into()));
}

#[test]
fn a_counter_of_ones_own_knows_nothing_of_others() {
    let (bench, switches) = (Bench::new(Guard::Open), RedisLock { token: TokenSource::CounterPerClient, ..default() });
    let [a, b] = [with(switches.clone()), with(switches)];
    let mut tokens = Vec::new();
    for client in [&a, &a, &b] {
        let lease = granted(&bench, client);
        tokens.push(lease.token.expect("a token").0);
        release(&bench, client, &lease);
    }
    assert_eq!(tokens, [1, 2, 1]);
}

#[test]
fn an_owner_value_is_a_number_too() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { token: TokenSource::OwnerValue, ..default() }));
    let lease = granted(&bench, &lock);
    assert_eq!(format!("\"{:016x}\"", lease.token.expect("a token").0)[..17], format!("{:?}", lease.proof)[..17]);
}

#[test]
fn owner_values_are_as_fresh_as_they_are_said_to_be() {
    for (value, same_client, same_world) in [
        (OwnerValue::PerAttempt, false, false),
        (OwnerValue::PerClient, true, false),
        (OwnerValue::Constant, true, true),
    ] {
        let (bench, switches) = (Bench::new(Guard::Open), RedisLock { value, ..default() });
        let [a, b] = [with(switches.clone()), with(switches)];
        let [one, two, other] = [&a, &a, &b].map(|client| {
            let lease = granted(&bench, client);
            release(&bench, client, &lease);
            lease.proof
        });
        assert_eq!((one == two, one == other), (same_client, same_world), "{value:?}");
    }
}

#[test]
fn an_attempt_without_an_answer_leaves_the_key_unless_it_cleans_up() {
    for (on_error, left) in [(OnError::CleanUp, GONE), (OnError::Forget, Reply::Int(9_000))] {
        let second = Duration::from_secs(1);
        let lock = SingleRedis::new(REDIS, Some(TTL), second, &RedisLock { on_error, ..default() });
        let bench = Bench::new(Guard::Open);
        bench.mishap("set", Mishap::ReplyLost);
        assert_eq!((acquire(&bench, &lock), pttl(&bench)), (Acquired::Failed, left), "{on_error:?}");
    }
}

#[test]
fn a_failed_attempt_may_be_taken_for_a_grant() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { on_error: OnError::TakeForGranted, ..default() }));
    bench.mishap("connect", Mishap::RequestLost);
    granted(&bench, &lock);
    assert_eq!(pttl(&bench), GONE);
}

#[test]
fn a_lease_is_counted_from_where_the_switch_says() {
    let slow = Duration::from_secs(3);
    for (lease_from, counted_from) in [(LeaseFrom::Request, Duration::ZERO), (LeaseFrom::Reply, slow)] {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { lease_from, ..default() }));
        bench.mishap("set", Mishap::ReplyTakes(slow));
        let until = MonoTime::default() + counted_from + (TTL - DRIFT);
        assert_eq!(granted(&bench, &lock).until, Some(until), "{lease_from:?}");
    }
}

#[test]
fn a_lease_counted_from_the_reply_may_be_over_at_the_server() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { lease_from: LeaseFrom::Reply, ..default() }));
    bench.mishap("set", Mishap::ReplyTakes(TTL * 2));
    granted(&bench, &lock);
    assert_eq!(pttl(&bench), GONE);
}

#[test]
fn a_lease_counted_from_the_first_of_many_tries_may_be_over_at_once() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { lease_from: LeaseFrom::FirstTry, ..default() }));
    rival(&bench);
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    overtaken(&bench);
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    bench.pause(TTL + Duration::from_millis(1));
    let lease = granted(&bench, &lock);
    assert_eq!((lease.until, pttl(&bench)), (Some(MonoTime::default() + (TTL - DRIFT)), Reply::Int(10_000)));
    release(&bench, &lock, &lease);
    let now = bench.monotonic();
    assert_eq!(granted(&bench, &lock).until, Some(now + (TTL - DRIFT)), "the next tries begin anew");
}

#[test]
fn each_extension_extends_what_is_ones_own() {
    for extend in Extend::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { extend: *extend, ..default() }));
        let lease = granted(&bench, &lock);
        bench.pause(Duration::from_secs(4));
        let (length, allowance) = match extend {
            Extend::AddToRest => (Duration::from_secs(16), Duration::from_millis(162)),
            _ => (TTL, DRIFT),
        };
        let until = bench.monotonic() + (length - allowance);
        assert_eq!(renew(&bench, &lock, &lease), Renewal::Extended { until }, "{extend:?}");
        assert_eq!(pttl(&bench), Reply::Int(length.as_millis().try_into().expect("it fits")), "{extend:?}");
        assert_eq!(get(&bench), Reply::Bulk(lease.proof));
    }
}

#[test]
fn only_an_unchecked_extension_extends_what_is_a_rivals() {
    for extend in Extend::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { extend: *extend, ..default() }));
        let lease = granted(&bench, &lock);
        overtaken(&bench);
        bench.pause(Duration::from_secs(4));
        let expected = match extend {
            Extend::Unchecked => (Renewal::Extended { until: bench.monotonic() + (TTL - DRIFT) }, Reply::Int(10_000)),
            _ => (Renewal::Refused, Reply::Int(6_000)),
        };
        assert_eq!((renew(&bench, &lock, &lease), pttl(&bench)), expected, "{extend:?}");
        assert_eq!(get(&bench), RIVAL());
    }
}

#[test]
fn an_extension_may_create_what_is_gone() {
    for extend in Extend::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { extend: *extend, ..default() }));
        let lease = granted(&bench, &lock);
        bench.pause(TTL + Duration::from_millis(1));
        let extended = matches!(renew(&bench, &lock, &lease), Renewal::Extended { .. });
        let creates = *extend == Extend::CreateIfMissing;
        assert_eq!((extended, get(&bench) != Reply::Nil), (creates, creates), "{extend:?}");
    }
}

#[test]
fn what_is_dropped_to_be_taken_again_may_be_taken_by_a_rival() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { extend: Extend::ReleaseThenTake, ..default() }));
    let lease = granted(&bench, &lock);
    bench.at(points::DROPPED, rival);
    assert_eq!((renew(&bench, &lock, &lease), get(&bench)), (Renewal::Refused, RIVAL()));
}

#[test]
fn an_extension_by_no_time_deletes_the_key_unless_it_is_refused() {
    for (zero, left) in [(ZeroLength::Refused, Reply::Int(10_000)), (ZeroLength::Sent, GONE)] {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { zero, ..default() }));
        let lease = granted(&bench, &lock);
        let told = bench.run(lock.renew(&bench, LOCK, &lease, Some(Duration::ZERO))).expect("an answer");
        let expected = match zero {
            ZeroLength::Refused => Renewal::Refused,
            ZeroLength::Sent => Renewal::Extended { until: bench.monotonic() },
        };
        assert_eq!((told, pttl(&bench)), (expected, left), "{zero:?}");
    }
}

#[test]
fn a_re_entrant_lock_is_entered_again_while_it_is_ones_own() {
    for again_by in Entering::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { again: *again_by, ..default() }));
        let lease = granted(&bench, &lock);
        bench.pause(Duration::from_secs(4));
        let until = Some(bench.monotonic() + (TTL - DRIFT));
        let (told, left) = match again_by {
            Entering::Separate => (Again::NotReentrant, 6_000),
            Entering::CountedInProcess => (Again::Entered { until: None }, 6_000),
            Entering::OneScript | Entering::ReadThenSet => (Again::Entered { until }, 10_000),
        };
        assert_eq!((again(&bench, &lock, &lease), pttl(&bench)), (told, Reply::Int(left)), "{again_by:?}");
    }
}

#[test]
fn who_asks_nobody_enters_what_is_a_rivals() {
    for again_by in Entering::ALL {
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { again: *again_by, ..default() }));
        let lease = granted(&bench, &lock);
        overtaken(&bench);
        let told = match again_by {
            Entering::Separate => Again::NotReentrant,
            Entering::CountedInProcess => Again::Entered { until: None },
            Entering::OneScript | Entering::ReadThenSet => Again::Denied,
        };
        assert_eq!((again(&bench, &lock, &lease), get(&bench)), (told, RIVAL()), "{again_by:?}");
    }
}

#[test]
fn who_reads_first_and_sets_then_overwrites_a_rival() {
    let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { again: Entering::ReadThenSet, ..default() }));
    let lease = granted(&bench, &lock);
    bench.at(points::READ, overtaken);
    let told = again(&bench, &lock, &lease);
    assert!(matches!(told, Again::Entered { .. }), "{told:?}");
    assert_eq!(get(&bench), Reply::Bulk(lease.proof));
}

#[test]
fn an_entry_that_stays_keeps_the_next_renewal_from_beginning() {
    for (entry, begins) in [(RegistryEntry::Cleared, true), (RegistryEntry::Stays, false)] {
        let renewal = Renew { entry, ..Renew::every(Duration::from_secs(1)) };
        let (bench, lock) = (Bench::new(Guard::Open), with(RedisLock { renew: Some(renewal), ..default() }));
        let begun = || Recipe::<Bench>::renewing(&lock, LOCK).is_some();
        let lease = granted(&bench, &lock);
        assert!(begun());
        overtaken(&bench);
        assert_eq!(release(&bench, &lock, &lease), Release::Refused);
        assert_eq!(begun(), begins, "{entry:?}");
        assert!(Recipe::<Bench>::renewing(&lock, "another".into()).is_some(), "{entry:?}");
        bench.serve(None, REDIS, Command::Del { key: LOCK });
        let lease = granted(&bench, &lock);
        assert_eq!(release(&bench, &lock, &lease), Release::Confirmed);
        assert!(begun(), "{entry:?}");
    }
}

#[test]
fn an_unanswered_extension_is_not_a_refused_one() {
    let (bench, lock) = (Bench::new(Guard::Open), with(default()));
    let lease = granted(&bench, &lock);
    bench.mishap("renew", Mishap::ReplyLost);
    assert_eq!(renew(&bench, &lock, &lease), Renewal::Failed);
    let script = Script::CompareAndDelete { key: LOCK, value: lease.proof.clone() };
    bench.serve(None, REDIS, Command::from(script));
    assert_eq!(renew(&bench, &lock, &lease), Renewal::Refused);
}
