//! How a trial came out, for assertions and for the person who reads why one failed.

use std::fmt;
use std::sync::Arc;

use reports::SweepReport;
use reports::table::{figures, notes, summary, table};
use scenarios::report::{cell_report, judged, sweep_report, trace};
use scenarios::{Cell, Contender, Played, Player, Run, Scenario, Tally};
use spec::Property;

/// How a scenario came out. Displays as `fencepost scenario` prints it: the table, what differs, and the
/// story of the first violation.
#[derive(Debug)]
pub struct TrialVerdict {
    scenario: Arc<Scenario>,
    cells: Vec<CellVerdict>,
    report: SweepReport,
}

impl TrialVerdict {
    pub(super) fn of(scenario: &Arc<Scenario>, played: &Played, contender: impl Fn(&Cell) -> Contender) -> Self {
        let verdict = |(index, tally): (&usize, &Tally)| {
            let cell = scenario.cells[*index].clone();
            CellVerdict { scenario: Arc::clone(scenario), contender: contender(&cell), cell, tally: tally.clone() }
        };
        let cells: Vec<CellVerdict> = played.cells.iter().map(verdict).collect();
        let report = |of: &CellVerdict| cell_report(&of.cell, of.contender.name(), &of.tally, None);
        let report = sweep_report(scenario, cells.iter().map(report).collect(), played);
        Self { scenario: Arc::clone(scenario), cells, report }
    }

    /// Whether every cell, and every frontier, came out as the scenario expects.
    #[must_use]
    pub const fn is_as_expected(&self) -> bool {
        self.report.as_expected
    }

    /// Every cell that was played, in the order of the matrix.
    #[must_use]
    pub fn cells(&self) -> &[CellVerdict] {
        &self.cells
    }

    /// The first cell with these options.
    ///
    /// # Panics
    /// If there is none: the message lists the options that there are.
    #[must_use]
    pub fn cell(&self, options: &[(&str, &str)]) -> &CellVerdict {
        let has = |cell: &&CellVerdict| {
            options.iter().all(|(axis, option)| cell.params().any(|param| param == (*axis, *option)))
        };
        self.cells.iter().find(has).unwrap_or_else(|| {
            let all: Vec<Vec<_>> = self.cells.iter().map(|cell| cell.params().collect()).collect();
            panic!("no cell with {options:?}; there are {all:?}")
        })
    }
}

impl fmt::Display for TrialVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = table(&self.report, WIDTH);
        writeln!(f, "{}\n\n{}", self.scenario.title, anstream::adapter::strip_str(&table))?;
        writeln!(f, "{}", summary(&self.report))?;
        for line in notes(&self.report).iter().chain(&figures(&self.report)) {
            writeln!(f, "  • {line}")?;
        }
        match self.cells.iter().find_map(CellVerdict::first_broken) {
            Some(broken) => write!(f, "\nThe first violation ({}):\n\n{broken}", broken.place()),
            None => Ok(()),
        }
    }
}

/// How one cell came out.
#[derive(Debug)]
pub struct CellVerdict {
    scenario: Arc<Scenario>,
    cell: Cell,
    contender: Contender,
    tally: Tally,
}

impl CellVerdict {
    /// The option chosen on each axis but the lock's.
    pub fn params(&self) -> impl Iterator<Item = (&str, &str)> {
        self.cell.params.iter().map(|(axis, option)| (axis.as_str(), option.as_str()))
    }

    /// How many seeds were played.
    #[must_use]
    pub const fn seeds(&self) -> u64 {
        self.tally.seeds
    }

    /// In how many seeds the property was broken.
    #[must_use]
    pub fn broken(&self, property: Property) -> u64 {
        self.tally.properties.get(&property).map_or(0, |tally| tally.broken)
    }

    /// In how many seeds some fault never landed, so that nothing was tried.
    #[must_use]
    pub const fn vacuous(&self) -> u64 {
        self.tally.vacuous
    }

    /// Whether the property held in every seed, and every seed tried it: no fault missed, nothing was
    /// left undecided. (That it was never seen broken says less.)
    #[must_use]
    pub fn holds(&self, property: Property) -> bool {
        self.broken(property) == 0 && self.tally.vacuous == 0 && self.tally.inconclusive == 0
    }

    /// What did not come out as the scenario expects of its own locks, in words; a fault that never
    /// landed is one of these. None: all did.
    #[must_use]
    pub fn differences(&self) -> Vec<String> {
        let mut differences = self.tally.differences.clone();
        for (fault, seeds) in &self.tally.missed_faults {
            differences.push(format!("the fault `{fault}` never landed in {seeds} of {} seeds", self.tally.seeds));
        }
        differences
    }

    /// The run of the first seed that broke something, played again: what there is to tell of it.
    #[must_use]
    pub fn first_broken(&self) -> Option<BrokenRun<'_>> {
        let run = self.play(self.tally.first_violation()?);
        let property = run.gravest_broken()?;
        Some(BrokenRun { of: self, run, property })
    }

    /// One run of it, with all that happened.
    #[must_use]
    pub fn play(&self, seed: u64) -> Run {
        Player::new(&self.cell, &self.contender).record(seed)
    }
}

/// A run that broke something. Displays as its story.
#[derive(Debug)]
pub struct BrokenRun<'v> {
    of: &'v CellVerdict,
    run: Run,
    property: Property,
}

impl BrokenRun<'_> {
    /// Its seed.
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.run.seed
    }

    /// The gravest property that it broke: what the story is about.
    #[must_use]
    pub const fn property(&self) -> Property {
        self.property
    }

    /// What happened, in a few sentences.
    #[must_use]
    pub fn story(&self) -> Vec<String> {
        judged(&self.of.cell, &self.of.contender, &self.run, |run| reports::short_story(run, self.property))
    }

    /// The whole trace, as the text of a `.jsonl` file. (Where the lock is a scenario's own, `fencepost explain`
    /// and `fencepost replay` take it.)
    #[must_use]
    pub fn trace(&self) -> String {
        trace(&self.of.scenario, &self.of.cell, self.of.contender.name(), &[], &self.run)
    }

    fn place(&self) -> String {
        let options = self.of.params().map(|(axis, option)| format!("{axis} {option}, "));
        format!("{}, {}seed {}", self.of.contender.name(), options.collect::<String>(), self.run.seed)
    }
}

impl fmt::Display for BrokenRun<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.story().iter().try_for_each(|sentence| writeln!(f, "  • {sentence}"))
    }
}

/// How wide a table may be: whoever reads it in the output of a test has no terminal that could be asked.
const WIDTH: usize = 100;

#[cfg(test)]
mod tests {
    use crate::{Property, Trial};

    #[test]
    fn a_verdict_displays_as_a_table_with_the_story_of_the_first_violation() {
        let verdict = Trial::of("gc-pause").expect("it is in the catalogue").seeds(0..3).run();
        let shown = verdict.to_string();
        assert!(verdict.is_as_expected() && shown.contains("as expected: 14 of 14 cells, 3 seeds each\n"), "{shown}");
        assert!(shown.contains("The first violation (redis, resource open, seed 0):\n\n  • At 0."), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown:?}");
    }

    #[test]
    fn a_broken_run_tells_its_story_and_gives_its_trace() {
        let verdict = Trial::of("gc-pause").expect("it is in the catalogue").seeds(5..8).run();
        let broken = verdict.cell(&[("resource", "open")]).first_broken().expect("every seed breaks something");
        assert_eq!((broken.seed(), broken.property()), (5, Property::NoLostUpdate));
        assert!(broken.story().iter().any(|sentence| sentence.contains("a pause (fault `gc`)")), "{broken}");
        let trace = reports::trace::read(&broken.trace()).map(|trace| trace.header.seed);
        assert_eq!(trace.ok().as_deref(), Some("5"));
    }

    #[test]
    fn what_is_not_as_expected_is_shown_and_what_broke_nothing_has_no_story() {
        let text = "name = \"x\"\ntitle = \"x\"\nsource = \"x\"\nlock = \"redis\"\n[client.A]\n\
                    [[expect]]\nmeasure.effects.total.is = 5";
        let verdict = Trial::of_text(text).expect("it is a scenario").seeds(0..2).run();
        assert!(!verdict.is_as_expected() && verdict.cells()[0].first_broken().is_none());
        assert!(verdict.to_string().ends_with("  • redis: measure.effects.total: 4, expected 5\n"), "{verdict}");
    }
}
