//! Entries of the log, and what a member writes to its disk.

use std::rc::Rc;

use host::{AttemptId, Digest, Fold};

use super::Replicated;

/// Who waits for a proposal or a read, on the member that was asked: a number that no other is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Ticket {
    /// The member, counted from 1.
    pub(super) member: u64,
    /// Counted from a number drawn anew in each life: what an earlier life asked for finds nobody.
    pub(super) number: u64,
}

impl Digest for Ticket {
    fn digest(&self, fold: &mut Fold) {
        fold.pair(self.member, self.number);
    }
}

/// A place in the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Debug)]
pub struct Place {
    /// Counted from 1.
    pub index: u64,
    /// The term of the leader that put the entry there.
    pub term: u64,
}

impl Digest for Place {
    fn digest(&self, fold: &mut Fold) {
        fold.pair(self.index, self.term);
    }
}

/// What a member was asked to have agreed upon.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Proposal<L: Replicated> {
    /// What.
    pub command: L::Command,
    /// Who waits for it, where.
    pub ticket: Ticket,
    /// On whose behalf. A *shadow*, as the attempt of a [`Context`](host::Context) is: for the history alone.
    pub attempt: Option<AttemptId>,
}

impl<L: Replicated> Digest for Proposal<L> {
    fn digest(&self, fold: &mut Fold) {
        self.command.digest(fold);
        self.ticket.digest(fold);
        self.attempt.digest(fold);
    }
}

/// One entry of the log.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry<L: Replicated> {
    /// Where.
    pub place: Place,
    /// What was proposed; nothing: the empty entry with which a leader begins.
    pub proposal: Option<Rc<Proposal<L>>>,
}

impl<L: Replicated> Digest for Entry<L> {
    fn digest(&self, fold: &mut Fold) {
        self.place.digest(fold);
        self.proposal.digest(fold);
    }
}

/// An entry that is committed, to be applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Applied<L: Replicated> {
    /// The entry. One without a proposal changes no state, but the index.
    pub entry: Entry<L>,
    /// Who waits for it at this member, in this life.
    pub ticket: Option<Ticket>,
    /// Whether this member knew it to be committed before it last started: it is applied anew.
    pub again: bool,
}

/// A state, and the place of the last entry that is in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Snapshot<L: Replicated> {
    /// The last entry that is in it.
    pub place: Place,
    /// The state.
    pub image: Rc<L::Image>,
}

impl<L: Replicated> Digest for Snapshot<L> {
    fn digest(&self, fold: &mut Fold) {
        self.place.digest(fold);
        self.image.digest(fold);
    }
}

/// What a member must not forget, besides entries.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Hard {
    /// The newest term that it knows of.
    pub term: u64,
    /// For whom it voted in that term, counted from 1; 0: nobody.
    pub vote: u64,
    /// The index up to which it knows the log to be committed.
    pub commit: u64,
}

/// What a member writes to its disk.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Written<L: Replicated> {
    /// An entry. What was written behind that index before is void.
    Entry(Entry<L>),
    /// Term, vote and commit.
    Hard(Hard),
    /// All of it, in place of everything that was there.
    Whole {
        /// Term, vote and commit.
        hard: Hard,
        /// The state up to some entry.
        snapshot: Snapshot<L>,
        /// The place before the first entry that is kept.
        before: Place,
        /// The entries behind it.
        entries: Vec<Entry<L>>,
    },
}
