//! One run on real servers: the coordinator.
//!
//! It starts the servers in folders of their own and a process for each client, hosts the guarded resource, stops and
//! kills processes when the plan says so, and writes down what everybody reports. It is one loop over one queue of events;
//! threads only read, each from one socket.
//!
//! | file | what |
//! |---|---|
//! | `world` | what the cell asks for |
//! | `servers` | the lock servers, started and put in touch |
//! | `lives` | processes: started, stopped, killed, started again |
//! | `meddling` | messages that are lost or late |
//! | `members` | what members of an etcd cluster tell, and who of them leads; what is asked of a ZooKeeper ensemble |
//! | `moments` | when faults strike and cues come |
//! | `faults` | what a strike does |
//! | `desk` | the guarded resource |
//! | `end` | what is still to be heard, and the account of all |
//!
//! **A pause at a milestone is exact.** A client that comes to a point for which a fault or a cue waits says so and waits
//! for leave. The coordinator first lets the fault strike, which stops the process and waits until it stands, and then
//! gives leave: it is read when the process runs again.
//!
//! **True time** is the machine's monotonic clock since the run's start; each note is stamped where it is made. Who owned
//! which key when, the servers tell themselves (`witness`, `ledger`).

mod desk;
mod end;
mod faults;
mod lives;
mod meddling;
mod members;
mod moments;
pub(crate) mod servers;
pub(crate) mod world;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use host::{Ending, MonoTime, NodeId, Segment, SimTime};
use models::Nudge;
use models::etcd::Revision;
use models::etcd::wire::Json;
use models::lock::ServerKind;
use models::zookeeper::SessionId;
use scenarios::{Cell, Player, Run};
use sim::{Fault, Stream, Strike, What};
use spec::{Entry, Note, Verdict};

use self::desk::Desk;
use self::faults::Grip;
use self::lives::{Again, Node, Runs, Up, attend};
use self::members::MemberAgain;
use self::moments::{Due, Trigger};
use self::servers::Started;
use self::world::{Cast, World};
use crate::backends::{AllStated, Stated};
use crate::changes::AllAsked;
use crate::ledger::{Heard, Sent};
use crate::line::{Order, Part, Report, Seat, States};
use crate::now;
use crate::revisions::{self, Asked};
use crate::witness::Told;

/// A run that was played.
#[derive(Debug)]
pub struct Played {
    /// What it was, judged. If there are doubts, nothing is decided.
    pub run: Run,
    /// What could not be found out, in words: none, and the history is whole.
    pub doubts: Vec<String>,
}

/// A scenario's text, and what is laid over it: what a client's process reads again.
#[derive(Clone, Debug)]
pub struct Source {
    /// The file, for messages.
    pub file: String,
    /// Its text.
    pub text: String,
    /// What is laid over it.
    pub set: Vec<String>,
}

/// What is told to the coordinator.
pub(crate) enum Event {
    /// A client says something.
    Said(NodeId, u32, Report),
    /// A client says what nobody understands.
    Garbled(NodeId, String),
    /// A client says nothing any more.
    Silent(NodeId, u32),
    /// A server tells something.
    Told(NodeId, Told),
    /// A server tells nothing any more; if it was not to be understood, why.
    Hushed(NodeId, u32, Option<String>),
    /// A member of a cluster tells of changes to keys, which was heard when the monotonic clock read that.
    Revised(NodeId, MonoTime, Json),
    /// A server is started again, since that instant.
    Again(NodeId, u32, SimTime, Again),
    /// A member of a cluster is.
    MemberAgain(NodeId, u32, SimTime, MemberAgain),
}

/// Plays a cell, the `index`-th of its scenario, with that seed. `begins` is called when all are there and the play
/// begins.
///
/// # Errors
/// If the servers or the clients cannot be started.
///
/// # Panics
/// If the cell has something that this world [refuses](crate::refusals).
pub fn play(
    source: &Source,
    index: usize,
    cell: &Cell,
    player: &Player<'_>,
    seed: u64,
    begins: impl FnOnce(),
) -> io::Result<Played> {
    let mut world = World::default();
    player.build_on(&mut world, seed);
    let mut coordinator = Coordinator::new(world, source, index, cell, seed)?;
    coordinator.gather()?;
    begins();
    let ending = coordinator.play(cell.horizon);
    let (outcome, doubts) = coordinator.conclude(ending);
    let mut run = player.conclude(seed, outcome);
    if let Some(why) = doubts.first() {
        for verdict in run.judgement.verdicts.values_mut() {
            *verdict = Verdict::Inconclusive(why.clone());
        }
    }
    Ok(Played { run, doubts })
}

/// A run under way.
pub(crate) struct Coordinator {
    part: Part,
    seed: u64,
    zero: MonoTime,
    /// The machine's, as the run began.
    clocks: Segment,
    /// What each lock server is.
    kinds: Vec<ServerKind>,
    /// The server that is the primary, if one is.
    leader: Option<NodeId>,
    nodes: Vec<Node>,
    desk: Desk,
    faults: Vec<Fault<Nudge>>,
    /// What each fault draws from.
    streams: Vec<Option<Stream>>,
    strikes: Vec<Strike>,
    grips: Vec<Grip>,
    triggers: Vec<Trigger>,
    cues: Vec<Option<SimTime>>,
    timers: BTreeMap<(SimTime, u64), Due>,
    queued: u64,
    /// How many things to come the run's end waits for.
    pending: u32,
    unfinished: BTreeSet<NodeId>,
    notes: Vec<Entry>,
    sent: Vec<Sent>,
    /// Where in `sent`, or in `asked`, a client's call is.
    calls: BTreeMap<(NodeId, u32, u64), usize>,
    /// By node.
    heard: Vec<Vec<Heard>>,
    /// What members of a cluster have told, what they were asked, and which revision each has come to.
    revisions: Vec<revisions::Told>,
    asked: Vec<Asked>,
    /// What servers of an ensemble were asked.
    sent_to_ensemble: AllAsked,
    /// What servers of PostgreSQL were asked.
    stated: AllStated,
    told_upto: BTreeMap<NodeId, Revision>,
    /// Up to which revision each has to tell before all is told.
    fenced: BTreeMap<NodeId, Revision>,
    /// The lives of clients and servers from which something may still come.
    listening: BTreeSet<(NodeId, u32)>,
    fences: BTreeSet<NodeId>,
    doubts: Vec<String>,
    events: u64,
    messages: u64,
    tell: Sender<Event>,
    hear: Receiver<Event>,
}

impl Coordinator {
    /// Starts the servers and gets everything ready.
    fn new(world: World, source: &Source, index: usize, cell: &Cell, seed: u64) -> io::Result<Self> {
        let (tell, hear) = channel();
        let (mut nodes, mut ports, mut desk, mut listening) = (Vec::new(), BTreeMap::new(), None, BTreeSet::new());
        let steps = |fault: &Fault<Nudge>| matches!(fault.what, What::StepClock(..));
        let own_clocks = world.faults.iter().any(steps) || world.nodes.iter().any(|(spec, _)| spec.wall_offset != 0);
        let mut servers = servers::start(cell, world.nodes.iter().map(|(spec, _)| spec), own_clocks)?.into_iter();
        for (spec, cast) in world.nodes {
            let node = id(nodes.len());
            let runs = match cast {
                Cast::Client => Runs::Client(None),
                Cast::Server => {
                    let server = servers.next().ok_or_else(|| io::Error::other("a server of no kind"))?;
                    ports.insert(node, server.port());
                    match server {
                        Started::Redis(up) => {
                            let Up { server, witness, .. } = *up;
                            let (teller, socket) = (tell.clone(), server.socket());
                            std::thread::spawn(move || attend(node, 0, (witness, &socket), &teller));
                            listening.insert((node, 0));
                            Runs::Server(Some(server))
                        }
                        Started::Sentinel(sentinel) => Runs::Sentinel(sentinel),
                        Started::ZooKeeper(server) => Runs::ZooKeeper(server),
                        Started::Postgres(server) => Runs::Postgres(server),
                        Started::Pooler(pooler) => Runs::Pooler(pooler),
                        Started::Member(member) => {
                            let (teller, lines) = (tell.clone(), members::listen(&member)?);
                            std::thread::spawn(move || members::attend(node, 0, &lines, &teller));
                            listening.insert((node, 0));
                            Runs::Member(Some(member))
                        }
                    }
                }
                Cast::Resource(factory) => {
                    desk = Some(Desk::new(node, factory()));
                    Runs::Resource
                }
            };
            nodes.push(Node::new(spec.name, runs, spec.wall_offset));
        }
        let Source { file, text, set } = source.clone();
        let (node, awaited) = (NodeId::default(), Vec::new());
        let mut coordinator = Self {
            part: Part { file, text, set, cell: index, seat: Seat { seed, node, life: 0, ports, awaited } },
            seed,
            zero: now::monotonic(),
            clocks: now::first_segment(),
            kinds: servers::kinds(cell),
            leader: servers::kinds(cell).iter().position(|kind| leads_at_first(*kind)).map(id),
            heard: vec![Vec::new(); nodes.len()],
            nodes,
            desk: desk.ok_or_else(|| io::Error::other("a world without a guarded resource"))?,
            streams: vec![None; world.faults.len()],
            faults: world.faults,
            strikes: Vec::new(),
            grips: Vec::new(),
            triggers: Vec::new(),
            cues: vec![None; world.cues.len()],
            timers: BTreeMap::new(),
            queued: 0,
            pending: 0,
            unfinished: BTreeSet::new(),
            notes: Vec::new(),
            sent: Vec::new(),
            revisions: Vec::new(),
            asked: Vec::new(),
            sent_to_ensemble: AllAsked::new(),
            stated: AllStated::new(),
            told_upto: BTreeMap::new(),
            fenced: BTreeMap::new(),
            calls: BTreeMap::new(),
            listening,
            fences: BTreeSet::new(),
            doubts: Vec::new(),
            events: 0,
            messages: 0,
            tell,
            hear,
        };
        coordinator.arm(&world.cues);
        let points: BTreeSet<_> = coordinator.triggers.iter().map(|trigger| trigger.point.to_owned()).collect();
        coordinator.part.seat.awaited = points.into_iter().collect();
        Ok(coordinator)
    }

    /// Plays to the end.
    fn play(&mut self, horizon: Duration) -> (Ending, SimTime) {
        (self.zero, self.clocks) = (now::monotonic(), now::first_segment());
        for node in self.clients() {
            self.let_begin(node);
        }
        let horizon = SimTime::ZERO + horizon;
        loop {
            self.do_what_is_due();
            if self.is_quiet() {
                return (Ending::Quiet, self.now());
            }
            let now = self.now();
            if now >= horizon {
                return (Ending::Horizon, horizon);
            }
            let next = self.timers.first_key_value().map_or(horizon, |(&(at, _), _)| at.min(horizon));
            if let Some(event) = self.next(next.since(now)) {
                self.take(event);
            }
        }
    }

    /// Starts the clients, and waits until each has read its part: they begin together.
    fn gather(&mut self) -> io::Result<()> {
        let mut to_come: BTreeSet<NodeId> = self.clients().into_iter().collect();
        for node in to_come.clone() {
            self.start_client(node);
        }
        while !to_come.is_empty() {
            match self.next(PATIENCE) {
                Some(Event::Said(node, _, Report::Ready)) => _ = to_come.remove(&node),
                Some(Event::Told(..) | Event::Revised(..)) => {}
                Some(_) | None => return Err(io::Error::other(format!("a client does not come: {:?}", self.doubts))),
            }
        }
        Ok(())
    }

    fn next(&self, within: Duration) -> Option<Event> {
        match self.hear.recv_timeout(within) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("the coordinator holds a sender itself"),
        }
    }

    /// Nothing is left that could change a verdict.
    fn is_quiet(&self) -> bool {
        self.unfinished.is_empty() && self.pending == 0 && !self.desk.is_busy()
    }

    fn take(&mut self, event: Event) {
        self.events += 1;
        match event {
            Event::Said(node, life, report) => self.hear_client(node, life, report),
            Event::Garbled(node, why) => self.doubt(format!("{} says what nobody understands: {why}", self.name(node))),
            Event::Silent(node, life) => {
                self.listening.remove(&(node, life));
                let is_new = self.nodes[node.index()].living() == Some(life);
                if is_new && self.unfinished.remove(&node) {
                    self.doubt(format!("{} ended before its script did", self.name(node)));
                }
            }
            Event::Told(node, told) => self.told(node, told),
            Event::Hushed(node, life, garbled) => {
                self.listening.remove(&(node, life));
                self.fences.remove(&node);
                if let Some(why) = garbled {
                    self.doubt(why);
                } else if self.nodes[node.index()].living() == Some(life) {
                    self.doubt(format!("{} ended by itself", self.name(node)));
                }
            }
            Event::Revised(node, heard, said) => self.revised(node, heard, &said),
            Event::Again(node, life, at, again) => self.is_again(node, life, at, again),
            Event::MemberAgain(node, life, at, again) => self.member_is_again(node, life, at, again),
        }
    }

    fn hear_client(&mut self, node: NodeId, life: u32, report: Report) {
        match report {
            Report::Ready => self.let_begin(node),
            Report::Note { at, note } => {
                if let Note::Attempting { attempt, .. } = note {
                    let attempts = &mut self.nodes[node.index()].attempts;
                    *attempts = (*attempts).max(attempt.ordinal());
                }
                self.notes.push(Entry { at, node, note });
            }
            Report::Reached { point, wait, .. } => {
                if self.nodes[node.index()].living() == Some(life) {
                    self.reach(node, &point);
                    self.order(node, &Order::Leave { wait });
                }
            }
            Report::Calls(call) => {
                self.meet(call.server);
                self.messages += 1;
                self.calls.insert((node, life, call.call), self.sent.len());
                self.sent.push(Sent { call, answered: None, served: false });
            }
            Report::Answered { at, call, served } => {
                self.messages += 1;
                if let Some(place) = self.calls.remove(&(node, life, call)) {
                    (self.sent[place].answered, self.sent[place].served) = (Some(at), served);
                }
            }
            Report::Met { strike } => self.met(strike, 1),
            Report::Asks(asks) => self.asks(node, life, &asks),
            Report::Sends(sends) => self.sends(&sends),
            Report::Heard { at, session, xid } => self.heard_from_ensemble(at, SessionId(session), xid),
            Report::States(States { at, call, server, attempt, lock }) => {
                self.meet(server);
                self.messages += 1;
                self.stated.insert((node, life, call), Stated { at, attempt, lock, answered: None });
            }
            Report::Stated { at, call, answer } => {
                self.messages += 1;
                if let Some(stated) = self.stated.get_mut(&(node, life, call)) {
                    stated.answered = Some((at, answer));
                }
            }
            Report::Replied { at, call, status, body } => self.replied((node, life, call), at, (status, &body)),
            Report::Operates { call, attempt, op } => self.operate((node, life), call, attempt, op),
            Report::Interrupted { strike, waited } => self.met(strike, waited),
            Report::Stranded { why } => self.doubt(format!("{} cannot go on: {why}", self.name(node))),
            Report::Finished => _ = self.unfinished.remove(&node),
        }
    }

    fn now(&self) -> SimTime {
        now::since(self.zero)
    }

    fn clients(&self) -> Vec<NodeId> {
        let is_client = |node: &usize| matches!(self.nodes[*node].runs, Runs::Client(_));
        (0..self.nodes.len()).filter(is_client).map(id).collect()
    }

    fn name(&self, node: NodeId) -> &'static str {
        self.nodes[node.index()].name.as_str()
    }

    /// Something could not be found out, or went wrong that no plan says.
    fn doubt(&mut self, why: String) {
        self.doubts.push(why);
    }
}

/// Whether the first server of that kind is the one whom the role of a leader means, at first.
const fn leads_at_first(kind: ServerKind) -> bool {
    matches!(kind, ServerKind::Primary | ServerKind::Etcd | ServerKind::ZooKeeper | ServerKind::Postgres)
}

fn id(index: usize) -> NodeId {
    NodeId::new(u16::try_from(index).expect("the loader refuses worlds of so many nodes"))
}

/// Longer than anything here takes that is well.
const PATIENCE: Duration = Duration::from_secs(20);
