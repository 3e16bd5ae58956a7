//! Sentinel, as it is installed: `redis-server` in another mode.

use std::fmt::Write as _;
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Guard, Process};
use crate::clock::AheadClock;
use crate::resp::Connection;

/// The program.
const PROGRAM: &str = "redis-server";
/// Its configuration file.
const CONFIG: &str = "sentinel.conf";

/// One Sentinel, with a folder of its own. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct Sentinel {
    // Before the folder in which it works.
    process: Process,
    port: u16,
    ahead: Option<AheadClock>,
    _folder: TempDir,
}

impl Sentinel {
    /// Starts a Sentinel that watches the primary on that port of this machine, by the name `mymaster`, with these
    /// settings of its own.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start(primary: u16, quorum: u16, settings: &[(&str, &str)]) -> io::Result<Self> {
        let settings: Vec<_> = settings.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        Self::start_with((primary, quorum), &settings, None, None)
    }

    /// The same, under guard if there is one. With a number, its wall clock is a clock of its own, so many ns ahead of the
    /// machine's.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub(crate) fn start_with(
        (primary, quorum): (u16, u16),
        settings: &[(&str, String)],
        guard: Option<Guard>,
        ahead: Option<i64>,
    ) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fencepost-sentinel-").tempdir()?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mut config =
            format!("port {port}\nbind 127.0.0.1\nsentinel monitor mymaster 127.0.0.1 {primary} {quorum}\n");
        for (name, value) in settings {
            let _ = writeln!(config, "sentinel {name} mymaster {value}");
        }
        std::fs::write(folder.path().join(CONFIG), config)?;
        let ahead = ahead.map(|nanos| AheadClock::new(folder.path(), nanos)).transpose()?;
        let mut command = guard.as_ref().map_or_else(|| Command::new(PROGRAM), |guard| guard.command(PROGRAM));
        command.arg(folder.path().join(CONFIG)).arg("--sentinel").current_dir(folder.path());
        for (name, value) in ahead.as_ref().map(AheadClock::variables).into_iter().flatten() {
            command.env(name, value);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let process = Process::new(child, Some(folder.path()));
        let sentinel = Self { process, port, ahead, _folder: folder };
        // It says nothing when it is ready.
        for _ in 0..MOST_TRIES {
            if sentinel.connect().and_then(|mut line| line.ask(&["PING"])).is_ok() {
                return Ok(sentinel);
            }
            sleep(BETWEEN_TRIES);
        }
        Err(io::Error::other("a Sentinel does not start"))
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Connects to it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.port)
    }

    /// From now on its wall clock is so many ns ahead.
    pub(crate) fn set_ahead(&self, nanos: i64) -> io::Result<()> {
        self.ahead.as_ref().ok_or_else(|| io::Error::other("it reads the machine's clock"))?.set_ahead(nanos)
    }

    /// Stops it where it stands, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&self) -> io::Result<()> {
        self.process.stop()
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&self) -> io::Result<()> {
        self.process.signal(Signal::CONT)
    }
}

/// How often a Sentinel that was started is asked whether it is there, and how long to wait in between.
const MOST_TRIES: usize = 200;
const BETWEEN_TRIES: Duration = Duration::from_millis(50);
