//! A queue of sequential nodes, as far as the recipe of the documentation and Curator's have it in common: entering it, whose
//! turn it is, leaving it; and what its holder shows.
//!
//! | step | here |
//! |---|---|
//! | creates its node, and the parents if they are missing | `Queue::enter` |
//! | looks for a node of which it has not heard whether it was created | [`Adopts`] |
//! | reads the children, and looks who is before it | `Queue::turn` |
//! | deletes its node, in the background if need be | [`Deletes`] |
//! | writes on condition that its node is there: `check` and `setData` in one `multi` | [`objects`](super::objects) |
//!
//! Departures: who is interrupted while it waits leaves its node behind.

use std::rc::Rc;

use host::{Duration, Either, MonoTime, Part, Purpose, first};
use spec::{Authorities, LockName, Mode as Wanted, Token};

use super::client::{Client, Failure, Session, Way};
use super::path::{Guid, NodeName, Path, Zxid};
use super::{Body, Delete, Mode, Stat, Value, ZkError, ZkHost, ZkRequest, names};
use crate::lock::zookeeper::{Adopts, Deletes, Library, Looks, Order, QueueLock, Stops, TokenOf};
use crate::recipe::{Acquired, Lease, Release};

/// What the owner shows: its node, which hangs on its session.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub(super) path: Path,
    session: Rc<Session>,
    /// How often the connection had been lost when it was granted.
    suspensions: u32,
}

impl Ticket {
    /// What the session is as it stands: from here on its holder is told.
    pub(super) fn new(path: Path, session: Rc<Session>) -> Self {
        let suspensions = session.suspensions();
        Self { path, session, suspensions }
    }

    /// Whether its holder was told what makes it stop.
    pub(super) fn is_void(&self, stops: Stops) -> bool {
        let is_suspended = || self.session.suspensions() != self.suspensions || self.session.suspended().is_some();
        self.session.is_expired() || (stops == Stops::Suspended && is_suspended())
    }
}

/// Where a client stands in the queue.
pub(super) struct Place {
    pub(super) ticket: Ticket,
    czxid: Zxid,
}

/// Whose turn it is.
enum Turn {
    /// Its own; how often children of the lock's node have come and gone.
    Own { cversion: i32 },
    /// That of whoever is before it.
    Behind(Path),
}

/// A client's queues.
pub(super) struct Queue<H: ZkHost> {
    pub(super) client: Client<H>,
    pub(super) way: Way,
    pub(super) switches: QueueLock,
}

/// Curator's `ExponentialBackoffRetry(1000, 3)`, as its examples have it.
const BASE: Duration = Duration::from_secs(1);
const MOST_RETRIES: u32 = 3;

impl<H: ZkHost> Queue<H> {
    pub(super) fn new(way: Way, switches: &QueueLock) -> Self {
        Self { client: Client::new(&way.servers, way.timeout), way, switches: *switches }
    }

    /// Enters the queue with that guid.
    pub(super) async fn enter(&self, host: &H, (lock, mode): (LockName, Wanted), guid: Guid) -> Result<Place, Failure> {
        let mut retries = 0;
        loop {
            match self.enter_once(host, (lock, mode), guid, retries > 0).await {
                Ok(place) => return Ok(place),
                Err(failure) => self.before_again(host, failure, retries).await?,
            }
            retries += 1;
        }
    }

    async fn enter_once(
        &self,
        host: &H,
        (lock, mode): (LockName, Wanted),
        guid: Guid,
        is_again: bool,
    ) -> Result<Place, Failure> {
        let session = self.client.session();
        if is_again
            && let Some((path, stat)) = self.find(host, lock, guid).await?
            && self.may_adopt(host, path, &stat, &session)
        {
            return Ok(Place { ticket: Ticket::new(path, session), czxid: stat.czxid });
        }
        let before = match self.switches.library {
            Library::Documentation => host::Name::fixed(""),
            Library::Curator => names::PROTECTED,
        };
        let path = names::contender(lock, before, guid, mode);
        let create = ZkRequest::create(path, Value::from(""), Mode::EphemeralSequential);
        let created = match self.client.call(host, create.clone()).await {
            Err(Failure::Refused(ZkError::NoNode)) => {
                self.make_parents(host, lock).await?;
                self.client.call(host, create).await?
            }
            other => other?,
        };
        match created {
            Body::Created { path, stat } => Ok(Place { ticket: Ticket::new(path, session), czxid: stat.czxid }),
            _ => Err(Failure::ConnectionLoss),
        }
    }

    /// The node with that guid, if there is one and the client looks.
    async fn find(&self, host: &H, lock: LockName, guid: Guid) -> Result<Option<(Path, Stat)>, Failure> {
        if self.switches.adopts == Adopts::Never {
            return Ok(None);
        }
        let names = match self.children(host, lock).await {
            Ok((names, _)) => names,
            Err(Failure::Refused(ZkError::NoNode)) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        let Some(own) = names.into_iter().find(|name| name.guid() == Some(guid)) else { return Ok(None) };
        let path = Path::below(names::lock(lock), own);
        match self.client.call(host, ZkRequest::Exists { path, watch: false }).await {
            Ok(body) => Ok(body.stat().map(|stat| (path, *stat))),
            Err(Failure::Refused(ZkError::NoNode)) => Ok(None),
            Err(failure) => Err(failure),
        }
    }

    /// Whether that node, which it has found, is to be its own. If not, it is deleted in the background.
    fn may_adopt(&self, host: &H, path: Path, stat: &Stat, session: &Session) -> bool {
        let is_own = stat.owner.is_some() && stat.owner == session.id();
        if !is_own && self.switches.adopts == Adopts::OwnSession {
            self.delete_aside(host, path);
        }
        is_own || self.switches.adopts == Adopts::AnySession
    }

    async fn make_parents(&self, host: &H, lock: LockName) -> Result<(), Failure> {
        let mode = match self.switches.library {
            Library::Documentation => Mode::Persistent,
            Library::Curator => Mode::Container,
        };
        make_nodes(host, &self.client, [names::LOCKS.as_str().into(), names::lock(lock).as_str().into()], mode).await
    }

    async fn children(&self, host: &H, lock: LockName) -> Result<(Vec<NodeName>, Stat), Failure> {
        let path = Path::from(names::lock(lock).as_str());
        match self.client.call(host, ZkRequest::GetChildren { path, watch: false }).await? {
            Body::Children { names, stat } => Ok((names, stat)),
            _ => Err(Failure::ConnectionLoss),
        }
    }

    /// Waits until it is its turn; how often children of the lock's node have come and gone by then.
    pub(super) async fn wait(&self, host: &H, lock: LockName, place: &Place) -> Result<i32, Failure> {
        loop {
            match self.turn(host, lock, place).await? {
                Turn::Own { cversion } => return Ok(cversion),
                Turn::Behind(before) => self.wait_behind(host, before).await?,
            }
        }
    }

    /// Whose turn it is. Who is not in the queue any more is refused, as if its node were asked for.
    async fn turn(&self, host: &H, lock: LockName, place: &Place) -> Result<Turn, Failure> {
        let mut retries = 0;
        let (mut names, stat) = loop {
            match self.children(host, lock).await {
                Ok(found) => break found,
                Err(failure) => self.before_again(host, failure, retries).await?,
            }
            retries += 1;
        };
        names.retain(|name| names::number(name).is_some());
        match self.switches.order {
            Order::Sequence => names.sort_by_key(|name| names::number(name).map(|(number, _)| number)),
            Order::WholeName => names.sort_by(NodeName::by_text),
        }
        let own = place.ticket.path.name();
        let Some(at) = names.iter().position(|name| *name == own) else {
            return Err(Failure::Refused(ZkError::NoNode));
        };
        let wants = |name: &NodeName| names::number(name).map(|(_, mode)| mode);
        // Who shares waits for those alone that do not.
        let before = match wants(&own) {
            Some(Wanted::Shared) => names[..at].iter().rfind(|name| wants(name) == Some(Wanted::Exclusive)),
            _ => names[..at].last(),
        };
        Ok(match before {
            Some(before) => Turn::Behind(Path::below(names::lock(lock), *before)),
            None => Turn::Own { cversion: stat.cversion },
        })
    }

    /// Watches whoever is before, and waits until there is something to tell.
    async fn wait_behind(&self, host: &H, before: Path) -> Result<(), Failure> {
        let mut retries = 0;
        let watch = loop {
            let watched = match self.switches.library {
                Library::Documentation => self.client.exists(host, before).await.map(|(stat, watch)| {
                    let is_there = stat.is_some();
                    (is_there, watch)
                }),
                // Of a node that is not there it sets no watch.
                Library::Curator => self.client.watch_data(host, before).await.map(|watch| (true, watch)),
            };
            match watched {
                Ok((true, watch)) => break watch,
                Ok((false, watch)) => {
                    self.client.forget(&watch);
                    return Ok(());
                }
                Err(Failure::Refused(ZkError::NoNode)) => return Ok(()),
                Err(failure) => self.before_again(host, failure, retries).await?,
            }
            retries += 1;
        };
        self.client.told(&watch).await;
        self.client.forget(&watch);
        Ok(())
    }

    /// Waits before it asks again, if what failed is asked again.
    ///
    /// # Errors
    /// The failure, if it is not.
    async fn before_again(&self, host: &H, failure: Failure, retries: u32) -> Result<(), Failure> {
        match (self.switches.library, failure) {
            // "If a recoverable error occurs": what is asked next waits for a connection.
            (Library::Documentation, Failure::ConnectionLoss) => Ok(()),
            (Library::Curator, Failure::ConnectionLoss | Failure::Expired) if retries < MOST_RETRIES => {
                self.back_off(host, retries).await;
                Ok(())
            }
            (_, failure) => Err(failure),
        }
    }

    /// Whether Curator tries once more, which it does after a while.
    pub(super) async fn tries_again(&self, host: &H, retries: u32) -> bool {
        if retries >= MOST_RETRIES {
            return false;
        }
        self.back_off(host, retries).await;
        true
    }

    async fn back_off(&self, host: &H, retries: u32) {
        let most = 1 << (retries + 1);
        let times = (host.random(Purpose::Recipe) % most).max(1);
        host.sleep(BASE * u32::try_from(times).expect("few")).await;
    }

    /// Deletes its node. Whether it is gone; if nobody says so, it is deleted in the background, or stays.
    pub(super) async fn delete(&self, host: &H, path: Path) -> bool {
        let mut retries = 0;
        loop {
            match self.client.call(host, ZkRequest::Delete(Delete { path, version: None })).await {
                Ok(_) | Err(Failure::Refused(_)) => return true,
                Err(_) if self.switches.deletes == Deletes::Once => return false,
                Err(failure) if self.switches.library == Library::Curator => {
                    if self.before_again(host, failure, retries).await.is_ok() {
                        retries += 1;
                        continue;
                    }
                }
                Err(_) => {}
            }
            self.delete_aside(host, path);
            return false;
        }
    }

    /// `FailedDeleteManager`: deletes it in the background.
    fn delete_aside(&self, host: &H, path: Path) {
        let (client, own_host) = (self.client.clone(), host.clone());
        drop(host.spawn(Part::RENEWAL, async move {
            let delete = ZkRequest::Delete(Delete { path, version: None });
            while let Err(Failure::ConnectionLoss | Failure::Expired) = client.call(&own_host, delete.clone()).await {
                // Whoever is told at once does not ask at once, or nobody else would run again.
                own_host.sleep(Duration::from_millis(1)).await;
            }
        }));
    }

    /// It was its turn.
    pub(super) fn granted(&self, place: Place, cversion: i32) -> Acquired<Ticket> {
        let number = |number: i32| Token(u64::try_from(number).unwrap_or(0));
        let token = match self.switches.token {
            TokenOf::Czxid => place.czxid.as_token(),
            TokenOf::Sequence => number(names::number(&place.ticket.path.name()).map_or(0, |(number, _)| number)),
            TokenOf::Cversion => number(cversion),
            TokenOf::DataVersion => number(0),
        };
        let Ticket { path, session, .. } = place.ticket;
        Acquired::Granted(Lease {
            // What it was told while it waited does not matter.
            proof: Ticket::new(path, session),
            token: Some(token),
            until: None,
            counted: Authorities::one(self.way.ensemble),
        })
    }

    /// Whether its node is there still, as far as it looks. Who gets no answer does not know.
    pub(super) async fn is_still_held(&self, host: &H, ticket: &Ticket) -> bool {
        let path = ticket.path;
        match self.switches.looks {
            Looks::Library => return true,
            Looks::Server => {}
            Looks::Synced => {
                if self.client.call(host, ZkRequest::Sync { path }).await.is_err() {
                    return false;
                }
            }
        }
        self.client.call(host, ZkRequest::Exists { path, watch: false }).await.is_ok()
    }

    /// Gives the lock back.
    pub(super) async fn release(&self, host: &H, ticket: &Ticket) -> Release {
        if self.delete(host, ticket.path).await { Release::Confirmed } else { Release::Refused }
    }
}

/// Creates those nodes, unless they are there.
pub(super) async fn make_nodes<H: ZkHost, const N: usize>(
    host: &H,
    client: &Client<H>,
    paths: [Path; N],
    mode: Mode,
) -> Result<(), Failure> {
    for path in paths {
        match client.call(host, ZkRequest::create(path, Value::from(""), mode)).await {
            Ok(_) | Err(Failure::Refused(ZkError::NodeExists)) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(())
}

/// Waits for something, until the client's monotonic clock reads `until`. `None`: it does.
pub(super) async fn by<H: ZkHost, T>(host: &H, until: Option<MonoTime>, what: impl Future<Output = T>) -> Option<T> {
    match until {
        None => Some(what.await),
        Some(until) => match first(what, host.sleep(until.left(host.monotonic()))).await {
            Either::Left(value) => Some(value),
            Either::Right(()) => None,
        },
    }
}
