//! The lock of one cell.
//!
//! * `lock` is a recipe with its switches, or the recipe's name.
//! * When the resource checks tokens and the lock's `token` is not set, the lock takes the token that
//!   its kind has: single Redis, `INCR` in the script that takes the lock. A lock that is told to give
//!   none is refused there: its operations would carry no token.

mod etcd;
pub(super) mod postgres;
mod zookeeper;

use host::Duration;
use models::guard::Guard;
use models::lock::redlock::MajorityToken;
use models::lock::switch::Choice;
use models::lock::zookeeper::Library;
use models::lock::{
    LOCKS, Lock, MOST_NODES, MOST_SENTINELS, RedisLock, RedissonLock, RedlockLock, Renew, SLOT, SentinelLock, Take,
    TokenSource, WaitFor, redlock,
};

use super::error::Sink;
use super::merge::lay;
use super::reader::{Fields, choice, table, word};
use super::tree::{Entry, Node, Site, Table, Value};
use super::value::{integer, positive};

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

/// A client's own `lock`, laid over the file's: switch by switch if it is the same lock, else as it stands.
pub(super) fn laid_over(file: &Node, own: &Node) -> Node {
    let name = |node: &Node| match &node.value {
        Value::Table(table) => table.keys().next().map(str::to_owned),
        _ => node.as_text().map(str::to_owned),
    };
    if name(file) != name(own) {
        return own.clone();
    }
    let entry = |node: &Node| Entry { key: "lock".to_owned(), site: node.site, node: node.clone() };
    let mut laid = Table { entries: vec![entry(file)] };
    lay(&mut laid, &Table { entries: vec![entry(own)] });
    laid.get("lock").map_or_else(|| own.clone(), |entry| entry.node.clone())
}

/// Reads `lock`. `guard` is the resource's, `ttl` the file's; an unreadable one is `None`. A client by itself waits
/// `call_timeout` for an answer.
pub(super) fn lock(
    sink: &Sink,
    node: &Node,
    guard: Option<Guard>,
    ttl: Option<Option<Duration>>,
    call_timeout: Duration,
) -> Option<Lock> {
    let names: Vec<_> = LOCKS.iter().map(|facts| facts.name).collect();
    let choice = choice(sink, node, "the lock", &names, &[])?;
    match choice.name {
        "redis" => choice.table(sink, |fields| redis(fields, guard, ttl)).map(Lock::Redis),
        "redisson" => choice.table(sink, |fields| redisson(fields, guard, ttl)).map(Lock::Redisson),
        "redlock" => choice.table(sink, |fields| redlock(fields, guard, ttl, call_timeout)).map(Lock::Redlock),
        "redis-sentinel" => choice.table(sink, |fields| sentinel(fields, guard, ttl)).map(Lock::Sentinel),
        "etcd" => choice.table(sink, |fields| etcd::mutex(fields, ttl)).map(Lock::Etcd),
        "etcd-v3lock" => choice.table(sink, |fields| etcd::v3lock(fields, ttl)).map(Lock::Etcd),
        "etcd-key" => choice.table(sink, |fields| etcd::key(fields, ttl)).map(Lock::Etcd),
        "kubernetes-lease" => choice.table(sink, |fields| etcd::record(fields, ttl)).map(Lock::Etcd),
        "zookeeper" => {
            choice.table(sink, |fields| zookeeper::queue(fields, Library::Documentation, ttl)).map(Lock::ZooKeeper)
        }
        "curator" => choice.table(sink, |fields| zookeeper::queue(fields, Library::Curator, ttl)).map(Lock::ZooKeeper),
        "zookeeper-herd" => choice.table(sink, |fields| zookeeper::herd(fields, ttl)).map(Lock::ZooKeeper),
        "postgres" => choice.table(sink, |fields| postgres::advisory(fields, guard)).map(Lock::Postgres),
        "postgres-row" => choice.table(sink, postgres::row).map(Lock::Postgres),
        "lease-row" => choice.table(sink, |fields| postgres::lease_row(fields, ttl)).map(Lock::Postgres),
        "none" => choice.bare(sink, Lock::None),
        other => unreachable!("no reader for the switches of `{other}`"),
    }
}

fn redis(fields: &mut Fields<'_>, guard: Option<Guard>, ttl: Option<Option<Duration>>) -> Option<RedisLock> {
    let sink = fields.sink;
    let [take_site, token_site] = ["take", "token"].map(|key| fields.get(key).map(|entry| entry.node.site));
    let renew_site = fields.get("renew").map(|entry| entry.site);
    let (value, take, token) = (switch(fields), switch(fields), own_switch::<TokenSource>(fields));
    let (on_error, on_denied, lease_from, clock, again) =
        (switch(fields), switch(fields), switch(fields), switch(fields), switch(fields));
    let (extend, zero, release, late_grant) = (switch(fields), switch(fields), switch(fields), switch(fields));
    let local = switch(fields);
    let renew = fields.maybe("renew", |sink, node| {
        table(sink, node, "`renew`", |fields| {
            let every = fields.need("every", positive);
            renew(fields, every)
        })
    });
    if let (Some(site), Some(None)) = (renew_site, ttl) {
        sink.error(site, "there is nothing to renew: `ttl` is \"none\"");
        return None;
    }
    if let (Some(site), Some(None), Some(Take::SetThenExpire)) = (take_site, ttl, take) {
        sink.error(site, "there is nothing that expires: `ttl` is \"none\"");
        return None;
    }
    let checked = guard.is_some_and(Guard::orders_tokens);
    let token = match token? {
        Some(TokenSource::None) if checked => return no_token(sink, token_site.unwrap_or(fields.site)),
        Some(token) => token,
        None if checked => TokenSource::IncrInScript,
        None => TokenSource::default(),
    };
    Some(RedisLock {
        value: value?,
        take: take?,
        token,
        on_error: on_error?,
        on_denied: on_denied?,
        lease_from: lease_from?,
        clock: clock?,
        again: again?,
        extend: extend?,
        zero: zero?,
        renew: renew?,
        release: release?,
        late_grant: late_grant?,
        local: local?,
    })
}

fn sentinel(fields: &mut Fields<'_>, guard: Option<Guard>, ttl: Option<Option<Duration>>) -> Option<SentinelLock> {
    let (finds, verifies) = (switch(fields), switch(fields));
    let wait = fields.maybe("wait", |sink, node| {
        table(sink, node, "`wait`", |fields| {
            let replicas =
                fields.need("replicas", |sink, node| integer(sink, node, "replicas are counted", 1, MOST_SENTINELS));
            let timeout = fields.or("timeout", Duration::from_secs(1), positive);
            Some(WaitFor { replicas: replicas?, timeout: timeout? })
        })
    });
    let redis = redis(fields, guard, ttl);
    Some(SentinelLock { redis: redis?, finds: finds?, verifies: verifies?, wait: wait? })
}

fn redisson(fields: &mut Fields<'_>, guard: Option<Guard>, ttl: Option<Option<Duration>>) -> Option<RedissonLock> {
    let (sink, site) = (fields.sink, fields.site);
    let (resend, waits, order, told) = (switch(fields), switch(fields), switch(fields), switch(fields));
    let slot = fields.or("slot", SLOT, positive);
    let a_third = ttl.flatten().map(|ttl| ttl / 3);
    let renew = match fields.get("renew") {
        Some(entry) => table(sink, &entry.node, "`renew`", |fields| {
            let every = fields.maybe("every", positive).and_then(|every| every.or(a_third));
            renew(fields, every)
        }),
        None => a_third.map(Renew::every),
    };
    if ttl == Some(None) {
        sink.error(site, "this lock has a lease, always, and `ttl` is \"none\"");
        return None;
    }
    if guard.is_some_and(Guard::orders_tokens) {
        return no_token(sink, site);
    }
    Some(RedissonLock { resend: resend?, renew: renew?, waits: waits?, order: order?, told: told?, slot: slot? })
}

fn redlock(
    fields: &mut Fields<'_>,
    guard: Option<Guard>,
    ttl: Option<Option<Duration>>,
    call_timeout: Duration,
) -> Option<RedlockLock> {
    let (sink, site) = (fields.sink, fields.site);
    let library: redlock::Library = switch(fields)?;
    let own = RedlockLock::of_library(library, ttl.flatten().unwrap_or_default(), call_timeout);
    let quorum =
        fields.maybe("quorum", |sink, node| integer(sink, node, "`quorum` is a number of servers", 1, MOST_NODES));
    let node_timeout = fields.or("node-timeout", own.node_timeout, positive);
    let renew = fields.maybe("renew", |sink, node| {
        table(sink, node, "`renew`", |fields| {
            let every = fields.need("every", positive);
            renew(fields, every)
        })
    });
    let checked = guard.is_some_and(Guard::orders_tokens);
    let token_site = fields.get("token").map(|entry| entry.node.site);
    let by_guard = if checked { MajorityToken::WriteBack } else { MajorityToken::None };
    let (value, ask, stop) = (switch_or(fields, own.value), switch_or(fields, own.ask), switch_or(fields, own.stop));
    let lease = switch_or(fields, own.lease);
    let (accept, lease_from) = (switch_or(fields, own.accept), switch_or(fields, own.lease_from));
    let (clock, drift) = (switch_or(fields, own.clock), switch_or(fields, own.drift));
    let (on_error, unlock) = (switch_or(fields, own.on_error), switch_or(fields, own.unlock));
    let (extend, failed) = (switch_or(fields, own.extend), switch_or(fields, own.on_failed_extend));
    let token = switch_or(fields, by_guard);
    if ttl == Some(None) {
        sink.error(site, "this lock has a lease, always, and `ttl` is \"none\"");
        return None;
    }
    if let (Some(site), Some(MajorityToken::None), true) = (token_site, token, checked) {
        return no_token(sink, site);
    }
    Some(RedlockLock {
        value: value?,
        ask: ask?,
        stop: stop?,
        quorum: quorum?,
        node_timeout: node_timeout?,
        lease: lease?,
        accept: accept?,
        lease_from: lease_from?,
        clock: clock?,
        drift: drift?,
        on_error: on_error?,
        unlock: unlock?,
        extend: extend?,
        on_failed_extend: failed?,
        renew: renew?,
        token: token?,
    })
}

/// Reads how a lease is extended every so often.
fn renew(fields: &mut Fields<'_>, every: Option<Duration>) -> Option<Renew> {
    let (on_failure, stops, entry) = (switch(fields), switch(fields), switch(fields));
    Some(Renew { every: every?, on_failure: on_failure?, stops: stops?, entry: entry? })
}

/// Reads a switch: one of its words, or its default.
pub(super) fn switch<T: Choice>(fields: &mut Fields<'_>) -> Option<T> {
    own_switch(fields).map(Option::unwrap_or_default)
}

/// Reads a switch with a default of its own.
fn switch_or<T: Choice>(fields: &mut Fields<'_>, default: T) -> Option<T> {
    own_switch(fields).map(|own| own.unwrap_or(default))
}

/// Reads a switch, if it is set.
fn own_switch<T: Choice>(fields: &mut Fields<'_>) -> Option<Option<T>> {
    let path = T::SWITCH.path;
    let key = path.rsplit_once('.').map_or(path, |(_, key)| key);
    fields.maybe(key, |sink, node| {
        let names: Vec<_> = T::WORDS.iter().map(|word| word.name).collect();
        let name = word(sink, node, &format!("`{key}`"), &names)?;
        T::ALL.iter().zip(names).find(|(_, other)| *other == name).map(|(choice, _)| *choice)
    })
}

fn no_token<T>(sink: &Sink, site: Site) -> Option<T> {
    sink.error(site, "the resource checks tokens, and this lock would give none: its operations would carry no token");
    None
}
