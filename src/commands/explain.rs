//! `explain`: the story of a trace, and its timeline.

use std::path::Path;

use fencepost::exit::Exit;
use reports::JudgedRun;
use scenarios::report::judged;

use super::replay::again;
use super::telling::place;
use super::{Failure, read};
use crate::output::{filled, points, print, width};

pub(crate) fn run(path: &Path) -> Result<Exit, Failure> {
    let text = read(path)?;
    let replayed = again(path, &text)?;
    // A trace that was changed tells another story than the run: it is not explained.
    replayed.compare(path, &text)?;
    let (cell, contender, run) = (&replayed.cell, &replayed.contender, &replayed.run);
    let gravest = run.gravest_broken();
    let sentences = |run: &JudgedRun<'_>| match gravest {
        Some(property) => reports::story(run, property),
        None => reports::holds_story(run),
    };
    print(format_args!("{}\n", filled(&replayed.scenario.title)))?;
    print(format_args!("{}\n\n", filled(&place(cell, contender, run))))?;
    print(points(&judged(cell, contender, run, sentences)))?;
    let marks = match gravest {
        Some(property) => format!("The whole run (→ shows {property} broken, ! is a fault):"),
        None => "The whole run (! is a fault):".to_owned(),
    };
    print(format_args!("\n{}\n\n", filled(&marks)))?;
    for line in judged(cell, contender, run, |run| reports::timeline(run, gravest, width())) {
        print(format_args!("{line}\n"))?;
    }
    Ok(Exit::AsExpected)
}
