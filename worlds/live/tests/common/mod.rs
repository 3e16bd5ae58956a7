//! What the conformance of every kind of server has in common.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

use libtest_mimic::{Arguments, Failed, Trial, run};
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestError, TestRng, TestRunner};
use serde::Serialize;

/// A trial, by its name.
pub(crate) type Named = (&'static str, fn() -> Outcome);

/// How a trial ends.
pub(crate) type Outcome = Result<(), Failed>;

/// A trial's play.
pub(crate) type Play = Box<dyn FnOnce() -> Outcome + Send>;

/// Plays all trials against what is installed, and says what was counted. A server that is not installed is a skip for each,
/// and a run of nothing but skips a failure.
pub(crate) fn conclude(
    kind: &str,
    version: io::Result<String>,
    trials: Vec<(String, Play)>,
    counted: fn() -> String,
) -> ExitCode {
    let is_installed = version.is_ok();
    let trial = |(name, play): (String, Play)| Trial::test(name, play).with_kind(kind).with_ignored_flag(!is_installed);
    let conclusion = run(&Arguments::from_args(), trials.into_iter().map(trial).collect());
    println!("{}: {}", version.unwrap_or_else(|error| format!("no {kind} ({error})")), counted());
    let is_vacuous = conclusion.num_passed + conclusion.num_failed == 0;
    if is_vacuous { ExitCode::FAILURE } else { conclusion.exit_code() }
}

/// Trials by their names.
pub(crate) fn named(trials: impl IntoIterator<Item = Named>) -> impl Iterator<Item = (String, Play)> {
    trials.into_iter().map(|(name, play)| (name.to_owned(), Box::new(play) as Play))
}

/// A trial for each transcript of those names.
pub(crate) fn transcripts(names: Vec<String>, play: fn(&str) -> Outcome) -> impl Iterator<Item = (String, Play)> {
    names.into_iter().map(move |name| (format!("transcript of {name}"), Box::new(move || play(&name)) as Play))
}

/// Draws so many sequences, the same from the same seed, and makes one that fails smaller in so many tries at most. Every
/// field is set: what is left out, the library reads from the environment.
pub(crate) fn runner(seed: u8, cases: u32, tries: u32) -> TestRunner {
    let config = Config {
        cases,
        max_local_rejects: 65_536,
        max_global_rejects: 1_024,
        max_flat_map_regens: 1_000_000,
        failure_persistence: None,
        source_file: None,
        test_name: None,
        max_shrink_time: 60_000,
        max_shrink_iters: tries,
        max_default_size_range: 100,
        verbose: 0,
        rng_algorithm: RngAlgorithm::ChaCha,
        rng_seed: RngSeed::Fixed(seed.into()),
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]))
}

/// What a sequence that was answered otherwise comes to. The log in it is that of the shortest that was found.
pub(crate) fn why<T>(error: TestError<T>) -> Failed {
    match error {
        TestError::Fail(why, _) | TestError::Abort(why) => why.to_string().into(),
    }
}

/// Where the transcripts of that service are.
pub(crate) fn folder(service: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/tests/transcripts").join(service)
}

/// The files of transcripts.
pub(crate) fn names(service: &str) -> Vec<String> {
    let files = fs::read_dir(folder(service)).expect("the folder of transcripts");
    let name = |file: io::Result<fs::DirEntry>| file.expect("a readable folder").file_name();
    let names = files.map(|file| name(file).to_string_lossy().into_owned());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".jsonl")).collect();
    names.sort();
    names
}

/// A transcript as it is committed.
pub(crate) fn lines(header: &impl Serialize, rows: &[impl Serialize]) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string(header)?;
    for row in rows {
        text.push('\n');
        text.push_str(&serde_json::to_string(row)?);
    }
    text.push('\n');
    Ok(text)
}

/// The first row that is answered otherwise than it is committed. (Another version of the server may answer the same.)
pub(crate) fn first_difference<R: PartialEq + Debug>(name: &str, committed: &[R], asked: &[R]) -> Outcome {
    let Some(at) = committed.iter().zip(asked).position(|(was, is)| was != is) else { return Ok(()) };
    let (was, is) = (&committed[at], &asked[at]);
    Err(format!("{name}:{}\n  was {was:?}\n  is  {is:?}\n`just transcripts` writes it down", at + 2).into())
}
