//! The command line: exit codes, what goes where, and that bad input gets a clear error and no panic.

mod check;
mod endings;

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

/// A folder of its own for each test.
struct Desk(tempfile::TempDir);

impl Desk {
    fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn fencepost(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("the program starts")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("NO_COLOR", "1")
            .env_remove("COLUMNS")
            .stdin(Stdio::null());
        command
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("the folder can be written");
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("the file is there")
    }
}

fn code(output: &Output) -> i32 {
    output.status.code().expect("it was not killed")
}

fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// It ended with that code, said this on stderr, and did not panic.
fn refused(output: &Output, expected: i32, says: &[&str]) {
    let stderr = err(output);
    for words in says {
        // A message may be broken to lines.
        let is_said = stderr.contains(words) || stderr.replace("\n  ", " ").contains(words);
        assert!(is_said, "`{words}` is not in:\n{stderr}");
    }
    assert_eq!(code(output), expected, "{stderr}");
    assert!(!stderr.contains("panicked") && !stderr.contains("internal error"), "{stderr}");
}

#[test]
fn gc_pause_comes_out_as_expected_and_says_why() {
    let desk = Desk::new();
    let output = desk.fencepost(&["scenario", "gc-pause"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    let text = out(&output);
    for words in ["1000/1000", "as expected: 14 of 14 cells", "reproduce: fencepost scenario gc-pause", "replay:"] {
        assert!(text.contains(words), "`{words}` is not in:\n{text}");
    }
    assert_eq!(err(&output), "", "no progress without a terminal");
    assert!(desk.path("out/gc-pause/redis-open-0.jsonl").exists());
}

#[test]
fn a_violation_is_told_in_five_sentences_and_explained_in_more() {
    let desk = Desk::new();
    let points = |text: &str| text.lines().filter(|line| line.starts_with("  • ")).count();
    for (scenario, trace, words) in [
        ("gc-pause", "redis-open-0", "a pause (fault `gc`) struck worker-2 for 15.000 s"),
        ("gc-pause", "redis-fence_rw-0", "the fence_rw resource refused its operation"),
        ("write-delayed", "redis-linger-margin-open-0", "it replaced version 1, written by B"),
    ] {
        let told = desk.fencepost(&["scenario", scenario, "--seeds", "1"]);
        assert_eq!((code(&told), points(&out(&told))), (0, 5), "{}", out(&told));
        let explained = out(&desk.fencepost(&["explain", &format!("out/{scenario}/{trace}.jsonl")]));
        assert_eq!(points(&explained), 8, "{explained}");
        let text = explained.replace("\n    ", " ");
        assert!(text.contains(words), "`{words}` is not in:\n{explained}");
    }
}

#[test]
fn json_is_all_there_is_on_stdout_and_is_the_same_on_any_number_of_threads() {
    let desk = Desk::new();
    let run = |threads: &str| {
        let output =
            desk.fencepost(&["scenario", "gc-pause", "--format", "json", "--seeds", "300", "--threads", threads]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        out(&output)
    };
    let (one, two) = (run("1"), run("2"));
    assert_eq!(one, two);
    let json: serde_json::Value = serde_json::from_str(&one).expect("it is JSON");
    assert_eq!(json["schema"], "fencepost.result/1");
    let open = &json["cells"][0];
    assert_eq!(open["params"]["resource"], "open");
    assert_eq!(open["properties"]["effect-order"]["broken"], 300);
    assert_eq!(open["properties"]["effect-order"]["first_seed"], "0");
    assert_eq!(open["properties"]["grant-exclusion"]["broken"], 0);
    assert_eq!(open["properties"]["rightful-accepted"]["broken"], 0);
    let fenced = &json["cells"][1];
    assert_eq!(fenced["properties"]["belief-exclusion"]["broken"], 300);
    assert_eq!(fenced["properties"]["effect-order"]["broken"], 0);
}

#[test]
fn the_last_seed_is_played_as_any_other() {
    let desk = Desk::new();
    let last = format!("{}..{}", u64::MAX - 1, u64::MAX);
    let played = desk.fencepost(&["scenario", "gc-pause", "--seeds", &last]);
    assert_eq!(code(&played), 0, "{}", err(&played));
}

#[test]
fn the_reproduce_line_reproduces() {
    let desk = Desk::new();
    let text = out(&desk.fencepost(&["scenario", "gc-pause", "--seeds", "7..9"]));
    let line = text.lines().find_map(|line| line.strip_prefix("reproduce: fencepost ")).expect("there is one");
    let arguments: Vec<&str> = line.split(' ').collect();
    let again = desk.fencepost(&arguments);
    assert_eq!(code(&again), 0, "{}", err(&again));
    assert!(out(&again).contains("seed 7"), "{}", out(&again));
}

#[test]
fn every_trace_replays_and_an_edited_one_diverges() {
    let desk = Desk::new();
    for scenario in ["gc-pause", "write-delayed"] {
        assert_eq!(code(&desk.fencepost(&["scenario", scenario, "--seeds", "3"])), 0);
        let mut traces = 0;
        for entry in fs::read_dir(desk.path("out").join(scenario)).expect("traces were written") {
            let path = entry.expect("a file").path();
            let replay = desk.fencepost(&["replay", &path.display().to_string()]);
            assert_eq!(code(&replay), 0, "{}", err(&replay));
            traces += 1;
        }
        assert!(traces > 1);
    }
    let trace = desk.read("out/gc-pause/redis-open-0.jsonl");
    let lines: Vec<&str> = trace.lines().collect();
    let (place, line) = lines.iter().enumerate().rfind(|(_, line)| line.contains("\"kind\":\"leave\"")).expect("one");
    let digit = line.find("\"t\":").expect("a time") + 5;
    let mut edited: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
    let was = &line[digit..=digit];
    edited[place].replace_range(digit..=digit, if was == "1" { "2" } else { "1" });
    desk.write("edited.jsonl", &(edited.join("\n") + "\n"));
    refused(&desk.fencepost(&["replay", "edited.jsonl"]), 5, &[&format!("edited.jsonl:{}", place + 1)]);
    refused(&desk.fencepost(&["explain", "edited.jsonl"]), 5, &["another course"]);
}

#[test]
fn a_trace_that_cannot_be_read_says_where() {
    let desk = Desk::new();
    desk.fencepost(&["scenario", "gc-pause", "--seeds", "1"]);
    let trace = desk.read("out/gc-pause/redis-open-0.jsonl");
    let lines: Vec<&str> = trace.lines().collect();
    let cases: [(&str, String, &str); 6] = [
        ("empty", String::new(), "empty.jsonl"),
        ("truncated", lines[..lines.len() - 1].join("\n") + "\n", "truncated"),
        ("half-a-line", trace[..trace.len() / 2].to_owned(), "half-a-line.jsonl"),
        ("not-json", trace.replacen("{\"seq\":3", "{seq:3", 1), "5"),
        ("no-trace", "{\"schema\":\"something.else/1\"}\n".to_owned(), "no-trace.jsonl"),
        ("other-lock", trace.replacen("\"lock\":\"redis\"", "\"lock\":\"mine\"", 1), "mine"),
    ];
    for (name, text, says) in cases {
        desk.write(&format!("{name}.jsonl"), &text);
        refused(&desk.fencepost(&["replay", &format!("{name}.jsonl")]), 2, &[says]);
        refused(&desk.fencepost(&["explain", &format!("{name}.jsonl")]), 2, &[says]);
    }
    refused(&desk.fencepost(&["replay", "nowhere.jsonl"]), 2, &["cannot read nowhere.jsonl"]);
    let older = trace.replacen(&format!("\"engine\":\"{}\"", env!("CARGO_PKG_VERSION")), "\"engine\":\"0.0.1\"", 1);
    desk.write("older.jsonl", &older);
    refused(&desk.fencepost(&["replay", "older.jsonl"]), 5, &["0.0.1"]);
}

#[test]
fn explain_tells_the_story_and_every_note() {
    let desk = Desk::new();
    desk.fencepost(&["scenario", "gc-pause", "--seeds", "1"]);
    let output = desk.fencepost(&["explain", "out/gc-pause/redis-open-0.jsonl"]);
    assert_eq!(code(&output), 0, "{}", err(&output));
    for words in ["pause", "granted", "lease", "owned by"] {
        assert!(out(&output).contains(words), "`{words}` is not in:\n{}", out(&output));
    }
}

#[test]
fn what_can_be_set_about_a_lock_is_shown() {
    let desk = Desk::new();
    let shown = out(&desk.fencepost(&["show", "lock", "redis"]));
    let release =
        "\nlock.redis.release\n  How the key is given back.\n  checked (default)               `DEL` in a script";
    for part in
        [release, "\nlock.redis.renew.every\n", "  a duration  ", "\nservice.redis.ttl-clock\n", " redis:counted "]
    {
        assert!(shown.contains(part), "{part:?} in:\n{shown}");
    }
    refused(&desk.fencepost(&["show", "lock", "etcdd"]), 2, &["there is no lock `etcdd`", "`redis`, `redisson`"]);
    refused(&desk.fencepost(&["show", "redis"]), 2, &["`show lock redis`"]);
    refused(&desk.fencepost(&["show", "lock"]), 2, &["which lock?"]);
    refused(&desk.fencepost(&["show", "gc-pause", "redis"]), 2, &["`show gc-pause redis` is nothing"]);
}

#[test]
fn list_and_show_and_schema() {
    let desk = Desk::new();
    let list = out(&desk.fencepost(&["list"]));
    assert!(list.contains("gc-pause") && list.contains("write-delayed"), "{list}");
    let json: serde_json::Value =
        serde_json::from_str(&out(&desk.fencepost(&["list", "--format", "json"]))).expect("it is JSON");
    let names: Vec<_> = json.as_array().expect("a list").iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"gc-pause") && names.is_sorted(), "{names:?}");
    let shown = out(&desk.fencepost(&["show", "gc-pause"]));
    desk.write("mine.toml", &shown);
    assert_eq!(code(&desk.fencepost(&["scenario", "mine.toml", "--seeds", "3"])), 0, "a shown file can be played");
    for format in ["scenario", "result", "check", "trace"] {
        let schema: serde_json::Value =
            serde_json::from_str(&out(&desk.fencepost(&["schema", format]))).expect("it is JSON");
        assert_eq!(schema["$schema"], "http://json-schema.org/draft-07/schema#");
    }
}

#[test]
fn verify_determinism_prints_hashes_that_repeat() {
    let desk = Desk::new();
    let run = || desk.fencepost(&["verify-determinism", "gc-pause", "--seeds", "40"]);
    let (one, again) = (run(), run());
    assert_eq!(code(&one), 0, "{}", err(&one));
    assert_eq!(out(&one), out(&again));
    assert_eq!(out(&one).lines().count(), 14, "a line a cell");
    refused(&desk.fencepost(&["verify-determinism", "nothing"]), 4, &["nothing"]);
}

#[test]
fn what_differs_from_its_expectation_exits_1_and_says_what() {
    let desk = Desk::new();
    let output = desk.fencepost(&["scenario", "gc-pause", "--seeds", "3", "--set", "fault.gc.for=\"5s\""]);
    // The pause ends before the lease does: nothing is broken, and the file says that much is.
    assert_eq!(code(&output), 1, "{}", err(&output));
    assert!(out(&output).contains("belief-exclusion"), "{}", out(&output));
}

#[test]
fn a_fault_that_never_lands_is_vacuous_and_exits_3() {
    let desk = Desk::new();
    desk.write(
        "vacuous.toml",
        r#"
        name = "vacuous"
        title = "a pause when everything is over"
        source = "own"
        seeds = 5
        lock = "redis"
        [client.A]
        [client.B]
        do = [{ at = "20s" }, "acquire", "release"]
        [fault.late]
        pause = "A"
        at = "10s"
        for = "1s"
        "#,
    );
    let output = desk.fencepost(&["scenario", "vacuous.toml"]);
    assert_eq!(code(&output), 3, "{}{}", out(&output), err(&output));
    assert!(out(&output).contains("late"), "{}", out(&output));
}

#[test]
fn a_break_that_was_not_tried_is_vacuous_and_no_difference() {
    let desk = Desk::new();
    let late = "fault.gc.when={ client = \"worker-2\", point = \"about-to-write\", plus = \"20s\" }";
    let output = desk.fencepost(&["scenario", "gc-pause", "--seeds", "2", "--set", late]);
    let text = out(&output);
    assert_eq!(code(&output), 3, "{text}{}", err(&output));
    assert!(text.contains("in 2 of 2 seeds a fault never landed (gc)"), "{text}");
    assert!(!text.contains("but should be") && text.contains("vacuous ?") && !text.contains('✗'), "{text}");
    assert!(text.contains("--seeds 0..2 --trace always\n"), "{text}");
    let traced = out(&desk.fencepost(&["scenario", "gc-pause", "--seeds", "2", "--trace", "always", "--set", late]));
    let explain = traced
        .lines()
        .find_map(|line| line.trim().strip_prefix("explain:   fencepost explain "))
        .expect("it has a trace");
    let told = out(&desk.fencepost(&["explain", explain]));
    assert!(told.contains("Nothing was in use where `gc` struck."), "{told}");
    let json = ["scenario", "gc-pause", "--seeds", "2", "--format", "json", "--set", late];
    let json: serde_json::Value = serde_json::from_str(&out(&desk.fencepost(&json))).expect("it is JSON");
    assert_eq!(json["cells"][0]["standing"], "vacuous");
}

#[test]
fn words_that_do_not_exist_get_a_suggestion_and_exit_2() {
    let desk = Desk::new();
    refused(&desk.fencepost(&["scenario", "gc-puase"]), 2, &["gc-puase", "gc-pause"]);
    refused(&desk.fencepost(&["show", "gc-puase"]), 2, &["gc-pause"]);
    refused(&desk.fencepost(&["scenario", "nowhere.toml"]), 2, &["cannot read nowhere.toml"]);
    let without = "the catalogue's is called `gc-pause`, without a path";
    for path in ["./gc-pause", "gc-pause.toml", "scenarios/gc-pause.toml"] {
        refused(&desk.fencepost(&["scenario", path]), 2, &["cannot read", without]);
        refused(&desk.fencepost(&["show", path]), 2, &["`show` prints the catalogue's scenarios, by name", without]);
    }
    refused(&desk.fencepost(&["scenario", "gc-pause", "--lock", "redsi"]), 2, &["unknown lock `redsi`", "redis"]);
    refused(&desk.fencepost(&["scenario", "gc-pause", "--cell", "resuorce=open"]), 2, &["resuorce", "resource"]);
    refused(&desk.fencepost(&["scenario", "gc-pause", "--cell", "resource=closed"]), 2, &["closed", "fence_rw"]);
    refused(&desk.fencepost(&["scneario"]), 2, &["scenario"]);
}

#[test]
fn bad_seeds_and_threads_and_settings_exit_2() {
    let desk = Desk::new();
    for seeds in ["0", "5..5", "9..3", "-1", "many", "18446744073709551616"] {
        refused(&desk.fencepost(&["scenario", "gc-pause", &format!("--seeds={seeds}")]), 2, &["--seeds"]);
    }
    refused(&desk.fencepost(&["scenario", "gc-pause", "--threads", "0"]), 2, &["--threads"]);
    refused(&desk.fencepost(&["scenario", "gc-pause", "--set", "fault.gc.for"]), 2, &["--set"]);
    refused(&desk.fencepost(&["scenario", "gc-pause", "--set", "fault.gc.for=\"15sec\""]), 2, &["sec"]);
    refused(&desk.fencepost(&["scenario", "gc-pause", "--set", "fault.cg.for=\"15s\""]), 2, &["cg"]);
}

#[test]
fn settings_need_no_quotes_and_a_trace_keeps_them_as_they_were_typed() {
    let desk = Desk::new();
    let result = |set: &str, out_folder: &str| {
        let output = desk.fencepost(&[
            "scenario", "gc-pause", "--seeds", "3", "--format", "json", "--out", out_folder, "--set", set,
        ]);
        assert_eq!(code(&output), 0, "{}", err(&output));
        out(&output).replace(out_folder, "out")
    };
    assert_eq!(result("fault.gc.for=20s", "bare"), result("fault.gc.for=\"20s\"", "quoted"));
    assert_ne!(result("fault.gc.for=20s", "bare"), result("fault.gc.for=25s", "other"));
    assert!(desk.read("bare/gc-pause/redis-open-0.jsonl").contains("\"set\":[\"fault.gc.for=20s\"]"));
    let replay = desk.fencepost(&["replay", "bare/gc-pause/redis-open-0.jsonl"]);
    assert_eq!(code(&replay), 0, "{}", err(&replay));
    let naive = desk.fencepost(&["scenario", "gc-pause", "--seeds", "1", "--set", "client.worker.policy=naive"]);
    assert!(out(&naive).contains(" --set client.worker.policy=naive "), "{}", out(&naive));
}

#[test]
fn a_setting_that_cannot_be_is_shown_with_its_place() {
    let desk = Desk::new();
    let output = desk.fencepost(&["scenario", "gc-pause", "--set", "seeds=3", "--set", "fault.gc.for=15sec"]);
    refused(&output, 2, &[]);
    assert_eq!(
        err(&output),
        "\
error: duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h
 --> --set:1:14
  |
1 | fault.gc.for=15sec
  |              ^^^^^
"
    );
    let set = |argument: &str| desk.fencepost(&["scenario", "gc-pause", "--set", argument]);
    refused(&set("fault.cg.for=15s"), 2, &["error: the file has no fault `cg`; it has: `gc`\n"]);
    refused(&set("client.wroker.policy=naive"), 2, &["no client `wroker`\n", "help: did you mean `worker`?"]);
    refused(&set("client.worker.do=[acquire]"), 2, &["help: a shell eats quotes"]);
}

#[test]
fn mistakes_are_in_colour_where_colour_is_wanted() {
    let desk = Desk::new();
    let coloured = |arguments: &[&str], colour: &str| {
        let output = desk.fencepost(&[arguments, &["--color", colour]].concat());
        refused(&output, 2, &[]);
        assert!(output.stdout.is_empty());
        let red = err(&output).contains("\u{1b}[1m\u{1b}[91merror\u{1b}[0m");
        assert_eq!(red, err(&output).contains('\u{1b}'), "{:?}", err(&output));
        red
    };
    for arguments in [&["scenario", "gc-pause", "--set", "ttl=10"][..], &["scenario", "nowhere.toml"]] {
        assert!(coloured(arguments, "always"), "{arguments:?}");
        assert!(!coloured(arguments, "never"), "{arguments:?}");
        assert!(!coloured(arguments, "auto"), "{arguments:?}: NO_COLOR is set");
    }
}

#[test]
fn words_that_are_near_nothing_get_a_list_of_what_there_is() {
    let desk = Desk::new();
    let scenario = |option: &str, value: &str| desk.fencepost(&["scenario", "write-delayed", option, value]);
    refused(&scenario("--lock", "chubby"), 2, &["error: unknown lock `chubby`; fencepost has: `redis`"]);
    refused(&scenario("--lock", "redsi"), 2, &["error: unknown lock `redsi`; did you mean `redis`?"]);
    let axes = "error: unknown axis `when`; write-delayed has: `held`, `holder`, `resource`";
    refused(&scenario("--cell", "when=now"), 2, &[axes]);
    refused(&scenario("--cell", "resource=shut"), 2, &["has no option `shut`; it has: `open`, `fence_rw`"]);
    desk.write("plain.toml", "name = \"plain\"\ntitle = \"t\"\nsource = \"s\"\nlock = \"redis\"\n[client.A]\n");
    let output = desk.fencepost(&["scenario", "plain.toml", "--cell", "resource=open"]);
    refused(&output, 2, &["unknown axis `resource`; plain has none"]);
}

#[test]
fn every_mistake_of_a_file_is_named_with_its_place_in_one_pass() {
    let desk = Desk::new();
    let text = desk.fencepost(&["show", "gc-pause"]);
    let text = out(&text).replace("pause = \"holder\"", "puase = \"holder\"").replace("\"15s\"", "\"-15s\"");
    desk.write("wrong.toml", &text);
    let output = desk.fencepost(&["scenario", "wrong.toml"]);
    refused(
        &output,
        2,
        &["wrong.toml:30:1", "`puase`", "did you mean `pause`?", "wrong.toml:32:9", "`-15s` has a sign"],
    );
    assert_eq!(err(&output).matches("error: ").count(), 2, "{}", err(&output));
    desk.write("broken.toml", "name = \"x\ntitle = 3");
    refused(&desk.fencepost(&["scenario", "broken.toml"]), 2, &["broken.toml:1"]);
    desk.write("empty.toml", "");
    refused(&desk.fencepost(&["scenario", "empty.toml"]), 2, &["name"]);
    fs::write(desk.path("binary.toml"), [0xff, 0xfe, 0x00]).expect("written");
    refused(&desk.fencepost(&["scenario", "binary.toml"]), 2, &["binary.toml"]);
}
