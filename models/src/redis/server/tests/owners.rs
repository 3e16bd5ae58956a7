//! What the history is told of whose a lock's key is, and when.

use super::*;

#[test]
fn the_attempt_that_takes_a_key_owns_it_until_it_is_deleted() {
    let mut t = Bench::new();
    t.as_client(1).set_nx(A, 10_000);
    t.as_client(2).set_nx(B, 10_000);
    t.as_client(2).release(B);
    t.as_client(1).release(A);
    t.as_client(2).lock(B, 10_000);
    t.as_client(3).del();
    assert_eq!(t.owners, [Some(attempt(1)), None, Some(attempt(2)), None]);
    assert_eq!(t.causes, [1, 1, 2, 3].map(|client| Cause::Request(Some(attempt(client)))));
}

#[test]
fn an_expired_key_has_no_owner_from_when_it_is_touched() {
    let mut t = Bench::new();
    t.as_client(1).set_nx(A, 10);
    t.wait(11);
    assert_eq!(t.owners, [Some(attempt(1))]);
    t.as_client(2).lock(B, 10);
    assert_eq!(t.owners, [Some(attempt(1)), None, Some(attempt(2))]);
    t.wait(11);
    t.get();
    t.get();
    assert_eq!(t.owners[3..], [None]);
    assert_eq!([t.causes[1], t.causes[3]], [Cause::Expiry; 2], "whoever touched it");
}

#[test]
fn an_expired_lock_has_no_owner_though_nobody_touches_it() {
    let mut t = Bench::new();
    let start = t.now;
    t.as_client(1).set_nx(A, 10);
    t.wait(11);
    assert_eq!(t.fire(start), Some(11), "it is there through the last millisecond of its time");
    assert_eq!((&t.owners[..], t.causes[1]), (&[Some(attempt(1)), None][..], Cause::Expiry));
    assert_eq!((t.timer, t.exists()), (None, NO));
}

#[test]
fn the_timer_follows_the_lease() {
    let mut t = Bench::new();
    let start = t.now;
    let due = |t: &Bench| t.timer.map(|at| at - start);
    t.as_client(1).set_nx(A, 10);
    t.extend(A, 50);
    assert_eq!(due(&t), Some(51));
    t.extend(A, 20);
    assert_eq!(due(&t), Some(21));
    t.release(A);
    assert_eq!(due(&t), None);
    t.set_nx(A, None);
    assert_eq!(due(&t), None, "without a lease there is nothing to wait for");
    t.asker = None;
    t.set(A, Some(10));
    assert_eq!(due(&t), None, "it is nobody's lock now");
}

#[test]
fn a_clock_that_is_set_back_before_the_timer_is_served_keeps_the_lock_alive() {
    let mut t = Bench::new();
    let start = t.now;
    t.as_client(1).set_nx(A, 10);
    t.wait(-5);
    assert_eq!(t.fire(start), Some(11));
    assert_eq!((t.owners.len(), t.timer), (1, Some(start + 11)));
}

#[test]
fn whoever_sets_a_key_owns_it() {
    let mut t = Bench::new();
    t.as_client(1).set_nx(A, 10_000);
    t.as_client(2).set(B, None);
    t.asker = None;
    t.set(A, None);
    assert_eq!(t.owners, [Some(attempt(1)), Some(attempt(2)), None]);
    assert_eq!(t.causes[2], Cause::Request(None));
    // A lock that forgets its NX is a lock all the same: its grants have an order.
    t.as_client(1).set(A, None);
    assert_eq!(t.owners[3..], [Some(attempt(1))]);
}

#[test]
fn a_renewal_changes_no_owner_unless_it_ends_the_lease_and_says_whose_it_was() {
    let mut t = Bench::new();
    t.as_client(1).set_nx(A, 10_000);
    t.as_client(2).extend(A, 10_000);
    assert_eq!((&t.owners[..], &t.extended[..]), (&[Some(attempt(1))][..], &[(attempt(1), Some(attempt(2)))][..]));
    t.as_client(1).extend(A, 0);
    assert_eq!((&t.owners[1..], t.extended.len()), (&[None][..], 1));
    assert_eq!(t.causes[1], Cause::Request(Some(attempt(1))));
}

#[test]
fn keys_that_no_attempt_set_have_no_owner() {
    let mut t = Bench::new();
    t.set_nx(A, 10_000);
    t.extend(A, 10_000);
    t.release(A);
    t.set(A, None);
    t.as_client(1).del();
    t.as_client(1).incr();
    t.as_client(1).pexpire(-1);
    assert_eq!(t.owners, []);
}

#[test]
fn a_counted_lock_belongs_to_the_attempt_that_entered_last() {
    let mut t = Bench::new();
    let enter = |t: &mut Bench, client| {
        let script = Script::HashLock { key: LOCK.into(), owner: A.into(), px: 10_000, request: None };
        t.as_client(client).eval(script)
    };
    assert_eq!([enter(&mut t, 1), enter(&mut t, 1), enter(&mut t, 2)], [NIL, NIL, NIL]);
    assert_eq!(t.owners, [Some(attempt(1)), Some(attempt(2))]);
    assert_eq!(t.extended.iter().map(|(whose, _)| *whose).collect::<Vec<_>>(), [1, 1, 2].map(attempt));
    let leave =
        |t: &mut Bench| t.eval(Script::HashUnlock { key: LOCK.into(), owner: A.into(), px: 10_000, tells: false });
    assert_eq!([leave(&mut t), leave(&mut t), leave(&mut t)], [NO, NO, YES]);
    assert_eq!(t.owners[2..], [None]);
}

#[test]
fn an_evicted_lock_is_nobodys() {
    let mut t = Bench::new();
    t.as_client(1).set_nx(A, 10_000);
    t.step(|redis, cx| redis.on_nudge(cx, Nudge::Evict("another".into())));
    assert_eq!(t.exists(), YES);
    t.step(|redis, cx| redis.on_nudge(cx, Nudge::Evict(LOCK.into())));
    assert_eq!(t.exists(), NO);
    assert_eq!((&t.owners[..], t.timer), (&[Some(attempt(1)), None][..], None));
    assert_eq!(t.causes[1], Cause::Eviction);
}

#[test]
fn no_reply_depends_on_who_asks() {
    let asks: [Ask; 7] = [
        |t| t.set_nx(A, 50),
        |t| t.lock(B, 50),
        |t| t.extend(A, 60),
        |t| t.release(A),
        |t| t.lock(B, 9),
        Bench::get,
        Bench::incr,
    ];
    let play = |as_whom: fn(usize) -> Option<AttemptId>| {
        let mut t = Bench::new();
        let ask = |(i, ask): (usize, &Ask)| {
            t.asker = as_whom(i);
            ask(&mut t)
        };
        asks.iter().enumerate().map(ask).collect::<Vec<_>>()
    };
    assert_eq!(play(|_| None), play(|i| Some(attempt(u16::try_from(i % 3).expect("below 3")))));
}
