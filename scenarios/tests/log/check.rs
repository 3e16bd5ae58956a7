//! What must hold of a replicated log, whatever happens to its members.

use std::collections::BTreeMap;

use host::{NodeId, SimTime};
use sim::Outcome;

use crate::register::{Ask, Note, State, Told};

/// What was found of a run that kept all promises.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Found {
    /// How many operations were answered.
    pub(crate) answered: usize,
    /// How many entries were applied, by whoever was first.
    pub(crate) entries: usize,
    /// How many terms had a leader.
    pub(crate) leaders: usize,
    /// How often a member was sent a state in place of entries.
    pub(crate) restored: usize,
}

impl Found {
    /// Of two runs, together.
    pub(crate) const fn and(self, other: Self) -> Self {
        Self {
            answered: self.answered + other.answered,
            entries: self.entries + other.entries,
            leaders: self.leaders + other.leaders,
            restored: self.restored + other.restored,
        }
    }
}

/// Holds a history against all that was promised: what was broken, in words, or what was found.
pub(crate) fn check(outcome: &Outcome<Note>) -> Result<Found, String> {
    let mut book = Book::default();
    for noted in &outcome.notes {
        book.take(noted.node, noted.at, noted.note)
            .map_err(|what| format!("at {:?}, {:?}: {what}", noted.at, noted.node))?;
    }
    book.check_register()?;
    Ok(Found {
        answered: book.told.len(),
        entries: book.entries.len(),
        leaders: book.leaders.len(),
        restored: book.restored,
    })
}

#[derive(Default)]
struct Book {
    /// Who was elected, by term.
    leaders: BTreeMap<u64, NodeId>,
    /// What was committed, by index, and the state after it.
    entries: BTreeMap<u64, (u64, Option<u64>, State)>,
    /// Where each number was committed.
    written: BTreeMap<u64, u64>,
    /// How far each member is, in its present life.
    applied: BTreeMap<NodeId, u64>,
    asked: BTreeMap<u64, (SimTime, Ask)>,
    told: Vec<Answer>,
    restored: usize,
}

/// A question that was answered.
#[derive(Clone, Copy, Debug)]
struct Answer {
    asked: SimTime,
    answered: SimTime,
    ask: Ask,
    told: Told,
}

impl Book {
    fn take(&mut self, node: NodeId, at: SimTime, note: Note) -> Result<(), String> {
        match note {
            Note::Started => _ = self.applied.insert(node, 0),
            Note::Elected { term } => {
                let leader = *self.leaders.entry(term).or_insert(node);
                if leader != node {
                    return Err(format!("elected in term {term}, as {leader:?} was"));
                }
            }
            Note::Applied { index, term, command, state } => {
                let before = self.applied.insert(node, index).unwrap_or(0);
                if index != before + 1 {
                    return Err(format!("applied {index} behind {before}"));
                }
                self.agree(index, (term, command, state))?;
            }
            Note::Restored { index, state } => {
                self.restored += 1;
                let before = self.applied.insert(node, index).unwrap_or(0);
                let known = self.entries.get(&index).map(|(_, _, state)| *state);
                if index < before || known != Some(state) {
                    return Err(format!("was given {state:?} for {index}, at {before}; it is {known:?}"));
                }
            }
            Note::Unanswered { .. } => return Err("is not answered, although all has been well for long".to_owned()),
            Note::Leads { .. } | Note::Deposed | Note::GaveUp { .. } => {}
            Note::Asked { op, ask } => _ = self.asked.insert(op, (at, ask)),
            Note::Told { op, told } => {
                let (asked, ask) = self.asked[&op];
                self.told.push(Answer { asked, answered: at, ask, told });
            }
        }
        Ok(())
    }

    /// Everybody applies the same, and each proposal once.
    fn agree(&mut self, index: u64, entry: (u64, Option<u64>, State)) -> Result<(), String> {
        let agreed = *self.entries.entry(index).or_insert(entry);
        if agreed != entry {
            return Err(format!("applied {entry:?} as {index}, where {agreed:?} was"));
        }
        if let Some(command) = entry.1 {
            let first = *self.written.entry(command).or_insert(index);
            if first != index {
                return Err(format!("{command} is applied as {first} and as {index}"));
            }
        }
        Ok(())
    }

    /// The register is linearizable: versions are its order, so whoever asks after another was answered sees no older
    /// one; a write, a newer one.
    fn check_register(&mut self) -> Result<(), String> {
        for answer in &self.told {
            let is_there = match (answer.ask, answer.told) {
                (Ask::Write(value), told) => told.value == value && self.written.get(&value) == Some(&told.version),
                (Ask::Read, Told { version: 0, value: 0 }) => true,
                (Ask::Read, told) => self.written.get(&told.value) == Some(&told.version),
            };
            if !is_there {
                return Err(format!("{answer:?} is of nothing that was committed"));
            }
        }
        self.told.sort_by_key(|answer| answer.asked);
        let mut by_end = self.told.clone();
        by_end.sort_by_key(|answer| answer.answered);
        let (mut ended, mut newest) = (by_end.iter().peekable(), None::<Answer>);
        for answer in &self.told {
            while let Some(earlier) = ended.next_if(|earlier| earlier.answered < answer.asked) {
                if newest.is_none_or(|newest| newest.told.version < earlier.told.version) {
                    newest = Some(*earlier);
                }
            }
            let Some(newest) = newest else { continue };
            let is_new = if answer.ask == Ask::Read { 0 } else { 1 };
            if answer.told.version < newest.told.version + is_new {
                return Err(format!("{answer:?} is older than {newest:?}"));
            }
        }
        Ok(())
    }
}
