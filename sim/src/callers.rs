//! Callers that may be interrupted while they wait.
//!
//! A caller is whoever awaits [`Stage::interrupted`](host::Stage::interrupted), as a thread that can be
//! interrupted while it waits for something. An interrupt reaches the callers that wait in that instant; it
//! is not kept for later ones. The process lives on, and so does everything else that it does.

use host::{Domain, NodeId};

use crate::core::Core;
use crate::tasks::TaskId;

/// The callers that wait now, in the order in which they began to.
#[derive(Default)]
pub(crate) struct Callers {
    waiting: Vec<Caller>,
    next: CallerId,
}

impl Callers {
    /// Back to the beginning: nobody waits.
    pub(crate) fn reset(&mut self) {
        let Self { waiting, next } = self;
        waiting.clear();
        *next = CallerId::default();
    }
}

/// Which of a run's callers.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct CallerId(u64);

struct Caller {
    id: CallerId,
    node: NodeId,
    task: TaskId,
    interrupted: bool,
}

impl<D: Domain> Core<D> {
    /// The current task waits, and may be interrupted.
    pub(crate) fn begin_to_wait(&mut self, node: NodeId) -> CallerId {
        let id = self.callers.next;
        self.callers.next.0 += 1;
        self.callers.waiting.push(Caller { id, node, task: self.tasks.current(), interrupted: false });
        id
    }

    pub(crate) fn is_interrupted(&self, caller: CallerId) -> bool {
        self.callers.waiting.iter().any(|waiting| waiting.id == caller && waiting.interrupted)
    }

    /// It waits no more, interrupted or not.
    pub(crate) fn cease_to_wait(&mut self, caller: CallerId) {
        self.callers.waiting.retain(|waiting| waiting.id != caller);
    }

    /// Interrupts whoever waits on that node: how many there are.
    pub(crate) fn interrupt(&mut self, node: NodeId) -> u32 {
        let mut reached = 0;
        for caller in self.callers.waiting.iter_mut().filter(|caller| caller.node == node) {
            caller.interrupted = true;
            self.tasks.wake(caller.task);
            reached += 1;
        }
        reached
    }
}
