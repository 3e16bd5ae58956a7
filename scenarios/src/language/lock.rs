//! The lock of one cell.
//!
//! * `lock` is a recipe with its switches, or the recipe's name.
//! * When the resource checks tokens and the lock's `token` is not set, the lock takes the token that
//!   its kind has: single Redis, `INCR` in the script that takes the lock. A lock that is told to give
//!   none is refused there: its operations would carry no token.

use host::Duration;
use models::guard::Guard;
use models::lock::{LOCKS, LateGrant, Lock, RedisLock, TokenSource};

use super::error::Sink;
use super::reader::{Fields, choice, table, word};
use super::tree::{Node, Site};
use super::value::positive;

/// Locks of the language that nobody has modelled yet.
const NOT_YET: [&str; 6] = ["redis-sentinel", "redlock", "zookeeper", "etcd", "postgres", "none"];

const TOKEN_SOURCES: [(&str, TokenSource); 2] =
    [("none", TokenSource::None), ("incr-in-script", TokenSource::IncrInScript)];

const LATE_GRANTS: [(&str, LateGrant); 3] =
    [("forgotten", LateGrant::Forgotten), ("kept", LateGrant::Kept), ("given-back", LateGrant::GivenBack)];

/// Reads `ttl`: a duration, or `"none"` for a lock that does not expire.
pub(super) fn ttl(sink: &Sink, node: &Node) -> Option<Option<Duration>> {
    if node.as_text() == Some("none") {
        return Some(None);
    }
    let ttl = positive(sink, node)?;
    // Redis takes a lease in milliseconds; a rounded one would not be the lease that was asked for.
    if !ttl.as_nanos().is_multiple_of(1_000_000) {
        sink.error(node.site, "a lease is a whole number of milliseconds");
        return None;
    }
    Some(Some(ttl))
}

/// Reads `lock`. `guard` is the resource's, `ttl` the file's; an unreadable one is `None`.
pub(super) fn lock(sink: &Sink, node: &Node, guard: Option<Guard>, ttl: Option<Option<Duration>>) -> Option<Lock> {
    let names: Vec<_> = LOCKS.iter().map(|facts| facts.name).collect();
    let choice = choice(sink, node, "the lock", &names, &NOT_YET)?;
    match choice.name {
        "redis" => choice.table(sink, |fields| redis(fields, guard, ttl)).map(Lock::Redis),
        other => unreachable!("no reader for the switches of `{other}`"),
    }
}

fn redis(fields: &mut Fields<'_>, guard: Option<Guard>, ttl: Option<Option<Duration>>) -> Option<RedisLock> {
    let sink = fields.sink;
    let token_site = fields.get("token").map(|entry| entry.node.site);
    let token = fields.maybe("token", token_source);
    let renew_site = fields.get("renew").map(|entry| entry.site);
    let renew =
        fields.maybe("renew", |sink, node| table(sink, node, "`renew`", |fields| fields.need("every", positive)));
    let late_grant = fields.or("late-grant", LateGrant::default(), late_grant);
    if let (Some(site), Some(None)) = (renew_site, ttl) {
        sink.error(site, "there is nothing to renew: `ttl` is \"none\"");
        return None;
    }
    let checked = guard.is_some_and(Guard::orders_tokens);
    let token = match token? {
        Some(TokenSource::None) if checked => return no_token(sink, token_site.unwrap_or(fields.site)),
        Some(token) => token,
        None if checked => TokenSource::IncrInScript,
        None => TokenSource::default(),
    };
    Some(RedisLock { token, renew: renew?, late_grant: late_grant? })
}

fn late_grant(sink: &Sink, node: &Node) -> Option<LateGrant> {
    let names = LATE_GRANTS.map(|(name, _)| name);
    let name = word(sink, node, "what becomes of a late grant", &names)?;
    LATE_GRANTS.into_iter().find(|(other, _)| *other == name).map(|(_, late_grant)| late_grant)
}

fn token_source(sink: &Sink, node: &Node) -> Option<TokenSource> {
    let names = TOKEN_SOURCES.map(|(name, _)| name);
    let name = word(sink, node, "a token's source", &names)?;
    TOKEN_SOURCES.into_iter().find(|(other, _)| *other == name).map(|(_, token)| token)
}

fn no_token(sink: &Sink, site: Site) -> Option<RedisLock> {
    sink.error(site, "the resource checks tokens, and this lock would give none: its operations would carry no token");
    None
}
