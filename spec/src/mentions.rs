//! Who says what: the notes of a history by what they are about, so that a check walks over those that
//! matter to it and no others.
//!
//! | list | notes |
//! |---|---|
//! | asking | tries, and what becomes of them: `Attempting`, `Granted`, `Denied`, `Failed`, `GaveUp`, `Ended` |
//! | holding | what clients say of a lock that they take to be theirs, from `Granted` to `Ended` |
//! | owning | what lock servers say of owners and their leases |
//! | disagreeing | members of a cluster that make something else of its log than others |
//! | replicating | what lock servers say of whom they copy, and whose place they take |
//! | losing | what disks lost |
//! | acting | what came to the guarded resource and to the place of side effects |
//!
//! `Granted` and `Ended` are in two of them. A note of a client about an attempt that never asked for a lock is in none.

use std::collections::BTreeMap;

use host::{AttemptId, NodeId, SimTime};

use crate::claims::{ClaimId, Claims, Granted};
use crate::history::{Activity, History, LockName, Note};

/// A note, by its place in the history, and the claim that it is about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mention<C = ClaimId> {
    /// Index of the note.
    pub(crate) entry: usize,
    pub(crate) claim: C,
}

/// What a lock server says of the owner of a key.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owning {
    /// Index of the note.
    pub(crate) entry: usize,
    /// The owner. `None`: nobody, or an attempt that never asked for a lock.
    pub(crate) claim: Option<ClaimId>,
    /// Of which key.
    pub(crate) key: KeyId,
}

/// The place of a server's key in [`Mentions::keys`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct KeyId(usize);

impl KeyId {
    /// For tables with one row per key.
    pub(crate) const fn index(self) -> usize {
        self.0
    }
}

/// The notes of a history by what they are about, each list in order.
#[derive(Default, Debug)]
pub(crate) struct Mentions {
    pub(crate) asking: Vec<Mention>,
    pub(crate) holding: Vec<Mention>,
    pub(crate) owning: Vec<Owning>,
    /// Indices of the notes.
    pub(crate) losing: Vec<usize>,
    /// Indices of the notes.
    pub(crate) disagreeing: Vec<usize>,
    pub(crate) acting: Vec<Mention<Option<ClaimId>>>,
    /// What lock servers say of whom they copy and whose place they take: indices of notes.
    pub(crate) replicating: Vec<usize>,
    /// The keys of which lock servers speak, each server's for themselves.
    pub(crate) keys: Vec<(NodeId, LockName)>,
    places: BTreeMap<(NodeId, LockName), KeyId>,
    /// By server: the key of which it spoke last. Mostly it speaks of that again.
    last: Vec<Option<KeyId>>,
}

impl Mentions {
    /// Takes in a history instead of the last one, with the claims that are made in it.
    pub(crate) fn fill(&mut self, history: &History, claims: &mut Claims) {
        claims.clear(history.nodes.len());
        let early = self.take(history, claims);
        // A note may come before the one that makes its attempt a claim: not in a history as a run writes it down,
        // but perhaps in one that was put together. A second look knows all claims.
        if early.into_iter().any(|attempt| claims.of_attempt(attempt).is_some()) {
            self.take(history, claims);
        }
        claims.number_locks();
    }

    /// Takes in all notes; gives back the attempts that were not known yet as they were spoken of.
    fn take(&mut self, history: &History, claims: &mut Claims) -> Vec<AttemptId> {
        self.clear(history.nodes.len());
        let mut unknown = Vec::new();
        let mut find = |claims: &Claims, attempt: AttemptId| {
            let claim = claims.of_attempt(attempt);
            if claim.is_none() {
                unknown.push(attempt);
            }
            claim
        };
        for (entry, noted) in history.entries.iter().enumerate() {
            match noted.note {
                Note::Attempting { attempt, lock, mode, .. } => {
                    let claim = claims.asks(attempt, lock, mode);
                    self.asking.push(Mention { entry, claim });
                }
                Note::Granted { attempt, token, until, counted } => {
                    let granted = |place| Granted { token, until, ..Granted::noted(place, entry, noted.at, counted) };
                    let claim = claims.takes(attempt, granted);
                    self.asking.push(Mention { entry, claim });
                    self.holding.push(Mention { entry, claim });
                }
                Note::Ended { attempt } => {
                    if let Some(claim) = find(claims, attempt) {
                        self.asking.push(Mention { entry, claim });
                        self.holding.push(Mention { entry, claim });
                    }
                }
                Note::Denied { attempt } | Note::Failed { attempt } | Note::GaveUp { attempt } => {
                    if let Some(claim) = find(claims, attempt) {
                        self.asking.push(Mention { entry, claim });
                    }
                }
                Note::Renewed { attempt, .. }
                | Note::RenewalFailed { attempt }
                | Note::ToldOfLoss { attempt }
                | Note::Checked { attempt, .. }
                | Note::Left { attempt, .. }
                | Note::Releasing { attempt } => {
                    if let Some(claim) = find(claims, attempt) {
                        self.holding.push(Mention { entry, claim });
                    }
                }
                Note::Owner { authority, key, attempt, .. } => {
                    let key = self.place_of((authority, key));
                    self.owning.push(Owning { entry, claim: attempt.and_then(|attempt| find(claims, attempt)), key });
                }
                Note::Extended { authority, key, attempt, .. } => {
                    let key = self.place_of((authority, key));
                    self.owning.push(Owning { entry, claim: find(claims, attempt), key });
                }
                Note::Read { attempt, .. }
                | Note::Wrote { attempt, .. }
                | Note::Marked { attempt, .. }
                | Note::Refused { attempt, .. }
                | Note::Effected { attempt, .. } => {
                    self.acting.push(Mention { entry, claim: attempt.and_then(|attempt| find(claims, attempt)) });
                }
                Note::Promoted { .. } | Note::Demoted { .. } | Note::Replicated { .. } => self.replicating.push(entry),
                Note::DiskLost { .. } => self.losing.push(entry),
                Note::Disagreed { .. } => self.disagreeing.push(entry),
                Note::Applied { .. }
                | Note::Acted { .. }
                | Note::Unreplicated { .. }
                | Note::Renewing { .. }
                | Note::Released { .. }
                | Note::ReleaseRefused { .. }
                | Note::Passed { .. } => {}
            }
        }
        unknown
    }

    /// The dead lock servers whose place another has taken: by which note, when, and whose.
    pub(crate) fn dead_and_replaced<'h>(
        &self,
        history: &'h History,
    ) -> impl Iterator<Item = (usize, SimTime, NodeId)> + use<'_, 'h> {
        self.replicating.iter().filter_map(|entry| {
            let noted = &history.entries[*entry];
            let Note::Promoted { instead_of, .. } = noted.note else { return None };
            let is_dead = history.nodes[instead_of.index()].doing(noted.at) == Activity::Dead;
            is_dead.then_some((*entry, noted.at, instead_of))
        })
    }

    fn clear(&mut self, nodes: usize) {
        let Self { asking, holding, owning, losing, disagreeing, acting, replicating, keys, places, last } = self;
        asking.clear();
        holding.clear();
        owning.clear();
        losing.clear();
        disagreeing.clear();
        acting.clear();
        replicating.clear();
        keys.clear();
        places.clear();
        last.clear();
        last.resize(nodes, None);
    }

    fn place_of(&mut self, key: (NodeId, LockName)) -> KeyId {
        let last = &mut self.last[key.0.index()];
        if let Some(last) = last.filter(|last| self.keys[last.0] == key) {
            return last;
        }
        let place = *self.places.entry(key).or_insert_with(|| {
            self.keys.push(key);
            KeyId(self.keys.len() - 1)
        });
        *last = Some(place);
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    fn of(history: &History) -> Mentions {
        let (mut claims, mut mentions) = (Claims::default(), Mentions::default());
        mentions.fill(history, &mut claims);
        mentions
    }

    #[test]
    fn every_server_has_its_own_keys_whatever_it_spoke_of_last() {
        let mut story = Story::with_servers(2, 1);
        story.at(10).client(1).asks("orders").owned_by(1).owned_by(2);
        story.at(20).server(1).removes("parcels", None);
        story.server(2).removes("parcels", None);
        story.at(30).client(1).owned_by(1).owned_by(2);
        let mentions = of(&story.history);
        let keys: Vec<_> = mentions.owning.iter().map(|said| mentions.keys[said.key.index()]).collect();
        let (one, other) = (NodeId::new(0), NodeId::new(1));
        let (orders, parcels) = ("orders".into(), "parcels".into());
        let both = |name| [(one, name), (other, name)];
        assert_eq!(keys, [both(orders), both(parcels), both(orders)].concat());
        assert_eq!(mentions.keys.len(), 4);
    }

    #[test]
    fn what_is_said_of_an_attempt_that_never_asked_is_about_no_claim() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1).granted(100).read(0).ended();
        let first = story.history.entries.remove(0);
        story.history.entries.remove(1);
        let mentions = of(&story.history);
        assert_eq!((mentions.asking.len(), mentions.holding.len()), (0, 0));
        assert_eq!(mentions.owning.iter().map(|said| said.claim).collect::<Vec<_>>(), [None]);
        assert_eq!(mentions.acting.iter().map(|mention| mention.claim).collect::<Vec<_>>(), [None]);
        story.history.entries.insert(0, first);
        let mentions = of(&story.history);
        assert_eq!((mentions.asking.len(), mentions.holding.len()), (2, 1));
        assert!(mentions.owning[0].claim.is_some() && mentions.acting[0].claim.is_some());
    }
    #[test]
    fn what_is_said_before_an_attempt_asks_is_about_its_claim_all_the_same() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").owned_by(1).denied();
        story.history.entries.swap(0, 2);
        let mentions = of(&story.history);
        assert_eq!((mentions.asking.len(), mentions.owning.len()), (2, 1));
        assert!(mentions.owning[0].claim.is_some());
    }
}
