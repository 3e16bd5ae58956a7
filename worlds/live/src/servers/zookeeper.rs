//! ZooKeeper, as it is installed (Debian's package `zookeeper`): one server, or those of an ensemble.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use models::lock::ZkServers;
use models::zookeeper::wire::{Logged, read_log};
use models::zookeeper::{Millis, Zxid};
use rustix::process::Signal;
use tempfile::TempDir;

use super::{Guard, Process};
use crate::clock::AheadClock;
use crate::jute::Connection;

/// The program that runs it.
const JAVA: &str = "java";
/// What it runs; the second lets it say what goes wrong.
const JARS: &str = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar";
/// Small, and quick to start. Nothing of it is left in the folder for all.
const SETTINGS: [&str; 6] = [
    "-Xmx128m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-XX:-UsePerfData",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
];
/// How often an ensemble is begun anew, if somebody else took one of its ports in between.
const MOST_BEGINS: usize = 5;
/// How long a server may take to serve.
const MOST_LOOKS: usize = 1_500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// How long it may take to say how it is.
const PATIENCE: Duration = Duration::from_secs(2);
/// A folder in memory: it waits for its disk at every write, and nothing here asks what a disk keeps without power.
const IN_MEMORY: &str = "/dev/shm";

/// The servers of one ensemble, or one that is alone. Dropped, they are killed and their folders removed.
#[derive(Debug)]
pub struct ZkEnsemble {
    servers: Vec<ZkServer>,
}

/// One server, with a folder of its own. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct ZkServer {
    // Before the folder in which it works.
    process: Option<Process>,
    stands_still: bool,
    clients: u16,
    containers: Millis,
    ahead: Option<AheadClock>,
    guard: Option<Guard>,
    folder: TempDir,
}

/// How servers are set; all else is as shipped (`zoo_sample.cfg`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZkSettings {
    /// `tickTime`, as shipped 2,000 ms.
    pub tick: Millis,
    /// How often containers are looked after (`znode.container.checkIntervalMs`), as shipped every minute.
    pub containers: Millis,
    /// Each has a wall clock of its own, which can be [set ahead](ZkServer::set_ahead).
    pub own_clocks: bool,
}

impl ZkSettings {
    /// As shipped.
    pub const SHIPPED: Self = Self { tick: Millis(2_000), containers: Millis(60_000), own_clocks: false };
}

/// What a server is to the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// There are no others.
    Alone,
    /// It leads them.
    Leader,
    /// It follows one of them.
    Follower,
}

/// What a server says of itself: `srvr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Status {
    /// What it is to the others.
    pub role: Role,
    /// The newest change that it has.
    pub zxid: Zxid,
}

impl ZkEnsemble {
    /// What is installed: `zookeeper 3.8.0`.
    ///
    /// # Errors
    /// If nothing is.
    pub fn version() -> io::Result<String> {
        let said = Command::new(JAVA).args(["-cp", JARS, "org.apache.zookeeper.Version", "--short"]).output()?;
        let version = String::from_utf8_lossy(&said.stdout).trim().to_owned();
        if version.is_empty() {
            return Err(io::Error::other(String::from_utf8_lossy(&said.stderr).into_owned()));
        }
        Ok(format!("zookeeper {version}"))
    }

    /// Starts a new ensemble of so many servers on free ports of this machine. Returns once all serve.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start(size: usize, settings: ZkSettings) -> io::Result<Self> {
        Self::start_with(size, settings, None)
    }

    /// The same of servers that are set so, under guard.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start_set(servers: &ZkServers, guard: &Guard) -> io::Result<Self> {
        let settings = ZkSettings { tick: servers.tick.into(), ..ZkSettings::SHIPPED };
        Self::start_with(usize::from(servers.members), settings, Some(guard))
    }

    /// Each for itself.
    #[must_use]
    pub fn into_servers(self) -> Vec<ZkServer> {
        self.servers
    }

    fn start_with(size: usize, settings: ZkSettings, guard: Option<&Guard>) -> io::Result<Self> {
        let mut failed = None;
        for _ in 0..MOST_BEGINS {
            match Self::begin(size, settings, guard) {
                Ok(ensemble) => return Ok(ensemble),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    fn begin(size: usize, settings: ZkSettings, guard: Option<&Guard>) -> io::Result<Self> {
        // Held until all are known, so that no two are the same.
        let held: Vec<_> =
            (0..3 * size).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = held.iter().map(|port| Ok(port.local_addr()?.port())).collect::<io::Result<_>>()?;
        drop(held);
        let ports: Vec<&[u16]> = ports.chunks(3).collect();
        let places = ports.iter().enumerate().map(|(i, ports)| place(i, ports));
        let places: String = if size == 1 { String::new() } else { places.collect() };
        let prepare = |(i, ports): (usize, &&[u16])| ZkServer::prepare((i, ports[0]), settings, &places, guard);
        let servers = ports.iter().enumerate().map(prepare);
        let mut ensemble = Self { servers: servers.collect::<io::Result<_>>()? };
        for server in &mut ensemble.servers {
            server.spawn()?;
        }
        ensemble.wait_until_served()?;
        Ok(ensemble)
    }

    /// How many servers it has, running or not.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.servers.len()
    }

    /// One of them.
    #[must_use]
    pub fn server(&self, server: usize) -> &ZkServer {
        &self.servers[server]
    }

    /// One of them, to stop or to start.
    #[must_use]
    pub fn server_mut(&mut self, server: usize) -> &mut ZkServer {
        &mut self.servers[server]
    }

    /// Waits until all that run and do not stand still serve, one of them as the leader, and says which.
    ///
    /// # Errors
    /// If they do not.
    pub fn wait_until_served(&self) -> io::Result<usize> {
        for _ in 0..MOST_LOOKS {
            let servers = self.servers.iter().enumerate().filter(|(_, server)| server.answers());
            let roles: io::Result<Vec<_>> = servers.map(|(i, server)| Ok((i, server.status()?.role))).collect();
            let leads = |(_, role): &&(usize, Role)| *role != Role::Follower;
            if let Ok(roles) = roles
                && let Some((leader, _)) = roles.iter().find(leads)
            {
                return Ok(*leader);
            }
            self.servers.iter().try_for_each(ZkServer::look_whether_it_is_dead)?;
            sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::other("the servers of ZooKeeper do not agree on a leader"))
    }
}

/// Where the others find it: for its followers, and for elections.
fn place(i: usize, ports: &[u16]) -> String {
    format!("server.{i}=127.0.0.1:{}:{}\n", ports[1], ports[2])
}

impl ZkServer {
    fn prepare(
        (number, clients): (usize, u16),
        settings: ZkSettings,
        places: &str,
        guard: Option<&Guard>,
    ) -> io::Result<Self> {
        let mut builder = tempfile::Builder::new();
        builder.prefix("fencepost-zookeeper-");
        let in_memory = Path::new(IN_MEMORY);
        let folder = if in_memory.is_dir() { builder.tempdir_in(in_memory)? } else { builder.tempdir()? };
        let data = folder.path().join("data");
        std::fs::create_dir(&data)?;
        std::fs::write(data.join("myid"), number.to_string())?;
        let Millis(tick) = settings.tick;
        let config = format!(
            "tickTime={tick}\ninitLimit=10\nsyncLimit=5\ndataDir={}\nclientPort={clients}\n\
             clientPortAddress=127.0.0.1\nmaxClientCnxns=0\nadmin.enableServer=false\n\
             4lw.commands.whitelist=srvr\n{places}",
            data.display()
        );
        std::fs::write(folder.path().join(CONFIG), config)?;
        let ahead = settings.own_clocks.then(|| AheadClock::new(folder.path(), 0)).transpose()?;
        let (containers, guard) = (settings.containers, guard.cloned());
        Ok(Self { process: None, stands_still: false, clients, containers, ahead, guard, folder })
    }

    /// Connects to it, as a client that has no session yet.
    ///
    /// # Errors
    /// If it does not run.
    pub fn connect(&self) -> io::Result<Connection> {
        Connection::open(self.clients)
    }

    /// Where it listens for clients.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.clients
    }

    /// Whether it runs and does not stand still.
    #[must_use]
    pub const fn answers(&self) -> bool {
        self.process.is_some() && !self.stands_still
    }

    /// What it says of itself.
    ///
    /// # Errors
    /// If it does not serve.
    pub fn status(&self) -> io::Result<Status> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.clients))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(b"srvr")?;
        let mut said = String::new();
        stream.read_to_string(&mut said)?;
        let field = |name: &str| said.lines().find_map(|line| line.strip_prefix(name));
        let role = match field("Mode: ") {
            Some("standalone") => Some(Role::Alone),
            Some("leader") => Some(Role::Leader),
            Some("follower") => Some(Role::Follower),
            _ => None,
        };
        let zxid = field("Zxid: 0x").and_then(|digits| u64::from_str_radix(digits, 16).ok()).map(Zxid);
        role.zip(zxid).map(|(role, zxid)| Status { role, zxid }).ok_or_else(|| io::Error::other(said))
    }

    /// What it has written down, in order. It may run meanwhile. (The last of it may not be agreed upon
    /// yet: it is written before.)
    ///
    /// # Errors
    /// If that cannot be read.
    pub fn logged(&self) -> io::Result<Vec<Logged>> {
        let folder = self.folder.path().join("data").join("version-2");
        let files = std::fs::read_dir(&folder)?.collect::<io::Result<Vec<_>>>()?;
        // They are called after the first number in them.
        let first = |file: &std::fs::DirEntry| {
            let name = file.file_name();
            u64::from_str_radix(name.to_str()?.strip_prefix("log.")?, 16).ok()
        };
        let mut files: Vec<_> = files.iter().filter_map(|file| Some((first(file)?, file.path()))).collect();
        files.sort();
        let mut all = Vec::new();
        for (_, file) in files {
            all.extend(read_log(&std::fs::read(file)?).map_err(io::Error::other)?);
        }
        Ok(all)
    }

    /// From now on its wall clock is so many ns ahead.
    ///
    /// # Errors
    /// If it was not started with a clock of its own.
    pub fn set_ahead(&self, nanos: i64) -> io::Result<()> {
        self.ahead.as_ref().ok_or_else(|| io::Error::other("it reads the machine's clock"))?.set_ahead(nanos)
    }

    /// Starts it after it has ended, with what is in its folder.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.spawn()
    }

    /// Kills it: it has no say in it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&mut self) -> io::Result<ExitStatus> {
        self.stands_still = false;
        self.process.take().ok_or_else(not_running)?.end(Signal::KILL)
    }

    /// Stops it where it stands, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&mut self) -> io::Result<()> {
        self.stands_still = true;
        self.process.as_ref().ok_or_else(not_running)?.stop()
    }

    /// Lets it run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&mut self) -> io::Result<()> {
        self.stands_still = false;
        self.process.as_ref().ok_or_else(not_running)?.signal(Signal::CONT)
    }

    /// A server that ends by itself has not got what it needs.
    fn look_whether_it_is_dead(&self) -> io::Result<()> {
        if self.process.as_ref().is_some_and(Process::has_ended) {
            let said = std::fs::read_to_string(self.log()).unwrap_or_default();
            return Err(io::Error::other(format!("ZooKeeper has ended:\n{said}")));
        }
        Ok(())
    }

    fn spawn(&mut self) -> io::Result<()> {
        let mut command = self.guard.as_ref().map_or_else(|| Command::new(JAVA), |guard| guard.command(JAVA));
        let Millis(containers) = self.containers;
        command.args(SETTINGS).arg(format!("-Dznode.container.checkIntervalMs={containers}"));
        command.args(["-cp", JARS, "org.apache.zookeeper.server.quorum.QuorumPeerMain"]);
        command.arg(self.folder.path().join(CONFIG)).current_dir(self.folder.path());
        for (name, value) in self.ahead.as_ref().map(AheadClock::variables).into_iter().flatten() {
            command.env(name, value);
        }
        let log = std::fs::File::create(self.log())?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        self.process = Some(Process::new(child, Some(self.folder.path())));
        Ok(())
    }

    fn log(&self) -> PathBuf {
        self.folder.path().join("log")
    }
}

const CONFIG: &str = "zoo.cfg";

fn not_running() -> io::Error {
    io::Error::other("this ZooKeeper does not run")
}
