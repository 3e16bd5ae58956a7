//! Sets of lock servers.

use host::{Digest, Fold, NodeId};
use serde::{Deserialize, Serialize};

/// The lock servers whose grant a client counted: the servers of one Redlock quorum, or the one
/// server (or service) that granted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(into = "Vec<NodeId>", try_from = "Vec<NodeId>")]
pub struct Authorities(u64);

impl Authorities {
    /// None yet.
    pub const NONE: Self = Self(0);

    /// Just that one.
    #[must_use]
    pub fn one(node: NodeId) -> Self {
        let mut all = Self::NONE;
        all.count(node);
        all
    }

    /// Counts that server's grant.
    ///
    /// # Panics
    /// If the node's index is above 63: worlds are built with their servers first.
    pub fn count(&mut self, node: NodeId) {
        assert!(node.index() < 64, "lock servers have the lowest node ids");
        self.0 |= 1 << node.index();
    }

    /// Counts that server's grant no longer.
    pub const fn forget(&mut self, node: NodeId) {
        if node.index() < 64 {
            self.0 &= !(1 << node.index());
        }
    }

    /// Those that are counted here or there.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether that server's grant was counted.
    #[must_use]
    pub fn contains(self, node: NodeId) -> bool {
        node.index() < 64 && self.0 >> node.index() & 1 == 1
    }

    /// How many were counted.
    #[must_use]
    pub const fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// Whether none was.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl From<Authorities> for Vec<NodeId> {
    fn from(all: Authorities) -> Self {
        (0..64).map(NodeId::new).filter(|node| all.contains(*node)).collect()
    }
}

impl TryFrom<Vec<NodeId>> for Authorities {
    type Error = &'static str;

    fn try_from(nodes: Vec<NodeId>) -> Result<Self, Self::Error> {
        if nodes.iter().any(|node| node.index() >= 64) {
            return Err("lock servers have the node ids below 64");
        }
        let mut all = Self::NONE;
        nodes.into_iter().for_each(|node| all.count(node));
        Ok(all)
    }
}

impl Digest for Authorities {
    fn digest(&self, fold: &mut Fold) {
        self.0.digest(fold);
    }
}
