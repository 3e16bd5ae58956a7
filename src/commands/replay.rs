//! `replay`: a trace's run again, compared line by line.

use std::path::Path;

use fencepost::exit::Exit;
use reports::Trace;
use reports::trace::{first_difference, read as read_trace};
use scenarios::language::{Override, load};
use scenarios::report::{self, ENGINE};
use scenarios::{Cell, Contender, Player, Run, Scenario};

use super::{Failure, read};
use crate::output::print;

pub(crate) fn run(path: &Path) -> Result<Exit, Failure> {
    let text = read(path)?;
    let replayed = again(path, &text)?;
    replayed.compare(path, &text)?;
    let run = &replayed.run;
    print(format_args!("the same run: {} events, hash {:016x}\n", run.records.len(), run.hash))?;
    Ok(Exit::AsExpected)
}

/// The run of a trace, played again.
pub(crate) struct Replayed {
    pub(crate) scenario: Scenario,
    pub(crate) cell: Cell,
    pub(crate) contender: Contender,
    set: Vec<String>,
    pub(crate) run: Run,
}

/// Plays the run of a trace again, from what its header says.
pub(crate) fn again(path: &Path, text: &str) -> Result<Replayed, Failure> {
    let trace = read_trace(text).map_err(|error| Failure::Trace { path: path.to_owned(), error })?;
    let header = &trace.header;
    if header.engine != ENGINE {
        let (theirs, ours) = (&header.engine, ENGINE);
        let path = path.display();
        return Err(Failure::Diverged(format!(
            "{path} was written by fencepost {theirs}, this is {ours}: another engine may play another run; \
             replay it with {theirs}"
        )));
    }
    let set: Vec<Override> = header.set.iter().map(Override::new).collect();
    let scenario = load(&format!("the scenario in {}", path.display()), &header.source, &set)?;
    let cell = cell_of(path, &trace, &scenario)?;
    let seed = header.seed.parse().map_err(|_| {
        Failure::NotThere(format!("{}:1: the seed `{}` is not a whole number", path.display(), header.seed))
    })?;
    let contender = Contender::built_in(&cell.lock);
    let run = Player::new(&cell, &contender).record(seed);
    Ok(Replayed { cell, contender, set: header.set.clone(), run, scenario })
}

fn cell_of(path: &Path, trace: &Trace<'_>, scenario: &Scenario) -> Result<Cell, Failure> {
    let header = &trace.header;
    let is_it = |cell: &&Cell| {
        cell.lock.facts().name == header.lock
            && cell.params.len() == header.params.len()
            && cell.params.iter().all(|(axis, option)| header.params.get(axis) == Some(option))
    };
    scenario.cells.iter().find(is_it).cloned().ok_or_else(|| {
        let (path, lock) = (path.display(), &header.lock);
        Failure::NotThere(format!(
            "{path}:1: the scenario has no cell with the lock `{lock}` and the parameters of the header \
             (a lock of your own can be replayed only where it is defined)"
        ))
    })
}

impl Replayed {
    pub(crate) fn compare(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let lock = self.contender.name();
        let again = report::trace(&self.scenario, &self.cell, lock, &self.set, &self.run);
        let Some(difference) = first_difference(text, &again) else { return Ok(()) };
        let (path, at) = (path.display(), difference.line);
        let (recorded, replayed) = (difference.recorded.as_deref(), difference.replayed.as_deref());
        let from = recorded.zip(replayed).map_or(0, |(one, other)| same_letters(one, other));
        let (recorded, replayed) = (excerpt(recorded, from), excerpt(replayed, from));
        Err(Failure::Diverged(format!(
            "{path}:{at}: the run takes another course than the trace says\n  trace:  {recorded}\n  replay: {replayed}\n\
             The file was changed after it was written, or it is of another build of the same version."
        )))
    }
}

/// With how many letters both begin.
fn same_letters(one: &str, other: &str) -> usize {
    one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count()
}

/// The part of a line that a person has to see: from a little before that letter.
fn excerpt(line: Option<&str>, from: usize) -> String {
    let Some(line) = line else { return "(no such line)".to_owned() };
    let first = from.saturating_sub(BEFORE);
    let shown: String = line.chars().skip(first).take(SHOWN).collect();
    let goes_on = line.chars().count() > first + SHOWN;
    format!("{}{shown}{}", if first > 0 { "…" } else { "" }, if goes_on { "…" } else { "" })
}

/// How many letters of a line are shown, and how many of them lie before the difference.
const SHOWN: usize = 80;
const BEFORE: usize = 32;

#[cfg(test)]
mod tests {
    use super::{excerpt, same_letters};

    #[test]
    fn of_long_lines_only_the_part_that_differs_is_shown() {
        let line = |middle: &str| format!("{}{middle}{}", "a".repeat(100), "z".repeat(100));
        let (one, other) = (line("1"), line("2"));
        let from = same_letters(&one, &other);
        assert_eq!(excerpt(Some(&one), from), format!("…{}1{}…", "a".repeat(32), "z".repeat(47)));
        assert_eq!(excerpt(Some("ab"), same_letters("ab", "ac")), "ab");
        assert_eq!(excerpt(None, 0), "(no such line)");
    }
}
