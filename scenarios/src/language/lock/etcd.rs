//! The locks on an etcd cluster.

use host::Duration;
use models::lock::etcd::{Expires, KeyLibrary, Waits};
use models::lock::{EtcdLock, KeyLock, LEAST_LEASE, MutexLock, RecordLock};

use super::super::reader::{Fields, table};
use super::super::value::positive;
use super::{renew, switch, switch_or};

/// A file's `ttl`: an unreadable one is `None`, one that does not expire `Some(None)`.
pub(super) type Ttl = Option<Option<Duration>>;

pub(super) fn mutex(fields: &mut Fields<'_>, ttl: Ttl) -> Option<EtcdLock> {
    let (after_wait, on_failed_unlock, looks) = (switch(fields), switch(fields), switch(fields));
    lease(fields, ttl)?;
    Some(EtcdLock::Mutex(MutexLock { after_wait: after_wait?, on_failed_unlock: on_failed_unlock?, looks: looks? }))
}

pub(super) fn v3lock(fields: &mut Fields<'_>, ttl: Ttl) -> Option<EtcdLock> {
    let on_failed_unlock = switch(fields);
    lease(fields, ttl)?;
    on_failed_unlock.map(EtcdLock::V3Lock)
}

pub(super) fn key(fields: &mut Fields<'_>, ttl: Ttl) -> Option<EtcdLock> {
    let (sink, site) = (fields.sink, fields.site);
    let library: KeyLibrary = switch(fields)?;
    let own = KeyLock::of_library(library, ttl.flatten().unwrap_or_default());
    let on_timeout = fields.get("on-timeout").map(|entry| entry.site);
    let (waits, expires) = (switch_or(fields, own.waits), switch_or(fields, own.expires));
    let retry_timeout = fields.or("retry-timeout", own.retry_timeout, positive);
    let a_third = ttl.flatten().map(|ttl| ttl / 3);
    let renew = match fields.get("renew") {
        Some(entry) => table(sink, &entry.node, "`renew`", |fields| {
            let every = fields.maybe("every", positive).and_then(|every| every.or(a_third));
            renew(fields, every).map(Some)
        }),
        None => Some(own.renew),
    };
    lease(fields, ttl)?;
    let (waits, expires) = (waits?, expires?);
    if waits == Waits::Polling && expires == Expires::GoesOn {
        let message =
            "who polls is through with each try at once, and knows no timeout: `on-timeout` is for who watches";
        sink.error(on_timeout.unwrap_or(site), message);
        return None;
    }
    let (retry_timeout, renew) = (retry_timeout?, renew?);
    if let (Some(renew), Some(Some(ttl))) = (renew, ttl)
        && renew.every >= ttl
    {
        let site = fields.get("renew").map_or(site, |entry| entry.site);
        sink.error(site, "a lease that is extended after its end is lost: `renew.every` is shorter than `ttl`");
        return None;
    }
    Some(EtcdLock::Key(KeyLock { library, waits, expires, retry_timeout, renew }))
}

pub(super) fn record(fields: &mut Fields<'_>, ttl: Ttl) -> Option<EtcdLock> {
    let default = RecordLock::of_lease(ttl.flatten().unwrap_or_default());
    let (sink, site) = (fields.sink, fields.site);
    let retry_period = fields.or("retry-period", default.retry_period, positive);
    let renew_deadline = fields.or("renew-deadline", default.renew_deadline, positive);
    let (deadline_from, judged_by) = (switch(fields), switch(fields));
    let (length, identity) = (switch(fields), switch(fields));
    let (ttl, retry_period, renew_deadline) = (in_seconds(fields, ttl)?, retry_period?, renew_deadline?);
    if ttl <= renew_deadline {
        sink.error(site, "client-go wants a lease (`ttl`) that is longer than `renew-deadline`");
        return None;
    }
    if renew_deadline <= retry_period * 6 / 5 {
        sink.error(site, "client-go wants a `renew-deadline` that is longer than 1.2 times `retry-period`");
        return None;
    }
    Some(EtcdLock::Record(RecordLock {
        retry_period,
        renew_deadline,
        deadline_from: deadline_from?,
        judged_by: judged_by?,
        length: length?,
        identity: identity?,
    }))
}

/// The length of a lease that etcd takes as it is.
fn lease(fields: &Fields<'_>, ttl: Ttl) -> Option<Duration> {
    let ttl = in_seconds(fields, ttl)?;
    if ttl < LEAST_LEASE {
        let message = "etcd raises leases of less than 2 s to 2 s, so that `ttl` would not be what it says";
        fields.sink.error(fields.site, message);
        return None;
    }
    Some(ttl)
}

/// The length of a lease, in whole seconds.
fn in_seconds(fields: &Fields<'_>, ttl: Ttl) -> Option<Duration> {
    match ttl? {
        None => fields.sink.error(fields.site, "this lock has a lease, always, and `ttl` is \"none\""),
        Some(ttl) if ttl.subsec_nanos() != 0 => {
            fields.sink.error(fields.site, "this lock takes leases in whole seconds, and `ttl` is none such");
        }
        Some(ttl) => return Some(ttl),
    }
    None
}
