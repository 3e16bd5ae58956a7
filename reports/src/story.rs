//! A run in a few plain sentences.
//!
//! [`short_story`] tells how a property came to be broken in five sentences: who held the lock, what
//! struck, who was granted it next, what came of it at the resource, and the verdict. [`story`] is the
//! same five and the details beside them. Both are told from the history alone: they put things in
//! their order and say nothing of causes that the history does not show. Times are true time.
//!
//! It is not the whole run; that is the [timeline](mod@crate::timeline).

use host::SimTime;
use spec::{Assumption, Ending, Entry, Mode, Note, Property, Verdict};

use crate::run::JudgedRun;
use crate::words::{assumed, counted, length, list, seconds};

mod deed;
mod errors;
mod faults;
mod finding;
mod holders;
mod promise;
mod violation;

use violation::Violation;

/// How the property was first broken, in five sentences. A violation in which there is nothing to say
/// of one of the five points has fewer; one before which servers answered those involved with errors has up to
/// three more. If the property was not broken, as [`holds_story`].
#[must_use]
pub fn short_story(run: &JudgedRun<'_>, property: Property) -> Vec<String> {
    match run.judgement.verdicts.get(&property).and_then(Verdict::evidence) {
        Some(evidence) => Violation::new(run, property, evidence).in_short(),
        None => holds_story(run),
    }
}

/// The five sentences of [`short_story`], with up to three more beside them: how the operation left,
/// what the broken properties say, and what the lock takes to be so. If the property was not broken,
/// as [`holds_story`].
#[must_use]
pub fn story(run: &JudgedRun<'_>, property: Property) -> Vec<String> {
    match run.judgement.verdicts.get(&property).and_then(Verdict::evidence) {
        Some(evidence) => Violation::new(run, property, evidence).at_length(),
        None => holds_story(run),
    }
}

/// What happened, and that what was asked of the run held.
#[must_use]
pub fn holds_story(run: &JudgedRun<'_>) -> Vec<String> {
    let mut sentences = vec![deeds(run)];
    sentences.extend(faults::by_the_end(run));
    let errors = errors::by(run, SimTime::NEVER, |_| true, MOST_ERRORS);
    sentences.extend(errors.into_iter().map(|(_, sentence)| sentence));
    sentences.push(ending(run));
    sentences.extend(verdicts(run));
    sentences.push(overlap(run));
    sentences.extend(despite(run));
    sentences
}

fn deeds(run: &JudgedRun<'_>) -> String {
    let measures = &run.judgement.measures;
    let (given, accepted) = (counted(measures.given, "time"), counted(measures.effects, "operation"));
    let refused = if measures.refused == 0 { "none".to_owned() } else { measures.refused.to_string() };
    let (lock, resource) = (run.lock, run.resource);
    format!("{lock} granted the lock {given}, and the {resource} resource accepted {accepted} and refused {refused}.")
}

fn ending(run: &JudgedRun<'_>) -> String {
    let how = match run.history.ending {
        Ending::Quiet => "when nothing was left that could change a verdict",
        Ending::Horizon => "at its horizon",
        Ending::Budget => "when its event budget was spent",
        Ending::Stuck => "when nothing was left to happen, with clients still waiting",
    };
    format!("The run ended at {}, {how}.", seconds(run.history.end))
}

/// What was said of the properties, those of which the same was said together.
fn verdicts(run: &JudgedRun<'_>) -> Vec<String> {
    let verdicts = &run.judgement.verdicts;
    let all_held = verdicts.values().all(|verdict| *verdict == Verdict::Holds);
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for (property, verdict) in verdicts {
        let what = match verdict {
            Verdict::Holds if all_held => "All that was asked of it held".to_owned(),
            Verdict::Holds => "These held".to_owned(),
            Verdict::Broken(evidence) => format!("Broken at {}", seconds(evidence.at)),
            Verdict::Inconclusive(why) => format!("Not decided, since {why}"),
            Verdict::Vacuous(faults) => format!("Not put to the test, since {} never landed", list(faults)),
        };
        match said.iter_mut().find(|(same, _)| *same == what) {
            Some((_, properties)) => properties.push(property.name()),
            None => said.push((what, vec![property.name()])),
        }
    }
    said.into_iter().map(|(what, properties)| format!("{what}: {}.", list(&properties))).collect()
}

/// What two clients were promised or believed at once, by the figures of the whole run.
fn overlap(run: &JudgedRun<'_>) -> String {
    let measures = &run.judgement.measures;
    let is_shared = |entry: &Entry| matches!(entry.note, Note::Attempting { mode: Mode::Shared, .. });
    let two =
        if run.history.entries.iter().any(is_shared) { "two at once that do not share it" } else { "two at once" };
    match (measures.grant_overlap.is_zero(), measures.belief_overlap.is_zero()) {
        (true, true) => {
            format!("At no time of the run was the lock promised to {two}, or taken by two clients to be theirs.")
        }
        (true, false) => format!("At no time of the run was the lock promised to {two}."),
        (false, _) => {
            let longest = length(measures.grant_overlap);
            format!("For up to {longest} the lock was promised to {two}.")
        }
    }
}

/// The assumptions without which what held has held all the same.
fn despite(run: &JudgedRun<'_>) -> Option<String> {
    let broken: Vec<_> =
        run.judgement.broken_assumptions.iter().map(|(assumption, at)| broken_assumption(*assumption, *at)).collect();
    (!broken.is_empty())
        .then(|| format!("Assumptions of {} that did not hold in this run: {}.", run.lock, list(&broken)))
}

/// `that no holder ... (pause-within-validity, broken at 10.100 s)`.
fn broken_assumption(assumption: Assumption, at: SimTime) -> String {
    let since =
        if at == SimTime::ZERO { "broken from the start".to_owned() } else { format!("broken at {}", seconds(at)) };
    format!("that {} ({assumption}, {since})", assumed(assumption))
}

/// Of how many kinds of errors a run is told.
const MOST_ERRORS: usize = 2;

#[cfg(test)]
mod tests;
