//! Who owned which lock when, as its servers have it.
//!
//! A *tenure* is a stretch of time during which a quorum of the servers had one claim as the owner. It ends
//! when they are no quorum any more: a key has expired, was deleted, evicted or given to somebody else, or a
//! server has forgotten it. What a server owned when it died it owns no more when it is back, unless it then
//! names the owner again; until then it gives the key to nobody else.

use std::collections::BTreeMap;

use host::{NodeId, SimTime};

use crate::grants::ClaimId;
use crate::history::{Activity, Authorities, Cause, LockName, Note};
use crate::judge::Case;

/// What took a key from its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blow {
    /// What the server says.
    Said(Cause),
    /// The server died, and is back without it.
    Oblivion,
}

/// A key that one server took from its owner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Taking {
    pub(crate) at: SimTime,
    /// Index of the note; `None` if it was forgotten, which nobody notes.
    pub(crate) entry: Option<usize>,
    pub(crate) from: ClaimId,
    /// Who owns the key instead.
    pub(crate) to: Option<ClaimId>,
    pub(crate) blow: Blow,
}

/// A stretch during which a quorum of servers had the claim as the owner, its end excluded.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tenure {
    pub(crate) claim: ClaimId,
    pub(crate) from: SimTime,
    /// Index of the note that began it.
    pub(crate) entry: usize,
    /// `NEVER` if it outlasts the run.
    pub(crate) to: SimTime,
    /// Index of the taking that ended it.
    pub(crate) ended_by: Option<usize>,
}

/// All that servers said of owners.
#[derive(Debug)]
pub(crate) struct Owners {
    /// In order.
    pub(crate) takings: Vec<Taking>,
    /// In the order in which they began.
    pub(crate) tenures: Vec<Tenure>,
    /// By claim: the servers that own something for it at the end of the run.
    pub(crate) at_the_end: Vec<Authorities>,
}

impl Owners {
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let mut walk = Walk::new(case);
        let mut returns = returns(case).into_iter().peekable();
        for (i, entry) in case.history.entries.iter().enumerate() {
            let Note::Owner { authority, key, attempt, cause } = entry.note else { continue };
            // What is said in the instant of a return comes after it, unless the server died just then.
            let is_after = |back: &Return| {
                let is_new = back.died < back.at || cause == Cause::Restart;
                back.at < entry.at || back.at == entry.at && is_new
            };
            while let Some(back) = returns.next_if(is_after) {
                walk.forgets(back);
            }
            let new = attempt.and_then(|_| case.grants.subject(i));
            walk.names((authority, key), new, cause, (entry.at, i));
        }
        for back in returns {
            walk.forgets(back);
        }
        walk.owners.at_the_end = walk.standings.iter().map(|standing| standing.owns).collect();
        walk.owners
    }

    /// The tenures of each claim, together and in order.
    pub(crate) fn by_claim(&self) -> Vec<Tenure> {
        let mut tenures = self.tenures.clone();
        tenures.sort_by_key(|tenure| tenure.claim);
        tenures
    }

    /// The note that ended the tenure, if one did.
    pub(crate) fn end_of(&self, tenure: &Tenure) -> Option<usize> {
        self.takings[tenure.ended_by?].entry
    }
}

/// A lock server that had died starts again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Return {
    at: SimTime,
    died: SimTime,
    server: NodeId,
}

/// Every return of a lock server, in order.
fn returns(case: &Case<'_>) -> Vec<Return> {
    let mut returns = Vec::new();
    for &server in &case.rules.authorities {
        let mut died = None;
        for &(at, doing) in &case.history.nodes[server.index()].activity {
            match (doing, died) {
                (Activity::Dead, None) => died = Some(at),
                (Activity::Dead, Some(_)) | (_, None) => {}
                (_, Some(since)) => {
                    returns.push(Return { at, died: since, server });
                    died = None;
                }
            }
        }
    }
    returns.sort_unstable();
    returns
}

/// Whose a claim is, so far.
#[derive(Clone, Copy, Default)]
struct Standing {
    owns: Authorities,
    /// Index of its last tenure.
    tenure: Option<usize>,
}

struct Walk {
    quorum: usize,
    keys: BTreeMap<(NodeId, LockName), ClaimId>,
    /// By claim.
    standings: Vec<Standing>,
    owners: Owners,
}

impl Walk {
    fn new(case: &Case<'_>) -> Self {
        Self {
            quorum: case.rules.quorum,
            keys: BTreeMap::new(),
            standings: vec![Standing::default(); case.grants.len()],
            owners: Owners {
                takings: Vec::new(),
                tenures: Vec::with_capacity(case.grants.given()),
                at_the_end: Vec::new(),
            },
        }
    }

    /// A server names the owner of a key.
    fn names(&mut self, key: (NodeId, LockName), new: Option<ClaimId>, cause: Cause, (at, entry): (SimTime, usize)) {
        let old = match new {
            Some(new) => self.keys.insert(key, new),
            None => self.keys.remove(&key),
        };
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.takes(key.0, Taking { at, entry: Some(entry), from: old, to: new, blow: Blow::Said(cause) });
        }
        if let Some(new) = new {
            self.gives(key.0, new, cause, (at, entry));
        }
    }

    fn forgets(&mut self, Return { at, server, .. }: Return) {
        let is_its_own = |(of, _): &&(NodeId, LockName)| *of == server;
        let forgotten: Vec<_> = self.keys.keys().filter(is_its_own).copied().collect();
        for key in forgotten {
            if let Some(from) = self.keys.remove(&key) {
                self.takes(server, Taking { at, entry: None, from, to: None, blow: Blow::Oblivion });
            }
        }
    }

    fn takes(&mut self, server: NodeId, taking: Taking) {
        let standing = &mut self.standings[taking.from.index()];
        let had_quorum = standing.owns.len() >= self.quorum;
        standing.owns.forget(server);
        if had_quorum
            && standing.owns.len() < self.quorum
            && let Some(tenure) = standing.tenure
        {
            let tenure = &mut self.owners.tenures[tenure];
            (tenure.to, tenure.ended_by) = (taking.at, Some(self.owners.takings.len()));
        }
        self.owners.takings.push(taking);
    }

    fn gives(&mut self, server: NodeId, claim: ClaimId, cause: Cause, (from, entry): (SimTime, usize)) {
        let standing = &mut self.standings[claim.index()];
        let had_quorum = standing.owns.len() >= self.quorum;
        standing.owns.count(server);
        if had_quorum || standing.owns.len() < self.quorum {
            return;
        }
        let last = standing.tenure.map(|last| &mut self.owners.tenures[last]);
        let forgotten =
            last.filter(|last| last.ended_by.is_some_and(|taking| self.owners.takings[taking].blow == Blow::Oblivion));
        match forgotten {
            Some(last) if cause == Cause::Restart => (last.to, last.ended_by) = (SimTime::NEVER, None),
            _ => {
                standing.tenure = Some(self.owners.tenures.len());
                self.owners.tenures.push(Tenure { claim, from, entry, to: SimTime::NEVER, ended_by: None });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    /// Claim, beginning and end (0: none) of each tenure, in ms.
    fn tenures(story: &Story) -> Vec<(usize, u64, u64)> {
        let case = Case::new(&story.history, &story.rules);
        let millis = |at: SimTime| if at == SimTime::NEVER { 0 } else { at.as_nanos() / 1_000_000 };
        let of = |tenure: &Tenure| (tenure.claim.index(), millis(tenure.from), millis(tenure.to));
        case.owners().tenures.iter().map(of).collect()
    }

    #[test]
    fn a_tenure_lasts_until_the_server_says_otherwise() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(50).server(1).frees();
        story.at(60).client(2).asks("orders").owned_by(1);
        story.at(70).client(2).owned_by(1);
        story.at(80).client(3).asks("orders").owned_by(1);
        assert_eq!(tenures(&story), [(0, 10, 50), (1, 60, 80), (2, 80, 0)]);
    }

    #[test]
    fn of_several_servers_a_quorum_decides() {
        let mut story = Story::with_servers(3, 2);
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(20).client(1).owned_by(2);
        story.at(30).client(1).owned_by(3);
        story.at(40).server(1).frees();
        assert_eq!(tenures(&story), [(0, 20, 0)]);
        story.at(50).server(3).frees();
        story.at(60).client(1).owned_by(1);
        assert_eq!(tenures(&story), [(0, 20, 50), (0, 60, 0)]);
    }

    #[test]
    fn a_server_that_is_back_owns_nothing_unless_it_remembers() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(20).server(1).dies();
        assert_eq!(tenures(&story), [(0, 10, 0)], "it gives it to nobody");
        story.at(30).server(1).restarts();
        assert_eq!(tenures(&story), [(0, 10, 30)]);
        story.at(30).client(1).remembered_by(1);
        assert_eq!(tenures(&story), [(0, 10, 0)]);
        story.at(40).server(1).dies();
        story.at(50).server(1).restarts();
        story.at(50).client(1).owned_by(1);
        assert_eq!(tenures(&story), [(0, 10, 50), (0, 50, 0)], "asked anew, it begins anew");
    }

    #[test]
    fn what_a_server_says_in_the_instant_of_its_death_it_has_forgotten_when_it_is_back() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(10).server(1).dies();
        story.at(10).server(1).restarts();
        assert_eq!(tenures(&story), [(0, 10, 10)]);
        story.at(10).client(1).remembered_by(1);
        assert_eq!(tenures(&story), [(0, 10, 0)]);
    }
}
