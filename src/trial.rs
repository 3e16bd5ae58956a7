//! A scenario as a test plays it: the catalogue's locks, or a lock of one's own.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use models::guard::{Ruling, Seen};
use models::recipe::Recipe;
use models::resource::Op;
use scenarios::catalogue::{self, UnknownScenario};
use scenarios::language::{LoadErrors, load};
use scenarios::{Bench, Cell, Contender, LabHost, Player, Progress, Scenario, Tally, play};
use spec::Property;

/// A scenario, about to be played.
pub struct Trial {
    scenario: Scenario,
    own: Option<Contender>,
    check: Option<Arc<OwnCheck>>,
    seeds: Option<Range<u64>>,
}

type OwnCheck = dyn Fn(&Op, Seen) -> Ruling + Send + Sync;

impl std::fmt::Debug for Trial {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Trial of {}", self.scenario.name)
    }
}

/// Why there is nothing to play.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The catalogue has no scenario of that name.
    #[error(transparent)]
    Unknown(#[from] UnknownScenario),
    /// The file cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// Which file.
        path: std::path::PathBuf,
        /// Why not.
        error: std::io::Error,
    },
    /// The file says something that cannot be.
    #[error("{0}")]
    Load(#[from] LoadErrors),
}

impl Trial {
    /// A scenario of the catalogue.
    ///
    /// # Errors
    /// If there is none of that name.
    pub fn of(name: &str) -> Result<Self, TrialError> {
        let entry = catalogue::find(name)?;
        Ok(Self::new(load(entry.file, entry.text, &[])?))
    }

    /// A scenario file's text.
    ///
    /// # Errors
    /// If it cannot be understood.
    pub fn of_text(text: &str) -> Result<Self, TrialError> {
        Ok(Self::new(load("scenario", text, &[])?))
    }

    /// A scenario file of one's own.
    ///
    /// # Errors
    /// If it cannot be read or understood.
    pub fn of_file(path: impl AsRef<Path>) -> Result<Self, TrialError> {
        let path = path.as_ref();
        let text = std::fs::read_to_string(path);
        let text = text.map_err(|error| TrialError::Read { path: path.to_owned(), error })?;
        Ok(Self::new(load(&path.display().to_string(), &text, &[])?))
    }

    const fn new(scenario: Scenario) -> Self {
        Self { scenario, own: None, check: None, seeds: None }
    }

    /// Plays these seeds instead of those that the scenario asks for.
    #[must_use]
    pub fn seeds(self, seeds: Range<u64>) -> Self {
        Self { seeds: Some(seeds), ..self }
    }

    /// Plays a lock of one's own in place of each of the scenario's. `make` is called for each client
    /// process: what it makes has connections of its own.
    #[must_use]
    pub fn lock<R, F>(self, name: &str, make: F) -> Self
    where
        R: Recipe<LabHost>,
        F: Fn(&Bench) -> R + Send + Sync + 'static,
    {
        Self { own: Some(Contender::own(name, make)), ..self }
    }

    /// Plays against a resource with a check of one's own in place of the scenario's.
    #[must_use]
    pub fn check(self, check: impl Fn(&Op, Seen) -> Ruling + Send + Sync + 'static) -> Self {
        Self { check: Some(Arc::new(check)), ..self }
    }

    /// Plays it, and says how each cell came out.
    #[must_use]
    pub fn run(self) -> TrialVerdict {
        let seeds = self.seeds.clone().unwrap_or(0..self.scenario.seeds);
        let contender = |cell: &Cell| {
            let contender = self.own.clone().unwrap_or_else(|| Contender::built_in(&cell.lock));
            match self.check.clone() {
                Some(check) => contender.with_check(move |op, seen| check(op, seen)),
                None => contender,
            }
        };
        let scenario = &self.scenario;
        let played = play(scenario, &scenario.all_cells(), contender, &seeds, &Progress::default());
        let verdict = |(index, tally): (usize, Tally)| {
            let cell = scenario.cells[index].clone();
            CellVerdict { contender: contender(&cell), cell, tally }
        };
        TrialVerdict { cells: played.cells.into_iter().map(verdict).collect() }
    }
}

/// How a scenario came out.
#[derive(Debug)]
pub struct TrialVerdict {
    cells: Vec<CellVerdict>,
}

impl TrialVerdict {
    /// Every cell, in the order of the matrix.
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

/// How one cell came out.
#[derive(Debug)]
pub struct CellVerdict {
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

    /// One run of it, with all that happened.
    #[must_use]
    pub fn play(&self, seed: u64) -> scenarios::Run {
        Player::new(&self.cell, &self.contender).record(seed)
    }
}
