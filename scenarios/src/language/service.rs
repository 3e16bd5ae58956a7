//! The lock servers of a cell: `service.redis`, for every lock on Redis servers that know nothing of each other.

use models::lock::{Lock, MOST_NODES, RedisServer, Service};

use super::lock::switch;
use super::reader::{Fields, choice};
use super::value::integer;

/// Servers of the language that nobody has modelled yet.
const NOT_YET: [&str; 4] = ["redis-sentinel", "zookeeper", "etcd", "postgres"];

/// Reads `service`: how the lock servers are set. `lock` is the cell's, if it could be read.
pub(super) fn service(fields: &mut Fields<'_>, lock: Option<&Lock>) -> Option<Service> {
    let sink = fields.sink;
    let Some(entry) = fields.get("service") else { return Some(Service::default()) };
    choice(sink, &entry.node, "the service", &["redis"], &NOT_YET)?.table(sink, |fields| {
        let nodes = nodes(fields, lock);
        let (ttl_clock, persistence) = (switch(fields), switch(fields));
        Some(Service::Redis(RedisServer { nodes: nodes?, ttl_clock: ttl_clock?, persistence: persistence? }))
    })
}

/// Reads how many servers there are, for a lock on several.
fn nodes(fields: &mut Fields<'_>, lock: Option<&Lock>) -> Option<u16> {
    let default = RedisServer::default().nodes;
    let Some(entry) = fields.get("nodes") else { return Some(default) };
    let takes_several = |lock: &Lock| lock.facts().service.iter().any(|switch| switch.path == "nodes");
    if lock.is_some_and(|lock| !takes_several(lock)) {
        fields.sink.error(entry.site, "this lock has one server, whatever `nodes` says");
        return None;
    }
    integer(fields.sink, &entry.node, "`nodes` is a number of servers", 1, MOST_NODES)
}
