//! Threads of one client, and rounds that overlap.

use super::*;

/// The threads that asked for the lock, in the order in which they did.
fn askers(bench: &Bench) -> Vec<u32> {
    let notes = bench.notes();
    let asker = |note: &Note| if let Note::Attempting { thread, .. } = note { Some(thread.0) } else { None };
    notes.iter().filter_map(asker).collect()
}

/// The threads of one client, with one lock of 2 s.
fn play_threads(bench: &Bench, threads: Vec<Vec<Step>>, rounds: Rounds) -> bool {
    let retry = Retry { delay: Span::Fixed(millis(300)), growth: None, times: None };
    let script = Script { threads, policy: Policy::Checked, rounds, retry, call_timeout: secs(1) };
    let lock = SingleRedis::new(REDIS, Some(secs(2)), secs(1), &RedisLock::default());
    bench.run(play(bench.clone(), lock, Clock::Monotonic, RESOURCE, Rc::new(script))).is_some()
}

#[test]
fn threads_play_side_by_side_and_the_client_ends_with_the_last() {
    let bench = Bench::new(Guard::Open);
    let section = |length| vec![acquire(), sleep(length), write(), RELEASE];
    assert!(play_threads(&bench, vec![section(millis(100)), section(millis(500))], Rounds::Times(1)));
    assert_eq!(askers(&bench), [0, 1, 1]);
    assert_eq!([times(&bench, "started"), times(&bench, "Wrote"), times(&bench, "released")], [1, 2, 2]);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(800), "the other tries again at 300 ms");
}

#[test]
fn rounds_that_overlap_ask_as_threads_of_their_own() {
    let bench = Bench::new(Guard::Open);
    let rounds = Rounds::Arrive { every: Span::Fixed(millis(900)), until: Cue(3) };
    assert!(play_threads(&bench, vec![vec![acquire(), sleep(millis(100)), RELEASE]], rounds));
    // The first is that of the arrivals.
    assert_eq!(askers(&bench), [1, 2, 3]);
}

#[test]
fn each_arrival_is_a_round_of_its_own() {
    let bench = Bench::new(Guard::Open);
    let rounds = Rounds::Arrive { every: Span::Fixed(millis(900)), until: Cue(3) };
    assert!(play_threads(&bench, vec![vec![read(), sleep(secs(2)), read()]], rounds));
    // At 0.9, 1.8 and 2.7 s, whether or not those before are over.
    assert_eq!(times(&bench, "Read"), 6);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(4_700));
}
