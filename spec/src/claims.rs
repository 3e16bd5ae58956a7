//! Who asked for a lock or took one to be its own, and which attempt is whose.
//!
//! A *claim* is an attempt that did one or the other. A history tells of one client's attempts mostly one after
//! the other, and numbers them from 1: so claims are laid out by client, nothing is sorted that is in order, and
//! where a claim lies is reckoned from its number and not looked for. Where numbers are missing or the order is
//! another, it takes a search, and nothing else changes.

use std::ops::{Index, IndexMut, Range};

use host::{AttemptId, MonoTime, SimTime};

use crate::history::{Authorities, History, LockName, Note, Token};

/// A claim's place in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimId(u32);

impl ClaimId {
    fn new(place: usize) -> Self {
        Self(u32::try_from(place).expect("a history that fits into memory has fewer claims"))
    }

    /// For tables with one row per claim.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A lock's place in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LockId(usize);

impl LockId {
    /// For tables with one row per lock.
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

/// A place in the order of grants.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Rank(pub(super) usize);

impl Rank {
    /// Below every grant.
    pub(crate) const UNGRANTED: Self = Self(0);
}

/// An attempt that asked for a lock, or took one to be its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    pub(crate) attempt: AttemptId,
    /// The lock. Claims that never said which lock they want share one without a name.
    pub(crate) lock: LockId,
    /// What its client took to be a grant.
    pub(crate) granted: Option<Granted>,
    /// Its place in the order of grants.
    pub(crate) rank: Rank,
    name: Option<LockName>,
}

impl Claim {
    /// Whether it was granted, and not just taken to be.
    pub(crate) fn is_grant(&self) -> bool {
        self.rank != Rank::UNGRANTED
    }
}

/// The moment at which a client took the lock to be its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    /// Index of the note.
    pub(crate) entry: usize,
    /// When, in true time.
    pub(crate) at: SimTime,
    /// The token, if the lock gives one.
    pub(crate) token: Option<Token>,
    /// The promised end on the client's own clock.
    pub(crate) until: Option<MonoTime>,
    /// When the client's process died after that; `NEVER` if it did not.
    pub(crate) died: SimTime,
    /// The servers whose grant the client counted.
    pub(super) counted: Authorities,
    /// Those of them that had made it the owner before.
    pub(super) made_owner: Authorities,
    /// Index of the note that made it a grant.
    pub(super) point: Option<usize>,
}

/// All claims of a history.
#[derive(Debug)]
pub(crate) struct Claims {
    /// In the order of attempts: by client, and by number.
    all: Vec<Claim>,
    /// By client: where its claims lie.
    rows: Vec<Range<usize>>,
    locks: usize,
}

impl Claims {
    /// # Panics
    /// If an attempt is of a node that the history does not list.
    pub(crate) fn of(history: &History) -> Self {
        let mut rows = rows(history);
        let told = told(history, &rows);
        let mut all: Vec<Claim> = Vec::with_capacity(told.len());
        for row in &mut rows {
            let from = all.len();
            for (_, place) in &told[row.clone()] {
                add(&mut all, from, history, *place);
            }
            *row = from..all.len();
        }
        let locks = number_locks(&mut all);
        Self { all, rows, locks }
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.all.len()
    }

    /// How many locks there are.
    pub(crate) const fn locks(&self) -> usize {
        self.locks
    }

    /// All of them, in the order of attempts.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.all.iter().enumerate().map(|(place, claim)| (ClaimId::new(place), claim))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Claim> {
        self.all.iter_mut()
    }

    /// The claim of that attempt, if it made one.
    pub(crate) fn of_attempt(&self, attempt: AttemptId) -> Option<ClaimId> {
        let row = self.rows.get(attempt.client().index())?;
        let claims = &self.all[row.clone()];
        // Numbers rise: no claim lies behind the place that it has if none is missing.
        let beyond_first = attempt.ordinal().checked_sub(claims.first()?.attempt.ordinal())?;
        let place = (beyond_first as usize).min(claims.len() - 1);
        if claims[place].attempt == attempt {
            return Some(ClaimId::new(row.start + place));
        }
        let place = claims[..place].binary_search_by_key(&attempt, |claim| claim.attempt).ok()?;
        Some(ClaimId::new(row.start + place))
    }
}

impl Index<ClaimId> for Claims {
    type Output = Claim;

    fn index(&self, id: ClaimId) -> &Claim {
        &self.all[id.index()]
    }
}

impl IndexMut<ClaimId> for Claims {
    fn index_mut(&mut self, id: ClaimId) -> &mut Claim {
        &mut self.all[id.index()]
    }
}

/// The notes that claims are made of, with their attempts.
fn makings(history: &History) -> impl Iterator<Item = (AttemptId, usize)> {
    history.entries.iter().enumerate().filter_map(|(i, entry)| match entry.note {
        Note::Attempting { attempt, .. } | Note::Granted { attempt, .. } => Some((attempt, i)),
        _ => None,
    })
}

/// By client: where the notes that its claims are made of will lie.
fn rows(history: &History) -> Vec<Range<usize>> {
    let mut rows = vec![0..0; history.nodes.len()];
    for (attempt, _) in makings(history) {
        rows[attempt.client().index()].end += 1;
    }
    let mut from = 0;
    for row in &mut rows {
        *row = from..from + row.end;
        from = row.end;
    }
    rows
}

/// The notes that claims are made of: attempt by attempt and in order, so that the first of each kind counts.
fn told(history: &History, rows: &[Range<usize>]) -> Vec<(u64, usize)> {
    let mut told = vec![(0, 0); rows.last().map_or(0, |row| row.end)];
    let mut next: Vec<usize> = rows.iter().map(|row| row.start).collect();
    for (attempt, i) in makings(history) {
        let next = &mut next[attempt.client().index()];
        told[*next] = (attempt.as_word(), i);
        *next += 1;
    }
    for row in rows {
        let row = &mut told[row.clone()];
        if !row.is_sorted() {
            row.sort_unstable();
        }
    }
    told
}

/// Takes in one of the notes that claims are made of. Locks, deaths, grant points and ranks stay open.
fn add(claims: &mut Vec<Claim>, from: usize, history: &History, i: usize) {
    let entry = &history.entries[i];
    let (attempt, name, granted) = match &entry.note {
        Note::Attempting { attempt, lock, .. } => (*attempt, Some(*lock), None),
        Note::Granted { attempt, token, until, counted } => {
            let (token, until, counted, died) = (*token, *until, *counted, SimTime::NEVER);
            let made_owner = Authorities::NONE;
            let granted = Granted { entry: i, at: entry.at, token, until, died, counted, made_owner, point: None };
            (*attempt, None, Some(granted))
        }
        _ => return,
    };
    match claims[from..].last_mut().filter(|claim| claim.attempt == attempt) {
        Some(claim) => {
            claim.name = claim.name.or(name);
            claim.granted = claim.granted.or(granted);
        }
        None => claims.push(Claim { attempt, lock: LockId(0), granted, rank: Rank::UNGRANTED, name }),
    }
}

/// Numbers the locks in the order of their names, and says how many there are.
fn number_locks(claims: &mut [Claim]) -> usize {
    // Most runs have one lock, and few have many.
    let mut names = Vec::new();
    for claim in &*claims {
        if !names.contains(&claim.name) {
            names.push(claim.name);
        }
    }
    names.sort_unstable();
    if names.len() > 1 {
        for claim in claims {
            claim.lock = LockId(names.partition_point(|name| *name < claim.name));
        }
    }
    names.len()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use host::NodeId;

    use super::*;
    use crate::history::{Entry, Thread};
    use crate::testing::{Story, ms};

    /// What clients ask for, by their node and the number of the attempt.
    fn asked(attempts: &[(u16, u32)]) -> History {
        let mut history = Story::new().history;
        let ask = |(client, number): &(u16, u32)| Entry {
            at: ms(0),
            node: NodeId::new(*client),
            note: Note::Attempting {
                attempt: attempt(*client, *number),
                lock: "orders".into(),
                thread: Thread::default(),
                after: None,
            },
        };
        history.entries = attempts.iter().map(ask).collect();
        history
    }

    fn attempt(client: u16, number: u32) -> AttemptId {
        AttemptId::new(NodeId::new(client), NonZeroU32::new(number).expect("attempts are numbered from 1"))
    }

    #[test]
    fn claims_are_in_the_order_of_attempts_whatever_the_order_of_their_notes() {
        let claims = Claims::of(&asked(&[(2, 2), (1, 7), (2, 1), (1, 3), (2, 2), (4, 1)]));
        let order: Vec<_> = claims.iter().map(|(_, claim)| claim.attempt).collect();
        assert_eq!(order, [(1, 3), (1, 7), (2, 1), (2, 2), (4, 1)].map(|(client, number)| attempt(client, number)));
    }

    #[test]
    fn a_claim_is_found_though_numbers_are_missing() {
        let asks = [(1, 1), (1, 2), (2, 5), (2, 6), (2, 9), (2, u32::MAX), (3, 1), (3, 4)];
        let claims = Claims::of(&asked(&asks));
        for (place, (client, number)) in asks.into_iter().enumerate() {
            assert_eq!(claims.of_attempt(attempt(client, number)).map(ClaimId::index), Some(place));
        }
        for (client, number) in [(1, 3), (2, 1), (2, 4), (2, 7), (2, 10), (3, 2), (3, 5), (4, 1), (500, 1)] {
            assert_eq!(claims.of_attempt(attempt(client, number)), None);
        }
    }
}
