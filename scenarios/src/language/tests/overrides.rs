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
  |
1 | fault.gc.for=\"15sec\"
  |              ^^^^^^^"
    );
}

#[test]
fn an_unknown_path_is_refused() {
    let error = refuse_set(FAULT, "fault.«gcc».for=\"1s\"", "the file has no fault `gcc`");
    assert_eq!(error.help.as_deref(), Some("did you mean `gc`?"));
    refuse_set(FAULT, "client.«C».policy=\"naive\"", "the file has no client `C`; it has: `A`, `B`");
    refuse_set(FAULT, "fault.gc.«fro»=\"1s\"", "unknown field `fro`");
    let error = refuse_set(FAULT, "«sedes»=7", "unknown field `sedes`");
    assert_eq!(error.help.as_deref(), Some("did you mean `seeds`?"));
}

#[test]
fn a_value_that_has_lost_its_quotes_is_the_string_that_it_was() {
    let tables = format!("{FAULT}when = {{ point = \"granted\" }}\n[matrix.case]\na.ttl = \"9s\"\n");
    for (bare, quoted) in [
        ("fault.gc.for=5s", "fault.gc.for=\"5s\""),
        (" fault . gc . for =  5s ", "fault.gc.for=\"5s\""),
        ("fault.gc.when.point=about-to-write", "fault.gc.when.point=\"about-to-write\""),
        ("lock.redis.token=incr-in-script", "lock.redis.token=\"incr-in-script\""),
        ("resource=fence_rw", "resource=\"fence_rw\""),
        ("client.A.policy=naive", "client.A.policy=\"naive\""),
        ("node.A.wall-offset=-5s", "node.A.wall-offset=\"-5s\""),
        ("title=a = b, 'c' #d", "title=\"a = b, 'c' #d\""),
        ("client.\"A\".rounds=forever", "client.A.rounds=\"forever\""),
        ("matrix.case.a.ttl=5s", "matrix.case.a.ttl=\"5s\""),
    ] {
        let meaning = |argument| format!("{:?}", set_on(&tables, &[argument]));
        assert_eq!(meaning(bare), meaning(quoted), "{bare}");
        assert_ne!(meaning(bare), format!("{:?}", set_on(&tables, &[])), "{bare} does nothing");
    }
}

#[test]
fn a_value_that_is_toml_by_itself_keeps_its_type() {
    assert_eq!(set_on("", &["seeds=10"]).seeds, 10);
    assert_eq!(set_on("", &["seeds=1_000 # a comment"]).seeds, 1_000);
    assert_eq!(set_on("[client.C]\n", &["client.C.off=true"]).cells[0].clients.len(), 2);
    let scenario = set_on("", &["client.A.do=[\"acquire\"]"]);
    assert_eq!(scenario.cells[0].clients[0].script.threads[0].len(), 1);
    refuse_set("", "ttl=«10»", "a duration is a string such as \"1500ms\", not an integer");
    refuse_set("", "seeds=«1.5»", "`seeds` is a whole number, not a float");
}

#[test]
fn a_mistake_in_a_bare_value_points_at_the_value_as_it_was_typed() {
    let unit = "duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h";
    refuse_set(FAULT, "fault.gc.for=«15sec»", unit);
    refuse_set(FAULT, " fault.gc.for\t=\u{a0} «15sec» ", unit);
    refuse_set("", "ttl=«5 s»", "duration `5 s` has an unknown unit ` s`; units are ns, us, ms, s, min, h");
    refuse_set("", "ttl=«fünf»", "`fünf` is not a duration: one whole number and one unit, as in \"1500ms\"");
    let error = refuse_set(
        "",
        "client.A.policy=«naiv»",
        "unknown word `naiv`: a policy is one of `naive`, `told`, `checked`, `at-checks`, `margin`",
    );
    assert_eq!(error.help.as_deref(), Some("did you mean `naive`?"));
    refuse_set(FAULT, "fault.«cg».for=5s", "the file has no fault `cg`; it has: `gc`");
    refuse_set("", "client.A.do=«acquire»", "a script is a list, not a string");
}

#[test]
fn what_begins_like_toml_was_meant_to_be_toml() {
    let help = "a shell eats quotes: put single ones around all, as in --set 'client.A.do=[\"acquire\"]'";
    let word = "string values must be quoted, expected literal string";
    for argument in ["client.A.do=[«acquire»]", "client.A.do=[«acquire», read]", "client.A.policy={ margin = «1s» }"]
    {
        assert_eq!(refuse_set("", argument, word).help.as_deref(), Some(help), "{argument}");
    }
    let error = refuse_set("", "client.A.do=[\"acquire\"«»", "unclosed array, expected `]`");
    assert_eq!(error.help.as_deref(), Some(help));
    refuse_set("", "ttl=\"5s«»", "invalid basic string, expected `\"`");
}

#[test]
fn an_argument_is_one_parameter_and_its_value() {
    for argument in ["«seeds=1\nttl=\"5s\"»", "«[fault]»", "«# seeds=1»", "«»", "« »"] {
        refuse_set("", argument, "this is one parameter and its value, as in `ttl=5s`");
    }
    for argument in ["seeds«»", "ttl=«»", "\"a=b\"«»"] {
        let error = refuse_set("", argument, "the value is missing");
        assert_eq!(error.help.as_deref(), Some("as in `ttl=5s`"), "{argument}");
    }
    let no_name = "unquoted keys cannot be empty, expected letters, numbers, `-`, `_`";
    for argument in ["«»=5s", "«»=", "fault.«».for=5s", "«»=\"5s\""] {
        refuse_set("", argument, no_name);
    }
}

#[test]
fn an_argument_as_it_was_typed_can_be_read_again() {
    let typed = set(&[" fault.gc.for =5s"]);
    assert_eq!(typed[0].text(), " fault.gc.for =5s");
    let again: Vec<_> = typed.iter().map(|argument| Override::new(argument.text())).collect();
    let meaning = |set: &[Override]| format!("{:?}", load("test.toml", &file(FAULT), set).expect("it can be read"));
    assert_eq!(meaning(&typed), meaning(&again));
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
    let option = |name: &str| format!("the axis `length` has no option `{name}`");
    let error = refuse_set(&named, "matrix.length.«lang».ttl=4s", &option("lang"));
    assert_eq!(error.help.as_deref(), Some("did you mean `long`?"));
    refuse_set(&named, "matrix.length.«short».ttl=4s", &(option("short") + "; it has: `long`"));
    refuse_set("", "matrix.«length».long.ttl=4s", "the file has no axis `length`; it has none");
}
