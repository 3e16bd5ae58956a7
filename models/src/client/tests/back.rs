//! How a lock is given back.

use super::*;

#[test]
fn a_client_whose_work_goes_on_acts_in_the_name_of_what_it_has_given_back() {
    let bench = Bench::new(Guard::Open);
    let early = release(GivingBack { working: Working::GoesOn, ..GivingBack::default() });
    Setup::of([acquire(), early, write(), sleep(secs(11)), write()]).renewing_every(secs(3)).play(&bench);
    assert_eq!((senders(&bench), times(&bench, "renewing")), (vec![1], 0));
    let end = ["Released", "released", "Checked", "checked", "about-to-write", "Left", "Wrote", "Ended", "ended"];
    assert_eq!(since(&bench, "Released"), end, "given back once, and the section ends with its deadline");
}

#[test]
fn what_is_given_back_cannot_be_given_back_again() {
    let bench = Bench::new(Guard::Open);
    let early = || release(GivingBack { working: Working::GoesOn, ..GivingBack::default() });
    Setup::of([acquire(), early(), RELEASE, write()]).play(&bench);
    assert_eq!([times(&bench, "releasing"), times(&bench, "Wrote")], [1, 0]);
}

#[test]
fn a_release_waits_so_long_for_its_answer() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("release", Mishap::ReplyTakes(millis(500)));
    let timeout = Some(millis(100));
    Setup::of([acquire(), release(GivingBack { timeout, ..GivingBack::default() }), read()]).play(&bench);
    assert_eq!(since(&bench, "ReleaseRefused"), ["ReleaseRefused", "release-refused"]);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(100));
}

#[test]
fn a_release_without_an_answer_ends_the_round_or_is_ignored_or_asked_again() {
    let after = |on_error| {
        let bench = Bench::new(Guard::Open);
        bench.mishap("release", Mishap::RequestLost);
        Setup::of([acquire(), release(GivingBack { on_error, ..GivingBack::default() }), write()]).naive().play(&bench);
        ["releasing", "released", "Wrote"].map(|event| times(&bench, event))
    };
    assert_eq!(after(OnError::End), [1, 0, 0]);
    assert_eq!(after(OnError::Ignore), [1, 0, 1]);
    assert_eq!(after(OnError::Retry), [2, 1, 1]);
}
