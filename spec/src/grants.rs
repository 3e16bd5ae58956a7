//! The index of a history: who asked for which lock, who was granted it, and in which order.
//!
//! A *claim* is an attempt that asked for a lock or took one to be its own. It becomes a *grant* when
//! two things have happened: a quorum of the servers that its client counted had made it the owner,
//! and the client noted that it was granted. The *grant point* is the instant of the first: the
//! quorum-th counted server executes the request. Grants are ordered by their grant points; the index
//! in that order is the grant's *rank*, and a claim without a grant point ranks below every grant.
//!
//! Only what servers did before the client's note makes a grant: a client cannot have counted what
//! had not happened. An attempt is granted once; a second `Granted` of the same attempt is ignored.
//!
//! Tokens play no part: they are under test.

use std::ops::Index;

use host::{AttemptId, MonoTime, NodeId, SimTime};

use crate::history::{Activity, Authorities, History, LockName, Note, Token};

/// A claim's place in the index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct ClaimId(usize);

impl ClaimId {
    /// For tables with one row per claim.
    pub(crate) const fn index(self) -> usize {
        self.0
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
pub(crate) struct Rank(usize);

impl Rank {
    /// Below every grant.
    pub(crate) const UNGRANTED: Self = Self(0);
}

/// An attempt that asked for a lock, or took one to be its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'h> {
    pub(crate) attempt: AttemptId,
    /// The lock. Claims that never said which lock they want share one without a name.
    pub(crate) lock: LockId,
    /// What its client took to be a grant.
    pub(crate) granted: Option<Granted>,
    /// Its place in the order of grants.
    pub(crate) rank: Rank,
    name: Option<&'h LockName>,
}

impl Claim<'_> {
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
    counted: Authorities,
    /// Index of the note that made it a grant.
    point: Option<usize>,
}

/// The index.
#[derive(Debug)]
pub(crate) struct Grants<'h> {
    /// In the order of attempts.
    claims: Vec<Claim<'h>>,
    /// By entry of the history: the claim that it is about.
    subjects: Vec<Option<ClaimId>>,
    /// Those with a grant point, in the order of grants.
    order: Vec<ClaimId>,
    locks: usize,
}

impl<'h> Grants<'h> {
    /// Indexes a history.
    pub(crate) fn of(history: &'h History, quorum: usize) -> Self {
        let claims = claims(history);
        let subjects = subjects(history, &claims);
        let mut grants = Self { claims, subjects, order: Vec::new(), locks: 0 };
        grants.number_locks();
        grants.find_deaths(history);
        grants.find_points(history, quorum);
        grants.rank();
        grants
    }

    /// All claims, in the order of attempts.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (ClaimId, &Claim<'h>)> {
        self.claims.iter().enumerate().map(|(i, claim)| (ClaimId(i), claim))
    }

    /// How many claims there are.
    pub(crate) const fn len(&self) -> usize {
        self.claims.len()
    }

    /// How many locks there are.
    pub(crate) const fn locks(&self) -> usize {
        self.locks
    }

    /// How many grants there are.
    pub(crate) const fn given(&self) -> usize {
        self.order.len()
    }

    /// Whether some client counted the grant of a server.
    pub(crate) fn any_counted(&self) -> bool {
        self.claims.iter().any(|claim| claim.granted.is_some_and(|granted| !granted.counted.is_empty()))
    }

    /// The claim that the entry with that index is about. `None`: it is about no attempt, or about one
    /// that never asked for a lock.
    pub(crate) fn subject(&self, entry: usize) -> Option<ClaimId> {
        self.subjects[entry]
    }

    /// The claim of that attempt, if it made one.
    pub(crate) fn of_attempt(&self, attempt: AttemptId) -> Option<ClaimId> {
        self.claims.binary_search_by_key(&attempt, |claim| claim.attempt).ok().map(ClaimId)
    }

    /// A companion for one walk over the history.
    pub(crate) fn newest(&self) -> Newest<'_> {
        Newest { grants: self, passed: 0, by_lock: vec![Rank::UNGRANTED; self.locks] }
    }

    fn number_locks(&mut self) {
        // Most runs have one lock, and few have many.
        let mut names = Vec::new();
        for claim in &self.claims {
            if !names.contains(&claim.name) {
                names.push(claim.name);
            }
        }
        names.sort_unstable();
        self.locks = names.len();
        for claim in &mut self.claims {
            claim.lock = LockId(names.partition_point(|name| *name < claim.name));
        }
    }

    fn find_deaths(&mut self, history: &History) {
        let deaths = Deaths::of(history);
        for claim in &mut self.claims {
            let client = claim.attempt.client();
            if let Some(granted) = &mut claim.granted {
                granted.died = deaths.next(client, granted.at);
            }
        }
    }

    fn find_points(&mut self, history: &History, quorum: usize) {
        let mut owned = vec![Authorities::NONE; self.claims.len()];
        for (i, entry) in history.entries.iter().enumerate() {
            let Note::Owner { authority, .. } = entry.note else { continue };
            let Some(claim) = self.subjects[i] else { continue };
            let Some(granted) = &mut self.claims[claim.0].granted else { continue };
            if granted.point.is_none() && i < granted.entry && granted.counted.contains(authority) {
                owned[claim.0].count(authority);
                if owned[claim.0].len() >= quorum {
                    granted.point = Some(i);
                }
            }
        }
    }

    fn rank(&mut self) {
        // A history is in the order of true time, and equal times keep the order in which they
        // happened: the order of the notes is the order of grants.
        let point = |claim: &Claim<'_>| claim.granted.and_then(|granted| granted.point);
        let mut order: Vec<_> = self.claims().filter_map(|(id, claim)| point(claim).map(|entry| (entry, id))).collect();
        order.sort_unstable();
        self.order = order.into_iter().map(|(_, id)| id).collect();
        for (i, id) in self.order.iter().enumerate() {
            self.claims[id.0].rank = Rank(i + 1);
        }
    }
}

impl<'h> Index<ClaimId> for Grants<'h> {
    type Output = Claim<'h>;

    fn index(&self, id: ClaimId) -> &Claim<'h> {
        &self.claims[id.0]
    }
}

/// When processes died.
pub(crate) struct Deaths {
    /// By node and time, so that each is found by bisection.
    all: Vec<(usize, SimTime)>,
}

impl Deaths {
    pub(crate) fn of(history: &History) -> Self {
        let mut all = Vec::new();
        for (node, known) in history.nodes.iter().enumerate() {
            let dead = known.activity.iter().filter(|(_, activity)| *activity == Activity::Dead);
            all.extend(dead.map(|(at, _)| (node, *at)));
        }
        Self { all }
    }

    /// When the node's process first died, not before `from`; `NEVER` if it did not.
    pub(crate) fn next(&self, node: NodeId, from: SimTime) -> SimTime {
        let next = self.all.partition_point(|death| *death < (node.index(), from));
        self.all.get(next).filter(|(of, _)| *of == node.index()).map_or(SimTime::NEVER, |death| death.1)
    }
}

/// The newest grant of each lock, as of a place in the history that only moves forward.
#[derive(Debug)]
pub(crate) struct Newest<'g> {
    grants: &'g Grants<'g>,
    passed: usize,
    by_lock: Vec<Rank>,
}

impl Newest<'_> {
    /// The newest grant of that lock whose grant point lies before that entry. Entries must be asked
    /// for in order.
    pub(crate) fn before(&mut self, entry: usize, lock: LockId) -> Rank {
        while let Some(id) = self.grants.order.get(self.passed) {
            let claim = &self.grants[*id];
            if claim.granted.and_then(|granted| granted.point).is_none_or(|point| point >= entry) {
                break;
            }
            self.by_lock[claim.lock.0] = claim.rank;
            self.passed += 1;
        }
        self.by_lock[lock.0]
    }
}

/// Every claim, in the order of attempts; locks, deaths, grant points and ranks are still open.
fn claims(history: &History) -> Vec<Claim<'_>> {
    // What claims are made of, by attempt and in order, so that the first of each kind counts. Only these words
    // are sorted: claims are large.
    let mut told = Vec::with_capacity(history.entries.len());
    for (i, entry) in history.entries.iter().enumerate() {
        if let Note::Attempting { attempt, .. } | Note::Granted { attempt, .. } = &entry.note {
            told.push((attempt.as_word(), i));
        }
    }
    told.sort_unstable();
    let mut claims: Vec<Claim<'_>> = Vec::with_capacity(told.len());
    for (_, i) in told {
        let entry = &history.entries[i];
        let (attempt, name, granted) = match &entry.note {
            Note::Attempting { attempt, lock, .. } => (*attempt, Some(lock), None),
            Note::Granted { attempt, token, until, counted } => {
                let (token, until, counted, died) = (*token, *until, *counted, SimTime::NEVER);
                let granted = Granted { entry: i, at: entry.at, token, until, died, counted, point: None };
                (*attempt, None, Some(granted))
            }
            _ => continue,
        };
        match claims.last_mut().filter(|claim| claim.attempt == attempt) {
            Some(claim) => {
                claim.name = claim.name.or(name);
                claim.granted = claim.granted.or(granted);
            }
            None => claims.push(Claim { attempt, lock: LockId(0), granted, rank: Rank::UNGRANTED, name }),
        }
    }
    claims
}

/// For each entry, the claim that it is about.
fn subjects(history: &History, claims: &[Claim<'_>]) -> Vec<Option<ClaimId>> {
    // Entries about one attempt come in rows, and those of a client come attempt by attempt: the last one found is
    // tried first, and then the next.
    let mut last = 0;
    let is = |place: usize, attempt| claims.get(place).is_some_and(|claim| claim.attempt == attempt);
    let mut find = |attempt| {
        if !is(last, attempt) {
            last = match last + 1 {
                next if is(next, attempt) => next,
                _ => claims.binary_search_by_key(&attempt, |claim| claim.attempt).ok()?,
            };
        }
        Some(ClaimId(last))
    };
    history.entries.iter().map(|entry| find(entry.note.attempt()?)).collect()
}

#[cfg(test)]
mod tests;
