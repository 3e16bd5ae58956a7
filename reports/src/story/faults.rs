//! What faults struck, in one sentence.

use host::{Activity, Duration, NodeId, SimTime};
use spec::History;

use crate::run::{JudgedRun, StruckFault};
use crate::words::{Aim, capital, counted, fault_kind, length, list, node_names, seconds};

/// What had struck by then and hit something: when the first of it did, and the sentence. `None`: nothing.
pub(super) fn by(run: &JudgedRun<'_>, at: SimTime) -> Option<(SimTime, String)> {
    let struck: Vec<_> = run.faults.iter().filter(|fault| fault.landed && fault.from <= at).collect();
    let first = struck.first()?.from;
    let groups = by_name(&struck);
    let sentence = match groups.as_slice() {
        [group] if group.len() == 1 => alone(run.history, group[0]),
        _ => several(run.history, &groups),
    };
    Some((first, sentence))
}

/// What has struck in the whole run, and what has hit nothing.
pub(super) fn by_the_end(run: &JudgedRun<'_>) -> Vec<String> {
    let mut sentences: Vec<_> = by(run, SimTime::NEVER).map(|(_, sentence)| sentence).into_iter().collect();
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
    let kind = format!("{} (fault `{}`)", capital(kind), fault.name);
    let (from, nodes) = (seconds(fault.from), node_names(history, &fault.nodes));
    match aim {
        Aim::Message => {
            let end = fault.until.map_or_else(String::new, |until| format!(" to {}", seconds(until)));
            format!("{kind} was laid out for {nodes} from {from}{end}, and one met it.")
        }
        Aim::Life => format!("{kind} struck {nodes} at {from}{}.", comeback(history, fault)),
        Aim::Link => format!("{kind} struck links of {nodes} at {from}{}.", stay(fault)),
        Aim::Node => format!("{kind} struck {nodes} at {from}{}{}.", stay(fault), shift(history, fault)),
    }
}

fn stay(fault: &StruckFault<'_>) -> String {
    match fault.until {
        None => " and was in force to the end of the run".to_owned(),
        Some(until) if until == fault.from => String::new(),
        Some(until) => format!(" and lasted {}, until {}", length(until.since(fault.from)), seconds(until)),
    }
}

/// What the fault did to the wall clock of the one machine it struck, if it set it.
fn shift(history: &History, fault: &StruckFault<'_>) -> String {
    let by = || {
        let [node] = fault.nodes.as_slice() else { return None };
        let clocks = &history.nodes.get(node.index())?.clocks;
        let set = clocks.iter().rposition(|clock| clock.since == fault.from)?;
        let before = clocks[..set].iter().rfind(|clock| clock.since < fault.from)?;
        Some(clocks[set].wall - before.carried_to(fault.from).wall)
    };
    match by() {
        Some(by) if by != 0 => {
            let way = if by > 0 { "ahead" } else { "back" };
            format!(", and set its wall clock {way} by {}", length(Duration::from_nanos(by.unsigned_abs())))
        }
        _ => String::new(),
    }
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
    let shown = groups.len().min(SHOWN);
    let mut items: Vec<_> = groups[..shown].iter().map(|group| in_short(history, group)).collect();
    if groups.len() > shown {
        items.push(counted((groups.len() - shown) as u64, "other fault"));
    }
    format!("Faults struck: {}.", items.join("; "))
}

/// All strikes of one fault as part of a sentence.
fn in_short(history: &History, strikes: &[&StruckFault<'_>]) -> String {
    let first = strikes[0];
    let (kind, aim) = fault_kind(first.what);
    let nodes = node_names(history, &first.nodes);
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
    format!("{kind} (`{name}`) on {target} at {from}{lasting}")
}

/// How many faults are told of one by one.
const SHOWN: usize = 3;
