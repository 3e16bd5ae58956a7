//! What a scenario file means, once read: plain, checked data with every name resolved.
//!
//! A *cell* is one combination of the matrix's options: one world, one plan of faults, one set of
//! expectations. The loader makes cells; the runner plays them.

mod fault;

use std::collections::BTreeMap;
use std::sync::Arc;

pub use fault::{DiskFault, Fault, Lasts, Link, MessageMatch, Milestone, NodeRef, What, When};
use host::{Cue, Duration, Ppm, Span};
use models::guard::{Guard, Manner};
use models::lock::{Lock, Service};
use models::script::{Script, Step};
pub use sim::{Direction, Held};
use spec::{Assumption, Bounds, ObjectName, Property};

use crate::figure::FigureClaim;
use crate::frontier::{Bisection, Criterion, FrontierClaim};
pub use crate::profile::{Family, Profile};

/// A scenario file, read and checked.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Its name: kebab-case, the file's stem in the catalogue.
    pub name: String,
    /// One line for `list`.
    pub title: String,
    /// Where the claim comes from.
    pub source: Vec<String>,
    /// Argument and residue.
    pub note: Option<String>,
    /// The text as it was read, so that a trace can carry it.
    pub text: Arc<str>,
    /// How many seeds the file asks for.
    pub seeds: u64,
    /// The matrix's axes, `lock` first, then in alphabetical order.
    pub axes: Vec<Axis>,
    /// Every combination, in the order of the axes (the last runs fastest).
    pub cells: Vec<Cell>,
}

/// One axis of the matrix.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Axis {
    /// Its name, or the path that it sets.
    pub name: String,
    /// The labels of its options, in the file's order.
    pub options: Vec<String>,
    /// If it is a range that is searched: for what.
    pub bisection: Option<Bisection>,
}

impl Scenario {
    /// The axis that is searched, if one is: how far apart its neighbours lie among the cells, and for what.
    #[must_use]
    pub fn bisected(&self) -> Option<(usize, &Bisection)> {
        let mut stride = 1;
        self.axes.iter().rev().find_map(|axis| {
            let own = stride;
            stride *= axis.options.len();
            axis.bisection.as_ref().map(|bisection| (own, bisection))
        })
    }

    /// The indices of all cells.
    #[must_use]
    pub fn all_cells(&self) -> Vec<usize> {
        (0..self.cells.len()).collect()
    }
}

/// One combination: a whole world.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The option chosen on each axis but the lock's, in the order of the axes.
    pub params: Vec<(String, String)>,
    /// The lock.
    pub lock: Lock,
    /// How its servers are set.
    pub service: Service,
    /// True time at which the run ends at the latest.
    pub horizon: Duration,
    /// The lease's length. `None`: no expiry.
    pub ttl: Option<Duration>,
    /// Latencies and timeouts.
    pub network: Network,
    /// The environment from which latencies and faults are drawn, if there is one.
    pub profile: Option<Profile>,
    /// Clock settings of nodes that have any, by name.
    pub nodes: BTreeMap<String, NodeSettings>,
    /// The guarded resource.
    pub resource: Resource,
    /// The clients, in the order of their tables' names and then of their numbers.
    pub clients: Vec<Client>,
    /// The instants for which scripts wait; a script's `Await` holds the index.
    pub cues: Vec<(Cue, When)>,
    /// What goes wrong, in the order of the faults' names; then what the profile has.
    pub faults: Vec<Fault>,
    /// Within what something must have happened. A property that needs a bound and has none is not judged.
    pub bounds: Bounds,
    /// What must be true. Properties that no entry names must hold.
    pub expectations: BTreeMap<Property, Expectation>,
    /// What must be some number.
    pub figures: Vec<FigureClaim>,
    /// What turns along the bisected axis, if there is one.
    pub criterion: Option<Criterion>,
    /// What is expected of the frontier on the cell's line along it.
    pub frontier: Option<FrontierClaim>,
    /// The assumptions that must be broken, if an entry says.
    pub outside: Option<Vec<Assumption>>,
}

impl Cell {
    /// The placed faults that never landed in a run: those must land in each. Whether drawn ones land is a
    /// question to all seeds together.
    pub(crate) fn missed(&self, landed: &[bool]) -> impl Iterator<Item = &Fault> {
        self.faults.iter().zip(landed).filter(|(fault, landed)| !**landed && !fault.is_drawn()).map(|(fault, _)| fault)
    }

    /// Whether the script of some client asks for a lock that somebody grants.
    pub(crate) fn wants_a_grant(&self) -> bool {
        let acquires = |step: &Step| matches!(step, Step::Acquire { .. });
        self.clients.iter().any(|client| client.lock != Lock::None && client.script.all_steps().any(acquires))
    }
}

/// Latencies and timeouts.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// One way between a client and a lock server.
    pub client_server: Span,
    /// One way between a client and the resource.
    pub client_resource: Span,
    /// One way between two lock servers.
    pub server_server: Span,
    /// How long a client waits for an answer.
    pub call_timeout: Duration,
}

/// A node's clocks from the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NodeSettings {
    /// By how much they run fast.
    pub rate: Ppm,
    /// By how much the wall clock is ahead, in ns.
    pub wall_offset: i64,
}

/// The guarded resource.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Resource {
    /// Its check.
    pub guard: Guard,
    /// How the check is applied.
    pub manner: Manner,
    /// The objects that it has. `None`: those that the scripts name.
    pub objects: Option<Vec<ObjectName>>,
    /// Whether they are in the lock's own store.
    pub is_in_store: bool,
    /// Whether an index is made there before each write, as a step of a migration does.
    pub migrates: bool,
}

/// A client.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    /// Its name: the table's, or `NAME-1` and so on with `count`.
    pub name: String,
    /// What it does.
    pub script: Script,
    /// Its lock: the cell's, or its own on the same servers.
    pub lock: Lock,
    /// The length of its lease. `None`: no expiry.
    pub ttl: Option<Duration>,
    /// The lock servers that it knows, in the order in which it asks them. `None`: all that grant.
    pub servers: Option<Vec<String>>,
}

/// What must be true of one property in one cell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// How often it is broken.
    pub expected: Expected,
    /// Why no twin repairs it, or why no claim is made.
    pub because: Option<String>,
}

/// How often a property is broken, over the seeds of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Expected {
    /// In every seed.
    Always,
    /// In at least one seed.
    Broken,
    /// In none.
    Holds,
    /// No claim is made.
    Free,
}

impl Expected {
    /// Its name in scenario files and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Broken => "broken",
            Self::Holds => "holds",
            Self::Free => "free",
        }
    }
}
