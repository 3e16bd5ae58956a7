//! Clients and the steps of their scripts.

use models::script::points;

use super::super::clients::MOST_CLIENTS;
use super::super::steps::{COMPARE, MODES, ON_ERROR, STEPS, WORKING};
use super::json::{
    Json, any_of, described, integer, list, object, one_key, own_names, reference, string, truth, whole, words,
};
use super::world::{lock, ttl};

pub(super) fn client() -> Json {
    let margin = one_key(
        "",
        vec![
            ("naive", object("", Vec::new())),
            ("checked", object("", Vec::new())),
            ("told", object("", Vec::new())),
            ("at-checks", object("", Vec::new())),
            ("margin", described("Wants that much of the lease left.", reference("duration"))),
        ],
    );
    let policy = words("", ["naive", "told", "checked", "at-checks"]);
    let rounds = [integer("", 1, u32::MAX), words("", ["forever"])];
    object(
        "A client.",
        vec![
            ("count", integer("So many of them.", 1, MOST_CLIENTS)),
            ("policy", any_of("Whether it looks at its clock before it acts. Default: checked.", [policy, margin])),
            ("rounds", any_of("How often its script is played. Default: 1.", rounds)),
            ("arrivals", arrivals()),
            ("retry", retry()),
            ("do", described("Its script. Default: acquire, read, sleep 50 ms, write, release.", reference("steps"))),
            ("lock", described("A lock of its own, in place of the file's.", lock())),
            ("ttl", described("A lease of its own, in place of the file's.", ttl())),
            ("servers", described("The lock servers that it knows, in its order. Default: all.", reference("nodes"))),
            ("thread", own_names("Threads of one process, over one lock.", thread())),
            ("off", truth("Not in this cell.")),
        ],
    )
}

fn arrivals() -> Json {
    let every = described("So long after one another.", reference("span"));
    let until = described("Until this instant of the run.", reference("duration"));
    object("Open load: each arrival is a round.", vec![("every", every), ("until", until)])
}

fn thread() -> Json {
    object("A thread.", vec![("do", reference("steps"))])
}

fn retry() -> Json {
    object(
        "What follows a denied try.",
        vec![
            ("delay", described("How long to wait. Default: 200 to 400 ms.", reference("span"))),
            ("times", integer("How many tries after the first. Default: without end.", 0, u32::MAX)),
            ("factor", integer("By how much the delay grows from try to try.", 2, 1_000)),
            ("cap", described("How long it grows at most.", reference("duration"))),
        ],
    )
}

pub(super) fn milestone() -> Json {
    let mut keys = place();
    keys.push(("plus", described("So long after.", reference("duration"))));
    object("A named moment of a client's life.", keys)
}

/// Who comes where.
pub(super) fn place() -> Vec<(&'static str, Json)> {
    let all = words("", points::ALL.iter().map(|point| point.0));
    vec![
        ("client", string("Whose; without, the first to get there.")),
        ("point", any_of("Where; recipes add their own, with a prefix.", [all, string("")])),
        ("nth", integer("The how-manieth time. Default: 1.", 1, u32::MAX)),
    ]
}

pub(super) fn steps() -> Json {
    let says_something = |name: &&str| !matches!(*name, "effect" | "reap" | "sleep" | "at" | "until" | "repeat");
    let plain = words("A step without anything to say.", STEPS.into_iter().filter(says_something));
    let table = one_key("A step.", STEPS.map(|name| (name, step(name))).to_vec());
    list("Steps, in order.", any_of("", [plain, table]))
}

fn step(name: &str) -> Json {
    let handle = || string("Which lock, by the handle that its acquire gave it.");
    let takes = || described("How long it takes the resource.", reference("span"));
    let duration = |what: &str| described(what, reference("duration"));
    match name {
        "acquire" => object(
            "Take a lock.",
            vec![
                ("key", string("Which lock. Default: the scenario's one.")),
                ("as", string("Its handle. Default: the lock's name.")),
                ("wait", duration("How long to keep trying; 0s: one try. Default: without end.")),
                (
                    "mode",
                    words(
                        "In which mode, of a lock that can be shared. Default: exclusive.",
                        MODES.map(|(name, _)| name),
                    ),
                ),
            ],
        ),
        "extend" => object("Extend the lease.", vec![("as", handle()), ("by", duration("To so long from now."))]),
        "release" => object(
            "Give the lock back.",
            vec![
                ("as", handle()),
                ("timeout", duration("How long to wait for the answer.")),
                ("on-error", words("What follows an error.", ON_ERROR.map(|(name, _)| name))),
                ("work", words("Whether the work is over by then.", WORKING.map(|(name, _)| name))),
            ],
        ),
        "read" | "write" | "mark" | "ticket" => {
            let keys = vec![("object", string("Which object. Default: the one object.")), ("takes", takes())];
            any_of("An operation at the resource.", [string("Which object."), object("", keys)])
        }
        "effect" => {
            let key = integer("An idempotency key, by which the receiver knows it again.", 1, u32::MAX);
            let keys = vec![("name", string("Which.")), ("key", key), ("takes", takes())];
            any_of("Something that cannot be undone.", [string("Which."), object("", keys)])
        }
        "reap" => object(
            "Take a lock away from whoever has it, as a janitor does.",
            vec![
                ("key", string("Which lock. Default: the scenario's one.")),
                ("unless", string("Not if somebody has that lock.")),
                ("compare", words("By what it is known again.", COMPARE.map(|(name, _)| name))),
            ],
        ),
        "sleep" => described("Do something that takes so long.", reference("span")),
        "at" => duration("Wait for an instant of the run."),
        "until" => described("Wait for a milestone.", reference("milestone")),
        "repeat" => object(
            "Play steps several times.",
            vec![("times", integer("How often.", 1, u32::MAX)), ("do", reference("steps"))],
        ),
        // `check` and `hold`: there is nothing more to say.
        "check" | "hold" => object("", Vec::new()),
        other => unreachable!("the step `{other}` is not described"),
    }
}

/// A number of times.
pub(super) fn times(what: &str) -> Json {
    any_of(what, [whole(""), words("", ["every"])])
}
