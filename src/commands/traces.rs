//! The traces of a scenario: `OUT/NAME/LOCK-OPTIONS-SEED.jsonl`.
//!
//! What lies there of a cell is of the last time that it was played: an older trace, of a violation that may
//! be no more, is taken away. (A trace that is to be kept is kept elsewhere, or played with another `--out`.)

use std::path::{Path, PathBuf};

use scenarios::{Cell, report};

use super::Failure;
use crate::output::complain;

/// Where the traces of one scenario go.
pub(super) struct Traces {
    folder: PathBuf,
    /// Whether one could not be written.
    pub(super) failed: bool,
}

impl Traces {
    pub(super) fn of(out: &Path, scenario: &str) -> Self {
        Self { folder: out.join(scenario), failed: false }
    }

    /// Writes the trace of a cell, and says where it is. That it cannot be written must not cost what was
    /// found out: it is said, and the rest goes on.
    pub(super) fn write(&mut self, cell: &Cell, lock: &str, seed: u64, text: &str) -> Option<String> {
        let path = self.folder.join(report::trace_file_name(cell, lock, seed));
        let failed = |error| Failure::Write { path: path.clone(), error };
        let written = std::fs::create_dir_all(&self.folder).and_then(|()| std::fs::write(&path, text));
        if let Err(failure) = written.map_err(failed) {
            complain(&failure);
            self.failed = true;
            return None;
        }
        Some(path.display().to_string())
    }

    /// Takes away what lies there of that cell, but for the trace of that seed.
    pub(super) fn remove_others(&mut self, cell: &Cell, lock: &str, seed: Option<u64>) {
        let Ok(entries) = std::fs::read_dir(&self.folder) else { return };
        let kept = seed.map(|seed| report::trace_file_name(cell, lock, seed));
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str() else { continue };
            if report::is_trace_of(cell, lock, name) && kept.as_deref() != Some(name) {
                let path = entry.path();
                if let Err(error) = std::fs::remove_file(&path) {
                    complain(&Failure::Write { path, error });
                    self.failed = true;
                }
            }
        }
    }
}
