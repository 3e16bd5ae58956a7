//! Locks on a ZooKeeper ensemble: how each can be set, and how the ensemble's members are.

mod servers;

pub(super) use servers::NAME;
pub use servers::{GROUP, SERVICE, ZkServers};
