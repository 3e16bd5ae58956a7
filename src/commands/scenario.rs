//! `scenario`: one scenario over many seeds, a table, the story of its first violation, traces.

use std::ops::Range;
use std::sync::Arc;

use fencepost::exit::Exit;
use reports::{CellReport, SweepReport};
use scenarios::report;
use scenarios::{Cell, Contender, Played, Player, Progress, Run, Scenario, Tally, most_cells, selected};
use spec::Property;

use super::telling::place;
use super::traces::Traces;
use super::{Failure, differences, exit_of, files, load_scenario, pool};
use crate::args::{Format, ScenarioArgs, TraceWhen};
use crate::output::{filled, points, print, remark, width};
use crate::{interrupt, progress};

pub(crate) fn run(args: &ScenarioArgs) -> Result<Exit, Failure> {
    let scenario = load_scenario(&args.scenario, &args.run.overrides())?;
    let seeds = args.run.seeds.clone().unwrap_or(0..scenario.seeds);
    let cells = selected(&scenario, &args.locks, &args.cells)?;
    files::open(args)?;
    let played = play(&scenario, &cells, &seeds, args.run.threads)?;
    let mut show = Show { args, scenario: &scenario, seeds: &seeds, traces: Traces::of(&args.out, &scenario.name) };
    let mut reports = Vec::new();
    let mut overlaps = Vec::new();
    let mut first = None;
    for (index, tally) in &played.cells {
        let (report, violation) = show.cell(&scenario.cells[*index], tally);
        reports.push(report);
        overlaps.push(report::overlapping(tally));
        first = first.or(violation);
    }
    let report = report::sweep_report(&scenario, reports, &played);
    match args.format {
        Format::Json => print(reports::to_json(&report))?,
        Format::Text if report.cells.is_empty() => {}
        Format::Text => show.text(&report, first.as_ref())?,
    }
    files::write(args, &report, &overlaps)?;
    if show.traces.failed {
        return Ok(Exit::CannotWrite);
    }
    if !played.is_complete {
        let (finished, all) = (report.cells.len() as u64, most_cells(&scenario, &cells));
        remark(interrupt::kept(finished, all, "cell"));
        return Ok(Exit::Interrupted);
    }
    Ok(exit_of([report.standing()].into_iter()))
}

/// Plays the cells in order, those that are finished before somebody presses Ctrl-C.
fn play(scenario: &Scenario, cells: &[usize], seeds: &Range<u64>, threads: Option<u16>) -> Result<Played, Failure> {
    let progress = Arc::new(Progress::default());
    interrupt::stops(&progress);
    let pool = pool(threads)?;
    let runs = (seeds.end - seeds.start).saturating_mul(most_cells(scenario, cells));
    let work = |_: &progress::Reporter<()>| {
        scenarios::play(scenario, cells, |cell| Contender::built_in(&cell.lock), seeds, &progress)
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
    seeds: &'a Range<u64>,
    traces: Traces,
}

impl Show<'_> {
    /// What is reported of a cell. Its first violation (or any run, if that is wanted) is played again,
    /// recorded, and written.
    fn cell<'c>(&mut self, cell: &'c Cell, tally: &Tally) -> (CellReport, Option<Violation<'c>>) {
        let lock = cell.lock.facts().name;
        let first = tally.first_violation();
        let wanted = match self.args.trace {
            TraceWhen::Never => None,
            TraceWhen::Broken => first,
            TraceWhen::Always => first.or(Some(self.seeds.start)),
        };
        if self.args.trace != TraceWhen::Never {
            self.traces.remove_others(cell, lock, wanted);
        }
        let Some(seed) = wanted.or(first) else { return (report::cell_report(cell, lock, tally, None), None) };
        let contender = Contender::built_in(&cell.lock);
        let player = Player::new(cell, &contender);
        let run = player.record(seed);
        assert_eq!(run.hash, player.play(seed).hash, "recording seed {seed} changed the run");
        let trace = wanted.and_then(|seed| {
            let text = report::trace(self.scenario, cell, lock, self.args.run.set(), &run);
            self.traces.write(cell, lock, seed, &text)
        });
        let report = report::cell_report(cell, lock, tally, trace.clone());
        let Some(property) = run.gravest_broken() else { return (report, None) };
        let (name, set) = (&self.args.scenario, self.args.run.set());
        let again = report::reproduce(name, lock, &report.params, set, &report::only(seed));
        (report, Some(Violation { cell, run, property, again, trace }))
    }

    fn text(&self, report: &SweepReport, first: Option<&Violation<'_>>) -> Result<(), Failure> {
        print(format_args!("{}\n\n", filled(&self.scenario.title)))?;
        print(reports::table::table(report, width()))?;
        print(format_args!("\n{}\n", filled(&reports::table::summary(report))))?;
        print(points(&reports::table::ungranted(report)))?;
        print(differences(&self.args.scenario, self.args.run.set(), report, self.seeds))?;
        let figures = reports::table::figures(report);
        if !figures.is_empty() {
            print(format_args!("\nAs expected in numbers:\n\n{}", points(&figures)))?;
        }
        first.map_or(Ok(()), |violation| self.violation(violation))
    }

    fn violation(&self, violation: &Violation<'_>) -> Result<(), Failure> {
        let Violation { cell, run, property, again, trace } = violation;
        let contender = Contender::built_in(&cell.lock);
        let heading = format!("The first violation ({}):", place(cell, &contender, run));
        print(format_args!("\n{}\n\n", filled(&heading)))?;
        print(points(&report::judged(cell, &contender, run, |run| reports::short_story(run, *property))))?;
        // Commands are not broken to lines: they are there to be copied.
        print(format_args!("\nreproduce: {again}\n"))?;
        let Some(trace) = trace else { return Ok(()) };
        let trace = report::quoted(trace);
        print(format_args!("explain:   fencepost explain {trace}\nreplay:    fencepost replay {trace}\n"))
    }
}
