//! The command line's grammar.

use std::ops::Range;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use scenarios::language::Override;

/// A deterministic simulator and fault-injection testbed for distributed locks.
#[derive(Parser, Debug)]
#[command(name = "fencepost", version, after_help = AFTER_HELP, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: Colour,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Play a scenario over many seeds and say whether it came out as expected
    Scenario(ScenarioArgs),
    /// Play many scenarios, a line for each: the catalogue, or your own folder of files
    Check(CheckArgs),
    /// List the scenarios that come with fencepost
    List(ListArgs),
    /// Show a scenario's file; `show lock NAME`: what can be set about a lock
    Show {
        /// A scenario's name, or `lock`
        name: String,
        /// Which lock
        lock: Option<String>,
    },
    /// Run a trace's run again and compare every event
    Replay {
        /// A trace (.jsonl)
        trace: PathBuf,
    },
    /// Tell what happened in a trace: the story of its first violation, and the timeline
    Explain {
        /// A trace (.jsonl)
        trace: PathBuf,
    },
    /// Print the JSON Schema of what fencepost reads or writes
    Schema {
        /// Of which format
        format: SchemaOf,
    },
    /// Check that runs depend on nothing but scenario and seed: threads, recording, repetition
    VerifyDeterminism(VerifyArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ScenarioArgs {
    /// A scenario's name, or a file (.toml)
    pub(crate) scenario: String,
    /// Only these locks
    #[arg(long = "lock", value_name = "LOCK", value_delimiter = ',')]
    pub(crate) locks: Vec<String>,
    /// Only cells with this option of an axis of the matrix, or with one of these, if given again
    #[arg(long = "cell", value_name = "AXIS=OPTION", value_parser = parse_cell)]
    pub(crate) cells: Vec<(String, String)>,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Of which cells to write a trace: of those in which something is broken, of all, of none
    #[arg(long, value_name = "WHEN", default_value = "broken")]
    pub(crate) trace: TraceWhen,
    /// Where traces go; older ones of the same cells are taken away
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Also write the result as comma-separated values, a row for each cell and property (.csv)
    #[arg(long, value_name = "FILE", value_parser = parse_csv)]
    pub(crate) csv: Option<PathBuf>,
    /// Also draw the result: which share of the seeds was broken, and how long overlaps were (.svg)
    #[arg(long, value_name = "FILE", value_parser = parse_svg)]
    pub(crate) plot: Option<PathBuf>,
    /// For a person, or for a program
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct RunArgs {
    /// How many seeds (from 0), or which: A..B, B excluded. Default: what the scenario says
    #[arg(long, value_name = "N|A..B", value_parser = parse_seeds)]
    pub(crate) seeds: Option<Range<u64>>,
    /// How many threads. Default: one for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// Set a parameter of the scenario: fault.gc.for=5s, client.worker.policy=naive; a table is laid over the
    /// file's, key by key
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<String>,
}

impl RunArgs {
    /// The `--set` arguments, to be read with the scenario.
    pub(crate) fn overrides(&self) -> Vec<Override> {
        self.set.iter().map(Override::new).collect()
    }

    /// The `--set` arguments as they were given.
    pub(crate) fn set(&self) -> &[String] {
        &self.set
    }
}

#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// A folder or a file; or what the name or the topic of scenarios contains. Default: the whole catalogue
    #[arg(value_name = "FILTER|FOLDER")]
    pub(crate) what: Option<String>,
    /// How many seeds (from 0), or which: A..B, B excluded. Default: what each scenario says
    #[arg(long, value_name = "N|A..B", value_parser = parse_seeds)]
    pub(crate) seeds: Option<Range<u64>>,
    /// How many threads. Default: one for each core
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,
    /// For a person, or for a program
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// For a person, or for a program
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    /// Only scenarios whose name contains this
    pub(crate) filter: Option<String>,
    /// How many seeds of each cell
    #[arg(long, value_name = "N", default_value = "200", value_parser = clap::value_parser!(u64).range(1..=MOST_SEEDS))]
    pub(crate) seeds: u64,
    /// How many threads the parallel pass uses
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: u16,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TraceWhen {
    Broken,
    Always,
    Never,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Colour {
    Auto,
    Always,
    Never,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SchemaOf {
    /// A scenario file, for editors
    Scenario,
    /// What `scenario --format json` prints
    Result,
    /// What `check --format json` prints
    Check,
    /// The JSON Lines files in `out/`
    Trace,
}

fn parse_seeds(text: &str) -> Result<Range<u64>, String> {
    let number = |text: &str| {
        let digits = text.trim().replace('_', "");
        digits.parse::<u64>().map_err(|_| format!("`{text}` is not a whole number from 0 to {}", u64::MAX))
    };
    let seeds = match text.split_once("..") {
        Some((from, to)) => number(from)?..number(to)?,
        None => 0..number(text)?,
    };
    match seeds.end.checked_sub(seeds.start) {
        None | Some(0) => Err("no seed lies in this range; B is excluded, so give A..B with A below B".to_owned()),
        Some(count) if count > MOST_SEEDS => Err(format!("{count} seeds are more than {MOST_SEEDS}")),
        Some(_) => Ok(seeds),
    }
}

fn parse_cell(text: &str) -> Result<(String, String), String> {
    let (axis, option) = text.split_once('=').ok_or("give an axis and its option, as in resource=open")?;
    Ok((axis.to_owned(), option.to_owned()))
}

fn parse_csv(text: &str) -> Result<PathBuf, String> {
    with_extension(text, "csv")
}

fn parse_svg(text: &str) -> Result<PathBuf, String> {
    with_extension(text, "svg")
}

/// What a file is, its name says: another one is taken to be a mistake.
fn with_extension(text: &str, extension: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.extension().is_some_and(|own| own == extension) {
        Ok(path)
    } else {
        Err(format!("the name of the file ends in .{extension}, as in result.{extension}"))
    }
}

/// A sweep of more seeds than this would take days.
const MOST_SEEDS: u64 = 1_000_000_000;

const AFTER_HELP: &str = "\
Examples:
  fencepost scenario gc-pause                    the first thing to try
  fencepost scenario gc-pause --seeds 42..43     one seed
  fencepost scenario mine.toml --format json     your own file, for a program
  fencepost scenario gc-pause --plot gc.svg      and a picture of it
  fencepost check                                everything that comes along
  fencepost show lock redis                      what can be set about a lock
  fencepost explain out/gc-pause/redis-open-0.jsonl

Exit codes:
  0 as expected        1 something differs    2 usage, or a bad file
  3 inconclusive or vacuous                   4 nothing selected
  5 replay diverged    70 internal error      74 cannot write
  130 interrupted";

#[cfg(test)]
mod tests {
    use super::parse_seeds;

    #[test]
    fn seeds_are_a_count_or_a_range_without_its_end() {
        assert_eq!(parse_seeds("10"), Ok(0..10));
        assert_eq!(parse_seeds("42..43"), Ok(42..43));
        assert_eq!(parse_seeds("1_000"), Ok(0..1_000));
    }

    #[test]
    fn no_seed_too_many_seeds_and_no_number_are_refused() {
        for bad in ["0", "5..5", "6..5", "-1", "x", "1..", "..4", "18446744073709551616", "0..5000000000"] {
            assert!(parse_seeds(bad).is_err(), "{bad}");
        }
    }
}
