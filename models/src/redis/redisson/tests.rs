//! Redisson's lock, asked directly.

use host::Host;

use super::*;
use crate::guard::Guard;
use crate::redis::ListCommand;
use crate::redis::fair::queue_of;
use crate::testing::{Bench, Mishap, REDIS};

const LOCK: LockName = LockName::fixed("orders");
const TTL: Duration = Duration::from_secs(10);

fn lock(resend: Resend) -> Redisson<Bench> {
    let switches = RedissonLock { resend, ..RedissonLock::renewed(Renew::every(TTL / 3)) };
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

fn waiting(waits: Waits, order: Order) -> Redisson<Bench> {
    let switches = RedissonLock { waits, order, ..RedissonLock::renewed(Renew::every(TTL / 3)) };
    Redisson::new(REDIS, TTL, Duration::from_secs(1), &switches)
}

/// When A gives the lock back, and when B has it, which asked before: ms since the beginning. `None`: never.
fn handed_over(bench: &Bench, b: &Redisson<Bench>, releases: impl Fn() + 'static) -> Option<u64> {
    let (other, after) = (bench.clone(), Duration::from_secs(4));
    drop(bench.spawn(host::Part::WORKER, async move {
        other.sleep(after).await;
        releases();
    }));
    bench.run(async {
        while b.acquire(bench, LOCK).await == Acquired::Denied {
            // Else one that is told to wait for 0 ms would ask for ever in the same.
            bench.sleep(Duration::from_millis(1)).await;
            assert!(b.await_turn(bench, LOCK, Duration::from_millis(300), None).await);
        }
        bench.monotonic().as_nanos() / 1_000_000
    })
}

#[test]
fn who_waits_is_told_of_a_release_and_else_asks_when_the_lease_may_be_over() {
    for (waits, told, untold) in [
        (Waits::MessageOrTtl, Some(4_000), Some(10_001)),
        (Waits::Message, Some(4_000), None),
        // Every 301 ms.
        (Waits::Retry, Some(4_214), Some(10_234)),
    ] {
        let (bench, a, b) = (Bench::new(Guard::Open), waiting(waits, Order::Any), waiting(waits, Order::Any));
        let lease = granted(&bench, &a);
        let (server, owner) = (bench.clone(), lease.proof.clone());
        let gives_back = move || {
            let tells = waits != Waits::Retry;
            let unlock = Script::HashUnlock { key: LOCK, owner: owner.clone(), px: 10_000, tells };
            assert_eq!(server.serve(None, REDIS, unlock.into()), Reply::Int(1));
        };
        assert_eq!(handed_over(&bench, &b, gives_back), told, "{waits:?}");
        let (bench, a, b) = (Bench::new(Guard::Open), waiting(waits, Order::Any), waiting(waits, Order::Any));
        granted(&bench, &a);
        assert_eq!(handed_over(&bench, &b, || {}), untold, "{waits:?}, of a lease that runs out");
    }
}

#[test]
fn the_unlock_of_one_that_publishes_is_heard_by_one_that_waits() {
    for order in [Order::Any, Order::Queue] {
        let (bench, [a, b]) =
            (Bench::new(Guard::Open), [waiting(Waits::Message, order), waiting(Waits::Message, order)]);
        let lease = granted(&bench, &a);
        assert_eq!(bench.run(b.acquire(&bench, LOCK)), Some(Acquired::Denied));
        let turn = || b.await_turn(&bench, LOCK, Duration::ZERO, None);
        assert_eq!(bench.run(turn()), Some(true), "it subscribes, and asks again");
        assert_eq!(bench.run(b.acquire(&bench, LOCK)), Some(Acquired::Denied));
        assert_eq!(bench.run(turn()), None, "then it waits");
        assert_eq!(release(&bench, &a, &lease), Release::Confirmed);
        assert_eq!(bench.run(turn()), Some(true));
        granted(&bench, &b);
    }
}

#[test]
fn who_may_wait_no_longer_leaves_the_queue() {
    let (bench, [a, b]) = (Bench::new(Guard::Open), [Order::Queue; 2].map(|order| waiting(Waits::Message, order)));
    granted(&bench, &a);
    assert_eq!(bench.run(b.acquire(&bench, LOCK)), Some(Acquired::Denied));
    let until = Some(bench.monotonic() + Duration::from_secs(1));
    assert_eq!(bench.run(b.await_turn(&bench, LOCK, Duration::ZERO, until)), Some(true), "it has subscribed");
    assert_eq!(bench.run(b.await_turn(&bench, LOCK, Duration::ZERO, until)), Some(false));
    let in_line =
        || bench.serve(None, REDIS, Command::List { key: queue_of(&LOCK), what: ListCommand::All }).to_string();
    assert!(in_line().len() > 2, "{}", in_line());
    bench.run(b.give_up(&bench, LOCK));
    assert_eq!(in_line(), "[]");
}
