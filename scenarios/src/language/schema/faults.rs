//! Faults: what goes wrong, when, for how long.

use super::super::inside::FAILURES;
use super::super::what::WHATS;
use super::super::when::CLOCKS;
use super::json::{Json, any_of, described, integer, list, object, reference, string, truth, words};
use super::scripts::times;

pub(super) fn fault() -> Json {
    let duration = |what: &str| described(what, reference("duration"));
    let drawn = object("Drawn.", vec![("from", reference("duration")), ("to", reference("duration"))]);
    let mut keys: Vec<_> = WHATS.iter().map(|kind| (kind.name, what(kind.name))).collect();
    keys.extend([
        ("at", any_of("An instant at which it begins. Default: 0s.", [reference("duration"), drawn])),
        ("when", described("A milestone at which it begins.", reference("milestone"))),
        ("every", duration("It begins again and again, from at on.")),
        ("times", integer("How often at most.", 1, u32::MAX)),
        ("for", described("How long it lasts; of a kill: until the restart.", reference("span"))),
        (
            "on-clock",
            words("On which clock of its machine the time to a restart is counted.", CLOCKS.map(|(name, _)| name)),
        ),
        ("until", any_of("Until when it lasts.", [reference("duration"), reference("milestone")])),
        ("off", truth("Not in this cell.")),
    ]);
    object("One what, one when, at most one how long.", keys)
}

fn what(name: &str) -> Json {
    let nodes = |what: &str| described(what, reference("nodes"));
    let whose = || ("node", nodes("Whose."));
    let duration = |what: &str| described(what, reference("duration"));
    let by = |what: &str| ("by", described(what, reference("span")));
    match name {
        "pause" => nodes("The process stands still, its clocks run on."),
        "machine-sleep" => nodes("As a pause, and the monotonic clock stands still."),
        "vm-stop" => nodes("As a pause, and all its clocks stand still."),
        "kill" => nodes("The process dies; for is the time until it starts again."),
        "shutdown" => nodes("The process ends in good order; for is the time until it starts again."),
        "power-off" => nodes("Silence, and what was not synced is lost."),
        "restore" => object(
            "A backup is put back; for is the time until the servers start again.",
            vec![("as-of", duration("From which moment of the run.")), whose()],
        ),
        "cancel" => nodes("The acquire under way is abandoned, the process lives on."),
        "stall" => any_of(
            "One part of a process hangs.",
            [string("As in A/renewal."), object("", vec![whose(), ("part", string("worker, renewal, requests."))])],
        ),
        "throttle" => object(
            "Periodic short pauses.",
            vec![whose(), ("run", duration("It runs so long.")), ("stop", duration("It stands so long."))],
        ),
        "step-clock" => object(
            "The wall clock is set.",
            vec![whose(), ("by", described("By so much.", reference("signed-duration")))],
        ),
        "clock-rate" => object(
            "All clocks of the machine run fast or slow.",
            vec![whose(), ("ppm", integer("By so many ppm fast.", -999_999, 1_000_000))],
        ),
        "disk" => object(
            "Something is wrong with the disk or the memory.",
            vec![
                whose(),
                ("fails", words("What cannot be done.", FAILURES.map(|(name, _)| name))),
                ("slow", described("Each sync takes so long.", reference("span"))),
            ],
        ),
        "evict" => object("A lock server forgets a key.", vec![("key", string("Which.")), whose()]),
        "promote" => nodes("An operator makes a replica the primary."),
        "cut" => {
            let held = words("What becomes of what meets it.", ["dropped", "linger"]);
            object("Nothing passes.", [link(), vec![("held", held)]].concat())
        }
        "slow" => object("Everything takes longer.", [link(), vec![by("By so much.")]].concat()),
        "reset" => object("Connections are reset.", vec![("between", between())]),
        "half-open" => object(
            "One side thinks that the connection lives.",
            vec![("forgets", nodes("Who forgets.")), ("believes", nodes("Who goes on to believe."))],
        ),
        "drop" => object("That message is lost.", message()),
        "delay" => object("That message takes longer.", [message(), vec![by("By so much.")]].concat()),
        other => unreachable!("the fault `{other}` is not described"),
    }
}

fn link() -> Vec<(&'static str, Json)> {
    let side = |what: &str| described(what, reference("nodes"));
    vec![("between", between()), ("from", side("One way: from these")), ("to", side("to those."))]
}

fn between() -> Json {
    list("Both ways between two sides.", reference("nodes"))
}

fn message() -> Vec<(&'static str, Json)> {
    vec![
        ("request", string("Which operation's request: set, renew, release, read, write.")),
        ("reply", string("Which operation's reply.")),
        ("push", string("Which pushed message.")),
        ("of", described("Of which clients. Default: of any.", reference("nodes"))),
        ("server", string("At which server. Default: at any.")),
        ("nth", times("The how-manieth, or every one. Default: 1.")),
    ]
}
