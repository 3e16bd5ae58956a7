//! etcd, as it is installed: one server, or the members of a cluster.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::Duration;

use models::etcd::wire::Json;
use models::lock::etcd::{Checkpoints, EtcdServers, PreVote};
use rustix::process::Signal;
use tempfile::TempDir;

use super::{Guard, Process};
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

/// The members of one cluster. Dropped, they are killed and their folders removed.
#[derive(Debug)]
pub struct EtcdCluster {
    members: Vec<EtcdMember>,
}

/// One member of a cluster, with a folder of its own. Dropped, it is killed and its folder removed.
#[derive(Debug)]
pub struct EtcdMember {
    // Before the folder in which it works.
    process: Option<Process>,
    stands_still: bool,
    name: String,
    clients: u16,
    peers: u16,
    /// Who is where, and how it is set, as etcd is told.
    together: Vec<String>,
    gateway: Gateway,
    guard: Option<Guard>,
    folder: TempDir,
}

/// What a member says of itself.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Status {
    own: String,
    leader: Option<String>,
    term: u64,
}

impl Status {
    /// The term in which it leads, if it does.
    #[must_use]
    pub fn leads_in(&self) -> Option<u64> {
        (self.leader.as_ref() == Some(&self.own)).then_some(self.term)
    }
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
        Self::start_with(size, &[], None)
    }

    /// The same of members that are set so, under guard, of which the first leads.
    ///
    /// # Errors
    /// If it is not installed, or does not start.
    pub fn start_set(servers: &EtcdServers, guard: Guard) -> io::Result<Self> {
        let mut flags = Vec::new();
        if servers.pre_vote == PreVote::On {
            flags.push("--pre-vote");
        }
        if servers.checkpoints == Checkpoints::Persisted {
            flags.extend(["--experimental-enable-lease-checkpoint", "--experimental-enable-lease-checkpoint-persist"]);
        }
        let cluster = Self::start_with(usize::from(servers.members), &flags, Some(&guard))?;
        cluster.hand_leadership_to(0)?;
        Ok(cluster)
    }

    fn start_with(size: usize, flags: &[&str], guard: Option<&Guard>) -> io::Result<Self> {
        let mut failed = None;
        for _ in 0..MOST_BEGINS {
            match Self::begin(size, flags, guard) {
                Ok(cluster) => return Ok(cluster),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(error),
                Err(error) => failed = Some(error),
            }
        }
        Err(failed.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
    }

    fn begin(size: usize, flags: &[&str], guard: Option<&Guard>) -> io::Result<Self> {
        // Held until all are known, so that no two are the same.
        let held: Vec<_> =
            (0..2 * size).map(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0))).collect::<Result<_, _>>()?;
        let ports: Vec<u16> = held.iter().map(|port| Ok(port.local_addr()?.port())).collect::<io::Result<_>>()?;
        drop(held);
        let places: Vec<_> = (0..size).map(|i| format!("n{i}={}", url(ports[2 * i + 1]))).collect();
        let mut together = vec!["--initial-cluster".to_owned(), places.join(",")];
        together.extend(flags.iter().map(|flag| (*flag).to_owned()));
        let members = ports.chunks(2).enumerate().map(|(i, ports)| {
            let mut builder = tempfile::Builder::new();
            builder.prefix("fencepost-etcd-");
            let in_memory = Path::new(IN_MEMORY);
            let folder = if in_memory.is_dir() { builder.tempdir_in(in_memory)? } else { builder.tempdir()? };
            Ok(EtcdMember {
                process: None,
                stands_still: false,
                name: format!("n{i}"),
                clients: ports[0],
                peers: ports[1],
                together: together.clone(),
                gateway: Gateway::on(ports[0]),
                guard: guard.cloned(),
                folder,
            })
        });
        let mut cluster = Self { members: members.collect::<io::Result<Vec<_>>>()? };
        for member in &mut cluster.members {
            member.spawn()?;
        }
        cluster.wait_until_led()?;
        Ok(cluster)
    }

    /// Each for itself.
    #[must_use]
    pub fn into_members(self) -> Vec<EtcdMember> {
        self.members
    }

    /// How many members it has, running or not.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.members.len()
    }

    /// A member's gateway.
    #[must_use]
    pub fn gateway(&self, member: usize) -> &Gateway {
        self.members[member].gateway()
    }

    /// Starts a member after it has ended, with what is in its folder.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self, member: usize) -> io::Result<()> {
        self.members[member].spawn()?;
        self.members[member].wait_until(|said| said.leader.is_some())
    }

    /// Kills a member: it has no say in it.
    ///
    /// # Errors
    /// If it does not run.
    pub fn kill(&mut self, member: usize) -> io::Result<ExitStatus> {
        self.members[member].kill()
    }

    /// Stops a member where it stands, until it is [resumed](Self::resume).
    ///
    /// # Errors
    /// If it does not run.
    pub fn pause(&mut self, member: usize) -> io::Result<()> {
        self.members[member].pause()
    }

    /// Lets a member run on.
    ///
    /// # Errors
    /// If it does not run.
    pub fn resume(&mut self, member: usize) -> io::Result<()> {
        self.members[member].resume()
    }

    /// Waits until all members that run and do not stand still know of one leader among them, and says who it is.
    ///
    /// # Errors
    /// If they do not.
    pub fn wait_until_led(&self) -> io::Result<usize> {
        for _ in 0..MOST_LOOKS {
            let runs = |member: &usize| self.members[*member].answers();
            let said: Vec<_> =
                (0..self.size()).filter(runs).map(|member| (member, self.members[member].status())).collect();
            let leaders: Option<Vec<_>> = said.iter().map(|(_, said)| said.as_ref().ok()?.leader.clone()).collect();
            let leads = |said: &io::Result<Status>| said.as_ref().is_ok_and(|said| said.leads_in().is_some());
            if let Some(leaders) = leaders
                && leaders.windows(2).all(|two| two[0] == two[1])
                && let Some((leader, _)) = said.iter().find(|(_, said)| leads(said))
            {
                return Ok(*leader);
            }
            self.members.iter().try_for_each(EtcdMember::look_whether_it_is_dead)?;
            sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::other(format!("the members of {PROGRAM} do not agree on a leader")))
    }

    /// Lets that member lead.
    fn hand_leadership_to(&self, member: usize) -> io::Result<()> {
        let own = self.members[member].status()?.own;
        for _ in 0..MOST_LOOKS {
            let leader = self.wait_until_led()?;
            if leader == member {
                return Ok(());
            }
            let body = Json::Object([("targetID".to_owned(), Json::String(own.clone()))].into_iter().collect());
            // What it says is seen by who leads then.
            self.gateway(leader).post("/v3/maintenance/transfer-leadership", &body)?;
        }
        Err(io::Error::other(format!("a member of {PROGRAM} does not come to lead")))
    }
}

impl EtcdMember {
    /// Where it listens for clients.
    #[must_use]
    pub const fn port(&self) -> u16 {
        self.clients
    }

    /// Its gateway.
    #[must_use]
    pub const fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Whether it runs and does not stand still.
    #[must_use]
    pub const fn answers(&self) -> bool {
        self.process.is_some() && !self.stands_still
    }

    /// What it says of itself, whoever else is there.
    ///
    /// # Errors
    /// If it does not answer.
    pub fn status(&self) -> io::Result<Status> {
        let (_, said) = self.gateway.post("/v3/maintenance/status", &Json::Object(Default::default()))?;
        let text = |json: &Json| json.as_str().map(str::to_owned);
        let own = text(&said["header"]["member_id"]).ok_or_else(|| io::Error::other(said.to_string()))?;
        let term = said["raftTerm"].as_str().and_then(|term| term.parse().ok()).unwrap_or(0);
        Ok(Status { own, leader: text(&said["leader"]), term })
    }

    /// Starts it after it has ended, with what is in its folder. Returns once it answers.
    ///
    /// # Errors
    /// If it does not start.
    pub fn start_again(&mut self) -> io::Result<()> {
        self.spawn()?;
        self.wait_until(|_| true)
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

    fn end(&mut self, signal: Signal) -> io::Result<ExitStatus> {
        self.stands_still = false;
        self.process.take().ok_or_else(not_running)?.end(signal)
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
            return Err(io::Error::other(format!("{PROGRAM} has ended:\n{said}")));
        }
        Ok(())
    }

    fn wait_until(&self, holds: impl Fn(&Status) -> bool) -> io::Result<()> {
        for _ in 0..MOST_LOOKS {
            if self.status().is_ok_and(|status| holds(&status)) {
                return Ok(());
            }
            self.look_whether_it_is_dead()?;
            sleep(BETWEEN_LOOKS);
        }
        Err(io::Error::other(format!("{PROGRAM} does not start")))
    }

    fn spawn(&mut self) -> io::Result<()> {
        let (clients, peers) = (url(self.clients), url(self.peers));
        let mut command = self.guard.as_ref().map_or_else(|| Command::new(PROGRAM), |guard| guard.command(PROGRAM));
        command.args(["--name", &self.name, "--data-dir"]).arg(self.folder.path().join("data"));
        command.args(["--listen-client-urls", &clients, "--advertise-client-urls", &clients]);
        command.args(["--listen-peer-urls", &peers, "--initial-advertise-peer-urls", &peers]);
        command.args(&self.together).args(["--log-level", "error"]);
        let log = std::fs::File::create(self.log())?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        self.process = Some(Process::new(child, Some(self.folder.path())));
        Ok(())
    }

    fn log(&self) -> std::path::PathBuf {
        self.folder.path().join("log")
    }
}

fn url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn not_running() -> io::Error {
    io::Error::other(format!("this {PROGRAM} does not run"))
}
