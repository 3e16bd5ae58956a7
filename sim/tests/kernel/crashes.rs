//! Death and what survives it: processes killed, machines without power, futures dropped.

use crate::probe::*;
use host::{AttemptId, Calls, Clock, Connection, Either, Host, Part, Point, Ppm, Span, Task, first};
use sim::{Lasts, RecordKind, When};

/// Says a word into the history when it is dropped: an unlock in `Drop`.
struct SaysAtTheEnd(Process);

impl Drop for SaysAtTheEnd {
    fn drop(&mut self) {
        self.0.note(Note::Said("dropped"));
    }
}

fn said(outcome: &sim::Outcome<Note>, word: &'static str) -> usize {
    outcome.notes.iter().filter(|noted| noted.note == Note::Said(word)).count()
}

#[test]
fn an_aborted_task_runs_its_drop_code_and_a_killed_one_has_no_effect() {
    for (kill, noted, ignored) in [(false, 1, 0), (true, 0, 1)] {
        let world = World::new(Persistence::None).client(move |host, _| async move {
            let guarded = host.clone();
            let task = host.spawn(Part::WORKER, async move {
                let _guard = SaysAtTheEnd(guarded.clone());
                guarded.sleep(secs(100)).await;
            });
            host.sleep(secs(1)).await;
            if !kill {
                task.abort();
            }
            host.sleep(secs(1)).await;
        });
        let (_, outcome) = world.fault_if(kill, at(500), What::Kill(on(CLIENT)), Lasts::ToTheEnd).run();
        assert_eq!((said(&outcome, "dropped"), outcome.ignored_dead_effects), (noted, ignored), "kill {kill}");
    }
}

#[test]
fn a_dropped_handle_lets_its_task_run_on_and_an_awaited_one_gives_its_value() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let (other, out) = (host.clone(), log.clone());
        drop(host.spawn(Part::WORKER, async move {
            other.sleep(ms(5)).await;
            out.word(&other, "ran");
        }));
        let (other, five) = (host.clone(), 5);
        let task = host.spawn(Part::WORKER, async move {
            other.sleep(ms(10)).await;
            five
        });
        log.say(&host, task.await);
    });
    assert_eq!(world.words(), ["ran", "5"]);
}

#[test]
fn a_killed_server_resets_behind_its_data_refuses_and_starts_again_from_its_disk() {
    for (what, persistence, kept) in [
        (What::Kill(on(SERVER)), Persistence::None, 0),
        (What::Kill(on(SERVER)), Persistence::Written, 7),
        (What::Kill(on(SERVER)), Persistence::Synced, 7),
    ] {
        let world = World::new(persistence).client(|host, log| async move {
            let first_line = line(&host).await;
            put(&first_line, 7).await.expect("kept");
            until(&host, 90).await;
            log.say(&host, first_line.pushed().await);
            log.say(&host, host.connect(server(), secs(1)).await.err());
            until(&host, 1_200).await;
            let second_line = line(&host).await;
            log.say(&host, get(&second_line).await);
        });
        let (log, outcome) = world.fault(at(100), what, lasts(1_000)).run();
        assert_eq!(log.words(), ["None".to_owned(), "Some(Refused)".to_owned(), format!("Ok(Kept({kept}))")]);
        assert!((100..103).contains(&log.lines()[0].0), "the reset arrives one latency later");
        assert_eq!(outcome.nodes[0].activity.len(), 2);
        assert_eq!(outcome.strikes[0].met, 1, "who connected met it");
    }
}

#[test]
fn a_machine_without_power_says_nothing_and_loses_what_was_not_synced() {
    for (persistence, kept) in [(Persistence::None, 0), (Persistence::Written, 0), (Persistence::Synced, 7)] {
        let world = World::new(persistence).client(|host, log| async move {
            let first_line = line(&host).await;
            put(&first_line, 7).await.expect("kept");
            until(&host, 200).await;
            log.say(&host, host.connect(server(), ms(300)).await.err());
            log.say(&host, first_line.call(Ask::Get, ms(300)).await);
            until(&host, 1_200).await;
            let second_line = line(&host).await;
            log.say(&host, get(&second_line).await);
        });
        let (log, outcome) = world.fault(at(100), What::PowerOff(on(SERVER)), lasts(1_000)).run();
        // Who connected, the request, and its close.
        let lost = outcome.records.iter().filter(|record| record.kind == RecordKind::Lost);
        assert_eq!((lost.count(), outcome.strikes[0].met), (3, 3));
        let last = format!("Ok(Kept({kept}))");
        assert_eq!(log.words(), ["Some(TimedOut)", "Err(TimedOut)", last.as_str()]);
    }
}

#[test]
fn a_restore_puts_back_what_the_disk_had_when_the_backup_was_made() {
    for (as_of, persistence, kept) in
        [(0, Persistence::Synced, 0), (50, Persistence::Synced, 7), (50, Persistence::Written, 0)]
    {
        let world = World::new(persistence).client(|host, log| async move {
            put(&line(&host).await, 7).await.expect("kept");
            until(&host, 1_200).await;
            log.say(&host, get(&line(&host).await).await);
        });
        let (log, outcome) = world.fault(at(100), What::Restore(on(SERVER), ms(as_of)), lasts(1_000)).run();
        assert_eq!(log.words(), [format!("Ok(Kept({kept}))")], "as of {as_of} ms, {persistence:?}");
        assert_eq!(outcome.nodes[0].activity.len(), 2, "it was dead meanwhile");
    }
}

#[test]
fn a_machine_that_is_back_resets_connections_that_it_does_not_know() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let old_line = line(&host).await;
        until(&host, 1_500).await;
        log.say(&host, old_line.call(Ask::Get, secs(1)).await);
        log.word(&host, if clock(&host) < 1_600 { "at once" } else { "by timeout" });
    });
    let world = world.fault(at(100), What::PowerOff(on(SERVER)), lasts(1_000));
    assert_eq!(world.words(), ["Err(Closed)", "at once"]);
}

#[test]
fn a_killed_client_is_made_anew_by_its_factory_and_its_attempts_are_new() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        for _ in 0..2 {
            log.say(&host, host.open_attempt());
        }
        host.sleep(secs(2)).await;
        log.word(&host, "done");
    });
    let (log, outcome) = world.fault(at(1_000), What::Kill(on(CLIENT)), lasts(500)).run();
    let expected = ["node-1#1", "node-1#2", "node-1#3", "node-1#4", "done"];
    assert_eq!(log.words(), expected);
    assert_eq!(millis(outcome.end), 3_500);
}

#[test]
fn what_a_killed_client_decided_but_did_not_send_never_leaves_and_what_it_sent_arrives() {
    // Its steps: 1 the connect leaves, 2 it is accepted, 3 the sleep ends, 4 the put leaves.
    for (step, arrives) in [(4, false), (5, true)] {
        let world = World::new(Persistence::None).client(|host, _| async move {
            let line = line(&host).await;
            host.sleep(ms(5)).await;
            let attempt = host.open_attempt();
            let _ = host.attempt(attempt, put(&line, 9)).await;
            host.sleep(secs(1)).await;
        });
        let kill = When::Step { node: CLIENT, nth: step };
        let mut world = world.client(|host, _| async move { host.sleep(secs(2)).await });
        world.horizon = secs(5);
        let (_, outcome) = world.fault(kill, What::Kill(on(CLIENT)), Lasts::ToTheEnd).run();
        let stored = outcome.notes.iter().any(|noted| matches!(noted.note, Note::Stored(9, _)));
        let left = noted(&outcome, |note| matches!(note, Note::Left(_)));
        assert_eq!((stored, left.len()), (arrives, usize::from(arrives)), "killed before step {step}");
    }
}

#[test]
fn a_server_killed_at_its_own_milestone_never_answers() {
    for (on_off, answer) in [(false, "Ok(Kept(9))"), (true, "Err(Closed)")] {
        let world = World::new(Persistence::Synced).client(|host, log| async move {
            let line = line(&host).await;
            let attempt = host.open_attempt();
            log.say(&host, host.attempt(attempt, put(&line, 9)).await);
            host.sleep(secs(1)).await;
            let line = crate::probe::line(&host).await;
            log.say(&host, get(&line).await);
        });
        let when = When::Milestone { clients: vec![CLIENT], point: STORED, nth: 1, plus: ms(0) };
        let (log, outcome) = world.fault_if(on_off, when, What::Kill(on(SERVER)), lasts(100)).run();
        assert_eq!(log.words(), [answer, "Ok(Kept(9))"], "it had written before it died");
        // The answer and the last note of that step are the effects of a dead process.
        let dead = if on_off { (1, 2) } else { (2, 0) };
        assert_eq!((times(&outcome, &Note::Served).len(), outcome.ignored_dead_effects), dead);
    }
}

#[test]
fn a_client_killed_at_a_point_does_nothing_more() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        log.word(&host, "before");
        // The other branch is polled after the kill, in the same poll: the dead do nothing.
        let raced = first(host.point(Point("here")), async {
            host.note(Note::Said("after death"));
        });
        if matches!(raced.await, Either::Right(())) {
            log.word(&host, "after");
        }
    });
    let when = When::Milestone { clients: vec![], point: Point("here"), nth: 1, plus: ms(0) };
    let (_, outcome) = world.fault(when, What::Kill(on(CLIENT)), Lasts::ToTheEnd).run();
    assert_eq!(said(&outcome, "after death"), 0);
    assert_eq!(outcome.ignored_dead_effects, 1);
}

#[test]
fn the_end_of_a_run_is_not_a_crash() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let guarded = host.clone();
        drop(host.spawn(Part::WORKER, async move {
            let _guard = SaysAtTheEnd(guarded.clone());
            guarded.sleep(secs(100)).await;
        }));
        host.sleep(ms(1)).await;
    });
    let (_, outcome) = world.run();
    assert_eq!((said(&outcome, "dropped"), outcome.ignored_dead_effects), (0, 0));
}

#[test]
fn an_attempt_tags_what_is_sent_in_its_scope_and_by_tasks_spawned_there() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = std::rc::Rc::new(line(&host).await);
        let attempt = host.open_attempt();
        let (inner, shared) = (host.clone(), std::rc::Rc::clone(&line));
        let in_scope = host.attempt(attempt, async {
            put(&line, 1).await.expect("kept");
            (inner.spawn(Part::RENEWAL, async move { put(&shared, 2).await }),)
        });
        let (task,) = in_scope.await;
        task.await.expect("kept");
        put(&line, 3).await.expect("kept");
        // Within one poll: beside a scope, and behind it.
        let inside = host.attempt(attempt, std::future::pending::<()>());
        assert!(matches!(first(inside, put(&line, 4)).await, Either::Right(Ok(_))));
        host.attempt(attempt, async {}).await;
        put(&line, 5).await.expect("kept");
    });
    let (_, outcome) = world.run();
    let tagged = |note: &Note| match note {
        Note::Stored(value, attempt) => Some((*value, attempt.map(AttemptId::ordinal))),
        _ => None,
    };
    let stored: Vec<_> = outcome.notes.iter().filter_map(|noted| tagged(&noted.note)).collect();
    assert_eq!(stored, [(1, Some(1)), (2, Some(1)), (3, None), (4, None), (5, None)]);
}

#[test]
fn a_restart_may_be_counted_on_a_clock_of_its_machine() {
    let wall = Lasts::By(Clock::Wall, Span::Fixed(ms(1_000)));
    let mono = Lasts::By(Clock::Monotonic, Span::Fixed(ms(1_000)));
    let back = |lasts: Lasts, step_ms: i64, rate: i32| {
        let world = World::new(Persistence::None).client(|host, _| async move { until(&host, 3_000).await });
        let world = world.fault(at(100), What::Kill(on(SERVER)), lasts);
        let world = world.fault(at(500), What::StepClock(on(SERVER), step_ms * 1_000_000), Lasts::Instant);
        let rate = Ppm::new(rate);
        let (_, outcome) = world.fault(at(600), What::ClockRate(on(SERVER), rate), Lasts::ToTheEnd).run();
        outcome.nodes[0].activity.last().expect("it is back").0.as_nanos() / 1_000_000
    };
    assert_eq!([back(wall.clone(), 0, 0), back(mono.clone(), 0, 0)], [1_100, 1_100]);
    assert_eq!([back(wall.clone(), 300, 0), back(mono.clone(), 300, 0)], [800, 1_100], "a step moves the one alone");
    assert_eq!(back(wall.clone(), 5_000, 0), 500, "and may end it at once");
    assert_eq!([back(wall, 0, 1_000_000), back(mono, 0, 1_000_000)], [850, 850], "500 ms are left, at double the rate");
}

#[test]
fn who_dies_once_more_waits_for_the_later_end() {
    let first = Lasts::By(Clock::Monotonic, Span::Fixed(ms(1_000)));
    let world = World::new(Persistence::None).client(|host, _| async move { until(&host, 3_000).await });
    let world = world.fault(at(100), What::Kill(on(SERVER)), first).fault(at(900), What::Kill(on(SERVER)), lasts(700));
    let (_, outcome) = world.run();
    let last = outcome.nodes[0].activity.last().expect("it is back").0;
    assert_eq!((outcome.nodes[0].activity.len(), last.as_nanos() / 1_000_000), (2, 1_600));
}
