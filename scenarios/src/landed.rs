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
//! | restore | something of what the backup did not have was lost: what was written since, or a session that owned a lock |
//! | disk | the lock server was in use, or somebody turned to it; if slow, a sync met it |
//! | evict | the key was there: somebody owned it, or it counted tokens that had been given |
//! | clock step, clock rate | a deadline on that clock was live: a lease on the server's, a promise on the client's, a restart for which its machine waits; another's lease, on that of a client that counts it |
//! | cut, slow, drop, delay | a message met it |
//! | reset, half-open | a connection was open |
//! | cancel | the caller was about to acquire, or waited to try again |
//!
//! An attempt is open from its first word to its last, or to its client's death. An end is over in its
//! instant, a death or the end of an ownership is not: the fault itself may have been what brought it.

use host::{AttemptId, Clock, Duration, MonoTime, NodeId, Part, SimTime};
use models::redis::lock::COUNTER;
use sim::Strike;
use spec::{Activity, Entry, History, LockName, Note};

use crate::cell::{DiskFault, Fault, Lasts, What};
use crate::world::Nodes;

/// A stretch of true time, its end excluded.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from: SimTime,
    to: SimTime,
}

impl Stretch {
    const fn since(from: SimTime) -> Self {
        Self { from, to: SimTime::NEVER }
    }

    /// Whether the two have an instant in common. A fault of no length is in force in its instant.
    fn meets(self, fault: Self) -> bool {
        let ends = fault.to.max(just_after(fault.from));
        self.from < ends && fault.from < self.to
    }
}

/// When an attempt was open, and what it touched.
#[derive(Clone, Debug)]
struct Stay {
    attempt: AttemptId,
    open: Stretch,
    granted: Option<SimTime>,
    /// How long a renewal in the background had something to renew.
    renewing: Option<Stretch>,
    /// How long the promised end was to come: from the asking, from which it is counted.
    promised: Option<Stretch>,
    is_released: bool,
    /// The nodes that served it, and from when on.
    served: Vec<(NodeId, SimTime)>,
}

/// How long a lock server took an attempt for the owner of a key.
#[derive(Clone, Debug)]
struct Owned {
    server: NodeId,
    key: LockName,
    attempt: AttemptId,
    span: Stretch,
}

/// Every attempt of a run, in the order in which they began.
pub(crate) struct Stays<'h> {
    history: &'h History,
    /// The cluster in whose name its members speak, if there is one: what strikes any of them strikes that.
    cluster: Option<NodeId>,
    /// On which of their clocks clients count each other's leases, if they do.
    rivals: Option<Clock>,
    stays: Vec<Stay>,
    owned: Vec<Owned>,
}

impl<'h> Stays<'h> {
    pub(crate) fn of(history: &'h History, cluster: Option<NodeId>, rivals: Option<Clock>) -> Self {
        let mut stays = Self { history, cluster, rivals, stays: Vec::new(), owned: Vec::new() };
        for entry in &history.entries {
            stays.take(entry.at, entry.node, &entry.note);
        }
        stays.find_deaths();
        stays
    }

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
            What::Promote(_) => self.had_unreplicated(&strike.nodes, fault),
            // A lock server may be set to count on a clock that is not stepped: then the step is what it defies. One
            // that watches others reckons by its clock all the time.
            What::StepClock { .. } => any(&|node| {
                let counts_on_wall = self.history.nodes[node.index()].lease_clock == Clock::Wall;
                // What a clock shows that was set, others read for as long as it shows that.
                let is_read = nodes.is_client(node) && self.rivals == Some(Clock::Wall);
                nodes.watches(node)
                    || self.has_owner(node, fault)
                    || counts_on_wall && self.has_promise(node, fault)
                    || is_read && self.is_out(Stretch::since(fault.from))
            }),
            What::ClockRate { .. } => any(&|node| {
                let counts_others = nodes.is_client(node) && self.rivals.is_some() && self.is_out(fault);
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
                keeps_waiting || any(&|node| self.is_busy(node, fault) || has_memory(node) || is_missed(node))
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

/// From the history to the stays.
impl Stays<'_> {
    fn take(&mut self, at: SimTime, node: NodeId, note: &Note) {
        match note {
            Note::Attempting { attempt, .. } => self.stays.push(Stay::new(*attempt, at)),
            Note::Granted { attempt, until, .. } => {
                let end = self.promised_end(*attempt, *until);
                self.with(*attempt, |stay| {
                    stay.granted = Some(at);
                    stay.promised = end.map(|to| Stretch { from: stay.open.from, to });
                    stay.renewing = end.map(|_| Stretch::since(at));
                });
            }
            Note::Renewed { attempt, until } => {
                let end = self.promised_end(*attempt, Some(*until));
                self.with(*attempt, |stay| {
                    let from = stay.promised.map_or(at, |promised| promised.from);
                    stay.promised = end.map(|to| Stretch { from, to }).filter(|_| !stay.is_released);
                });
            }
            Note::RenewalFailed { attempt } => self.with(*attempt, |stay| stay.renew_until(at)),
            Note::Ended { attempt } => self.with(*attempt, |stay| {
                stay.renew_until(at);
                // Unless a release follows, nothing does.
                stay.open.to = at;
            }),
            Note::Releasing { attempt } => self.with(*attempt, |stay| {
                stay.is_released = true;
                // What is given back at once was promised for an instant.
                let end = if stay.granted == Some(at) { just_after(at) } else { at };
                stay.promised = stay.promised.map(|promised| Stretch { to: promised.to.min(end), ..promised });
                stay.open.to = SimTime::NEVER;
            }),
            Note::Denied { attempt }
            | Note::Failed { attempt }
            | Note::Released { attempt }
            | Note::ReleaseRefused { attempt } => self.with(*attempt, |stay| stay.open.to = at),
            Note::Owner { authority, key, attempt, .. } => self.take_owner(at, *authority, *key, *attempt),
            Note::Read { attempt: Some(attempt), .. }
            | Note::Wrote { attempt: Some(attempt), .. }
            | Note::Marked { attempt: Some(attempt), .. }
            | Note::Effected { attempt: Some(attempt), .. }
            | Note::Passed { attempt: Some(attempt), .. }
            | Note::Refused { attempt: Some(attempt), .. } => self.with(*attempt, |stay| stay.serve(node, at)),
            _ => {}
        }
    }

    fn take_owner(&mut self, at: SimTime, server: NodeId, key: LockName, owner: Option<AttemptId>) {
        let last = self.owned.iter_mut().rfind(|owned| owned.server == server && owned.key == key);
        if let Some(last) = last.filter(|last| last.span.to == SimTime::NEVER) {
            last.span.to = just_after(at);
        }
        if let Some(attempt) = owner {
            self.owned.push(Owned { server, key, attempt, span: Stretch::since(at) });
            self.with(attempt, |stay| stay.serve(server, at));
        }
    }

    fn with(&mut self, attempt: AttemptId, change: impl FnOnce(&mut Stay)) {
        // Most notes are about one of the last attempts.
        if let Some(stay) = self.stays.iter_mut().rfind(|stay| stay.attempt == attempt) {
            change(stay);
        }
    }

    fn promised_end(&self, attempt: AttemptId, until: Option<MonoTime>) -> Option<SimTime> {
        until.map(|until| self.history.when(attempt.client(), until))
    }

    /// With its client an attempt is over, and with the server what it owned.
    fn find_deaths(&mut self) {
        for stay in &mut self.stays {
            if let Some(died) = next_death(self.history, stay.attempt.client(), stay.open.from) {
                stay.open.to = stay.open.to.min(just_after(died));
                stay.renew_until(just_after(died));
            }
        }
        for Owned { server, span, .. } in &mut self.owned {
            if let Some(died) = next_death(self.history, *server, span.from) {
                span.to = span.to.min(just_after(died));
            }
        }
    }
}

impl Stay {
    const fn new(attempt: AttemptId, at: SimTime) -> Self {
        Self {
            attempt,
            open: Stretch::since(at),
            granted: None,
            renewing: None,
            promised: None,
            is_released: false,
            served: Vec::new(),
        }
    }

    fn serve(&mut self, node: NodeId, at: SimTime) {
        if !self.served.iter().any(|(other, _)| *other == node) {
            self.served.push((node, at));
        }
    }

    fn renew_until(&mut self, at: SimTime) {
        self.renewing = self.renewing.map(|renewing| Stretch { to: renewing.to.min(at), ..renewing });
    }
}

/// When the node's process first died, not before `from`.
fn next_death(history: &History, node: NodeId, from: SimTime) -> Option<SimTime> {
    let mut activity = history.nodes[node.index()].activity.iter();
    activity.find(|(at, doing)| *doing == Activity::Dead && from <= *at).map(|(at, _)| *at)
}

fn just_after(at: SimTime) -> SimTime {
    at + Duration::from_nanos(1)
}

#[cfg(test)]
mod tests;
