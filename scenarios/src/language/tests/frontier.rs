//! Axes that are searched, and what is expected of their frontiers.

use spec::Property;

use super::*;
use crate::cell::Expected;
use crate::figure::{Metric, Unit};
use crate::frontier::{Bisection, ClosedForm, Criterion, FrontierClaim};

/// A file with this axis and this entry.
fn with(axis: &str, entry: &str) -> String {
    let fault =
        "[fault.jump]\nstep-clock = { node = \"redis-1\", by = \"1s\" }\n[fault.gc]\npause = \"A\"\nfor = \"1s\"\n";
    file(&format!("{fault}[matrix]\n{axis}\n{entry}\n"))
}

const RATE: &str = "\"node.redis-1.rate-ppm\" = { from = 0, to = 100, bisect = \"grant-margin\", to-within = 25 }";
const JUMP: &str =
    "\"fault.jump.step-clock.by\" = { from = \"1s\", to = \"9s\", bisect = \"grant-exclusion\", to-within = \"1s\" }";
const PAUSE: &str = "\"fault.gc.for\" = { from = \"1s\", to = \"9s\", bisect = \"effects\", to-within = \"1s\" }";

fn expect(frontier: &str) -> String {
    format!("[[expect]]\nfrontier = {frontier}")
}

/// What the first cell expects of its frontier.
fn claim(axis: &str, frontier: &str) -> FrontierClaim {
    accept(&with(axis, &expect(frontier))).cells.remove(0).frontier.expect("something is expected of it")
}

#[test]
fn a_searched_axis_is_a_range_that_goes_up_by_what_it_is_searched_to() {
    let scenario = accept(&with(RATE, ""));
    let bisection = Bisection {
        criterion: Criterion::Metric(Metric::GrantMargin),
        unit: Unit::Count,
        values: vec![0, 25, 50, 75, 100],
    };
    assert_eq!(scenario.axes[0].bisection, Some(bisection));
    assert_eq!(scenario.cells.len(), 5);
    assert!(scenario.cells.iter().all(|cell| cell.criterion == Some(Criterion::Metric(Metric::GrantMargin))));
    let scenario = accept(&with(JUMP, ""));
    let bisection = scenario.axes[0].bisection.clone().expect("it is searched");
    assert_eq!(bisection.criterion, Criterion::Property(Property::GrantExclusion));
    assert_eq!((bisection.unit, bisection.values[8]), (Unit::Time, 9_000_000_000));
}

#[test]
fn a_frontier_is_expected_at_a_number_at_what_arithmetic_says_or_both() {
    let rate = |rest: &str| claim(RATE, &format!("{{ axis = \"node.redis-1.rate-ppm\", {rest} }}"));
    assert_eq!(rate("is = 40"), FrontierClaim { is: Some(40), within: 25, closed_form: None });
    let both = FrontierClaim { is: Some(40), within: 30, closed_form: Some((ClosedForm::LeaseDrift, 10_305)) };
    assert_eq!(rate("is = 40, within = 30, closed-form = \"lease-drift\""), both);
    let form = |axis, name: &str, form: &str| {
        claim(axis, &format!("{{ axis = \"{name}\", closed-form = {form} }}")).closed_form.expect("there is one").1
    };
    let jump = |after| form(JUMP, "fault.jump.step-clock.by", after);
    assert_eq!(jump("\"jump-remaining\""), 10_000_000_000);
    assert_eq!(jump("{ jump-remaining = { after = \"4s\" } }"), 6_000_000_000);
    assert_eq!(form(PAUSE, "fault.gc.for", "{ pause-validity = { after = \"2ms\" } }"), 9_896_000_000);
}

#[test]
fn arithmetic_is_worked_out_for_each_cell() {
    let axes = format!("{RATE}\nttl = [\"10s\", \"30s\"]");
    let entry = expect("{ axis = \"node.redis-1.rate-ppm\", closed-form = \"lease-drift\" }");
    let scenario = accept(&with(&axes, &entry));
    let forms: Vec<_> = scenario.cells.iter().filter_map(|cell| cell.frontier.as_ref()?.closed_form).collect();
    assert_eq!(forms[..2], [(ClosedForm::LeaseDrift, 10_305), (ClosedForm::LeaseDrift, 10_169)]);
    let none = file(&format!("[matrix]\n{RATE}\n{}", entry.replace("\"lease-drift\"", "«\"lease-drift\"»")));
    let none = none.replace("[client.A]", "ttl = \"none\"\n[client.A]");
    refuse(&none, "this is about leases, and there are none: `ttl` is \"none\"");
}

#[test]
fn a_searched_property_makes_no_claim_of_its_own_but_what_an_entry_says() {
    let entry = "[[expect]]\nwhere = { \"fault.jump.step-clock.by\" = \"1s\" }\nholds = [\"grant-exclusion\"]";
    let scenario = accept(&with(JUMP, entry));
    let of = |cell: usize| scenario.cells[cell].expectations[&Property::GrantExclusion].expected;
    assert_eq!((of(0), of(1), of(8)), (Expected::Holds, Expected::Free, Expected::Free));
    let scenario = accept(&with(RATE, ""));
    assert!(scenario.cells[0].expectations.is_empty(), "a metric is no property");
}

#[test]
fn an_axis_that_cannot_be_searched_is_refused() {
    let range = |range: &str| with(&format!("\"node.redis-1.rate-ppm\" = {range}"), "");
    refuse(
        &range("{ from = 0, to = 9, bisect = \"effects\", to-within = 1, «step» = 1 }"),
        "a range goes up by `step`, or is searched `to-within` so much",
    );
    refuse(
        &range("{ from = 0, to = 9, «to-within» = 1 }"),
        "`to-within` says how closely a range is searched: say for what, with `bisect`",
    );
    refuse(&range("«{ from = 0, to = 9, bisect = \"effects\" }»"), "missing `to-within`");
    refuse(
        &range("«{ from = 0, to = 9, bisect = \"effects\", to-within = 10 }»"),
        "there is nothing to search between: this range has one value",
    );
    suggest(
        &range("{ from = 0, to = 9, bisect = «\"grant-margn\"», to-within = 1 }"),
        "unknown word `grant-margn`",
        "grant-margin",
    );
    let second = JUMP.replacen('{', "«{", 1).replacen(" }", " }»", 1);
    let both = format!(
        "\"fault.gc.for\" = {{ from = \"1s\", to = \"2s\", bisect = \"effects\", to-within = \"1s\" }}\n{second}"
    );
    refuse(&with(&both, ""), "one axis is searched at most, and `fault.gc.for` is");
}

#[test]
fn a_frontier_that_cannot_be_is_refused() {
    let refused = |frontier: &str, message: &str| refuse(&with(RATE, &expect(frontier)), message);
    refused("{ axis = «\"ttl\"», is = 1 }", "the matrix has no axis `ttl`; it has: `node.redis-1.rate-ppm`");
    refused(
        "«{ axis = \"node.redis-1.rate-ppm\" }»",
        "nothing is expected of this frontier: say `is` or `closed-form`",
    );
    refused(
        "{ axis = \"node.redis-1.rate-ppm\", is = «\"1s\"» }",
        "the values of this axis are whole numbers, not a string",
    );
    refused(
        "{ axis = \"node.redis-1.rate-ppm\", is = 40, within = «24» }",
        "the axis is only searched to within its `to-within`: `within` is at least that",
    );
    refused(
        "{ axis = \"node.redis-1.rate-ppm\", closed-form = «\"jump-remaining\"» }",
        "`jump-remaining` says nothing of the axis `node.redis-1.rate-ppm`: it is about a step of a lock server's clock",
    );
    let stepped = with("ttl = [\"5s\", \"6s\"]", &expect("{ axis = «\"ttl\"», is = \"5s\" }"));
    let error = refuse(&stepped, "the axis `ttl` is not searched: it has no `bisect`");
    assert!(error.help.is_some_and(|help| help.contains("bisect = \"grant-margin\"")));
    let entry = format!(
        "{}\n[[expect]]\nfrontier = «{{ axis = \"node.redis-1.rate-ppm\", is = 40 }}»",
        expect("{ axis = \"node.redis-1.rate-ppm\", is = 50 }")
    );
    refuse(&with(RATE, &entry), "a frontier is already expected for this cell");
    // One that is expected in some cells of its axis only would be looked for nowhere else.
    let part = "[[expect]]\nwhere = { \"node.redis-1.rate-ppm\" = 25 }\n\
                frontier = «{ axis = \"node.redis-1.rate-ppm\", is = 50 }»";
    refuse(&with(RATE, part), "a frontier is expected of the whole axis: `where` may not name a part of it");
}
