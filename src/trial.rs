//! A scenario as a test plays it: the catalogue's locks, or a lock of one's own.

mod verdict;

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use models::guard::{Ruling, Seen};
use models::recipe::Recipe;
use models::resource::Op;
use scenarios::catalogue::{self, UnknownScenario};
use scenarios::language::{LoadErrors, load};
use scenarios::{Bench, Cell, Contender, LabHost, Progress, Scenario, play};

pub use self::verdict::{BrokenRun, CellVerdict, TrialVerdict};

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

    /// It takes so many of the servers that a client counts to make it the owner: of a lock of one's own, which by
    /// default is on one server.
    #[must_use]
    pub fn quorum(self, quorum: usize) -> Self {
        Self { own: self.own.map(|own| own.with_quorum(quorum)), ..self }
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
        let played = play(&self.scenario, &self.scenario.all_cells(), contender, &seeds, &Progress::default());
        TrialVerdict::of(&Arc::new(self.scenario.clone()), &played, contender)
    }
}
