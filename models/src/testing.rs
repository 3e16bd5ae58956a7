//! One client, five Redis servers (most need the first alone) and one resource, without a kernel: for tests of recipes and of the
//! scripted client.
//!
//! Messages take no time; only sleeping does, and what a test asks for. It is no simulator: it has no
//! network, one mishap for each kind of request, and nothing that happens at the same time.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context as Waking, Poll, Wake, Waker};

use host::{
    AttemptId, CallError, CallId, Calls, ConnId, ConnectError, Connection, Context, Cue, Domain, Duration, Effect,
    Host, MonoTime, NodeId, Operation, Origin, Part, Point, Purpose, Request, Server, Service, Stage, Task, WallTime,
};
use spec::Note;

use crate::domain::{Locks, Message};
use crate::guard::{Guard, Manner};
use crate::redis::{Command, Redis};
use crate::resource::{Op, Resource};

pub(crate) const REDIS: Server<Command> = Server::on(NodeId::new(0));
/// Servers that know nothing of each other.
pub(crate) const FIVE: [Server<Command>; 5] = [
    REDIS,
    Server::on(NodeId::new(3)),
    Server::on(NodeId::new(4)),
    Server::on(NodeId::new(5)),
    Server::on(NodeId::new(6)),
];
pub(crate) const RESOURCE: Server<Op> = Server::on(NodeId::new(1));

/// The attempt with that number, of the client on the bench.
pub(crate) fn attempt(ordinal: u32) -> AttemptId {
    AttemptId::new(NodeId::new(2), ordinal.try_into().expect("attempts are counted from 1"))
}

/// What becomes of the next call of a kind.
#[derive(Clone, Copy)]
pub(crate) enum Mishap {
    RequestLost,
    ReplyLost,
    ReplyTakes(Duration),
}

/// A request that one of the services answers.
pub(crate) trait Served:
    Request<Reply: TryFrom<Message, Error: Debug>, Push: TryFrom<Message>> + Into<Message>
{
}

impl<R: Request<Reply: TryFrom<Message, Error: Debug>, Push: TryFrom<Message>> + Into<Message>> Served for R {}

type Job = Pin<Box<dyn Future<Output = ()>>>;
type Strike = Rc<dyn Fn(&Bench)>;

struct World {
    now: Cell<MonoTime>,
    /// When the next sleeper is to be woken.
    wake: Cell<Option<MonoTime>>,
    services: RefCell<BTreeMap<NodeId, Box<dyn Service<Locks>>>>,
    down: RefCell<BTreeSet<NodeId>>,
    attempts: Cell<u32>,
    interrupts: Cell<u32>,
    draws: Cell<u64>,
    scope: Cell<Option<AttemptId>>,
    jobs: RefCell<Vec<(Rc<Cell<bool>>, Job)>>,
    mishaps: RefCell<BTreeMap<Operation, Mishap>>,
    /// How many connections there were, and what was pushed on each.
    connections: Cell<u32>,
    pushed: RefCell<BTreeMap<ConnId, VecDeque<Message>>>,
    strikes: RefCell<BTreeMap<Point, Strike>>,
    events: RefCell<Vec<Event>>,
}

enum Event {
    Note(Note),
    Point(Point),
}

/// Whether one task has woken another.
#[derive(Default)]
struct Rung(AtomicBool);

impl Wake for Rung {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The client's host, and the test's hand on the world.
#[derive(Clone)]
pub(crate) struct Bench(Rc<World>);

impl Bench {
    pub(crate) fn new(guard: Guard) -> Self {
        let mut services: BTreeMap<NodeId, Box<dyn Service<Locks>>> = BTreeMap::new();
        for server in FIVE {
            services.insert(server.node(), Box::new(Redis::default()));
        }
        services.insert(RESOURCE.node(), Box::new(Resource::new(guard, Manner::default())));
        Self(Rc::new(World {
            now: Cell::default(),
            wake: Cell::default(),
            services: RefCell::new(services),
            down: RefCell::default(),
            attempts: Cell::default(),
            interrupts: Cell::default(),
            draws: Cell::default(),
            scope: Cell::default(),
            jobs: RefCell::default(),
            mishaps: RefCell::default(),
            connections: Cell::default(),
            pushed: RefCell::default(),
            strikes: RefCell::default(),
            events: RefCell::default(),
        }))
    }

    /// Runs the client's program. `None`: it waits for ever.
    pub(crate) fn run<T>(&self, program: impl Future<Output = T>) -> Option<T> {
        let rung = Arc::<Rung>::default();
        let waker = Waker::from(Arc::clone(&rung));
        let (mut program, mut waking) = (pin!(program), Waking::from_waker(&waker));
        loop {
            self.0.wake.set(None);
            if let Poll::Ready(value) = program.as_mut().poll(&mut waking) {
                return Some(value);
            }
            let mut jobs = self.0.jobs.take();
            let before = jobs.len();
            jobs.retain_mut(|(aborted, job)| !aborted.get() && job.as_mut().poll(&mut waking).is_pending());
            let some_ended = jobs.len() < before;
            // What was spawned meanwhile comes after.
            jobs.append(&mut self.0.jobs.borrow_mut());
            let some_began = jobs.len() > before;
            self.0.jobs.replace(jobs);
            if !some_ended && !some_began && !rung.0.swap(false, Ordering::Relaxed) {
                self.0.now.set(self.0.wake.get()?.max(self.0.now.get()));
            }
        }
    }

    /// The process stands still.
    pub(crate) fn pause(&self, length: Duration) {
        self.0.now.set(self.0.now.get() + length);
    }

    /// Whoever waits and may be interrupted is.
    pub(crate) fn interrupt(&self) {
        self.0.interrupts.update(|interrupts| interrupts + 1);
    }

    pub(crate) fn at(&self, point: Point, strike: impl Fn(&Self) + 'static) {
        self.0.strikes.borrow_mut().insert(point, Rc::new(strike));
    }

    pub(crate) fn mishap(&self, operation: &'static str, mishap: Mishap) {
        self.0.mishaps.borrow_mut().insert(Operation(operation), mishap);
    }

    /// These refuse connections from now on, and nobody else does. What is open goes on.
    pub(crate) fn only_down(&self, servers: &[Server<Command>]) {
        *self.0.down.borrow_mut() = servers.iter().map(|server| server.node()).collect();
    }

    /// Has a request served, in the name of that attempt.
    pub(crate) fn serve<R: Served>(&self, by: Option<AttemptId>, at: Server<R>, request: R) -> R::Reply {
        self.deliver(by, ConnId::new(0), at.node(), request.into()).try_into().expect("the right kind of reply")
    }

    fn deliver(&self, by: Option<AttemptId>, conn: ConnId, node: NodeId, message: Message) -> Message {
        let mut cx = Context::at(node, self.monotonic(), self.wall());
        cx.attempt = by;
        let from = Origin { conn, call: CallId::new(0), operation: Locks::operation(&message) };
        self.0.services.borrow_mut().get_mut(&node).expect("a server").on_message(&mut cx, from, message);
        let mut reply = None;
        for effect in cx.effects {
            match effect {
                Effect::Note(note) => self.note(note),
                Effect::Reply(_, message) => reply = Some(message),
                // Time passes on no server here: what has expired is found when it is touched.
                Effect::SetTimer(..) | Effect::CancelTimer(..) => {}
                Effect::Push(conn, message) => self.0.pushed.borrow_mut().entry(conn).or_default().push_back(message),
                other => panic!("no service here does that: {other:?}"),
            }
        }
        reply.expect("every request is answered")
    }

    pub(crate) fn notes(&self) -> Vec<Note> {
        let note = |event: &Event| match event {
            Event::Note(note) => Some(note.clone()),
            Event::Point(_) => None,
        };
        self.0.events.borrow().iter().filter_map(note).collect()
    }

    /// What happened, by name: `Granted` is the note, `granted` the point.
    pub(crate) fn log(&self) -> Vec<String> {
        let name = |event: &Event| match event {
            Event::Note(note) => format!("{note:?}").split(' ').take(1).collect(),
            Event::Point(point) => point.0.to_owned(),
        };
        self.0.events.borrow().iter().map(name).collect()
    }

    async fn scoped<T>(self, scope: Option<AttemptId>, body: impl Future<Output = T>) -> T {
        let mut body = pin!(body);
        poll_fn(|waking| {
            let outer = self.0.scope.replace(scope);
            let polled = body.as_mut().poll(waking);
            self.0.scope.set(outer);
            polled
        })
        .await
    }
}

impl Host for Bench {
    type Note = Note;
    type Task<T: 'static> = Spawned<T>;

    fn monotonic(&self) -> MonoTime {
        self.0.now.get()
    }
    fn boottime(&self) -> MonoTime {
        self.0.now.get()
    }
    fn wall(&self) -> WallTime {
        WallTime::from_millis(1_700_000_000_000) + Duration::from_nanos(self.0.now.get().as_nanos())
    }
    async fn sleep(&self, duration: Duration) {
        let end = self.0.now.get() + duration;
        poll_fn(|_| {
            if self.0.now.get() >= end {
                return Poll::Ready(());
            }
            self.0.wake.set(Some(self.0.wake.get().map_or(end, |wake| wake.min(end))));
            Poll::Pending
        })
        .await;
    }
    fn random(&self, _: Purpose) -> u64 {
        self.0.draws.update(|draws| draws + 1);
        self.0.draws.get().wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }
    fn note(&self, note: Note) {
        self.0.events.borrow_mut().push(Event::Note(note));
    }
    async fn point(&self, point: Point) {
        self.0.events.borrow_mut().push(Event::Point(point));
        let strike = self.0.strikes.borrow().get(&point).cloned();
        if let Some(strike) = strike {
            strike(self);
        }
    }
    fn spawn<T: 'static>(&self, _: Part, task: impl Future<Output = T> + 'static) -> Spawned<T> {
        let (aborted, result) = (Rc::<Cell<bool>>::default(), Rc::new(Cell::new(None)));
        let (bench, scope, place) = (self.clone(), self.0.scope.get(), Rc::clone(&result));
        let job = async move { place.set(Some(bench.scoped(scope, task).await)) };
        self.0.jobs.borrow_mut().push((Rc::clone(&aborted), Box::pin(job)));
        Spawned { aborted, result }
    }
    fn open_attempt(&self) -> AttemptId {
        self.0.attempts.update(|attempts| attempts + 1);
        attempt(self.0.attempts.get())
    }
    async fn attempt<T>(&self, attempt: AttemptId, body: impl Future<Output = T>) -> T {
        self.clone().scoped(Some(attempt), body).await
    }
}

impl Stage for Bench {
    async fn cue(&self, cue: Cue) {
        let comes = MonoTime::default() + Duration::from_secs(cue.0.into());
        self.sleep(comes.left(self.monotonic())).await;
    }
    fn interrupted(&self) -> impl Future<Output = ()> {
        let before = self.0.interrupts.get();
        poll_fn(move |_| if self.0.interrupts.get() == before { Poll::Pending } else { Poll::Ready(()) })
    }
}

/// A handle to a task.
pub(crate) struct Spawned<T> {
    aborted: Rc<Cell<bool>>,
    result: Rc<Cell<Option<T>>>,
}

impl<T> Future for Spawned<T> {
    type Output = T;
    fn poll(self: Pin<&mut Self>, _: &mut Waking<'_>) -> Poll<T> {
        self.result.take().map_or(Poll::Pending, Poll::Ready)
    }
}

impl<T> Task<T> for Spawned<T> {
    fn abort(&self) {
        self.aborted.set(true);
    }
}

pub(crate) struct Wire<R> {
    bench: Bench,
    conn: ConnId,
    server: Server<R>,
    closed: Cell<bool>,
}

impl<R> Wire<R> {
    /// The server closes it.
    pub(crate) fn close(&self) {
        self.closed.set(true);
    }
}

impl<R: Served> Calls<R> for Bench {
    type Connection = Wire<R>;
    async fn connect(&self, server: Server<R>, _: Duration) -> Result<Wire<R>, ConnectError> {
        let mishap = self.0.mishaps.borrow_mut().remove(&Operation("connect"));
        match mishap {
            None => {}
            Some(Mishap::ReplyTakes(length)) => self.sleep(length).await,
            Some(_) => return Err(ConnectError::Refused),
        }
        if self.0.down.borrow().contains(&server.node()) {
            return Err(ConnectError::Refused);
        }
        self.0.connections.update(|connections| connections + 1);
        let conn = ConnId::new(self.0.connections.get());
        Ok(Wire { bench: self.clone(), conn, server, closed: Cell::new(false) })
    }
}

impl<R: Served> Connection<R> for Wire<R> {
    fn is_open(&self) -> bool {
        !self.closed.get()
    }
    async fn call(&self, request: R, timeout: Duration) -> Result<R::Reply, CallError> {
        let Self { bench, conn, server, closed } = self;
        if closed.get() {
            return Err(CallError::Closed);
        }
        let (by, message) = (bench.0.scope.get(), request.into());
        by.and_then(|attempt| Locks::left(&message, attempt)).into_iter().for_each(|note| bench.note(note));
        let mishap = bench.0.mishaps.borrow_mut().remove(&Locks::operation(&message));
        let reply = match mishap {
            Some(Mishap::RequestLost) => None,
            _ => Some(bench.deliver(by, *conn, server.node(), message)),
        };
        let takes = match mishap {
            None => Duration::ZERO,
            Some(Mishap::ReplyTakes(length)) => length,
            Some(Mishap::RequestLost | Mishap::ReplyLost) => {
                bench.sleep(timeout).await;
                closed.set(true);
                return Err(CallError::TimedOut);
            }
        };
        bench.sleep(takes).await;
        Ok(reply.and_then(|reply| reply.try_into().ok()).expect("the right kind of reply"))
    }
    async fn pushed(&self) -> Option<R::Push> {
        poll_fn(|_| {
            if self.closed.get() {
                return Poll::Ready(None);
            }
            let next = self.bench.0.pushed.borrow_mut().get_mut(&self.conn).and_then(VecDeque::pop_front);
            next.map_or(Poll::Pending, |message| Poll::Ready(message.try_into().ok()))
        })
        .await
    }
}
