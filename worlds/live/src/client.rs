//! A client's process: it reads its part, plays it over a [`LiveHost`], and ends with its script.
//!
//! It is a process of its own because a pause must stop all of it, its renewal too. It dies with the coordinator: by the
//! kernel's word, and because it notices that nobody is at the other end of its line.

mod alone;
mod ear;
mod etcd;
mod hangs;
mod host;
mod http;
mod path;
mod postgres;
mod redis;
mod resource;
mod sentinel;
mod wire;
mod zookeeper;

use std::cell::RefCell;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::rc::Rc;

use ::host::{NodeId, Part as Thread, Span};
use models::{Locks, Nudge};
use scenarios::kernel::Program;
use scenarios::language::{Override, load};
use scenarios::{Contender, Kernel, Player};
use sim::{Entity, Fault, NodeSpec, ServiceFactory, Stream, StreamPurpose, When};
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::LocalSet;

pub use self::etcd::EtcdConnection;
pub use self::host::{LiveHost, LiveTask};
use self::path::{Latencies, Latency};
pub use self::postgres::PgConnection;
pub use self::redis::RedisConnection;
pub use self::resource::ResourceConnection;
pub use self::zookeeper::ZkConnection;
use crate::line::{Order, Part, Report, say};
use crate::refusal::takes_long;
use crate::servers::die_with;

/// Plays one client. Its standard input is the line to the coordinator, which is the process with the id `parent`.
///
/// # Errors
/// If there is no such line, or what comes over it is not to be understood: one of the two programs is another version.
pub fn play(parent: u32) -> Result<(), String> {
    die_with(parent)?;
    let line = io::stdin().as_fd().try_clone_to_owned().map_err(|error| error.to_string())?;
    let mut line = UnixStream::from(line);
    let mut orders = BufReader::new(line.try_clone().map_err(|error| error.to_string())?).lines();
    let mut next = move || -> Result<Order, String> {
        let order = orders.next().ok_or("the coordinator is gone")?.map_err(|error| error.to_string())?;
        serde_json::from_str(&order).map_err(|error| format!("{error} in {order}"))
    };
    let Order::Prepare(part) = next()? else { return Err("not told what to play".to_owned()) };
    let (spec, program, latencies) = program(&part)?;
    say(&mut line, &Report::Ready).map_err(|error| error.to_string())?;
    let Order::Begin { zero, ahead, attempts, come } = next()? else { return Err("not told to begin".to_owned()) };

    let (told, heard) = unbounded_channel();
    std::thread::spawn(move || {
        while let Ok(order) = next() {
            let _ = told.send(order);
        }
        // Nobody is left to play for.
        std::process::exit(0);
    });
    let host = LiveHost::new(Box::new(line), &part.seat, spec.entity, (zero, attempts, come));
    host.step_wall_by(ahead);
    host.slow_down(latencies);
    let played = run(async {
        tokio::task::spawn_local(host.clone().listen(heard));
        host.of_part(Thread::WORKER, program(host.clone())).await;
    });
    played.map_err(|error| error.to_string())?;
    host.say(&Report::Finished);
    Ok(())
}

/// Runs a program of a [`LiveHost`] to its end, on this thread.
///
/// # Errors
/// If the machine has nothing left to wait with.
pub fn run<T>(program: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()?;
    Ok(LocalSet::new().block_on(&runtime, program))
}

/// What that part's client does.
fn program(part: &Part) -> Result<(NodeSpec, Program<LiveHost>, Latencies), String> {
    let set: Vec<Override> = part.set.iter().map(Override::new).collect();
    let scenario = load(&part.file, &part.text, &set).map_err(|errors| errors.to_string())?;
    let cell = scenario.cells.get(part.cell).ok_or("the scenario has no such cell")?;
    let contender = Contender::built_in(&cell.lock);
    let mut casting = Casting { wanted: part.seat.node, nodes: 0, found: None, links: Vec::new() };
    Player::new(cell, &contender).build_on(&mut casting, part.seat.seed);
    let Casting { wanted, found, links, .. } = casting;
    let (spec, program) = found.ok_or_else(|| "the cell has no such client".to_owned())?;
    let mut latencies = Latencies::default();
    for server in part.seat.ports.keys() {
        let span = |from, to| links.iter().find(|link| (link.0, link.1) == (from, to)).map(|(.., span)| *span);
        if let (Some(there), Some(back)) = (span(wanted, *server), span(*server, wanted))
            && (takes_long(&there) || takes_long(&back))
        {
            let (one, other) = (spec.entity, Entity::named(&format!("server/{}", server.index() + 1)));
            let stream = Rc::new(RefCell::new(Stream::new(part.seat.seed, StreamPurpose::Link, one, other)));
            latencies.insert(*server, Latency { spans: [there, back], stream });
        }
    }
    Ok((spec, program, latencies))
}

/// Looks for one client in a world that others play.
struct Casting {
    wanted: NodeId,
    nodes: u16,
    found: Option<(NodeSpec, Program<LiveHost>)>,
    links: Vec<(NodeId, NodeId, Span)>,
}

impl Kernel for Casting {
    type Host = LiveHost;

    fn client(&mut self, spec: NodeSpec, program: Program<LiveHost>) {
        if NodeId::new(self.nodes) == self.wanted {
            self.found = Some((spec, program));
        }
        self.nodes += 1;
    }

    fn service(&mut self, _: NodeSpec, _: ServiceFactory<Locks>) {
        self.nodes += 1;
    }

    fn awaited_service(&mut self, _: NodeSpec, _: ServiceFactory<Locks>) {
        self.nodes += 1;
    }

    fn latency(&mut self, from: NodeId, to: NodeId, latency: Span) {
        self.links.push((from, to, latency));
    }

    fn fault(&mut self, _: Fault<Nudge>) {}

    fn cue(&mut self, _: When) {}
}

/// Whose randomness a life of a process draws from. Each life draws anew: one that drew as the last one did would have
/// its owner values.
fn life(number: u32) -> Entity {
    if number == 0 { Entity::WORLD } else { Entity::named(&format!("life/{number}")) }
}
