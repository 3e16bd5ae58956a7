//! Who says what: the notes of a history by what they are about, so that a check walks over those that
//! matter to it and no others.
//!
//! | list | notes |
//! |---|---|
//! | asking | tries, from `Attempting` to what ends them: `Denied`, `Failed`, `GaveUp`, `Ended` |
//! | holding | what clients say of a lock that they take to be theirs, from `Granted` to `Ended` |
//! | owning | what lock servers say of owners and their leases |
//! | replicating | what lock servers say of whom they copy, and whose place they take |
//! | losing | what disks lost |
//! | acting | what came to the guarded resource and to the place of side effects |
//!
//! `Ended` is in two of them. A note of a client about an attempt that never asked for a lock is in none.

use std::collections::BTreeMap;

use host::{AttemptId, NodeId, SimTime};

use crate::claims::{ClaimId, Claims};
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
#[derive(Debug)]
pub(crate) struct Mentions {
    pub(crate) asking: Vec<Mention>,
    pub(crate) holding: Vec<Mention>,
    pub(crate) owning: Vec<Owning>,
    /// Indices of the notes.
    pub(crate) losing: Vec<usize>,
    pub(crate) acting: Vec<Mention<Option<ClaimId>>>,
    /// What lock servers say of whom they copy and whose place they take: indices of notes.
    pub(crate) replicating: Vec<usize>,
    /// The keys of which lock servers speak, each server's for themselves.
    pub(crate) keys: Vec<(NodeId, LockName)>,
}

impl Mentions {
    pub(crate) fn of(history: &History, claims: &Claims) -> Self {
        let (asking, holding, owning, acting) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (losing, replicating, keys) = (Vec::new(), Vec::new(), Vec::new());
        let mut mentions = Self { asking, holding, owning, losing, acting, replicating, keys };
        let mut keys = Keys::default();
        let claim_of = |attempt: AttemptId| claims.of_attempt(attempt);
        for (entry, noted) in history.entries.iter().enumerate() {
            match noted.note {
                Note::Attempting { attempt, .. }
                | Note::Denied { attempt }
                | Note::Failed { attempt }
                | Note::GaveUp { attempt } => {
                    mentions.asking.extend(claim_of(attempt).map(|claim| Mention { entry, claim }));
                }
                Note::Granted { attempt, .. }
                | Note::Renewed { attempt, .. }
                | Note::RenewalFailed { attempt }
                | Note::ToldOfLoss { attempt }
                | Note::Checked { attempt, .. }
                | Note::Left { attempt, .. }
                | Note::Releasing { attempt } => {
                    mentions.holding.extend(claim_of(attempt).map(|claim| Mention { entry, claim }));
                }
                Note::Ended { attempt } => {
                    if let Some(claim) = claim_of(attempt) {
                        mentions.asking.push(Mention { entry, claim });
                        mentions.holding.push(Mention { entry, claim });
                    }
                }
                Note::Owner { authority, key, attempt, .. } => {
                    let key = keys.place(&mut mentions.keys, (authority, key));
                    mentions.owning.push(Owning { entry, claim: attempt.and_then(claim_of), key });
                }
                Note::Extended { authority, key, attempt, .. } => {
                    let key = keys.place(&mut mentions.keys, (authority, key));
                    mentions.owning.push(Owning { entry, claim: claim_of(attempt), key });
                }
                Note::DiskLost { .. } => mentions.losing.push(entry),
                Note::Read { attempt, .. }
                | Note::Wrote { attempt, .. }
                | Note::Marked { attempt, .. }
                | Note::Refused { attempt, .. }
                | Note::Effected { attempt, .. } => {
                    mentions.acting.push(Mention { entry, claim: attempt.and_then(claim_of) });
                }
                Note::Promoted { .. } | Note::Demoted { .. } | Note::Replicated { .. } => {
                    mentions.replicating.push(entry);
                }
                Note::Renewing { .. } | Note::Released { .. } | Note::ReleaseRefused { .. } | Note::Passed { .. } => {}
            }
        }
        mentions
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
}

/// Where keys have their places.
#[derive(Default)]
struct Keys {
    places: BTreeMap<(NodeId, LockName), usize>,
    /// By server: the key of which it spoke last. Mostly it speaks of that again.
    last: Vec<Option<usize>>,
}

impl Keys {
    fn place(&mut self, keys: &mut Vec<(NodeId, LockName)>, key: (NodeId, LockName)) -> KeyId {
        let server = key.0.index();
        if server >= self.last.len() {
            self.last.resize(server + 1, None);
        }
        let last = &mut self.last[server];
        if let Some(last) = last.filter(|last| keys[*last] == key) {
            return KeyId(last);
        }
        let place = *self.places.entry(key).or_insert_with(|| {
            keys.push(key);
            keys.len() - 1
        });
        *last = Some(place);
        KeyId(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    #[test]
    fn every_server_has_its_own_keys_whatever_it_spoke_of_last() {
        let mut story = Story::with_servers(2, 1);
        story.at(10).client(1).asks("orders").owned_by(1).owned_by(2);
        story.at(20).server(1).removes("parcels", None);
        story.server(2).removes("parcels", None);
        story.at(30).client(1).owned_by(1).owned_by(2);
        let mentions = Mentions::of(&story.history, &Claims::of(&story.history));
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
        let mentions = Mentions::of(&story.history, &Claims::of(&story.history));
        assert_eq!((mentions.asking.len(), mentions.holding.len()), (0, 0));
        assert_eq!(mentions.owning.iter().map(|said| said.claim).collect::<Vec<_>>(), [None]);
        assert_eq!(mentions.acting.iter().map(|mention| mention.claim).collect::<Vec<_>>(), [None]);
        story.history.entries.insert(0, first);
        let mentions = Mentions::of(&story.history, &Claims::of(&story.history));
        assert_eq!((mentions.asking.len(), mentions.holding.len()), (2, 1));
        assert!(mentions.owning[0].claim.is_some() && mentions.acting[0].claim.is_some());
    }
}
