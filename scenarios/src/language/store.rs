//! Objects that are in the lock's own store: `lives-in`, and what can be asked of them there; `migrates`, in a database.

use models::guard::Guard;
use models::lock::postgres::Lasts;
use models::lock::{AdvisoryLock, EtcdLock, Lock, PgLock, ZkLock};
use models::script::{Script, Step, Use};

use super::clients::Group;
use super::reader::{Fields, word};
use crate::cell::Resource;

/// Where the objects may be.
pub(super) const PLACES: [&str; 2] = ["own-store", "lock-service"];

/// What is said of a check that can be nowhere else.
pub(super) const OWNER_KEY: &str =
    "`owner_key` looks at a key of the lock's own store: `{ check = \"owner_key\", lives-in = \"lock-service\" }`";

/// Reads `lives-in`: whether the objects are in the lock's own store.
pub(super) fn lives_in(fields: &mut Fields<'_>, guard: Option<Guard>) -> Option<bool> {
    let is_in_store =
        fields.or("lives-in", false, |sink, node| Some(word(sink, node, "`lives-in`", &PLACES)? == PLACES[1]))?;
    let (sink, guard) = (fields.sink, guard?);
    let check_site = fields.get("check").map_or(fields.site, |entry| entry.node.site);
    if !is_in_store {
        if guard == Guard::OwnerKey {
            sink.error(check_site, OWNER_KEY);
        }
        return (guard != Guard::OwnerKey).then_some(false);
    }
    if !matches!(guard, Guard::Open | Guard::Version | Guard::OwnerKey) {
        sink.error(
            check_site,
            format!(
                "the lock's own store has no `{}`: it compares nothing (`open`), versions or the `owner_key`",
                guard.name()
            ),
        );
        return None;
    }
    for key in ["act", "max", "barrier"] {
        if let Some(entry) = fields.get(key) {
            let message = format!("`{key}` cannot apply: in the lock's own store an operation is one transaction");
            sink.error(entry.site, message);
            return None;
        }
    }
    Some(true)
}

/// Makes sure that the lock's own store can hold the objects, and that they are read and written, and no more.
pub(super) fn check_store(fields: &mut Fields<'_>, lock: &Lock, resource: &Resource, groups: &[Group]) -> Option<()> {
    check_migration(fields, lock, resource, groups)?;
    if !resource.is_in_store {
        return Some(());
    }
    let site = fields.get("resource")?.node.as_table()?.get("lives-in")?.node.site;
    let locks = || groups.iter().map(|group| group.lock.as_ref().unwrap_or(lock));
    let holds_objects = |lock: &Lock| {
        matches!(
            lock,
            Lock::Etcd(EtcdLock::Mutex(_))
                | Lock::ZooKeeper(ZkLock::Queue(_))
                | Lock::Postgres(PgLock::Advisory(_) | PgLock::Row(_))
        )
    };
    if let Some(other) = locks().find(|lock| !holds_objects(lock)) {
        // In the same store, if that has a lock that can.
        let instead = if matches!(other, Lock::Postgres(_)) { "postgres" } else { "etcd" };
        let message = format!(
            "of objects in the lock's own store only those of `etcd`, `zookeeper`, `curator`, `postgres` and `postgres-row` \
             are modelled: `lock = {instead:?}`"
        );
        fields.sink.error(site, message);
        return None;
    }
    if resource.guard == Guard::OwnerKey && locks().any(|lock| matches!(lock, Lock::Postgres(_))) {
        let message =
            "PostgreSQL has no key to look at: who writes on the connection that has the lock has it (`open`)";
        fields.sink.error(site, message);
        return None;
    }
    let is_more = |step: &Step| match step {
        Step::Mark(_) | Step::Ticket(_) | Step::Effect { .. } => true,
        step => step.operation().is_some_and(|about| about.takes != Use::NO_TIME),
    };
    let mut steps = groups.iter().filter_map(|group| group.script.as_ref()).flat_map(Script::all_steps);
    if steps.any(is_more) {
        fields.sink.error(site, "in the lock's own store objects are read and written, which takes no time");
        return None;
    }
    Some(())
}

/// Makes sure that an index can be made before each write: in a database, on a connection that is in no transaction.
fn check_migration(fields: &mut Fields<'_>, lock: &Lock, resource: &Resource, groups: &[Group]) -> Option<()> {
    let of_session =
        |lock: &Lock| matches!(lock, Lock::Postgres(PgLock::Advisory(AdvisoryLock { lasts: Lasts::Session, .. })));
    let all = groups.iter().map(|group| group.lock.as_ref().unwrap_or(lock)).all(of_session);
    if !resource.migrates || all && resource.is_in_store {
        return Some(());
    }
    let site = fields.get("resource")?.node.as_table()?.get("migrates")?.site;
    let message = "an index is made in PostgreSQL, outside a transaction: this needs `lock = \"postgres\"` with \
                   `scope = \"session\"`, and objects that live in the `lock-service`";
    fields.sink.error(site, message);
    None
}
