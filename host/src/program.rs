//! What a program may do: the client's side.
//!
//! A recipe is an `async fn` over these traits. They are implemented by the simulator, and are made
//! to be implemented on other runtimes and on real servers: one recipe, several worlds.

use core::future::Future;

use serde::{Deserialize, Serialize};

use crate::ids::{AttemptId, Part, Point, Server};
use crate::time::{Duration, MonoTime, WallTime};

/// Which stream a draw comes from: a recipe's draw must not shift the workload's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// The lock recipe: owner values, retry jitter of the library.
    Recipe,
    /// The workload around it: think times, retry delays of the client.
    Workload,
}

/// A handle to a spawned task. Awaiting it gives the task's result; dropping it lets the task run on.
pub trait Task<T>: Future<Output = T> {
    /// Cancels the task: its future is dropped and its `Drop` code runs, as a living process's does. Who
    /// awaits it waits for ever.
    /// (A crash is not a cancel: there, whatever `Drop` code does has no effect.)
    fn abort(&self);
}

/// A process on a machine: its clocks, its tasks, its randomness, its notes.
pub trait Host: Clone + 'static {
    /// What this world's history is made of.
    type Note;
    /// A handle to a spawned task.
    type Task<T: 'static>: Task<T>;

    /// The machine's monotonic clock (`CLOCK_MONOTONIC`): it may run fast or slow, never steps, and
    /// stands still while the machine sleeps.
    fn monotonic(&self) -> MonoTime;
    /// The machine's boot-time clock (`CLOCK_BOOTTIME`): as the monotonic one, but counts the sleep.
    fn boottime(&self) -> MonoTime;
    /// The machine's wall clock (`CLOCK_REALTIME`): it may be stepped either way.
    fn wall(&self) -> WallTime;

    /// Waits on the monotonic clock.
    fn sleep(&self, duration: Duration) -> impl Future<Output = ()>;
    /// A draw from this process's stream for that purpose.
    fn random(&self, purpose: Purpose) -> u64;
    /// Writes into the history: what this process does or believes, at this instant.
    fn note(&self, note: Self::Note);
    /// Passes a named place of the program, where a fault may strike.
    fn point(&self, point: Point) -> impl Future<Output = ()>;
    /// Starts a task in this process. It inherits the attempt in whose scope it is spawned, and
    /// belongs to the named part of the process, the unit of a stall.
    fn spawn<T: 'static>(&self, part: Part, task: impl Future<Output = T> + 'static) -> Self::Task<T>;

    /// A fresh attempt id, never reused, not even after a restart. For the harness, not for recipes.
    fn open_attempt(&self) -> AttemptId;
    /// Runs `body` in the scope of an attempt: all that it sends and every task that it spawns
    /// carries the tag. For the harness, not for recipes.
    fn attempt<T>(&self, attempt: AttemptId, body: impl Future<Output = T>) -> impl Future<Output = T>;
}

/// An instant of the plan that a scripted client may wait for: its index in the run's list of cues.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Cue(pub u16);

/// What the harness may ask of the world, and a recipe may not: to be woken at a true instant, when
/// another client reaches a milestone, or by an interrupt. It tells when, never what time it is.
pub trait Stage: Host {
    /// Ends once the cue has come.
    fn cue(&self, cue: Cue) -> impl Future<Output = ()>;
    /// Ends once the caller is interrupted, as a thread is that waits: what it waits for beside this is to
    /// be given up. It may be interrupted from this call on; an interrupt that came before is nobody's.
    fn interrupted(&self) -> impl Future<Output = ()>;
}

/// A kind of request, with what answers it and what its server may push unasked.
pub trait Request: 'static {
    /// The answer.
    type Reply: 'static;
    /// What the server may send without being asked: a notification, a watch event.
    type Push: 'static;
}

/// Why a connection could not be opened.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ConnectError {
    /// The machine answered: no process listens there.
    Refused,
    /// Nobody answered in time.
    TimedOut,
}

/// Why a call failed. In both cases the request may have been served.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CallError {
    /// No reply in time. The connection is closed; other calls on it fail with `Closed`.
    TimedOut,
    /// The connection was closed or reset.
    Closed,
}

/// An open connection. Dropping it closes it.
pub trait Connection<R: Request> {
    /// Whether this end has not heard that it is closed.
    fn is_open(&self) -> bool;
    /// Sends a request and waits for its reply.
    ///
    /// # Errors
    /// [`CallError`]; whether the request was served is then unknown.
    fn call(&self, request: R, timeout: Duration) -> impl Future<Output = Result<R::Reply, CallError>>;
    /// The next pushed message, in the order sent; `None` once the connection is closed.
    fn pushed(&self) -> impl Future<Output = Option<R::Push>>;
}

/// A host whose world has servers that answer `R`. A host that reaches several kinds of server has
/// several of these; qualify the connection type then: `<H as Calls<R>>::Connection`.
pub trait Calls<R: Request>: Host {
    /// A connection to such a server.
    type Connection: Connection<R>;
    /// Opens a connection.
    ///
    /// # Errors
    /// [`ConnectError::Refused`] by a machine whose process is dead, [`ConnectError::TimedOut`]
    /// across a cut or to a machine that is off. A paused process does not show: its machine
    /// answers.
    fn connect(
        &self,
        server: Server<R>,
        timeout: Duration,
    ) -> impl Future<Output = Result<Self::Connection, ConnectError>>;
}
