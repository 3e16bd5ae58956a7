//! From what a server told, and what clients said they had sent, to who owned which key when.
//!
//! The order is the server's. A command is known by the port of its connection and its text; those of one connection
//! come in the order in which they were sent. It happened when the server's own clock says, as far as that lies between its
//! sending and its answer, and in the order; what has no clock's reading, such as an expiry, is as late as its order, and
//! the moment at which it was heard of, allow.
//!
//! A replica runs what its primary streams, in the primary's order: its nth change to a key is the primary's nth, and makes
//! the same attempt the owner (`stream`).
//!
//! The rules are those of the model (`models/src/redis/server.rs`): a key that `SET` writes, or a hash in which a lock's
//! script counts, is the asking attempt's; a key that is deleted, evicted or expired is nobody's; whoever moves the expiry
//! extends its owner's lease.

mod stream;

use std::collections::{BTreeMap, VecDeque};

use host::{AttemptId, Deadline, Name, NodeId, Segment, SimTime, WallTime};
use spec::{Cause, Entry, Note};

use self::stream::Copies;
pub(crate) use self::stream::Stream;

use crate::line::Call;
use crate::witness::Told;

/// What was heard of one server, in order.
#[derive(Clone, Debug)]
pub(crate) enum Heard {
    /// It told that, which was heard then.
    Told(SimTime, Told),
    /// It was started again, and had these keys.
    Back(SimTime, Vec<Name>),
}

/// A command that a client has sent.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) call: Call,
    /// When the answer was there, if one came.
    pub(crate) answered: Option<SimTime>,
    /// Whether the server must have run it.
    pub(crate) served: bool,
}

/// Who owned what, and what cannot be known.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Owners {
    pub(crate) entries: Vec<Entry>,
    pub(crate) doubts: Vec<String>,
    /// What replicas of it run.
    pub(crate) stream: Stream,
}

/// Makes up the account of one server from what was heard of it and what clients have sent to all. `clocks` is what its own
/// read; `copies`, if it is a replica at first, what it copies.
pub(crate) fn owners(
    server: NodeId,
    clocks: &[Segment],
    (heard, sent): (&[Heard], &[Sent]),
    copies: Option<&Stream>,
) -> Owners {
    let (role, account) = (copies.map_or(Role::Leads, |stream| Role::Copies(Copies::new(stream))), Owners::default());
    let mut ledger = Ledger { server, owners: BTreeMap::new(), role, told: 0, account };
    ledger.account.stream = Stream::of(server);
    let senders = ledger.senders(heard, sent);
    let instants = instants(clocks, heard, &senders);
    ledger.walk(heard, &senders, &instants);
    ledger.account
}

/// When each thing happened that was heard. What is known of it is when it was sent at the earliest, when it was answered
/// or heard at the latest, what the server's clock read, and what came before and after it.
fn instants(clocks: &[Segment], heard: &[Heard], senders: &[Option<&Sent>]) -> Vec<SimTime> {
    // From the last to the first: nothing is later than what follows it, and a change to a key is no earlier than it must.
    let (mut latest, mut next) = (SimTime::NEVER, SimTime::NEVER);
    let mut instants = vec![SimTime::ZERO; heard.len()];
    for ((heard, sent), instant) in heard.iter().zip(senders).zip(&mut instants).rev() {
        let (Heard::Told(at, _) | Heard::Back(at, _)) = heard;
        latest = latest.min(sent.and_then(|sent| sent.answered).unwrap_or(SimTime::NEVER)).min(*at);
        next = match heard {
            Heard::Told(_, Told::Ran { wall, .. }) => true_time(clocks, *wall, latest),
            Heard::Told(_, Told::Changed { .. }) => latest.min(next),
            Heard::Told(_, Told::Leads(_) | Told::Follows) | Heard::Back(..) => latest,
        };
        *instant = next;
    }
    // From the first to the last: nothing is earlier than its sending, or than what it follows.
    let mut earliest = SimTime::ZERO;
    for (instant, sent) in instants.iter_mut().zip(senders) {
        earliest = earliest.max(sent.map_or(SimTime::ZERO, |sent| sent.call.at)).max(*instant);
        *instant = earliest;
    }
    instants
}

/// When the clock read that, and not later than `latest`. A clock that was set back read some things twice.
fn true_time(clocks: &[Segment], reading: WallTime, latest: SimTime) -> SimTime {
    let first = clocks.first().filter(|first| reading.as_nanos() < first.wall).map(|first| first.since);
    let had_begun = clocks.iter().rev().filter(|segment| segment.wall <= reading.as_nanos());
    let mut read = had_begun.filter_map(|segment| segment.when(Deadline::Wall(reading))).chain(first);
    read.find(|at| *at <= latest).unwrap_or(latest)
}

struct Ledger<'s> {
    server: NodeId,
    owners: BTreeMap<Name, AttemptId>,
    role: Role<'s>,
    /// How often it has told of an owner or an extension since its process started.
    told: u32,
    account: Owners,
}

/// Who decides what a server does to its keys.
enum Role<'s> {
    /// Its clients.
    Leads,
    /// The primary whose stream this is.
    Copies(Copies<'s>),
    /// Another, of which nothing is known here.
    Follows,
}

impl Ledger<'_> {
    /// Who sent each command that was run. What was sent before it on its connection and was not told of was never run.
    fn senders<'s>(&mut self, heard: &[Heard], sent: &'s [Sent]) -> Vec<Option<&'s Sent>> {
        let mut ports: BTreeMap<u16, VecDeque<&Sent>> = BTreeMap::new();
        for sent in sent.iter().filter(|sent| sent.call.server == self.server) {
            ports.entry(sent.call.port).or_default().push_back(sent);
        }
        let (mut running, mut untold) = (None, 0);
        let mut sender = |port: u16, text: &str| {
            let sent = ports.get_mut(&port)?;
            let place = sent.iter().position(|sent| sent.call.text == text)?;
            untold += sent.drain(..place).filter(|sent| sent.served).count();
            sent.pop_front()
        };
        let of_one = |heard: &Heard| {
            let Heard::Told(_, Told::Ran { port, text, .. }) = heard else { return None };
            if let Some(port) = port {
                running = sender(*port, text);
            }
            running
        };
        let senders = heard.iter().map(of_one).collect();
        untold += ports.values().flatten().filter(|sent| sent.served).count();
        if untold > 0 {
            self.account.doubts.push(format!("{:?} answered {untold} commands of which it did not tell", self.server));
        }
        senders
    }

    fn walk(&mut self, heard: &[Heard], senders: &[Option<&Sent>], instants: &[SimTime]) {
        let mut changes: Vec<(&str, Name)> = Vec::new();
        for ((heard, sender), at) in heard.iter().zip(senders).zip(instants) {
            match heard {
                Heard::Told(_, Told::Leads(keys)) => self.lead(*at, keys),
                Heard::Told(_, Told::Follows) => {
                    changes.clear();
                    self.follow(*at);
                }
                Heard::Told(_, Told::Changed { how, key }) if !matches!(self.role, Role::Leads) => {
                    self.copy(*at, how, *key);
                }
                Heard::Told(_, Told::Ran { .. }) if !matches!(self.role, Role::Leads) => {}
                Heard::Told(_, Told::Changed { how, key }) => match how.as_str() {
                    "expired" => self.remove_and_stream(*at, *key, Cause::Expiry),
                    "evicted" => self.remove_and_stream(*at, *key, Cause::Eviction),
                    how => changes.push((how, *key)),
                },
                Heard::Told(_, Told::Ran { text, .. }) => {
                    let changes = std::mem::take(&mut changes);
                    match sender {
                        Some(sent) => self.run(*at, sent, &changes),
                        None if changes.is_empty() => {}
                        None => self.account.doubts.push(format!("nobody says that it sent {text}")),
                    }
                    for (how, key) in changes {
                        self.account.stream.push(how, key, self.owners.get(&key).copied(), self.told);
                    }
                }
                Heard::Back(_, keys) => {
                    changes.clear();
                    self.remember(*at, keys);
                }
            }
        }
    }

    /// What one command did.
    fn run(&mut self, at: SimTime, sent: &Sent, changes: &[(&str, Name)]) {
        let asking = sent.call.attempt;
        for (i, (how, key)) in changes.iter().enumerate() {
            match *how {
                "set" if sent.call.takes == Some(*key) => self.own(at, *key, asking, true),
                // Its lease is part of the same command.
                "expire" if changes[..i].contains(&("set", *key)) => {}
                "expire" => {
                    if let Some(attempt) = self.owners.get(key).copied() {
                        let (authority, key) = (self.server, *key);
                        self.note(at, Note::Extended { authority, key, attempt, by: asking });
                    }
                }
                "hset" | "hincrby" if sent.call.takes == Some(*key) => self.own(at, *key, asking, false),
                // What takes a lock's place without being one: a counter.
                "set" | "incrby" | "del" => self.remove(at, *key, Cause::Request(asking)),
                // What else may happen to a key changes neither its owner nor its lease.
                _ => {}
            }
        }
    }

    /// The key is the asking attempt's; that it was already is told `again`, or not.
    fn own(&mut self, at: SimTime, key: Name, asking: Option<AttemptId>, again: bool) {
        let before = match asking {
            Some(asking) => self.owners.insert(key, asking),
            None => self.owners.remove(&key),
        };
        if (asking.is_some() || before.is_some()) && (again || before != asking) {
            let (authority, cause) = (self.server, Cause::Request(asking));
            self.note(at, Note::Owner { authority, key, attempt: asking, cause });
        }
    }

    /// The key is gone.
    fn remove(&mut self, at: SimTime, key: Name, cause: Cause) {
        if self.owners.remove(&key).is_some() {
            self.note(at, Note::Owner { authority: self.server, key, attempt: None, cause });
        }
    }

    fn remove_and_stream(&mut self, at: SimTime, key: Name, cause: Cause) {
        self.remove(at, key, cause);
        self.account.stream.push("del", key, None, self.told);
    }

    /// The server is back, and has these keys: their owners are who they were. A replica has what its primary has.
    fn remember(&mut self, at: SimTime, keys: &[Name]) {
        self.told = 0;
        match &mut self.role {
            Role::Leads => {}
            Role::Copies(copies) => return copies.lose_touch(),
            Role::Follows => return,
        }
        self.owners.retain(|key, _| keys.contains(key));
        for (key, attempt) in self.owners.clone() {
            let (authority, cause) = (self.server, Cause::Restart);
            self.note(at, Note::Owner { authority, key, attempt: Some(attempt), cause });
        }
        self.account.stream.restart(&self.owners);
    }

    /// A line about an owner or an extension.
    fn note(&mut self, at: SimTime, note: Note) {
        self.told += 1;
        self.push(at, note);
    }

    fn push(&mut self, at: SimTime, note: Note) {
        self.account.entries.push(Entry { at, node: self.server, note });
    }
}

#[cfg(test)]
mod tests;
