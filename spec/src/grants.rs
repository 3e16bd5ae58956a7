//! The index of a history: who asked for which lock, who was granted it, and in which order.
//!
//! A claim becomes a *grant* when two things have happened: a quorum of the servers that its client counted had
//! made it the owner, and the client noted that it was granted. The *grant point* is the instant of the first: the
//! quorum-th counted server executes the request. Where one server decides, or a cluster, it may do so more than once
//! before the note: the last time counts. Grants are ordered by their grant points; the index in that order is the
//! grant's *rank*, and a claim without a grant point ranks below every grant. Where owners are sessions, a client that enters again
//! a lock that it owns has no grant point of its own, and ranks with the grant that it owns it by; if that is of a try that it took to have
//! failed, its grant point is where that try became the owner.
//!
//! Only what servers did before the client's note makes a grant: a client cannot have counted what
//! had not happened. An attempt is granted once; a second `Granted` of the same attempt is ignored.
//!
//! Tokens play no part: they are under test.

use std::ops::Index;

use host::{AttemptId, NodeId, SimTime};

use crate::claims::Claims;
pub(crate) use crate::claims::{Claim, ClaimId, Granted, LockId, Rank};
use crate::history::{Activity, History, Mode, Note};
use crate::mentions::Mentions;

/// The index. It is kept from run to run, since it takes longer to get room for it than to fill it.
#[derive(Default, Debug)]
pub(crate) struct Grants {
    claims: Claims,
    pub(crate) mentions: Mentions,
    /// Those with a grant point, in the order of grants.
    order: Vec<ClaimId>,
}

impl Grants {
    /// Indexes a history.
    #[cfg(test)]
    pub(crate) fn of(history: &History, quorum: usize) -> Self {
        let mut grants = Self::default();
        grants.fill(history, quorum, false);
        grants
    }

    /// Takes in a history instead of the last one. Owners may be sessions.
    pub(crate) fn fill(&mut self, history: &History, quorum: usize, in_sessions: bool) {
        let Self { claims, mentions, order } = self;
        mentions.fill(history, claims);
        order.clear();
        self.find_deaths(history);
        self.rank(history, quorum);
        if in_sessions {
            self.enter_again();
        }
    }

    /// All claims, in the order in which they were first noted.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (ClaimId, &Claim)> {
        self.claims.iter()
    }

    /// What clients took to be grants, in the order in which they noted it.
    pub(crate) fn taken(&self) -> impl ExactSizeIterator<Item = (ClaimId, &Claim)> {
        self.claims.taken()
    }

    /// How many claims there are.
    pub(crate) const fn len(&self) -> usize {
        self.claims.len()
    }

    /// How many locks there are.
    pub(crate) const fn locks(&self) -> usize {
        self.claims.locks()
    }

    /// How many grants there are.
    pub(crate) const fn given(&self) -> usize {
        self.order.len()
    }

    /// Whether some client counted the grant of a server.
    pub(crate) fn any_counted(&self) -> bool {
        self.taken().any(|(_, claim)| claim.granted.is_some_and(|granted| !granted.counted.is_empty()))
    }

    /// The claim of that attempt, if it made one.
    pub(crate) fn of_attempt(&self, attempt: AttemptId) -> Option<ClaimId> {
        self.claims.of_attempt(attempt)
    }

    /// A companion for one walk over the history.
    pub(crate) fn newest(&self) -> Newest<'_> {
        Newest { grants: self, passed: 0, by_lock: vec![Rank::UNGRANTED; self.locks()] }
    }

    /// Whether the grant of that rank, and this claim, share their lock.
    pub(crate) fn is_shared_with(&self, rank: Rank, claim: ClaimId) -> bool {
        let other = rank.0.checked_sub(1).and_then(|place| self.order.get(place));
        other.is_some_and(|other| [*other, claim].iter().all(|claim| self[*claim].mode == Mode::Shared))
    }

    fn find_deaths(&mut self, history: &History) {
        let deaths = Deaths::of(history);
        if deaths.all.is_empty() {
            return;
        }
        for claim in self.claims.iter_mut() {
            let client = claim.attempt.client();
            if let Some(granted) = &mut claim.granted {
                granted.died = deaths.next(client, granted.at);
            }
        }
    }

    /// Finds the grant points. A history is in the order of true time, and equal times keep the order in which
    /// they happened: the order of the notes is the order of grants.
    fn rank(&mut self, history: &History, quorum: usize) {
        for owning in &self.mentions.owning {
            let (i, Some(id)) = (owning.entry, owning.claim) else { continue };
            let Note::Owner { authority, .. } = history.entries[i].note else { continue };
            let claim = &mut self.claims[id];
            let Some(granted) = &mut claim.granted else { continue };
            if i >= granted.entry || !granted.counted.contains(authority) {
                continue;
            }
            granted.made_owner.count(authority);
            // Where one decides, whom it makes the owner a second time had lost the lock: the last time counts.
            if granted.made_owner.len() >= quorum && (granted.point.is_none() || quorum == 1) {
                let is_again = granted.point.replace(i).is_some();
                if is_again && let Some(place) = self.order.iter().rposition(|other| *other == id) {
                    self.order.remove(place);
                }
                self.order.push(id);
            }
        }
        self.number();
    }
}

impl Grants {
    /// Those that enter again what their client owns: with whose grant they rank, or, if that is of a try of which the client has heard
    /// nothing, at which note it became theirs.
    fn enter_again(&mut self) {
        let mut owners: Vec<Option<(ClaimId, usize)>> = vec![None; self.mentions.keys.len()];
        let mut owning = self.mentions.owning.iter().peekable();
        let (mut with, mut late) = (Vec::new(), Vec::new());
        for (id, claim) in self.claims.taken() {
            let Some(granted) = &claim.granted else { continue };
            while let Some(said) = owning.next_if(|said| said.entry < granted.entry) {
                owners[said.key.index()] = said.claim.map(|claim| (claim, said.entry));
            }
            let is_own = |(owner, _): &&(ClaimId, usize)| {
                let owner = &self.claims[*owner];
                owner.attempt.client() == claim.attempt.client() && owner.lock == claim.lock
            };
            match owners.iter().flatten().find(is_own) {
                Some((owner, _)) if granted.point.is_none() && self.order.contains(owner) => with.push((id, *owner)),
                Some((_, entry)) if granted.point.is_none() => late.push((id, *entry)),
                _ => {}
            }
        }
        for (id, entry) in late {
            if let Some(granted) = &mut self.claims[id].granted {
                granted.point = Some(entry);
            }
            self.order.push(id);
        }
        let point = |id: &ClaimId| self.claims[*id].granted.and_then(|granted| granted.point);
        self.order.sort_by_key(point);
        self.number();
        for (id, owner) in with {
            self.claims[id].rank = self.claims[owner].rank;
        }
    }

    fn number(&mut self) {
        for (place, id) in self.order.iter().enumerate() {
            self.claims[*id].rank = Rank(place + 1);
        }
    }
}

impl Index<ClaimId> for Grants {
    type Output = Claim;

    fn index(&self, id: ClaimId) -> &Claim {
        &self.claims[id]
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
    grants: &'g Grants,
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
            self.by_lock[claim.lock.index()] = claim.rank;
            self.passed += 1;
        }
        self.by_lock[lock.index()]
    }
}

#[cfg(test)]
mod tests;
