//! What was promised to whom, and for how long: the windows of `grant-exclusion`.
//!
//! A window opens with the `Granted` note, whether or not servers had granted anything: a client
//! that miscounts has been promised the lock all the same. It closes when the client notes that it
//! begins to release, or at the promised end on the client's own recorded monotonic clock, whichever
//! comes first. The client's death, and the end of its section, do not close it: nobody else was told.
//!
//! The promised end moves with a renewal that, when executed, found or left the attempt as owner. The
//! history shows that in two ways: a server says whose lease it extended, or names the owner again, when
//! it executes a renewal; and a server that has named nobody else since has not changed its mind. A `Renewed` note counts if a
//! quorum of servers did one or the other, the first since the client's previous answer. (They need
//! not be those that the client counted at first: a renewal may win another majority.) A renewal
//! that executes only after the client gave up on it is credited to the next one.
//!
//! Without a lease the promise stands until it is given back; if the holder is gone (its section
//! over, or its process dead) without giving it back, until the service has taken it away.
//!
//! Not here: the windows of ZooKeeper and etcd (intervals of a log) and of PostgreSQL (sessions).

use std::collections::BTreeMap;

use host::{AttemptId, MonoTime, NodeId, SimTime};

use crate::grants::{Claim, ClaimId, Grants, LockId};
use crate::history::{Authorities, Entry, History, INSTANT, LockName, Note};

/// A stretch of true time, its end excluded, that one claim has for itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stretch {
    pub(crate) lock: LockId,
    pub(crate) from: SimTime,
    pub(crate) to: SimTime,
    pub(crate) claim: ClaimId,
    /// Index of the note that began it.
    pub(crate) entry: usize,
}

impl Stretch {
    /// Moves the end, as learnt at `at`. If the old end had passed by then, the stretch begins anew,
    /// and the old one is given back.
    pub(crate) fn renew(&mut self, at: SimTime, to: SimTime, entry: usize) -> Option<Self> {
        let lapsed = (self.to < at).then_some(*self);
        if lapsed.is_some() {
            (self.from, self.entry) = (at, entry);
        }
        self.to = to.max(at);
        lapsed
    }

    /// Ends it by `at` at the latest. One that ends in the instant in which it began has lasted for that
    /// instant all the same: programs take no time, and what was given back at once was had.
    pub(crate) fn end_by(&mut self, at: SimTime) {
        self.to = self.to.min(at.max(self.from + INSTANT));
    }

    /// Whether there is any time in it.
    pub(crate) fn is_some(&self) -> bool {
        self.from < self.to
    }
}

/// What was promised.
pub(crate) struct Promised {
    /// The windows, those of one claim together and in order.
    pub(crate) windows: Vec<Stretch>,
    /// Of the grants whose promise ran to its end, or whose servers did not let it: by how many ns their
    /// ownership outlasted the last promised end, the least of all. Counted to the end of the run.
    pub(crate) margin: Option<i64>,
}

/// What was promised in a run.
pub(crate) fn promised(history: &History, quorum: usize, grants: &Grants<'_>) -> Promised {
    let mut walk = Walk {
        history,
        quorum,
        grants,
        promises: vec![Promise::NONE; grants.len()],
        owners: BTreeMap::new(),
        windows: Vec::with_capacity(grants.given()),
    };
    for (i, entry) in history.entries.iter().enumerate() {
        walk.take(i, entry);
    }
    walk.finish()
}

/// What has been promised to one claim, so far.
#[derive(Clone, Copy)]
struct Promise {
    window: Option<Stretch>,
    /// When the client began to release: from then on renewals no longer count. `NEVER` if it has not.
    released: SimTime,
    leased: bool,
    /// The promised end, given back or not.
    due: SimTime,
    /// When the client's section was over.
    ended: SimTime,
    /// The servers that named the attempt as owner since its client last had an answer.
    named: Authorities,
    /// The servers that have named nobody else since.
    owns: Authorities,
    /// Since when those are no quorum; `NEVER` if they are one.
    bereft: SimTime,
}

impl Promise {
    const NONE: Self = Self {
        window: None,
        released: SimTime::NEVER,
        leased: false,
        due: SimTime::NEVER,
        ended: SimTime::NEVER,
        named: Authorities::NONE,
        owns: Authorities::NONE,
        bereft: SimTime::ZERO,
    };
}

struct Walk<'h> {
    history: &'h History,
    quorum: usize,
    grants: &'h Grants<'h>,
    /// By claim.
    promises: Vec<Promise>,
    /// Who owns what, by server and key.
    owners: BTreeMap<(NodeId, LockName), ClaimId>,
    windows: Vec<Stretch>,
}

impl<'h> Walk<'h> {
    fn take(&mut self, i: usize, entry: &'h Entry) {
        match &entry.note {
            Note::Owner { authority, key, .. } => self.owner(*authority, *key, self.grants.subject(i), entry.at),
            Note::Extended { authority, .. } => {
                if let Some(promise) = self.promise(i) {
                    promise.named.count(*authority);
                }
            }
            Note::Granted { .. } => self.granted(i),
            Note::Renewed { attempt, until } => self.renewed(i, entry.at, *attempt, *until),
            Note::RenewalFailed { .. } => {
                if let Some(promise) = self.promise(i) {
                    promise.named = Authorities::NONE;
                }
            }
            Note::Releasing { .. } => {
                if let Some(promise) = self.promise(i) {
                    promise.released = promise.released.min(entry.at);
                    if let Some(window) = &mut promise.window {
                        window.end_by(entry.at);
                    }
                }
            }
            Note::Ended { .. } => {
                if let Some(promise) = self.promise(i) {
                    promise.ended = promise.ended.min(entry.at);
                }
            }
            _ => {}
        }
    }

    /// What was promised to the claim that the entry is about.
    fn promise(&mut self, entry: usize) -> Option<&mut Promise> {
        self.grants.subject(entry).map(|claim| &mut self.promises[claim.index()])
    }

    fn owner(&mut self, authority: NodeId, key: LockName, new: Option<ClaimId>, at: SimTime) {
        let slot = (authority, key);
        let old = match new {
            Some(claim) => self.owners.insert(slot, claim),
            None => self.owners.remove(&slot),
        };
        if let Some(old) = old.filter(|old| Some(*old) != new) {
            let promise = &mut self.promises[old.index()];
            promise.owns.forget(authority);
            if promise.owns.len() < self.quorum && promise.bereft == SimTime::NEVER {
                promise.bereft = at;
            }
        }
        if let Some(new) = new {
            let promise = &mut self.promises[new.index()];
            promise.named.count(authority);
            promise.owns.count(authority);
            if promise.owns.len() >= self.quorum {
                promise.bereft = SimTime::NEVER;
            }
        }
    }

    fn granted(&mut self, i: usize) {
        let Some(claim) = self.grants.subject(i) else { return };
        let Some(granted) = self.grants[claim].granted.filter(|granted| granted.entry == i) else { return };
        let client = self.grants[claim].attempt.client();
        let to = granted.until.map_or(SimTime::NEVER, |until| self.history.when(client, until));
        let promise = &mut self.promises[claim.index()];
        promise.named = Authorities::NONE;
        promise.leased = granted.until.is_some();
        promise.due = to;
        promise.window = Some(Stretch { lock: self.grants[claim].lock, from: granted.at, to, claim, entry: i });
    }

    fn renewed(&mut self, i: usize, at: SimTime, attempt: AttemptId, until: MonoTime) {
        let quorum = self.quorum;
        let to = self.history.when(attempt.client(), until);
        let Some(promise) = self.promise(i) else { return };
        let counts = promise.released == SimTime::NEVER && promise.named.union(promise.owns).len() >= quorum;
        promise.named = Authorities::NONE;
        if counts && let Some(window) = &mut promise.window {
            promise.leased = true;
            promise.due = to;
            let lapsed = window.renew(at, to, i);
            self.windows.extend(lapsed);
        }
    }

    fn finish(mut self) -> Promised {
        let margin = self.margin();
        for (claim, promise) in self.grants.claims().zip(&self.promises) {
            let (Some(mut window), Some(granted)) = (promise.window, claim.1.granted) else { continue };
            if !promise.leased {
                let gone = promise.ended.min(granted.died);
                window.end_by(gone.max(promise.bereft));
            }
            window.end_by(self.history.over());
            self.windows.push(window);
        }
        self.windows.retain(Stretch::is_some);
        self.windows.sort_unstable_by_key(|window| (window.claim, window.from));
        Promised { windows: self.windows, margin }
    }

    fn margin(&self) -> Option<i64> {
        let over = self.history.over();
        let of_claim = |(claim, promise): (&Claim<'_>, &Promise)| {
            let lost = promise.bereft.min(over);
            let is_measured = claim.is_grant() && promise.leased && promise.due.min(lost) <= promise.released;
            // If neither end came to pass, nothing is known.
            (is_measured && promise.due.min(promise.bereft) < over).then(|| signed(promise.due, lost))
        };
        self.grants.claims().map(|(_, claim)| claim).zip(&self.promises).filter_map(of_claim).min()
    }
}

/// How many ns after the one instant the other comes; below zero, if it comes before.
fn signed(from: SimTime, to: SimTime) -> i64 {
    let ns = i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    i64::try_from(ns).unwrap_or(i64::MIN)
}

#[cfg(test)]
mod tests;
