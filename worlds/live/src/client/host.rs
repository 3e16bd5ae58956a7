//! What a program sees: [`Host`] and [`Stage`] over tokio, on the machine's own clocks.
//!
//! | | here |
//! |---|---|
//! | clocks | `CLOCK_MONOTONIC`, `CLOCK_BOOTTIME`, `CLOCK_REALTIME` |
//! | a wait | tokio's timer: to the millisecond, rounded up |
//! | randomness | the simulator's streams of the same names: the same seed draws the same owner values and delays |
//! | a note, a point that somebody waits for | stamped here, said to the coordinator at once |
//! | a cue, an interrupt | from the coordinator |

use std::cell::{Cell, Ref, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::future::Future;
use std::io::Write;
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::{Context, Poll};

use host::{AttemptId, Cue, Duration, Host, MonoTime, NodeId, Part, Point, Purpose, SimTime, Stage, Task, WallTime};
use models::resource::OpReply;
use sim::{Entity, Stream, StreamPurpose};
use spec::Note;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::hangs::{Hangs, OfPart};
use super::path::{Latencies, Meddlers};
use crate::line::{Order, Report, Seat, say};
use crate::now;

/// A client's own process.
#[derive(Clone)]
pub struct LiveHost(Rc<Process>);

struct Process {
    node: NodeId,
    life: u32,
    zero: MonoTime,
    ports: BTreeMap<NodeId, u16>,
    line: RefCell<Box<dyn Write>>,
    /// By how many ns its wall clock is ahead of the machine's.
    ahead: Cell<i64>,
    /// On whose behalf code is being polled.
    scope: Cell<Option<AttemptId>>,
    /// How many attempts this and the earlier lives have opened.
    attempts: Cell<u32>,
    /// Of the recipe, and of the workload.
    streams: RefCell<[Stream; 2]>,
    /// The points at which somebody waits for it.
    awaited: BTreeSet<String>,
    /// Waits, calls and operations are numbered as they come.
    next: Cell<u64>,
    leaves: RefCell<BTreeMap<u64, oneshot::Sender<()>>>,
    answers: RefCell<BTreeMap<u64, oneshot::Sender<OpReply>>>,
    come: RefCell<BTreeSet<Cue>>,
    cues: RefCell<Vec<(Cue, oneshot::Sender<()>)>>,
    callers: RefCell<Vec<oneshot::Sender<()>>>,
    hangs: Rc<Hangs>,
    meddlers: Meddlers,
    latencies: RefCell<Latencies>,
}

impl LiveHost {
    pub(crate) fn new(
        line: Box<dyn Write>,
        seat: &Seat,
        entity: Entity,
        (zero, attempts, come): (MonoTime, u32, Vec<Cue>),
    ) -> Self {
        let stream = |purpose| Stream::new(seat.seed, purpose, entity, super::life(seat.life));
        Self(Rc::new(Process {
            node: seat.node,
            life: seat.life,
            zero,
            ports: seat.ports.clone(),
            line: RefCell::new(line),
            ahead: Cell::new(0),
            scope: Cell::new(None),
            attempts: Cell::new(attempts),
            streams: RefCell::new([StreamPurpose::Recipe, StreamPurpose::Workload].map(stream)),
            awaited: seat.awaited.iter().cloned().collect(),
            next: Cell::new(0),
            leaves: RefCell::default(),
            answers: RefCell::default(),
            come: RefCell::new(come.into_iter().collect()),
            cues: RefCell::default(),
            callers: RefCell::default(),
            hangs: Rc::default(),
            meddlers: Meddlers::default(),
            latencies: RefCell::default(),
        }))
    }

    /// The true time.
    pub(super) fn now(&self) -> SimTime {
        now::since(self.0.zero)
    }

    /// Which client it is, and in which of its lives.
    pub(super) fn seat(&self) -> (NodeId, u32) {
        (self.0.node, self.0.life)
    }

    pub(super) fn scope(&self) -> Option<AttemptId> {
        self.0.scope.get()
    }

    pub(super) fn port(&self, server: NodeId) -> Option<u16> {
        self.0.ports.get(&server).copied()
    }

    /// The server that listens there.
    pub(super) fn node_at(&self, port: u16) -> Option<NodeId> {
        self.0.ports.iter().find(|(_, listens)| **listens == port).map(|(node, _)| *node)
    }

    /// The next number.
    pub(super) fn number(&self) -> u64 {
        let number = self.0.next.get();
        self.0.next.set(number + 1);
        number
    }

    /// How many commands it has sent, operations it has asked for, and times it has waited for leave.
    pub(super) fn numbered(&self) -> u64 {
        self.0.next.get()
    }

    /// Steps its wall clock by so many ns, and no other process's.
    pub(crate) fn step_wall_by(&self, nanos: i64) {
        self.0.ahead.update(|ahead| ahead.saturating_add(nanos));
    }

    /// Tells the coordinator. One that is gone needs nobody any more.
    pub(crate) fn say(&self, what: &Report) {
        if say(&mut **self.0.line.borrow_mut(), what).is_err() {
            std::process::exit(0);
        }
    }

    /// Cannot go on, for a reason that is not the lock's.
    pub(super) async fn strand(&self, why: String) -> ! {
        self.say(&Report::Stranded { why });
        loop {
            std::future::pending::<()>().await;
        }
    }

    pub(super) fn meddlers(&self) -> &Meddlers {
        &self.0.meddlers
    }

    /// From now on messages take so long.
    pub(super) fn slow_down(&self, latencies: Latencies) {
        self.0.latencies.replace(latencies);
    }

    pub(super) fn latencies(&self) -> Ref<'_, Latencies> {
        self.0.latencies.borrow()
    }

    /// What belongs to that part of the process: it hangs with it.
    pub(super) fn of_part<F: Future>(&self, part: Part, body: F) -> OfPart<F> {
        OfPart { hangs: Rc::clone(&self.0.hangs), part, body: Box::pin(body) }
    }

    /// Says that the operation is asked for; its answer will come.
    pub(super) fn await_answer(&self, call: u64) -> oneshot::Receiver<OpReply> {
        let (answers, answer) = oneshot::channel();
        self.0.answers.borrow_mut().insert(call, answers);
        answer
    }

    /// Does what the coordinator says, to the end of the process.
    pub(super) async fn listen(self, mut orders: UnboundedReceiver<Order>) {
        while let Some(order) = orders.recv().await {
            match order {
                Order::Leave { wait } => {
                    if let Some(leave) = self.0.leaves.borrow_mut().remove(&wait) {
                        let _ = leave.send(());
                    }
                }
                Order::Answer { call, reply } => {
                    // One that nobody waits for any more came too late.
                    if let Some(answer) = self.0.answers.borrow_mut().remove(&call) {
                        let _ = answer.send(reply);
                    }
                }
                Order::Cue(cue) => {
                    self.0.come.borrow_mut().insert(cue);
                    let waits = self.0.cues.take();
                    let (come, waits) = waits.into_iter().partition(|(other, _)| *other == cue);
                    self.0.cues.replace(waits);
                    come.into_iter().for_each(|(_, waiter): (_, oneshot::Sender<()>)| _ = waiter.send(()));
                }
                Order::Interrupt { strike } => {
                    let callers = self.0.callers.take();
                    let waited = callers.into_iter().filter_map(|caller| caller.send(()).ok()).count();
                    let waited = u32::try_from(waited).unwrap_or(u32::MAX);
                    self.say(&Report::Interrupted { strike, waited });
                }
                Order::Step(nanos) => self.step_wall_by(nanos),
                Order::Meddle(what) => self.0.meddlers.begin(what),
                Order::LeaveBe { strike } => self.0.meddlers.end(strike),
                Order::Hang { part, hangs } => self.0.hangs.change(&part, hangs),
                Order::Prepare(_) | Order::Begin { .. } => {
                    self.strand("told to begin a second time".to_owned()).await;
                }
            }
        }
    }
}

impl fmt::Debug for LiveHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LiveHost({:?})", self.0.node)
    }
}

impl Host for LiveHost {
    type Note = Note;
    type Task<T: 'static> = LiveTask<T>;

    fn monotonic(&self) -> MonoTime {
        now::monotonic()
    }

    fn boottime(&self) -> MonoTime {
        now::boottime()
    }

    fn wall(&self) -> WallTime {
        WallTime::from_nanos(now::wall().as_nanos().saturating_add(self.0.ahead.get()))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self, purpose: Purpose) -> u64 {
        let [recipe, workload] = &mut *self.0.streams.borrow_mut();
        match purpose {
            Purpose::Recipe => recipe.word(),
            Purpose::Workload => workload.word(),
        }
    }

    fn note(&self, note: Note) {
        self.say(&Report::Note { at: self.now(), note });
    }

    async fn point(&self, point: Point) {
        if !self.0.awaited.contains(point.0) {
            return;
        }
        let (leaves, leave) = oneshot::channel();
        let wait = self.number();
        self.0.leaves.borrow_mut().insert(wait, leaves);
        self.say(&Report::Reached { at: self.now(), point: point.0.to_owned(), wait });
        // A fault that strikes here stops the whole process before the leave arrives.
        let _ = leave.await;
    }

    fn spawn<T: 'static>(&self, part: Part, task: impl Future<Output = T> + 'static) -> LiveTask<T> {
        LiveTask(Some(tokio::task::spawn_local(Scoped::new(self, self.scope(), self.of_part(part, task)))))
    }

    fn open_attempt(&self) -> AttemptId {
        self.0.attempts.update(|attempts| attempts + 1);
        let ordinal = self.0.attempts.get().try_into().expect("attempts are counted from 1");
        AttemptId::new(self.0.node, ordinal)
    }

    fn attempt<T>(&self, attempt: AttemptId, body: impl Future<Output = T>) -> impl Future<Output = T> {
        Scoped::new(self, Some(attempt), body)
    }
}

impl Stage for LiveHost {
    async fn cue(&self, cue: Cue) {
        if self.0.come.borrow().contains(&cue) {
            return;
        }
        let (comes, come) = oneshot::channel();
        self.0.cues.borrow_mut().push((cue, comes));
        let _ = come.await;
    }

    fn interrupted(&self) -> impl Future<Output = ()> {
        let (interrupts, interrupt) = oneshot::channel();
        let mut callers = self.0.callers.borrow_mut();
        callers.retain(|caller| !caller.is_closed());
        callers.push(interrupts);
        async move { _ = interrupt.await }
    }
}

/// Code that runs on behalf of an attempt, or of none: whenever it is polled, and when it is dropped.
struct Scoped<F: Future> {
    host: LiveHost,
    attempt: Option<AttemptId>,
    body: Option<Pin<Box<F>>>,
}

impl<F: Future> Scoped<F> {
    fn new(host: &LiveHost, attempt: Option<AttemptId>, body: F) -> Self {
        Self { host: host.clone(), attempt, body: Some(Box::pin(body)) }
    }
}

impl<F: Future> Future for Scoped<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let outer = self.host.0.scope.replace(self.attempt);
        let polled = self.body.as_mut().expect("it is there until it is dropped").as_mut().poll(cx);
        self.host.0.scope.set(outer);
        polled
    }
}

impl<F: Future> Drop for Scoped<F> {
    fn drop(&mut self) {
        let outer = self.host.0.scope.replace(self.attempt);
        self.body = None;
        self.host.0.scope.set(outer);
    }
}

/// A handle to a task of this process.
pub struct LiveTask<T>(Option<JoinHandle<T>>);

impl<T> Future for LiveTask<T> {
    type Output = T;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let Some(task) = &mut self.0 else { return Poll::Pending };
        match pin!(task).poll(cx) {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(value)) => Poll::Ready(value),
            Poll::Ready(Err(error)) => match error.try_into_panic() {
                Ok(panic) => std::panic::resume_unwind(panic),
                // Who awaits what was cancelled waits for ever.
                Err(_) => {
                    self.0 = None;
                    Poll::Pending
                }
            },
        }
    }
}

impl<T> Task<T> for LiveTask<T> {
    fn abort(&self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl<T> fmt::Debug for LiveTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LiveTask")
    }
}
