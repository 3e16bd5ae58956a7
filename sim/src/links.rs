//! Sending: what is sent, and how long it takes.
//!
//! A send is two events. *Deciding* happens inside the step that sends; *leaving* is an event of its
//! own a little processor time later (1 to 20 us, drawn), in program order for each node. A pause, a
//! kill or a cut may act between the two: "looked at the clock … stood still … the write left".

use host::{AttemptId, Digest, Domain, Duration, Fold, NodeId, Part, Span, nanos, span};

use crate::connections::{End, Side};
use crate::core::Core;
use crate::event::{Event, PacketId};
use crate::outcome::RecordKind;
use crate::packets::{Content, Header, PacketKind};
use crate::stream::{Entity, Stream, StreamPurpose};
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
        let (id, header, cpu) = self.prepare(sending, part, true);
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
        let (id, ..) = self.prepare(Sending { conn, from, kind, attempt: None, content: None }, None, false);
        self.transmit_late(id);
    }

    /// Gives a packet its number, its digest and its latency, and a place of its own; and, if it takes its sender some, how
    /// much processor time.
    // Else the header is written and read again.
    #[inline(always)]
    fn prepare(
        &mut self,
        sending: Sending<D::Message>,
        part: Option<Part>,
        takes_cpu: bool,
    ) -> (PacketId, Header, u64) {
        let Sending { conn, from, kind, attempt, content } = sending;
        let Self { connections, links, nodes, packets, seed, .. } = self;
        let ends = &connections.all[conn].ends;
        let (End { node: sender, life, .. }, End { node: receiver, .. }) =
            (ends[from as usize], ends[from.other() as usize]);
        let number = links.next_number;
        links.next_number += 1;
        let message = content.as_ref().map(|content| &content.message);
        let awaited = message.is_some() && nodes[receiver.index()].is_awaited();
        let mut digest = Fold::new(conn as u64);
        digest.word(kind as u64);
        message.digest(&mut digest);
        let Pair { latency, stream } = &mut links.pairs[sender.index() * nodes.len() + receiver.index()];
        if stream.is_none() {
            let entity = |node: NodeId| nodes[node.index()].spec.entity;
            begin(stream, *seed, entity(sender), entity(receiver));
        }
        let stream = stream.as_mut().expect("it has begun");
        let latency = match latency {
            Span::Fixed(latency) => nanos(*latency),
            span => stream.draw_nanos(span),
        };
        let cpu = if takes_cpu { span::uniform(CPU_SHORTEST, CPU_LONGEST, || stream.word()) } else { 0 };
        let (place, digest) = (None, digest.value());
        let header =
            Header { conn, from, kind, sender, receiver, life, attempt, part, place, latency, number, digest, awaited };
        (packets.put(header, content), header, cpu)
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
        header.fold_into(&mut self.hash, self.now, kind);
    }

    #[cold]
    #[inline(never)]
    fn record_packet(&mut self, id: PacketId, kind: RecordKind) {
        let (node, digest, about) = self.packets.header(id).told(kind);
        let bare = || self.packets.header(id).kind.name().to_owned();
        let text = self.packets.message(id).map_or_else(bare, D::describe_message);
        self.trace(node, kind, digest, about, || text);
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

/// A link's stream begins when something is first sent on it: most links of a world are never used.
#[cold]
#[inline(never)]
fn begin(stream: &mut Option<Stream>, seed: u64, from: Entity, to: Entity) {
    *stream = Some(Stream::new(seed, StreamPurpose::Link, from, to));
}

/// The least and the most processor time between deciding and leaving, in ns.
const CPU_SHORTEST: u64 = 1_000;
const CPU_LONGEST: u64 = 20_000;
