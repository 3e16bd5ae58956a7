//! One operation in words: its way to the resource, and what became of it there.

use host::{Duration, SimTime};
use spec::{History, Property};

use super::violation::Violation;
use crate::facts::{Answer, Claim, Operation};
use crate::words::{counted, length, seconds};

/// An operation that is told of.
pub(super) struct Deed<'a> {
    violation: &'a Violation<'a>,
    history: &'a History,
    operation: Operation<'a>,
    /// When it was decided on and when it left, if the history shows it.
    departure: Option<(SimTime, SimTime)>,
}

impl<'a> Deed<'a> {
    pub(super) fn new(violation: &'a Violation<'a>, operation: Operation<'a>) -> Self {
        let history = violation.run.history;
        Self { violation, history, operation, departure: operation.departure(history) }
    }

    /// When it was decided on, when it left, and whether that was within its lease.
    pub(super) fn leaving(&self) -> Option<String> {
        let (decided, left) = self.departure?;
        let lease = match self.deadline(left) {
            Some(deadline) if left > deadline => {
                format!(", {} after its lease had ended", length(left.since(deadline)))
            }
            Some(_) => ", within its lease".to_owned(),
            None => String::new(),
        };
        let (decided, left) = (seconds(decided), seconds(left));
        Some(format!("{} decided on this {} at {decided}, and it left at {left}{lease}.", self.who(), self.noun()))
    }

    /// What the resource made of it, without a full stop; if asked for, with how it got there so late.
    pub(super) fn arrival(&self, resource: &str, with_way: bool) -> String {
        let (at, noun) = (seconds(self.operation.at), self.noun());
        let (lateness, whose) = match self.lateness() {
            Some(late) => {
                let late = length(late);
                (format!(", {late} after the lease of {} had ended,", self.who()), format!("its {noun}"))
            }
            None => (String::new(), format!("the {noun} of {}", self.who())),
        };
        let way = if with_way { self.way() } else { String::new() };
        let object = self.operation.object;
        let deed = match self.operation.answer {
            Answer::Read(version) => format!("answered {whose} with version {} of `{object}`{way}", version.0),
            Answer::Wrote { .. } | Answer::Marked => format!("accepted {whose}{way}"),
            Answer::Effected => format!("did {whose}, `{object}`{way}"),
            Answer::Refused => format!("refused {whose}{way}"),
        };
        format!("At {at}{lateness} the {resource} resource {deed}{}{}", self.before(), self.replaced())
    }

    fn who(&self) -> String {
        self.violation.names.of_any(self.operation.attempt)
    }

    const fn noun(&self) -> &'static str {
        self.operation.noun()
    }

    /// By how much it came after the lease had ended.
    fn lateness(&self) -> Option<Duration> {
        let deadline = self.deadline(self.operation.at).filter(|deadline| *deadline < self.operation.at)?;
        Some(self.operation.at.since(deadline))
    }

    /// Where it lost its time, if it came late: before it left, or after.
    fn way(&self) -> String {
        let way = || {
            self.lateness()?;
            let (decided, left) = self.departure?;
            let deadline = self.deadline(left)?;
            Some(match (decided <= deadline, left <= deadline) {
                (_, true) => format!(", sent at {}", seconds(left)),
                (true, false) => format!(", decided on at {}", seconds(decided)),
                (false, false) => return None,
            })
        };
        way().unwrap_or_default()
    }

    /// What of the same grant, or of a newer one, the resource had accepted before.
    fn before(&self) -> String {
        match (self.violation.property, self.violation.earlier) {
            (Property::RightfulAccepted, _) => match self.operation.accepted_before(self.history) {
                0 => ", the first of that grant to arrive".to_owned(),
                before => format!(", after it had accepted {} of the same grant", counted(before, "operation")),
            },
            // Who is told to have written what it replaced is told of already.
            (Property::EffectOrder, Some(newer)) if self.predecessor().is_none_or(|one| one.entry != newer.entry) => {
                let (noun, who) = (newer.noun(), self.violation.names.of_any(newer.attempt));
                format!(", after the {noun} of {who} at {}", seconds(newer.at))
            }
            _ => String::new(),
        }
    }

    /// What a write replaced, and by whom that was written.
    fn replaced(&self) -> String {
        let Answer::Wrote { based_on, replaced } = self.operation.answer else { return String::new() };
        let (object, replaced) = (self.operation.object, replaced.0);
        if let Some(undone) = self.undone() {
            let (at, who) = (seconds(undone.at), self.violation.names.of_any(undone.attempt));
            return format!(": it replaced version {replaced} of `{object}`, which {who} had replaced at {at} already");
        }
        let writer = match self.predecessor() {
            Some(before) if before.attempt == self.operation.attempt => ", its own".to_owned(),
            Some(before) => format!(", written by {}", self.violation.names.of_any(before.attempt)),
            None => String::new(),
        };
        match based_on {
            Some(based_on) => {
                format!(": based on version {} of `{object}`, it replaced version {replaced}{writer}", based_on.0)
            }
            None => format!(": based on no version, it replaced version {replaced} of `{object}`{writer}"),
        }
    }

    /// The write that had replaced the same version before, and is undone.
    fn undone(&self) -> Option<Operation<'a>> {
        let Answer::Wrote { replaced: own, .. } = self.operation.answer else { return None };
        let is_undone =
            |before: &Operation<'_>| matches!(before.answer, Answer::Wrote { replaced, .. } if replaced == own);
        let before = Operation::all(self.history).take_while(|before| before.entry < self.operation.entry);
        before.filter(|before| before.object == self.operation.object && is_undone(before)).last()
    }

    /// The write whose version a write replaced.
    fn predecessor(&self) -> Option<Operation<'a>> {
        let is_write = matches!(self.operation.answer, Answer::Wrote { .. });
        self.operation.predecessor(self.history).filter(|_| is_write)
    }

    /// When its lease ends, as its client knew by then.
    fn deadline(&self, by: SimTime) -> Option<SimTime> {
        Claim::of(self.history, self.operation.attempt?, by).deadline(self.history)
    }
}
