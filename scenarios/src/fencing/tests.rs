//! The two tables of the module's documentation, each row with what makes it true and what does not.

use super::*;
use crate::language::load;

/// Whether the order and the updates are kept, by a resource with one client.
fn keeps(resource: &str, steps: &str) -> (bool, bool) {
    let text = format!(
        "name = \"f\"\ntitle = \"f\"\nsource = \"own\"\nlock = \"redis\"\nresource = {resource}\n[client.A]\ndo = [{steps}]\n"
    );
    let scenario = load("f.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    (keeps_order(&scenario.cells[0]), keeps_updates(&scenario.cells[0]))
}

const READ_WRITE: &str = r#""acquire", "read", "write", "release""#;
const BLIND: &str = r#""acquire", "write", "release""#;
const MARK_FIRST: &str = r#""acquire", "mark", "read", "write", "release""#;
const READ_FIRST: &str = r#""acquire", "read", "mark", "write", "release""#;

#[test]
fn each_check_keeps_what_its_row_says() {
    let checks = ["open", "fence_w", "fence_le", "fence_rc", "fence_rw", "mark", "unique", "version"];
    let all = |steps: &str| checks.map(|check| keeps(&format!("\"{check}\""), steps));
    let (no, order, updates, both) = ((false, false), (true, false), (false, true), (true, true));
    assert_eq!(all(READ_WRITE), [no, no, no, no, both, no, no, updates]);
    assert_eq!(all(BLIND), [no, order, order, order, both, order, no, updates]);
}

#[test]
fn a_mark_keeps_what_comes_after_it() {
    assert_eq!(keeps("\"mark\"", MARK_FIRST), (true, true));
    assert_eq!(keeps("\"mark\"", READ_FIRST), (false, false));
    assert_eq!(keeps("\"unique\"", MARK_FIRST), (false, true));
    assert_eq!(keeps("\"unique\"", READ_FIRST), (false, false));
    let marked_once = r#""acquire", "mark", "read", "write", "release", "acquire", "read", "write", "release""#;
    assert_eq!(keeps("\"mark\"", marked_once), (false, false), "the second grant has not marked");
}

#[test]
fn what_comes_between_check_and_act_is_not_shut_out() {
    let slow = r#""acquire", "read", { write = { takes = "5ms" } }"#;
    for (check, act) in [("fence_rw", "check-then-act"), ("fence_rw", "record-then-act"), ("version", "check-then-act")]
    {
        let resource = format!("{{ check = \"{check}\", act = \"{act}\" }}");
        assert_eq!(keeps(&resource, slow), (false, false), "{check}, {act}");
        let atomic = format!("{{ check = \"{check}\", act = \"atomic\" }}");
        assert_eq!(keeps(&atomic, slow), keeps(&atomic, READ_WRITE), "{check}");
    }
}

#[test]
fn a_barrier_that_is_forgotten_keeps_nothing_but_a_forgotten_mark_lets_nobody_write() {
    let volatile = |check: &str, steps| keeps(&format!("{{ check = \"{check}\", max = \"volatile\" }}"), steps);
    assert_eq!(volatile("fence_rw", READ_WRITE), (false, false));
    assert_eq!(volatile("mark", MARK_FIRST), (false, false));
    assert_eq!(volatile("unique", MARK_FIRST), (false, true));
}

#[test]
fn two_objects_keep_their_order_behind_one_barrier_only() {
    let two = r#""acquire", { read = "x" }, { write = "x" }, { read = "y" }, { write = "y" }"#;
    assert_eq!(keeps("\"fence_rw\"", two), (false, true));
    assert_eq!(keeps("{ check = \"fence_rw\", barrier = \"whole\" }", two), (true, true));
    let marked = r#""acquire", { mark = "x" }, { read = "x" }, { read = "y" }, { write = "y" }"#;
    assert_eq!(keeps("\"mark\"", marked), (false, false), "nobody has marked y");
    assert_eq!(keeps("{ check = \"mark\", barrier = \"whole\" }", marked), (true, true));
}

#[test]
fn a_new_grant_makes_stale_what_was_read_under_the_last() {
    let again = r#""acquire", "read", "release", "acquire", "write", "release""#;
    assert_eq!(keeps("\"fence_rw\"", again), (true, false));
    assert_eq!(keeps("\"version\"", again), (false, true));
    let marked_again = r#""acquire", "mark", "read", "mark", "write", "release""#;
    assert_eq!(keeps("\"unique\"", marked_again), (false, false));
    let read_again = r#""acquire", "read", "release", "acquire", "read", "write", "release""#;
    assert_eq!(keeps("\"fence_rw\"", read_again), (true, true));
    let around = r#"{ repeat = { times = 2, do = ["acquire", "write", "read", "release"] } }"#;
    assert_eq!(keeps("\"fence_rw\"", around), (true, false), "the second pass writes what the first has read");
    let once = r#"{ repeat = { times = 1, do = ["acquire", "write", "read", "release"] } }"#;
    assert_eq!(keeps("\"fence_rw\"", once), (true, true));
}

#[test]
fn tokens_of_two_locks_have_no_order() {
    let two = r#""acquire", { acquire = { key = "parcels" } }, "read", "write""#;
    assert_eq!(keeps("\"fence_rw\"", two), (false, false));
    assert_eq!(keeps("\"version\"", two), (false, true));
}

#[test]
fn numbers_drawn_after_the_grant_have_no_order_and_are_unlike() {
    let drawn = r#""acquire", "ticket", "read", "write""#;
    assert_eq!(keeps("\"fence_rw\"", drawn), (false, true));
    assert_eq!(keeps("\"mark\"", drawn), (false, true), "the draw is a mark");
    assert_eq!(keeps("\"unique\"", drawn), (false, false), "here it is not");
    let drawn_late = r#""acquire", "read", "ticket", "write""#;
    assert_eq!(keeps("\"fence_rw\"", drawn_late), (false, false));
    assert_eq!(keeps("\"version\"", drawn_late), (false, true));
}

#[test]
fn no_check_of_an_object_stops_an_effect() {
    assert_eq!(keeps("\"fence_rw\"", r#""acquire", "read", "write", { effect = "mail" }"#), (false, true));
}

#[test]
fn a_number_is_drawn_before_what_is_compared_after_every_grant() {
    let draws = |steps: &str| {
        let text =
            format!("name = \"f\"\ntitle = \"f\"\nsource = \"own\"\nlock = \"redis\"\n[client.A]\ndo = [{steps}]\n");
        let scenario = load("f.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        draws_first(&scenario.cells[0].clients[0].script.threads[0])
    };
    assert!(draws(r#""acquire", "ticket", "read", "write", { effect = "mail" }"#));
    assert!(draws(r#""acquire", { effect = "mail" }"#));
    assert!(!draws(r#""acquire", "read", "ticket", "write""#));
    assert!(!draws(r#""acquire", "ticket", "read", "release", "acquire", "write""#));
    assert!(!draws(
        r#"{ repeat = { times = 2, do = ["acquire", { effect = "mail" }, "ticket"] } }, "acquire", "read""#
    ));
}
