//! What the client library does between a program and the members of a cluster: which of them is asked, and what is
//! sent a second time.
//!
//! Source: `clientv3` of etcd 3.4, `retry.go`, `retry_interceptor.go`, `options.go` and `balancer/`.
//!
//! | the library's rule | here |
//! |---|---|
//! | each request goes to the next of the members that can be reached (`roundrobin_balanced.go`, in the order of a map) | `link` |
//! | what was not sent goes to the next one | `call` |
//! | what reads, and what is about leases, is asked again if the member did not answer, or was not in a position to (`repeatable`) | [`is_repeatable`] |
//! | what writes is not: nobody knows whether it was done (`nonRepeatable`) | `call` |
//! | between two rounds over a majority of the members: 50 ms, a quarter more or less | `pause` |
//!
//! Left out: the context of a request has the scenario's timeout, where the library's examples have none; what is not
//! answered within it costs the connection.

use std::cell::{Cell, OnceCell};
use std::fmt;

use host::{Duration, NodeId, Purpose, Server};

use super::{EtcdError, EtcdHost, Reply, Response, Rpc};
use crate::guard::Guard;
use crate::link::{Link, LinkError};

/// Where a cluster is, and how a client asks it.
#[derive(Clone, Debug)]
pub struct Way {
    /// By what name the history calls the cluster: that of its first member, which the client need not know.
    pub cluster: NodeId,
    /// The members that it asks.
    pub members: Vec<Server<Rpc>>,
    /// The length of its leases, in whole seconds.
    pub ttl: Duration,
    /// How long it waits for each answer.
    pub timeout: Duration,
    /// If the objects are in the cluster that the lock protects: what of an operation is compared.
    pub objects: Option<Guard>,
}

impl Way {
    /// The length of its leases, as etcd is told it.
    pub(super) fn seconds(&self) -> i64 {
        i64::try_from(self.ttl.as_secs()).unwrap_or(i64::MAX)
    }
}

/// One client's way to the members of a cluster.
pub(super) struct Client<H: EtcdHost> {
    members: Vec<Link<H, Rpc>>,
    /// In which order they are asked: that of a map of Go's, which is another in every process.
    order: OnceCell<Vec<usize>>,
    /// Whose turn it is.
    next: Cell<usize>,
    timeout: Duration,
}

/// Why a request was not answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Failure {
    /// It was refused, and has done nothing.
    Refused(EtcdError),
    /// Nobody knows whether it was done.
    Unclear,
    /// Nobody was there to ask.
    NotSent,
}

/// How long it waits between two rounds over a majority of the members.
const BETWEEN_ROUNDS: Duration = Duration::from_millis(50);

impl<H: EtcdHost> Client<H> {
    /// A client of those members; `timeout` is for each request.
    pub(super) fn new(members: &[Server<Rpc>], timeout: Duration) -> Self {
        let members = members.iter().map(|member| Link::new(*member, timeout)).collect();
        Self { members, order: OnceCell::new(), next: Cell::new(0), timeout }
    }

    /// The member whose turn it is, for a connection of its own.
    pub(super) fn turn(&self, host: &H) -> Server<Rpc> {
        self.link(host).server()
    }

    /// How long it waits for an answer.
    pub(super) const fn timeout(&self) -> Duration {
        self.timeout
    }

    /// Asks the cluster, and waits for its answer.
    pub(super) async fn call(&self, host: &H, rpc: Rpc) -> Result<Response, Failure> {
        let end = host.monotonic() + self.timeout;
        let mut failure = Failure::NotSent;
        let mut tries = 0;
        while tries == 0 || host.monotonic() < end {
            self.pause(host, tries).await;
            tries += 1;
            match self.link(host).call(host, rpc.clone()).await {
                Ok(Reply::Done(response)) => return Ok(*response),
                Ok(Reply::Failed(error)) => {
                    failure = if error.is_open() { Failure::Unclear } else { Failure::Refused(error) };
                    // Code 14: unavailable.
                    if error.code() != 14 || !is_repeatable(&rpc) {
                        return Err(failure);
                    }
                }
                Err(LinkError::NotSent(_)) => {}
                Err(LinkError::NoReply(_)) if is_repeatable(&rpc) => failure = Failure::Unclear,
                Err(LinkError::NoReply(_)) => return Err(Failure::Unclear),
            }
        }
        Err(failure)
    }

    fn link(&self, host: &H) -> &Link<H, Rpc> {
        let order = self.order.get_or_init(|| shuffled(self.members.len(), || host.random(Purpose::Recipe)));
        let next = self.next.get();
        self.next.set((next + 1) % order.len());
        &self.members[order[next]]
    }

    /// Waits before it tries once more, if it has been round.
    async fn pause(&self, host: &H, tries: usize) {
        let majority = self.members.len() / 2 + 1;
        if tries == 0 || !tries.is_multiple_of(majority) {
            return;
        }
        let quarter = BETWEEN_ROUNDS / 4;
        let jitter = host.random(Purpose::Recipe) % (2 * u64::from(quarter.subsec_nanos()) + 1);
        host.sleep(BETWEEN_ROUNDS - quarter + Duration::from_nanos(jitter)).await;
    }
}

/// So many places in an order that is drawn.
fn shuffled(count: usize, mut draw: impl FnMut() -> u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    for last in (1..count).rev() {
        let other = draw() % (last as u64 + 1);
        order.swap(last, usize::try_from(other).expect("less than the count"));
    }
    order
}

/// Whether the library asks once more if a member did not answer.
const fn is_repeatable(rpc: &Rpc) -> bool {
    match rpc {
        Rpc::Range(_)
        | Rpc::LeaseGrant { .. }
        | Rpc::LeaseRevoke { .. }
        | Rpc::LeaseKeepAlive { .. }
        | Rpc::LeaseTimeToLive { .. } => true,
        Rpc::Put(_)
        | Rpc::Delete(_)
        | Rpc::Txn(_)
        | Rpc::Watch(_)
        | Rpc::WatchCancel { .. }
        | Rpc::Lock { .. }
        | Rpc::Unlock { .. } => false,
    }
}

impl<H: EtcdHost> fmt::Debug for Client<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("members", &self.members).finish_non_exhaustive()
    }
}
