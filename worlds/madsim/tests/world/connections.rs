//! Connections and calls, cuts, lost and late messages.

use host::{CallError, Calls, ConnectError, Connection, Ending, Host, Operation, Server, Span};
use models::redis::Command;
use sim::{Direction, Held, Lasts, MessageMatch, What};

use crate::probe::*;

#[test]
fn opening_and_calling_take_what_the_link_takes() {
    let (what, outcome) = play(vec![], calls);
    assert_eq!(told(&what), [(8, "Ok(Int(1))")]);
    assert_eq!(outcome.ending, Ending::Quiet);
}

#[test]
fn what_is_sent_on_one_connection_arrives_in_order() {
    let latency = Span::Uniform { from: ms(1), to: ms(40) };
    let (numbers, _) = play_on(latency, vec![], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        for reply in host::all((0..6).map(|_| connection.call(incr(), LONG))).await {
            tells.tell(reply);
        }
    });
    let numbers: Vec<&str> = numbers.iter().map(|(_, what)| what.as_str()).collect();
    assert_eq!(numbers, ["Ok(Int(1))", "Ok(Int(2))", "Ok(Int(3))", "Ok(Int(4))", "Ok(Int(5))", "Ok(Int(6))"]);
}

#[test]
fn a_call_that_times_out_costs_the_connection() {
    let matches = MessageMatch {
        direction: Direction::Reply,
        operation: Operation("incr"),
        clients: node(CLIENT),
        server: None,
        nth: Some(1),
    };
    let late = fault(What::Delay(matches.clone(), Span::Fixed(ms(5_000))), at(0), Lasts::ToTheEnd);
    let (what, outcome) = play(vec![late], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.tell(connection.call(incr(), ms(100)).await);
        tells.tell(connection.call(incr(), ms(100)).await);
        let connection = tells.connect().await.expect("the server lives");
        tells.tell(connection.call(incr(), ms(100)).await);
    });
    let [timed_out, closed] = [CallError::TimedOut, CallError::Closed].map(|error| format!("Err({error:?})"));
    assert_eq!(told(&what), [(104, timed_out.as_str()), (104, closed.as_str()), (112, "Ok(Int(2))")]);
    assert_eq!(outcome.strikes[0].met, 1);
    let lost = fault(What::Drop(matches), at(0), Lasts::ToTheEnd);
    let (what, _) = play(vec![lost], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        let both = host::all((0..2).map(|_| connection.call(incr(), ms(100)))).await;
        tells.tell(both);
    });
    assert_eq!(
        told(&what),
        [(104, format!("[{timed_out}, {closed}]").as_str())],
        "behind what is lost nothing arrives"
    );
}

#[test]
fn a_cut_keeps_or_loses_what_meets_it() {
    let cut = |held, to| fault(What::Cut(to, held), here(), lasts(1_000));
    let there = || link(CLIENT, SERVER);
    let (what, outcome) = play(vec![cut(Held::Linger, there())], calls);
    assert_eq!(told(&what), [(1_004 + 2, "Ok(Int(1))")]);
    assert_eq!(outcome.strikes[0].met, 1);
    let (what, _) = play(vec![cut(Held::Dropped, there())], calls);
    assert_eq!(told(&what), [(30_004, "Err(TimedOut)")]);
    let (what, _) = play(vec![cut(Held::Dropped, link(SERVER, CLIENT))], calls);
    assert_eq!(told(&what), [(30_004, "Err(TimedOut)")], "the way back");
}

#[test]
fn a_cut_meets_what_is_on_the_wire() {
    for (held, expected) in [(Held::Linger, (2_000 + 2, "Ok(Int(1))")), (Held::Dropped, (30_004, "Err(TimedOut)"))] {
        let cut = fault(What::Cut(link(CLIENT, SERVER), held), at(5), Lasts::Until(at(2_000)));
        let (what, outcome) = play(vec![cut], calls);
        assert_eq!(told(&what), [expected]);
        assert_eq!(outcome.strikes[0].met, 1);
    }
}

#[test]
fn the_machine_answers_who_connects() {
    let connects = async |tells: Tells| {
        tells.host.sleep(ms(10)).await;
        tells.tell(tells.connect().await.map(drop));
    };
    let with = |what| play(vec![fault(what, at(5), Lasts::ToTheEnd)], connects).0;
    assert_eq!(told(&with(What::Pause(node(SERVER)))), [(14, "Ok(())")]);
    assert_eq!(told(&with(What::Kill(node(SERVER)))), [(14, "Err(Refused)")]);
    assert_eq!(told(&with(What::PowerOff(node(SERVER)))), [(1_010, "Err(TimedOut)")]);
    assert_eq!(told(&with(What::Cut(link(CLIENT, SERVER), Held::Linger))), [(1_010, "Err(TimedOut)")]);
    assert_eq!(told(&with(What::Cut(link(SERVER, CLIENT), Held::Dropped))), [(1_010, "Err(TimedOut)")]);
}

#[test]
fn a_killed_server_resets_its_connections_and_starts_again_empty() {
    let kill = fault(What::Kill(node(SERVER)), at(100), lasts(1_000));
    let (what, outcome) = play(vec![kill], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.tell(connection.call(incr(), LONG).await);
        tells.host.sleep(ms(200)).await;
        tells.tell(connection.call(incr(), LONG).await);
        tells.host.sleep(ms(1_000)).await;
        let connection = tells.connect().await.expect("the server lives again");
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(told(&what), [(8, "Ok(Int(1))"), (208, "Err(Closed)"), (1_216, "Ok(Int(1))")]);
    assert_eq!(outcome.nodes[0].activity.len(), 2);
}

#[test]
fn a_machine_without_power_says_nothing() {
    let off = fault(What::PowerOff(node(SERVER)), here(), Lasts::ToTheEnd);
    let (what, _) = play(vec![off], calls);
    assert_eq!(told(&what), [(30_004, "Err(TimedOut)")]);
}

#[test]
fn connections_are_reset_or_half_open() {
    let reset = fault(What::Reset(link(CLIENT, SERVER)), at(5), Lasts::Instant);
    let (what, _) = play(vec![reset], calls);
    assert_eq!(told(&what), [(7, "Err(Closed)")]);
    // The server has forgotten the connection; the client is told when it sends.
    let half = What::HalfOpen { forgets: node(SERVER), believes: node(CLIENT) };
    let (what, _) = play(vec![fault(half, at(5), Lasts::Instant)], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.sleep(ms(100)).await;
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(told(&what), [(108, "Err(Closed)")]);
}

#[test]
fn what_an_earlier_life_had_not_attended_to_dies_with_it() {
    let stands = fault(What::Pause(node(SERVER)), at(5), Lasts::ToTheEnd);
    let kill = fault(What::Kill(node(SERVER)), at(50), lasts(20));
    let (what, _) = play(vec![stands, kill], async |tells| {
        let connection = tells.connect().await.expect("the machine answers");
        tells.tell(connection.call(incr(), LONG).await);
        tells.host.sleep(ms(48)).await;
        let connection = tells.connect().await.expect("the server lives again");
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(told(&what), [(52, "Err(Closed)"), (108, "Ok(Int(1))")]);
}

#[test]
fn a_later_life_knows_nothing_of_an_earlier_one_s_connections() {
    // The reset that the killed server sends is held, so that the client goes on.
    let cut = fault(What::Cut(link(SERVER, CLIENT), Held::Linger), at(10), lasts(200));
    let kill = fault(What::Kill(node(SERVER)), at(50), lasts(20));
    let (what, _) = play(vec![cut, kill], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.sleep(ms(96)).await;
        tells.tell(connection.call(incr(), LONG).await.is_err());
        tells.host.sleep(ms(500)).await;
        let connection = tells.connect().await.expect("the server lives again");
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(what.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>(), ["true", "Ok(Int(1))"]);
}

#[test]
fn no_connection_is_opened_across_a_cut_not_even_later() {
    for when in [0, 1] {
        let cut = fault(What::Cut(link(CLIENT, SERVER), Held::Linger), at(when), Lasts::Until(at(500)));
        let (what, outcome) = play(vec![cut], move |tells| async move {
            tells.host.sleep(ms(when)).await;
            tells.tell(tells.connect().await.map(drop));
        });
        assert_eq!(what[0].1, "Err(TimedOut)", "from {when} ms on");
        assert_eq!(outcome.strikes[0].met, 1);
    }
}

#[test]
fn a_connection_that_was_asked_for_across_a_cut_is_not_opened_though_the_cut_is_healed_before_it_would_arrive() {
    let cut = fault(What::Cut(link(CLIENT, SERVER), Held::Linger), at(1), Lasts::Until(at(4)));
    let (what, outcome) = play(vec![cut], async |tells| {
        tells.host.sleep(ms(3)).await;
        tells.tell(tells.connect().await.map(drop));
    });
    assert_eq!((told(&what), outcome.strikes[0].met), (vec![(1_003, "Err(TimedOut)")], 1));
}

#[test]
fn who_no_longer_waits_for_a_connection_has_it_reset() {
    let (_, outcome) = play(vec![], async |tells| {
        let opened = tells.host.connect(Server::<Command>::on(SERVER), ms(3)).await;
        assert_eq!(opened.map(drop), Err(ConnectError::TimedOut));
        tells.host.sleep(ms(20)).await;
    });
    assert_eq!(outcome.nodes[0].steps, 1, "the server sees it close");
}

#[test]
fn a_slow_link_takes_longer() {
    let slow = fault(What::Slow(link(CLIENT, SERVER), Span::Fixed(ms(10))), at(5), Lasts::ToTheEnd);
    let (what, outcome) = play(vec![slow], async |tells| {
        tells.host.sleep(ms(10)).await;
        calls(tells).await;
    });
    assert_eq!(
        (told(&what), outcome.strikes[0].met),
        (vec![(10 + 4 + 4 + 20, "Ok(Int(1))")], 3),
        "to open, to ask, to close"
    );
}
