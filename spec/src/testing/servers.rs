//! What lock servers say of themselves.

use host::{AttemptId, NodeId};

use super::Teller;
use crate::history::{Cause, Note};

/// A lock server.
impl Teller<'_> {
    /// The lease on `orders` is over.
    pub(crate) fn frees(self) -> Self {
        self.loses("orders", Cause::Expiry)
    }

    /// It takes the place of the one that it copied.
    pub(crate) fn promoted_instead_of(self, server: u16) -> Self {
        let authority = self.node;
        self.note(Note::Promoted { authority, instead_of: NodeId::new(server - 1) })
    }

    /// It is told that another has its place.
    pub(crate) fn demoted(self) -> Self {
        let authority = self.node;
        self.note(Note::Demoted { authority })
    }

    /// It has come so far with what it copies of that server.
    pub(crate) fn has_copied(self, server: u16, notes: u32) -> Self {
        let authority = self.node;
        self.note(Note::Replicated { authority, primary: NodeId::new(server - 1), notes })
    }

    /// As a member of a cluster it makes something else of an entry than others.
    pub(crate) fn disagrees(self, key: &str, attempt: Option<AttemptId>) -> Self {
        let (member, key) = (self.node, key.into());
        self.note(Note::Disagreed { member, key, attempt })
    }

    /// For want of memory it forgets `orders`.
    pub(crate) fn evicts(self) -> Self {
        self.loses("orders", Cause::Eviction)
    }

    /// It deletes that lock's key, as somebody asks.
    pub(crate) fn removes(self, key: &str, by: Option<AttemptId>) -> Self {
        self.loses(key, Cause::Request(by))
    }

    fn loses(self, key: &str, cause: Cause) -> Self {
        let (authority, key) = (self.node, key.into());
        self.note(Note::Owner { authority, key, attempt: None, cause })
    }
}
