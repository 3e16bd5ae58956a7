//! redis-server, as it is installed.

use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use rustix::process::Signal;
use tempfile::TempDir;

use super::{Guard, Process};
use crate::clock::{AheadClock, StoppedClock};
use crate::resp::Connection;

/// The program.
const PROGRAM: &str = "redis-server";
/// Its configuration file.
const CONFIG: &str = "redis.conf";
/// How often another port is tried, if somebody else took it in between.
const MOST_PORTS: usize = 10;

/// A server that keeps nothing: no snapshots, no log.
pub const KEEPS_NOTHING: &[(&str, &str)] = &[("save", ""), ("appendonly", "no")];

/// One redis-server, with a folder of its own. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct RedisServer {
    // Before the folder in which it works.
    process: Option<Process>,
    port: u16,
    settings: Vec<(String, String)>,
    clock: Option<StoppedClock>,
    ahead: Option<AheadClock>,
    guard: Option<Guard>,
    /// It does not listen on its port until it is told to.
    is_shut: bool,
    folder: TempDir,
}

impl RedisServer {
    /// What is installed: `redis 7.0.15`.
    ///
    /// # Errors
    /// If nothing is.
    pub fn version() -> io::Result<String> {
        let said = Command::new(PROGRAM).arg("--version").output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = said.split_whitespace().find_map(|word| word.strip_prefix("v="));
        let version =
            version.ok_or_else(|| io::Error::other(format!("{PROGRAM} does not know its version: {said}")))?;
        Ok(format!("redis {version}"))
    }

    /// Starts a server with these settings, on a free port of this machine.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start(settings: &[(&str, &str)]) -> io::Result<Self> {
        Self::start_with(settings, None)
    }

    /// The same, on a wall clock that stands at so many ms since 1970.
    ///
    /// # Errors
    /// If it is not installed, does not start, or its clock cannot be made.
    pub fn start_stopped_at(settings: &[(&str, &str)], millis: i64) -> io::Result<Self> {
        Self::start_with(settings, Some(millis))
    }

    fn start_with(settings: &[(&str, &str)], stopped_at: Option<i64>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fencepost-redis-").tempdir()?;
        let clock = stopped_at.map(|millis| StoppedClock::new(folder.path(), millis)).transpose()?;
        let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let (process, port, ahead, guard, is_shut) = (None, 0, None, None, false);
        let mut server = Self { process, port, settings, clock, ahead, guard, is_shut, folder };
        let mut refused = None;
        for _ in 0..MOST_PORTS {
            server.port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            match server.start_again() {
                Ok(()) => return Ok(server),
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => refused = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(refused.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    /// The same under guard, and so that nobody reaches it but by its [socket](Self::socket) until it is
    /// [opened](Self::open). With a number, its wall clock is a clock of its own, so many ns ahead of the machine's. It has a
    /// configuration file, which it may rewrite.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start_shut(settings: &[(String, String)], guard: Guard, ahead: Option<i64>) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("fencepost-redis-").tempdir()?;
        std::fs::write(folder.path().join(CONFIG), "")?;
        let ahead = ahead.map(|nanos| AheadClock::new(folder.path(), nanos)).transpose()?;
        let (process, port, settings, clock, guard) = (None, 0, settings.to_vec(), None, Some(guard));
        let mut server = Self { process, port, settings, clock, ahead, guard, is_shut: true, folder };
        server.start_again()?;
        Ok(server)
    }

    /// Lets it listen: on a free port of this machine, and on the same one after it has been started again.
    ///
    /// # Errors
    /// If it does not run, or somebody else has taken its port.
    pub fn open(&mut self) -> io::Result<()> {
        let mut connection = Connection::open_socket(&self.socket())?;
        let mut said = Vec::new();
        for _ in 0..if self.port == 0 { MOST_PORTS } else { 1 } {
            let port = match self.port {
                0 => TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port(),
                same => same,
            };
            said = connection.ask(&["CONFIG", "SET", "port", &port.to_string()])?;
            if said == b"+OK\r\n" {
                self.port = port;
                return Ok(());
            }
        }
        Err(io::Error::other(format!("{PROGRAM} does not listen: {}", String::from_utf8_lossy(&said))))
    }

    /// The socket by which it can always be reached.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    /// Starts it after it has ended, in the same folder and on the same port.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        let mut command = self.guard.as_ref().map_or_else(|| Command::new(PROGRAM), |guard| guard.command(PROGRAM));
        let port = if self.is_shut { 0 } else { self.port };
        if self.is_shut {
            // What is said beside the file goes before what is said in it.
            command.arg(self.folder.path().join(CONFIG));
        }
        command.args(["--bind", "127.0.0.1", "--loglevel", "notice", "--port", &port.to_string(), "--dir"]);
        command.arg(self.folder.path());
        if self.is_shut {
            command.arg("--unixsocket").arg(self.socket());
        }
        for (name, value) in &self.settings {
            command.arg(format!("--{name}")).arg(value);
        }
        let variables = self.clock.as_ref().map(StoppedClock::variables);
        for (name, value) in variables.or_else(|| self.ahead.as_ref().map(AheadClock::variables)).into_iter().flatten()
        {
            command.env(name, value);
        }
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let log = child.stdout.take();
        let process = Process::new(child, Some(self.folder.path()));
        // What it says once it is ready, nobody reads; it goes on all the same.
        let mut said = String::new();
        for line in log.into_iter().flat_map(|log| BufReader::new(log).lines()) {
            let line = line?;
            if line.contains("eady to accept connections") {
                self.process = Some(process);
                return Ok(());
            }
            said.push_str(&line);
            said.push('\n');
        }
        let kind = if said.contains("already in use") { io::ErrorKind::AddrInUse } else { io::ErrorKind::Other };
        Err(io::Error::new(kind, format!("{PROGRAM} does not start:\n{said}")))
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

    /// Its clock, if that stands still.
    #[must_use]
    pub const fn clock(&self) -> Option<&StoppedClock> {
        self.clock.as_ref()
    }

    /// From now on its wall clock is so many ns ahead.
    ///
    /// # Errors
    /// If it was not started with a clock of its own.
    pub(crate) fn set_ahead(&self, nanos: i64) -> io::Result<()> {
        self.ahead.as_ref().ok_or_else(|| io::Error::other("it reads the machine's clock"))?.set_ahead(nanos)
    }

    /// Kills it: it has no say in it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.end(Signal::KILL)
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// If it does not run.
    pub fn shut_down(&mut self) -> io::Result<ExitStatus> {
        self.end(Signal::TERM)
    }

    /// Stops it where it stands, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&self) -> io::Result<()> {
        self.process()?.stop()
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&self) -> io::Result<()> {
        self.process()?.signal(Signal::CONT)
    }

    fn end(&mut self, signal: Signal) -> io::Result<ExitStatus> {
        self.process.take().ok_or_else(not_running)?.end(signal)
    }

    fn process(&self) -> io::Result<&Process> {
        self.process.as_ref().ok_or_else(not_running)
    }
}

fn not_running() -> io::Error {
    io::Error::other(format!("this {PROGRAM} does not run"))
}
