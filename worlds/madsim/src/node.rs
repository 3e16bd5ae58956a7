//! A machine and its process: what the world keeps of them.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;
use std::task::Waker;

use host::{Activity, Disk, Name, Part, Ppm, Segment, Shortages, SimTime, Span, Ticking, TimerId};
use madsim::net::Endpoint;
use madsim::runtime::NodeHandle;
use models::Record;
use sim::{Entity, NodeOutcome, NodeSpec, Stream};

use crate::kernel::Program;
use crate::service::Item;
use crate::wire::Frame;

/// A machine and its process.
pub(crate) struct Node {
    name: Name,
    pub(crate) entity: Entity,
    pub(crate) wall_offset: i64,
    pub(crate) program: Rc<Program>,
    /// The madsim node of the machine's network card. It lives as long as the run.
    pub(crate) card: NodeHandle,
    pub(crate) address: SocketAddr,
    pub(crate) endpoint: Option<Endpoint>,
    /// The madsim nodes of the process's parts, in this life.
    pub(crate) parts: Vec<(Part, NodeHandle)>,
    /// Counts the lives of its process: effects of an earlier life are ignored.
    pub(crate) life: u32,
    pub(crate) alive: bool,
    /// How many strikes in force keep its process from living, and how many keep power from its machine.
    pub(crate) down: u32,
    pub(crate) unpowered: u32,
    /// How many strikes in force make its process stand still.
    pub(crate) paused: u32,
    /// Parts that hang, one entry for each reason.
    pub(crate) stalled: Vec<Part>,
    /// A client whose program has not ended (a dead one has).
    pub(crate) unfinished: bool,
    pub(crate) shortages: Shortages,
    /// By how much each sync takes longer, by the strikes that say so.
    pub(crate) slow_disk: Vec<(usize, Span)>,
    pub(crate) disk: Disk<Record>,
    pub(crate) activity: Vec<(SimTime, Activity)>,
    pub(crate) attempts: u32,
    pub(crate) steps: u32,
    pub(crate) random: [Option<Stream>; 2],
    /// What was to be sent while the part that sends it stands still.
    pub(crate) outbox: Vec<(Part, Frame)>,
    /// What a service has not attended to yet, and who waits for it.
    pub(crate) inbox: VecDeque<Item>,
    pub(crate) inbox_waiter: Option<Waker>,
    /// When a service's timers are due, and who waits for them.
    pub(crate) timers: BTreeMap<TimerId, SimTime>,
    pub(crate) timers_waiter: Option<Waker>,
    /// Who waits in this process and may be interrupted.
    pub(crate) callers: Vec<Rc<Caller>>,
}

/// Somebody who waits and may be interrupted.
#[derive(Default)]
pub(crate) struct Caller {
    pub(crate) interrupted: Cell<bool>,
    pub(crate) waker: RefCell<Option<Waker>>,
}

impl Node {
    pub(crate) fn new(spec: NodeSpec, program: Program, card: NodeHandle, address: SocketAddr) -> Self {
        Self {
            name: spec.name,
            entity: spec.entity,
            wall_offset: spec.wall_offset,
            unfinished: matches!(program, Program::Client(_)),
            program: Rc::new(program),
            card,
            address,
            endpoint: None,
            parts: Vec::new(),
            life: 0,
            alive: true,
            down: 0,
            unpowered: 0,
            paused: 0,
            stalled: Vec::new(),
            shortages: Shortages::default(),
            slow_disk: Vec::new(),
            disk: Disk::default(),
            activity: Vec::new(),
            attempts: 0,
            steps: 0,
            random: [None, None],
            outbox: Vec::new(),
            inbox: VecDeque::new(),
            inbox_waiter: None,
            timers: BTreeMap::new(),
            timers_waiter: None,
            callers: Vec::new(),
        }
    }

    /// Whether that part of the process stands still.
    pub(crate) fn holds_up(&self, part: Part) -> bool {
        self.paused > 0 || self.stalled.contains(&part)
    }

    /// Whether the run's end waits for what is on its way to this node.
    pub(crate) fn is_awaited(&self) -> bool {
        matches!(*self.program, Program::Service { awaited: true, .. })
    }

    /// What its process is doing.
    pub(crate) fn activity_now(&self) -> Activity {
        if !self.alive {
            Activity::Dead
        } else if self.paused > 0 {
            Activity::Paused
        } else if self.stalled.contains(&Part::WORKER) {
            Activity::Stalled
        } else if self.stalled.contains(&Part::RENEWAL) {
            Activity::Unrenewed
        } else {
            Activity::Running
        }
    }

    /// What the run leaves of it.
    pub(crate) fn outcome(self) -> NodeOutcome {
        let clock = Segment {
            since: SimTime::ZERO,
            mono: FIRST_READING,
            boot: FIRST_READING,
            wall: FIRST_WALL.saturating_add(self.wall_offset),
            rate: Ppm::ZERO,
            ticking: Ticking::All,
        };
        NodeOutcome { name: self.name, clocks: vec![clock], activity: self.activity, steps: self.steps }
    }
}

/// What monotonic and boot-time clocks read when the run begins, and wall clocks; as on our own kernel.
pub(crate) const FIRST_READING: u64 = 1_000_000_000;
pub(crate) const FIRST_WALL: i64 = 1_700_000_000_000_000_000;
