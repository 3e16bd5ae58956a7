//! What the client library does between a program and the servers of an ensemble: one connection, one session after the
//! other, and what the program hears of them.
//!
//! Source: `ClientCnxn.java`, `ClientCnxnSocketNIO.java`, `ZKWatchManager.java` and `client/StaticHostProvider.java` of ZooKeeper
//! 3.8.0, <https://github.com/apache/zookeeper/tree/release-3.8.0/zookeeper-server/src/main/java/org/apache/zookeeper>.
//!
//! | the library's step | here |
//! |---|---|
//! | `StaticHostProvider.next`: the next server, 1 s after all were tried | `hosts` |
//! | `SendThread.run`, `startConnect`: waits up to 1 s, drawn, before it connects again | `lifeline` |
//! | `onConnected`: reads for two thirds of what the server makes of the timeout, connects for its share of it | `lifeline` |
//! | `SendThread.run`: pings, and gives a connection up on which nothing was heard | `lifeline` |
//! | `ClientCnxnSocketNIO.cleanup`: 100 ms between the loss of a connection and the news of it | `lifeline` |
//! | `queuePacket`: what is asked while there is no connection waits for one, and is lost with it | [`Client::call`] |
//! | `conLossPacket`: what was open is lost, and nobody knows whether it was done | [`Failure::ConnectionLoss`] |
//! | `readResponse`: the newest change that was seen is that of the last answer | [`Client::call`] |
//! | `ZKWatchManager`: what is watched, and who is told | `watches` |
//! | `primeConnection`: what is watched is watched again on the next connection | `lifeline` |
//! | `getState` | [`Client::session`], [`Session::is_connected`] |
//!
//! * **Only a server says that a session is over**, when the client connects again. Until then nobody tells the program: the
//!   library has no timer for it.
//! * A program that stood still goes on before it hears of anything: the loss of its connection comes 100 ms later, the end of
//!   its session after the wait to connect again.
//! * Answers come in the order of the requests, so that none has a timeout of its own.
//!
//! Departures: a session that is over has a successor at once, as with Curator (`ConnectionState.reset`); the library leaves
//! that to the program. The event thread is the loop itself. Left out: servers that only read, changes of the list of servers,
//! authentication.

mod hosts;
mod lifeline;
mod watches;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use host::{Bell, Calls, Connection, Duration, Either, MonoTime, NodeId, Part, Server, WallTime, first};

use super::{Answer, Body, Credentials, Millis, Path, SessionId, Stat, ZkError, ZkHost, ZkReply, ZkRequest, Zxid};
use crate::guard::Guard;
pub use watches::Watch;
use watches::{Kind, Watches};

/// Where an ensemble is, and how a client asks it.
#[derive(Clone, Debug)]
pub struct Way {
    /// By what name the history calls the ensemble: that of its first server, which the client need not know.
    pub ensemble: NodeId,
    /// The servers that it connects to.
    pub servers: Vec<Server<ZkRequest>>,
    /// How long its sessions are to live without a word of it.
    pub timeout: Duration,
    /// If the objects are in the ensemble that the lock protects: what of an operation is checked.
    pub objects: Option<Guard>,
}

/// Longer than any run: the read timeout is what ends a call.
const NEVER: Duration = Duration::from_secs(1 << 30);

/// One client's way into an ensemble. Copies share it.
pub struct Client<H: ZkHost>(Rc<Inner<H>>);

struct Inner<H: ZkHost> {
    servers: Vec<Server<ZkRequest>>,
    asked: Millis,
    /// Rings when anything below has changed.
    bell: Bell,
    session: RefCell<Rc<Session>>,
    /// The connection on which the session is, if it is on one.
    line: RefCell<Option<Rc<Line<H>>>>,
    /// How many connections have come to an end, or never to anything.
    losses: Cell<u64>,
    last_seen: Cell<Zxid>,
    watches: RefCell<Watches>,
}

/// A session, as far as the program has heard of it: `ZooKeeper`, the handle.
#[derive(Debug, Default)]
pub struct Session {
    credentials: Cell<Option<Credentials>>,
    /// What the server has made of the timeout.
    timeout: Cell<Option<Millis>>,
    is_connected: Cell<bool>,
    is_expired: Cell<bool>,
    /// How often the program was told that the connection is lost.
    suspensions: Cell<u32>,
    /// When it was told so last, if it was not told since that there is another.
    suspended: Cell<Option<WallTime>>,
}

/// A connection on which a session is.
struct Line<H: ZkHost> {
    connection: <H as Calls<ZkRequest>>::Connection,
    /// When something was last sent and heard on it.
    sent: Cell<MonoTime>,
    heard: Cell<MonoTime>,
    /// It is given up: nobody waits for what was asked on it.
    is_over: Cell<bool>,
}

/// Why a request was not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Failure {
    /// It was refused, and has done nothing.
    Refused(ZkError),
    /// `CONNECTIONLOSS`: nobody knows whether it was done.
    ConnectionLoss,
    /// `SESSIONEXPIRED`, as the library says it: whether it was done before, nobody knows.
    Expired,
}

impl Session {
    /// Its number, once a server has given it one.
    #[must_use]
    pub fn id(&self) -> Option<SessionId> {
        self.credentials.get().map(|credentials| credentials.session)
    }

    /// How long it lives without a word of the client, as the server has said.
    #[must_use]
    pub fn timeout(&self) -> Option<Duration> {
        self.timeout.get().map(Millis::as_duration)
    }

    /// `States.CONNECTED`: the library takes itself to be connected.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        self.is_connected.get()
    }

    /// Whether the program was told that it is over (`KeeperState.Expired`).
    #[must_use]
    pub const fn is_expired(&self) -> bool {
        self.is_expired.get()
    }

    /// How often the program was told that the connection is lost (`KeeperState.Disconnected`), and not in between that there
    /// is another.
    #[must_use]
    pub const fn suspensions(&self) -> u32 {
        self.suspensions.get()
    }

    /// When the program was told so, by its wall clock, if there is no other connection since.
    #[must_use]
    pub const fn suspended(&self) -> Option<WallTime> {
        self.suspended.get()
    }
}

impl<H: ZkHost> Client<H> {
    /// A client of those servers that asks for sessions of that length.
    #[must_use]
    pub fn new(servers: &[Server<ZkRequest>], timeout: Duration) -> Self {
        Self(Rc::new(Inner {
            servers: servers.to_vec(),
            asked: timeout.into(),
            bell: Bell::default(),
            session: RefCell::default(),
            line: RefCell::new(None),
            losses: Cell::new(0),
            last_seen: Cell::default(),
            watches: RefCell::default(),
        }))
    }

    /// Begins, when its process does: the loop runs as long as that lives.
    pub fn start(&self, host: &H) {
        let (client, own_host) = (self.clone(), host.clone());
        drop(host.spawn(Part::RENEWAL, async move { client.live(&own_host).await }));
    }

    /// The session that there is, or is being asked for.
    #[must_use]
    pub fn session(&self) -> Rc<Session> {
        Rc::clone(&self.0.session.borrow())
    }

    /// Waits until anything about the session, its connection or a watch has changed.
    pub fn changed(&self) -> impl Future<Output = ()> + use<H> {
        self.0.bell.rung()
    }

    /// Asks, and waits for the answer.
    ///
    /// # Errors
    /// [`Failure`], which says whether it may have been done.
    pub async fn call(&self, host: &H, request: ZkRequest) -> Result<Body, Failure> {
        let asked = (self.session(), self.0.losses.get());
        let line = loop {
            if let Some(failure) = self.lost_since(&asked) {
                return Err(failure);
            }
            let line = self.0.line.borrow().clone();
            match line {
                Some(line) => break line,
                None => self.changed().await,
            }
        };
        match self.send(host, &line, request).await {
            Some(answer) => self.take_in(answer),
            None => {
                drop(line);
                // Whoever waits is told when the library has put the connection away.
                loop {
                    if let Some(failure) = self.lost_since(&asked) {
                        return Err(failure);
                    }
                    self.changed().await;
                }
            }
        }
    }

    /// Asks what the node is like, if it is there, and watches it, be it there or not.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn exists(&self, host: &H, path: Path) -> Result<(Option<Stat>, Rc<Watch>), Failure> {
        let watch = self.0.watches.borrow_mut().begin(path);
        let found = match self.call(host, ZkRequest::Exists { path, watch: true }).await {
            Ok(body) => Ok(body.stat().copied()),
            Err(Failure::Refused(ZkError::NoNode)) => Ok(None),
            Err(failure) => Err(failure),
        };
        let kind = found.ok().map(|stat| if stat.is_some() { Kind::Data } else { Kind::Exist });
        self.0.watches.borrow_mut().settle(&watch, kind);
        found.map(|stat| (stat, watch))
    }

    /// Reads the node, and watches it if it is there.
    ///
    /// # Errors
    /// As [`call`](Self::call).
    pub async fn watch_data(&self, host: &H, path: Path) -> Result<Rc<Watch>, Failure> {
        let watch = self.0.watches.borrow_mut().begin(path);
        let found = self.call(host, ZkRequest::GetData { path, watch: true }).await;
        self.0.watches.borrow_mut().settle(&watch, found.is_ok().then_some(Kind::Data));
        found.map(|_| watch)
    }

    /// Waits until that watch has something to tell: a change of the node, or of the session.
    pub async fn told(&self, watch: &Watch) {
        while !watch.has_fired() {
            self.changed().await;
        }
    }

    /// How much is watched.
    #[must_use]
    pub fn watches(&self) -> usize {
        self.0.watches.borrow().count()
    }

    /// Nobody wants to hear of it any more. (The server is not asked to forget it, and may tell of it all the same.)
    pub fn forget(&self, watch: &Rc<Watch>) {
        self.0.watches.borrow_mut().settle(watch, None);
    }

    /// Takes the session to be over, though no server has said so (`Testable.injectSessionExpiration`).
    pub fn inject_expiration(&self) {
        self.session().is_expired.set(true);
        self.0.watches.borrow().tell_all();
        self.0.bell.ring();
    }

    /// What has become of a request that waits for a connection, or for its answer.
    fn lost_since(&self, asked: &(Rc<Session>, u64)) -> Option<Failure> {
        let (session, losses) = asked;
        if session.is_expired() {
            Some(Failure::Expired)
        } else {
            (self.0.losses.get() != *losses).then_some(Failure::ConnectionLoss)
        }
    }

    /// Sends something, and waits for the reply for as long as there is that connection.
    async fn send(&self, host: &H, line: &Rc<Line<H>>, request: ZkRequest) -> Option<ZkReply> {
        line.sent.set(host.monotonic());
        self.0.bell.ring();
        let is_over = async {
            while !line.is_over.get() {
                self.changed().await;
            }
        };
        let replied = first(line.connection.call(request, NEVER), is_over).await;
        let Either::Left(Ok(reply)) = replied else { return None };
        line.heard.set(host.monotonic());
        self.0.bell.ring();
        Some(reply)
    }

    fn take_in(&self, reply: ZkReply) -> Result<Body, Failure> {
        let Some(Answer { zxid, outcome }) = reply.into_answer() else { return Err(Failure::ConnectionLoss) };
        if zxid > Zxid::default() {
            self.0.last_seen.set(zxid);
        }
        outcome.map_err(|error| match error {
            ZkError::SessionExpired => Failure::Expired,
            error => Failure::Refused(error),
        })
    }
}

impl<H: ZkHost> Clone for Client<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: ZkHost> fmt::Debug for Client<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Inner { servers, session, .. } = &*self.0;
        f.debug_struct("Client").field("servers", servers).field("session", session).finish_non_exhaustive()
    }
}
