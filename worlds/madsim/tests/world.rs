//! What this world does with connections, processes and faults, seen by small programs of a client that calls
//! one Redis server.
#![cfg(madsim)]

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

use fencepost_madsim::{MadHost, MadSim, refusals};
use host::{
    AttemptId, CallError, Calls, ConnectError, Connection, Duration, Ending, Host, Name, NodeId, Operation, Part,
    Point, Ppm, Purpose, Server, Span,
};
use models::Nudge;
use models::redis::{Command, Redis, Reply};
use scenarios::{Kernel, language};
use sim::{Bounds, Direction, Entity, Fault, Held, Lasts, Link, MessageMatch, NodeSpec, Outcome, Target, What, When};
use spec::Note;

const SERVER: NodeId = NodeId::new(0);
const CLIENT: NodeId = NodeId::new(1);
const HERE: Point = Point("here");
const LONG: Duration = Duration::from_secs(30);

/// What the client's program tells the test, each with the whole milliseconds since the run began.
type Told = Rc<RefCell<Vec<(u64, String)>>>;

struct Tells {
    host: MadHost,
    told: Told,
}

impl Tells {
    fn tell(&self, what: impl std::fmt::Debug) {
        let millis = (self.host.monotonic().as_nanos() - 1_000_000_000) / 1_000_000;
        self.told.borrow_mut().push((millis, format!("{what:?}")));
    }

    async fn connect(&self) -> Result<<MadHost as Calls<Command>>::Connection, ConnectError> {
        self.host.connect(Server::on(SERVER), Duration::from_secs(1)).await
    }
}

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn incr() -> Command {
    Command::Incr { key: Name::fixed("n") }
}

/// Plays a client's program beside a Redis server, on links of 2 ms, with these faults.
fn play<F: Future<Output = ()> + 'static>(
    faults: Vec<Fault<Nudge>>,
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    play_on(Span::Fixed(ms(2)), faults, program)
}

fn play_on<F: Future<Output = ()> + 'static>(
    latency: Span,
    faults: Vec<Fault<Nudge>>,
    program: impl Fn(Tells) -> F + 'static,
) -> (Vec<(u64, String)>, Outcome<Note>) {
    let told = Told::default();
    let spec =
        |name| NodeSpec { name: Name::fixed(name), entity: Entity::named(name), rate: Ppm::ZERO, wall_offset: 0 };
    let mut world = MadSim::new(7);
    world.service(spec("redis-1"), Box::new(|| Box::<Redis>::default()));
    let tells = Rc::clone(&told);
    world.client(spec("A"), Box::new(move |host| Box::pin(program(Tells { host, told: Rc::clone(&tells) }))));
    for (from, to) in [(SERVER, CLIENT), (CLIENT, SERVER)] {
        world.latency(from, to, latency);
    }
    for fault in faults {
        world.fault(fault);
    }
    let outcome = world.run(Bounds { horizon: Duration::from_secs(60), events: 100_000 });
    (told.take(), outcome)
}

fn fault(what: What<Nudge>, when: When, lasts: Lasts) -> Fault<Nudge> {
    Fault { entity: Entity::named("fault"), what, when, lasts }
}

fn at(millis: u64) -> When {
    When::At(ms(millis))
}

fn here() -> When {
    When::Milestone { clients: vec![CLIENT], point: HERE, nth: 1, plus: Duration::ZERO }
}

fn lasts(millis: u64) -> Lasts {
    Lasts::For(Span::Fixed(ms(millis)))
}

fn node(node: NodeId) -> Vec<Target> {
    vec![Target::Node(node)]
}

fn link(from: NodeId, to: NodeId) -> Vec<Link> {
    vec![Link { from: Target::Node(from), to: Target::Node(to) }]
}

/// Connects, passes `here`, and calls once.
async fn calls(tells: Tells) {
    let connection = tells.connect().await.expect("the server lives");
    tells.host.point(HERE).await;
    tells.tell(connection.call(incr(), LONG).await);
}

fn told(what: &[(u64, String)]) -> Vec<(u64, &str)> {
    what.iter().map(|(at, what)| (*at, what.as_str())).collect()
}

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
    // Sent again after 1, 2, 4, … ms: after 1,023 ms the cut is over, and 2 ms there and 2 ms back.
    assert_eq!(told(&what), [(4 + 1_023 + 4, "Ok(Int(1))")]);
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
fn who_stands_still_does_not_see_its_timer_before_its_reply() {
    let pause = |when| fault(What::Pause(node(CLIENT)), when, lasts(5_000));
    let calls = async |tells: Tells| {
        let connection = tells.connect().await.expect("the server lives");
        tells.host.point(HERE).await;
        tells.tell("runs");
        tells.tell(connection.call(incr(), ms(100)).await);
    };
    let (what, outcome) = play(vec![pause(at(5))], calls);
    assert_eq!(told(&what), [(4, "\"runs\""), (5_005, "Ok(Int(1))")], "the reply was in the socket");
    assert_eq!(outcome.strikes[0].met, 1);
    let (what, _) = play(vec![pause(here())], calls);
    assert_eq!(told(&what), [(5_004, "\"runs\""), (5_008, "Ok(Int(1))")], "it stands at the point itself");
}

#[test]
fn a_process_that_stands_still_sends_nothing() {
    let pause = fault(What::Pause(node(SERVER)), at(5), lasts(1_000));
    let (what, outcome) = play(vec![pause], calls);
    assert_eq!(told(&what), [(1_007, "Ok(Int(1))")]);
    assert_eq!(outcome.strikes[0].met, 1, "the request waited in its socket");
}

#[test]
fn one_part_hangs_while_the_other_lives() {
    let stall = fault(What::Stall(Target::Node(CLIENT), Part::WORKER), at(15), lasts(20));
    let (what, outcome) = play(vec![stall], async |tells| {
        let (host, told) = (tells.host.clone(), Rc::clone(&tells.told));
        let renewal = tells.host.spawn(Part::RENEWAL, async move {
            let tells = Tells { host, told };
            for _ in 0..2 {
                tells.host.sleep(ms(10)).await;
                tells.tell("renewal");
            }
        });
        for _ in 0..2 {
            tells.host.sleep(ms(10)).await;
            tells.tell("worker");
        }
        renewal.await;
    });
    let at = |who: &str| what.iter().filter(|(_, what)| what == who).map(|(at, _)| *at).collect::<Vec<_>>();
    assert_eq!((at("\"worker\""), at("\"renewal\"")), (vec![10, 35], vec![10, 20]));
    assert_eq!(outcome.nodes[1].activity.len(), 2);
}

#[test]
fn a_throttled_process_runs_and_stands_in_turn() {
    let what = What::Throttle { target: Target::Node(CLIENT), run: ms(10), stop: ms(90) };
    let (what, _) = play(vec![fault(what, at(0), lasts(250))], async |tells| {
        for _ in 0..3 {
            tells.host.sleep(ms(15)).await;
            tells.tell(());
        }
    });
    // It stands from 10 to 100, from 110 to 200, and from 210 to 250.
    assert_eq!(told(&what), [(100, "()"), (200, "()"), (250, "()")]);
}

#[test]
fn drop_code_of_a_killed_process_has_no_effect() {
    struct Unlocks(MadHost, AttemptId);
    impl Drop for Unlocks {
        fn drop(&mut self) {
            self.0.note(Note::Ended { attempt: self.1 });
        }
    }
    let holds = async |tells: Tells| {
        let attempt = tells.host.open_attempt();
        let _held = Unlocks(tells.host.clone(), attempt);
        tells.host.point(HERE).await;
        tells.host.sleep(ms(50)).await;
    };
    let (_, outcome) = play(vec![], holds);
    assert_eq!((outcome.notes.len(), outcome.ignored_dead_effects), (1, 0));
    for paused in [false, true] {
        let mut faults = vec![fault(What::Kill(node(CLIENT)), at(20), lasts(20))];
        faults.extend(paused.then(|| fault(What::Pause(node(CLIENT)), here(), Lasts::ToTheEnd)));
        let (_, outcome) = play(faults, holds);
        let [Note::Ended { attempt }] = [&outcome.notes[0].note] else { panic!("{:?}", outcome.notes) };
        assert_eq!((outcome.notes.len(), attempt.ordinal()), (1, 2), "only the second life ends");
        assert_eq!(outcome.ignored_dead_effects, 1, "paused: {paused}");
    }
}

#[test]
fn a_restarted_process_has_new_attempts_and_goes_on_drawing() {
    let kill = fault(What::Kill(node(CLIENT)), at(20), lasts(20));
    let (what, _) = play(vec![kill], async |tells| {
        tells.tell((tells.host.open_attempt().ordinal(), tells.host.random(Purpose::Recipe)));
        tells.host.sleep(ms(50)).await;
    });
    assert_eq!(what.iter().map(|(at, _)| *at).collect::<Vec<_>>(), [0, 40]);
    assert!(what[0].1.starts_with("(1,") && what[1].1.starts_with("(2,"), "{what:?}");
    assert_ne!(what[0].1.split(',').next_back(), what[1].1.split(',').next_back());
}

#[test]
fn a_waiting_caller_can_be_interrupted() {
    use host::Stage;
    let cancel = fault(What::Cancel(node(CLIENT)), at(20), Lasts::Instant);
    let (what, outcome) = play(vec![cancel], async |tells| {
        tells.host.interrupted().await;
        tells.tell(());
    });
    assert_eq!(told(&what), [(20, "()")]);
    assert_eq!(outcome.strikes[0].met, 1);
}

#[test]
fn the_same_seed_gives_the_same_run_on_a_used_thread_too() {
    let run = || {
        let pause = fault(What::Pause(node(SERVER)), at(5), lasts(1_000));
        let (what, outcome) = play_on(Span::Uniform { from: ms(1), to: ms(40) }, vec![pause], calls);
        (what, outcome.hash, outcome.end, outcome.events)
    };
    assert_eq!(run(), run());
}

#[test]
fn what_madsim_cannot_express_is_refused_in_words() {
    let refused = |text: &str| -> Vec<String> {
        let text = format!("name = \"x\"\ntitle = \"x\"\nsource = \"own\"\nlock = \"redis\"\n{text}");
        let scenario = language::load("x.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        refusals(&scenario.cells[0], 0..2).iter().map(ToString::to_string).collect()
    };
    let fault = |what: &str| refused(&format!("[client.A]\n[fault.f]\n{what}"));
    for (what, why) in [
        ("machine-sleep = \"A\"", "machine-sleep: no machine's clock can stand still: madsim has one for all"),
        ("vm-stop = \"A\"", "vm-stop: no machine's clock can stand still: madsim has one for all"),
        (
            "step-clock = { node = \"redis-1\", by = \"1s\" }",
            "step-clock: no machine's clock can be set: madsim has one for all",
        ),
        (
            "clock-rate = { node = \"A\", ppm = 5 }",
            "clock-rate: no machine's clock can run fast or slow: madsim has one for all",
        ),
        ("shutdown = \"A\"", "shutdown: madsim ends a process by a kill only"),
        ("pause = \"A\"\nfor = \"10us\"", "pause of less than 1 ms: madsim sleeps for 1 ms at least"),
        ("pause = \"A\"\nat = \"10us\"", "an instant of less than 1 ms: madsim sleeps for 1 ms at least"),
    ] {
        assert_eq!(fault(what), [why]);
    }
    for what in ["pause = \"A\"\nfor = \"1ms\"", "kill = \"A\"", "cut = { between = [\"A\", \"redis-1\"] }"] {
        assert_eq!(fault(what), [""; 0], "{what}");
    }
    assert_eq!(
        refused("network = { client-server = \"200us\" }\n[client.A]"),
        ["the latency of a link of less than 1 ms: madsim sleeps for 1 ms at least"]
    );
    assert_eq!(
        refused("[client.A]\ndo = [{ sleep = { mean = \"5ms\" } }]"),
        ["a client's wait of less than 1 ms: madsim sleeps for 1 ms at least"]
    );
    assert_eq!(
        refused("node.A.rate-ppm = 5\n[client.A]"),
        ["clocks that run fast or slow: madsim has one clock for all"]
    );
}
