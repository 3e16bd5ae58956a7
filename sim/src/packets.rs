//! Packets on their way: where they are kept, and what is known of each.
//!
//! A packet stays in its slot from the moment at which it is decided to its arrival, and the queue carries only
//! the slot's number. The header is small and copied freely, since every event of a packet reads it; the message
//! is moved twice, in and out.

use host::{AttemptId, CallId, Duration, NodeId, Operation, Part};

use crate::connections::Side;
use crate::event::PacketId;

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
    /// The call that it belongs to.
    pub(crate) call: Option<CallId>,
    pub(crate) operation: Option<Operation>,
    /// The part of the sending process that decided it: it leaves when that part runs.
    pub(crate) part: Option<Part>,
    /// The how-manieth packet it is on its direction of its connection, once it is on the wire.
    pub(crate) place: Option<u32>,
    pub(crate) latency: Duration,
    pub(crate) number: u32,
    pub(crate) digest: u64,
    /// The run's end waits for it.
    pub(crate) awaited: bool,
}

struct Packet<M> {
    header: Header,
    message: Option<M>,
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

    pub(crate) fn put(&mut self, header: Header, message: Option<M>) -> PacketId {
        self.awaited += u32::from(header.awaited);
        let packet = Packet { header, message, on_its_way: true };
        match self.free.pop() {
            Some(id) => {
                self.slots[id.0] = packet;
                id
            }
            None => {
                self.slots.push(packet);
                PacketId(self.slots.len() - 1)
            }
        }
    }

    /// Takes a packet out of its slot: it is on its way no more.
    #[inline]
    pub(crate) fn take(&mut self, id: PacketId) -> (&Header, Option<M>) {
        let Packet { header, message, on_its_way } = &mut self.slots[id.0];
        assert!(std::mem::take(on_its_way), "a packet on its way is there");
        self.free.push(id);
        self.awaited -= u32::from(header.awaited);
        (header, message.take())
    }

    pub(crate) fn header(&self, id: PacketId) -> &Header {
        &self.slots[id.0].header
    }

    pub(crate) fn header_mut(&mut self, id: PacketId) -> &mut Header {
        &mut self.slots[id.0].header
    }

    pub(crate) fn message(&self, id: PacketId) -> Option<&M> {
        self.slots[id.0].message.as_ref()
    }

    /// Whether the run's end waits for the packet, from now on.
    pub(crate) fn set_awaited(&mut self, id: PacketId, awaited: bool) {
        let before = std::mem::replace(&mut self.slots[id.0].header.awaited, awaited);
        self.awaited = self.awaited + u32::from(awaited) - u32::from(before);
    }
}
