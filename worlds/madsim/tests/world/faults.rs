//! Faults that end, that meet each other, and what is left of them.

use host::{Connection, Ending, Host, Operation, Part, Shortage, Span};
use sim::{Direction, Held, Lasts, MessageMatch, Target, What, When};

use crate::probe::*;

fn reply_to_incr(nth: Option<u32>) -> MessageMatch {
    MessageMatch { direction: Direction::Reply, operation: Operation("incr"), clients: node(CLIENT), server: None, nth }
}

/// Calls at these moments, each on a connection of its own: what it is told.
fn at_moments(moments: &'static [u64]) -> impl Fn(Tells) -> std::pin::Pin<Box<dyn Future<Output = ()>>> {
    move |tells| {
        Box::pin(async move {
            for moment in moments {
                let now = tells.millis();
                tells.host.sleep(ms(moment.saturating_sub(now))).await;
                let connection = tells.connect().await.expect("the server lives");
                tells.tell(connection.call(incr(), ms(50)).await.is_ok());
            }
        })
    }
}

fn answered(what: &[(u64, String)]) -> Vec<bool> {
    what.iter().map(|(_, what)| what == "true").collect()
}

#[test]
fn a_fault_of_messages_ends_and_counts_what_it_met() {
    let drop = fault(What::Drop(reply_to_incr(None)), at(5), lasts(200));
    let (what, outcome) = play(vec![drop], at_moments(&[10, 100, 300]));
    assert_eq!((answered(&what), outcome.strikes[0].met), (vec![false, false, true], 2));
}

#[test]
fn a_message_fault_is_about_its_server_alone_and_two_delays_add() {
    let elsewhere = MessageMatch { server: Some(Target::Node(CLIENT)), ..reply_to_incr(None) };
    let drop = fault(What::Drop(elsewhere), at(0), Lasts::ToTheEnd);
    let delay = |by| fault(What::Delay(reply_to_incr(None), Span::Fixed(ms(by))), at(0), Lasts::ToTheEnd);
    let (what, outcome) = play(vec![drop, delay(100), delay(30)], calls);
    assert_eq!(told(&what), [(4 + 4 + 130, "Ok(Int(1))")]);
    // What strikes in one instant does so in any order.
    let met = |fault: usize| outcome.strikes.iter().find(|strike| strike.fault == fault).map(|strike| strike.met);
    assert_eq!([0, 1, 2].map(met), [Some(0), Some(1), Some(1)]);
}

#[test]
fn a_slow_link_is_quick_again() {
    let slow = fault(What::Slow(link(CLIENT, SERVER), Span::Fixed(ms(100))), at(5), lasts(100));
    let (what, _) = play(vec![slow], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.sleep(ms(200)).await;
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(told(&what), [(208, "Ok(Int(1))")]);
}

#[test]
fn a_server_short_of_memory_refuses_until_it_is_over() {
    let short = fault(What::Shortage(node(SERVER), Shortage::Memory), at(5), lasts(100));
    let (what, _) = play(vec![short], async |tells| {
        for moment in [10, 200] {
            tells.host.sleep(ms(moment - tells.millis())).await;
            let connection = tells.connect().await.expect("the server lives");
            tells.tell(connection.call(incr(), LONG).await.map(|reply| reply.to_string().len() > 10));
        }
    });
    assert_eq!(told(&what), [(18, "Ok(true)"), (208, "Ok(false)")]);
}

#[test]
fn the_end_of_a_pause_is_no_business_of_a_later_life() {
    let pause = fault(What::Pause(node(SERVER)), at(5), lasts(500));
    let stall = fault(What::Stall(Target::Node(SERVER), Part::REQUESTS), at(6), lasts(500));
    let kill = fault(What::Kill(node(SERVER)), at(50), lasts(20));
    let (what, outcome) = play(vec![pause, stall, kill], at_moments(&[100, 600]));
    assert_eq!(answered(&what), [true, true], "neither outlives the process");
    assert_eq!(outcome.ending, Ending::Quiet);
}

#[test]
fn two_faults_keep_a_process_down_until_both_are_over() {
    let kill = |when, length| fault(What::Kill(node(SERVER)), at(when), lasts(length));
    let (_, outcome) = play(vec![kill(50, 20), kill(60, 500)], async |tells| tells.host.sleep(ms(700)).await);
    let changes: Vec<_> = outcome.nodes[0].activity.iter().map(|(at, _)| at.as_nanos() / 1_000_000).collect();
    assert_eq!(changes, [50, 560]);
}

#[test]
fn two_stalls_of_one_part_are_over_with_the_later() {
    let stall = |when, length| fault(What::Stall(Target::Node(CLIENT), Part::WORKER), at(when), lasts(length));
    let (what, _) = play(vec![stall(5, 45), stall(10, 90)], async |tells| {
        tells.host.sleep(ms(20)).await;
        tells.tell(());
    });
    assert_eq!(told(&what), [(100, "()")]);
}

#[test]
fn what_a_paused_process_would_send_waits_for_the_end_of_every_pause() {
    let pause = |when, length| fault(What::Pause(node(SERVER)), when, lasts(length));
    let owner = When::Milestone { clients: vec![CLIENT], point: host::Point("owner"), nth: 1, plus: ms(0) };
    let (what, _) = play(vec![pause(owner, 1_000), pause(at(100), 2_000)], takes);
    assert_eq!(told(&what), [(2_102, "Ok(Ok)")]);
}

#[test]
fn what_the_dead_had_not_sent_is_never_sent() {
    let owner = When::Milestone { clients: vec![CLIENT], point: host::Point("owner"), nth: 1, plus: ms(0) };
    let pause = fault(What::Pause(node(SERVER)), owner, Lasts::ToTheEnd);
    let kill = fault(What::Kill(node(SERVER)), at(50), lasts(20));
    let again = fault(What::Pause(node(SERVER)), at(100), lasts(10));
    let (what, outcome) = play(vec![pause, kill, again], takes);
    assert_eq!((told(&what), outcome.messages), (vec![(52, "Err(Closed)")], 1), "the request, and no answer");
}

#[test]
fn a_throttle_that_is_over_stops_nobody() {
    let throttle = What::Throttle { target: Target::Node(CLIENT), run: ms(10), stop: ms(30) };
    let (what, _) = play(vec![fault(throttle, at(0), lasts(100))], async |tells| {
        for _ in 0..4 {
            tells.host.sleep(ms(30)).await;
            tells.tell(());
        }
    });
    let times: Vec<u64> = what.iter().map(|(at, _)| *at).collect();
    assert_eq!(times, [40, 80, 110, 140], "it stands from 10 to 40, from 50 to 80, and from 90 to the end at 100 ms");
}

#[test]
fn a_reset_needs_one_direction_of_a_connection_that_is_open() {
    let reset = |from, to| fault(What::Reset(link(from, to)), at(5), Lasts::Instant);
    let (what, outcome) = play(vec![reset(SERVER, CLIENT)], calls);
    assert_eq!((told(&what), outcome.strikes[0].met), (vec![(7, "Err(Closed)")], 1));
    let closes = async |tells: Tells| {
        drop(tells.connect().await.expect("the server lives"));
        tells.host.sleep(ms(50)).await;
    };
    let half = What::HalfOpen { forgets: node(SERVER), believes: node(CLIENT) };
    let late = [fault(What::Reset(link(CLIENT, SERVER)), at(20), Lasts::Instant), fault(half, at(20), Lasts::Instant)];
    let (_, outcome) = play(late.into(), closes);
    assert_eq!(outcome.strikes.iter().map(|strike| strike.met).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn behind_what_a_cut_has_lost_on_the_wire_nothing_arrives_though_it_is_healed() {
    let cut = fault(What::Cut(link(CLIENT, SERVER), Held::Dropped), at(5), lasts(15));
    let (what, _) = play(vec![cut], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        let late = async {
            tells.host.sleep(ms(50)).await;
            connection.call(incr(), ms(200)).await
        };
        let (one, other): (std::pin::Pin<Box<dyn Future<Output = _>>>, _) =
            (Box::pin(connection.call(incr(), ms(200))), Box::pin(late) as std::pin::Pin<Box<dyn Future<Output = _>>>);
        tells.tell(host::all([one, other]).await.iter().all(Result::is_err));
        let connection = tells.connect().await.expect("the server lives");
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(what.iter().map(|(_, what)| what.as_str()).collect::<Vec<_>>(), ["true", "Ok(Int(1))"]);
}

#[test]
fn the_run_waits_for_what_a_healed_cut_lets_go_and_not_for_what_is_lost_or_whom_is_dead() {
    let sends = async |tells: Tells| {
        let connection = tells.connect().await.expect("the server lives");
        host::first(connection.call(incr(), LONG), std::future::ready(())).await;
    };
    let cut = |held, lasts| fault(What::Cut(link(CLIENT, SERVER), held), at(5), lasts);
    let (_, outcome) = play(vec![cut(Held::Linger, lasts(500))], sends);
    assert_eq!((outcome.ending, outcome.nodes[0].steps), (Ending::Quiet, 1));
    let (_, outcome) = play(vec![cut(Held::Dropped, Lasts::ToTheEnd)], sends);
    assert_eq!((outcome.ending, outcome.nodes[0].steps), (Ending::Quiet, 0));
    let kill = fault(What::Kill(node(CLIENT)), at(20), Lasts::ToTheEnd);
    let (_, outcome) = play(vec![kill], async |tells| tells.host.sleep(ms(50)).await);
    assert_eq!(outcome.ending, Ending::Quiet);
}

#[test]
fn a_later_life_resets_the_connections_of_an_earlier_one_of_which_nobody_had_said_that_it_was_gone() {
    let off = fault(What::PowerOff(node(SERVER)), at(50), lasts(20));
    let (what, _) = play(vec![off], async |tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.sleep(ms(96)).await;
        tells.tell(connection.call(incr(), LONG).await);
    });
    assert_eq!(told(&what), [(104, "Err(Closed)")]);
}

#[test]
fn who_waits_for_a_slow_disk_answers_later_until_it_is_quick_again() {
    let slow = || fault(What::SlowDisk(node(RESOURCE), Span::Fixed(ms(100))), at(5), lasts(300));
    let (what, outcome) = play(vec![slow()], async |tells| {
        for moment in [10, 400] {
            tells.host.sleep(ms(moment - tells.millis())).await;
            tells.tell(writes(&tells).await.is_ok());
        }
    });
    assert_eq!((told(&what), outcome.strikes[0].met), (vec![(10 + 8 + 100, "true"), (408, "true")], 1));
    // Its next life does not wait for the disk of the last.
    let kill = fault(What::Kill(node(RESOURCE)), at(50), lasts(20));
    let (what, outcome) = play(vec![slow(), kill], async |tells| {
        tells.host.sleep(ms(10)).await;
        tells.tell(writes(&tells).await.is_ok());
        tells.host.sleep(ms(350)).await;
        tells.tell(writes(&tells).await.is_ok());
    });
    assert_eq!((told(&what), outcome.ending), (vec![(52, "false"), (410, "true")], Ending::Quiet));
}
