//! Interrupts: a caller that waits gives up; its process, its requests and its other tasks live on.

use host::{Either, Host, Part, Stage, first};
use sim::{Lasts, When};

use crate::probe::*;
use crate::world::*;

/// Puts 1 and may be interrupted; then gets what is kept.
async fn asks(host: Process, log: Log) {
    let line = line(&host).await;
    until(&host, 1_000).await;
    let interrupted = host.interrupted();
    let outcome = first(put(&line, 1), interrupted).await;
    log.word(&host, if matches!(outcome, Either::Left(Ok(_))) { "answered" } else { "interrupted" });
    until(&host, 3_000).await;
    log.say(&host, get(&line).await);
}

fn world() -> World {
    World::new(Persistence::None).latency(CLIENT, SERVER, 100).latency(SERVER, CLIENT, 100)
}

fn cancelled(world: World, when: When) -> (Log, u32) {
    let (log, outcome) = world.fault(when, What::Cancel(on(CLIENT)), Lasts::Instant).run();
    (log, outcome.strikes[0].met)
}

#[test]
fn an_interrupted_caller_gives_up_and_its_request_is_served_all_the_same() {
    for (on_off, expected) in [(false, (1_200, "answered")), (true, (1_050, "interrupted"))] {
        let world = world().client(asks).fault_if(on_off, at(1_050), What::Cancel(on(CLIENT)), Lasts::Instant);
        let (log, outcome) = world.run();
        assert_eq!(log.lines()[0], (expected.0, expected.1.to_owned()));
        assert_eq!(stored(&outcome), [1]);
        assert_eq!(log.words()[1], "Ok(Kept(1))", "the connection is not the caller's");
    }
}

#[test]
fn an_interrupt_is_met_by_those_who_wait_in_that_instant() {
    for (when, met) in [(500, 0), (1_050, 1), (1_500, 0)] {
        assert_eq!(cancelled(world().client(asks), at(when)).1, met, "at {when} ms");
    }
}

#[test]
fn an_interrupt_reaches_each_caller_of_the_process_and_no_other_process() {
    async fn waits(host: Process, log: Log) {
        let (helper, words) = (host.clone(), log.clone());
        let other = host.spawn(Part::RENEWAL, async move {
            helper.interrupted().await;
            words.word(&helper, "helper");
        });
        host.interrupted().await;
        log.word(&host, "main");
        other.await;
    }
    let (log, met) = cancelled(world().client(waits).client(waits), at(2_000));
    assert_eq!(met, 2);
    let mut lines = log.lines();
    lines.sort();
    assert_eq!(lines, [(2_000, "helper".to_owned()), (2_000, "main".to_owned())]);
}

#[test]
fn a_process_that_stands_still_is_interrupted_when_it_runs_again() {
    let world = world().client(asks).fault(at(1_010), What::Pause(on(CLIENT)), lasts(500));
    let (log, met) = {
        let (log, outcome) = world.fault(at(1_050), What::Cancel(on(CLIENT)), Lasts::Instant).run();
        (log, outcome.strikes[1].met)
    };
    assert_eq!((log.lines()[0].0, met), (1_510, 1));
}

#[test]
fn nobody_waits_in_a_process_that_has_died() {
    let world = world().client(asks).fault(at(1_010), What::Kill(on(CLIENT)), Lasts::ToTheEnd);
    let (log, outcome) = world.fault(at(1_050), What::Cancel(on(CLIENT)), Lasts::Instant).run();
    assert_eq!((log.lines(), outcome.strikes[1].met), (vec![], 0));
}
