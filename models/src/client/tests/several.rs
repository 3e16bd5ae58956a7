//! A client that holds several locks.

use super::*;

/// A script that holds `orders` and `stock`.
fn both(steps: impl IntoIterator<Item = Step>) -> Setup {
    let both = [acquire(), Step::Acquire { lock: STOCK, handle: STOCK, wait: None, mode: Mode::Exclusive }];
    Setup::of(both.into_iter().chain(steps).collect::<Vec<_>>())
}

#[test]
fn a_client_acts_in_the_name_of_the_last_lock_that_it_holds() {
    let bench = Bench::new(Guard::Open);
    let release = |handle| Step::Release { handle, how: GivingBack::default() };
    both([write(), release(STOCK), write(), release(LOCK), write()]).naive().play(&bench);
    assert_eq!(senders(&bench), [2, 1, 1]);
    let bench = Bench::new(Guard::Open);
    both([write(), release(LOCK), write(), release(STOCK), write()]).naive().play(&bench);
    assert_eq!(senders(&bench), [2, 2, 2]);
    let bench = Bench::new(Guard::Open);
    Setup::of([acquire(), RELEASE, acquire(), RELEASE, write()]).naive().play(&bench);
    assert_eq!(senders(&bench), [2], "not of the first, which was given back before");
}

#[test]
fn a_release_is_sent_in_the_name_of_its_own_attempt() {
    let bench = Bench::new(Guard::Open);
    both([RELEASE]).play(&bench);
    let owner = |key, attempt, by| {
        let (authority, cause) = (REDIS.node(), Cause::Request(Some(by)));
        Note::Owner { authority, key, attempt, cause }
    };
    let owners: Vec<_> = bench.notes().into_iter().filter(|note| matches!(note, Note::Owner { .. })).collect();
    let (one, two) = (attempt(1), attempt(2));
    assert_eq!(owners, [owner(LOCK, Some(one), one), owner(STOCK, Some(two), two), owner(LOCK, None, one)]);
    let ended = |ordinal| bench.notes().iter().position(|note| *note == Note::Ended { attempt: attempt(ordinal) });
    assert!(ended(1) < ended(2) && ended(1).is_some(), "the other is held to the end of the round");
}

#[test]
fn a_look_at_the_clock_looks_at_all_that_is_held() {
    for (extended, wrote) in [(&[][..], 0), (&[LOCK][..], 0), (&[STOCK][..], 0), (&[LOCK, STOCK][..], 1)] {
        let bench = Bench::new(Guard::Open);
        let extend = |handle: &LockName| Step::Extend { handle: *handle, by: Some(secs(20)) };
        both(extended.iter().map(extend).chain([sleep(secs(11)), write()])).play(&bench);
        assert_eq!(times(&bench, "Wrote"), wrote, "{extended:?}");
    }
}

#[test]
fn a_round_that_ends_early_gives_back_all_that_is_held() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("read", Mishap::RequestLost);
    both([read()]).play(&bench);
    let released = |note| match note {
        Note::Released { attempt } => Some(attempt.ordinal()),
        _ => None,
    };
    assert_eq!(bench.notes().into_iter().filter_map(released).collect::<Vec<_>>(), [2, 1]);
}

#[test]
fn what_is_held_is_held_to_the_first_deadline() {
    let bench = Bench::new(Guard::Open);
    both([Step::Extend { handle: LOCK, by: Some(secs(20)) }, Step::Hold]).play(&bench);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(9_898));
}
