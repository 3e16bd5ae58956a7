//! The lock on a primary that Sentinel names: that of one Redis server, on another way there.
//!
//! Source: "Sentinel clients", <https://redis.io/docs/latest/develop/reference/sentinel-clients/>, and the libraries at
//! the switches of [`SentinelLock`].
//!
//! | the page's step | here |
//! |---|---|
//! | 1: ask the Sentinels in turn; the first that answers goes to the front | `find`, `ask` |
//! | 2: `SENTINEL GET-MASTER-ADDR-BY-NAME` | `ask` |
//! | 3: connect, and call `ROLE`: if it is no primary, begin anew | `find` |
//! | when reconnecting, begin anew | [`FindsPrimary`]; a connection that the other end has closed is not used |
//! | subscribing to `+switch-master` | `listen` |
//!
//! Departures: who finds no primary does not try again by itself; the next request does. A pool of connections is one
//! connection here.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;

use host::{Calls, ConnectError, Connection, Duration, Name, NodeId, Part, Server};

use super::lock::SingleRedis;
use super::sentinel::{Answer, Ask, Told};
use super::way::Way;
use super::{Command, RedisError, RedisHost, Reply, Value, reply::Refusal};
use crate::link::{Link, LinkError};
use crate::lock::{FindsPrimary, SentinelLock, VerifiesPrimary};

/// A process that can reach Redis servers and Sentinels.
pub trait SentinelHost: RedisHost + Calls<Ask> {}

impl<H: RedisHost + Calls<Ask>> SentinelHost for H {}

/// A client's locks on the primary that Sentinels name.
pub type OnPrimary<H> = SingleRedis<H, Primary<H>>;

/// Locks on the primary that those Sentinels name; `timeout` is for connecting and for each call.
#[must_use]
pub fn on_primary<H: SentinelHost>(
    sentinels: &[Server<Ask>],
    ttl: Option<Duration>,
    timeout: Duration,
    switches: &SentinelLock,
) -> OnPrimary<H> {
    let way = Primary::new(sentinels, timeout, (switches.finds, switches.verifies));
    SingleRedis::by(way, ttl, &switches.redis, switches.wait)
}

/// The name under which Sentinels watch the primary.
pub const NAME: Name = Name::fixed("mymaster");

/// A client's way to the primary.
pub struct Primary<H: SentinelHost>(Rc<Inner<H>>);

struct Inner<H: SentinelHost> {
    /// The one that answered last comes first.
    sentinels: RefCell<Vec<Rc<Link<H, Ask>>>>,
    timeout: Duration,
    finds: FindsPrimary,
    verifies: VerifiesPrimary,
    /// The way to the server that is taken for the primary.
    current: RefCell<Option<Rc<Link<H, Command>>>>,
    answered: Cell<NodeId>,
    listens: Cell<bool>,
}

impl<H: SentinelHost> Primary<H> {
    fn new(sentinels: &[Server<Ask>], timeout: Duration, (finds, verifies): (FindsPrimary, VerifiesPrimary)) -> Self {
        let links = sentinels.iter().map(|sentinel| Rc::new(Link::new(*sentinel, timeout))).collect();
        Self(Rc::new(Inner {
            sentinels: RefCell::new(links),
            timeout,
            finds,
            verifies,
            current: RefCell::new(None),
            answered: Cell::new(NodeId::default()),
            listens: Cell::new(false),
        }))
    }
}

impl<H: SentinelHost> Inner<H> {
    /// The way to the server that is taken for the primary, found now if there is none.
    async fn link(&self, host: &H) -> Result<Rc<Link<H, Command>>, ConnectError> {
        if self.finds != FindsPrimary::Once {
            self.current.borrow_mut().take_if(|link| link.is_broken());
        }
        let current = self.current.borrow().clone();
        if let Some(link) = current {
            // One that never asks again connects to the same address.
            link.open(host).await?;
            return Ok(link);
        }
        let link = self.find(host).await?;
        self.current.replace(Some(Rc::clone(&link)));
        Ok(link)
    }

    async fn find(&self, host: &H) -> Result<Rc<Link<H, Command>>, ConnectError> {
        let mut why = ConnectError::Refused;
        let sentinels = self.sentinels.borrow().clone();
        for sentinel in sentinels {
            let Some(primary) = self.ask(host, &sentinel).await else { continue };
            let link = Rc::new(Link::new(Server::on(primary), self.timeout));
            match link.open(host).await {
                Err(error) => why = error,
                Ok(()) => {
                    if self.verifies == VerifiesPrimary::Unasked || is_primary(host, &link).await {
                        return Ok(link);
                    }
                }
            }
        }
        Err(why)
    }

    async fn ask(&self, host: &H, sentinel: &Rc<Link<H, Ask>>) -> Option<NodeId> {
        let Ok(Answer::Addr(Some(primary))) = sentinel.call(host, Ask::MasterAddr { name: NAME }).await else {
            return None;
        };
        let mut sentinels = self.sentinels.borrow_mut();
        if let Some(place) = sentinels.iter().position(|other| Rc::ptr_eq(other, sentinel)) {
            sentinels[..=place].rotate_right(1);
        }
        Some(primary)
    }

    /// What is taken for the primary is so no more: the next request asks anew.
    fn forget(&self) {
        self.current.replace(None);
    }

    /// Hears of every switch, from the first Sentinel that can be reached.
    async fn listen(&self, host: &H) {
        loop {
            let sentinels = self.sentinels.borrow().clone();
            for sentinel in sentinels {
                let opened = <H as Calls<Ask>>::connect(host, sentinel.server(), self.timeout).await;
                let Ok(connection) = opened else { continue };
                if connection.call(Ask::Subscribe, self.timeout).await.is_err() {
                    continue;
                }
                while let Some(Told::SwitchMaster { .. }) = connection.pushed().await {
                    self.forget();
                }
            }
            host.sleep(AGAIN).await;
        }
    }
}

impl<H: SentinelHost> Way<H> for Primary<H> {
    async fn open(&self, host: &H) -> Result<(), ConnectError> {
        if self.0.finds == FindsPrimary::Told && !self.0.listens.replace(true) {
            let (inner, own_host) = (Rc::clone(&self.0), host.clone());
            // Like a renewal, this is no business of the worker's thread.
            drop(host.spawn(Part::RENEWAL, async move { inner.listen(&own_host).await }));
        }
        self.0.link(host).await.map(drop)
    }

    async fn call(&self, host: &H, command: Command) -> Result<Reply, LinkError> {
        let link = self.0.link(host).await.map_err(LinkError::NotSent)?;
        let outcome = link.call(host, command).await;
        let is_no_primary = matches!(&outcome, Ok(Reply::Error(RedisError::Refused(Refusal::ReadOnly))));
        if outcome.is_ok() {
            self.0.answered.set(link.server().node());
        }
        if (outcome.is_err() || is_no_primary) && self.0.finds != FindsPrimary::Once {
            self.0.forget();
        }
        outcome
    }

    fn server(&self) -> NodeId {
        self.0.answered.get()
    }
}

/// Whether the server says that it is a primary.
async fn is_primary<H: RedisHost>(host: &H, link: &Link<H, Command>) -> bool {
    matches!(link.call(host, Command::Role).await, Ok(Reply::Array(parts)) if parts.first() == Some(&Reply::Bulk(Value::from("master"))))
}

impl<H: SentinelHost> fmt::Debug for Primary<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Primary").field("finds", &self.0.finds).finish_non_exhaustive()
    }
}

/// How long who finds no Sentinel waits before it looks for one again: Jedis's default.
const AGAIN: Duration = Duration::from_secs(5);
