//! What servers answered with an error: why a try or a section came to nothing.

use host::{NodeId, SimTime};
use spec::History;

use crate::run::{JudgedRun, ServerError};
use crate::words::{counted, failed, seconds};

/// A sentence for each kind of error that reached these clients by then, and when the first of that kind did. Of more kinds than
/// that, a last sentence says how many errors are not told.
pub(super) fn by(run: &JudgedRun<'_>, at: SimTime, of: impl Fn(NodeId) -> bool, most: usize) -> Vec<(SimTime, String)> {
    let mut kinds: Vec<Vec<&ServerError>> = Vec::new();
    for error in run.errors.iter().filter(|error| error.at <= at && of(error.client)) {
        match kinds.iter_mut().find(|kind| is_alike(kind[0], error)) {
            Some(kind) => kind.push(error),
            None => kinds.push(vec![error]),
        }
    }
    let others = kinds.split_off(most.min(kinds.len()));
    let mut sentences: Vec<_> = kinds.iter().map(|kind| told(run.history, kind)).collect();
    if let Some(first) = others.first().map(|kind| kind[0].at) {
        let rest = counted(others.iter().map(Vec::len).sum::<usize>() as u64, "other error");
        sentences.push((first, format!("From {} on servers answered with {rest}.", seconds(first))));
    }
    sentences
}

/// Whether the same failed, at the same server and for the same reason, whenever and whose ever it was.
fn is_alike(one: &ServerError, other: &ServerError) -> bool {
    ServerError { at: other.at, client: other.client, ..one.clone() } == *other
}

fn told(history: &History, kind: &[&ServerError]) -> (SimTime, String) {
    let (first, last) = (kind[0], kind[kind.len() - 1]);
    let mut clients: Vec<NodeId> = Vec::new();
    for error in kind {
        if !clients.contains(&error.client) {
            clients.push(error.client);
        }
    }
    let when = match (seconds(first.at), seconds(last.at)) {
        (from, to) if from == to => format!("At {from}"),
        (from, to) => format!("From {from} to {to}"),
    };
    (first.at, format!("{when} {}.", failed(history, first, &clients, kind.len() as u64)))
}
