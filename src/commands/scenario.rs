//! `scenario`: one scenario over many seeds, a table, the story of its first violation, traces.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use fencepost::exit::Exit;
use reports::CellReport;
use scenarios::report;
use scenarios::{Cell, Contender, Player, Progress, Run, Scenario, Tally, sweep};
use spec::Property;

use super::telling::{judged, place};
use super::{Failure, differences, exit_of, load_scenario, not_there, pool};
use crate::args::{Format, ScenarioArgs};
use crate::output::{complain, filled, points, print, remark, width};
use crate::{interrupt, progress};

pub(crate) fn run(args: &ScenarioArgs) -> Result<Exit, Failure> {
    let scenario = load_scenario(&args.scenario, &args.run.overrides())?;
    let seeds = args.run.seeds.clone().unwrap_or(0..scenario.seeds);
    let cells = selected(&scenario, args)?;
    let played = play(&cells, &seeds, args.run.threads)?;
    let show = Show { args, scenario: &scenario };
    let mut reports = Vec::new();
    let mut first = None;
    let mut unwritten = false;
    for (cell, tally) in cells.iter().zip(&played) {
        let (report, violation) = show.cell(cell, tally);
        unwritten |= violation.as_ref().is_some_and(|violation| violation.trace.is_none());
        reports.push(report);
        first = first.or(violation);
    }
    let mut report = report::sweep_report(&scenario, reports);
    // What was not played cannot have come out as expected.
    report.as_expected &= played.len() == cells.len();
    match args.format {
        Format::Json => print(reports::to_json(&report))?,
        Format::Text if played.is_empty() => {}
        Format::Text => {
            print(format_args!("{}\n\n", filled(&scenario.title)))?;
            print(reports::table::table(&report, width()))?;
            print(format_args!("\n{}\n", filled(&reports::table::summary(&report))))?;
            print(differences(&args.scenario, args.run.set(), &report, &seeds))?;
            let figures = reports::table::figures(&report);
            if !figures.is_empty() {
                print(format_args!("\nAs expected in numbers:\n\n{}", points(&figures)))?;
            }
            if let Some(violation) = &first {
                show.violation(violation)?;
            }
        }
    }
    if unwritten {
        return Ok(Exit::CannotWrite);
    }
    if played.len() < cells.len() {
        remark(format_args!("interrupted: {} of {} cells were finished and are kept", played.len(), cells.len()));
        return Ok(Exit::Interrupted);
    }
    Ok(exit_of(played.iter().map(Tally::standing)))
}

/// The cells that the arguments leave.
fn selected<'s>(scenario: &'s Scenario, args: &ScenarioArgs) -> Result<Vec<&'s Cell>, Failure> {
    for lock in &args.locks {
        let known: Vec<_> = models::lock::LOCKS.iter().map(|facts| facts.name).collect();
        if !known.contains(&lock.as_str()) {
            return Err(not_there(format!("unknown lock `{lock}`"), lock, "fencepost", &known));
        }
    }
    for (axis, option) in &args.cells {
        let axes: Vec<_> = scenario.axes.iter().map(|axis| axis.name.as_str()).collect();
        let Some(known) = scenario.axes.iter().find(|known| known.name == *axis) else {
            return Err(not_there(format!("unknown axis `{axis}`"), axis, &scenario.name, &axes));
        };
        let options: Vec<_> = known.options.iter().map(String::as_str).collect();
        if !options.contains(&option.as_str()) {
            return Err(not_there(format!("the axis `{axis}` has no option `{option}`"), option, "it", &options));
        }
    }
    let has_lock = |cell: &&Cell| args.locks.is_empty() || args.locks.iter().any(|lock| lock == cell.lock.facts().name);
    let has_options = |cell: &&Cell| {
        let has = |(axis, option): &(String, String)| {
            axis == "lock" && option == cell.lock.facts().name || cell.params.contains(&(axis.clone(), option.clone()))
        };
        args.cells.iter().all(has)
    };
    let cells: Vec<&Cell> = scenario.cells.iter().filter(has_lock).filter(has_options).collect();
    if cells.is_empty() {
        return Err(Failure::NothingSelected(format!("no cell of {} is left by --lock and --cell", scenario.name)));
    }
    Ok(cells)
}

/// Plays the cells in order, those that are finished before somebody presses Ctrl-C.
fn play(cells: &[&Cell], seeds: &Range<u64>, threads: Option<u16>) -> Result<Vec<Tally>, Failure> {
    let progress = Arc::new(Progress::default());
    interrupt::stops(&progress);
    let pool = pool(threads)?;
    let runs = (seeds.end - seeds.start).saturating_mul(cells.len() as u64);
    let work = |_: &progress::Reporter<()>| {
        let tally = |cell: &&Cell| sweep(cell, &Contender::built_in(&cell.lock), seeds.clone(), &progress);
        cells.iter().map_while(tally).collect()
    };
    Ok(progress::watched(&pool, &progress, runs, work, |()| {}))
}

/// The first violation of a sweep, recorded.
struct Violation<'c> {
    cell: &'c Cell,
    run: Run,
    property: Property,
    /// The command that plays it again.
    again: String,
    /// Where it was written, if it could be.
    trace: Option<String>,
}

struct Show<'a> {
    args: &'a ScenarioArgs,
    scenario: &'a Scenario,
}

impl Show<'_> {
    /// What is reported of a cell. Its first violation is played again, recorded, and written.
    fn cell<'c>(&self, cell: &'c Cell, tally: &Tally) -> (CellReport, Option<Violation<'c>>) {
        let lock = cell.lock.facts().name;
        let Some(seed) = tally.first_violation() else {
            return (report::cell_report(cell, lock, tally, None), None);
        };
        let contender = Contender::built_in(&cell.lock);
        let player = Player::new(cell, &contender);
        let run = player.record(seed);
        assert_eq!(run.hash, player.play(seed).hash, "recording seed {seed} changed the run");
        let text = report::trace(self.scenario, cell, lock, self.args.run.set(), &run);
        let path = self.args.out.join(&self.scenario.name).join(report::trace_file_name(cell, lock, seed));
        // A trace that cannot be written must not cost what was found out: that is printed all the same.
        let trace = match write(&path, &text) {
            Ok(()) => Some(path.display().to_string()),
            Err(failure) => {
                complain(&failure);
                None
            }
        };
        let report = report::cell_report(cell, lock, tally, trace.clone());
        let property = run.gravest_broken().expect("this seed broke something");
        let again = report::reproduce(&self.args.scenario, &report, self.args.run.set(), &report::only(seed));
        (report, Some(Violation { cell, run, property, again, trace }))
    }

    fn violation(&self, violation: &Violation<'_>) -> Result<(), Failure> {
        let Violation { cell, run, property, again, trace } = violation;
        let contender = Contender::built_in(&cell.lock);
        let heading = format!("The first violation ({}):", place(cell, &contender, run));
        print(format_args!("\n{}\n\n", filled(&heading)))?;
        print(points(&judged(cell, &contender, run, |run| reports::short_story(run, *property))))?;
        // Commands are not broken to lines: they are there to be copied.
        print(format_args!("\nreproduce: {again}\n"))?;
        let Some(trace) = trace else { return Ok(()) };
        print(format_args!("explain:   fencepost explain {trace}\nreplay:    fencepost replay {trace}\n"))
    }
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let failed = |error| Failure::Write { path: path.to_owned(), error };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(failed)?;
    }
    std::fs::write(path, text).map_err(failed)
}
