//! Exit codes: part of the interface, for scripts and CI.

use std::process::ExitCode;

/// How the program ends.
///
/// When several apply, the first of 70, 74, 130, 5, 1, 3, 4, 0 is given: a broken promise outranks an
/// untested one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Exit {
    /// Every outcome is as expected. (A violation that a scenario expects is a success.)
    AsExpected = 0,
    /// Some outcome differs from what is expected.
    Differs = 1,
    /// The command line or a file cannot be understood.
    Usage = 2,
    /// Nothing differs, but something was inconclusive, or a fault never landed.
    Inconclusive = 3,
    /// Nothing was selected.
    NothingSelected = 4,
    /// A replay took another course than its trace.
    Diverged = 5,
    /// A bug of fencepost's own.
    Internal = 70,
    /// Results could not be written.
    CannotWrite = 74,
    /// Stopped by Ctrl-C; what was finished is kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}
