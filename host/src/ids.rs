//! Who and what: ids are types of their own with private fields, so that one cannot be used for
//! another.

use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// A machine of the run: a client, a server or the guarded resource.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct NodeId(u16);

impl NodeId {
    /// The node with that index.
    #[must_use]
    pub const fn new(index: u16) -> Self {
        Self(index)
    }

    /// Its index: nodes are numbered from 0 in the order in which the world was built.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "node-{}", self.0)
    }
}

/// One attempt of one client to take a lock, from its start to its end. The oracle's id: handed out
/// by the kernel, never reused, not even by a restarted client, and never trusted to a lock's own
/// tokens or values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct AttemptId {
    client: NodeId,
    ordinal: NonZeroU32,
}

impl AttemptId {
    /// The `ordinal`-th attempt (from 1) of `client`.
    #[must_use]
    pub const fn new(client: NodeId, ordinal: NonZeroU32) -> Self {
        Self { client, ordinal }
    }

    /// The client that opened it.
    #[must_use]
    pub const fn client(self) -> NodeId {
        self.client
    }

    /// Client and ordinal in one word, which is never 0.
    #[must_use]
    pub const fn as_word(self) -> u64 {
        (self.client.0 as u64) << 32 | self.ordinal.get() as u64
    }

    /// Which of that client's attempts it is, counted from 1 over all its lives.
    #[must_use]
    pub const fn ordinal(self) -> u32 {
        self.ordinal.get()
    }
}

impl fmt::Debug for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}#{}", self.client, self.ordinal)
    }
}

/// A connection between two nodes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnId(u32);

impl ConnId {
    /// The connection with that number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number: connections are numbered from 0 in the order in which they were opened.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// One request on a connection, so that its reply finds its way back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(u32);

impl CallId {
    /// The call with that number.
    #[must_use]
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number, unique within a run.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

/// Where a request came from; a service hands it back with the reply.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The connection it came on.
    pub conn: ConnId,
    /// The request it was.
    pub call: CallId,
    /// What it asked for, so that faults can be aimed at "the reply to the second `set`".
    pub operation: Operation,
}

/// A service's own name for one of its timers: setting a timer again moves it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerId(pub u32);

/// A kind of request, by the name that faults use for it: `set`, `renew`, `write`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Operation(pub &'static str);

/// A named place in a program, where a pause or a kill may be put: `about-to-write`,
/// `redlock:quorum`. Recipes list theirs as constants, prefixed with the recipe's name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Point(pub &'static str);

/// A named part of a process, the unit of a stall: a client's `worker` may hang while its `renewal`
/// lives.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Part(pub &'static str);

impl Part {
    /// A client's main task, and all that it spawns without a part of its own.
    pub const WORKER: Self = Self("worker");
    /// A client's lease renewal.
    pub const RENEWAL: Self = Self("renewal");
    /// The thread of a service that answers requests (its timers run on when it stalls).
    pub const REQUESTS: Self = Self("requests");
}

/// A server, known by the requests it answers.
pub struct Server<R> {
    node: NodeId,
    requests: PhantomData<fn(R)>,
}

impl<R> Server<R> {
    /// The server of requests `R` on that node.
    #[must_use]
    pub const fn on(node: NodeId) -> Self {
        Self { node, requests: PhantomData }
    }

    /// The node it runs on.
    #[must_use]
    pub const fn node(self) -> NodeId {
        self.node
    }
}

impl<R> Clone for Server<R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Server<R> {}

impl<R> fmt::Debug for Server<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Server({:?})", self.node)
    }
}
