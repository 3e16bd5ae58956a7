//! The switches of `concurrency.Mutex` on an etcd cluster, and the settings of its members.

use host::{Duration, Operation};
use spec::{Assumption, Level};

use super::service::{ServerGroup, ServerKind, Service};
use super::switch::{Choice, Switch, Takes, choices};
use super::{LockFacts, Occasion};

/// `concurrency.Mutex`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EtcdLock {
    /// What it does when its turn has come.
    pub after_wait: AfterWait,
    /// What becomes of its session when it could not give the lock back.
    pub on_failed_unlock: OnFailedUnlock,
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

/// How a cluster is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EtcdServers {
    /// How many members it has.
    pub members: u16,
    /// Whose faults it has.
    pub version: Version,
    /// Whether a member asks the others before it stands for election.
    pub pre_vote: PreVote,
    /// Whether the leader tells the others how much is left of long leases.
    pub checkpoints: Checkpoints,
}

impl Default for EtcdServers {
    fn default() -> Self {
        let (version, pre_vote, checkpoints) = Default::default();
        Self { members: 3, version, pre_vote, checkpoints }
    }
}

choices! {
    Version at "version": "Which faults the servers have that were mended later." {
        V3_4_23 = "3.4.23", "Those of 3.4.23: a deposed leader may end a lease that its successor keeps alive, and a wall clock that is set moves the ends of leases",
            "https://github.com/etcd-io/etcd/issues/15247 and https://github.com/etcd-io/etcd/issues/12291";
        Fixed = "fixed", "None of them",
            "https://github.com/etcd-io/etcd/pull/17465 (in 3.4.31) and https://github.com/etcd-io/etcd/pull/12292 (in 3.5.0)";
    }
}

choices! {
    PreVote at "pre-vote": "Whether a member that hears of no leader asks the others before it stands for election." {
        Off = "off", "It stands at once, and a leader that hears of it steps down",
            "https://github.com/etcd-io/etcd/blob/v3.4.23/embed/config.go, PreVote";
        On = "on", "It stands if a majority would vote for it", "https://github.com/etcd-io/etcd/pull/12770, the default in 3.5";
    }
}

choices! {
    Checkpoints at "checkpoints": "Whether the leader has it written down how much is left of a lease." {
        Off = "off", "It does not: after a change of the leader a lease begins anew",
            "https://github.com/etcd-io/etcd/blob/v3.4.23/embed/config.go, ExperimentalEnableLeaseCheckpoint";
        Persisted = "persisted", "Every five minutes",
            "https://github.com/etcd-io/etcd/pull/13508, ExperimentalEnableLeaseCheckpointPersist, in 3.4.20";
    }
}

const GROUP: [ServerGroup; 1] = [ServerGroup {
    prefix: "etcd",
    kind: ServerKind::Etcd,
    size: |service| match service {
        Service::Etcd(servers) => servers.members,
        Service::Redis(_) | Service::Sentinel(_) => 0,
    },
}];

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "etcd",
    title: "a cluster of etcd, `concurrency.Mutex`: a queue of keys on sessions",
    groups: &GROUP,
    points: &[],
    operations: &OPERATIONS,
    pushes: &PUSHES,
    has_token: true,
    switches: &[AfterWait::SWITCH, OnFailedUnlock::SWITCH],
    service_name: NAME,
    service: &SERVICE,
};

/// The shortest lease: 1.5 times the election timeout, in whole seconds
/// (<https://github.com/etcd-io/etcd/blob/v3.4.23/etcdserver/server.go>, `minTTL`).
pub const LEAST_LEASE: Duration = Duration::from_secs(2);

/// The name of its servers' settings.
pub(super) const NAME: &str = "etcd";

/// The most members of a cluster.
pub const MOST_MEMBERS: u16 = 5;

const SERVICE: [Switch; 4] = [
    Switch {
        path: "members",
        about: "How many members the cluster has.",
        takes: Takes::Number {
            least: 1,
            most: MOST_MEMBERS,
            default: "3",
            source: "https://etcd.io/docs/v3.4/faq/, why an odd number of members",
        },
    },
    Version::SWITCH,
    PreVote::SWITCH,
    Checkpoints::SWITCH,
];

const OPERATIONS: [Operation; 6] = [
    Operation("lease-grant"),
    Operation("keep-alive"),
    Operation("txn"),
    Operation("get"),
    Operation("watch"),
    Operation("delete"),
];
const PUSHES: [Operation; 1] = [Operation("events")];

impl EtcdLock {
    /// The requests that it sends, each on its occasion.
    pub(super) fn operations(self) -> Vec<(Operation, Occasion)> {
        let on = |occasion| move |name| (Operation(name), occasion);
        let mut sent: Vec<_> =
            ["lease-grant", "txn", "get", "watch", "delete"].map(on(Occasion::Acquire)).into_iter().collect();
        sent.push((Operation("keep-alive"), Occasion::Renew));
        sent.push((Operation("delete"), Occasion::Release));
        sent
    }

    /// What its servers push.
    pub(super) const fn pushes() -> &'static [Operation] {
        &PUSHES
    }
}

/// What its promises rest on.
pub(super) const fn needs(level: Level) -> &'static [Assumption] {
    use Assumption::{PauseWithinValidity, RateWithinDrift, ResourceChecksTokens, SyncedDisk};
    match level {
        // Keys are created in the order of the log, one at a time, whatever clocks, pauses and messages do. The log
        // is what disks have synced.
        Level::Conduct | Level::Fence | Level::Token | Level::Grant => &[SyncedDisk],
        // Who ends a session is the leader, by its monotonic clock, and the holder keeps it alive at a third of the
        // lease by its own: it takes a pause, or clocks of which one is three times as fast, to miss that.
        Level::Tenure => &[SyncedDisk, PauseWithinValidity],
        // And the program counts from when an answer came, where the server counts from when it made it: it
        // believes for longer than it should by the answer's way, and by what a slow clock adds.
        Level::Belief => &[SyncedDisk, PauseWithinValidity, RateWithinDrift],
        Level::Effect => &[SyncedDisk, PauseWithinValidity, RateWithinDrift, ResourceChecksTokens],
        // The session of who is gone ends by itself.
        Level::Return => &[],
    }
}
