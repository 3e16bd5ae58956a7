//! For the history: whose lock it is. Nothing in the model reads it; of real servers it is found out in the same way, from what they
//! tell of their nodes.
//!
//! Of the nodes [below the lock's](names::lock) the one with the lowest number is its owner's; a node without a number is there
//! alone. If that is one of those that share, it is all of theirs that come before the first that does not. Each owner has a
//! key of the history's own: the lock's name, and for those that have it with others, behind that, the lowest number that is free.

use std::collections::BTreeMap;

use host::{AttemptId, Name};
use spec::Mode;

use super::names;
use super::path::{NodeName, Path};
use super::tree::{Happened, Tree, What};

/// Who stands behind which node.
#[derive(Default, Debug)]
pub struct Owners {
    attempts: BTreeMap<Path, AttemptId>,
    /// By the lock's name: the nodes of its owners, each in its place.
    locks: BTreeMap<Name, Vec<Option<Owned>>>,
}

/// An owner's node, and the attempt that created it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Owned {
    path: Path,
    attempt: Option<AttemptId>,
}

impl Owners {
    /// These happened in one change, on behalf of that attempt; the nodes are so now. Gives back the keys that have another owner
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
            passed.extend(self.look_again(lock, path.parent_name(), tree));
        }
        passed
    }

    /// Every key that has an owner, with its node and the attempt.
    pub fn all(&self) -> impl Iterator<Item = (Name, &Path, AttemptId)> {
        self.locks.iter().flat_map(|(lock, owners)| {
            let owned = owners.iter().enumerate();
            owned.filter_map(|(place, owned)| {
                let Owned { path, attempt } = owned.as_ref()?;
                Some((key(*lock, place), path, (*attempt)?))
            })
        })
    }

    /// The keys of that lock that have another owner now: first those that lost one.
    fn look_again(&mut self, lock: Name, parent: Name, tree: &Tree) -> Vec<(Name, Option<AttemptId>)> {
        let now: Vec<Path> = owners_below(parent, tree);
        let owners = self.locks.entry(lock).or_default();
        let mut passed = Vec::new();
        for (place, owned) in owners.iter_mut().enumerate() {
            if owned.take_if(|owned| !now.contains(&owned.path)).is_some() {
                passed.push((key(lock, place), None));
            }
        }
        for path in now {
            if owners.iter().flatten().any(|owned| owned.path == path) {
                continue;
            }
            let attempt = self.attempts.get(&path).copied();
            let place = owners.iter().position(Option::is_none).unwrap_or(owners.len());
            owners.resize(owners.len().max(place + 1), None);
            owners[place] = Some(Owned { path, attempt });
            match passed.iter_mut().find(|(other, _)| *other == key(lock, place)) {
                // Somebody else's in the same instant.
                Some((_, to)) => *to = attempt,
                None => passed.push((key(lock, place), attempt)),
            }
        }
        passed
    }
}

/// The key of the owner in that place.
fn key(lock: Name, place: usize) -> Name {
    if place == 0 { lock } else { Name::from(format!("{lock}/shared-{place}")) }
}

/// The nodes of its owners, in their order.
fn owners_below(lock: Name, tree: &Tree) -> Vec<Path> {
    let Ok(children) = tree.children(&Path::from(lock.as_str())) else { return Vec::new() };
    let mut below: Vec<NodeName> = children.collect();
    below.sort_by_key(|name| names::number(name).map(|(number, _)| number));
    let shares = |name: &NodeName| matches!(names::number(name), Some((_, Mode::Shared)));
    let owners = match below.first() {
        Some(first) if shares(first) => below.iter().take_while(|name| shares(name)).count(),
        first => usize::from(first.is_some()),
    };
    below[..owners].iter().map(|name| Path::below(lock, *name)).collect()
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use host::NodeId;

    use super::*;
    use crate::zookeeper::api::{Create, Delete, Mode, Op};
    use crate::zookeeper::path::{Millis, SessionId};
    use crate::zookeeper::tree::Change;

    const SESSION: SessionId = SessionId(1);

    struct Bench {
        tree: Tree,
        owners: Owners,
    }

    impl Bench {
        fn new() -> Self {
            let mut tree = Tree::default();
            tree.apply(&Change::Open { session: SESSION, timeout: Millis(6_000) }, None);
            let mut bench = Self { tree, owners: Owners::default() };
            for path in ["/locks", "/locks/orders"] {
                bench.create(path, Mode::Persistent, None);
            }
            bench
        }

        fn create(&mut self, path: &str, mode: Mode, by: Option<u32>) -> Vec<(String, Option<u32>)> {
            let create = Create { path: path.into(), data: "".into(), mode };
            self.take(Op::Create(create), by)
        }

        fn delete(&mut self, path: &str) -> Vec<(String, Option<u32>)> {
            self.take(Op::Delete(Delete { path: path.into(), version: None }), None)
        }

        fn take(&mut self, op: Op, by: Option<u32>) -> Vec<(String, Option<u32>)> {
            let done = self.tree.apply(&Change::One { session: SESSION, op }, None);
            done.outcome.expect("it can be done");
            let attempt = by.map(|nth| AttemptId::new(NodeId::new(9), NonZeroU32::new(nth).expect("not 0")));
            let passed = self.owners.take(&done.happened, attempt, &self.tree);
            passed.into_iter().map(|(key, to)| (key.to_string(), to.map(AttemptId::ordinal))).collect()
        }
    }

    fn is(passed: Vec<(String, Option<u32>)>, keys: &[(&str, Option<u32>)]) {
        let passed: Vec<(&str, Option<u32>)> = passed.iter().map(|(key, to)| (key.as_str(), *to)).collect();
        assert_eq!(passed, keys);
    }

    #[test]
    fn the_lowest_number_owns_it_until_its_node_is_gone() {
        let mut bench = Bench::new();
        let queue = "/locks/orders/0000000000000001-lock-";
        is(bench.create(queue, Mode::EphemeralSequential, Some(1)), &[("orders", Some(1))]);
        is(bench.create(queue, Mode::EphemeralSequential, Some(2)), &[]);
        is(bench.delete(&format!("{queue}0000000000")), &[("orders", Some(2))]);
        is(bench.delete(&format!("{queue}0000000001")), &[("orders", None)]);
        is(bench.create("/locks/orders/lock", Mode::Ephemeral, Some(3)), &[("orders", Some(3))]);
    }

    #[test]
    fn those_that_share_own_it_together_up_to_the_first_that_does_not() {
        let mut bench = Bench::new();
        let node = |kind: &str| format!("/locks/orders/0000000000000001-{kind}-");
        is(bench.create(&node("read"), Mode::EphemeralSequential, Some(1)), &[("orders", Some(1))]);
        is(bench.create(&node("read"), Mode::EphemeralSequential, Some(2)), &[("orders/shared-1", Some(2))]);
        is(bench.create(&node("lock"), Mode::EphemeralSequential, Some(3)), &[]);
        is(bench.create(&node("read"), Mode::EphemeralSequential, Some(4)), &[]);
        is(bench.delete(&format!("{}0000000000", node("read"))), &[("orders", None)]);
        is(bench.delete(&format!("{}0000000001", node("read"))), &[("orders/shared-1", None), ("orders", Some(3))]);
        is(bench.delete(&format!("{}0000000002", node("lock"))), &[("orders", Some(4))]);
    }
}
