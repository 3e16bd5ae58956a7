//! Rows that say whose they are: what statements have made of them, in the order of their versions.
//!
//! Each owner counts the version up; who extends a lease or gives it back leaves it, or counts it up as well. So of two statements the
//! one with the lower version was first; of those with the same, who takes a lease comes before who extends it, and the end is last.

use std::collections::BTreeMap;

use host::{AttemptId, Name};
use models::postgres::{Assign, PgRequest, RowKey, Table};
use spec::Cause;

/// What a statement does to a lease.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Does {
    Takes,
    Extends,
    Frees,
}

/// A lease that was written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change {
    pub(super) key: Name,
    version: i64,
    does: Does,
    by: Option<AttemptId>,
}

/// Whose leases are.
#[derive(Default, Debug)]
pub(super) struct Leases(BTreeMap<Name, AttemptId>);

/// The lease that a statement would write.
pub(super) fn row_of(request: &PgRequest) -> Option<RowKey> {
    let row = match request {
        PgRequest::Insert(insert) => insert.row,
        PgRequest::Update(update) => update.row,
        _ => return None,
    };
    (row.table == Table::Leases).then_some(row)
}

impl Change {
    /// What a statement did that was answered with a row of that version.
    pub(super) fn of(request: &PgRequest, by: Option<AttemptId>, version: i64) -> Option<Self> {
        let key = row_of(request)?.name;
        let set = match request {
            PgRequest::Insert(insert) => &insert.set,
            PgRequest::Update(update) => &update.set,
            _ => return None,
        };
        let owner = set.iter().find_map(|assign| match assign {
            Assign::Owner(owner) => Some(owner.is_some()),
            _ => None,
        });
        let does = match owner {
            Some(true) => Does::Takes,
            Some(false) => Does::Frees,
            None => Does::Extends,
        };
        Some(Self { key, version, does, by })
    }

    /// Its place among those of its row.
    pub(super) const fn place(&self) -> (i64, Does) {
        (self.version, self.does)
    }

    pub(super) fn is_before(&self, other: &Self) -> bool {
        self.key == other.key && self.place() < other.place()
    }
}

impl Leases {
    /// Who has which.
    pub(super) fn owners(&self) -> Vec<(Name, AttemptId)> {
        self.0.iter().map(|(key, owner)| (*key, *owner)).collect()
    }

    /// Whose the lease is now, step by step. Who takes it has found the other's time to be over.
    pub(super) fn take(&mut self, change: &Change) -> Vec<(Option<AttemptId>, Cause)> {
        let Change { key, does, by, .. } = *change;
        let (next, cause) = match does {
            Does::Extends => return Vec::new(),
            Does::Takes => (by, Cause::Expiry),
            Does::Frees => (None, Cause::Request(by)),
        };
        let former = self.0.remove(&key).map(|_| (None, cause));
        let next = next.inspect(|next| _ = self.0.insert(key, *next)).map(|next| (Some(next), Cause::Request(by)));
        former.into_iter().chain(next).collect()
    }

    /// Who has it for longer now.
    pub(super) fn extended(&self, change: &Change) -> Option<AttemptId> {
        let owner = *self.0.get(&change.key).filter(|_| change.does == Does::Extends)?;
        (change.by == Some(owner)).then_some(owner)
    }
}
