//! What tests of several reports share: one sweep, one trace, and histories told by hand.
//!
//! Instants are whole milliseconds of true time. There are one lock server, `redis-1`, the clients
//! `worker-1`, `worker-2` and `worker-3`, and the resource. Every clock begins at a second of its own,
//! which is not zero, and runs true unless told otherwise. The lock is `orders`, the object `account`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use host::{Activity, AttemptId, Duration, Ending, MonoTime, NodeId, Ppm, Segment, SimTime, Ticking};
use indexmap::IndexMap;
use spec::{
    Assumption, Authorities, Bounds, Cause, Entry, History, Judgement, Mode, NodeHistory, Note, OpId, Policy, Property,
    Rules, Thread, Token, Version, judge,
};

use crate::figure::{self, FigureReport};
use crate::result::{self, CellReport, PropertyReport, Spread, Standing, SweepReport};
use crate::run::{Failed, JudgedRun, ServerError, StruckFault};
use crate::trace::{self, TraceEvent, TraceFooter, TraceHeader};

pub(crate) const REDIS: NodeId = NodeId::new(0);
pub(crate) const WORKER_1: NodeId = NodeId::new(1);
pub(crate) const WORKER_2: NodeId = NodeId::new(2);
pub(crate) const WORKER_3: NodeId = NodeId::new(3);
const RESOURCE: NodeId = NodeId::new(4);
const NAMES: [&str; 5] = ["redis-1", "worker-1", "worker-2", "worker-3", "resource"];

/// What every monotonic clock reads when the run begins.
const FIRST_READING: u64 = 7_000_000_000;

/// What most stories here are about: two holders, and what becomes of their operations.
const ABOUT_THE_RESOURCE: [Property; 5] = [
    Property::GrantExclusion,
    Property::BeliefExclusion,
    Property::EffectOrder,
    Property::NoLostUpdate,
    Property::RightfulAccepted,
];

/// An instant of true time.
pub(crate) const fn ms(ms: u64) -> SimTime {
    SimTime::from_nanos(ms * 1_000_000)
}

/// A history in the making.
pub(crate) struct Told {
    pub(crate) history: History,
    pub(crate) rules: Rules,
    /// What it is judged for.
    pub(crate) asked: Vec<Property>,
    pub(crate) faults: Vec<StruckFault<'static>>,
    pub(crate) errors: Vec<ServerError>,
    pub(crate) enters_again: bool,
    pub(crate) resource: &'static str,
}

impl Told {
    pub(crate) fn new(resource: &'static str) -> Self {
        let clock = Segment {
            since: SimTime::ZERO,
            mono: FIRST_READING,
            boot: FIRST_READING,
            wall: 0,
            rate: Ppm::ZERO,
            ticking: Ticking::All,
        };
        let node = |name: &str| NodeHistory {
            name: name.into(),
            clocks: vec![clock],
            activity: Vec::new(),
            // A Redis server counts on its wall clock.
            lease_clock: if name.starts_with("redis") { host::Clock::Wall } else { host::Clock::Monotonic },
        };
        let clients = [WORKER_1, WORKER_2, WORKER_3];
        Self {
            history: History {
                entries: Vec::new(),
                nodes: NAMES.into_iter().map(node).collect(),
                end: ms(60_000),
                horizon: ms(60_000),
                ending: Ending::Quiet,
            },
            rules: Rules {
                promise: spec::Promise::default(),
                quorum: 1,
                policies: clients.into_iter().map(|client| (client, Policy::Checked)).collect(),
                needs: needs(),
                ttl: Some(Duration::from_secs(10)),
                rate_allowance: Ppm::ZERO,
                renews: None,
                bounds: Bounds::default(),
                authorities: vec![REDIS],
                is_logged: false,
                is_in_sessions: false,
                queues: false,
                counters: Vec::new(),
                counters_on: host::Clock::Monotonic,
                resource_checks_tokens: resource != "open",
            },
            asked: ABOUT_THE_RESOURCE.to_vec(),
            faults: Vec::new(),
            errors: Vec::new(),
            enters_again: false,
            resource,
        }
    }

    pub(crate) fn note(&mut self, at: u64, node: NodeId, note: Note) -> &mut Self {
        self.history.entries.push(Entry { at: ms(at), node, note });
        self
    }

    /// Asks, is made owner, and is granted the lock one ms later, with its lease until that instant on
    /// a clock that runs true.
    pub(crate) fn takes(&mut self, at: u64, attempt: AttemptId, token: u64, until: Option<u64>) -> &mut Self {
        self.asks(at, attempt).owns(at, attempt).granted(at + 1, attempt, token, until)
    }

    pub(crate) fn asks(&mut self, at: u64, attempt: AttemptId) -> &mut Self {
        self.note(
            at,
            attempt.client(),
            Note::Attempting {
                attempt,
                lock: "orders".into(),
                thread: Thread::default(),
                after: None,
                mode: Mode::Exclusive,
            },
        )
    }

    /// All have asked to share the lock.
    pub(crate) fn all_share(&mut self) -> &mut Self {
        for entry in &mut self.history.entries {
            if let Note::Attempting { mode, .. } = &mut entry.note {
                *mode = Mode::Shared;
            }
        }
        self
    }

    /// That attempt was for another lock.
    pub(crate) fn asked_for(&mut self, one: AttemptId, other: &str) -> &mut Self {
        for entry in &mut self.history.entries {
            if let Note::Attempting { attempt, lock, .. } = &mut entry.note
                && *attempt == one
            {
                *lock = other.into();
            }
        }
        self
    }

    pub(crate) fn owns(&mut self, at: u64, attempt: AttemptId) -> &mut Self {
        let (key, attempt) = ("orders".into(), Some(attempt));
        self.note(at, REDIS, Note::Owner { authority: REDIS, key, attempt, cause: Cause::Request(attempt) })
    }

    pub(crate) fn granted(&mut self, at: u64, attempt: AttemptId, token: u64, until: Option<u64>) -> &mut Self {
        let (token, until, counted) = (Some(Token(token)), until.map(reading), Authorities::one(REDIS));
        self.note(at, attempt.client(), Note::Granted { attempt, token, until, counted })
    }

    pub(crate) fn renewed(&mut self, at: u64, attempt: AttemptId, until: u64) -> &mut Self {
        self.note(at, attempt.client(), Note::Renewed { attempt, until: reading(until) })
    }

    pub(crate) fn checked(&mut self, at: u64, attempt: AttemptId, op: u32) -> &mut Self {
        self.note(at, attempt.client(), Note::Checked { attempt, op: OpId(op) })
    }

    pub(crate) fn left(&mut self, at: u64, attempt: AttemptId, op: u32) -> &mut Self {
        self.note(at, attempt.client(), Note::Left { attempt, op: OpId(op) })
    }

    pub(crate) fn read(&mut self, at: u64, attempt: AttemptId, op: u32, version: u64) -> &mut Self {
        let (op, object, version) = (OpId(op), "account".into(), Version(version));
        self.note(at, RESOURCE, Note::Read { attempt: Some(attempt), op, object, version })
    }

    pub(crate) fn wrote(
        &mut self,
        at: u64,
        attempt: impl Into<Option<AttemptId>>,
        op: u32,
        based_on: Option<u64>,
        replaced: u64,
    ) -> &mut Self {
        let (attempt, op, object) = (attempt.into(), OpId(op), "account".into());
        let (based_on, replaced) = (based_on.map(Version), Version(replaced));
        self.note(at, RESOURCE, Note::Wrote { attempt, op, object, based_on, replaced })
    }

    pub(crate) fn refused(&mut self, at: u64, attempt: AttemptId, op: u32) -> &mut Self {
        let (op, object) = (OpId(op), "account".into());
        self.note(at, RESOURCE, Note::Refused { attempt: Some(attempt), op, object })
    }

    /// Ends its section, begins to release, and is confirmed one ms later.
    pub(crate) fn gives_back(&mut self, at: u64, attempt: AttemptId) -> &mut Self {
        let client = attempt.client();
        self.note(at, client, Note::Ended { attempt });
        self.note(at, client, Note::Releasing { attempt });
        let (key, cause) = ("orders".into(), Cause::Request(Some(attempt)));
        self.note(at + 1, REDIS, Note::Owner { authority: REDIS, key, attempt: None, cause });
        self.note(at + 1, client, Note::Released { attempt })
    }

    pub(crate) fn becomes(&mut self, at: u64, node: NodeId, activity: Activity) -> &mut Self {
        self.history.nodes[node.index()].activity.push((ms(at), activity));
        self
    }

    /// The node's clocks run at that rate from the start.
    pub(crate) fn runs_at(&mut self, node: NodeId, ppm: i32) -> &mut Self {
        self.history.nodes[node.index()].clocks[0].rate = Ppm::new(ppm);
        self
    }

    /// The node's wall clock is set.
    pub(crate) fn steps(&mut self, at: u64, node: NodeId, by_ms: i64) -> &mut Self {
        let clocks = &mut self.history.nodes[node.index()].clocks;
        let mut stepped = clocks[clocks.len() - 1].carried_to(ms(at));
        stepped.wall += by_ms * 1_000_000;
        clocks.push(stepped);
        self
    }

    pub(crate) fn fault(
        &mut self,
        (name, what): (&'static str, &'static str),
        nodes: &[NodeId],
        from: u64,
        until: impl Into<Option<u64>>,
    ) -> &mut Self {
        let (nodes, until) = (nodes.to_vec(), until.into().map(ms));
        self.faults.push(StruckFault { name, what, part: None, nodes, from: ms(from), until, landed: true });
        self
    }

    /// The server has answered that client with an error.
    pub(crate) fn error(&mut self, at: u64, client: NodeId, failed: Failed, why: &'static str) -> &mut Self {
        self.errors.push(ServerError { at: ms(at), client, server: REDIS, failed, why, code: "40P01" });
        self
    }

    pub(crate) fn judged(&self) -> Judgement {
        judge(&self.history, &self.rules, &self.asked)
    }

    /// What is told of it.
    pub(crate) fn tell<T>(&self, tell: impl FnOnce(&JudgedRun<'_>) -> T) -> T {
        let judgement = self.judged();
        let Self { history, faults, errors, enters_again, resource, .. } = self;
        let (judgement, enters_again) = (&judgement, *enters_again);
        tell(&JudgedRun { history, judgement, faults, errors, lock: "redis", enters_again, resource })
    }
}

/// What a lock with a lease on one server rests on.
fn needs() -> BTreeMap<Property, Vec<Assumption>> {
    let clocks = [Assumption::RateWithinDrift, Assumption::NoStep];
    let holders = [Assumption::PauseWithinValidity, Assumption::ResourceChecksTokens];
    [
        (Property::GrantExclusion, clocks.to_vec()),
        (Property::BeliefExclusion, [&clocks[..], &holders[..1]].concat()),
        (Property::EffectOrder, [clocks, holders].concat()),
        (Property::NoLostUpdate, [clocks, holders].concat()),
    ]
    .into()
}

/// The client's attempt of that number, from 1.
pub(crate) fn attempt(client: NodeId, ordinal: u32) -> AttemptId {
    AttemptId::new(client, NonZeroU32::new(ordinal).expect("attempts are numbered from 1"))
}

/// The reading of a clock that has run true for so long.
const fn reading(ms: u64) -> MonoTime {
    MonoTime::from_nanos(FIRST_READING + ms * 1_000_000)
}

/// The holder stands still from its last look at the clock to long after its lease: what happened at
/// an open resource.
pub(crate) fn paused_at_an_open_resource() -> Told {
    let mut told = Told::new("open");
    let [first, second] = paused_holder(&mut told);
    told.left(15_152, first, 1).wrote(15_154, first, 1, Some(0), 1);
    told.gives_back(20_400, second);
    told
}

/// As at an open resource, where the resource compares tokens.
pub(crate) fn paused_at_a_fence() -> Told {
    let mut told = Told::new("fence_rw");
    let [first, second] = paused_holder(&mut told);
    told.left(15_152, first, 1).refused(15_154, first, 1);
    told.gives_back(20_400, second);
    told
}

fn paused_holder(told: &mut Told) -> [AttemptId; 2] {
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 3)];
    told.fault(("gc", "pause"), &[WORKER_1], 152, 15_152);
    told.becomes(152, WORKER_1, Activity::Paused).becomes(15_152, WORKER_1, Activity::Running);
    told.takes(100, first, 33, Some(10_100)).checked(101, first, 0).left(101, first, 0).read(102, first, 0, 0);
    told.checked(152, first, 1);
    told.takes(10_213, second, 34, Some(20_213)).checked(10_214, second, 0).left(10_214, second, 0);
    told.read(10_215, second, 0, 0).checked(10_265, second, 1).left(10_265, second, 1);
    told.wrote(10_266, second, 1, Some(0), 0);
    [first, second]
}

/// The text as it is on paper.
pub(crate) fn without_colours(text: &str) -> String {
    let mut text = text.to_owned();
    for colour in ["\x1b[1m", "\x1b[31m", "\x1b[32m", "\x1b[33m", "\x1b[0m"] {
        text = text.replace(colour, "");
    }
    assert!(!text.contains('\x1b'), "{text:?}");
    text
}

/// The sweep of that scenario, as it comes out.
pub(crate) fn gc_pause() -> SweepReport {
    let cells = vec![gc_pause_cell("open", 1_000), gc_pause_cell("fence_rw", 0)];
    SweepReport {
        schema: result::SCHEMA.to_owned(),
        engine: "0.1.0".to_owned(),
        scenario: "gc-pause".to_owned(),
        as_expected: true,
        interrupted: false,
        cells,
        frontiers: Vec::new(),
    }
}

fn gc_pause_cell(resource: &str, lost: u64) -> CellReport {
    CellReport {
        lock: "redis".to_owned(),
        params: [("resource".to_owned(), resource.to_owned())].into(),
        seeds: 1_000,
        vacuous: 0,
        inconclusive: 0,
        ungranted: 0,
        as_expected: true,
        standing: Standing::AsExpected,
        properties: ABOUT_THE_RESOURCE
            .into_iter()
            .zip([0, 1_000, lost, lost, 0])
            .map(|(property, broken)| (property.name().to_owned(), expected_property(broken)))
            .collect(),
        figures: IndexMap::new(),
        grant_overlap_ms: Spread { max: 0, median: 0 },
        belief_overlap_ms: Spread { max: 111, median: 99 },
        assumptions_broken: [("pause-within-validity".to_owned(), 1_000)].into(),
        outside_differs: None,
        vacuous_faults: Vec::new(),
        hash: crate::hex(0x2a),
        trace: (lost > 0).then(|| format!("out/gc-pause/redis-{resource}-0.jsonl")),
    }
}

/// What is expected of the longest overlap of beliefs.
pub(crate) fn longest_belief_overlap() -> FigureReport {
    FigureReport {
        unit: "ns".to_owned(),
        expected: figure::Wanted { max: Some(120_000_000), ..figure::Wanted::default() },
        seen: figure::Seen {
            seeds: 1_000,
            missing: 0,
            min: Some(62_000_000),
            max: Some(110_500_000),
            total: "98000000000".to_owned(),
            value: Some(110_500_000),
            interval: None,
        },
        as_expected: true,
        off: 0,
        seed: Some("17".to_owned()),
    }
}

fn expected_property(broken: u64) -> PropertyReport {
    let expected = if broken > 0 { "always" } else { "holds" };
    PropertyReport {
        broken,
        inconclusive: 0,
        first_seed: (broken > 0).then(|| "0".to_owned()),
        expected: expected.to_owned(),
        named: true,
        as_expected: true,
    }
}

/// The header of a small trace.
pub(crate) fn small_header() -> TraceHeader {
    let strings = |items: &[&str]| items.iter().map(|item| (*item).to_owned()).collect();
    TraceHeader {
        schema: trace::SCHEMA.to_owned(),
        engine: "0.1.0".to_owned(),
        scenario: "gc-pause".to_owned(),
        seed: "18446744073709551615".to_owned(),
        lock: "redis".to_owned(),
        params: IndexMap::from([("resource".to_owned(), "open".to_owned()), ("a".to_owned(), "b".to_owned())]),
        set: strings(&["fault.gc.for=15s"]),
        nodes: strings(&NAMES),
        faults: strings(&["gc"]),
        drawn: Vec::new(),
        unit: "ns".to_owned(),
        source: "name = \"gc-pause\"\n".to_owned(),
    }
}

/// Its events: one that has all keys, and one that has only those that are always there.
pub(crate) fn small_events() -> Vec<TraceEvent> {
    let bare = TraceEvent {
        seq: 1,
        t: 152_000_000,
        node: "worker-1".to_owned(),
        mono: FIRST_READING,
        wall: "-5".to_owned(),
        kind: "timer".to_owned(),
        peer: None,
        message: None,
        attempt: None,
        fault: None,
        digest: crate::hex(7),
        what: "a sleep ends".to_owned(),
    };
    let full = TraceEvent {
        seq: 0,
        t: 101_000_000,
        kind: "lost".to_owned(),
        peer: Some("redis-1".to_owned()),
        message: Some(9),
        attempt: Some("worker-1#1".to_owned()),
        fault: Some("gc".to_owned()),
        what: "SET orders".to_owned(),
        ..bare.clone()
    };
    vec![full, bare]
}

/// A trace of two events, whose verdicts are those of the paused holder at an open resource.
pub(crate) fn small_trace() -> String {
    let told = paused_at_an_open_resource();
    let footer = TraceFooter::of(told.history.end, told.history.ending, 0x2a, &told.judged());
    trace::write(&small_header(), &small_events(), &footer)
}
