//! The lock servers of a cell: `service.redis`, for every lock on Redis servers that know nothing of each other,
//! `service.redis-sentinel`, `service.etcd`, `service.zookeeper` and
//! `service.postgres`. A cell has the servers of its lock; those that a file sets are to be these.

mod postgres;

use models::lock::{
    EtcdServers, Lock, MOST_MEMBERS, MOST_NODES, MOST_SENTINELS as MOST, RedisServer, SentinelServers, Service,
    ZkServers,
};

use super::error::Sink;
use super::lock::switch;
use super::reader::{Fields, choice};
use super::value::{integer, positive, span};

/// Reads `service`: how the lock servers are set. `lock` is the file's, if it could be read.
pub(super) fn service(fields: &mut Fields<'_>, lock: Option<&Lock>) -> Option<Service> {
    let sink = fields.sink;
    let name = lock.map(|lock| lock.facts().service_name);
    let Some(entry) = fields.get("service") else { return Some(Service::by_default(name)) };
    let choice =
        choice(sink, &entry.node, "the service", &["redis", "redis-sentinel", "etcd", "zookeeper", "postgres"], &[])?;
    if let Some(name) = name.filter(|name| *name != choice.name) {
        let message = format!("these are not the servers of this cell's lock, which are set below `service.{name}`");
        sink.error(choice.site, message);
        return None;
    }
    match choice.name {
        "redis" => choice.table(sink, |fields| {
            let nodes = nodes(fields, lock);
            let (ttl_clock, persistence) = (switch(fields), switch(fields));
            Some(Service::Redis(RedisServer { nodes: nodes?, ttl_clock: ttl_clock?, persistence: persistence? }))
        }),
        "redis-sentinel" => choice.table(sink, sentinel).map(Service::Sentinel),
        "etcd" => choice.table(sink, etcd).map(Service::Etcd),
        "zookeeper" => choice.table(sink, zookeeper).map(Service::ZooKeeper),
        "postgres" => choice.table(sink, postgres::servers).map(Service::Postgres),
        other => unreachable!("no reader for the service `{other}`"),
    }
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

fn etcd(fields: &mut Fields<'_>) -> Option<EtcdServers> {
    let default = EtcdServers::default();
    let members = members(fields, default.members);
    let (version, pre_vote, checkpoints, restored) = (switch(fields), switch(fields), switch(fields), switch(fields));
    Some(EtcdServers {
        members: members?,
        version: version?,
        pre_vote: pre_vote?,
        checkpoints: checkpoints?,
        restored: restored?,
    })
}

fn zookeeper(fields: &mut Fields<'_>) -> Option<ZkServers> {
    let default = ZkServers::default();
    let members = members(fields, default.members);
    let tick = fields.or("tick", default.tick, |sink, node| {
        let tick = positive(sink, node)?;
        if tick < LEAST_TICK {
            sink.error(node.site, "a tick is 10 ms at least: members say each half of one that they are there");
            return None;
        }
        Some(tick)
    });
    let sync_limit = fields.or("sync-limit", default.sync_limit, |sink, node| {
        integer(sink, node, "`sync-limit` is a number of ticks", 2, MOST_TICKS)
    });
    Some(ZkServers { members: members?, tick: tick?, sync_limit: sync_limit? })
}

const LEAST_TICK: host::Duration = host::Duration::from_millis(10);
const MOST_TICKS: u16 = 50;

/// How many members a cluster has.
fn members(fields: &mut Fields<'_>, default: u16) -> Option<u16> {
    fields.or("members", default, |sink, node| {
        let members = integer(sink, node, "members are counted", 1, MOST_MEMBERS)?;
        if members % 2 == 0 {
            sink.error(node.site, "an even number of members bears no more deaths than one less: take 1, 3 or 5");
            return None;
        }
        Some(members)
    })
}

fn sentinel(fields: &mut Fields<'_>) -> Option<SentinelServers> {
    let default = SentinelServers::default();
    let replicas =
        fields.or("replicas", default.replicas, |sink, node| integer(sink, node, "replicas are counted", 0, MOST));
    let sentinels =
        fields.or("sentinels", default.sentinels, |sink, node| integer(sink, node, "Sentinels are counted", 1, MOST));
    let quorum = fields.or("quorum", default.quorum, |sink, node| integer(sink, node, "a quorum is a number", 1, MOST));
    let down_after = fields.or("down-after", default.down_after, positive);
    let failover_timeout = fields.or("failover-timeout", default.failover_timeout, positive);
    let lag = fields.or("lag", default.lag, span);
    let min_replicas = fields.or("min-replicas-to-write", default.min_replicas, |sink, node| {
        integer(sink, node, "replicas are counted", 0, MOST)
    });
    let max_lag = fields.or("min-replicas-max-lag", default.max_lag, whole_seconds);
    let quorum_site = fields.get("quorum").map_or(fields.site, |entry| entry.node.site);
    if let (Some(quorum), Some(sentinels)) = (quorum, sentinels)
        && quorum > sentinels
    {
        fields.sink.error(quorum_site, "a quorum of more Sentinels than there are never comes about");
        return None;
    }
    Some(SentinelServers {
        replicas: replicas?,
        sentinels: sentinels?,
        quorum: quorum?,
        down_after: down_after?,
        failover_timeout: failover_timeout?,
        lag: lag?,
        min_replicas: min_replicas?,
        max_lag: max_lag?,
    })
}

/// Redis is set in whole seconds here.
fn whole_seconds(sink: &Sink, node: &super::tree::Node) -> Option<host::Duration> {
    let duration = positive(sink, node)?;
    if duration.subsec_nanos() != 0 {
        sink.error(node.site, "Redis takes this in whole seconds");
        return None;
    }
    Some(duration)
}
