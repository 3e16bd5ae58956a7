//! Timers on a node's clocks.
//!
//! A timer names its clock. When a clock changes (a step, another rate, a sleep), the node's timers
//! are armed anew; one whose clock stands still is in no queue. A timer that comes due while its
//! process stands still is held, and fires once and late.

use host::{Deadline, Domain, Duration, NodeId, TimerId};

use crate::calls::CallSlot;
use crate::core::Core;
use crate::event::{Event, TimerKey};
use crate::queue::Key;
use crate::tasks::TaskId;

#[derive(Default)]
pub(crate) struct Timers {
    slots: Vec<Timer>,
    free: Vec<usize>,
}

struct Timer {
    node: NodeId,
    generation: u64,
    deadline: Deadline,
    purpose: TimerPurpose,
    state: TimerState,
}

/// Who waits for a timer.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TimerPurpose {
    /// A task sleeps.
    Sleep(TaskId),
    /// A call times out.
    Call(CallSlot),
    /// Opening a connection times out.
    Connect(usize),
    /// A service set it.
    Service(TimerId),
}

impl TimerPurpose {
    /// Its name in traces.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sleep(_) => "wakes",
            Self::Call(_) => "call times out",
            Self::Connect(_) => "connecting times out",
            Self::Service(_) => "timer of the service",
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimerState {
    /// In the queue.
    Queued(Key),
    /// Its clock stands still.
    Dormant,
    /// Due, but its process stands still.
    Held,
    /// It has fired, and its sleeper has not seen it yet.
    Fired,
    /// Nobody's.
    Free,
}

impl<D: Domain> Core<D> {
    /// Sets a timer; never before now.
    pub(crate) fn arm(&mut self, node: NodeId, purpose: TimerPurpose, deadline: Deadline) -> usize {
        let slot = self.timers.free.pop().unwrap_or_else(|| {
            let generation = 0;
            self.timers.slots.push(Timer { node, generation, deadline, purpose, state: TimerState::Free });
            self.timers.slots.len() - 1
        });
        let timer = &mut self.timers.slots[slot];
        *timer = Timer { node, generation: timer.generation + 1, deadline, purpose, state: TimerState::Dormant };
        self.enqueue(slot);
        slot
    }

    /// Sets a timer on the monotonic clock.
    pub(crate) fn arm_after(&mut self, node: NodeId, purpose: TimerPurpose, duration: Duration) -> usize {
        let now = self.node(node).clock().mono_at(self.now);
        self.arm(node, purpose, Deadline::Mono(now + duration))
    }

    /// Gives a timer up; a slot is given up once.
    pub(crate) fn disarm(&mut self, slot: usize) {
        let timer = &mut self.timers.slots[slot];
        if let TimerState::Queued(key) = timer.state {
            self.queue.remove(key);
        }
        assert!(timer.state != TimerState::Free, "a timer is given up once");
        timer.state = TimerState::Free;
        timer.generation += 1;
        self.timers.free.push(slot);
    }

    /// Gives up all timers of a dead process.
    pub(crate) fn disarm_all(&mut self, node: NodeId) {
        for slot in 0..self.timers.slots.len() {
            let timer = &self.timers.slots[slot];
            if timer.node == node && timer.state != TimerState::Free {
                self.disarm(slot);
            }
        }
        self.node_mut(node).timers.clear();
    }

    /// The node's clocks have changed: its timers are due at other true times.
    pub(crate) fn rearm(&mut self, node: NodeId) {
        for slot in 0..self.timers.slots.len() {
            let timer = &self.timers.slots[slot];
            if timer.node == node {
                match timer.state {
                    TimerState::Queued(key) => {
                        self.queue.remove(key);
                        self.enqueue(slot);
                    }
                    TimerState::Dormant => self.enqueue(slot),
                    TimerState::Held | TimerState::Fired | TimerState::Free => {}
                }
            }
        }
    }

    fn enqueue(&mut self, slot: usize) {
        let timer = &self.timers.slots[slot];
        let key = TimerKey { slot, generation: timer.generation };
        let due = self.node(timer.node).clock().when(timer.deadline);
        self.timers.slots[slot].state = match due {
            Some(at) => TimerState::Queued(self.queue.push(at.max(self.now), Event::Timer(key))),
            None => TimerState::Dormant,
        };
    }

    /// Whose timer this is and for what, if it still stands.
    pub(crate) fn standing_timer(&self, key: TimerKey) -> Option<(NodeId, TimerPurpose)> {
        let timer = &self.timers.slots[key.slot];
        (timer.generation == key.generation && timer.state != TimerState::Free).then_some((timer.node, timer.purpose))
    }

    /// The timer is due, but its process stands still.
    pub(crate) fn hold_timer(&mut self, key: TimerKey) {
        self.timers.slots[key.slot].state = TimerState::Held;
    }

    /// A held timer goes back into the queue, due now. Nothing happens if it was given up meanwhile.
    pub(crate) fn unhold_timer(&mut self, key: TimerKey) {
        if self.standing_timer(key).is_some() {
            let queued = self.queue.push(self.now, Event::Timer(key));
            self.timers.slots[key.slot].state = TimerState::Queued(queued);
        }
    }

    pub(crate) fn mark_fired(&mut self, slot: usize) {
        self.timers.slots[slot].state = TimerState::Fired;
    }

    /// Whether a sleep is over; if not, the current task is the one to wake.
    pub(crate) fn poll_sleep(&mut self, slot: usize) -> bool {
        let current = self.tasks.current();
        let timer = &mut self.timers.slots[slot];
        timer.purpose = TimerPurpose::Sleep(current);
        timer.state == TimerState::Fired
    }

    /// A service sets one of its timers, or moves it.
    pub(crate) fn set_service_timer(&mut self, node: NodeId, id: TimerId, deadline: Deadline) {
        self.cancel_service_timer(node, id);
        let slot = self.arm(node, TimerPurpose::Service(id), deadline);
        self.node_mut(node).timers.push((id, slot));
    }

    /// A service forgets one of its timers; nothing happens if it is not set.
    pub(crate) fn cancel_service_timer(&mut self, node: NodeId, id: TimerId) {
        let timers = &mut self.node_mut(node).timers;
        if let Some(place) = timers.iter().position(|(other, _)| *other == id) {
            let (_, slot) = timers.remove(place);
            self.disarm(slot);
        }
    }
}
