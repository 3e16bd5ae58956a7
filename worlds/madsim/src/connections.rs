//! Connections and the calls on them, from the client's end.

use std::collections::VecDeque;
use std::future::pending;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use host::{CallError, CallId, ConnectError, Domain, NodeId};
use madsim::net::{Receiver, Sender};
use models::{Locks, Message};
use send_wrapper::SendWrapper;

use crate::wire::{Frame, FrameKind, Side, Wires};
use crate::world::World;

pub(crate) struct Connection {
    pub(crate) ends: [End; 2],
    /// For each sending side, whether something it sent was lost: nothing behind that arrives.
    pub(crate) broken: [bool; 2],
    pub(crate) pushes: VecDeque<Message>,
    /// How opening it went, once that is known.
    pub(crate) opened: Option<Result<(), ConnectError>>,
    /// Who waits for the connection itself or for a pushed message.
    waiters: Vec<Waker>,
    /// The side that has been made to forget it while the other was not.
    pub(crate) half_open: Option<Side>,
}

pub(crate) struct End {
    pub(crate) node: NodeId,
    /// The life of the process that holds it.
    pub(crate) life: u32,
    pub(crate) open: bool,
    /// madsim's channel for what this end sends.
    pub(crate) channel: Option<Rc<Sender>>,
}

/// A call whose caller still waits.
pub(crate) struct Call {
    conn: usize,
    outcome: Option<Result<Message, CallError>>,
    waiter: Option<Waker>,
}

impl Connection {
    pub(crate) fn wake(&mut self) {
        std::mem::take(&mut self.waiters).into_iter().for_each(Waker::wake);
    }
}

impl Wires {
    fn has_spare(&self, from: NodeId, to: NodeId) -> bool {
        self.spares.get(&(from, to)).is_some_and(|spares| !spares.is_empty())
    }

    fn take_spare(&mut self, from: NodeId, to: NodeId) -> Option<(Sender, Receiver)> {
        self.spares.get_mut(&(from, to))?.pop()
    }

    pub(crate) fn forget_call(&mut self, call: CallId) {
        self.calls.remove(&call);
    }

    /// Ends a call, unless it is nobody's any more. Whether it was somebody's.
    pub(crate) fn end_call(&mut self, call: CallId, outcome: Result<Message, CallError>) -> bool {
        let waiting = self.calls.get_mut(&call).filter(|call| call.outcome.is_none());
        waiting.is_some_and(|call| {
            call.outcome = Some(outcome);
            call.waiter.take().into_iter().for_each(Waker::wake);
            true
        })
    }

    /// One end is gone. A client's calls on it fail.
    pub(crate) fn lose_end(&mut self, conn: usize, side: Side) {
        self.connections[conn].ends[side as usize].open = false;
        if side == Side::Client {
            let of_conn = |(id, call): (&CallId, &Call)| (call.conn == conn).then_some(*id);
            let calls: Vec<CallId> = self.calls.iter().filter_map(of_conn).collect();
            for call in calls {
                self.end_call(call, Err(CallError::Closed));
            }
            self.connections[conn].wake();
        }
    }

    /// Opening the connection has ended, well or not.
    pub(crate) fn opened(&mut self, conn: usize, result: Result<(), ConnectError>) {
        let connection = &mut self.connections[conn];
        if connection.opened.is_none() {
            connection.opened = Some(result);
            connection.ends[Side::Client as usize].open = result.is_ok();
            connection.wake();
        }
    }

    /// The open ends that a process held, which it holds no more.
    pub(crate) fn close_ends_of(&mut self, node: NodeId) -> Vec<(usize, Side)> {
        let mut closed = Vec::new();
        for (conn, connection) in self.connections.iter_mut().enumerate() {
            for side in [Side::Client, Side::Server] {
                let end = &mut connection.ends[side as usize];
                if end.node == node && std::mem::take(&mut end.open) {
                    closed.push((conn, side));
                }
            }
        }
        closed
    }
}

impl World {
    /// Makes a connection, which is still to be opened.
    pub(crate) fn open(&self, node: NodeId, life: u32, server: NodeId) -> usize {
        let connections = &mut self.state_mut().wires.connections;
        let end = |node, life| End { node, life, open: false, channel: None };
        connections.push(Connection {
            ends: [end(node, life), end(server, 0)],
            broken: [false; 2],
            pushes: VecDeque::new(),
            opened: None,
            waiters: Vec::new(),
            half_open: None,
        });
        connections.len() - 1
    }

    /// Asks the other machine for a connection. Across a cut, and to a machine that is off, that is silence.
    pub(crate) async fn dial(self: &Rc<Self>, conn: usize) {
        let (from, to) = self.state().wires.route(conn, Side::Client);
        if !self.state().wires.has_spare(from, to) {
            self.make_spare(from, to).await;
        }
        let Some((channel, arriving)) = self.state_mut().wires.take_spare(from, to) else { return pending().await };
        self.state_mut().wires.connections[conn].ends[Side::Client as usize].channel = Some(Rc::new(channel));
        self.spawn_reader(from, arriving, None);
        self.send(Frame::bare(conn, Side::Client, FrameKind::Connect, self.scope().attempt));
        let world = Rc::clone(self);
        drop(self.supervisor.spawn(SendWrapper::new(async move { world.make_spare(from, to).await })));
    }

    /// Opens one of madsim's channels ahead of its use. It takes madsim 1 ms, whatever the latency; with a spare
    /// one at hand, opening a connection takes what its link takes.
    pub(crate) async fn make_spare(&self, from: NodeId, to: NodeId) {
        let (card, address) = {
            let state = self.state();
            (state.node(from).endpoint.clone(), state.node(to).address)
        };
        let card = card.expect("network cards are ready before the run begins");
        if let Ok(channel) = card.connect1(address).await {
            self.state_mut().wires.spares.entry((from, to)).or_default().push(channel);
        }
    }

    /// How opening went.
    pub(crate) fn poll_opened(&self, conn: usize, cx: &Context<'_>) -> Poll<Result<(), ConnectError>> {
        let connection = &mut self.state_mut().wires.connections[conn];
        match connection.opened {
            Some(result) => Poll::Ready(result),
            None => {
                connection.waiters.push(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// The client closes its end, or gives up opening it.
    pub(crate) fn close(self: &Rc<Self>, conn: usize) {
        let was_open = {
            let wires = &mut self.state_mut().wires;
            wires.opened(conn, Err(ConnectError::TimedOut));
            let was_open = wires.connections[conn].ends[Side::Client as usize].open;
            if was_open {
                wires.lose_end(conn, Side::Client);
            }
            was_open
        };
        if was_open {
            self.send(Frame::bare(conn, Side::Client, FrameKind::Close, None));
        }
    }

    /// Sends a request. `None`: the connection is closed.
    pub(crate) fn start_call(self: &Rc<Self>, conn: usize, message: Message) -> Option<CallId> {
        let call = {
            let mut state = self.state_mut();
            let End { node, life, open, .. } = state.wires.connections[conn].ends[Side::Client as usize];
            if !state.may_act(node, life) || !open {
                return None;
            }
            let wires = &mut state.wires;
            let call = CallId::new(wires.next_call);
            wires.next_call += 1;
            wires.calls.insert(call, Call { conn, outcome: None, waiter: None });
            call
        };
        let operation = Locks::operation(&message);
        let frame = Frame::bare(conn, Side::Client, FrameKind::Request, self.scope().attempt);
        self.send(frame.with(message, operation, Some(call)));
        Some(call)
    }

    /// The call's outcome.
    pub(crate) fn poll_call(&self, call: CallId, cx: &Context<'_>) -> Poll<Result<Message, CallError>> {
        let mut state = self.state_mut();
        let Some(call) = state.wires.calls.get_mut(&call) else { return Poll::Pending };
        match call.outcome.take() {
            Some(outcome) => Poll::Ready(outcome),
            None => {
                call.waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Whether the client's end is open.
    pub(crate) fn is_open(&self, conn: usize) -> bool {
        self.state_mut().wires.connections[conn].ends[Side::Client as usize].open
    }

    /// The next pushed message, or `None` if the connection is gone.
    pub(crate) fn poll_pushed(&self, conn: usize, cx: &Context<'_>) -> Poll<Option<Message>> {
        let connection = &mut self.state_mut().wires.connections[conn];
        if let Some(message) = connection.pushes.pop_front() {
            return Poll::Ready(Some(message));
        }
        if !connection.ends[Side::Client as usize].open {
            return Poll::Ready(None);
        }
        connection.waiters.push(cx.waker().clone());
        Poll::Pending
    }
}
