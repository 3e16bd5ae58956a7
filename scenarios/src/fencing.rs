//! What the guarded resource protects by itself, whatever its lock is promised and does: the argument on which
//! it hangs whom a verdict blames.
//!
//! **Order.** Nothing older is let in after anything newer if every operation is compared with the newest
//! token that has come before it on all that the lock protects. So each must be compared, each must record its
//! token (or follow one of the same grant that did), there must be one barrier, it must not be forgotten, and
//! nothing may come between the check and the act. It hangs on tokens that rise from grant to grant.
//!
//! | check | keeps the order |
//! |---|---|
//! | `fence_rw` | yes: reads and writes are compared and recorded |
//! | `fence_w`, `fence_le`, `fence_rc` | if nobody reads: writes are compared and recorded, reads are not |
//! | `mark` | if every holder marks before all else, or nobody reads |
//! | `owner_key` | yes: whose key is gone is older, and nobody is the owner whose key is not the first |
//! | `open`, `unique`, `version` | no: none knows which of two is older |
//!
//! **Updates.** A write finds the version that its reader saw if, since that read, nobody else could write the
//! object. Here a barrier for each object is enough, and tokens need only be unlike.
//!
//! | check | keeps updates |
//! |---|---|
//! | `fence_rw` | yes: the read shuts out all that is older, and of what is newer the first operation shuts out this write |
//! | `mark` | if every holder marks the object before it reads it: as `fence_rw`, with the mark in place of the read |
//! | `unique` | if every holder marks the object and reads it after that: who marks later shuts out this write. To forget the mark refuses it too |
//! | `version` | yes: that is what is compared |
//! | `owner_key` | yes: while the key is there nobody else is the owner |
//! | `open`, `fence_w`, `fence_le`, `fence_rc` | no: a read shuts out nobody |
//!
//! But for `version`, the read must be of the same grant as the write: a script that reads, takes the lock anew
//! and writes has a new token for an old version.
//!
//! Numbers that clients draw at the resource are unlike, and so do for updates; a `mark` resource is marked by
//! the draw. They are not in the order of grants: who sleeps between the grant and the draw comes back with the
//! higher number. And no check of an object stops an effect.

use std::collections::BTreeSet;

use models::guard::{Act, Guard, Max, Reach};
use models::script::{Step, Use};
use spec::{LockName, ObjectName};

use crate::cell::{Cell, Resource};

/// Whether nothing older is let in after anything newer.
pub(crate) fn keeps_order(cell: &Cell) -> bool {
    let mut scripts = scripts(cell);
    let compares_all = match cell.resource.guard {
        Guard::FenceRw | Guard::OwnerKey => true,
        Guard::FenceW | Guard::FenceLe | Guard::FenceRc => scripts.all(never_reads),
        Guard::Mark => scripts.all(|script| never_reads(script) || marks_first(script, &cell.resource)),
        Guard::Open | Guard::Unique | Guard::Version => false,
    };
    let has_others = steps(cell).any(|step| matches!(step, Step::Ticket(_) | Step::Effect { .. }));
    compares_all && is_atomic(cell) && remembers(cell) && has_one_barrier(cell) && !has_others
}

/// Whether every read-modify-write replaces the version on which it is based.
pub(crate) fn keeps_updates(cell: &Cell) -> bool {
    let shuts_out = match cell.resource.guard {
        Guard::Version => return is_atomic(cell),
        Guard::FenceRw | Guard::OwnerKey => remembers(cell),
        Guard::Mark => remembers(cell) && scripts(cell).all(|script| marks_first(script, &cell.resource)),
        Guard::Unique => scripts(cell).all(|script| marks_first(script, &cell.resource)),
        Guard::Open | Guard::FenceW | Guard::FenceLe | Guard::FenceRc => false,
    };
    shuts_out && is_atomic(cell) && scripts(cell).all(reads_afresh) && locks(cell).len() <= 1
}

/// Whether nothing can come between a check and its act.
fn is_atomic(cell: &Cell) -> bool {
    let takes_time = |step: &Step| step.operation().is_some_and(|about| about.takes != Use::NO_TIME);
    cell.resource.manner.act == Act::Atomic || !steps(cell).any(takes_time)
}

fn remembers(cell: &Cell) -> bool {
    cell.resource.manner.max == Max::Durable
}

/// Whether all that the lock protects is behind one barrier, and tokens are of one lock.
fn has_one_barrier(cell: &Cell) -> bool {
    let objects: BTreeSet<ObjectName> = steps(cell).filter_map(Step::operation).map(|about| about.object).collect();
    (objects.len() <= 1 || cell.resource.manner.barrier == Reach::Whole) && locks(cell).len() <= 1
}

/// The locks that anybody takes.
fn locks(cell: &Cell) -> BTreeSet<LockName> {
    let lock = |step: &Step| match step {
        Step::Acquire { lock, .. } => Some(*lock),
        _ => None,
    };
    steps(cell).filter_map(lock).collect()
}

pub(crate) fn scripts(cell: &Cell) -> impl Iterator<Item = &[Step]> {
    cell.clients.iter().flat_map(|client| &client.script.threads).map(Vec::as_slice)
}

fn steps(cell: &Cell) -> impl Iterator<Item = &Step> {
    scripts(cell).flatten().flat_map(Step::all)
}

fn never_reads(script: &[Step]) -> bool {
    !script.iter().flat_map(Step::all).any(|step| matches!(step, Step::Read(_)))
}

/// Whether, after each grant, a mark comes before every other operation behind the same barrier.
fn marks_first(script: &[Step], resource: &Resource) -> bool {
    let behind = |about: &Use| match resource.manner.barrier {
        Reach::PerObject => Some(about.object),
        Reach::Whole => None,
    };
    let mut marked = BTreeSet::new();
    in_order(script).into_iter().all(|step| {
        match step {
            Step::Acquire { .. } => marked.clear(),
            Step::Mark(about) => _ = marked.insert(behind(about)),
            Step::Ticket(about) if resource.guard == Guard::Mark => _ = marked.insert(behind(about)),
            Step::Read(about) | Step::Write(about) => return marked.contains(&behind(about)),
            _ => {}
        }
        true
    })
}

/// Whether what is written was not read under another grant, with another number or before another mark.
fn reads_afresh(script: &[Step]) -> bool {
    let (mut read, mut stale) = (BTreeSet::new(), BTreeSet::new());
    in_order(script).into_iter().all(|step| {
        match step {
            Step::Acquire { .. } | Step::Ticket(_) => stale.clone_from(&read),
            Step::Mark(about) if read.contains(&about.object) => _ = stale.insert(about.object),
            Step::Read(about) => {
                read.insert(about.object);
                stale.remove(&about.object);
            }
            Step::Write(about) => return !stale.contains(&about.object),
            _ => {}
        }
        true
    })
}

/// Whether, after each grant, a number is drawn before all that is compared.
pub(crate) fn draws_first(script: &[Step]) -> bool {
    let mut drawn = false;
    in_order(script).into_iter().all(|step| {
        match step {
            Step::Acquire { .. } => drawn = false,
            Step::Ticket(_) => drawn = true,
            Step::Read(_) | Step::Write(_) | Step::Mark(_) => return drawn,
            _ => {}
        }
        true
    })
}

/// The steps in the order in which they are played. What is repeated stands there twice: its second pass
/// begins where the first has ended, and so does every later one.
pub(crate) fn in_order(script: &[Step]) -> Vec<&Step> {
    let mut played = Vec::new();
    for step in script {
        match step {
            Step::Repeat { times, steps } => played.extend(in_order(steps).repeat(if *times > 1 { 2 } else { 1 })),
            step => played.push(step),
        }
    }
    played
}

#[cfg(test)]
mod tests;
