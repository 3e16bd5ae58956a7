//! A lock that the database knows by a number alone: a session, or a transaction, has it.
//!
//! Source: <https://www.postgresql.org/docs/15/explicit-locking.html#ADVISORY-LOCKS>,
//! <https://www.postgresql.org/docs/15/functions-admin.html#FUNCTIONS-ADVISORY-LOCKS>.
//!
//! | the source's step | here |
//! |---|---|
//! | `pg_advisory_lock`: waits, and is held until the session ends or unlocks it | `Advisory::ask` |
//! | `pg_advisory_xact_lock`: the same, until the transaction ends; it cannot be unlocked | `Advisory::ask`, `Advisory::take` |
//! | `pg_try_advisory_lock`: does not wait, and says whether it has it | `Advisory::ask` |
//! | `…_shared`: with all others that share it | `acquire_shared` |
//! | "will be ... held until explicitly released or the session ends" | `release`, [`Pool`] |
//! | a number that the application chooses | [`names::advisory_key`](super::names::advisory_key) |
//!
//! The source says nothing of the program that has the session. What programs make of it are switches, each with its own source:
//! what becomes of a statement that is given up (`Advisory::wait_no_longer`), and of a session that is lost ([`Hold`]).
//!
//! Departures: a token is drawn by a statement of its own, once the lock is had; who cannot draw one gives the lock back. Each grant has
//! a connection for itself: a session that asks for a lock that it has gets it once more, and no client here does that.

mod hold;

use std::fmt;
use std::pin::pin;
use std::rc::Rc;

use host::{Duration, Either, MonoTime, first};
use spec::{Authorities, LockName, Token};

pub use hold::Hold;

use super::client::{Failure, Pool, Session, Waited, Way};
use super::key::Strength;
use super::names::{SEQUENCE, advisory_key, row};
use super::{
    Advise, Assign, Insert, OnConflict, Outcome, PgHost, PgRequest, Row, Scope, Setting, SqlState, Table, VersionTo,
};
use crate::lock::postgres::{AdvisoryLock, Lasts, OnTimeout, TokenOf, Waits};
use crate::recipe::{Acquired, Lease, Recipe, Release};
use crate::resource::{Op, OpReply};

/// A client's advisory locks.
pub struct PgAdvisory<H: PgHost>(Rc<Advisory<H>>);

struct Advisory<H: PgHost> {
    pool: Pool<H>,
    switches: AdvisoryLock,
}

/// How it ended to ask for the lock.
enum Asked {
    Had,
    /// The server said no.
    Refused,
    /// The session is over, or the program waits no longer.
    Unknown,
}

impl<H: PgHost> PgAdvisory<H> {
    /// Locks on that server.
    #[must_use]
    pub fn new(way: Way, switches: &AdvisoryLock) -> Self {
        let pool = Pool::new(way, switches.pool, switches.returns);
        Self(Rc::new(Advisory { pool, switches: *switches }))
    }
}

impl<H: PgHost> Advisory<H> {
    /// Takes the lock on a connection of the pool, and draws its token.
    async fn take(
        &self,
        host: &H,
        (lock, strength): (LockName, Strength),
        until: Option<MonoTime>,
    ) -> Acquired<Rc<Hold<H>>> {
        let Some(session) = self.pool.take(host).await else { return Acquired::Failed };
        if self.prepare(&session).await.is_err() {
            self.pool.give_back(session).await;
            return Acquired::Failed;
        }
        match self.ask(host, &session, (lock, strength), until).await {
            Asked::Had => {}
            Asked::Refused => {
                let _ = self.leave_transaction(&session, PgRequest::Rollback).await;
                self.pool.give_back(session).await;
                return Acquired::Denied;
            }
            Asked::Unknown => return Acquired::Failed,
        }
        let Ok(token) = self.token(&session, lock).await else {
            // What the session has it has no longer when it is over.
            session.end();
            return Acquired::Failed;
        };
        let counted = Authorities::one(session.authority());
        let hold = Hold::begin(host, &self.pool, &self.switches, session, strength);
        Acquired::Granted(Lease { proof: hold, token, until: None, counted })
    }

    /// What is said before the lock is asked for.
    async fn prepare(&self, session: &Session<H>) -> Result<(), Failure> {
        let local = self.switches.lasts == Lasts::Transaction;
        if local {
            session.ask(PgRequest::Begin).await?;
        }
        if self.switches.lock_timeout > Duration::ZERO {
            let (setting, to) = (Setting::LockTimeout, self.switches.lock_timeout);
            session.ask(PgRequest::Set { setting, to, local }).await?;
        }
        Ok(())
    }

    /// Asks for the lock, and waits until it is had, refused, or given up.
    async fn ask(
        &self,
        host: &H,
        session: &Rc<Session<H>>,
        (lock, strength): (LockName, Strength),
        until: Option<MonoTime>,
    ) -> Asked {
        let scope = match self.switches.lasts {
            Lasts::Session => Scope::Session,
            Lasts::Transaction => Scope::Transaction,
        };
        let is_try = self.switches.waits == Waits::Poll;
        let advise = Advise { key: advisory_key(lock), strength, scope, is_try, lock: Some(lock) };
        let own = self.switches.client_timeout.map(|timeout| host.monotonic() + timeout);
        let until = [until, own].into_iter().flatten().min();
        let mut asked = pin!(session.ask_patiently(PgRequest::Advise(Box::new(advise))));
        let waited = match until {
            None => Waited::Over(asked.as_mut().await),
            Some(until) => match first(asked.as_mut(), host.sleep(until.left(host.monotonic()))).await {
                Either::Left(answer) => Waited::Over(answer),
                Either::Right(()) => Waited::GivenUp,
            },
        };
        match waited {
            Waited::Over(Ok(Outcome::Void | Outcome::Bool(true))) => Asked::Had,
            Waited::Over(Ok(_) | Err(Failure::Refused(_))) => Asked::Refused,
            Waited::Over(Err(Failure::Lost)) => Asked::Unknown,
            Waited::GivenUp => self.wait_no_longer(host, session, asked).await,
        }
    }

    /// The program has given up what the server is still about to do.
    async fn wait_no_longer(
        &self,
        host: &H,
        session: &Rc<Session<H>>,
        asked: impl Future<Output = Result<Outcome, Failure>>,
    ) -> Asked {
        match self.switches.on_timeout {
            OnTimeout::Closed => session.end(),
            OnTimeout::Returned => self.pool.give_back_as_it_is(Rc::clone(session)),
            OnTimeout::Cancelled => {
                if let Some(other) = self.pool.open(host).await {
                    let _ = other.ask(PgRequest::Cancel(session.backend())).await;
                }
                let settled = first(asked, host.sleep(self.pool.way().timeout)).await;
                if let Either::Left(Err(Failure::Refused(SqlState::QueryCanceled))) = settled {
                    return Asked::Refused;
                }
                // It came too late, and the lock is had: by a session that goes back to the pool as any other.
                if let Either::Left(Ok(_)) = settled {
                    let _ = self.leave_transaction(session, PgRequest::Rollback).await;
                    self.pool.give_back(Rc::clone(session)).await;
                } else {
                    session.end();
                }
            }
        }
        Asked::Unknown
    }

    /// Draws the token, if there is one.
    async fn token(&self, session: &Session<H>, lock: LockName) -> Result<Option<Token>, Failure> {
        let next = || vec![Assign::Version(VersionTo::Next)];
        let request = match self.switches.token {
            TokenOf::None => return Ok(None),
            TokenOf::VersionRow => {
                let on_conflict = OnConflict::Update { set: next(), only_if: Vec::new() };
                PgRequest::Insert(Box::new(Insert {
                    row: row(Table::Tokens, lock),
                    set: next(),
                    on_conflict,
                    errand: None,
                }))
            }
            TokenOf::Sequence => PgRequest::NextVal(SEQUENCE),
            TokenOf::Xid => PgRequest::XactId,
        };
        let number = match session.ask(request).await? {
            Outcome::Number(number) => number,
            Outcome::Row(row) => row.map(|row: Box<Row>| row.version),
            _ => None,
        };
        // What is no number is no answer to that.
        let token = number.and_then(|number| u64::try_from(number).ok()).ok_or(Failure::Lost)?;
        Ok(Some(Token(token)))
    }

    async fn leave_transaction(&self, session: &Session<H>, how: PgRequest) -> Result<Outcome, Failure> {
        match self.switches.lasts {
            Lasts::Session => Ok(Outcome::Void),
            Lasts::Transaction => session.ask(how).await,
        }
    }

    /// Gives the lock back, on the connection on which it was taken, or on the one that the library has opened since.
    async fn release(&self, lock: LockName, hold: &Hold<H>) -> Release {
        hold.stop();
        let session = hold.session();
        let asked = match self.switches.lasts {
            Lasts::Session => {
                session.ask(PgRequest::Unlock { key: advisory_key(lock), strength: hold.strength() }).await
            }
            Lasts::Transaction => session.ask(PgRequest::Commit).await,
        };
        self.pool.give_back(session).await;
        match asked {
            Ok(Outcome::Bool(true) | Outcome::Done(_)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

impl<H: PgHost> Recipe<H> for PgAdvisory<H> {
    type Proof = Rc<Hold<H>>;

    async fn connect(&self, host: &H) {
        self.0.pool.fill(host).await;
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Rc<Hold<H>>> {
        self.acquire_by(host, lock, None).await
    }

    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Rc<Hold<H>>> {
        self.0.take(host, (lock, Strength::Exclusive), until).await
    }

    async fn acquire_shared(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Rc<Hold<H>>> {
        self.0.take(host, (lock, Strength::Shared), until).await
    }

    fn knows_of_loss(&self, _: LockName, lease: &Lease<Rc<Hold<H>>>) -> bool {
        lease.proof.knows_of_loss()
    }

    async fn is_still_held(&self, host: &H, _: LockName, lease: &Lease<Rc<Hold<H>>>) -> bool {
        lease.proof.is_still_held(host).await
    }

    fn keeps_objects(&self) -> bool {
        self.0.pool.way().objects.is_some()
    }

    async fn operate(&self, host: &H, lease: &Lease<Rc<Hold<H>>>, op: &Op) -> Option<OpReply> {
        lease.proof.reconnect_if_lost(host).await;
        super::objects::operate(&lease.proof.session(), self.0.pool.way(), op).await
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Rc<Hold<H>>>) -> Release {
        lease.proof.reconnect_if_lost(host).await;
        self.0.release(lock, &lease.proof).await
    }
}

impl<H: PgHost> Clone for PgAdvisory<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: PgHost> fmt::Debug for PgAdvisory<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PgAdvisory").field("pool", &self.0.pool).finish_non_exhaustive()
    }
}
