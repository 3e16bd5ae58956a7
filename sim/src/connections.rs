//! Connections and the calls on them, from both ends.
//!
//! Within a connection messages keep their order, none is lost and none doubled, as long as no fault
//! touches it. A call times out at the client alone, and closes its connection. The machine, not the
//! process, answers who connects: a paused process does not show, a dead one refuses.

use std::collections::VecDeque;

use host::{AttemptId, ConnId, ConnectError, Domain, Duration, Effect, NodeId, Origin};

use crate::calls::Calls;
use crate::core::Core;
use crate::event::{PacketId, Step};
use crate::keepalive::Watch;
use crate::links::Sending;
use crate::node::{Node, Role};
use crate::packets::{Content, Header, PacketKind};
use crate::tasks::TaskId;
use crate::timers::TimerPurpose;
use crate::wire::Way;

pub(crate) struct Connections<M> {
    pub(crate) all: Vec<Connection<M>>,
    pub(crate) calls: Calls,
}

impl<M> Default for Connections<M> {
    fn default() -> Self {
        Self { all: Vec::with_capacity(8), calls: Calls::default() }
    }
}

impl<M> Connections<M> {
    /// The number of the connection that is opened next.
    pub(crate) fn next_number(&self) -> u32 {
        u32::try_from(self.all.len()).expect("a run has fewer than 2^32 connections")
    }

    /// Back to the beginning: there are none.
    pub(crate) fn reset(&mut self) {
        let Self { all, calls } = self;
        all.clear();
        calls.reset();
    }
}

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

#[derive(Clone, Copy)]
pub(crate) struct End {
    pub(crate) node: NodeId,
    /// The life of the process that holds it.
    pub(crate) life: u32,
    pub(crate) open: bool,
}

/// A connection. What is kept for each direction is indexed by the sending side.
pub(crate) struct Connection<M> {
    pub(crate) ends: [End; 2],
    pub(crate) ways: [Way; 2],
    pushes: VecDeque<M>,
    /// Tasks that wait for the connection itself or for a pushed message.
    waiters: Vec<TaskId>,
    /// How opening it went, once that is known.
    opened: Option<Result<(), ConnectError>>,
    connect_timer: Option<usize>,
    /// The side that has been made to forget it while the other was not.
    pub(crate) half_open: Option<Side>,
    /// For each side, what its machine knows of the other, if it is to find out whether that is there.
    pub(crate) watches: [Option<Box<Watch>>; 2],
}

impl<M> Connection<M> {
    /// Whether it is not known yet how opening it went.
    pub(crate) const fn opening(&self) -> bool {
        self.opened.is_none()
    }

    fn wait(&mut self, task: TaskId) {
        if !self.waiters.contains(&task) {
            self.waiters.push(task);
        }
    }
}

/// The client's end.
impl<D: Domain> Core<D> {
    /// Begins to open a connection.
    pub(crate) fn connect(&mut self, node: NodeId, server: NodeId, timeout: Duration) -> usize {
        self.dial(node, server, Some(timeout))
    }

    /// Begins to open a connection, and gives up by itself after that time, if there is one.
    pub(crate) fn dial(&mut self, node: NodeId, server: NodeId, timeout: Option<Duration>) -> usize {
        let conn = self.connections.all.len();
        let connect_timer = timeout.map(|timeout| self.arm_after(node, TimerPurpose::Connect(conn), timeout));
        let life = self.node(node).life;
        self.connections.all.push(Connection {
            ends: [End { node, life, open: false }, End { node: server, life: 0, open: false }],
            ways: Default::default(),
            pushes: VecDeque::new(),
            waiters: Vec::new(),
            opened: None,
            connect_timer,
            half_open: None,
            watches: [None, None],
        });
        let (from, kind, attempt) = (Side::Client, PacketKind::Connect, self.scope);
        self.decide_apart(Sending { conn, from, kind, attempt, content: None });
        conn
    }

    /// How opening went; if it is not known yet, the current task is woken when it is.
    pub(crate) fn poll_opened(&mut self, conn: usize) -> Option<Result<(), ConnectError>> {
        let current = self.tasks.current();
        let connection = &mut self.connections.all[conn];
        if connection.opened.is_none() {
            connection.wait(current);
        }
        connection.opened
    }

    /// Opening the connection has ended, well or not.
    pub(crate) fn opened(&mut self, conn: usize, result: Result<(), ConnectError>) {
        let connection = &mut self.connections.all[conn];
        if connection.opened.is_none() {
            connection.opened = Some(result);
            connection.ends[Side::Client as usize].open = result.is_ok();
            let (timer, waiters) = (connection.connect_timer.take(), std::mem::take(&mut connection.waiters));
            if let Some(timer) = timer {
                self.disarm(timer);
            }
            self.tasks.wake_all(waiters);
        }
    }

    /// Who waits for the connection to open.
    pub(crate) fn connect_waiter(&self, conn: usize) -> Option<TaskId> {
        self.connections.all[conn].waiters.first().copied()
    }

    /// The client closes its end, or gives up opening it.
    pub(crate) fn close(&mut self, conn: usize) {
        self.opened(conn, Err(ConnectError::TimedOut));
        let end = self.connections.all[conn].ends[Side::Client as usize];
        if end.open {
            self.lose_end(conn, Side::Client);
            let (from, kind) = (Side::Client, PacketKind::Close);
            self.decide_apart(Sending { conn, from, kind, attempt: None, content: None });
        }
    }

    /// The next pushed message, or `None` within if the connection is gone; if there is neither, the
    /// current task is woken when there is.
    pub(crate) fn poll_pushed(&mut self, conn: usize) -> Option<Option<D::Message>> {
        let current = self.tasks.current();
        let connection = &mut self.connections.all[conn];
        if let Some(message) = connection.pushes.pop_front() {
            return Some(Some(message));
        }
        if !connection.ends[Side::Client as usize].open {
            return Some(None);
        }
        connection.wait(current);
        None
    }

    /// Whether the client's end is open.
    pub(crate) fn is_open(&self, conn: usize) -> bool {
        self.connections.all[conn].ends[Side::Client as usize].open
    }

    /// One end is gone. A client's calls on it fail.
    pub(crate) fn lose_end(&mut self, conn: usize, side: Side) {
        self.connections.all[conn].ends[side as usize].open = false;
        self.cease_to_watch(conn, side);
        if side == Side::Client {
            self.fail_calls_on(conn);
            let waiters = std::mem::take(&mut self.connections.all[conn].waiters);
            self.tasks.wake_all(waiters);
        }
    }
}

/// The server's end, and what arrives at either.
impl<D: Domain> Core<D> {
    /// Does what a service asked for in a step.
    // Else every effect is moved once more.
    #[inline(always)]
    pub(crate) fn effect(&mut self, node: NodeId, attempt: Option<AttemptId>, effect: Effect<D::Message, D::Note>) {
        match effect {
            Effect::Reply(to, message) => {
                self.node_mut(node).owed -= 1;
                let content = Content { message, operation: to.operation, call: Some(to.call) };
                self.serve(to.conn, PacketKind::Reply, attempt, content);
            }
            Effect::Push(conn, message) => {
                let content = Content { operation: D::operation(&message), message, call: None };
                self.push(conn, attempt, content);
            }
            Effect::Connect(conn, server) => {
                assert_eq!(conn.index(), self.dial(node, server, None), "connections are numbered as they are opened");
            }
            Effect::Request(conn, call, attempt, message) => self.ask(node, conn, attempt, call, message),
            Effect::Close(conn) => self.hang_up(node, conn),
            Effect::KeepAlive(conn, how) => self.keep_alive(node, conn, how),
            Effect::Lead(leads) => self.lead(node, leads),
            Effect::SetTimer(timer, at) => self.set_service_timer(node, timer, at),
            Effect::CancelTimer(timer) => self.cancel_service_timer(node, timer),
            Effect::Note(note) => self.note(node, note),
        }
    }

    /// Sends from server to client, if the server's end is open.
    #[inline(always)]
    fn serve(&mut self, conn: ConnId, kind: PacketKind, attempt: Option<AttemptId>, content: Content<D::Message>) {
        let (conn, from) = (conn.index(), Side::Server);
        if self.connections.all[conn].ends[from as usize].open {
            self.decide(Sending { conn, from, kind, attempt, content: Some(content) });
        }
    }

    #[inline(never)]
    fn push(&mut self, conn: ConnId, attempt: Option<AttemptId>, content: Content<D::Message>) {
        self.serve(conn, PacketKind::Push, attempt, content);
    }

    /// A packet has arrived at a machine that has power and is awake, and at its process if that lives.
    #[inline(always)]
    pub(crate) fn receive(&mut self, id: PacketId) -> Step {
        let Header { conn, from, receiver: node, kind, .. } = *self.packets.header(id);
        let Node { alive, life, role, .. } = *self.node(node);
        let end = self.connections.all[conn].ends[from.other() as usize];
        if alive && end.life == life && end.open {
            match (role, kind) {
                (Role::Service { .. }, PacketKind::Request | PacketKind::Reply | PacketKind::Push) => {
                    return self.hand_over(id);
                }
                (Role::Client, PacketKind::Reply) => {
                    self.reply_arrived(id);
                    return Step::None;
                }
                _ => {}
            }
        }
        self.receive_apart(id)
    }

    /// What is neither for a service that listens nor a reply that somebody may wait for.
    #[inline(never)]
    fn receive_apart(&mut self, id: PacketId) -> Step {
        let Header { conn, from, receiver: node, kind, .. } = *self.packets.header(id);
        let receiver = from.other();
        let Node { alive, life, role, .. } = *self.node(node);
        let end = self.connections.all[conn].ends[receiver as usize];
        let is_known = alive && end.life == life;
        let message = self.packets.take(id);
        if !alive {
            self.count_met(node);
        }
        if kind == PacketKind::Connect {
            self.connections.all[conn].ends[Side::Server as usize] = End { node, life, open: alive };
            let answer = if alive { PacketKind::Accept } else { PacketKind::Reset };
            self.send_from_machine(conn, Side::Server, answer);
            return Step::None;
        }
        if !is_known {
            // No process knows this connection: the machine says so.
            if kind == PacketKind::Accept || kind.carries_data() {
                self.send_from_machine(conn, receiver, PacketKind::Reset);
            }
            return Step::None;
        }
        if !end.open && kind.carries_data() && self.connections.all[conn].half_open == Some(receiver) {
            self.send_from_machine(conn, receiver, PacketKind::Reset);
            return Step::None;
        }
        match receiver {
            Side::Server if !end.open => Step::None,
            Side::Server => {
                self.lose_end(conn, Side::Server);
                Step::Closed { node, conn: conn_id(conn) }
            }
            Side::Client if matches!(role, Role::Service { .. }) => self.receive_at_dialler(conn, kind, end),
            Side::Client => {
                self.receive_at_client(conn, kind, message, end);
                Step::None
            }
        }
    }

    /// A message has come to a service that listens. It stays in its packet until the service takes it.
    #[inline]
    fn hand_over(&mut self, packet: PacketId) -> Step {
        let Header { conn, receiver: node, kind, attempt, .. } = *self.packets.header(packet);
        let conn = conn_id(conn);
        let Content { operation, call, .. } = *self.packets.content(packet).expect("a message is in the packet");
        self.application_events += 1;
        match (kind, call) {
            (PacketKind::Request, Some(call)) => {
                self.node_mut(node).owed += 1;
                Step::Request { node, attempt, from: Origin { conn, call, operation }, packet }
            }
            (PacketKind::Reply, Some(call)) => Step::Reply { node, conn, call, packet },
            _ => Step::Push { node, conn, packet },
        }
    }

    pub(crate) fn receive_at_client(&mut self, conn: usize, kind: PacketKind, message: Option<D::Message>, end: End) {
        match kind {
            PacketKind::Accept if self.connections.all[conn].opened.is_none() => self.opened(conn, Ok(())),
            // The client no longer waits for it: its machine resets what the server took for open.
            PacketKind::Accept => self.send_from_machine(conn, Side::Client, PacketKind::Reset),
            PacketKind::Reset if self.connections.all[conn].opened.is_none() => {
                self.opened(conn, Err(ConnectError::Refused));
            }
            _ if !end.open => {}
            PacketKind::Push => {
                self.application_events += 1;
                let connection = &mut self.connections.all[conn];
                connection.pushes.extend(message);
                let waiters = std::mem::take(&mut connection.waiters);
                self.tasks.wake_all(waiters);
            }
            PacketKind::Reset | PacketKind::Close => self.lose_end(conn, Side::Client),
            PacketKind::Reply => unreachable!("an open end has taken it in"),
            PacketKind::Connect | PacketKind::Request => unreachable!("only clients send these"),
        }
    }
}

pub(crate) fn conn_id(conn: usize) -> ConnId {
    ConnId::new(u32::try_from(conn).expect("a run has fewer than 2^32 connections"))
}
