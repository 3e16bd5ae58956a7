//! The verdict: what is broken, and whether the lock had been promised otherwise.

use std::collections::BTreeSet;

use spec::{Assumption, Evidence, Property};

use super::broken_assumption;
use super::holders::overlap_of_the_two;
use super::violation::{Violation, is_overlap};
use crate::words::{list, seconds, unmet};

/// Which properties that breaks, and whose fault it is.
pub(super) fn verdict(violation: &Violation<'_>) -> String {
    let (that, elsewhere): (Vec<_>, Vec<_>) =
        broken(violation).into_iter().partition(|(property, evidence)| is_told(violation, *property, evidence));
    let that: Vec<Property> = that.into_iter().map(|(property, _)| property).collect();
    let elsewhere: Vec<&str> = elsewhere.into_iter().map(|(property, _)| property.name()).collect();
    let also = if elsewhere.is_empty() { String::new() } else { format!("; the run also breaks {}", list(&elsewhere)) };
    format!("That breaks {}{also}.", blame(violation, &that))
}

/// What the broken properties say, and since when each is broken.
pub(super) fn statements(violation: &Violation<'_>) -> String {
    let said = |(property, evidence): (Property, &Evidence)| {
        format!("{property}, broken at {}, says that {}", seconds(evidence.at), property.statement())
    };
    let said: Vec<String> = broken(violation).into_iter().map(said).collect();
    format!("{}.", said.join("; "))
}

/// What the lock takes to be so and was not, since when. `None`: nothing that matters here.
pub(super) fn assumptions(violation: &Violation<'_>) -> Option<String> {
    let judgement = violation.run.judgement;
    if is_by_outsider(violation) {
        return None;
    }
    let broken: Vec<_> = excuses(violation, &Property::ALL)
        .into_iter()
        .filter_map(|one| Some(broken_assumption(one, *judgement.broken_assumptions.get(&one)?)))
        .collect();
    (!broken.is_empty()).then(|| format!("{} assumes {}.", violation.run.lock, list(&broken)))
}

/// All that is broken, the property that is told of first.
fn broken<'v>(violation: &'v Violation<'_>) -> Vec<(Property, &'v Evidence)> {
    let verdicts = &violation.run.judgement.verdicts;
    let mut broken: Vec<_> =
        verdicts.iter().filter_map(|(property, verdict)| Some((*property, verdict.evidence()?))).collect();
    broken.sort_by_key(|(property, _)| *property != violation.property);
    broken
}

/// Whether what the story tells is what broke the property: it may have been broken by others.
fn is_told(violation: &Violation<'_>, property: Property, evidence: &Evidence) -> bool {
    if property == violation.property {
        return true;
    }
    if is_overlap(property) {
        // Of a rightful holder it is told that nobody came after it, and not whether two overlapped.
        return violation.property != Property::RightfulAccepted && overlap_of_the_two(violation, property).is_some();
    }
    violation.operation.is_some_and(|operation| evidence.entries.last() == Some(&operation.entry))
}

/// The properties, and whether the lock is to blame for them.
fn blame(violation: &Violation<'_>, that: &[Property]) -> String {
    let names = |all: &[Property]| list(&all.iter().map(|one| one.name()).collect::<Vec<_>>());
    if is_by_outsider(violation) {
        let why = "one of the two wrote outside any attempt to take it";
        return format!("{}, and no lock could have stopped it: {why}", names(that));
    }
    let lock = violation.run.lock;
    if lock == NO_LOCK {
        return format!("{}: nothing but the resource could have kept them apart", names(that));
    }
    let is_inside = |property: &Property| excuses(violation, &[*property]).is_empty();
    let (inside, outside): (Vec<_>, Vec<_>) = that.iter().copied().partition(is_inside);
    let unmet: Vec<_> = excuses(violation, &outside).into_iter().map(|one| format!("{} ({one})", unmet(one))).collect();
    let (unmet, culprit) = (list(&unmet), culprit(violation, &inside));
    match (inside.as_slice(), outside.as_slice()) {
        (_, []) => format!("{}, inside the assumptions of {lock}: {culprit} is to blame", names(that)),
        ([], _) => format!("{}, outside the assumptions of {lock}: {unmet}", names(that)),
        (inside, outside) => format!(
            "{} inside the assumptions of {lock}, so that {culprit} is to blame, and {} outside them: {unmet}",
            names(inside),
            names(outside)
        ),
    }
}

/// Whether one of the two operations belongs to no attempt: then whatever the lock assumes is beside the
/// point.
fn is_by_outsider(violation: &Violation<'_>) -> bool {
    [violation.earlier, violation.operation].into_iter().flatten().any(|operation| operation.attempt.is_none())
}

/// Who is to blame for what is broken inside all assumptions.
fn culprit(violation: &Violation<'_>, inside: &[Property]) -> &'static str {
    // A promise about operations is one of the lock and of the resource together, unless the resource
    // takes no part in it.
    let is_about_operations =
        |one: &Property| matches!(one, Property::EffectOrder | Property::NoLostUpdate | Property::RightfulAccepted);
    if inside == [Property::SingleEffect] {
        // Two that take turns under the best of locks may do the same.
        "who did it again without looking"
    } else if violation.run.resource == OPEN || !inside.iter().all(is_about_operations) {
        "the lock, or its use,"
    } else {
        "the lock, its use or the resource's check"
    }
}

/// The assumptions that some of these properties rest on and that were not met.
fn excuses(violation: &Violation<'_>, properties: &[Property]) -> BTreeSet<Assumption> {
    let outside = &violation.run.judgement.outside;
    properties.iter().filter_map(|property| outside.get(property)).flatten().copied().collect()
}

/// The check of a resource that lets everything in.
const OPEN: &str = "open";
/// The lock of those who take none.
const NO_LOCK: &str = "none";
