//! The kernel's state, and the small things that all its parts use: reading a clock, waking a task,
//! writing the trace.
//!
//! The parts, each an `impl Core` in a file of its own:
//!
//! | file | what |
//! |---|---|
//! | `timers` | timers on a node's clocks, re-armed when a clock changes |
//! | `tasks` | the programs' tasks and the ready queue |
//! | `bells` | how one task wakes another |
//! | `callers` | who may be interrupted while it waits |
//! | `connections` | connections, pushed messages, what arrives at either end |
//! | `dialling` | connections that services open, and which service leads |
//! | `keepalive` | whether the other side of a connection is there still |
//! | `calls` | requests and replies, and how long callers wait |
//! | `calling` | a call as its program awaits it |
//! | `links` | sending: decided, and how long each packet takes |
//! | `packets` | packets on their way: where they are kept |
//! | `wire` | packets on their way: order, loss, cuts |
//! | `triggers` | the moments for which faults and cues wait |
//! | `faults` | what a strike does, and undoes |
//! | `matching` | faults of single messages |
//! | `lifecycle` | still, resumed, dead, started again; what waits meanwhile |
//! | `admit` | one event after another |

use host::{AttemptId, Cue, Digest, Domain, Ending, Fold, NodeId, Purpose, SimTime};

use crate::callers::Callers;
use crate::connections::Connections;
use crate::event::{Event, Step};
use crate::faults::Faults;
use crate::links::Links;
use crate::node::Node;
use crate::outcome::{Noted, Outcome, Record, RecordKind};
use crate::packets::Packets;
use crate::plan::When;
use crate::queue::Queue;
use crate::sim::Bounds;
use crate::stream::{Entity, Stream, StreamPurpose};
use crate::tasks::{TaskId, Tasks};
use crate::timers::Timers;

pub(crate) struct Core<D: Domain> {
    pub(crate) seed: u64,
    pub(crate) now: SimTime,
    pub(crate) queue: Queue<Event>,
    pub(crate) nodes: Vec<Node<D::Record>>,
    pub(crate) tasks: Tasks,
    pub(crate) timers: Timers,
    pub(crate) connections: Connections<D::Message>,
    pub(crate) packets: Packets<D::Message>,
    pub(crate) links: Links,
    pub(crate) faults: Faults<D::Nudge>,
    /// What faults will put back: of which fault, on whose disk.
    pub(crate) backups: Vec<(usize, NodeId, Vec<D::Record>)>,
    pub(crate) cues: Vec<CueState>,
    pub(crate) callers: Callers,
    pub(crate) notes: Vec<Noted<D::Note>>,
    /// The attempt in whose scope code is being polled.
    pub(crate) scope: Option<AttemptId>,
    /// Nodes whose process has just died: its futures are to be dropped.
    pub(crate) dying: Vec<NodeId>,
    /// Nodes whose process is to be started again.
    pub(crate) starting: Vec<NodeId>,
    pub(crate) unfinished_clients: u32,
    pub(crate) events: u64,
    pub(crate) application_events: u64,
    pub(crate) messages: u64,
    pub(crate) ignored_dead_effects: u32,
    /// The run has ended: nothing that is torn down has an effect or is counted.
    pub(crate) over: bool,
    pub(crate) hash: Fold,
    pub(crate) records: Option<Vec<Record>>,
}

pub(crate) struct CueState {
    pub(crate) when: When,
    /// When it came, if it has.
    pub(crate) come: Option<SimTime>,
    pub(crate) waiters: Vec<TaskId>,
}

impl CueState {
    pub(crate) const fn new(when: When) -> Self {
        Self { when, come: None, waiters: Vec::new() }
    }

    fn reset(&mut self) {
        let Self { when: _, come, waiters } = self;
        *come = None;
        waiters.clear();
    }
}

/// What a record says beside its text.
#[derive(Clone, Copy, Default)]
pub(crate) struct About {
    pub(crate) peer: Option<NodeId>,
    pub(crate) message: Option<u32>,
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) fault: Option<usize>,
}

impl About {
    /// Folds an event into a trace hash.
    // Three times for each packet.
    #[inline(always)]
    pub(crate) fn fold_into(&self, hash: &mut Fold, now: SimTime, node: NodeId, kind: RecordKind, digest: u64) {
        let peer = self.peer.map_or(0, |peer| peer.index() as u64 + 1);
        let place = (node.index() as u64) << 48 | (kind as u64) << 40 | peer;
        hash.pair(now.as_nanos(), place);
        hash.pair(self.attempt.map_or(0, AttemptId::as_word), digest);
    }
}

impl<D: Domain> Core<D> {
    pub(crate) fn new(seed: u64, recording: bool) -> Self {
        Self {
            seed,
            now: SimTime::ZERO,
            queue: Queue::new(),
            nodes: Vec::with_capacity(8),
            tasks: Tasks::default(),
            timers: Timers::default(),
            connections: Connections::default(),
            packets: Packets::default(),
            links: Links::default(),
            faults: Faults::default(),
            backups: Vec::new(),
            cues: Vec::new(),
            callers: Callers::default(),
            notes: Vec::with_capacity(64),
            scope: None,
            dying: Vec::new(),
            starting: Vec::new(),
            unfinished_clients: 0,
            events: 0,
            application_events: 0,
            messages: 0,
            ignored_dead_effects: 0,
            over: false,
            hash: Fold::new(seed),
            records: recording.then(Vec::new),
        }
    }

    /// Back to the beginning, with another seed: only what was planned stays, and the room that things took.
    /// Every field is named, so that none is forgotten.
    pub(crate) fn reset(&mut self, new_seed: u64, recording: bool) {
        let Self { seed, now, scope, over, hash, .. } = self;
        (*seed, *now, *scope, *over, *hash) = (new_seed, SimTime::ZERO, None, false, Fold::new(new_seed));
        let Self { events, application_events, messages, ignored_dead_effects, unfinished_clients, .. } = self;
        (*events, *application_events, *messages, *ignored_dead_effects, *unfinished_clients) = (0, 0, 0, 0, 0);
        let Self {
            seed: _,
            now: _,
            scope: _,
            over: _,
            hash: _,
            events: _,
            application_events: _,
            messages: _,
            ignored_dead_effects: _,
            unfinished_clients,
            queue,
            nodes,
            tasks,
            timers,
            connections,
            packets,
            links,
            faults,
            backups,
            cues,
            callers,
            notes,
            dying,
            starting,
            records,
        } = self;
        for node in nodes {
            node.reset();
            *unfinished_clients += u32::from(node.unfinished);
        }
        queue.reset();
        tasks.reset();
        timers.reset();
        connections.reset();
        packets.reset();
        links.reset();
        faults.reset();
        backups.clear();
        cues.iter_mut().for_each(CueState::reset);
        callers.reset();
        // The last run took its notes with it; this one will be about as long.
        notes.clear();
        dying.clear();
        starting.clear();
        *records = recording.then(Vec::new);
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node<D::Record> {
        &self.nodes[id.index()]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node<D::Record> {
        &mut self.nodes[id.index()]
    }

    /// Folds an event into the trace hash, and records it if the run is recorded.
    #[inline]
    pub(crate) fn trace(
        &mut self,
        node: NodeId,
        kind: RecordKind,
        digest: u64,
        about: About,
        text: impl FnOnce() -> String,
    ) {
        self.fold(node, kind, digest, &about);
        if self.records.is_some() {
            self.record(node, kind, digest, about, text);
        }
    }

    /// Folds an event into the trace hash.
    #[inline]
    pub(crate) fn fold(&mut self, node: NodeId, kind: RecordKind, digest: u64, about: &About) {
        about.fold_into(&mut self.hash, self.now, node, kind, digest);
    }

    /// Records an event of a recorded run.
    #[cold]
    #[inline(never)]
    fn record(&mut self, node: NodeId, kind: RecordKind, digest: u64, about: About, text: impl FnOnce() -> String) {
        let text = text();
        let clock = self.nodes[node.index()].clock();
        let (at, mono, wall) = (self.now, clock.mono_at(self.now), clock.wall_at(self.now));
        let About { peer, message, attempt, fault } = about;
        let record = Record { at, node, kind, mono, wall, peer, message, attempt, fault, digest, text };
        self.records.as_mut().expect("the run is recorded").push(record);
    }

    /// Writes into the history, and passes the milestone that the note marks.
    pub(crate) fn note(&mut self, node: NodeId, note: D::Note) {
        let milestone = D::milestone(&note);
        let about = About { attempt: milestone.map(|(attempt, _)| attempt), ..About::default() };
        self.trace(node, RecordKind::Note, note.digested(), about, || D::describe_note(&note));
        self.notes.push(Noted { at: self.now, node, note });
        if let Some((attempt, point)) = milestone
            && self.faults.awaited_milestones > 0
        {
            self.reach(attempt.client(), point);
        }
    }

    /// Whether that life of the process may have an effect. If not, the try is counted.
    pub(crate) fn may_act(&mut self, node: NodeId, life: u32) -> bool {
        let acts = self.is_life(node, life);
        if !acts {
            self.ignore_dead_effect();
        }
        acts
    }

    #[cold]
    #[inline(never)]
    fn ignore_dead_effect(&mut self) {
        self.ignored_dead_effects += u32::from(!self.over);
    }

    /// Whether that life of the process is the one that lives now.
    pub(crate) fn is_life(&self, node: NodeId, life: u32) -> bool {
        let node = self.node(node);
        node.alive && node.life == life && !self.over
    }

    pub(crate) fn open_attempt(&mut self, node: NodeId) -> AttemptId {
        let node = self.node_mut(node);
        node.attempts += 1;
        AttemptId::new(node.id, node.attempts.try_into().expect("attempts count from 1"))
    }

    pub(crate) fn random(&mut self, node: NodeId, purpose: Purpose) -> u64 {
        self.draw(
            node,
            match purpose {
                Purpose::Recipe => StreamPurpose::Recipe,
                Purpose::Workload => StreamPurpose::Workload,
            },
        )
    }

    /// The next word of one of the node's own streams.
    #[inline]
    pub(crate) fn draw(&mut self, node: NodeId, purpose: StreamPurpose) -> u64 {
        // What a service draws and what a recipe draws is never drawn on the same node.
        let slot = usize::from(purpose == StreamPurpose::Workload);
        let seed = self.seed;
        let node = self.node_mut(node);
        let entity = node.spec.entity;
        node.random[slot].get_or_insert_with(|| Stream::new(seed, purpose, entity, Entity::WORLD)).word()
    }

    /// Whether the cue has come; if not, the current task is woken when it does. It never comes to the dead.
    pub(crate) fn poll_cue(&mut self, node: NodeId, life: u32, cue: Cue) -> bool {
        if !self.may_act(node, life) {
            return false;
        }
        let current = self.tasks.current();
        let state = &mut self.cues[usize::from(cue.0)];
        if state.come.is_none() {
            state.waiters.push(current);
        }
        state.come.is_some()
    }

    pub(crate) fn client_finished(&mut self, node: NodeId) {
        let node = self.node_mut(node);
        if node.unfinished {
            node.unfinished = false;
            self.unfinished_clients -= 1;
        }
    }

    /// Goes from event to event until something is to be done outside of the kernel, or the run ends.
    pub(crate) fn advance(&mut self, bounds: Bounds) -> Result<Step, Ending> {
        let horizon = SimTime::ZERO + bounds.horizon;
        loop {
            if self.is_quiet() {
                return Err(Ending::Quiet);
            }
            if self.events >= bounds.events {
                return Err(Ending::Budget);
            }
            let Some((at, event)) = self.queue.pop() else { return Err(self.ends_without_events()) };
            if at > horizon {
                // Nothing is played after the end, neither that event.
                self.now = horizon;
                return Err(Ending::Horizon);
            }
            assert!(at >= self.now, "time ran backwards");
            self.now = at;
            let step = self.admit(event);
            if !matches!(step, Step::None) || self.needs_settling() {
                return Ok(step);
            }
        }
    }

    /// Something that programs or the world outside the kernel must do, now.
    fn needs_settling(&self) -> bool {
        self.tasks.is_busy() || !self.dying.is_empty() || !self.starting.is_empty()
    }

    /// Nothing is left that could change a verdict.
    fn is_quiet(&self) -> bool {
        let owes_nothing = |node: &Node<D::Record>| node.owed == 0 || !node.is_awaited();
        self.unfinished_clients == 0
            && self.faults.pending == 0
            && self.packets.awaited == 0
            && self.nodes.iter().all(owes_nothing)
    }

    /// How a run ends in which nothing will ever happen again.
    fn ends_without_events(&self) -> Ending {
        // What is on its way then, a fault holds for ever.
        if self.unfinished_clients == 0 { Ending::Quiet } else { Ending::Stuck }
    }

    /// What the run leaves behind.
    pub(crate) fn outcome(&mut self, ending: Ending) -> Outcome<D::Note> {
        let notes = Vec::with_capacity(self.notes.len());
        Outcome {
            notes: std::mem::replace(&mut self.notes, notes),
            nodes: self.nodes.iter_mut().map(Node::outcome).collect(),
            strikes: std::mem::take(&mut self.faults.strikes),
            end: self.now,
            ending,
            hash: self.final_hash(ending),
            events: self.events,
            application_events: self.application_events,
            messages: self.messages,
            syncs: self.nodes.iter().map(|node| node.disk.syncs()).sum(),
            ignored_dead_effects: self.ignored_dead_effects,
            cues: self.cues.iter().map(|cue| cue.come).collect(),
            records: self.records.take().unwrap_or_default(),
        }
    }

    /// The trace hash of the whole run, its end included.
    fn final_hash(&self, ending: Ending) -> u64 {
        let mut hash = self.hash;
        hash.word(self.now.as_nanos());
        hash.word(match ending {
            Ending::Quiet => 0,
            Ending::Horizon => 1,
            Ending::Budget => 2,
            Ending::Stuck => 3,
        });
        hash.word(self.events);
        hash.word(self.application_events);
        hash.word(u64::from(self.ignored_dead_effects));
        hash.value()
    }
}
