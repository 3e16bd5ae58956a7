//! Expectations and the twin rule.

use std::collections::BTreeMap;

use spec::{Assumption, Property};

use super::*;
use crate::cell::{Expectation, Expected};

/// A file with two axes of two options, and these expectations.
fn with(expect: &str) -> String {
    file(&format!("[matrix]\nresource = [\"open\", \"fence_rw\"]\nttl = [\"5s\", \"6s\"]\n{expect}\n"))
}

/// What is expected in each cell, in order.
fn expected(expect: &str) -> Vec<BTreeMap<Property, Expected>> {
    let scenario = accept(&with(expect));
    let of = |cell: Cell| cell.expectations.into_iter().map(|(name, claim)| (name, claim.expected)).collect();
    scenario.cells.into_iter().map(of).collect()
}

/// In which of the four cells effect order is expected to break always.
fn broken_in(expect: &str) -> Vec<bool> {
    expected(expect).iter().map(|cell| cell.get(&Property::EffectOrder) == Some(&Expected::Always)).collect()
}

#[test]
fn an_entry_is_about_the_cells_that_it_names() {
    let always = "always = [\"effect-order\"]";
    assert_eq!(
        broken_in(&format!("[[expect]]\nwhere = {{ resource = \"open\" }}\n{always}")),
        [true, true, false, false]
    );
    assert_eq!(
        broken_in(&format!("[[expect]]\nwhere = {{ resource = [\"open\"], ttl = \"5000ms\" }}\n{always}")),
        [true, false, false, false]
    );
    assert_eq!(
        broken_in(&format!("[[expect]]\nwhere = {{ ttl = {{ from = \"1s\", to = \"5s\" }} }}\n{always}")),
        [true, false, true, false]
    );
    assert_eq!(broken_in(&format!("[[expect]]\n{always}\nbecause = \"of this\"")), [true; 4]);
}

#[test]
fn entries_add_up() {
    let cells = expected(
        "[[expect]]\nwhere = { resource = \"open\" }\nalways = [\"effect-order\"]\n\
         [[expect]]\nwhere = { ttl = \"5s\" }\nbroken = [\"no-lost-update\"]\nholds = [\"grant-exclusion\"]\n\
         [[expect]]\nfree = [\"belief-exclusion\"]\nbecause = \"nobody knows\"",
    );
    let names =
        |cell: usize| cells[cell].iter().map(|(name, expected)| (name.name(), expected.name())).collect::<Vec<_>>();
    assert_eq!(
        names(0),
        [
            ("grant-exclusion", "holds"),
            ("belief-exclusion", "free"),
            ("effect-order", "always"),
            ("no-lost-update", "broken")
        ]
    );
    assert_eq!(names(3), [("belief-exclusion", "free")]);
}

#[test]
fn an_expectation_keeps_its_reason() {
    let cell = cell(&file("[[expect]]\nalways = [\"belief-exclusion\"]\nbecause = \"no resource repairs a belief\"\n"));
    let reason = Some("no resource repairs a belief".to_owned());
    assert_eq!(
        cell.expectations[&Property::BeliefExclusion],
        Expectation { expected: Expected::Always, because: reason }
    );
}

#[test]
fn the_assumptions_that_were_not_kept_are_listed() {
    let outside = |list: &str| cell(&file(&format!("[[expect]]\noutside = {list}\n"))).outside;
    assert_eq!(outside("[\"no-step\", \"synced-disk\"]"), Some(vec![Assumption::NoStep, Assumption::SyncedDisk]));
    assert_eq!(outside("[]"), Some(Vec::new()));
    assert_eq!(cell(&file("")).outside, None);
    refuse(
        &file("[[expect]]\noutside = []\n[[expect]]\noutside = «[\"no-step\"]»\n"),
        "`outside` is already said for this cell",
    );
    let errors = mistakes(&file("[[expect]]\noutside = [\"no-stpe\"]\n"));
    assert_eq!(errors.errors()[0].help.as_deref(), Some("did you mean `no-step`?"));
}

#[test]
fn an_axis_or_an_option_that_is_not_there_is_refused() {
    let entry = |keys: &str| with(&format!("[[expect]]\n{keys}\nholds = [\"effect-order\"]"));
    suggest(&entry("where = { «resorce» = \"open\" }"), "the matrix has no axis `resorce`", "resource");
    suggest(&entry("where = { resource = «\"opne\"» }"), "the axis `resource` has no option `opne`", "open");
    refuse(
        &entry("where = { resource = [\"open\", «\"closed\"»] }"),
        "the axis `resource` has no option `closed`; it has: `open`, `fence_rw`",
    );
    refuse(&entry("where = { resource = «[]» }"), "this means no cell");
    refuse(
        &entry("where = { ttl = «{ from = \"7s\", to = \"9s\" }» }"),
        "no option of the axis `ttl` lies in this range",
    );
    refuse(
        &entry("where = { resource = «{ from = 1, to = 2 }» }"),
        "no option of the axis `resource` lies in this range",
    );
    refuse(&entry("where = «\"open\"»"), "`where` is a table, not a string");
    let text =
        "[fault.gc]\npause = \"A\"\n[matrix]\n\"fault.gc.for\" = [\"1s\"]\n[[expect]]\nholds = [\"effect-order\"]\n";
    let error =
        refuse(&file(&format!("{text}where = {{ «fault».gc.for = \"1s\" }}\n")), "the matrix has no axis `fault`");
    assert_eq!(error.help.as_deref(), Some("quote the axis: \"fault.gc.for\""));
    accept(&file(&format!("{text}where = {{ \"fault.gc.for\" = \"1s\" }}\n")));
}

#[test]
fn a_property_that_is_not_there_is_refused() {
    let entry = |property: &str| file(&format!("[[expect]]\nholds = [{property}]\n"));
    suggest(&entry("«\"efect-order\"»"), "unknown word `efect-order`", "effect-order");
    refuse(&entry("«\"paid-once\"»"), "`paid-once` is not supported yet");
    refuse(&file("[[expect]]\nholds = «\"effect-order\"»\n"), "this is a list, not a string");
}

#[test]
fn the_same_property_twice_in_a_cell_is_refused() {
    refuse(
        &file("[[expect]]\nholds = [\"effect-order\", «\"effect-order\"»]\n"),
        "this entry names `effect-order` twice",
    );
    refuse(
        &file("[[expect]]\nholds = [\"effect-order\"]\nfree = [«\"effect-order\"»]\nbecause = \"x\"\n"),
        "this entry names `effect-order` twice",
    );
    let error = refuse(
        &with(
            "[[expect]]\nwhere = { resource = \"open\" }\nholds = [\"effect-order\"]\n\
             [[expect]]\nwhere = { ttl = \"6s\" }\nholds = [«\"effect-order\"»]",
        ),
        "something is already expected of `effect-order` in this cell",
    );
    assert_eq!(error.cell.as_deref(), Some("resource=open ttl=6s"));
}

#[test]
fn an_entry_says_something_and_says_why() {
    refuse(&with("«[[expect]]»\nwhere = { ttl = \"5s\" }"), "this entry expects nothing");
    refuse(&file("[[expect]]\nfree = [«\"effect-order\"»]\n"), "no claim is made of `effect-order`: say `because`");
    refuse(&file("[[expect]]\nfree = [\"effect-order\"]\nbecause = «\" \"»\n"), "this says nothing");
    refuse(&file("«[expect]»\nfree = []\n"), "`expect` is a list of tables: `[[expect]]`, not a table");
}

const NO_TWIN: &str = "`effect-order` breaks here, and no single other option of the matrix makes it hold";

#[test]
fn what_breaks_has_a_twin_in_which_it_holds_or_a_reason() {
    let error = refuse(&file("[[expect]]\nalways = [«\"effect-order\"»]\n"), NO_TWIN);
    assert_eq!(
        error.help.as_deref(),
        Some("show the repair beside it, as another option of one axis, or say why there is none: `because`")
    );
    refuse(&file("[[expect]]\nbroken = [«\"effect-order\"»]\n"), NO_TWIN);
    refuse(&with("[[expect]]\nalways = [«\"effect-order\"»]"), NO_TWIN);
    accept(&file("[[expect]]\nalways = [\"effect-order\"]\nbecause = \"of this\"\n"));
    accept(&with("[[expect]]\nwhere = { resource = \"open\" }\nalways = [\"effect-order\"]"));
}

#[test]
fn a_twin_differs_on_one_axis_only() {
    // Broken everywhere but in the corner: the opposite corner has no twin.
    let corner = "[[expect]]\nwhere = { resource = \"open\" }\nalways = [«\"effect-order\"»]\n\
                  [[expect]]\nwhere = { resource = \"fence_rw\", ttl = \"5s\" }\nalways = [\"effect-order\"]";
    let error = refuse(&with(corner), NO_TWIN);
    assert_eq!(error.cell.as_deref(), Some("resource=open ttl=5s"));
}

#[test]
fn a_cell_without_a_claim_is_no_twin() {
    refuse(
        &with(
            "[[expect]]\nwhere = { resource = \"open\" }\nalways = [«\"effect-order\"»]\n\
             [[expect]]\nwhere = { resource = \"fence_rw\" }\nfree = [\"effect-order\"]\nbecause = \"unknown\"",
        ),
        NO_TWIN,
    );
}
