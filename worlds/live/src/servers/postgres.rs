//! PostgreSQL, as it is installed (Debian's package `postgresql-15`): a primary, or a standby that follows it.
//!
//! A server does not run as root: then it runs as the user `postgres`, whom the package has made. To make a server's folder takes a second,
//! so it is made once ([`PgTemplate`]) and copied. A standby is a copy of the same template that goes on with what the primary has
//! written since.

use std::fs::{self, File};
use std::io::{self, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use models::postgres::wire::schema;
use models::postgres::{Database, Pid};
use rustix::process::{Signal, getuid, kill_process};
use tempfile::TempDir;

use super::{Guard, Process};
use crate::clock::AheadClock;
use crate::pg::{Connection, USER};

/// Where the package puts the programs.
const PROGRAMS: &str = "/usr/lib/postgresql/15/bin";
/// A server is up, or in touch, within this.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often another port is tried, if somebody else took it in between.
const MOST_PORTS: usize = 10;
/// The database beside `postgres`.
pub const OTHER: &str = "other";

/// What all servers are set to, unless they are set otherwise. Nobody looks for deadlocks, unless a session sets that. What is written is
/// not waited for: these servers' processes die, and their machine does not.
const SETTINGS: &[(&str, &str)] = &[
    ("listen_addresses", "127.0.0.1"),
    ("unix_socket_directories", ""),
    ("fsync", "off"),
    ("autovacuum", "off"),
    ("shared_buffers", "16MB"),
    ("max_connections", "60"),
    ("deadlock_timeout", "1h"),
    // Who has looked for a deadlock says so, in a line that begins with the time and the number of the backend.
    ("log_lock_waits", "on"),
    ("log_min_messages", "log"),
    ("log_min_error_statement", "panic"),
    ("log_line_prefix", "%n [%p] "),
    ("wal_receiver_status_interval", "1s"),
    // What nobody waits for is written by the way, every so often: here it is known that it is not yet.
    ("wal_writer_delay", "10s"),
];

/// How a server is asked to end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// All sessions are ended.
    Fast,
    /// All processes end at once: it has to recover when it starts.
    Immediate,
}

/// Whom a server is to be run as: not root. `None`: whoever this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct User {
    pub(super) uid: u32,
    pub(super) gid: u32,
}

impl User {
    pub(super) fn find() -> io::Result<Option<Self>> {
        if !getuid().is_root() {
            return Ok(None);
        }
        let users = fs::read_to_string("/etc/passwd")?;
        let fields = |line: &str| {
            let fields: Vec<&str> = line.split(':').collect();
            let is_it = fields.first() == Some(&"postgres");
            is_it.then(|| Some(Self { uid: fields.get(2)?.parse().ok()?, gid: fields.get(3)?.parse().ok()? }))?
        };
        let found = users.lines().find_map(fields);
        found.map(Some).ok_or_else(|| io::Error::other("there is no user postgres, and a server does not run as root"))
    }

    /// That program, as that user.
    pub(super) fn command(user: Option<Self>, mut command: Command) -> Command {
        if let Some(Self { uid, gid }) = user {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// A new folder of that user.
    pub(super) fn folder(user: Option<Self>) -> io::Result<TempDir> {
        let folder = tempfile::Builder::new().prefix("fencepost-postgres-").tempdir()?;
        if let Some(Self { uid, gid }) = user {
            chown(folder.path(), Some(uid), Some(gid))?;
        }
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        Ok(folder)
    }
}

fn program(name: &str) -> PathBuf {
    Path::new(PROGRAMS).join(name)
}

/// A server's folder, with the tables in it, to be copied. Dropped, it is removed.
#[derive(Debug)]
pub struct PgTemplate {
    user: Option<User>,
    folder: TempDir,
}

impl PgTemplate {
    /// Makes one.
    ///
    /// # Errors
    /// If PostgreSQL is not installed, or does not start.
    pub fn new() -> io::Result<Self> {
        let user = User::find()?;
        let folder = User::folder(user)?;
        let mut init = Command::new(program("initdb"));
        init.args(["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C", "--username", USER, "--pgdata"]);
        run(User::command(user, init), &folder.path().join("data"))?;
        let template = Self { user, folder };
        let mut server = PgServer::copy(&template, &[], None, None)?;
        server.begin()?;
        let mut connection = server.connect(Database::default())?;
        connection.ask(&format!("CREATE DATABASE {OTHER}"))?;
        for database in [Database::default(), Database(OTHER.into())] {
            let mut connection = server.connect(database)?;
            schema().try_for_each(|made| connection.ask(&made).map(|_| ()))?;
        }
        server.stop(Ending::Fast)?;
        fs::remove_dir_all(template.data())?;
        fs::rename(server.data(), template.data())?;
        Ok(template)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }
}

fn run(mut command: Command, last: &Path) -> io::Result<()> {
    let done = command.arg(last).stdin(Stdio::null()).output()?;
    let said = || String::from_utf8_lossy(&done.stderr).into_owned();
    if done.status.success() { Ok(()) } else { Err(io::Error::other(format!("{command:?}: {}", said()))) }
}

/// One server, with a folder of its own. Dropped, it is ended and its folder removed.
#[derive(Debug)]
pub struct PgServer {
    // Before the folder in which it works.
    process: Option<Process>,
    port: u16,
    user: Option<User>,
    ahead: Option<AheadClock>,
    guard: Option<Guard>,
    folder: TempDir,
}

impl PgServer {
    /// What is installed: `postgres 15.20`.
    ///
    /// # Errors
    /// If nothing is.
    pub fn version() -> io::Result<String> {
        let said = Command::new(program("postgres")).arg("--version").output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = said.split_whitespace().nth(2);
        version.map(|version| format!("postgres {version}")).ok_or_else(|| io::Error::other(said.clone()))
    }

    /// Starts a primary with these settings beside those that all have, on a free port of this machine.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start(template: &PgTemplate, settings: &[(&str, &str)]) -> io::Result<Self> {
        Self::start_set(template, settings, None, None)
    }

    /// The same under guard, if there is one. With a number, its wall clock is a clock of its own, so many ns ahead of the machine's.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_set(
        template: &PgTemplate,
        settings: &[(&str, &str)],
        guard: Option<Guard>,
        ahead: Option<i64>,
    ) -> io::Result<Self> {
        let mut server = Self::copy(template, settings, guard, ahead)?;
        server.begin()?;
        Ok(server)
    }

    /// Starts a standby of that primary, which must have begun with the same template, and waits until it follows.
    ///
    /// # Errors
    /// If it does not start.
    pub fn follow(
        &self,
        template: &PgTemplate,
        settings: &[(&str, &str)],
        guard: Option<Guard>,
        ahead: Option<i64>,
    ) -> io::Result<Self> {
        let primary = format!("host=127.0.0.1 port={} user={USER} application_name=standby", self.port);
        let settings: Vec<_> = settings.iter().copied().chain([("primary_conninfo", primary.as_str())]).collect();
        let mut standby = Self::copy(template, &settings, guard, ahead)?;
        File::create(standby.data().join("standby.signal"))?;
        standby.begin()?;
        let mut connection = self.connect(Database::default())?;
        until("a standby follows", || {
            Ok(!connection.ask("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'")?.is_empty())
        })?;
        Ok(standby)
    }

    fn copy(
        template: &PgTemplate,
        settings: &[(&str, &str)],
        guard: Option<Guard>,
        ahead: Option<i64>,
    ) -> io::Result<Self> {
        let folder = User::folder(template.user)?;
        let mut copy = Command::new("cp");
        copy.arg("-a").arg(template.data());
        run(User::command(template.user, copy), &folder.path().join("data"))?;
        let ahead = ahead.map(|nanos| AheadClock::new(folder.path(), nanos)).transpose()?;
        let server = Self { process: None, port: 0, user: template.user, ahead, guard, folder };
        let mut config = File::create(server.data().join("postgresql.conf"))?;
        for (name, value) in SETTINGS.iter().chain(settings) {
            writeln!(config, "{name} = '{value}'")?;
        }
        Ok(server)
    }

    fn begin(&mut self) -> io::Result<()> {
        for _ in 0..MOST_PORTS {
            self.port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            match self.start_again() {
                Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
                started => return started,
            }
        }
        Err(io::ErrorKind::AddrInUse.into())
    }

    /// Starts it after it has ended, with what is in its folder, and waits until it lets clients in.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        let name = program("postgres");
        let guarded = self.guard.as_ref().map(|guard| guard.command(&name.to_string_lossy()));
        let command = guarded.unwrap_or_else(|| Command::new(&name));
        let mut command = User::command(self.user, command);
        command.arg("-D").arg(self.data()).args(["-p", &self.port.to_string()]).current_dir(self.folder.path());
        for (name, value) in self.ahead.as_ref().map(AheadClock::variables).into_iter().flatten() {
            command.env(name, value);
        }
        let log = File::options().create(true).append(true).open(self.log_file())?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        self.process = Some(Process::new(child, Some(self.folder.path())));
        until("a server lets clients in", || self.lets_in())
    }

    /// Whether it lets clients in.
    fn lets_in(&self) -> io::Result<bool> {
        if self.process.as_ref().is_none_or(Process::has_ended) {
            let said = self.log()?;
            let is_taken = said.contains("could not bind") || said.contains("could not create any TCP/IP sockets");
            let kind = if is_taken { io::ErrorKind::AddrInUse } else { io::ErrorKind::Other };
            return Err(io::Error::new(kind, format!("postgres has ended:\n{said}")));
        }
        Ok(Connection::open(self.port, Database::default()).is_ok_and(|(connection, _)| connection.pid().is_some()))
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Whether it runs.
    #[must_use]
    pub const fn runs(&self) -> bool {
        self.process.is_some()
    }

    /// Begins a session.
    ///
    /// # Errors
    /// If it does not let anybody in.
    pub fn connect(&self, database: Database) -> io::Result<Connection> {
        let (connection, told) = Connection::open(self.port, database)?;
        connection.pid().map(|_| connection).ok_or_else(|| io::Error::other(format!("not let in: {told:?}")))
    }

    /// What it has written into its log.
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn log(&self) -> io::Result<String> {
        Ok(String::from_utf8_lossy(&fs::read(self.log_file())?).into_owned())
    }

    /// From now on its wall clock is so many ns ahead.
    ///
    /// # Errors
    /// If it was not started with a clock of its own.
    pub fn set_ahead(&self, nanos: i64) -> io::Result<()> {
        self.ahead.as_ref().ok_or_else(|| io::Error::other("it reads the machine's clock"))?.set_ahead(nanos)
    }

    /// Waits until it has, as a standby, all that the primary has.
    ///
    /// # Errors
    /// If one of them does not answer.
    pub fn catch_up(&self, primary: &Self) -> io::Result<()> {
        let place = one(&mut primary.connect(Database::default())?, "SELECT pg_current_wal_flush_lsn()")?;
        let mut standby = self.connect(Database::default())?;
        let is_there = format!("SELECT coalesce(pg_last_wal_replay_lsn() >= '{place}', false)");
        until("a standby has all", || Ok(one(&mut standby, &is_there)? == "t"))
    }

    /// Makes a standby a primary, and waits until it is.
    ///
    /// # Errors
    /// If it does not become one.
    pub fn promote(&self) -> io::Result<()> {
        let mut connection = self.connect(Database::default())?;
        connection.ask("SELECT pg_promote(false)")?;
        until("a standby is promoted", || Ok(one(&mut connection, "SELECT pg_is_in_recovery()")? == "f"))
    }

    /// Kills it, all its processes at once: it has no say in it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        let process = self.process.take().ok_or_else(not_running)?;
        // The first of them would end the others in its own way.
        process.stop()?;
        for child in children(process.pid())? {
            kill(child, Signal::KILL)?;
        }
        process.end(Signal::KILL)
    }

    /// Asks it to end, and waits until it has.
    ///
    /// # Errors
    /// If it does not run.
    pub fn stop(&mut self, ending: Ending) -> io::Result<ExitStatus> {
        let signal = match ending {
            Ending::Fast => Signal::INT,
            Ending::Immediate => Signal::QUIT,
        };
        self.process.take().ok_or_else(not_running)?.end(signal)
    }

    /// Stops it where it stands, all its processes, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&self) -> io::Result<()> {
        let process = self.process.as_ref().ok_or_else(not_running)?;
        process.stop()?;
        children(process.pid())?.into_iter().try_for_each(|child| kill(child, Signal::STOP))
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&self) -> io::Result<()> {
        let process = self.process.as_ref().ok_or_else(not_running)?;
        children(process.pid())?.into_iter().try_for_each(|child| kill(child, Signal::CONT))?;
        process.signal(Signal::CONT)
    }

    /// Kills one of its processes, that serves nobody in particular, and waits until it has begun anew, which it does by itself.
    ///
    /// # Errors
    /// If it does not run.
    pub fn crash(&self) -> io::Result<()> {
        let victim = self.connect(Database::default())?;
        let pid = victim.pid().ok_or_else(not_running)?;
        kill(pid, Signal::KILL)?;
        let end = format!("server process (PID {pid}) was terminated");
        until("the crash is noticed", || Ok(self.log()?.contains(&end)))?;
        let again = |said: &str| said.split(&end).nth(1).is_some_and(|since| since.contains("ready to accept"));
        until("a server lets clients in", || Ok(again(&self.log()?) && self.lets_in()?))
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn log_file(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

impl Drop for PgServer {
    fn drop(&mut self) {
        // It knows what it has to give back to the machine; who is killed does not.
        if let Some(process) = self.process.take() {
            let _ = process.end(Signal::QUIT);
        } else if let Some(segment) = shared_memory(&self.data()) {
            let _ = Command::new("ipcrm").args(["-m", &segment]).stderr(Stdio::null()).status();
        }
    }
}

/// The number of the segment of shared memory that one has left behind that did not end by itself.
fn shared_memory(data: &Path) -> Option<String> {
    let file = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    file.lines().nth(6)?.split_whitespace().nth(1).map(str::to_owned)
}

/// The processes that one has started.
fn children(of: rustix::process::Pid) -> io::Result<Vec<Pid>> {
    let of = of.as_raw_nonzero();
    let file = fs::read_to_string(format!("/proc/{of}/task/{of}/children"))?;
    Ok(file.split_whitespace().filter_map(|pid| pid.parse().ok()).map(Pid).collect())
}

fn kill(pid: Pid, signal: Signal) -> io::Result<()> {
    let raw = i32::try_from(pid.0).ok().and_then(rustix::process::Pid::from_raw);
    match raw.map(|pid| kill_process(pid, signal)) {
        Some(Ok(()) | Err(rustix::io::Errno::SRCH)) => Ok(()),
        Some(Err(error)) => Err(error.into()),
        None => Err(io::Error::other(format!("no process: {pid}"))),
    }
}

/// The only field of the only row.
fn one(connection: &mut Connection, sql: &str) -> io::Result<String> {
    let rows = connection.ask(sql)?;
    let field = rows.into_iter().next().and_then(|row| row.into_iter().next()).flatten();
    field.ok_or_else(|| io::Error::other(format!("{sql}: nothing")))
}

fn until(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> io::Result<()> {
    let began = Instant::now();
    while !holds()? {
        if began.elapsed() > PATIENCE {
            return Err(io::Error::other(format!("{what}: not within {} s", PATIENCE.as_secs())));
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

fn not_running() -> io::Error {
    io::Error::other("this postgres does not run")
}
