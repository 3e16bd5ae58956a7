//! What a cell asks of a world, as far as this world needs to be told: who is there, what goes wrong, what is waited for.

use host::{NodeId, Span};
use models::{Locks, Nudge};
use scenarios::Kernel;
use scenarios::kernel::Program;
use sim::{Fault, NodeSpec, ServiceFactory, When};

use crate::client::LiveHost;

/// A cell's world, as one seed has it.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) nodes: Vec<(NodeSpec, Cast)>,
    pub(crate) latencies: Vec<(NodeId, NodeId, Span)>,
    pub(crate) faults: Vec<Fault<Nudge>>,
    pub(crate) cues: Vec<When>,
}

/// What a node is.
pub(crate) enum Cast {
    /// A process of this program.
    Client,
    /// A real lock server.
    Server,
    /// The guarded resource, which is the model's in every world.
    Resource(ServiceFactory<Locks>),
}

impl Kernel for World {
    type Host = LiveHost;

    fn client(&mut self, spec: NodeSpec, _: Program<LiveHost>) {
        self.nodes.push((spec, Cast::Client));
    }

    fn service(&mut self, spec: NodeSpec, _: ServiceFactory<Locks>) {
        self.nodes.push((spec, Cast::Server));
    }

    fn awaited_service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>) {
        self.nodes.push((spec, Cast::Resource(factory)));
    }

    fn latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        self.latencies.push((from, to, latency));
    }

    fn fault(&mut self, fault: Fault<Nudge>) {
        self.faults.push(fault);
    }

    fn cue(&mut self, when: When) {
        self.cues.push(when);
    }
}
