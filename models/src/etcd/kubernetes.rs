//! Leader election as Kubernetes' `client-go` has it: a record that its holder keeps writing. No lease of the store ends it: whoever
//! has seen it unchanged for long enough writes its own name there.
//!
//! Source: `tools/leaderelection/leaderelection.go` of client-go,
//! <https://github.com/kubernetes/client-go/blob/master/tools/leaderelection/leaderelection.go>.
//!
//! | the source's step | here |
//! |---|---|
//! | `acquire`: `tryAcquireOrRenew`, and again after `RetryPeriod` and up to 1.2 times as much more | `acquire`, `await_turn` |
//! | `tryAcquireOrRenew` 1: reads the record, or creates it | `acquire_or_renew` |
//! | 2: whether it has changed; whether its time is over, by when it was last seen to change | `look`, `is_over` |
//! | 3: writes it, if it is still as it was read | `write` |
//! | `renew`: the same after every `RetryPeriod`, in a round of up to `RenewDeadline` if it fails, whatever the reason | `renewing`, `renew` |
//! | `release`: writes that it is nobody's, for 1 s | `release` |
//!
//! Departures: the record is in etcd itself, without an API server before it; the key's revision is its `resourceVersion`.
//! Of its times only `renewTime` is written. The first renewal comes after `RetryPeriod`, and there at once. client-go has no
//! token; here it is the revision of the write by which the record was taken.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use host::{Duration, Either, MonoTime, Purpose, WallTime, first};
use spec::{Authorities, LockName};

use super::client::{Client, Failure, Way};
use super::names::{self, Record};
use super::single_key::is_done;
use super::{Body, Compare, EtcdHost, KeyValue, Keys, Op, Operand, Put, Range, Relation, Revision, Txn, Value};
use crate::lock::Renew;
use crate::lock::etcd::{DeadlineFrom, Identity, JudgedBy, LengthOf, RecordLock};
use crate::recipe::{Acquired, Lease, Recipe, Release, Renewal, after_delay};

/// A client's elections.
pub struct KubernetesLease<H: EtcdHost>(Rc<Inner<H>>);

struct Inner<H: EtcdHost> {
    client: Client<H>,
    way: Way,
    switches: RecordLock,
    identity: OnceCell<String>,
    observed: RefCell<BTreeMap<LockName, Observed>>,
    /// When its last renewal that was answered began.
    renewed: Cell<MonoTime>,
}

/// A record, as it was last seen or written.
#[derive(Clone, Debug)]
struct Observed {
    value: Value,
    record: Record,
    /// Its `resourceVersion`.
    revision: Revision,
    /// When it was first seen so.
    at: MonoTime,
}

impl<H: EtcdHost> KubernetesLease<H> {
    /// Elections on that cluster.
    #[must_use]
    pub fn new(way: Way, switches: &RecordLock) -> Self {
        let client = Client::new(&way.members, way.timeout);
        let (identity, observed) = (OnceCell::new(), RefCell::default());
        let renewed = Cell::new(MonoTime::from_nanos(0));
        Self(Rc::new(Inner { client, way, switches: *switches, identity, observed, renewed }))
    }

    fn identity(&self, host: &H) -> &str {
        self.0.identity.get_or_init(|| match self.0.switches.identity {
            Identity::PerProcess => format!("n1_{:016x}", host.random(Purpose::Recipe)),
            Identity::PerHost => "n1".to_owned(),
        })
    }

    /// `tryAcquireOrRenew`. Gives back the revision of its record; `None`: it is another's.
    async fn acquire_or_renew(&self, host: &H, lock: LockName) -> Result<Option<Revision>, Failure> {
        let get = Range::of(Keys::One(names::record(lock)));
        let response = self.0.client.call(host, get.into()).await?;
        let Body::Range { kvs, .. } = &response.body else { return Err(Failure::Unclear) };
        let Some(found) = kvs.first() else {
            return self.write(host, lock, Revision(0), 0).await;
        };
        let Observed { record, revision, at, .. } = self.look(host, lock, found);
        let is_own = record.holder == self.identity(host);
        if !record.holder.is_empty() && !is_own && !self.is_over(host, &record, at) {
            return Ok(None);
        }
        self.write(host, lock, revision, record.transitions + u64::from(!is_own)).await
    }

    /// Takes notice of the record as it is.
    fn look(&self, host: &H, lock: LockName, found: &KeyValue) -> Observed {
        let mut observed = self.0.observed.borrow_mut();
        let known = observed.get(&lock).filter(|known| known.value == found.value);
        let at = known.map_or_else(|| host.monotonic(), |known| known.at);
        let record = Record::read(&found.value).unwrap_or_else(Record::nobody);
        let seen = Observed { value: found.value.clone(), record, revision: found.mod_revision, at };
        observed.insert(lock, seen.clone());
        seen
    }

    /// Whether a rival's time is over.
    fn is_over(&self, host: &H, record: &Record, seen: MonoTime) -> bool {
        let RecordLock { judged_by, length, .. } = self.0.switches;
        let length = match length {
            LengthOf::Recorded => Duration::from_secs(record.length),
            LengthOf::Own => self.0.way.ttl,
        };
        match judged_by {
            JudgedBy::Observed => seen + length <= host.monotonic(),
            JudgedBy::Recorded => WallTime::from_nanos(record.renewed) + length <= host.wall(),
        }
    }

    /// Writes its own name into the record, if that is still as it was at that revision.
    async fn write(
        &self,
        host: &H,
        lock: LockName,
        revision: Revision,
        transitions: u64,
    ) -> Result<Option<Revision>, Failure> {
        let record = Record {
            holder: self.identity(host).to_owned(),
            length: self.0.way.ttl.as_secs(),
            renewed: host.wall().as_nanos(),
            transitions,
        };
        let written = self.replace(host, lock, revision, &record).await?;
        if let Some(revision) = written {
            let seen = Observed { value: record.as_value(), record, revision, at: host.monotonic() };
            self.0.observed.borrow_mut().insert(lock, seen);
        }
        Ok(written)
    }

    async fn replace(
        &self,
        host: &H,
        lock: LockName,
        revision: Revision,
        record: &Record,
    ) -> Result<Option<Revision>, Failure> {
        let key = names::record(lock);
        let unchanged = Compare { key, relation: Relation::Equal, operand: Operand::Mod(revision) };
        let put = Op::Put(Put::new(key, record.as_value(), None));
        let txn = Txn { compare: vec![unchanged], success: vec![put], ..Txn::default() };
        let response = self.0.client.call(host, txn.into()).await?;
        Ok(is_done(&response).then_some(response.header.revision))
    }

    /// Tries until it is done, however often. Gives back the new deadline.
    async fn try_to_renew(&self, host: &H, lock: LockName) -> MonoTime {
        loop {
            let asked = host.monotonic();
            if let Ok(Some(_)) = self.acquire_or_renew(host, lock).await {
                return self.deadline(host, asked);
            }
            host.sleep(self.0.switches.retry_period).await;
        }
    }

    /// For how long a round that begins now may last: client-go has no deadline but that of the round, so that one who was
    /// paused between two rounds has all of it when it wakes.
    fn patience(&self, host: &H) -> Duration {
        let RecordLock { deadline_from, renew_deadline, .. } = self.0.switches;
        match deadline_from {
            DeadlineFrom::NextTry => renew_deadline,
            DeadlineFrom::Request => (self.0.renewed.get() + renew_deadline).left(host.monotonic()),
        }
    }

    /// Until when a record is good that was asked for then, and has been written by now.
    fn deadline(&self, host: &H, asked: MonoTime) -> MonoTime {
        self.0.renewed.set(asked);
        let switches = &self.0.switches;
        let from = match switches.deadline_from {
            DeadlineFrom::NextTry => host.monotonic(),
            DeadlineFrom::Request => asked,
        };
        from + switches.promised()
    }
}

impl<H: EtcdHost> Recipe<H> for KubernetesLease<H> {
    type Proof = ();

    fn renewing(&self, _: LockName) -> Option<Renew> {
        Some(self.0.switches.renew())
    }

    /// `JitterFactor` is 1.2.
    async fn await_turn(&self, host: &H, _: LockName, _: Duration, until: Option<MonoTime>) -> bool {
        let period = self.0.switches.retry_period;
        let jitter = u64::try_from(period.as_nanos() * 6 / 5).unwrap_or(u64::MAX).saturating_add(1);
        let delay = period + Duration::from_nanos(host.random(Purpose::Recipe) % jitter);
        after_delay(host, delay, until).await
    }

    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<()> {
        let asked = host.monotonic();
        match self.acquire_or_renew(host, lock).await {
            Ok(Some(revision)) => Acquired::Granted(Lease {
                proof: (),
                token: Some(revision.as_token()),
                until: Some(self.deadline(host, asked)),
                counted: Authorities::one(self.0.way.cluster),
            }),
            Ok(None) => Acquired::Denied,
            Err(_) => Acquired::Failed,
        }
    }

    /// One round. A holder that reads another's name in the record goes on trying to its end, as one that gets no answer.
    async fn renew(&self, host: &H, lock: LockName, _: &Lease<()>, _: Option<Duration>) -> Renewal {
        match first(self.try_to_renew(host, lock), host.sleep(self.patience(host))).await {
            Either::Left(until) => Renewal::Extended { until },
            Either::Right(()) => Renewal::Refused,
        }
    }

    async fn release(&self, host: &H, lock: LockName, _: &Lease<()>) -> Release {
        let observed = self.0.observed.borrow().get(&lock).cloned();
        let Some(own) = observed.filter(|seen| seen.record.holder == self.identity(host)) else {
            return Release::Refused;
        };
        let nobody = Record { length: 1, renewed: host.wall().as_nanos(), ..own.record };
        let nobody = Record { holder: String::new(), ..nobody };
        match self.replace(host, lock, own.revision, &nobody).await {
            Ok(Some(_)) => Release::Confirmed,
            Ok(None) | Err(_) => Release::Refused,
        }
    }
}

impl<H: EtcdHost> Clone for KubernetesLease<H> {
    fn clone(&self) -> Self {
        Self(Rc::clone(&self.0))
    }
}

impl<H: EtcdHost> fmt::Debug for KubernetesLease<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KubernetesLease").field("client", &self.0.client).finish_non_exhaustive()
    }
}
