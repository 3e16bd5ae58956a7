//! The locks on PostgreSQL.

use host::Duration;
use models::guard::Guard;
use models::lock::postgres::{Lasts, OnLoss, OnTimeout, TokenOf, Waits};
use models::lock::{AdvisoryLock, LeaseRowLock, PgLock, RowLock};

use super::super::reader::Fields;
use super::super::value::{duration, integer, positive};
use super::{no_token, own_switch, switch};

pub(super) fn advisory(fields: &mut Fields<'_>, guard: Option<Guard>) -> Option<PgLock> {
    let sink = fields.sink;
    let site_of = |fields: &mut Fields<'_>, key| fields.get(key).map(|entry| entry.site);
    let [heartbeat_site, on_timeout_site, pool_site] =
        ["heartbeat", "on-timeout", "pool"].map(|key| site_of(fields, key));
    let (lasts, waits): (Option<Lasts>, Option<Waits>) = (switch(fields), switch(fields));
    let lock_timeout = fields.or("lock-timeout", Duration::ZERO, whole_ms);
    let client_timeout = fields.maybe("client-timeout", positive);
    let on_timeout: Option<OnTimeout> = switch(fields);
    let pool = fields.or("pool", 1, |sink, node| integer(sink, node, "connections are counted", 1, MOST_CONNECTIONS));
    let returns = switch(fields);
    let (on_loss, looks): (Option<OnLoss>, _) = (switch(fields), switch(fields));
    let heartbeat = fields.maybe("heartbeat", positive);
    let target = switch(fields);
    let token = token(fields, guard);
    if waits == Some(Waits::Poll) && lock_timeout.is_some_and(|timeout| timeout > Duration::ZERO) {
        let site = site_of(fields, "lock-timeout").unwrap_or(fields.site);
        sink.error(site, "who polls never waits for a lock in the server: there is nothing to time out");
        return None;
    }
    if let (Some(site), Some(None)) = (on_timeout_site, client_timeout) {
        sink.error(site, "this program waits as long as it takes: `on-timeout` is for who has a `client-timeout`");
        return None;
    }
    if let (Some(site), Some(Lasts::Transaction), Some(Some(_))) = (heartbeat_site, lasts, heartbeat)
        && on_loss == Some(OnLoss::Reconnect)
    {
        sink.error(site, "a transaction does not go on in another session: `on-loss = \"error\"`");
        return None;
    }
    if let (Some(site), Some(Lasts::Transaction), Some(2..)) = (pool_site, lasts, pool)
        && on_timeout == Some(OnTimeout::Returned)
    {
        sink.error(site, "what goes back to a pool is in no transaction: `scope = \"session\"`");
        return None;
    }
    Some(PgLock::Advisory(AdvisoryLock {
        lasts: lasts?,
        waits: waits?,
        lock_timeout: lock_timeout?,
        client_timeout: client_timeout?,
        on_timeout: on_timeout?,
        pool: pool?,
        returns: returns?,
        on_loss: on_loss?,
        looks: looks?,
        heartbeat: heartbeat?,
        target: target?,
        token: token?,
    }))
}

/// What the lock gives as a token: if nothing is said, and the resource checks tokens, the version of a row.
fn token(fields: &mut Fields<'_>, guard: Option<Guard>) -> Option<TokenOf> {
    let checked = guard.is_some_and(Guard::orders_tokens);
    let site = fields.get("token").map_or(fields.site, |entry| entry.node.site);
    match own_switch(fields)? {
        Some(TokenOf::None) if checked => no_token(fields.sink, site),
        Some(token) => Some(token),
        None if checked => Some(TokenOf::VersionRow),
        None => Some(TokenOf::default()),
    }
}

pub(super) fn row(fields: &mut Fields<'_>) -> Option<PgLock> {
    let (if_locked, transactions) = (switch(fields), switch(fields));
    Some(PgLock::Row(RowLock { if_locked: if_locked?, transactions: transactions? }))
}

/// A file's `ttl`: an unreadable one is `None`, one that does not expire `Some(None)`.
pub(super) fn lease_row(fields: &mut Fields<'_>, ttl: Option<Option<Duration>>) -> Option<PgLock> {
    let (judged_by, gives_back) = (switch(fields), switch(fields));
    if ttl == Some(None) {
        fields.sink.error(fields.site, "this lock is a lease, which ends, and `ttl` is \"none\"");
        return None;
    }
    Some(PgLock::Lease(LeaseRowLock { judged_by: judged_by?, gives_back: gives_back? }))
}

/// PostgreSQL's settings are in whole milliseconds.
pub(in crate::language) fn whole_ms(sink: &super::Sink, node: &super::Node) -> Option<Duration> {
    let duration = duration(sink, node)?;
    if !duration.as_nanos().is_multiple_of(1_000_000) {
        sink.error(node.site, "PostgreSQL takes this in whole milliseconds");
        return None;
    }
    Some(duration)
}

const MOST_CONNECTIONS: u16 = 15;
