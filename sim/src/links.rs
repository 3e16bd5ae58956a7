//! Packets on their way: decided, left, arrived; and what can hold them up.
//!
//! A send is two events. *Deciding* happens inside the step that sends; *leaving* is an event of its
//! own a little processor time later (1 to 20 us, drawn), in program order for each node. A pause, a
//! kill or a cut may act between the two: "looked at the clock … stood still … the write left".

use host::{AttemptId, CallId, Digest, Domain, Duration, NodeId, Operation, Span, span};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, PacketId};
use crate::outcome::RecordKind;
use crate::plan::Held;
use crate::stream::{Stream, StreamPurpose};

pub(crate) struct Links<M> {
    packets: Vec<Option<Packet<M>>>,
    free: Vec<PacketId>,
    next_number: u32,
    /// For each sender and receiver, in one row a sender.
    pairs: Vec<Pair>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) slows: Vec<Slow>,
    /// How many packets are on their way to a node that the run's end waits for.
    pub(crate) awaited: u32,
}

impl<M> Default for Links<M> {
    fn default() -> Self {
        Self {
            packets: Vec::with_capacity(16),
            free: Vec::new(),
            next_number: 0,
            pairs: Vec::new(),
            cuts: Vec::new(),
            slows: Vec::new(),
            awaited: 0,
        }
    }
}

/// One direction between two nodes.
#[derive(Clone)]
pub(crate) struct Pair {
    pub(crate) latency: Span,
    stream: Option<Box<Stream>>,
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PacketKind {
    Connect = 0,
    Accept = 1,
    Request = 2,
    Reply = 3,
    Push = 4,
    Close = 5,
    Reset = 6,
}

impl PacketKind {
    pub(crate) const fn carries_data(self) -> bool {
        matches!(self, Self::Request | Self::Reply | Self::Push)
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Accept => "accept",
            Self::Request => "request",
            Self::Reply => "reply",
            Self::Push => "push",
            Self::Close => "close",
            Self::Reset => "reset",
        }
    }
}

pub(crate) struct Packet<M> {
    pub(crate) conn: usize,
    pub(crate) from: Side,
    pub(crate) kind: PacketKind,
    /// The life of the sending process: what a dead one decided does not leave.
    pub(crate) life: u32,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) call: Option<CallId>,
    pub(crate) operation: Option<Operation>,
    pub(crate) message: Option<M>,
    number: u32,
    digest: u64,
    latency: Duration,
    awaited: bool,
}

impl<M> Packet<M> {
    /// A packet without a message.
    pub(crate) const fn bare(conn: usize, from: Side, kind: PacketKind, life: u32, attempt: Option<AttemptId>) -> Self {
        Self {
            conn,
            from,
            kind,
            life,
            attempt,
            call: None,
            operation: None,
            message: None,
            number: 0,
            digest: 0,
            latency: Duration::ZERO,
            awaited: false,
        }
    }

    /// The same packet with a message, of that operation, and for that call if it belongs to one.
    pub(crate) fn with(self, message: M, operation: Operation, call: Option<CallId>) -> Self {
        Self { message: Some(message), operation: Some(operation), call, ..self }
    }
}

impl<D: Domain> Core<D> {
    /// Makes room for the links between all nodes, each with the same latency for now.
    pub(crate) fn lay_links(&mut self, latency: Span) {
        let count = self.nodes.len();
        self.links.pairs = vec![Pair { latency, stream: None }; count * count];
    }

    pub(crate) fn pair_mut(&mut self, from: NodeId, to: NodeId) -> &mut Pair {
        let count = self.nodes.len();
        &mut self.links.pairs[from.index() * count + to.index()]
    }

    /// A step decides to send: the message will leave a little processor time later.
    pub(crate) fn decide(&mut self, packet: Packet<D::Message>) {
        let packet = self.prepared(packet);
        let (node, to) = self.route(packet.conn, packet.from);
        let cpu = {
            let stream = self.link_stream(node, to);
            span::uniform(CPU_SHORTEST, CPU_LONGEST, || stream.word())
        };
        let at = self.node(node).busy_until.max(self.now) + Duration::from_nanos(cpu);
        self.node_mut(node).busy_until = at;
        let id = self.put(packet);
        self.trace_packet(id, node, to, RecordKind::Decide);
        self.queue.push(at, Event::Leave(id));
    }

    /// The machine itself answers, at once and behind what it has sent.
    pub(crate) fn send_from_machine(&mut self, conn: usize, side: Side, kind: PacketKind) {
        let life = self.connections.all[conn].ends[side as usize].life;
        let packet = self.prepared(Packet::bare(conn, side, kind, life, None));
        let id = self.put(packet);
        self.transmit(id);
    }

    /// The packet is on the wire from now on, unless something holds it up.
    pub(crate) fn transmit(&mut self, id: PacketId) {
        let packet = self.packet(id);
        let (conn, side, latency) = (packet.conn, packet.from, packet.latency);
        let (from, to) = self.route(conn, side);
        if self.connections.all[conn].broken[side as usize] {
            self.lose(id);
        } else if let Some(cut) = self.cut_between(from, to) {
            self.meet_cut(id, cut);
        } else {
            let latency = latency + self.slowness(from, to);
            let last = &mut self.connections.all[conn].last_arrival[side as usize];
            let at = (self.now + latency).max(*last);
            *last = at;
            self.queue.push(at, Event::Arrive(id));
        }
    }

    /// The cut in force between two nodes.
    pub(crate) fn cut_between(&self, from: NodeId, to: NodeId) -> Option<Cut> {
        self.links.cuts.iter().find(|cut| cut.from == from && cut.to == to).copied()
    }

    /// A packet meets a cut: it is held, or lost and the direction with it.
    pub(crate) fn meet_cut(&mut self, id: PacketId, cut: Cut) {
        self.faults.strikes[cut.strike].met += 1;
        let packet = self.packet(id);
        let (conn, side) = (packet.conn, packet.from as usize);
        if cut.held == Held::Linger && packet.kind != PacketKind::Connect {
            self.trace_packet(id, cut.from, cut.to, RecordKind::Held);
            self.connections.all[conn].held[side].push(id);
        } else {
            self.connections.all[conn].broken[side] = true;
            self.lose(id);
        }
    }

    /// The cuts between these nodes are healed: what they held goes on its way, in order.
    pub(crate) fn release_held(&mut self, from: NodeId, to: NodeId) {
        for conn in 0..self.connections.all.len() {
            for side in [Side::Client, Side::Server] {
                if self.route(conn, side) == (from, to) {
                    for id in std::mem::take(&mut self.connections.all[conn].held[side as usize]) {
                        self.transmit(id);
                    }
                }
            }
        }
    }

    /// The packet never arrives.
    pub(crate) fn lose(&mut self, id: PacketId) {
        let packet = self.packet(id);
        let (from, to) = self.route(packet.conn, packet.from);
        self.trace_packet(id, from, to, RecordKind::Lost);
        self.take(id);
    }

    pub(crate) fn delay(&mut self, id: PacketId, by: Duration) {
        self.packet_mut(id).latency += by;
    }

    pub(crate) fn packet(&self, id: PacketId) -> &Packet<D::Message> {
        self.links.packets[id.0].as_ref().expect("a packet on its way is there")
    }

    fn packet_mut(&mut self, id: PacketId) -> &mut Packet<D::Message> {
        self.links.packets[id.0].as_mut().expect("a packet on its way is there")
    }

    pub(crate) fn take(&mut self, id: PacketId) -> Packet<D::Message> {
        let packet = self.links.packets[id.0].take().expect("a packet on its way is there");
        self.links.free.push(id);
        self.links.awaited -= u32::from(packet.awaited);
        packet
    }

    /// Sender and receiver of what that side of the connection sends.
    pub(crate) fn route(&self, conn: usize, side: Side) -> (NodeId, NodeId) {
        let ends = &self.connections.all[conn].ends;
        (ends[side as usize].node, ends[side.other() as usize].node)
    }

    pub(crate) fn trace_packet(&mut self, id: PacketId, node: NodeId, peer: NodeId, kind: RecordKind) {
        let packet = self.packet(id);
        let digest = packet.digest ^ packet.kind as u64;
        let (peer, message) = (Some(peer), Some(packet.number));
        let about = About { peer, message, attempt: packet.attempt, fault: None };
        let text = if self.records.is_some() {
            packet.message.as_ref().map_or_else(|| packet.kind.name().to_owned(), D::describe_message)
        } else {
            String::new()
        };
        self.trace(node, kind, digest, about, || text);
    }

    /// Gives a packet its number, its digest and its latency.
    fn prepared(&mut self, packet: Packet<D::Message>) -> Packet<D::Message> {
        let (from, to) = self.route(packet.conn, packet.from);
        let number = self.links.next_number;
        self.links.next_number += 1;
        let digest = packet.message.as_ref().map_or(0, Digest::digested);
        let awaited = packet.message.is_some() && self.node(to).is_awaited();
        let latency = match self.pair_mut(from, to).latency {
            Span::Fixed(latency) => latency,
            span => self.link_stream(from, to).draw(&span),
        };
        Packet { number, digest, latency, awaited, ..packet }
    }

    fn put(&mut self, packet: Packet<D::Message>) -> PacketId {
        self.links.awaited += u32::from(packet.awaited);
        match self.links.free.pop() {
            Some(id) => {
                self.links.packets[id.0] = Some(packet);
                id
            }
            None => {
                self.links.packets.push(Some(packet));
                PacketId(self.links.packets.len() - 1)
            }
        }
    }

    fn link_stream(&mut self, from: NodeId, to: NodeId) -> &mut Stream {
        let (seed, one, other) = (self.seed, self.node(from).entity, self.node(to).entity);
        let stream = &mut self.pair_mut(from, to).stream;
        stream.get_or_insert_with(|| Box::new(Stream::new(seed, StreamPurpose::Link, one, other)))
    }

    /// By how much the faults in force slow this link down, and counts that they did.
    fn slowness(&mut self, from: NodeId, to: NodeId) -> Duration {
        let mut total = Duration::ZERO;
        for i in 0..self.links.slows.len() {
            let slow = self.links.slows[i];
            if slow.from == from && slow.to == to {
                self.faults.strikes[slow.strike].met += 1;
                total += self.draw_for_strike(slow.strike, &slow.by);
            }
        }
        total
    }
}

/// The least and the most processor time between deciding and leaving, in ns.
const CPU_SHORTEST: u64 = 1_000;
const CPU_LONGEST: u64 = 20_000;
