//! A lock in a row that says whose it is, and until when: no session has it, and no transaction.
//!
//! Sources: ShedLock 4, `JdbcTemplateLockProvider`, <https://github.com/lukas-krecan/ShedLock>; for `clock = "observed"` Amazon's
//! lock client for DynamoDB, <https://github.com/awslabs/amazon-dynamodb-lock-client>, on the same row.
//!
//! | the source's step | here |
//! |---|---|
//! | `INSERT … ON CONFLICT (name) DO UPDATE SET lock_until, locked_by WHERE lock_until <= now` | `LeaseRow::upsert` |
//! | `usingDbTime()`: both times are the server's, in the statement | [`Instant::AfterNow`] |
//! | without it: both are the client's | [`Instant::At`] |
//! | `unlock`: `UPDATE … SET lock_until = now` | `release` |
//! | `extend`: `UPDATE … SET lock_until WHERE locked_by = me AND lock_until > now` | `renew` |
//! | DynamoDB: the record that was seen, and when by `LockClientUtils.millisecondTime` | `LeaseRow::observe` |
//! | "if the record version number has not changed for lease duration": put it if it is that still | `LeaseRow::take_over` |
//!
//! The promise is counted from before the statement was sent, on the holder's monotonic clock. The row's `version` is counted up by
//! each owner, and is the token.
//!
//! Departures: an owner's name is drawn for each attempt (`ShedLock`: the name of the host); a row that is given back says so by
//! having no owner, as DynamoDB's has `isReleased`. Every attempt says the statement that makes the row if there is none. `ShedLock` says it
//! until it knows the row (`LockRecordRegistry`), and then only updates: a row that is deleted, or that a backup does not have, it makes
//! again when it is started again (README, "Do not manually delete lock row"). Left out: `lockAtLeastFor`, heartbeats by themselves, the lease's length in the record.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use host::{Duration, MonoTime, Purpose};
use spec::{Authorities, LockName, Token};

use super::client::{Failure, Pool, Way};
use super::names::row;
use super::{
    Assign, Condition, Insert, Instant, OnConflict, Outcome, PgHost, PgRequest, Row, RowKey, Select, Table, Update,
    Value, VersionTo,
};
use crate::lock::postgres::{GivesBack, JudgedBy, LeaseRowLock, Returns};
use crate::recipe::{Acquired, Lease, Recipe, Release, Renewal};

/// A client's locks in rows.
pub struct LeaseRow<H: PgHost>(Rc<Inner<H>>);

struct Inner<H: PgHost> {
    pool: Pool<H>,
    ttl: Duration,
    switches: LeaseRowLock,
    /// Of each lock, the version that was seen last, and when it was first seen.
    seen: RefCell<BTreeMap<LockName, (i64, MonoTime)>>,
}

/// What a statement about the row came to: the row, and which server has it.
type Asked = Result<Option<(Box<Row>, Authorities)>, Failure>;

impl<H: PgHost> LeaseRow<H> {
    /// Locks on that server, with leases of that length.
    #[must_use]
    pub fn new(way: Way, ttl: Duration, switches: &LeaseRowLock) -> Self {
        let pool = Pool::new(way, 1, Returns::AsItIs);
        Self(Rc::new(Inner { pool, ttl, switches: *switches, seen: RefCell::default() }))
    }
}

impl<H: PgHost> Inner<H> {
    /// Asks something about the row, on a connection of the pool.
    async fn ask(&self, host: &H, request: PgRequest) -> Asked {
        let session = self.pool.take(host).await.ok_or(Failure::Lost)?;
        let answer = session.ask(request).await;
        let authority = Authorities::one(session.authority());
        self.pool.give_back(session).await;
        match answer? {
            Outcome::Row(row) => Ok(row.map(|row| (row, authority))),
            _ => Ok(None),
        }
    }

    /// `now`, and an instant so long after it, by the clock with which rows are written.
    fn after(&self, host: &H, wait: Duration) -> Instant {
        let micros = i64::try_from(wait.as_micros()).unwrap_or(i64::MAX);
        match self.switches.judged_by {
            JudgedBy::Store | JudgedBy::Observed => Instant::AfterNow(micros),
            JudgedBy::Client => Instant::At((host.wall().as_nanos() / 1_000).saturating_add(micros)),
        }
    }

    /// What an owner writes.
    fn claim(&self, host: &H, owner: Value) -> Vec<Assign> {
        let ends = self.after(host, self.ttl);
        vec![Assign::Owner(Some(owner)), Assign::Ends(ends), Assign::Version(VersionTo::Next)]
    }

    /// Writes its name if nobody's is there, or one whose time is over.
    async fn upsert(&self, host: &H, row: RowKey, owner: Value) -> Asked {
        let set = self.claim(host, owner);
        let over = Condition::EndsBy(self.after(host, Duration::ZERO));
        let on_conflict = OnConflict::Update { set: set.clone(), only_if: vec![over] };
        self.ask(host, PgRequest::Insert(Box::new(Insert { row, set, on_conflict, errand: None }))).await
    }

    /// Looks at the row, and takes it if it is free, or has not changed for as long as a lease is.
    async fn observe(&self, host: &H, lock: LockName, owner: Value) -> Asked {
        let row = row(Table::Leases, lock);
        let select = Select { row, for_update: None, errand: None };
        let Some((found, _)) = self.ask(host, PgRequest::Select(Box::new(select))).await? else {
            let (set, on_conflict) = (self.claim(host, owner), OnConflict::Nothing);
            return self.ask(host, PgRequest::Insert(Box::new(Insert { row, set, on_conflict, errand: None }))).await;
        };
        if found.owner.is_some() && !self.is_unchanged_for_long(host, lock, found.version) {
            return Ok(None);
        }
        self.take_over(host, row, owner, found.version).await
    }

    fn is_unchanged_for_long(&self, host: &H, lock: LockName, version: i64) -> bool {
        let now = host.monotonic();
        let mut seen = self.seen.borrow_mut();
        let (known, since) = seen.entry(lock).or_insert((version, now));
        if *known != version {
            (*known, *since) = (version, now);
        }
        now - *since >= self.ttl
    }

    /// Writes its name if the row is what it was.
    async fn take_over(&self, host: &H, row: RowKey, owner: Value, version: i64) -> Asked {
        let only_if = vec![Condition::VersionIs(version)];
        self.update(host, row, self.claim(host, owner), only_if).await
    }

    async fn update(&self, host: &H, row: RowKey, set: Vec<Assign>, only_if: Vec<Condition>) -> Asked {
        self.ask(host, PgRequest::Update(Box::new(Update { row, set, only_if, errand: None }))).await
    }
}

impl<H: PgHost> Recipe<H> for LeaseRow<H> {
    /// Its name in the row.
    type Proof = Value;

    async fn connect(&self, host: &H) {
        self.0.pool.fill(host).await;
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Value> {
        let began = host.monotonic();
        let owner = Value::from(format!("{:016x}", host.random(Purpose::Recipe)).as_str());
        let asked = match self.0.switches.judged_by {
            JudgedBy::Client | JudgedBy::Store => self.0.upsert(host, row(Table::Leases, lock), owner.clone()).await,
            JudgedBy::Observed => self.0.observe(host, lock, owner.clone()).await,
        };
        match asked {
            Ok(Some((row, counted))) => {
                let token = u64::try_from(row.version).ok().map(Token);
                let until = Some(began + self.0.ttl);
                Acquired::Granted(Lease { proof: owner, token, until, counted })
            }
            Ok(None) | Err(Failure::Refused(_)) => Acquired::Denied,
            Err(Failure::Lost) => Acquired::Failed,
        }
    }

    async fn renew(&self, host: &H, lock: LockName, lease: &Lease<Value>, by: Option<Duration>) -> Renewal {
        let (began, ttl) = (host.monotonic(), by.unwrap_or(self.0.ttl));
        let mut only_if = vec![Condition::OwnerIs(lease.proof.clone())];
        let mut set = vec![Assign::Ends(self.0.after(host, ttl))];
        match self.0.switches.judged_by {
            JudgedBy::Client | JudgedBy::Store => {
                only_if.push(Condition::EndsAfter(self.0.after(host, Duration::ZERO)));
            }
            // Who looks on must see that the row has changed.
            JudgedBy::Observed => set.push(Assign::Version(VersionTo::Next)),
        }
        match self.0.update(host, row(Table::Leases, lock), set, only_if).await {
            Ok(Some(_)) => Renewal::Extended { until: began + ttl },
            Ok(None) | Err(Failure::Refused(_)) => Renewal::Refused,
            Err(Failure::Lost) => Renewal::Failed,
        }
    }

    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Value>) -> Release {
        let set = vec![Assign::Owner(None), Assign::Ends(self.0.after(host, Duration::ZERO))];
        let only_if = match self.0.switches.gives_back {
            GivesBack::Own => vec![Condition::OwnerIs(lease.proof.clone())],
            GivesBack::Whoever => Vec::new(),
        };
        match self.0.update(host, row(Table::Leases, lock), set, only_if).await {
            Ok(Some(_)) => Release::Confirmed,
            _ => Release::Refused,
        }
    }
}

impl<H: PgHost> Clone for LeaseRow<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: PgHost> fmt::Debug for LeaseRow<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LeaseRow").field("pool", &self.0.pool).field("ttl", &self.0.ttl).finish_non_exhaustive()
    }
}
