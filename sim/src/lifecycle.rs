//! A process stands still, runs on, dies, starts again; and what waits for it meanwhile.

use host::{Domain, NodeId, Part, Segment, SimTime};

use crate::connections::Side;
use crate::core::{About, Core};
use crate::event::{Event, Waiting};
use crate::node::{HeldUp, Role, Standing};
use crate::outcome::RecordKind;
use crate::packets::PacketKind;

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
        self.take_up(node);
        self.revive(node);
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

    /// One part of a process hangs.
    pub(crate) fn begin_stall(&mut self, node: NodeId, part: Part) {
        self.node_mut(node).stalled.push(part);
        self.record_activity(node);
    }

    /// One part of a process no longer hangs, unless another strike says so too.
    pub(crate) fn end_stall(&mut self, node: NodeId, part: Part) {
        let stalled = &mut self.node_mut(node).stalled;
        let place = stalled.iter().position(|other| *other == part).expect("the strike that ends had begun");
        stalled.remove(place);
        self.record_activity(node);
        self.take_up(node);
    }

    /// The event waits: for the machine, the process, or the part of it to which it belongs.
    #[cold]
    pub(crate) fn hold(&mut self, node: NodeId, part: Option<Part>, order: Waiting, event: Event) {
        self.count_met(node);
        self.node_mut(node).waiting.push(HeldUp { part, order, event });
    }

    /// What need not wait any more is taken up in order, and ahead of all else: the process's own work, then
    /// its socket, then its timers.
    fn take_up(&mut self, node: NodeId) {
        let state = self.node_mut(node);
        if state.waiting.is_empty() && state.parked.is_empty() {
            return;
        }
        let (parked, waiting) = (std::mem::take(&mut state.parked), std::mem::take(&mut state.waiting));
        let (still, mut go) = waiting.into_iter().partition::<Vec<_>, _>(|held| state.still_holds(held));
        state.waiting = still;
        // Tasks that may not run yet are parked again.
        self.tasks.wake_all(parked);
        go.sort_by_key(|held| held.order);
        for HeldUp { event, .. } in go {
            match event {
                Event::Timer(key) => self.take_up_timer(key),
                event => {
                    self.queue.push_ahead(self.now, event);
                }
            }
        }
    }

    /// The process ends by itself: it closes its connections behind what it sent. If nothing keeps it down any
    /// more, it starts again at once.
    pub(crate) fn exit(&mut self, node: NodeId) {
        self.end_process(node, PacketKind::Close);
        self.revive(node);
    }

    /// The process dies. It is marked dead first; its futures are dropped afterwards, so that
    /// whatever their `Drop` code does has no effect. Its connections are reset behind what it sent.
    pub(crate) fn kill(&mut self, node: NodeId) {
        self.end_process(node, PacketKind::Reset);
    }

    fn end_process(&mut self, node: NodeId, farewell: PacketKind) {
        if self.end_life(node) {
            for conn in 0..self.connections.all.len() {
                for side in [Side::Client, Side::Server] {
                    let end = &mut self.connections.all[conn].ends[side as usize];
                    if end.node == node && end.open {
                        end.open = false;
                        self.send_from_machine(conn, side, farewell);
                    }
                }
            }
        }
    }

    /// The machine loses power: it says nothing, and its disk loses what was not synced.
    pub(crate) fn power_off(&mut self, node: NodeId) {
        self.end_life(node);
        let state = self.node_mut(node);
        state.outages += 1;
        state.disk.lose_power();
        // What it had said into a cut was in its memory.
        self.lose_held_of(node);
        // A machine without power neither sleeps nor stands; what waited for it finds it off.
        self.change_standing(node, |standing| *standing = Standing::default());
    }

    /// Whether there was a life to end.
    fn end_life(&mut self, node: NodeId) -> bool {
        let state = self.node_mut(node);
        if !state.alive {
            return false;
        }
        state.alive = false;
        state.life += 1;
        state.owed = 0;
        state.leads = None;
        state.standing.paused = 0;
        state.stalled.clear();
        state.parked.clear();
        // What it had still to send is lost.
        state.busy_until = SimTime::ZERO;
        state.syncing_until = SimTime::ZERO;
        let waiting = std::mem::take(&mut state.waiting);
        // What the machine has not taken in yet is not the process's.
        let (of_machine, lost) = waiting.into_iter().partition::<Vec<_>, _>(HeldUp::is_of_the_machine);
        state.waiting = of_machine;
        for held in lost {
            if let Event::Leave(id) | Event::Read(id) = held.event {
                self.lose(id);
            }
        }
        self.disarm_all(node);
        self.forget_calls(node);
        self.client_finished(node);
        self.record_activity(node);
        self.starting.retain(|other| *other != node);
        self.dying.push(node);
        true
    }

    /// A dead process starts again, from what its disk holds, if nothing keeps it from living and its machine
    /// runs.
    pub(crate) fn revive(&mut self, node: NodeId) {
        let state = self.node_mut(node);
        if state.alive || state.down > 0 || state.standing.machine() > 0 {
            return;
        }
        state.alive = true;
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
        state.at_ease = state.alive && !state.holds_up(None) && state.stalled.is_empty();
        let activity = state.activity_now();
        let last = state.activity.last().map_or(host::Activity::Running, |(_, activity)| *activity);
        if activity != last {
            state.activity.push((now, activity));
        }
    }
}
