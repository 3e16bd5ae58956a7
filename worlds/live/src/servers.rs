//! Real servers, each in a folder of its own, and what of them must not be left behind.
//!
//! A server is stopped, and its folder removed, when its handle is dropped, and when the user interrupts the program.
//! Processes are only ever told by their ids.

pub mod redis;
pub mod sentinel;

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, ExitStatus};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{Pid, Signal, kill_process};

/// A running process.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Takes charge of a process that works in that folder.
    pub(crate) fn new(child: Child, folder: &Path) -> Self {
        static HANDLER: Once = Once::new();
        // Without a handler, an interrupt still ends this program, and leaves its servers.
        HANDLER.call_once(|| ctrlc::set_handler(clear_up).unwrap_or_else(|error| eprintln!("no clean-up: {error}")));
        let process = Self { child };
        running().push((process.pid(), folder.to_owned()));
        process
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends it a signal.
    ///
    /// # Errors
    /// If there is no such process any more.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Sends it a signal of which it is to die, and waits until it has.
    ///
    /// # Errors
    /// If there is no such process any more.
    pub fn end(mut self, signal: Signal) -> io::Result<ExitStatus> {
        self.signal(signal)?;
        let status = self.child.wait()?;
        self.forget();
        Ok(status)
    }

    fn forget(&self) {
        running().retain(|(pid, _)| *pid != self.pid());
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Nothing to be done about a process that has ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
        self.forget();
    }
}

/// The processes that run, and where.
static RUNNING: Mutex<Vec<(Pid, PathBuf)>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<(Pid, PathBuf)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user has interrupted the program.
fn clear_up() {
    // The lock is kept, so that nothing is started any more.
    let running = running();
    for (pid, folder) in running.iter() {
        let _ = kill_process(*pid, Signal::KILL);
        let _ = std::fs::remove_dir_all(folder);
    }
    std::process::exit(130);
}
