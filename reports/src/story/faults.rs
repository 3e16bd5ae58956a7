//! What faults struck, in one sentence.

use host::{Activity, Duration, NodeId, SimTime};
use spec::History;

use crate::run::{JudgedRun, StruckFault};
use crate::words::{Aim, counted, fault_kind, length, list, node_names, seconds};

/// What had struck by some instant and hit something.
pub(super) struct Struck<'f> {
    /// When the first of it did.
    pub(super) at: SimTime,
    /// The strike, if it was a single one.
    pub(super) only: Option<&'f StruckFault<'f>>,
    /// The sentence, without a full stop.
    pub(super) words: String,
}

/// What had struck by then. `None`: nothing.
pub(super) fn by<'f>(run: &JudgedRun<'f>, at: SimTime) -> Option<Struck<'f>> {
    let struck: Vec<_> = run.faults.iter().filter(|fault| fault.landed && fault.from <= at).collect();
    let at = struck.first()?.from;
    Some(match struck.as_slice() {
        [only] => Struck { at, only: Some(only), words: alone(run.history, only) },
        _ => Struck { at, only: None, words: several(run.history, &by_name(&struck)) },
    })
}

/// What has struck in the whole run, and what has hit nothing.
pub(super) fn by_the_end(run: &JudgedRun<'_>) -> Vec<String> {
    let mut sentences: Vec<_> =
        by(run, SimTime::NEVER).map(|struck| format!("{}.", struck.words)).into_iter().collect();
    let mut idle = Vec::new();
    for fault in run.faults {
        let ever_landed = run.faults.iter().any(|other| other.name == fault.name && other.landed);
        if !ever_landed && !idle.contains(&fault.name) {
            idle.push(fault.name);
        }
    }
    if !idle.is_empty() {
        let names: Vec<_> = idle.iter().map(|name| format!("`{name}`")).collect();
        sentences.push(format!("Nothing was in use where {} struck.", list(&names)));
    } else if sentences.is_empty() {
        sentences.push("No fault struck.".to_owned());
    }
    sentences
}

/// Whether a fault that is told of struck that node at that instant.
pub(super) fn strikes_at(run: &JudgedRun<'_>, node: NodeId, at: SimTime) -> bool {
    run.faults.iter().any(|fault| fault.landed && fault.from == at && fault.nodes.contains(&node))
}

/// The strikes of each fault, in the order in which each first struck.
fn by_name<'f>(struck: &[&'f StruckFault<'f>]) -> Vec<Vec<&'f StruckFault<'f>>> {
    let mut groups: Vec<Vec<&StruckFault<'_>>> = Vec::new();
    for fault in struck {
        match groups.iter_mut().find(|group| group[0].name == fault.name) {
            Some(group) => group.push(fault),
            None => groups.push(vec![fault]),
        }
    }
    groups
}

/// The one strike that there was, at full length.
fn alone(history: &History, fault: &StruckFault<'_>) -> String {
    let (kind, aim) = fault_kind(fault.what);
    let kind = format!("{kind} (fault `{}`)", fault.name);
    let (from, nodes) = (seconds(fault.from), whom(history, fault));
    match aim {
        Aim::Message => {
            let end = fault.until.map_or_else(String::new, |until| format!(" to {}", seconds(until)));
            format!("From {from}{end} {kind} was laid out for {nodes}, and one met it")
        }
        Aim::Life => format!("At {from} {kind} struck {nodes}{}", comeback(history, fault)),
        Aim::Link => format!("At {from} {kind} struck links of {nodes}{}", stay(fault)),
        Aim::Node => match step(history, fault) {
            Some(step) => format!("At {from} {kind} set the wall clock of {nodes} {step}"),
            None => format!("At {from} {kind} struck {nodes}{}", stay(fault)),
        },
    }
}

/// Whom it struck: nodes, or a part of one.
fn whom(history: &History, fault: &StruckFault<'_>) -> String {
    let nodes = node_names(history, &fault.nodes);
    fault.part.map_or_else(|| nodes.clone(), |part| format!("the {part} of {nodes}"))
}

fn stay(fault: &StruckFault<'_>) -> String {
    match fault.until {
        None => " to the end of the run".to_owned(),
        Some(until) if until == fault.from => String::new(),
        Some(until) => format!(" for {}", length(until.since(fault.from))),
    }
}

/// By how much the fault set the wall clock of the one machine it struck, if it did.
fn step(history: &History, fault: &StruckFault<'_>) -> Option<String> {
    let [node] = fault.nodes.as_slice() else { return None };
    let clocks = &history.nodes.get(node.index())?.clocks;
    let set = clocks.iter().rposition(|clock| clock.since == fault.from)?;
    let before = clocks[..set].iter().rfind(|clock| clock.since < fault.from)?;
    let by = clocks[set].wall - before.carried_to(fault.from).wall;
    let way = match by.signum() {
        1 => "ahead",
        -1 => "back",
        _ => return None,
    };
    Some(format!("{way} by {}", length(Duration::from_nanos(by.unsigned_abs()))))
}

/// Whether who was killed ran again, if it was one.
fn comeback(history: &History, fault: &StruckFault<'_>) -> String {
    let [node] = fault.nodes.as_slice() else { return String::new() };
    match ran_again(history, *node, fault.from) {
        Some(at) => format!("; it ran again from {} on", seconds(at)),
        None => "; it never ran again".to_owned(),
    }
}

fn ran_again(history: &History, node: NodeId, after: SimTime) -> Option<SimTime> {
    let activity = &history.nodes.get(node.index())?.activity;
    let is_return = |(at, activity): &&(SimTime, Activity)| *at >= after && *activity == Activity::Running;
    activity.iter().find(is_return).map(|(at, _)| *at)
}

fn several(history: &History, groups: &[Vec<&StruckFault<'_>>]) -> String {
    let shown = if groups.len() <= MOST { groups.len() } else { MOST - 1 };
    let mut items: Vec<_> = groups[..shown].iter().map(|group| in_short(history, group)).collect();
    if groups.len() > shown {
        items.push(counted((groups.len() - shown) as u64, "other fault"));
    }
    format!("Faults struck: {}", items.join("; "))
}

/// All strikes of one fault as part of a sentence.
fn in_short(history: &History, strikes: &[&StruckFault<'_>]) -> String {
    let first = strikes[0];
    let (kind, aim) = fault_kind(first.what);
    let nodes = whom(history, first);
    let target = if aim == Aim::Link { format!("links of {nodes}") } else { nodes };
    let from = seconds(first.from);
    let name = first.name;
    if let [.., last] = strikes
        && strikes.len() > 1
    {
        let times = counted(strikes.len() as u64, "time");
        return format!("{kind} (`{name}`) on {target}, {times} from {from} to {}", seconds(last.from));
    }
    let lasting = first.until.filter(|until| *until != first.from).map(|until| length(until.since(first.from)));
    let lasting = lasting.map_or_else(String::new, |lasting| format!(" for {lasting}"));
    let step = step(history, first).map_or_else(String::new, |step| format!(", {step}"));
    format!("{kind} (`{name}`) on {target} at {from}{lasting}{step}")
}

/// How many faults one sentence can hold. If there are more, the last stands for the others.
const MOST: usize = 3;
