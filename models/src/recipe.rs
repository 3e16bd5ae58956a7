//! What a lock is to the client around it: a recipe to acquire, to renew and to release.
//!
//! A lock is one `impl Recipe`. It says nothing to the history: the [client](crate::client) notes what
//! is attempted, granted, renewed and released, so that no lock can forget to.
//!
//! ```
//! use host::Host;
//! use models::recipe::{Acquired, Lease, Recipe, Release};
//! use spec::LockName;
//!
//! /// A lock that everybody gets.
//! #[derive(Clone)]
//! struct Generous;
//!
//! impl<H: Host> Recipe<H> for Generous {
//!     type Proof = ();
//!
//!     async fn acquire(&self, _: &H, _: LockName) -> Acquired<()> {
//!         Acquired::Granted(Lease::until_released(()))
//!     }
//!
//!     async fn release(&self, _: &H, _: LockName, _: &Lease<()>) -> Release {
//!         Release::Confirmed
//!     }
//! }
//! ```

use host::{Duration, Host, MonoTime};
use spec::{Authorities, LockName, Note, Token};

use crate::lock::Renew;
use crate::resource::{Op, OpReply};
use crate::script::Reaping;

/// A process in a world whose history is about locks.
pub trait LockHost: Host<Note = Note> {}

impl<H: Host<Note = Note>> LockHost for H {}

/// A kind of lock, as one client uses it: it takes locks by their names. Copies share the client's
/// connections.
pub trait Recipe<H: Host>: Clone + 'static {
    /// What the client must show to renew or to release: an owner value, a session, a node's path.
    type Proof: Clone + 'static;

    /// Gets ready, when the client starts: opens the connections that the lock needs.
    async fn connect(&self, host: &H) {
        let _ = host;
    }

    /// How the lease is to be extended in the background. Asked once after each grant of that lock. `None`:
    /// not at all.
    fn renewing(&self, lock: LockName) -> Option<Renew> {
        let _ = lock;
        None
    }

    /// Waits until it is to ask again for a lock that was not granted: for as long as the client would, `delay`, unless
    /// the lock tells those that wait. Gives back whether it is to: if that would be after `until`, on the
    /// client's monotonic clock, the client gives up.
    async fn await_turn(&self, host: &H, lock: LockName, delay: Duration, until: Option<MonoTime>) -> bool {
        let _ = lock;
        after_delay(host, delay, until).await
    }

    /// The client has given up, and asks for that lock no more.
    async fn give_up(&self, host: &H, lock: LockName) {
        let _ = (host, lock);
    }

    /// Asks for that lock, once.
    async fn acquire(&self, host: &H, lock: LockName) -> Acquired<Self::Proof>;

    /// Asks for that lock, once, and stands in its queue no longer than until the client's monotonic clock reads
    /// `until`. A lock without a queue answers at once.
    async fn acquire_by(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Self::Proof> {
        let _ = until;
        self.acquire(host, lock).await
    }

    /// As [`acquire_by`](Self::acquire_by), to have it together with all others that ask for it so. Nobody asks this of a lock that
    /// cannot be shared.
    async fn acquire_shared(&self, host: &H, lock: LockName, until: Option<MonoTime>) -> Acquired<Self::Proof> {
        let _ = (host, lock, until);
        Acquired::Denied
    }

    /// Whether the lock's own library knows by now that the lock is lost: its session is over. The acting task asks
    /// before it goes ahead.
    fn knows_of_loss(&self, lock: LockName, lease: &Lease<Self::Proof>) -> bool {
        let _ = (lock, lease);
        false
    }

    /// Asks the service whether the lock is the client's still, if the lock does that: as the acting task looks before it
    /// goes ahead.
    async fn is_still_held(&self, host: &H, lock: LockName, lease: &Lease<Self::Proof>) -> bool {
        let _ = (host, lock, lease);
        true
    }

    /// Extends the lease, to `by` from now (`None`: to the lock's own length).
    async fn renew(&self, host: &H, lock: LockName, lease: &Lease<Self::Proof>, by: Option<Duration>) -> Renewal {
        let _ = (host, lock, lease, by);
        Renewal::Refused
    }

    /// Asks for a lock that is held already under that lease.
    async fn acquire_again(&self, host: &H, lock: LockName, lease: &Lease<Self::Proof>) -> Again {
        let _ = (host, lock, lease);
        Again::NotReentrant
    }

    /// Gives back one of several entries into a lock that is re-entrant: the lease goes on.
    async fn leave(&self, host: &H, lock: LockName, lease: &Lease<Self::Proof>) -> Release {
        let _ = (host, lock, lease);
        Release::Confirmed
    }

    /// Takes the lock away from whoever has it, as a janitor or an operator does. Nobody asks this of a lock
    /// that cannot do it.
    async fn reap(&self, host: &H, lock: LockName, how: Reaping) -> Reaped {
        let _ = (host, lock, how);
        Reaped::Left
    }

    /// Whether the objects are in the lock's own store that it protects.
    fn keeps_objects(&self) -> bool {
        false
    }

    /// Does an operation on an object that is in the lock's own store. `None`: no clear answer.
    async fn operate(&self, host: &H, lease: &Lease<Self::Proof>, op: &Op) -> Option<OpReply> {
        let _ = (host, lease, op);
        None
    }

    /// Gives the lock back.
    async fn release(&self, host: &H, lock: LockName, lease: &Lease<Self::Proof>) -> Release;
}

/// Waits for so long, if that is before `until`.
pub(crate) async fn after_delay<H: Host>(host: &H, delay: Duration, until: Option<MonoTime>) -> bool {
    if until.is_some_and(|until| host.monotonic() + delay >= until) {
        return false;
    }
    host.sleep(delay).await;
    true
}

/// A lock that was granted.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lease<P> {
    /// What the recipe needs to renew or release it.
    pub proof: P,
    /// The fencing token, if the lock gives one.
    pub token: Option<Token>,
    /// The promised end, on the client's monotonic clock. `None`: no end before the release.
    pub until: Option<MonoTime>,
    /// The lock servers whose grant was counted.
    pub counted: Authorities,
}

impl<P> Lease<P> {
    /// A lease without an end, without a token, that no server granted.
    #[must_use]
    pub const fn until_released(proof: P) -> Self {
        Self { proof, token: None, until: None, counted: Authorities::NONE }
    }
}

/// How an attempt to acquire ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Acquired<P> {
    /// The lock is the client's own.
    Granted(Lease<P>),
    /// It is not, and nothing is left behind.
    Denied,
    /// No clear answer. The recipe has cleaned up as well as it could, but the service may still take
    /// the client for the owner.
    Failed,
}

/// How an attempt to extend a lease ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Renewal {
    /// The lease is longer now.
    Extended {
        /// The new promised end, on the client's monotonic clock.
        until: MonoTime,
    },
    /// The service said that the lock is not the client's, or the lock cannot be extended.
    Refused,
    /// No clear answer: the lease may be longer now, or not.
    Failed,
}

/// How it ended to ask for a lock that is held already.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Again {
    /// This lock knows nothing of that: it is asked for as if it were not held.
    NotReentrant,
    /// The client is in once more.
    Entered {
        /// The new promised end, if entering has moved it.
        until: Option<MonoTime>,
    },
    /// The service said no: the lock is not the client's any more.
    Denied,
    /// No clear answer.
    Failed,
}

/// What became of a lock that somebody wanted to take away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reaped {
    /// It is nobody's now.
    Deleted,
    /// It was nobody's, or its owner runs, or it was another's by then.
    Left,
    /// No clear answer.
    Failed,
}

/// How a release ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Release {
    /// The service confirmed it.
    Confirmed,
    /// The service confirmed it, and takes the client for the owner still: it has counted more entries.
    EntriesLeft,
    /// The lock was not the client's to release, or the service did not answer.
    Refused,
}
