//! **belief-exclusion**: no two clients believe at one instant that they may act.
//!
//! A client believes from the moment at which it is granted the lock
//!
//! * to the end of its section, or until the acting task has processed that the lock is lost;
//! * and, if it looks at its clock before each operation, at most until its own monotonic clock reaches the deadline less its
//!   margin. A renewal moves the deadline.
//!
//! Beside that it believes from every check that passed until the operation that was checked has left
//! its machine: it has decided, and nothing can call it back. An operation that never leaves is
//! believed in to the end of the section. (A check within the first kind of belief only extends it.)
//!
//! A pause ends no belief: the paused process cannot notice. Its death does, and so does the end of
//! the run.
//!
//! A client does not exclude itself: two attempts of one client, as after a restart or in two tasks
//! of one process, never break this property. (They may break `grant-exclusion`.) Nor do those exclude each other that share a
//! lock.
//!
//! Source: the lock as its users read it, "only one client at a time may act"; Kleppmann, "How to do
//! distributed locking", 2016, shows that no lock with a lease gives that under pauses.

use host::{MonoTime, NodeId, SimTime};

use crate::grants::{Claim, ClaimId, Granted};
use crate::history::{Note, OpId};
use crate::judge::Case;
use crate::level::Level;
use crate::overlap;
use crate::property::{Check, Facts};
use crate::rules::Policy;
use crate::verdict::{Evidence, Measures};
use crate::windows::Stretch;

pub(super) const FACTS: Facts = Facts {
    name: "belief-exclusion",
    statement: "no two clients may take the lock to be theirs at the same time",
    level: Level::Belief,
    check: Check::Counts(check),
};

/// Broken at the first instant at which two clients believe. In the right is the one whose promised
/// window is open then; the older one if both are, or neither.
fn check(case: &Case<'_>, measures: &mut Measures) -> Option<Evidence> {
    let beliefs = beliefs(case, case.history.over());
    let overlap = overlap::sweep(&beliefs, case.grants.locks(), |belief| {
        let claim = &case.grants[belief.claim];
        claim.party(claim.attempt.client())
    })?;
    measures.belief_overlap = overlap.longest;
    let [older, newer] = overlap.pair;
    let promised = |belief: Stretch| case.is_promised(belief.claim, overlap.at);
    let pair = if promised(newer) && !promised(older) { [newer, older] } else { [older, newer] };
    Some(Evidence {
        at: overlap.at,
        attempts: pair.iter().map(|belief| case.grants[belief.claim].attempt).collect(),
        entries: pair.iter().map(|belief| belief.entry).collect(),
        overlap: Some(overlap.longest),
    })
}

/// Every belief of every client, in the order in which they began. What lasts to the end of the run ends at `end`.
pub(crate) fn beliefs(case: &Case<'_>, end: SimTime) -> Vec<Stretch> {
    let mut beliefs = Vec::with_capacity(2 * case.grants.given());
    // By grant, in the order in which clients note them.
    let mut minds: Vec<Option<Mind>> = Vec::with_capacity(case.grants.taken().len());
    for mention in &case.grants.mentions.holding {
        let claim = &case.grants[mention.claim];
        let Some(granted) = claim.granted.as_ref() else { continue };
        if granted.entry == mention.entry {
            minds.push(Mind::of(case, mention.claim, granted, &mut beliefs));
        } else if let Some(Some(mind)) = minds.get_mut(granted.place) {
            let entry = &case.history.entries[mention.entry];
            if let Some(event) = event(case, &entry.note) {
                mind.take(&mut beliefs, mention.entry, entry.at, event);
            }
        }
    }
    for mind in minds.into_iter().flatten() {
        mind.finish(case, &mut beliefs, end);
    }
    beliefs
}

/// What moves a belief.
enum Event {
    /// The deadline is moved to there.
    Renewed(SimTime),
    Lost,
    Checked(OpId),
    Left(OpId),
    Ended,
}

fn event(case: &Case<'_>, note: &Note) -> Option<Event> {
    match *note {
        Note::Renewed { attempt, until } => deadline(case, attempt.client(), Some(until)).map(Event::Renewed),
        Note::ToldOfLoss { .. } => Some(Event::Lost),
        Note::Checked { op, .. } => Some(Event::Checked(op)),
        Note::Left { op, .. } => Some(Event::Left(op)),
        Note::Ended { .. } => Some(Event::Ended),
        _ => None,
    }
}

/// When a client that looks at its clock as its policy says takes a lease to be over. `None`: it is no client.
fn deadline(case: &Case<'_>, client: NodeId, until: Option<MonoTime>) -> Option<SimTime> {
    let deadline = match (case.rules.policies.get(&client)?, until) {
        (Policy::Checked, Some(until)) => case.history.when(client, until),
        (Policy::Margin(margin), Some(until)) => case.history.when(client, until - *margin),
        // Who looks only here and there goes on in between, whatever its clock reads; when a look tells it that
        // its time is over, its section ends, and the history says so.
        (Policy::Naive | Policy::AtChecks | Policy::WhenTold, _) | (_, None) => SimTime::NEVER,
    };
    Some(deadline)
}

/// What a client makes of one claim, so far.
struct Mind {
    /// Place of its last belief.
    belief: usize,
    /// Operations that were checked and have not left: while there are any, the belief has no end.
    decided: Vec<OpId>,
    /// Renewals no longer revive it.
    lost: bool,
    ended: bool,
}

impl Mind {
    /// What it is when the claim is granted. `None`: a claim of a node that is no client is not believed in.
    fn of(case: &Case<'_>, claim: ClaimId, granted: &Granted, beliefs: &mut Vec<Stretch>) -> Option<Self> {
        let Claim { attempt, lock, .. } = case.grants[claim];
        let to = deadline(case, attempt.client(), granted.until)?;
        beliefs.push(Stretch { lock, from: granted.at, to, claim, entry: granted.entry });
        Some(Self { belief: beliefs.len() - 1, decided: Vec::new(), lost: false, ended: false })
    }

    /// Takes in what happened.
    fn take(&mut self, beliefs: &mut Vec<Stretch>, i: usize, at: SimTime, event: Event) {
        if self.ended {
            return;
        }
        let belief = &mut beliefs[self.belief];
        match event {
            Event::Renewed(_) if self.lost => {}
            Event::Renewed(to) => self.extend(beliefs, at, to, i),
            Event::Lost => {
                self.lost = true;
                belief.end_by(at);
            }
            Event::Checked(op) => {
                let to = belief.to;
                self.extend(beliefs, at, to, i);
                if !self.decided.contains(&op) {
                    self.decided.push(op);
                }
            }
            Event::Left(op) => {
                if let Some(place) = self.decided.iter().position(|decided| *decided == op) {
                    self.decided.swap_remove(place);
                    belief.to = belief.to.max(at);
                }
            }
            Event::Ended => {
                self.ended = true;
                self.close(belief, at);
            }
        }
    }

    /// Extends the belief, or begins another if it was over. With something decided it is not over.
    fn extend(&mut self, beliefs: &mut Vec<Stretch>, at: SimTime, to: SimTime, i: usize) {
        let belief = &mut beliefs[self.belief];
        if !self.decided.is_empty() {
            belief.to = belief.to.max(at);
        }
        if let Some(next) = belief.renew(at, to, i) {
            self.belief = beliefs.len();
            beliefs.push(next);
        }
    }

    /// Nothing is believed from here on; what was decided and has not left was believed in until now.
    fn close(&mut self, belief: &mut Stretch, at: SimTime) {
        if !self.decided.is_empty() {
            self.decided.clear();
            belief.to = SimTime::NEVER;
        }
        belief.end_by(at);
    }

    fn finish(mut self, case: &Case<'_>, beliefs: &mut [Stretch], end: SimTime) {
        let belief = &mut beliefs[self.belief];
        let died = case.grants[belief.claim].granted.map_or(SimTime::NEVER, |granted| granted.died);
        self.close(belief, end.min(died));
    }
}

#[cfg(test)]
mod tests;
