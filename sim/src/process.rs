//! What a program sees: [`Host`], [`Calls`], [`Stage`] on the kernel.
//!
//! Every handle carries the life of the process that made it. Once that life is over, whatever the
//! handle is asked to do has no effect and is counted: `Drop` code of a dead process is not a crash's
//! last wish.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context as TaskContext, Poll};

use host::{
    AttemptId, CallError, Calls, ConnectError, Connection, Cue, Domain, Duration, Host, MonoTime, NodeId, Part, Point,
    Purpose, Request, Server, Stage, Task, WallTime,
};

use pin_project_lite::pin_project;

use crate::calling::{Calling, own_kind};
use crate::core::Core;
use crate::tasks::TaskId;
use crate::timers::TimerPurpose;

/// A process on a simulated machine.
pub struct SimHost<D: Domain> {
    pub(crate) core: Rc<RefCell<Core<D>>>,
    node: NodeId,
    life: u32,
}

impl<D: Domain> SimHost<D> {
    pub(crate) const fn new(core: Rc<RefCell<Core<D>>>, node: NodeId, life: u32) -> Self {
        Self { core, node, life }
    }

    /// Runs `act` if this life is not over, without counting it if it is: for tearing down.
    pub(crate) fn if_alive(&self, act: impl FnOnce(&mut Core<D>)) {
        let mut core = self.core.borrow_mut();
        if core.is_life(self.node, self.life) {
            act(&mut core);
        }
    }

    /// Lets others run: the task is ready again at once if its process runs, and parked if that stands still.
    /// What fails at once gives way too, so that a program that tries again for ever spends the run's budget
    /// instead of the user's patience.
    async fn give_way(&self) {
        let mut gives_way = true;
        poll_fn(|_| {
            if std::mem::take(&mut gives_way) {
                let mut core = self.core.borrow_mut();
                let current = core.tasks.current();
                core.tasks.wake(current);
                return Poll::Pending;
            }
            Poll::Ready(())
        })
        .await;
    }
}

impl<D: Domain> Clone for SimHost<D> {
    fn clone(&self) -> Self {
        Self { core: Rc::clone(&self.core), node: self.node, life: self.life }
    }
}

impl<D: Domain> fmt::Debug for SimHost<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimHost({:?}, life {})", self.node, self.life)
    }
}

impl<D: Domain> Host for SimHost<D> {
    type Note = D::Note;
    type Task<T: 'static> = SimTask<D, T>;

    fn monotonic(&self) -> MonoTime {
        let core = self.core.borrow();
        core.node(self.node).clock().mono_at(core.now)
    }

    fn boottime(&self) -> MonoTime {
        let core = self.core.borrow();
        core.node(self.node).clock().boot_at(core.now)
    }

    fn wall(&self) -> WallTime {
        let core = self.core.borrow();
        core.node(self.node).clock().wall_at(core.now)
    }

    async fn sleep(&self, duration: Duration) {
        let slot = {
            let mut core = self.core.borrow_mut();
            if core.may_act(self.node, self.life) {
                let task = core.tasks.current();
                Some(core.arm_after(self.node, TimerPurpose::Sleep(task), duration))
            } else {
                None
            }
        };
        let Some(slot) = slot else { return std::future::pending().await };
        let _gives_up = OnDrop(|| self.if_alive(|core| core.disarm(slot)));
        poll_fn(|_| if self.core.borrow_mut().poll_sleep(slot) { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn random(&self, purpose: Purpose) -> u64 {
        let mut core = self.core.borrow_mut();
        if core.may_act(self.node, self.life) { core.random(self.node, purpose) } else { 0 }
    }

    fn note(&self, note: D::Note) {
        let mut core = self.core.borrow_mut();
        if core.may_act(self.node, self.life) {
            core.note(self.node, note);
        }
    }

    async fn point(&self, point: Point) {
        let must_stop = self.core.borrow_mut().pass_point(self.node, self.life, point);
        if must_stop {
            self.give_way().await;
        }
    }

    fn spawn<T: 'static>(&self, part: Part, task: impl Future<Output = T> + 'static) -> SimTask<D, T> {
        let joined = Rc::new(RefCell::new(Joined { value: None, waiter: None }));
        let (result, core) = (Rc::clone(&joined), Rc::clone(&self.core));
        let future = async move {
            let value = task.await;
            let waiter = {
                let mut joined = result.borrow_mut();
                joined.value = Some(value);
                joined.waiter.take()
            };
            if let Some(waiter) = waiter {
                core.borrow_mut().tasks.wake(waiter);
            }
        };
        let acts = self.core.borrow_mut().may_act(self.node, self.life);
        // A dead process spawns nothing; the future is dropped here, outside of any borrow.
        let id = acts.then(|| self.core.borrow_mut().spawn(self.node, part, false, Box::pin(future)));
        SimTask { core: Rc::clone(&self.core), id, joined }
    }

    fn open_attempt(&self) -> AttemptId {
        // Handed out to a dead process too: whatever carries it has no effect.
        self.core.borrow_mut().open_attempt(self.node)
    }

    fn attempt<T>(&self, attempt: AttemptId, body: impl Future<Output = T>) -> impl Future<Output = T> {
        Scoped { attempt, body, outer: Outer { core: &self.core, scope: None } }
    }
}

pin_project! {
    // Work in the scope of an attempt. Not an `async fn`, whose future would have room for the work twice.
    struct Scoped<'a, D: Domain, F> {
        attempt: AttemptId,
        #[pin]
        body: F,
        // Dropped after the body.
        outer: Outer<'a, D>,
    }

    impl<D: Domain, F> PinnedDrop for Scoped<'_, D, F> {
        // If it is given up half-way, the work's `Drop` code is in the scope too.
        fn drop(this: Pin<&mut Self>) {
            let this = this.project();
            this.outer.scope = this.outer.enter(Some(*this.attempt));
        }
    }
}

/// The scope around a [`Scoped`].
struct Outer<'a, D: Domain> {
    core: &'a RefCell<Core<D>>,
    /// What it is, as the body is dropped.
    scope: Option<AttemptId>,
}

impl<D: Domain> Outer<'_, D> {
    fn enter(&self, scope: Option<AttemptId>) -> Option<AttemptId> {
        std::mem::replace(&mut self.core.borrow_mut().scope, scope)
    }
}

impl<D: Domain> Drop for Outer<'_, D> {
    fn drop(&mut self) {
        self.enter(self.scope);
    }
}

impl<D: Domain, F: Future> Future for Scoped<'_, D, F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut TaskContext<'_>) -> Poll<F::Output> {
        let this = self.project();
        let outer = this.outer.enter(Some(*this.attempt));
        let polled = this.body.poll(cx);
        this.outer.enter(outer);
        polled
    }
}

impl<D: Domain> Stage for SimHost<D> {
    async fn cue(&self, cue: Cue) {
        let comes = || self.core.borrow_mut().poll_cue(self.node, self.life, cue);
        poll_fn(|_| if comes() { Poll::Ready(()) } else { Poll::Pending }).await;
    }

    fn interrupted(&self) -> impl Future<Output = ()> {
        let caller = self.core.borrow_mut().begin_to_wait(self.node);
        let ceases = OnDrop(move || self.core.borrow_mut().cease_to_wait(caller));
        poll_fn(move |_| {
            // Held as long as the future is.
            let _ = &ceases;
            if self.core.borrow().is_interrupted(caller) { Poll::Ready(()) } else { Poll::Pending }
        })
    }
}

impl<D, R> Calls<R> for SimHost<D>
where
    D: Domain,
    R: Request,
    D::Message: From<R>,
    R::Reply: TryFrom<D::Message>,
    R::Push: TryFrom<D::Message>,
{
    type Connection = SimConnection<D, R>;

    async fn connect(&self, server: Server<R>, timeout: Duration) -> Result<SimConnection<D, R>, ConnectError> {
        let conn = {
            let mut core = self.core.borrow_mut();
            if !core.may_act(self.node, self.life) {
                return Err(ConnectError::TimedOut);
            }
            core.connect(self.node, server.node(), timeout)
        };
        // From here on it is closed when it is dropped, be it open by then or not.
        let connection = SimConnection { host: self.clone(), conn, requests: PhantomData };
        poll_fn(|_| self.core.borrow_mut().poll_opened(conn).map_or(Poll::Pending, Poll::Ready)).await?;
        Ok(connection)
    }
}

/// A connection of a simulated process.
pub struct SimConnection<D: Domain, R> {
    pub(crate) host: SimHost<D>,
    pub(crate) conn: usize,
    requests: PhantomData<fn(R)>,
}

impl<D, R> Connection<R> for SimConnection<D, R>
where
    D: Domain,
    R: Request,
    D::Message: From<R>,
    R::Reply: TryFrom<D::Message>,
    R::Push: TryFrom<D::Message>,
{
    fn is_open(&self) -> bool {
        self.host.core.borrow().is_open(self.conn)
    }

    fn call(&self, request: R, timeout: Duration) -> impl Future<Output = Result<R::Reply, CallError>> {
        Calling::new(self, request.into(), timeout)
    }

    async fn pushed(&self) -> Option<R::Push> {
        let pushed =
            poll_fn(|_| self.host.core.borrow_mut().poll_pushed(self.conn).map_or(Poll::Pending, Poll::Ready)).await;
        if pushed.is_none() {
            self.host.give_way().await;
        }
        pushed.map(own_kind)
    }
}

impl<D: Domain, R> Drop for SimConnection<D, R> {
    fn drop(&mut self) {
        self.host.if_alive(|core| core.close(self.conn));
    }
}

impl<D: Domain, R> fmt::Debug for SimConnection<D, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimConnection({} of {:?})", self.conn, self.host)
    }
}

/// A handle to a task of a simulated process.
pub struct SimTask<D: Domain, T> {
    core: Rc<RefCell<Core<D>>>,
    /// The slot and the serial; `None`: a dead process tried to spawn it.
    id: Option<(TaskId, u64)>,
    joined: Rc<RefCell<Joined<T>>>,
}

struct Joined<T> {
    value: Option<T>,
    waiter: Option<TaskId>,
}

impl<D: Domain, T> Future for SimTask<D, T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<T> {
        let mut joined = self.joined.borrow_mut();
        match joined.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                joined.waiter = Some(self.core.borrow().tasks.current());
                Poll::Pending
            }
        }
    }
}

impl<D: Domain, T> Task<T> for SimTask<D, T> {
    fn abort(&self) {
        if let Some((id, serial)) = self.id {
            self.core.borrow_mut().tasks.abort(id, serial);
        }
    }
}

impl<D: Domain, T> fmt::Debug for SimTask<D, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SimTask({:?})", self.id)
    }
}

/// Runs when it is dropped, so that a future that is given up gives up what it holds.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
