//! Packets on their way: who may send, in which order packets arrive, what a cut makes of them.
//!
//! Each direction of a connection is a stream of bytes, as TCP makes it: what was sent first arrives first,
//! and behind a packet that was lost nothing arrives, be it on the wire already when that happened.

use host::{Domain, NodeId, SimTime};

use crate::connections::Side;
use crate::core::Core;
use crate::event::{Event, PacketId, Waiting};
use crate::outcome::RecordKind;
use crate::packets::{Header, PacketKind};
use crate::plan::Held;

/// Nothing passes from one node to another.
#[derive(Clone, Copy)]
pub(crate) struct Cut {
    pub(crate) from: NodeId,
    pub(crate) to: NodeId,
    pub(crate) held: Held,
    pub(crate) strike: usize,
}

/// One direction of a connection.
#[derive(Default)]
pub(crate) struct Way {
    /// How many packets have been put on the wire.
    sent: u32,
    /// How many of them are on their way no more.
    gone: u32,
    /// From this one on they are lost.
    lost_from: Option<u32>,
    /// What a cut holds, in order.
    held: Vec<PacketId>,
    /// What has come to the machine before an earlier one: it waits there.
    early: Vec<(u32, PacketId)>,
    /// When one last arrived; the beginning of the run if none has.
    last: SimTime,
}

impl Way {
    fn is_lost(&self, place: u32) -> bool {
        self.lost_from.is_some_and(|from| from <= place)
    }

    /// Whether that packet is the next to arrive, nothing was ever lost, and nothing waits behind it. It is on its way no
    /// more then.
    #[inline]
    pub(crate) fn pass_next(&mut self, place: Option<u32>, now: SimTime) -> bool {
        let is_next = place == Some(self.gone) && self.lost_from.is_none() && self.early.is_empty();
        if is_next {
            self.gone += 1;
            self.last = now;
        }
        is_next
    }

    /// When a packet last arrived.
    pub(crate) const fn last(&self) -> SimTime {
        self.last
    }

    /// That packet is on its way no more. The next one may have come already: it need not wait any longer.
    fn pass(&mut self, place: u32) -> Option<PacketId> {
        self.gone = self.gone.max(place + 1);
        let next = self.early.iter().position(|(place, _)| *place <= self.gone)?;
        Some(self.early.remove(next).1)
    }
}

impl<D: Domain> Core<D> {
    /// The packet is on the wire from now on, unless something holds it up.
    #[inline(always)]
    pub(crate) fn transmit(&mut self, id: PacketId) {
        let Header { sender: from, receiver: to, latency, .. } = *self.packets.header(id);
        let state = self.node(from);
        if !state.at_ease {
            if !state.is_powered() {
                return self.lose(id);
            }
            if state.standing.machine() > 0 {
                return self.hold(from, None, Waiting::OwnWork, Event::Send(id));
            }
        }
        if self.is_lost(id) {
            self.lose(id);
        } else if let Some(cut) = self.cut_between(from, to) {
            self.meet_cut(id, cut);
        } else {
            let mut at = self.now.plus_nanos(latency);
            if !self.links.slows.is_empty() {
                at = at + self.slowness(from, to);
            }
            self.queue.push(at, Event::Arrive(id));
        }
    }

    /// As [`transmit`](Self::transmit), of what has not left its sender just now.
    #[cold]
    #[inline(never)]
    pub(crate) fn transmit_late(&mut self, id: PacketId) {
        self.transmit(id);
    }

    /// Whether a packet that has come to a machine in power and awake is the next one of its direction; if
    /// not, it waits for those before it.
    pub(crate) fn arrives_in_turn(&mut self, id: PacketId) -> bool {
        let now = self.now;
        let (way, place) = self.way_of(id);
        if way.gone < place {
            way.early.push((place, id));
            return false;
        }
        way.last = now;
        if let Some(next) = way.pass(place) {
            self.queue.push_ahead(now, Event::Arrive(next));
        }
        true
    }

    /// Whether something before the packet was lost.
    #[inline]
    pub(crate) fn is_lost(&mut self, id: PacketId) -> bool {
        let (way, place) = self.way_of(id);
        way.is_lost(place)
    }

    /// The cut in force between two nodes.
    #[inline]
    pub(crate) fn cut_between(&self, from: NodeId, to: NodeId) -> Option<Cut> {
        self.links.cuts.iter().find(|cut| cut.from == from && cut.to == to).copied()
    }

    /// A packet meets a cut: it is held, or lost and the direction with it.
    #[cold]
    pub(crate) fn meet_cut(&mut self, id: PacketId, cut: Cut) {
        self.faults.strikes[cut.strike].met += 1;
        if cut.held == Held::Linger && self.packets.header(id).kind != PacketKind::Connect {
            self.trace_packet(id, RecordKind::Held);
            self.is_not_acknowledged(id);
            self.set_awaited(id, false);
            self.way_of(id).0.held.push(id);
        } else {
            self.break_off(id);
        }
    }

    /// The packet is lost, and all that was or will be sent behind it.
    pub(crate) fn break_off(&mut self, id: PacketId) {
        let (way, place) = self.way_of(id);
        way.lost_from = Some(way.lost_from.map_or(place, |from| from.min(place)));
        for (place, early) in std::mem::take(&mut way.early) {
            let (way, _) = self.way_of(id);
            if way.is_lost(place) {
                self.lose(early);
            } else {
                way.early.push((place, early));
            }
        }
        self.lose(id);
    }

    /// The cuts between these nodes are healed: what they held goes on its way, in order.
    pub(crate) fn release_held(&mut self, from: NodeId, to: NodeId) {
        self.each_held(
            |sender, receiver| (sender, receiver) == (from, to),
            |core, id| {
                core.set_awaited(id, true);
                core.transmit_late(id);
            },
        );
    }

    /// The sender has lost its memory: what cuts hold of it is lost.
    pub(crate) fn lose_held_of(&mut self, from: NodeId) {
        self.each_held(|sender, _| sender == from, Self::lose);
    }

    fn each_held(&mut self, on: impl Fn(NodeId, NodeId) -> bool, act: impl Fn(&mut Self, PacketId)) {
        for conn in 0..self.connections.all.len() {
            for side in [Side::Client, Side::Server] {
                let (from, to) = self.route(conn, side);
                if on(from, to) {
                    for id in std::mem::take(&mut self.way_mut(conn, side).held) {
                        act(self, id);
                    }
                }
            }
        }
    }

    /// The packet never arrives.
    #[cold]
    pub(crate) fn lose(&mut self, id: PacketId) {
        self.trace_packet(id, RecordKind::Lost);
        self.is_not_acknowledged(id);
        let Header { conn, from: side, place, .. } = *self.packets.header(id);
        self.packets.take(id);
        // What comes behind a lost packet waits for nothing any more.
        if let Some(place) = place {
            let way = self.way_mut(conn, side);
            if !way.is_lost(place)
                && let Some(next) = way.pass(place)
            {
                self.queue.push_ahead(self.now, Event::Arrive(next));
            }
        }
    }

    /// The packet's direction, and its place there, which it gets when it is first asked for.
    #[inline]
    fn way_of(&mut self, id: PacketId) -> (&mut Way, u32) {
        let Header { conn, from, place, .. } = self.packets.header_mut(id);
        let way = &mut self.connections.all[*conn].ways[*from as usize];
        let place = *place.get_or_insert_with(|| {
            way.sent += 1;
            way.sent - 1
        });
        (way, place)
    }

    fn way_mut(&mut self, conn: usize, side: Side) -> &mut Way {
        &mut self.connections.all[conn].ways[side as usize]
    }
}
