//! `explain`: the story of a trace, and its timeline.

use std::path::Path;

use fencepost::exit::Exit;
use reports::JudgedRun;
use scenarios::{Player, report};

use super::replay::again;
use super::{Failure, read};
use crate::output::{print, width};

pub(crate) fn run(path: &Path) -> Result<Exit, Failure> {
    let text = read(path)?;
    let replayed = again(path, &text)?;
    // A trace that was changed tells another story than the run: it is not explained.
    replayed.compare(path, &text)?;
    let (cell, run) = (&replayed.cell, &replayed.run);
    let faults = report::struck_faults(cell, &Player::new(cell, &replayed.contender), run);
    let judged = JudgedRun {
        history: &run.history,
        judgement: &run.judgement,
        faults: &faults,
        lock: replayed.contender.name(),
        resource: cell.resource.guard.name(),
    };
    let sentences = match run.first_broken() {
        Some(property) => reports::story(&judged, property),
        None => reports::holds_story(&judged),
    };
    print(format_args!("{}, seed {}\n\n", replayed.scenario.title, run.seed))?;
    for sentence in sentences {
        print(format_args!("{}\n", textwrap::fill(&sentence, width())))?;
    }
    print("\n")?;
    for line in reports::timeline(&judged, run.first_broken(), width()) {
        print(format_args!("{line}\n"))?;
    }
    Ok(Exit::AsExpected)
}
