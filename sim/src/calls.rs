//! Calls: a request on its way, its reply, and how long the caller waits.

use host::{CallError, CallId, Domain, Duration, NodeId};

use crate::connections::{End, Side};
use crate::core::Core;
use crate::event::PacketId;
use crate::links::Sending;
use crate::packets::{Content, PacketKind};
use crate::tasks::TaskId;
use crate::timers::TimerPurpose;

pub(crate) struct Calls {
    slots: Vec<Call>,
    free: Vec<CallSlot>,
    next_id: u32,
}

impl Default for Calls {
    fn default() -> Self {
        Self { slots: Vec::with_capacity(8), free: Vec::new(), next_id: 0 }
    }
}

impl Calls {
    /// Back to the beginning: there are none.
    pub(crate) fn reset(&mut self) {
        let Self { slots, free, next_id } = self;
        slots.clear();
        free.clear();
        *next_id = 0;
    }

    /// Puts a call into a slot, in which it is waited for.
    #[inline]
    fn put(&mut self, call: Call) -> CallSlot {
        let slot = self.free.pop().unwrap_or(CallSlot(self.slots.len()));
        match self.slots.get_mut(slot.0) {
            Some(free) => *free = call,
            None => self.slots.push(call),
        }
        slot
    }

    /// The slot of the call that is put into one next.
    fn next_slot(&self) -> CallSlot {
        self.free.last().copied().unwrap_or(CallSlot(self.slots.len()))
    }
}

/// A call's slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CallSlot(usize);

#[derive(Clone, Copy)]
struct Call {
    id: CallId,
    conn: usize,
    task: Option<TaskId>,
    timer: usize,
    state: CallState,
}

#[derive(Clone, Copy)]
enum CallState {
    Waiting,
    /// The reply stays in its packet until it is asked for.
    Replied(PacketId),
    Failed(CallError),
    /// Nobody's.
    Free,
}

impl<D: Domain> Core<D> {
    /// Sends a request.
    #[inline(always)]
    pub(crate) fn start_call(
        &mut self,
        conn: usize,
        message: D::Message,
        timeout: Duration,
    ) -> Result<CallSlot, CallError> {
        let End { node, life, open } = self.connections.all[conn].ends[Side::Client as usize];
        if !self.may_act(node, life) || !open {
            return Err(CallError::Closed);
        }
        let id = CallId::new(self.connections.calls.next_id);
        self.connections.calls.next_id += 1;
        let slot = self.connections.calls.next_slot();
        let timer = self.arm_after(node, TimerPurpose::Call(slot), timeout);
        let (task, state) = (Some(self.tasks.current()), CallState::Waiting);
        self.connections.calls.put(Call { id, conn, task, timer, state });
        let content = Content { operation: D::operation(&message), message, call: Some(id) };
        let (from, kind, attempt) = (Side::Client, PacketKind::Request, self.scope);
        self.decide(Sending { conn, from, kind, attempt, content: Some(content) });
        Ok(slot)
    }

    /// The call's outcome, with which it is over; if there is none yet, the current task is woken when there is.
    #[inline(always)]
    pub(crate) fn poll_call(&mut self, slot: CallSlot) -> Option<Result<D::Message, CallError>> {
        let current = self.tasks.current();
        let Calls { slots, free, .. } = &mut self.connections.calls;
        let call = &mut slots[slot.0];
        if matches!(call.state, CallState::Waiting) {
            call.task = Some(current);
            return None;
        }
        let state = std::mem::replace(&mut call.state, CallState::Free);
        free.push(slot);
        match state {
            CallState::Replied(packet) => Some(Ok(self.packets.take(packet).expect("a reply is a message"))),
            CallState::Failed(error) => Some(Err(error)),
            CallState::Waiting | CallState::Free => unreachable!("a call ends once"),
        }
    }

    /// The call's future is dropped before it is over. What it asked for may still be served; a late reply is ignored.
    pub(crate) fn drop_call(&mut self, slot: CallSlot) {
        let Call { timer, state, .. } = self.connections.calls.slots[slot.0];
        if matches!(state, CallState::Waiting) {
            self.disarm(timer);
        }
        self.free_call(slot);
    }

    /// The client is dead: its calls are nobody's, whatever still arrives for them.
    pub(crate) fn forget_calls(&mut self, node: NodeId) {
        for slot in 0..self.connections.calls.slots.len() {
            let Call { conn, state, .. } = self.connections.calls.slots[slot];
            let client = self.connections.all[conn].ends[Side::Client as usize].node;
            if client == node && !matches!(state, CallState::Free) {
                self.free_call(CallSlot(slot));
            }
        }
    }

    /// A slot is free; a reply that nobody has asked for is gone.
    fn free_call(&mut self, slot: CallSlot) {
        let Calls { slots, free, .. } = &mut self.connections.calls;
        let state = std::mem::replace(&mut slots[slot.0].state, CallState::Free);
        free.push(slot);
        if let CallState::Replied(packet) = state {
            self.packets.take(packet);
        }
    }

    /// Who waits for the call.
    pub(crate) fn call_waiter(&self, slot: CallSlot) -> Option<TaskId> {
        self.connections.calls.slots[slot.0].task
    }

    /// No reply came in time: the call fails, and with it its connection.
    pub(crate) fn call_timed_out(&mut self, slot: CallSlot) {
        let conn = self.connections.calls.slots[slot.0].conn;
        self.fail_call(slot, CallError::TimedOut);
        self.close(conn);
    }

    fn fail_call(&mut self, slot: CallSlot, error: CallError) {
        let call = &mut self.connections.calls.slots[slot.0];
        call.state = CallState::Failed(error);
        let (timer, task) = (call.timer, call.task);
        self.disarm(timer);
        if let Some(task) = task {
            self.tasks.wake(task);
        }
    }

    /// A reply is in the socket of a living client. It leaves its packet when it is asked for, or at once if nobody waits
    /// for it.
    #[inline(always)]
    pub(crate) fn reply_arrived(&mut self, packet: PacketId) {
        let id = self.packets.content(packet).and_then(|content| content.call);
        let is_it = |call: &&mut Call| Some(call.id) == id && matches!(call.state, CallState::Waiting);
        let Some(call) = self.connections.calls.slots.iter_mut().find(is_it) else {
            self.packets.take(packet);
            return;
        };
        self.application_events += 1;
        call.state = CallState::Replied(packet);
        let (timer, task) = (call.timer, call.task);
        self.disarm(timer);
        if let Some(task) = task {
            self.tasks.wake(task);
        }
    }

    /// A connection's client end is gone: the calls on it fail.
    pub(crate) fn fail_calls_on(&mut self, conn: usize) {
        for slot in 0..self.connections.calls.slots.len() {
            let call = &self.connections.calls.slots[slot];
            if call.conn == conn && matches!(call.state, CallState::Waiting) {
                self.fail_call(CallSlot(slot), CallError::Closed);
            }
        }
    }
}
