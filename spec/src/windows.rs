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
//! Where a promise stands only [while the service has the client as the owner](Form::WhileOwned), the window is closed
//! by whatever takes the lock away, the death of the server whose session it is among that, and a client that no service made the owner has none.

use host::{NodeId, SimTime};

use crate::grants::{Claim, ClaimId, Grants, LockId};
use crate::history::{Activity, Authorities, History, INSTANT, Note};
use crate::mentions::{Mention, Mentions, Owning};
use crate::rules::{Promise as Form, Rules};

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

/// What was promised in a run. Kept from run to run, as the index is.
#[derive(Default, Debug)]
pub(crate) struct Promised {
    /// Every window, in the order in which they began. Some have no time in them.
    windows: Vec<Stretch>,
    /// The windows that began anew after a lease had lapsed, in order, each with the one before it.
    anew: Vec<(usize, usize)>,
    /// By grant, in the order in which clients noted them.
    promises: Vec<Promise>,
    /// By key: who owns it.
    owners: Vec<Option<ClaimId>>,
    /// Of the grants whose promise ran to its end, or whose servers did not let it: by how many ns their
    /// ownership outlasted the last promised end, the least of all. Counted to the end of the run.
    pub(crate) margin: Option<i64>,
}

impl Promised {
    /// Takes in a history instead of the last one.
    pub(crate) fn fill(&mut self, history: &History, rules: &Rules, grants: &Grants) {
        let Self { windows, anew, promises, owners, .. } = self;
        windows.clear();
        anew.clear();
        promises.clear();
        promises.resize(grants.taken().len(), Promise::NONE);
        owners.clear();
        owners.resize(grants.mentions.keys.len(), None);
        let (quorum, form) = (rules.quorum, rules.promise);
        let mut walk = Walk { history, quorum, form, grants, promised: self };
        let Mentions { holding, owning, .. } = &grants.mentions;
        let mut owning = owning.iter().peekable();
        let mut gone = gone(history, rules, grants).into_iter().peekable();
        let mut server = |walk: &mut Walk<'_>, said: &Owning| {
            while let Some((_, at, server)) = gone.next_if(|(before, ..)| *before <= said.entry) {
                walk.gone(server, at);
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
        gone.for_each(|(_, at, server)| walk.gone(server, at));
        walk.finish();
    }

    /// All windows, in the order in which they began.
    pub(crate) fn windows(&self) -> impl Iterator<Item = &Stretch> {
        self.windows.iter().filter(|window| window.is_some())
    }

    /// The windows of a claim, the last one first: more than one if its lease lapsed and was extended
    /// afterwards.
    pub(crate) fn of_claim(&self, claim: &Claim) -> impl Iterator<Item = &Stretch> {
        let before = |window: &usize| {
            let place = self.anew.binary_search_by_key(window, |(window, _)| *window).ok()?;
            Some(self.anew[place].1)
        };
        let last = claim.granted.and_then(|granted| self.promises[granted.place].window);
        let windows = std::iter::successors(last, before).map(|window| &self.windows[window]);
        windows.filter(|window| window.is_some())
    }
}

/// The lock servers that own nothing from some instant on, each before the entry in that place, in order: those that are dead when
/// another takes their place, and those that die if owners are sessions of theirs.
fn gone(history: &History, rules: &Rules, grants: &Grants) -> Vec<(usize, SimTime, NodeId)> {
    let replaced = grants.mentions.dead_and_replaced(history).map(|(entry, at, server)| (entry + 1, at, server));
    let mut gone: Vec<_> = replaced.collect();
    if rules.is_in_sessions {
        for &server in rules.mortal() {
            let deaths = history.nodes[server.index()].activity.iter().filter(|(_, doing)| *doing == Activity::Dead);
            let entries_by = |at: SimTime| history.entries.partition_point(|entry| entry.at <= at);
            gone.extend(deaths.map(|(at, _)| (entries_by(*at), *at, server)));
        }
        gone.sort_unstable();
    }
    gone
}

/// What has been promised to one claim, so far.
#[derive(Clone, Copy, Debug)]
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

    /// By how many ns the ownership outlasted the promised end, in a run that was over then. `None`: it was given
    /// back before either end.
    fn margin(&self, over: SimTime) -> Option<i64> {
        let lost = self.bereft.min(over);
        let is_measured = self.leased && self.due.min(lost) <= self.released;
        // If neither end came to pass, nothing is known.
        (is_measured && self.due.min(self.bereft) < over).then(|| signed(self.due, lost))
    }
}

struct Walk<'h> {
    history: &'h History,
    quorum: usize,
    form: Form,
    grants: &'h Grants,
    promised: &'h mut Promised,
}

impl Walk<'_> {
    /// What is promised to a claim that is granted sooner or later.
    fn promise(&mut self, claim: ClaimId) -> Option<&mut Promise> {
        let granted = self.grants[claim].granted.as_ref()?;
        Some(&mut self.promised.promises[granted.place])
    }

    /// A lock server says something.
    fn server(&mut self, said: &Owning) {
        let entry = &self.history.entries[said.entry];
        match entry.note {
            Note::Owner { authority, .. } => self.owner(authority, said, entry.at),
            Note::Extended { authority, .. } => {
                if let Some(promise) = said.claim.and_then(|claim| self.promise(claim)) {
                    promise.named.count(authority);
                }
            }
            _ => {}
        }
    }

    fn owner(&mut self, authority: NodeId, said: &Owning, at: SimTime) {
        let (new, quorum) = (said.claim, self.quorum);
        let old = std::mem::replace(&mut self.promised.owners[said.key.index()], new);
        if let Some(promise) = old.filter(|old| Some(*old) != new).and_then(|old| self.promise(old)) {
            promise.loses(authority, quorum, at);
        }
        if let Some(promise) = new.and_then(|new| self.promise(new)) {
            promise.named.count(authority);
            promise.owns.count(authority);
            if promise.owns.len() >= quorum {
                promise.bereft = SimTime::NEVER;
            }
        }
    }

    /// That server owns nothing any more.
    fn gone(&mut self, server: NodeId, at: SimTime) {
        for (key, (of, _)) in self.grants.mentions.keys.iter().enumerate() {
            if *of == server
                && let Some(old) = self.promised.owners[key].take()
            {
                let quorum = self.quorum;
                if let Some(promise) = self.promise(old) {
                    promise.loses(server, quorum, at);
                }
            }
        }
    }

    /// A client says something of what it takes, or will take, to be its own.
    fn client(&mut self, mention: &Mention) {
        let claim = &self.grants[mention.claim];
        let Some(granted) = &claim.granted else { return };
        let entry = &self.history.entries[mention.entry];
        let Promised { windows, anew, promises, .. } = &mut *self.promised;
        let promise = &mut promises[granted.place];
        match entry.note {
            Note::Granted { attempt, until, .. } if granted.entry == mention.entry => {
                let to = until.map_or(SimTime::NEVER, |until| self.history.when(attempt.client(), until));
                promise.named = Authorities::NONE;
                promise.leased = until.is_some();
                promise.due = to;
                promise.window = Some(windows.len());
                let (lock, claim) = (claim.lock, mention.claim);
                windows.push(Stretch { lock, from: entry.at, to, claim, entry: mention.entry });
            }
            Note::Renewed { attempt, until } => {
                let is_owner = promise.named.union(promise.owns).len() >= self.quorum;
                promise.named = Authorities::NONE;
                let counts = is_owner && promise.released == SimTime::NEVER;
                let Some(last) = promise.window.filter(|_| counts) else { return };
                promise.leased = true;
                promise.due = self.history.when(attempt.client(), until);
                if let Some(next) = windows[last].renew(entry.at, promise.due, mention.entry) {
                    promise.window = Some(windows.len());
                    anew.push((windows.len(), last));
                    windows.push(next);
                }
            }
            Note::RenewalFailed { .. } => promise.named = Authorities::NONE,
            Note::Releasing { .. } => {
                promise.released = promise.released.min(entry.at);
                if let Some(window) = promise.window {
                    windows[window].end_by(entry.at);
                }
            }
            Note::Ended { .. } => promise.ended = promise.ended.min(entry.at),
            _ => {}
        }
    }

    fn finish(self) {
        let over = self.history.over();
        let Promised { windows, promises, margin, .. } = self.promised;
        *margin = None;
        for ((_, claim), promise) in self.grants.taken().zip(promises) {
            let (Some(window), Some(granted)) = (promise.window, &claim.granted) else { continue };
            let window = &mut windows[window];
            if self.form == Form::WhileOwned {
                window.to = window.to.min(promise.bereft);
            } else if !promise.leased {
                let gone = promise.ended.min(granted.died);
                window.end_by(gone.max(promise.bereft));
            }
            window.end_by(over);
            let own = promise.margin(over).filter(|_| claim.is_grant());
            *margin = [*margin, own].into_iter().flatten().min();
        }
    }
}

/// How many ns after the one instant the other comes; below zero, if it comes before.
fn signed(from: SimTime, to: SimTime) -> i64 {
    let ns = i128::from(to.as_nanos()) - i128::from(from.as_nanos());
    i64::try_from(ns).unwrap_or(i64::MIN)
}

#[cfg(test)]
mod tests;
