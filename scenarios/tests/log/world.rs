//! A cluster of registers, clients that use it, and faults, drawn from a seed.

use host::{Calls, Connection, Duration, Host, NodeId, Ppm, Purpose, Server as At};
use models::log::{Late, Settings};
use sim::{Bounds, Entity, Fault, NodeSpec, Outcome, Sim, SimHost};

use crate::register::{Ask, Note, Nothing, Register, Server, members};

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// A cluster and its clients.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    pub(crate) members: u16,
    pub(crate) clients: u16,
    pub(crate) pre_vote: bool,
    /// Whether the cluster begins with a leader.
    pub(crate) begins: bool,
    /// Whether who starts goes ahead.
    pub(crate) head_start: bool,
    /// After how many entries a member compacts its log.
    pub(crate) compacts: u64,
    /// For how long clients go on asking.
    pub(crate) asks_for: Duration,
    /// How long they pause between two questions, at most.
    pub(crate) pause: Duration,
}

impl Plan {
    pub(crate) const QUIET: Self = Self {
        members: 3,
        clients: 2,
        pre_vote: false,
        begins: true,
        head_start: false,
        compacts: 1_000,
        asks_for: ms(2_000),
        pause: ms(50),
    };

    fn settings(&self) -> Settings {
        let members = members(self.members);
        Settings {
            first: self.begins.then(|| members[0]),
            members,
            tick: ms(100),
            heartbeat_ticks: 1,
            election_ticks: 10,
            late: Late::Dropped,
            pre_vote: self.pre_vote,
            head_start: self.head_start,
        }
    }

    /// The world of this plan.
    pub(crate) fn world(&self, seed: u64, recording: bool) -> Sim<Register> {
        let mut sim = Sim::new(seed, recording);
        for member in 0..self.members {
            let (settings, compacts) = (self.settings(), self.compacts);
            let make = move || Box::new(Server::new(settings.clone(), compacts)) as Box<_>;
            sim.service(spec("member", member), Box::new(make));
        }
        for client in 0..self.clients {
            let plan = *self;
            sim.client(spec("client", client), Box::new(move |host| Box::pin(use_it(host, plan))));
        }
        sim
    }

    /// How far a run may go: clients are through long before.
    pub(crate) const fn bounds(&self) -> Bounds {
        Bounds { horizon: Duration::from_secs(60), events: 1_000_000 }
    }
}

fn spec(role: &str, ordinal: u16) -> NodeSpec {
    let name = format!("{role}-{}", ordinal + 1);
    NodeSpec { entity: Entity::named(&name), name: name.as_str().into(), rate: Ppm::ZERO, wall_offset: 0 }
}

/// By when everybody must have found together again: faults are over at 10 s; a connection that does not know that it is
/// broken is found out in 5 s and a tick, and two elections, one of them undecided, take no more than 4 s.
const WELL: Duration = ms(20_000);

/// A client: it reads and writes, each time at some member.
async fn use_it(host: SimHost<Register>, plan: Plan) {
    let start = host.monotonic();
    let draw = |host: &SimHost<Register>, below: u64| host.random(Purpose::Workload) % below;
    while host.monotonic() - start < plan.asks_for {
        host.sleep(Duration::from_nanos(draw(&host, plan.pause.as_nanos() as u64) + 1)).await;
        // Every write has a number of its own, and every operation.
        let op = host.random(Purpose::Workload);
        let ask = if draw(&host, 2) == 0 { Ask::Write(host.random(Purpose::Workload)) } else { Ask::Read };
        let member = NodeId::new(u16::try_from(draw(&host, u64::from(plan.members))).expect("few"));
        let Ok(line) = host.connect(At::<Ask>::on(member), ms(200)).await else { continue };
        host.note(Note::Asked { op, ask });
        match line.call(ask, ms(1_000)).await {
            Ok(told) => host.note(Note::Told { op, told }),
            Err(_) => host.note(Note::GaveUp { op }),
        }
    }
    // All is well again, and has been for long enough: whoever is asked answers.
    host.sleep(WELL.saturating_sub(host.monotonic() - start)).await;
    for member in members(plan.members) {
        let (op, ask) = (host.random(Purpose::Workload), Ask::Write(host.random(Purpose::Workload)));
        host.note(Note::Asked { op, ask });
        let line = host.connect(At::<Ask>::on(member), ms(1_000)).await.expect("it is there");
        let told = line.call(ask, ms(1_000)).await;
        host.note(told.map_or(Note::Unanswered { op }, |told| Note::Told { op, told }));
    }
}

/// Plays a world once.
pub(crate) fn play(plan: &Plan, seed: u64, faults: Vec<Fault<Nothing>>) -> Outcome<Note> {
    let mut sim = plan.world(seed, false);
    for fault in faults {
        sim.fault(fault);
    }
    sim.run(plan.bounds())
}
