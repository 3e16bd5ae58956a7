//! Who asked for a lock or took one to be its own, and which attempt is whose.
//!
//! A *claim* is an attempt that did one or the other. A client numbers its attempts from 1, so that a claim is
//! found in a table by client and number. A number that is far ahead of all before it is no place in a table, and is
//! searched for.

use std::collections::BTreeMap;
use std::num::NonZeroU32;
use std::ops::{Index, IndexMut};

use host::{AttemptId, MonoTime, SimTime};

use crate::history::{Authorities, LockName, Mode, Token};

/// A claim's place in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimId(NonZeroU32);

impl ClaimId {
    /// Counted from 1, so that no claim is a number too, and takes no room.
    fn new(place: usize) -> Self {
        let number = u32::try_from(place + 1).ok().and_then(NonZeroU32::new);
        Self(number.expect("a history that fits into memory has fewer claims"))
    }

    /// For tables with one row per claim.
    pub(crate) const fn index(self) -> usize {
        self.0.get() as usize - 1
    }
}

/// A lock's place in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct LockId(u32);

impl LockId {
    /// Until the locks are numbered: that of a claim which has not said what it wants.
    const UNNAMED: Self = Self(u32::MAX);

    fn new(place: usize) -> Self {
        Self(u32::try_from(place).expect("there are no more locks than claims"))
    }

    /// For tables with one row per lock.
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
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
    /// In which mode it was asked for.
    pub(crate) mode: Mode,
    /// What its client took to be a grant.
    pub(crate) granted: Option<Granted>,
    /// Its place in the order of grants.
    pub(crate) rank: Rank,
}

impl Granted {
    /// As the client notes it; whether and when it died, and what servers had granted, stays open.
    pub(super) const fn noted(place: usize, entry: usize, at: SimTime, counted: Authorities) -> Self {
        let (token, until, died) = (None, None, SimTime::NEVER);
        Self { place, entry, at, token, until, died, counted, made_owner: Authorities::NONE, point: None }
    }
}

impl Claim {
    /// Whether it was granted, and not just taken to be.
    pub(crate) fn is_grant(&self) -> bool {
        self.rank != Rank::UNGRANTED
    }
}

/// Who has a lock to itself, or among its like: whoever differs from it must not have it at the same time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Party<P> {
    /// This one alone.
    One(P),
    /// All those that share it.
    Sharers,
}

impl Claim {
    /// Its party, if it is known as `one` where it is alone.
    pub(crate) fn party<P>(&self, one: P) -> Party<P> {
        match self.mode {
            Mode::Exclusive => Party::One(one),
            Mode::Shared => Party::Sharers,
        }
    }
}

/// The moment at which a client took the lock to be its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Granted {
    /// Its place among all of them, in the order in which clients noted them: for tables with one row each.
    pub(crate) place: usize,
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
#[derive(Default, Debug)]
pub(crate) struct Claims {
    /// In the order in which they were first noted.
    all: Vec<Claim>,
    /// Those that were taken to be granted, in the order in which that was noted.
    taken: Vec<ClaimId>,
    /// By client and number, those that have a place there.
    rows: Vec<Vec<Option<ClaimId>>>,
    /// Those whose number is too far ahead.
    strays: BTreeMap<AttemptId, ClaimId>,
    locks: Vec<LockName>,
}

/// How far a number may be ahead of all before it and have a place in the table.
const GAP: usize = 64;

impl Claims {
    /// Forgets them all, for a history of so many nodes.
    pub(crate) fn clear(&mut self, nodes: usize) {
        let Self { all, taken, rows, strays, locks } = self;
        all.clear();
        taken.clear();
        rows.iter_mut().for_each(Vec::clear);
        rows.resize_with(nodes, Vec::new);
        strays.clear();
        locks.clear();
    }

    /// An attempt asks for a lock; that it asks for first is its lock.
    ///
    /// # Panics
    /// If it is of a node that the history does not list.
    pub(crate) fn asks(&mut self, attempt: AttemptId, lock: LockName, mode: Mode) -> ClaimId {
        let id = self.of_attempt(attempt).unwrap_or_else(|| self.add(attempt));
        if self[id].lock == LockId::UNNAMED {
            (self[id].lock, self[id].mode) = (self.lock(lock), mode);
        }
        id
    }

    /// An attempt is taken to be granted, for the first time or once more.
    ///
    /// # Panics
    /// If it is of a node that the history does not list.
    pub(crate) fn takes(&mut self, attempt: AttemptId, granted: impl FnOnce(usize) -> Granted) -> ClaimId {
        let id = self.of_attempt(attempt).unwrap_or_else(|| self.add(attempt));
        let claim = &mut self.all[id.index()];
        if claim.granted.is_none() {
            claim.granted = Some(granted(self.taken.len()));
            self.taken.push(id);
        }
        id
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.all.len()
    }

    /// How many locks there are.
    pub(crate) const fn locks(&self) -> usize {
        self.locks.len()
    }

    /// All of them, in the order in which they were first noted.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.all.iter().enumerate().map(|(place, claim)| (ClaimId::new(place), claim))
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Claim> {
        self.all.iter_mut()
    }

    /// Those that were taken to be granted, in the order in which that was noted.
    pub(crate) fn taken(&self) -> impl ExactSizeIterator<Item = (ClaimId, &Claim)> {
        self.taken.iter().map(|id| (*id, &self[*id]))
    }

    /// The claim of that attempt, if it made one.
    pub(crate) fn of_attempt(&self, attempt: AttemptId) -> Option<ClaimId> {
        let row = self.rows.get(attempt.client().index())?;
        match row.get(attempt.ordinal() as usize) {
            Some(Some(id)) => Some(*id),
            _ if self.strays.is_empty() => None,
            _ => self.strays.get(&attempt).copied(),
        }
    }

    fn add(&mut self, attempt: AttemptId) -> ClaimId {
        let id = ClaimId::new(self.all.len());
        let (lock, mode, granted, rank) = (LockId::UNNAMED, Mode::Exclusive, None, Rank::UNGRANTED);
        self.all.push(Claim { attempt, lock, mode, granted, rank });
        let row = &mut self.rows[attempt.client().index()];
        let number = attempt.ordinal() as usize;
        if number >= row.len() + GAP {
            self.strays.insert(attempt, id);
            return id;
        }
        if number >= row.len() {
            row.resize(number + 1, None);
        }
        row[number] = Some(id);
        id
    }

    /// The lock of that name, as long as they are numbered in the order in which they come.
    fn lock(&mut self, name: LockName) -> LockId {
        // Most runs have one lock, and few have many.
        let known = self.locks.iter().position(|known| *known == name);
        LockId::new(known.unwrap_or_else(|| {
            self.locks.push(name);
            self.locks.len() - 1
        }))
    }

    /// Numbers the locks in the order of their names, the one without a name first.
    pub(crate) fn number_locks(&mut self) {
        let unnamed = self.all.iter().any(|claim| claim.lock == LockId::UNNAMED);
        if self.locks.len() < 2 && !unnamed {
            return;
        }
        let (mut names, came) = (self.locks.clone(), std::mem::take(&mut self.locks));
        names.sort_unstable();
        for claim in &mut self.all {
            let place = came.get(claim.lock.index()).map(|name| names.partition_point(|other| other < name));
            claim.lock = LockId::new(place.map_or(0, |place| place + usize::from(unnamed)));
        }
        self.locks = names;
        if unnamed {
            self.locks.insert(0, LockName::fixed(""));
        }
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

#[cfg(test)]
mod tests {
    use host::NodeId;

    use super::*;
    use crate::testing::ms;

    fn attempt(client: u16, number: u32) -> AttemptId {
        AttemptId::new(NodeId::new(client), NonZeroU32::new(number).expect("attempts are numbered from 1"))
    }

    /// What clients ask for, by their node and the number of the attempt.
    fn asked(claims: &mut Claims, attempts: &[(u16, u32)]) {
        claims.clear(10);
        for (client, number) in attempts {
            claims.asks(attempt(*client, *number), "orders".into(), Mode::Exclusive);
        }
        claims.number_locks();
    }

    fn claims(attempts: &[(u16, u32)]) -> Claims {
        let mut claims = Claims::default();
        asked(&mut claims, attempts);
        claims
    }

    #[test]
    fn an_attempt_makes_one_claim_however_often_it_asks() {
        let asks = [(2, 2), (1, 7), (2, 1), (2, 2), (1, 900), (1, 900)];
        let attempts = claims(&asks).iter().map(|(_, claim)| claim.attempt).collect::<Vec<_>>();
        assert_eq!(attempts, [(2, 2), (1, 7), (2, 1), (1, 900)].map(|(client, number)| attempt(client, number)));
    }

    #[test]
    fn nothing_is_left_of_the_last_history() {
        let mut claims = claims(&[(1, 1), (2, 1), (2, 900)]);
        asked(&mut claims, &[(1, 2)]);
        let found =
            [(1, 1), (1, 2), (2, 1), (2, 900)].map(|(client, number)| claims.of_attempt(attempt(client, number)));
        assert_eq!(found, [None, Some(ClaimId::new(0)), None, None]);
        assert_eq!((claims.len(), claims.locks()), (1, 1));
    }

    #[test]
    fn locks_are_numbered_by_name_and_the_one_without_comes_first() {
        let locks = |names: [&'static str; 3]| {
            let mut claims = Claims::default();
            claims.clear(10);
            for (client, name) in (1..).zip(names) {
                if name.is_empty() {
                    claims.takes(attempt(client, 1), |place| Granted::noted(place, 0, ms(0), Authorities::NONE));
                } else {
                    claims.asks(attempt(client, 1), name.into(), Mode::Exclusive);
                }
            }
            claims.number_locks();
            (claims.iter().map(|(_, claim)| claim.lock.index()).collect::<Vec<_>>(), claims.locks())
        };
        assert_eq!(locks(["parcels", "orders", "parcels"]), (vec![1, 0, 1], 2));
        assert_eq!(locks(["parcels", "orders", ""]), (vec![2, 1, 0], 3));
        assert_eq!(locks(["orders", "orders", "orders"]), (vec![0, 0, 0], 1));
        assert_eq!(locks(["", "", ""]), (vec![0, 0, 0], 1));
    }

    #[test]
    fn a_claim_is_found_though_numbers_are_missing() {
        let asks = [(1, 1), (1, 2), (2, 5), (2, 6), (2, 9), (2, u32::MAX), (3, 1), (3, 4)];
        let claims = claims(&asks);
        for (place, (client, number)) in asks.into_iter().enumerate() {
            assert_eq!(claims.of_attempt(attempt(client, number)).map(ClaimId::index), Some(place));
        }
        for (client, number) in [(1, 3), (2, 1), (2, 4), (2, 7), (2, 10), (3, 2), (3, 5), (4, 1), (500, 1)] {
            assert_eq!(claims.of_attempt(attempt(client, number)), None);
        }
    }
}
