//! A lock that is held: the connection on which it is, and what the library makes of it when that is lost.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use host::{Duration, Host, Part, Task};

use super::super::client::{Failure, Pool, Session};
use super::super::key::Strength;
use super::super::{PgHost, PgRequest};
use crate::lock::postgres::{AdvisoryLock, Looks, OnLoss};

/// What the owner shows: the connection on which it has the lock.
pub struct Hold<H: PgHost> {
    pool: Pool<H>,
    strength: Strength,
    looks: Looks,
    on_loss: OnLoss,
    /// The connection that the program has for it: another, if the library has opened another.
    session: RefCell<Rc<Session<H>>>,
    /// Asks something every so often.
    heartbeat: RefCell<Option<<H as Host>::Task<()>>>,
}

impl<H: PgHost> Hold<H> {
    /// The session has the lock from now on.
    pub(super) fn begin(
        host: &H,
        pool: &Pool<H>,
        switches: &AdvisoryLock,
        session: Rc<Session<H>>,
        strength: Strength,
    ) -> Rc<Self> {
        let AdvisoryLock { looks, on_loss, heartbeat, .. } = *switches;
        let (pool, session) = (pool.clone(), RefCell::new(session));
        let hold = Rc::new(Self { pool, strength, looks, on_loss, session, heartbeat: RefCell::new(None) });
        if let Some(every) = heartbeat {
            let (own_host, held) = (host.clone(), Rc::clone(&hold));
            let task = host.spawn(Part::RENEWAL, async move { held.beat(&own_host, every).await });
            hold.heartbeat.replace(Some(task));
        }
        hold
    }

    /// In which strength it is held.
    pub(super) const fn strength(&self) -> Strength {
        self.strength
    }

    /// The connection that the program has for it.
    #[must_use]
    pub fn session(&self) -> Rc<Session<H>> {
        Rc::clone(&self.session.borrow())
    }

    /// Asks something every so often, until it is told that there is nobody to ask.
    async fn beat(&self, host: &H, every: Duration) {
        loop {
            host.sleep(every).await;
            if self.ask_something(host).await == Err(Failure::Lost) {
                return;
            }
        }
    }

    /// No more of that.
    pub(super) fn stop(&self) {
        if let Some(task) = self.heartbeat.take() {
            task.abort();
        }
    }

    /// Whether the library has told the program, or would if it were asked. One that connects again says nothing.
    pub(super) fn knows_of_loss(&self) -> bool {
        self.on_loss == OnLoss::Error && !self.session.borrow().is_open()
    }

    /// Whether the lock is held still, as far as whom the client asks can tell.
    pub(super) async fn is_still_held(&self, host: &H) -> bool {
        match self.looks {
            Looks::Connection => !self.knows_of_loss(),
            Looks::Server => self.ask_something(host).await.is_ok(),
        }
    }

    /// A statement that has nothing to do with the lock: `SELECT 1`.
    async fn ask_something(&self, host: &H) -> Result<(), Failure> {
        self.reconnect_if_lost(host).await;
        let session = self.session();
        let answer = session.ask(PgRequest::One).await;
        // What failed for the connection's sake is asked again on another, if the library has others.
        if answer == Err(Failure::Lost) && self.on_loss == OnLoss::Reconnect {
            self.reconnect_if_lost(host).await;
            return self.session().ask(PgRequest::One).await.map(drop);
        }
        answer.map(drop)
    }

    /// Opens another connection in the place of one that is lost, if the library does that.
    pub(super) async fn reconnect_if_lost(&self, host: &H) {
        if self.on_loss == OnLoss::Error || self.session.borrow().is_open() {
            return;
        }
        if let Some(session) = self.pool.open(host).await {
            self.session.replace(session);
        }
    }
}

impl<H: PgHost> fmt::Debug for Hold<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hold").field("session", &self.session).field("strength", &self.strength).finish_non_exhaustive()
    }
}
