//! What a message says of a word that is not known: what is meant, or what there is.

use super::super::suggest::{did_you_mean, instead};
use super::*;

const FAULT: &str = "[fault.gc]\npause = \"A\"\n";

#[test]
fn a_slip_of_the_finger_is_near_and_another_word_is_not() {
    let words = ["pause", "kill", "rate-ppm", "gc"];
    let meant = |word| did_you_mean(word, words);
    for (word, near) in
        [("puase", "pause"), ("kil", "kill"), ("rate", "rate-ppm"), ("GC", "gc"), ("ppm-rate", "rate-ppm")]
    {
        assert_eq!(meant(word), Some(format!("did you mean `{near}`?")), "{word}");
    }
    for far in ["stall", "cg", "g", ""] {
        assert_eq!(meant(far), None, "{far}");
    }
}

#[test]
fn a_name_that_is_near_nothing_meets_all_there_are_if_they_are_few() {
    let with = |tables: &str| file(&format!("{FAULT}{tables}"));
    let axis =
        |entry: &str| with(&format!("[matrix]\nresource = [\"open\"]\n[[expect]]\n{entry}\nholds = []\noutside = []"));
    refuse(&with("[matrix]\n«\"fault.cg.for\"» = [\"1s\"]"), "the file has no fault `cg`; it has: `gc`");
    refuse(&with("[matrix]\n«\"client.C.policy\"» = [\"naive\"]"), "the file has no client `C`; it has: `A`, `B`");
    refuse(&axis("where = { «held» = \"linger\" }"), "the matrix has no axis `held`; it has: `resource`");
    refuse(&axis("where = { resource = «\"shut\"» }"), "the axis `resource` has no option `shut`; it has: `open`");
    refuse(&file("[[expect]]\nwhere = { «held» = 1 }\noutside = []"), "the matrix has no axis `held`; it has none");
    refuse(&file("[matrix]\n«\"fault.gc.for\"» = [\"1s\"]"), "the file has no fault `gc`; it has none");
}

#[test]
fn a_node_that_is_near_nothing_meets_the_nodes_of_the_cell_by_their_shortest_names() {
    let text = file("[client.W]\ncount = 20\n[client.X]\noff = true\n[fault.f]\npause = «\"nobody\"»\n");
    refuse(&text, "this cell has no node `nobody`; it has: `A`, `B`, `W`, `redis-1`, `resource`");
}

#[test]
fn many_names_are_not_listed() {
    let tables: String = (1..=17).map(|i| format!("[fault.f-{i}]\npause = \"A\"\n")).collect();
    let text = file(&format!("{tables}[matrix]\n«\"fault.gc.for\"» = [\"1s\"]"));
    refuse(&text, "the file has no fault `gc`");
    assert!(instead("gc", "it", &["a"; 16]).starts_with("; it has: `a`"));
    assert_eq!(instead("gc", "it", &["a"; 17]), "");
}

#[test]
fn nodes_that_could_not_be_read_make_no_list() {
    let lock = "unknown word `etdc`";
    refuse_all(
        &format!("{}[fault.f]\nkill = «\"nobody\"»\n", top("lock = «\"etdc\"»")),
        &[lock, "this cell has no node `nobody`"],
    );
}

#[test]
fn a_name_that_no_cell_has_is_one_mistake_though_cells_have_different_nodes() {
    let text = file("[fault.f]\npause = «\"nobody\"»\n[matrix.who]\ntwo = {}\none = { client.B.off = true }\n");
    let error = refuse(&text, "this cell has no node `nobody`; it has: `A`, `B`, `redis-1`, `resource`");
    assert_eq!(error.cell, None);
}

#[test]
fn a_word_of_the_language_meets_all_that_fit_unless_one_of_many_is_meant() {
    let point = |point: &str| file(&format!("{FAULT}when = {{ point = «{point:?}» }}\n"));
    suggest(&point("about-to-wriet"), "unknown word `about-to-wriet`", "about-to-write");
    let all = super::super::suggest::expected(models::script::points::ALL.iter().map(|point| point.0));
    refuse(&point("later"), &format!("unknown word `later`: a point is {all}"));
    let policy = file("[client.C]\npolicy = «\"naiv\"»\n");
    suggest(
        &policy,
        "unknown word `naiv`: a policy is one of `naive`, `told`, `checked`, `at-checks`, `margin`",
        "naive",
    );
}

#[test]
fn what_is_misspelt_is_not_missing_too() {
    suggest(
        "«nmae» = \"t\"\ntitle = \"t\"\nsource = \"s\"\nlock = \"redis\"\n[client.A]\n",
        "unknown field `nmae`",
        "name",
    );
    suggest(
        &file("[fault.f]\ncut = { «betwen» = [\"A\", \"redis-1\"] }\n"),
        "unknown field `betwen`, expected one of `between`, `from`, `to`, `held`",
        "between",
    );
    suggest(
        &file("[fault.f]\ndrop = { «requets» = \"write\" }\n"),
        "unknown field `requets`, expected one of `request`, `reply`, `push`, `of`, `server`, `nth`",
        "request",
    );
    suggest(&file("[fault.f]\npause = \"holder\"\n«wehn» = { point = \"granted\" }\n"), "unknown field `wehn`", "when");
}

#[test]
fn what_is_no_toml_at_all_gets_a_few_mistakes_and_not_one_a_line() {
    let text = "this is\nno scenario\nbut a letter\nof some lines\n".repeat(20);
    let errors = load("letter.txt", &text, &[]).expect_err("it is no TOML");
    assert!((1..=3).contains(&errors.errors().len()), "{errors}");
}
