//! Where locks are, and what stands there: recipes write it, and the history is told by it who owns what.
//!
//! Each lock has a node of its own, [`lock`]; what its clients create is below that. Objects that are in the ensemble are at
//! `/data/NAME`.

use host::Name;
use spec::{LockName, ObjectName};

use super::path::Path;

const LOCKS: &str = "/locks/";

/// The node below which a lock's clients create theirs, without a slash at its end.
#[must_use]
pub fn lock(lock: LockName) -> Name {
    Name::from(format!("{LOCKS}{lock}"))
}

/// The lock below whose node that is.
#[must_use]
pub fn lock_of(path: &Path) -> Option<Name> {
    path.parent_name().strip_prefix(LOCKS).filter(|name| !name.contains('/')).map(Name::from)
}

/// The node of that object, if objects are in the ensemble.
#[must_use]
pub fn object(object: ObjectName) -> Path {
    Path::from(format!("/data/{object}").as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_leads_back_to_its_lock() {
        let orders = LockName::from("orders");
        assert_eq!(lock_of(&Path::below(lock(orders), "lock-0000000001".into())), Some(orders));
        assert_eq!(lock_of(&"/locks/orders".into()), None);
        assert_eq!(lock_of(&"/locks/orders/a/b".into()), None);
    }
}
