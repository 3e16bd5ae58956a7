//! Histories told by hand, for tests: a [`Story`].
//!
//! ```text
//! let mut story = Story::new();
//! story.at(10).client(1).takes(100);                  // asks, is made owner, is granted until 100 ms
//! story.at(60).client(2).takes(160).read(0);
//! assert_eq!(story.broken(GrantExclusion).at, ms(60));
//! ```
//!
//! Instants are whole milliseconds of true time, and so are readings of the clients' clocks: all
//! clocks begin at zero and run true unless the story says otherwise. There are some lock servers, of
//! which the first is asked unless the story says otherwise, four clients, and a guarded resource. The
//! lock is `orders`, the object `account`.

mod clocks;
mod servers;

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use host::{AttemptId, Clock, Duration, MonoTime, NodeId, Ppm, SimTime};

use crate::history::{
    Activity, Authorities, Cause, Ending, Entry, History, Mode, NodeHistory, Note, OpId, Thread, Token, Version,
};
use crate::rules::{Bounds, Policy, Promise, Rules};
use crate::verdict::{Evidence, Judgement, Verdict};
use crate::{Assumption, Property, judge};
use clocks::true_clock;

const CLIENTS: u16 = 4;

/// An instant of true time.
pub(crate) const fn ms(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

/// A length of time.
pub(crate) const fn lasting(ms: u64) -> Option<Duration> {
    Some(Duration::from_millis(ms))
}

/// A reading of a client's monotonic clock.
const fn reading(ms: u64) -> MonoTime {
    MonoTime::from_nanos(ms * 1_000_000)
}

/// A history in the making, and the rules by which it will be judged.
#[derive(Debug)]
pub(crate) struct Story {
    pub(crate) history: History,
    pub(crate) rules: Rules,
    servers: u16,
    now: SimTime,
    /// By client: the number of its attempts, and of the current one's operations.
    clients: [(u32, u32); CLIENTS as usize],
}

impl Story {
    /// One lock server; clients look at their clocks; the run ends at ten seconds.
    pub(crate) fn new() -> Self {
        Self::with_servers(1, 1)
    }

    /// Several lock servers, of which so many make a grant.
    pub(crate) fn with_servers(servers: u16, quorum: usize) -> Self {
        let node = |i| NodeHistory {
            name: format!("node-{i}").into(),
            clocks: vec![true_clock()],
            activity: Vec::new(),
            lease_clock: if i < servers { Clock::Wall } else { Clock::Monotonic },
        };
        let nodes = (0..servers + CLIENTS + 1).map(node).collect();
        let rules = Rules {
            promise: Promise::default(),
            quorum,
            policies: (servers..servers + CLIENTS).map(|i| (NodeId::new(i), Policy::Checked)).collect(),
            needs: BTreeMap::new(),
            ttl: lasting(90),
            rate_allowance: Ppm::ZERO,
            renews: None,
            bounds: Bounds::default(),
            authorities: (0..servers).map(NodeId::new).collect(),
            is_logged: false,
            is_in_sessions: false,
            queues: false,
            counters: Vec::new(),
            counters_on: Clock::Monotonic,
            resource_checks_tokens: false,
        };
        let history =
            History { entries: Vec::new(), nodes, end: ms(10_000), horizon: ms(10_000), ending: Ending::Horizon };
        Self { history, rules, servers, now: SimTime::ZERO, clients: [(0, 0); CLIENTS as usize] }
    }

    /// Moves on to that instant.
    pub(crate) fn at(&mut self, at: u64) -> &mut Self {
        self.move_to(ms(at))
    }

    /// Moves on to the last nanosecond before that instant.
    pub(crate) fn just_before(&mut self, at: u64) -> &mut Self {
        self.move_to(SimTime::from_nanos(ms(at).as_nanos() - 1))
    }

    fn move_to(&mut self, at: SimTime) -> &mut Self {
        assert!(self.now <= at, "a story is told in order");
        self.now = at;
        self
    }

    /// What that client does, from 1.
    pub(crate) fn client(&mut self, client: u16) -> Teller<'_> {
        let node = self.client_node(client);
        Teller { story: self, node, client: Some(client), object: "account" }
    }

    /// What somebody does who never asks for a lock.
    pub(crate) fn observer(&mut self) -> Teller<'_> {
        let node = NodeId::new(self.servers + CLIENTS);
        Teller { story: self, node, client: None, object: "account" }
    }

    /// What that lock server does, from 1.
    pub(crate) fn server(&mut self, server: u16) -> Teller<'_> {
        Teller { story: self, node: NodeId::new(server - 1), client: None, object: "account" }
    }

    /// That client's policy.
    pub(crate) fn policy(&mut self, client: u16, policy: Policy) {
        let node = self.client_node(client);
        self.rules.policies.insert(node, policy);
    }

    /// The lock rests on that assumption, for every property.
    pub(crate) fn declare(&mut self, assumption: Assumption) {
        for property in Property::ALL {
            self.rules.needs.entry(property).or_default().push(assumption);
        }
    }

    /// The id of that client's latest attempt.
    pub(crate) fn attempt(&self, client: u16) -> AttemptId {
        self.nth_attempt(client, self.clients[usize::from(client) - 1].0)
    }

    /// The id of that client's attempt with that number, from 1.
    pub(crate) fn nth_attempt(&self, client: u16, nth: u32) -> AttemptId {
        AttemptId::new(self.client_node(client), NonZeroU32::new(nth).expect("the client has asked before"))
    }

    /// The index of the latest note but so many.
    pub(crate) const fn last_but(&self, back: usize) -> usize {
        self.history.entries.len() - 1 - back
    }

    pub(crate) fn judged(&self) -> Judgement {
        judge(&self.history, &self.rules, &Property::ALL)
    }

    /// The evidence against a property that must be broken.
    pub(crate) fn broken(&self, property: Property) -> Evidence {
        let verdict = self.judged().verdicts.remove(&property);
        let Some(Verdict::Broken(evidence)) = verdict else { panic!("{property}: {verdict:?}") };
        evidence
    }

    /// The property must hold.
    pub(crate) fn holds(&self, property: Property) {
        assert_eq!(self.judged().verdicts[&property], Verdict::Holds, "{property}");
    }

    /// Whether the property holds cannot be said.
    pub(crate) fn undecided(&self, property: Property) {
        let verdict = &self.judged().verdicts[&property];
        assert!(matches!(verdict, Verdict::Inconclusive(_)), "{property}: {verdict:?}");
    }

    /// When the assumption was first broken.
    pub(crate) fn breach(&self, assumption: Assumption) -> Option<SimTime> {
        self.judged().broken_assumptions.remove(&assumption)
    }

    fn client_node(&self, client: u16) -> NodeId {
        assert!((1..=CLIENTS).contains(&client), "clients are numbered from 1 to {CLIENTS}");
        NodeId::new(self.servers + client - 1)
    }
}

/// Tells what one node does at the story's present instant. Clients speak of their latest attempt.
#[derive(Debug)]
pub(crate) struct Teller<'s> {
    story: &'s mut Story,
    node: NodeId,
    client: Option<u16>,
    object: &'static str,
}

/// A client and its lock.
impl Teller<'_> {
    /// Asks for `orders`, is made owner by the first server, and is granted it until then, all at once.
    pub(crate) fn takes(self, until: u64) -> Self {
        self.takes_lock("orders", until)
    }

    /// As `takes`, another lock.
    pub(crate) fn takes_lock(self, lock: &str, until: u64) -> Self {
        self.asks(lock).names_owner(1, lock).granted(until)
    }

    pub(crate) fn asks(self, lock: &str) -> Self {
        let client = self.client.expect("only clients ask");
        let (attempts, ops) = &mut self.story.clients[usize::from(client) - 1];
        (*attempts, *ops) = (*attempts + 1, 0);
        let attempt = self.attempt();
        self.note(Note::Attempting {
            attempt,
            lock: lock.into(),
            thread: Thread::default(),
            after: None,
            mode: Mode::Exclusive,
        })
    }

    /// As `asks`, to share it.
    pub(crate) fn asks_to_share(self, lock: &str) -> Self {
        let told = self.asks(lock);
        let last = told.story.history.entries.last_mut().expect("it has just asked");
        if let Note::Attempting { mode, .. } = &mut last.note {
            *mode = Mode::Shared;
        }
        told
    }

    /// As `asks`, in that thread.
    pub(crate) fn asks_in(self, asks: u32, lock: &str) -> Self {
        let told = self.asks(lock);
        let last = told.story.history.entries.last_mut().expect("it has just asked");
        if let Note::Attempting { thread, .. } = &mut last.note {
            *thread = Thread(asks);
        }
        told
    }

    /// Tries once more for what it has asked for before.
    pub(crate) fn asks_again(self, lock: &str) -> Self {
        let before = self.attempt();
        let client = self.client.expect("only clients ask");
        self.story.clients[usize::from(client) - 1].0 += 1;
        let attempt = self.attempt();
        let (lock, thread, after, mode) = (lock.into(), Thread::default(), Some(before), Mode::Exclusive);
        self.note(Note::Attempting { attempt, lock, thread, after, mode })
    }

    pub(crate) fn gives_up(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::GaveUp { attempt })
    }

    /// That server makes the attempt the owner of `orders`, or confirms it.
    pub(crate) fn owned_by(self, server: u16) -> Self {
        self.names_owner(server, "orders")
    }

    /// Is granted what it asked for, having counted every lock server.
    pub(crate) fn granted(self, until: u64) -> Self {
        let servers = 1..=self.story.servers;
        self.granted_counting(servers, Some(until))
    }

    /// Is granted what it asked for, without a lease.
    pub(crate) fn granted_for_good(self) -> Self {
        let servers = 1..=self.story.servers;
        self.granted_counting(servers, None)
    }

    /// Is granted what it asked for, having counted those servers.
    pub(crate) fn granted_counting(self, servers: impl IntoIterator<Item = u16>, until: Option<u64>) -> Self {
        let mut counted = Authorities::NONE;
        for server in servers {
            counted.count(NodeId::new(server - 1));
        }
        let attempt = self.attempt();
        self.note(Note::Granted { attempt, token: None, until: until.map(reading), counted })
    }

    /// As `takes`, with that token.
    pub(crate) fn takes_with(self, until: u64, token: u64) -> Self {
        self.takes(until).with_token(token)
    }

    /// The grant that was noted last came with that token.
    pub(crate) fn with_token(self, number: u64) -> Self {
        if let Some(Entry { note: Note::Granted { token, .. }, .. }) = self.story.history.entries.last_mut() {
            *token = Some(Token(number));
        }
        self
    }

    pub(crate) fn denied(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::Denied { attempt })
    }

    pub(crate) fn failed(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::Failed { attempt })
    }

    pub(crate) fn renewing(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::Renewing { attempt })
    }

    pub(crate) fn renewed(self, until: u64) -> Self {
        let attempt = self.attempt();
        self.note(Note::Renewed { attempt, until: reading(until) })
    }

    pub(crate) fn renewal_failed(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::RenewalFailed { attempt })
    }

    pub(crate) fn told_of_loss(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::ToldOfLoss { attempt })
    }

    pub(crate) fn releasing(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::Releasing { attempt })
    }

    pub(crate) fn ended(self) -> Self {
        let attempt = self.attempt();
        self.note(Note::Ended { attempt })
    }

    /// That server deletes `orders`, as this client or observer asks.
    pub(crate) fn deletes(self, server: u16) -> Self {
        let by = self.client.map(|_| self.attempt());
        self.owner(server, "orders", None, Cause::Request(by))
    }

    /// That server, back from the dead, names the attempt as the owner of `orders`.
    pub(crate) fn remembered_by(self, server: u16) -> Self {
        let attempt = Some(self.attempt());
        self.owner(server, "orders", attempt, Cause::Restart)
    }

    /// That server, which is about to be promoted, names the attempt as the owner of `orders`.
    pub(crate) fn taken_over_by(self, server: u16) -> Self {
        let attempt = Some(self.attempt());
        self.owner(server, "orders", attempt, Cause::Promotion)
    }

    /// That server extends the attempt's lease on `orders`, as somebody asks.
    pub(crate) fn extended_by(self, server: u16, by: Option<AttemptId>) -> Self {
        let (authority, attempt) = (NodeId::new(server - 1), self.attempt());
        self.note(Note::Extended { authority, key: "orders".into(), attempt, by })
    }

    pub(crate) fn names_owner(self, server: u16, key: &str) -> Self {
        let attempt = Some(self.attempt());
        self.owner(server, key, attempt, Cause::Request(attempt))
    }

    fn owner(self, server: u16, key: &str, attempt: Option<AttemptId>, cause: Cause) -> Self {
        let (authority, key) = (NodeId::new(server - 1), key.into());
        self.note(Note::Owner { authority, key, attempt, cause })
    }
}

/// A client, or an observer, and the guarded object.
impl Teller<'_> {
    /// What follows is about another object.
    pub(crate) fn on(self, object: &'static str) -> Self {
        Self { object, ..self }
    }

    /// Checks before its next operation.
    pub(crate) fn checked(self) -> Self {
        let (attempt, op) = (self.attempt(), self.op());
        self.note(Note::Checked { attempt, op })
    }

    /// The operation that was checked last leaves.
    pub(crate) fn left(self) -> Self {
        let (attempt, OpId(next)) = (self.attempt(), self.op());
        self.note(Note::Left { attempt, op: OpId(next - 1) })
    }

    pub(crate) fn read(self, version: u64) -> Self {
        let (attempt, op, object) = (self.client.map(|_| self.attempt()), self.op(), self.object.into());
        self.note(Note::Read { attempt, op, object, version: Version(version) })
    }

    pub(crate) fn wrote(self, based_on: Option<u64>, replaced: u64) -> Self {
        let (attempt, op, object) = (self.client.map(|_| self.attempt()), self.op(), self.object.into());
        let (based_on, replaced) = (based_on.map(Version), Version(replaced));
        self.note(Note::Wrote { attempt, op, object, based_on, replaced })
    }

    pub(crate) fn marked(self) -> Self {
        let (attempt, op, object) = (self.client.map(|_| self.attempt()), self.op(), self.object.into());
        self.note(Note::Marked { attempt, op, object })
    }

    pub(crate) fn passed(self) -> Self {
        let (attempt, op, object) = (self.client.map(|_| self.attempt()), self.op(), self.object.into());
        self.note(Note::Passed { attempt, op, object })
    }

    pub(crate) fn effected(self, effect: &str) -> Self {
        let (attempt, op) = (self.client.map(|_| self.attempt()), self.op());
        self.note(Note::Effected { attempt, op, effect: effect.into() })
    }

    pub(crate) fn refused(self) -> Self {
        let (attempt, op, object) = (self.client.map(|_| self.attempt()), self.op(), self.object.into());
        self.note(Note::Refused { attempt, op, object })
    }

    pub(crate) fn does(self, effect: &str) -> Self {
        let (attempt, op, effect) = (self.client.map(|_| self.attempt()), self.op(), effect.into());
        self.note(Note::Effected { attempt, op, effect })
    }

    fn op(&self) -> OpId {
        OpId(self.client.map_or(0, |client| self.story.clients[usize::from(client) - 1].1))
    }
}

/// A machine.
impl Teller<'_> {
    pub(crate) fn hangs(self) -> Self {
        self.becomes(Activity::Stalled)
    }

    pub(crate) fn pauses(self) -> Self {
        self.becomes(Activity::Paused)
    }

    pub(crate) fn resumes(self) -> Self {
        self.becomes(Activity::Running)
    }

    pub(crate) fn dies(self) -> Self {
        self.becomes(Activity::Dead)
    }

    pub(crate) fn restarts(self) -> Self {
        self.becomes(Activity::Running)
    }

    pub(crate) fn becomes(self, activity: Activity) -> Self {
        let change = (self.story.now, activity);
        self.story.history.nodes[self.node.index()].activity.push(change);
        self
    }
}

impl Teller<'_> {
    fn attempt(&self) -> AttemptId {
        self.story.attempt(self.client.expect("only clients have attempts"))
    }

    fn note(self, note: Note) -> Self {
        if let (Note::Checked { .. }, Some(client)) = (&note, self.client) {
            self.story.clients[usize::from(client) - 1].1 += 1;
        }
        self.story.history.entries.push(Entry { at: self.story.now, node: self.node, note });
        self
    }
}
