//! Whether a fault landed: whether what it acts on was in use when it struck, whatever followed.
//!
//! A run whose fault hit nothing has tried nothing. This is judged from the history, outside the
//! kernel; what the fault then *caused* is another question, so that a repaired twin still shows that
//! its fault landed.
//!
//! | fault | it landed if, while it was in force, |
//! |---|---|
//! | pause, sleep, stop, kill, power-off, stall, throttle | the client had an attempt open; the server had served an open attempt, or a message met the fault |
//! | clock step, clock rate | a deadline on that clock was live: a lease on the server's, a promise on the client's |
//! | cut, slow, reset, drop, delay | a message met it |

use host::{AttemptId, NodeId, SimTime};
use sim::Strike;
use spec::{History, Note};

use crate::cell::What;
use crate::world::Nodes;

/// When an attempt was open, and what it touched.
#[derive(Clone, Debug)]
struct Stay {
    attempt: AttemptId,
    from: SimTime,
    /// `None`: it never ended.
    to: Option<SimTime>,
    /// From when on the client held a promise.
    granted: Option<SimTime>,
    /// When the client ceased to believe.
    ended: Option<SimTime>,
    /// The nodes that served it, and from when on.
    served: Vec<(NodeId, SimTime)>,
    /// The servers that took it for the owner, from when until when.
    owned: Vec<(NodeId, SimTime, Option<SimTime>)>,
}

/// Every attempt of a run, in the order in which they began.
pub(crate) struct Stays(Vec<Stay>);

impl Stays {
    pub(crate) fn of(history: &History) -> Self {
        let mut stays = Self(Vec::new());
        for entry in &history.entries {
            stays.take(entry.at, entry.node, &entry.note);
        }
        stays
    }

    fn take(&mut self, at: SimTime, node: NodeId, note: &Note) {
        match note {
            Note::Attempting { attempt, .. } => {
                let attempt = *attempt;
                let (served, owned) = (Vec::new(), Vec::new());
                self.0.push(Stay { attempt, from: at, to: None, granted: None, ended: None, served, owned });
            }
            Note::Denied { attempt }
            | Note::Failed { attempt }
            | Note::Released { attempt }
            | Note::ReleaseRefused { attempt } => self.with(*attempt, |stay| stay.to = Some(at)),
            // Unless a release follows, nothing does.
            Note::Ended { attempt } => self.with(*attempt, |stay| (stay.to, stay.ended) = (Some(at), Some(at))),
            Note::Releasing { attempt } => self.with(*attempt, |stay| stay.to = None),
            Note::Granted { attempt, .. } => self.with(*attempt, |stay| stay.granted = Some(at)),
            Note::Owner { authority, attempt, .. } => self.owner(at, *authority, *attempt),
            Note::Read { attempt: Some(attempt), .. }
            | Note::Wrote { attempt: Some(attempt), .. }
            | Note::Refused { attempt: Some(attempt), .. } => self.with(*attempt, |stay| stay.serve(node, at)),
            _ => {}
        }
    }

    fn owner(&mut self, at: SimTime, authority: NodeId, owner: Option<AttemptId>) {
        for stay in &mut self.0 {
            for (server, _, until) in &mut stay.owned {
                if *server == authority && until.is_none() {
                    *until = Some(at);
                }
            }
        }
        if let Some(attempt) = owner {
            self.with(attempt, |stay| {
                stay.serve(authority, at);
                stay.owned.push((authority, at, None));
            });
        }
    }

    fn with(&mut self, attempt: AttemptId, change: impl FnOnce(&mut Stay)) {
        // Most notes are about one of the last attempts.
        if let Some(stay) = self.0.iter_mut().rfind(|stay| stay.attempt == attempt) {
            change(stay);
        }
    }

    /// Whether this strike of such a fault hit something in use.
    pub(crate) fn landed(&self, what: &What, strike: &Strike, nodes: &Nodes, end: SimTime) -> bool {
        let span = (strike.from, strike.until.unwrap_or(end));
        match what {
            What::Cut { .. } | What::Slow { .. } | What::Reset(_) | What::Drop(_) | What::Delay { .. } => {
                strike.met > 0
            }
            What::StepClock { .. } => strike.nodes.iter().any(|node| self.lease_is_live(*node, span)),
            What::ClockRate { .. } => strike.nodes.iter().any(|node| {
                if nodes.is_client(*node) { self.promise_is_live(*node, span) } else { self.lease_is_live(*node, span) }
            }),
            What::Pause(_)
            | What::MachineSleep(_)
            | What::VmStop(_)
            | What::Kill(_)
            | What::PowerOff(_)
            | What::Stall { .. }
            | What::Throttle { .. } => strike.nodes.iter().any(|node| {
                if nodes.is_client(*node) {
                    self.is_open(*node, span)
                } else {
                    strike.met > 0 || self.is_served(*node, span)
                }
            }),
        }
    }

    fn is_open(&self, client: NodeId, span: (SimTime, SimTime)) -> bool {
        self.of_client(client).any(|stay| meet(span, (stay.from, stay.to)))
    }

    fn is_served(&self, server: NodeId, span: (SimTime, SimTime)) -> bool {
        let serves = |stay: &Stay| {
            let mut served = stay.served.iter();
            served.any(|(node, since)| *node == server && meet(span, (*since, stay.to)))
        };
        self.0.iter().any(serves)
    }

    fn lease_is_live(&self, server: NodeId, span: (SimTime, SimTime)) -> bool {
        let mut owned = self.0.iter().flat_map(|stay| &stay.owned);
        owned.any(|(authority, from, to)| *authority == server && meet(span, (*from, *to)))
    }

    fn promise_is_live(&self, client: NodeId, span: (SimTime, SimTime)) -> bool {
        self.of_client(client).any(|stay| stay.granted.is_some_and(|from| meet(span, (from, stay.ended))))
    }

    fn of_client(&self, client: NodeId) -> impl Iterator<Item = &Stay> {
        self.0.iter().filter(move |stay| stay.attempt.client() == client)
    }
}

impl Stay {
    fn serve(&mut self, node: NodeId, at: SimTime) {
        if !self.served.iter().any(|(other, _)| *other == node) {
            self.served.push((node, at));
        }
    }
}

/// Whether two stretches of time have an instant in common; the second may never end.
fn meet(one: (SimTime, SimTime), other: (SimTime, Option<SimTime>)) -> bool {
    one.0 <= other.1.unwrap_or(SimTime::NEVER) && other.0 <= one.1
}
