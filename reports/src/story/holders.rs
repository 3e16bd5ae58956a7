//! Who held the lock first, and who was granted it next.

use std::collections::BTreeSet;

use host::{AttemptId, SimTime};
use spec::{Evidence, Property, Verdict};

use super::faults;
use super::violation::Violation;
use crate::facts::{Answer, Claim, Operation};
use crate::words::{for_up_to, node_name, promised_end, seconds};

/// Who held the lock first and until when. `None`: nobody who held it is involved.
pub(super) fn first(violation: &Violation<'_>) -> Option<(SimTime, String)> {
    let claim = violation.claims.first()?;
    let (at, mut sentence) = taking(violation, claim, &format!("the {} lock", violation.run.lock));
    for clause in [lease(violation, claim), fate(violation, claim)].into_iter().flatten() {
        sentence.push_str(&clause);
    }
    Some((at, format!("{sentence}.")))
}

/// Who was granted it next, and whether both were promised it at once, or believed so. If nobody was,
/// what takes its place.
pub(super) fn next(violation: &Violation<'_>) -> Option<(SimTime, String)> {
    let Some(claim) = violation.claims.get(1) else { return alone(violation) };
    let (at, mut sentence) = taking(violation, claim, "the lock");
    // The lease of one that has given the lock back matters no more.
    let end = released(claim).map(|at| format!(", and began to release it at {}", seconds(at)));
    if let Some(end) = end.or_else(|| lease(violation, claim)) {
        sentence.push_str(&end);
    }
    if let Some(both) = claim.granted.and_then(|_| both(violation)) {
        sentence = format!("{sentence}; {both}");
    }
    Some((at, format!("{sentence}.")))
}

/// That it asked for the lock, and whether it got it: without its end and a full stop.
pub(super) fn taking(violation: &Violation<'_>, claim: &Claim, lock: &str) -> (SimTime, String) {
    let name = violation.names.of(claim.attempt);
    let Some(granted) = claim.granted else {
        let asked = claim.asked.unwrap_or(SimTime::ZERO);
        return (asked, format!("At {} {name} asked for {lock} and was not granted it", seconds(asked)));
    };
    let token = granted.token.map_or_else(String::new, |token| format!(" with token {}", token.0));
    let at = seconds(granted.at);
    let run = violation.run;
    let had = (run.enters_again && !claim.was_owner).then(|| Claim::owner_then(run.history, claim.attempt)).flatten();
    let sentence = match had {
        Some((server, owner)) => {
            let (server, owner) = (node_name(run.history, server), violation.names.of(owner));
            format!(
                "At {at} {name}, on the session that had it for {owner}, was counted again by {server} and so granted {lock}{token}"
            )
        }
        None if claim.was_owner => format!("At {at} {name} was granted {lock}{token}"),
        None => format!("At {at} {name}, which no server had made the owner, took {lock} to be its own{token}"),
    };
    (granted.at, sentence)
}

/// Until when it was promised the lock.
pub(super) fn lease(violation: &Violation<'_>, claim: &Claim) -> Option<String> {
    let granted = claim.granted?;
    let end = |until| promised_end(violation.run.history, claim.attempt.client(), until);
    Some(match (claim.extended, granted.until) {
        (Some((at, until)), _) => format!(", and last extended its lease at {}, {}", seconds(at), end(until)),
        (None, Some(until)) => format!(", {}", end(until)),
        (None, None) => ", until it gives it back".to_owned(),
    })
}

/// What ended its hold on the lock by the time of the violation, whichever came first.
fn fate(violation: &Violation<'_>, claim: &Claim) -> Option<String> {
    let loss = claim.told_of_loss.map(|at| (at, "it learnt that the lock was lost"));
    let release = claim.releasing.map(|at| (at, "it began to release it"));
    let is_told = |at: &SimTime| faults::strikes_at(violation.run, claim.attempt.client(), *at);
    let death = claim.died.filter(|at| !is_told(at)).map(|at| (at, "its process died"));
    let (at, what) = [loss, release, death].into_iter().flatten().min()?;
    Some(format!("; {what} at {}", seconds(at)))
}

/// When it began to give the lock back, if neither loss nor death came first.
fn released(claim: &Claim) -> Option<SimTime> {
    let earlier = [claim.told_of_loss, claim.died].into_iter().flatten().min();
    claim.releasing.filter(|at| earlier.is_none_or(|earlier| *at < earlier))
}

/// Whether the two were promised the lock at once, or believed so, as far as the verdicts show it: they
/// name the first pair of a run that overlapped, and measure the longest overlap of any.
fn both(violation: &Violation<'_>) -> Option<String> {
    if violation.property == Property::RightfulAccepted {
        return Some("no newer grant came before the refusal, so that it was the rightful holder".to_owned());
    }
    if let [Some(one), Some(other), ..] = violation.claims.iter().map(|claim| claim.lock).collect::<Vec<_>>()[..]
        && one != other
    {
        return Some(format!("`{one}` and `{other}` are two locks, and neither keeps out who has the other"));
    }
    if violation.claims.iter().all(|claim| claim.shares) {
        return Some("the two share it".to_owned());
    }
    let measures = &violation.run.judgement.measures;
    if overlap_of_the_two(violation, Property::GrantExclusion).is_some() {
        return Some(format!("{} it was promised to both at once", for_up_to(measures.grant_overlap)));
    }
    let never_promised = measures.grant_overlap.is_zero();
    if let Some(evidence) = overlap_of_the_two(violation, Property::BeliefExclusion) {
        // For how long is told further on, if nothing came of it: here is no more than when it began.
        let time = match violation.operation {
            Some(_) => for_up_to(measures.belief_overlap),
            None => format!("at {}", seconds(evidence.at)),
        };
        let promised = if never_promised { ", though it was never promised to both at once" } else { "" };
        return Some(format!("{time} both believed they held it{promised}"));
    }
    match (never_promised, measures.belief_overlap.is_zero()) {
        (true, true) => {
            Some("it was never promised to both at once, nor did both ever believe they held it".to_owned())
        }
        (true, false) => Some("it was never promised to both at once".to_owned()),
        (false, _) => None,
    }
}

/// What shows that the two overlapped, if it is they of whom the verdict on that property speaks.
pub(super) fn overlap_of_the_two<'v>(violation: &'v Violation<'_>, property: Property) -> Option<&'v Evidence> {
    let evidence = violation.run.judgement.verdicts.get(&property).and_then(Verdict::evidence)?;
    let pair: BTreeSet<AttemptId> = evidence.attempts.iter().copied().collect();
    let told: BTreeSet<AttemptId> = violation.claims.iter().map(|claim| claim.attempt).collect();
    (pair == told).then_some(evidence)
}

/// What there is to say if nobody else was granted the lock.
fn alone(violation: &Violation<'_>) -> Option<(SimTime, String)> {
    if violation.property == Property::RightfulAccepted {
        let name = violation.names.of(violation.claims.first()?.attempt);
        let sentence = format!("No newer grant came before the refusal, so that {name} was the rightful holder.");
        return Some((violation.evidence.at, sentence));
    }
    let Operation { at, attempt, object, answer, .. } = violation.earlier?;
    let (when, who) = (seconds(at), violation.names.of_any(attempt));
    let Answer::Wrote { replaced, .. } = answer else { return None };
    let made = replaced.0.saturating_add(1);
    Some((at, format!("At {when} {who} wrote version {made} of `{object}`.")))
}
