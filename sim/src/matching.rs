//! Faults of single messages: "the reply to the second `set`" is lost, or late.

use host::{Domain, nanos};

use crate::connections::Side;
use crate::core::Core;
use crate::event::PacketId;
use crate::packets::PacketKind;
use crate::plan::{Cast, Direction, MessageMatch, Target, What};

/// A message fault in force.
pub(crate) struct Matching {
    pub(crate) strike: usize,
    /// How many messages have matched.
    pub(crate) seen: u32,
}

impl<D: Domain> Core<D> {
    /// A packet leaves: message faults may lose or delay it. Whether it may go on.
    #[cold]
    pub(crate) fn meet_message_faults(&mut self, id: PacketId) -> bool {
        for i in 0..self.faults.matching.len() {
            let strike = self.faults.matching[i].strike;
            let what = &self.faults.plan[self.faults.strikes[strike].fault].what;
            let (What::Drop(matches) | What::Delay(matches, _)) = what else { continue };
            if !self.matches(matches, id, self.cast(strike)) {
                continue;
            }
            let nth = matches.nth;
            let delay = if let What::Delay(_, by) = what { Some(*by) } else { None };
            self.faults.matching[i].seen += 1;
            if nth.is_some_and(|nth| nth != self.faults.matching[i].seen) {
                continue;
            }
            self.faults.strikes[strike].met += 1;
            match delay {
                Some(by) => {
                    let by = self.draw_for_strike(strike, &by);
                    let latency = &mut self.packets.header_mut(id).latency;
                    *latency = latency.saturating_add(nanos(by));
                }
                None => {
                    self.break_off(id);
                    return false;
                }
            }
        }
        true
    }

    fn matches(&self, matches: &MessageMatch, id: PacketId, cast: Cast) -> bool {
        let packet = self.packets.header(id);
        let kind = match matches.direction {
            Direction::Request => PacketKind::Request,
            Direction::Reply => PacketKind::Reply,
            Direction::Push => PacketKind::Push,
        };
        let (client, server) = self.route(packet.conn, Side::Client);
        let is = |target: &Target, node| target.node(cast) == Some(node);
        packet.kind == kind
            && self.packets.content(id).is_some_and(|content| content.operation == matches.operation)
            && matches.clients.iter().any(|target| is(target, client))
            && matches.server.as_ref().is_none_or(|target| is(target, server))
    }
}
