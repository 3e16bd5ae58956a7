//! Sending: what is sent, and how long it takes.
//!
//! A send is two events. *Deciding* happens inside the step that sends; *leaving* is an event of its
//! own a little processor time later (1 to 20 us, drawn), in program order for each node. A pause, a
//! kill or a cut may act between the two: "looked at the clock … stood still … the write left".

use host::{AttemptId, Digest, Domain, Duration, Fold, NodeId, Part, Span, nanos, span};

use crate::connections::Side;
use crate::core::Core;
use crate::event::{Event, PacketId};
use crate::outcome::RecordKind;
use crate::packets::{Content, Header, PacketKind};
use crate::stream::{Stream, StreamPurpose};
use crate::wire::Cut;

#[derive(Default)]
pub(crate) struct Links {
    next_number: u32,
    /// For each sender and receiver, in one row a sender.
    pairs: Vec<Pair>,
    pub(crate) cuts: Vec<Cut>,
    pub(crate) slows: Vec<Slow>,
}

/// One direction between two nodes.
struct Pair {
    latency: Span,
    stream: Option<Stream>,
}

/// What passes from one node to another takes longer.
#[derive(Clone, Copy)]
pub(crate) struct Slow {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) by: Span,
    pub(crate) strike: usize,
}

/// What one end of a connection is to send.
pub(crate) struct Sending<M> {
    pub(crate) conn: usize,
    pub(crate) from: Side,
    pub(crate) kind: PacketKind,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) content: Option<Content<M>>,
}

impl Links {
    /// Lays links between that many nodes, with these latencies; where none is given, the same for all.
    pub(crate) fn lay(&mut self, nodes: usize, latencies: &[(NodeId, NodeId, Span)], otherwise: Span) {
        self.pairs.resize_with(nodes * nodes, || Pair { latency: otherwise, stream: None });
        for (from, to, latency) in latencies {
            self.pairs[from.index() * nodes + to.index()].latency = *latency;
        }
    }

    /// Back to the beginning, before any link is laid.
    pub(crate) fn reset(&mut self) {
        let Self { next_number, pairs, cuts, slows } = self;
        *next_number = 0;
        pairs.clear();
        cuts.clear();
        slows.clear();
    }
}

impl<D: Domain> Core<D> {
    /// A step decides to send: the message will leave a little processor time later.
    // Else the message is moved once more, and what is known of a call or a reply is asked.
    #[inline(always)]
    pub(crate) fn decide(&mut self, sending: Sending<D::Message>) {
        let is_reply = sending.kind == PacketKind::Reply;
        let part = if is_reply { Some(Part::REQUESTS) } else { self.tasks.current_part() };
        let (id, header, pair) = self.prepare(sending, part);
        let stream = self.link_stream(pair);
        let cpu = span::uniform(CPU_SHORTEST, CPU_LONGEST, || stream.word());
        let now = self.now;
        let busy_until = &mut self.node_mut(header.sender).busy_until;
        let at = (*busy_until).max(now).plus_nanos(cpu);
        *busy_until = at;
        self.trace_header(id, &header, RecordKind::Decide);
        self.queue.push(at, Event::Leave(id));
    }

    /// As [`decide`](Self::decide), of what is rare.
    #[inline(never)]
    pub(crate) fn decide_apart(&mut self, sending: Sending<D::Message>) {
        self.decide(sending);
    }

    /// The machine itself answers, at once and behind what it has sent.
    #[cold]
    pub(crate) fn send_from_machine(&mut self, conn: usize, from: Side, kind: PacketKind) {
        let (id, ..) = self.prepare(Sending { conn, from, kind, attempt: None, content: None }, None);
        self.transmit_late(id);
    }

    /// Gives a packet its number, its digest and its latency, and a place of its own. On which link it goes.
    // Else the header is written and read again.
    #[inline(always)]
    fn prepare(&mut self, sending: Sending<D::Message>, part: Option<Part>) -> (PacketId, Header, usize) {
        let Sending { conn, from, kind, attempt, content } = sending;
        let ends = &self.connections.all[conn].ends;
        let (life, sender, receiver) =
            (ends[from as usize].life, ends[from as usize].node, ends[from.other() as usize].node);
        let number = self.links.next_number;
        self.links.next_number += 1;
        let id = self.packets.put(content);
        let message = self.packets.message(id);
        let mut digest = Fold::new(conn as u64);
        digest.word(kind as u64);
        message.digest(&mut digest);
        let digest = digest.value();
        let awaited = message.is_some() && self.node(receiver).is_awaited();
        let pair = sender.index() * self.nodes.len() + receiver.index();
        let latency = match self.links.pairs[pair].latency {
            Span::Fixed(latency) => nanos(latency),
            span => nanos(self.link_stream(pair).draw(&span)),
        };
        let place = None;
        let header =
            Header { conn, from, kind, sender, receiver, life, attempt, part, place, latency, number, digest, awaited };
        self.packets.address(id, header);
        (id, header, pair)
    }

    /// The run's end waits for this packet, if it goes where that matters; or not, while a cut holds it: it
    /// waits for the end of the cut then, if that is to come.
    pub(crate) fn set_awaited(&mut self, id: PacketId, on_its_way: bool) {
        let receiver = self.packets.header(id).receiver;
        let matters = self.packets.message(id).is_some() && self.node(receiver).is_awaited();
        self.packets.set_awaited(id, on_its_way && matters);
    }

    /// Sender and receiver of what that side of the connection sends.
    pub(crate) fn route(&self, conn: usize, side: Side) -> (NodeId, NodeId) {
        let ends = &self.connections.all[conn].ends;
        (ends[side as usize].node, ends[side.other() as usize].node)
    }

    /// What happened to a packet: at its receiver if it arrived, else at its sender.
    #[inline]
    pub(crate) fn trace_packet(&mut self, id: PacketId, kind: RecordKind) {
        let header = *self.packets.header(id);
        self.trace_header(id, &header, kind);
    }

    /// As [`trace_packet`](Self::trace_packet), of a packet with that header.
    #[inline]
    pub(crate) fn trace_header(&mut self, id: PacketId, header: &Header, kind: RecordKind) {
        if self.records.is_some() {
            return self.record_packet(id, kind);
        }
        let (node, digest, about) = header.told(kind);
        self.fold(node, kind, digest, &about);
    }

    #[cold]
    #[inline(never)]
    fn record_packet(&mut self, id: PacketId, kind: RecordKind) {
        let (node, digest, about) = self.packets.header(id).told(kind);
        let bare = || self.packets.header(id).kind.name().to_owned();
        let text = self.packets.message(id).map_or_else(bare, D::describe_message);
        self.trace(node, kind, digest, about, || text);
    }

    #[inline]
    fn link_stream(&mut self, pair: usize) -> &mut Stream {
        if self.links.pairs[pair].stream.is_none() {
            self.begin_link_stream(pair);
        }
        self.links.pairs[pair].stream.as_mut().expect("it has begun")
    }

    #[cold]
    #[inline(never)]
    fn begin_link_stream(&mut self, pair: usize) {
        let [from, to] = [pair / self.nodes.len(), pair % self.nodes.len()];
        let [one, other] = [from, to].map(|node| self.nodes[node].spec.entity);
        self.links.pairs[pair].stream = Some(Stream::new(self.seed, StreamPurpose::Link, one, other));
    }

    /// By how much the faults in force slow this link down, and counts that they did.
    #[cold]
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
