//! What a primary streams to its replicas, as far as it can be seen from outside: the changes to keys, in order. A replica
//! that has run so many of them has the owners that the primary had then.
//!
//! A replica that is sent the whole of the primary's keys tells of no change: after either of them was started again. It is
//! in touch again with the next change that both tell of.

use std::collections::BTreeMap;

use host::{AttemptId, Name, NodeId, SimTime};
use spec::{Cause, Note};

use super::{Ledger, Role};

/// What one primary streams.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Stream {
    primary: NodeId,
    changes: Vec<Change>,
    /// Behind how many changes the primary was started again, and whom it had as owners then.
    restarts: Vec<(usize, BTreeMap<Name, AttemptId>)>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Change {
    how: String,
    key: Name,
    /// Whose the key was when the command had been run.
    owner: Option<AttemptId>,
    /// How often the primary had told of owners then, since its process started.
    told: u32,
}

impl Stream {
    /// That primary's, of which nothing is known yet.
    pub(super) const fn of(primary: NodeId) -> Self {
        Self { primary, changes: Vec::new(), restarts: Vec::new() }
    }

    /// The next change.
    pub(super) fn push(&mut self, how: &str, key: Name, owner: Option<AttemptId>, told: u32) {
        self.changes.push(Change { how: how.to_owned(), key, owner, told });
    }

    /// The primary was started again, and has these owners.
    pub(super) fn restart(&mut self, owners: &BTreeMap<Name, AttemptId>) {
        self.restarts.push((self.changes.len(), owners.clone()));
    }
}

/// A replica's place in the stream.
pub(super) struct Copies<'s> {
    stream: &'s Stream,
    next: usize,
    /// It knows its place. One that does not looks for the next change that it tells of.
    in_touch: bool,
}

impl<'s> Copies<'s> {
    /// At its beginning.
    pub(super) const fn new(stream: &'s Stream) -> Self {
        Self { stream, next: 0, in_touch: true }
    }

    pub(super) const fn lose_touch(&mut self) {
        self.in_touch = false;
    }

    /// It ran a change. `None`: the primary has made none such.
    fn run(&mut self, how: &str, key: Name) -> Option<&'s Change> {
        let changes = &self.stream.changes;
        let is_it = |place: &usize| changes[*place].how == how && changes[*place].key == key;
        let next = (self.next..changes.len()).next().filter(|next| self.in_touch && is_it(next));
        let place = next.or_else(|| (self.out_of_touch_from()?..changes.len()).find(is_it))?;
        (self.next, self.in_touch) = (place + 1, true);
        changes.get(place)
    }

    /// From where on it may have been sent the whole instead. `None`: it never was.
    fn out_of_touch_from(&self) -> Option<usize> {
        let mut restarts = self.stream.restarts.iter().map(|(place, _)| *place);
        if self.in_touch { restarts.find(|place| *place >= self.next) } else { Some(self.next) }
    }

    /// Whose each key is by what it has run.
    fn owners(&self) -> BTreeMap<Name, AttemptId> {
        let last = self.stream.restarts.iter().rfind(|(place, _)| *place < self.next);
        let (from, mut owners) = last.map_or((0, BTreeMap::new()), |(place, owners)| (*place, owners.clone()));
        for change in &self.stream.changes[from..self.next] {
            match change.owner {
                Some(owner) => _ = owners.insert(change.key, owner),
                None => _ = owners.remove(&change.key),
            }
        }
        owners
    }
}

impl Ledger<'_> {
    /// A replica has run a change.
    pub(super) fn copy(&mut self, at: SimTime, how: &str, key: Name) {
        let Role::Copies(copies) = &mut self.role else { return };
        let before =
            copies.next.checked_sub(1).and_then(|last| copies.stream.changes.get(last)).map_or(0, |last| last.told);
        let (authority, primary) = (self.server, copies.stream.primary);
        match copies.run(how, key) {
            Some(change) if change.told != before => {
                self.push(at, Note::Replicated { authority, primary, notes: change.told });
            }
            Some(_) => {}
            None => self.account.doubts.push(format!("{authority:?} did what its primary had not done: {how} {key}")),
        }
    }

    /// It is the primary from now on, with these keys: what is over on its own clock is not among them.
    pub(super) fn lead(&mut self, at: SimTime, keys: &[Name]) {
        let before = std::mem::replace(&mut self.role, Role::Leads);
        let Role::Copies(copies) = before else { return };
        self.owners = copies.owners();
        self.owners.retain(|key, _| keys.contains(key));
        let authority = self.server;
        for (key, attempt) in self.owners.clone() {
            self.note(at, Note::Owner { authority, key, attempt: Some(attempt), cause: Cause::Promotion });
        }
        self.push(at, Note::Promoted { authority, instead_of: copies.stream.primary });
    }

    /// It copies another from now on, and decides nothing.
    pub(super) fn follow(&mut self, at: SimTime) {
        if !matches!(self.role, Role::Leads) {
            return;
        }
        self.role = Role::Follows;
        let authority = self.server;
        for key in std::mem::take(&mut self.owners).into_keys() {
            self.note(at, Note::Owner { authority, key, attempt: None, cause: Cause::Demotion });
        }
        self.push(at, Note::Demoted { authority });
    }
}
