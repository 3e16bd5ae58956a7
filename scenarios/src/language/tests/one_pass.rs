//! One pass finds all: no mistake hides another of the same file, table or list.

use super::*;

const SIGN: &str = "duration `-15s` has a sign; only clock steps and offsets have one";

fn fault(keys: &str) -> String {
    file(&format!("[fault.f]\n{keys}\n"))
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
            "unknown word `redish`",
            "duration `10` has no unit; units are ns, us, ms, s, min, h",
            "unknown word `opne`",
            "unknown field `client-sever`, expected one of `client-server`, `client-resource`, `server-server`, `call-timeout`",
            "unknown word `cheked`: a policy is one of `naive`, `told`, `checked`, `at-checks`, `margin`",
            "unknown word `wriet`",
            "unknown field `pauze`",
            "this cell has no node `resorce`",
            "unknown field `axis`, expected one of `profile`, `horizon`, `ttl`, `lock`, `service`, `network`, `node`, `resource`, `client`, `fault`, `bounds`",
            "unknown word `effect-ordre`",
        ],
    );
}

#[test]
fn a_fault_of_an_unknown_kind_is_read_on() {
    refuse_all(&fault("«puase» = \"holder\"\nfor = «\"-15s\"»"), &["unknown field `puase`", SIGN]);
    refuse_all(
        &fault("«puase» = \"holder\"\nwhen = { «pont» = \"granted\" }\nuntil = «\"-15s\"»"),
        &["unknown field `puase`", "unknown field `pont`, expected one of `client`, `point`, `nth`, `plus`", SIGN],
    );
    refuse_all(&fault("«clone» = \"A\"\nfor = «\"-15s\"»"), &["`clone` is not supported yet", SIGN]);
}

#[test]
fn what_only_some_kinds_of_fault_may_be_is_no_mistake_of_an_unknown_kind() {
    let unknown = ["unknown field `puase`"];
    refuse_all(&fault("«puase» = \"A\"\nfor = \"0s\""), &unknown);
    refuse_all(&fault("«puase» = \"A\"\nevery = \"1s\""), &unknown);
    refuse_all(&fault("«puase» = \"A\""), &unknown);
}

#[test]
fn a_fault_that_is_two_things_is_read_as_both() {
    let error = "a fault is one thing, and `f` already is `pause`";
    let text = fault("pause = «\"clienst\"»\n«kill» = «\"servres\"»\nfor = «\"-15s\"»");
    let node = |name: &str| format!("this cell has no node `{name}`");
    refuse_all(&text, &[&node("clienst"), error, &node("servres"), SIGN]);
    refuse_all(&fault("pause = «\"clienst\"»\n«clone» = \"A\""), &[&node("clienst"), "`clone` is not supported yet"]);
}

#[test]
fn a_fault_with_two_lengths_is_read_as_both() {
    let error = "a fault has one length: `for` and `until` exclude each other";
    refuse_all(&fault("pause = \"A\"\nfor = «\"-15s\"»\n«until» = «\"-15s\"»"), &[SIGN, error, SIGN]);
}

#[test]
fn a_link_that_is_given_in_two_ways_is_read_as_both() {
    let node = |name: &str| format!("this cell has no node `{name}`");
    let error = "a link is `between` two sides, or goes `from` one `to` the other";
    refuse_all(
        &fault("cut = { between = [\"A\", «\"resorce\"»], «from» = «\"clienst\"» }"),
        &[&node("resorce"), error, &node("clienst")],
    );
    // Marks do not nest: the link as a whole is wrong, and so is its half.
    let half = mistakes(&fault("cut = { from = \"clienst\" }"));
    let messages: Vec<_> = half.errors().iter().map(|error| error.message.as_str()).collect();
    assert_eq!(messages, ["a link is missing: `between = [X, Y]`, or `from` and `to`", &node("clienst")]);
}

#[test]
fn a_table_with_a_bad_name_is_read_all_the_same() {
    let no_name = |what| format!("`a.b` is no name for a {what}: letters, digits, `-` and `_`");
    refuse_all(&file("[fault.«\"a.b\"»]\npause = \"A\"\nfor = «\"-15s\"»\n"), &[&no_name("fault"), SIGN]);
    refuse_all(
        &file("[client.«\"a.b\"»]\npolicy = «\"naiv\"»\ndo = [{ at = «\"60s\"» }]\n"),
        &[
            &no_name("client"),
            "unknown word `naiv`: a policy is one of `naive`, `told`, `checked`, `at-checks`, `margin`",
            "this never happens: the run ends at 60s",
        ],
    );
    accept(&file("[fault.fine]\npause = \"A\"\n"));
}

#[test]
fn every_key_of_a_client_is_read() {
    refuse_all(
        &file(
            "[client.C]\ncount = «0»\n«polcy» = \"naive\"\nrounds = «\"often\"»\nretry = { delay = «\"-15s\"», times = «-1» }\ndo = [«\"jump\"», { sleep = «\"-15s\"» }]\n",
        ),
        &[
            "0 lies outside 1 to 50",
            "unknown field `polcy`",
            "`rounds` is a whole number or \"forever\", not a string",
            SIGN,
            "-1 lies outside 0 to 4294967295",
            &mistakes(&file("[client.C]\ndo = [\"jump\"]\n")).errors()[0].message,
            SIGN,
        ],
    );
}

#[test]
fn a_step_is_read_on_whatever_came_before_it() {
    let script = |steps: &str| file(&format!("[client.C]\ndo = {steps}\n"));
    // The unknown step was meant to take the lock: that nobody takes it is no second mistake.
    suggest(&script("[«\"aquire\"», \"check\", \"release\"]"), "unknown word `aquire`", "acquire");
    refuse_all(
        &script("[{ «extend» = { by = «\"-15s\"» } }]"),
        &["`extend` has no lock to act on: no `acquire` stands before it", SIGN],
    );
    refuse_all(
        &script("[{ repeat = { times = «0», do = [{ sleep = «\"-15s\"» }] } }, { at = «\"60s\"» }]"),
        &["0 lies outside 1 to 4294967295", SIGN, "this never happens: the run ends at 60s"],
    );
}
