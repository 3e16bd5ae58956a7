//! Redlock, asked directly: what the published page promises, and each departure.

use host::{Host, MonoTime};
use spec::Token;

use super::*;
use crate::guard::Guard;
use crate::lock::OwnerValue;
use crate::lock::redlock::{Ask, Drift, Library, WhenTold};
use crate::redis::Reply;
use crate::testing::{Bench, FIVE, Mishap};

const LOCK: LockName = LockName::fixed("orders");
const TTL: Duration = Duration::from_secs(10);
const PROMISED: Duration = Duration::from_millis(9_898);

fn with(change: impl FnOnce(&mut RedlockLock)) -> Redlock<Bench> {
    let mut switches = RedlockLock { node_timeout: Duration::from_secs(1), ..RedlockLock::default() };
    change(&mut switches);
    Redlock::new(&FIVE, TTL, &switches)
}

fn published() -> Redlock<Bench> {
    with(|_| {})
}

fn bench() -> Bench {
    Bench::new(Guard::Open)
}

fn acquire(bench: &Bench, lock: &Redlock<Bench>) -> Acquired<Value> {
    bench.run(lock.acquire(bench, LOCK)).expect("an answer")
}

fn granted(bench: &Bench, lock: &Redlock<Bench>) -> Lease<Value> {
    match acquire(bench, lock) {
        Acquired::Granted(lease) => lease,
        other => panic!("{other:?}"),
    }
}

/// Somebody else's key on these servers.
fn held_by_another(bench: &Bench, places: &[usize]) {
    for place in places {
        bench.serve(None, FIVE[*place], Command::set_nx(LOCK, Value::from("another"), Some(10_000)));
    }
}

/// What each server has under the lock's name: whether it is somebody else's.
fn keys(bench: &Bench) -> [Option<bool>; 5] {
    FIVE.map(|server| match bench.serve(None, server, Command::Get { key: LOCK }) {
        Reply::Bulk(value) => Some(value == Value::from("another")),
        _ => None,
    })
}

const NONE: Option<bool> = None;
const OWN: Option<bool> = Some(false);
const ANOTHERS: Option<bool> = Some(true);

#[test]
fn with_all_five_it_has_all_five_for_the_ttl_less_what_it_took_and_the_allowance() {
    let bench = bench();
    bench.mishap("set", Mishap::ReplyTakes(Duration::from_millis(40)));
    let lease = granted(&bench, &published());
    assert_eq!(keys(&bench), [OWN; 5]);
    assert_eq!((lease.counted.len(), lease.token), (5, None));
    let until = lease.until.expect("it has a lease");
    assert_eq!(until, MonoTime::default() + PROMISED);
    assert_eq!(until.left(bench.monotonic()), TTL - Duration::from_millis(40 + 102), "validity");
    for server in FIVE {
        assert!(lease.counted.contains(server.node()));
    }
}

#[test]
fn two_of_five_may_be_down_and_three_may_not() {
    let bench = bench();
    bench.only_down(&FIVE[3..]);
    let lease = granted(&bench, &published());
    assert_eq!((lease.counted.len(), lease.counted.contains(FIVE[3].node())), (3, false));
    assert_eq!(keys(&bench), [OWN, OWN, OWN, NONE, NONE]);

    let bench = self::bench();
    bench.only_down(&FIVE[2..]);
    assert_eq!(acquire(&bench, &published()), Acquired::Denied, "nobody that was reached says no, and nothing is left");
    assert_eq!(keys(&bench), [NONE; 5]);
}

#[test]
fn what_another_has_stays_and_what_is_too_little_is_given_back() {
    let bench = bench();
    held_by_another(&bench, &[0, 1, 2]);
    assert_eq!(acquire(&bench, &published()), Acquired::Denied);
    assert_eq!(keys(&bench), [ANOTHERS, ANOTHERS, ANOTHERS, NONE, NONE]);
    // A split vote: two for one, two for the other, one for this.
    let bench = self::bench();
    held_by_another(&bench, &[0, 1, 2, 3]);
    assert_eq!(acquire(&bench, &with(|lock| lock.ask = Ask::Parallel)), Acquired::Denied);
    assert_eq!(keys(&bench), [ANOTHERS, ANOTHERS, ANOTHERS, ANOTHERS, NONE]);
}

#[test]
fn it_stops_at_the_quorum_if_it_is_told_to() {
    // All at once, the fifth was not asked when the fourth said yes; and who is slow is not waited for.
    for (ask, taken) in [(Ask::Sequential, [OWN, OWN, OWN, NONE, NONE]), (Ask::Parallel, [OWN, OWN, OWN, OWN, NONE])] {
        let bench = bench();
        bench.mishap("set", Mishap::ReplyTakes(Duration::from_secs(3)));
        let lock = with(|lock| (lock.ask, lock.stop) = (ask, Stop::AtQuorum));
        assert_eq!(granted(&bench, &lock).counted.len(), 3, "{ask:?}");
        let waited = if ask == Ask::Parallel { Duration::ZERO } else { Duration::from_secs(3) };
        assert_eq!((bench.monotonic(), keys(&bench)), (MonoTime::default() + waited, taken), "{ask:?}");
    }
}

#[test]
fn a_majority_that_took_longer_than_the_lease_is_none_and_is_given_back() {
    let late = |accept: Accept, takes: Duration| {
        let bench = bench();
        bench.mishap("set", Mishap::ReplyTakes(takes));
        (acquire(&bench, &with(|lock| lock.accept = accept)), bench)
    };
    let just_in_time = PROMISED - Duration::from_nanos(1);
    for (accept, takes, is_granted) in [
        (Accept::ValidityLeft, just_in_time, true),
        (Accept::ValidityLeft, PROMISED, false),
        (Accept::ValidityNotNegative, PROMISED, true),
        (Accept::ValidityNotNegative, PROMISED + Duration::from_nanos(1), false),
        (Accept::QuorumAlone, TTL * 2, true),
    ] {
        let (acquired, bench) = late(accept, takes);
        assert_eq!(matches!(acquired, Acquired::Granted(_)), is_granted, "{accept:?} {takes:?}");
        if !is_granted {
            assert_eq!(keys(&bench), [NONE; 5]);
        }
        if let (Accept::QuorumAlone, Acquired::Granted(lease)) = (accept, acquired) {
            assert!(lease.until.expect("it has a lease") < bench.monotonic(), "a lock that is over");
        }
    }
}

#[test]
fn a_lease_from_the_answers_is_that_much_longer_and_is_looked_at_from_the_first_all_the_same() {
    let bench = bench();
    bench.mishap("set", Mishap::ReplyTakes(Duration::from_secs(3)));
    let lease = granted(&bench, &with(|lock| lock.lease_from = LeaseStart::Reply));
    assert_eq!(lease.until, Some(MonoTime::default() + Duration::from_secs(3) + PROMISED));
    bench.mishap("set", Mishap::ReplyTakes(TTL));
    let other = with(|lock| (lock.lease_from, lock.value) = (LeaseStart::Reply, OwnerValue::PerClient));
    assert_eq!(acquire(&bench, &other), Acquired::Denied);
}

#[test]
fn two_may_be_enough_and_the_allowance_may_be_less_or_nothing() {
    let bench = bench();
    held_by_another(&bench, &[0, 1, 2]);
    assert_eq!(granted(&bench, &with(|lock| lock.quorum = Some(2))).counted.len(), 2);
    for (drift, allowance) in [(Drift::Percent, 100), (Drift::None, 0)] {
        let bench = self::bench();
        let lease = granted(&bench, &with(|lock| lock.drift = drift));
        assert_eq!(lease.until, Some(MonoTime::default() + (TTL - Duration::from_millis(allowance))));
    }
}

#[test]
fn what_may_have_been_taken_and_was_not_given_back_is_no_clear_answer() {
    // The first is asked in vain, but takes the key; its release is lost.
    let bench = bench();
    bench.only_down(&FIVE[1..]);
    bench.mishap("set", Mishap::ReplyLost);
    bench.mishap("release", Mishap::RequestLost);
    assert_eq!(acquire(&bench, &published()), Acquired::Failed);
    assert_eq!(keys(&bench), [OWN, NONE, NONE, NONE, NONE]);
}

#[test]
fn only_where_it_was_granted_leaves_the_key_whose_answer_was_lost() {
    for (unlock, left) in [(Unlock::Everywhere, NONE), (Unlock::WhereGranted, OWN), (Unlock::NotBetweenTries, OWN)] {
        let bench = bench();
        bench.only_down(&FIVE[2..]);
        bench.mishap("set", Mishap::ReplyLost);
        acquire(&bench, &with(|lock| lock.unlock = unlock));
        assert_eq!(keys(&bench)[0], left, "{unlock:?}");
        assert_eq!(keys(&bench)[1], if unlock == Unlock::NotBetweenTries { OWN } else { NONE }, "{unlock:?}");
    }
}

#[test]
fn a_quorum_beside_an_error_is_an_exception_if_it_is_raised_and_the_keys_stay() {
    let bench = bench();
    bench.only_down(&FIVE[4..]);
    assert_eq!(acquire(&bench, &with(|lock| lock.on_error = NodeError::Raised)), Acquired::Failed);
    assert_eq!(keys(&bench), [OWN, OWN, OWN, OWN, NONE]);
    let bench = self::bench();
    granted(&bench, &with(|lock| lock.on_error = NodeError::Raised));
}

#[test]
fn a_release_gives_back_what_is_its_own_everywhere_and_nothing_else() {
    let (bench, lock) = (bench(), published());
    let lease = granted(&bench, &lock);
    let release = || bench.run(lock.release(&bench, LOCK, &lease)).expect("an answer");
    assert_eq!((release(), keys(&bench)), (Release::Confirmed, [NONE; 5]));
    held_by_another(&bench, &[0, 1, 2, 3, 4]);
    assert_eq!((release(), keys(&bench)), (Release::Refused, [ANOTHERS; 5]), "a stale holder frees nothing");
}

#[test]
fn an_extension_takes_a_majority_that_still_has_the_key() {
    let extended = |extend: ExtendBy, gone: usize| {
        let (bench, lock) = (bench(), with(|lock| lock.extend = extend));
        let lease = granted(&bench, &lock);
        for server in &FIVE[..gone] {
            bench.serve(None, *server, Command::Del { key: LOCK });
        }
        bench.pause(Duration::from_secs(4));
        let renewal = bench.run(lock.renew(&bench, LOCK, &lease, None)).expect("an answer");
        (renewal, keys(&bench))
    };
    let until = MonoTime::default() + Duration::from_secs(4) + PROMISED;
    assert_eq!(extended(ExtendBy::Majority, 2), (Renewal::Extended { until }, [NONE, NONE, OWN, OWN, OWN]));
    assert_eq!(extended(ExtendBy::Majority, 3), (Renewal::Refused, [NONE, NONE, NONE, OWN, OWN]));
    assert_eq!(extended(ExtendBy::CreateIfMissing, 5), (Renewal::Extended { until }, [OWN; 5]), "whoever was there");
}

#[test]
fn an_extension_that_took_longer_than_the_lease_is_none() {
    let (bench, lock) = (bench(), published());
    let lease = granted(&bench, &lock);
    bench.mishap("renew", Mishap::ReplyTakes(PROMISED));
    assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Failed));
}

#[test]
fn an_extension_without_a_majority_leaves_the_keys_or_gives_them_back() {
    for (follows, left) in [(FailedExtend::Nothing, OWN), (FailedExtend::CleanUp, NONE)] {
        let (bench, lock) = (bench(), with(|lock| lock.on_failed_extend = follows));
        let lease = granted(&bench, &lock);
        for server in &FIVE[..3] {
            bench.serve(None, *server, Command::Del { key: LOCK });
        }
        assert_eq!(bench.run(lock.renew(&bench, LOCK, &lease, None)), Some(Renewal::Refused));
        assert_eq!(keys(&bench)[3..], [left, left], "{follows:?}");
    }
}

#[test]
fn the_highest_count_of_a_majority_may_fall_and_what_is_written_back_may_not() {
    let tokens = |token: MajorityToken| {
        let (bench, lock) = (bench(), with(|lock| lock.token = token));
        for _ in 0..100 {
            bench.serve(None, FIVE[0], Command::Incr { key: COUNTER });
        }
        let grant = |down: &[Server<Command>]| {
            bench.only_down(down);
            // Connections of its own, since those that are open go on.
            let lock = Redlock::new(&FIVE, TTL, &lock.0.switches);
            let lease = granted(&bench, &lock);
            bench.run(lock.release(&bench, LOCK, &lease));
            lease.token
        };
        [grant(&FIVE[3..]), grant(&FIVE[..2])]
    };
    assert_eq!(tokens(MajorityToken::None), [None, None]);
    assert_eq!(tokens(MajorityToken::Max), [Some(Token(101)), Some(Token(2))]);
    assert_eq!(tokens(MajorityToken::MaxPlusOne), [Some(Token(102)), Some(Token(3))]);
    assert_eq!(tokens(MajorityToken::WriteBack), [Some(Token(102)), Some(Token(104))]);
}

#[test]
fn a_number_that_a_majority_does_not_take_is_no_token_and_no_grant() {
    let (bench, lock) = (bench(), with(|lock| lock.token = MajorityToken::WriteBack));
    // Three of the five keys are gone by then.
    bench.at(points::NUMBERED, |bench| {
        for server in &FIVE[..3] {
            bench.serve(None, *server, Command::Del { key: LOCK });
        }
    });
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    assert_eq!(keys(&bench), [NONE; 5]);
}

#[test]
fn a_server_that_comes_back_is_connected_to_before_it_is_asked() {
    let (bench, lock) = (bench(), published());
    bench.only_down(&FIVE[2..]);
    bench.run(lock.connect(&bench));
    assert_eq!(acquire(&bench, &lock), Acquired::Denied);
    bench.only_down(&[]);
    assert_eq!(granted(&bench, &lock).counted.len(), 5);
}

#[test]
fn who_keeps_what_a_try_has_taken_is_in_its_own_way() {
    let (bench, lock) = (bench(), Redlock::new(&FIVE, TTL, &RedlockLock::of_library(Library::NodeRedlock, TTL, TTL)));
    held_by_another(&bench, &[0, 1, 2]);
    assert_eq!(acquire(&bench, &lock), Acquired::Failed);
    assert_eq!(keys(&bench), [ANOTHERS, ANOTHERS, ANOTHERS, OWN, OWN]);
    bench.serve(None, FIVE[0], Command::Del { key: LOCK });
    bench.serve(None, FIVE[1], Command::Del { key: LOCK });
    assert_eq!(acquire(&bench, &lock), Acquired::Failed, "two are free, and two are its own");
}

#[test]
fn a_lease_that_is_told_when_it_is_granted_is_short_until_then_and_whole_afterwards() {
    let (bench, lock) = (
        bench(),
        with(|lock| {
            (lock.lease, lock.node_timeout) = (WhenTold::Granted, Duration::from_millis(100));
        }),
    );
    let pttl = |bench: &Bench| bench.serve(None, FIVE[0], Command::Pttl { key: LOCK });
    let first = Rc::new(std::cell::RefCell::new(None));
    let seen = Rc::clone(&first);
    bench.at(points::QUORUM, move |bench| *seen.borrow_mut() = Some(pttl(bench)));
    granted(&bench, &lock);
    // Five servers may take 100 ms each.
    assert_eq!((first.borrow_mut().take(), pttl(&bench)), (Some(Reply::Int(1_000)), Reply::Int(10_000)));

    // A pause that outlasts the short one leaves nothing to be made longer, and nobody looks.
    let (bench, lock) =
        (self::bench(), Redlock::new(&FIVE, TTL, &RedlockLock::of_library(Library::Redisson, TTL, TTL)));
    bench.at(points::QUORUM, |bench| bench.pause(Duration::from_millis(15_001)));
    let lease = granted(&bench, &lock);
    assert_eq!((keys(&bench), lease.until), ([NONE; 5], Some(bench.monotonic() + TTL)));
}
