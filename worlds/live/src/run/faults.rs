//! Faults: what a strike does with signals, and what its end undoes.

use host::{Duration, NodeId, SimTime, Span};
use models::Nudge;
use sim::{Cast, Entity, Lasts, Stream, StreamPurpose, Strike, What};

use super::Coordinator;
use super::moments::Due;
use crate::line::Order;

/// What a strike's end must know.
pub(crate) struct Grip {
    /// For each node it struck, which life of the process that was. `None`: there was none.
    lives: Vec<Option<u32>>,
    /// Its end is to come, and the run's end waits for it.
    counted: bool,
    /// A throttled process stands right now.
    stands: bool,
}

impl Coordinator {
    /// A fault strikes.
    pub(super) fn strike(&mut self, fault: usize, reacher: Option<NodeId>) {
        let (what, lasts) = (self.faults[fault].what.clone(), self.faults[fault].lasts.clone());
        let nodes = what.nodes(Cast { reacher, leader: self.find_leader() });
        let (strike, from) = (self.strikes.len(), self.now());
        let lives = nodes.iter().map(|node| self.nodes[node.index()].living()).collect();
        self.grips.push(Grip { lives, counted: false, stands: false });
        self.strikes.push(Strike { fault, from, until: None, nodes: nodes.clone(), met: 0 });
        for node in nodes {
            self.strike_node(strike, node, &what);
        }
        self.meddle(strike, &what, reacher);
        match lasts {
            Lasts::Instant => self.undo(strike),
            Lasts::For(span) => {
                let lasts = self.draw(fault, &span);
                self.grips[strike].counted = true;
                self.pending += 1;
                self.queue(self.now() + lasts, Due::Over(strike));
            }
            // By another clock: refused.
            Lasts::By(..) | Lasts::Until(_) | Lasts::ToTheEnd => {}
        }
    }

    /// What a fault draws next.
    pub(super) fn draw(&mut self, fault: usize, span: &Span) -> Duration {
        let entity = self.faults[fault].entity;
        let new = || Stream::new(self.seed, StreamPurpose::Fault, entity, Entity::WORLD);
        self.streams[fault].get_or_insert_with(new).draw(span)
    }

    fn strike_node(&mut self, strike: usize, node: NodeId, what: &What<Nudge>) {
        let is_alive = self.nodes[node.index()].is_alive;
        match what {
            What::Pause(_) if is_alive => self.change_paused(node, true),
            What::Throttle { run, .. } if is_alive => {
                self.queue(self.now() + *run, Due::Throttle { strike, stop: true });
            }
            What::Kill(_) | What::Shutdown(_) => {
                // Its peers hold connections to it, which break.
                let has_peers = self.kinds.get(node.index()).is_some_and(|kind| kind.talks());
                self.strikes[strike].met += u32::from(is_alive && has_peers);
                self.bring_down(node, matches!(what, What::Kill(_)));
            }
            What::Stall(_, part) if is_alive => self.change_stalled(node, *part, true),
            What::StepClock(_, by) => self.step_clock(node, *by),
            What::Nudge(_, Nudge::Promote) if is_alive => self.promote(node),
            What::Cancel(_) if is_alive => self.order(node, &Order::Interrupt { strike }),
            _ => {}
        }
    }

    /// A strike's time is over.
    pub(super) fn end(&mut self, strike: usize) {
        if std::mem::take(&mut self.grips[strike].counted) {
            self.pending -= 1;
        }
        if self.strikes[strike].until.is_none() {
            self.undo(strike);
        }
    }

    fn undo(&mut self, strike: usize) {
        self.strikes[strike].until = Some(self.now());
        let what = self.faults[self.strikes[strike].fault].what.clone();
        self.leave_be(strike, &what);
        for i in 0..self.strikes[strike].nodes.len() {
            let (node, life) = (self.strikes[strike].nodes[i], self.grips[strike].lives[i]);
            let same_life = life.is_some() && life == self.nodes[node.index()].living();
            match what {
                What::Pause(_) if same_life => self.change_paused(node, false),
                What::Stall(_, part) if same_life => self.change_stalled(node, part, false),
                What::Throttle { .. } if same_life && self.grips[strike].stands => self.change_paused(node, false),
                What::Kill(_) | What::Shutdown(_) => self.let_up(node),
                _ => {}
            }
        }
    }

    /// A throttled process stops, or runs again until the next stop.
    pub(super) fn throttle(&mut self, strike: usize, stop: bool) {
        let Strike { fault, until, ref nodes, .. } = self.strikes[strike];
        let What::Throttle { run, stop: stands, .. } = &self.faults[fault].what else { return };
        let (node, wait) = (nodes[0], if stop { *stands } else { *run });
        let living = self.nodes[node.index()].living();
        if until.is_some() || living.is_none() || self.grips[strike].lives[0] != living {
            return;
        }
        self.grips[strike].stands = stop;
        self.change_paused(node, stop);
        self.queue(self.now() + wait, Due::Throttle { strike, stop: !stop });
    }

    /// A message is on its way to that node: it meets what keeps it from being read.
    pub(super) fn meet(&mut self, node: NodeId) {
        let faults = &self.faults;
        let in_force = |strike: &&mut Strike| strike.until.is_none() && strike.nodes.contains(&node);
        for strike in self.strikes.iter_mut().filter(in_force) {
            strike.met += u32::from(faults[strike.fault].what.stops_processes());
        }
    }

    /// So many have met it: who waited when an interrupt came, or a message that was lost.
    pub(super) fn met(&mut self, strike: usize, by: u32) {
        if let Some(strike) = self.strikes.get_mut(strike) {
            strike.met += by;
        }
    }

    /// What is in force of faults ends with the run, and is told as going on.
    pub(super) fn strikes_until(&mut self, end: SimTime) -> Vec<Strike> {
        let mut strikes = std::mem::take(&mut self.strikes);
        strikes.retain(|strike| strike.from <= end);
        for strike in &mut strikes {
            strike.until = strike.until.filter(|until| *until <= end);
        }
        strikes
    }
}
