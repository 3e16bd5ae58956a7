//! Which keys and rows locks have.
//!
//! | what | where |
//! |---|---|
//! | an advisory lock | the key that [`advisory_key`] makes of its name |
//! | a row that a transaction locks | `locks`, by the lock's name |
//! | a row that says until when whose it is | `leases`, by the lock's name |
//! | tokens by the version of a row | `tokens`, by the lock's name |
//! | tokens by a sequence | [`SEQUENCE`], one for all locks |
//! | objects that are in the lock's own store | `objects`, by their names |

use host::{Digest, Name};
use spec::{LockName, ObjectName};

use super::key::AdvisoryKey;
use super::row::{RowKey, Table};

/// The sequence of which tokens are drawn.
pub const SEQUENCE: Name = Name::fixed("fence");

/// The key of an advisory lock. Programs hash a name, with `hashtext` or by themselves.
#[must_use]
pub fn advisory_key(lock: LockName) -> AdvisoryKey {
    AdvisoryKey::Big(lock.digested().cast_signed())
}

/// A row of a lock.
#[must_use]
pub const fn row(table: Table, lock: LockName) -> RowKey {
    RowKey { table, name: lock }
}

/// The row of an object.
#[must_use]
pub const fn object(object: ObjectName) -> RowKey {
    RowKey { table: Table::Objects, name: object }
}
