//! The matrix: axes, cells, and laying options over the file.

use host::Duration;
use models::guard::Guard;
use models::lock::{Lock, TokenSource};
use spec::Policy;

use super::*;

fn with(matrix: &str) -> String {
    file(&format!("[fault.gc]\npause = \"A\"\nfor = \"1s\"\n[matrix]\n{matrix}\n"))
}

/// The labels of all cells, in order.
fn labels(scenario: &Scenario) -> Vec<String> {
    let label = |cell: &Cell| {
        let params: Vec<_> = cell.params.iter().map(|(axis, option)| format!("{axis}={option}")).collect();
        params.join(" ")
    };
    scenario.cells.iter().map(label).collect()
}

#[test]
fn cells_are_in_the_order_of_the_axes_and_the_last_runs_fastest() {
    let scenario = accept(&with("ttl = [\"5s\", \"6s\"]\nresource = [\"open\", \"fence_rw\"]"));
    assert_eq!(
        labels(&scenario),
        ["resource=open ttl=5s", "resource=open ttl=6s", "resource=fence_rw ttl=5s", "resource=fence_rw ttl=6s"]
    );
    assert_eq!(scenario.cells[2].resource.guard, Guard::FenceRw);
    assert_eq!(scenario.cells[1].ttl, Some(Duration::from_secs(6)));
}

#[test]
fn the_lock_is_the_first_axis_and_no_parameter() {
    let text =
        with("lock = [\"redis\"]\naxis.one = {}\naxis.two = {}").replace("lock = \"redis\"\n[client.A]", "[client.A]");
    let scenario = accept(&text);
    let names: Vec<_> = scenario.axes.iter().map(|axis| axis.name.as_str()).collect();
    assert_eq!(names, ["lock", "axis"]);
    assert_eq!(scenario.axes[0].options, ["redis"]);
    assert_eq!(labels(&scenario), ["axis=one", "axis=two"]);
}

#[test]
fn options_keep_the_order_of_the_file() {
    let scenario = accept(&with("axis.zebra = {}\naxis.ant = {}"));
    assert_eq!(scenario.axes[0].options, ["zebra", "ant"]);
}

#[test]
fn a_path_with_dots_is_quoted() {
    let scenario = accept(&with("\"fault.gc.for\" = [\"1s\", { mean = \"2s\" }]"));
    assert_eq!(scenario.axes[0].options, ["1s", "{ mean = \"2s\" }"]);
    let error = refuse(
        &with("«fault».gc.for = [\"1s\"]"),
        "`fault` is a field of the file, and so cannot be the name of an axis",
    );
    assert_eq!(error.help.as_deref(), Some("quote a path: \"fault.gc.for\" = [\"9s\", \"15s\"]"));
}

#[test]
fn a_range_goes_up_to_its_end() {
    let range = |range: &str| accept(&with(&format!("\"fault.gc.for\" = {range}"))).axes.remove(0).options;
    assert_eq!(range("{ from = \"8s\", to = \"9s\", step = \"500ms\" }"), ["8s", "8500ms", "9s"]);
    assert_eq!(range("{ from = \"8s\", to = \"9s\", step = \"600ms\" }"), ["8s", "8600ms"]);
    assert_eq!(range("{ from = \"8s\", to = \"8s\", step = \"1h\" }"), ["8s"]);
    let rates = accept(&with("\"node.A.rate-ppm\" = { from = -50, to = 50, step = 50 }"));
    let rates: Vec<_> = rates.cells.iter().map(|cell| cell.nodes["A"].rate.get()).collect();
    assert_eq!(rates, [-50, 0, 50]);
}

#[test]
fn a_range_that_is_none_is_refused() {
    let range = |range: &str| with(&format!("\"fault.gc.for\" = {range}"));
    refuse(&range("«{ from = \"9s\", to = \"8s\", step = \"1s\" }»"), "this range is empty: `from` lies above `to`");
    refuse(&range("«{ from = \"8s\", to = \"9s\", step = \"0s\" }»"), "a range goes up: `step` is above zero");
    refuse(&range("«{ from = 1, to = 9, step = -1 }»"), "a range goes up: `step` is above zero");
    refuse(&range("«{ from = \"8s\", to = 9, step = 1 }»"), "`from`, `to` and `step` are all numbers or all durations");
    refuse(&range("«{ from = \"8s\", to = \"9s\" }»"), "missing `step`");
    refuse(
        &range("{ from = «\"8\"», to = \"9s\", step = \"1s\" }"),
        "duration `8` has no unit; units are ns, us, ms, s, min, h",
    );
    refuse(
        &range("{ from = «true», to = 9, step = 1 }"),
        "a range is one of whole numbers or of durations, not a truth value",
    );
}

#[test]
fn a_matrix_without_options_is_refused() {
    refuse(&file("[«matrix»]\n"), "the matrix has no axis");
    refuse(&with("«resource» = []"), "the axis `resource` has no option");
    refuse(&file("[matrix.«empty»]\n"), "the axis `empty` has no option");
    refuse(
        &with("resource = «\"open\"»"),
        "an axis is a list of values, a range `{ from, to, step }`, or named options, not a string",
    );
    refuse(&file("").replace("[client.A]", "matrix = «1»\n[client.A]"), "`matrix` is a table of axes, not an integer");
}

#[test]
fn the_same_option_twice_is_refused() {
    refuse(&with("resource = [\"open\", «\"open\"»]"), "the axis `resource` has `open` twice");
    refuse(&with("ttl = [\"1s\", «\"1000ms\"»]"), "the axis `ttl` has `1000ms` twice");
}

#[test]
fn ten_thousand_cells_are_the_most_and_a_range_is_not_expanded_to_find_out() {
    let range = "\"fault.gc.for\" = { from = \"1ns\", to = \"50s\", step = \"1ns\" }";
    let text = with(range).replace("[matrix]", "[«matrix»]");
    refuse(&text, "the matrix has 50000000000 cells, and 10000 are the most");
    let numbers =
        "\"node.A.rate-ppm\" = { from = -9_000_000_000_000_000_000, to = 9_000_000_000_000_000_000, step = 1 }";
    let text = with(&format!("{range}\n{numbers}")).replace("[matrix]", "[«matrix»]");
    let errors = mistakes(&text);
    assert_eq!(errors.errors()[0].message, "the matrix has 18446744073709551615 cells, and 10000 are the most");
    let most = accept(&with("\"fault.gc.for\" = { from = \"1ms\", to = \"10s\", step = \"1ms\" }"));
    assert_eq!(most.cells.len(), 10_000);
}

#[test]
fn two_axes_never_set_the_same() {
    refuse(
        &with("a.x = { fault.gc.for = \"2s\" }\nb.x = { fault.gc.«for» = \"3s\" }"),
        "the axes `a` and `b` both set `fault.gc.for`, or a part of it",
    );
    refuse(
        &with("a.x = { fault.gc.for = { mean = \"2s\" } }\nb.x = { fault.gc.«for» = \"3s\" }"),
        "the axes `a` and `b` both set `fault.gc.for`, or a part of it",
    );
    refuse(
        &with("a.x = { client.A.policy.margin = \"1s\" }\n«\"client.A.policy\"» = [\"naive\"]"),
        "the axes `a` and `client.A.policy` both set `client.A.policy`, or a part of it",
    );
    refuse(
        &with("resource = [\"open\"]\nz.x = { resource.«check» = \"open\" }"),
        "the axes `resource` and `z` both set `resource.check`, or a part of it",
    );
    accept(&with("a.x = { fault.gc.for = \"2s\" }\nb.x = { fault.gc.at = \"3s\" }"));
}

#[test]
fn tables_merge_key_by_key_and_anything_else_is_replaced() {
    let text = file(
        "[client.C]\npolicy = { margin = \"1s\" }\ndo = [\"acquire\", \"read\"]\n[matrix.axis]\n\
         same = {}\nmargin = { client.C.policy.margin = \"2s\" }\nnaive = { client.C.policy = \"naive\" }\n\
         script = { client.C.do = [\"write\"], client.C.rounds = 2 }\n",
    );
    let scenario = accept(&text);
    let script = |cell: usize| &scenario.cells[cell].clients[2].script;
    assert_eq!(script(0).policy, Policy::Margin(Duration::from_secs(1)));
    assert_eq!(script(1).policy, Policy::Margin(Duration::from_secs(2)));
    assert_eq!(script(1).threads[0], script(0).threads[0]);
    assert_eq!(script(2).policy, Policy::Naive);
    assert_eq!(script(3).threads[0].len(), 1);
}

#[test]
fn a_word_counts_as_its_empty_table_where_it_meets_one() {
    let token = |cell: &Cell| {
        let Lock::Redis(redis) = &cell.lock else { panic!("{:?}", cell.lock) };
        redis.token
    };
    let word_below = accept(&with("a.x = { lock.redis.token = \"incr-in-script\" }"));
    assert_eq!(token(&word_below.cells[0]), TokenSource::IncrInScript);
    let table = "lock.redis.token = \"incr-in-script\"";
    let word_above = accept(&with("lock = [\"redis\"]").replace("lock = \"redis\"", table));
    assert_eq!(token(&word_above.cells[0]), TokenSource::IncrInScript);
    let resource =
        accept(&with("a.x = { resource.check = \"fence_rw\" }").replace("lock =", "resource = \"open\"\nlock ="));
    assert_eq!(resource.cells[0].resource.guard, Guard::FenceRw);
    let two =
        refuse(&with("a.x = { lock.«redlock» = {} }"), "the lock is one thing, but here are `redis` and `redlock`");
    let help = "drop one; if the matrix is to choose, say none at the top and one in each option";
    assert_eq!(two.help.as_deref(), Some(help));
    let each = with("a.x = { lock.redlock = {} }\na.y = { lock = \"redis\" }").replace("lock = \"redis\"\n", "");
    assert_eq!(accept(&each).cells.len(), 2, "what the help says is taken");
}

#[test]
fn an_option_may_add_a_client_or_a_fault_and_switch_one_off() {
    let scenario = accept(&with(
        "a.plain = {}\na.more = { client.C.do = [\"acquire\"], fault.kill = { kill = \"C\" } }\na.less = { fault.gc.off = true }",
    ));
    let sizes: Vec<_> = scenario.cells.iter().map(|cell| (cell.clients.len(), cell.faults.len())).collect();
    assert_eq!(sizes, [(2, 1), (3, 2), (2, 0)]);
}

#[test]
fn what_an_option_switches_off_must_be_there() {
    suggest(&with("a.x = { fault.«gcc».off = true }"), "the file has no fault `gcc`", "gc");
    refuse(&with("a.x = { client.«C».off = true }"), "the file has no client `C`; it has: `A`, `B`");
    suggest(&with("«\"fault.gcc.for\"» = [\"1s\"]"), "the file has no fault `gcc`", "gc");
}

#[test]
fn a_slip_in_a_clients_name_adds_no_client() {
    suggest(
        &file("[client.worker]\n[matrix]\na.x = { client.«wroker».policy = \"naive\" }\n"),
        "the file has no client `wroker`",
        "worker",
    );
}

#[test]
fn an_option_is_a_partial_file() {
    refuse(&with("a.x = «1»"), "an option is a table, a partial file, not an integer");
    suggest(&with("a.x = { «fualt».gc.for = \"1s\" }"), "unknown field `fualt`", "fault");
    for key in ["name", "title", "source", "note", "seeds", "matrix", "expect"] {
        let message = format!("`{key}` belongs to the whole file: no option may set it");
        refuse(&with(&format!("a.x = {{ «{key}» = 1 }}")), &message);
        if key != "matrix" && key != "expect" {
            refuse(&with(&format!("«{key}» = [\"a\", \"b\"]")), &message);
        }
    }
    refuse(&with("«\"a b\"».x = {}"), "`a b` is no name for an axis: letters, digits, `-` and `_`");
    refuse(&with("a.«\"x.y\"» = {}"), "`x.y` is no name for an option: letters, digits, `-` and `_`");
    refuse(&with("«\"fault..for\"» = [1]"), "a path is names with dots between them");
}

#[test]
fn a_mistake_in_an_option_is_reported_once_and_in_the_option() {
    let axes = "ttl = [\"5s\", \"6s\", \"7s\"]\na.x = { fault.gc.for = «\"15sec\"» }\na.y = {}";
    refuse(&with(axes), "duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h");
}

#[test]
fn a_value_that_is_wrong_in_one_cell_names_the_cell() {
    let error = refuse(&with("resource = [\"open\", «\"fence_wr\"»]"), "unknown word `fence_wr`");
    assert_eq!(error.cell.as_deref(), Some("resource=fence_wr"));
}
