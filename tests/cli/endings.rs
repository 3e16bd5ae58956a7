//! How it ends when results cannot be written, or when somebody stops it.

use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Desk, out, refused};

#[test]
fn results_that_cannot_be_written_exit_74() {
    let desk = Desk::new();
    desk.write("a-file", "in the way");
    let output = desk.fencepost(&["scenario", "gc-pause", "--seeds", "2", "--out", "a-file"]);
    refused(&output, 74, &["cannot write a-file", "--out"]);
    assert!(out(&output).contains("2/2"), "what was found out is printed all the same: {}", out(&output));
}

#[test]
fn values_and_a_picture_are_written_and_are_the_same_on_any_number_of_threads() {
    let desk = Desk::new();
    let play = |threads: &str, name: &str| {
        let [csv, svg] = ["csv", "svg"].map(|extension| format!("{name}.{extension}"));
        let files = ["--csv", &csv, "--plot", &svg, "--threads", threads];
        desk.fencepost(&[&["scenario", "gc-pause", "--seeds", "7", "--trace", "never"], &files[..]].concat());
        [csv, svg].map(|name| desk.read(&name))
    };
    let [csv, svg] = play("1", "one");
    assert!(csv.contains("\ngc-pause,") && csv.contains(",redis,open,effect-order,7,7,1.000000,"), "{csv}");
    assert!(svg.starts_with("<svg") && svg.contains("\nredis, fence_rw\n"), "{svg}");
    assert_eq!([csv, svg], play("2", "two"));
}

#[test]
fn files_that_cannot_be_written_are_no_surprise_at_the_end() {
    let desk = Desk::new();
    for option in [["--csv", "nowhere/result.csv"], ["--plot", "nowhere/result.svg"]] {
        let output = desk.fencepost(&[&["scenario", "gc-pause", "--seeds", "2"], &option[..]].concat());
        refused(&output, 74, &["cannot write", option[1]]);
        assert_eq!(out(&output), "", "nothing was played");
    }
    for option in [["--csv", "result.txt"], ["--plot", "result.png"], ["--plot", "svg"]] {
        let output = desk.fencepost(&[&["scenario", "gc-pause", "--seeds", "2"], &option[..]].concat());
        refused(&output, 2, &["ends in ."]);
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_exits_74() {
    let desk = Desk::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = desk.command(&["list"]).stdout(full).stderr(Stdio::piped()).spawn().expect("it starts");
    let output = output.wait_with_output().expect("it ends");
    refused(&output, 74, &["cannot write results to standard output"]);
}

#[test]
#[cfg(target_os = "linux")]
fn help_that_cannot_be_written_is_not_silent() {
    let desk = Desk::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    let output = desk.command(&["--help"]).stdout(full).stderr(Stdio::piped()).spawn().expect("it starts");
    refused(&output.wait_with_output().expect("it ends"), 74, &["cannot write results to standard output"]);
}

#[test]
fn a_closed_pipe_exits_74_without_a_panic() {
    let desk = Desk::new();
    let mut child =
        desk.command(&["show", "gc-pause"]).stdout(closed_pipe()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(74), "{stderr}");
    assert!(stderr.contains("standard output") && !stderr.contains("panicked"), "{stderr}");
}

/// The writing end of a pipe that nobody reads any more.
fn closed_pipe() -> Stdio {
    let (reader, writer) = std::io::pipe().expect("a pipe");
    drop(reader);
    writer.into()
}

#[test]
#[cfg(unix)]
fn ctrl_c_keeps_finished_cells_and_exits_130() {
    let desk = Desk::new();
    // The first cell takes a moment, the second for ever.
    desk.write(
        "long.toml",
        r#"
        name = "long"
        title = "one short cell, one long"
        source = "own"
        seeds = 400
        horizon = "20min"
        lock = "redis"
        [client.worker]
        count = 2
        [matrix.length]
        a-short = { client.worker.rounds = 1 }
        b-long = { client.worker.rounds = "forever" }
        "#,
    );
    let mut child = desk
        .command(&["scenario", "long.toml", "--format", "json", "--threads", "1"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    // It works until it is told to stop; when exactly it is told does not matter.
    wait_until_busy(child.id());
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(told.success());
    let mut stdout = String::new();
    child.stdout.take().expect("piped").read_to_string(&mut stdout).expect("text");
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{stderr}");
    assert!(stderr.contains("1 of 2 cells"), "{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).expect("what is finished is whole");
    assert_eq!(json["cells"].as_array().map(Vec::len), Some(1));
    assert_eq!(json["interrupted"], true);
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_a_comparison_with_what_was_compared_and_130() {
    let desk = Desk::new();
    // Some work for seconds; without a limit it would be for hours.
    let mut child = desk
        .command(&["verify-determinism", "--seeds", "1000000"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until_busy(child.id());
    let told = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("kill is there");
    assert!(told.success());
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{stderr}");
    assert!(stderr.contains("interrupted: 0 of ") && stderr.contains(" scenarios were compared"), "{stderr}");
}

/// Waits until the process has used enough processor time to be past its first cell.
#[cfg(unix)]
fn wait_until_busy(process: u32) {
    loop {
        let stat = fs::read_to_string(Path::new("/proc").join(process.to_string()).join("stat")).expect("it lives");
        let ticks: u64 =
            stat.rsplit(')').next().and_then(|rest| rest.split(' ').nth(12)?.parse().ok()).expect("a number");
        if ticks > 100 {
            return;
        }
        std::thread::yield_now();
    }
}
