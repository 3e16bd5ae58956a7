//! Faults: what a strike does with madsim's means, and what its end undoes.

use std::rc::Rc;

use host::{Duration, NodeId, Span};
use models::Nudge;
use sim::{Cast, Entity, Fault, Lasts, Link, Stream, StreamPurpose, Strike, Target, What};

use crate::matching::Matching;
use crate::moments::Trigger;
use crate::service::Item;
use crate::wire::{Cut, FrameKind, Side, Slow};
use crate::world::{State, World};

/// The plan of a run and what has come of it.
#[derive(Default)]
pub(crate) struct Faults {
    pub(crate) plan: Vec<Planned>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) strikes: Vec<Strike>,
    pub(crate) details: Vec<StrikeDetail>,
    /// The message faults in force.
    pub(crate) matching: Vec<Matching>,
    /// How many things to come the run's end waits for.
    pub(crate) pending: u32,
}

pub(crate) struct Planned {
    pub(crate) fault: Rc<Fault<Nudge>>,
    stream: Option<Stream>,
}

/// What a strike's end must know.
pub(crate) struct StrikeDetail {
    pub(crate) cast: Cast,
    /// For each node it struck, which life of the process that was. `None`: there was none.
    grips: Vec<Option<u32>>,
    /// Its end is to come, and the run's end waits for it.
    counted: bool,
    /// A throttled process stands right now.
    throttle_stands: bool,
}

impl Faults {
    pub(crate) fn new(plan: Vec<Fault<Nudge>>) -> Self {
        let plan = plan.into_iter().map(|fault| Planned { fault: Rc::new(fault), stream: None });
        Self { plan: plan.collect(), ..Self::default() }
    }

    /// What is planned.
    pub(crate) fn all(&self) -> Vec<Rc<Fault<Nudge>>> {
        self.plan.iter().map(|planned| Rc::clone(&planned.fault)).collect()
    }

    /// The strikes in force of faults of which this holds.
    fn in_force(&mut self, is: impl Fn(&What<Nudge>) -> bool) -> impl Iterator<Item = &mut Strike> {
        let plan = &self.plan;
        self.strikes.iter_mut().filter(move |strike| strike.until.is_none() && is(&plan[strike.fault].fault.what))
    }
}

impl State {
    /// Something could not be handed to a process that stands still or is dead.
    pub(crate) fn count_met(&mut self, node: NodeId) {
        for strike in self.faults.in_force(What::stops_processes) {
            strike.met += u32::from(strike.nodes.contains(&node));
        }
    }

    /// Something met a strike: what its fault draws for it.
    pub(crate) fn meet(&mut self, strike: usize, span: &Span) -> Duration {
        self.faults.strikes[strike].met += 1;
        self.draw_for(strike, span)
    }

    fn draw_for(&mut self, strike: usize, span: &Span) -> Duration {
        let seed = self.seed;
        let planned = &mut self.faults.plan[self.faults.strikes[strike].fault];
        let new = || Stream::new(seed, StreamPurpose::Fault, planned.fault.entity, Entity::WORLD);
        planned.stream.get_or_insert_with(new).draw(span)
    }
}

/// Strikes.
impl World {
    /// A fault strikes.
    pub(crate) fn strike(self: &Rc<Self>, fault: usize, reacher: Option<NodeId>) {
        let planned = Rc::clone(&self.state().faults.plan[fault].fault);
        let cast = Cast { reacher, leader: None };
        let nodes = planned.what.nodes(cast);
        let strike = {
            let (from, mut state) = (self.now(), self.state_mut());
            let lives = nodes.iter().map(|node| state.node(*node)).map(|node| node.alive.then_some(node.life));
            let grips = lives.collect();
            let detail = StrikeDetail { cast, grips, counted: false, throttle_stands: false };
            state.faults.strikes.push(Strike { fault, from, until: None, nodes: nodes.clone(), met: 0 });
            state.faults.details.push(detail);
            state.faults.strikes.len() - 1
        };
        for node in nodes {
            self.strike_node(strike, node, &planned.what);
        }
        self.strike_links(strike, cast, &planned.what);
        match &planned.lasts {
            Lasts::Instant => self.undo(strike),
            Lasts::For(span) => {
                let lasts = self.state_mut().draw_for(strike, span);
                self.state_mut().faults.details[strike].counted = true;
                self.state_mut().faults.pending += 1;
                self.later(lasts, move |world| world.end(strike));
            }
            Lasts::By(..) => unreachable!("what is counted on a machine's own clock is refused"),
            Lasts::Until(_) | Lasts::ToTheEnd => {}
        }
    }

    fn strike_node(self: &Rc<Self>, strike: usize, node: NodeId, what: &What<Nudge>) {
        let is_alive = self.state().node(node).alive;
        match what {
            What::Pause(_) if is_alive => self.change_paused(node, true),
            What::Stall(_, part) if is_alive => self.begin_stall(node, *part),
            What::Throttle { run, .. } if is_alive => {
                let run = *run;
                self.later(run, move |world| world.throttle(strike, true));
            }
            What::Kill(_) => {
                self.state_mut().node_mut(node).down += 1;
                if self.kill(node) {
                    self.reset_connections_of(node);
                }
            }
            What::PowerOff(_) => {
                {
                    let state = &mut *self.state_mut();
                    let struck = state.node_mut(node);
                    struck.down += 1;
                    struck.unpowered += 1;
                    struck.disk.lose_power();
                }
                // Nobody says that its connections are gone.
                self.kill(node);
            }
            What::Cancel(_) => self.interrupt(strike, node),
            What::Shortage(_, of) => self.state_mut().node_mut(node).shortages.begin(*of),
            What::SlowDisk(_, by) => self.state_mut().node_mut(node).slow_disk.push((strike, *by)),
            What::Nudge(_, nudge) => self.hand_in(node, Item::Nudge(nudge.clone())),
            _ => {}
        }
    }

    fn strike_links(self: &Rc<Self>, strike: usize, cast: Cast, what: &What<Nudge>) {
        match what {
            What::Cut(links, held) => {
                let held = *held;
                let cuts = resolved(links, cast).map(|(from, to)| Cut { from, to, held, strike });
                self.state_mut().wires.cuts.extend(cuts);
            }
            What::Slow(links, by) => {
                let by = *by;
                let slows = resolved(links, cast).map(|(from, to)| Slow { from, to, by, strike });
                self.state_mut().wires.slows.extend(slows);
            }
            What::Reset(links) => {
                let links: Vec<_> = resolved(links, cast).collect();
                for conn in self.connections_on(&links) {
                    self.state_mut().faults.strikes[strike].met += 1;
                    for side in [Side::Client, Side::Server] {
                        self.send_from_machine(conn, side, FrameKind::Reset);
                    }
                }
            }
            What::HalfOpen { forgets, believes } => {
                let nodes = |targets: &[Target]| -> Vec<NodeId> {
                    targets.iter().filter_map(|target| target.node(cast)).collect()
                };
                self.half_open(strike, &nodes(forgets), &nodes(believes));
            }
            What::Drop(_) | What::Delay(..) => {
                self.state_mut().faults.matching.push(Matching { strike, seen: 0 });
            }
            _ => {}
        }
    }

    /// A strike's time is over.
    pub(crate) fn end(self: &Rc<Self>, strike: usize) {
        {
            let faults = &mut self.state_mut().faults;
            if std::mem::take(&mut faults.details[strike].counted) {
                faults.pending -= 1;
            }
        }
        if self.state().faults.strikes[strike].until.is_none() {
            self.undo(strike);
        }
        self.state_mut().happened();
    }

    fn undo(self: &Rc<Self>, strike: usize) {
        let until = self.now();
        let (planned, nodes, cast, grips) = {
            let faults = &mut self.state_mut().faults;
            faults.strikes[strike].until = Some(until);
            let Strike { fault, nodes, .. } = &faults.strikes[strike];
            let detail = &faults.details[strike];
            (Rc::clone(&faults.plan[*fault].fault), nodes.clone(), detail.cast, detail.grips.clone())
        };
        for (node, grip) in nodes.into_iter().zip(grips) {
            let same_life = grip == Some(self.state().node(node).life);
            self.undo_at_node(strike, node, same_life, &planned.what);
        }
        self.state_mut().faults.matching.retain(|matching| matching.strike != strike);
        self.state_mut().wires.slows.retain(|slow| slow.strike != strike);
        if let What::Cut(links, _) = &planned.what {
            let wires = &mut self.state_mut().wires;
            wires.cuts.retain(|cut| cut.strike != strike);
            for (from, to) in resolved(links, cast) {
                // What another cut holds finds that out by itself.
                wires.heal(from, to);
            }
        }
    }

    fn undo_at_node(self: &Rc<Self>, strike: usize, node: NodeId, same_life: bool, what: &What<Nudge>) {
        match what {
            What::Pause(_) if same_life => self.change_paused(node, false),
            What::Stall(_, part) if same_life => self.end_stall(node, *part),
            What::Throttle { .. } if same_life && self.is_throttled(strike) => self.change_paused(node, false),
            What::Kill(_) => {
                self.state_mut().node_mut(node).down -= 1;
                self.revive(node);
            }
            What::PowerOff(_) => {
                {
                    let mut state = self.state_mut();
                    let node = state.node_mut(node);
                    node.down -= 1;
                    node.unpowered -= 1;
                }
                self.revive(node);
            }
            What::Shortage(_, of) => self.state_mut().node_mut(node).shortages.end(*of),
            What::SlowDisk(..) => self.state_mut().node_mut(node).slow_disk.retain(|(whose, _)| *whose != strike),
            _ => {}
        }
    }
}

/// What strikes do.
impl World {
    fn is_throttled(&self, strike: usize) -> bool {
        self.state().faults.details[strike].throttle_stands
    }

    /// A throttled process stops, or runs again until the next stop.
    fn throttle(self: &Rc<Self>, strike: usize, stop: bool) {
        let (planned, node, is_over) = {
            let faults = &self.state().faults;
            let Strike { fault, until, nodes, .. } = &faults.strikes[strike];
            (Rc::clone(&faults.plan[*fault].fault), nodes[0], until.is_some())
        };
        let What::Throttle { run, stop: stands, .. } = &planned.what else { return };
        let same_life = self.state().faults.details[strike].grips[0] == Some(self.state().node(node).life);
        if is_over || !same_life {
            return;
        }
        self.state_mut().faults.details[strike].throttle_stands = stop;
        self.change_paused(node, stop);
        self.later(if stop { *stands } else { *run }, move |world| world.throttle(strike, !stop));
    }

    /// Whoever waits in that process and may be interrupted is.
    fn interrupt(&self, strike: usize, node: NodeId) {
        let mut state = self.state_mut();
        let callers = state.node(node).callers.clone();
        for caller in callers {
            state.faults.strikes[strike].met += 1;
            caller.interrupted.set(true);
            if let Some(waker) = caller.waker.take() {
                waker.wake();
            }
        }
    }

    /// The open connections that use one of these links, in either direction.
    fn connections_on(&self, links: &[(NodeId, NodeId)]) -> Vec<usize> {
        let wires = &self.state().wires;
        let uses = |conn: usize| {
            let is_open = wires.connections[conn].ends.iter().any(|end| end.open);
            is_open && [Side::Client, Side::Server].iter().any(|side| links.contains(&wires.route(conn, *side)))
        };
        (0..wires.connections.len()).filter(|conn| uses(*conn)).collect()
    }

    fn half_open(self: &Rc<Self>, strike: usize, forgets: &[NodeId], believes: &[NodeId]) {
        let connections = self.state().wires.connections.len();
        for conn in 0..connections {
            for side in [Side::Client, Side::Server] {
                let (believer, forgetter) = self.state().wires.route(conn, side.other());
                let is_open = self.state().wires.connections[conn].ends.iter().all(|end| end.open);
                if is_open && forgets.contains(&forgetter) && believes.contains(&believer) {
                    self.state_mut().faults.strikes[strike].met += 1;
                    self.state_mut().wires.connections[conn].half_open = Some(side);
                    self.send_from_machine(conn, side.other(), FrameKind::Reset);
                    break;
                }
            }
        }
    }
}

fn resolved(links: &[Link], cast: Cast) -> impl Iterator<Item = (NodeId, NodeId)> {
    links.iter().filter_map(move |link| Some((link.from.node(cast)?, link.to.node(cast)?)))
}
