//! etcd, as it is installed: one server, or the members of a cluster.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use models::etcd::wire::Json;
use rustix::process::Signal;
use tempfile::TempDir;

use super::Process;
use crate::gateway::Gateway;

/// The program.
const PROGRAM: &str = "etcd";
/// How often a cluster is begun anew, if somebody else took one of its ports in between.
const MOST_BEGINS: usize = 5;
/// How long a member may take to know of a leader.
const MOST_LOOKS: usize = 1_500;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// A folder in memory: etcd waits for its disk at every write, and nothing here asks what a disk keeps without power.
const IN_MEMORY: &str = "/dev/shm";

/// The members of one cluster, each with a folder of its own. Dropped, they are killed and their folders removed.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<Member>,
    /// Who is where, as etcd is told.
    together: String,
}

#[derive(Debug)]
struct Member {
    // Before the folder in which it works.
    process: Option<Process>,
    stands_still: bool,
    name: String,
    clients: u16,
    peers: u16,
    gateway: Gateway,
    folder: TempDir,
}

impl EtcdCluster {
    /// What is installed: `etcd 3.4.23`.
    ///
    /// # Errors
    /// If nothing is.
    pub fn version() -> io::Result<String> {
        let said = Command::new(PROGRAM).arg("--version").output()?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version = said.lines().find_map(|line| line.strip_prefix("etcd Version: "));
        let version =
            version.ok_or_else(|| io::Error::other(format!("{PROGRAM} does not know its version: {said}")))?;
        Ok(format!("etcd {version}"))
    }

    /// Starts a new cluster of so many members on free ports of this machine. Returns once it has a leader.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start(size: usize) -> io::Result<Self> {
        let mut failed = None;
        for _ in 0..MOST_BEGINS {
            match Self::begin(size) {
                Ok(cluster) => return Ok(cluster),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    fn begin(size: usize) -> io::Result<Self> {
        // Held until all are known, so that no two are the same.
        let held: Vec<_> =
            (0..2 * size).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = held.iter().map(|port| Ok(port.local_addr()?.port())).collect::<io::Result<_>>()?;
        drop(held);
        let members = ports.chunks(2).enumerate().map(|(i, ports)| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("fencepost-etcd-");
            let in_memory = Path::new(IN_MEMORY);
            let folder = if in_memory.is_dir() { builder.tempdir_in(in_memory)? } else { builder.tempdir()? };
            let (clients, peers) = (ports[0], ports[1]);
            let gateway = Gateway::on(clients);
            Ok(Member { process: None, stands_still: false, name: format!("n{i}"), clients, peers, gateway, folder })
        });
        let members = members.collect::<io::Result<Vec<_>>>()?;
        let places = members.iter().map(|member| format!("{}={}", member.name, url(member.peers)));
        let together = places.collect::<Vec<_>>().join(",");
        let mut cluster = Self { members, together };
        for member in 0..size {
            cluster.spawn(member)?;
        }
        cluster.wait_until_led()?;
        Ok(cluster)
    }

    /// How many members it has, running or not.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.members.len()
    }

    /// A member's gateway.
    #[must_use]
    pub fn gateway(&self, member: usize) -> &Gateway {
        &self.members[member].gateway
    }

    /// Starts a member after it has ended, with what is in its folder.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self, member: usize) -> io::Result<()> {
        self.spawn(member)?;
        self.wait_until(member, |said| said.leader.is_some())
    }

    /// Kills a member: it has no say in it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&mut self, member: usize) -> io::Result<ExitStatus> {
        self.members[member].process.take().ok_or_else(not_running)?.end(Signal::KILL)
    }

    /// Stops a member where it stands, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&mut self, member: usize) -> io::Result<()> {
        let member = &mut self.members[member];
        member.stands_still = true;
        member.process.as_ref().ok_or_else(not_running)?.stop()
    }

    /// Lets a member run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&mut self, member: usize) -> io::Result<()> {
        let member = &mut self.members[member];
        member.stands_still = false;
        member.process.as_ref().ok_or_else(not_running)?.signal(Signal::CONT)
    }

    /// Waits until all members that run and do not stand still know of one leader among them, and says who it is.
    ///
    /// # Errors
    /// If they do not.
    pub fn wait_until_led(&self) -> io::Result<usize> {
        for _ in 0..MOST_LOOKS {
            let runs = |member: &usize| self.members[*member].process.is_some() && !self.members[*member].stands_still;
            let said: Vec<_> = (0..self.size()).filter(runs).map(|member| (member, self.status(member))).collect();
            let leaders: Option<Vec<_>> = said.iter().map(|(_, said)| said.as_ref().ok()?.leader.clone()).collect();
            if let Some(leaders) = leaders
                && leaders.windows(2).all(|two| two[0] == two[1])
                && let Some((leader, _)) = said.iter().find(|(_, said)| said.as_ref().is_ok_and(Status::leads))
            {
                return Ok(*leader);
            }
            self.look_for_the_dead()?;
            sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::other(format!("the members of {PROGRAM} do not agree on a leader")))
    }

    /// A server that ends by itself has not got what it needs.
    fn look_for_the_dead(&self) -> io::Result<()> {
        for member in self.members.iter().filter(|member| member.process.is_some()) {
            if member.process.as_ref().is_some_and(Process::has_ended) {
                let said = std::fs::read_to_string(member.log()).unwrap_or_default();
                return Err(io::Error::other(format!("{PROGRAM} has ended:\n{said}")));
            }
        }
        Ok(())
    }

    fn wait_until(&self, member: usize, holds: impl Fn(&Status) -> bool) -> io::Result<()> {
        for _ in 0..MOST_LOOKS {
            if self.status(member).is_ok_and(|status| holds(&status)) {
                return Ok(());
            }
            self.look_for_the_dead()?;
            sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::other(format!("{PROGRAM} does not start")))
    }

    fn status(&self, member: usize) -> io::Result<Status> {
        let (_, said) =
            self.members[member].gateway.post("/v3/maintenance/status", &Json::Object(Default::default()))?;
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let own = text(&said["header"]["member_id"]).ok_or_else(|| io::Error::other(said.to_string()))?;
        Ok(Status { own, leader: text(&said["leader"]) })
    }

    fn spawn(&mut self, number: usize) -> io::Result<()> {
        let member = &mut self.members[number];
        let (clients, peers) = (url(member.clients), url(member.peers));
        let mut command = Command::new(PROGRAM);
        command.args(["--name", &member.name, "--data-dir"]).arg(member.folder.path().join("data"));
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(["--initial-cluster", &self.together, "--log-level", "error"]);
        let log = std::fs::File::create(member.log())?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        member.process = Some(Process::new(child, Some(member.folder.path())));
        Ok(())
    }
}

impl Member {
    fn log(&self) -> std::path::PathBuf {
        self.folder.path().join("log")
    }
}

/// What a member says of itself.
struct Status {
    own: String,
    leader: Option<String>,
}

impl Status {
    fn leads(&self) -> bool {
        self.leader.as_ref() == Some(&self.own)
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn not_running() -> io::Error {
    io::Error::other(format!("this {PROGRAM} does not run"))
}
