//! The program under test.

use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tempfile::TempDir;

/// `gc-pause` in seconds instead of a quarter of a minute.
pub(crate) const SHORT: &[&str] =
    &["gc-pause", "--lock", "redis,redlock", "--set", "ttl=2s", "--set", "fault.gc.for=4s"];
/// How many cells that has: two locks, and two checks.
pub(crate) const CELLS: usize = 4;

/// The same on a cluster.
pub(crate) const CLUSTER: &[&str] = &["gc-pause", "--lock", "etcd", "--set", "ttl=2s", "--set", "fault.gc.for=4s"];
/// How many cells that has: two checks.
pub(crate) const CLUSTERS: usize = 2;

/// The same on an ensemble, whose sessions are 4 s long at least.
pub(crate) const ENSEMBLE: &[&str] =
    &["gc-pause", "--lock", "zookeeper,curator", "--set", "ttl=4s", "--set", "fault.gc.for=9s"];
/// How many cells that has: two locks, and two checks.
pub(crate) const ENSEMBLES: usize = 4;

/// The program, which has a folder for temporary files of its own.
pub(crate) struct Program {
    child: Child,
    stderr: BufReader<ChildStderr>,
    folder: TempDir,
}

impl Program {
    pub(crate) fn start(args: &[&str]) -> io::Result<Self> {
        let folder = tempfile::tempdir()?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-live"));
        command.args(args).env("TMPDIR", folder.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::piped()).spawn()?;
        let stderr = BufReader::new(child.stderr.take().ok_or_else(|| io::Error::other("it has a standard error"))?);
        Ok(Self { child, stderr, folder })
    }

    /// Waits until it says that so many cells have begun.
    pub(crate) fn begins(&mut self, cells: usize) -> io::Result<()> {
        let mut begun = 0;
        while begun < cells {
            let mut line = String::new();
            if self.stderr.read_line(&mut line)? == 0 {
                return Err(io::Error::other("it ended before it began"));
            }
            begun += usize::from(line.contains("begun"));
        }
        Ok(())
    }

    /// Waits for its end: its exit code, and what it said.
    pub(crate) fn finish(&mut self) -> io::Result<(Option<i32>, String, String)> {
        let (mut out, mut complaint) = (String::new(), String::new());
        if let Some(mut stdout) = self.child.stdout.take() {
            stdout.read_to_string(&mut out)?;
        }
        self.stderr.read_to_string(&mut complaint)?;
        Ok((self.child.wait()?.code(), out, complaint))
    }

    /// Sends it a signal and waits for its end.
    pub(crate) fn end(&mut self, signal: Signal) -> io::Result<Option<i32>> {
        kill_process(Pid::from_child(&self.child), signal)?;
        Ok(self.child.wait()?.code())
    }

    /// The processes that it has started.
    pub(crate) fn children(&self) -> io::Result<Vec<Started>> {
        let mut children = Vec::new();
        for task in std::fs::read_dir(format!("/proc/{}/task", self.child.id()))? {
            let listed = std::fs::read_to_string(task?.path().join("children"))?;
            for pid in listed.split_whitespace() {
                let name = std::fs::read_to_string(format!("/proc/{pid}/comm"))?.trim().to_owned();
                let folder = data_folder(&std::fs::read(format!("/proc/{pid}/cmdline"))?);
                let pid = pid.parse().ok().and_then(Pid::from_raw).ok_or_else(|| io::Error::other("a process"))?;
                children.push(Started { name, pid, folder, handle: pidfd_open(pid, PidfdFlags::empty())? });
            }
        }
        Ok(children)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The folder of a program's data, by the arguments that it was started with.
fn data_folder(args: &[u8]) -> Option<PathBuf> {
    let args = String::from_utf8_lossy(args);
    let mut args = args.split('\0').skip_while(|arg| *arg != "--data-dir").skip(1);
    Path::new(args.next()?).parent().map(Path::to_owned)
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A process that the program has started. The handle is that of this very process, whatever its number comes to mean.
pub(crate) struct Started {
    pub(crate) name: String,
    pub(crate) pid: Pid,
    /// Where it keeps its data, if it was told.
    pub(crate) folder: Option<PathBuf>,
    handle: OwnedFd,
}

impl Started {
    /// Waits for its end. Whether it comes.
    pub(crate) fn ends(&self) -> io::Result<bool> {
        // Only failure waits so long.
        let patience = Timespec { tv_sec: 20, tv_nsec: 0 };
        Ok(poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&patience))? == 1)
    }
}
