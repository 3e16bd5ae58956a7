//! The language as a JSON Schema (draft 7), for editors that complete and check TOML as it is typed.
//!
//! It says which keys there are, what they mean and which words they take; what holds between them, the loader
//! says. Nothing is required but what a file says of itself, since the options of a matrix are partial files of
//! the same shape. Where the reader has a table (of faults, metrics, properties, switches) the schema is made
//! from it; for the rest a test holds the keys that the reader asks for against those that are described here.

mod expect;
mod faults;
mod json;
mod scripts;
mod world;

use self::json::{Json, any_of, described, list, object, own_names, pretty, reference, text, values};
use super::parameter::PARAMETERS;

/// The schema of scenario files, indented, with a newline at its end.
#[must_use]
pub fn schema() -> String {
    let definitions = [
        ("duration", world::duration()),
        ("signed-duration", world::signed_duration()),
        ("span", world::span()),
        ("nodes", world::nodes()),
        ("milestone", scripts::milestone()),
        ("steps", scripts::steps()),
        ("bounds", expect::bounds()),
        ("parameters", object("A partial file: what an option lays over the file.", parameters())),
    ];
    let mut root = object("A scenario of fencepost: a world, what goes wrong in it, what must then be true.", top());
    for (key, value) in [
        ("$schema", text("http://json-schema.org/draft-07/schema#")),
        ("title", text("fencepost scenario")),
        ("required", values(["name", "title", "source"])),
        ("definitions", definitions.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()),
    ] {
        root[key] = value;
    }
    pretty(root)
}

fn top() -> Vec<(&'static str, Json)> {
    let mut keys = vec![
        ("name", world::name("Kebab-case; the file's name in a catalogue.")),
        ("title", json::string("One line: what the scenario shows.")),
        ("source", any_of("Where the claim comes from.", [json::string(""), list("", json::string(""))])),
        ("note", json::string("The argument, and what is left open.")),
        ("seeds", json::integer("How many seeds are played. Default: 100.", 1, u32::MAX)),
        ("matrix", own_names("Axes: every combination of their options is a cell.", axis())),
        ("expect", list("What must be true.", expect::entry())),
    ];
    keys.extend(parameters());
    keys
}

/// What the file and the options of its matrix may set.
fn parameters() -> Vec<(&'static str, Json)> {
    let parameter = |key| match key {
        "profile" => world::profile(),
        "horizon" => described("True time at which a run ends at the latest. Default: 60s.", reference("duration")),
        "ttl" => world::ttl(),
        "lock" => world::lock(),
        "service" => world::service(),
        "network" => world::network(),
        "node" => own_names("Clocks of a node or a group, from the start.", world::node()),
        "resource" => world::resource(),
        "client" => own_names("Clients; a table with count makes NAME-1, NAME-2, …", scripts::client()),
        "bounds" => world::bounds(),
        "fault" => own_names("What goes wrong.", faults::fault()),
        other => unreachable!("the parameter `{other}` is not described"),
    };
    PARAMETERS.map(|key| (key, parameter(key))).to_vec()
}

/// One axis of the matrix.
fn axis() -> Json {
    let number = || any_of("", [json::whole(""), reference("signed-duration")]);
    let range = object(
        "A range: by step, or searched with bisect to within so much.",
        vec![
            ("from", number()),
            ("to", number()),
            ("step", number()),
            ("bisect", expect::criterion()),
            ("to-within", number()),
        ],
    );
    let options = own_names("Named options: partial files.", reference("parameters"));
    any_of("Values of a parameter, a range of them, or named options.", [list("", Json::Bool(true)), range, options])
}
