//! What a program sees: [`Host`], [`Stage`] and [`Calls`] on madsim.
//!
//! Every handle carries the life of the process that made it. madsim drops a killed node's futures, and so
//! runs their `Drop` code in the crash; the process is marked dead before, and whatever a handle of a dead
//! life is asked to do has no effect and is counted.

use std::cell::RefCell;
use std::fmt;
use std::future::{Future, pending, poll_fn};
use std::marker::PhantomData;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use host::{
    AttemptId, CallError, Calls, ConnectError, Connection, Cue, Duration, Either, Host, MonoTime, NodeId, Part, Point,
    Purpose, Request, Server, Stage, Task, WallTime, first,
};
use models::Message;
use spec::Note;

use crate::node::Caller;
use crate::world::{Scope, Scoped, World};

/// A process on madsim.
#[derive(Clone)]
pub struct MadHost {
    pub(crate) world: Rc<World>,
    pub(crate) node: NodeId,
    pub(crate) life: u32,
}

impl MadHost {
    fn may_act(&self) -> bool {
        self.world.state_mut().may_act(self.node, self.life)
    }

    fn is_alive(&self) -> bool {
        self.world.state().is_life(self.node, self.life)
    }
}

/// Lets others run: the task is ready again at once, and parked by madsim if its node stands still.
pub(crate) async fn give_way() {
    let mut gives_way = true;
    poll_fn(|cx| {
        if std::mem::take(&mut gives_way) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(())
    })
    .await;
}

impl fmt::Debug for MadHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadHost({:?}, life {})", self.node, self.life)
    }
}

impl Host for MadHost {
    type Note = Note;
    type Task<T: 'static> = MadTask<T>;

    fn monotonic(&self) -> MonoTime {
        self.world.monotonic()
    }

    fn boottime(&self) -> MonoTime {
        // No machine sleeps in this world.
        self.world.monotonic()
    }

    fn wall(&self) -> WallTime {
        self.world.wall(self.node)
    }

    async fn sleep(&self, duration: Duration) {
        if !self.may_act() {
            return pending().await;
        }
        self.world.sleep(duration).await;
        let mut state = self.world.state_mut();
        state.application_events += 1;
        state.step(self.node);
    }

    fn random(&self, purpose: Purpose) -> u64 {
        if self.may_act() { self.world.state_mut().random(self.node, purpose) } else { 0 }
    }

    fn note(&self, note: Note) {
        if self.may_act() {
            self.world.note(self.node, note);
        }
    }

    async fn point(&self, point: Point) {
        if self.world.pass_point(self.node, self.life, point) {
            give_way().await;
        }
    }

    fn spawn<T: 'static>(&self, part: Part, task: impl Future<Output = T> + 'static) -> MadTask<T> {
        let joined = Rc::new(RefCell::new(Joined { value: None, waiter: None }));
        if !self.may_act() {
            return MadTask { handle: None, joined };
        }
        let result = Rc::clone(&joined);
        let future = async move {
            let value = task.await;
            let mut joined = result.borrow_mut();
            joined.value = Some(value);
            if let Some(waiter) = joined.waiter.take() {
                waiter.wake();
            }
        };
        let scope = Scope { part, ..self.world.scope() };
        MadTask { handle: Some(self.world.spawn(self.node, scope, future)), joined }
    }

    fn open_attempt(&self) -> AttemptId {
        // Handed out to a dead process too: whatever carries it has no effect.
        self.world.state_mut().open_attempt(self.node)
    }

    fn attempt<T>(&self, attempt: AttemptId, body: impl Future<Output = T>) -> impl Future<Output = T> {
        Scoped::new(&self.world, Some(attempt), None, body)
    }
}

impl Stage for MadHost {
    async fn cue(&self, cue: Cue) {
        poll_fn(|cx| {
            let cue = &mut self.world.state_mut().cues[usize::from(cue.0)];
            if cue.come.is_some() {
                return Poll::Ready(());
            }
            cue.waiters.push(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    fn interrupted(&self) -> impl Future<Output = ()> {
        let caller = Rc::new(Caller::default());
        self.world.state_mut().node_mut(self.node).callers.push(Rc::clone(&caller));
        let (world, node, waits) = (Rc::clone(&self.world), self.node, Rc::clone(&caller));
        let ceases = OnDrop(move || {
            // When the run's outcome is taken, there are no nodes any more.
            if let Some(node) = world.state_mut().nodes.get_mut(node.index()) {
                node.callers.retain(|other| !Rc::ptr_eq(other, &waits));
            }
        });
        poll_fn(move |cx| {
            // Held as long as the future is.
            let _ = &ceases;
            if caller.interrupted.get() {
                return Poll::Ready(());
            }
            caller.waker.replace(Some(cx.waker().clone()));
            Poll::Pending
        })
    }
}

/// A handle to a task of a process.
pub struct MadTask<T> {
    /// `None`: a dead process tried to spawn it.
    handle: Option<madsim::task::JoinHandle<()>>,
    joined: Rc<RefCell<Joined<T>>>,
}

struct Joined<T> {
    value: Option<T>,
    waiter: Option<Waker>,
}

impl<T> Future for MadTask<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<T> {
        let mut joined = self.joined.borrow_mut();
        match joined.value.take() {
            Some(value) => Poll::Ready(value),
            None => {
                joined.waiter = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

impl<T> Task<T> for MadTask<T> {
    fn abort(&self) {
        if let Some(handle) = &self.handle {
            handle.abort();
        }
    }
}

impl<T> fmt::Debug for MadTask<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadTask({:?})", self.handle)
    }
}

impl<R> Calls<R> for MadHost
where
    R: Request,
    Message: From<R>,
    R::Reply: TryFrom<Message>,
    R::Push: TryFrom<Message>,
{
    type Connection = MadConnection<R>;

    async fn connect(&self, server: Server<R>, timeout: Duration) -> Result<MadConnection<R>, ConnectError> {
        if !self.may_act() {
            return Err(ConnectError::TimedOut);
        }
        let conn = self.world.open(self.node, self.life, server.node());
        // From here on it is closed when it is dropped, be it open by then or not.
        let connection = MadConnection { host: self.clone(), conn, requests: PhantomData };
        let opens = async {
            self.world.dial(conn).await;
            poll_fn(|cx| self.world.poll_opened(conn, cx)).await
        };
        match first(opens, self.world.sleep(timeout)).await {
            Either::Left(result) => result.map(|()| connection),
            Either::Right(()) => Err(ConnectError::TimedOut),
        }
    }
}

/// A connection of a process on madsim.
pub struct MadConnection<R> {
    host: MadHost,
    conn: usize,
    requests: PhantomData<fn(R)>,
}

impl<R> Connection<R> for MadConnection<R>
where
    R: Request,
    Message: From<R>,
    R::Reply: TryFrom<Message>,
    R::Push: TryFrom<Message>,
{
    fn is_open(&self) -> bool {
        self.host.world.is_open(self.conn)
    }

    async fn call(&self, request: R, timeout: Duration) -> Result<R::Reply, CallError> {
        let world = &self.host.world;
        let Some(call) = world.start_call(self.conn, request.into()) else {
            give_way().await;
            return Err(CallError::Closed);
        };
        let _gives_up = OnDrop(|| world.state_mut().wires.forget_call(call));
        // The reply is asked for first: one that is in the socket beats a timer that has expired.
        match first(poll_fn(|cx| world.poll_call(call, cx)), world.sleep(timeout)).await {
            Either::Left(outcome) => outcome.map(own_kind),
            Either::Right(()) => {
                world.close(self.conn);
                Err(CallError::TimedOut)
            }
        }
    }

    async fn pushed(&self) -> Option<R::Push> {
        let pushed = poll_fn(|cx| self.host.world.poll_pushed(self.conn, cx)).await;
        if pushed.is_none() {
            give_way().await;
        }
        pushed.map(own_kind)
    }
}

impl<R> Drop for MadConnection<R> {
    fn drop(&mut self) {
        if self.host.is_alive() {
            self.host.world.close(self.conn);
        }
    }
}

impl<R> fmt::Debug for MadConnection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadConnection({} of {:?})", self.conn, self.host)
    }
}

/// Runs when it is dropped, so that a future that is given up gives up what it holds.
struct OnDrop<F: Fn()>(F);

impl<F: Fn()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// # Panics
/// If a service answered a request with another service's reply: a bug of the model.
fn own_kind<T: TryFrom<Message>>(message: Message) -> T {
    let Ok(own) = T::try_from(message) else { panic!("a service answered with another service's message") };
    own
}
