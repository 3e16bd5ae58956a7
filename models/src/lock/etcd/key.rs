//! The switches of a lock that is one key, put if it is not there.

use host::{Duration, Operation};

use super::super::renew::Renew;
use super::super::switch::{Choice, Switch, Takes, choices};
use super::super::{LockFacts, Occasion, OnFailure};
use super::{EVENTS, facts};

/// One key on a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct KeyLock {
    /// Whose keys they are.
    pub library: KeyLibrary,
    /// How it waits.
    pub waits: Waits,
    /// What a client does whose time to wait is over.
    pub expires: Expires,
    /// For how long a renewal that is not answered is tried again.
    pub retry_timeout: Duration,
    /// Whether and how the lease is extended in the background. `None`: never.
    pub renew: Option<Renew>,
}

const PYTHON: &str = "https://github.com/kragniz/python-etcd3/blob/master/etcd3/locks.py";
const PATRONI: &str = "https://github.com/patroni/patroni/blob/master/patroni/dcs/etcd3.py";

choices! {
    KeyLibrary at "as": "Whose lock it is: it decides what the other switches are that are not set." {
        PythonEtcd3 = "python-etcd3", "A lease for each try, watched for, and kept alive by nobody", PYTHON;
        Patroni = "patroni", "One lease for all tries, looked for, and kept alive by the leader's loop", PATRONI;
    }
}

choices! {
    Waits at "waits": "How a client that is denied waits for its turn." {
        Watching = "watching", "It watches the key, and all that do are told when it is gone", PYTHON;
        Polling = "polling", "It asks again after the script's `retry`", PATRONI;
    }
}

choices! {
    Expires at "on-timeout": "What a client does whose time to wait (`acquire = { wait = … }`) is over." {
        GivesUp = "give-up", "It does without: `acquire()` has said `False`, and somebody looks", PYTHON;
        GoesOn = "go-on", "It goes on as if it had the lock: `with lock:` does not look at what `acquire()` says",
            "https://github.com/kragniz/python-etcd3/blob/master/etcd3/locks.py, __enter__";
    }
}

impl KeyLock {
    /// As that library has it, for leases of that length.
    #[must_use]
    pub fn of_library(library: KeyLibrary, ttl: Duration) -> Self {
        let (waits, retry_timeout, renew) = match library {
            KeyLibrary::PythonEtcd3 => (Waits::Watching, Duration::ZERO, None),
            // `loop_wait` and `retry_timeout` are 10 s each for a lease of 30 s.
            KeyLibrary::Patroni => {
                (Waits::Polling, ttl / 3, Some(Renew { on_failure: OnFailure::Stop, ..Renew::every(ttl / 3) }))
            }
        };
        Self { library, waits, expires: Expires::default(), retry_timeout, renew }
    }

    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        use Occasion::{Acquire, Release, Renew};
        let mut sent = vec![("lease-grant", Acquire), ("txn", Acquire), ("keep-alive", Renew), ("txn", Release)];
        if self.waits == Waits::Watching {
            sent.push(("watch", Acquire));
        }
        sent.into_iter().map(|(name, occasion)| (Operation(name), occasion)).collect()
    }
}

const RETRY_TIMEOUT: Switch = Switch {
    path: "retry-timeout",
    about: "For how long a renewal that is not answered is tried again.",
    takes: Takes::Duration { default: "once; `patroni`: a third of `ttl`", source: PATRONI },
};

const RENEW: [Switch; 4] = Renew::switches("never; `patroni`: a third of `ttl`", PATRONI);

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "etcd-key",
    title: "one key of an etcd cluster, put if it is not there: python-etcd3's lock, a leader's key as Patroni has it (token: its revision)",
    operations: &[Operation("lease-grant"), Operation("keep-alive"), Operation("txn"), Operation("watch")],
    pushes: &[EVENTS],
    switches: &[
        KeyLibrary::SWITCH,
        Waits::SWITCH,
        Expires::SWITCH,
        RETRY_TIMEOUT,
        RENEW[0],
        RENEW[1],
        RENEW[2],
        RENEW[3],
    ],
    ..facts()
};
