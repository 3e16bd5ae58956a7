//! A caller that is interrupted.

use super::*;

#[test]
fn an_interrupt_ends_an_attempt_that_has_no_answer_yet() {
    let bench = Bench::new(Guard::Open);
    bench.at(points::ATTEMPTING, Bench::interrupt);
    bench.mishap("set", Mishap::ReplyTakes(millis(100)));
    assert!(Setup::default().play(&bench));
    assert_eq!(since(&bench, "attempting"), ["attempting", "Owner", "Failed", "failed", "GaveUp"]);
    assert!(bench.monotonic() < MonoTime::default() + millis(100), "it does not wait for the answer");
}

#[test]
fn an_interrupt_ends_the_wait_for_the_next_try() {
    let bench = Bench::new(Guard::Open);
    rival_takes(&bench, 60_000);
    bench.at(points::DENIED, Bench::interrupt);
    assert!(Setup::default().play(&bench));
    assert_eq!(since(&bench, "attempting"), ["attempting", "Denied", "denied", "GaveUp"]);
}

#[test]
fn an_interrupt_that_finds_nobody_waiting_changes_nothing() {
    for point in [points::STARTED, points::GRANTED, points::READ_DONE, points::RELEASING] {
        let bench = Bench::new(Guard::Open);
        bench.at(point, Bench::interrupt);
        Setup::default().play(&bench);
        assert_eq!([times(&bench, "Wrote"), times(&bench, "released")], [1, 1], "{point:?}");
    }
}
