//! From what a PostgreSQL server has written into its log, and what clients said they had asked and were answered, to who owned which lock
//! when: an advisory lock, a row that a transaction has locked, or one that says whose it is (`leases`).
//!
//! A server set so ([`SETTINGS`]) writes down each statement as it begins, and when it is over, by the number of the backend that
//! serves it, and the end of each session. Before each statement stands its number, by which it is known whose it was: behind a
//! pooler too, where a client does not know which backend serves it. What a backend has then follows from what it has done.
//!
//! **The order** is that of the lines. Who lets go of a lock does so before it says that it has, and who gets it may say so first: so
//! somebody who is let in behind one who is about to let go, or whose session is about to be over, comes behind that.
//!
//! **The time** is known to the ms; it is no earlier than a statement was asked, and no later than it was answered.
//!
//! **Inconclusive** is a run in which two backends of one server come to have one lock otherwise, one with savepoints, and one in which a server
//! says what its backends could not have done. That a row was found no log says: that is in the answer.

mod leases;

use std::collections::BTreeMap;

use host::{AttemptId, Name, NodeId, Segment, SimTime};
use models::postgres::{AdvisoryKey, PgRequest, Pid, RowKey, Scope, Strength, Table, Wait};
use spec::{Cause, Entry, Note};

use crate::line::Answered;
use crate::revisions::Account;
use leases::{Change, Leases};

/// How a server is set that is to tell who did what.
pub(crate) const SETTINGS: [(&str, &str); 5] = [
    ("log_statement", "all"),
    ("log_duration", "on"),
    ("log_disconnections", "on"),
    ("log_min_messages", "warning"),
    ("log_line_prefix", "%n [%p] "),
];

/// What a client has stated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stated {
    pub(crate) at: SimTime,
    pub(crate) attempt: Option<AttemptId>,
    /// The lock of whose key it is, if it asks for one.
    pub(crate) lock: Option<Name>,
    /// When the answer was there, if one came, and what it was.
    pub(crate) answered: Option<(SimTime, Answered)>,
}

/// Which statement: of which client, in which of its lives, and its number there.
pub(crate) type Tag = (NodeId, u32, u64);

/// Everything that was stated.
pub(crate) type AllStated = BTreeMap<Tag, Stated>;

/// What a line of the log says of a backend.
#[derive(Clone, PartialEq, Debug)]
enum Line {
    /// It begins with a statement; which, if it is one of a client's.
    Begins(Option<(Tag, PgRequest)>),
    /// It is through with it.
    Done,
    /// The statement has failed.
    Fails,
    /// The session is over.
    Over,
    /// The server starts: all sessions that were are over.
    Starts,
}

/// What a backend can have, and another cannot have then.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Thing {
    Advisory(AdvisoryKey),
    Row(RowKey),
}

/// What a statement asks to have.
#[derive(Clone, Copy, Debug)]
struct Want {
    thing: Thing,
    strength: Strength,
    scope: Scope,
}

/// What a backend has.
#[derive(Default, Debug)]
struct Backend {
    /// By thing, and until when it is had: how often in either strength.
    has: BTreeMap<(Thing, Scope), [u32; 2]>,
    in_block: bool,
    doing: Option<(Tag, PgRequest)>,
    /// What it does is told already, since somebody came in behind it.
    is_told: bool,
}

/// Makes up the account of a server. `machine`: what the machine's clocks read as the run began.
pub(crate) fn account(server: NodeId, machine: Segment, log: &str, stated: &AllStated) -> Account {
    let lines: Vec<(SimTime, Pid, Line)> = log.lines().filter_map(|line| read(line, machine)).collect();
    let mut telling = Telling::new(server, stated);
    for (place, (at, pid, line)) in lines.iter().enumerate() {
        telling.take(*at, *pid, line, &lines[place + 1..]);
    }
    telling.account
}

struct Telling<'s> {
    server: NodeId,
    stated: &'s AllStated,
    backends: BTreeMap<Pid, Backend>,
    names: BTreeMap<Thing, Name>,
    /// By the lock's name: its owners, each in its place.
    owners: BTreeMap<Name, Vec<Option<Pid>>>,
    leases: Leases,
    last: SimTime,
    account: Account,
}

impl<'s> Telling<'s> {
    fn new(server: NodeId, stated: &'s AllStated) -> Self {
        let (backends, names, owners) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        let (last, leases, account) = (SimTime::ZERO, Leases::default(), Account::default());
        Self { server, stated, backends, names, owners, leases, last, account }
    }

    fn take(&mut self, at: SimTime, pid: Pid, line: &Line, next: &[(SimTime, Pid, Line)]) {
        let backend = self.backends.entry(pid).or_default();
        match line {
            // It remembers nobody, and the history needs no word of that: it was dead. But what was committed is there.
            Line::Starts => {
                (self.backends, self.owners) = (BTreeMap::new(), BTreeMap::new());
                for (key, owner) in self.leases.owners() {
                    self.note(at, key, Some(owner), Cause::Restart);
                }
            }
            Line::Begins(doing) => (backend.doing, backend.is_told) = (doing.clone(), false),
            Line::Fails => {
                let failed = backend.doing.take();
                let by = failed.and_then(|(tag, _)| self.attempt(tag));
                self.let_go(at, pid, Scope::Transaction, Cause::Request(by));
            }
            Line::Over => {
                for scope in [Scope::Session, Scope::Transaction] {
                    self.let_go(at, pid, scope, Cause::SessionEnd);
                }
                self.backends.remove(&pid);
            }
            Line::Done => {
                let Some((tag, request)) = backend.doing.take() else { return };
                let is_told = std::mem::take(&mut backend.is_told);
                self.done((at, pid), tag, &request, (is_told, next));
            }
        }
    }

    fn attempt(&self, tag: Tag) -> Option<AttemptId> {
        self.stated.get(&tag).and_then(|stated| stated.attempt)
    }

    /// A statement is done.
    fn done(
        &mut self,
        (at, pid): (SimTime, Pid),
        tag: Tag,
        request: &PgRequest,
        (is_told, next): (bool, &[(SimTime, Pid, Line)]),
    ) {
        let stated = self.stated.get(&tag).copied();
        let at = self.when(at, tag);
        let by = stated.and_then(|stated| stated.attempt);
        let answer = stated.and_then(|stated| stated.answered).map(|(_, answer)| answer);
        let is_done = answer.is_some_and(|answer| answer.is_done);
        match request {
            PgRequest::Advise(advise) => {
                let thing = Thing::Advisory(advise.key);
                if let Some(name) = stated.and_then(|stated| stated.lock) {
                    self.names.insert(thing, name);
                }
                if is_done || !advise.is_try {
                    self.let_in((at, pid), Want { thing, strength: advise.strength, scope: advise.scope }, by, next);
                }
            }
            PgRequest::Select(select) if select.row.table == Table::Locks && select.for_update.is_some() => {
                let thing = Thing::Row(select.row);
                self.names.insert(thing, select.row.name);
                // Who skips what others have is told only by the answer; and so is who finds none.
                if is_done || answer.is_none() && select.for_update != Some(Wait::SkipLocked) {
                    let (strength, scope) = (Strength::Exclusive, Scope::Transaction);
                    self.let_in((at, pid), Want { thing, strength, scope }, by, next);
                }
            }
            PgRequest::Begin => self.backends.entry(pid).or_default().in_block = true,
            PgRequest::Savepoint(_) => {
                self.account.doubts.push("a savepoint: nobody tells what is within it".to_owned());
            }
            _ if is_told => {}
            PgRequest::Insert(_) | PgRequest::Update(_) => self.writes((at, pid), tag, request),
            other => self.lets_go(at, pid, other, by),
        }
        if matches!(request, PgRequest::Commit | PgRequest::Rollback) {
            self.backends.entry(pid).or_default().in_block = false;
        }
    }

    /// When a statement was done, of which the log says that it was then.
    fn when(&self, at: SimTime, tag: Tag) -> SimTime {
        self.stated.get(&tag).map_or(at, |stated| {
            at.max(stated.at).min(stated.answered.map_or(SimTime::NEVER, |(answered, _)| answered))
        })
    }

    /// What a statement has made of a lease, if it was about one, as far as its answer says.
    fn change(&self, tag: Tag, request: &PgRequest) -> Option<Change> {
        let stated = self.stated.get(&tag)?;
        let version = stated.answered.and_then(|(_, answer)| answer.version)?;
        Change::of(request, stated.attempt, version)
    }

    /// A lease was written, or was not: one by one as their versions say, whoever says first that it is through.
    fn writes(&mut self, (at, pid): (SimTime, Pid), tag: Tag, request: &PgRequest) {
        let is_answered = self.stated.get(&tag).is_some_and(|stated| stated.answered.is_some());
        if leases::row_of(request).is_some() && !is_answered {
            return self.account.doubts.push("whether a lease was written nobody was told".to_owned());
        }
        let Some(change) = self.change(tag, request) else { return };
        let mut before: Vec<(Change, Pid, Tag)> = Vec::new();
        for (other, backend) in self.backends.iter().filter(|(other, _)| **other != pid) {
            let Some((tag, request)) = backend.doing.as_ref().filter(|_| !backend.is_told) else { continue };
            before.extend(self.change(*tag, request).filter(|it| it.is_before(&change)).map(|it| (it, *other, *tag)));
        }
        before.sort_by_key(|(change, ..)| change.place());
        for (change, other, tag) in before {
            self.backends.entry(other).or_default().is_told = true;
            self.changes(self.when(at, tag), &change);
        }
        self.changes(at, &change);
    }

    fn changes(&mut self, at: SimTime, change: &Change) {
        for (attempt, cause) in self.leases.take(change) {
            self.note(at, change.key, attempt, cause);
        }
        if let Some(attempt) = self.leases.extended(change) {
            self.last = self.last.max(at);
            let note = Note::Extended { authority: self.server, key: change.key, attempt, by: Some(attempt) };
            self.account.entries.push(Entry { at: self.last, node: self.server, note });
        }
    }

    /// What a statement lets go of when it is done.
    fn lets_go(&mut self, at: SimTime, pid: Pid, request: &PgRequest, by: Option<AttemptId>) {
        let cause = Cause::Request(by);
        match request {
            PgRequest::Unlock { key, strength } => {
                let backend = self.backends.entry(pid).or_default();
                let thing = Thing::Advisory(*key);
                if let Some(count) = backend.has.get_mut(&(thing, Scope::Session)) {
                    let count = &mut count[usize::from(*strength == Strength::Shared)];
                    *count = count.saturating_sub(1);
                }
                self.look(at, pid, thing, cause);
            }
            PgRequest::UnlockAll | PgRequest::DiscardAll => self.let_go(at, pid, Scope::Session, cause),
            PgRequest::Commit | PgRequest::Rollback => self.let_go(at, pid, Scope::Transaction, cause),
            _ => {}
        }
    }

    fn let_in(&mut self, (at, pid): (SimTime, Pid), want: Want, by: Option<AttemptId>, next: &[(SimTime, Pid, Line)]) {
        let others: Vec<Pid> = self.backends.keys().copied().filter(|other| *other != pid).collect();
        for other in others {
            if self.is_in_the_way(other, want) {
                self.make_way(at, other, want, next);
            }
        }
        let backend = self.backends.entry(pid).or_default();
        // A transaction that is one statement is over.
        if want.scope == Scope::Transaction && !backend.in_block {
            return;
        }
        backend.has.entry((want.thing, want.scope)).or_default()[usize::from(want.strength == Strength::Shared)] += 1;
        let (Some(&name), Some(_)) = (self.names.get(&want.thing), by) else { return };
        let owners = self.owners.entry(name).or_default();
        if owners.contains(&Some(pid)) {
            return;
        }
        let place = owners.iter().position(Option::is_none).unwrap_or(owners.len());
        owners.resize(owners.len().max(place + 1), None);
        owners[place] = Some(pid);
        self.note(at, in_place(name, place), by, Cause::Request(by));
    }

    fn is_in_the_way(&self, other: Pid, want: Want) -> bool {
        [Scope::Session, Scope::Transaction].into_iter().any(|scope| {
            let has = self.backends[&other].has.get(&(want.thing, scope)).copied().unwrap_or_default();
            has[0] > 0 || has[1] > 0 && want.strength == Strength::Exclusive
        })
    }

    /// Who is in the way of one that was let in has let go before, and has not said so yet.
    fn make_way(&mut self, at: SimTime, other: Pid, want: Want, next: &[(SimTime, Pid, Line)]) {
        let backend = self.backends.entry(other).or_default();
        if let (Some((tag, request)), false) = (backend.doing.clone(), backend.is_told) {
            backend.is_told = true;
            let by = self.attempt(tag);
            // The log counts in whole ms: not before that was asked for.
            self.lets_go(self.when(at, tag), other, &request, by);
        }
        let ends = next.iter().find(|(_, pid, _)| *pid == other).map(|(.., line)| line);
        if self.is_in_the_way(other, want) && ends == Some(&Line::Over) {
            for scope in [Scope::Session, Scope::Transaction] {
                self.let_go(at, other, scope, Cause::SessionEnd);
            }
        }
        if self.is_in_the_way(other, want) {
            let what = self.names.get(&want.thing).map_or_else(|| format!("{:?}", want.thing), ToString::to_string);
            self.account.doubts.push(format!("two backends of one server have the lock {what}"));
        }
    }

    /// It lets go of all that it has until then.
    fn let_go(&mut self, at: SimTime, pid: Pid, until: Scope, cause: Cause) {
        let Some(backend) = self.backends.get_mut(&pid) else { return };
        let things: Vec<Thing> =
            backend.has.keys().filter(|(_, scope)| *scope == until).map(|(thing, _)| *thing).collect();
        backend.has.retain(|(_, scope), _| *scope != until);
        for thing in things {
            self.look(at, pid, thing, cause);
        }
    }

    /// It may have that lock no more.
    fn look(&mut self, at: SimTime, pid: Pid, thing: Thing, cause: Cause) {
        let has = self.backends.get(&pid).is_some_and(|backend| {
            let all =
                [Scope::Session, Scope::Transaction].into_iter().filter_map(|scope| backend.has.get(&(thing, scope)));
            all.flatten().any(|count| *count > 0)
        });
        let Some(&name) = self.names.get(&thing).filter(|_| !has) else { return };
        let Some(owners) = self.owners.get_mut(&name) else { return };
        let Some(place) = owners.iter().position(|owner| *owner == Some(pid)) else { return };
        owners[place] = None;
        self.note(at, in_place(name, place), None, cause);
    }

    fn note(&mut self, at: SimTime, key: Name, attempt: Option<AttemptId>, cause: Cause) {
        self.last = self.last.max(at);
        let note = Note::Owner { authority: self.server, key, attempt, cause };
        self.account.entries.push(Entry { at: self.last, node: self.server, note });
    }
}

/// The key of the owner in that place, as the model has it.
fn in_place(name: Name, place: usize) -> Name {
    if place == 0 { name } else { Name::from(format!("{name}/shared-{place}")) }
}

/// A line of the log: seconds since 1970, the number of the backend, and what it says.
fn read(line: &str, machine: Segment) -> Option<(SimTime, Pid, Line)> {
    let (when, rest) = line.split_once(" [")?;
    let (pid, said) = rest.split_once("] ")?;
    let (seconds, millis) = when.split_once('.')?;
    let millis = seconds.parse::<i64>().ok()? * 1_000 + millis.parse::<i64>().ok()?;
    let since = (millis * 1_000_000).saturating_sub(machine.wall);
    let (level, said) = said.split_once(":  ")?;
    let line = match level {
        "ERROR" => Line::Fails,
        "FATAL" => Line::Over,
        "LOG" if said.starts_with("disconnection: ") => Line::Over,
        "LOG" if said.starts_with("duration: ") => Line::Done,
        "LOG" if said.starts_with("starting PostgreSQL") => Line::Starts,
        "LOG" => Line::Begins(statement(said.strip_prefix("statement: ")?)),
        _ => return None,
    };
    Some((SimTime::from_nanos(u64::try_from(since).unwrap_or(0)), Pid(pid.parse().ok()?), line))
}

/// A statement with its tag before it. `None`: it is not a client's.
fn statement(sql: &str) -> Option<(Tag, PgRequest)> {
    let (tag, sql) = sql.strip_prefix("/* ")?.split_once(" */ ")?;
    let mut numbers = tag.split('.');
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let (node, life, call) = (next()?, next()?, next()?);
    let tag = (NodeId::new(u16::try_from(node).ok()?), u32::try_from(life).ok()?, call);
    Some((tag, PgRequest::from_sql(sql).ok()?))
}

/// The statement with its tag before it.
pub(crate) fn tagged((node, life): (NodeId, u32), call: u64, sql: &str) -> String {
    format!("/* {}.{life}.{call} */ {sql}", node.index())
}

#[cfg(test)]
mod tests;
