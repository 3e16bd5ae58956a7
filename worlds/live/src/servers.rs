//! Real servers, each in a folder of its own, and what of them must not be left behind.
//!
//! A server is stopped, and its folder removed, when its handle is dropped, and when the user interrupts the program.
//! Processes are only ever told by their ids.

pub mod etcd;
pub mod pgbouncer;
pub mod postgres;
pub mod redis;
pub mod sentinel;
pub mod zookeeper;

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, set_parent_process_death_signal, waitid,
};

/// How a program is to be started, so that it ends with this one even if this one has no say in it (`SIGKILL`): by a
/// program that asks the kernel for that, and then becomes it.
#[derive(Clone, Debug)]
pub struct Guard {
    program: PathBuf,
    args: Vec<String>,
}

impl Guard {
    /// By that program, which is given these arguments, then the program's name and its arguments.
    #[must_use]
    pub const fn new(program: PathBuf, args: Vec<String>) -> Self {
        Self { program, args }
    }

    /// That program under guard, and out of reach of the terminal's signals: this program passes them on in its own way.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args).arg(program).process_group(0);
        command
    }
}

/// Asks the kernel to kill this process when its parent, the one with that id, ends, whatever the parent dies of.
///
/// # Errors
/// If the kernel does not do that, or the parent has ended already.
pub fn die_with(parent: u32) -> Result<(), String> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| error.to_string())?;
    match getppid() {
        Some(pid) if pid.as_raw_nonzero().get().unsigned_abs() == parent => Ok(()),
        _ => Err("the process that started this one has ended".to_owned()),
    }
}

/// A running process.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Takes charge of a process, and of the folder in which it works, if it has one of its own.
    pub(crate) fn new(child: Child, folder: Option<&Path>) -> Self {
        static HANDLER: Once = Once::new();
        // Without a handler, an interrupt still ends this program, and leaves its servers.
        HANDLER.call_once(|| ctrlc::set_handler(clear_up).unwrap_or_else(|error| eprintln!("no clean-up: {error}")));
        let process = Self { child };
        running().push((process.pid(), folder.map(Path::to_owned)));
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

    /// Stops it where it stands, and waits until it does.
    ///
    /// # Errors
    /// If there is no such process any more.
    pub fn stop(&self) -> io::Result<()> {
        self.signal(Signal::STOP)?;
        // What it learns here is not taken away from who waits for its end.
        let options = WaitIdOptions::STOPPED | WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        waitid(WaitId::Pid(self.pid()), options)?;
        Ok(())
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

    /// Whether it has ended by itself.
    pub(crate) fn has_ended(&self) -> bool {
        // What it learns here is not taken away from who waits for its end.
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        !matches!(waitid(WaitId::Pid(self.pid()), options), Ok(None))
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
static RUNNING: Mutex<Vec<(Pid, Option<PathBuf>)>> = Mutex::new(Vec::new());

fn running() -> MutexGuard<'static, Vec<(Pid, Option<PathBuf>)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The user, or whoever runs the program, has ended it.
fn clear_up() {
    // The lock is kept, so that nothing is started any more.
    let running = running();
    for (pid, folder) in running.iter() {
        let _ = kill_process(*pid, Signal::KILL);
        let _ = folder.as_ref().map(std::fs::remove_dir_all);
    }
    std::process::exit(130);
}
