//! How long a member waits before it stands for election.

use host::Fold;
use raft::{RawNode, Storage};

/// How long elections wait, in place of what `raft` draws: a function of who, when, and a word of the world's.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Luck {
    word: u64,
    member: u64,
    ticks: usize,
}

impl Luck {
    pub(super) const fn new(word: u64, member: u64, ticks: usize) -> Self {
        Self { word, member, ticks }
    }

    /// Sets the timeout anew: `raft` may have drawn another.
    pub(super) fn rule<S: Storage>(self, node: &mut RawNode<S>) {
        let mut fold = Fold::new(self.word);
        fold.pair(self.member, node.raft.term);
        fold.word(node.raft.state as u64);
        let ticks = self.ticks + usize::try_from(fold.value() % self.ticks as u64).expect("few ticks");
        node.raft.set_randomized_election_timeout(ticks);
    }
}
