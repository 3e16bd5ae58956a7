//! `--set`.

use host::{Duration, Span};
use models::guard::Guard;
use spec::Policy;

use super::*;
use crate::cell::Lasts;

const FAULT: &str = "[fault.gc]\npause = \"A\"\nfor = \"1s\"\n";

fn set_on(tables: &str, arguments: &[&str]) -> Scenario {
    load("test.toml", &file(tables), &set(arguments)).unwrap_or_else(|errors| panic!("{errors}"))
}

/// The argument is refused for this reason, at the marks.
#[track_caller]
fn refuse_set(tables: &str, marked: &str, message: &str) -> LoadError {
    let argument = marked.replace(['«', '»'], "");
    let errors = load("test.toml", &file(tables), &set(&[&argument])).expect_err("it is refused");
    let found: Vec<_> =
        errors.errors().iter().map(|error| (error.text, error.span.clone(), error.message.as_str())).collect();
    assert_eq!(found, [(1, marks(marked).remove(0), message)], "{errors}");
    errors.errors()[0].clone()
}

#[test]
fn any_parameter_can_be_set() {
    let arguments = [
        "seeds=7",
        "ttl = \"5s\"",
        "fault.gc.for=\"9s\"",
        "client.A.policy={ margin = \"1s\" }",
        "resource=\"fence_rw\"",
    ];
    let scenario = set_on(FAULT, &arguments);
    let cell = &scenario.cells[0];
    assert_eq!((scenario.seeds, cell.ttl), (7, Some(Duration::from_secs(5))));
    assert_eq!(cell.faults[0].lasts, Lasts::For(Span::Fixed(Duration::from_secs(9))));
    assert_eq!(cell.clients[0].script.policy, Policy::Margin(Duration::from_secs(1)));
    assert_eq!(cell.resource.guard, Guard::FenceRw);
}

#[test]
fn the_last_of_two_settings_counts() {
    assert_eq!(set_on("", &["seeds=7", "seeds=8"]).seeds, 8);
}

#[test]
fn the_scenarios_text_stays_the_files() {
    assert_eq!(&*set_on("", &["seeds=7"]).text, file(""));
}

#[test]
fn a_new_client_or_fault_is_set_as_a_whole() {
    let scenario = set_on("", &["client.C={}", "fault.kill={ kill = \"C\" }"]);
    assert_eq!((scenario.cells[0].clients.len(), scenario.cells[0].faults.len()), (3, 1));
}

#[test]
fn a_mistake_in_an_argument_points_into_the_argument() {
    let errors =
        load("test.toml", &file(FAULT), &set(&["seeds=7", "fault.gc.for=\"15sec\""])).expect_err("it is refused");
    assert_eq!(
        errors.to_string(),
        "\
error: duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h
 --> --set:1:14
1 | fault.gc.for=\"15sec\"
  |              ^^^^^^^
"
    );
}

#[test]
fn an_unknown_path_is_refused() {
    let error = refuse_set(FAULT, "fault.«gcc».for=\"1s\"", "the file has no fault `gcc`");
    assert_eq!(error.help.as_deref(), Some("did you mean `gc`?"));
    refuse_set(FAULT, "client.«C».policy=\"naive\"", "the file has no client `C`");
    refuse_set(FAULT, "fault.gc.«fro»=\"1s\"", &unknown_in_fault());
    let error = refuse_set(FAULT, "«sedes»=7", &unknown_at_the_top());
    assert_eq!(error.help.as_deref(), Some("did you mean `seeds`?"));
}

fn unknown_in_fault() -> String {
    mistakes(&file(&format!("{FAULT}fro = 1\n"))).errors()[0].message.clone()
}

fn unknown_at_the_top() -> String {
    mistakes(&top("lock = \"redis\"\nsedes = 1")).errors()[0].message.clone()
}

#[test]
fn an_argument_is_one_parameter_in_toml() {
    let error = refuse_set("", "ttl=«5s»", "string values must be quoted, expected literal string");
    assert_eq!(error.help.as_deref(), Some("a string keeps its quotes, as in --set 'ttl=\"5s\"'"));
    for argument in ["«seeds=1\nttl=\"5s\"»", "«[fault]»", "«# seeds=1»", "«»"] {
        refuse_set("", argument, "this is one parameter and its value, as in `ttl=\"5s\"`");
    }
    let errors = load("test.toml", &file(""), &set(&["seeds"])).expect_err("it is refused");
    assert_eq!((errors.errors().len(), errors.errors()[0].text), (1, 1), "{errors}");
}

#[test]
fn what_an_axis_sets_cannot_be_set_beside_it() {
    let matrix = "[matrix]\nresource = [\"open\", \"fence_rw\"]\n";
    let error = refuse_set(
        matrix,
        "«resource»=\"open\"",
        "the axis `resource` sets `resource`, or a part of it, in every cell",
    );
    assert_eq!(error.help.as_deref(), Some("set the axis: `matrix.resource`"));
    let matrix = format!("{FAULT}[matrix.length]\nlong = {{ fault.gc.for = \"2s\" }}\n");
    refuse_set(
        &matrix,
        "fault.gc.«for»=\"1s\"",
        "the axis `length` sets `fault.gc.for`, or a part of it, in every cell",
    );
}

#[test]
fn an_axis_itself_can_be_set() {
    let matrix = "[matrix]\nresource = [\"open\", \"fence_rw\"]\n";
    assert_eq!(set_on(matrix, &["matrix.resource=[\"open\"]"]).cells.len(), 1);
    let sweep = "matrix.\"fault.gc.for\"={ from = \"1s\", to = \"3s\", step = \"1s\" }";
    assert_eq!(set_on(FAULT, &[sweep]).cells.len(), 3);
    let named = format!("{FAULT}[matrix.length]\nlong = {{ fault.gc.for = \"2s\" }}\n");
    let longer = set_on(&named, &["matrix.length.long.fault.gc.for=\"4s\""]);
    assert_eq!(longer.cells[0].faults[0].lasts, Lasts::For(Span::Fixed(Duration::from_secs(4))));
    let error = refuse_set(&named, "matrix.«lenght».long.ttl=\"4s\"", "the file has no axis `lenght`");
    assert_eq!(error.help.as_deref(), Some("did you mean `length`?"));
    refuse_set(&named, "matrix.length.«lang».ttl=\"4s\"", "the file has no option `lang`");
}
