//! How who was denied waits for its turn: on a connection of its own, until a release is published, or until the time
//! is over that it was told.
//!
//! Nobody can be sure to hear of a release before it is subscribed: so it subscribes, asks once more, and only then
//! waits. A message that comes while it asks is kept for it, and costs a try. What is published while the
//! connection is gone, or half-open, it never hears; that a connection is gone it notices, and subscribes anew.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use host::{Calls, Connection, Duration, Server, first};
use spec::LockName;

use crate::redis::{Command, RedisHost, Reply, Value};

type Ear<H> = Rc<<H as Calls<Command>>::Connection>;

/// What one client waits for.
pub(super) struct Waiting<H: RedisHost> {
    server: Server<Command>,
    timeout: Duration,
    /// For each lock that it waits for, the connection on which it would hear.
    ears: RefCell<BTreeMap<LockName, Ear<H>>>,
    /// For how many ms it was told to wait; below zero: without end. `None`: it was told nothing.
    told: Cell<Option<i64>>,
}

impl<H: RedisHost> Waiting<H> {
    pub(super) const fn new(server: Server<Command>, timeout: Duration) -> Self {
        Self { server, timeout, ears: RefCell::new(BTreeMap::new()), told: Cell::new(None) }
    }

    /// It was denied, and told to wait for so many ms; or nobody answered.
    pub(super) fn is_told(&self, millis: Option<i64>) {
        self.told.set(millis);
    }

    /// It waits for that lock no longer: its connection is closed.
    pub(super) fn is_over(&self, lock: LockName) {
        self.ears.borrow_mut().remove(&lock);
    }

    /// Waits until it makes sense to ask again. `heeds_time`: not for longer than it was told. Whoever was told nothing
    /// waits for so long as the client would.
    pub(super) async fn turn(&self, host: &H, lock: LockName, channel: Value, heeds_time: bool, delay: Duration) {
        let Some(told) = self.told.get() else { return host.sleep(delay).await };
        let ear = self.ears.borrow().get(&lock).filter(|ear| ear.is_open()).cloned();
        let Some(ear) = ear else {
            // Whoever cannot subscribe does not ask at once, or nobody else would run again.
            if !self.listen(host, lock, channel).await {
                host.sleep(delay).await;
            }
            return;
        };
        match u64::try_from(told).ok().filter(|_| heeds_time) {
            Some(millis) => drop(first(ear.pushed(), host.sleep(Duration::from_millis(millis))).await),
            None => drop(ear.pushed().await),
        }
    }

    /// Subscribes, on a connection of its own.
    async fn listen(&self, host: &H, lock: LockName, channel: Value) -> bool {
        self.is_over(lock);
        let Ok(ear) = host.connect(self.server, self.timeout).await else { return false };
        let is_subscribed = matches!(ear.call(Command::Subscribe { channel }, self.timeout).await, Ok(Reply::Array(_)));
        if is_subscribed {
            self.ears.borrow_mut().insert(lock, Rc::new(ear));
        }
        is_subscribed
    }
}
