//! For the history: whose lock it is. Nothing in the model reads it; of real servers it is found out in the same way, from what they
//! tell of their nodes.
//!
//! A lock's owner is who created, of the nodes [below the lock's](names::lock), the one with the lowest number; a node without a
//! number is there alone.

use std::collections::BTreeMap;

use host::{AttemptId, Name};

use super::names;
use super::path::Path;
use super::tree::{Happened, Tree, What};

/// Who stands behind which node.
#[derive(Default, Debug)]
pub struct Owners {
    attempts: BTreeMap<Path, AttemptId>,
    /// By the lock's name.
    locks: BTreeMap<Name, (Path, Option<AttemptId>)>,
}

impl Owners {
    /// These happened in one change, on behalf of that attempt; the nodes are so now. Gives back the locks that have another owner
    /// now.
    pub fn take(
        &mut self,
        happened: &[Happened],
        attempt: Option<AttemptId>,
        tree: &Tree,
    ) -> Vec<(Name, Option<AttemptId>)> {
        let mut passed = Vec::new();
        for Happened { path, what } in happened {
            let Some(lock) = names::lock_of(path) else { continue };
            match (what, attempt) {
                (What::Created, Some(attempt)) => _ = self.attempts.insert(*path, attempt),
                (What::Deleted, _) => _ = self.attempts.remove(path),
                (What::Created | What::Written, _) => {}
            }
            let first = first_below(path.parent_name(), tree).map(|path| (path, self.attempts.get(&path).copied()));
            let former = match first {
                Some(first) => self.locks.insert(lock, first),
                None => self.locks.remove(&lock),
            };
            if former != first {
                passed.push((lock, first.and_then(|(_, attempt)| attempt)));
            }
        }
        passed
    }

    /// Every lock that has an owner, with its node and the attempt.
    pub fn all(&self) -> impl Iterator<Item = (Name, &Path, AttemptId)> {
        self.locks.iter().filter_map(|(lock, (path, attempt))| Some((*lock, path, (*attempt)?)))
    }
}

/// Of the nodes below that one, the one with the lowest number.
fn first_below(lock: Name, tree: &Tree) -> Option<Path> {
    let names = tree.children(&Path::from(lock.as_str())).ok()?;
    names.min_by_key(|name| name.number()).map(|name| Path::below(lock, name))
}
