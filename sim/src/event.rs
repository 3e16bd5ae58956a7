//! What stands in the queue.

use host::{AttemptId, CallId, ConnId, NodeId, Origin, TimerId};

use crate::connections::Side;

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A decided message leaves its machine.
    Leave(PacketId),
    /// The machine itself sends: an answer of its own, or what a cut has released.
    Send(PacketId),
    /// A message arrives at the machine.
    Arrive(PacketId),
    /// A process takes a message out of its socket.
    Read(PacketId),
    /// A timer is due.
    Timer(TimerKey),
    /// A planned moment has come, for that client if a milestone brought it.
    Moment { trigger: usize, reacher: Option<NodeId>, counted: bool },
    /// A backup is made, which that fault will put back.
    BackUp(usize),
    /// A machine has given a connection up, and that end's process is to learn it.
    Gone { conn: u32, side: Side },
    /// A strike ends.
    StrikeEnds(usize),
    /// A process attends to what a strike does inside it, if it is still that life.
    Nudge { strike: usize, node: NodeId, life: u32 },
    /// A process attends to the wish that it end, if it is still that life.
    Stop { node: NodeId, life: u32 },
    /// It has ended its tasks and sent what it had decided to: it ends.
    Exit { node: NodeId, life: u32 },
    /// A slow sync is done.
    Synced { node: NodeId, life: u32 },
    /// A slow disk has synced what no request waits for, unless it lost power meanwhile.
    SyncedAside { node: NodeId, outages: u32 },
    /// A throttled process stops, or runs again.
    Throttle { strike: usize, stop: bool },
}

/// In which order a process that runs again finds what waited for it: its own pending work, then the socket,
/// then timers — so a reply that is already there beats a timer that has expired.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Waiting {
    OwnWork,
    Socket,
    Timer,
}

/// A packet's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct PacketId(pub(crate) usize);

/// A timer's slot and its serial: a slot is used again, a key never matches twice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TimerKey {
    slot: u32,
    pub(crate) serial: u32,
}

impl TimerKey {
    #[inline]
    pub(crate) fn new(slot: usize, serial: u32) -> Self {
        Self { slot: slot.try_into().expect("a run has fewer than 2^32 timers"), serial }
    }

    pub(crate) const fn slot(self) -> usize {
        self.slot as usize
    }
}

// Each is moved into the queue and out again.
const _: () = assert!(size_of::<Event>() == 16);

/// What the kernel asks to be done outside of itself, where the programs are. A message stays in its packet until
/// then.
pub(crate) enum Step {
    /// Nothing.
    None,
    /// A service gets a request.
    Request { node: NodeId, attempt: Option<AttemptId>, from: Origin, packet: PacketId },
    /// A service learns that a connection is gone.
    Closed { node: NodeId, conn: ConnId },
    /// A service learns that a connection of its own is open.
    Opened { node: NodeId, conn: ConnId },
    /// A service gets the reply to a request of its own.
    Reply { node: NodeId, conn: ConnId, call: CallId, packet: PacketId },
    /// A service gets what it did not ask for on a connection of its own.
    Push { node: NodeId, conn: ConnId, packet: PacketId },
    /// A process ends its tasks.
    Stop { node: NodeId },
    /// A strike acts inside a service.
    Nudge { node: NodeId, strike: usize },
    /// A service's timer is due.
    Timer { node: NodeId, timer: TimerId },
}
