//! The grammar of `fencepost-live`.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};

/// Plays a scenario on real lock servers, in real time, and says whether it comes out as in the simulator.
#[derive(Parser, Debug)]
#[command(
    name = "fencepost-live",
    version,
    after_help = AFTER_HELP,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) inner: Option<Inner>,
    #[command(flatten)]
    pub(crate) play: PlayArgs,
}

#[derive(clap::Args, Debug)]
pub(crate) struct PlayArgs {
    /// A scenario's name, or a file (.toml)
    #[arg(required = true)]
    pub(crate) scenario: Option<String>,
    /// Only these locks
    #[arg(long = "lock", value_name = "LOCK", value_delimiter = ',')]
    pub(crate) locks: Vec<String>,
    /// Only cells with this option of an axis of the matrix, or with one of these, if given again
    #[arg(long = "cell", value_name = "AXIS=OPTION", value_parser = parse_cell)]
    pub(crate) cells: Vec<(String, String)>,
    /// Set a parameter of the scenario: ttl=2s, fault.gc.for=3s
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Which seed: what is drawn, and what the simulator is asked
    #[arg(long, value_name = "N", default_value = "0")]
    pub(crate) seed: u64,
    /// How many cells are played side by side
    #[arg(long, value_name = "N", default_value = "4", value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: u16,
    /// Where to write the history of each cell, as JSON Lines. Default: nowhere
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// For a person, or for a program
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    pub(crate) format: Format,
}

/// What this program starts itself for.
#[derive(Subcommand, Debug)]
pub(crate) enum Inner {
    /// Play one client; its standard input is the line to its coordinator
    #[command(hide = true)]
    Client {
        /// The coordinator's process
        #[arg(long)]
        parent: u32,
    },
    /// Become another program, which ends with the coordinator
    #[command(hide = true)]
    Guard {
        /// The coordinator's process
        #[arg(long)]
        parent: u32,
        /// The program and its arguments
        #[arg(last = true, required = true)]
        command: Vec<String>,
    },
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Format {
    Text,
    Json,
}

fn parse_cell(text: &str) -> Result<(String, String), String> {
    let (axis, option) = text.split_once('=').ok_or("give an axis and its option, as in resource=open")?;
    Ok((axis.to_owned(), option.to_owned()))
}

const AFTER_HELP: &str = "\
Examples:
  fencepost-live gc-pause --set ttl=2s --set fault.gc.for=3s
  fencepost-live mine.toml --cell resource=open --format json

It needs redis-server, or etcd for locks on that, and starts its own, in folders of their own, on ports of this
machine alone.

Exit codes:
  0 as expected        1 something differs    2 usage, or a bad file
  3 inconclusive, vacuous, or not to be played on real servers
  4 nothing selected   74 cannot write        130 interrupted";
