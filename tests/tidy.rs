//! The house's rules, held by a test that reads the source.

use std::fs;
use std::path::{Path, PathBuf};

/// Every Rust file below these folders, with its text.
fn sources(folders: &[&str]) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())) {
            let path = entry.expect("a readable folder").path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                let text = fs::read_to_string(&path).expect("source is text");
                files.push((path, text));
            }
        }
    }
    assert!(!files.is_empty(), "nothing to read in {folders:?}");
    files
}

fn manifest(member: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(member).join("Cargo.toml")).expect("it is there")
}

/// The lines of code in which one of these words stands, comments aside.
fn uses(files: &[(PathBuf, String)], words: &[&str]) -> Vec<String> {
    let code = |line: &str| line.split("//").next().unwrap_or_default().to_owned();
    let has = |line: &str| {
        let mut parts = line.split(|c: char| !c.is_alphanumeric() && c != '_');
        parts.any(|part| words.contains(&part))
    };
    let of_file = |(path, text): &(PathBuf, String)| {
        let found = text.lines().enumerate().filter(|(_, line)| has(&code(line)));
        found.map(|(at, line)| format!("{}:{}: {}", path.display(), at + 1, line.trim())).collect::<Vec<_>>()
    };
    files.iter().flat_map(of_file).collect()
}

#[test]
fn neither_a_program_nor_a_service_can_learn_the_true_time() {
    let files: Vec<_> = sources(&["host/src"])
        .into_iter()
        .filter(|(path, _)| path.ends_with("program.rs") || path.ends_with("service.rs"))
        .collect();
    assert_eq!(files.len(), 2);
    assert_eq!(uses(&files, &["SimTime"]), [""; 0]);
    // Models can name the type (notes carry it nowhere, but `host` has it): none may.
    assert_eq!(uses(&sources(&["models/src"]), &["SimTime"]), [""; 0]);
}

#[test]
fn arrows_go_down_only() {
    let depends =
        |member: &str, on: &str| manifest(member).lines().any(|line| line.split(['.', ' ', '=']).next() == Some(on));
    for (member, never) in [
        ("host", &["sim", "spec", "models", "scenarios", "reports"][..]),
        ("sim", &["spec", "models", "scenarios", "reports"]),
        ("spec", &["sim", "models", "scenarios", "reports"]),
        ("models", &["sim", "scenarios", "reports"]),
        ("reports", &["sim", "models", "scenarios"]),
    ] {
        for on in never {
            assert!(!depends(member, on), "{member} depends on {on}");
        }
    }
    assert!(depends("scenarios", "sim"), "the reader of manifests finds what is there");
}

#[test]
fn nothing_in_a_run_is_a_float_or_of_the_process() {
    let inside = sources(&["host/src", "sim/src", "spec/src", "models/src"]);
    let banned = ["f32", "f64", "HashMap", "HashSet", "SystemTime", "env"];
    assert_eq!(uses(&inside, &banned), [""; 0]);
    // A client has threads of its own, which are tasks of a run.
    assert!(!inside.iter().any(|(_, text)| text.contains("thread::")));
    // A fault's `Lasts::Instant` is no clock.
    let has_clock = |(_, text): &&(PathBuf, String)| text.contains("time::Instant") || text.contains("Instant::now");
    assert!(!inside.iter().any(|file| has_clock(&file)));
}

#[test]
fn a_file_is_about_one_thing() {
    let all = sources(&["host", "sim", "spec", "models", "scenarios", "reports", "src", "tests", "examples", "worlds"]);
    let long: Vec<_> = all.iter().map(|(path, text)| (text.lines().count(), path)).filter(|(n, _)| *n > 500).collect();
    assert!(long.is_empty(), "{long:?}");
}

#[test]
fn tests_are_neither_ignored_nor_asleep() {
    let all = sources(&["host", "sim", "spec", "models", "scenarios", "reports", "src", "examples", "worlds"]);
    assert_eq!(uses(&all, &["todo", "unimplemented", "should_panic"]), [""; 0]);
    // As a word of scenario files, `ignore` is nothing bad.
    assert!(!all.iter().any(|(_, text)| text.contains("#[ignore")));
}
