//! What arrives: madsim's channels read by network cards, each frame handed to whom it is for.

use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use host::{ConnId, ConnectError, NodeId, Origin, Part};
use madsim::net::{Endpoint, Receiver, Sender};
use send_wrapper::SendWrapper;
use sim::Held;

use crate::connections::End;
use crate::service::Item;
use crate::wire::{Frame, FrameKind, Side};
use crate::world::World;

impl World {
    /// Puts a network card into operation: it binds its address and accepts whoever comes, as long as the run
    /// lasts.
    pub(crate) fn plug_in(self: &Rc<Self>, node: NodeId) {
        let (world, card, address) = {
            let state = self.state();
            (Rc::clone(self), state.node(node).card.clone(), state.node(node).address)
        };
        let accepts = async move {
            let endpoint = Endpoint::bind(address).await.expect("the address is free");
            world.state_mut().node_mut(node).endpoint = Some(endpoint.clone());
            while let Ok((channel, arriving, _)) = endpoint.accept1().await {
                world.spawn_reader(node, arriving, Some(channel));
            }
        };
        drop(card.spawn(SendWrapper::new(accepts)));
    }

    /// Reads a connection. `answers`: the channel back, if this is the accepting side; the first frame tells
    /// which connection it is.
    pub(crate) fn spawn_reader(self: &Rc<Self>, node: NodeId, mut arriving: Receiver, mut answers: Option<Sender>) {
        let (world, card) = (Rc::clone(self), self.state().node(node).card.clone());
        let reads = async move {
            while let Ok(payload) = arriving.recv().await {
                let frame = payload.downcast::<SendWrapper<Frame>>().expect("only frames are sent").take();
                if let Some(channel) = answers.take() {
                    let connection = &mut world.state_mut().wires.connections[frame.conn];
                    connection.ends[Side::Server as usize].channel = Some(Rc::new(channel));
                }
                world.arrives(frame).await;
            }
        };
        drop(card.spawn(SendWrapper::new(reads)));
    }

    /// A frame is at the other machine: a cut may have come while it was on the wire.
    async fn arrives(self: &Rc<Self>, frame: Frame) {
        let (from, to) = self.state().wires.route(frame.conn, frame.from);
        let mut has_met = false;
        let passes = poll_fn(|cx| {
            let mut state = self.state_mut();
            if state.wires.connections[frame.conn].broken[frame.from as usize] {
                return Poll::Ready(false);
            }
            let Some(cut) = state.wires.cut_between(from, to) else { return Poll::Ready(true) };
            if !std::mem::replace(&mut has_met, true) {
                state.faults.strikes[cut.strike].met += 1;
            }
            if cut.held == Held::Dropped || frame.kind == FrameKind::Connect {
                state.wires.connections[frame.conn].broken[frame.from as usize] = true;
                return Poll::Ready(false);
            }
            state.wires.is_held(frame.number);
            state.happened();
            state.wires.healed.push(cx.waker().clone());
            Poll::Pending
        });
        if !passes.await {
            return self.lose(&frame);
        }
        self.receive(frame, to);
    }

    /// A frame has arrived. What a machine without power has to say to it is not sent.
    fn receive(self: &Rc<Self>, frame: Frame, node: NodeId) {
        let (conn, receiver) = (frame.conn, frame.from.other());
        let (alive, life, end_life, open, half_open) = {
            let mut state = self.state_mut();
            state.wires.is_through(frame.number);
            state.happened();
            let part = if receiver == Side::Server { Part::REQUESTS } else { Part::WORKER };
            if !state.node(node).alive || (frame.kind != FrameKind::Connect && state.node(node).holds_up(part)) {
                state.count_met(node);
            }
            let (alive, life) = (state.node(node).alive, state.node(node).life);
            let connection = &state.wires.connections[conn];
            let end = &connection.ends[receiver as usize];
            (alive, life, end.life, end.open, connection.half_open == Some(receiver))
        };
        if frame.kind == FrameKind::Connect {
            let end = &mut self.state_mut().wires.connections[conn].ends[Side::Server as usize];
            *end = End { node, life, open: alive, channel: end.channel.take() };
        }
        if frame.kind == FrameKind::Connect {
            let answer = if alive { FrameKind::Accept } else { FrameKind::Reset };
            return self.send_from_machine(conn, Side::Server, answer);
        }
        if !alive || end_life != life {
            // No process knows this connection: the machine says so.
            if frame.kind == FrameKind::Accept || frame.kind.carries_data() {
                self.send_from_machine(conn, receiver, FrameKind::Reset);
            }
            return;
        }
        if !open && half_open && frame.kind.carries_data() {
            return self.send_from_machine(conn, receiver, FrameKind::Reset);
        }
        match receiver {
            Side::Server if open => self.receive_at_server(frame, node),
            Side::Server => {}
            Side::Client => self.receive_at_client(frame, open),
        }
    }

    fn receive_at_server(&self, frame: Frame, node: NodeId) {
        let conn = ConnId::new(u32::try_from(frame.conn).expect("a run has fewer than 2^32 connections"));
        match (frame.message, frame.call, frame.operation) {
            (Some(message), Some(call), Some(operation)) => {
                self.state_mut().application_events += 1;
                self.hand_in(
                    node,
                    Item::Request { from: Origin { conn, call, operation }, attempt: frame.attempt, message },
                );
            }
            _ => {
                self.state_mut().wires.lose_end(frame.conn, Side::Server);
                self.hand_in(node, Item::Closed(conn));
            }
        }
    }

    fn receive_at_client(self: &Rc<Self>, frame: Frame, open: bool) {
        let conn = frame.conn;
        let mut state = self.state_mut();
        let is_opening = state.wires.connections[conn].opened.is_none();
        match frame.kind {
            FrameKind::Accept if is_opening => state.wires.opened(conn, Ok(())),
            FrameKind::Accept => {
                // The client no longer waits for it: its machine resets what the server took for open.
                drop(state);
                self.send_from_machine(conn, Side::Client, FrameKind::Reset);
            }
            FrameKind::Reset if is_opening => state.wires.opened(conn, Err(ConnectError::Refused)),
            _ if !open => {}
            FrameKind::Reply => {
                let (Some(call), Some(message)) = (frame.call, frame.message) else { return };
                if state.wires.end_call(call, Ok(message)) {
                    state.application_events += 1;
                }
            }
            FrameKind::Push => {
                state.application_events += 1;
                let connection = &mut state.wires.connections[conn];
                connection.pushes.extend(frame.message);
                connection.wake();
            }
            FrameKind::Reset | FrameKind::Close => state.wires.lose_end(conn, Side::Client),
            FrameKind::Connect | FrameKind::Request => unreachable!("only clients send these"),
        }
    }
}
