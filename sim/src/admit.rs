//! One event after another: who may take it now, who must wait, and what it does.

use host::{ConnectError, Domain, NodeId, Part, Point};

use crate::core::{About, Core};
use crate::event::{Event, PacketId, Step, TimerKey, Waiting};
use crate::links::PacketKind;
use crate::outcome::RecordKind;
use crate::timers::TimerPurpose;

/// Whether a process may take an event now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Go,
    /// It stands still: the event waits.
    Held,
    /// There is no process.
    Dead,
}

impl<D: Domain> Core<D> {
    /// Lets an event happen.
    pub(crate) fn admit(&mut self, event: Event) -> Step<D::Message> {
        match event {
            Event::Leave(id) => self.admit_leave(id),
            Event::Arrive(id) => return self.admit_arrive(id),
            Event::Timer(key) => return self.admit_timer(key),
            Event::Moment { trigger, reacher, counted } => {
                self.events += 1;
                self.moment(trigger, reacher, counted);
            }
            Event::StrikeEnds(strike) => {
                self.events += 1;
                self.end(strike);
            }
            Event::Throttle { strike, stop } => {
                self.events += 1;
                self.throttle(strike, stop);
            }
        }
        Step::None
    }

    /// A program passes a named point. Whether it must stop there: it stands still, hangs or is dead.
    pub(crate) fn pass_point(&mut self, node: NodeId, life: u32, point: Point) -> bool {
        if !self.may_act(node, life) {
            return true;
        }
        if self.faults.watches_steps && !self.node(node).standing.is_still() {
            self.reach_step(node);
        }
        if self.is_life(node, life) {
            self.node_mut(node).steps += 1;
            let about = About { attempt: self.scope, ..About::default() };
            self.trace(node, RecordKind::Point, 0, about, || point.0.to_owned());
            self.reach(node, point);
        }
        let part = self.tasks.part(self.tasks.current());
        let state = self.node(node);
        !self.is_life(node, life) || state.standing.is_still() || state.is_stalled(part)
    }

    fn gate(&mut self, node: NodeId, waiting: Waiting, event: Event) -> Gate {
        let state = self.node(node);
        if self.faults.watches_steps && state.alive && !state.standing.is_still() {
            self.reach_step(node);
        }
        let state = self.node_mut(node);
        if !state.alive {
            Gate::Dead
        } else if state.standing.is_still() {
            self.hold(node, waiting, event);
            Gate::Held
        } else {
            state.steps += 1;
            Gate::Go
        }
    }

    fn admit_leave(&mut self, id: PacketId) {
        let packet = self.packet(id);
        let (life, conn, from) = (packet.life, packet.conn, packet.from);
        let (node, to) = self.route(conn, from);
        if !self.is_life(node, life) {
            self.lose(id);
            return;
        }
        match self.gate(node, Waiting::OwnWork, Event::Leave(id)) {
            Gate::Held => return,
            Gate::Dead => return self.lose(id),
            Gate::Go => self.events += 1,
        }
        self.trace_packet(id, node, to, RecordKind::Leave);
        let packet = self.packet(id);
        if let (PacketKind::Request, Some(message), Some(attempt)) = (packet.kind, &packet.message, packet.attempt)
            && let Some(note) = D::left(message, attempt)
        {
            self.note(node, note);
        }
        if self.meet_message_faults(id) {
            self.transmit(id);
        }
    }

    fn admit_arrive(&mut self, id: PacketId) -> Step<D::Message> {
        let packet = self.packet(id);
        let kind = packet.kind;
        let (from, node) = self.route(packet.conn, packet.from);
        if let Some(cut) = self.cut_between(from, node) {
            // It was on the wire when the cut came.
            self.meet_cut(id, cut);
            return Step::None;
        }
        let state = self.node(node);
        if !state.powered {
            self.count_met(node);
            self.lose(id);
            return Step::None;
        }
        if state.standing.machine() > 0 {
            // The sender's machine sends it again until the sleeper answers.
            self.hold(node, Waiting::Socket, Event::Arrive(id));
            return Step::None;
        }
        // The machine, not the process, answers who connects.
        if kind != PacketKind::Connect {
            match self.gate(node, Waiting::Socket, Event::Arrive(id)) {
                Gate::Held => return Step::None,
                Gate::Dead => self.count_met(node),
                Gate::Go if kind == PacketKind::Request && self.node(node).is_stalled(Part::REQUESTS) => {
                    self.hang(node, Part::REQUESTS, Waiting::Socket, Event::Arrive(id));
                    return Step::None;
                }
                Gate::Go => {}
            }
        }
        self.events += 1;
        self.trace_packet(id, node, from, RecordKind::Arrive);
        let packet = self.take(id);
        self.receive(packet, node)
    }

    fn admit_timer(&mut self, key: TimerKey) -> Step<D::Message> {
        let Some((node, purpose)) = self.standing_timer(key) else { return Step::None };
        if let Some(part) = self.waiting_part(purpose)
            && self.node(node).is_stalled(part)
        {
            self.hang(node, part, Waiting::Timer, Event::Timer(key));
            return Step::None;
        }
        match self.gate(node, Waiting::Timer, Event::Timer(key)) {
            Gate::Held | Gate::Dead => return Step::None,
            Gate::Go => self.events += 1,
        }
        self.trace(node, RecordKind::Timer, 0, About::default(), || purpose.name().to_owned());
        match purpose {
            TimerPurpose::Sleep(task) => {
                self.application_events += 1;
                self.mark_fired(key.slot);
                self.tasks.wake(task);
            }
            TimerPurpose::Call(slot) => self.call_timed_out(slot),
            TimerPurpose::Connect(conn) => self.opened(conn, Err(ConnectError::TimedOut)),
            TimerPurpose::Service(timer) => {
                self.cancel_service_timer(node, timer);
                return Step::Timer { node, timer };
            }
        }
        Step::None
    }

    /// The part of a client's process that waits for a timer. A service's timers are not held up by
    /// a stall of its request thread.
    fn waiting_part(&self, purpose: TimerPurpose) -> Option<Part> {
        let task = match purpose {
            TimerPurpose::Sleep(task) => Some(task),
            TimerPurpose::Call(slot) => self.call_waiter(slot),
            TimerPurpose::Connect(conn) => self.connect_waiter(conn),
            TimerPurpose::Service(_) => None,
        };
        task.map(|task| self.tasks.part(task))
    }
}
