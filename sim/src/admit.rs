//! One event after another: who may take it now, who must wait, and what it does.

use host::{ConnectError, Digest, Domain, NodeId, Part, Point};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, PacketId, Step, TimerKey, Waiting};
use crate::node::Role;
use crate::outcome::RecordKind;
use crate::packets::{Header, PacketKind};
use crate::timers::TimerPurpose;

/// Whether a process may take an event now.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Go,
    /// It stands still, or the part hangs: the event waits.
    Held,
    /// There is no process.
    Dead,
}

impl<D: Domain> Core<D> {
    /// Lets an event happen.
    pub(crate) fn admit(&mut self, event: Event) -> Step {
        match event {
            Event::Leave(id) => self.admit_leave(id),
            Event::Send(id) => self.transmit_late(id),
            Event::Arrive(id) => return self.admit_arrive(id),
            Event::Read(id) => return self.admit_read(id),
            Event::Timer(key) => return self.admit_timer(key),
            Event::Nudge { strike, node, life } => {
                if self.is_attended_to(node, life, event) {
                    return Step::Nudge { node, strike };
                }
            }
            Event::Stop { node, life } => {
                if self.is_attended_to(node, life, event) {
                    return Step::Stop { node };
                }
            }
            Event::Exit { node, life } => {
                if self.is_attended_to(node, life, event) {
                    self.exit(node);
                }
            }
            Event::Synced { node, life } => {
                if self.is_life(node, life) {
                    self.end_stall(node, Part::REQUESTS);
                }
            }
            Event::SyncedAside { node, outages } => {
                let state = self.node_mut(node);
                if state.outages == outages {
                    state.disk.end_sync_aside();
                }
            }
            Event::Moment { trigger, reacher, counted } => {
                self.events += 1;
                self.moment(trigger, reacher, counted);
            }
            Event::Gone { conn, side } => return self.admit_gone(conn, side),
            Event::BackUp(fault) => self.back_up(fault),
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
        let part = self.tasks.part(self.tasks.current());
        if self.faults.watches_steps {
            self.watch_step(node, Some(part));
            if !self.is_life(node, life) {
                return true;
            }
        }
        self.node_mut(node).steps += 1;
        let about = About { attempt: self.scope, ..About::default() };
        self.trace(node, RecordKind::Point, point.0.digested(), about, || point.0.to_owned());
        if self.faults.awaited_milestones > 0 {
            self.reach(node, point);
        }
        let state = self.node(node);
        !state.at_ease && (!state.alive || state.holds_up(Some(part))) || state.life != life
    }

    /// Whether the process, and that part of it, may take an event now; if not, the event waits.
    #[inline]
    fn gate(&mut self, node: NodeId, part: Option<Part>, order: Waiting, event: Event) -> Gate {
        // Nearly always nothing is in the way; what may be is kept apart, so that this costs next to nothing.
        let watched = self.faults.watches_steps;
        let state = self.node_mut(node);
        if watched || !state.at_ease {
            return self.guarded_gate(node, part, order, event);
        }
        state.steps += 1;
        Gate::Go
    }

    #[cold]
    #[inline(never)]
    fn guarded_gate(&mut self, node: NodeId, part: Option<Part>, order: Waiting, event: Event) -> Gate {
        self.watch_step(node, part);
        let state = self.node_mut(node);
        if !state.alive {
            Gate::Dead
        } else if state.holds_up(part) {
            self.hold(node, part, order, event);
            Gate::Held
        } else {
            state.steps += 1;
            Gate::Go
        }
    }

    /// Faults may strike before a step that is about to be taken.
    #[cold]
    #[inline(never)]
    fn watch_step(&mut self, node: NodeId, part: Option<Part>) {
        if self.faults.watches_steps && self.node(node).alive && !self.node(node).holds_up(part) {
            self.reach_step(node);
        }
    }

    fn admit_leave(&mut self, id: PacketId) {
        let Header { sender: node, life, kind, attempt, .. } = *self.packets.header(id);
        let watched = self.faults.watches_steps;
        let state = self.node_mut(node);
        if !watched && state.at_ease && state.life == life {
            state.steps += 1;
        } else if !self.may_leave(id) {
            return;
        }
        self.events += 1;
        self.messages += u64::from(kind.carries_data());
        self.trace_packet(id, RecordKind::Leave);
        if let (PacketKind::Request, Some(message), Some(attempt)) = (kind, self.packets.message(id), attempt)
            && self.node(node).role == Role::Client
            && let Some(note) = D::left(message, attempt)
        {
            self.note(node, note);
        }
        if self.faults.matching.is_empty() || self.meet_message_faults(id) {
            self.transmit(id);
        }
    }

    /// Whether a packet leaves although something may be in the way. If not, it waits or is lost.
    #[cold]
    #[inline(never)]
    fn may_leave(&mut self, id: PacketId) -> bool {
        let Header { sender: node, life, part, .. } = *self.packets.header(id);
        if self.is_life(node, life) {
            if self.gate(node, part, Waiting::OwnWork, Event::Leave(id)) == Gate::Held {
                return false;
            }
            // A fault may have struck before this step.
            if self.is_life(node, life) {
                return true;
            }
        }
        self.lose(id);
        false
    }

    #[inline]
    fn admit_arrive(&mut self, id: PacketId) -> Step {
        let Header { conn, from, receiver: node, kind, place, .. } = *self.packets.header(id);
        let way = &mut self.connections.all[conn].ways[from as usize];
        let state = &mut self.nodes[node.index()];
        if self.links.cuts.is_empty() && !self.faults.watches_steps && state.at_ease && way.pass_next(place, self.now) {
            // Nothing is in the way, as nearly always. It is the machine that answers who connects.
            state.steps += u32::from(kind != PacketKind::Connect);
            return self.take_in(id);
        }
        self.arrive_among_faults(id)
    }

    #[inline(never)]
    fn arrive_among_faults(&mut self, id: PacketId) -> Step {
        let Header { sender, receiver: node, .. } = *self.packets.header(id);
        if self.is_lost(id) {
            self.lose(id);
        } else if let Some(cut) = self.cut_between(sender, node) {
            // It was on the wire when the cut came.
            self.meet_cut(id, cut);
        } else if !self.node(node).is_powered() {
            self.count_met(node);
            self.lose(id);
        } else if self.node(node).standing.machine() > 0 {
            // The sender's machine sends it again until the sleeper answers.
            self.is_not_acknowledged(id);
            self.hold(node, None, Waiting::Socket, Event::Arrive(id));
        } else if self.arrives_in_turn(id) {
            return self.admit_read(id);
        }
        Step::None
    }

    /// A message is in the socket: no cut can touch it any more.
    #[inline(never)]
    fn admit_read(&mut self, id: PacketId) -> Step {
        let Header { receiver: node, kind, from, .. } = *self.packets.header(id);
        // The machine, not the process, answers who connects.
        if kind != PacketKind::Connect {
            // Whatever comes to a service, from whichever side, its one thread attends to.
            let is_service = from == Side::Client || matches!(self.node(node).role, Role::Service { .. });
            let part = is_service.then_some(Part::REQUESTS);
            if self.gate(node, part, Waiting::Socket, Event::Read(id)) == Gate::Held {
                return Step::None;
            }
        }
        self.take_in(id)
    }

    /// A packet arrives at who is to get it.
    #[inline(always)]
    fn take_in(&mut self, id: PacketId) -> Step {
        self.events += 1;
        self.trace_packet(id, RecordKind::Arrive);
        self.receive(id)
    }

    fn admit_timer(&mut self, key: TimerKey) -> Step {
        let (node, purpose) = self.comes_due(key);
        if let TimerPurpose::StrikeEnds(strike) = purpose {
            self.disarm(key.slot());
            self.end(strike);
            return Step::None;
        }
        if let TimerPurpose::KeepAlive { conn, side } = purpose {
            self.ask_whether_there(conn as usize, side);
            return Step::None;
        }
        let part = self.waiting_part(purpose);
        if self.gate(node, part, Waiting::Timer, Event::Timer(key)) != Gate::Go || !self.is_due(key) {
            return Step::None;
        }
        self.events += 1;
        self.trace(node, RecordKind::Timer, purpose.digest(), About::default(), || purpose.name().to_owned());
        match purpose {
            TimerPurpose::Sleep(task) => {
                self.application_events += 1;
                self.mark_fired(key.slot());
                self.tasks.wake(task);
            }
            TimerPurpose::Call(slot) => self.call_timed_out(slot),
            TimerPurpose::Connect(conn) => self.opened(conn, Err(ConnectError::TimedOut)),
            TimerPurpose::KeepAlive { .. } | TimerPurpose::StrikeEnds(_) => {
                unreachable!("it is the machine's, and waits for no process")
            }
            TimerPurpose::Service(timer) => {
                self.cancel_service_timer(node, timer);
                return Step::Timer { node, timer };
            }
        }
        Step::None
    }

    /// Whether the process, and that part of it, takes in now what its machine has for it; if not, the event waits.
    pub(crate) fn takes_in(&mut self, node: NodeId, part: Part, event: Event) -> bool {
        self.gate(node, Some(part), Waiting::Socket, event) == Gate::Go
    }

    /// Whether that life of the process attends to this now: its acting part does, when it is its turn.
    fn is_attended_to(&mut self, node: NodeId, life: u32, event: Event) -> bool {
        let part = match self.node(node).role {
            Role::Client => Part::WORKER,
            Role::Service { .. } => Part::REQUESTS,
        };
        let attends = self.is_life(node, life)
            && self.gate(node, Some(part), Waiting::OwnWork, event) == Gate::Go
            // A fault may have struck before this step.
            && self.is_life(node, life);
        self.events += u64::from(attends);
        attends
    }

    /// The part of a client's process that waits for a timer. A service's timers are not held up by
    /// a stall of its request thread.
    fn waiting_part(&self, purpose: TimerPurpose) -> Option<Part> {
        let task = match purpose {
            TimerPurpose::Sleep(task) => Some(task),
            TimerPurpose::Call(slot) => self.call_waiter(slot),
            TimerPurpose::Connect(conn) => self.connect_waiter(conn),
            TimerPurpose::Service(_) | TimerPurpose::KeepAlive { .. } | TimerPurpose::StrikeEnds(_) => None,
        };
        task.map(|task| self.tasks.part(task))
    }
}
