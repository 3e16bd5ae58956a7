//! Processes: they start, stand still, run on, die, start again.

use std::io::{self, BufRead, BufReader};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::Sender;

use host::{Activity, Cue, Name, NodeId, Part, Segment, SimTime};
use rustix::process::Signal;

use super::{Coordinator, Event};
use crate::ledger::Heard;
use crate::line::{self, Order, say};
use crate::now;
use crate::resp::Connection;
use crate::servers::etcd::EtcdMember;
use crate::servers::pgbouncer::PgBouncer;
use crate::servers::postgres::{Ending, PgServer};
use crate::servers::redis::RedisServer;
use crate::servers::sentinel::Sentinel;
use crate::servers::zookeeper::ZkServer;
use crate::servers::{Guard, Process};
use crate::witness::{Told, Witness};

/// A node of the run.
pub(crate) struct Node {
    pub(super) name: Name,
    pub(super) runs: Runs,
    pub(super) is_alive: bool,
    /// How many faults make it stand still, and how many keep it down.
    paused: u32,
    down: u32,
    /// The parts of its process that hang, once for each fault that says so.
    stalled: Vec<Part>,
    /// Which life of its process this is, from 0.
    pub(super) life: u32,
    pub(super) activity: Vec<(SimTime, Activity)>,
    /// How many attempts it has opened, as far as is known.
    pub(super) attempts: u32,
    /// By how many ns its wall clock was ahead at first, and by how many it was stepped when.
    offset: i64,
    steps: Vec<(SimTime, i64)>,
}

/// What runs on a node.
pub(crate) enum Runs {
    /// A client; `None`: there is none right now.
    Client(Option<Client>),
    /// A lock server; `None`: it is being started.
    Server(Option<RedisServer>),
    /// A Sentinel.
    Sentinel(Sentinel),
    /// A member of an etcd cluster; `None`: it is being started.
    Member(Option<Box<EtcdMember>>),
    /// A server of a ZooKeeper ensemble.
    ZooKeeper(Box<ZkServer>),
    /// A PostgreSQL server.
    Postgres(Box<PgServer>),
    /// A pooler before one.
    Pooler(Box<PgBouncer>),
    /// The guarded resource, in this process.
    Resource,
}

impl Runs {
    /// Stops it where it stands.
    fn stop(&mut self) -> io::Result<()> {
        match self {
            Self::Client(Some(client)) => client.process.stop(),
            Self::Server(Some(server)) => server.pause(),
            Self::Sentinel(sentinel) => sentinel.pause(),
            Self::Member(Some(member)) => member.pause(),
            Self::ZooKeeper(server) => server.pause(),
            Self::Postgres(server) => server.pause(),
            Self::Pooler(pooler) => pooler.pause(),
            _ => Ok(()),
        }
    }

    /// Lets it run on.
    fn run_on(&mut self) -> io::Result<()> {
        match self {
            Self::Client(Some(client)) => client.process.signal(Signal::CONT),
            Self::Server(Some(server)) => server.resume(),
            Self::Sentinel(sentinel) => sentinel.resume(),
            Self::Member(Some(member)) => member.resume(),
            Self::ZooKeeper(server) => server.resume(),
            Self::Postgres(server) => server.resume(),
            Self::Pooler(pooler) => pooler.resume(),
            _ => Ok(()),
        }
    }

    /// Lets its wall clock be so many ns ahead, `by` more than before.
    fn set_ahead(&mut self, ahead: i64, by: i64) -> io::Result<()> {
        match self {
            // One that is not there yet is told as it begins.
            Self::Client(None) | Self::Server(None) | Self::Resource => Ok(()),
            Self::Member(_) => Err(io::Error::other("it asks the kernel for the time")),
            Self::Client(Some(client)) => say(&mut client.line, &Order::Step(by)),
            Self::Server(Some(server)) => server.set_ahead(ahead),
            Self::Sentinel(sentinel) => sentinel.set_ahead(ahead),
            // To set its clock is refused.
            Self::ZooKeeper(server) => server.set_ahead(ahead),
            // Refused as well: a log would not tell when.
            Self::Postgres(_) | Self::Pooler(_) => Err(io::Error::other("it reads the machine's clock")),
        }
    }
}

/// A client's process.
pub(crate) struct Client {
    process: Process,
    line: UnixStream,
}

impl Node {
    pub(super) const fn new(name: Name, runs: Runs, offset: i64) -> Self {
        Self {
            name,
            runs,
            is_alive: true,
            paused: 0,
            down: 0,
            stalled: Vec::new(),
            life: 0,
            activity: Vec::new(),
            attempts: 0,
            offset,
            steps: Vec::new(),
        }
    }

    /// By how many ns its wall clock is ahead.
    fn ahead(&self) -> i64 {
        self.steps.iter().fold(self.offset, |ahead, (_, by)| ahead.saturating_add(*by))
    }

    /// What its clocks read until then, if the machine's read that at first.
    pub(super) fn clocks(&self, machine: Segment, end: SimTime) -> Vec<Segment> {
        let mut last = Segment { wall: machine.wall.saturating_add(self.offset), ..machine };
        let mut clocks = vec![last];
        for (at, by) in self.steps.iter().filter(|(at, _)| *at <= end) {
            last = last.carried_to(*at);
            last.wall = last.wall.saturating_add(*by);
            clocks.push(last);
        }
        clocks
    }

    /// Which life it lives, if it does.
    pub(super) fn living(&self) -> Option<u32> {
        self.is_alive.then_some(self.life)
    }

    fn record(&mut self, at: SimTime) {
        let activity = match self {
            Self { is_alive: false, .. } => Activity::Dead,
            Self { paused: 1.., .. } => Activity::Paused,
            Self { stalled, .. } if stalled.contains(&Part::WORKER) => Activity::Stalled,
            Self { stalled, .. } if stalled.contains(&Part::RENEWAL) => Activity::Unrenewed,
            _ => Activity::Running,
        };
        if activity != self.activity.last().map_or(Activity::Running, |(_, activity)| *activity) {
            self.activity.push((at, activity));
        }
    }
}

/// A lock server that is up, and how it came to be.
pub(super) struct Up {
    pub(super) server: RedisServer,
    pub(super) witness: Witness,
    /// The keys that it had from the start.
    keys: Vec<Name>,
}

/// A server that was started again, and the keys that it had from the start.
pub(crate) type Again = io::Result<(Box<RedisServer>, Vec<Name>)>;

/// Gets a server ready that runs, and lets it listen: `before` is called when nobody has reached it yet.
pub(super) fn open(mut server: RedisServer, before: impl FnOnce()) -> io::Result<Up> {
    let witness = Witness::listen(&server.socket())?;
    let keys = keys_of(&server.socket())?;
    before();
    server.open()?;
    Ok(Up { server, witness, keys })
}

/// Passes on what a server tells, to its end. Who is made a primary, or a replica, ends its clients' connections, this
/// one too: it is opened again, and says what the server is now.
pub(super) fn attend(node: NodeId, life: u32, (mut witness, socket): (Witness, &Path), tell: &Sender<Event>) {
    let process = process_of(socket);
    let why = loop {
        let error = match witness.next() {
            Ok(told) => match tell.send(Event::Told(node, told)) {
                Ok(()) => continue,
                Err(_) => return,
            },
            Err(error) => error,
        };
        let same = error.kind() != io::ErrorKind::InvalidData && process.is_some() && process_of(socket) == process;
        let again = same.then(|| Witness::listen(socket).and_then(|witness| Ok((witness, role(socket)?))));
        match again {
            Some(Ok((again, told))) => {
                witness = again;
                let _ = tell.send(Event::Told(node, told));
            }
            Some(Err(_)) | None => break error,
        }
    };
    let is_garbled = why.kind() == io::ErrorKind::InvalidData;
    let _ = tell.send(Event::Hushed(node, life, is_garbled.then(|| why.to_string())));
}

/// By what a server's process differs from all others.
fn process_of(socket: &Path) -> Option<String> {
    let info = Connection::open_socket(socket).and_then(|mut line| line.ask(&["INFO", "server"])).ok()?;
    let info = String::from_utf8_lossy(&info).into_owned();
    info.lines().find(|line| line.starts_with("run_id:")).map(str::to_owned)
}

/// Whether it is a primary or a replica.
fn role(socket: &Path) -> io::Result<Told> {
    let role = Connection::open_socket(socket)?.ask(&["ROLE"])?;
    let leads = String::from_utf8_lossy(&role).contains("master");
    Ok(if leads { Told::Leads(keys_of(socket)?) } else { Told::Follows })
}

/// The keys that it has.
fn keys_of(socket: &Path) -> io::Result<Vec<Name>> {
    let keys = Connection::open_socket(socket)?.ask_for_list(&["KEYS", "*"])?;
    Ok(keys.iter().map(|key| String::from_utf8_lossy(key).as_ref().into()).collect())
}

impl Client {
    /// Starts the process of a client, which then reads its part.
    pub(super) fn start(part: &line::Part, tell: Sender<Event>) -> io::Result<Self> {
        let (mut line, end) = UnixStream::pair()?;
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["client", "--parent", &std::process::id().to_string()]).process_group(0);
        let child = command.stdin(Stdio::from(OwnedFd::from(end))).stdout(Stdio::null()).spawn()?;
        let process = Process::new(child, None);
        // Its end of the line is its own: who holds another would never hear of its death.
        drop(command);
        say(&mut line, &Order::Prepare(Box::new(part.clone())))?;
        let (reports, node, life) = (BufReader::new(line.try_clone()?), part.seat.node, part.seat.life);
        std::thread::spawn(move || {
            for report in reports.lines().map_while(Result::ok) {
                let event = match serde_json::from_str(&report) {
                    Ok(report) => Event::Said(node, life, report),
                    Err(error) => Event::Garbled(node, format!("{error} in {report}")),
                };
                if tell.send(event).is_err() {
                    return;
                }
            }
            let _ = tell.send(Event::Silent(node, life));
        });
        Ok(Self { process, line })
    }
}

impl Coordinator {
    /// Tells a client something. One that is dead does not hear it.
    pub(super) fn order(&mut self, node: NodeId, order: &Order) {
        if let Runs::Client(Some(client)) = &mut self.nodes[node.index()].runs {
            let _ = say(&mut client.line, order);
        }
    }

    /// Starts a client's process.
    pub(super) fn start_client(&mut self, node: NodeId) {
        let mut part = self.part.clone();
        (part.seat.node, part.seat.life) = (node, self.nodes[node.index()].life);
        match Client::start(&part, self.tell.clone()) {
            Ok(client) => self.nodes[node.index()].runs = Runs::Client(Some(client)),
            Err(error) => self.doubt(format!("a client could not be started: {error}")),
        }
        self.unfinished.insert(node);
        self.listening.insert((node, part.seat.life));
    }

    /// A client has read its part: it begins.
    pub(super) fn let_begin(&mut self, node: NodeId) {
        let come = (0..).zip(&self.cues).filter(|(_, come)| come.is_some()).map(|(cue, _)| Cue(cue)).collect();
        let (zero, ahead, attempts) = (self.zero, self.nodes[node.index()].ahead(), self.nodes[node.index()].attempts);
        self.order(node, &Order::Begin { zero, ahead, attempts, come });
        self.tell_of_cuts(node);
    }

    /// One more fault makes the process stand still, or one less.
    pub(super) fn change_paused(&mut self, node: NodeId, stop: bool) {
        let zero = self.zero;
        let state = &mut self.nodes[node.index()];
        let was = state.paused;
        state.paused = if stop { was + 1 } else { was - 1 };
        let done = if stop {
            let done = if was == 0 { state.runs.stop() } else { Ok(()) };
            // Whatever it did before it stood is before this.
            state.record(now::since(zero));
            done
        } else {
            // What it does next is not before this.
            state.record(now::since(zero));
            if was == 1 { state.runs.run_on() } else { Ok(()) }
        };
        if let Err(error) = done {
            self.doubt(format!("a process could not be stopped: {error}"));
        }
    }

    /// One more fault makes a part of a client hang, or one less.
    pub(super) fn change_stalled(&mut self, node: NodeId, part: Part, hangs: bool) {
        let order = Order::Hang { part: part.0.to_owned(), hangs };
        let state = &mut self.nodes[node.index()];
        if hangs {
            state.stalled.push(part);
            self.order(node, &order);
        } else if let Some(place) = state.stalled.iter().position(|other| *other == part) {
            state.stalled.remove(place);
        }
        let zero = self.zero;
        self.nodes[node.index()].record(now::since(zero));
        if !hangs {
            self.order(node, &order);
        }
    }

    /// The process dies, or is asked to end and does, and is kept down by one more fault.
    pub(super) fn bring_down(&mut self, node: NodeId, kill: bool) {
        let state = &mut self.nodes[node.index()];
        state.down += 1;
        if !state.is_alive {
            return;
        }
        let ended = match &mut state.runs {
            Runs::Client(client) => {
                self.unfinished.remove(&node);
                client.take().map_or(Ok(()), |client| client.process.end(Signal::KILL).map(drop))
            }
            Runs::Server(Some(server)) if kill => server.kill().map(drop),
            Runs::Server(Some(server)) => server.shut_down().map(drop),
            Runs::Postgres(server) if kill => server.kill().map(drop),
            Runs::Postgres(server) => server.stop(Ending::Fast).map(drop),
            // To kill a Sentinel is refused, or a server of ZooKeeper, or a pooler.
            Runs::Server(None)
            | Runs::Member(None)
            | Runs::Sentinel(_)
            | Runs::ZooKeeper(_)
            | Runs::Pooler(_)
            | Runs::Resource => Ok(()),
            Runs::Member(Some(member)) if kill => member.kill().map(drop),
            Runs::Member(Some(member)) => member.shut_down().map(drop),
        };
        (state.is_alive, state.paused) = (false, 0);
        state.stalled.clear();
        state.record(now::since(self.zero));
        if let Err(error) = ended {
            self.doubt(format!("a process could not be ended: {error}"));
        }
    }

    /// One fault less keeps the process down. If it was the last, it starts again.
    pub(super) fn let_up(&mut self, node: NodeId) {
        let state = &mut self.nodes[node.index()];
        state.down -= 1;
        if state.down > 0 || state.is_alive {
            return;
        }
        state.life += 1;
        let life = state.life;
        match &mut state.runs {
            Runs::Client(_) => {
                state.is_alive = true;
                state.record(now::since(self.zero));
                self.start_client(node);
            }
            Runs::Server(server) => {
                let Some(mut server) = server.take() else { return };
                let (tell, zero, socket) = (self.tell.clone(), self.zero, server.socket());
                // The run's end waits for it, as it does for what is due.
                self.pending += 1;
                std::thread::spawn(move || {
                    let mut at = SimTime::ZERO;
                    match server.start_again().and_then(|()| open(server, || at = now::since(zero))) {
                        Ok(Up { server, witness, keys }) => {
                            let _ = tell.send(Event::Again(node, life, at, Ok((Box::new(server), keys))));
                            // The kernel takes the server for this thread's child: it lives no longer.
                            attend(node, life, (witness, &socket), &tell);
                        }
                        Err(error) => _ = tell.send(Event::Again(node, life, at, Err(error))),
                    }
                });
            }
            Runs::Member(member) => {
                let Some(member) = member.take() else { return };
                self.start_member_again(node, life, member);
            }
            Runs::Postgres(server) => {
                // In this thread: the kernel takes the server for the child of the one that starts it.
                let again = server.start_again();
                (state.is_alive, state.paused) = (true, 0);
                state.record(now::since(self.zero));
                if let Err(error) = again {
                    self.doubt(format!("a lock server did not start again: {error}"));
                }
            }
            Runs::Sentinel(_) | Runs::ZooKeeper(_) | Runs::Pooler(_) | Runs::Resource => {}
        }
    }

    /// Its wall clock is stepped by so many ns.
    pub(super) fn step_clock(&mut self, node: NodeId, by: i64) {
        let at = self.now();
        let state = &mut self.nodes[node.index()];
        state.steps.push((at, by));
        let ahead = state.ahead();
        if let Err(error) = state.runs.set_ahead(ahead, by) {
            self.doubt(format!("a clock could not be set: {error}"));
        }
    }

    /// A lock server is up again.
    pub(super) fn is_again(&mut self, node: NodeId, life: u32, at: SimTime, again: Again) {
        self.pending -= 1;
        let (server, keys) = match again {
            Ok(again) => again,
            Err(error) => return self.doubt(format!("a lock server did not start again: {error}")),
        };
        self.heard[node.index()].push(Heard::Back(at, keys));
        self.lives_again(node, life, at, Runs::Server(Some(*server)));
    }

    pub(super) fn lives_again(&mut self, node: NodeId, life: u32, at: SimTime, runs: Runs) {
        self.listening.insert((node, life));
        let state = &mut self.nodes[node.index()];
        (state.runs, state.is_alive) = (runs, true);
        state.record(at);
        if state.down > 0 {
            // A fault that struck meanwhile finds it now.
            state.down -= 1;
            self.bring_down(node, true);
        }
    }

    /// A line of a server's that says nothing to anybody, or a change to a key.
    pub(super) fn told(&mut self, node: NodeId, told: Told) {
        if let Told::Ran { text, .. } = &told
            && text.contains(FENCE)
        {
            self.fences.remove(&node);
            return;
        }
        if matches!(told, Told::Leads(_)) {
            self.leader = Some(node);
        }
        let at = self.now();
        self.heard[node.index()].push(Heard::Told(at, told));
    }

    /// Asks every server that lives for a sign of life, behind which it has told all.
    pub(super) fn set_fences(&mut self) {
        for node in 0..self.nodes.len() {
            let (id, node) = (super::id(node), &self.nodes[node]);
            let Runs::Server(Some(server)) = &node.runs else { continue };
            if !node.is_alive {
                continue;
            }
            let asked = server.resume().and_then(|()| Connection::open_socket(&server.socket())?.ask(&["ECHO", FENCE]));
            match asked {
                Ok(_) => _ = self.fences.insert(id),
                Err(error) => self.doubts.push(format!("{} did not tell all: {error}", node.name)),
            }
        }
    }
}

/// How a server is started so that it ends with this program.
pub(super) fn guard() -> io::Result<Guard> {
    let args = ["guard", "--parent", &std::process::id().to_string(), "--"].map(str::to_owned);
    Ok(Guard::new(std::env::current_exe()?, args.to_vec()))
}

/// What a server is asked to say when all else is said.
const FENCE: &str = "fencepost: that was all";
