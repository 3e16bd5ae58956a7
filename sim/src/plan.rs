//! What goes wrong, and when: plain data, resolved to nodes.
//!
//! A fault is one *what*, one *when*, and how long it lasts. It says nothing of locks: what a fault does inside
//! a service is a [nudge](host::Domain::Nudge), which only the service understands.

use host::{Clock, Duration, NodeId, Operation, Part, Point, Ppm, Shortage, Span};

use crate::stream::Entity;

/// One thing that goes wrong, in a world with such nudges.
#[derive(Clone, Debug)]
pub struct Fault<N> {
    /// Whose randomness it draws from; give faults of the same name in two worlds the same entity,
    /// and they draw the same.
    pub entity: Entity,
    /// What.
    pub what: What<N>,
    /// When it strikes.
    pub when: When,
    /// How long it lasts.
    pub lasts: Lasts,
}

/// What goes wrong.
#[derive(Clone, Debug)]
pub enum What<N> {
    /// The process stands still (stop-the-world, `SIGSTOP`): clocks run on, messages queue in the
    /// socket, timers pass, nothing leaves.
    Pause(Vec<Target>),
    /// The machine sleeps: as a pause, and the monotonic clock stands; boot time and wall clock are
    /// right on resume. The machine does not answer the network.
    MachineSleep(Vec<Target>),
    /// The virtual machine is stopped: as a sleep, and all its clocks stand.
    VmStop(Vec<Target>),
    /// The process dies; its connections are reset. It is restarted at the fault's end, from what its
    /// disk holds (the page cache survives), unless another fault keeps it dead or its machine asleep.
    Kill(Vec<Target>),
    /// The process is asked to end, and does: as soon as it can attend to it, it ends its tasks (their `Drop`
    /// code runs; a service is told), sends what it has decided to, and closes its connections. It is
    /// restarted at the fault's end, as after a kill.
    Shutdown(Vec<Target>),
    /// The machine loses power: silence, and what was not synced is lost. It is back at the fault's end.
    PowerOff(Vec<Target>),
    /// An operator stops the process and puts back what its disk had at that moment of the run: a backup. It is restarted at the fault's
    /// end.
    Restore(Vec<Target>, Duration),
    /// Whoever waits in that process and may be interrupted is; the process lives on. An instant.
    Cancel(Vec<Target>),
    /// One part of a process hangs; the others live.
    Stall(Target, Part),
    /// The process stands still for `stop` after every `run`, from the fault's start to its end.
    Throttle {
        /// Whose.
        target: Target,
        /// For how long it runs each time.
        run: Duration,
        /// For how long it stands each time.
        stop: Duration,
    },
    /// The wall clock is set ahead by so many ns (or back). An instant.
    StepClock(Vec<Target>, i64),
    /// All clocks of the machine run at this rate: a drift, or a slew while it lasts.
    ClockRate(Vec<Target>, Ppm),
    /// The machine is short of something, and its service knows.
    Shortage(Vec<Target>, Shortage),
    /// Each sync to the disk of the machine takes so long, and the thread that serves requests waits for it.
    SlowDisk(Vec<Target>, Span),
    /// Something happens inside a service, as soon as its process can attend to it. An instant.
    Nudge(Vec<Target>, N),
    /// Nothing passes on these links.
    Cut(Vec<Link>, Held),
    /// Everything on these links takes longer.
    Slow(Vec<Link>, Span),
    /// All connections over these links are reset. An instant.
    Reset(Vec<Link>),
    /// Connections between the one and the other are reset for the one alone: the other takes them to be alive,
    /// until it sends something and is told. An instant.
    HalfOpen {
        /// Who loses them.
        forgets: Vec<Target>,
        /// Who does not hear of it.
        believes: Vec<Target>,
    },
    /// Matching messages are lost, and with each its direction of the connection.
    Drop(MessageMatch),
    /// Matching messages take longer, and what follows them on their connection waits.
    Delay(MessageMatch, Span),
}

impl<N> What<N> {
    /// Its name in traces and scenario files.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::MachineSleep(_) => "machine-sleep",
            Self::VmStop(_) => "vm-stop",
            Self::Kill(_) => "kill",
            Self::Shutdown(_) => "shutdown",
            Self::PowerOff(_) => "power-off",
            Self::Restore(..) => "restore",
            Self::Cancel(_) => "cancel",
            Self::Stall(..) => "stall",
            Self::Throttle { .. } => "throttle",
            Self::StepClock(..) => "step-clock",
            Self::ClockRate(..) => "clock-rate",
            Self::Shortage(..) => "shortage",
            Self::SlowDisk(..) => "slow-disk",
            Self::Nudge(..) => "nudge",
            Self::Cut(..) => "cut",
            Self::Slow(..) => "slow",
            Self::Reset(_) => "reset",
            Self::HalfOpen { .. } => "half-open",
            Self::Drop(_) => "drop",
            Self::Delay(..) => "delay",
        }
    }

    /// The nodes on which it acts, in the order of their ids; for links, those that send.
    #[must_use]
    pub fn nodes(&self, cast: Cast) -> Vec<NodeId> {
        let targets: Vec<Target> = match self {
            Self::Pause(targets)
            | Self::MachineSleep(targets)
            | Self::VmStop(targets)
            | Self::Kill(targets)
            | Self::Shutdown(targets)
            | Self::PowerOff(targets)
            | Self::Restore(targets, _)
            | Self::Cancel(targets)
            | Self::StepClock(targets, _)
            | Self::ClockRate(targets, _)
            | Self::Shortage(targets, _)
            | Self::SlowDisk(targets, _)
            | Self::HalfOpen { forgets: targets, .. }
            | Self::Nudge(targets, _) => targets.clone(),
            Self::Stall(target, _) | Self::Throttle { target, .. } => vec![*target],
            Self::Cut(links, _) | Self::Slow(links, _) | Self::Reset(links) => {
                links.iter().map(|link| link.from).collect()
            }
            Self::Drop(matches) | Self::Delay(matches, _) => matches.clients.clone(),
        };
        let mut nodes: Vec<NodeId> = targets.into_iter().filter_map(|target| target.node(cast)).collect();
        nodes.sort_unstable();
        nodes.dedup();
        nodes
    }

    /// Whether it makes processes stand still, hang or die.
    #[must_use]
    pub const fn stops_processes(&self) -> bool {
        matches!(
            self,
            Self::Pause(_)
                | Self::MachineSleep(_)
                | Self::VmStop(_)
                | Self::Kill(_)
                | Self::Shutdown(_)
                | Self::PowerOff(_)
                | Self::Restore(..)
                | Self::Stall(..)
                | Self::Throttle { .. }
        )
    }
}

/// A node, or whoever it turns out to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// That one.
    Node(NodeId),
    /// The client that reached the fault's milestone.
    Reacher,
    /// The service that leads when the fault strikes; of several, the one that has led for the shortest time.
    Leader,
}

/// Who plays the roles when a fault strikes, as far as somebody does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Cast {
    /// The client that reached the fault's milestone.
    pub reacher: Option<NodeId>,
    /// The service that leads.
    pub leader: Option<NodeId>,
}

impl Target {
    /// Who it is, if that is known.
    #[must_use]
    pub const fn node(self, cast: Cast) -> Option<NodeId> {
        match self {
            Self::Node(node) => Some(node),
            Self::Reacher => cast.reacher,
            Self::Leader => cast.leader,
        }
    }
}

/// One direction between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The sender.
    pub from: Target,
    /// The receiver.
    pub to: Target,
}

/// What becomes of the bytes that meet a cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Held {
    /// They are lost: that direction of the connection is broken, and nothing later on it arrives,
    /// even after the heal.
    #[default]
    Dropped,
    /// They are delivered after the heal. (A connection is not opened across a cut all the same.)
    Linger,
}

/// Which messages a message fault acts on.
#[derive(Clone, Debug)]
pub struct MessageMatch {
    /// Which way they go.
    pub direction: Direction,
    /// What they ask for, or answer.
    pub operation: Operation,
    /// Whose calls they belong to.
    pub clients: Vec<Target>,
    /// At which server; `None`: at any.
    pub server: Option<Target>,
    /// The how-manieth match since the fault struck, from 1; `None`: every one.
    pub nth: Option<u32>,
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// From client to server.
    Request,
    /// From server to client, in answer.
    Reply,
    /// From server to client, unasked.
    Push,
}

/// A moment of a run.
#[derive(Clone, Debug)]
pub enum When {
    /// So long after the run began.
    At(Duration),
    /// Again and again.
    Every {
        /// First then.
        at: Duration,
        /// Then after each such interval.
        every: Duration,
        /// So many times in all; `None`: to the end.
        times: Option<u32>,
    },
    /// When a client reaches a milestone.
    Milestone {
        /// Which clients; empty: any.
        clients: Vec<NodeId>,
        /// Which milestone.
        point: Point,
        /// The how-manieth time any of them gets there, from 1.
        nth: u32,
        /// How long after.
        plus: Duration,
    },
    /// Before a node takes its `nth` step (from 1): an event that it admits, or a program point.
    Step {
        /// Which node.
        node: NodeId,
        /// Which of its steps.
        nth: u32,
    },
}

/// How long a fault lasts.
#[derive(Clone, Debug)]
pub enum Lasts {
    /// It is an instant.
    Instant,
    /// So long, drawn each time it strikes.
    For(Span),
    /// The same, counted on this clock of the node that it struck first: a supervisor's delay before it starts a
    /// process again.
    By(Clock, Span),
    /// Until that moment, counted from the run's beginning. If it comes first, the fault stays.
    Until(When),
    /// To the end of the run.
    ToTheEnd,
}
