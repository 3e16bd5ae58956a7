//! A program's own pool of connections.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::Rc;

use super::super::{PgHost, PgRequest};
use super::{Session, Way};
use crate::lock::postgres::Returns;

/// Connections that are lent and come back. Copies share them.
pub struct Pool<H: PgHost>(Rc<Inner<H>>);

struct Inner<H: PgHost> {
    way: Way,
    /// How many are kept.
    size: usize,
    returns: Returns,
    /// Those that nobody has: lent in turn, the one first that came back first.
    idle: RefCell<VecDeque<Rc<Session<H>>>>,
}

impl<H: PgHost> Pool<H> {
    /// A pool that is empty still.
    #[must_use]
    pub fn new(way: Way, size: u16, returns: Returns) -> Self {
        Self(Rc::new(Inner { way, size: size.into(), returns, idle: RefCell::default() }))
    }

    /// Where it connects to.
    #[must_use]
    pub fn way(&self) -> &Way {
        &self.0.way
    }

    /// Opens as many as it keeps, when the client starts. If it cannot connect now, it tries when one is wanted.
    pub async fn fill(&self, host: &H) {
        let missing = self.0.size.saturating_sub(self.0.idle.borrow().len());
        for _ in 0..missing {
            let Some(session) = self.open(host).await else { return };
            self.0.idle.borrow_mut().push_back(session);
        }
    }

    /// Lends one: the first that is open still, as far as the program has heard, or else a new one. `None`: no server answers.
    pub async fn take(&self, host: &H) -> Option<Rc<Session<H>>> {
        loop {
            let next = self.0.idle.borrow_mut().pop_front();
            match next {
                Some(session) if session.is_open() => return Some(session),
                Some(_) => {}
                None => return self.open(host).await,
            }
        }
    }

    /// Opens another, to the first server that will do.
    pub async fn open(&self, host: &H) -> Option<Rc<Session<H>>> {
        for server in &self.0.way.servers {
            if let Some(session) = Session::open(host, &self.0.way, *server).await {
                return Some(Rc::new(session));
            }
        }
        None
    }

    /// One comes back. What is over, or more than the pool keeps, is closed.
    pub async fn give_back(&self, session: Rc<Session<H>>) {
        if self.0.returns == Returns::Reset && session.is_open() {
            let _ = session.ask(PgRequest::DiscardAll).await;
        }
        self.give_back_as_it_is(session);
    }

    /// One comes back on which something is still being done.
    pub fn give_back_as_it_is(&self, session: Rc<Session<H>>) {
        let mut idle = self.0.idle.borrow_mut();
        if session.is_open() && idle.len() < self.0.size {
            idle.push_back(session);
        }
    }
}

impl<H: PgHost> Clone for Pool<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: PgHost> fmt::Debug for Pool<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool")
            .field("way", &self.0.way)
            .field("idle", &self.0.idle.borrow().len())
            .finish_non_exhaustive()
    }
}
