//! The switches of `concurrency.Mutex`.

use host::Operation;

use super::super::switch::{Choice, choices};
use super::super::{LockFacts, Occasion};
use super::{EVENTS, facts};

/// `concurrency.Mutex`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MutexLock {
    /// What it does when its turn has come.
    pub after_wait: AfterWait,
    /// What becomes of its session when it could not give the lock back.
    pub on_failed_unlock: OnFailedUnlock,
    /// Whom a client asks that looks whether it has the lock still.
    pub looks: Looks,
}

choices! {
    AfterWait at "after-wait": "What a client does when all that were before it in the queue are gone." {
        Unchecked = "unchecked", "It takes the lock to be its own",
            "https://github.com/etcd-io/etcd/issues/11456; clientv3/concurrency/mutex.go of etcd 3.4";
        KeyChecked = "key-checked", "It asks whether its own key is there still",
            "https://github.com/etcd-io/etcd/commit/b14c7cd44, in 3.5";
    }
}

choices! {
    OnFailedUnlock at "on-failed-unlock": "What becomes of the client's session when nobody confirmed that its key is deleted." {
        SessionKept = "session-kept", "It is used again: the next try may find the old key, and is let in with the old revision",
            "https://github.com/etcd-io/etcd/blob/v3.4.23/clientv3/concurrency/mutex.go, Unlock";
        SessionLeft = "session-left", "It is left to end, and the next try has a new one, with a key of its own",
            "our own: so that no two grants have one revision";
    }
}

choices! {
    Looks at "looks": "Whom a client asks that looks whether it has the lock still." {
        Library = "library", "Its own library, whether the session is over as far as that knows",
            "https://github.com/etcd-io/etcd/blob/v3.4.23/clientv3/concurrency/session.go, Done";
        Cluster = "cluster", "That, and then the cluster whether its key is there: a majority answers, or nobody",
            "https://etcd.io/docs/v3.4/learning/api_guarantees/, linearizability";
        Member = "member", "That, and then whichever member it comes to, which answers from what it has (`serializable`)",
            "https://etcd.io/docs/v3.4/learning/api_guarantees/, serializable reads";
    }
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "etcd",
    title: "a cluster of etcd, `concurrency.Mutex`: a queue of keys on sessions",
    operations: &[
        Operation("lease-grant"),
        Operation("keep-alive"),
        Operation("txn"),
        Operation("get"),
        Operation("watch"),
        Operation("delete"),
    ],
    pushes: &[EVENTS],
    switches: &[AfterWait::SWITCH, OnFailedUnlock::SWITCH, Looks::SWITCH],
    ..facts()
};

/// The requests that it sends, each on its occasion.
pub(super) const SENT: [(&str, Occasion); 7] = [
    ("lease-grant", Occasion::Acquire),
    ("txn", Occasion::Acquire),
    ("get", Occasion::Acquire),
    ("watch", Occasion::Acquire),
    ("delete", Occasion::Acquire),
    ("keep-alive", Occasion::Renew),
    ("delete", Occasion::Release),
];
