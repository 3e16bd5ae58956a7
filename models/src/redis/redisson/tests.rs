//! Redisson's lock, asked directly.

use host::Host;

use super::*;
use crate::guard::Guard;
use crate::testing::{Bench, Mishap, REDIS};

const LOCK: LockName = LockName::fixed("orders");
const TTL: Duration = Duration::from_secs(10);

fn lock(resend: Resend) -> Redisson<Bench> {
    let switches = RedissonLock { resend, renew: Renew::every(TTL / 3) };
    Redisson::new(REDIS, TTL, Duration::from_secs(1), &switches)
}

fn granted(bench: &Bench, lock: &Redisson<Bench>) -> Lease<Value> {
    match bench.run(lock.acquire(bench, LOCK)).expect("an answer") {
        Acquired::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

fn release(bench: &Bench, lock: &Redisson<Bench>, lease: &Lease<Value>) -> Release {
    bench.run(lock.release(bench, LOCK, lease)).expect("an answer")
}

fn pttl(bench: &Bench) -> Reply {
    bench.serve(None, REDIS, Command::Pttl { key: LOCK })
}

#[test]
fn it_is_one_clients_until_all_its_entries_are_given_back() {
    let (bench, [a, b]) = (Bench::new(Guard::Open), [Resend::Never; 2].map(lock));
    let lease = granted(&bench, &a);
    assert_eq!(bench.run(b.acquire(&bench, LOCK)), Some(Acquired::Denied));
    bench.pause(Duration::from_secs(4));
    let until = Some(bench.monotonic() + Duration::from_millis(9_898));
    assert_eq!(bench.run(a.acquire_again(&bench, LOCK, &lease)), Some(Again::Entered { until }));
    assert_eq!(pttl(&bench), Reply::Int(10_000));
    assert_eq!(bench.run(a.leave(&bench, LOCK, &lease)), Some(Release::EntriesLeft));
    assert_eq!(release(&bench, &a, &lease), Release::Confirmed);
    assert_eq!(release(&bench, &a, &lease), Release::Refused);
    granted(&bench, &b);
    assert_eq!(bench.run(a.acquire_again(&bench, LOCK, &lease)), Some(Again::Denied));
}

#[test]
fn it_is_extended_for_its_owner_alone() {
    let (bench, lock) = (Bench::new(Guard::Open), lock(Resend::Never));
    let lease = granted(&bench, &lock);
    bench.pause(Duration::from_secs(4));
    let until = bench.monotonic() + Duration::from_millis(9_898);
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Extended { until }));
    assert_eq!(pttl(&bench), Reply::Int(10_000));
    bench.serve(None, REDIS, Command::Del { key: LOCK });
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Refused));
}

#[test]
fn a_request_that_is_sent_again_counts_again_unless_it_has_a_name() {
    for (resend, first, second) in [
        (Resend::Blindly, Release::EntriesLeft, Release::Confirmed),
        (Resend::ByName, Release::Confirmed, Release::Refused),
    ] {
        let (bench, lock) = (Bench::new(Guard::Open), lock(resend));
        bench.mishap("set", Mishap::ReplyLost);
        let lease = granted(&bench, &lock);
        let released = [release(&bench, &lock, &lease), release(&bench, &lock, &lease)];
        assert_eq!(released, [first, second], "{resend:?}");
    }
}

#[test]
fn two_attempts_have_two_names() {
    let (bench, lock) = (Bench::new(Guard::Open), lock(Resend::ByName));
    let lease = granted(&bench, &lock);
    bench.run(lock.acquire_again(&bench, LOCK, &lease));
    assert_eq!(release(&bench, &lock, &lease), Release::EntriesLeft);
}

#[test]
fn a_request_that_is_not_sent_again_has_failed() {
    let (bench, lock) = (Bench::new(Guard::Open), lock(Resend::Never));
    bench.mishap("set", Mishap::ReplyLost);
    assert_eq!(bench.run(lock.acquire(&bench, LOCK)), Some(Acquired::Failed));
    assert_eq!(pttl(&bench), Reply::Int(9_000));
}
