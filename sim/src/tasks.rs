//! The programs' tasks and the ready queue.
//!
//! One thread, no wakers: whatever a task waits for knows the task and puts it into the ready queue,
//! first in, first out. A future that is not the kernel's own can therefore not wake anything; a
//! program that waits for one is stuck, and the run says so.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;

use host::{AttemptId, Domain, NodeId, Part};

use crate::core::Core;

/// A task's future.
pub(crate) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// A task's slot. Slots are used again; waking the wrong task is harmless, aborting it is not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TaskId(pub(crate) usize);

#[derive(Default)]
pub(crate) struct Tasks {
    slots: Vec<Task>,
    free: Vec<TaskId>,
    ready: VecDeque<TaskId>,
    /// Spawned during a poll; their futures have no place yet.
    pub(crate) spawned: Vec<(TaskId, BoxFuture)>,
    /// Aborted during a poll; their futures are to be dropped.
    pub(crate) aborted: Vec<TaskId>,
    current: Option<TaskId>,
    next_serial: u64,
}

struct Task {
    node: NodeId,
    life: u32,
    serial: u64,
    live: bool,
    main: bool,
    queued: bool,
    part: Part,
    attempt: Option<AttemptId>,
}

impl Tasks {
    /// The task that is being polled.
    ///
    /// # Panics
    /// If none is: a future of the kernel was polled outside of a run.
    pub(crate) fn current(&self) -> TaskId {
        self.current.expect("a host's futures are polled by its own run")
    }

    pub(crate) fn part(&self, task: TaskId) -> Part {
        self.slots[task.0].part
    }

    pub(crate) fn is_busy(&self) -> bool {
        !self.ready.is_empty() || !self.spawned.is_empty()
    }

    /// Puts a task into the ready queue, unless it is there.
    pub(crate) fn wake(&mut self, id: TaskId) {
        let task = &mut self.slots[id.0];
        if task.live && !task.queued {
            task.queued = true;
            self.ready.push_back(id);
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
            self.aborted.push(id);
        }
    }

    /// The tasks of a node that are not done.
    pub(crate) fn of_node(&self, node: NodeId) -> Vec<TaskId> {
        let is_its = |(_, task): &(usize, &Task)| task.live && task.node == node;
        self.slots.iter().enumerate().filter(is_its).map(|(slot, _)| TaskId(slot)).collect()
    }

    /// The task will never be polled again, but its future is not dropped yet.
    pub(crate) fn mark_dead(&mut self, id: TaskId) {
        self.slots[id.0].live = false;
    }

    /// The task's future has been dropped: its slot is free.
    pub(crate) fn release(&mut self, id: TaskId) {
        self.slots[id.0].live = false;
        self.free.push(id);
    }
}

impl<D: Domain> Core<D> {
    /// Makes a task of a future, ready to be polled. Its serial tells it from others in the same slot.
    pub(crate) fn spawn(&mut self, node: NodeId, part: Part, main: bool, future: BoxFuture) -> (TaskId, u64) {
        let serial = self.tasks.next_serial;
        self.tasks.next_serial += 1;
        let attempt = if main { None } else { self.scope };
        let task = Task { node, life: self.node(node).life, serial, live: true, main, queued: false, part, attempt };
        let id = match self.tasks.free.pop() {
            Some(id) => {
                // A stale place in the ready queue serves the new task.
                let queued = self.tasks.slots[id.0].queued;
                self.tasks.slots[id.0] = Task { queued, ..task };
                id
            }
            None => {
                self.tasks.slots.push(task);
                TaskId(self.tasks.slots.len() - 1)
            }
        };
        self.tasks.spawned.push((id, future));
        self.tasks.wake(id);
        (id, serial)
    }

    /// The next task to poll. Tasks whose process stands still, or whose part hangs, are parked.
    pub(crate) fn next_ready(&mut self) -> Option<TaskId> {
        while let Some(id) = self.tasks.ready.pop_front() {
            let task = &mut self.tasks.slots[id.0];
            task.queued = false;
            let (node, life, part, attempt) = (task.node, task.life, task.part, task.attempt);
            if !task.live || !self.is_life(node, life) {
                continue;
            }
            let node = self.node_mut(node);
            if node.standing.is_still() {
                node.parked.push(id);
            } else if node.is_stalled(part) {
                node.hung_tasks.push((part, id));
            } else {
                self.tasks.current = Some(id);
                self.scope = attempt;
                return Some(id);
            }
        }
        None
    }

    /// The poll of a task is over.
    pub(crate) fn polled(&mut self, id: TaskId, done: bool) {
        self.tasks.current = None;
        self.scope = None;
        if done {
            let task = &mut self.tasks.slots[id.0];
            task.live = false;
            let (node, life, main) = (task.node, task.life, task.main);
            if main && self.is_life(node, life) {
                self.client_finished(node);
            }
        }
    }
}
