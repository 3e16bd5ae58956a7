//! Connections, cuts and message faults.

use std::pin::Pin;

use host::{
    CallError, Calls, ConnectError, Connection, Either, Host, NodeId, Operation, Part, Server, Span, all, first,
};

use crate::probe::*;
use sim::{Direction, Held, Lasts, MessageMatch, RecordKind, Target};

#[test]
fn a_call_times_out_at_the_client_alone_and_what_it_sent_may_still_arrive() {
    for (held, kept) in [(None, 1), (Some(Held::Dropped), 0), (Some(Held::Linger), 1)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 30).await;
            log.say(&host, line.call(Ask::Put(1), secs(1)).await);
            until(&host, 4_000).await;
            let line = crate::probe::line(&host).await;
            log.say(&host, get(&line).await);
        });
        let world = match held {
            Some(held) => world.fault(at(20), What::Cut(between(SERVER, CLIENT), held), lasts(3_000)),
            None => world,
        };
        let (log, outcome) = world.run();
        let (when, first_answer) = log.lines()[0].clone();
        match held {
            None => assert_eq!(first_answer, "Ok(Kept(1))"),
            Some(_) => assert_eq!((when, first_answer.as_str()), (1_030, "Err(TimedOut)")),
        }
        assert_eq!(log.words()[1], format!("Ok(Kept({kept}))"), "{held:?}");
        assert_eq!(outcome.strikes.first().map(|strike| strike.met > 0), held.map(|_| true));
    }
}

#[test]
fn a_timed_out_call_closes_its_connection_and_fails_the_others_on_it() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        until(&host, 30).await;
        let both = all([line.call(Ask::Get, ms(100)), line.call(Ask::Get, ms(500))]).await;
        log.say(&host, both);
        log.say(&host, get(&line).await);
    });
    let world = world.fault(at(20), What::Cut(between(SERVER, CLIENT), Held::Dropped), Lasts::ToTheEnd);
    assert_eq!(world.words(), ["[Err(TimedOut), Err(Closed)]", "Err(Closed)"]);
}

#[test]
fn a_dropped_call_leaves_its_connection_usable_and_its_reply_is_ignored() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        let raced = first(line.call(Ask::Put(1), secs(1)), host.sleep(ms(1))).await;
        assert!(matches!(raced, Either::Right(())));
        log.say(&host, line.call(Ask::Put(2), secs(1)).await);
        // Nor does it time out later and close the connection: the server is paused by now.
        until(&host, 150).await;
        let raced = first(line.call(Ask::Put(3), secs(1)), host.sleep(ms(1))).await;
        assert!(matches!(raced, Either::Right(())));
        log.say(&host, line.call(Ask::Get, secs(9)).await);
    });
    let world = world.fault(at(100), What::Pause(on(SERVER)), lasts(3_000));
    assert_eq!(world.words(), ["Ok(Kept(2))", "Ok(Kept(3))"]);
}

#[test]
fn a_cut_that_drops_breaks_that_direction_for_good_and_one_that_lingers_does_not() {
    for (held, answers) in [(Held::Dropped, false), (Held::Linger, true)] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 30).await;
            // Never waited for: the call is given up, the connection stays open.
            let _ = first(line.call(Ask::Put(1), secs(20)), host.sleep(ms(1))).await;
            until(&host, 3_000).await;
            log.say(&host, get(&line).await.is_ok());
        });
        let cut = What::Cut(vec![one_way(CLIENT, SERVER)], held);
        assert_eq!(world.fault(at(20), cut, lasts(1_000)).words(), [format!("{answers}")]);
    }
}

#[test]
fn a_cut_may_be_one_way_only() {
    // The put is kept though its answer is lost.
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        until(&host, 30).await;
        log.say(&host, put(&line, 5).await);
        until(&host, 2_000).await;
        let line = crate::probe::line(&host).await;
        log.say(&host, get(&line).await);
    });
    let cut = What::Cut(vec![one_way(SERVER, CLIENT)], Held::Dropped);
    assert_eq!(world.fault(at(20), cut, lasts(1_500)).words(), ["Err(TimedOut)", "Ok(Kept(5))"]);
}

#[test]
fn what_is_on_the_wire_when_a_cut_comes_meets_it_too() {
    for (on_off, answer) in [(false, "Ok(Kept(5))"), (true, "Err(TimedOut)")] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            let line = line(&host).await;
            until(&host, 30).await;
            log.say(&host, put(&line, 5).await);
        });
        // It leaves at about 30.01 and would arrive at about 31.01.
        let cut = What::Cut(vec![one_way(CLIENT, SERVER)], Held::Dropped);
        let when = sim::When::At(host::Duration::from_micros(30_500));
        let (log, outcome) = world.fault_if(on_off, when, cut, lasts(100)).run();
        assert_eq!(log.words(), [answer]);
        assert_eq!(outcome.strikes.first().map(|strike| strike.met), on_off.then_some(1));
    }
}

#[test]
fn connecting_across_a_cut_sends_nothing_and_times_out() {
    for held in [Held::Dropped, Held::Linger] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            until(&host, 30).await;
            let result = host.connect(server(), ms(500)).await;
            log.say(&host, matches!(result, Err(ConnectError::TimedOut)));
            until(&host, 4_000).await;
        });
        let (log, outcome) = world.fault(at(20), What::Cut(between(SERVER, CLIENT), held), lasts(3_000)).run();
        assert_eq!(log.lines(), [(530, "true".to_owned())]);
        let arrived = outcome.records.iter().filter(|record| record.kind == RecordKind::Arrive);
        assert_eq!((arrived.count(), outcome.strikes[0].met), (0, 1), "nor does it arrive after the heal");
    }
}

#[test]
fn messages_of_one_connection_keep_their_order_even_when_one_is_delayed() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        let answers = all([put(&line, 1), put(&line, 2), put(&line, 3)]).await;
        log.say(&host, answers.iter().filter(|answer| answer.is_ok()).count());
    });
    let matches = requests("put", Some(2));
    let (_, outcome) = world.fault(at(0), What::Delay(matches, Span::Fixed(ms(300))), Lasts::ToTheEnd).run();
    let stored: Vec<_> = outcome
        .notes
        .iter()
        .filter_map(|noted| match noted.note {
            Note::Stored(value, _) => Some((value, millis(noted.at))),
            _ => None,
        })
        .collect();
    assert_eq!(stored.iter().map(|(value, _)| *value).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(stored[0].1 < 10 && stored[1].1 > 300 && stored[2].1 > 300, "{stored:?}");
}

fn requests(operation: &'static str, nth: Option<u32>) -> MessageMatch {
    MessageMatch {
        direction: Direction::Request,
        operation: Operation(operation),
        clients: on(CLIENT),
        server: None,
        nth,
    }
}

#[test]
fn a_message_fault_acts_on_its_operation_its_clients_and_its_server_only() {
    let (twin, first_client, second_client) = (NodeId::new(1), NodeId::new(2), NodeId::new(3));
    let matches = |operation, client, server: Option<NodeId>| MessageMatch {
        direction: Direction::Request,
        operation: Operation(operation),
        clients: on(client),
        server: server.map(Target::Node),
        nth: None,
    };
    // Which of these are lost: the first client's put and get at each server, the second client's.
    for (matched, lost) in [
        (matches("put", first_client, None), [[true, true, false, false], [false; 4]]),
        (matches("get", first_client, Some(twin)), [[false, false, false, true], [false; 4]]),
        (matches("put", second_client, Some(SERVER)), [[false; 4], [true, false, false, false]]),
        (matches("watch", first_client, None), [[false; 4]; 2]),
    ] {
        let asks = |host: Process, log: Log| async move {
            let mut lost = Vec::new();
            for ask in [Ask::Put(1), Ask::Get] {
                for server in [SERVER, NodeId::new(1)] {
                    let line = host.connect(Server::<Ask>::on(server), secs(1)).await.expect("it is there");
                    lost.push(line.call(ask, ms(100)).await.is_err());
                }
            }
            log.say(&host, lost);
        };
        let mut world = World::new(Persistence::None);
        world.sim.service(spec("twin"), Box::new(|| Box::new(Store::new(Persistence::None))));
        let world = world.client(asks).client(move |host, log| async move {
            host.sleep(secs(1)).await;
            asks(host, log).await;
        });
        let words = world.fault(at(0), What::Drop(matched), Lasts::ToTheEnd).words();
        assert_eq!(words, lost.map(|lost| format!("{lost:?}")));
    }
}

#[test]
fn one_matching_message_is_dropped_and_the_others_are_not() {
    for (direction, nth, kept) in [
        (Direction::Request, Some(2), [true, false, true]),
        (Direction::Reply, Some(1), [false, true, true]),
        (Direction::Reply, None, [false, false, false]),
        (Direction::Push, Some(1), [true, true, true]),
    ] {
        let world = World::new(Persistence::None).client(|host, log| async move {
            for value in 1..=3 {
                let line = line(&host).await;
                log.say(&host, line.call(Ask::Put(value), ms(100)).await.is_ok());
            }
        });
        let matches = MessageMatch { direction, nth, ..requests("put", None) };
        let (log, outcome) = world.fault(at(0), What::Drop(matches), Lasts::ToTheEnd).run();
        assert_eq!(log.words(), kept.map(|answered| answered.to_string()));
        assert_eq!(outcome.strikes[0].met as usize, kept.iter().filter(|answered| !**answered).count());
    }
}

#[test]
fn a_slow_link_takes_longer_while_the_fault_lasts() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        for at in [10, 1_010, 2_010] {
            until(&host, at).await;
            get(&line).await.expect("an answer");
            log.word(&host, "answered");
        }
    });
    let slow = What::Slow(vec![one_way(CLIENT, SERVER)], Span::Fixed(ms(100)));
    let (log, outcome) = world.fault(at(1_000), slow, lasts(500)).run();
    assert_eq!(outcome.strikes[0].met, 1);
    let took: Vec<_> = log.lines().iter().map(|line| line.0 % 1_000).collect();
    assert!(took[0] < 20 && (110..120).contains(&took[1]) && took[2] < 20, "{took:?}");
}

#[test]
fn a_reset_closes_both_ends_at_once() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = line(&host).await;
        log.say(&host, line.pushed().await);
        log.say(&host, get(&line).await == Err(CallError::Closed));
    });
    let (log, _) = world.fault(at(500), What::Reset(between(CLIENT, SERVER)), Lasts::Instant).run();
    assert_eq!(log.words(), ["None", "true"]);
    assert!((500..503).contains(&log.lines()[0].0));
}

#[test]
fn pushed_messages_come_in_order_and_a_closed_connection_gets_none() {
    let world = World::new(Persistence::None)
        .client(|host, log| async move {
            let line = line(&host).await;
            line.call(Ask::Watch, secs(1)).await.expect("watching");
            for _ in 0..2 {
                log.say(&host, line.pushed().await);
            }
            drop(line);
            host.sleep(ms(500)).await;
        })
        .client(|host, _| async move {
            let line = line(&host).await;
            for (at, value) in [(100, 1), (200, 2), (400, 3)] {
                until(&host, at).await;
                put(&line, value).await.expect("kept");
            }
        });
    let (log, outcome) = world.run();
    assert_eq!(log.words(), ["Some(Pushed(1))", "Some(Pushed(2))"]);
    let pushes = outcome.records.iter().filter(|record| record.text == "Pushed(Pushed(3))").count();
    assert_eq!(pushes, 0, "the server learnt of the close");
}

#[test]
fn pushed_messages_wait_in_order_and_end_with_the_connection() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let (watching, other) = (line(&host).await, line(&host).await);
        watching.call(Ask::Watch, secs(1)).await.expect("watching");
        for value in 1..=2 {
            put(&other, value).await.expect("kept");
        }
        host.sleep(ms(100)).await;
        // Both are there, and the call that now times out closes the connection.
        log.say(&host, watching.call(Ask::Get, ms(1)).await);
        put(&other, 3).await.expect("kept");
        for _ in 0..3 {
            log.say(&host, watching.pushed().await);
        }
    });
    assert_eq!(world.words(), ["Err(TimedOut)", "Some(Pushed(1))", "Some(Pushed(2))", "None"]);
}

#[test]
fn what_is_pushed_before_the_close_arrives_is_not_for_the_program_any_more() {
    let world = World::new(Persistence::None).latency(CLIENT, SERVER, 50).client(|host, log| async move {
        let (watching, other) = (line(&host).await, line(&host).await);
        watching.call(Ask::Watch, secs(1)).await.expect("watching");
        let late = put(&other, 1);
        // Closed at once; the server learns of it when it has pushed.
        let closed = watching.call(Ask::Get, ms(0));
        log.say(&host, all([Box::pin(late) as Pin<Box<dyn Future<Output = _>>>, Box::pin(closed)]).await);
        host.sleep(ms(100)).await;
        log.say(&host, watching.pushed().await);
    });
    let (log, outcome) = world.run();
    assert_eq!(log.words(), ["[Ok(Kept(1)), Err(TimedOut)]", "None"]);
    assert!(outcome.records.iter().any(|record| record.text == "Pushed(Pushed(1))"), "it was pushed");
}

#[test]
fn a_connection_that_is_dropped_before_it_is_open_is_reset_at_the_server() {
    let world = World::new(Persistence::None).client(|host, _| async move {
        let raced = first(host.connect(server(), secs(1)), host.sleep(ms(1))).await;
        assert!(matches!(raced, Either::Right(())));
        host.sleep(ms(100)).await;
    });
    assert_eq!(times(&world.run().1, &Note::Closed), [3]);
}

#[test]
fn a_connection_that_nobody_waits_for_any_more_is_reset_at_the_server() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        log.say(&host, host.connect(server(), ms(1)).await.is_err());
        host.sleep(ms(100)).await;
    });
    let (log, outcome) = world.run();
    assert_eq!(log.words(), ["true"]);
    let resets = outcome.records.iter().filter(|record| record.text == "reset").count();
    assert!(resets > 0);
}

#[test]
fn two_tasks_may_share_a_connection() {
    let world = World::new(Persistence::None).client(|host, log| async move {
        let line = std::rc::Rc::new(line(&host).await);
        let (shared, other) = (std::rc::Rc::clone(&line), host.clone());
        let task = host.spawn(Part::WORKER, async move {
            other.sleep(ms(1)).await;
            put(&shared, 1).await
        });
        log.say(&host, put(&line, 2).await.is_ok());
        log.say(&host, task.await.is_ok());
    });
    assert_eq!(world.words(), ["true", "true"]);
}
