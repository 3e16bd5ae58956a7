//! The switches of Redisson's lock on one Redis server, which counts its owner's entries in a hash.

use host::Operation;

use super::renew::Renew;
use super::switch::{Choice, Switch, choices};
use super::{LockFacts, Occasion, server};

/// Redisson's lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RedissonLock {
    /// What becomes of a request to take the lock that was not answered.
    pub resend: Resend,
    /// How it is extended in the background.
    pub renew: Renew,
}

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

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "redisson",
    title: "one Redis server, Redisson's re-entrant lock: a hash that counts, and a watchdog",
    groups: &server::ONE,
    points: &[],
    operations: &[Operation("set"), Operation("renew"), Operation("release")],
    has_token: false,
    switches: &SWITCHES,
    service_name: server::NAME,
    service: &server::SWITCHES,
};

const RENEW: [Switch; 4] = Renew::switches(
    "a third of the TTL",
    "https://github.com/redisson/redisson/blob/master/redisson/src/main/java/org/redisson/RedissonBaseLock.java",
);

const SWITCHES: [Switch; 5] = [Resend::SWITCH, RENEW[0], RENEW[1], RENEW[2], RENEW[3]];

/// The requests that it sends, each on its occasion.
pub(super) const OPERATIONS: [(Operation, Occasion); 3] = [
    (Operation("set"), Occasion::Acquire),
    (Operation("renew"), Occasion::Renew),
    (Operation("release"), Occasion::Release),
];
