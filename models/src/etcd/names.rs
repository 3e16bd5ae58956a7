//! Under which keys locks are, and what stands there: recipes write it, and the history is told by it who owns what.
//!
//! | lock | key |
//! |---|---|
//! | `concurrency.Mutex`, v3lock | `NAME/LEASE`, one for each that queues |
//! | python-etcd3 | `/locks/NAME` |
//! | Patroni | `/service/NAME/leader` |
//! | Kubernetes | `/registry/leases/default/NAME` |
//!
//! Objects that are in the cluster are at `/data/NAME`.

use host::Name;
use serde::{Deserialize, Serialize};
use spec::{LockName, ObjectName};

use super::{Key, Value};
use crate::lock::etcd::KeyLibrary;

const LOCKS: &str = "/locks/";
const SERVICE: (&str, &str) = ("/service/", "/leader");
const LEASES: &str = "/registry/leases/default/";

/// The lock's name with a slash: the keys of its queue are below that.
pub(super) fn queue(lock: LockName) -> Name {
    Name::from(format!("{lock}/"))
}

/// The one key of that lock.
pub(super) fn only_key(library: KeyLibrary, lock: LockName) -> Key {
    let (before, after) = match library {
        KeyLibrary::PythonEtcd3 => (LOCKS, ""),
        KeyLibrary::Patroni => SERVICE,
    };
    Name::from(format!("{before}{lock}{after}")).into()
}

/// The key of that lock's record.
pub(super) fn record(lock: LockName) -> Key {
    Name::from(format!("{LEASES}{lock}")).into()
}

/// The key of that object, if objects are in the cluster.
pub(super) fn object(object: ObjectName) -> Key {
    Name::from(format!("/data/{object}")).into()
}

/// The lock of which that is the only key.
pub(super) fn lock_of(key: Key) -> Option<LockName> {
    let name = key.lease().is_none().then(|| key.stem())?;
    let leader = || name.strip_prefix(SERVICE.0)?.strip_suffix(SERVICE.1);
    name.strip_prefix(LOCKS).or_else(|| name.strip_prefix(LEASES)).or_else(leader).map(Name::from)
}

/// Who has a lock under whose only key that is: a record may say that nobody does.
pub(super) fn holder(value: &Value) -> Option<String> {
    let name = || String::from_utf8_lossy(value.as_bytes()).into_owned();
    Some(Record::read(value).map_or_else(name, |record| record.holder)).filter(|holder| !holder.is_empty())
}

/// `LeaderElectionRecord`: what the holder of a Kubernetes lease writes.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Who has it. Nothing: nobody.
    #[serde(rename = "holderIdentity")]
    pub(super) holder: String,
    /// For how long it is to be left in peace after each change.
    #[serde(rename = "leaseDurationSeconds")]
    pub(super) length: u64,
    /// When it was written, by its writer's wall clock, in nanoseconds.
    #[serde(rename = "renewTime")]
    pub(super) renewed: i64,
    /// How often it has had another holder.
    #[serde(rename = "leaseTransitions")]
    pub(super) transitions: u64,
}

impl Record {
    /// As it is stored.
    pub(super) fn as_value(&self) -> Value {
        Value::from(serde_json::to_string(self).expect("it is text and numbers").as_str())
    }

    /// That of nobody.
    pub(super) const fn nobody() -> Self {
        Self { holder: String::new(), length: 0, renewed: 0, transitions: 0 }
    }

    /// What is stored, if it is one.
    pub(super) fn read(value: &Value) -> Option<Self> {
        serde_json::from_slice(value.as_bytes()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::etcd::LeaseId;

    #[test]
    fn a_key_leads_back_to_its_lock() {
        let orders = LockName::from("orders");
        let keys = [
            only_key(KeyLibrary::PythonEtcd3, orders),
            only_key(KeyLibrary::Patroni, orders),
            record(orders),
            queue(orders).into(),
            Key::under(queue(orders), LeaseId::new(7).expect("not 0")),
            "/service/orders".into(),
        ];
        assert_eq!(keys.map(lock_of), [Some(orders), Some(orders), Some(orders), None, None, None]);
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = Record { holder: "n1".to_owned(), length: 15, renewed: -5, transitions: 2 };
        assert_eq!(Record::read(&record.as_value()), Some(record.clone()));
        assert_eq!(holder(&record.as_value()).as_deref(), Some("n1"));
        assert_eq!(holder(&"an owner".into()).as_deref(), Some("an owner"));
        assert_eq!(holder(&Record::nobody().as_value()), None);
    }
}
