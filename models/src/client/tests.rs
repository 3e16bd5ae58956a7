//! The scripted client with the lock on one Redis server, without a kernel.

mod back;
mod interrupts;
mod janitor;
mod several;
mod threads;
mod tokens;

use host::{Clock, Cue, Host, MonoTime, Span};
use spec::{Authorities, Cause, LockName, Mode, Thread};

use super::*;
use crate::guard::Guard;
use crate::lock::{RedisLock, Renew, TokenSource};
use crate::redis::{Command, Reply, SingleRedis};
use crate::script::{Compare, Growth, Reaping, Retry};
use crate::testing::{Bench, Mishap, REDIS, RESOURCE, attempt};

const TTL: Duration = Duration::from_secs(10);

/// A client's program and its lock; the default is one round of acquire, read, write, release.
struct Setup {
    steps: Vec<Step>,
    policy: Policy,
    rounds: Rounds,
    retry: Retry,
    ttl: Option<Duration>,
    renew: Option<Duration>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            steps: vec![acquire(), read(), write(), RELEASE],
            policy: Policy::Checked,
            rounds: Rounds::Times(1),
            retry: Retry { delay: Span::Fixed(millis(300)), growth: None, times: None },
            ttl: Some(TTL),
            renew: None,
        }
    }
}

impl Setup {
    fn of(steps: impl Into<Vec<Step>>) -> Self {
        Self { steps: steps.into(), ..Self::default() }
    }

    fn naive(self) -> Self {
        Self { policy: Policy::Naive, ..self }
    }

    fn renewing_every(self, every: Duration) -> Self {
        Self { renew: Some(every), ..self }
    }

    /// Plays it to the end; whether there was one.
    fn play(self, bench: &Bench) -> bool {
        bench.run(self.program(bench)).is_some()
    }

    fn program(self, bench: &Bench) -> impl Future<Output = ()> + use<> {
        let Self { steps, policy, rounds, retry, ttl, renew } = self;
        let script = Script { threads: vec![steps], policy, rounds, retry, call_timeout: secs(1) };
        let renew = renew.map(Renew::every);
        let switches = RedisLock { token: TokenSource::IncrInScript, renew, ..RedisLock::default() };
        let lock = SingleRedis::new(REDIS, ttl, secs(1), &switches);
        play(bench.clone(), lock, Clock::Monotonic, RESOURCE, Rc::new(script))
    }
}

const fn secs(secs: u64) -> Duration {
    Duration::from_secs(secs)
}

const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

const LOCK: LockName = LockName::fixed("orders");

const fn acquire() -> Step {
    acquire_for(None)
}

const fn acquire_for(wait: Option<Duration>) -> Step {
    Step::Acquire { lock: LOCK, handle: LOCK, wait, mode: Mode::Exclusive }
}

const fn extend(by: Option<Duration>) -> Step {
    Step::Extend { handle: LOCK, by }
}

const RELEASE: Step = release(GivingBack { timeout: None, on_error: OnError::End, working: Working::Over });

const fn release(how: GivingBack) -> Step {
    Step::Release { handle: LOCK, how }
}

fn read() -> Step {
    Step::Read(Use::of("account".into()))
}

fn write() -> Step {
    Step::Write(Use::of("account".into()))
}

const fn sleep(length: Duration) -> Step {
    Step::Sleep(Span::Fixed(length))
}

/// Somebody else takes the lock for so long.
fn rival_takes(bench: &Bench, px: i64) -> Reply {
    bench.serve(None, REDIS, Command::set_nx(LOCK, "rival".into(), Some(px)))
}

fn rival_deletes(bench: &Bench) {
    bench.serve(None, REDIS, Command::Del { key: LOCK });
}

/// What happened from the first event of that name on.
fn since(bench: &Bench, event: &str) -> Vec<String> {
    bench.log().into_iter().skip_while(|happened| happened != event).collect()
}

fn times(bench: &Bench, event: &str) -> usize {
    bench.log().iter().filter(|happened| *happened == event).count()
}

fn based_on(bench: &Bench) -> Vec<Option<u64>> {
    let of = |note| match note {
        Note::Wrote { based_on, .. } => Some(based_on.map(|version| version.0)),
        _ => None,
    };
    bench.notes().into_iter().filter_map(of).collect()
}

const GIVEN_BACK: [&str; 7] = ["Ended", "ended", "Releasing", "releasing", "Owner", "Released", "released"];
const NOT_OURS: [&str; 6] = ["Ended", "ended", "Releasing", "releasing", "ReleaseRefused", "release-refused"];

#[test]
fn a_round_without_trouble_is_told_in_order() {
    let bench = Bench::new(Guard::FenceRw);
    assert!(Setup::default().play(&bench));
    let story = "started Attempting attempting Owner Granted granted \
                 Checked checked about-to-read Left Read read-done \
                 Checked checked about-to-write Left Wrote \
                 Ended ended Releasing releasing Owner Released released";
    assert_eq!(bench.log().join(" "), story);
    let until = Some(MonoTime::default() + millis(9_898));
    let (attempt, counted) = (attempt(1), Authorities::one(REDIS.node()));
    assert_eq!(bench.notes()[2], Note::Granted { attempt, token: Some(Token(1)), until, counted });
    assert_eq!(based_on(&bench), [Some(0)]);
}

#[test]
fn a_denied_attempt_is_followed_by_another() {
    let bench = Bench::new(Guard::Open);
    rival_takes(&bench, 500);
    assert!(Setup::of([acquire()]).play(&bench));
    let asks = |nth, after| Note::Attempting {
        attempt: attempt(nth),
        lock: LOCK,
        thread: Thread(0),
        after,
        mode: Mode::Exclusive,
    };
    assert_eq!(
        bench.notes()[..5],
        [
            asks(1, None),
            Note::Denied { attempt: attempt(1) },
            asks(2, Some(attempt(1))),
            Note::Denied { attempt: attempt(2) },
            asks(3, Some(attempt(2))),
        ]
    );
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(600));
    assert_eq!(times(&bench, "granted"), 1);
}

#[test]
fn an_attempt_without_an_answer_is_followed_by_another() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("set", Mishap::ReplyLost);
    assert!(Setup::of([acquire()]).play(&bench));
    assert_eq!([times(&bench, "failed"), times(&bench, "denied"), times(&bench, "granted")], [1, 0, 1]);
}

#[test]
fn a_client_gives_up_after_its_retries() {
    for retries in [0, 2] {
        let bench = Bench::new(Guard::Open);
        rival_takes(&bench, 60_000);
        let retry = Retry { delay: Span::Fixed(millis(300)), growth: None, times: Some(retries) };
        assert!(Setup { retry, ..Setup::default() }.play(&bench));
        assert_eq!(times(&bench, "denied"), retries as usize + 1);
        assert_eq!(bench.log()[bench.log().len() - 3..], ["Denied", "denied", "GaveUp"]);
    }
}

#[test]
fn a_client_begins_no_attempt_after_its_wait() {
    for (wait, attempts) in [(0, 1), (300, 1), (301, 2), (600, 2), (601, 3)] {
        let bench = Bench::new(Guard::Open);
        rival_takes(&bench, 60_000);
        assert!(Setup::of([acquire_for(Some(millis(wait))), read()]).play(&bench));
        assert_eq!(times(&bench, "denied"), attempts, "{wait} ms");
        assert_eq!(bench.notes().last(), Some(&Note::GaveUp { attempt: attempt(attempts as u32) }));
        assert_eq!(times(&bench, "Read"), 0);
    }
}

#[test]
fn a_checked_client_does_not_act_once_its_lease_is_over() {
    for (pause, acts) in [(millis(9_898) - Duration::from_nanos(1), true), (millis(9_898), false)] {
        let bench = Bench::new(Guard::Open);
        bench.at(points::READ_DONE, move |bench| bench.pause(pause));
        Setup::default().play(&bench);
        assert_eq!(times(&bench, "Wrote") == 1, acts);
        assert_eq!(since(&bench, "Ended"), GIVEN_BACK);
    }
}

#[test]
fn a_client_with_a_margin_wants_more_than_that_left() {
    for (pause, acts) in [(millis(8_898) - Duration::from_nanos(1), true), (millis(8_898), false)] {
        let bench = Bench::new(Guard::Open);
        bench.at(points::READ_DONE, move |bench| bench.pause(pause));
        Setup { policy: Policy::Margin(secs(1)), ..Setup::default() }.play(&bench);
        assert_eq!(times(&bench, "Wrote") == 1, acts);
    }
}

#[test]
fn a_naive_client_never_looks() {
    let bench = Bench::new(Guard::Open);
    bench.at(points::READ_DONE, |bench| bench.pause(secs(15)));
    Setup::default().naive().play(&bench);
    assert_eq!([times(&bench, "Checked"), times(&bench, "Wrote")], [2, 1]);
    // It is the release that finds the lock gone.
    assert_eq!(since(&bench, "releasing"), ["releasing", "Owner", "ReleaseRefused", "release-refused"]);
}

#[test]
fn no_check_lies_between_about_to_write_and_the_write() {
    let bench = Bench::new(Guard::Open);
    bench.at(points::ABOUT_TO_WRITE, |bench| bench.pause(secs(15)));
    Setup::default().play(&bench);
    assert_eq!(since(&bench, "about-to-write")[..3], ["about-to-write", "Left", "Wrote"]);
}

#[test]
fn a_connection_that_must_be_opened_first_is_open_before_the_check() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("read", Mishap::ReplyLost);
    bench.at(points::GRANTED, |bench| bench.mishap("connect", Mishap::ReplyTakes(millis(9_900))));
    let setup = Setup { rounds: Rounds::Times(2), ..Setup::of([acquire(), read(), RELEASE]) };
    assert!(setup.play(&bench));
    // The lost reply costs the first round its connection; when there is another, the second lease is over.
    assert_eq!((times(&bench, "granted"), times(&bench, "Checked"), times(&bench, "Left")), (2, 1, 1));
}

#[test]
fn a_release_that_is_refused_ends_the_round() {
    let bench = Bench::new(Guard::Open);
    bench.at(points::RELEASING, rival_deletes);
    Setup::of([acquire(), RELEASE, read()]).naive().play(&bench);
    assert_eq!(since(&bench, "ReleaseRefused"), ["ReleaseRefused", "release-refused"]);
}

#[test]
fn a_check_step_ends_a_round_that_is_out_of_time() {
    let steps = || [acquire(), sleep(secs(11)), Step::Check, write()];
    let bench = Bench::new(Guard::Open);
    Setup::of(steps()).play(&bench);
    assert_eq!([times(&bench, "Checked"), times(&bench, "ended"), times(&bench, "releasing")], [0, 1, 1]);
    let bench = Bench::new(Guard::Open);
    Setup::of(steps()).naive().play(&bench);
    assert_eq!(times(&bench, "Wrote"), 1);
}

#[test]
fn a_refused_write_ends_the_round() {
    let bench = Bench::new(Guard::FenceRw);
    let newer =
        || Op { id: OpId(0), object: "account".into(), token: Some(Token(2)), takes: Work::NONE, action: Action::Read };
    bench.at(points::ABOUT_TO_WRITE, move |bench| {
        bench.serve(Some(attempt(9)), RESOURCE, newer());
    });
    Setup::of([acquire(), read(), write(), read(), RELEASE]).play(&bench);
    assert_eq!(since(&bench, "Refused")[1..], GIVEN_BACK);
    assert!(bench.notes().contains(&Note::Refused {
        attempt: Some(attempt(1)),
        op: OpId(1),
        object: "account".into()
    }));
}

#[test]
fn an_operation_without_an_answer_ends_the_round() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("read", Mishap::RequestLost);
    Setup::default().play(&bench);
    assert_eq!(since(&bench, "Left")[1..], GIVEN_BACK);
    assert_eq!(bench.monotonic(), MonoTime::default() + secs(1));
}

#[test]
fn a_script_that_ends_without_a_release_leaves_the_lease_to_run_out() {
    let bench = Bench::new(Guard::Open);
    Setup::of([acquire(), Step::Hold]).play(&bench);
    assert_eq!(since(&bench, "granted"), ["granted", "Ended", "ended"]);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(9_898));
    assert_eq!(rival_takes(&bench, 1), Reply::Nil);
}

#[test]
fn what_has_no_end_is_held_for_ever() {
    let bench = Bench::new(Guard::Open);
    assert!(!Setup { ttl: None, ..Setup::of([acquire(), Step::Hold]) }.play(&bench));
    assert_eq!(times(&bench, "ended"), 0);
}

#[test]
fn a_renewal_in_the_background_keeps_the_lock() {
    let bench = Bench::new(Guard::Open);
    let steps = [acquire(), sleep(secs(25)), write(), RELEASE, sleep(secs(25))];
    assert!(Setup::of(steps).renewing_every(secs(3)).play(&bench));
    // At 3, 6, … 24 s, and not once more after the end.
    assert_eq!([times(&bench, "renewing"), times(&bench, "renewed")], [8, 8]);
    assert_eq!([times(&bench, "Wrote"), times(&bench, "released")], [1, 1]);
    let until = MonoTime::default() + secs(24) + millis(9_898);
    let renewed = |note: &Note| matches!(note, Note::Renewed { .. });
    assert_eq!(bench.notes().into_iter().rfind(renewed), Some(Note::Renewed { attempt: attempt(1), until }));
}

#[test]
fn a_loss_is_noticed_at_the_next_check() {
    let lost = |setup: Setup| {
        let bench = Bench::new(Guard::Open);
        bench.at(points::RENEWING, rival_deletes);
        assert!(setup.renewing_every(secs(3)).play(&bench));
        since(&bench, "RenewalFailed")
    };
    let steps = || [acquire(), sleep(secs(4)), write(), RELEASE];
    let told = [&["RenewalFailed", "renewal-failed", "ToldOfLoss", "told-of-loss"], &NOT_OURS[..]].concat();
    assert_eq!(lost(Setup::of(steps())), told);
    let naive = lost(Setup::of(steps()).naive());
    assert!(naive.contains(&"Wrote".to_owned()) && !naive.contains(&"ToldOfLoss".to_owned()), "{naive:?}");
}

#[test]
fn a_client_may_extend_its_lease_itself() {
    let bench = Bench::new(Guard::Open);
    Setup::of([acquire(), sleep(secs(9)), extend(Some(secs(20))), sleep(secs(19)), write(), RELEASE]).play(&bench);
    assert_eq!([times(&bench, "renewing"), times(&bench, "renewed"), times(&bench, "Wrote")], [1, 1, 1]);
}

#[test]
fn an_extension_that_fails_ends_the_round() {
    let bench = Bench::new(Guard::Open);
    bench.at(points::RENEWING, rival_deletes);
    Setup::of([acquire(), extend(None), write()]).naive().play(&bench);
    let told = ["RenewalFailed", "renewal-failed", "ToldOfLoss", "told-of-loss"];
    assert_eq!(since(&bench, "RenewalFailed"), [&told, &NOT_OURS[..]].concat());
}

#[test]
fn writes_are_based_on_what_was_read() {
    let bench = Bench::new(Guard::Open);
    let other = Step::Write(Use::of("stock".into()));
    Setup::of([acquire(), write(), write(), read(), write(), write(), other, RELEASE]).play(&bench);
    assert_eq!(based_on(&bench), [None, None, Some(2), Some(3), None]);
}

#[test]
fn a_new_round_knows_nothing_of_the_last() {
    let bench = Bench::new(Guard::Open);
    let steps = [acquire(), write(), read(), RELEASE];
    Setup { rounds: Rounds::Times(2), ..Setup::of(steps) }.play(&bench);
    assert_eq!(based_on(&bench), [None, None]);
}

#[test]
fn operations_are_numbered_within_their_attempt() {
    let bench = Bench::new(Guard::Open);
    let section = || [acquire(), read(), write(), RELEASE];
    Setup { rounds: Rounds::Times(2), ..Setup::of([section(), section()].concat()) }.play(&bench);
    let checked = |note| match note {
        Note::Checked { attempt, op } => Some((attempt.ordinal(), op.0)),
        _ => None,
    };
    let checks: Vec<_> = bench.notes().into_iter().filter_map(checked).collect();
    assert_eq!(checks, [(1, 0), (1, 1), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1)]);
}

#[test]
fn what_is_done_before_the_grant_is_outside_any_attempt() {
    let bench = Bench::new(Guard::Open);
    Setup::of([read(), acquire(), RELEASE]).play(&bench);
    assert_eq!(bench.log()[..4], ["started", "about-to-read", "Read", "read-done"]);
    let (op, object, version) = (OpId(0), "account".into(), Version(0));
    assert_eq!(bench.notes()[0], Note::Read { attempt: None, op, object, version });
}

#[test]
fn after_its_release_only_a_naive_client_goes_on() {
    let steps = || [acquire(), RELEASE, write()];
    let bench = Bench::new(Guard::Open);
    Setup::of(steps()).play(&bench);
    assert_eq!([times(&bench, "Wrote"), times(&bench, "ended")], [0, 1]);
    let bench = Bench::new(Guard::Open);
    Setup::of(steps()).naive().play(&bench);
    let wrote = |note: &Note| matches!(note, Note::Wrote { attempt: Some(by), .. } if *by == attempt(1));
    assert!(bench.notes().iter().any(wrote));
}

#[test]
fn a_lock_that_is_acquired_again_is_forgotten_first() {
    let bench = Bench::new(Guard::Open);
    Setup::of([acquire(), acquire(), RELEASE]).play(&bench);
    assert_eq!(since(&bench, "granted")[..4], ["granted", "Ended", "ended", "Attempting"]);
    // The service knows only that the lease has not run out.
    assert!(times(&bench, "denied") > 30);
    assert_eq!([times(&bench, "granted"), times(&bench, "released")], [2, 1]);
}

const STOCK: LockName = LockName::fixed("stock");

/// In the name of which attempts operations were sent.
fn senders(bench: &Bench) -> Vec<u32> {
    let sender = |note| match note {
        Note::Left { attempt, .. } => Some(attempt.ordinal()),
        _ => None,
    };
    bench.notes().into_iter().filter_map(sender).collect()
}

#[test]
fn a_client_that_looks_only_at_checks_goes_on_in_between() {
    let late = || sleep(secs(11));
    for (steps, wrote) in [(vec![acquire(), late(), write()], 1), (vec![acquire(), late(), Step::Check, write()], 0)] {
        let bench = Bench::new(Guard::Open);
        Setup { policy: Policy::AtChecks, ..Setup::of(steps) }.play(&bench);
        assert_eq!([times(&bench, "Wrote"), times(&bench, "ended")], [wrote, 1]);
    }
}

#[test]
fn the_delays_between_tries_grow() {
    let bench = Bench::new(Guard::Open);
    rival_takes(&bench, 60_000);
    let growth = Some(Growth { factor: 2, cap: secs(1) });
    let retry = Retry { delay: Span::Fixed(millis(100)), growth, times: Some(5) };
    Setup { retry, ..Setup::of([acquire()]) }.play(&bench);
    assert_eq!(bench.monotonic(), MonoTime::default() + millis(100 + 200 + 400 + 800 + 1_000));
}

#[test]
fn steps_repeat_and_wait_for_cues() {
    let bench = Bench::new(Guard::Open);
    let twice = Step::Repeat { times: 2, steps: vec![read(), Step::Await(Cue(3)), write()] };
    Setup::of([acquire(), twice, RELEASE]).play(&bench);
    assert_eq!(based_on(&bench), [Some(0), Some(1)]);
    assert_eq!(bench.monotonic(), MonoTime::default() + secs(3));
}

#[test]
fn a_round_that_takes_no_time_lets_others_run() {
    let bench = Bench::new(Guard::Open);
    let forever = Setup { rounds: Rounds::Forever, ..Setup::of([Step::Check]) }.program(&bench);
    let ended = bench.run(first(forever, bench.sleep(Duration::from_micros(1))));
    assert_eq!(ended, Some(Either::Right(())));
}
