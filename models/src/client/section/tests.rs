//! What is held: how long its renewal goes on, and how often it is entered.

use host::Host;

use super::*;
use crate::guard::Guard;
use crate::lock::{self, RedisLock};
use crate::recipe::Acquired;
use crate::redis::{Command, Reply, SingleRedis};
use crate::testing::{Bench, Mishap, REDIS, attempt};

const LOCK: LockName = LockName::fixed("orders");
const TTL: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_millis(200);

/// A lock that is renewed every 3 s.
fn redis(on_failure: OnFailure, stops: Stops) -> SingleRedis<Bench> {
    let renew = Some(Renew { on_failure, stops, ..Renew::every(secs(3)) });
    SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &RedisLock { renew, ..RedisLock::default() })
}

fn secs(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

async fn enter<L: Recipe<Bench>>(bench: &Bench, lock: &L) -> Section<Bench, L> {
    match lock.acquire(bench, LOCK).await {
        Acquired::Granted(lease) => Section::enter(bench, lock, LOCK, attempt(1), lease, Clock::Monotonic).await,
        _ => panic!("it is free"),
    }
}

fn key(bench: &Bench) -> Reply {
    bench.serve(None, REDIS, Command::Pttl { key: LOCK })
}

const GONE: Reply = Reply::Int(-2);

#[test]
fn one_failure_ends_the_renewal_or_it_is_tried_again() {
    for (on_failure, lost, left) in [(OnFailure::Stop, true, 3_000), (OnFailure::TryOn, false, 9_200)] {
        let (bench, lock) = (Bench::new(Guard::Open), redis(on_failure, Stops::BeforeRelease));
        bench.run(async {
            let section = enter(&bench, &lock).await;
            bench.mishap("renew", Mishap::RequestLost);
            bench.sleep(secs(7)).await;
            assert_eq!((section.is_lost(&lock), key(&bench)), (lost, Reply::Int(left)), "{on_failure:?}");
        });
    }
}

#[test]
fn who_tries_on_gives_up_when_the_lease_is_over() {
    let (bench, lock) = (Bench::new(Guard::Open), redis(OnFailure::TryOn, Stops::BeforeRelease));
    bench.run(async {
        let section = enter(&bench, &lock).await;
        for _ in 0..3 {
            bench.mishap("renew", Mishap::RequestLost);
            bench.sleep(Duration::from_millis(3_200)).await;
            assert!(!section.is_lost(&lock));
        }
        bench.mishap("renew", Mishap::RequestLost);
        bench.sleep(secs(4)).await;
        assert!(section.is_lost(&lock), "9.898 s are over");
    });
}

#[test]
fn a_refusal_ends_any_renewal() {
    let (bench, lock) = (Bench::new(Guard::Open), redis(OnFailure::TryOn, Stops::BeforeRelease));
    bench.run(async {
        let section = enter(&bench, &lock).await;
        bench.serve(None, REDIS, Command::Del { key: LOCK });
        bench.sleep(secs(4)).await;
        assert!(section.is_lost(&lock));
    });
}

#[test]
fn a_renewal_outlives_a_lost_release_unless_it_stops_before() {
    for (stops, left) in [(Stops::BeforeRelease, GONE), (Stops::AfterRelease, Reply::Int(7_800))] {
        let (bench, lock) = (Bench::new(Guard::Open), redis(OnFailure::TryOn, stops));
        bench.run(async {
            let section = enter(&bench, &lock).await;
            bench.mishap("release", Mishap::RequestLost);
            assert!(!section.give_back(&bench, &lock, None).await);
            bench.sleep(secs(20)).await;
        });
        assert_eq!(key(&bench), left, "{stops:?}");
    }
}

#[test]
fn a_confirmed_release_ends_the_renewal_whenever_it_stops() {
    for stops in [Stops::BeforeRelease, Stops::AfterRelease] {
        let (bench, lock) = (Bench::new(Guard::Open), redis(OnFailure::TryOn, stops));
        bench.run(async {
            let section = enter(&bench, &lock).await;
            assert!(section.give_back(&bench, &lock, None).await);
            bench.sleep(secs(20)).await;
        });
        assert!(!bench.log().contains(&points::RENEWING.0.to_owned()), "{stops:?}");
    }
}

#[test]
fn what_is_entered_twice_is_left_twice() {
    let switches = RedisLock { again: lock::Again::OneScript, ..RedisLock::default() };
    let (bench, lock) = (Bench::new(Guard::Open), SingleRedis::new(REDIS, Some(TTL), TIMEOUT, &switches));
    bench.run(async {
        let section = enter(&bench, &lock).await;
        assert_eq!(section.leave(&bench, &lock).await, None, "the only entry is given back by a release");
        bench.pause(secs(4));
        let until = bench.monotonic() + Duration::from_millis(9_898);
        let entered = section.enter_again(&bench, &lock).await;
        assert_eq!((entered, section.hold.until.get()), (Again::Entered { until: Some(until) }, Some(until)));
        assert_eq!(bench.notes().pop(), Some(Note::Renewed { attempt: attempt(1), until }));
        assert_eq!(section.leave(&bench, &lock).await, Some(true));
        assert_eq!(section.leave(&bench, &lock).await, None);
        assert!(section.give_back(&bench, &lock, None).await);
    });
    assert_eq!(key(&bench), GONE);
}
