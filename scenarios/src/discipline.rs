//! Whether clients use their locks so that those can help at all: the discipline of which a fence cannot take the place.
//!
//! Every object must have a lock that is held by whoever uses it: alone by who writes it, alone or shared by who only reads. Two that
//! write one object under different locks, or under one that they share, exclude nobody, and their tokens say nothing of each other.
//! What comes of that is the use's fault, whatever the resource checks.
//!
//! What is done without any lock is no operation of a holder, and says nothing of which lock is an object's.
//!
//! Source: S. Savage et al., "Eraser: A Dynamic Data Race Detector for Multithreaded Programs", 1997, section 2: the lockset algorithm, with
//! locks that readers share.

use std::collections::{BTreeMap, BTreeSet};

use models::script::{Handle, Step};
use spec::{LockName, Mode, ObjectName};

use crate::cell::Cell;
use crate::fencing::{in_order, scripts};

/// Whether every object has a lock under which all that is done to it is done.
pub(crate) fn is_kept(cell: &Cell) -> bool {
    let mut candidates: BTreeMap<ObjectName, BTreeSet<LockName>> = BTreeMap::new();
    for script in scripts(cell) {
        let mut held: BTreeMap<Handle, (LockName, Mode)> = BTreeMap::new();
        for step in in_order(script) {
            match step {
                Step::Acquire { lock, handle, mode, .. } => _ = held.insert(*handle, (*lock, *mode)),
                Step::Release { handle, .. } => _ = held.remove(handle),
                Step::Read(about) | Step::Write(about) | Step::Mark(about) if !held.is_empty() => {
                    let reads = matches!(step, Step::Read(_));
                    let protects = |(_, mode): &&(LockName, Mode)| reads || *mode == Mode::Exclusive;
                    let protecting = held.values().filter(protects).map(|(lock, _)| *lock).collect();
                    let candidates = candidates.entry(about.object).or_insert_with(|| BTreeSet::clone(&protecting));
                    candidates.retain(|lock| protecting.contains(lock));
                }
                _ => {}
            }
        }
    }
    candidates.values().all(|locks| !locks.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;

    /// Whether it is kept by two clients that do so.
    fn kept(a: &str, b: &str) -> bool {
        let text = format!(
            "name = \"d\"\ntitle = \"d\"\nsource = \"own\"\nlock = \"zookeeper\"\nresource = \"fence_rw\"\n\
             [client.A]\ndo = [{a}]\n[client.B]\ndo = [{b}]\n"
        );
        let scenario = load("d.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
        is_kept(&scenario.cells[0])
    }

    const ALONE: &str = r#""acquire", "read", "write", "release""#;
    const ANOTHER: &str = r#"{ acquire = { key = "other" } }, "read", "write", "release""#;
    const SHARED: &str = r#"{ acquire = { mode = "shared" } }, "read", "write", "release""#;
    const READER: &str = r#"{ acquire = { mode = "shared" } }, "read", "release""#;

    #[test]
    fn one_object_needs_one_lock() {
        assert!(kept(ALONE, ALONE));
        assert!(!kept(ALONE, ANOTHER));
        let both = r#""acquire", { acquire = { key = "other", as = "o" } }, "write", { release = { as = "o" } }, { release = { as = "orders" } }"#;
        assert!(kept(ALONE, both) && kept(ANOTHER, both));
        let too_early = r#""acquire", { acquire = { key = "other", as = "o" } }, { release = { as = "orders" } }, "write", { release = { as = "o" } }"#;
        assert!(!kept(ALONE, too_early));
    }

    #[test]
    fn of_those_that_share_it_nobody_may_write() {
        assert!(!kept(SHARED, SHARED));
        assert!(!kept(SHARED, ALONE));
        assert!(kept(READER, ALONE));
    }

    #[test]
    fn objects_of_their_own_may_have_locks_of_their_own() {
        let two = r#""acquire", { write = "x" }, { release = { as = "orders" } }, { acquire = { key = "other" } }, { write = "y" }, { release = { as = "other" } }"#;
        let one = r#"{ acquire = { key = "other" } }, { write = "y" }, "release""#;
        assert!(kept(two, one));
        assert!(!kept(two, r#"{ acquire = { key = "other" } }, { write = "x" }, "release""#));
    }

    #[test]
    fn what_is_done_without_any_lock_says_nothing() {
        assert!(kept(ALONE, r#""acquire", "write", "release", "write""#));
    }
}
