//! The lock servers of a cell: `service.redis`, for every lock on Redis servers that know nothing of each other.

use models::lock::{RedisServer, Service};

use super::lock::switch;
use super::reader::{Fields, choice};

/// Servers of the language that nobody has modelled yet.
const NOT_YET: [&str; 5] = ["redis-sentinel", "redlock", "zookeeper", "etcd", "postgres"];

/// Reads `service`: how the lock servers are set.
pub(super) fn service(fields: &mut Fields<'_>) -> Option<Service> {
    let sink = fields.sink;
    let Some(entry) = fields.get("service") else { return Some(Service::default()) };
    choice(sink, &entry.node, "the service", &["redis"], &NOT_YET)?.table(sink, |fields| {
        let (ttl_clock, persistence) = (switch(fields), switch(fields));
        Some(Service::Redis(RedisServer { ttl_clock: ttl_clock?, persistence: persistence? }))
    })
}
