//! A world, built and run.

use std::cell::RefCell;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Context as TaskContext;

use host::{AttemptId, Context, Domain, Duration, Ending, MonoTime, NodeId, Part, Service, Span, WallTime, Words};

use crate::bells::Bells;
use crate::core::{Core, CueState};
use crate::event::{Event, PacketId, Step};
use crate::faults::FaultState;
use crate::node::{Node, NodeSpec, Role};
use crate::outcome::Outcome;
use crate::plan::{Fault, When};
use crate::process::SimHost;
use crate::stream::StreamPurpose;
use crate::tasks::{BoxFuture, TaskId, Work};

/// Makes a client's program: called when the run begins and again after every restart.
pub type ClientFactory<D> = Box<dyn Fn(SimHost<D>) -> Pin<Box<dyn Future<Output = ()>>>>;
/// Makes a service's state machine: called when the run begins and again after every restart.
pub type ServiceFactory<D> = Box<dyn Fn() -> Box<dyn Service<D>>>;

/// How far a run may go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// True time at which it ends.
    pub horizon: Duration,
    /// The number of events at which it ends; also, of polls without an event between them.
    pub events: u64,
}

/// A world that is being built.
///
/// Nodes first, then links, faults and cues; [`run`](Self::run) plays it to its end.
pub struct Sim<D: Domain> {
    core: Rc<RefCell<Core<D>>>,
    programs: Vec<Program<D>>,
    services: Vec<Option<Box<dyn Service<D>>>>,
    latencies: Vec<(NodeId, NodeId, Span)>,
    /// What a service sees and wants done, one step after another.
    cx: Context<D>,
    bells: Bells,
}

/// What services draw, each from a stream of its own.
struct ServiceWords<D: Domain>(Rc<RefCell<Core<D>>>);

impl<D: Domain> Words for ServiceWords<D> {
    fn word(&self, node: NodeId) -> u64 {
        self.0.borrow_mut().draw(node, StreamPurpose::Service)
    }
}

enum Program<D: Domain> {
    Client(ClientFactory<D>),
    Service(ServiceFactory<D>),
}

impl<D: Domain> Sim<D> {
    /// An empty world. Recording keeps every event, and changes nothing else.
    #[must_use]
    pub fn new(seed: u64, recording: bool) -> Self {
        let core = Rc::new(RefCell::new(Core::new(seed, recording)));
        let words = Rc::new(ServiceWords(Rc::clone(&core)));
        let cx = Context { words, ..Context::at(NodeId::default(), MonoTime::default(), WallTime::default()) };
        let (programs, services) = (Vec::with_capacity(8), Vec::with_capacity(8));
        Self { core, programs, services, latencies: Vec::new(), cx, bells: Bells::default() }
    }

    /// Adds a client: a program that ends. The run's end waits for it.
    pub fn client(&mut self, spec: NodeSpec, factory: ClientFactory<D>) -> NodeId {
        self.core.borrow_mut().unfinished_clients += 1;
        self.add(spec, Role::Client, Program::Client(factory))
    }

    /// Adds a service.
    pub fn service(&mut self, spec: NodeSpec, factory: ServiceFactory<D>) -> NodeId {
        self.add(spec, Role::Service { awaited: false }, Program::Service(factory))
    }

    /// Adds a service whose history matters to the end: no run ends while a request is on its way to
    /// it.
    pub fn awaited_service(&mut self, spec: NodeSpec, factory: ServiceFactory<D>) -> NodeId {
        self.add(spec, Role::Service { awaited: true }, Program::Service(factory))
    }

    /// Sets the latency of what one node sends to another. Without it, a link takes 1 ms.
    pub fn latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        self.latencies.push((from, to, latency));
    }

    /// Adds a fault. Its index is its place in the order of these calls.
    pub fn fault(&mut self, fault: Fault<D::Nudge>) {
        self.core.borrow_mut().faults.plan.push(FaultState::new(fault));
    }

    /// Adds a moment for which programs may wait. Its number is its place in the order of these calls.
    pub fn cue(&mut self, when: When) {
        self.core.borrow_mut().cues.push(CueState::new(when));
    }

    /// Takes the world back to its beginning, to be played again with another seed: as if it were built anew,
    /// and quicker.
    pub fn reset(&mut self, seed: u64, recording: bool) {
        self.core.borrow_mut().reset(seed, recording);
        self.bells.reset();
    }

    /// Plays the world to its end.
    ///
    /// # Panics
    /// If it was played before and not [`reset`](Self::reset) since.
    #[must_use]
    pub fn run(&mut self, bounds: Bounds) -> Outcome<D::Note> {
        {
            let mut core = self.core.borrow_mut();
            assert!(!core.over, "a world that was played is reset before it is played again");
            core.links.lay(self.programs.len(), &self.latencies, Span::Fixed(DEFAULT_LATENCY));
        }
        for index in 0..self.programs.len() {
            self.start(NodeId::new(u16::try_from(index).expect("a world has fewer than 65,536 nodes")));
        }
        self.core.borrow_mut().arm_triggers();
        let ending = self.play(bounds);
        self.tear_down();
        self.core.borrow_mut().outcome(ending)
    }

    fn add(&mut self, spec: NodeSpec, role: Role, program: Program<D>) -> NodeId {
        let mut core = self.core.borrow_mut();
        let id = NodeId::new(u16::try_from(core.nodes.len()).expect("a world has fewer than 65,536 nodes"));
        core.nodes.push(Node::new(id, spec, role));
        self.programs.push(program);
        self.services.push(None);
        id
    }

    /// One event after another, and what follows from each, until the run ends.
    fn play(&mut self, bounds: Bounds) -> Ending {
        loop {
            if !self.settle(bounds.events) {
                return Ending::Budget;
            }
            let step = self.core.borrow_mut().advance(bounds);
            match step {
                Ok(step) => self.take_step(step),
                Err(ending) => return ending,
            }
        }
    }

    #[inline(always)]
    fn take_step(&mut self, step: Step) {
        match step {
            Step::None => {}
            Step::Request { node, attempt, from, packet } => {
                self.step_service(node, attempt, |service, cx, core| service.on_message(cx, from, open(core, packet)));
            }
            Step::Closed { node, conn } => self.step_service(node, None, |service, cx, _| service.on_close(cx, conn)),
            Step::Opened { node, conn } => self.step_service(node, None, |service, cx, _| service.on_open(cx, conn)),
            Step::Reply { node, conn, call, packet } => {
                self.step_service(node, None, |service, cx, core| service.on_reply(cx, conn, call, open(core, packet)));
            }
            Step::Push { node, conn, packet } => {
                self.step_service(node, None, |service, cx, core| service.on_push(cx, conn, open(core, packet)));
            }
            Step::Stop { node } => self.stop(node),
            Step::Nudge { node, strike } => {
                let nudge = self.core.borrow().nudge(strike);
                self.step_service(node, None, |service, cx, _| service.on_nudge(cx, nudge));
            }
            Step::Timer { node, timer } => self.step_service(node, None, |service, cx, _| service.on_timer(cx, timer)),
        }
    }

    /// Starts a process: calls its factory, and lets it begin.
    fn start(&mut self, node: NodeId) {
        match &self.programs[node.index()] {
            Program::Client(factory) => {
                let life = self.core.borrow().node(node).life;
                let future = factory(SimHost::new(Rc::clone(&self.core), node, life));
                self.core.borrow_mut().spawn(node, Part::WORKER, true, future);
            }
            Program::Service(factory) => {
                self.services[node.index()] = Some(factory());
                self.step_service(node, None, |service, cx, _| service.on_start(cx));
            }
        }
    }

    /// A process ends its tasks, in the order in which they were spawned, or a service is told to come to its
    /// end; then it ends, once what it has decided has left.
    fn stop(&mut self, node: NodeId) {
        match &self.programs[node.index()] {
            Program::Client(_) => self.drop_tasks(node),
            Program::Service(_) => self.step_service(node, None, |service, cx, _| service.on_stop(cx)),
        }
        let mut core = self.core.borrow_mut();
        let state = core.node(node);
        let (life, at) = (state.life, state.busy_until.max(core.now));
        core.queue.push(at, Event::Exit { node, life });
    }

    /// One step of a service: it reacts, and then its effects happen, as long as it lives.
    fn step_service(
        &mut self,
        node: NodeId,
        attempt: Option<AttemptId>,
        react: impl FnOnce(&mut dyn Service<D>, &mut Context<D>, &RefCell<Core<D>>),
    ) {
        let Self { core, services, cx, .. } = self;
        let service = services[node.index()].as_mut().expect("a service that lives has been started");
        let life = core.borrow_mut().lend(node, attempt, cx);
        let (synced, was_aside) = (cx.disk.syncs(), cx.disk.is_syncing_aside());
        react(service.as_mut(), cx, core);
        let mut core = core.borrow_mut();
        let (waits, begins_aside) = (cx.disk.syncs() > synced, cx.disk.is_syncing_aside() && !was_aside);
        std::mem::swap(&mut core.node_mut(node).disk, &mut cx.disk);
        if waits {
            core.wait_for_disk(node);
        }
        if begins_aside {
            core.sync_aside(node);
        }
        // From the end of what was turned round: less than to drain it.
        cx.effects.reverse();
        while let Some(effect) = cx.effects.pop() {
            // An effect may be a milestone at which the service is killed: the rest never happens.
            if core.may_act(node, life) {
                core.effect(node, attempt, effect);
            }
        }
    }

    /// Polls tasks, buries the dead and starts the restarted until nothing is left to do now. Programs that
    /// keep each other busy without letting time pass are stopped: whether they came to rest.
    fn settle(&mut self, most_polls: u64) -> bool {
        let mut polls = 0;
        loop {
            if self.bells.have_rung() {
                self.core.borrow_mut().tasks.wake_all(self.bells.take_rung());
            }
            let work = self.core.borrow_mut().next_work();
            match work {
                None => return true,
                Some(Work::Bury(node)) => self.bury(node),
                Some(Work::Drop(id, future)) => self.drop_task(id, future),
                Some(Work::Start(node)) => self.start(node),
                Some(Work::Poll(id, future)) if polls == most_polls => {
                    self.core.borrow_mut().leave(id, Some(future));
                    return false;
                }
                Some(Work::Poll(id, mut future)) => {
                    polls += 1;
                    let done = future.as_mut().poll(&mut TaskContext::from_waker(self.bells.waker(id))).is_ready();
                    if done {
                        self.drop_task(id, future);
                    } else {
                        self.core.borrow_mut().leave(id, Some(future));
                    }
                }
            }
        }
    }

    /// Drops what a dead process left: it is marked dead, so nothing that `Drop` does has an effect.
    fn bury(&mut self, node: NodeId) {
        self.services[node.index()] = None;
        self.drop_tasks(node);
    }

    /// Drops the futures of a process, in the order in which they were spawned.
    fn drop_tasks(&self, node: NodeId) {
        loop {
            let next = self.core.borrow_mut().enter_next_of(node);
            let Some((id, future)) = next else { return };
            self.drop_task(id, future);
        }
    }

    /// Drops a current task's future. Its `Drop` code is the task's: it runs in the scope of the task's attempt.
    fn drop_task(&self, id: TaskId, future: BoxFuture) {
        drop(future);
        self.core.borrow_mut().leave(id, None);
    }

    /// The run is over: everything is dropped, and nothing that `Drop` does counts.
    fn tear_down(&mut self) {
        self.core.borrow_mut().over = true;
        let futures = self.core.borrow_mut().tasks.take_futures();
        drop(futures);
    }
}

/// Takes out the message of a packet that has come to a service.
#[inline(always)]
fn open<D: Domain>(core: &RefCell<Core<D>>, packet: PacketId) -> D::Message {
    core.borrow_mut().packets.take(packet).expect("a packet with a message")
}

impl<D: Domain> Core<D> {
    /// A service takes a step: it sees its machine, and is handed the disk. Which of its lives it is.
    fn lend(&mut self, node: NodeId, attempt: Option<AttemptId>, cx: &mut Context<D>) -> u32 {
        let (now, next_conn) = (self.now, self.connections.next_number());
        let state = self.node_mut(node);
        let (mono, boot, wall) = state.clock().all_at(now);
        (cx.node, cx.mono, cx.boot, cx.wall) = (node, mono, boot, wall);
        (cx.attempt, cx.shortages, cx.next_conn) = (attempt, state.shortages, next_conn);
        std::mem::swap(&mut state.disk, &mut cx.disk);
        cx.disk.set_syncing(now < state.syncing_until);
        state.life
    }
}

impl<D: Domain> fmt::Debug for Sim<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sim of {} nodes", self.programs.len())
    }
}

const DEFAULT_LATENCY: Duration = Duration::from_millis(1);
