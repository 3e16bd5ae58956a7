//! From a history to what was open when: attempts, and whose locks were on which server.

use host::{AttemptId, Clock, Duration, MonoTime, NodeId, SimTime};
use spec::{Activity, History, LockName, Note};

/// A stretch of true time, its end excluded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stretch {
    pub(super) from: SimTime,
    pub(super) to: SimTime,
}

impl Stretch {
    pub(super) const fn since(from: SimTime) -> Self {
        Self { from, to: SimTime::NEVER }
    }

    /// Whether the two have an instant in common. A fault of no length is in force in its instant.
    pub(super) fn meets(self, fault: Self) -> bool {
        let ends = fault.to.max(just_after(fault.from));
        self.from < ends && fault.from < self.to
    }
}

/// When an attempt was open, and what it touched.
#[derive(Clone, Debug)]
pub(super) struct Stay {
    pub(super) attempt: AttemptId,
    pub(super) open: Stretch,
    pub(super) granted: Option<SimTime>,
    /// How long a renewal in the background had something to renew.
    pub(super) renewing: Option<Stretch>,
    /// How long the promised end was to come: from the asking, from which it is counted.
    pub(super) promised: Option<Stretch>,
    pub(super) is_released: bool,
    /// The nodes that served it, and from when on.
    pub(super) served: Vec<(NodeId, SimTime)>,
}

/// How long a lock server took an attempt for the owner of a key.
#[derive(Clone, Debug)]
pub(super) struct Owned {
    pub(super) server: NodeId,
    pub(super) key: LockName,
    pub(super) attempt: AttemptId,
    pub(super) span: Stretch,
}

/// What is counted by whom, beside a lease by its holder.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Counted {
    /// On which of their clocks clients count each other's leases, if they do.
    pub(crate) rivals: Option<Clock>,
    pub(crate) by_servers: ByServers,
}

/// What lock servers count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByServers {
    /// Leases.
    Leases,
    /// How long somebody waits, by their timeouts.
    Waits,
    /// How long a session is idle as well.
    Sessions,
    /// Nothing.
    Nothing,
}

/// Every attempt of a run, in the order in which they began.
pub(crate) struct Stays<'h> {
    pub(super) history: &'h History,
    /// The cluster in whose name its members speak, if there is one: what strikes any of them strikes that.
    pub(super) cluster: Option<NodeId>,
    /// What is counted by whom beside a lease by its holder.
    pub(super) counted: Counted,
    pub(super) stays: Vec<Stay>,
    pub(super) owned: Vec<Owned>,
}

impl<'h> Stays<'h> {
    pub(crate) fn of(history: &'h History, cluster: Option<NodeId>, counted: Counted) -> Self {
        let mut stays = Self { history, cluster, counted, stays: Vec::new(), owned: Vec::new() };
        for entry in &history.entries {
            stays.take(entry.at, entry.node, &entry.note);
        }
        stays.find_deaths();
        stays
    }
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

pub(super) fn just_after(at: SimTime) -> SimTime {
    at + Duration::from_nanos(1)
}
