//! How a property came to be broken: what the history shows of it, and in which order it is told.

use host::{AttemptId, SimTime};
use spec::{Evidence, Property};

use super::deed::Deed;
use super::{MOST_ERRORS, errors, faults, finding, holders, promise};
use crate::facts::{Claim, Operation};
use crate::run::{JudgedRun, StruckFault};
use crate::words::{Aim, Names, fault_kind, for_up_to, seconds};

/// One broken property, with what the history shows of it.
pub(super) struct Violation<'a> {
    pub(super) run: &'a JudgedRun<'a>,
    pub(super) property: Property,
    pub(super) evidence: &'a Evidence,
    pub(super) names: Names<'a>,
    /// The attempts involved, as they stood when the property was broken, in the order of their grants.
    pub(super) claims: Vec<Claim>,
    /// What the other one had done to the resource, if the property is about that.
    pub(super) earlier: Option<Operation<'a>>,
    /// The operation that breaks the property; where it is broken without one, what came of it.
    pub(super) operation: Option<Operation<'a>>,
}

impl<'a> Violation<'a> {
    pub(super) fn new(run: &'a JudgedRun<'a>, property: Property, evidence: &'a Evidence) -> Self {
        let history = run.history;
        let mut shown = evidence.entries.iter().filter_map(|entry| Operation::at(history, *entry));
        let (mut earlier, mut operation) = (None, None);
        if !is_overlap(property) {
            operation = shown.next_back();
            earlier = shown.next();
        }
        let mut attempts: Vec<AttemptId> = Vec::new();
        // Of a first operation that is refused, the grant before may be the reason.
        let refused = operation.filter(|_| property == Property::RightfulAccepted);
        let refused = refused.filter(|refused| refused.accepted_before(history) == 0);
        let before = refused.and_then(|refused| Claim::before(history, refused.attempt?));
        for attempt in evidence.attempts.iter().copied().chain(before) {
            if !attempts.contains(&attempt) {
                attempts.push(attempt);
            }
        }
        let names = Names::among(history, attempts.iter().copied());
        let mut claims: Vec<_> = attempts.into_iter().map(|attempt| Claim::of(history, attempt, evidence.at)).collect();
        // Stable: of two grants at one instant, the one in the right is first.
        claims.sort_by_key(|claim| claim.granted.map(|granted| granted.at).or(claim.asked));
        if is_overlap(property) {
            let stale = claims.first().map(|claim| claim.attempt);
            operation = Operation::all(history).find(|one| one.attempt == stale && one.at >= evidence.at);
        }
        Self { run, property, evidence, names, claims, earlier, operation }
    }

    /// The five sentences.
    pub(super) fn in_short(&self) -> Vec<String> {
        let mut sentences = self.leading_up();
        sentences.extend(self.outcome());
        sentences.push(finding::verdict(self));
        sentences
    }

    /// The five sentences and the details.
    pub(super) fn at_length(&self) -> Vec<String> {
        let mut sentences = self.leading_up();
        sentences.extend(self.outcome());
        sentences.extend(self.deed().and_then(|deed| deed.leaving()));
        sentences.push(finding::verdict(self));
        sentences.push(finding::statements(self));
        sentences.extend(finding::assumptions(self));
        sentences
    }

    /// Who held the lock, what struck, and who was granted it next: in the order in which it happened.
    fn leading_up(&self) -> Vec<String> {
        let promise = promise::beats(self);
        let is_about_holders = promise.is_none();
        let mut beats = promise.unwrap_or_else(|| holders::first(self).into_iter().collect());
        match self.struck() {
            // What a fault did to a lock is told after the fault.
            Some(struck) if !is_about_holders => beats.insert(0, struck),
            Some(struck) => beats.push(struck),
            None => {
                let at = self.evidence.at;
                let none = "No fault was involved.".to_owned();
                let late = || format!("By {} no fault had hit anything in use.", seconds(at));
                beats.push((at, if self.run.faults.is_empty() { none } else { late() }));
            }
        }
        if is_about_holders {
            beats.extend(holders::next(self));
        }
        let is_involved = |client| self.claims.iter().any(|claim| claim.attempt.client() == client);
        beats.extend(errors::by(self.run, self.evidence.at, is_involved, MOST_ERRORS));
        // Stable: what happened at one instant stays in the order above.
        beats.sort_by_key(|(at, _)| *at);
        beats.into_iter().map(|(_, sentence)| sentence).collect()
    }

    fn struck(&self) -> Option<(SimTime, String)> {
        let struck = faults::by(self.run, self.evidence.at)?;
        let meanwhile = struck.only.and_then(|fault| self.meanwhile(fault)).unwrap_or_default();
        Some((struck.at, format!("{}{meanwhile}.", struck.words)))
    }

    /// Where on its way the operation was when the fault struck: what makes a pause or a cut matter.
    fn meanwhile(&self, fault: &StruckFault<'_>) -> Option<String> {
        let operation = self.operation?;
        let (decided, left) = operation.departure(self.run.history)?;
        let until = fault.until.filter(|until| *until > fault.from)?;
        if fault.nodes != [operation.attempt?.client()] {
            return None;
        }
        let noun = operation.noun();
        match fault_kind(fault.what).1 {
            Aim::Node if decided <= fault.from && until <= left => {
                Some(format!(", after it had decided on its {noun} and before the {noun} left"))
            }
            Aim::Link if left < until && until <= operation.at => {
                Some(format!(", while its {noun}, sent at {}, was on its way", seconds(left)))
            }
            _ => None,
        }
    }

    /// What the operation did at the resource; if none reached it, for how long two believed.
    fn outcome(&self) -> Option<String> {
        if promise::beats(self).is_some() {
            return None;
        }
        if let Some(deed) = self.deed() {
            let single = faults::by(self.run, self.evidence.at).and_then(|struck| struck.only);
            let is_told = single.is_some_and(|fault| self.meanwhile(fault).is_some());
            return Some(format!("{}.", deed.arrival(self.run.resource, !is_told)));
        }
        let older = self.names.of(self.claims.first()?.attempt);
        let longest = for_up_to(self.run.judgement.measures.belief_overlap);
        let believed = match holders::overlap_of_the_two(self, Property::BeliefExclusion) {
            Some(_) => format!("; {longest} both believed they held the lock"),
            None => String::new(),
        };
        Some(format!("No operation of {older} reached the resource after that{believed}."))
    }

    fn deed(&self) -> Option<Deed<'_>> {
        self.operation.map(|operation| Deed::new(self, operation))
    }
}

/// Whether the property is about two at once, and not about an operation.
pub(super) const fn is_overlap(property: Property) -> bool {
    matches!(property, Property::GrantExclusion | Property::BeliefExclusion)
}
