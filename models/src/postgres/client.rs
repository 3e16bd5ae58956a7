//! What stands between a program and its server: connections, which are sessions, and the pool that lends them.
//!
//! Source: libpq of PostgreSQL 15, <https://www.postgresql.org/docs/15/libpq-connect.html>; pools, as `deadpool-postgres`, asyncpg's
//! and HikariCP have them.
//!
//! | the library's step | here |
//! |---|---|
//! | the hosts in their order, until one answers (34.1.1.3) | [`Pool::take`] |
//! | `target_session_attrs`: a host that is a standby is passed over | [`Way::target`] |
//! | a statement, and all that the server says to it | [`Session::ask`] |
//! | a program that waits no longer | [`Session::ask_until`] |
//! | idle connections are lent in turn; what is more than the pool has is closed when it comes back | [`Pool::take`], [`Pool::give_back`] |
//!
//! * **A session is over when its connection is.** The program hears of it when the server's machine says so (it closed the
//!   connection, or knows nothing of it), or when a statement was not answered in time; by itself no library looks.
//! * Who gives up a statement and keeps the connection does not stop the server: the statement goes on, and what is asked next
//!   waits behind it.
//!
//! Departures: whether a host is a standby libpq 15 is told with the connection (`in_hot_standby`), and asks nothing. A pool lends as many as
//! are wanted at once, and never has anybody wait for one. Left out: authentication, `load_balance_hosts`, how old a connection may become.

mod pool;

use std::cell::Cell;
use std::fmt;

use host::{CallError, Calls, Connection, Duration, Either, MonoTime, NodeId, Server, first};

pub use pool::Pool;

use super::{Database, Outcome, PgError, PgHost, PgReply, PgRequest, Pid, SqlState};
use crate::guard::Guard;
use crate::lock::postgres::TargetSession;

/// Where the servers are, and how a client asks them.
#[derive(Clone, Debug)]
pub struct Way {
    /// The servers that it knows, in its order, each with the one that locks for it: itself, or the one that a pooler stands before.
    pub servers: Vec<(Server<PgRequest>, NodeId)>,
    /// To which of them it connects.
    pub target: TargetSession,
    /// How long it waits for a connection, and for an answer that no lock keeps waiting.
    pub timeout: Duration,
    /// If the objects are in the database that the lock protects: what of an operation is checked.
    pub objects: Option<Guard>,
    /// Whether an index is made before each write, as a step of a migration does: [`PgRequest::CreateIndex`].
    pub migrates: bool,
}

/// Longer than any run.
const NEVER: Duration = Duration::from_secs(1 << 30);

/// A connection, which is a session as long as both ends know of it.
pub struct Session<H: PgHost> {
    connection: <H as Calls<PgRequest>>::Connection,
    /// The server that locks for it.
    authority: NodeId,
    /// Which backend serves it: of a pooler, a number that says nothing.
    backend: Pid,
    timeout: Duration,
    /// The server said that it is over, or the program does not want it any more.
    is_over: Cell<bool>,
}

/// Why a statement was not done, as far as the program knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It was refused, and the session goes on.
    Refused(SqlState),
    /// The session is over. Whether it was done, nobody knows.
    Lost,
}

/// What became of a statement for which the program waits so long and no longer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited<T> {
    /// It was answered, or never will be.
    Over(T),
    /// The program waits no longer. The statement goes on, as far as the server is concerned.
    GivenUp,
}

impl<H: PgHost> Session<H> {
    /// Opens one to that server, and asks it what the way wants to know.
    pub(super) async fn open(host: &H, way: &Way, (server, authority): (Server<PgRequest>, NodeId)) -> Option<Self> {
        let connection = host.connect(server, way.timeout).await.ok()?;
        let reply = connection.call(PgRequest::Startup(Database::default()), way.timeout).await.ok()?;
        let Ok(Outcome::Started(backend)) = reply.outcome else { return None };
        let session = Self { connection, authority, backend, timeout: way.timeout, is_over: Cell::new(false) };
        if way.target == TargetSession::ReadWrite
            && session.ask(PgRequest::IsInRecovery).await != Ok(Outcome::Bool(false))
        {
            return None;
        }
        Some(session)
    }

    /// Which server locks for it.
    #[must_use]
    pub const fn authority(&self) -> NodeId {
        self.authority
    }

    /// Which backend serves it.
    #[must_use]
    pub const fn backend(&self) -> Pid {
        self.backend
    }

    /// Whether it goes on, as far as the program has heard.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.is_over.get() && self.connection.is_open()
    }

    /// Asks for what no lock keeps waiting. If that is not answered in time, the connection is closed.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn ask(&self, request: PgRequest) -> Result<Outcome, Failure> {
        self.take_in(self.connection.call(request, self.timeout).await)
    }

    /// Asks for what may wait as long as it takes.
    ///
    /// # Errors
    /// [`Failure`].
    pub async fn ask_patiently(&self, request: PgRequest) -> Result<Outcome, Failure> {
        self.take_in(self.connection.call(request, NEVER).await)
    }

    /// The same, until the client's monotonic clock reads `until`. The connection is open still.
    pub async fn ask_until(
        &self,
        host: &H,
        request: PgRequest,
        until: Option<MonoTime>,
    ) -> Waited<Result<Outcome, Failure>> {
        by(host, until, self.ask_patiently(request)).await
    }

    /// Gives it up: it is not used again, and closed once nobody has it any more.
    pub fn end(&self) {
        self.is_over.set(true);
    }

    fn take_in(&self, reply: Result<PgReply, CallError>) -> Result<Outcome, Failure> {
        let outcome = match reply {
            Ok(reply) => reply.outcome,
            Err(CallError::TimedOut | CallError::Closed) => {
                self.end();
                return Err(Failure::Lost);
            }
        };
        outcome.map_err(|PgError { state, fatal }| {
            if fatal {
                self.end();
                return Failure::Lost;
            }
            Failure::Refused(state)
        })
    }
}

/// Waits for something until the client's monotonic clock reads `until`, if that is said.
pub(super) async fn by<H: PgHost, T>(host: &H, until: Option<MonoTime>, future: impl Future<Output = T>) -> Waited<T> {
    let Some(until) = until else { return Waited::Over(future.await) };
    match first(future, host.sleep(until.left(host.monotonic()))).await {
        Either::Left(value) => Waited::Over(value),
        Either::Right(()) => Waited::GivenUp,
    }
}

impl<H: PgHost> fmt::Debug for Session<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session")
            .field("authority", &self.authority)
            .field("backend", &self.backend)
            .field("open", &self.is_open())
            .finish_non_exhaustive()
    }
}
