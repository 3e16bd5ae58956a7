//! The locks on a ZooKeeper ensemble.

use models::lock::zookeeper::{Library, LostAfter};
use models::lock::{HerdLock, QueueLock, ZkLock};

use super::super::reader::Fields;
use super::etcd::Ttl;
use super::{switch, switch_or};

pub(super) fn queue(fields: &mut Fields<'_>, library: Library, ttl: Ttl) -> Option<ZkLock> {
    let own = QueueLock::of_library(library);
    let (order, adopts, deletes) = (switch(fields), switch(fields), switch(fields));
    let stops = switch(fields);
    let lost_after = match library {
        Library::Documentation => Some(LostAfter::Never),
        Library::Curator => switch_or(fields, own.lost_after),
    };
    let (looks, token) = (switch(fields), switch(fields));
    has_length(fields, ttl)?;
    Some(ZkLock::Queue(QueueLock {
        library,
        order: order?,
        adopts: adopts?,
        deletes: deletes?,
        stops: stops?,
        lost_after: lost_after?,
        looks: looks?,
        token: token?,
    }))
}

pub(super) fn herd(fields: &mut Fields<'_>, ttl: Ttl) -> Option<ZkLock> {
    let stops = switch(fields);
    has_length(fields, ttl)?;
    Some(ZkLock::Herd(HerdLock { stops: stops? }))
}

/// A session has a length: `ttl`.
fn has_length(fields: &Fields<'_>, ttl: Ttl) -> Option<()> {
    if ttl?.is_none() {
        fields.sink.error(fields.site, "this lock hangs on a session, which ends, and `ttl` is \"none\"");
        return None;
    }
    Some(())
}
