//! How mistakes look.

use super::*;

fn rendered(text: &str) -> String {
    mistakes(text).to_string()
}

/// Where the mistakes are shown to be.
fn places(rendered: &str) -> Vec<&str> {
    rendered.lines().filter_map(|line| line.trim_start().strip_prefix("--> test.toml:")).collect()
}

#[test]
fn a_mistake_shows_its_line_its_place_and_what_may_be_meant() {
    let text = file("[fault.jump]\nstep-clock = { nodee = \"redis-1\", by = \"+10s\" }\nat = \"1s\"\n");
    assert_eq!(
        rendered(&text),
        "\
error: unknown field `nodee`, expected `node` or `by`
 --> test.toml:8:16
  |
8 | step-clock = { nodee = \"redis-1\", by = \"+10s\" }
  |                ^^^^^ help: did you mean `node`?"
    );
}

#[test]
fn mistakes_stand_apart_each_with_a_gutter_as_wide_as_its_line_number() {
    let text = file("[fault.a]\npause = \"Z\"\n[fault.gc]\npause = \"A\"\nfor = \"15sec\"\n");
    assert_eq!(
        rendered(&text),
        "\
error: this cell has no node `Z`; it has: `A`, `B`, `redis-1`, `resource`
 --> test.toml:8:9
  |
8 | pause = \"Z\"
  |         ^^^

error: duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h
  --> test.toml:11:7
   |
11 | for = \"15sec\"
   |       ^^^^^^^"
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
  |
9 | at = \"10s\"
  |      ^^^^^
  |
  = note: in the cell length=short"
    );
}

#[test]
fn colour_adds_nothing_but_escapes() {
    let errors = mistakes(&file("[fault.gc]\n«puase» = \"A\"\nfor = «\"15sec\"»\n"));
    let coloured = errors.coloured();
    assert!(coloured.contains("\u{1b}[1m\u{1b}[91merror\u{1b}[0m"), "{coloured:?}");
    let mut plain = String::new();
    for piece in coloured.split('\u{1b}') {
        plain.push_str(piece.split_once('m').filter(|_| piece.starts_with('[')).map_or(piece, |(_, text)| text));
    }
    assert_eq!(plain, errors.to_string());
}

#[test]
fn escapes_in_a_file_are_shown_and_not_obeyed() {
    let shown = rendered(&top("lock = 'red\u{1b}[31mis'\n"));
    assert!(shown.contains('␛') && !shown.contains('\u{1b}'), "{shown:?}");
}

#[test]
fn a_mistake_of_all_cells_names_none() {
    let errors = mistakes(&file("[fault.gc]\npause = \"C\"\n[matrix]\nresource = [\"open\", \"fence_rw\"]\n"));
    assert_eq!(errors.errors().len(), 1);
    assert_eq!(errors.errors()[0].cell, None);
}

#[test]
fn a_place_of_several_lines_is_shown_as_one() {
    let shown = rendered(&top("lock = \"redis\"\nttl = [\n    \"10s\",\n]"));
    let lines = " --> test.toml:5:7\n  |\n5 |   ttl = [\n  |  _______^\n6 | |     \"10s\",\n7 | | ]\n  | |_^";
    assert!(shown.contains(lines), "{shown}");
}

#[test]
fn columns_count_characters_and_not_bytes() {
    let shown = rendered(&top("note = \"ä→\"\nlock = \"rediß\""));
    assert_eq!(places(&shown), ["5:8"]);
    assert!(shown.ends_with("\n  |        ^^^^^^^ help: did you mean `redis`?"), "{shown}");
}

#[test]
fn carets_are_as_wide_as_the_characters_above_them() {
    let shown = rendered(&top("lock = { \"日本\" = 1 }"));
    assert!(shown.contains("4 | lock = { \"日本\" = 1 }\n  |          ^^^^^^"), "{shown}");
}

#[test]
fn a_byte_order_mark_moves_no_place() {
    assert_eq!(places(&rendered(&format!("\u{feff}{}", top("lock = \"rediß\"")))), ["4:8"]);
    assert_eq!(places(&rendered(&format!("\u{feff}nmae = 1\n{}", top("lock = \"redis\"")))), ["1:1"]);
    assert_eq!(cell(&format!("\u{feff}{}", file(""))).clients.len(), 2);
}

#[test]
fn tabs_and_line_ends_of_another_system_do_not_move_the_carets() {
    let text = format!("{HEAD}lock = \"redis\"\r\n[client.A]\r\npolicy =\t\"chekced\"\r\n");
    let lines = "6 | policy =    \"chekced\"\n  |             ^^^^^^^^^ help: did you mean `checked`?";
    assert!(rendered(&text).ends_with(lines), "{}", rendered(&text));
}

#[test]
fn a_string_that_is_not_closed_is_a_mistake_of_its_own_line_only() {
    for line_end in ["\n", "\r\n"] {
        let shown = rendered(&format!("name = \"x{line_end}title = \"t\"{line_end}"));
        assert!(shown.ends_with("1 | name = \"x\n  |          ^"), "{shown}");
    }
}

#[test]
fn what_is_missing_from_the_file_is_missing_at_its_beginning() {
    for text in ["# nothing\n", ""] {
        let errors = mistakes(text);
        assert_eq!(places(&errors.to_string()), ["1:1"; 5], "{errors}");
        let messages: Vec<_> = errors.errors().iter().map(|error| error.message.as_str()).collect();
        assert_eq!(
            messages,
            [
                "a cell has at least one client",
                "missing `lock`",
                "missing `name`",
                "missing `source`",
                "missing `title`"
            ]
        );
    }
}

#[test]
fn every_syntax_error_is_found_in_one_pass() {
    let shown = rendered("name = 1 2\ntitle = \"x\n");
    assert!(places(&shown).len() >= 2, "{shown}");
    assert!(places(&shown)[0].starts_with("1:") && places(&shown)[places(&shown).len() - 1].starts_with("2:"));
}

#[test]
fn a_key_twice_is_a_syntax_error_at_the_second() {
    refuse("name = \"a\"\n«name» = \"b\"\n", "duplicate key");
    let both = "cannot extend value of type string with a dotted key";
    for (key, below) in [("lock", "redis"), ("resource", "act")] {
        let help = format!("`{key} = \"…\"` stands above: leave it out, since the table says which by itself");
        assert_eq!(refuse(&format!("{key} = \"redis\"\n[«{key}».{below}]\n"), both).help, Some(help));
    }
    assert_eq!(refuse("name = \"a\"\n[«name».x]\n", both).help, None);
}
