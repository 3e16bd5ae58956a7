//! How a property came to be broken.

use host::SimTime;
use spec::{Evidence, Property, Verdict};

use super::deed::{self, Deed};
use super::{NO_OVERLAP, broken_assumption, faults, grants_overlapped};
use crate::facts::{Claim, Operation};
use crate::run::JudgedRun;
use crate::words::{Names, capital, counted, length, list, promised_end, seconds, statement};

/// One broken property, with what the history shows of it.
pub(super) struct Violation<'a> {
    run: &'a JudgedRun<'a>,
    property: Property,
    evidence: &'a Evidence,
    names: Names<'a>,
    /// The attempts involved, as they stood when the property was broken, in the order of their grants.
    claims: Vec<Claim>,
    /// What the other one had done to the resource, if the property is about that.
    earlier: Option<Operation<'a>>,
    /// The operation that breaks the property; where it is broken without one, what came of it.
    operation: Option<Operation<'a>>,
}

impl<'a> Violation<'a> {
    pub(super) fn new(run: &'a JudgedRun<'a>, property: Property, evidence: &'a Evidence) -> Self {
        let history = run.history;
        let mut claims: Vec<Claim> = Vec::new();
        for attempt in &evidence.attempts {
            if claims.iter().all(|claim| claim.attempt != *attempt) {
                claims.push(Claim::of(history, *attempt, evidence.at));
            }
        }
        claims.sort_by_key(|claim| claim.granted.map_or(SimTime::ZERO, |granted| granted.at));
        let mut shown = evidence.entries.iter().filter_map(|entry| Operation::at(history, *entry));
        let (earlier, operation) = match property {
            Property::GrantExclusion | Property::BeliefExclusion => {
                let stale = claims.first().map(|claim| claim.attempt);
                (None, Operation::all(history).find(|one| one.attempt == stale && one.at >= evidence.at))
            }
            Property::EffectOrder | Property::NoLostUpdate | Property::RightfulAccepted => {
                let last = shown.next_back();
                (shown.next(), last)
            }
        };
        let names = Names::among(history, evidence.attempts.iter().copied());
        Self { run, property, evidence, names, claims, earlier, operation }
    }

    pub(super) fn tell(&self) -> Vec<String> {
        let mut beats: Vec<(SimTime, String)> = self.claims.iter().filter_map(|claim| self.grant(claim)).collect();
        beats.extend(self.outsider());
        let no_fault = || (self.evidence.at, "No fault had hit anything in use by then.".to_owned());
        beats.push(faults::by(self.run, self.evidence.at).unwrap_or_else(no_fault));
        let deed = self.operation.map(|operation| Deed::new(self.run.history, &self.names, operation));
        let (leaving, arrival) =
            deed.map_or((None, None), |deed| (deed.leaving(), Some(deed.arrival(self.run.resource))));
        let is_overlap = matches!(self.property, Property::GrantExclusion | Property::BeliefExclusion);
        if !is_overlap {
            beats.extend(leaving.clone().map(|(left, words)| (left, format!("{words}."))));
        }
        // Stable: what happened at one instant stays in the order above.
        beats.sort_by_key(|(at, _)| *at);
        let mut sentences: Vec<String> = beats.into_iter().map(|(_, sentence)| sentence).collect();
        if is_overlap {
            sentences.extend([self.both(), self.breaks(), self.aftermath(leaving.map(|(_, words)| words), arrival)]);
        } else {
            sentences.extend(arrival.map(|arrival| format!("{}{}.", capital(&arrival), self.accepted_before())));
            sentences.push(self.breaks());
        }
        if self.property != Property::GrantExclusion {
            sentences.push(self.overlap());
        }
        sentences.push(self.blame());
        sentences
    }

    /// Who was granted the lock until when, and what else is to be known of that attempt.
    fn grant(&self, claim: &Claim) -> Option<(SimTime, String)> {
        let name = self.names.of(claim.attempt);
        let is_first = self.claims.first().is_some_and(|first| first.attempt == claim.attempt);
        let lock = if is_first { format!("the lock ({})", self.run.lock) } else { "the lock".to_owned() };
        let Some(granted) = claim.granted else {
            let asked = claim.asked?;
            return Some((asked, format!("At {} {name} asked for {lock} and was not granted it.", seconds(asked))));
        };
        let taken = if claim.was_owner { format!("was granted {lock}") } else { format!("took {lock} to be its own") };
        let token = granted.token.map_or_else(String::new, |token| format!(" with token {}", token.0));
        let end = match granted.until {
            Some(until) => format!(", {}", promised_end(self.run.history, claim.attempt.client(), until)),
            None => ", without a lease".to_owned(),
        };
        let mut sentence = format!("At {} {name} {taken}{token}{end}", seconds(granted.at));
        for clause in self.fates(claim) {
            sentence = format!("{sentence}; {clause}");
        }
        Some((granted.at, format!("{sentence}.")))
    }

    /// What became of an attempt by the time of the violation.
    fn fates(&self, claim: &Claim) -> Vec<String> {
        let mut clauses = Vec::new();
        if claim.granted.is_some() && !claim.was_owner {
            clauses.push("no server had made it the owner".to_owned());
        }
        if let Some((at, until)) = claim.extended {
            let until = promised_end(self.run.history, claim.attempt.client(), until);
            clauses.push(format!("it last extended its lease at {}, {until}", seconds(at)));
        }
        if let Some(earlier) = self.earlier.filter(|earlier| earlier.attempt == Some(claim.attempt)) {
            clauses.push(format!("at {} its {}", seconds(earlier.at), deed::effect(&earlier)));
        }
        let loss = claim.told_of_loss.map(|at| (at, "it learnt that the lock was lost"));
        let release = claim.releasing.map(|at| (at, "it began to give the lock back"));
        let is_told = |at: &SimTime| faults::strikes_at(self.run, claim.attempt.client(), *at);
        let death = claim.died.filter(|at| !is_told(at)).map(|at| (at, "its process died"));
        let first = [loss, release, death].into_iter().flatten().min();
        clauses.extend(first.map(|(at, what)| format!("{what} at {}", seconds(at))));
        clauses
    }

    /// What somebody outside any attempt had done, if the property is about that.
    fn outsider(&self) -> Option<(SimTime, String)> {
        let earlier = self.earlier.filter(|earlier| earlier.attempt.is_none())?;
        let (at, effect) = (seconds(earlier.at), deed::effect(&earlier));
        Some((earlier.at, format!("Somebody outside any attempt acted at {at}: the {effect}.")))
    }

    /// That two were promised the lock, or believed in it, at once.
    fn both(&self) -> String {
        let names: Vec<_> = self.evidence.attempts.iter().map(|attempt| self.names.of(*attempt)).collect();
        let (at, names) = (seconds(self.evidence.at), list(&names));
        let both = if self.property == Property::GrantExclusion {
            format!("From {at} on the lock was promised to {names} at once")
        } else {
            format!("From {at} on {names} both took the lock to be theirs")
        };
        let longest = self.evidence.overlap.map(length);
        let longest =
            longest.map_or_else(String::new, |longest| format!("; the longest such time of the run lasted {longest}"));
        format!("{both}{longest}.")
    }

    /// What the older one's next operation came to, for a violation that needs none.
    fn aftermath(&self, leaving: Option<String>, arrival: Option<String>) -> String {
        match (leaving, arrival) {
            (Some(leaving), Some(arrival)) => format!("{leaving}; {arrival}."),
            (None, Some(arrival)) => format!("{}.", capital(&arrival)),
            (_, None) => {
                let older = self.claims.first().map_or_else(String::new, |claim| self.names.of(claim.attempt));
                format!("No operation of {older} reached the resource after that.")
            }
        }
    }

    /// That the grant which is refused now was good before, or never was.
    fn accepted_before(&self) -> String {
        let Some(operation) = self.operation.filter(|_| self.property == Property::RightfulAccepted) else {
            return String::new();
        };
        match deed::accepted_before(self.run.history, &operation) {
            0 => ", the first of that grant to arrive".to_owned(),
            before => format!(", after it had accepted {} of the same grant", counted(before, "operation")),
        }
    }

    /// What is broken, just then, before and later.
    fn breaks(&self) -> String {
        let (mut now, mut before, mut later) = (vec![self.property], Vec::new(), Vec::new());
        for (property, verdict) in &self.run.judgement.verdicts {
            let Verdict::Broken(evidence) = verdict else { continue };
            let told = format!("{property} at {}", seconds(evidence.at));
            match evidence.at.cmp(&self.evidence.at) {
                std::cmp::Ordering::Less => before.push(told),
                std::cmp::Ordering::Greater => later.push(told),
                std::cmp::Ordering::Equal if *property != self.property => now.push(*property),
                std::cmp::Ordering::Equal => {}
            }
        }
        let now: Vec<_> = now.into_iter().map(|property| format!("{property} ({})", statement(property))).collect();
        let mut sentence = format!("That breaks {}", list(&now));
        for (when, others) in [("earlier", before), ("later", later)] {
            if !others.is_empty() {
                sentence = format!("{sentence}; broken {when}: {}", list(&others));
            }
        }
        format!("{sentence}.")
    }

    /// What the lock service had promised.
    fn overlap(&self) -> String {
        if self.run.judgement.measures.grant_overlap.is_zero() {
            format!("{NO_OVERLAP}.")
        } else {
            grants_overlapped(self.run)
        }
    }

    /// Whether the lock got what it rests on.
    fn blame(&self) -> String {
        let lock = self.run.lock;
        if self.operation.is_some_and(|operation| operation.attempt.is_none()) {
            return "It was sent outside any attempt to take the lock: no lock could have stopped it.".to_owned();
        }
        let judgement = self.run.judgement;
        let broken = judgement.outside.get(&self.property).map_or(&[][..], Vec::as_slice);
        if broken.is_empty() {
            let culprit = if self.property == Property::RightfulAccepted {
                "the lock or the resource's check is to blame"
            } else {
                "the lock is to blame"
            };
            return format!(
                "All that {lock} assumes for this was given by then: the violation is inside its assumptions, and {culprit}."
            );
        }
        let broken: Vec<_> = broken
            .iter()
            .filter_map(|one| Some(broken_assumption(*one, *judgement.broken_assumptions.get(one)?)))
            .collect();
        format!("{lock} assumes {}: the violation is outside its assumptions.", list(&broken))
    }
}
