//! What a history is judged by, beside the properties themselves: who holds how, and what the lock
//! had been promised.

use std::collections::BTreeMap;

use host::{Clock, Duration, NodeId, Ppm};

use crate::Property;
use crate::assumption::Assumption;

/// Whether and how a client looks at its clock before each guarded operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Policy {
    /// It never looks: it believes in its lock until it ends its section.
    Naive,
    /// It reads its clock before each operation, and goes ahead if the lease has not run out.
    Checked,
    /// It reads its clock where its program says, and not before its operations: in between it goes on as if
    /// it never looked.
    AtChecks,
    /// It never reads a clock, and stops when it looks and its lock's library has told it of the loss: as a program does
    /// that is cancelled.
    WhenTold,
    /// As `Checked`, but wants that much of the lease left.
    Margin(Duration),
}

/// Within what something must have happened, where a property needs to be told. What has no bound is not
/// judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Bounds {
    /// `progress`: how long somebody may wait for a lock that nobody uses.
    pub progress: Option<Duration>,
    /// `holder-informed`: for how long a client may go on in a lock that it has lost.
    pub inform: Option<Duration>,
    /// `no-leak`: how long before the end of the run a lock must have been left in nobody's use to be lost
    /// for good.
    pub leak: Option<Duration>,
    /// `fairness`: how often somebody who waits may be overtaken.
    pub overtakes: Option<u32>,
}

/// For how long a grant is promised.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Promise {
    /// Until the end that the client was told, or its release: a lease. Whether the service keeps it is what is
    /// judged.
    #[default]
    UntilDue,
    /// For as long as the service has the client as the owner, which it may end at any time: an entry of a log, a session.
    /// A service that remembers what it has once decided grants twice only if its members disagree.
    WhileOwned,
}

/// How a lock's promise is to be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rules {
    /// For how long a grant is promised.
    pub promise: Promise,
    /// How many counted grants make a grant: 1 for a lock on one server, 3 for Redlock on five.
    pub quorum: usize,
    /// The policy of each client; nodes that are not listed are no clients.
    pub policies: BTreeMap<NodeId, Policy>,
    /// What each property rests on, as the lock declares it.
    pub needs: BTreeMap<Property, Vec<Assumption>>,
    /// The longest TTL that a lock server is given. `None`: no lease.
    pub ttl: Option<Duration>,
    /// By how much the lock servers' clocks may run faster than a client's before its drift allowance
    /// is used up: `1/(1 - drift/TTL) - 1`, rounded down.
    pub rate_allowance: Ppm,
    /// The lock servers. A cluster of members that keep one log is one, by the name of its first member.
    pub authorities: Vec<NodeId>,
    /// Whether what they grant is in a log that they keep together: that does not die with one of them.
    pub is_logged: bool,
    /// Whether who owns it is a session of one lock server: all of those are over when it dies.
    pub is_in_sessions: bool,
    /// Whether one try may stand in a queue of the lock servers: then it is a wait, however it ends.
    pub queues: bool,
    /// On whose clocks a lease is counted beside its holder's. None: on that of the server that gave it.
    pub counters: Vec<NodeId>,
    /// On which of their clocks those count. By the wall clock they read what another's has written.
    pub counters_on: Clock,
    /// How often the lock extends its lease by itself. `None`: it does not.
    pub renews: Option<Duration>,
    /// Within what something must have happened.
    pub bounds: Bounds,
    /// Whether the guarded resource compares tokens, on all that the lock protects.
    pub resource_checks_tokens: bool,
}

impl Rules {
    /// On whose clocks a lease may be counted beside its holder's.
    pub(crate) fn counting(&self) -> &[NodeId] {
        if self.counters.is_empty() { &self.authorities } else { &self.counters }
    }

    /// The lock servers that own nothing any more when they come back from the dead, unless they say so.
    pub(crate) fn mortal(&self) -> &[NodeId] {
        if self.is_logged { &[] } else { &self.authorities }
    }
}
