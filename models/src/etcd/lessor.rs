//! How long leases live: what the leader counts, and nobody else.
//!
//! Source: `lease/lessor.go` and `etcdserver/server.go` of etcd 3.4.23, and what such a server does.
//!
//! * **Clock.** When a lease is over is told by the *monotonic* clock. But etcd 3.4 looks at a lease only once the *wall*
//!   clock has come to the time at which it was to end, as that was reckoned when it was granted or kept alive
//!   ([`Gate::Wall`]). A wall clock that is set back by J makes every lease end J late; one that is set forward makes
//!   the look come too soon, and the next one comes a whole request timeout later. etcd 3.5 has one clock for both
//!   ([`Gate::Monotonic`]).
//! * **Pass.** Every 500 ms, on the *monotonic* clock, the leader looks for leases that are over, and proposes to revoke
//!   them, at most 500. A lease that is proposed is looked at again after a request timeout, if it is then still there.
//! * **Leader.** Leases are for ever with all who do not lead. A new leader gives each its whole time again, and an
//!   election timeout on top, since it may be that the old one kept it alive until just now.
//! * **Kept alive.** Without the log: the leader alone knows of it. A lease that is over and not yet revoked is not kept
//!   alive: who asks waits for what becomes of it.
//! * **Checkpoints**, by switch: every five minutes the leader writes down what is left of a lease, in whole seconds, and
//!   a new leader goes on from there. The time of the next is one of the *wall* clock too.
//!
//! Left out: that a new leader spreads the ends of a thousand leases and more.

use std::collections::BTreeMap;

use host::{Duration, MonoTime, WallTime, nanos};

use super::key::LeaseId;
use super::store::{Lease, Store};

/// By which clock a leader knows that it is time to look at a lease.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Gate {
    /// The wall clock: etcd before 3.5.
    #[default]
    Wall,
    /// The monotonic clock.
    Monotonic,
}

/// How a leader counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Counting {
    /// By which clock it knows when to look.
    pub gate: Gate,
    /// After that long it looks again at a lease that it found over, or not yet over.
    pub retry: Duration,
    /// Whether, and how often, it writes down what is left of a lease.
    pub checkpoints: Option<Duration>,
}

/// Two clocks of one machine, read at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clocks {
    /// The monotonic one.
    pub mono: MonoTime,
    /// The wall clock.
    pub wall: WallTime,
}

/// How often a leader looks.
pub const PASS: Duration = Duration::from_millis(500);
/// How many leases it revokes in one pass at most.
const MOST: usize = 500;

/// What one member counts: nothing, unless it leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lessor {
    counting: Counting,
    leads: bool,
    lives: BTreeMap<LeaseId, Life>,
}

/// What a leader knows of one lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Life {
    /// When it is over.
    over: MonoTime,
    /// Before that it is not looked at: ns on the clock of the gate.
    gate: i64,
    /// Before that nothing is written down: the same.
    checkpoint: Option<i64>,
}

/// What becomes of a lease that is to be kept alive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// It lives so many seconds from now.
    Lives(i64),
    /// It is over, and about to be revoked: wait until it is, or another leads.
    Over,
    /// There is no such lease.
    Gone,
    /// Another leads, or nobody: ask there.
    NotLeader,
}

impl Lessor {
    /// Of a member that does not lead.
    #[must_use]
    pub const fn new(counting: Counting) -> Self {
        Self { counting, leads: false, lives: BTreeMap::new() }
    }

    /// Whether it counts.
    #[must_use]
    pub const fn leads(&self) -> bool {
        self.leads
    }

    /// Whether there is anything to look for.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.lives.is_empty()
    }

    /// The member leads from now on, and has applied all that came before.
    pub fn promote(&mut self, store: &Store, now: Clocks, extend: Duration) {
        self.leads = true;
        self.lives.clear();
        for (id, lease) in store.leases() {
            self.begin(*id, lease, now, extend);
        }
    }

    /// It leads no more.
    pub fn demote(&mut self) {
        self.leads = false;
        self.lives.clear();
    }

    /// A lease was granted.
    pub fn granted(&mut self, id: LeaseId, lease: &Lease, now: Clocks) {
        if self.leads {
            self.begin(id, lease, now, Duration::ZERO);
        }
    }

    /// What is left of a lease was written down.
    pub fn checkpointed(&mut self, id: LeaseId, lease: &Lease, now: Clocks) {
        let next = self.next_checkpoint(lease, now);
        if let Some(life) = self.lives.get_mut(&id) {
            life.checkpoint = next;
        }
    }

    /// A lease was revoked.
    pub fn revoked(&mut self, id: LeaseId) {
        self.lives.remove(&id);
    }

    /// Keeps a lease alive: it has its whole time again. If something was written down of it, that is to be taken back first,
    /// by a checkpoint of 0.
    pub fn renew(&mut self, id: LeaseId, store: &Store, now: Clocks) -> Renewal {
        if !self.leads {
            return Renewal::NotLeader;
        }
        let (Some(lease), Some(life)) = (store.leases().get(&id), self.lives.get_mut(&id)) else {
            return Renewal::Gone;
        };
        if life.over <= now.mono {
            return Renewal::Over;
        }
        let whole = seconds(lease.ttl);
        life.over = now.mono + whole;
        life.gate = reading(self.counting.gate, now).saturating_add(signed(whole));
        Renewal::Lives(lease.ttl)
    }

    /// When a lease is over.
    #[must_use]
    pub fn end_of(&self, id: LeaseId) -> Option<MonoTime> {
        Some(self.lives.get(&id)?.over)
    }

    /// What is left of a lease, in seconds, rounded towards zero: below it if it has been over for long.
    #[must_use]
    pub fn left(&self, id: LeaseId, now: Clocks) -> Option<i64> {
        let nanos = i128::from(self.end_of(id)?.as_nanos()) - i128::from(now.mono.as_nanos());
        i64::try_from(nanos / i128::from(SECOND)).ok()
    }

    /// A pass: the leases that are to be revoked.
    pub fn over(&mut self, now: Clocks) -> Vec<LeaseId> {
        let reading = reading(self.counting.gate, now);
        let mut due: Vec<_> =
            self.lives.iter().filter(|(_, life)| life.gate <= reading).map(|(id, life)| (life.gate, *id)).collect();
        due.sort_unstable();
        let mut over = Vec::new();
        for (_, id) in due {
            let Some(life) = self.lives.get_mut(&id) else { continue };
            life.gate = reading.saturating_add(signed(self.counting.retry));
            if life.over <= now.mono {
                over.push(id);
                if over.len() == MOST {
                    break;
                }
            }
        }
        over
    }

    /// A pass: the leases of which is to be written down how many seconds are left.
    pub fn checkpoints(&mut self, now: Clocks) -> Vec<(LeaseId, i64)> {
        let reading = reading(Gate::Wall, now);
        let is_due = |life: &Life| life.checkpoint.is_some_and(|at| at <= reading) && life.over > now.mono;
        let due = self.lives.iter_mut().filter(|(_, life)| is_due(life)).map(|(id, life)| {
            life.checkpoint = None;
            let left = life.over.as_nanos() - now.mono.as_nanos();
            (*id, i64::try_from(left.div_ceil(SECOND.cast_unsigned())).unwrap_or(i64::MAX))
        });
        due.collect()
    }

    fn begin(&mut self, id: LeaseId, lease: &Lease, now: Clocks, extend: Duration) {
        let whole = seconds(left_of(lease)).saturating_add(extend);
        let life = Life {
            over: now.mono + whole,
            gate: reading(self.counting.gate, now).saturating_add(signed(whole)),
            checkpoint: self.next_checkpoint(lease, now),
        };
        self.lives.insert(id, life);
    }

    fn next_checkpoint(&self, lease: &Lease, now: Clocks) -> Option<i64> {
        let interval = self.counting.checkpoints.filter(|interval| seconds(left_of(lease)) > *interval)?;
        Some(reading(Gate::Wall, now).saturating_add(signed(interval)))
    }
}

/// What a new leader gives it.
const fn left_of(lease: &Lease) -> i64 {
    if lease.remaining > 0 { lease.remaining } else { lease.ttl }
}

/// What the clock of the gate reads, in ns.
fn reading(gate: Gate, now: Clocks) -> i64 {
    match gate {
        Gate::Wall => now.wall.as_nanos(),
        Gate::Monotonic => now.mono.as_nanos().cast_signed(),
    }
}

fn seconds(seconds: i64) -> Duration {
    Duration::from_secs(seconds.max(0).cast_unsigned())
}

fn signed(duration: Duration) -> i64 {
    i64::try_from(nanos(duration)).unwrap_or(i64::MAX)
}

const SECOND: i64 = 1_000_000_000;

#[cfg(test)]
mod tests;
