//! `check`, and what `scenario` makes of a matrix: which cells, which traces, which frontiers.

use std::fs;

use super::{Desk, code, err, out, refused};

/// A scenario file with one client and these tables.
fn small(name: &str, tables: &str) -> String {
    format!("name = \"{name}\"\ntitle = \"t\"\nsource = \"s\"\nlock = \"redis\"\nseeds = 4\n[client.A]\n{tables}")
}

#[test]
fn check_plays_what_is_meant_and_prints_a_line_for_each() {
    let desk = Desk::new();
    let output = desk.fencepost(&["check", "gc-pause", "--seeds", "3"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert_eq!(
        out(&output),
        "✓ gc-pause  as expected   14 cells, 42 runs\n\n1 scenario, 14 cells, 42 runs: 1 as expected\n"
    );
    let debate = out(&desk.fencepost(&["check", "debate", "--seeds", "1"]));
    assert!(debate.lines().any(|line| line.contains("gc-pause")), "a topic is meant too: {debate}");
    refused(&desk.fencepost(&["check", "nothing-like-it"]), 4, &["`nothing-like-it`"]);
    assert!(!desk.path("out").exists(), "check writes no files");
}

#[test]
fn check_plays_a_folder_of_ones_own_in_the_order_of_its_paths() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("mine/below")).expect("the folder can be written");
    desk.write("mine/b.toml", &small("second", ""));
    desk.write("mine/below/a.toml", &small("third", ""));
    desk.write("mine/a.toml", &small("first", "[[expect]]\nmeasure.effects.total.is = 9\n"));
    desk.write("mine/notes.txt", "no scenario");
    let output = desk.fencepost(&["check", "mine"]);
    assert_eq!(code(&output), 1, "{}", err(&output));
    let expected = "\
✗ first   differs       1 cell, 4 runs
  • redis: measure.effects.total: 8, expected 9
    reproduce: fencepost scenario mine/a.toml --lock redis --seeds 0..4
✓ second  as expected   1 cell, 4 runs
✓ third   as expected   1 cell, 4 runs

3 scenarios, 3 cells, 12 runs: 2 as expected, 1 differs
";
    assert_eq!(out(&output), expected);
    let json = out(&desk.fencepost(&["check", "mine", "--format", "json"]));
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!((&json["as_expected"], &json["scenarios"][2]["scenario"]), (&false.into(), &"third".into()));
    for threads in ["1", "2"] {
        let again = desk.fencepost(&["check", "mine", "--threads", threads]);
        assert_eq!(out(&again), expected);
    }
    fs::create_dir(desk.path("empty")).expect("the folder can be written");
    refused(&desk.fencepost(&["check", "empty"]), 4, &["no scenario file (.toml) in empty"]);
}

#[test]
fn check_reads_all_before_it_plays_any_and_names_every_mistake() {
    let desk = Desk::new();
    fs::create_dir(desk.path("mine")).expect("the folder can be written");
    desk.write("mine/a.toml", &small("good", ""));
    desk.write("mine/b.toml", &small("bad", "polcy = \"naive\"\n"));
    desk.write("mine/c.toml", "name = 3");
    let output = desk.fencepost(&["check", "mine"]);
    refused(&output, 2, &["mine/b.toml:7:1", "did you mean `policy`?", "mine/c.toml:1:8", "2 of 3 scenario files"]);
    assert_eq!(out(&output), "");
    refused(&desk.fencepost(&["check", "mine/b.toml"]), 2, &["did you mean `policy`?"]);
    refused(&desk.fencepost(&["check", "nowhere.toml"]), 2, &["cannot read nowhere.toml"]);
}

#[test]
fn check_tells_the_gravest_of_what_came_out() {
    let desk = Desk::new();
    fs::create_dir(desk.path("mine")).expect("the folder can be written");
    let late =
        "[fault.late]\npause = \"A\"\nat = \"10s\"\nfor = \"1s\"\n[client.B]\ndo = [{ at = \"20s\" }, \"acquire\"]\n";
    desk.write("mine/a.toml", &small("idle", late));
    let output = desk.fencepost(&["check", "mine"]);
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("? idle  vacuous"), "{}", out(&output));
    desk.write("mine/b.toml", &small("wrong", "[[expect]]\nreach = [{ point = \"granted\", never = true }]\n"));
    assert_eq!(code(&desk.fencepost(&["check", "mine"])), 1);
}

#[test]
fn a_number_that_is_not_as_expected_is_told_with_the_seed_that_shows_it() {
    let desk = Desk::new();
    let expect = "[[expect]]\nmeasure.messages = { each.is = 8, total.is = 31 }\n";
    desk.write("mine.toml", &small("mine", expect));
    let output = desk.fencepost(&["scenario", "mine.toml"]);
    assert_eq!(code(&output), 1, "{}", err(&output));
    assert!(out(&output).contains("  • redis: measure.messages.total: 32, expected 31\n"), "{}", out(&output));
    assert!(out(&output).contains("  • redis: measure.messages.each: 8, expected 8\n"), "{}", out(&output));
    assert!(out(&output).contains("reproduce: fencepost scenario mine.toml --lock redis --seeds 0..4\n"));
}

#[test]
fn options_of_one_axis_add_up_and_axes_narrow_down() {
    let desk = Desk::new();
    let cells = |cells: &[&str]| {
        let options: Vec<&str> = cells.iter().flat_map(|cell| ["--cell", cell]).collect();
        let output =
            desk.fencepost(&[&["scenario", "write-delayed", "--seeds", "1", "--format", "json"], &*options].concat());
        let json: serde_json::Value = serde_json::from_str(&out(&output)).expect("it is JSON");
        json["cells"].as_array().map_or(0, Vec::len)
    };
    assert_eq!(cells(&[]), 12);
    assert_eq!(cells(&["holder=checked"]), 4);
    assert_eq!(cells(&["holder=checked", "holder=margin"]), 8);
    assert_eq!(cells(&["holder=checked", "holder=margin", "resource=open"]), 4);
}

#[test]
fn traces_are_of_the_last_time_that_a_cell_was_played() {
    let desk = Desk::new();
    let play = |seeds: &str, more: &[&str]| {
        let output = desk.fencepost(&[&["scenario", "gc-pause", "--lock", "redis", "--seeds", seeds], more].concat());
        assert!(matches!(code(&output), 0 | 1), "{}", err(&output));
        let folder = fs::read_dir(desk.path("out/gc-pause")).map(|entries| {
            entries.map(|entry| entry.expect("it can be read").file_name().into_string().expect("it is text")).collect()
        });
        let mut names: Vec<String> = folder.unwrap_or_default();
        names.sort_unstable();
        names
    };
    assert_eq!(play("2", &["--trace", "never"]), [""; 0]);
    assert_eq!(play("2", &[]), ["redis-fence_rw-0.jsonl", "redis-open-0.jsonl"]);
    desk.write("out/gc-pause/redis-open-mine.jsonl", "not ours");
    let kept = ["redis-fence_rw-0.jsonl", "redis-open-5.jsonl", "redis-open-mine.jsonl"];
    assert_eq!(play("5..7", &["--cell", "resource=open"]), kept, "the other cell was not played");
    let gone = ["redis-open-mine.jsonl"];
    assert_eq!(play("2", &["--set", "fault.gc.for=5s"]), gone, "nothing is broken any more");
    let all = ["redis-fence_rw-0.jsonl", "redis-open-0.jsonl", "redis-open-mine.jsonl"];
    assert_eq!(play("2", &["--set", "fault.gc.for=5s", "--trace", "always"]), all);
    let replay = desk.fencepost(&["replay", "out/gc-pause/redis-open-0.jsonl"]);
    assert_eq!(code(&replay), 0, "{}", err(&replay));
}

#[test]
fn a_searched_axis_is_told_with_its_frontier_and_one_of_its_cells_can_be_played_alone() {
    let desk = Desk::new();
    let output = desk.fencepost(&["scenario", "drift-allowance", "--seeds", "3"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    assert!(out(&output).contains("grant-margin turns between 103"), "{}", out(&output));
    let cell = ["scenario", "drift-allowance", "--cell", "node.redis-1.rate-ppm=10350", "--format", "json"];
    let json: serde_json::Value = serde_json::from_str(&out(&desk.fencepost(&cell))).expect("it is JSON");
    assert_eq!(json["cells"][0]["params"]["node.redis-1.rate-ppm"], "10350");
    assert_eq!(json["frontiers"].as_array().map(Vec::len), Some(0));
    let off = desk.fencepost(&["scenario", "drift-allowance", "--seeds", "3", "--set", "ttl=30s"]);
    assert_eq!(code(&off), 0, "10,169 lies within 200 of 10,305: {}", out(&off));
    let off = desk.fencepost(&["scenario", "drift-allowance", "--seeds", "3", "--set", "ttl=1s"]);
    assert_eq!(code(&off), 1, "{}", out(&off));
    assert!(
        out(&off).contains("reproduce: fencepost scenario drift-allowance --lock redis --set ttl=1s --seeds 0..3\n")
    );
}

#[test]
fn a_lock_that_nobody_was_ever_granted_is_told() {
    let desk = Desk::new();
    let output = desk.fencepost(&["scenario", "read-before-lock", "--seeds", "2", "--set", "resource=\"fence_rw\""]);
    assert!(out(&output).contains("nobody was granted a lock in any seed"), "{}", out(&output));
    let output = desk.fencepost(&["scenario", "read-before-lock", "--seeds", "2"]);
    assert!(!out(&output).contains("granted a lock"), "{}", out(&output));
    // Who takes no lock misses none.
    desk.write("none.toml", &small("none", "").replace("\"redis\"", "\"none\""));
    let output = desk.fencepost(&["check", "none.toml"]);
    assert!(!out(&output).contains("granted a lock"), "{}", out(&output));
    desk.write("rival.toml", &small("rival", "do = [\"read\"]\n"));
    let output = desk.fencepost(&["check", "rival.toml"]);
    assert!(!out(&output).contains("granted a lock"), "{}", out(&output));
}

#[test]
fn text_is_as_wide_as_columns_says_and_no_wider_than_a_hundred() {
    let desk = Desk::new();
    let text = |columns: &str| {
        let mut command = desk.command(&["scenario", "gc-pause", "--seeds", "1"]);
        out(&command.env("COLUMNS", columns).output().expect("the program starts"))
    };
    let longest = |text: &str| {
        let story = text.lines().filter(|line| line.starts_with("  • ") || line.starts_with("    "));
        story.map(|line| line.chars().count()).max()
    };
    assert!(longest(&text("50")) <= Some(50), "{}", text("50"));
    assert!(longest(&text("300")) <= Some(100) && longest(&text("300")) > Some(80), "{}", text("300"));
    let mistake = desk.fencepost(&["scenario", "gc-pause", "--set", "client.worker.rownds=3", "--set", "zz=1"]);
    assert!(err(&mistake).lines().all(|line| line.chars().count() <= 100), "{}", err(&mistake));
}

#[test]
fn the_command_that_explains_can_be_pasted() {
    let desk = Desk::new();
    let text = out(&desk.fencepost(&["scenario", "gc-pause", "--seeds", "1", "--out", "x y"]));
    assert!(text.contains("explain:   fencepost explain 'x y/gc-pause/redis-open-0.jsonl'\n"), "{text}");
    assert!(text.contains("replay:    fencepost replay 'x y/gc-pause/redis-open-0.jsonl'\n"), "{text}");
}

#[test]
fn a_story_says_which_part_hung() {
    let desk = Desk::new();
    let hung = ["scenario", "worker-hung-heartbeat-lives", "--cell", "hangs=renewal", "--seeds", "1"];
    let text = out(&desk.fencepost(&hung)).replace("\n    ", " ");
    assert!(text.contains("a stall (fault `hang`) struck the renewal of A to the end of the run"), "{text}");
}

#[test]
fn two_files_of_one_name_are_refused() {
    let desk = Desk::new();
    fs::create_dir_all(desk.path("mine")).expect("the folder can be written");
    desk.write("mine/a.toml", &small("same", ""));
    desk.write("mine/b.toml", &small("same", ""));
    refused(&desk.fencepost(&["check", "mine"]), 2, &["mine/a.toml and mine/b.toml are both called `same`"]);
}
