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

use host::{NodeId, SimTime};

use crate::grants::{Claim, ClaimId, Grants, LockId};
use crate::history::{Authorities, History, INSTANT, Note};
use crate::mentions::{Mention, Mentions, Owning};

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
    /// Moves the end, as learnt at `at`. If the old end had passed by then, another stretch begins, and
    /// is given back.
    pub(crate) fn renew(&mut self, at: SimTime, to: SimTime, entry: usize) -> Option<Self> {
        let to = to.max(at);
        if self.to < at {
            return Some(Self { from: at, to, entry, ..*self });
        }
        self.to = to;
        None
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

/// What was promised in a run.
#[derive(Debug)]
pub(crate) struct Promised {
    /// Every window, in the order in which they began. Some have no time in them.
    windows: Vec<Stretch>,
    /// By claim: its last window.
    last: Vec<Option<usize>>,
    /// The windows that began anew after a lease had lapsed, in order, each with the one before it.
    anew: Vec<(usize, usize)>,
    /// Of the grants whose promise ran to its end, or whose servers did not let it: by how many ns their
    /// ownership outlasted the last promised end, the least of all. Counted to the end of the run.
    pub(crate) margin: Option<i64>,
}

impl Promised {
    pub(crate) fn of(history: &History, quorum: usize, grants: &Grants) -> Self {
        let owners = vec![None; grants.mentions.keys.len()];
        let promises = vec![Promise::NONE; grants.len()];
        let (windows, anew) = (Vec::new(), Vec::new());
        let mut walk = Walk { history, quorum, grants, promises, owners, windows, anew };
        let Mentions { holding, owning, .. } = &grants.mentions;
        let mut owning = owning.iter().peekable();
        let mut replaced = grants.mentions.dead_and_replaced(history).peekable();
        let mut server = |walk: &mut Walk<'_>, said: &Owning| {
            while let Some((_, at, server)) = replaced.next_if(|(entry, ..)| *entry < said.entry) {
                walk.replaced(server, at);
            }
            walk.server(said);
        };
        for mention in holding {
            while let Some(said) = owning.next_if(|said| said.entry < mention.entry) {
                server(&mut walk, said);
            }
            walk.client(mention);
        }
        owning.for_each(|said| server(&mut walk, said));
        replaced.for_each(|(_, at, server)| walk.replaced(server, at));
        walk.finish()
    }

    /// All windows, in the order in which they began.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Stretch> {
        self.windows.iter().filter(|window| window.is_some())
    }

    /// The windows of one claim, the last one first: more than one if its lease lapsed and was extended
    /// afterwards.
    pub(crate) fn of_claim(&self, claim: ClaimId) -> impl Iterator<Item = &Stretch> {
        let before = |window: &usize| {
            let place = self.anew.binary_search_by_key(window, |(window, _)| *window).ok()?;
            Some(self.anew[place].1)
        };
        let windows = std::iter::successors(self.last[claim.index()], before).map(|window| &self.windows[window]);
        windows.filter(|window| window.is_some())
    }
}

/// What has been promised to one claim, so far.
#[derive(Clone, Copy)]
struct Promise {
    /// Its last window.
    window: Option<usize>,
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

    /// That server owns nothing for the claim any more.
    fn loses(&mut self, server: NodeId, quorum: usize, at: SimTime) {
        self.owns.forget(server);
        if self.owns.len() < quorum && self.bereft == SimTime::NEVER {
            self.bereft = at;
        }
    }
}

struct Walk<'h> {
    history: &'h History,
    quorum: usize,
    grants: &'h Grants,
    /// By claim.
    promises: Vec<Promise>,
    /// By key: who owns it.
    owners: Vec<Option<ClaimId>>,
    windows: Vec<Stretch>,
    anew: Vec<(usize, usize)>,
}

impl Walk<'_> {
    /// A lock server says something.
    fn server(&mut self, said: &Owning) {
        let entry = &self.history.entries[said.entry];
        match entry.note {
            Note::Owner { authority, .. } => self.owner(authority, said, entry.at),
            Note::Extended { authority, .. } => {
                if let Some(claim) = said.claim {
                    self.promises[claim.index()].named.count(authority);
                }
            }
            _ => {}
        }
    }

    /// A client says something of what it takes to be its own.
    fn client(&mut self, mention: &Mention) {
        let entry = &self.history.entries[mention.entry];
        let promise = &mut self.promises[mention.claim.index()];
        match entry.note {
            Note::Granted { .. } if self.grants.begins(mention) => self.granted(mention.claim),
            Note::Renewed { attempt, until } => {
                let to = self.history.when(attempt.client(), until);
                self.renewed(mention, entry.at, to);
            }
            Note::RenewalFailed { .. } => promise.named = Authorities::NONE,
            Note::Releasing { .. } => {
                promise.released = promise.released.min(entry.at);
                if let Some(window) = promise.window {
                    self.windows[window].end_by(entry.at);
                }
            }
            Note::Ended { .. } => promise.ended = promise.ended.min(entry.at),
            _ => {}
        }
    }

    fn owner(&mut self, authority: NodeId, said: &Owning, at: SimTime) {
        let new = said.claim;
        let old = std::mem::replace(&mut self.owners[said.key.index()], new);
        if let Some(old) = old.filter(|old| Some(*old) != new) {
            self.promises[old.index()].loses(authority, self.quorum, at);
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

    /// Another server has taken the place of this one, which is dead: it owns nothing any more.
    fn replaced(&mut self, server: NodeId, at: SimTime) {
        for (key, owner) in self.owners.iter_mut().enumerate() {
            if self.grants.mentions.keys[key].0 == server
                && let Some(old) = owner.take()
            {
                self.promises[old.index()].loses(server, self.quorum, at);
            }
        }
    }

    fn granted(&mut self, id: ClaimId) {
        let claim = &self.grants[id];
        let Some(granted) = claim.granted else { return };
        let to = granted.until.map_or(SimTime::NEVER, |until| self.history.when(claim.attempt.client(), until));
        let promise = &mut self.promises[id.index()];
        promise.named = Authorities::NONE;
        promise.leased = granted.until.is_some();
        promise.due = to;
        promise.window = Some(self.windows.len());
        self.windows.push(Stretch { lock: claim.lock, from: granted.at, to, claim: id, entry: granted.entry });
    }

    fn renewed(&mut self, mention: &Mention, at: SimTime, to: SimTime) {
        let promise = &mut self.promises[mention.claim.index()];
        let counts = promise.released == SimTime::NEVER && promise.named.union(promise.owns).len() >= self.quorum;
        promise.named = Authorities::NONE;
        let Some(last) = promise.window.filter(|_| counts) else { return };
        promise.leased = true;
        promise.due = to;
        if let Some(next) = self.windows[last].renew(at, to, mention.entry) {
            promise.window = Some(self.windows.len());
            self.anew.push((self.windows.len(), last));
            self.windows.push(next);
        }
    }

    fn finish(mut self) -> Promised {
        let margin = self.margin();
        for ((_, claim), promise) in self.grants.claims().zip(&self.promises) {
            let (Some(window), Some(granted)) = (promise.window, claim.granted) else { continue };
            let window = &mut self.windows[window];
            if !promise.leased {
                let gone = promise.ended.min(granted.died);
                window.end_by(gone.max(promise.bereft));
            }
            window.end_by(self.history.over());
        }
        let last = self.promises.iter().map(|promise| promise.window).collect();
        Promised { windows: self.windows, last, anew: self.anew, margin }
    }

    fn margin(&self) -> Option<i64> {
        let over = self.history.over();
        let of_claim = |(claim, promise): (&Claim, &Promise)| {
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
