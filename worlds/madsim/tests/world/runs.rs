//! Whole runs: what their end waits for, that they can be played again, and what is refused.

use fencepost_madsim::refusals;
use host::{Connection, Ending, Span};
use scenarios::language;
use sim::{Held, Lasts, What};

use crate::probe::*;

#[test]
fn the_run_waits_for_what_is_on_its_way_and_not_for_what_is_held_for_ever() {
    let sends = async |tells: Tells| {
        let connection = tells.connect().await.expect("the server lives");
        // Sent, and given up at once.
        host::first(connection.call(incr(), LONG), std::future::ready(())).await;
    };
    let (_, outcome) = play(vec![], sends);
    assert_eq!((outcome.ending, outcome.nodes[0].steps), (Ending::Quiet, 1));
    let cut = fault(What::Cut(link(CLIENT, SERVER), Held::Linger), at(5), Lasts::ToTheEnd);
    let (_, outcome) = play(vec![cut], sends);
    assert_eq!((outcome.ending, outcome.nodes[0].steps), (Ending::Quiet, 0));
    assert_eq!(outcome.end.as_nanos() / 1_000_000, 6, "held as it arrives, for ever");
}

#[test]
fn the_run_waits_for_the_end_of_a_fault() {
    let pause = fault(What::Pause(node(SERVER)), at(300), lasts(200));
    let (_, outcome) = play(vec![pause], calls);
    assert_eq!((outcome.ending, outcome.end.as_nanos() / 1_000_000), (Ending::Quiet, 500));
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
