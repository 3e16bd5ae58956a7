//! The command line: arguments, progress, exit codes. Only this touches terminal and process.

mod args;
mod commands;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::Parser;
use fencepost::exit::Exit;

use args::{Cli, Command};
use commands::Failure;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    output::set_colour(cli.color);
    output::explain_panics();
    let ended = std::panic::catch_unwind(|| run(cli.command));
    match ended {
        Ok(Ok(exit)) => exit.into(),
        Ok(Err(failure)) => {
            output::complain(&failure);
            failure.exit().into()
        }
        // The hook has already said what a bug report needs.
        Err(_) => Exit::Internal.into(),
    }
}

fn run(command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Scenario(args) => commands::scenario::run(&args),
        Command::Check(args) => commands::check::run(&args),
        Command::List(args) => commands::list::run(&args),
        Command::Show { name, lock } => commands::show::run(&name, lock.as_deref()),
        Command::Replay { trace } => commands::replay::run(&trace),
        Command::Explain { trace } => commands::explain::run(&trace),
        Command::Schema { format } => commands::schema::run(format),
        Command::VerifyDeterminism(args) => commands::verify::run(&args),
    }
}

/// Prints what clap has to say: help and version to stdout, mistakes to stderr.
fn usage(error: &clap::Error) -> ExitCode {
    let wanted = !error.use_stderr();
    match error.print() {
        Ok(()) if wanted => Exit::AsExpected.into(),
        Ok(()) => Exit::Usage.into(),
        Err(error) => {
            output::complain(&Failure::Stdout(error));
            Exit::CannotWrite.into()
        }
    }
}
