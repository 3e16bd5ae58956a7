//! One machine with one process: what the kernel keeps of it.

use host::{Activity, Disk, MonoTime, Name, NodeId, Part, Ppm, Segment, Shortages, SimTime, Span, Ticking, TimerId};

use crate::event::{Event, Waiting};
use crate::outcome::NodeOutcome;
use crate::stream::{Entity, Stream};
use crate::tasks::TaskId;

/// A node as the world's builder describes it.
#[derive(Clone, Copy, Debug)]
pub struct NodeSpec {
    /// Its name in traces.
    pub name: Name,
    /// Whose randomness it draws from.
    pub entity: Entity,
    /// By how much its clocks run fast from the start.
    pub rate: Ppm,
    /// By how much its wall clock is ahead from the start, in ns.
    pub wall_offset: i64,
}

/// What runs on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A program that ends.
    Client,
    /// A service; `awaited`: a run does not end while something is on its way to it.
    Service { awaited: bool },
}

/// How many faults make a process stand still, by kind.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Standing {
    pub(crate) paused: u32,
    pub(crate) asleep: u32,
    pub(crate) stopped: u32,
}

impl Standing {
    pub(crate) const fn is_still(self) -> bool {
        self.paused > 0 || self.machine() > 0
    }

    /// How many faults make the whole machine stand still, so that it does not answer the network.
    pub(crate) const fn machine(self) -> u32 {
        self.asleep + self.stopped
    }

    pub(crate) const fn ticking(self) -> Ticking {
        if self.stopped > 0 {
            Ticking::None
        } else if self.asleep > 0 {
            Ticking::AllButMonotonic
        } else {
            Ticking::All
        }
    }
}

/// An event that waits: for the machine if it is the machine's, else for the process and, if it belongs to
/// one, for that part of it.
pub(crate) struct HeldUp {
    pub(crate) part: Option<Part>,
    pub(crate) order: Waiting,
    pub(crate) event: Event,
}

impl HeldUp {
    /// Whether it waits for the machine, be the process dead or alive.
    pub(crate) const fn is_of_the_machine(&self) -> bool {
        matches!(self.event, Event::Arrive(_) | Event::Send(_))
    }
}

pub(crate) struct Node<R> {
    pub(crate) id: NodeId,
    pub(crate) spec: NodeSpec,
    pub(crate) role: Role,
    /// Counts the lives of its process: effects of an earlier life are ignored.
    pub(crate) life: u32,
    pub(crate) alive: bool,
    /// It lives and runs, and no part of it hangs: what every step asks first. Its machine has power and is awake then.
    pub(crate) at_ease: bool,
    /// How many strikes in force keep its process from living.
    pub(crate) down: u32,
    /// Counts how often its machine has lost power.
    pub(crate) outages: u32,
    /// How many strikes in force keep power from its machine.
    pub(crate) unpowered: u32,
    /// A client whose program has not ended (a dead one has).
    pub(crate) unfinished: bool,
    pub(crate) standing: Standing,
    /// Parts that hang, one entry for each strike.
    pub(crate) stalled: Vec<Part>,
    /// Other rates, by the strikes that ask for them; the last one is in force.
    pub(crate) rates: Vec<(usize, Ppm)>,
    /// All its clocks' segments; the last is in force.
    pub(crate) clocks: Vec<Segment>,
    pub(crate) activity: Vec<(SimTime, Activity)>,
    pub(crate) attempts: u32,
    pub(crate) steps: u32,
    /// When its processor will have sent what was decided so far.
    pub(crate) busy_until: SimTime,
    /// Until when the thread that serves its requests waits for its disk.
    pub(crate) syncing_until: SimTime,
    /// What waits until its machine, its process or a part of it runs again, in the order in which it came.
    pub(crate) waiting: Vec<HeldUp>,
    /// Tasks that were to be polled while they may not run.
    pub(crate) parked: Vec<TaskId>,
    pub(crate) random: [Option<Stream>; 2],
    /// A service that leads: the larger, the later it began to.
    pub(crate) leads: Option<u32>,
    /// How many requests a service has taken in and not answered.
    pub(crate) owed: u32,
    /// The slots of a service's timers.
    pub(crate) timers: Vec<(TimerId, usize)>,
    pub(crate) disk: Disk<R>,
    pub(crate) shortages: Shortages,
    /// How long each sync takes, by the strikes that say so: together.
    pub(crate) slow_disk: Vec<(usize, Span)>,
}

impl<R> Node<R> {
    pub(crate) fn new(id: NodeId, spec: NodeSpec, role: Role) -> Self {
        let first = Segment {
            since: SimTime::ZERO,
            mono: FIRST_READING,
            boot: FIRST_READING,
            wall: FIRST_WALL.saturating_add(spec.wall_offset),
            rate: spec.rate,
            ticking: Ticking::All,
        };
        Self {
            id,
            spec,
            role,
            life: 0,
            alive: true,
            at_ease: true,
            down: 0,
            outages: 0,
            unpowered: 0,
            unfinished: role == Role::Client,
            standing: Standing::default(),
            stalled: Vec::new(),
            rates: Vec::new(),
            clocks: vec![first],
            activity: Vec::new(),
            attempts: 0,
            steps: 0,
            busy_until: SimTime::ZERO,
            syncing_until: SimTime::ZERO,
            waiting: Vec::new(),
            parked: Vec::new(),
            random: [None, None],
            leads: None,
            owed: 0,
            timers: Vec::new(),
            disk: Disk::default(),
            shortages: Shortages::default(),
            slow_disk: Vec::new(),
        }
    }

    /// Back to the beginning: only what it is stays.
    pub(crate) fn reset(&mut self) {
        *self = Self::new(self.id, self.spec, self.role);
    }

    /// What the run leaves of it.
    pub(crate) fn outcome(&mut self) -> NodeOutcome {
        NodeOutcome {
            name: self.spec.name,
            clocks: std::mem::take(&mut self.clocks),
            activity: std::mem::take(&mut self.activity),
            steps: self.steps,
        }
    }

    pub(crate) fn clock(&self) -> &Segment {
        self.clocks.last().expect("a node has clocks from the start")
    }

    /// What its monotonic clock read at an instant that has come.
    pub(crate) fn mono_at(&self, at: SimTime) -> MonoTime {
        let in_force = self.clocks.iter().rfind(|segment| segment.since <= at);
        in_force.unwrap_or(&self.clocks[0]).mono_at(at)
    }

    pub(crate) fn activity_now(&self) -> Activity {
        if !self.alive {
            Activity::Dead
        } else if self.standing.is_still() {
            Activity::Paused
        } else if self.is_stalled(Part::WORKER) {
            Activity::Stalled
        } else if self.is_stalled(Part::RENEWAL) {
            Activity::Unrenewed
        } else {
            Activity::Running
        }
    }

    /// Whether the run's end waits for what is on its way to this node.
    pub(crate) fn is_awaited(&self) -> bool {
        self.role == (Role::Service { awaited: true })
    }

    /// Whether its machine runs and is on the network.
    pub(crate) const fn is_powered(&self) -> bool {
        self.unpowered == 0
    }

    /// Whether something must wait that belongs to this part of the process, or to no part of its own.
    pub(crate) fn holds_up(&self, part: Option<Part>) -> bool {
        self.standing.is_still() || part.is_some_and(|part| self.is_stalled(part))
    }

    /// Whether this must go on waiting.
    pub(crate) fn still_holds(&self, held: &HeldUp) -> bool {
        if held.is_of_the_machine() { self.standing.machine() > 0 } else { self.holds_up(held.part) }
    }

    fn is_stalled(&self, part: Part) -> bool {
        !self.stalled.is_empty() && self.stalled.contains(&part)
    }
}

/// What monotonic and boot-time clocks read at the start: not zero, so that subtracting an allowance
/// from a reading is possible at once.
const FIRST_READING: u64 = 1_000_000_000;
/// What wall clocks read at the start: some day in November 2023.
const FIRST_WALL: i64 = 1_700_000_000_000_000_000;
