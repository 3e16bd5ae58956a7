//! What a fault does when it strikes, and what its end undoes.

use host::{Domain, Duration, NodeId, Span};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, PacketId};
use crate::links::{Cut, PacketKind, Slow};
use crate::outcome::{RecordKind, Strike};
use crate::plan::{Direction, Fault, Lasts, Link, MessageMatch, Target, What, When};
use crate::stream::{Entity, Stream, StreamPurpose};
use crate::triggers::Trigger;

#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) plan: Vec<FaultState>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) strikes: Vec<Strike>,
    /// What each strike's end must know.
    details: Vec<StrikeDetail>,
    /// The message faults in force.
    matching: Vec<Matching>,
    /// How many things in the queue the run's end waits for.
    pub(crate) pending: u32,
    pub(crate) watches_milestones: bool,
    pub(crate) watches_steps: bool,
}

pub(crate) struct FaultState {
    entity: Entity,
    what: What,
    pub(crate) when: When,
    pub(crate) lasts: Lasts,
    stream: Option<Box<Stream>>,
}

impl FaultState {
    pub(crate) fn new(fault: Fault) -> Self {
        let Fault { entity, what, when, lasts } = fault;
        Self { entity, what, when, lasts, stream: None }
    }
}

/// What a strike's end must know.
#[derive(Default)]
struct StrikeDetail {
    reacher: Option<NodeId>,
    /// For each node it struck, the life that it struck: a later life is not its business.
    lives: Vec<u32>,
    /// Its end is in the queue, and the run's end waits for it.
    counted: bool,
    /// A throttled process stands right now.
    throttle_stands: bool,
}

/// A message fault in force.
struct Matching {
    strike: usize,
    seen: u32,
}

impl<D: Domain> Core<D> {
    /// A fault strikes.
    pub(crate) fn strike(&mut self, fault: usize, reacher: Option<NodeId>) {
        let (what, lasts) = (self.faults.plan[fault].what.clone(), self.faults.plan[fault].lasts.clone());
        let strike = self.faults.strikes.len();
        let nodes = struck_nodes(&what, reacher);
        let place = nodes.first().copied().unwrap_or_default();
        self.faults.strikes.push(Strike { fault, from: self.now, until: None, nodes: nodes.clone(), met: 0 });
        self.faults.details.push(StrikeDetail { reacher, ..StrikeDetail::default() });
        let about = About { fault: Some(fault), ..About::default() };
        self.trace(place, RecordKind::Fault, fault as u64, about, || what.name().to_owned());
        for node in nodes {
            self.strike_node(strike, node, &what);
        }
        self.strike_links(strike, reacher, &what);
        match lasts {
            Lasts::Instant => self.faults.strikes[strike].until = Some(self.now),
            Lasts::For(span) => {
                let lasts = self.draw_for_strike(strike, &span);
                self.faults.details[strike].counted = true;
                self.faults.pending += 1;
                self.queue.push(self.now + lasts, Event::StrikeEnds(strike));
            }
            Lasts::Until(_) | Lasts::ToTheEnd => {}
        }
    }

    fn strike_node(&mut self, strike: usize, node: NodeId, what: &What) {
        match what {
            What::Pause(_) => self.change_standing(node, |standing| standing.paused += 1),
            What::MachineSleep(_) => self.change_standing(node, |standing| standing.asleep += 1),
            What::VmStop(_) => self.change_standing(node, |standing| standing.stopped += 1),
            What::Kill(_) => self.kill(node),
            What::PowerOff(_) => self.power_off(node),
            What::Stall(_, part) => self.begin_stall(node, *part),
            What::Throttle { run, .. } => {
                self.queue.push(self.now + *run, Event::Throttle { strike, stop: true });
            }
            What::StepClock(_, by) => {
                let by = *by;
                self.change_clock(node, |clock| clock.wall = clock.wall.saturating_add(by));
            }
            What::ClockRate(_, rate) => {
                let rate = *rate;
                self.change_clock(node, |clock| clock.rate = rate);
            }
            What::Cut(..) | What::Slow(..) | What::Reset(..) | What::Drop(..) | What::Delay(..) => {}
        }
        let life = self.node(node).life;
        self.faults.details[strike].lives.push(life);
    }

    fn strike_links(&mut self, strike: usize, reacher: Option<NodeId>, what: &What) {
        match what {
            What::Cut(links, held) => {
                let held = *held;
                self.links.cuts.extend(resolved(links, reacher).map(|(from, to)| Cut { from, to, held, strike }));
            }
            What::Slow(links, by) => {
                let by = *by;
                self.links.slows.extend(resolved(links, reacher).map(|(from, to)| Slow { from, to, by, strike }));
            }
            What::Reset(links) => {
                for (from, to) in resolved(links, reacher) {
                    self.reset_connections(strike, from, to);
                }
            }
            What::Drop(_) | What::Delay(..) => self.faults.matching.push(Matching { strike, seen: 0 }),
            _ => {}
        }
    }

    /// A strike's time is over.
    pub(crate) fn end(&mut self, strike: usize) {
        if std::mem::take(&mut self.faults.details[strike].counted) {
            self.faults.pending -= 1;
        }
        if self.faults.strikes[strike].until.is_some() {
            return;
        }
        self.faults.strikes[strike].until = Some(self.now);
        let fault = self.faults.strikes[strike].fault;
        let what = self.faults.plan[fault].what.clone();
        let nodes = self.faults.strikes[strike].nodes.clone();
        let lives = std::mem::take(&mut self.faults.details[strike].lives);
        let place = nodes.first().copied().unwrap_or_default();
        let about = About { fault: Some(fault), ..About::default() };
        self.trace(place, RecordKind::FaultEnd, fault as u64, about, || what.name().to_owned());
        for (node, life) in nodes.into_iter().zip(lives) {
            let same_life = self.node(node).life == life;
            self.end_at_node(strike, node, same_life, &what);
        }
        self.end_on_links(strike, &what);
    }

    fn end_at_node(&mut self, strike: usize, node: NodeId, same_life: bool, what: &What) {
        match what {
            What::Pause(_) if same_life => self.change_standing(node, |standing| standing.paused -= 1),
            What::MachineSleep(_) => self.change_standing(node, |standing| standing.asleep -= 1),
            What::VmStop(_) => self.change_standing(node, |standing| standing.stopped -= 1),
            What::Kill(_) | What::PowerOff(_) if same_life => self.restart(node),
            What::Stall(_, part) if same_life => self.end_stall(node, *part),
            What::Throttle { .. } if same_life && std::mem::take(&mut self.faults.details[strike].throttle_stands) => {
                self.change_standing(node, |standing| standing.paused -= 1);
            }
            What::ClockRate(..) => {
                let rate = self.node(node).base_rate;
                self.change_clock(node, |clock| clock.rate = rate);
            }
            _ => {}
        }
    }

    fn end_on_links(&mut self, strike: usize, what: &What) {
        match what {
            What::Cut(links, _) => {
                let reacher = self.faults.details[strike].reacher;
                self.links.cuts.retain(|cut| cut.strike != strike);
                for (from, to) in resolved(links, reacher) {
                    self.release_held(from, to);
                }
            }
            What::Slow(..) => self.links.slows.retain(|slow| slow.strike != strike),
            What::Drop(_) | What::Delay(..) => self.faults.matching.retain(|matching| matching.strike != strike),
            _ => {}
        }
    }

    /// Ends whatever is in force of a fault.
    pub(crate) fn end_all(&mut self, fault: usize) {
        for strike in 0..self.faults.strikes.len() {
            if self.faults.strikes[strike].fault == fault {
                self.end(strike);
            }
        }
    }

    /// A throttled process stops, or runs again until the next stop.
    pub(crate) fn throttle(&mut self, strike: usize, stop: bool) {
        let Strike { fault, until, nodes, .. } = &self.faults.strikes[strike];
        let (What::Throttle { run, stop: stands, .. }, None) = (&self.faults.plan[*fault].what, until) else { return };
        let (node, wait) = (nodes[0], if stop { *stands } else { *run });
        if self.node(node).life != self.faults.details[strike].lives[0] {
            return;
        }
        self.faults.details[strike].throttle_stands = stop;
        self.change_standing(node, |standing| if stop { standing.paused += 1 } else { standing.paused -= 1 });
        self.queue.push(self.now + wait, Event::Throttle { strike, stop: !stop });
    }

    /// Something could not be handed to a process that stands still or is dead: the strikes in force
    /// there have met it.
    pub(crate) fn count_met(&mut self, node: NodeId) {
        for strike in &mut self.faults.strikes {
            if strike.until.is_none() && strike.nodes.contains(&node) {
                strike.met += 1;
            }
        }
    }

    /// A packet leaves: message faults may lose or delay it. Whether it may go on.
    pub(crate) fn meet_message_faults(&mut self, id: PacketId) -> bool {
        for i in 0..self.faults.matching.len() {
            let strike = self.faults.matching[i].strike;
            let what = &self.faults.plan[self.faults.strikes[strike].fault].what;
            let (What::Drop(matches) | What::Delay(matches, _)) = what else { continue };
            if !self.matches(matches, id, self.faults.details[strike].reacher) {
                continue;
            }
            let nth = matches.nth;
            let delay = if let What::Delay(_, by) = what { Some(*by) } else { None };
            self.faults.matching[i].seen += 1;
            if nth.is_some_and(|nth| nth != self.faults.matching[i].seen) {
                continue;
            }
            self.faults.strikes[strike].met += 1;
            match delay {
                Some(by) => {
                    let by = self.draw_for_strike(strike, &by);
                    self.delay(id, by);
                }
                None => {
                    let (conn, from) = (self.packet(id).conn, self.packet(id).from);
                    self.connections.all[conn].broken[from as usize] = true;
                    self.lose(id);
                    return false;
                }
            }
        }
        true
    }

    fn matches(&self, matches: &MessageMatch, id: PacketId, reacher: Option<NodeId>) -> bool {
        let packet = self.packet(id);
        let kind = match matches.direction {
            Direction::Request => PacketKind::Request,
            Direction::Reply => PacketKind::Reply,
            Direction::Push => PacketKind::Push,
        };
        let (client, server) = self.route(packet.conn, Side::Client);
        let is = |target: &Target, node| resolve(*target, reacher) == Some(node);
        packet.kind == kind
            && packet.operation == Some(matches.operation)
            && matches.clients.iter().any(|target| is(target, client))
            && matches.server.as_ref().is_none_or(|target| is(target, server))
    }

    /// A draw of a strike's fault: the same in every world that has a fault of that name.
    pub(crate) fn draw_for_strike(&mut self, strike: usize, span: &Span) -> Duration {
        let seed = self.seed;
        let state = &mut self.faults.plan[self.faults.strikes[strike].fault];
        let entity = state.entity;
        let new = || Box::new(Stream::new(seed, StreamPurpose::Fault, entity, Entity::WORLD));
        state.stream.get_or_insert_with(new).draw(span)
    }

    fn reset_connections(&mut self, strike: usize, from: NodeId, to: NodeId) {
        for conn in 0..self.connections.all.len() {
            let ends = &self.connections.all[conn].ends;
            let is_open = ends[0].open || ends[1].open;
            if is_open && self.route(conn, Side::Client) == (from, to) {
                self.faults.strikes[strike].met += 1;
                for side in [Side::Client, Side::Server] {
                    self.send_from_machine(conn, side, PacketKind::Reset);
                }
            }
        }
    }
}

/// The nodes on which a fault acts; for links, those that send.
fn struck_nodes(what: &What, reacher: Option<NodeId>) -> Vec<NodeId> {
    let targets: Vec<Target> = match what {
        What::Pause(targets)
        | What::MachineSleep(targets)
        | What::VmStop(targets)
        | What::Kill(targets)
        | What::PowerOff(targets)
        | What::StepClock(targets, _)
        | What::ClockRate(targets, _) => targets.clone(),
        What::Stall(target, _) | What::Throttle { target, .. } => vec![*target],
        What::Cut(links, _) | What::Slow(links, _) | What::Reset(links) => links.iter().map(|link| link.from).collect(),
        What::Drop(matches) | What::Delay(matches, _) => matches.clients.clone(),
    };
    let mut nodes: Vec<NodeId> = targets.into_iter().filter_map(|target| resolve(target, reacher)).collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

const fn resolve(target: Target, reacher: Option<NodeId>) -> Option<NodeId> {
    match target {
        Target::Node(node) => Some(node),
        Target::Reacher => reacher,
    }
}

fn resolved(links: &[Link], reacher: Option<NodeId>) -> impl Iterator<Item = (NodeId, NodeId)> {
    links.iter().filter_map(move |link| Some((resolve(link.from, reacher)?, resolve(link.to, reacher)?)))
}
