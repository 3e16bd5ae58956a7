//! A host without a coordinator: one's own program, of as many clients as it likes, on servers that it has started itself.

use std::collections::BTreeMap;
use std::io::sink;

use ::host::NodeId;
use sim::Entity;

use super::LiveHost;
use crate::line::Seat;
use crate::now;

impl LiveHost {
    /// A client that is told nothing and whose notes nobody keeps. `ports`: where the servers listen, of which the first is
    /// the node 0. Clients of one seed that differ in their `name` draw differently.
    #[must_use]
    pub fn alone(seed: u64, name: &str, ports: &[u16]) -> Self {
        let ports: BTreeMap<NodeId, u16> = (0..).map(NodeId::new).zip(ports.iter().copied()).collect();
        let node = NodeId::new(u16::try_from(ports.len()).unwrap_or(u16::MAX));
        let seat = Seat { seed, node, life: 0, ports, awaited: Vec::new() };
        Self::new(Box::new(sink()), &seat, Entity::named(name), (now::monotonic(), 0, Vec::new()))
    }

    /// How many commands it has sent.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.numbered()
    }

    /// Steps its wall clock by so many ms, and nobody else's.
    pub fn step_wall(&self, millis: i64) {
        self.step_wall_by(millis.saturating_mul(1_000_000));
    }
}
