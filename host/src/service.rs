//! What a service may do: the server's side.
//!
//! A service is a state machine: it reacts, and puts what it wants done into a [`Context`], which is
//! a plain buffer. It has no clock, no disk, no network and no randomness but the context's, so it can be stepped in
//! a unit test without a kernel, and be fed the requests that a real server is fed.
//!
//! A service may be a client of other services: it opens connections of its own, under the same rules of the
//! network as a program's. Nothing times out by itself there: a service that wants to wait no longer has a timer.

use core::fmt;

use std::rc::Rc;

use crate::digest::{Digest, Fold};
use crate::disk::Disk;
use crate::ids::{AttemptId, CallId, ConnId, NodeId, Operation, Origin, Point, Server, TimerId};
use crate::shortage::Shortages;
use crate::time::{Deadline, Duration, MonoTime, WallTime};

/// What a world is made of: the messages on its wires, the notes in its history, the records on its
/// disks. The kernel carries them and knows nothing of what they mean.
pub trait Domain: Sized + 'static {
    /// Whatever travels on a connection.
    type Message: Digest + 'static;
    /// Whatever goes into the history.
    type Note: Digest + 'static;
    /// Whatever a service writes to its disk.
    type Record: Clone + 'static;
    /// Whatever a fault may do inside a service: forget a key, give up a session.
    type Nudge: Clone + Digest + fmt::Debug + 'static;

    /// The name by which faults know this message; a reply is known by the request it answers.
    fn operation(message: &Self::Message) -> Operation;
    /// What the history says when this request leaves the client that makes it (and not when a service passes it on).
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
    /// A connection that the service wanted is open.
    fn on_open(&mut self, cx: &mut Context<D>, conn: ConnId) {
        let _ = (cx, conn);
    }
    /// The reply to a request of its own is there.
    fn on_reply(&mut self, cx: &mut Context<D>, conn: ConnId, call: CallId, reply: D::Message) {
        let _ = (cx, conn, call, reply);
    }
    /// The server of a connection of its own has sent what nobody asked for.
    fn on_push(&mut self, cx: &mut Context<D>, conn: ConnId, message: D::Message) {
        let _ = (cx, conn, message);
    }
    /// A connection was closed or reset by the other side; one of its own that was to be opened: refused.
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
    /// Open a connection to a server.
    Connect(ConnId, NodeId),
    /// Send a request on a connection of one's own, on behalf of an attempt; the number comes back with the reply.
    Request(ConnId, CallId, Option<AttemptId>, M),
    /// Close a connection, whoever opened it.
    Close(ConnId),
    /// Find out whether the other side of a connection is there still.
    KeepAlive(ConnId, KeepAlive),
    /// From now on be the one whom the role of a leader means, or cease to.
    Lead(bool),
    /// Set a timer, or move it if it is set.
    SetTimer(TimerId, Deadline),
    /// Forget a timer.
    CancelTimer(TimerId),
    /// Write into the history.
    Note(N),
}

/// How a machine finds out that the other side of a connection is gone without a word: `SO_KEEPALIVE`.
///
/// It counts on its monotonic clock, and the other machine answers by itself, whatever its process does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeepAlive {
    /// `TCP_KEEPIDLE`: for how long nothing must have come before it asks.
    pub idle: Duration,
    /// `TCP_KEEPINTVL`: how long after that it asks again.
    pub interval: Duration,
    /// `TCP_KEEPCNT`: after so many questions without an answer, one interval later, the connection is gone.
    pub count: u16,
    /// `TCP_USER_TIMEOUT`: it is gone instead once nothing has come for so long and a question was in vain, or once something that
    /// was sent is not acknowledged for so long. Zero: that is not looked at.
    pub user_timeout: Duration,
}

impl KeepAlive {
    /// What Linux has if nobody says otherwise: gone after 7,875 s.
    ///
    /// Source: `tcp(7)`.
    pub const LINUX: Self = Self {
        idle: Duration::from_secs(7_200),
        interval: Duration::from_secs(75),
        count: 9,
        user_timeout: Duration::ZERO,
    };
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
    /// The number of the next connection that is opened.
    pub next_conn: u32,
    /// Where its randomness comes from.
    pub words: Rc<dyn Words>,
}

/// A source of randomness for the services of a world, a stream for each.
pub trait Words {
    /// The next word of that node's service.
    fn word(&self, node: NodeId) -> u64;
}

/// The source that has always the same word: for stepping a service by hand.
impl Words for u64 {
    fn word(&self, _: NodeId) -> u64 {
        *self
    }
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
            next_conn: 0,
            words: Rc::new(0_u64),
        }
    }

    /// A draw from the service's own stream.
    #[must_use]
    pub fn random(&self) -> u64 {
        self.words.word(self.node)
    }

    /// Opens a connection to a server. It can be used once the service has been told that it is
    /// [open](Service::on_open).
    pub fn connect<R>(&mut self, server: Server<R>) -> ConnId {
        let conn = ConnId::new(self.next_conn);
        self.next_conn += 1;
        self.effects.push(Effect::Connect(conn, server.node()));
        conn
    }

    /// Sends a request on a connection of one's own, on behalf of the attempt that [`attempt`](Self::attempt) says. The number
    /// comes back with the reply.
    pub fn request(&mut self, conn: ConnId, call: CallId, message: impl Into<D::Message>) {
        self.effects.push(Effect::Request(conn, call, self.attempt, message.into()));
    }

    /// Closes a connection, whoever opened it: the other side is told, this one is not.
    pub fn close(&mut self, conn: ConnId) {
        self.effects.push(Effect::Close(conn));
    }

    /// Has the machine find out from now on whether the other side of a connection is there still, whoever opened it. If it is
    /// not, the service is told that the connection is [closed](Service::on_close).
    pub fn keep_alive(&mut self, conn: ConnId, how: KeepAlive) {
        self.effects.push(Effect::KeepAlive(conn, how));
    }

    /// Be from now on the one whom the role of a leader means, or cease to be. Of several the last one is meant.
    pub fn lead(&mut self, leads: bool) {
        self.effects.push(Effect::Lead(leads));
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
