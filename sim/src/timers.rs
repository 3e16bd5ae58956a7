//! Timers on a node's clocks.
//!
//! A timer names its clock. When a clock changes (a step, another rate, a sleep), the node's timers
//! that are due at another true time now are armed anew, in the order in which they were set; one whose
//! clock stands still is in no queue. A timer that has come due is due, whatever its clock does next: if its
//! process stands still it fires once and late.

use host::{Deadline, Domain, Duration, NodeId, SimTime, TimerId};

use crate::calls::CallSlot;
use crate::connections::Side;
use crate::core::Core;
use crate::event::{Event, TimerKey};
use crate::queue::Key;
use crate::tasks::TaskId;

#[derive(Default)]
pub(crate) struct Timers {
    slots: Vec<Timer>,
    free: Vec<usize>,
    next_serial: u32,
}

struct Timer {
    node: NodeId,
    serial: u32,
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
    /// The machine is to ask whether the other side of a connection is there, whose end that is.
    KeepAlive { conn: u32, side: Side },
    /// The machine counts how long a strike lasts.
    StrikeEnds(usize),
}

impl TimerPurpose {
    /// Its name in traces.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Sleep(_) => "wakes",
            Self::Call(_) => "call times out",
            Self::Connect(_) => "connecting times out",
            Self::Service(_) => "timer of the service",
            Self::KeepAlive { .. } => "asks whether the other side is there",
            Self::StrikeEnds(_) => "a strike's time is over",
        }
    }

    /// What the trace hash sees of it: never a slot.
    pub(crate) const fn digest(self) -> u64 {
        match self {
            Self::Sleep(_) => 0,
            Self::Call(_) => 1,
            Self::Connect(_) => 2,
            Self::Service(TimerId(id)) => 3 | (id as u64) << 8,
            Self::KeepAlive { conn, side } => 5 | (side as u64) << 8 | (conn as u64) << 16,
            Self::StrikeEnds(strike) => 4 | (strike as u64) << 8,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TimerState {
    /// In the queue.
    Queued(Key),
    /// Its clock stands still.
    Dormant,
    /// It has come due, but not fired: its process may stand still.
    Due,
    /// It has fired, and its sleeper has not seen it yet.
    Fired,
    /// Nobody's.
    Free,
}

impl Timers {
    /// Back to the beginning: none is set.
    pub(crate) fn reset(&mut self) {
        let Self { slots, free, next_serial } = self;
        slots.clear();
        free.clear();
        *next_serial = 0;
    }
}

impl<D: Domain> Core<D> {
    /// Sets a timer; never before now.
    pub(crate) fn arm(&mut self, node: NodeId, purpose: TimerPurpose, deadline: Deadline) -> usize {
        let due = self.due(node, deadline);
        self.arm_at(node, purpose, deadline, due)
    }

    /// Sets a timer that is due then, as its clock runs now.
    #[inline(always)]
    fn arm_at(&mut self, node: NodeId, purpose: TimerPurpose, deadline: Deadline, due: Option<SimTime>) -> usize {
        let serial = self.timers.next_serial;
        self.timers.next_serial += 1;
        let slot = self.timers.free.pop().unwrap_or(self.timers.slots.len());
        let state = self.enqueue(TimerKey::new(slot, serial), due);
        let timer = Timer { node, serial, deadline, purpose, state };
        match self.timers.slots.get_mut(slot) {
            Some(free) => *free = timer,
            None => self.timers.slots.push(timer),
        }
        slot
    }

    /// Sets a timer on the monotonic clock.
    #[inline]
    pub(crate) fn arm_after(&mut self, node: NodeId, purpose: TimerPurpose, duration: Duration) -> usize {
        let (end, due) = self.node(node).clock().mono_after(self.now, duration);
        let due = due.map(|at| at.max(self.now));
        self.arm_at(node, purpose, Deadline::Mono(end), due)
    }

    /// Gives a timer up; a slot is given up once.
    pub(crate) fn disarm(&mut self, slot: usize) {
        match std::mem::replace(&mut self.timers.slots[slot].state, TimerState::Free) {
            TimerState::Queued(key) => self.queue.remove(key),
            TimerState::Dormant | TimerState::Due | TimerState::Fired => {}
            TimerState::Free => panic!("a timer is given up once"),
        }
        self.timers.free.push(slot);
    }

    /// Gives up all timers of a dead process. What its machine counts goes on.
    pub(crate) fn disarm_all(&mut self, node: NodeId) {
        for slot in 0..self.timers.slots.len() {
            let timer = &self.timers.slots[slot];
            let is_machines = matches!(timer.purpose, TimerPurpose::StrikeEnds(_));
            if timer.node == node && timer.state != TimerState::Free && !is_machines {
                if let TimerPurpose::KeepAlive { conn, side } = timer.purpose {
                    self.cease_to_watch(conn as usize, side);
                } else {
                    self.disarm(slot);
                }
            }
        }
        self.node_mut(node).timers.clear();
    }

    /// The node's clocks have changed: some of its timers are due at other true times.
    pub(crate) fn rearm(&mut self, node: NodeId) {
        let mut moved = Vec::new();
        for (slot, timer) in self.timers.slots.iter().enumerate() {
            let queued = match timer.state {
                TimerState::Queued(key) => Some(key),
                TimerState::Dormant => None,
                TimerState::Due | TimerState::Fired | TimerState::Free => continue,
            };
            if timer.node == node && queued.map(Key::at) != self.due(node, timer.deadline) {
                moved.push((timer.serial, slot, queued));
            }
        }
        moved.sort_unstable_by_key(|(serial, ..)| *serial);
        for (serial, slot, queued) in moved {
            if let Some(key) = queued {
                self.queue.remove(key);
            }
            let due = self.due(node, self.timers.slots[slot].deadline);
            self.timers.slots[slot].state = self.enqueue(TimerKey::new(slot, serial), due);
        }
    }

    #[inline]
    fn enqueue(&mut self, key: TimerKey, due: Option<SimTime>) -> TimerState {
        match due {
            Some(at) => TimerState::Queued(self.queue.push(at, Event::Timer(key))),
            None => TimerState::Dormant,
        }
    }

    /// When a timer is due as its clock runs now; never before now.
    fn due(&self, node: NodeId, deadline: Deadline) -> Option<SimTime> {
        self.node(node).clock().when(deadline).map(|at| at.max(self.now))
    }

    /// A timer's time in the queue has come: whose it is and for what.
    pub(crate) fn comes_due(&mut self, key: TimerKey) -> (NodeId, TimerPurpose) {
        let timer = &mut self.timers.slots[key.slot()];
        let is_in_queue = timer.serial == key.serial && matches!(timer.state, TimerState::Queued(_));
        assert!(is_in_queue, "a timer that is given up is taken out of the queue");
        timer.state = TimerState::Due;
        (timer.node, timer.purpose)
    }

    /// Whether a timer has come due and was not given up since.
    pub(crate) fn is_due(&self, key: TimerKey) -> bool {
        let timer = &self.timers.slots[key.slot()];
        timer.serial == key.serial && timer.state == TimerState::Due
    }

    /// A timer that was due while its process stood still may fire now. Nothing happens if it was given up
    /// meanwhile.
    pub(crate) fn take_up_timer(&mut self, key: TimerKey) {
        if self.is_due(key) {
            let queued = self.queue.push_ahead(self.now, Event::Timer(key));
            self.timers.slots[key.slot()].state = TimerState::Queued(queued);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_trace_tells_purposes_and_a_service_s_timers_apart_and_sees_no_slot() {
        let sleep = |slot| TimerPurpose::Sleep(TaskId(slot)).digest();
        let service = |id| TimerPurpose::Service(TimerId(id)).digest();
        let mut all = [sleep(0), TimerPurpose::Connect(0).digest(), service(0), service(1), service(u32::MAX)];
        all.sort_unstable();
        assert!(all.windows(2).all(|pair| pair[0] != pair[1]), "{all:?}");
        assert_eq!(sleep(0), sleep(1));
        assert_eq!(TimerPurpose::Connect(0).digest(), TimerPurpose::Connect(1).digest());
    }
}
