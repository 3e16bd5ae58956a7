//! What a scenario file means, once read: plain, checked data with every name resolved.
//!
//! A *cell* is one combination of the matrix's options: one world, one plan of faults, one set of
//! expectations. The loader makes cells; the runner plays them.

use std::collections::BTreeMap;
use std::sync::Arc;

use host::{Clock, Cue, Duration, Name, Operation, Part, Point, Ppm, Shortage, Span};
use models::guard::{Guard, Manner};
use models::lock::{Lock, Service};
use models::script::{Script, Step};
pub use sim::{Direction, Held};
use spec::{Assumption, Bounds, ObjectName, Property};

use crate::figure::FigureClaim;
use crate::frontier::{Bisection, Criterion, FrontierClaim};
pub use crate::profile::{Family, Profile};

/// A scenario file, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name: kebab-case, the file's stem in the catalogue.
    pub name: String,
    /// One line for `list`.
    pub title: String,
    /// Where the claim comes from.
    pub source: Vec<String>,
    /// Argument and residue.
    pub note: Option<String>,
    /// The text as it was read, so that a trace can carry it.
    pub text: Arc<str>,
    /// How many seeds the file asks for.
    pub seeds: u64,
    /// The matrix's axes, `lock` first, then in alphabetical order.
    pub axes: Vec<Axis>,
    /// Every combination, in the order of the axes (the last runs fastest).
    pub cells: Vec<Cell>,
}

/// One axis of the matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Its name, or the path that it sets.
    pub name: String,
    /// The labels of its options, in the file's order.
    pub options: Vec<String>,
    /// If it is a range that is searched: for what.
    pub bisection: Option<Bisection>,
}

impl Scenario {
    /// The axis that is searched, if one is: how far apart its neighbours lie among the cells, and for what.
    #[must_use]
    pub fn bisected(&self) -> Option<(usize, &Bisection)> {
        let mut stride = 1;
        self.axes.iter().rev().find_map(|axis| {
            let own = stride;
            stride *= axis.options.len();
            axis.bisection.as_ref().map(|bisection| (own, bisection))
        })
    }

    /// The indices of all cells.
    #[must_use]
    pub fn all_cells(&self) -> Vec<usize> {
        (0..self.cells.len()).collect()
    }
}

/// One combination: a whole world.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The option chosen on each axis but the lock's, in the order of the axes.
    pub params: Vec<(String, String)>,
    /// The lock.
    pub lock: Lock,
    /// How its servers are set.
    pub service: Service,
    /// True time at which the run ends at the latest.
    pub horizon: Duration,
    /// The lease's length. `None`: no expiry.
    pub ttl: Option<Duration>,
    /// Latencies and timeouts.
    pub network: Network,
    /// The environment from which latencies and faults are drawn, if there is one.
    pub profile: Option<Profile>,
    /// Clock settings of nodes that have any, by name.
    pub nodes: BTreeMap<String, NodeSettings>,
    /// The guarded resource.
    pub resource: Resource,
    /// The clients, in the order of their tables' names and then of their numbers.
    pub clients: Vec<Client>,
    /// The instants for which scripts wait; a script's `Await` holds the index.
    pub cues: Vec<(Cue, When)>,
    /// What goes wrong, in the order of the faults' names; then what the profile has.
    pub faults: Vec<Fault>,
    /// Within what something must have happened. A property that needs a bound and has none is not judged.
    pub bounds: Bounds,
    /// What must be true. Properties that no entry names must hold.
    pub expectations: BTreeMap<Property, Expectation>,
    /// What must be some number.
    pub figures: Vec<FigureClaim>,
    /// What turns along the bisected axis, if there is one.
    pub criterion: Option<Criterion>,
    /// What is expected of the frontier on the cell's line along it.
    pub frontier: Option<FrontierClaim>,
    /// The assumptions that must be broken, if an entry says.
    pub outside: Option<Vec<Assumption>>,
}

impl Cell {
    /// The placed faults that never landed in a run: those must land in each. Whether drawn ones land is a
    /// question to all seeds together.
    pub(crate) fn missed(&self, landed: &[bool]) -> impl Iterator<Item = &Fault> {
        self.faults.iter().zip(landed).filter(|(fault, landed)| !**landed && !fault.is_drawn()).map(|(fault, _)| fault)
    }

    /// Whether the script of some client asks for a lock that somebody grants.
    pub(crate) fn wants_a_grant(&self) -> bool {
        let acquires = |step: &Step| matches!(step, Step::Acquire { .. });
        self.clients.iter().any(|client| client.lock != Lock::None && client.script.all_steps().any(acquires))
    }
}

/// Latencies and timeouts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// One way between a client and a lock server.
    pub client_server: Span,
    /// One way between a client and the resource.
    pub client_resource: Span,
    /// One way between two lock servers.
    pub server_server: Span,
    /// How long a client waits for an answer.
    pub call_timeout: Duration,
}

/// A node's clocks from the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeSettings {
    /// By how much they run fast.
    pub rate: Ppm,
    /// By how much the wall clock is ahead, in ns.
    pub wall_offset: i64,
}

/// The guarded resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resource {
    /// Its check.
    pub guard: Guard,
    /// How the check is applied.
    pub manner: Manner,
    /// The objects that it has. `None`: those that the scripts name.
    pub objects: Option<Vec<ObjectName>>,
    /// Whether they are in the lock's own store.
    pub is_in_store: bool,
}

/// A client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its name: the table's, or `NAME-1` and so on with `count`.
    pub name: String,
    /// What it does.
    pub script: Script,
    /// Its lock: the cell's, or its own on the same servers.
    pub lock: Lock,
    /// The length of its lease. `None`: no expiry.
    pub ttl: Option<Duration>,
    /// The lock servers that it knows, in the order in which it asks them. `None`: all that grant.
    pub servers: Option<Vec<String>>,
}

/// A node, or a role that is resolved when the fault fires.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum NodeRef {
    /// That one.
    Named(String),
    /// Whoever reached the fault's milestone.
    Holder,
    /// The lock server that is the primary when the fault strikes.
    Primary,
    /// The member of a cluster that leads when the fault strikes.
    Leader,
    /// One of these, drawn for each seed.
    Any(Vec<String>),
}

/// One thing that goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// Its name in the file.
    pub name: String,
    /// What.
    pub what: What,
    /// When it begins.
    pub when: When,
    /// How long it lasts.
    pub lasts: Lasts,
    /// If a profile brought it along: the family with which it is there or not.
    pub family: Option<Family>,
}

impl Fault {
    /// Whether its moment, its target, or that it strikes at all, is drawn for each seed. What is not drawn is placed.
    #[must_use]
    pub fn is_drawn(&self) -> bool {
        let mut any = false;
        self.what.clone().each_node(&mut |node| any |= matches!(node, NodeRef::Any(_)));
        any || self.family.is_some() || matches!(self.when, When::Within { .. })
    }
}

/// What goes wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum What {
    /// The process stands still; its clocks run on.
    Pause(Vec<NodeRef>),
    /// The machine sleeps: the monotonic clock stands still.
    MachineSleep(Vec<NodeRef>),
    /// The virtual machine is stopped: all clocks stand still.
    VmStop(Vec<NodeRef>),
    /// The process dies; its connections are reset.
    Kill(Vec<NodeRef>),
    /// The process is asked to end, and does.
    Shutdown(Vec<NodeRef>),
    /// The machine loses power: silence, and what was not synced is lost.
    PowerOff(Vec<NodeRef>),
    /// A backup is put back.
    Restore {
        /// Whose.
        node: Vec<NodeRef>,
        /// From which moment of the run.
        as_of: Duration,
    },
    /// The caller's acquire is abandoned, as by an interrupt of its thread; the process lives on.
    Cancel(Vec<NodeRef>),
    /// One part of a process hangs while the others live.
    Stall {
        /// Whose.
        node: NodeRef,
        /// Which part.
        part: Part,
    },
    /// Periodic short pauses.
    Throttle {
        /// Whose.
        node: NodeRef,
        /// For how long it runs each time.
        run: Duration,
        /// For how long it stands each time.
        stop: Duration,
    },
    /// The wall clock is set.
    StepClock {
        /// Whose.
        node: Vec<NodeRef>,
        /// By how many ns.
        by: i64,
    },
    /// All clocks of the machine run at another rate.
    ClockRate {
        /// Whose.
        node: Vec<NodeRef>,
        /// At which.
        rate: Ppm,
    },
    /// Something is wrong with the disk, or with what else a machine lends its server.
    Disk {
        /// Whose.
        node: Vec<NodeRef>,
        /// What.
        how: DiskFault,
    },
    /// An operator makes a replica the primary.
    Promote(Vec<NodeRef>),
    /// A lock server forgets a key to make room.
    Evict {
        /// Which servers.
        node: Vec<NodeRef>,
        /// Which key.
        key: Name,
    },
    /// Nothing passes.
    Cut {
        /// Between which nodes.
        link: Link,
        /// What becomes of the bytes that meet it.
        held: Held,
    },
    /// Everything takes longer.
    Slow {
        /// Between which nodes.
        link: Link,
        /// By how much.
        by: Span,
    },
    /// All connections between the nodes are reset.
    Reset(Link),
    /// Connections are reset for one side alone.
    HalfOpen {
        /// Who loses them.
        forgets: Vec<NodeRef>,
        /// Who takes them to be alive.
        believes: Vec<NodeRef>,
    },
    /// One message (or each that matches) is lost, and its connection with it.
    Drop(MessageMatch),
    /// One message (or each that matches) takes longer.
    Delay {
        /// Which.
        message: MessageMatch,
        /// By how much.
        by: Span,
    },
}

impl What {
    /// Shows every node that it names.
    pub(crate) fn each_node(&mut self, see: &mut impl FnMut(&mut NodeRef)) {
        match self {
            Self::Pause(nodes)
            | Self::MachineSleep(nodes)
            | Self::VmStop(nodes)
            | Self::Kill(nodes)
            | Self::Shutdown(nodes)
            | Self::PowerOff(nodes)
            | Self::Cancel(nodes)
            | Self::Promote(nodes)
            | Self::Restore { node: nodes, .. }
            | Self::StepClock { node: nodes, .. }
            | Self::ClockRate { node: nodes, .. }
            | Self::Disk { node: nodes, .. }
            | Self::Evict { node: nodes, .. } => nodes.iter_mut().for_each(see),
            Self::Stall { node, .. } | Self::Throttle { node, .. } => see(node),
            Self::Cut { link, .. } | Self::Slow { link, .. } | Self::Reset(link) => {
                let (Link::Between(one, other) | Link::OneWay { from: one, to: other }) = link;
                one.iter_mut().chain(other).for_each(see);
            }
            Self::HalfOpen { forgets, believes } => forgets.iter_mut().chain(believes).for_each(see),
            Self::Drop(message) | Self::Delay { message, .. } => {
                message.of.iter_mut().chain(&mut message.server).for_each(see);
            }
        }
    }

    /// The part of a process that it strikes, if it leaves the others alone.
    #[must_use]
    pub const fn part(&self) -> Option<&'static str> {
        match self {
            Self::Stall { part, .. } => Some(part.0),
            _ => None,
        }
    }

    /// Its name in scenario files and stories.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::MachineSleep(_) => "machine-sleep",
            Self::VmStop(_) => "vm-stop",
            Self::Kill(_) => "kill",
            Self::Shutdown(_) => "shutdown",
            Self::PowerOff(_) => "power-off",
            Self::Restore { .. } => "restore",
            Self::Cancel(_) => "cancel",
            Self::Stall { .. } => "stall",
            Self::Throttle { .. } => "throttle",
            Self::StepClock { .. } => "step-clock",
            Self::ClockRate { .. } => "clock-rate",
            Self::Disk { .. } => "disk",
            Self::Evict { .. } => "evict",
            Self::Promote(_) => "promote",
            Self::Cut { .. } => "cut",
            Self::Slow { .. } => "slow",
            Self::Reset(_) => "reset",
            Self::HalfOpen { .. } => "half-open",
            Self::Drop(_) => "drop",
            Self::Delay { .. } => "delay",
        }
    }
}

/// What is wrong with a disk, or with what else a machine lends its server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DiskFault {
    /// The machine is short of something.
    Fails(Shortage),
    /// Each sync takes so long.
    Slow(Span),
}

/// The nodes between which a link fault acts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Link {
    /// Both ways between any of the one and any of the other.
    Between(Vec<NodeRef>, Vec<NodeRef>),
    /// Only what the first send to the second.
    OneWay {
        /// The senders.
        from: Vec<NodeRef>,
        /// The receivers.
        to: Vec<NodeRef>,
    },
}

/// Which messages a message fault acts on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MessageMatch {
    /// Requests, replies or pushes.
    pub direction: Direction,
    /// Of this operation.
    pub operation: Operation,
    /// Of these clients.
    pub of: Vec<NodeRef>,
    /// At this server; `None`: at any.
    pub server: Option<NodeRef>,
    /// The how-manieth (from 1); `None`: every.
    pub nth: Option<u32>,
}

/// A moment of the run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum When {
    /// An instant of true time.
    At(Duration),
    /// Some instant of true time between these, both included, drawn for each seed.
    Within {
        /// Not before.
        from: Duration,
        /// Not after.
        to: Duration,
    },
    /// So long after a client reaches a milestone.
    Milestone(Milestone),
    /// Again and again.
    Every {
        /// First at this instant.
        at: Duration,
        /// Then after each such interval.
        every: Duration,
        /// So many times in all; `None`: to the end.
        times: Option<u32>,
    },
}

/// A named moment of a client's life.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Milestone {
    /// Whose; `None`: whoever gets there first.
    pub client: Option<String>,
    /// Where.
    pub point: Point,
    /// The how-manieth time, from 1.
    pub nth: u32,
    /// How long after.
    pub plus: Duration,
}

/// How long a fault lasts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Lasts {
    /// It is an instant.
    Instant,
    /// So long. For a kill: until the restart. Drawn anew each time it strikes.
    For(Span),
    /// The same, counted on that clock of the machine.
    By(Clock, Span),
    /// Until that moment.
    Until(When),
    /// To the end of the run.
    ToTheEnd,
}

/// What must be true of one property in one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// How often it is broken.
    pub expected: Expected,
    /// Why no twin repairs it, or why no claim is made.
    pub because: Option<String>,
}

/// How often a property is broken, over the seeds of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// In every seed.
    Always,
    /// In at least one seed.
    Broken,
    /// In none.
    Holds,
    /// No claim is made.
    Free,
}

impl Expected {
    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Broken => "broken",
            Self::Holds => "holds",
            Self::Free => "free",
        }
    }
}
