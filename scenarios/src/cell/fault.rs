//! What goes wrong in a cell, by the names of scenario files.

use host::{Clock, Duration, Name, Operation, Part, Point, Ppm, Shortage, Span};
use sim::{Direction, Held};

use crate::profile::Family;

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
