//! Packets: what is sent, and how long it takes.
//!
//! A send is two events. *Deciding* happens inside the step that sends; *leaving* is an event of its
//! own a little processor time later (1 to 20 us, drawn), in program order for each node. A pause, a
//! kill or a cut may act between the two: "looked at the clock … stood still … the write left".

use host::{AttemptId, CallId, Digest, Domain, Duration, Fold, NodeId, Operation, Part, Span, span};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, PacketId};
use crate::outcome::RecordKind;
use crate::stream::{Stream, StreamPurpose};
use crate::wire::Cut;

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
    /// The part of the sending process that decided it: it leaves when that part runs.
    pub(crate) part: Option<Part>,
    /// The how-manieth packet it is on its direction of its connection, once it is on the wire.
    pub(crate) place: Option<u32>,
    pub(crate) latency: Duration,
    number: u32,
    digest: u64,
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
            part: None,
            place: None,
            latency: Duration::ZERO,
            number: 0,
            digest: 0,
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
        let part = if packet.kind == PacketKind::Reply { Some(Part::REQUESTS) } else { self.tasks.current_part() };
        let packet = self.prepared(Packet { part, ..packet });
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

    pub(crate) fn packet(&self, id: PacketId) -> &Packet<D::Message> {
        self.links.packets[id.0].as_ref().expect("a packet on its way is there")
    }

    pub(crate) fn packet_mut(&mut self, id: PacketId) -> &mut Packet<D::Message> {
        self.links.packets[id.0].as_mut().expect("a packet on its way is there")
    }

    /// Takes a packet out of its slot: it is on its way no more.
    pub(crate) fn take(&mut self, id: PacketId) -> Packet<D::Message> {
        let packet = self.links.packets[id.0].take().expect("a packet on its way is there");
        self.links.free.push(id);
        self.links.awaited -= u32::from(packet.awaited);
        packet
    }

    /// The run's end waits for this packet, if it goes where that matters; or not, while a cut holds it: it
    /// waits for the end of the cut then, if that is to come.
    pub(crate) fn set_awaited(&mut self, id: PacketId, on_its_way: bool) {
        let packet = self.packet(id);
        let (_, to) = self.route(packet.conn, packet.from);
        let awaited = on_its_way && packet.message.is_some() && self.node(to).is_awaited();
        let before = std::mem::replace(&mut self.packet_mut(id).awaited, awaited);
        self.links.awaited = self.links.awaited + u32::from(awaited) - u32::from(before);
    }

    /// Sender and receiver of what that side of the connection sends.
    pub(crate) fn route(&self, conn: usize, side: Side) -> (NodeId, NodeId) {
        let ends = &self.connections.all[conn].ends;
        (ends[side as usize].node, ends[side.other() as usize].node)
    }

    pub(crate) fn trace_packet(&mut self, id: PacketId, node: NodeId, peer: NodeId, kind: RecordKind) {
        let packet = self.packet(id);
        let digest = packet.digest;
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
        let mut digest = Fold::new(packet.conn as u64);
        digest.word(packet.kind as u64);
        packet.message.digest(&mut digest);
        let digest = digest.value();
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
    pub(crate) fn slowness(&mut self, from: NodeId, to: NodeId) -> Duration {
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
