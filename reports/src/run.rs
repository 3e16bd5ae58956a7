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
    /// The lock's name, as in results: `redlock`.
    pub lock: &'a str,
    /// The check of the guarded resource, as in scenario files: `open`.
    pub resource: &'a str,
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
