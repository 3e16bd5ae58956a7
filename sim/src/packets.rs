//! Packets on their way: where they are kept, and what is known of each.
//!
//! A packet stays in its slot from the moment at which it is decided to its arrival, and the queue carries only
//! the slot's number. The header is small and copied freely, since every event of a packet reads it; the message
//! is moved twice, in and out.

use host::{AttemptId, CallId, Fold, NodeId, Operation, Part, SimTime};

use crate::connections::Side;
use crate::core::About;
use crate::event::PacketId;
use crate::outcome::RecordKind;

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

    pub(crate) const fn name(self) -> &'static str {
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

/// All that is known of a packet, but for its message.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub(crate) conn: usize,
    /// The end of the connection that sends it.
    pub(crate) from: Side,
    pub(crate) kind: PacketKind,
    pub(crate) sender: NodeId,
    pub(crate) receiver: NodeId,
    /// The life of the sending process: what a dead one decided does not leave.
    pub(crate) life: u32,
    pub(crate) attempt: Option<AttemptId>,
    /// The part of the sending process that decided it: it leaves when that part runs.
    pub(crate) part: Option<Part>,
    /// The how-manieth packet it is on its direction of its connection, once it is on the wire.
    pub(crate) place: Option<u32>,
    /// In ns.
    pub(crate) latency: u64,
    pub(crate) number: u32,
    pub(crate) digest: u64,
    /// The run's end waits for it.
    pub(crate) awaited: bool,
}

impl Header {
    /// What the trace says of a packet to which this happened: where, the digest, and the rest.
    #[inline]
    pub(crate) fn told(&self, kind: RecordKind) -> (NodeId, u64, About) {
        let Self { sender, receiver, attempt, number, digest, .. } = *self;
        let (node, peer) = if kind == RecordKind::Arrive { (receiver, sender) } else { (sender, receiver) };
        (node, digest, About { peer: Some(peer), message: Some(number), attempt, fault: None })
    }

    /// Folds into a trace hash that this happened to the packet.
    #[inline(always)]
    pub(crate) fn fold_into(&self, hash: &mut Fold, now: SimTime, kind: RecordKind) {
        let (node, digest, about) = self.told(kind);
        about.fold_into(hash, now, node, kind, digest);
    }

    /// That of a slot before it has been used.
    const BLANK: Self = Self {
        conn: 0,
        from: Side::Client,
        kind: PacketKind::Connect,
        sender: NodeId::new(0),
        receiver: NodeId::new(0),
        life: 0,
        attempt: None,
        part: None,
        place: None,
        latency: 0,
        number: 0,
        digest: 0,
        awaited: false,
    };
}

/// A message, what it asks for or answers, and the call that it belongs to, if it does.
pub(crate) struct Content<M> {
    pub(crate) message: M,
    pub(crate) operation: Operation,
    pub(crate) call: Option<CallId>,
}

struct Packet<M> {
    header: Header,
    content: Option<Content<M>>,
    on_its_way: bool,
}

/// Every packet that is on its way.
pub(crate) struct Packets<M> {
    slots: Vec<Packet<M>>,
    free: Vec<PacketId>,
    /// How many packets are on their way to a node that the run's end waits for.
    pub(crate) awaited: u32,
}

impl<M> Default for Packets<M> {
    fn default() -> Self {
        Self { slots: Vec::with_capacity(16), free: Vec::with_capacity(16), awaited: 0 }
    }
}

impl<M> Packets<M> {
    /// Back to the beginning: nothing is on its way.
    pub(crate) fn reset(&mut self) {
        let Self { slots, free, awaited } = self;
        slots.clear();
        free.clear();
        *awaited = 0;
    }

    /// Puts a packet into a slot.
    // Else a message is moved once more.
    #[inline(always)]
    pub(crate) fn put(&mut self, header: Header, content: Option<Content<M>>) -> PacketId {
        self.awaited += u32::from(header.awaited);
        let id = self.free.pop().unwrap_or_else(|| self.add_slot());
        let slot = &mut self.slots[id.0];
        (slot.header, slot.on_its_way) = (header, true);
        if let Some(content) = content {
            // The slot is empty: moved straight into it, since nothing is to be dropped.
            slot.content.get_or_insert(content);
        }
        id
    }

    #[cold]
    fn add_slot(&mut self) -> PacketId {
        self.slots.push(Packet { header: Header::BLANK, content: None, on_its_way: true });
        PacketId(self.slots.len() - 1)
    }

    /// Takes a packet out of its slot: it is on its way no more. Gives back its message.
    // Else the message is moved once more.
    #[inline(always)]
    pub(crate) fn take(&mut self, id: PacketId) -> Option<M> {
        let Packet { header, content, on_its_way } = &mut self.slots[id.0];
        assert!(std::mem::take(on_its_way), "a packet on its way is there");
        self.free.push(id);
        self.awaited -= u32::from(header.awaited);
        content.take().map(|content| content.message)
    }

    pub(crate) fn header(&self, id: PacketId) -> &Header {
        &self.slots[id.0].header
    }

    pub(crate) fn header_mut(&mut self, id: PacketId) -> &mut Header {
        &mut self.slots[id.0].header
    }

    pub(crate) fn content(&self, id: PacketId) -> Option<&Content<M>> {
        self.slots[id.0].content.as_ref()
    }

    pub(crate) fn message(&self, id: PacketId) -> Option<&M> {
        self.content(id).map(|content| &content.message)
    }

    /// Whether the run's end waits for the packet, from now on.
    pub(crate) fn set_awaited(&mut self, id: PacketId, awaited: bool) {
        let before = std::mem::replace(&mut self.slots[id.0].header.awaited, awaited);
        self.awaited = self.awaited + u32::from(awaited) - u32::from(before);
    }
}
