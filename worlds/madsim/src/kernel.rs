//! A world, built and run.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use host::{Ending, NodeId, SimTime, Span};
use madsim::Config;
use madsim::runtime::{Handle, Runtime};
use models::{Locks, Nudge};
use scenarios::Kernel;
use sim::{Bounds, Fault, NodeSpec, Outcome, ServiceFactory, When};
use spec::Note;

use crate::faults::Faults;
use crate::node::Node;
use crate::process::MadHost;
use crate::refusal::{self, Refusal};
use crate::wire::Wires;
use crate::world::{State, World};

/// A world that is being built on madsim.
pub struct MadSim {
    seed: u64,
    nodes: Vec<(NodeSpec, Program)>,
    wires: Wires,
    faults: Vec<Fault<Nudge>>,
    cues: Vec<When>,
    refusals: Vec<Refusal>,
}

/// What runs on a node.
pub(crate) enum Program {
    Client(scenarios::kernel::Program<MadHost>),
    Service { factory: ServiceFactory<Locks>, awaited: bool },
}

impl MadSim {
    /// An empty world.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (nodes, faults, cues, refusals) = Default::default();
        Self { seed, nodes, wires: Wires::default(), faults, cues, refusals }
    }

    /// What it has been given that madsim cannot express.
    #[must_use]
    pub fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    /// Plays the world to its end.
    ///
    /// # Panics
    /// If it has something that madsim cannot express.
    #[must_use]
    pub fn run(self, bounds: Bounds) -> Outcome<Note> {
        assert!(self.refusals.is_empty(), "madsim cannot play this: {:?}", self.refusals);
        let runtime = Runtime::with_seed_and_config(self.seed, Config::default());
        runtime.block_on(async {
            let (world, cues) = self.build(Handle::current());
            world.get_ready().await;
            world.arm(cues);
            let nodes = world.state().nodes.len();
            for node in 0..nodes {
                world.start(node_id(node));
            }
            let ending = world.ends(bounds).await;
            let end = if ending == Ending::Horizon { SimTime::ZERO + bounds.horizon } else { world.now() };
            world.tear_down().await;
            world.outcome(end, ending)
        })
    }

    fn build(self, runtime: Handle) -> (Rc<World>, Vec<When>) {
        let node = |(index, (spec, program)): (usize, (NodeSpec, Program))| {
            let address = address(index);
            let card = runtime.create_node().name(spec.name.as_str()).ip(address.ip()).build();
            Node::new(spec, program, card, address)
        };
        let nodes = self.nodes.into_iter().enumerate().map(node).collect();
        let state = State::new(self.seed, nodes, self.wires, Faults::new(self.faults));
        (Rc::new(World::new(state, runtime)), self.cues)
    }

    fn add(&mut self, spec: NodeSpec, program: Program) {
        self.refusals.extend(refusal::of_node(&spec));
        self.nodes.push((spec, program));
    }
}

impl World {
    /// Plugs the network cards in and opens a channel from each client to each server; then the run begins.
    async fn get_ready(self: &Rc<Self>) {
        let nodes = self.state().nodes.len();
        for node in 0..nodes {
            self.plug_in(node_id(node));
        }
        while self.state().nodes.iter().any(|node| node.endpoint.is_none()) {
            self.time.sleep(host::Duration::from_millis(1)).await;
        }
        let dials = |from: NodeId| matches!(*self.state().node(from).program, Program::Client(_));
        let links: Vec<_> = self.state().wires.links.keys().copied().filter(|(from, _)| dials(*from)).collect();
        for (from, to) in links {
            self.make_spare(from, to).await;
        }
        self.began.set(self.time.elapsed());
    }
}

impl Kernel for MadSim {
    type Host = MadHost;

    fn client(&mut self, spec: NodeSpec, program: scenarios::kernel::Program<MadHost>) {
        self.add(spec, Program::Client(program));
    }

    fn service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>) {
        self.add(spec, Program::Service { factory, awaited: false });
    }

    fn awaited_service(&mut self, spec: NodeSpec, factory: ServiceFactory<Locks>) {
        self.add(spec, Program::Service { factory, awaited: true });
    }

    fn latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        self.refusals.extend(refusal::of_span("the latency of a link", &latency));
        self.wires.set_latency(from, to, latency);
    }

    fn fault(&mut self, fault: Fault<Nudge>) {
        self.refusals.extend(refusal::of_fault(&fault));
        self.faults.push(fault);
    }

    fn cue(&mut self, when: When) {
        self.refusals.extend(refusal::of_moment(&when));
        self.cues.push(when);
    }
}

impl fmt::Debug for MadSim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "MadSim of {} nodes", self.nodes.len())
    }
}

fn node_id(index: usize) -> NodeId {
    NodeId::new(u16::try_from(index).expect("a world has fewer than 65,536 nodes"))
}

fn address(index: usize) -> SocketAddr {
    let [high, low] = u16::try_from(index + 1).expect("a world has fewer than 65,535 nodes").to_be_bytes();
    SocketAddr::new(IpAddr::from([10, 0, high, low]), 1)
}
