//! The model of a cluster that agrees at once: what all members agree on, and what the leader counts, without the log
//! between them.

use host::{Duration, MonoTime, NodeId, WallTime};
use models::etcd::answer::{Body, Header, Reply, Response};
use models::etcd::api::{Op, Rpc, Txn};
use models::etcd::lessor::{Clocks, Counting, Gate, Lessor, PASS, Renewal};
use models::etcd::store::{Applied, Change, Store};
use models::etcd::{LeaseId, check};

/// A cluster.
pub(crate) struct Model {
    pub(crate) store: Store,
    /// Of a leader that has done everything as soon as it can have.
    pub(crate) early: Lessor,
    /// Of one that has done it as late as it can have.
    pub(crate) late: Lessor,
    made_up: u64,
}

/// Leases live no shorter, in seconds.
const MIN_TTL: i64 = 2;

/// The election timeout.
const ELECTION: Duration = Duration::from_secs(1);

/// Clocks that read so much.
pub(crate) fn clocks(since: Duration) -> Clocks {
    let nanos = host::nanos(since);
    Clocks { mono: MonoTime::from_nanos(nanos), wall: WallTime::from_nanos(nanos.cast_signed()) }
}

impl Model {
    /// A new one.
    pub(crate) fn new() -> Self {
        let counting = Counting { gate: Gate::Wall, retry: Duration::from_secs(7), checkpoints: None };
        let store = Store::new(MIN_TTL);
        let mut leader = Lessor::new(counting);
        leader.promote(&store, clocks(Duration::ZERO), ELECTION);
        Self { store, early: leader.clone(), late: leader, made_up: 1 << 50 }
    }

    /// What it answers to a request that was served within that window.
    pub(crate) fn ask(&mut self, rpc: &Rpc, window: (Duration, Duration)) -> Reply {
        match self.serve(rpc, window) {
            Ok((revision, body)) => {
                let header = Header { member: NodeId::new(0), revision, term: 0 };
                Reply::Done(Box::new(Response { header, body }))
            }
            Err(error) => Reply::Failed(error),
        }
    }

    /// A lease has ended by itself.
    pub(crate) fn end(&mut self, id: LeaseId) {
        self.apply(&Change::Revoke { id }, clocks(Duration::ZERO), clocks(Duration::ZERO))
            .expect("a lease that was there");
    }

    /// When a lease ends by itself: that it is over, and the pass that finds it.
    pub(crate) fn ends(&self, id: LeaseId) -> Option<(Duration, Duration)> {
        let since = |at: MonoTime| Duration::from_nanos(at.as_nanos());
        Some((since(self.early.end_of(id)?), since(self.late.end_of(id)?) + PASS))
    }

    fn serve(&mut self, rpc: &Rpc, (from, to): (Duration, Duration)) -> Applied {
        check(rpc)?;
        let (early, late) = (clocks(from), clocks(to));
        match rpc {
            Rpc::Range(range) => self.store.read(range),
            Rpc::Txn(txn) if is_read(txn) => self.store.read_txn(txn),
            Rpc::Txn(txn) => self.apply(&Change::Txn((**txn).clone()), early, late),
            Rpc::Put(put) => self.apply(&Change::Put((**put).clone()), early, late),
            Rpc::Delete(delete) => self.apply(&Change::Delete((**delete).clone()), early, late),
            Rpc::LeaseGrant { ttl, id } => {
                self.made_up += 1;
                let id = id.or_else(|| LeaseId::new(self.made_up)).expect("not 0");
                self.apply(&Change::Grant { id, ttl: *ttl }, early, late)
            }
            Rpc::LeaseRevoke { id } => self.apply(&Change::Revoke { id: *id }, early, late),
            Rpc::LeaseKeepAlive { id } => {
                let ttl = match self.early.renew(*id, &self.store, early) {
                    Renewal::Lives(ttl) => ttl,
                    Renewal::Gone => 0,
                    other => panic!("not asked of one that ends just now, or of a follower: {other:?}"),
                };
                self.late.renew(*id, &self.store, late);
                Ok((self.store.revision(), Body::LeaseKeepAlive { id: *id, ttl }))
            }
            Rpc::LeaseTimeToLive { id, keys } => {
                let body = match (self.early.left(*id, late), self.store.leases().get(id)) {
                    (Some(ttl), Some(lease)) => {
                        let named = if *keys { lease.keys.iter().copied().collect() } else { Vec::new() };
                        Body::LeaseTimeToLive { id: *id, ttl, granted: lease.ttl, keys: named }
                    }
                    _ => Body::LeaseTimeToLive { id: *id, ttl: -1, granted: 0, keys: Vec::new() },
                };
                Ok((self.store.revision(), body))
            }
            other => panic!("not served at once: {other}"),
        }
    }

    fn apply(&mut self, change: &Change, early: Clocks, late: Clocks) -> Applied {
        let applied = self.store.apply(change)?;
        for (leader, now) in [(&mut self.early, early), (&mut self.late, late)] {
            match change {
                Change::Grant { id, .. } => leader.granted(*id, &self.store.leases()[id], now),
                Change::Revoke { id } => leader.revoked(*id),
                _ => {}
            }
        }
        Ok(applied)
    }
}

fn is_read(txn: &Txn) -> bool {
    txn.success.iter().chain(&txn.failure).all(|op| matches!(op, Op::Range(_)))
}
