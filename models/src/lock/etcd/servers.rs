//! The settings of an etcd cluster's members.

use host::Duration;

use super::super::service::{ServerGroup, ServerKind, Service};
use super::super::switch::{Choice, Switch, Takes, choices};

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
    /// What becomes of its revisions when a backup is put back.
    pub restored: Restored,
}

impl Default for EtcdServers {
    fn default() -> Self {
        let (version, pre_vote, checkpoints, restored) = Default::default();
        Self { members: 3, version, pre_vote, checkpoints, restored }
    }
}

choices! {
    Version at "version": "Which faults the servers have that were mended later." {
        V3_4_23 = "3.4.23", "Those of 3.4.23: a deposed leader may end a lease that its successor keeps alive, and a wall clock that is set moves the ends of leases",
            "https://github.com/etcd-io/etcd/issues/15247 and https://github.com/etcd-io/etcd/issues/12291";
        Fixed = "fixed", "None of them: with `pre-vote = \"on\"`, and `after-wait = \"key-checked\"` of `lock.etcd`, as 3.5 and later",
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

choices! {
    Restored at "restored": "What becomes of the cluster's revisions when a backup is put back." {
        AsBackedUp = "as-backed-up", "They go on from that of the backup: those of what was forgotten come again",
            "https://etcd.io/docs/v3.4/op-guide/recovery/";
        Bumped = "bumped", "The first is higher than any that was ever seen (`--bump-revision`)",
            "https://etcd.io/docs/v3.6/op-guide/recovery/";
    }
}

pub(super) const GROUP: [ServerGroup; 1] = [ServerGroup {
    prefix: "etcd",
    kind: ServerKind::Etcd,
    size: |service| match service {
        Service::Etcd(servers) => servers.members,
        Service::Redis(_) | Service::Sentinel(_) | Service::ZooKeeper(_) | Service::Postgres(_) => 0,
    },
}];

/// The shortest lease: 1.5 times the election timeout, in whole seconds
/// (<https://github.com/etcd-io/etcd/blob/v3.4.23/etcdserver/server.go>, `minTTL`).
pub const LEAST_LEASE: Duration = Duration::from_secs(2);

/// The name of its servers' settings.
pub(in crate::lock) const NAME: &str = "etcd";

/// The most members of a cluster.
pub const MOST_MEMBERS: u16 = 5;

pub(super) const SERVICE: [Switch; 5] = [
    Switch {
        path: "members",
        about: "How many members the cluster has: an odd number.",
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
    Restored::SWITCH,
];
