//! A process stands still, runs on, dies, starts again; and what waits for it meanwhile.

use host::{Domain, NodeId, Part, Segment};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, Waiting};
use crate::links::PacketKind;
use crate::node::{Role, Standing};
use crate::outcome::RecordKind;

impl<D: Domain> Core<D> {
    /// A process begins or ceases to stand still; its machine's clocks follow.
    pub(crate) fn change_standing(&mut self, node: NodeId, change: impl FnOnce(&mut Standing)) {
        let state = self.node_mut(node);
        let before = state.standing;
        change(&mut state.standing);
        let after = state.standing;
        if before.ticking() != after.ticking() {
            self.change_clock(node, |clock| clock.ticking = after.ticking());
        }
        self.record_activity(node);
        if before.is_still() && !after.is_still() {
            self.resume(node);
        }
    }

    /// A machine's clocks change: a new segment begins, and its timers are due at other true times.
    pub(crate) fn change_clock(&mut self, node: NodeId, change: impl FnOnce(&mut Segment)) {
        let now = self.now;
        let clocks = &mut self.node_mut(node).clocks;
        let mut segment = clocks.last().expect("a node has clocks from the start").carried_to(now);
        change(&mut segment);
        clocks.push(segment);
        self.rearm(node);
    }

    /// What waited is taken up in order: the process's own work, then its socket, then its timers.
    fn resume(&mut self, node: NodeId) {
        let state = self.node_mut(node);
        let (parked, mut backlog) = (std::mem::take(&mut state.parked), std::mem::take(&mut state.backlog));
        self.tasks.wake_all(parked);
        backlog.sort_by_key(|(waiting, _)| *waiting);
        for (_, event) in backlog {
            self.requeue(event);
        }
    }

    /// One part of a process hangs.
    pub(crate) fn begin_stall(&mut self, node: NodeId, part: Part) {
        self.node_mut(node).stalled.push(part);
        self.record_activity(node);
    }

    /// One part of a process no longer hangs.
    pub(crate) fn end_stall(&mut self, node: NodeId, part: Part) {
        let state = self.node_mut(node);
        let Some(place) = state.stalled.iter().position(|other| *other == part) else { return };
        state.stalled.remove(place);
        if state.is_stalled(part) {
            return;
        }
        self.record_activity(node);
        let state = self.node_mut(node);
        let tasks: Vec<_> =
            state.hung_tasks.extract_if(.., |(whose, _)| *whose == part).map(|(_, task)| task).collect();
        let mut events: Vec<_> = state.hung.extract_if(.., |(whose, ..)| *whose == part).collect();
        self.tasks.wake_all(tasks);
        events.sort_by_key(|(_, waiting, _)| *waiting);
        for (_, _, event) in events {
            self.requeue(event);
        }
    }

    fn requeue(&mut self, event: Event) {
        match event {
            Event::Timer(key) => self.unhold_timer(key),
            event => {
                self.queue.push(self.now, event);
            }
        }
    }

    /// The event waits until the process runs again.
    pub(crate) fn hold(&mut self, node: NodeId, waiting: Waiting, event: Event) {
        self.count_met(node);
        self.node_mut(node).backlog.push((waiting, event));
        if let Event::Timer(key) = event {
            self.hold_timer(key);
        }
    }

    /// The event waits until the part no longer hangs.
    pub(crate) fn hang(&mut self, node: NodeId, part: Part, waiting: Waiting, event: Event) {
        self.count_met(node);
        self.node_mut(node).hung.push((part, waiting, event));
        if let Event::Timer(key) = event {
            self.hold_timer(key);
        }
    }

    /// The process dies. It is marked dead first; its futures are dropped afterwards, so that
    /// whatever their `Drop` code does has no effect. Its connections are reset behind what it sent.
    pub(crate) fn kill(&mut self, node: NodeId) {
        if self.end_life(node) {
            for conn in 0..self.connections.all.len() {
                for side in [Side::Client, Side::Server] {
                    let end = &mut self.connections.all[conn].ends[side as usize];
                    if end.node == node && end.open {
                        end.open = false;
                        self.send_from_machine(conn, side, PacketKind::Reset);
                    }
                }
            }
        }
    }

    /// The machine loses power: it says nothing, and its disk loses what was not synced.
    pub(crate) fn power_off(&mut self, node: NodeId) {
        self.end_life(node);
        let state = self.node_mut(node);
        state.powered = false;
        state.disk.lose_power();
    }

    /// Whether there was a life to end.
    fn end_life(&mut self, node: NodeId) -> bool {
        let state = self.node_mut(node);
        if !state.alive {
            return false;
        }
        state.alive = false;
        state.life += 1;
        state.standing.paused = 0;
        state.stalled.clear();
        state.parked.clear();
        state.hung_tasks.clear();
        let waiting = state.backlog.drain(..).map(|(_, event)| event);
        let lost: Vec<Event> = waiting.chain(state.hung.drain(..).map(|(_, _, event)| event)).collect();
        for event in lost {
            if let Event::Leave(id) | Event::Arrive(id) = event {
                self.lose(id);
            }
        }
        self.disarm_all(node);
        self.forget_calls(node);
        self.client_finished(node);
        self.record_activity(node);
        self.dying.push(node);
        true
    }

    /// The process starts again, from what its disk holds.
    pub(crate) fn restart(&mut self, node: NodeId) {
        let state = self.node_mut(node);
        state.alive = true;
        state.powered = true;
        if state.role == Role::Client {
            state.unfinished = true;
            self.unfinished_clients += 1;
        }
        self.record_activity(node);
        self.trace(node, RecordKind::Restart, 0, About::default(), || "starts again".to_owned());
        self.starting.push(node);
    }

    fn record_activity(&mut self, node: NodeId) {
        let now = self.now;
        let state = self.node_mut(node);
        let activity = state.activity_now();
        let last = state.activity.last().map_or(host::Activity::Running, |(_, activity)| *activity);
        if activity != last {
            state.activity.push((now, activity));
        }
    }
}
