//! Who owned which lock when, as its servers have it.
//!
//! A *tenure* is a stretch of time during which a quorum of the servers had one claim as the owner. It ends
//! when they are no quorum any more: a key has expired, was deleted, evicted or given to somebody else, or a
//! server has forgotten it. What a server owned when it died it owns no more when it is back, unless it then
//! names the owner again; until then it gives the key to nobody else, unless another server takes its place. If owners are
//! sessions, they are over as it dies.

use host::{NodeId, SimTime};

use crate::grants::ClaimId;
use crate::history::{Activity, Authorities, Cause, LockName, Note};
use crate::judge::Case;
use crate::mentions::Owning;

/// What took a key from its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Blow {
    /// What the server says.
    Said(Cause),
    /// The server died, and is back without it, or another has taken its place.
    Oblivion,
    /// The server died, and with it the session that owned it.
    Death,
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
    /// By claim, at the end of the run.
    standings: Vec<Standing>,
}

impl Owners {
    pub(crate) fn of(case: &Case<'_>) -> Self {
        let mut walk = Walk::new(case);
        let mut returns = returns(case).into_iter().peekable();
        let forgotten = if case.rules.is_in_sessions { Blow::Death } else { Blow::Oblivion };
        for said in &case.grants.mentions.owning {
            let entry = &case.history.entries[said.entry];
            let Note::Owner { authority, cause, .. } = entry.note else { continue };
            // What is said in the instant of a return comes after it, unless the server died just then.
            let is_after = |back: &Return| {
                let is_new = back.died < back.at || cause == Cause::Restart;
                // What one that takes its place says of owners it says just before.
                back.at < entry.at || back.at == entry.at && is_new && cause != Cause::Promotion
            };
            while let Some(back) = returns.next_if(is_after) {
                walk.forgets(back, forgotten);
            }
            walk.names(authority, said, cause, entry.at);
        }
        for back in returns {
            walk.forgets(back, forgotten);
        }
        Self { takings: walk.takings, tenures: walk.tenures, standings: walk.standings }
    }

    /// The servers that own something for the claim at the end of the run.
    pub(crate) fn at_the_end(&self, claim: ClaimId) -> Authorities {
        self.standings[claim.index()].owns
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

/// A lock server that had died starts again, or another takes its place: what it owned before counts no more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Return {
    at: SimTime,
    died: SimTime,
    server: NodeId,
}

/// Every return of a lock server, and what is as good as one, in order.
fn returns(case: &Case<'_>) -> Vec<Return> {
    let mut returns = Vec::new();
    for &server in case.rules.mortal() {
        let mut died = None;
        for &(at, doing) in &case.history.nodes[server.index()].activity {
            match (doing, died) {
                (Activity::Dead, None) if case.rules.is_in_sessions => returns.push(Return { at, died: at, server }),
                (Activity::Dead, None) => died = Some(at),
                (Activity::Dead, Some(_)) | (_, None) => {}
                (_, Some(since)) => {
                    returns.push(Return { at, died: since, server });
                    died = None;
                }
            }
        }
    }
    if case.rules.is_logged {
        // A log does not die with a member, but can be put back to what it was.
        let lost = case.grants.mentions.losing.iter().map(|entry| &case.history.entries[*entry]);
        let restored =
            lost.map(|entry| Return { at: entry.at, died: SimTime::ZERO, server: case.rules.authorities[0] });
        returns.extend(restored);
    }
    let replaced = case.grants.mentions.dead_and_replaced(case.history);
    returns.extend(replaced.map(|(_, at, server)| Return { at, died: SimTime::ZERO, server }));
    returns.sort_unstable();
    returns
}

/// Whose a claim is, so far.
#[derive(Clone, Copy, Default, Debug)]
struct Standing {
    owns: Authorities,
    /// Index of its last tenure.
    tenure: Option<usize>,
}

struct Walk<'c> {
    quorum: usize,
    /// The keys, and by key: who owns it.
    keys: &'c [(NodeId, LockName)],
    owner_of: Vec<Option<ClaimId>>,
    takings: Vec<Taking>,
    tenures: Vec<Tenure>,
    /// By claim.
    standings: Vec<Standing>,
}

impl<'c> Walk<'c> {
    fn new(case: &'c Case<'_>) -> Self {
        let keys = case.grants.mentions.keys.as_slice();
        Self {
            quorum: case.rules.quorum,
            keys,
            owner_of: vec![None; keys.len()],
            takings: Vec::with_capacity(case.grants.given()),
            tenures: Vec::with_capacity(case.grants.given()),
            standings: vec![Standing::default(); case.grants.len()],
        }
    }

    /// A server names the owner of a key.
    fn names(&mut self, server: NodeId, said: &Owning, cause: Cause, at: SimTime) {
        let (new, entry) = (said.claim, said.entry);
        let old = std::mem::replace(&mut self.owner_of[said.key.index()], new);
        if old == new {
            return;
        }
        if let Some(old) = old {
            self.takes(server, Taking { at, entry: Some(entry), from: old, to: new, blow: Blow::Said(cause) });
        }
        if let Some(new) = new {
            self.gives(server, new, cause, (at, entry));
        }
    }

    /// What a server owned counts no more.
    fn forgets(&mut self, Return { at, server, .. }: Return, blow: Blow) {
        let is_its_own = |key: &usize| self.keys[*key].0 == server;
        let mut forgotten: Vec<_> = (0..self.keys.len()).filter(is_its_own).collect();
        forgotten.sort_unstable_by_key(|key| self.keys[*key].1);
        for key in forgotten {
            if let Some(from) = self.owner_of[key].take() {
                self.takes(server, Taking { at, entry: None, from, to: None, blow });
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
            let tenure = &mut self.tenures[tenure];
            (tenure.to, tenure.ended_by) = (taking.at, Some(self.takings.len()));
        }
        self.takings.push(taking);
    }

    fn gives(&mut self, server: NodeId, claim: ClaimId, cause: Cause, (from, entry): (SimTime, usize)) {
        let standing = &mut self.standings[claim.index()];
        let had_quorum = standing.owns.len() >= self.quorum;
        standing.owns.count(server);
        if had_quorum || standing.owns.len() < self.quorum {
            return;
        }
        let last = standing.tenure.map(|last| &mut self.tenures[last]);
        let forgotten =
            last.filter(|last| last.ended_by.is_some_and(|taking| self.takings[taking].blow == Blow::Oblivion));
        match forgotten {
            Some(last) if cause == Cause::Restart => (last.to, last.ended_by) = (SimTime::NEVER, None),
            _ => {
                standing.tenure = Some(self.tenures.len());
                self.tenures.push(Tenure { claim, from, entry, to: SimTime::NEVER, ended_by: None });
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
    fn the_sessions_of_a_server_are_over_when_it_dies() {
        let mut story = Story::new();
        story.rules.is_in_sessions = true;
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(20).server(1).dies();
        assert_eq!(tenures(&story), [(0, 10, 20)]);
        story.at(30).server(1).restarts();
        story.at(40).client(1).owned_by(1);
        assert_eq!(tenures(&story), [(0, 10, 20), (0, 40, 0)]);
        let case = Case::new(&story.history, &story.rules);
        assert_eq!(case.owners().takings[0].blow, Blow::Death);
    }

    #[test]
    fn a_dead_server_whose_place_is_taken_owns_nothing_and_a_living_one_until_it_is_told() {
        for knows in [false, true] {
            let mut story = Story::with_servers(2, 1);
            story.at(10).client(1).asks("orders").owned_by(1);
            story.at(20).server(1).dies();
            if knows {
                story.at(50).client(1).taken_over_by(2);
            }
            story.at(50).server(2).promoted_instead_of(1);
            assert_eq!(tenures(&story), [(0, 10, if knows { 0 } else { 50 })]);
        }
        let mut story = Story::with_servers(2, 1);
        story.at(10).client(1).asks("orders").owned_by(1);
        story.at(50).server(2).promoted_instead_of(1);
        assert_eq!(tenures(&story), [(0, 10, 0)]);
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
