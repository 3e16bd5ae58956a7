//! A wall clock of a server's own: one that stands still until it is set, or one that is ahead of the machine's.
//!
//! A small library is preloaded into the server and answers for the machine's clock (`shim/clock.c`). On a clock that
//! stands still, a reply that hangs on the time is one reply and not a window of them, keys live out their hours in no
//! time, and the clock can be set back. Programs that ask the kernel by themselves, as those in Go do, are out of its reach. It is built
//! with the C compiler that the linker of Rust needs anyway.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// What a process is started with: variables of its environment.
pub(crate) type Variables = [(&'static str, OsString); 2];

/// A clock that stands still until it is set.
#[derive(Debug)]
pub struct StoppedClock(Preloaded);

impl StoppedClock {
    /// A clock whose files are in that folder, and that reads so many ms since 1970.
    ///
    /// # Errors
    /// If the folder cannot be written, or there is no C compiler.
    pub fn new(folder: &Path, millis: i64) -> io::Result<Self> {
        Preloaded::new(folder, "FENCEPOST_CLOCK", millis * 1_000).map(Self)
    }

    /// Lets it read so many ms since 1970.
    ///
    /// # Errors
    /// If its file cannot be written.
    pub fn set(&self, millis: i64) -> io::Result<()> {
        self.0.write(millis * 1_000)
    }

    pub(crate) const fn variables(&self) -> &Variables {
        &self.0.variables
    }
}

/// A clock that runs with the machine's, ahead of it.
#[derive(Debug)]
pub(crate) struct AheadClock(Preloaded);

impl AheadClock {
    /// A clock whose files are in that folder, so many ns ahead.
    pub(crate) fn new(folder: &Path, nanos: i64) -> io::Result<Self> {
        Preloaded::new(folder, "FENCEPOST_AHEAD", nanos / 1_000).map(Self)
    }

    /// From now on it is so many ns ahead.
    pub(crate) fn set_ahead(&self, nanos: i64) -> io::Result<()> {
        self.0.write(nanos / 1_000)
    }

    pub(crate) const fn variables(&self) -> &Variables {
        &self.0.variables
    }
}

/// The library, and the file of which it reads one number of microseconds.
#[derive(Debug)]
struct Preloaded {
    file: File,
    variables: Variables,
}

impl Preloaded {
    fn new(folder: &Path, variable: &'static str, micros: i64) -> io::Result<Self> {
        let [source, library, reading] = ["clock.c", "clock.so", "clock"].map(|name| folder.join(name));
        fs::write(&source, include_str!("../shim/clock.c"))?;
        let built = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).output()?;
        if !built.status.success() {
            return Err(io::Error::other(format!(
                "cc could not build the clock: {}",
                String::from_utf8_lossy(&built.stderr)
            )));
        }
        let variables = [("LD_PRELOAD", library.into()), (variable, reading.clone().into())];
        let clock = Self { file: File::create_new(reading)?, variables };
        clock.write(micros)?;
        Ok(clock)
    }

    fn write(&self, micros: i64) -> io::Result<()> {
        self.file.write_all_at(&micros.to_ne_bytes(), 0)
    }
}
