//! A wall clock for a server that stands still until it is set.
//!
//! A small library is preloaded into the server and answers for the machine's clock (`shim/clock.c`). Then a reply
//! that hangs on the time is one reply and not a window of them, keys live out their hours in no time, and the clock
//! can be set back. Programs that ask the kernel by themselves, as those in Go do, are out of its reach. It is built
//! with the C compiler that the linker of Rust needs anyway.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;

/// A clock, and the library that makes a process read it.
#[derive(Debug)]
pub struct StoppedClock {
    file: File,
    variables: [(&'static str, OsString); 2],
}

impl StoppedClock {
    /// A clock whose files are in that folder, and that reads so many ms since 1970.
    ///
    /// # Errors
    /// If the folder cannot be written, or there is no C compiler.
    pub fn new(folder: &Path, millis: i64) -> io::Result<Self> {
        let [source, library, reading] = ["clock.c", "clock.so", "clock"].map(|name| folder.join(name));
        fs::write(&source, include_str!("../shim/clock.c"))?;
        let built = Command::new("cc").args(["-shared", "-fPIC", "-O2", "-o"]).arg(&library).arg(&source).output()?;
        if !built.status.success() {
            return Err(io::Error::other(format!(
                "cc could not build the clock: {}",
                String::from_utf8_lossy(&built.stderr)
            )));
        }
        let variables = [("LD_PRELOAD", library.into()), ("FENCEPOST_CLOCK", reading.clone().into())];
        let clock = Self { file: File::create_new(reading)?, variables };
        clock.set(millis)?;
        Ok(clock)
    }

    /// Lets it read so many ms since 1970.
    ///
    /// # Errors
    /// If its file cannot be written.
    pub fn set(&self, millis: i64) -> io::Result<()> {
        self.file.write_all_at(&(millis * 1_000).to_ne_bytes(), 0)
    }

    /// What a process has to be started with to read it.
    pub(crate) const fn variables(&self) -> &[(&'static str, OsString); 2] {
        &self.variables
    }
}
