//! The canonical trace of one run as JSON Lines: `fencepost.trace/1`.
//!
//! The first line is a header that says how to play the run again; every following line is one event;
//! the last is a footer with the verdicts, the run's hash, and the digest of all bytes before it. UTF-8,
//! one JSON object a line, `\n` after each. Times are whole nanoseconds.
//!
//! Replay compares bytes, so the writer is strict: keys in the order of fields, absent ones left out.
//! The reader is lenient: it ignores keys that it does not know. It does not compare the digest; that
//! a file was changed is for replay to say, which also shows where.
//!
//! The layout (header, events, footer) is this project's own; JSON Lines is <https://jsonlines.org>.

use host::{AttemptId, Ending, SimTime, nanos};
use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use spec::{Assumption, Judgement, Property, Verdict};

use crate::hex;

mod read;

pub use read::{Difference, Trace, TraceError, first_difference, read};

/// The name of the format.
pub const SCHEMA: &str = "fencepost.trace/1";

/// The first line: how to play the run again.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TraceHeader {
    /// The name of the format: `fencepost.trace/1`.
    pub schema: String,
    /// The version of the engine that played the run.
    pub engine: String,
    /// The scenario's name.
    pub scenario: String,
    /// The seed, in decimal.
    pub seed: String,
    /// The lock.
    pub lock: String,
    /// The option chosen on each other axis.
    pub params: IndexMap<String, String>,
    /// What was set over the scenario file, as `path=value`.
    pub set: Vec<String>,
    /// The names of the nodes, by their number.
    pub nodes: Vec<String>,
    /// The names of the faults, by their number.
    pub faults: Vec<String>,
    /// What the seed drew of the plan: each drawn fault that it has. Without any, the key is left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drawn: Vec<TraceDrawn>,
    /// The unit of times: `ns`.
    pub unit: String,
    /// The text of the scenario file.
    pub source: String,
}

/// A fault whose moment, target or presence a seed has drawn, as that seed has it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TraceDrawn {
    /// Its name.
    pub fault: String,
    /// What it does, by the name that scenario files use.
    pub what: String,
    /// The nodes that it names.
    pub nodes: Vec<String>,
    /// When it is to strike first, in true time since the run began, if that is an instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
}

/// One event.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TraceEvent {
    /// Its number, from 0.
    pub seq: u64,
    /// When it happened, in true time since the run began.
    pub t: u64,
    /// The node on which it happened.
    pub node: String,
    /// What the node's monotonic clock read.
    pub mono: u64,
    /// What the node's wall clock read, in ns since 1970, in decimal.
    pub wall: String,
    /// What kind of event it is.
    pub kind: String,
    /// For messages: the node at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<String>,
    /// For messages: its number, by which its departure and its arrival are found together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<u32>,
    /// The attempt on whose behalf it happened: `worker-1#1` is the first of `worker-1`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<String>,
    /// For faults: the fault's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The digest of what it is about: 16 hexadecimal digits.
    pub digest: String,
    /// The event in words.
    pub what: String,
}

/// The last line: how the run ended and what was said of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TraceFooter {
    /// How many events there are.
    pub events: u64,
    /// When the run ended.
    pub end: u64,
    /// How: `quiet`, `horizon`, `budget` or `stuck`.
    pub ending: String,
    /// The run's trace hash: 16 hexadecimal digits.
    pub hash: String,
    /// What was said of each property.
    pub verdicts: IndexMap<String, TraceVerdict>,
    /// The lock's assumptions that were broken.
    pub assumptions_broken: Vec<String>,
    /// The BLAKE3 digest of all bytes before this line, in hexadecimal.
    pub digest: String,
}

/// What was said of one property.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TraceVerdict {
    /// `holds`, `broken`, `inconclusive` or `vacuous`.
    pub verdict: String,
    /// If broken: the first instant at which it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<u64>,
    /// If broken and about overlap: the longest one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overlap_ns: Option<u64>,
    /// If broken: the assumptions on which it rests that were broken by then. None: the lock is to blame.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outside: Vec<String>,
    /// If inconclusive or vacuous: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl TraceFooter {
    /// The footer of a run. The number of events and the digest are filled in by [`write()`].
    #[must_use]
    pub fn of(end: SimTime, ending: Ending, hash: u64, judgement: &Judgement) -> Self {
        // In the order of reports, whatever order the judgement keeps.
        let judged = Property::ALL.into_iter().filter_map(|property| {
            let verdict = judgement.verdicts.get(&property)?;
            let outside = judgement.outside.get(&property).map_or(&[][..], Vec::as_slice);
            Some((property.name().to_owned(), TraceVerdict::of(verdict, outside)))
        });
        let is_broken = |one: &Assumption| judgement.broken_assumptions.contains_key(one);
        let broken = Assumption::ALL.into_iter().filter(is_broken);
        Self {
            events: 0,
            end: end.as_nanos(),
            ending: ending_name(ending).to_owned(),
            hash: hex(hash),
            verdicts: judged.collect(),
            assumptions_broken: broken.map(|one| one.name().to_owned()).collect(),
            digest: String::new(),
        }
    }
}

impl TraceVerdict {
    fn of(verdict: &Verdict, outside: &[Assumption]) -> Self {
        let evidence = verdict.evidence();
        Self {
            verdict: verdict.name().to_owned(),
            at: evidence.map(|evidence| evidence.at.as_nanos()),
            overlap_ns: evidence.and_then(|evidence| evidence.overlap).map(nanos),
            outside: outside.iter().map(|one| one.name().to_owned()).collect(),
            why: match verdict {
                Verdict::Inconclusive(why) => Some(why.clone()),
                Verdict::Vacuous(faults) => Some(format!("never landed: {}", faults.join(", "))),
                Verdict::Holds | Verdict::Broken(_) => None,
            },
        }
    }
}

/// An attempt as traces write it: `worker-1#1`.
#[must_use]
pub fn attempt_label(client: &str, attempt: AttemptId) -> String {
    format!("{client}#{}", attempt.ordinal())
}

/// An ending as traces write it.
#[must_use]
pub const fn ending_name(ending: Ending) -> &'static str {
    match ending {
        Ending::Quiet => "quiet",
        Ending::Horizon => "horizon",
        Ending::Budget => "budget",
        Ending::Stuck => "stuck",
    }
}

/// The whole trace. The footer's number of events and its digest follow from what is written, and are
/// filled in here.
#[must_use]
pub fn write(header: &TraceHeader, events: &[TraceEvent], footer: &TraceFooter) -> String {
    let mut text = String::new();
    push_line(&mut text, header);
    for event in events {
        push_line(&mut text, event);
    }
    let footer = TraceFooter { events: events.len() as u64, digest: digest(&text), ..footer.clone() };
    push_line(&mut text, &footer);
    text
}

fn push_line(text: &mut String, line: &impl Serialize) {
    text.push_str(&serde_json::to_string(line).expect("strings, integers and maps with string keys"));
    text.push('\n');
}

fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[cfg(test)]
mod tests;
