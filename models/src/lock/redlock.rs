//! The switches of Redlock, the lock on a majority of Redis servers: the published one, what a step of it is there for
//! (by leaving it out), and what its libraries make of it.

use host::{Duration, Operation, Point};

use super::redis::{LeaseClock, OwnerValue};
use super::renew::Renew;
use super::switch::{Choice, PAGE, Switch, Takes, choices};
use super::{LockFacts, Occasion, ServerGroup, ServerKind, server};

/// Redlock; the default is the published one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedlockLock {
    /// Whose a key is.
    pub value: OwnerValue,
    /// In which order the servers are asked.
    pub ask: Ask,
    /// When the asking is over.
    pub stop: Stop,
    /// How many must say yes. `None`: a majority of those that the client knows.
    pub quorum: Option<u16>,
    /// How long the client waits for one server.
    pub node_timeout: Duration,
    /// When a server is told how long the key lives.
    pub lease: WhenTold,
    /// When the votes make a grant.
    pub accept: Accept,
    /// From when the lease is counted.
    pub lease_from: LeaseStart,
    /// On which of its clocks the client counts it.
    pub clock: LeaseClock,
    /// What is set aside for clocks that do not agree.
    pub drift: Drift,
    /// What a server that does not answer means beside a quorum.
    pub on_error: NodeError,
    /// Where the keys of a try that has failed are given back.
    pub unlock: Unlock,
    /// How the lease is extended.
    pub extend: ExtendBy,
    /// What follows an extension that has failed.
    pub on_failed_extend: FailedExtend,
    /// Whether and how it is extended in the background. `None`: never.
    pub renew: Option<Renew>,
    /// Where the fencing token comes from.
    pub token: MajorityToken,
}

const RB: &str = "https://github.com/antirez/redlock-rb/blob/master/redlock.rb";
const PY: &str = "https://github.com/SPSCommerce/redlock-py/blob/master/redlock/__init__.py";
const OTHER_RB: &str = "https://github.com/leandromoreira/redlock-rb/blob/main/lib/redlock/client.rb";
const NODE: &str = "https://github.com/mike-marcacci/node-redlock/blob/main/src/index.ts";
const GO: &str = "https://github.com/go-redsync/redsync/blob/master/mutex.go";
const MULTI: &str =
    "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonMultiLock.java";
const KLEPPMANN: &str = "https://martin.kleppmann.com/2016/02/08/how-to-do-distributed-locking.html";

choices! {
    Library at "as": "Whose Redlock it is: it decides what the other switches are that are not set." {
        Published = "published", "The published one", PAGE;
        RedlockRb = "antirez-redlock-rb",
            "As published, by its author: on the wall clock, and without a timeout of its own for a server", RB;
        RedlockPy = "redlock-py",
            "On the wall clock; a quorum beside a server that does not answer is an exception, and stays locked", PY;
        OtherRedlockRb = "leandromoreira-redlock-rb",
            "100 ms for a server; a lease of which nothing is left is one; what is extended is taken anew if it is gone",
            OTHER_RB;
        NodeRedlock = "node-redlock",
            "In parallel, granted at the quorum without a look at the clock; no key is given back between tries", NODE;
        Redsync = "redsync", "In parallel, a twentieth of the lease for a server; no 2 ms beside the 1 % for drift", GO;
        Redisson = "redisson-redlock",
            "The whole lease from when enough have said yes, without a look at the clock, and nothing for drift", MULTI;
    }
}

choices! {
    Ask at "ask": "In which order the servers are asked." {
        Sequential = "sequential", "One after the other", PAGE;
        Parallel = "parallel", "All at once", GO;
    }
}

choices! {
    Stop at "stop": "When the asking is over." {
        AfterAll = "after-all", "When every server has answered or has had its time", PAGE;
        AtQuorum = "at-quorum", "When enough have said yes", NODE;
    }
}

choices! {
    WhenTold at "lease": "When a server is told how long the key lives." {
        Asking = "with-the-request", "As it is asked for the key", PAGE;
        Granted = "when-granted",
            "When enough have said yes: first for twice as long as all may take to answer, then, whatever they say to that, for the whole lease",
            MULTI;
    }
}

choices! {
    Accept at "accept": "When the votes make a grant." {
        ValidityLeft = "validity-left", "If a quorum said yes, and by the clock there is validity left", PAGE;
        ValidityNotNegative = "validity-not-negative", "The same, but a validity of nothing is enough", OTHER_RB;
        QuorumAlone = "quorum-alone", "If a quorum said yes, whatever time it is",
            "https://github.com/mike-marcacci/node-redlock/pull/369";
    }
}

choices! {
    LeaseStart at "lease-from": "From when the client counts the lease." {
        Request = "request", "From before the first request", PAGE;
        Reply = "reply", "From after the last answer",
            "http://antirez.com/news/101, what its second look at the clock is for";
    }
}

choices! {
    Drift at "drift": "What is taken off the lease for clocks that do not agree." {
        PercentAndTwo = "one-percent-and-2ms", "1 % of it and 2 ms; the page gives no number", RB;
        Percent = "one-percent", "1 % of it", GO;
        None = "none", "Nothing", MULTI;
    }
}

choices! {
    NodeError at "on-error": "What a server that does not answer means, if a quorum has said yes." {
        CountsAsNo = "counts-as-no", "That it has not said yes", PAGE;
        Raised = "raised", "An exception: the caller has no lock, and what was taken is not given back", PY;
    }
}

choices! {
    Unlock at "unlock": "Where a try that has failed gives back its keys." {
        Everywhere = "everywhere", "On every server, also where it believes to have none", PAGE;
        WhereGranted = "where-granted", "On those that said yes",
            "our own: what the page's `even the instances it believed it was not able to lock` is for";
        NotBetweenTries = "not-between-tries", "Nowhere: the next try finds them taken",
            "https://github.com/mike-marcacci/node-redlock/pull/369";
    }
}

choices! {
    ExtendBy at "extend": "How the lease is extended, by a step or in the background." {
        Majority = "majority", "On every server that has the owner's value; a quorum must have had it", PAGE;
        CreateIfMissing = "create-if-missing", "The same, but a key that is gone is taken anew",
            "https://github.com/leandromoreira/redlock-rb/issues/36";
    }
}

choices! {
    FailedExtend at "on-failed-extend": "What follows an extension without a quorum." {
        Nothing = "nothing", "The lease runs on to its old end", PAGE;
        CleanUp = "clean-up", "What is left of it is given back on every server, at once",
            "https://github.com/go-redsync/redsync/pull/151";
    }
}

choices! {
    MajorityToken at "token":
        "Where the fencing token comes from; `write-back`, if the resource checks tokens and nothing is set."
    {
        None = "none", "There is none: the owner value has no order", PAGE;
        Max = "max", "Each server counts its grants; the highest count of those that said yes", KLEPPMANN;
        MaxPlusOne = "max-plus-one", "One more than that", KLEPPMANN;
        WriteBack = "write-back",
            "One more than that, and a quorum has raised its counters to it before anybody is told",
            "our own: a majority read and write-back, as in Attiya, Bar-Noy and Dolev's register";
    }
}

/// The program points of the recipe, beside those of every client.
pub mod points {
    use host::Point;

    /// The clock was read for the first time, and nobody was asked.
    pub const ASKING: Point = Point("redlock:asking");
    /// Enough servers said yes; the clock was not read again.
    pub const QUORUM: Point = Point("redlock:quorum");
    /// The clock was read again, and there is validity left.
    pub const VALID: Point = Point("redlock:valid");
    /// The servers were told by what their counters are to be raised, or not: the token is chosen.
    pub const NUMBERED: Point = Point("redlock:numbered");
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "redlock",
    title: "a majority of Redis servers that know nothing of each other, as published",
    groups: &[ServerGroup { prefix: "redis", kind: ServerKind::Redis, size: |service| service.redis().nodes }],
    points: &[points::ASKING, points::QUORUM, points::VALID, points::NUMBERED],
    operations: &[Operation("set"), Operation("renew"), Operation("release"), Operation("raise")],
    pushes: &[],
    has_token: true,
    elects: false,
    switches: &SWITCHES,
    service_name: server::NAME,
    service: &server::SWITCHES_OF_SEVERAL,
};

const RENEW: [Switch; 4] = Renew::switches("never", PAGE);

const QUORUM: Switch = Switch {
    path: "quorum",
    about: "How many servers must say yes.",
    takes: Takes::Number {
        least: 1,
        most: server::MOST_NODES,
        default: "a majority of those that the client knows",
        source: PAGE,
    },
};

const NODE_TIMEOUT: Switch = Switch {
    path: "node-timeout",
    about: "How long the client waits for one server, to connect and to answer.",
    takes: Takes::Duration { default: "50ms, the longest that the page names for 10s", source: PAGE },
};

const SWITCHES: [Switch; 20] = [
    Library::SWITCH,
    OwnerValue::SWITCH,
    Ask::SWITCH,
    Stop::SWITCH,
    QUORUM,
    NODE_TIMEOUT,
    WhenTold::SWITCH,
    Accept::SWITCH,
    LeaseStart::SWITCH,
    LeaseClock::SWITCH,
    Drift::SWITCH,
    NodeError::SWITCH,
    Unlock::SWITCH,
    ExtendBy::SWITCH,
    FailedExtend::SWITCH,
    RENEW[0],
    RENEW[1],
    RENEW[2],
    RENEW[3],
    MajorityToken::SWITCH,
];

/// How long a client waits for one server, if nothing else is said.
const FIFTY: Duration = Duration::from_millis(50);

impl Default for RedlockLock {
    fn default() -> Self {
        Self {
            value: OwnerValue::default(),
            ask: Ask::default(),
            stop: Stop::default(),
            quorum: None,
            node_timeout: FIFTY,
            lease: WhenTold::default(),
            accept: Accept::default(),
            lease_from: LeaseStart::default(),
            clock: LeaseClock::default(),
            drift: Drift::default(),
            on_error: NodeError::default(),
            unlock: Unlock::default(),
            extend: ExtendBy::default(),
            on_failed_extend: FailedExtend::default(),
            renew: None,
            token: MajorityToken::default(),
        }
    }
}

impl RedlockLock {
    /// As that library has it, for leases of that length, on a network where a client by itself waits so long.
    #[must_use]
    pub fn of_library(library: Library, ttl: Duration, call_timeout: Duration) -> Self {
        let published = Self::default();
        match library {
            Library::Published => published,
            Library::RedlockRb => Self { clock: LeaseClock::Wall, node_timeout: call_timeout, ..published },
            Library::RedlockPy => {
                Self { clock: LeaseClock::Wall, node_timeout: call_timeout, on_error: NodeError::Raised, ..published }
            }
            Library::OtherRedlockRb => Self {
                node_timeout: Duration::from_millis(100),
                accept: Accept::ValidityNotNegative,
                extend: ExtendBy::CreateIfMissing,
                ..published
            },
            Library::NodeRedlock => Self {
                ask: Ask::Parallel,
                stop: Stop::AtQuorum,
                node_timeout: call_timeout,
                accept: Accept::QuorumAlone,
                clock: LeaseClock::Wall,
                unlock: Unlock::NotBetweenTries,
                ..published
            },
            Library::Redisson => Self {
                node_timeout: Duration::from_millis(1_500),
                lease: WhenTold::Granted,
                accept: Accept::QuorumAlone,
                lease_from: LeaseStart::Reply,
                drift: Drift::None,
                ..published
            },
            Library::Redsync => Self { ask: Ask::Parallel, node_timeout: ttl / 20, drift: Drift::Percent, ..published },
        }
    }

    /// How many of so many servers must say yes.
    #[must_use]
    pub fn quorum_of(&self, servers: usize) -> usize {
        self.quorum.map_or(servers / 2 + 1, usize::from)
    }

    /// What is taken off a lease of that length for clocks that do not agree.
    #[must_use]
    pub fn drift(&self, ttl: Duration) -> Duration {
        match self.drift {
            Drift::PercentAndTwo => crate::redis::lock::drift(ttl),
            Drift::Percent => ttl / 100,
            Drift::None => Duration::ZERO,
        }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(&self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release, Renew};
        let mut sent = vec![("set", Acquire), ("release", Release), ("renew", Renew)];
        if self.unlock != Unlock::NotBetweenTries {
            sent.push(("release", Acquire));
        }
        if self.on_failed_extend == FailedExtend::CleanUp {
            sent.push(("release", Renew));
        }
        if self.lease == WhenTold::Granted {
            sent.push(("renew", Acquire));
        }
        if self.token == MajorityToken::WriteBack {
            sent.push(("raise", Acquire));
        }
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }

    /// The points that it passes, each on its occasion.
    pub(super) fn points(&self) -> Vec<(Point, Occasion)> {
        let mut passed = vec![points::ASKING, points::QUORUM, points::VALID];
        if self.token == MajorityToken::WriteBack {
            passed.push(points::NUMBERED);
        }
        passed.into_iter().map(|point| (point, Occasion::Acquire)).collect()
    }
}
