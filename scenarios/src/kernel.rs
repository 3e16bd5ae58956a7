//! What a kernel must offer for scenarios to be played on it.
//!
//! There is [our own](sim), and there may be others: the same cells, services, clients and checkers, another
//! machinery below them. What such a kernel cannot express, whoever drives it must refuse; here it is given
//! all that the cell has.

use std::future::Future;
use std::pin::Pin;

use host::{NodeId, Span, Stage};
use models::etcd::EtcdHost;
use models::postgres::PgHost;
use models::redis::SentinelHost;
use models::resource::ResourceHost;
use models::zookeeper::ZkHost;
use models::{Locks, Nudge};
use sim::{Fault, NodeSpec, ServiceFactory, Sim, When};

/// A process in a world of locks, on whichever kernel: every lock that scenario files name runs on it.
pub trait LocksHost: Stage + ResourceHost + SentinelHost + EtcdHost + ZkHost + PgHost {}

impl<H: Stage + ResourceHost + SentinelHost + EtcdHost + ZkHost + PgHost> LocksHost for H {}

/// Makes a client's program: called when the run begins and again after every restart.
pub type Program<H> = Box<dyn Fn(H) -> Pin<Box<dyn Future<Output = ()>>>>;

/// A world under construction, on some kernel: nodes first, then links, faults and cues; each is numbered in
/// the order of the calls that add its like.
pub trait Kernel {
    /// What its clients' programs see.
    type Host: LocksHost;

    /// Adds a client.
    fn client(&mut self, spec: NodeSpec, program: Program<Self::Host>);
    /// Adds a service.
    fn service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>);
    /// Adds a service for which the run's end waits, as long as a request is on its way to it.
    fn awaited_service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>);
    /// Sets the latency of what one node sends to another.
    fn latency(&mut self, from: NodeId, to: NodeId, latency: Span);
    /// Adds a fault.
    fn fault(&mut self, fault: Fault<Nudge>);
    /// Adds a moment for which programs may wait.
    fn cue(&mut self, when: When);
}

impl Kernel for Sim<Locks> {
    type Host = sim::SimHost<Locks>;

    fn client(&mut self, spec: NodeSpec, program: Program<Self::Host>) {
        Self::client(self, spec, program);
    }

    fn service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>) {
        Self::service(self, spec, factory);
    }

    fn awaited_service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>) {
        Self::awaited_service(self, spec, factory);
    }

    fn latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        Self::latency(self, from, to, latency);
    }

    fn fault(&mut self, fault: Fault<Nudge>) {
        Self::fault(self, fault);
    }

    fn cue(&mut self, when: When) {
        Self::cue(self, when);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Contender, Player, Progress, catalogue, language, sweep, tally};

    #[test]
    fn our_own_kernel_is_one_of_them() {
        let entry = catalogue::find("gc-pause").expect("it is in the catalogue");
        let scenario = language::load(entry.file, entry.text, &[]).expect("every file loads");
        for cell in &scenario.cells {
            let contender = Contender::built_in(&cell.lock);
            let player = Player::new(cell, &contender);
            let play = |seed| {
                let mut sim = Sim::new(seed, false);
                player.build_on(&mut sim, seed);
                player.conclude(seed, sim.run(player.bounds()))
            };
            assert_eq!(Some(tally(cell, 3..23, play)), sweep(cell, &contender, 3..23, &Progress::default()));
        }
    }
}
