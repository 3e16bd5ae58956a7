//! What a service may do: the server's side.
//!
//! A service is a state machine: it reacts, and puts what it wants done into a [`Context`], which is
//! a plain buffer. It has no clock, no disk and no network but the context's, so it can be stepped in
//! a unit test without a kernel, and be fed the requests that a real server is fed.

use core::fmt;

use crate::digest::{Digest, Fold};
use crate::disk::Disk;
use crate::ids::{AttemptId, ConnId, NodeId, Operation, Origin, Point, TimerId};
use crate::shortage::Shortages;
use crate::time::{Deadline, MonoTime, WallTime};

/// What a world is made of: the messages on its wires, the notes in its history, the records on its
/// disks. The kernel carries them and knows nothing of what they mean.
pub trait Domain: Sized + 'static {
    /// Whatever travels on a connection.
    type Message: Digest + 'static;
    /// Whatever goes into the history.
    type Note: Digest + 'static;
    /// Whatever a service writes to its disk.
    type Record: 'static;
    /// Whatever a fault may do inside a service: forget a key, give up a session.
    type Nudge: Clone + Digest + fmt::Debug + 'static;

    /// The name by which faults know this message; a reply is known by the request it answers.
    fn operation(message: &Self::Message) -> Operation;
    /// What the history says when this request leaves its node.
    fn left(message: &Self::Message, attempt: AttemptId) -> Option<Self::Note>;
    /// The milestone that this note of a *service* marks for an attempt: `owner`, `write-applied`.
    /// (A client's milestones are its program points.)
    fn milestone(note: &Self::Note) -> Option<(AttemptId, Point)>;
    /// One line for a person. Called only when a run is recorded.
    fn describe_message(message: &Self::Message) -> String;
    /// One line for a person. Called only when a run is recorded.
    fn describe_note(note: &Self::Note) -> String;
}

/// A server's state machine.
pub trait Service<D: Domain> {
    /// The process has started. Its disk holds what survived.
    fn on_start(&mut self, cx: &mut Context<D>) {
        let _ = cx;
    }
    /// A request has arrived.
    fn on_message(&mut self, cx: &mut Context<D>, from: Origin, message: D::Message);
    /// A timer is due.
    fn on_timer(&mut self, cx: &mut Context<D>, timer: TimerId) {
        let _ = (cx, timer);
    }
    /// The process has been asked to end. What it wants done in this step is still done.
    fn on_stop(&mut self, cx: &mut Context<D>) {
        let _ = cx;
    }
    /// A fault acts inside the service. One that means nothing to it changes nothing.
    fn on_nudge(&mut self, cx: &mut Context<D>, nudge: D::Nudge) {
        let _ = (cx, nudge);
    }
    /// A connection was closed or reset by the other side.
    fn on_close(&mut self, cx: &mut Context<D>, conn: ConnId) {
        let _ = (cx, conn);
    }
}

/// One thing that a service wants done. Effects happen in the order in which they were asked for.
#[derive(Debug)]
pub enum Effect<M, N> {
    /// Answer a request.
    Reply(Origin, M),
    /// Send a message nobody asked for.
    Push(ConnId, M),
    /// Set a timer, or move it if it is set.
    SetTimer(TimerId, Deadline),
    /// Forget a timer.
    CancelTimer(TimerId),
    /// Write into the history.
    Note(N),
}

/// What a service sees of its machine during one step, and what it wants done.
pub struct Context<D: Domain> {
    /// The machine it runs on.
    pub node: NodeId,
    /// The monotonic clock, read at the start of the step.
    pub mono: MonoTime,
    /// The boot-time clock, read at the start of the step.
    pub boot: MonoTime,
    /// The wall clock, read at the start of the step.
    pub wall: WallTime,
    /// The attempt on whose behalf the request was sent. A *shadow* field for the history: a model
    /// hands it to ownership notes, and never decides by it.
    pub attempt: Option<AttemptId>,
    /// The machine's disk.
    pub disk: Disk<D::Record>,
    /// What the machine is short of.
    pub shortages: Shortages,
    /// What the service wants done, in order.
    pub effects: Vec<Effect<D::Message, D::Note>>,
}

impl<D: Domain> Context<D> {
    /// A context for stepping a service by hand, all clocks as given.
    #[must_use]
    pub fn at(node: NodeId, mono: MonoTime, wall: WallTime) -> Self {
        Self {
            node,
            mono,
            boot: mono,
            wall,
            attempt: None,
            disk: Disk::default(),
            shortages: Shortages::default(),
            effects: Vec::new(),
        }
    }

    /// Answers a request.
    pub fn reply(&mut self, to: Origin, message: impl Into<D::Message>) {
        self.effects.push(Effect::Reply(to, message.into()));
    }

    /// Sends a message nobody asked for.
    pub fn push(&mut self, to: ConnId, message: impl Into<D::Message>) {
        self.effects.push(Effect::Push(to, message.into()));
    }

    /// Sets a timer, or moves it if it is set.
    pub fn set_timer(&mut self, timer: TimerId, at: Deadline) {
        self.effects.push(Effect::SetTimer(timer, at));
    }

    /// Forgets a timer.
    pub fn cancel_timer(&mut self, timer: TimerId) {
        self.effects.push(Effect::CancelTimer(timer));
    }

    /// Writes into the history.
    pub fn note(&mut self, note: D::Note) {
        self.effects.push(Effect::Note(note));
    }
}

impl<D: Domain> fmt::Debug for Context<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("node", &self.node)
            .field("mono", &self.mono)
            .field("wall", &self.wall)
            .finish_non_exhaustive()
    }
}

/// The message that is never sent: what a service that pushes nothing pushes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Never {}

impl Digest for Never {
    fn digest(&self, _: &mut Fold) {
        match *self {}
    }
}
