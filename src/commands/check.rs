//! `check`: many scenarios over their seeds, a line for each, and whether all came out as expected.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fencepost::exit::Exit;
use reports::SweepReport;
use reports::check::{self, CheckReport};
use scenarios::language::load;
use scenarios::report::{ENGINE, cell_report, sweep_report};
use scenarios::{Cell, Contender, Progress, Scenario, Tally, catalogue, most_cells, play};

use super::{Failure, differences, exit_of, pool, read};
use crate::args::{CheckArgs, Format};
use crate::output::{points, print, remark};
use crate::{interrupt, progress};

/// One scenario that is to be played.
struct Selected {
    /// What the user would call it.
    name: String,
    scenario: Scenario,
    seeds: std::ops::Range<u64>,
}

pub(crate) fn run(args: &CheckArgs) -> Result<Exit, Failure> {
    // All are read before any is played: a mistake should not be found after minutes.
    let selected = selected(args)?;
    let width = selected.iter().map(|one| one.scenario.name.len()).max().unwrap_or(0);
    let progress = Arc::new(Progress::default());
    interrupt::stops(&progress);
    let pool = pool(args.threads)?;
    let runs_of = |one: &Selected| {
        (one.seeds.end - one.seeds.start).saturating_mul(most_cells(&one.scenario, &one.scenario.all_cells()))
    };
    let runs = selected.iter().map(runs_of).sum();
    let mut reports: Vec<SweepReport> = Vec::new();
    let mut told = Ok(());
    let work = |reporter: &progress::Reporter<SweepReport>| {
        for one in &selected {
            let Some(report) = play_one(one, &progress) else { break };
            reporter.report(report);
        }
    };
    progress::watched(&pool, &progress, runs, work, |report| {
        if told.is_ok() && args.format == Format::Text {
            told = tell(&selected[reports.len()], &report, width);
            if told.is_err() {
                progress.stop();
            }
        }
        reports.push(report);
    });
    told?;
    let (finished, all) = (reports.len(), selected.len());
    let report = CheckReport {
        schema: check::SCHEMA.to_owned(),
        engine: ENGINE.to_owned(),
        as_expected: finished == all && reports.iter().all(|report| report.as_expected),
        selected: all as u64,
        scenarios: reports,
    };
    match args.format {
        Format::Json => print(check::to_json(&report))?,
        Format::Text if finished == 0 => {}
        Format::Text => print(format_args!("\n{}\n", check::closing(&report)))?,
    }
    if finished < all {
        remark(interrupt::kept(finished as u64, all as u64, "scenario"));
        return Ok(Exit::Interrupted);
    }
    Ok(exit_of(report.scenarios.iter().map(SweepReport::standing)))
}

/// Plays a scenario. `None`: it was stopped.
fn play_one(one: &Selected, progress: &Progress) -> Option<SweepReport> {
    let contender = |cell: &Cell| Contender::built_in(&cell.lock);
    let played = play(&one.scenario, &one.scenario.all_cells(), contender, &one.seeds, progress);
    let report = |(index, tally): (&usize, &Tally)| {
        let cell = &one.scenario.cells[*index];
        cell_report(cell, cell.lock.facts().name, tally, None)
    };
    played.is_complete.then(|| sweep_report(&one.scenario, played.cells.iter().map(report).collect(), &played))
}

fn tell(one: &Selected, report: &SweepReport, width: usize) -> Result<(), Failure> {
    print(format_args!("{}\n{}", check::line(report, width), points(&reports::table::ungranted(report))))?;
    print(differences(&one.name, &[], report, &one.seeds))
}

/// The scenarios that the argument means: those of a folder or a file, or those of the catalogue whose
/// names or topics contain it.
fn selected(args: &CheckArgs) -> Result<Vec<Selected>, Failure> {
    let what = args.what.as_deref().unwrap_or("");
    let path = Path::new(what);
    let texts: Vec<(String, String)> = if path.is_dir() {
        let read_one = |path: PathBuf| Ok((path.display().to_string(), read(&path)?));
        scenario_files(path)?.into_iter().map(read_one).collect::<Result<_, Failure>>()?
    } else if super::is_path(what) {
        vec![(what.to_owned(), read(path)?)]
    } else {
        let is_meant = |entry: &catalogue::Entry| entry.name.contains(what) || entry.topic.contains(what);
        let named = |entry: catalogue::Entry| (entry.name.to_owned(), entry.text.to_owned());
        catalogue::all().into_iter().filter(is_meant).map(named).collect()
    };
    if texts.is_empty() {
        let why = if path.is_dir() {
            format!("there is no scenario file (.toml) in {what}")
        } else {
            format!("no scenario's name or topic contains `{what}`, and it is no folder")
        };
        return Err(Failure::NothingSelected(why));
    }
    let (of, mut selected, mut mistaken) = (texts.len(), Vec::new(), Vec::new());
    for (name, text) in texts {
        match load(&name, &text, &[]) {
            Ok(scenario) => {
                let seeds = args.seeds.clone().unwrap_or(0..scenario.seeds);
                selected.push(Selected { name, scenario, seeds });
            }
            Err(errors) => mistaken.push(errors),
        }
    }
    if !mistaken.is_empty() {
        return Err(Failure::Scenarios { mistaken, of });
    }
    same_name(&selected).map_or(Ok(()), Err)?;
    Ok(selected)
}

/// Two files of one name would be told apart by nobody, and their traces would lie in one folder.
fn same_name(selected: &[Selected]) -> Option<Failure> {
    let mut names = BTreeMap::new();
    selected.iter().find_map(|one| {
        let (name, file) = (&one.scenario.name, &one.name);
        let other = names.insert(name, file)?;
        Some(Failure::NotThere(format!("{other} and {file} are both called `{name}`: give one of them another `name`")))
    })
}

/// The files below a folder that are called like scenarios, in the order of their paths.
fn scenario_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error| Failure::Read { path: folder.to_owned(), error };
    let mut entries = std::fs::read_dir(folder).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.path();
        // A link to a folder is not followed: it may lead back.
        if entry.file_type().map_err(failed)?.is_dir() {
            files.extend(scenario_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "toml") {
            files.push(path);
        }
    }
    Ok(files)
}
