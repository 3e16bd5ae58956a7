//! Where locks are, and what stands there: recipes create it, and the history is told by it who owns what.
//!
//! | lock | node |
//! |---|---|
//! | the recipe of the documentation | `/locks/NAME/GUID-lock-NUMBER`, one for each that queues |
//! | the same, to have it with others | `/locks/NAME/GUID-read-NUMBER` |
//! | Curator | `/locks/NAME/_c_GUID-lock-NUMBER`, the same |
//! | the herd | `/locks/NAME/lock`, the only one |
//!
//! Each lock has a node of its own, [`lock`]. Objects that are in the ensemble are at `/data/NAME`.

use host::Name;
use spec::{LockName, Mode, ObjectName};

use super::path::{Guid, NodeName, Path};

/// Below that all locks are.
pub(super) const LOCKS: Name = Name::fixed("/locks");
/// Below that all objects are.
pub(super) const DATA: Name = Name::fixed("/data");

/// What stands before the number of a contender, behind its guid.
pub(super) const STEM: Name = Name::fixed("-lock-");
/// The same, of one who wants to share.
pub(super) const SHARED: Name = Name::fixed("-read-");
/// What Curator begins the name of a node with that it may have to look for.
pub(super) const PROTECTED: Name = Name::fixed("_c_");

/// The node below which a lock's clients create theirs, without a slash at its end.
#[must_use]
pub fn lock(lock: LockName) -> Name {
    Name::from(format!("{LOCKS}/{lock}"))
}

/// The lock below whose node that is.
#[must_use]
pub fn lock_of(path: &Path) -> Option<Name> {
    let parent = path.parent_name();
    let name = parent.strip_prefix(LOCKS.as_str())?.strip_prefix('/')?;
    (!name.contains('/')).then(|| Name::from(name))
}

/// A contender that begins with `before` and has no number yet.
pub(super) fn contender(of: LockName, before: Name, guid: Guid, mode: Mode) -> Path {
    let stem = match mode {
        Mode::Exclusive => STEM,
        Mode::Shared => SHARED,
    };
    Path::below(lock(of), NodeName::with_guid(before, guid, stem))
}

/// A contender's number, and the mode in which it wants the lock.
pub(super) fn number(name: &NodeName) -> Option<(i32, Mode)> {
    let shared = || Some((name.number_after(SHARED)?, Mode::Shared));
    name.number_after(STEM).map(|number| (number, Mode::Exclusive)).or_else(shared)
}

/// The only node of a lock that nobody queues for.
pub(super) fn only(of: LockName) -> Path {
    Path::below(lock(of), "lock".into())
}

/// The node of that object, if objects are in the ensemble.
#[must_use]
pub fn object(object: ObjectName) -> Path {
    Path::below(DATA, object.as_str().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_leads_back_to_its_lock() {
        let orders = LockName::from("orders");
        assert_eq!(lock_of(&contender(orders, PROTECTED, Guid(7), Mode::Shared).numbered(3)), Some(orders));
        assert_eq!(lock_of(&only(orders)), Some(orders));
        assert_eq!(lock_of(&"/locks/orders".into()), None);
        assert_eq!(lock_of(&"/locks/orders/a/b".into()), None);
        assert_eq!(lock_of(&"/data/orders".into()), None);
    }

    #[test]
    fn contenders_of_both_kinds_have_their_number_behind_the_same_stem() {
        let path = |before| contender(LockName::from("orders"), before, Guid(7), Mode::Exclusive).numbered(3);
        assert_eq!(path(Name::fixed("")).to_string(), "/locks/orders/0000000000000007-lock-0000000003");
        assert_eq!(path(PROTECTED).to_string(), "/locks/orders/_c_0000000000000007-lock-0000000003");
        assert_eq!(number(&path(PROTECTED).name()), Some((3, Mode::Exclusive)));
        let shared = contender(LockName::from("orders"), Name::fixed(""), Guid(7), Mode::Shared).numbered(4);
        assert_eq!(
            (shared.name().to_string().as_str(), number(&shared.name())),
            ("0000000000000007-read-0000000004", Some((4, Mode::Shared)))
        );
        assert_eq!(number(&"lock".into()), None);
    }
}
