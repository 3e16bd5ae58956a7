//! pgbouncer, as it is installed: a pooler before one PostgreSQL server.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::chown;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use models::lock::{PoolMode, Pooler};
use models::postgres::Database;
use rustix::process::Signal;
use tempfile::TempDir;

use super::postgres::User;
use super::{Guard, Process};
use crate::pg::{Connection, USER};

/// The program.
const PROGRAM: &str = "/usr/sbin/pgbouncer";
/// Its configuration file.
const CONFIG: &str = "pgbouncer.ini";

/// One pgbouncer, with a folder of its own. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct PgBouncer {
    // Before the folder in which it works.
    process: Process,
    port: u16,
    _folder: TempDir,
}

impl PgBouncer {
    /// Starts one before the server that listens on that port of this machine.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start(server: u16, set: &Pooler, guard: Option<&Guard>) -> io::Result<Self> {
        let user = User::find()?;
        let folder = User::folder(user)?;
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let mode = match set.mode {
            PoolMode::Transaction => "transaction",
            PoolMode::Session => "session",
        };
        let config = format!(
            "[databases]\n* = host=127.0.0.1 port={server} user={USER}\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = any\npool_mode = {mode}\ndefault_pool_size = {}\n\
             server_lifetime = {}\n",
            set.size,
            set.server_lifetime.as_secs(),
        );
        let path = folder.path().join(CONFIG);
        std::fs::write(&path, config)?;
        if let Some(User { uid, gid }) = user {
            chown(&path, Some(uid), Some(gid))?;
        }
        let command = guard.map_or_else(|| Command::new(PROGRAM), |guard| guard.command(PROGRAM));
        let mut command = User::command(user, command);
        command.arg("--quiet").arg(&path).current_dir(folder.path());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let process = Process::new(child, Some(folder.path()));
        let pooler = Self { process, port, _folder: folder };
        for _ in 0..MOST_TRIES {
            if Connection::open(port, Database::default()).is_ok_and(|(connection, _)| connection.pid().is_some()) {
                return Ok(pooler);
            }
            sleep(BETWEEN_TRIES);
        }
        Err(io::Error::other("pgbouncer does not start"))
    }

    /// Where it listens.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.port
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

/// It says nothing when it is ready: so often it is asked.
const MOST_TRIES: usize = 500;
const BETWEEN_TRIES: Duration = Duration::from_millis(10);
