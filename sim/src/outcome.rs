//! What a run leaves behind.

pub use host::Noted;
use host::{Activity, AttemptId, Ending, MonoTime, Name, NodeId, Segment, SimTime, WallTime};

/// All that a run leaves behind.
#[derive(Clone, Debug)]
pub struct Outcome<N> {
    /// What was noted, in order.
    pub notes: Vec<Noted<N>>,
    /// By node id.
    pub nodes: Vec<NodeOutcome>,
    /// Every time a fault struck, in order.
    pub strikes: Vec<Strike>,
    /// When the run ended.
    pub end: SimTime,
    /// How.
    pub ending: Ending,
    /// A fold of all that happened; equal for equal runs, recorded or not.
    pub hash: u64,
    /// How many events there were, of any kind.
    pub events: u64,
    /// How many messages were handed to a program or a service, and how many sleeps ended: what other
    /// simulators count as an event.
    pub application_events: u64,
    /// How many requests, replies and pushed messages left a machine; whether they arrived is another matter.
    pub messages: u64,
    /// How often services had their disks synced.
    pub syncs: u64,
    /// For each cue, in the order in which they were added, when it came, if it did.
    pub cues: Vec<Option<SimTime>>,
    /// How often the code of a dead process tried to have an effect and was ignored.
    pub ignored_dead_effects: u32,
    /// Every event, if the run was recorded.
    pub records: Vec<Record>,
}

/// What a run leaves of one node.
#[derive(Clone, Debug)]
pub struct NodeOutcome {
    /// Its name.
    pub name: Name,
    /// Its clocks, in order.
    pub clocks: Vec<Segment>,
    /// When its process changed from one activity to another. It is running at first.
    pub activity: Vec<(SimTime, Activity)>,
    /// How many steps it took.
    pub steps: u32,
}

/// One time that a fault struck.
#[derive(Clone, Debug)]
pub struct Strike {
    /// Its index in the plan.
    pub fault: usize,
    /// When it began.
    pub from: SimTime,
    /// When it ended, if it did.
    pub until: Option<SimTime>,
    /// The nodes it struck (the senders, for links).
    pub nodes: Vec<NodeId>,
    /// How many messages met it: held, lost, slowed, or waiting for a process that stood or was dead.
    pub met: u32,
}

/// What kind of event a record tells of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecordKind {
    /// A step decided to send.
    Decide,
    /// The message left the machine.
    Leave,
    /// The message arrived.
    Arrive,
    /// The message was lost: a cut, a dead machine, a message fault.
    Lost,
    /// The message was held by a cut.
    Held,
    /// A timer fired.
    Timer,
    /// A program passed a named point.
    Point,
    /// A note.
    Note,
    /// A fault struck.
    Fault,
    /// A fault ended.
    FaultEnd,
    /// A process started again.
    Restart,
}

impl RecordKind {
    /// Its name in traces.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decide => "decide",
            Self::Leave => "leave",
            Self::Arrive => "arrive",
            Self::Lost => "lost",
            Self::Held => "held",
            Self::Timer => "timer",
            Self::Point => "point",
            Self::Note => "note",
            Self::Fault => "fault",
            Self::FaultEnd => "fault-end",
            Self::Restart => "restart",
        }
    }
}

/// One event of a recorded run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Record {
    /// When, in true time.
    pub at: SimTime,
    /// On which node.
    pub node: NodeId,
    /// What kind.
    pub kind: RecordKind,
    /// What the node's monotonic clock read.
    pub mono: MonoTime,
    /// What its wall clock read.
    pub wall: WallTime,
    /// For messages: the other end.
    pub peer: Option<NodeId>,
    /// For messages: its number, so that its decide, leave and arrive are found together.
    pub message: Option<u32>,
    /// On whose behalf.
    pub attempt: Option<AttemptId>,
    /// For faults: its index in the plan.
    pub fault: Option<usize>,
    /// The digest of what it is about.
    pub digest: u64,
    /// One line for a person.
    pub text: String,
}
