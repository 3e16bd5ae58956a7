//! A cluster is put back to what it was: all of its members have an earlier state on their disks.
//!
//! Source: `etcdctl snapshot restore`; the flag `--bump-revision` of `etcdutl` since 3.6
//! (<https://etcd.io/docs/v3.6/op-guide/recovery/>): what was forgotten had revisions that clients have seen, and
//! that would come a second time.
//!
//! Left out: that a restored cluster has members with other names, and that watches of before the restore are cut off
//! (`--mark-compacted`).

use host::Context;
use spec::{Cause, Note};

use super::{Command, Etcd};
use crate::domain::Locks;
use crate::etcd::store::Change;
use crate::lock::etcd::Restored;

/// More than a cluster makes in the time since a backup (`--bump-revision 1000000000`).
const BUMP: u64 = 1_000_000_000;

impl Etcd {
    /// What the disk had was lost. One speaks for all.
    pub(super) fn is_restored(&mut self, cx: &mut Context<Locks>) {
        self.awaits_bump = self.servers.restored == Restored::Bumped;
        let authority = self.cluster();
        if authority == cx.node {
            cx.note(Note::DiskLost { authority });
            for (key, attempt) in self.owners.all() {
                cx.note(Note::Owner { authority, key, attempt: Some(attempt), cause: Cause::Restart });
            }
        }
    }

    /// It leads: before it takes anything from anybody, it has the revision raised.
    pub(super) fn bump(&mut self, cx: &mut Context<Locks>) {
        if std::mem::take(&mut self.awaits_bump) {
            self.member.propose(cx, Command { change: Change::Bump { by: BUMP }, is_asked: false });
        }
    }
}
