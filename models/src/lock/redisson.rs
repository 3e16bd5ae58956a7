//! The switches of Redisson's lock on one Redis server, which counts its owner's entries in a hash.

use host::{Duration, Operation};

use super::renew::Renew;
use super::switch::{Choice, Switch, Takes, choices};
use super::{LockFacts, Occasion, server};

/// Redisson's lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedissonLock {
    /// What becomes of a request to take the lock that was not answered.
    pub resend: Resend,
    /// How it is extended in the background.
    pub renew: Renew,
    /// How who was denied waits.
    pub waits: Waits,
    /// Who is let in next.
    pub order: Order,
    /// For how long who is in the queue is told to wait.
    pub told: Told,
    /// How long each of those in the queue is given before it is taken for dead.
    pub slot: Duration,
}

impl RedissonLock {
    /// The lock as it is if nothing but its renewal is set.
    #[must_use]
    pub fn renewed(renew: Renew) -> Self {
        let (resend, waits, order, told) = Default::default();
        Self { resend, renew, waits, order, told, slot: SLOT }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(&self) -> Vec<(Operation, Occasion)> {
        let mut all = OPERATIONS.to_vec();
        if self.waits != Waits::Retry {
            all.push((SUBSCRIBE, Occasion::Acquire));
        }
        if self.order != Order::Any {
            all.push((LEAVE, Occasion::Acquire));
        }
        all
    }

    /// What its servers push.
    pub(super) fn pushes(&self) -> &'static [Operation] {
        if self.waits == Waits::Retry { &[] } else { &PUSHES }
    }
}

/// How long each of those in the queue is given if nothing is set.
pub const SLOT: Duration = Duration::from_secs(5);
const SUBSCRIBE: Operation = Operation("subscribe");
const LEAVE: Operation = Operation("leave");
const PUSHES: [Operation; 1] = [Operation("message")];

choices! {
    Resend at "resend": "What becomes of a request to take the lock that was not answered." {
        Never = "never", "Nothing: the attempt has failed",
            "https://github.com/redisson/redisson/issues/7367, its fix";
        Blindly = "blindly", "It is sent again, up to three times, and counts again",
            "https://github.com/redisson/redisson/issues/7367";
        ByName = "by-name", "It is sent again under the same name, and counts once",
            "https://github.com/redisson/redisson/pull/7368";
    }
}

choices! {
    Waits at "waits": "How who was denied waits for its next try." {
        MessageOrTtl = "message-or-ttl", "Until a release is published, or until the time is over that it was told",
            "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonLock.java";
        Message = "message", "Until a release is published, and however long that takes",
            "https://github.com/redisson/redisson/issues/5761";
        Retry = "retry", "For as long as the client says: nobody is told anything",
            "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonSpinLock.java";
    }
}

choices! {
    Order at "order": "Who is let in next of those that wait." {
        Any = "any", "Whoever asks first",
            "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonLock.java";
        Queue = "queue", "The head of a queue with deadlines; who goes in or leaves lets those behind move up by a slot",
            "https://github.com/redisson/redisson/issues/2099, and RedissonFairLock since";
        DriftingQueue = "drifting-queue", "The head of a queue with deadlines, which nobody's leaving changes",
            "https://github.com/redisson/redisson/issues/1104";
    }
}

choices! {
    Told at "told": "For how long who is in the queue is told to wait before it asks again." {
        NextEnd = "next-end", "Until the lease ends; of a lock that is free, until the deadline of the head of the queue", "own: so that https://github.com/redisson/redisson/issues/3004 ends";
        OwnDeadline = "own-deadline", "Until a slot before its own deadline, and without end once that has passed",
            "https://github.com/redisson/redisson/issues/3004";
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "redisson",
    title: "one Redis server, Redisson's re-entrant lock: a hash that counts, and a watchdog",
    groups: &server::ONE,
    points: &[],
    operations: &[Operation("set"), Operation("renew"), Operation("release"), SUBSCRIBE, LEAVE],
    pushes: &PUSHES,
    has_token: false,
    elects: false,
    switches: &SWITCHES,
    service_name: server::NAME,
    service: &server::SWITCHES,
};

const RENEW: [Switch; 4] = Renew::switches(
    "a third of the TTL",
    "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonBaseLock.java",
);

const SLOTS: Switch = Switch {
    path: "slot",
    about: "How long each of those in the queue is given before it is taken for dead.",
    takes: Takes::Duration {
        default: "5s",
        source: "https://redisson.pro/docs/data-and-services/locks-and-synchronizers/, fair lock",
    },
};

const SWITCHES: [Switch; 9] =
    [Resend::SWITCH, Waits::SWITCH, Order::SWITCH, Told::SWITCH, SLOTS, RENEW[0], RENEW[1], RENEW[2], RENEW[3]];

/// The requests that it sends, each on its occasion.
pub(super) const OPERATIONS: [(Operation, Occasion); 3] = [
    (Operation("set"), Occasion::Acquire),
    (Operation("renew"), Occasion::Renew),
    (Operation("release"), Occasion::Release),
];
