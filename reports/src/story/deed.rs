//! One operation in words: its way to the resource, and what became of it there.

use host::SimTime;
use spec::History;

use crate::facts::{Answer, Claim, Operation};
use crate::words::{Names, length, seconds};

/// An operation that is told of.
pub(super) struct Deed<'a> {
    history: &'a History,
    names: &'a Names<'a>,
    operation: Operation<'a>,
    /// When it was decided on and when it left, if the history shows it.
    departure: Option<(SimTime, SimTime)>,
}

impl<'a> Deed<'a> {
    pub(super) fn new(history: &'a History, names: &'a Names<'a>, operation: Operation<'a>) -> Self {
        Self { history, names, operation, departure: operation.departure(history) }
    }

    /// When it left, and in words (without a full stop) when it was decided on and whether it left
    /// within its lease.
    pub(super) fn leaving(&self) -> Option<(SimTime, String)> {
        let (checked, left) = self.departure?;
        let lease = match self.deadline(left) {
            Some(deadline) if left > deadline => {
                format!(", {} after its lease had ended", length(left.since(deadline)))
            }
            Some(_) => ", within its lease".to_owned(),
            None => String::new(),
        };
        let (checked, departed) = (seconds(checked), seconds(left));
        Some((left, format!("{}, decided on at {checked}, left its machine at {departed}{lease}", self.name("The"))))
    }

    /// What the resource made of it, in words (without a full stop). If it was told how it left, it is
    /// `it`.
    pub(super) fn arrival(&self, resource: &str) -> String {
        let subject = if self.departure.is_some() { "it".to_owned() } else { self.name("the") };
        let at = format!("at {}{}", seconds(self.operation.at), self.lateness());
        let object = self.operation.object;
        match self.operation.answer {
            Answer::Read(version) => {
                let (version, writer) = (version.0, self.predecessor());
                format!("{at} the {resource} resource answered {subject} with version {version} of `{object}`{writer}")
            }
            Answer::Wrote { based_on, replaced } => {
                let based =
                    based_on.map_or_else(|| "no version".to_owned(), |version| format!("version {}", version.0));
                let (replaced, writer) = (replaced.0, self.predecessor());
                let effect = format!("based on {based} of `{object}`, it replaced version {replaced}{writer}");
                format!("{at} the {resource} resource accepted {subject}: {effect}")
            }
            Answer::Refused => format!("{at} the {resource} resource refused {subject}"),
        }
    }

    fn name(&self, the: &str) -> String {
        format!("{the} {} of {}", self.operation.noun(), self.names.of_any(self.operation.attempt))
    }

    /// By how much it came after the lease had ended, if it had left in time.
    fn lateness(&self) -> String {
        let deadline = self.deadline(self.operation.at).filter(|deadline| *deadline < self.operation.at);
        let in_time = |deadline: &SimTime| self.departure.is_none_or(|(_, left)| left <= *deadline);
        deadline.filter(in_time).map_or_else(String::new, |deadline| {
            format!(", {} after its lease had ended,", length(self.operation.at.since(deadline)))
        })
    }

    /// When its lease ends, as its client knew by then.
    fn deadline(&self, by: SimTime) -> Option<SimTime> {
        Claim::of(self.history, self.operation.attempt?, by).deadline(self.history)
    }

    /// Who had written what it read or replaced.
    fn predecessor(&self) -> String {
        match self.operation.predecessor(self.history) {
            Some(before) if before.attempt == self.operation.attempt => ", its own".to_owned(),
            Some(before) => format!(", written by {}", self.names.of_any(before.attempt)),
            None => String::new(),
        }
    }
}

/// What an operation did, told of its client: `its write made version 1 of ...`.
pub(super) fn effect(operation: &Operation<'_>) -> String {
    let (noun, object) = (operation.noun(), operation.object);
    match operation.answer {
        Answer::Read(version) => format!("{noun} saw version {} of `{object}`", version.0),
        Answer::Wrote { replaced, .. } => format!("{noun} made version {} of `{object}`", replaced.0.saturating_add(1)),
        Answer::Refused => format!("{noun} on `{object}` was refused"),
    }
}

/// How many operations of the same attempt the resource accepted before that one.
pub(super) fn accepted_before(history: &History, before: &Operation<'_>) -> u64 {
    let is_accepted = |one: &Operation<'_>| one.attempt == before.attempt && one.answer != Answer::Refused;
    Operation::all(history).take_while(|one| one.entry < before.entry).filter(is_accepted).count() as u64
}
