//! Messages that are lost or late. Nobody stands between the processes of this machine, but a client itself may: it loses
//! what it is about to send, or what has just come, and its library cannot tell that from a loss on the way.

use host::NodeId;
use models::Nudge;
use sim::{Cast, Direction, Link, MessageMatch, Target, What};

use super::Coordinator;
use crate::line::{Meddling, Order, Way};

impl Coordinator {
    /// The clients concerned are told of what befalls their messages.
    pub(super) fn meddle(&mut self, strike: usize, what: &What<Nudge>, reacher: Option<NodeId>) {
        let cast = Cast { reacher, leader: self.leader };
        let meddlings = match what {
            What::Cut(links, _) => self.cuts(strike, links, cast),
            What::Drop(matches) => self.matching(strike, matches, cast, None),
            What::Delay(matches, by) => {
                let late = self.draw(self.strikes[strike].fault, by);
                self.matching(strike, matches, cast, Some(late))
            }
            _ => return,
        };
        for (client, meddling) in meddlings {
            self.order(client, &Order::Meddle(meddling));
        }
    }

    /// A client that begins is told of the cuts that there are.
    pub(super) fn tell_of_cuts(&mut self, client: NodeId) {
        let mut cuts = Vec::new();
        for (number, strike) in self.strikes.iter().enumerate().filter(|(_, strike)| strike.until.is_none()) {
            if let What::Cut(links, _) = &self.faults[strike.fault].what {
                cuts.extend(self.cuts(number, links, Cast::default()));
            }
        }
        for (_, cut) in cuts.into_iter().filter(|(whose, _)| *whose == client) {
            self.order(client, &Order::Meddle(cut));
        }
    }

    /// A strike is over.
    pub(super) fn leave_be(&mut self, strike: usize, what: &What<Nudge>) {
        if matches!(what, What::Cut(..) | What::Drop(_) | What::Delay(..)) {
            for client in self.clients() {
                self.order(client, &Order::LeaveBe { strike });
            }
        }
    }

    fn cuts(&self, strike: usize, links: &[Link], cast: Cast) -> Vec<(NodeId, Meddling)> {
        let clients = self.clients();
        let (mut meddlings, late) = (Vec::new(), None);
        for Link { from, to } in links {
            let (Some(from), Some(to)) = (from.node(cast), to.node(cast)) else { continue };
            let (client, server, ways): (_, _, &[Way]) = if clients.contains(&from) {
                (from, to, &[Way::Request])
            } else {
                (to, from, &[Way::Reply, Way::Push])
            };
            for way in ways {
                let (servers, way) = (vec![server], *way);
                meddlings.push((client, Meddling { strike, servers, way, operation: None, nth: None, late }));
            }
        }
        meddlings
    }

    fn matching(
        &self,
        strike: usize,
        matches: &MessageMatch,
        cast: Cast,
        late: Option<host::Duration>,
    ) -> Vec<(NodeId, Meddling)> {
        let way = match matches.direction {
            Direction::Request => Way::Request,
            Direction::Reply => Way::Reply,
            Direction::Push => Way::Push,
        };
        let all = (0..self.kinds.len()).map(super::id);
        let servers: Vec<NodeId> = match matches.server {
            None => all.collect(),
            Some(server) => server.node(cast).into_iter().collect(),
        };
        let clients = matches.clients.iter().filter_map(|client: &Target| client.node(cast));
        let (operation, nth) = (matches.operation.0.to_owned(), matches.nth);
        let meddling = Meddling { strike, servers, way, operation: Some(operation), nth, late };
        clients.map(|client| (client, meddling.clone())).collect()
    }
}
