//! The words of stories and timelines: times, lists, names, and what properties and faults are called.

use std::collections::BTreeSet;

use host::{AttemptId, Duration, MonoTime, NodeId, SimTime, nanos};
use spec::{Assumption, History};

use crate::run::{Failed, ServerError};

/// An instant, in seconds since the run began.
pub(crate) fn seconds(at: SimTime) -> String {
    thousandths(at.as_nanos())
}

/// A length of time. One that is too short for the decimals is not told as nothing.
pub(crate) fn length(duration: Duration) -> String {
    match nanos(duration) {
        1..1_000_000 => "less than 0.001 s".to_owned(),
        ns => thousandths(ns),
    }
}

/// `for up to 1.5 s`.
pub(crate) fn for_up_to(longest: Duration) -> String {
    match nanos(longest) {
        1..1_000_000 => format!("for {}", length(longest)),
        _ => format!("for up to {}", length(longest)),
    }
}

/// Nanoseconds as seconds, rounded to three decimals.
fn thousandths(ns: u64) -> String {
    let millis = ns / 1_000_000 + u64::from(ns % 1_000_000 >= 500_000);
    format!("{}.{:03} s", millis / 1_000, millis % 1_000)
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list<S: AsRef<str>>(items: &[S]) -> String {
    let items: Vec<&str> = items.iter().map(AsRef::as_ref).collect();
    match items.as_slice() {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `1 seed`, `3 seeds`.
pub(crate) fn counted(number: u64, thing: &str) -> String {
    if number == 1 { format!("1 {thing}") } else { format!("{number} {thing}s") }
}

/// Until when a client was promised the lock: in true time, and on its own clock where that says
/// something else.
pub(crate) fn promised_end(history: &History, client: NodeId, until: MonoTime) -> String {
    // Clocks begin where they like: what they have counted since the run began compares.
    let node = history.nodes.get(client.index());
    let began = node.and_then(|node| node.clocks.first().map(|clock| node.lease_clock.first_of(clock)));
    let own = thousandths(until.as_nanos().saturating_sub(began.map_or(0, |began| began.as_nanos())));
    match history.when(client, until) {
        SimTime::NEVER => format!("until {own} on its own clock, which it never reads"),
        at if seconds(at) == own => format!("until {own}"),
        at => format!("until {} ({own} on its own clock)", seconds(at)),
    }
}

/// The name of a node in the scenario.
pub(crate) fn node_name(history: &History, node: NodeId) -> &str {
    history.nodes.get(node.index()).map_or("somebody", |known| &known.name)
}

/// The names of some nodes, as a list.
pub(crate) fn node_names(history: &History, nodes: &[NodeId]) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| node_name(history, *node)).collect();
    list(&names)
}

/// What attempts are called among each other: by their client, and by their number where one client
/// made several of them.
pub(crate) struct Names<'h> {
    history: &'h History,
    attempts: BTreeSet<AttemptId>,
}

impl<'h> Names<'h> {
    pub(crate) fn among(history: &'h History, attempts: impl IntoIterator<Item = AttemptId>) -> Self {
        Self { history, attempts: attempts.into_iter().collect() }
    }

    pub(crate) fn of(&self, attempt: AttemptId) -> String {
        let client = attempt.client();
        let name = node_name(self.history, client);
        let is_other = |other: &&AttemptId| other.client() == client && **other != attempt;
        if self.attempts.iter().any(|other| is_other(&other)) {
            format!("{name} (attempt {})", attempt.ordinal())
        } else {
            name.to_owned()
        }
    }

    /// Who acted: an attempt, or somebody who had none.
    pub(crate) fn of_any(&self, attempt: Option<AttemptId>) -> String {
        attempt.map_or_else(|| "somebody outside any attempt".to_owned(), |attempt| self.of(attempt))
    }
}

/// That something failed at a server, and why, in a line about the client.
pub(crate) fn fails(history: &History, error: &ServerError) -> String {
    let ServerError { failed, why, code, .. } = error;
    let server = node_name(history, error.server);
    match failed {
        Failed::Statement(Some(statement)) => format!("its `{statement}` fails at {server} ({code}): {why}"),
        Failed::Statement(None) => format!("a statement of it fails at {server} ({code}): {why}"),
        Failed::Session => format!("its session is ended by {server} ({code}): {why}"),
    }
}

/// That this failed at a server, of whom and how often, and why, as the rest of a sentence.
pub(crate) fn failed(history: &History, error: &ServerError, clients: &[NodeId], times: u64) -> String {
    let ServerError { failed, why, code, .. } = error;
    let (server, clients) = (node_name(history, error.server), node_names(history, clients));
    let often = if times == 1 { String::new() } else { format!(" {times} times") };
    match failed {
        Failed::Statement(Some(statement)) => {
            format!("`{statement}` of {clients} failed{often} at {server} ({code}): {why}")
        }
        Failed::Statement(None) => format!("a statement of {clients} failed{often} at {server} ({code}): {why}"),
        Failed::Session if times == 1 => format!("a session of {clients} was ended by {server} ({code}): {why}"),
        Failed::Session => format!("{times} sessions of {clients} were ended by {server} ({code}): {why}"),
    }
}

/// The assumption as what a lock takes to be so.
pub(crate) const fn assumed(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::PauseWithinValidity => "no holder stands still past its own deadline",
        Assumption::RateWithinDrift => "no server's clock runs faster against a holder's than the drift allowance",
        Assumption::NoStep => "no clock on which a lease is counted is stepped",
        Assumption::DelayedRestart => "a server that lost its memory stays out for longer than any lease",
        Assumption::SyncedDisk => "a server's disk keeps what it was told to keep",
        Assumption::NoLossyFailover => "no failover loses a grant",
        Assumption::OnePrimary => "no server decides beside the one that has taken its place",
        Assumption::ResourceChecksTokens => "the resource compares tokens",
    }
}

/// That the assumption was not met, as what happened.
pub(crate) const fn unmet(assumption: Assumption) -> &'static str {
    match assumption {
        Assumption::PauseWithinValidity => "a holder stood still past its own deadline",
        Assumption::RateWithinDrift => "a server's clock gained more on a holder's than the drift allowance covers",
        Assumption::NoStep => "a clock on which a lease is counted was stepped",
        Assumption::DelayedRestart => "a server that lost its memory was back within the time of a lease",
        Assumption::SyncedDisk => "a server's disk lost what it was told to keep",
        Assumption::NoLossyFailover => "a failover lost a grant",
        Assumption::OnePrimary => "a server decided beside the one that had taken its place",
        Assumption::ResourceChecksTokens => "the resource has no sound fence",
    }
}

/// What a fault acts on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Aim {
    /// A process or a machine.
    Node,
    /// A process or a machine, which is gone from then on.
    Life,
    /// Links.
    Link,
    /// Messages that match: the fault is laid out at first and strikes when one comes.
    Message,
}

/// A kind of fault as a noun, and what it acts on.
pub(crate) fn fault_kind(what: &str) -> (&str, Aim) {
    match what {
        "pause" => ("a pause", Aim::Node),
        "machine-sleep" => ("a machine's sleep", Aim::Node),
        "vm-stop" => ("a stop of the virtual machine", Aim::Node),
        "cancel" => ("an interrupt of the caller", Aim::Node),
        "stall" => ("a stall", Aim::Node),
        "throttle" => ("throttling", Aim::Node),
        "step-clock" => ("a clock step", Aim::Node),
        "clock-rate" => ("a change of clock rate", Aim::Node),
        "kill" => ("a kill", Aim::Life),
        "shutdown" => ("a shutdown", Aim::Life),
        "power-off" => ("a loss of power", Aim::Life),
        "restore" => ("a restore from a backup", Aim::Life),
        "disk" => ("a failing disk or memory", Aim::Node),
        "evict" => ("an eviction", Aim::Node),
        "promote" => ("a promotion", Aim::Node),
        "cut" => ("a cut of the network", Aim::Link),
        "slow" => ("a slow network", Aim::Link),
        "reset" => ("a reset of connections", Aim::Link),
        "half-open" => ("a half-open connection", Aim::Link),
        "drop" => ("a loss of messages", Aim::Message),
        "delay" => ("a delay of messages", Aim::Message),
        other => (other, Aim::Node),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_rounded_to_the_nearest_thousandth() {
        let read = |ns| seconds(SimTime::from_nanos(ns));
        assert_eq!(
            [0, 499_999, 500_000, 10_213_999_999, u64::MAX].map(read),
            ["0.000 s", "0.000 s", "0.001 s", "10.214 s", "18446744073.710 s"]
        );
    }

    #[test]
    fn a_length_that_is_too_short_for_the_decimals_is_not_nothing() {
        let read = |ns| length(Duration::from_nanos(ns));
        assert_eq!(
            [0, 1, 999_999, 1_000_000].map(read),
            ["0.000 s", "less than 0.001 s", "less than 0.001 s", "0.001 s"]
        );
    }

    #[test]
    fn lists_read_as_one_says_them() {
        assert_eq!(list::<&str>(&[]), "");
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
    }
}
