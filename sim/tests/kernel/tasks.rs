//! Tasks: spawned, awaited, aborted; and what their `Drop` code may do.

use std::cell::RefCell;
use std::future::{Future, pending};
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use crate::probe::*;
use host::{AttemptId, Calls, ConnectError, Connection, Cue, Host, Part, Point, Purpose, Stage, Task};
use sim::{Lasts, SimTask, When};

/// Does something when it is dropped.
struct AtTheEnd<F: FnMut()>(F);

impl<F: FnMut()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// Aborts a task when it is dropped.
fn aborts<T>(task: SimTask<Probe, T>) -> AtTheEnd<impl FnMut()> {
    AtTheEnd(move || task.abort())
}

/// Polls a future once and drops it.
fn poll_once<F: Future>(future: F) -> Poll<F::Output> {
    pin!(future).poll(&mut Context::from_waker(Waker::noop()))
}

fn says(host: &Process, word: &'static str) -> AtTheEnd<impl FnMut() + use<>> {
    let host = host.clone();
    AtTheEnd(move || host.note(Note::Said(word)))
}

#[test]
fn a_guard_that_aborts_a_task_as_its_process_dies_harms_no_later_life() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let beats = host.clone();
        let _renewal = aborts(host.spawn(Part::RENEWAL, async move { beats.sleep(secs(100)).await }));
        host.sleep(secs(1)).await;
        log.word(&host, "done");
    });
    let when = When::Every { at: ms(500), every: ms(700), times: Some(3) };
    let (log, outcome) = world.fault(when, What::Kill(on(CLIENT)), lasts(100)).run();
    assert_eq!(log.words(), ["done"]);
    assert_eq!((millis(outcome.end), outcome.ignored_dead_effects), (3_000, 0));
}

#[test]
fn a_task_that_ends_in_the_poll_in_which_it_is_aborted_is_gone_once() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let own: Rc<RefCell<Option<SimTask<Probe, ()>>>> = Rc::default();
        let (sleeper, handle) = (host.clone(), Rc::clone(&own));
        let task = host.spawn(Part::WORKER, async move {
            sleeper.sleep(ms(10)).await;
            handle.borrow().as_ref().expect("it is there by now").abort();
        });
        *own.borrow_mut() = Some(task);
        host.sleep(ms(20)).await;
        // Two tasks that must not share a place.
        let later = |value: u64| {
            let host = host.clone();
            async move {
                host.sleep(ms(value)).await;
                value
            }
        };
        let (one, two) = (host.spawn(Part::WORKER, later(1)), host.spawn(Part::WORKER, later(2)));
        log.say(&host, (one.await, two.await));
    });
    assert_eq!(world.words(), ["(1, 2)"]);
}

#[test]
fn what_an_aborted_task_aborts_in_turn_is_dropped_at_the_same_instant() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let (outer, inner) = (host.clone(), host.clone());
        let task = host.spawn(Part::WORKER, async move {
            let said = says(&inner, "dropped");
            let _guard = aborts(outer.spawn(Part::WORKER, async move {
                let _said = said;
                pending::<()>().await;
            }));
            outer.sleep(secs(100)).await;
        });
        host.sleep(secs(1)).await;
        task.abort();
        host.sleep(secs(1)).await;
    });
    assert_eq!(times(&world.run().1, &Note::Said("dropped")), [1_000]);
}

/// Which numbers were kept, and on behalf of which attempt.
fn tagged(outcome: &sim::Outcome<Note>) -> Vec<(u64, Option<u32>)> {
    let tagged = outcome.notes.iter().filter_map(|noted| match noted.note {
        Note::Stored(value, attempt) => Some((value, attempt.map(AttemptId::ordinal))),
        _ => None,
    });
    tagged.collect()
}

#[test]
fn drop_code_is_in_the_attempt_in_which_it_was_written() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = Rc::new(line(&host).await);
        let puts = |value| {
            let (host, line) = (host.clone(), Rc::clone(&line));
            AtTheEnd(move || {
                let line = Rc::clone(&line);
                drop(host.spawn(Part::WORKER, async move { put(&line, value).await }));
            })
        };
        let attempt = host.open_attempt();
        // A task of the attempt is aborted.
        let guard = puts(1);
        let spawned = host.attempt(attempt, async {
            (host.spawn(Part::WORKER, async move {
                let _guard = guard;
                pending::<()>().await;
            }),)
        });
        let (task,) = spawned.await;
        host.sleep(ms(1)).await;
        task.abort();
        host.sleep(ms(10)).await;
        // The attempt's own future is given up half-way.
        let guard = puts(2);
        let given_up = host.attempt(attempt, async move {
            let _guard = guard;
            pending::<()>().await;
        });
        host::first(given_up, host.sleep(ms(10))).await;
        // What comes after it is outside.
        drop(puts(3));
        host.sleep(ms(10)).await;
    });
    assert_eq!(tagged(&world.run().1), [(1, Some(1)), (2, Some(1)), (3, None)]);
}

#[test]
fn drop_code_of_a_living_process_may_begin_to_send() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let line = line(&host).await;
        let task = host.spawn(Part::WORKER, async move {
            let _guard = AtTheEnd(|| _ = poll_once(put(&line, 4)));
            pending::<()>().await;
        });
        host.sleep(ms(1)).await;
        task.abort();
        host.sleep(ms(10)).await;
    });
    assert_eq!(stored(&world.run().1), [4]);
}

#[test]
fn whatever_the_dead_try_has_no_effect() {
    for (kill, ignored) in [(false, 0), (true, 11)] {
        let mut world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            let (dead, log) = (host.clone(), log.clone());
            let guard = AtTheEnd(move || {
                dead.note(Note::Said("a note"));
                let zero = dead.random(Purpose::Recipe) == 0;
                let (spawned, tells) = (dead.clone(), log.clone());
                drop(dead.spawn(Part::WORKER, async move { tells.word(&spawned, "a task") }));
                let called = poll_once(put(&line, 5)).is_pending();
                let pushed = poll_once(line.pushed()).is_pending();
                let connected = poll_once(Calls::<Ask>::connect(&dead, server(), secs(1)));
                let connected = matches!(connected, Poll::Ready(Err(ConnectError::TimedOut)));
                let slept = poll_once(dead.sleep(ms(0))).is_pending();
                let waited = poll_once(dead.cue(Cue(0))).is_pending();
                let passed = poll_once(dead.point(Point("here"))).is_pending();
                let inside = poll_once(dead.attempt(dead.open_attempt(), dead.sleep(ms(0)))).is_pending();
                log.say(&dead, [zero, called, connected]);
                log.say(&dead, [pushed, slept, waited, passed, inside]);
                // Two more, so that the count does not fit by accident.
                dead.note(Note::Said("a note"));
                dead.note(Note::Said("a note"));
            });
            host.sleep(secs(1)).await;
            drop(guard);
            host.sleep(secs(1)).await;
        });
        world.sim.cue(at(900));
        let here = When::Milestone { clients: vec![], point: Point("here"), nth: 1, plus: ms(0) };
        let world = world.fault(here, What::StepClock(on(SERVER), 1), Lasts::Instant);
        let (log, outcome) = world.fault_if(kill, at(500), What::Kill(on(CLIENT)), Lasts::ToTheEnd).run();
        assert_eq!(outcome.ignored_dead_effects, ignored, "killed: {kill}");
        let none = kill.then_some(0);
        assert_eq!(none.unwrap_or(3), times(&outcome, &Note::Said("a note")).len());
        assert_eq!(none.unwrap_or(1), stored(&outcome).len());
        assert_eq!(none.unwrap_or(1), outcome.strikes.iter().filter(|strike| strike.fault == 0).count());
        assert_eq!(log.words().contains(&"a task".to_owned()), !kill);
        if kill {
            assert_eq!(log.words(), [format!("{:?}", [true; 3]), format!("{:?}", [true; 5])]);
        }
    }
}

#[test]
fn an_aborted_task_gives_nothing_to_whoever_awaits_it() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let sleeper = host.clone();
        let task = host.spawn(Part::WORKER, async move { sleeper.sleep(ms(1)).await });
        task.abort();
        task.await;
        log.word(&host, "awaited");
    });
    let (log, outcome) = world.run();
    assert_eq!((log.words(), outcome.ending), (vec![], host::Ending::Stuck));
}

#[test]
fn a_handle_to_an_ended_task_does_not_abort_the_one_that_has_its_place() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let old = host.spawn(Part::WORKER, async {});
        host.sleep(ms(1)).await;
        let (sleeper, out) = (host.clone(), log.clone());
        let new = host.spawn(Part::WORKER, async move {
            sleeper.sleep(ms(1)).await;
            out.word(&sleeper, "new");
        });
        old.abort();
        new.await;
    });
    assert_eq!(world.words(), ["new"]);
}

#[test]
fn the_dead_are_dropped_in_the_order_in_which_they_were_spawned() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        // Their places are free again, the last one first.
        let sleeps = || {
            let host = host.clone();
            async move { host.sleep(ms(1)).await }
        };
        host::all([sleeps(), sleeps(), sleeps()].map(|task| host.spawn(Part::WORKER, task))).await;
        for name in ["one", "two", "three"] {
            let (dead, log) = (host.clone(), log.clone());
            let guard = AtTheEnd(move || log.word(&dead, name));
            drop(host.spawn(Part::WORKER, async move {
                let _guard = guard;
                pending::<()>().await;
            }));
        }
        host.sleep(secs(9)).await;
    });
    let world = world.fault(at(100), What::Kill(on(CLIENT)), Lasts::ToTheEnd);
    assert_eq!(world.words(), ["one", "two", "three"]);
}

#[test]
fn a_sleep_wakes_whoever_waits_for_it_now() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let sleeper = host.clone();
        let mut sleep = Box::pin(async move { sleeper.sleep(secs(1)).await });
        assert!(sleep.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        host.spawn(Part::WORKER, sleep).await;
        log.word(&host, "awake");
    });
    assert_eq!(world.run().0.lines(), [(1_000, "awake".to_owned())]);
}

#[test]
fn a_program_begins_in_no_attempt() {
    let mut world = World::new(Persistence::None).client(|host, _| async move {
        // Its task is in an attempt, and the last thing that runs before the other begins again.
        let (attempt, cued) = (host.open_attempt(), host.clone());
        let body = async { (host.spawn(Part::WORKER, async move { cued.cue(Cue(0)).await }),) };
        drop(host.attempt(attempt, body).await);
        host.sleep(secs(1)).await;
    });
    world.sim.cue(at(500));
    let spawns = move |host: Process| {
        let spawned = host.clone();
        let work = async move { put(&line(&spawned).await, 1).await };
        drop(host.spawn(Part::WORKER, work));
        Box::pin(async move { host.sleep(ms(50)).await }) as _
    };
    world.sim.client(spec("other"), Box::new(spawns));
    let (_, outcome) = world.fault(at(400), What::Kill(on(OTHER)), Lasts::Until(at(550))).run();
    assert_eq!(tagged(&outcome), [(1, None), (1, None)]);
}

#[test]
fn an_aborted_task_is_dropped_before_anything_else_runs() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let (said, out) = (says(&host, "dropped"), log.clone());
        let task = host.spawn(Part::WORKER, async move {
            let _said = said;
            pending::<()>().await;
        });
        host.sleep(ms(1)).await;
        let other = host.clone();
        let next = host.spawn(Part::WORKER, async move { other.note(Note::Said("next")) });
        task.abort();
        next.await;
        out.word(&host, "both");
    });
    let said = noted(&world.run().1, |note| matches!(note, Note::Said(_)));
    assert_eq!(said, [(1, Note::Said("dropped")), (1, Note::Said("next"))]);
}

#[test]
fn a_new_task_does_not_take_the_turn_of_an_aborted_one_whose_place_it_has() {
    let mut world = World::new(Persistence::None).client(|host, log| async move {
        let waits = |name: &'static str| {
            let (host, log) = (host.clone(), log.clone());
            async move {
                host.cue(Cue(0)).await;
                log.word(&host, name);
            }
        };
        let doomed: Rc<RefCell<Option<SimTask<Probe, ()>>>> = Rc::default();
        let (killer, victim) = (host.clone(), Rc::clone(&doomed));
        let aborter = host.spawn(Part::WORKER, async move {
            killer.cue(Cue(0)).await;
            victim.borrow().as_ref().expect("it is there by now").abort();
        });
        let (parent, spawned, out) = (host.clone(), host.clone(), log.clone());
        let spawner = host.spawn(Part::WORKER, async move {
            parent.cue(Cue(0)).await;
            drop(parent.spawn(Part::WORKER, async move { out.word(&spawned, "new") }));
        });
        *doomed.borrow_mut() = Some(host.spawn(Part::WORKER, waits("aborted")));
        let last = host.spawn(Part::WORKER, waits("old"));
        aborter.await;
        spawner.await;
        last.await;
        host.sleep(ms(1)).await;
    });
    world.sim.cue(at(5));
    assert_eq!(world.words(), ["old", "new"]);
}
