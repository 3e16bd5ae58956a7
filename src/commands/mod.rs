//! One verb a file, and what can go wrong with all of them.

pub(crate) mod check;
pub(crate) mod explain;
mod files;
pub(crate) mod list;
pub(crate) mod replay;
pub(crate) mod scenario;
pub(crate) mod schema;
pub(crate) mod show;
mod telling;
mod traces;
pub(crate) mod verify;

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fencepost::exit::Exit;
use rayon::ThreadPool;
use reports::{Standing, SweepReport, TraceError};
use scenarios::catalogue::{self, UnknownScenario};
use scenarios::language::{LoadErrors, Override, load};
use scenarios::report::{quoted, reproduce, telling_seeds};
use scenarios::{Scenario, Unselected};

use crate::output::points;

/// Why a command could not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error("{0}")]
    Scenario(#[from] LoadErrors),
    #[error("{} of {of} scenario files cannot be played", mistaken.len())]
    Scenarios { mistaken: Vec<LoadErrors>, of: usize },
    #[error("{0}; `fencepost list` names them all, and a path ends in .toml")]
    UnknownScenario(#[from] UnknownScenario),
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}; give another folder with --out", path.display())]
    Write { path: PathBuf, error: io::Error },
    #[error("cannot write {}: {error}", path.display())]
    WriteFile { path: PathBuf, error: io::Error },
    #[error("cannot write results to standard output: {0}")]
    Stdout(io::Error),
    #[error("{}: {error}", path.display())]
    Trace { path: PathBuf, error: TraceError },
    #[error("{0}")]
    NotThere(String),
    #[error("{0}")]
    NothingSelected(String),
    #[error("cannot start {threads} threads: {error}")]
    Threads { threads: u16, error: rayon::ThreadPoolBuildError },
    #[error("{0}")]
    Diverged(String),
}

impl From<Unselected> for Failure {
    fn from(why: Unselected) -> Self {
        match why {
            Unselected::NotThere(what) => Self::NotThere(what),
            Unselected::Nothing(_) => Self::NothingSelected(why.to_string()),
        }
    }
}

impl Failure {
    /// The exit code that goes with it.
    pub(crate) const fn exit(&self) -> Exit {
        match self {
            Self::Scenario(_)
            | Self::Scenarios { .. }
            | Self::UnknownScenario(_)
            | Self::Read { .. }
            | Self::Trace { .. }
            | Self::NotThere(_)
            | Self::Threads { .. } => Exit::Usage,
            Self::Write { .. } | Self::WriteFile { .. } | Self::Stdout(_) => Exit::CannotWrite,
            Self::NothingSelected(_) => Exit::NothingSelected,
            Self::Diverged(_) => Exit::Diverged,
        }
    }
}

/// Reads a scenario: a file if it looks like one, else one of the catalogue's.
pub(crate) fn load_scenario(name: &str, set: &[Override]) -> Result<Scenario, Failure> {
    let path = Path::new(name);
    if is_path(name) {
        let text = read(path).map_err(|failure| not_a_path(failure, name))?;
        return Ok(load(name, &text, set)?);
    }
    let entry = catalogue::find(name)?;
    Ok(load(entry.file, entry.text, set)?)
}

/// Whether somebody means a file, rather than a scenario of the catalogue.
fn is_path(name: &str) -> bool {
    let path = Path::new(name);
    path.extension().is_some_and(|extension| extension == "toml") || path.components().count() > 1
}

/// Somebody who writes `./gc-pause` may mean the scenario of that name.
fn not_a_path(failure: Failure, name: &str) -> Failure {
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or("");
    match catalogue::find(stem) {
        Ok(entry) => {
            Failure::NotThere(format!("{failure}; the catalogue's is called `{}`, without a path", entry.name))
        }
        Err(_) => failure,
    }
}

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::Read { path: path.to_owned(), error })
}

/// What is not as expected, or was not tried or decided, cell by cell, each with the command that shows it.
fn differences(scenario: &str, set: &[String], report: &SweepReport, seeds: &Range<u64>) -> String {
    let mut text = String::new();
    for cell in report.cells.iter().filter(|cell| !cell.as_expected) {
        text += &points(&reports::table::notes_of(cell));
        let seeds = telling_seeds(cell, seeds);
        // Commands are not broken to lines: they are there to be copied.
        let again = reproduce(scenario, &cell.lock, &cell.params, set, &seeds);
        text += &match &cell.trace {
            Some(trace) => format!("    reproduce: {again}\n    explain:   fencepost explain {}\n", quoted(trace)),
            // Nothing is broken: only who asks for a trace gets one, and then the line above.
            None if cell.vacuous > 0 => {
                format!("    reproduce: {again} --trace always\n")
            }
            None => format!("    reproduce: {again}\n"),
        };
    }
    for frontier in report.frontiers.iter().filter(|frontier| !frontier.as_expected) {
        text += &points(&[reports::frontier::sentence(frontier)]);
        text += &format!("    reproduce: {}\n", reproduce(scenario, &frontier.lock, &frontier.params, set, seeds));
    }
    text
}

/// The exit code for how several things came out: that of the gravest.
fn exit_of(standings: impl Iterator<Item = Standing>) -> Exit {
    match standings.max() {
        Some(Standing::Differs) => Exit::Differs,
        Some(Standing::Vacuous | Standing::Inconclusive) => Exit::Inconclusive,
        Some(Standing::AsExpected) | None => Exit::AsExpected,
    }
}

/// The threads that play runs.
pub(crate) fn pool(threads: Option<u16>) -> Result<ThreadPool, Failure> {
    let mut builder = rayon::ThreadPoolBuilder::new();
    if let Some(threads) = threads {
        builder = builder.num_threads(threads.into());
    }
    builder.build().map_err(|error| Failure::Threads { threads: threads.unwrap_or(0), error })
}
