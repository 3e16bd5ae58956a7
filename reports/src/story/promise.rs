//! What a lock did to whom: the sentences of the properties that are about the lock itself, and not about
//! two holders at once or an operation at the resource.
//!
//! Each tells what the evidence points at, in the order in which it happened: who had the lock, what became of
//! it, and what came of that.

use host::{AttemptId, NodeId, SimTime};
use spec::{Cause, Entry, LockName, Note, Property};

use super::faults;
use super::holders::{lease, taking};
use super::violation::Violation;
use crate::facts::Claim;
use crate::words::{node_name, seconds};

/// One thing that happened.
type Beat = (SimTime, String);

/// The sentences, in no order. `None`: the property is about two holders or an operation, and is told by who held
/// the lock and what the operation did; so is one that has no sentences of its own.
pub(super) fn beats(violation: &Violation<'_>) -> Option<Vec<Beat>> {
    let tell = match violation.property {
        Property::TokenOrder => tokens,
        Property::OwnerRelease => foreign_hand,
        Property::HolderInformed => uninformed,
        Property::NoLeak => leak,
        Property::Progress => standstill,
        Property::NoDeadlock => circle,
        Property::Fairness => overtaking,
        Property::NoNeedlessLoss => loss,
        Property::SingleEffect => twice,
        _ => return None,
    };
    Some(tell(violation))
}

fn tokens(violation: &Violation<'_>) -> Vec<Beat> {
    let mut beats = grants(violation);
    let tokens: Vec<_> = violation.claims.iter().filter_map(|claim| claim.granted?.token).collect();
    if let [first, .., last] = tokens.as_slice() {
        let sentence = if first == last {
            format!("Both were given token {}.", last.0)
        } else {
            format!("Token {} is below token {}, which was given before it.", last.0, first.0)
        };
        beats.push((violation.evidence.at, sentence));
    }
    beats
}

fn foreign_hand(violation: &Violation<'_>) -> Vec<Beat> {
    let mut beats: Vec<Beat> =
        claim_of(violation, 0).and_then(|owner| grant(violation, owner, true)).into_iter().collect();
    let owner = name(violation, 0);
    if let Some(entry) = shown(violation, 0) {
        let at = seconds(entry.at);
        let sentence = match &entry.note {
            Note::Extended { key, by, .. } => {
                format!(
                    "At {at} {} had the lease on `{key}` extended, which belonged to {owner}.",
                    violation.names.of_any(*by)
                )
            }
            Note::Owner { key, attempt: Some(new), .. } => {
                format!(
                    "At {at} {} was made the owner of `{key}`, which belonged to {owner}.",
                    violation.names.of(*new)
                )
            }
            Note::Owner { key, cause: Cause::Request(by), .. } => {
                format!("At {at} {} had `{key}` deleted, which belonged to {owner}.", violation.names.of_any(*by))
            }
            _ => return beats,
        };
        beats.push((entry.at, sentence));
    }
    beats.extend(next_grant(violation));
    beats
}

fn uninformed(violation: &Violation<'_>) -> Vec<Beat> {
    let at = violation.evidence.at;
    let last = violation.evidence.attempts.len() - 1;
    let holder = name(violation, last);
    let mut beats: Vec<Beat> =
        claim_of(violation, last).and_then(|own| grant(violation, own, true)).into_iter().collect();
    beats.extend(shown(violation, 1).map(|entry| taken(violation, entry, &holder)));
    let rival = if last > 0 { format!(", while {} owned it", name(violation, 0)) } else { String::new() };
    let sentence = format!(
        "At {} {holder} had gone on for longer than the bound, and took the lock to be its own{rival}.",
        seconds(at)
    );
    beats.push((at, sentence));
    beats
}

fn leak(violation: &Violation<'_>) -> Vec<Beat> {
    let at = violation.evidence.at;
    let (waiter, owner) = (name(violation, 0), name(violation, 1));
    let mut beats: Vec<Beat> = owned(violation, 0).into_iter().collect();
    let end = if violation.run.history.ending == spec::Ending::Quiet { "the horizon" } else { "the end" };
    beats.push((at, format!("From {} to {end} {waiter} waited for the lock, which {owner} did not use.", seconds(at))));
    beats
}

fn standstill(violation: &Violation<'_>) -> Vec<Beat> {
    let at = violation.evidence.at;
    let waiter = name(violation, 0);
    let mut beats = Vec::new();
    if let Some(entry) = shown(violation, 0) {
        beats.push((entry.at, format!("At {} {waiter} began to wait for the lock.", seconds(entry.at))));
    }
    match violation.evidence.attempts.get(1) {
        Some(_) => beats.extend(owned(violation, 1)),
        None => beats.push((at, format!("At {} no server had an owner for it.", seconds(at)))),
    }
    let sentence = format!(
        "At {} somebody had waited for longer than the bound, while nobody was in the lock's section.",
        seconds(at)
    );
    beats.push((at, sentence));
    beats
}

fn circle(violation: &Violation<'_>) -> Vec<Beat> {
    let history = violation.run.history;
    let clients: Vec<&str> = violation.evidence.attempts.iter().map(|one| node_name(history, one.client())).collect();
    let mut beats = Vec::new();
    let mut waits = String::new();
    for (i, entry) in violation.evidence.entries.iter().enumerate() {
        let Some(Entry { note: Note::Attempting { lock, .. }, .. }) = history.entries.get(*entry) else { continue };
        let next = (i + 1) % clients.len();
        let whose = if clients[next] == clients[i] { "itself" } else { clients[next] };
        let who = if i == 0 { format!("{} waits", clients[i]) } else { format!(", and {}", clients[i]) };
        waits.push_str(&format!("{who} for `{lock}`, which {whose} has"));
        let holder = violation.evidence.attempts[next].client();
        // Of a large circle the first two are enough to tell how it came about.
        if beats.len() < 2 {
            beats.extend(last_grant(violation, holder, *lock));
        }
    }
    let at = violation.evidence.at;
    beats.push((at, format!("At {} the circle closed: {waits}.", seconds(at))));
    beats
}

fn overtaking(violation: &Violation<'_>) -> Vec<Beat> {
    let waiter = name(violation, 0);
    let mut beats = Vec::new();
    if let Some(entry) = shown(violation, 0) {
        beats.push((entry.at, format!("At {} {waiter} began to wait for the lock.", seconds(entry.at))));
    }
    beats.extend(claim_of(violation, 1).and_then(|winner| grant(violation, winner, false)));
    let at = violation.evidence.at;
    let sentence = format!("By {} {waiter} had been overtaken more often than the bound allows.", seconds(at));
    beats.push((at, sentence));
    beats
}

fn loss(violation: &Violation<'_>) -> Vec<Beat> {
    let at = violation.evidence.at;
    let holder = name(violation, 0);
    let Some(own) = claim_of(violation, 0) else { return Vec::new() };
    let mut beats: Vec<Beat> = grant(violation, own, true).into_iter().collect();
    beats.push(match shown(violation, 1) {
        Some(entry) => taken(violation, entry, &holder),
        None => forgotten(violation, &holder),
    });
    let deadline = own.deadline(violation.run.history);
    if own.granted.is_some_and(|granted| granted.until.is_some()) && deadline.is_some_and(|deadline| deadline <= at) {
        beats.push((at, format!("The lock should have been renewed, and nothing kept {holder} from trying.")));
    }
    beats.extend(next_grant(violation));
    beats
}

/// How a server came to have forgotten the lock, which no note says.
fn forgotten(violation: &Violation<'_>, holder: &str) -> Beat {
    let (run, at) = (violation.run, violation.evidence.at);
    let promoted = run.history.entries.iter().find_map(|entry| match entry.note {
        Note::Promoted { authority, instead_of } if entry.at == at => Some((authority, instead_of)),
        _ => None,
    });
    let name = |node| node_name(run.history, node);
    let nodes = (0..).map(NodeId::new).take(run.history.nodes.len());
    let how = match promoted {
        Some((new, old)) => format!("{} took the place of {}, and knew nothing of", name(new), name(old)),
        None if nodes.into_iter().any(|node| run.is_restored(node, at)) => {
            "the server was back with what the backup had, and that is without".to_owned()
        }
        None => "the server was back, and had forgotten".to_owned(),
    };
    (at, format!("At {} {how} the lock of {holder}.", seconds(at)))
}

fn twice(violation: &Violation<'_>) -> Vec<Beat> {
    let deed = |(i, again): (usize, &str)| {
        let entry = shown(violation, i)?;
        let Note::Effected { attempt, effect, .. } = &entry.note else { return None };
        let who = violation.names.of_any(*attempt);
        Some((entry.at, format!("At {} {who} did `{effect}`{again}.", seconds(entry.at))))
    };
    let mut beats = grants(violation);
    beats.extend([(0, ""), (1, " again")].into_iter().filter_map(deed));
    // Five sentences tell a story: who was granted the lock when matters less than what was done.
    while beats.len() > 3 {
        beats.remove(0);
    }
    beats
}

/// What the servers made of it when they took it away.
fn taken(violation: &Violation<'_>, entry: &Entry, holder: &str) -> Beat {
    let at = seconds(entry.at);
    let server = node_name(violation.run.history, entry.node);
    let sentence = match &entry.note {
        Note::Owner { attempt: Some(new), .. } => {
            format!("At {at} {server} gave the lock of {holder} to {}.", violation.names.of(*new))
        }
        Note::Owner { cause: Cause::Request(by), .. } => {
            format!("At {at} {server} took the lock from {holder}, as {} asked.", violation.names.of_any(*by))
        }
        Note::Owner { cause: Cause::Expiry, .. } => format!("At {at} the lease of {holder} ran out at {server}."),
        Note::Owner { cause: Cause::SessionEnd, .. } => {
            format!("At {at} the session of {holder}, or its transaction, was over for {server}.")
        }
        Note::Owner { cause: Cause::Eviction, .. } => {
            format!("At {at} {server} evicted the lock of {holder} for want of memory.")
        }
        _ => format!("At {at} {server} had forgotten the lock of {holder}."),
    };
    (entry.at, sentence)
}

/// Since when a server has had it as the owner, and why it does not use what it owns.
fn owned(violation: &Violation<'_>, shown_at: usize) -> Option<Beat> {
    let entry = shown(violation, shown_at)?;
    let owner = claim_of(violation, 1)?;
    let (at, server) = (seconds(entry.at), node_name(violation.run.history, entry.node));
    let why = match (owner.died, owner.releasing, owner.granted) {
        // The fault that killed it is told of already.
        (Some(at), ..) if faults::strikes_at(violation.run, owner.attempt.client(), at) => String::new(),
        (Some(at), ..) => format!("; it died at {}", seconds(at)),
        (None, Some(at), _) => format!("; it was through with its section, and began to release it at {}", seconds(at)),
        (None, None, Some(_)) => "; it was through with its section, and never released it".to_owned(),
        (None, None, None) => ", which never heard of it".to_owned(),
    };
    Some((entry.at, format!("At {at} {server} made {} the owner of the lock{why}.", violation.names.of(owner.attempt))))
}

/// The grants of all that are involved.
fn grants(violation: &Violation<'_>) -> Vec<Beat> {
    violation.claims.iter().filter_map(|claim| grant(violation, claim, false)).collect()
}

/// That it was granted the lock, and until when.
fn grant(violation: &Violation<'_>, claim: &Claim, with_lease: bool) -> Option<Beat> {
    claim.granted?;
    let (at, sentence) = taking(violation, claim, "the lock");
    let lease = lease(violation, claim).filter(|_| with_lease).unwrap_or_default();
    Some((at, format!("{sentence}{lease}.")))
}

/// Which other client was granted a lock after the violation, if one was.
fn next_grant(violation: &Violation<'_>) -> Option<Beat> {
    let history = violation.run.history;
    let after = history.entries.iter().filter(|entry| entry.at >= violation.evidence.at);
    let own = violation.evidence.attempts.first().map(|own| own.client());
    let granted = |entry: &Entry| match &entry.note {
        Note::Granted { attempt, .. } if Some(attempt.client()) != own => Some((entry.at, *attempt)),
        _ => None,
    };
    let (at, attempt) = after.into_iter().find_map(granted)?;
    Some((at, format!("At {} {} was granted the lock.", seconds(at), node_name(history, attempt.client()))))
}

/// When that client was last granted that lock before the violation.
fn last_grant(violation: &Violation<'_>, client: NodeId, lock: LockName) -> Option<Beat> {
    let history = violation.run.history;
    let before = history.entries.iter().take_while(|entry| entry.at <= violation.evidence.at);
    let (mut wanted, mut granted) = (None::<AttemptId>, None);
    for entry in before {
        match &entry.note {
            Note::Attempting { attempt, lock: own, .. } if attempt.client() == client && *own == lock => {
                wanted = Some(*attempt);
            }
            Note::Granted { attempt, .. } if wanted == Some(*attempt) => granted = Some(entry.at),
            _ => {}
        }
    }
    let at = granted?;
    Some((at, format!("At {} {} was granted `{lock}`.", seconds(at), node_name(history, client))))
}

/// What is said of the attempt in that place of the evidence.
fn claim_of<'v>(violation: &'v Violation<'_>, place: usize) -> Option<&'v Claim> {
    let attempt = violation.evidence.attempts.get(place)?;
    violation.claims.iter().find(|claim| claim.attempt == *attempt)
}

fn name(violation: &Violation<'_>, place: usize) -> String {
    violation.names.of_any(violation.evidence.attempts.get(place).copied())
}

/// The note in that place of the evidence.
fn shown<'v>(violation: &'v Violation<'_>, place: usize) -> Option<&'v Entry> {
    violation.run.history.entries.get(*violation.evidence.entries.get(place)?)
}
