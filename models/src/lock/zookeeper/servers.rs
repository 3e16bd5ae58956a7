//! The settings of an ensemble's members.

use host::Duration;

use super::super::service::{ServerGroup, ServerKind, Service};
use super::super::switch::{Switch, Takes};

/// How an ensemble is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ZkServers {
    /// How many members it has. One is a server that knows of no ensemble.
    pub members: u16,
    /// `tickTime`: the measure of all its times.
    pub tick: Duration,
    /// `syncLimit`: after so many ticks without a word of each other, a leader and who follows it part.
    pub sync_limit: u16,
}

impl Default for ZkServers {
    fn default() -> Self {
        Self { members: 3, tick: Duration::from_secs(2), sync_limit: 5 }
    }
}

impl ZkServers {
    /// What the servers make of the session timeout that a client asks for: `minSessionTimeout` and `maxSessionTimeout`,
    /// two and twenty ticks.
    #[must_use]
    pub fn negotiated(&self, asked: Duration) -> Duration {
        asked.clamp(self.tick * 2, self.tick * 20)
    }
}

/// Its servers.
pub(super) const GROUP: [ServerGroup; 1] = [ServerGroup {
    prefix: "zookeeper",
    kind: ServerKind::ZooKeeper,
    size: |service| match service {
        Service::ZooKeeper(servers) => servers.members,
        Service::Redis(_) | Service::Sentinel(_) | Service::Etcd(_) | Service::Postgres(_) => 0,
    },
}];

/// The name of its servers' settings.
pub(in crate::lock) const NAME: &str = "zookeeper";

const SAMPLE: &str = "https://github.com/apache/zookeeper/blob/release-3.8.0/conf/zoo_sample.cfg";

/// What can be set about them.
pub(super) const SERVICE: [Switch; 3] = [
    Switch {
        path: "members",
        about: "How many members the ensemble has: an odd number.",
        takes: Takes::Number {
            least: 1,
            most: super::super::MOST_MEMBERS,
            default: "3",
            source: "https://zookeeper.apache.org/doc/r3.8.0/zookeeperAdmin.html, clustered setup",
        },
    },
    Switch {
        path: "tick",
        about: "The measure of its times: `tickTime`. Sessions live for 2 to 20 ticks, and end at whole ones.",
        takes: Takes::Duration { default: "2s", source: SAMPLE },
    },
    Switch {
        path: "sync-limit",
        about: "After how many ticks without a word a leader and who follows it part: `syncLimit`.",
        takes: Takes::Number { least: 2, most: 50, default: "5", source: SAMPLE },
    },
];
