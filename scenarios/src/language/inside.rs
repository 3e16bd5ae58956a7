//! Faults inside a service, and of what its machine lends it: `evict`, `promote`, `disk`, `restore`.
//!
//! * `evict = { key, node }`: a lock server forgets a key to make room. `key` is the lock's by default, or
//!   that of its counter of tokens; `node` is every lock server.
//! * `promote = NODES`: an operator makes a replica the primary.
//! * `disk = { node, fails = "cannot-persist" | "out-of-memory" }`: the machine cannot write, or may use no
//!   more memory. What its server refuses then is the model's to say. A server that does not mind is refused.
//! * `disk = { node, slow = SPAN }`: each sync takes so long. It is refused where nothing is ever synced.

//! * `restore = { node, as-of }`: an operator puts back what the servers' disks had at that moment of the run. `node` is every
//!   lock server; of a cluster it is never one member alone, which would have forgotten what it had told the others.

use host::{Name, Shortage, Span};
use models::lock::{Persistence, ServerKind, Service};

use super::error::Sink;
use super::nodes::{Kind, Roles};
use super::reader::{Fields, unknown_word, word, wrong_type};
use super::steps::LOCK;
use super::tree::{Node, Site};
use super::value::{duration, span};
use super::when::World;
use crate::cell::{DiskFault, NodeRef, What};

/// What may fail, by the names of the configuration that it makes a server complain of.
pub(super) const FAILURES: [(&str, Shortage); 2] =
    [("cannot-persist", Shortage::Disk), ("out-of-memory", Shortage::Memory)];

pub(super) fn evict(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let key = fields.or("key", LOCK, |sink, node| key(sink, node, world));
    let node = fields.or("node", world.names.servers(), |sink, node| {
        let nodes = world.names.several(sink, node, roles)?;
        only(sink, node.site, &nodes, world, &[Kind::Server], "only a lock server has keys to evict")?;
        Some(nodes)
    });
    let why = "these servers evict nothing: only Redis does that, to make room";
    in_memory(fields.sink, fields.site, node.as_deref()?, world, why)?;
    Some(What::Evict { node: node?, key: key? })
}

pub(super) fn promote(sink: &Sink, node: &Node, world: &World, roles: Roles) -> Option<What> {
    let nodes = world.names.several(sink, node, roles)?;
    if nodes.iter().all(|node| world.names.server_kind(node).is_some_and(ServerKind::can_be_promoted)) {
        return Some(What::Promote(nodes));
    }
    sink.error(node.site, "this can never apply: only a replica, or a standby, can be made the primary");
    None
}

pub(super) fn disk(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let sink = fields.sink;
    let named =
        fields.need("node", |sink, node| world.names.several(sink, node, roles).map(|nodes| (nodes, node.site)));
    let fails = fields.get("fails").map(|entry| failure(sink, &entry.node));
    let slow = fields.get("slow").map(|entry| slowness(sink, &entry.node));
    let how = match (fails, slow) {
        (Some(fails), None) => fails.map(DiskFault::Fails),
        (None, Some(by)) => by.map(DiskFault::Slow),
        (Some(_), Some(_)) => {
            sink.error(fields.site, "a disk `fails` or is `slow`: two faults if it is both");
            None
        }
        (None, None) if fields.misspelt(&["fails", "slow"]) => None,
        (None, None) => {
            sink.error(fields.site, "nothing is wrong with this disk: it `fails` or is `slow`");
            None
        }
    };
    let (node, site) = named?;
    let persistence = world.service.as_ref().map(|service| service.redis().persistence);
    match how {
        Some(DiskFault::Fails(what)) => {
            only(sink, site, &node, world, &[Kind::Server], "only a lock server minds what its machine is short of")?;
            in_memory(sink, site, &node, world, "of the lock servers only Redis minds what its machine is short of")?;
            if what == Shortage::Disk && !persistence.is_none_or(|kept| kept == Persistence::Save) {
                sink.error(site, "this can never apply: only a server with `persistence = \"save\"` minds such a disk");
                return None;
            }
        }
        Some(DiskFault::Slow(_)) if persistence.is_some_and(syncs) => {
            let kinds = [Kind::Resource, Kind::Server];
            only(sink, site, &node, world, &kinds, "only the resource and lock servers have disks")?;
        }
        Some(DiskFault::Slow(_)) => {
            only(sink, site, &node, world, &[Kind::Resource], waits_for_disks(world))?;
        }
        None => {}
    }
    Some(What::Disk { node, how: how? })
}

pub(super) fn restore(fields: &mut Fields<'_>, world: &World, roles: Roles) -> Option<What> {
    let (sink, site) = (fields.sink, fields.site);
    let as_of = fields.need("as-of", duration);
    let node = fields.or("node", world.names.servers(), |sink, node| {
        let nodes = world.names.several(sink, node, roles)?;
        only(sink, node.site, &nodes, world, &[Kind::Server], "only lock servers have a backup")?;
        let is_whole = nodes.len() == world.names.servers().len();
        if nodes.iter().any(|node| world.names.server_kind(node).is_some_and(ServerKind::agrees)) && !is_whole {
            let message = "a member that forgets what it had told the others breaks what they rest on: all members are \
                           restored, or none (leave out `node`)";
            sink.error(node.site, message);
            return None;
        }
        Some(nodes)
    });
    let keeps = |service: &Service| match service {
        Service::Redis(redis) => redis.persistence != Persistence::None,
        Service::Etcd(_) | Service::ZooKeeper(_) | Service::Postgres(_) => true,
        Service::Sentinel(_) => false,
    };
    if !world.service.as_ref().is_none_or(keeps) {
        sink.error(site, "this can never apply: these servers keep nothing on a disk (`persistence`)");
        return None;
    }
    Some(What::Restore { node: node?, as_of: as_of? })
}

/// Who waits for a disk, if these lock servers do not.
const fn waits_for_disks(world: &World) -> &'static str {
    match &world.service {
        Some(Service::Etcd(_)) => "no slow disk of etcd is modelled: only the resource waits for its disk",
        Some(Service::ZooKeeper(_)) => "no slow disk of ZooKeeper is modelled: only the resource waits for its disk",
        Some(Service::Postgres(_)) => "no slow disk of PostgreSQL is modelled: only the resource waits for its disk",
        Some(Service::Redis(_) | Service::Sentinel(_)) | None => {
            "only the resource waits for its disk, and a lock server with a log (`persistence`)"
        }
    }
}

/// Whether such a server syncs its disk while it runs.
const fn syncs(persistence: Persistence) -> bool {
    matches!(persistence, Persistence::AofEverysec | Persistence::AofAlways)
}

/// A key that this cell's lock servers may have.
fn key(sink: &Sink, node: &Node, world: &World) -> Option<Name> {
    let Some(key) = node.as_text() else { return wrong_type(sink, node, "a key is named by a string") };
    world.lock.as_ref()?;
    let counters = world.of_locks(|lock| lock.counter().into_iter().collect());
    let keys: Vec<_> = world.locks.iter().copied().chain(counters).collect();
    let names: Vec<_> = keys.iter().map(Name::as_str).collect();
    keys.iter()
        .copied()
        .find(|known| known.as_str() == key)
        .or_else(|| unknown_word(sink, node.site, "a key of this cell's lock servers", key, &names))
}

fn failure(sink: &Sink, node: &Node) -> Option<Shortage> {
    let name = word(sink, node, "how a disk fails", &FAILURES.map(|(name, _)| name))?;
    FAILURES.into_iter().find(|(other, _)| *other == name).map(|(_, what)| what)
}

fn slowness(sink: &Sink, node: &Node) -> Option<Span> {
    let by = span(sink, node)?;
    if by == Span::Fixed(host::Duration::ZERO) {
        sink.error(node.site, "a disk that takes no time is not slow");
        return None;
    }
    Some(by)
}

/// Whether all these lock servers keep what they have in memory.
fn in_memory(sink: &Sink, site: Site, nodes: &[NodeRef], world: &World, why: &str) -> Option<()> {
    if nodes.iter().all(|node| world.names.server_kind(node).is_none_or(ServerKind::lives_in_memory)) {
        return Some(());
    }
    sink.error(site, format!("this can never apply: {why}"));
    None
}

/// Whether all these nodes are of such a kind.
fn only(sink: &Sink, site: Site, nodes: &[NodeRef], world: &World, kinds: &[Kind], why: &str) -> Option<()> {
    if nodes.iter().all(|node| kinds.contains(&world.names.kind(node))) {
        return Some(());
    }
    sink.error(site, format!("this can never apply: {why}"));
    None
}
