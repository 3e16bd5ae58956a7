//! Whether a fault landed: whether what it acts on was in use when it struck, whatever followed.
//!
//! A run whose fault hit nothing has tried nothing. This is judged from the history, outside the
//! kernel; what the fault then *caused* is another question, so that a repaired twin still shows that
//! its fault landed.
//!
//! | fault | it landed if, while it was in force, |
//! |---|---|
//! | pause, stall | the client had an attempt open (for a stall of the renewal: a lease to renew); the server had served an open attempt, or a message met the fault |
//! | throttle | the same, while the process stood still |
//! | machine sleep, vm stop | the same, or a deadline on a clock that it stops was live |
//! | kill, shutdown, power-off | the same, or somebody turned to the dead server, a lock server that waits for its replicas among them, or its memory was in use: it took somebody for the owner, or had counted tokens |
//! | promote | what its server had granted or extended had not come to it; of sessions, of which it knows nothing: somebody asks for a lock then, or later |
//! | restore | something of what the backup did not have was lost: what was written since, or a session that owned a lock |
//! | disk | the lock server was in use, or somebody turned to it; if slow, a sync met it |
//! | evict | the key was there: somebody owned it, or it counted tokens that had been given |
//! | clock step, clock rate | a deadline on that clock was live: a lease on the server's, or a timeout (of who waits, of an idle session), a promise on the client's, a restart for which its machine waits; another's lease, on that of a client that counts it |
//! | cut, slow, drop, delay | a message met it |
//! | reset, half-open | a connection was open |
//! | cancel | the caller was about to acquire, or waited to try again |
//!
//! An attempt is open from its first word to its last, or to its client's death. An end is over in its
//! instant, a death or the end of an ownership is not: the fault itself may have been what brought it.

use host::{Clock, NodeId, Part, SimTime};
use models::redis::lock::COUNTER;
use sim::Strike;
use spec::{Activity, Cause, Entry, Note};

mod stays;

pub(crate) use stays::{ByServers, Counted, Stays};
use stays::{Owned, Stay, Stretch, just_after};

use crate::cell::{DiskFault, Fault, Lasts, What};
use crate::world::Nodes;

impl Stays<'_> {
    /// Whether this strike of such a fault hit something in use.
    pub(crate) fn landed(&self, what: &What, strike: &Strike, nodes: &Nodes) -> bool {
        let fault = Stretch { from: strike.from, to: strike.until.unwrap_or_else(|| just_after(self.history.end)) };
        let speaker = |node: NodeId| self.cluster.filter(|_| nodes.is_server(node)).unwrap_or(node);
        let any = |hit: &dyn Fn(NodeId) -> bool| strike.nodes.iter().any(|node| hit(speaker(*node)));
        // What waits for a client is an answer to what it has open.
        // Members of a cluster always have something for each other: there it is whether any client has anything open.
        let is_awaited = match self.cluster {
            None => strike.met > 0,
            Some(_) => self.stays.iter().any(|stay| stay.open.meets(fault)),
        };
        let keeps_waiting = is_awaited && any(&|node| !nodes.is_client(node));
        match what {
            What::Cut { .. }
            | What::Slow { .. }
            | What::Reset(_)
            | What::HalfOpen { .. }
            | What::Cancel(_)
            | What::Drop(_)
            | What::Delay { .. }
            | What::Disk { how: DiskFault::Slow(_), .. } => strike.met > 0,
            What::Disk { how: DiskFault::Fails(_), .. } => {
                any(&|node| self.is_busy(node, fault) || self.is_missed(node, fault, nodes))
            }
            What::Evict { key, .. } => any(&|node| {
                let is_owned = |owned: &Owned| owned.server == node && owned.key == *key && owned.span.meets(fault);
                self.owned.iter().any(is_owned) || (*key == COUNTER && self.has_counted(node, fault))
            }),
            // No standby has heard of a session: it matters to whoever asks then, or later.
            What::Promote(_) if self.counted.by_servers != ByServers::Leases => {
                self.stays.iter().any(|stay| stay.open.meets(Stretch::since(fault.from)))
            }
            What::Promote(_) => self.had_unreplicated(&strike.nodes, fault),
            // A lock server may be set to count on a clock that is not stepped: then the step is what it defies. One
            // that watches others reckons by its clock all the time.
            What::StepClock { .. } => any(&|node| {
                let counts_on_wall = self.history.nodes[node.index()].lease_clock == Clock::Wall;
                // What a clock shows that was set, others read for as long as it shows that.
                let is_read = nodes.is_client(node) && self.counted.rivals == Some(Clock::Wall);
                nodes.watches(node)
                    || self.counts(node, fault)
                    || counts_on_wall && self.has_promise(node, fault)
                    || self.takes_over(node, fault)
                    || is_read && self.reads_clock(node, fault) && self.is_out(Stretch::since(fault.from))
            }),
            What::ClockRate { .. } => any(&|node| {
                let counts_others = nodes.is_client(node) && self.counted.rivals.is_some() && self.is_out(fault);
                nodes.watches(node) || self.has_owner(node, fault) || self.has_promise(node, fault) || counts_others
            }),
            What::Stall { part, .. } if *part == Part::RENEWAL => any(&|node| self.renews(node, fault)),
            What::Pause(_) | What::Stall { .. } => keeps_waiting || any(&|node| self.is_busy(node, fault)),
            What::Throttle { .. } => {
                keeps_waiting || any(&|node| self.stands(node, fault).any(|stand| self.is_busy(node, stand)))
            }
            What::MachineSleep(_) => {
                keeps_waiting || any(&|node| self.is_busy(node, fault) || self.has_promise(node, fault))
            }
            What::VmStop(_) => {
                let has_deadline = |node| self.has_owner(node, fault) || self.has_promise(node, fault);
                keeps_waiting || any(&|node| self.is_busy(node, fault) || has_deadline(node))
            }
            What::Restore { .. } => strike.nodes.iter().any(|node| self.has_lost(*node, fault)),
            What::Kill(_) | What::Shutdown(_) | What::PowerOff(_) => {
                // What a cluster has counted outlives its members.
                let has_memory =
                    |node| self.has_owner(node, fault) || self.cluster.is_none() && self.has_counted(node, fault);
                let is_missed = |node| self.is_missed(node, fault, nodes);
                let hit = |node| self.is_busy(node, fault) || has_memory(node) || is_missed(node);
                keeps_waiting || any(&hit) || strike.nodes.iter().any(|node| self.passes_on(*node, fault, nodes))
            }
        }
    }

    /// Whether a server was back without something that its disk had had, or without an owner of whom no backup knows, as
    /// of a session's lock.
    fn has_lost(&self, server: NodeId, fault: Stretch) -> bool {
        let lost = |entry: &Entry| matches!(entry.note, Note::DiskLost { authority } if authority == server);
        let of_server = || self.owned.iter().filter(|owned| owned.server == server);
        let is_again = |owned: &Owned| {
            of_server()
                .any(|other| (other.key, other.attempt) == (owned.key, owned.attempt) && fault.from < other.span.from)
        };
        self.history.entries.iter().any(|entry| fault.from <= entry.at && lost(entry))
            || of_server().any(|owned| owned.span.meets(fault) && owned.span.from < fault.from && !is_again(owned))
    }

    /// Whether a client had an attempt open, or a server had served one that was.
    fn is_busy(&self, node: NodeId, fault: Stretch) -> bool {
        let serves = |stay: &Stay| {
            let mut served = stay.served.iter().filter(|(server, _)| *server == node);
            served.any(|(_, since)| Stretch { from: *since, ..stay.open }.meets(fault))
        };
        self.of_client(node).any(|stay| stay.open.meets(fault)) || self.stays.iter().any(serves)
    }

    /// Whether a lock server took anybody for the owner.
    fn has_owner(&self, server: NodeId, fault: Stretch) -> bool {
        self.owned.iter().any(|owned| owned.server == server && owned.span.meets(fault))
    }

    /// Whether a lock server counted the time of anything.
    fn counts(&self, server: NodeId, fault: Stretch) -> bool {
        let waits = |stay: &Stay| Stretch { to: stay.granted.unwrap_or(stay.open.to), ..stay.open }.meets(fault);
        let is_counted = match self.counted.by_servers {
            ByServers::Leases | ByServers::Sessions => true,
            ByServers::Waits => self.stays.iter().any(waits),
            ByServers::Nothing => false,
        };
        is_counted && self.has_owner(server, fault)
    }

    /// Whether some lock server had told of an owner, or extended a lease, and that had not come to one of these
    /// replicas.
    fn had_unreplicated(&self, replicas: &[NodeId], fault: Stretch) -> bool {
        let mut told: Vec<(NodeId, u32)> = Vec::new();
        let mut come: Vec<(NodeId, NodeId, u32)> = Vec::new();
        for entry in self.history.entries.iter().take_while(|entry| entry.at <= fault.from) {
            match entry.note {
                Note::Owner { authority, .. } | Note::Extended { authority, .. } => {
                    match told.iter_mut().find(|(server, _)| *server == authority) {
                        Some((_, count)) => *count += 1,
                        None => told.push((authority, 1)),
                    }
                }
                Note::Replicated { authority, primary, notes } => come.push((authority, primary, notes)),
                _ => {}
            }
        }
        let has_come = |replica: NodeId, server: NodeId| {
            let last = come.iter().rfind(|(of, primary, _)| *of == replica && *primary == server);
            last.map_or(0, |(.., notes)| *notes)
        };
        replicas.iter().any(|replica| told.iter().any(|(server, count)| has_come(*replica, *server) < *count))
    }

    /// Whether a lock server had given a token, and so knows which comes next.
    fn has_counted(&self, server: NodeId, fault: Stretch) -> bool {
        let gave = |entry: &Entry| match entry.note {
            Note::Granted { token: Some(_), counted, .. } => counted.contains(server),
            _ => false,
        };
        self.history.entries.iter().take_while(|entry| entry.at <= fault.from).any(gave)
    }

    /// Whether sessions went through a node to a lock server, one of which owned a lock or had an attempt open.
    fn passes_on(&self, node: NodeId, fault: Stretch, nodes: &Nodes) -> bool {
        let to = nodes.is_server(node).then(|| nodes.locks_for(node)).filter(|to| *to != node);
        to.is_some_and(|to| self.is_busy(to, fault) || self.has_owner(to, fault))
    }

    /// Whether a server that copies another took over a lease after that.
    fn takes_over(&self, server: NodeId, fault: Stretch) -> bool {
        let after = self.history.entries.iter().filter(|entry| fault.from <= entry.at);
        let takes = |note: &Note| matches!(note, Note::Owner { authority, attempt: Some(_), cause: Cause::Promotion, .. } if *authority == server);
        after.into_iter().any(|entry| takes(&entry.note))
    }

    /// Whether a client had to do with a lease after that.
    fn reads_clock(&self, client: NodeId, fault: Stretch) -> bool {
        let mut after = self.history.entries.iter().filter(|entry| fault.from <= entry.at && entry.node == client);
        after.any(|entry| entry.note.reads_clock())
    }

    /// Whether anybody wanted something of a dead server. On a connection that its death has broken,
    /// nothing is sent that could meet the fault.
    fn is_missed(&self, server: NodeId, fault: Stretch, nodes: &Nodes) -> bool {
        let wants = |entry: &Entry| match entry.note {
            Note::Attempting { .. } => nodes.is_server(server),
            Note::Checked { .. } => !nodes.is_server(server),
            Note::Unreplicated { authority } => nodes.is_server(server) && authority != server,
            _ => false,
        };
        let during = |entry: &&Entry| fault.from <= entry.at && entry.at < fault.to;
        !nodes.is_client(server) && self.history.entries.iter().filter(during).any(wants)
    }

    /// Whether a promise to a client had not come to its end.
    fn has_promise(&self, client: NodeId, fault: Stretch) -> bool {
        self.of_client(client).any(|stay| stay.promised.is_some_and(|promised| promised.meets(fault)))
    }

    /// Whether anybody's lease was on any server then.
    fn is_out(&self, fault: Stretch) -> bool {
        self.owned.iter().any(|owned| owned.span.meets(fault))
    }

    fn renews(&self, client: NodeId, fault: Stretch) -> bool {
        // A session is kept alive from before its owner asks for anything.
        let keeps_session = |stay: &Stay| self.cluster.is_some() && stay.open.meets(fault);
        let renews = |stay: &Stay| stay.renewing.is_some_and(|renewing| renewing.meets(fault));
        self.of_client(client).any(|stay| renews(stay) || keeps_session(stay))
    }

    fn of_client(&self, client: NodeId) -> impl Iterator<Item = &Stay> {
        self.stays.iter().filter(move |stay| stay.attempt.client() == client)
    }

    /// How long a process stood still, of that time.
    fn stands(&self, node: NodeId, within: Stretch) -> impl Iterator<Item = Stretch> {
        let activity = self.history.nodes[node.index()].activity.as_slice();
        activity.iter().enumerate().filter(|(_, (_, doing))| *doing == Activity::Paused).map(move |(i, (at, _))| {
            let resumed = activity.get(i + 1).map_or(SimTime::NEVER, |(at, _)| *at);
            Stretch { from: within.from.max(*at), to: within.to.min(resumed) }
        })
    }
}

/// Whether a clock went wrong whose machine counted the time to a restart.
pub(crate) fn moves_a_restart(what: &What, strike: &Strike, strikes: &[Strike], faults: &[Fault]) -> bool {
    if !matches!(what, What::StepClock { .. } | What::ClockRate { .. }) {
        return false;
    }
    // As with a lease: whether that is the clock that went wrong is what tells a twin from its brother.
    let counts = |other: &&Strike| faults.get(other.fault).is_some_and(|fault| matches!(fault.lasts, Lasts::By(..)));
    let meets = |other: &Strike| {
        let is_on = other.from <= strike.from && other.until.is_none_or(|until| strike.from <= until);
        is_on && other.nodes.first().is_some_and(|node| strike.nodes.contains(node))
    };
    strikes.iter().filter(counts).any(meets)
}

#[cfg(test)]
mod tests;
