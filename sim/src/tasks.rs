//! The programs' tasks and the ready queue.
//!
//! One thread: whatever a task waits for knows the task and puts it into the ready queue, first in, first out. What is not
//! the kernel's own can wake a task from within another one ([`bells`](crate::bells)), and from nowhere else: a
//! program that waits for what no task and no event brings is stuck, and the run says so.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use host::{AttemptId, Domain, NodeId, Part};

use crate::core::Core;

/// A task's future.
pub(crate) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A task's slot. Slots are used again; waking the wrong task is harmless, dropping it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId(pub(crate) usize);

#[derive(Default)]
pub(crate) struct Tasks {
    slots: Vec<Task>,
    free: Vec<TaskId>,
    /// Slots and serials, so that a stale place serves no later task.
    ready: VecDeque<(TaskId, u64)>,
    /// Slots and serials of aborted tasks: their futures are to be dropped.
    aborted: VecDeque<(TaskId, u64)>,
    current: Option<TaskId>,
    next_serial: u64,
}

struct Task {
    node: NodeId,
    life: u32,
    serial: u64,
    /// It may be polled.
    live: bool,
    /// Its future is not dropped yet.
    occupied: bool,
    main: bool,
    queued: bool,
    part: Part,
    attempt: Option<AttemptId>,
    /// `None` while it is polled, and once it is dropped.
    future: Option<BoxFuture>,
}

impl Tasks {
    /// Back to the beginning: there are no tasks.
    pub(crate) fn reset(&mut self) {
        let Self { slots, free, ready, aborted, current, next_serial } = self;
        slots.clear();
        free.clear();
        ready.clear();
        aborted.clear();
        (*current, *next_serial) = (None, 0);
    }

    /// The task that is being polled.
    ///
    /// # Panics
    /// If none is: a future of the kernel was polled outside of a run.
    pub(crate) fn current(&self) -> TaskId {
        self.current.expect("a host's futures are polled by its own run")
    }

    /// The part of the task that is being polled, if one is.
    pub(crate) fn current_part(&self) -> Option<Part> {
        self.current.map(|task| self.part(task))
    }

    pub(crate) fn part(&self, task: TaskId) -> Part {
        self.slots[task.0].part
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty()
    }

    /// Puts a task into the ready queue, unless it is there.
    #[inline]
    pub(crate) fn wake(&mut self, id: TaskId) {
        let task = &mut self.slots[id.0];
        if task.live && !task.queued {
            task.queued = true;
            self.ready.push_back((id, task.serial));
        }
    }

    pub(crate) fn wake_all(&mut self, tasks: Vec<TaskId>) {
        for task in tasks {
            self.wake(task);
        }
    }

    /// Marks a task for dropping. Nothing happens if that task is gone.
    pub(crate) fn abort(&mut self, id: TaskId, serial: u64) {
        let task = &mut self.slots[id.0];
        if task.live && task.serial == serial {
            task.live = false;
            self.aborted.push_back((id, serial));
        }
    }

    /// The next aborted task whose future is not dropped yet.
    fn next_aborted(&mut self) -> Option<TaskId> {
        while let Some((id, serial)) = self.aborted.pop_front() {
            let task = &self.slots[id.0];
            // It may have ended in the poll in which it was aborted, or died with its process.
            if task.serial == serial && task.occupied {
                return Some(id);
            }
        }
        None
    }

    /// A task of a process that ends whose future is not dropped yet, in the order in which they were spawned.
    fn next_of(&mut self, node: NodeId) -> Option<TaskId> {
        let tasks = self.slots.iter().enumerate().filter(|(_, task)| task.occupied && task.node == node);
        let (slot, _) = tasks.min_by_key(|(_, task)| task.serial)?;
        self.slots[slot].live = false;
        Some(TaskId(slot))
    }

    /// Takes the futures of all tasks out, to be dropped: the run is over.
    pub(crate) fn take_futures(&mut self) -> Vec<BoxFuture> {
        self.slots.iter_mut().filter_map(|task| task.future.take()).collect()
    }

    /// The task's future has been dropped: its slot is free.
    fn release(&mut self, id: TaskId) {
        let task = &mut self.slots[id.0];
        assert!(task.occupied, "a task's future is dropped once");
        task.live = false;
        task.occupied = false;
        self.free.push(id);
    }
}

impl<D: Domain> Core<D> {
    /// Makes a task of a future, ready to be polled. Its serial tells it from others in the same slot.
    pub(crate) fn spawn(&mut self, node: NodeId, part: Part, main: bool, future: BoxFuture) -> (TaskId, u64) {
        let serial = self.tasks.next_serial;
        self.tasks.next_serial += 1;
        let attempt = if main { None } else { self.scope };
        let life = self.node(node).life;
        let (live, occupied, queued, future) = (true, true, false, Some(future));
        let task = Task { node, life, serial, live, occupied, main, queued, part, attempt, future };
        let id = match self.tasks.free.pop() {
            Some(id) => {
                self.tasks.slots[id.0] = task;
                id
            }
            None => {
                self.tasks.slots.push(task);
                TaskId(self.tasks.slots.len() - 1)
            }
        };
        self.tasks.wake(id);
        (id, serial)
    }

    /// What programs, or the world outside the kernel, must do now: bury the dead, drop what was aborted, start
    /// the restarted, then poll.
    pub(crate) fn next_work(&mut self) -> Option<Work> {
        if !self.dying.is_empty() {
            return Some(Work::Bury(self.dying.remove(0)));
        }
        if let Some(id) = self.tasks.next_aborted() {
            return Some(Work::Drop(id, self.enter(id)));
        }
        if !self.starting.is_empty() {
            return Some(Work::Start(self.starting.remove(0)));
        }
        self.next_ready().map(|id| Work::Poll(id, self.enter(id)))
    }

    /// The next task to poll. Tasks whose process stands still, or whose part hangs, are parked.
    fn next_ready(&mut self) -> Option<TaskId> {
        while let Some((id, serial)) = self.tasks.ready.pop_front() {
            if self.is_polled_now(id, serial) {
                return Some(id);
            }
        }
        None
    }

    #[inline]
    fn is_polled_now(&mut self, id: TaskId, serial: u64) -> bool {
        let task = &mut self.tasks.slots[id.0];
        if task.serial != serial {
            return false;
        }
        task.queued = false;
        let (node, part) = (task.node, task.part);
        if !task.live {
            return false;
        }
        let node = &mut self.nodes[node.index()];
        let is_held_up = !node.at_ease && node.holds_up(Some(part));
        if is_held_up {
            node.parked.push(id);
        }
        !is_held_up
    }

    /// A task of a process that ends whose future is not dropped yet; it is the current one from now on.
    pub(crate) fn enter_next_of(&mut self, node: NodeId) -> Option<(TaskId, BoxFuture)> {
        let id = self.tasks.next_of(node)?;
        Some((id, self.enter(id)))
    }

    /// Code of this task runs from now on: its future is polled, or dropped.
    fn enter(&mut self, id: TaskId) -> BoxFuture {
        self.tasks.current = Some(id);
        let task = &mut self.tasks.slots[id.0];
        self.scope = task.attempt;
        task.future.take().expect("a task that is not over has a future")
    }

    /// Code of the current task does not run any more. Without its future, which has been dropped, it never
    /// will.
    #[inline]
    pub(crate) fn leave(&mut self, id: TaskId, future: Option<BoxFuture>) {
        self.tasks.current = None;
        self.scope = None;
        let gone = future.is_none();
        self.tasks.slots[id.0].future = future;
        if gone {
            self.leave_for_good(id);
        }
    }

    #[inline(never)]
    fn leave_for_good(&mut self, id: TaskId) {
        let Task { node, life, main, .. } = self.tasks.slots[id.0];
        self.tasks.release(id);
        if main && self.is_life(node, life) {
            self.client_finished(node);
        }
    }
}

/// What must be done outside of the kernel, where the programs are.
pub(crate) enum Work {
    /// That node's process has died: its futures are to be dropped.
    Bury(NodeId),
    /// The future of an aborted task is to be dropped.
    Drop(TaskId, BoxFuture),
    /// That node's process is to be started.
    Start(NodeId),
    /// A task is to be polled.
    Poll(TaskId, BoxFuture),
}
