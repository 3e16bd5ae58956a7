//! For the history: whose lock it is. Nothing in the model reads it.
//!
//! * An advisory lock is the *backend's* that has it, from when it was let in until it has it no more. Each owner has a key of the
//!   history's own: the lock's name, and for those that share it, behind that, the lowest number that is free. What a session takes once more
//!   that has it already is no other owner's: who comes to it by the same backend owns nothing of it.
//! * A row of `locks` is the transaction's that has it locked.
//! * A row of `leases` is whose name is there, as committed. Who puts another name there has found the other's time to be over.

use std::collections::BTreeMap;

use host::{AttemptId, Context, Name};
use spec::{Cause, Note};

use super::key::{AdvisoryKey, Database, Pid};
use super::row::{Row, RowKey};
use crate::domain::Locks;

/// Who stands behind which lock.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Owners {
    names: BTreeMap<(Database, AdvisoryKey), Name>,
    /// By the lock's name: its owners, each in its place.
    advisory: BTreeMap<Name, Vec<Option<Pid>>>,
    rows: BTreeMap<RowKey, Pid>,
    leases: BTreeMap<RowKey, AttemptId>,
    /// How many notes there were.
    pub(super) notes: u32,
}

impl Owners {
    /// That is what the key is for.
    pub(super) fn name(&mut self, database: Database, key: AdvisoryKey, name: Name) {
        self.names.insert((database, key), name);
    }

    /// A backend has an advisory lock, which it had not.
    pub(super) fn let_in(
        &mut self,
        cx: &mut Context<Locks>,
        (database, key): (Database, AdvisoryKey),
        pid: Pid,
        by: Option<AttemptId>,
    ) {
        let (Some(&name), Some(_)) = (self.names.get(&(database, key)), by) else { return };
        let owners = self.advisory.entry(name).or_default();
        if owners.contains(&Some(pid)) {
            return;
        }
        let place = owners.iter().position(Option::is_none).unwrap_or(owners.len());
        owners.resize(owners.len().max(place + 1), None);
        owners[place] = Some(pid);
        self.note(cx, in_place(name, place), by, Cause::Request(by));
    }

    /// A backend has an advisory lock no more, in any mode.
    pub(super) fn left(
        &mut self,
        cx: &mut Context<Locks>,
        (database, key): (Database, AdvisoryKey),
        pid: Pid,
        cause: Cause,
    ) {
        let Some(&name) = self.names.get(&(database, key)) else { return };
        let Some(owners) = self.advisory.get_mut(&name) else { return };
        let Some(place) = owners.iter().position(|owner| *owner == Some(pid)) else { return };
        owners[place] = None;
        self.note(cx, in_place(name, place), None, cause);
    }

    /// A row of `locks` is that backend's now, or nobody's.
    pub(super) fn row(
        &mut self,
        cx: &mut Context<Locks>,
        key: RowKey,
        holder: Option<Pid>,
        (by, cause): (Option<AttemptId>, Cause),
    ) {
        match holder {
            Some(pid) if by.is_some() && self.rows.get(&key) != Some(&pid) => {
                self.rows.insert(key, pid);
                self.note(cx, key.name, by, Cause::Request(by));
            }
            None if self.rows.remove(&key).is_some() => self.note(cx, key.name, None, cause),
            _ => {}
        }
    }

    /// What the commit of a row of `leases` is: another's, for longer, or nobody's any more.
    fn change(&self, key: RowKey, (was, is): (Option<&Row>, Option<&Row>), by: Option<AttemptId>) -> Change {
        let owner = |row: Option<&Row>| row.and_then(|row| row.owner.clone());
        let (old, new) = (owner(was), owner(is));
        let former = self.leases.get(&key).copied();
        match by {
            Some(by) if new.is_some() && old == new && former == Some(by) => Change::Longer(by),
            _ => {
                Change::Passes { is_taken: former.is_some(), to: by.filter(|_| new.is_some()), is_over: new.is_some() }
            }
        }
    }

    /// How many notes the commit of a row of `leases` will be.
    pub(super) fn notes_of(&self, key: RowKey, rows: (Option<&Row>, Option<&Row>), by: Option<AttemptId>) -> u32 {
        match self.change(key, rows, by) {
            Change::Longer(_) => 1,
            Change::Passes { is_taken, to, .. } => u32::from(is_taken) + u32::from(to.is_some()),
        }
    }

    /// A row of `leases` is committed.
    pub(super) fn lease(
        &mut self,
        cx: &mut Context<Locks>,
        key: RowKey,
        rows: (Option<&Row>, Option<&Row>),
        by: Option<AttemptId>,
    ) {
        match self.change(key, rows, by) {
            Change::Longer(by) => {
                self.notes += 1;
                let (authority, key) = (cx.node, key.name);
                cx.note(Note::Extended { authority, key, attempt: by, by: Some(by) });
            }
            Change::Passes { is_taken, to, is_over } => {
                self.has_lease(key, to);
                if is_taken {
                    let cause = if is_over { Cause::Expiry } else { Cause::Request(by) };
                    self.note(cx, key.name, None, cause);
                }
                if to.is_some() {
                    self.note(cx, key.name, to, Cause::Request(to));
                }
            }
        }
    }

    /// Whose a row of `leases` is, as a standby or a restart finds it.
    pub(super) fn has_lease(&mut self, key: RowKey, owner: Option<AttemptId>) {
        match owner {
            Some(owner) => _ = self.leases.insert(key, owner),
            None => _ = self.leases.remove(&key),
        }
    }

    /// Names those that have leases.
    pub(super) fn name_again(&mut self, cx: &mut Context<Locks>, cause: Cause) {
        for (key, owner) in self.leases.clone() {
            self.note(cx, key.name, Some(owner), cause);
        }
    }

    fn note(&mut self, cx: &mut Context<Locks>, key: Name, attempt: Option<AttemptId>, cause: Cause) {
        self.notes += 1;
        let authority = cx.node;
        cx.note(Note::Owner { authority, key, attempt, cause });
    }
}

/// What becomes of a lease.
enum Change {
    /// Its owner has it for longer.
    Longer(AttemptId),
    /// It is taken from its owner, if it had one, and given to another, if there is one.
    Passes {
        is_taken: bool,
        to: Option<AttemptId>,
        /// It was the former owner's no more: its time was over.
        is_over: bool,
    },
}

/// The key of the owner in that place.
fn in_place(name: Name, place: usize) -> Name {
    if place == 0 { name } else { Name::from(format!("{name}/shared-{place}")) }
}
