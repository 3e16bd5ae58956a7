//! A PostgreSQL server, its standby and the pooler before it.

use host::{Duration, KeepAlive};
use models::lock::{MOST_POOLED, MOST_PROBES, PgServers, PgTimeouts, Pooler, Synchronous};

use super::super::lock::{postgres::whole_ms, switch};
use super::super::reader::{Fields, table};
use super::super::tree::Node;
use super::super::value::{integer, positive, span};
use super::Sink;

pub(super) fn servers(fields: &mut Fields<'_>) -> Option<PgServers> {
    let sink = fields.sink;
    let default = PgServers::default();
    let standbys =
        fields.or("standbys", default.standbys, |sink, node| integer(sink, node, "standbys are counted", 0, 1));
    let synchronous: Option<Synchronous> = switch(fields);
    let lag = fields.or("lag", default.lag, span);
    let keepalive = fields.or("keepalive", default.keepalive, |sink, node| table(sink, node, "`keepalive`", keepalive));
    let timeouts = timeouts(fields);
    let pooler = fields.maybe("pooler", |sink, node| table(sink, node, "`pooler`", pooler));
    if let (Some(0), Some(Synchronous::Standby)) = (standbys, synchronous) {
        let site = fields.get("synchronous").map_or(fields.site, |entry| entry.node.site);
        sink.error(site, "there is no standby to wait for: `standbys = 1`, or every commit waits for ever");
        return None;
    }
    if let Some(0) = standbys
        && let Some(entry) = fields.get("lag")
    {
        sink.error(entry.site, "there is no standby that could lag: `standbys = 1`");
        return None;
    }
    Some(PgServers {
        standbys: standbys?,
        synchronous: synchronous?,
        lag: lag?,
        keepalive: keepalive?,
        timeouts: timeouts?,
        pooler: pooler?,
    })
}

fn keepalive(fields: &mut Fields<'_>) -> Option<KeepAlive> {
    let default = PgServers::default().keepalive;
    let idle = fields.or("idle", default.idle, whole_seconds);
    let interval = fields.or("interval", default.interval, whole_seconds);
    let count =
        fields.or("count", default.count, |sink, node| integer(sink, node, "questions are counted", 1, MOST_PROBES));
    let user_timeout = fields.or("user-timeout", default.user_timeout, whole_ms);
    Some(KeepAlive { idle: idle?, interval: interval?, count: count?, user_timeout: user_timeout? })
}

fn timeouts(fields: &mut Fields<'_>) -> Option<PgTimeouts> {
    let default = PgTimeouts::default();
    let deadlock = fields
        .or("deadlock-timeout", default.deadlock, |sink, node| positive(sink, node).and_then(|_| whole_ms(sink, node)));
    let mut own = |key, default| fields.or(key, default, whole_ms);
    let (lock, statement) = (own("lock-timeout", default.lock), own("statement-timeout", default.statement));
    let idle_session = own("idle-session-timeout", default.idle_session);
    let idle_in_transaction = own("idle-in-transaction-timeout", default.idle_in_transaction);
    let connection_check = own("connection-check", default.connection_check);
    Some(PgTimeouts {
        deadlock: deadlock?,
        lock: lock?,
        statement: statement?,
        idle_session: idle_session?,
        idle_in_transaction: idle_in_transaction?,
        connection_check: connection_check?,
    })
}

fn pooler(fields: &mut Fields<'_>) -> Option<Pooler> {
    let default = Pooler::default();
    let mode = switch(fields);
    let size =
        fields.or("size", default.size, |sink, node| integer(sink, node, "connections are counted", 1, MOST_POOLED));
    let server_lifetime = fields.or("server-lifetime", default.server_lifetime, whole_seconds);
    Some(Pooler { mode: mode?, size: size?, server_lifetime: server_lifetime? })
}

/// What is set in whole seconds: sockets' and the pooler's.
fn whole_seconds(sink: &Sink, node: &Node) -> Option<Duration> {
    let duration = positive(sink, node)?;
    if duration.subsec_nanos() != 0 {
        sink.error(node.site, "this is taken in whole seconds");
        return None;
    }
    Some(duration)
}
