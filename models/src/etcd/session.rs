//! Sessions: leases that the client library keeps alive, and how late a program learns that one is over.
//!
//! Source: `clientv3/lease.go` and `clientv3/concurrency/session.go` of etcd 3.4.
//!
//! | the library's step | here |
//! |---|---|
//! | `NewSession`: grants a lease, 60 s if nothing is said | [`Sessions::current`] |
//! | `sendKeepAliveLoop`: every 500 ms, for each lease whose time has come | [`Sessions::keep_alive`] |
//! | `recvKeepAlive`: the next one after a third of the lease, the deadline a whole one from *now* | `ask` |
//! | `recvKeepAlive`: an answer with no time to live ends the session | `ask` |
//! | `deadlineLoop`: every 500 ms, whoever had no answer for a lease is closed | `close` |
//! | `recvKeepAliveLoop`: a broken stream is opened again after 500 ms, at the next member | `ask` |
//! | `Session.Done` | [`Session::is_done`] |
//!
//! So the program counts from when the answer *came*, and the server from when it was *made*: the program believes in its lease for
//! longer than that lives, by the way of the answer and up to the 500 ms of a loop.
//!
//! Departures: the three loops are one, in this order: deadlines, what is due. One stream for each session, on which one question is open at
//! a time.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use host::{Calls, Connection, Duration, Host, MonoTime, Server};

use super::client::{Client, Failure};
use super::{Body, EtcdHost, LeaseId, Reply, Response, Rpc};

/// How often the library looks.
const LOOP: Duration = Duration::from_millis(500);
/// How long it waits for the answer to its first question (`defaultTTL`).
const FIRST: Duration = Duration::from_secs(5);

/// A lease that is being kept alive.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) lease: LeaseId,
    /// When the program is told that it is over, if there is no answer before.
    deadline: Cell<MonoTime>,
    /// When the next question is due.
    due: Cell<MonoTime>,
    is_done: Cell<bool>,
}

impl Session {
    /// Whether the program can know that it is over.
    pub(super) const fn is_done(&self) -> bool {
        self.is_done.get()
    }
}

/// The sessions of one client, one after the other.
#[derive(Debug)]
pub(super) struct Sessions {
    /// The length of a lease, in seconds.
    ttl: i64,
    current: RefCell<Option<Rc<Session>>>,
}

impl Sessions {
    pub(super) const fn new(ttl: i64) -> Self {
        Self { ttl, current: RefCell::new(None) }
    }

    /// The session that there is, or a new one if that is over.
    pub(super) async fn current<H: EtcdHost>(&self, host: &H, client: &Client<H>) -> Result<Rc<Session>, Failure> {
        let current = self.current.borrow().clone();
        if let Some(session) = current.filter(|session| !session.is_done()) {
            return Ok(session);
        }
        let granted = client.call(host, Rpc::LeaseGrant { ttl: self.ttl, id: None }).await?;
        let Body::LeaseGrant { id, .. } = granted.body else { return Err(Failure::Unclear) };
        let now = host.monotonic();
        let session =
            Session { lease: id, deadline: Cell::new(now + FIRST), due: Cell::new(now), is_done: Cell::new(false) };
        let session = Rc::new(session);
        self.current.replace(Some(Rc::clone(&session)));
        Ok(session)
    }

    /// Nobody uses that session any more, nor keeps it alive.
    pub(super) fn leave(&self, session: &Rc<Session>) {
        self.current.borrow_mut().take_if(|current| Rc::ptr_eq(current, session));
    }

    /// The library's loop: for as long as the process lives.
    pub(super) async fn keep_alive<H: EtcdHost>(&self, host: &H, client: &Client<H>) {
        let mut stream = None;
        loop {
            let now = host.monotonic();
            let session = self.current.borrow().clone().filter(|session| !session.is_done());
            if let Some(session) = session {
                if session.deadline.get() <= now {
                    session.is_done.set(true);
                } else if session.due.get() <= now {
                    ask(host, client, &session, &mut stream).await;
                }
            }
            host.sleep(LOOP).await;
        }
    }
}

type Stream<H> = Option<<H as Calls<Rpc>>::Connection>;

/// Asks for the lease to be kept alive, on the stream, or on a new one if that is broken.
async fn ask<H: EtcdHost>(host: &H, client: &Client<H>, session: &Session, stream: &mut Stream<H>) {
    let left = session.deadline.get().left(host.monotonic());
    let open = match stream.take().filter(Connection::is_open) {
        Some(open) => open,
        None => {
            let member: Server<Rpc> = client.turn(host);
            let Ok(opened) = <H as Calls<Rpc>>::connect(host, member, client.timeout()).await else { return };
            opened
        }
    };
    // Nobody answers for so long: then the deadline is over as well.
    let answer = open.call(Rpc::LeaseKeepAlive { id: session.lease }, left).await;
    if let Ok(Reply::Done(response)) = answer {
        take_in(host, session, &response);
        *stream = Some(open);
    }
}

/// An answer is there.
fn take_in<H: Host>(host: &H, session: &Session, response: &Response) {
    let Body::LeaseKeepAlive { ttl, .. } = response.body else { return };
    let now = host.monotonic();
    match u64::try_from(ttl) {
        Ok(secs @ 1..) => {
            let ttl = Duration::from_secs(secs);
            session.deadline.set(now + ttl);
            session.due.set(now + ttl / 3);
        }
        _ => session.is_done.set(true),
    }
}
