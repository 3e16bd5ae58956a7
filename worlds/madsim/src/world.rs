//! A run under way: what is known of its nodes, what was noted, who is being polled.
//!
//! The state is one value behind a `RefCell`. No borrow of it outlives a call into madsim that may drop
//! futures ([`Handle::kill`]) or into a service: both run code that comes back here.

use std::cell::{Cell, Ref, RefCell, RefMut};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use host::{
    Activity, AttemptId, Cue, Digest, Domain, Duration, Either, Ending, Fold, MonoTime, NodeId, Part, Purpose, SimTime,
    WallTime, first,
};
use madsim::net::NetSim;
use madsim::runtime::{Handle, NodeHandle};
use madsim::time::TimeHandle;
use models::Locks;
use send_wrapper::SendWrapper;
use sim::{Bounds, Entity, Noted, Outcome, Stream, StreamPurpose};
use spec::Note;

use crate::faults::Faults;
use crate::node::{FIRST_READING, FIRST_WALL, Node};
use crate::wire::Wires;

/// A run under way.
pub(crate) struct World {
    pub(crate) state: RefCell<State>,
    pub(crate) runtime: Handle,
    pub(crate) net: Arc<NetSim>,
    pub(crate) time: TimeHandle,
    /// A madsim node for what belongs to no machine: faults, instants. It never stands still.
    pub(crate) supervisor: NodeHandle,
    /// What madsim's clock read when the run began: setting up takes it some ms.
    pub(crate) began: Cell<Duration>,
    scope: Cell<Scope>,
}

/// On whose behalf code is being polled, and in which part of its process.
#[derive(Clone, Copy)]
pub(crate) struct Scope {
    pub(crate) attempt: Option<AttemptId>,
    pub(crate) part: Part,
}

/// What changes in the course of a run.
pub(crate) struct State {
    pub(crate) seed: u64,
    pub(crate) nodes: Vec<Node>,
    pub(crate) wires: Wires,
    pub(crate) faults: Faults,
    pub(crate) cues: Vec<CueState>,
    notes: Vec<Noted<Note>>,
    pub(crate) unfinished_clients: u32,
    events: u64,
    pub(crate) application_events: u64,
    pub(crate) messages: u64,
    ignored_dead_effects: u32,
    /// The run has ended: nothing that is torn down has an effect or is counted.
    pub(crate) over: bool,
    hash: Fold,
    /// Who waits for the end of the run.
    awaits_end: Option<Waker>,
}

#[derive(Default)]
pub(crate) struct CueState {
    pub(crate) come: Option<SimTime>,
    pub(crate) waiters: Vec<Waker>,
}

impl State {
    pub(crate) fn new(seed: u64, nodes: Vec<Node>, wires: Wires, faults: Faults) -> Self {
        let unfinished = nodes.iter().filter(|node| node.unfinished).count();
        Self {
            seed,
            nodes,
            wires,
            faults,
            cues: Vec::new(),
            notes: Vec::new(),
            unfinished_clients: u32::try_from(unfinished).expect("a world has fewer than 65,536 nodes"),
            events: 0,
            application_events: 0,
            messages: 0,
            ignored_dead_effects: 0,
            over: false,
            hash: Fold::new(seed),
            awaits_end: None,
        }
    }

    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id.index()]
    }

    pub(crate) fn node_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.index()]
    }

    /// Whether that life of the process is the one that lives now.
    pub(crate) fn is_life(&self, node: NodeId, life: u32) -> bool {
        let node = self.node(node);
        node.alive && node.life == life && !self.over
    }

    /// Whether that life of the process may have an effect. If not, the try is counted.
    pub(crate) fn may_act(&mut self, node: NodeId, life: u32) -> bool {
        let acts = self.is_life(node, life);
        if !acts && !self.over {
            self.ignored_dead_effects += 1;
        }
        acts
    }

    /// Something happened: the run may be over.
    pub(crate) fn happened(&mut self) {
        self.events += 1;
        if let Some(waker) = self.awaits_end.take() {
            waker.wake();
        }
    }

    /// A node takes a step: it passes a point, or is handed something.
    pub(crate) fn step(&mut self, node: NodeId) {
        self.node_mut(node).steps += 1;
        self.happened();
    }

    pub(crate) fn client_finished(&mut self, node: NodeId) {
        if std::mem::take(&mut self.node_mut(node).unfinished) {
            self.unfinished_clients -= 1;
            self.happened();
        }
    }

    pub(crate) fn open_attempt(&mut self, id: NodeId) -> AttemptId {
        let node = self.node_mut(id);
        node.attempts += 1;
        AttemptId::new(id, node.attempts.try_into().expect("attempts count from 1"))
    }

    pub(crate) fn random(&mut self, node: NodeId, purpose: Purpose) -> u64 {
        let (slot, stream) = match purpose {
            Purpose::Recipe => (0, StreamPurpose::Recipe),
            Purpose::Workload => (1, StreamPurpose::Workload),
        };
        let (seed, node) = (self.seed, self.node_mut(node));
        let entity = node.entity;
        node.random[slot].get_or_insert_with(|| Stream::new(seed, stream, entity, Entity::WORLD)).word()
    }

    pub(crate) fn record_activity(&mut self, node: NodeId, now: SimTime) {
        let state = self.node_mut(node);
        let activity = state.activity_now();
        if activity != state.activity.last().map_or(Activity::Running, |(_, activity)| *activity) {
            state.activity.push((now, activity));
        }
    }

    pub(crate) fn entity(&self, node: NodeId) -> Entity {
        self.node(node).entity
    }

    /// Nothing is left that could change a verdict.
    fn is_quiet(&self) -> bool {
        let has_unread = |node: &Node| node.is_awaited() && !node.inbox.is_empty();
        let awaits_any = self.wires.awaits_any() || self.nodes.iter().any(has_unread);
        self.unfinished_clients == 0 && self.faults.pending == 0 && !awaits_any
    }
}

impl World {
    pub(crate) fn new(state: State, runtime: Handle) -> Self {
        let supervisor = runtime.create_node().name("supervisor").build();
        let scope = Cell::new(Scope { attempt: None, part: Part::WORKER });
        let (net, time) = (NetSim::current(), TimeHandle::current());
        let began = Cell::new(time.elapsed());
        Self { state: RefCell::new(state), runtime, net, time, supervisor, began, scope }
    }

    pub(crate) fn now(&self) -> SimTime {
        SimTime::ZERO + (self.time.elapsed() - self.began.get())
    }

    pub(crate) fn monotonic(&self) -> MonoTime {
        MonoTime::from_nanos(FIRST_READING + self.now().as_nanos())
    }

    pub(crate) fn wall(&self, node: NodeId) -> WallTime {
        let start = WallTime::from_nanos(FIRST_WALL.saturating_add(self.state().node(node).wall_offset));
        start + self.now().since(SimTime::ZERO)
    }

    /// When the monotonic clock reads that.
    pub(crate) fn when_monotonic(reading: MonoTime) -> SimTime {
        SimTime::from_nanos(reading.as_nanos().saturating_sub(FIRST_READING))
    }

    /// When the node's wall clock reads that.
    pub(crate) fn when_wall(&self, node: NodeId, reading: WallTime) -> SimTime {
        let start = FIRST_WALL.saturating_add(self.state().node(node).wall_offset);
        SimTime::from_nanos(u64::try_from(reading.as_nanos().saturating_sub(start)).unwrap_or(0))
    }

    /// Waits on madsim's clock, which is everybody's. Never less than 1 ms.
    pub(crate) async fn sleep(&self, duration: Duration) {
        self.time.sleep(duration.min(LONGEST_SLEEP)).await;
    }

    pub(crate) fn state(&self) -> Ref<'_, State> {
        self.state.borrow()
    }

    pub(crate) fn state_mut(&self) -> RefMut<'_, State> {
        self.state.borrow_mut()
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope.get()
    }

    /// Writes into the history, and passes the milestone that the note marks.
    pub(crate) fn note(self: &Rc<Self>, node: NodeId, note: Note) {
        let at = self.now();
        let milestone = Locks::milestone(&note);
        {
            let mut state = self.state_mut();
            state.hash.word(at.as_nanos());
            state.hash.word(node.index() as u64);
            note.digest(&mut state.hash);
            state.notes.push(Noted { at, node, note });
        }
        if let Some((attempt, point)) = milestone {
            self.reach(attempt.client(), point);
        }
    }

    /// Does something later, whatever becomes of who asks for it.
    pub(crate) fn later(self: &Rc<Self>, wait: Duration, act: impl FnOnce(&Rc<Self>) + 'static) {
        let world = Rc::clone(self);
        let future = async move {
            if !wait.is_zero() {
                world.sleep(wait).await;
            }
            if !world.state().over {
                act(&world);
            }
        };
        drop(self.supervisor.spawn(SendWrapper::new(future)));
    }

    /// A cue comes: whoever waits for it is woken.
    pub(crate) fn come(&self, cue: Cue) {
        let now = self.now();
        let waiters = {
            let cue = &mut self.state_mut().cues[usize::from(cue.0)];
            cue.come.get_or_insert(now);
            std::mem::take(&mut cue.waiters)
        };
        waiters.into_iter().for_each(Waker::wake);
    }

    /// Waits for the end of the run.
    pub(crate) async fn ends(&self, bounds: Bounds) -> Ending {
        let ends = poll_fn(|cx| {
            let mut state = self.state_mut();
            if state.is_quiet() {
                return Poll::Ready(Ending::Quiet);
            }
            if state.events >= bounds.events {
                return Poll::Ready(Ending::Budget);
            }
            state.awaits_end = Some(cx.waker().clone());
            Poll::Pending
        });
        match first(ends, self.sleep(bounds.horizon)).await {
            Either::Left(ending) => ending,
            Either::Right(()) => Ending::Horizon,
        }
    }

    /// Ends all that still runs. What lives when a madsim runtime is dropped would never be freed.
    pub(crate) async fn tear_down(&self) {
        let nodes = {
            let mut state = self.state_mut();
            state.over = true;
            let of_node = |node: &Node| {
                let parts = node.parts.iter().map(|(_, part)| part.id());
                parts.chain([node.card.id()]).collect::<Vec<_>>()
            };
            state.nodes.iter().flat_map(of_node).chain([self.supervisor.id()]).collect::<Vec<_>>()
        };
        for node in nodes {
            self.runtime.kill(node);
        }
        self.sleep(Duration::ZERO).await;
    }

    /// What the run leaves behind, which came to its end then.
    pub(crate) fn outcome(&self, end: SimTime, ending: Ending) -> Outcome<Note> {
        let mut state = self.state_mut();
        let syncs = state.nodes.iter().map(|node| node.disk.syncs()).sum();
        Outcome {
            notes: std::mem::take(&mut state.notes),
            nodes: state.nodes.drain(..).map(Node::outcome).collect(),
            strikes: std::mem::take(&mut state.faults.strikes),
            end,
            ending,
            hash: state.hash.value(),
            events: state.events,
            application_events: state.application_events,
            messages: state.messages,
            syncs,
            cues: state.cues.iter().map(|cue| cue.come).collect(),
            ignored_dead_effects: state.ignored_dead_effects,
            records: Vec::new(),
        }
    }
}

/// Code that runs on behalf of an attempt, or of none: whenever it is polled, and when it is dropped.
pub(crate) struct Scoped<F> {
    world: Rc<World>,
    attempt: Option<AttemptId>,
    /// The part of the process to which it belongs; `None`: that of whoever polls it.
    part: Option<Part>,
    body: Option<Pin<Box<F>>>,
}

impl<F: Future> Scoped<F> {
    pub(crate) fn new(world: &Rc<World>, attempt: Option<AttemptId>, part: Option<Part>, body: F) -> Self {
        Self { world: Rc::clone(world), attempt, part, body: Some(Box::pin(body)) }
    }
}

impl<F> Scoped<F> {
    /// Enters its scope: the one to come back to.
    fn enter(&self) -> Scope {
        let part = self.part.unwrap_or_else(|| self.world.scope.get().part);
        self.world.scope.replace(Scope { attempt: self.attempt, part })
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let outer = self.enter();
        let polled = self.body.as_mut().expect("it is there until it is dropped").as_mut().poll(cx);
        self.world.scope.set(outer);
        polled
    }
}

impl<F> Drop for Scoped<F> {
    fn drop(&mut self) {
        let outer = self.enter();
        self.body = None;
        self.world.scope.set(outer);
    }
}

/// Longer than any run; madsim's clock cannot count as far as a duration can.
const LONGEST_SLEEP: Duration = Duration::from_secs(100 * 365 * 24 * 3_600);
