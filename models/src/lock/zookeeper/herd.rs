//! The switches of a lock that is one node, which all that want it watch.

use host::Operation;

use super::super::switch::Choice;
use super::super::{LockFacts, Occasion};
use super::{Stops, facts};

/// One ephemeral node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HerdLock {
    /// At which news its holder stops.
    pub stops: Stops,
}

/// What the loader must know.
pub(super) const FACTS: LockFacts = LockFacts {
    name: "zookeeper-herd",
    title: "one ephemeral node of a ZooKeeper ensemble: all that want it watch it, and try again at once (token: its czxid)",
    operations: &[
        Operation("connect"),
        Operation("ping"),
        Operation("create"),
        Operation("exists"),
        Operation("delete"),
        Operation("set-watches"),
    ],
    switches: &[Stops::SWITCH],
    ..facts()
};

/// The requests that it sends, each on its occasion.
pub(super) const SENT: [(&str, Occasion); 5] = [
    ("connect", Occasion::Acquire),
    ("create", Occasion::Acquire),
    ("exists", Occasion::Acquire),
    ("ping", Occasion::Renew),
    ("delete", Occasion::Release),
];
