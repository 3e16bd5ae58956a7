//! Who takes a lock away from somebody else.

use super::*;

const fn reap(unless: Option<LockName>, compare: Compare) -> Step {
    Step::Reap { lock: LOCK, how: Reaping { unless, compare } }
}

#[test]
fn a_janitor_takes_a_lock_away_in_nobodys_name() {
    let bench = Bench::new(Guard::Open);
    rival_takes(&bench, 60_000);
    let twice = Step::Repeat { times: 2, steps: vec![reap(None, Compare::Name)] };
    Setup::of([
        Step::Acquire { lock: STOCK, handle: STOCK, wait: None, mode: Mode::Exclusive },
        twice,
        acquire(),
        RELEASE,
    ])
    .play(&bench);
    assert_eq!([times(&bench, "denied"), times(&bench, "released")], [0, 1]);
    for janitor in [reap(None, Compare::Value), Step::Repeat { times: 1, steps: vec![reap(None, Compare::Name)] }] {
        let bench = Bench::new(Guard::Open);
        Setup::of([acquire(), janitor]).play(&bench);
        let gone = |note: &Note| matches!(note, Note::Owner { attempt: None, cause: Cause::Request(None), .. });
        assert!(bench.notes().iter().any(gone), "{:?}", bench.notes());
    }
}

#[test]
fn a_janitor_leaves_alone_what_it_finds_in_use() {
    let sign = Command::set_nx(STOCK, "sign".into(), None);
    for (unless, denied) in [(Some(STOCK), 1), (Some("other".into()), 0)] {
        let bench = Bench::new(Guard::Open);
        rival_takes(&bench, 60_000);
        bench.serve(None, REDIS, sign.clone());
        Setup::of([reap(unless, Compare::Name), acquire_for(Some(Duration::ZERO))]).play(&bench);
        assert_eq!(times(&bench, "denied"), denied);
    }
}

#[test]
fn a_janitor_that_compares_the_value_takes_only_what_it_has_looked_at() {
    for (compare, denied) in [(Compare::Name, 0), (Compare::Value, 1)] {
        let bench = Bench::new(Guard::Open);
        rival_takes(&bench, 100);
        bench.mishap("get", Mishap::ReplyTakes(millis(200)));
        let successor = |bench: &Bench| {
            bench.serve(None, REDIS, Command::set_nx(LOCK, "successor".into(), None));
        };
        let janitor = Setup::of([reap(None, compare), acquire_for(Some(Duration::ZERO))]).program(&bench);
        let meanwhile = async {
            bench.sleep(millis(150)).await;
            successor(&bench);
        };
        bench.run(host::all([
            Box::pin(janitor) as std::pin::Pin<Box<dyn Future<Output = ()> + '_>>,
            Box::pin(meanwhile),
        ]));
        assert_eq!(times(&bench, "denied"), denied);
    }
}

#[test]
fn a_janitor_without_an_answer_ends_its_round() {
    let bench = Bench::new(Guard::Open);
    bench.mishap("get", Mishap::RequestLost);
    Setup::of([reap(None, Compare::Name), acquire()]).play(&bench);
    assert_eq!(times(&bench, "attempting"), 0);
}
