//! What a fault does when it strikes, and what its end undoes.

use host::{Digest, Domain, Duration, Fold, NodeId, Part, Span};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::Event;
use crate::links::Slow;
use crate::matching::Matching;
use crate::outcome::{RecordKind, Strike};
use crate::packets::PacketKind;
use crate::plan::{Cast, Fault, Lasts, Link, Target, What, When};
use crate::stream::{Entity, Stream, StreamPurpose};
use crate::timers::TimerPurpose;
use crate::triggers::Trigger;
use crate::wire::Cut;

pub(crate) struct Faults<N> {
    pub(crate) plan: Vec<FaultState<N>>,
    pub(crate) triggers: Vec<Trigger>,
    pub(crate) strikes: Vec<Strike>,
    /// What each strike's end must know.
    details: Vec<StrikeDetail>,
    /// The message faults in force.
    pub(crate) matching: Vec<Matching>,
    /// How many things in the queue the run's end waits for.
    pub(crate) pending: u32,
    /// How many triggers wait for a milestone.
    pub(crate) awaited_milestones: u32,
    pub(crate) watches_steps: bool,
}

pub(crate) struct FaultState<N> {
    entity: Entity,
    pub(crate) what: What<N>,
    pub(crate) when: When,
    pub(crate) lasts: Lasts,
    stream: Option<Stream>,
}

impl<N> Default for Faults<N> {
    fn default() -> Self {
        Self {
            plan: Vec::new(),
            triggers: Vec::new(),
            strikes: Vec::new(),
            details: Vec::new(),
            matching: Vec::new(),
            pending: 0,
            awaited_milestones: 0,
            watches_steps: false,
        }
    }
}

impl<N> Faults<N> {
    /// Back to the beginning: only the plan stays.
    pub(crate) fn reset(&mut self) {
        let Self { plan, triggers, strikes, details, matching, pending, awaited_milestones, watches_steps } = self;
        plan.iter_mut().for_each(|fault| fault.stream = None);
        triggers.iter_mut().for_each(Trigger::reset);
        strikes.clear();
        details.clear();
        matching.clear();
        (*pending, *awaited_milestones, *watches_steps) = (0, 0, false);
    }
}

impl<N> FaultState<N> {
    pub(crate) fn new(fault: Fault<N>) -> Self {
        let Fault { entity, what, when, lasts } = fault;
        Self { entity, what, when, lasts, stream: None }
    }
}

/// What a strike's end must know.
#[derive(Default)]
struct StrikeDetail {
    cast: Cast,
    /// For each node it struck, which life of the process or of the machine that was: a later one is not
    /// its business. `None`: there was none.
    grips: Vec<Option<u32>>,
    /// Its end is in the queue, and the run's end waits for it.
    counted: bool,
    /// A throttled process stands right now.
    throttle_stands: bool,
}

impl<D: Domain> Core<D> {
    /// A fault strikes.
    pub(crate) fn strike(&mut self, fault: usize, reacher: Option<NodeId>) {
        let (what, lasts) = (self.faults.plan[fault].what.clone(), self.faults.plan[fault].lasts.clone());
        let strike = self.faults.strikes.len();
        let cast = Cast { reacher, leader: self.leader() };
        let nodes = what.nodes(cast);
        let place = nodes.first().copied().unwrap_or_default();
        let mut digest = Fold::new(fault as u64);
        what.name().digest(&mut digest);
        nodes.digest(&mut digest);
        if let What::Nudge(_, nudge) = &what {
            nudge.digest(&mut digest);
        }
        self.faults.strikes.push(Strike { fault, from: self.now, until: None, nodes: nodes.clone(), met: 0 });
        self.faults.details.push(StrikeDetail { cast, ..StrikeDetail::default() });
        let about = About { fault: Some(fault), ..About::default() };
        self.trace(place, RecordKind::Fault, digest.value(), about, || what.name().to_owned());
        for node in nodes {
            self.strike_node(strike, node, &what);
        }
        self.strike_links(strike, cast, &what);
        match lasts {
            Lasts::Instant => self.undo(strike),
            Lasts::For(span) => {
                let lasts = self.draw_for_strike(strike, &span);
                self.faults.details[strike].counted = true;
                self.faults.pending += 1;
                self.queue.push(self.now + lasts, Event::StrikeEnds(strike));
            }
            Lasts::By(clock, span) => {
                let lasts = self.draw_for_strike(strike, &span);
                self.faults.details[strike].counted = true;
                self.faults.pending += 1;
                let reads = clock.at(self.node(place).clock(), self.now);
                self.arm(place, TimerPurpose::StrikeEnds(strike), clock.deadline(reads + lasts));
            }
            Lasts::Until(_) | Lasts::ToTheEnd => {}
        }
    }

    fn strike_node(&mut self, strike: usize, node: NodeId, what: &What<D::Nudge>) {
        let state = self.node(node);
        // Where nothing lives, nothing can be made to stand still, not even later.
        let grip = match what {
            What::Pause(_) | What::Stall(..) | What::Throttle { .. } | What::Nudge(..) => {
                state.alive.then_some(state.life)
            }
            What::MachineSleep(_) | What::VmStop(_) => state.is_powered().then_some(state.outages),
            _ => Some(0),
        };
        self.faults.details[strike].grips.push(grip);
        if grip.is_none() {
            return;
        }
        let state = self.node_mut(node);
        match what {
            What::Pause(_) => self.change_standing(node, |standing| standing.paused += 1),
            What::MachineSleep(_) => self.change_standing(node, |standing| standing.asleep += 1),
            What::VmStop(_) => self.change_standing(node, |standing| standing.stopped += 1),
            What::Kill(_) => {
                state.down += 1;
                self.kill(node);
            }
            What::Shutdown(_) => {
                state.down += 1;
                let (life, alive) = (state.life, state.alive);
                if alive {
                    self.queue.push(self.now, Event::Stop { node, life });
                }
            }
            What::PowerOff(_) => {
                state.down += 1;
                state.unpowered += 1;
                self.power_off(node);
            }
            What::Restore(..) => {
                state.down += 1;
                self.kill(node);
                self.put_back(strike, node);
            }
            What::Cancel(_) => self.faults.strikes[strike].met += self.interrupt(node),
            What::Stall(_, part) => self.begin_stall(node, *part),
            What::Throttle { run, .. } => {
                self.queue.push(self.now + *run, Event::Throttle { strike, stop: true });
            }
            What::StepClock(_, by) => {
                let by = *by;
                self.change_clock(node, |clock| clock.wall = clock.wall.saturating_add(by));
            }
            What::ClockRate(_, rate) => {
                state.rates.push((strike, *rate));
                self.follow_rate(node);
            }
            What::Shortage(_, of) => state.shortages.begin(*of),
            What::SlowDisk(_, by) => state.slow_disk.push((strike, *by)),
            What::Nudge(..) => {
                let life = state.life;
                self.queue.push(self.now, Event::Nudge { strike, node, life });
            }
            What::Cut(..)
            | What::Slow(..)
            | What::Reset(..)
            | What::HalfOpen { .. }
            | What::Drop(..)
            | What::Delay(..) => {}
        }
    }

    /// The moment of a fault's backup: what the disks have now that it will put back.
    pub(crate) fn back_up(&mut self, fault: usize) {
        let nodes = self.faults.plan[fault].what.nodes(Cast::default());
        for node in nodes {
            let records = self.node(node).disk.back_up();
            self.backups.push((fault, node, records));
        }
    }

    /// The disk is as it was when the fault's backup was made, if that was before.
    fn put_back(&mut self, strike: usize, node: NodeId) {
        let fault = self.faults.strikes[strike].fault;
        let backup = self.backups.iter().find(|(of, whose, _)| (*of, *whose) == (fault, node));
        if let Some(records) = backup.map(|(.., records)| records.clone()) {
            self.node_mut(node).disk.restore(records);
        }
    }

    /// All clocks of the machine run at the rate for which the last strike in force asks.
    fn follow_rate(&mut self, node: NodeId) {
        let state = self.node(node);
        let rate = state.rates.last().map_or(state.spec.rate, |(_, rate)| *rate);
        self.change_clock(node, |clock| clock.rate = rate);
    }

    fn strike_links(&mut self, strike: usize, cast: Cast, what: &What<D::Nudge>) {
        match what {
            What::Cut(links, held) => {
                let held = *held;
                self.links.cuts.extend(resolved(links, cast).map(|(from, to)| Cut { from, to, held, strike }));
            }
            What::Slow(links, by) => {
                let by = *by;
                self.links.slows.extend(resolved(links, cast).map(|(from, to)| Slow { from, to, by, strike }));
            }
            What::Reset(links) => {
                let links: Vec<_> = resolved(links, cast).collect();
                self.reset_connections(strike, &links);
            }
            What::HalfOpen { forgets, believes } => {
                let nodes = |targets: &[Target]| -> Vec<NodeId> {
                    targets.iter().filter_map(|target| target.node(cast)).collect()
                };
                self.half_open(strike, &nodes(forgets), &nodes(believes));
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
        let fault = self.faults.strikes[strike].fault;
        let place = self.faults.strikes[strike].nodes.first().copied().unwrap_or_default();
        let about = About { fault: Some(fault), ..About::default() };
        let name = self.faults.plan[fault].what.name();
        self.trace(place, RecordKind::FaultEnd, strike as u64, about, || name.to_owned());
        self.undo(strike);
    }

    /// The strike is in force no more.
    fn undo(&mut self, strike: usize) {
        self.faults.strikes[strike].until = Some(self.now);
        let what = self.faults.plan[self.faults.strikes[strike].fault].what.clone();
        let nodes = self.faults.strikes[strike].nodes.clone();
        let grips = std::mem::take(&mut self.faults.details[strike].grips);
        for (node, grip) in nodes.into_iter().zip(grips) {
            self.undo_at_node(strike, node, grip, &what);
        }
        self.undo_on_links(strike, &what);
    }

    fn undo_at_node(&mut self, strike: usize, node: NodeId, grip: Option<u32>, what: &What<D::Nudge>) {
        let state = self.node(node);
        let same_life = grip == Some(state.life);
        let same_power = grip == Some(state.outages);
        let stands = std::mem::take(&mut self.faults.details[strike].throttle_stands);
        let state = self.node_mut(node);
        match what {
            What::Pause(_) if same_life => self.change_standing(node, |standing| standing.paused -= 1),
            What::MachineSleep(_) if same_power => self.change_standing(node, |standing| standing.asleep -= 1),
            What::VmStop(_) if same_power => self.change_standing(node, |standing| standing.stopped -= 1),
            What::Kill(_) | What::Shutdown(_) | What::Restore(..) => {
                state.down -= 1;
                self.revive(node);
            }
            What::PowerOff(_) => {
                state.down -= 1;
                state.unpowered -= 1;
                self.revive(node);
            }
            What::Stall(_, part) if same_life => self.end_stall(node, *part),
            What::Throttle { .. } if same_life && stands => {
                self.change_standing(node, |standing| standing.paused -= 1);
            }
            What::Shortage(_, of) => state.shortages.end(*of),
            What::SlowDisk(..) => state.slow_disk.retain(|(whose, _)| *whose != strike),
            What::ClockRate(..) => {
                state.rates.retain(|(whose, _)| *whose != strike);
                self.follow_rate(node);
            }
            _ => {}
        }
    }

    fn undo_on_links(&mut self, strike: usize, what: &What<D::Nudge>) {
        match what {
            What::Cut(links, _) => {
                let cast = self.faults.details[strike].cast;
                self.links.cuts.retain(|cut| cut.strike != strike);
                for (from, to) in resolved(links, cast) {
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
        if self.faults.details[strike].grips[0] != Some(self.node(node).life) {
            return;
        }
        self.faults.details[strike].throttle_stands = stop;
        self.change_standing(node, |standing| if stop { standing.paused += 1 } else { standing.paused -= 1 });
        self.queue.push(self.now + wait, Event::Throttle { strike, stop: !stop });
    }

    /// What that strike does inside a service.
    pub(crate) fn nudge(&self, strike: usize) -> D::Nudge {
        match &self.faults.plan[self.faults.strikes[strike].fault].what {
            What::Nudge(_, nudge) => nudge.clone(),
            other => unreachable!("a {} nudges no service", other.name()),
        }
    }

    /// Something could not be handed to a process that stands still or is dead: the strikes in force that
    /// keep it so have met it.
    #[cold]
    pub(crate) fn count_met(&mut self, node: NodeId) {
        let Faults { strikes, plan, .. } = &mut self.faults;
        for strike in strikes {
            if strike.until.is_none() && strike.nodes.contains(&node) && plan[strike.fault].what.stops_processes() {
                strike.met += 1;
            }
        }
    }

    /// Who played the roles when a strike began.
    pub(crate) fn cast(&self, strike: usize) -> Cast {
        self.faults.details[strike].cast
    }

    /// The service that leads: of several, the one that began last.
    fn leader(&self) -> Option<NodeId> {
        let leading = self.nodes.iter().filter_map(|node| Some((node.leads?, node.id)));
        leading.max().map(|(_, node)| node)
    }

    /// A draw of a strike's fault: the same in every world that has a fault of that name.
    pub(crate) fn draw_for_strike(&mut self, strike: usize, span: &Span) -> Duration {
        let seed = self.seed;
        let state = &mut self.faults.plan[self.faults.strikes[strike].fault];
        let entity = state.entity;
        let new = || Stream::new(seed, StreamPurpose::Fault, entity, Entity::WORLD);
        state.stream.get_or_insert_with(new).draw(span)
    }

    fn reset_connections(&mut self, strike: usize, links: &[(NodeId, NodeId)]) {
        for conn in 0..self.connections.all.len() {
            let ends = &self.connections.all[conn].ends;
            let is_open = ends[0].open || ends[1].open;
            // A connection uses both directions; it is reset once.
            let uses = |side| links.contains(&self.route(conn, side));
            if is_open && (uses(Side::Client) || uses(Side::Server)) {
                self.faults.strikes[strike].met += 1;
                for side in [Side::Client, Side::Server] {
                    self.send_from_machine(conn, side, PacketKind::Reset);
                }
            }
        }
    }
}

impl<D: Domain> Core<D> {
    /// A service has synced its disk in this step: while the disk is slow, its request thread waits, and what
    /// it has decided in the step with it.
    pub(crate) fn wait_for_disk(&mut self, node: NodeId) {
        let wait = self.time_to_sync(node);
        if !wait.is_zero() {
            self.begin_stall(node, Part::REQUESTS);
            let now = self.now;
            let state = self.node_mut(node);
            // A timer's step may sync while another sync lasts, and says nothing before what was said then.
            let until = (now + wait).max(state.syncing_until);
            (state.busy_until, state.syncing_until) = (until, until);
            let life = state.life;
            self.queue.push(until, Event::Synced { node, life });
        }
    }

    /// A service has begun to sync its disk beside its requests, which do not wait.
    pub(crate) fn sync_aside(&mut self, node: NodeId) {
        let wait = self.time_to_sync(node);
        let state = self.node_mut(node);
        if wait.is_zero() {
            state.disk.end_sync_aside();
        } else {
            let outages = state.outages;
            self.queue.push(self.now + wait, Event::SyncedAside { node, outages });
        }
    }

    /// How long a sync takes that begins now: while the disk is slow, it is met.
    fn time_to_sync(&mut self, node: NodeId) -> Duration {
        let mut wait = Duration::ZERO;
        for (strike, by) in self.node(node).slow_disk.clone() {
            self.faults.strikes[strike].met += 1;
            wait += self.draw_for_strike(strike, &by);
        }
        wait
    }

    fn half_open(&mut self, strike: usize, forgets: &[NodeId], believes: &[NodeId]) {
        for conn in 0..self.connections.all.len() {
            for side in [Side::Client, Side::Server] {
                let (believer, forgetter) = self.route(conn, side.other());
                let [one, other] = &self.connections.all[conn].ends;
                if one.open && other.open && forgets.contains(&forgetter) && believes.contains(&believer) {
                    self.faults.strikes[strike].met += 1;
                    self.connections.all[conn].half_open = Some(side);
                    self.send_from_machine(conn, side.other(), PacketKind::Reset);
                    break;
                }
            }
        }
    }
}

fn resolved(links: &[Link], cast: Cast) -> impl Iterator<Item = (NodeId, NodeId)> {
    links.iter().filter_map(move |link| Some((link.from.node(cast)?, link.to.node(cast)?)))
}
