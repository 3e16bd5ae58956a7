//! The log of one member, in memory as on its disk: what `raft` reads, and what it has written.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use host::{Context, Disk, Domain};
use raft::eraftpb::{ConfState, Entry as RaftEntry, HardState, Snapshot as RaftSnapshot};
use raft::{Error, GetEntriesContext, RaftState, StorageError};

use super::Replicated;
use super::entry::{Entry, Hard, Place, Proposal, Snapshot, Written};

/// What a member has on its disk, and what it has just heard of.
pub(super) struct Store<L: Replicated> {
    voters: u64,
    hard: Hard,
    /// The last state that was kept.
    pub(super) snapshot: Option<Snapshot<L>>,
    /// The place before the first entry that is kept.
    before: Place,
    entries: VecDeque<Entry<L>>,
    /// The proposals of entries that `raft` has, and has not had written yet. It knows the entries by their place alone.
    fresh: BTreeMap<Place, Rc<Proposal<L>>>,
    /// A state that has come, and that `raft` has not had written yet.
    arrived: Option<Snapshot<L>>,
}

type Record<L> = <<L as Replicated>::Domain as Domain>::Record;

impl<L: Replicated> Store<L> {
    /// What is on the disk of a member of so many.
    pub(super) fn read(disk: &Disk<Record<L>>, voters: usize) -> Self {
        let mut store = Self {
            voters: voters as u64,
            hard: Hard::default(),
            snapshot: None,
            before: Place::default(),
            entries: VecDeque::new(),
            fresh: BTreeMap::new(),
            arrived: None,
        };
        for written in disk.records().iter().filter_map(L::written) {
            match written.clone() {
                Written::Entry(entry) => store.put(entry),
                Written::Hard(hard) => store.hard = hard,
                Written::Whole { hard, snapshot, before, entries } => {
                    store.hard = hard;
                    store.snapshot = Some(snapshot);
                    store.before = before;
                    store.entries = entries.into();
                }
            }
        }
        store
    }

    /// What must not be forgotten, besides entries.
    pub(super) const fn hard(&self) -> Hard {
        self.hard
    }

    /// The last state that was kept.
    pub(super) const fn snapshot(&self) -> Option<&Snapshot<L>> {
        self.snapshot.as_ref()
    }

    /// An entry that is in the log.
    pub(super) fn entry(&self, place: Place) -> &Entry<L> {
        let entry = &self.entries[self.offset(place.index)];
        assert_eq!(entry.place, place, "an entry is known by its place");
        entry
    }

    /// The proposal of an entry that comes to `raft`.
    pub(super) fn expect_entry(&mut self, place: Place, proposal: Rc<Proposal<L>>) {
        self.fresh.insert(place, proposal);
    }

    /// The state in a snapshot that comes to `raft`.
    pub(super) fn expect_snapshot(&mut self, snapshot: Snapshot<L>) {
        self.arrived = Some(snapshot);
    }

    /// What has come and was not wanted is forgotten.
    pub(super) fn forget_unwanted(&mut self) {
        if !self.fresh.is_empty() {
            self.fresh.clear();
        }
        self.arrived = None;
    }

    /// Writes entries.
    pub(super) fn append(&mut self, cx: &mut Context<L::Domain>, entries: Vec<RaftEntry>) {
        for entry in entries {
            let place = Place { index: entry.index, term: entry.term };
            let entry = Entry { place, proposal: self.fresh.remove(&place) };
            cx.disk.append(L::record(Written::Entry(entry.clone())));
            self.put(entry);
        }
    }

    /// Writes what must not be forgotten.
    pub(super) fn set_hard(&mut self, cx: &mut Context<L::Domain>, hard: Hard) {
        self.hard = hard;
        cx.disk.append(L::record(Written::Hard(hard)));
    }

    /// Takes over the state that has come, in place of all there was.
    pub(super) fn restore(&mut self, cx: &mut Context<L::Domain>, metadata: Place) -> Snapshot<L> {
        let snapshot = self.arrived.take().filter(|arrived| arrived.place == metadata).expect("it has come");
        self.hard.commit = metadata.index;
        self.hard.term = self.hard.term.max(metadata.term);
        self.snapshot = Some(snapshot.clone());
        self.before = metadata;
        self.entries.clear();
        self.rewrite(cx);
        snapshot
    }

    /// Keeps the state up to an entry, and as many entries before it as that for who is a little behind.
    pub(super) fn compact(&mut self, cx: &mut Context<L::Domain>, snapshot: Snapshot<L>, keep: u64) {
        let up_to = snapshot.place.index.saturating_sub(keep);
        while self.before.index < up_to {
            self.before = self.entries.pop_front().expect("a state is of entries that are there").place;
        }
        self.snapshot = Some(snapshot);
        self.rewrite(cx);
    }

    /// The term of an entry, or of the place before the first one that is kept.
    pub(super) fn term_at(&self, index: u64) -> Option<u64> {
        if index == self.before.index {
            return Some(self.before.term);
        }
        self.entries.get(usize::try_from(index.checked_sub(self.before.index + 1)?).ok()?).map(|entry| entry.place.term)
    }

    fn rewrite(&self, cx: &mut Context<L::Domain>) {
        let snapshot = self.snapshot.clone().expect("there is one");
        let entries = self.entries.iter().cloned().collect();
        cx.disk.replace(L::record(Written::Whole { hard: self.hard, snapshot, before: self.before, entries }));
    }

    /// An entry takes its place, and what was there and behind it is void.
    pub(super) fn put(&mut self, entry: Entry<L>) {
        self.entries.truncate(self.offset(entry.place.index));
        assert_eq!(self.offset(entry.place.index), self.entries.len(), "a log has no holes");
        self.entries.push_back(entry);
    }

    fn offset(&self, index: u64) -> usize {
        usize::try_from(index - self.before.index - 1).expect("a log is short")
    }
}

impl<L: Replicated> raft::Storage for Store<L> {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let Hard { term, vote, commit } = self.hard;
        let hard = HardState { term, vote, commit, ..HardState::default() };
        Ok(RaftState::new(hard, voters(self.voters)))
    }

    /// All of them: `raft` is set to no limit.
    fn entries(
        &self,
        low: u64,
        high: u64,
        _: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<RaftEntry>> {
        if low <= self.before.index {
            return Err(Error::Store(StorageError::Compacted));
        }
        let entries = self.entries.range(self.offset(low)..self.offset(high));
        Ok(entries.map(|entry| raft_entry(entry.place)).collect())
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        self.term_at(index).ok_or(Error::Store(if index < self.before.index {
            StorageError::Compacted
        } else {
            StorageError::Unavailable
        }))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.before.index + 1)
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.before.index + self.entries.len() as u64)
    }

    fn snapshot(&self, _: u64, _: u64) -> raft::Result<RaftSnapshot> {
        let snapshot = self.snapshot.as_ref().ok_or(Error::Store(StorageError::SnapshotTemporarilyUnavailable))?;
        Ok(raft_snapshot(snapshot.place, self.voters))
    }
}

/// An entry as `raft` knows it: by its place.
pub(super) fn raft_entry(place: Place) -> RaftEntry {
    RaftEntry { index: place.index, term: place.term, ..RaftEntry::default() }
}

/// A state as `raft` knows it: by the place of its last entry, and that there are so many members.
pub(super) fn raft_snapshot(place: Place, members: u64) -> RaftSnapshot {
    let mut snapshot = RaftSnapshot::default();
    let metadata = snapshot.mut_metadata();
    (metadata.index, metadata.term) = (place.index, place.term);
    metadata.set_conf_state(voters(members));
    snapshot
}

fn voters(count: u64) -> ConfState {
    ConfState { voters: (1..=count).collect(), ..ConfState::default() }
}
