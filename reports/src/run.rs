//! A judged run, as stories and timelines see it.
//!
//! Not the run itself: reports know of a run what its history and its judgement say, and of faults
//! what struck whom, and when.

use host::{NodeId, SimTime};
use spec::{History, Judgement};

/// One run, with what was said of it.
#[derive(Clone, Copy, Debug)]
pub struct JudgedRun<'a> {
    /// What happened.
    pub history: &'a History,
    /// What was said of it.
    pub judgement: &'a Judgement,
    /// Every time that a fault struck, in order.
    pub faults: &'a [StruckFault<'a>],
    /// What servers answered clients with an error, in order; of a run that was not recorded, nothing.
    pub errors: &'a [ServerError],
    /// The lock's name, as in results: `redlock`.
    pub lock: &'a str,
    /// Whether a session that has the lock is let in once more, without a new owner: its servers count how often it came.
    pub enters_again: bool,
    /// The check of the guarded resource, as in scenario files: `open`.
    pub resource: &'a str,
}

impl JudgedRun<'_> {
    /// Whether that server comes back then with what a backup had.
    pub(crate) fn is_restored(&self, server: NodeId, at: SimTime) -> bool {
        self.faults
            .iter()
            .any(|fault| fault.what == "restore" && fault.until == Some(at) && fault.nodes.contains(&server))
    }
}

/// One time that a fault struck.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StruckFault<'a> {
    /// The fault's name in the scenario file.
    pub name: &'a str,
    /// What it does, by the name that scenario files use: `pause`.
    pub what: &'a str,
    /// Which part of the process, if it struck only one.
    pub part: Option<&'static str>,
    /// Whom it struck; for links, the senders.
    pub nodes: Vec<NodeId>,
    /// When.
    pub from: SimTime,
    /// When it ended; for an instant, the same. `None`: it was in force when the run ended.
    pub until: Option<SimTime>,
    /// Whether it hit something that was in use.
    pub landed: bool,
}

/// One time that a server answered a client with an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServerError {
    /// When the answer arrived at the client's machine.
    pub at: SimTime,
    /// Who had asked.
    pub client: NodeId,
    /// Who answered.
    pub server: NodeId,
    /// What came to nothing.
    pub failed: Failed,
    /// Why, in words.
    pub why: &'static str,
    /// The server's code for it: `40P01`.
    pub code: &'static str,
}

/// What came to nothing with an error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Failed {
    /// A statement, if it is known which: `create index concurrently`.
    Statement(Option<String>),
    /// The whole session: it is over.
    Session,
}
