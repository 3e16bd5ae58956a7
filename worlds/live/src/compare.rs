//! The cells, played on real servers, beside what the simulator says of the same cells and seed.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};
use std::thread;

use fencepost::exit::Exit;
use fencepost_live::record::{self, About};
use fencepost_live::{Played, Refusal, Source, refusals};
use scenarios::report::ENGINE;
use scenarios::{Cell, Contender, Expected, Player, Scenario};
use serde::Serialize;
use spec::{Property, Verdict};

use crate::Failure;
use crate::args::{Format, PlayArgs};

/// What is asked for, and how it is shown.
pub(crate) struct Show<'a> {
    pub(crate) args: &'a PlayArgs,
    pub(crate) scenario: &'a Scenario,
    /// Of the servers.
    pub(crate) version: String,
}

/// What came out, in the form of `--format json`.
#[derive(Serialize)]
struct Comparison {
    schema: &'static str,
    engine: &'static str,
    scenario: String,
    seed: String,
    servers: String,
    standing: Standing,
    cells: Vec<CellOutcome>,
}

/// How a cell came out. The gravest is the largest.
#[derive(Serialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[serde(rename_all = "kebab-case")]
enum Standing {
    AsExpected,
    /// It was not played.
    Refused,
    /// Nothing differs, but something was not decided or not tried.
    Inconclusive,
    Differs,
}

#[derive(Serialize)]
struct CellOutcome {
    lock: String,
    params: Vec<(String, String)>,
    standing: Standing,
    /// Why it is not to be played on real servers.
    refusals: Vec<String>,
    /// What could not be found out.
    doubts: Vec<String>,
    properties: Vec<Line>,
}

/// One property of a cell.
#[derive(Serialize)]
struct Line {
    property: &'static str,
    live: &'static str,
    simulator: &'static str,
    expected: &'static str,
    standing: Standing,
}

/// Plays the cells side by side and shows them in their order, each as soon as it and those before it are there.
pub(crate) fn play(source: &Source, show: &Show<'_>, cells: &[usize], out: &mut impl Write) -> Result<Exit, Failure> {
    let waiting = Mutex::new((0..cells.len()).collect::<VecDeque<_>>());
    let (tell, hear) = channel();
    let next = || waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let jobs = cells.len().min(usize::from(show.args.jobs));
    if show.args.format == Format::Text {
        show.head(out)?;
    }
    let outcomes = thread::scope(|scope| {
        for _ in 0..jobs {
            let tell = tell.clone();
            scope.spawn(move || {
                while let Some(place) = next() {
                    let _ = tell.send((place, show.cell(source, cells[place])));
                }
            });
        }
        drop(tell);
        show.in_order(hear.into_iter(), cells.len(), out)
    })?;
    let standing = |outcome: &CellOutcome| outcome.standing;
    let played = outcomes.iter().map(standing).filter(|standing| *standing != Standing::Refused).max();
    let worst = played.unwrap_or(Standing::Refused);
    match show.args.format {
        Format::Json => {
            let comparison = Comparison {
                schema: "fencepost.live/1",
                engine: ENGINE,
                scenario: show.scenario.name.clone(),
                seed: show.args.seed.to_string(),
                servers: show.version.clone(),
                standing: worst,
                cells: outcomes,
            };
            let json = serde_json::to_string_pretty(&comparison).expect("it is plain data");
            writeln!(out, "{json}").map_err(stdout)?;
        }
        Format::Text => show.foot(&outcomes, out)?,
    }
    Ok(match worst {
        Standing::AsExpected => Exit::AsExpected,
        Standing::Differs => Exit::Differs,
        Standing::Refused | Standing::Inconclusive => Exit::Inconclusive,
    })
}

impl Show<'_> {
    fn in_order(
        &self,
        played: impl Iterator<Item = (usize, io::Result<CellOutcome>)>,
        cells: usize,
        out: &mut impl Write,
    ) -> Result<Vec<CellOutcome>, Failure> {
        let mut there: Vec<Option<CellOutcome>> = (0..cells).map(|_| None).collect();
        let mut shown = Vec::new();
        for (place, outcome) in played {
            there[place] = Some(outcome.map_err(|error| Failure::NoServer(error.to_string()))?);
            while let Some(outcome) = there.get_mut(shown.len()).and_then(Option::take) {
                if self.args.format == Format::Text {
                    self.text(&outcome, out)?;
                }
                shown.push(outcome);
            }
        }
        Ok(shown)
    }

    fn cell(&self, source: &Source, index: usize) -> io::Result<CellOutcome> {
        let (cell, seed) = (&self.scenario.cells[index], self.args.seed);
        let refused = refusals(cell, seed);
        if !refused.is_empty() {
            return Ok(self.outcome(cell, Standing::Refused, &refused, Vec::new(), Vec::new()));
        }
        let contender = Contender::built_in(&cell.lock);
        let player = Player::new(cell, &contender);
        let begins = || {
            let most = cell.horizon.as_secs();
            eprintln!("{} has begun, and takes {most} s at most", name(cell.lock.facts().name, &cell.params));
        };
        let Played { run, doubts } = fencepost_live::play(source, index, cell, &player, seed, begins)?;
        self.write(cell, &run)?;
        let simulated = player.play(seed);
        let judged = Property::ALL.iter().filter(|property| property.is_judged(&cell.bounds));
        let lines: Vec<Line> = judged
            .filter_map(|property| {
                let verdict = |of: &scenarios::Run| of.judgement.verdicts.get(property).cloned();
                Some(line(*property, &verdict(&run)?, &verdict(&simulated)?, expected(cell, *property)))
            })
            .collect();
        let standing = lines.iter().map(|line| line.standing).max().unwrap_or(Standing::Inconclusive);
        Ok(self.outcome(cell, standing, &[], doubts, lines))
    }

    /// Writes the history, if somebody wants it.
    fn write(&self, cell: &Cell, run: &scenarios::Run) -> io::Result<()> {
        let Some(folder) = &self.args.out else { return Ok(()) };
        let about = About {
            schema: record::SCHEMA.to_owned(),
            engine: ENGINE.to_owned(),
            scenario: self.scenario.name.clone(),
            lock: cell.lock.facts().name.to_owned(),
            params: cell.params.clone(),
            seed: run.seed.to_string(),
            servers: self.version.clone(),
        };
        let options: Vec<String> = cell.params.iter().map(|(_, option)| format!("-{}", file_name(option))).collect();
        let file = format!("live-{}{}-{}.jsonl", about.lock, options.concat(), about.seed);
        let folder = folder.join(&self.scenario.name);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join(file), record::lines(&about, &run.history))
    }

    fn outcome(
        &self,
        cell: &Cell,
        standing: Standing,
        refused: &[Refusal],
        doubts: Vec<String>,
        properties: Vec<Line>,
    ) -> CellOutcome {
        CellOutcome {
            lock: cell.lock.facts().name.to_owned(),
            params: cell.params.clone(),
            standing,
            refusals: refused.iter().map(ToString::to_string).collect(),
            doubts,
            properties,
        }
    }

    fn head(&self, out: &mut impl Write) -> Result<(), Failure> {
        let Self { args, scenario, version } = self;
        writeln!(out, "{} on {version}, seed {}", scenario.name, args.seed).map_err(stdout)
    }

    fn text(&self, cell: &CellOutcome, out: &mut impl Write) -> Result<(), Failure> {
        let mut text = format!("\n{}\n", name(&cell.lock, &cell.params));
        for refusal in &cell.refusals {
            text += &format!("  not to be played on real servers: {refusal}\n");
        }
        for doubt in &cell.doubts {
            text += &format!("  not found out: {doubt}\n");
        }
        if !cell.properties.is_empty() {
            text += &row(["property", "live", "simulator", "expected"], "");
        }
        for line in &cell.properties {
            let mark = match line.standing {
                Standing::Differs => "  <- differs",
                _ => "",
            };
            text += &row([line.property, line.live, line.simulator, line.expected], mark);
        }
        write!(out, "{text}").and_then(|()| out.flush()).map_err(stdout)
    }

    fn foot(&self, cells: &[CellOutcome], out: &mut impl Write) -> Result<(), Failure> {
        let count = |standing| cells.iter().filter(|cell| cell.standing == standing).count();
        let refused = count(Standing::Refused);
        let mut text = format!("\n{} of {} cells as expected", count(Standing::AsExpected), cells.len() - refused);
        for (standing, what) in [(Standing::Differs, "differ"), (Standing::Inconclusive, "are not decided")] {
            match count(standing) {
                0 => {}
                some => text += &format!(", {some} {what}"),
            }
        }
        if refused > 0 {
            text += &format!("; {refused} not to be played on real servers");
        }
        writeln!(out, "{text}").map_err(stdout)
    }
}

fn name(lock: &str, params: &[(String, String)]) -> String {
    let params = params.iter().map(|(axis, option)| format!("  {axis}={option}"));
    [lock.to_owned()].into_iter().chain(params).collect()
}

/// An option as part of a file's name.
fn file_name(option: &str) -> String {
    option.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn row([property, live, simulator, expected]: [&str; 4], mark: &str) -> String {
    let row = format!("  {property:<20}{live:<14}{simulator:<14}{expected:<10}{mark}");
    format!("{}\n", row.trim_end())
}

/// How often the file says that it is broken, of one run: `broken` is in some seeds, of which this may be none.
fn expected(cell: &Cell, property: Property) -> Expected {
    cell.expectations.get(&property).map_or(Expected::Holds, |expectation| expectation.expected)
}

fn line(property: Property, live: &Verdict, simulator: &Verdict, expected: Expected) -> Line {
    let is_decided = |verdict: &Verdict| matches!(verdict, Verdict::Holds | Verdict::Broken(_));
    let standing = match expected {
        // How it comes out hangs on what is drawn, and on who comes first.
        Expected::Free | Expected::Broken if is_decided(live) => Standing::AsExpected,
        Expected::Always if live.is_broken() => Standing::AsExpected,
        Expected::Holds if *live == Verdict::Holds => Standing::AsExpected,
        _ if is_decided(live) => Standing::Differs,
        _ => Standing::Inconclusive,
    };
    let (property, live, simulator) = (property.name(), live.name(), simulator.name());
    Line { property, live, simulator, expected: expected.name(), standing }
}

fn stdout(error: io::Error) -> Failure {
    Failure::Write(format!("cannot write results to standard output: {error}"))
}
