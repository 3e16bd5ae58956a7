//! Connections, calls, and what is sent on them.
//!
//! A connection is one of madsim's: a reliable, ordered channel each way ([`Endpoint::connect1`]). What passes
//! on it are frames, so that opening, closing and resetting take their time and travel behind the data, as
//! on our own kernel. madsim draws latencies from one range for the whole network; it is set for each frame
//! to what this link's own stream gives for it.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use host::{AttemptId, CallId, Domain, Duration, NodeId, Operation, Span};
use madsim::net::{Receiver, Sender};
use models::{Locks, Message};
use send_wrapper::SendWrapper;
use sim::{Held, Stream, StreamPurpose};

use crate::connections::{Call, Connection};
use crate::world::World;

/// One end of a connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Side {
    Client = 0,
    Server = 1,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum FrameKind {
    Connect,
    Accept,
    Request,
    Reply,
    Push,
    Close,
    Reset,
}

impl FrameKind {
    pub(crate) const fn carries_data(self) -> bool {
        matches!(self, Self::Request | Self::Reply | Self::Push)
    }
}

/// What passes on a connection.
pub(crate) struct Frame {
    pub(crate) conn: usize,
    pub(crate) from: Side,
    pub(crate) kind: FrameKind,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) call: Option<CallId>,
    pub(crate) operation: Option<Operation>,
    pub(crate) message: Option<Message>,
    /// Its number in the run, once it is decided to send it.
    pub(crate) number: u32,
}

impl Frame {
    pub(crate) const fn bare(conn: usize, from: Side, kind: FrameKind, attempt: Option<AttemptId>) -> Self {
        Self { conn, from, kind, attempt, call: None, operation: None, message: None, number: 0 }
    }

    pub(crate) fn with(self, message: Message, operation: Operation, call: Option<CallId>) -> Self {
        Self { message: Some(message), operation: Some(operation), call, ..self }
    }
}

/// The network between the nodes.
#[derive(Default)]
pub(crate) struct Wires {
    pub(crate) connections: Vec<Connection>,
    pub(crate) calls: BTreeMap<CallId, Call>,
    pub(crate) next_call: u32,
    next_frame: u32,
    pub(crate) links: BTreeMap<(NodeId, NodeId), Link>,
    /// Channels of madsim's that are open and not yet used.
    pub(crate) spares: BTreeMap<(NodeId, NodeId), Vec<(Sender, Receiver)>>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) slows: Vec<Slow>,
    /// Frames on their way to a node that the run's end waits for.
    awaited: BTreeMap<u32, Awaited>,
    /// Who waits for the end of a cut.
    pub(crate) healed: Vec<Waker>,
}

/// What one direction between two nodes takes.
pub(crate) struct Link {
    latency: Span,
    stream: Option<Stream>,
}

/// Nothing passes from one node to another.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) held: Held,
    pub(crate) strike: usize,
}

/// What passes from one node to another takes longer.
#[derive(Clone, Copy)]
pub(crate) struct Slow {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) by: Span,
    pub(crate) strike: usize,
}

struct Awaited {
    from: NodeId,
    to: NodeId,
    /// A cut holds it: the run's end waits for the end of the cut then, if that is to come.
    held: bool,
}

impl Wires {
    pub(crate) fn set_latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        self.links.insert((from, to), Link { latency, stream: None });
    }

    /// Sender and receiver of what that side of the connection sends.
    pub(crate) fn route(&self, conn: usize, side: Side) -> (NodeId, NodeId) {
        let ends = &self.connections[conn].ends;
        (ends[side as usize].node, ends[side.other() as usize].node)
    }

    pub(crate) fn cut_between(&self, from: NodeId, to: NodeId) -> Option<Cut> {
        self.cuts.iter().find(|cut| cut.from == from && cut.to == to).copied()
    }

    pub(crate) fn awaits_any(&self) -> bool {
        self.awaited.values().any(|awaited| !awaited.held)
    }

    /// The frame is on its way no more: it has arrived, or is lost.
    pub(crate) fn is_through(&mut self, number: u32) {
        self.awaited.remove(&number);
    }

    /// A cut holds the frame.
    pub(crate) fn is_held(&mut self, number: u32) {
        if let Some(awaited) = self.awaited.get_mut(&number) {
            awaited.held = true;
        }
    }

    /// A cut is over: what it held goes on its way.
    pub(crate) fn heal(&mut self, from: NodeId, to: NodeId) {
        for awaited in self.awaited.values_mut().filter(|awaited| (awaited.from, awaited.to) == (from, to)) {
            awaited.held = false;
        }
        std::mem::take(&mut self.healed).into_iter().for_each(Waker::wake);
    }
}

/// Sending.
impl World {
    /// A process sends: at once, or, if the part that sends stands still, when it runs again.
    pub(crate) fn send(self: &Rc<Self>, mut frame: Frame) {
        let part = self.scope().part;
        {
            let mut state = self.state_mut();
            let end = &state.wires.connections[frame.conn].ends[frame.from as usize];
            // A service may answer on a connection that is gone.
            if frame.from == Side::Server && !end.open {
                return;
            }
            let (from, to) = state.wires.route(frame.conn, frame.from);
            frame.number = state.wires.next_frame;
            state.wires.next_frame += 1;
            if frame.message.is_some() && state.node(to).is_awaited() {
                state.wires.awaited.insert(frame.number, Awaited { from, to, held: false });
            }
            if state.node(from).holds_up(part) {
                state.node_mut(from).outbox.push((part, frame));
                return;
            }
        }
        self.leave(frame);
    }

    /// The machine itself sends, at once.
    pub(crate) fn send_from_machine(self: &Rc<Self>, conn: usize, side: Side, kind: FrameKind) {
        self.transmit(Frame::bare(conn, side, kind, None), Duration::ZERO);
    }

    /// What a process has sent leaves its machine: the history is told, and message faults may act.
    pub(crate) fn leave(self: &Rc<Self>, frame: Frame) {
        let (from, _) = self.state().wires.route(frame.conn, frame.from);
        if frame.kind.carries_data() {
            self.state_mut().messages += 1;
        }
        if let (FrameKind::Request, Some(message), Some(attempt)) = (frame.kind, &frame.message, frame.attempt)
            && let Some(note) = Locks::left(message, attempt)
        {
            self.note(from, note);
        }
        match self.meet_message_faults(&frame) {
            Some(delay) => self.transmit(frame, delay),
            None => self.break_off(&frame),
        }
    }

    /// Puts a frame into madsim's channel, unless something is in its way.
    fn transmit(self: &Rc<Self>, frame: Frame, delay: Duration) {
        let (from, to) = self.state().wires.route(frame.conn, frame.from);
        if self.state().node(from).unpowered > 0 {
            return self.lose(&frame);
        }
        if self.is_cut_off(from, to, frame.kind) {
            return self.break_off(&frame);
        }
        let latency = self.latency(from, to) + self.slowness(from, to) + delay;
        let channel = self.state().wires.connections[frame.conn].ends[frame.from as usize].channel.clone();
        let channel = channel.expect("what is sent on a connection has a channel");
        self.net.update_config(|config| config.send_latency = latency..latency + Duration::from_nanos(1));
        let frame = Box::new(SendWrapper::new(frame));
        // It fails only if nobody reads at the other end, which is the run's end.
        let _ = at_once(channel.send(frame));
    }

    /// Whether a cut loses what is sent now. One that keeps it does so at the other end, where it arrives.
    fn is_cut_off(&self, from: NodeId, to: NodeId, kind: FrameKind) -> bool {
        let mut state = self.state_mut();
        let cut = state.wires.cut_between(from, to);
        let Some(cut) = cut.filter(|cut| cut.held == Held::Dropped || kind == FrameKind::Connect) else { return false };
        state.faults.strikes[cut.strike].met += 1;
        true
    }

    /// The frame is lost, and all that was or will be sent behind it.
    pub(crate) fn break_off(&self, frame: &Frame) {
        self.state_mut().wires.connections[frame.conn].broken[frame.from as usize] = true;
        self.lose(frame);
    }

    pub(crate) fn lose(&self, frame: &Frame) {
        let mut state = self.state_mut();
        state.wires.is_through(frame.number);
        state.happened();
    }

    fn latency(&self, from: NodeId, to: NodeId) -> Duration {
        let mut state = self.state_mut();
        let (seed, one, other) = (state.seed, state.entity(from), state.entity(to));
        let Some(link) = state.wires.links.get_mut(&(from, to)) else { return DEFAULT_LATENCY };
        let stream = link.stream.get_or_insert_with(|| Stream::new(seed, StreamPurpose::Link, one, other));
        stream.draw(&link.latency)
    }

    /// By how much the faults in force slow this link down, and counts that they did.
    fn slowness(&self, from: NodeId, to: NodeId) -> Duration {
        let mut state = self.state_mut();
        let slows: Vec<Slow> =
            state.wires.slows.iter().filter(|slow| (slow.from, slow.to) == (from, to)).copied().collect();
        slows.iter().map(|slow| state.meet(slow.strike, &slow.by)).sum()
    }
}

/// The result of a future that never waits.
fn at_once<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("madsim's channels have no bound"),
    }
}

/// What a link takes whose latency nobody has set.
const DEFAULT_LATENCY: Duration = Duration::from_millis(1);
