//! How mistakes look.

use super::*;

fn rendered(text: &str) -> String {
    mistakes(text).to_string()
}

#[test]
fn a_mistake_shows_its_line_its_place_and_what_may_be_meant() {
    let text = file("[fault.jump]\nstep-clock = { nodee = \"redis-1\", by = \"+10s\" }\nat = \"1s\"\n");
    assert_eq!(
        rendered(&text),
        "\
error: missing `node`
 --> test.toml:8:14
8 | step-clock = { nodee = \"redis-1\", by = \"+10s\" }
  |              ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
error: unknown field `nodee`, expected `node` or `by`
 --> test.toml:8:16
8 | step-clock = { nodee = \"redis-1\", by = \"+10s\" }
  |                ^^^^^  help: did you mean `node`?
"
    );
}

#[test]
fn the_gutter_is_as_wide_as_the_line_number() {
    let text = file("\n\n\n[fault.gc]\npause = \"A\"\nfor = \"15sec\"\n");
    assert_eq!(
        rendered(&text),
        "\
error: duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h
  --> test.toml:12:7
12 | for = \"15sec\"
   |       ^^^^^^^
"
    );
}

#[test]
fn a_mistake_of_some_cells_names_one() {
    let text = file(
        "[fault.gc]\npause = \"A\"\nat = \"10s\"\n[matrix.length]\nlong = { horizon = \"60s\" }\nshort = { horizon = \"10s\" }\n",
    );
    assert_eq!(
        rendered(&text),
        "\
error: this never happens: the run ends at 10s
 --> test.toml:9:6
9 | at = \"10s\"
  |      ^^^^^
  = in the cell length=short
"
    );
}

#[test]
fn a_mistake_of_all_cells_names_none() {
    let errors = mistakes(&file("[fault.gc]\npause = \"C\"\n[matrix]\nresource = [\"open\", \"fence_rw\"]\n"));
    assert_eq!(errors.errors().len(), 1);
    assert_eq!(errors.errors()[0].cell, None);
}

#[test]
fn a_place_of_several_lines_is_shown_by_its_first() {
    let shown = rendered(&top("lock = \"redis\"\nttl = [\n    \"10s\",\n]"));
    assert!(shown.contains(" --> test.toml:5:7\n5 | ttl = [\n  |       ^\n"), "{shown}");
}

#[test]
fn columns_count_characters_and_not_bytes() {
    let errors = mistakes(&top("note = \"ä→\"\nlock = \"rediß\""));
    let error = &errors.errors()[0];
    assert_eq!(errors.position(error), (5, 8));
    assert!(errors.to_string().contains("\n  |        ^^^^^^^  help: did you mean `redis`?\n"), "{errors}");
}

#[test]
fn a_byte_order_mark_moves_no_place() {
    let errors = mistakes(&format!("\u{feff}{}", top("lock = \"rediß\"")));
    assert_eq!(errors.position(&errors.errors()[0]), (4, 8));
}

#[test]
fn tabs_and_line_ends_of_another_system_do_not_move_the_carets() {
    let text = format!("{HEAD}lock = \"redis\"\r\n[client.A]\r\npolicy =\t\"chekced\"\r\n");
    assert!(
        rendered(&text).contains("6 | policy = \"chekced\"\n  |          ^^^^^^^^^  help: did you mean `checked`?\n")
    );
}

#[test]
fn what_is_missing_from_the_file_is_missing_at_its_beginning() {
    let text = "# nothing\n";
    let errors = mistakes(text);
    let places: Vec<_> = errors.errors().iter().map(|error| errors.position(error)).collect();
    assert!(places.iter().all(|place| *place == (1, 1)), "{errors}");
    let messages: Vec<_> = errors.errors().iter().map(|error| error.message.as_str()).collect();
    assert_eq!(
        messages,
        ["a cell has at least one client", "missing `lock`", "missing `name`", "missing `source`", "missing `title`"]
    );
}

#[test]
fn every_syntax_error_is_found_in_one_pass() {
    let errors = mistakes("name = 1 2\ntitle = \"x\n");
    assert!(errors.errors().len() >= 2, "{errors}");
    assert_eq!(errors.position(&errors.errors()[0]).0, 1);
    assert_eq!(errors.position(errors.errors().last().expect("there are some")).0, 2);
}

#[test]
fn a_key_twice_is_a_syntax_error_at_the_second() {
    refuse("name = \"a\"\n«name» = \"b\"\n", "duplicate key");
}

#[test]
fn one_pass_reports_a_mistake_in_every_section() {
    refuse_all(
        "name = «\"Big Name\"»
title = \"t\"
source = \"s\"
lock = «\"redish\"»
ttl = «\"10\"»
resource = «\"opne\"»
[network]
«client-sever» = \"1ms\"
[client.A]
policy = «\"cheked\"»
[client.B]
do = [\"acquire\", «\"wriet\"»]
[fault.gc]
«pauze» = \"A\"
[fault.cut]
cut = { between = [\"A\", «\"resorce\"»] }
[matrix]
«axis» = 1
[[expect]]
always = [«\"effect-ordre\"»]
",
        &[
            "`Big Name` is not kebab-case: lower-case words and digits with `-` between them",
            "unknown word `redish`: the lock is `redis`",
            "duration `10` has no unit; units are ns, us, ms, s, min, h",
            "unknown word `opne`: the resource's check is `open` or `fence_rw`",
            "unknown field `client-sever`, expected one of `client-server`, `client-resource`, `server-server`, `call-timeout`",
            "unknown word `cheked`: a policy is one of `naive`, `checked`, `margin`",
            "unknown word `wriet`: a step is one of `acquire`, `check`, `extend`, `release`, `read`, `write`, `sleep`, `at`, `until`, `hold`, `repeat`",
            "unknown field `pauze`, expected one of `off`, `pause`, `machine-sleep`, `vm-stop`, `kill`, `power-off`, `stall`, `throttle`, `step-clock`, `clock-rate`, `cut`, `slow`, `reset`, `drop`, `delay`, `at`, `when`, `every`, `times`, `for`, `until`",
            "this cell has no node `resorce`",
            "unknown field `axis`, expected one of `horizon`, `ttl`, `lock`, `network`, `node`, `resource`, `client`, `fault`",
            "unknown word `effect-ordre`: a property is one of `grant-exclusion`, `belief-exclusion`, `effect-order`, `no-lost-update`, `rightful-accepted`",
        ],
    );
}
