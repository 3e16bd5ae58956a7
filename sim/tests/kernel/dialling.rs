//! A service as a client of another service: connections of its own, the role of a leader, randomness.

use host::{CallId, ConnId, Context, Part, Service, TimerId, span};
use sim::{Held, Lasts, Outcome, Target};

use crate::probe::*;

/// A service that opens a connection to the server, once it has started and, a second later, whenever it lost it. It
/// watches what is kept there and asks for it, and leads.
struct Relay;

/// It is the second node, as is a world's first client otherwise.
const RELAY: host::NodeId = CLIENT;
const REDIAL: TimerId = TimerId(1);

impl Service<Probe> for Relay {
    fn on_start(&mut self, cx: &mut Context<Probe>) {
        cx.lead(true);
        cx.connect(server());
    }
    fn on_message(&mut self, _: &mut Context<Probe>, _: host::Origin, _: Message) {}
    fn on_timer(&mut self, cx: &mut Context<Probe>, _: TimerId) {
        cx.connect(server());
    }
    fn on_open(&mut self, cx: &mut Context<Probe>, conn: ConnId) {
        cx.note(Note::Said("open"));
        cx.request(conn, CallId::new(7), Ask::Watch);
        cx.request(conn, CallId::new(8), Ask::Put(33));
    }
    fn on_reply(&mut self, cx: &mut Context<Probe>, _: ConnId, call: CallId, reply: Message) {
        cx.note(Note::Said(if call == CallId::new(7) { "watches" } else { "has put" }));
        assert!(matches!(reply, Message::Kept(_)));
    }
    fn on_push(&mut self, cx: &mut Context<Probe>, conn: ConnId, message: Message) {
        let Message::Pushed(Pushed(value)) = message else { panic!("a push") };
        cx.note(Note::Nudged(value));
        if value == 99 {
            cx.close(conn);
        }
    }
    fn on_close(&mut self, cx: &mut Context<Probe>, _: ConnId) {
        cx.note(Note::Said("lost"));
        cx.set_timer(REDIAL, host::Deadline::Mono(cx.mono + secs(1)));
    }
}

/// The server, a relay, and a client that puts these numbers, one a second.
fn world(numbers: &'static [u64]) -> World {
    let mut world = World::new(Persistence::None);
    world.sim.service(spec("relay"), Box::new(|| Box::new(Relay)));
    world.client(move |host, _| async move {
        for (i, number) in numbers.iter().enumerate() {
            until(&host, 1_000 * (i as u64 + 1)).await;
            if let Ok(line) = host::Calls::connect(&host, server(), secs(1)).await {
                let _ = put(&line, *number).await;
            }
        }
        host::Host::sleep(&host, secs(1)).await;
    })
}

/// What the relay noted, and when.
fn says(outcome: &Outcome<Note>) -> Vec<(u64, String)> {
    let own = outcome.notes.iter().filter(|noted| noted.node == RELAY);
    let text = |note: &Note| match note {
        Note::Said(word) => (*word).to_owned(),
        Note::Nudged(value) => value.to_string(),
        other => format!("{other:?}"),
    };
    own.map(|noted| (millis(noted.at), text(&noted.note))).collect()
}

fn words(outcome: &Outcome<Note>) -> Vec<String> {
    says(outcome).into_iter().map(|(_, word)| word).collect()
}

#[test]
fn a_service_asks_another_and_hears_what_it_pushes() {
    let (_, outcome) = world(&[1, 2]).latency(RELAY, SERVER, 20).latency(SERVER, RELAY, 30).run();
    let said = says(&outcome);
    // There and back, and there and back again.
    let expected = [(50, "open"), (100, "watches"), (100, "33"), (100, "has put"), (1_031, "1"), (2_031, "2")];
    let near = |(at, word): &(u64, String), (when, what): &(u64, &str)| at.abs_diff(*when) <= 3 && word == what;
    assert!(
        said.len() == expected.len() && said.iter().zip(&expected).all(|(one, other)| near(one, other)),
        "{said:?}"
    );
}

#[test]
fn what_is_cut_does_not_come_and_nobody_tells() {
    let cut = || What::Cut(between(RELAY, SERVER), Held::Dropped);
    let (_, outcome) = world(&[1, 2]).fault(at(1_500), cut(), Lasts::ToTheEnd).run();
    assert_eq!(words(&outcome), ["open", "watches", "33", "has put", "1"]);
    let (_, outcome) = world(&[1, 2]).fault(at(0), cut(), Lasts::ToTheEnd).run();
    assert_eq!(words(&outcome), [""; 0], "nothing opens across a cut, however long one waits");
}

#[test]
fn a_death_at_the_other_end_is_told_and_so_is_a_refusal() {
    let (_, outcome) = world(&[1, 5, 5, 5, 5]).fault(at(1_500), What::Kill(on(SERVER)), lasts(2_000)).run();
    let said = says(&outcome);
    let lost: Vec<u64> = said.iter().filter(|(_, word)| word == "lost").map(|(at, _)| *at).collect();
    // The reset of its connection, and the refusal of the next; the one after that opens.
    assert_eq!(lost.len(), 2, "{said:?}");
    assert!(lost[0].abs_diff(1_501) <= 1 && lost[1].abs_diff(2_504) <= 3, "{said:?}");
    assert_eq!(said.iter().filter(|(_, word)| word == "open").count(), 2, "{said:?}");
}

#[test]
fn its_own_death_ends_its_connections() {
    let (_, outcome) = world(&[1, 2, 3]).fault(at(1_500), What::Kill(on(RELAY)), lasts(1_000)).run();
    assert_eq!(words(&outcome), ["open", "watches", "33", "has put", "1", "open", "watches", "33", "has put", "3"]);
    let closed = times(&outcome, &Note::Closed);
    assert!(closed.contains(&1_501), "{closed:?}");
}

#[test]
fn one_that_stands_still_finds_it_all_in_its_socket() {
    for what in [What::Pause(on(RELAY)), What::Stall(Target::Node(RELAY), Part::REQUESTS)] {
        let (_, outcome) = world(&[1, 2, 3]).fault(at(1_500), what, lasts(2_000)).run();
        let late: Vec<_> = says(&outcome).into_iter().filter(|(at, _)| *at == 3_500).map(|(_, word)| word).collect();
        assert_eq!(late, ["2", "3"]);
    }
}

#[test]
fn what_it_closes_it_hears_no_more_of() {
    let (_, outcome) = world(&[99, 2]).run();
    assert_eq!(words(&outcome), ["open", "watches", "33", "has put", "99"]);
    assert!(!times(&outcome, &Note::Closed).is_empty(), "the server is told");
}

#[test]
fn the_leader_is_whoever_leads_when_the_fault_strikes() {
    let (_, outcome) = world(&[1]).fault(at(500), What::Kill(vec![Target::Leader]), Lasts::ToTheEnd).run();
    assert_eq!(outcome.strikes[0].nodes, [RELAY]);
    // A dead one leads no more, and nobody is nobody.
    let world = world(&[1]).fault(at(400), What::Kill(on(RELAY)), Lasts::ToTheEnd);
    let (_, outcome) = world.fault(at(500), What::Kill(vec![Target::Leader]), Lasts::ToTheEnd).run();
    assert_eq!(outcome.strikes[1].nodes, []);
}

/// Says which numbers it draws.
struct Dice;

impl Service<Probe> for Dice {
    fn on_start(&mut self, cx: &mut Context<Probe>) {
        for _ in 0..3 {
            cx.note(Note::Nudged(span::uniform(0, 1_000_000, || cx.random())));
        }
    }
    fn on_message(&mut self, _: &mut Context<Probe>, _: host::Origin, _: Message) {}
}

#[test]
fn a_service_draws_from_a_stream_of_its_own() {
    let draws = |seed, names: &[&str]| {
        let mut world = World::new(Persistence::None);
        world.seed = seed;
        world.sim.reset(seed, true);
        for name in names {
            world.sim.service(spec(name), Box::new(|| Box::new(Dice)));
        }
        let (_, outcome) = world.run();
        noted(&outcome, |note| matches!(note, Note::Nudged(_))).into_iter().map(|(_, note)| note).collect::<Vec<_>>()
    };
    let one = draws(1, &["one"]);
    assert!(one[0] != one[1] && one[1] != one[2], "{one:?}");
    assert_eq!(one, draws(1, &["one", "two"])[..3], "whoever else there is");
    assert_ne!(one, draws(1, &["two"]));
    assert_ne!(one, draws(2, &["one"]));
}
