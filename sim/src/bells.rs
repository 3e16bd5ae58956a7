//! Wakers: how one task of a program wakes another, through a [`Bell`](host::Bell) or a library's own future.
//!
//! A waker may be called wherever it is, so it cannot reach the kernel; it leaves word here, in the order in which it was
//! rung, and the kernel takes that up before it goes on. One for each slot of a task: waking the wrong task is harmless.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};

use crate::tasks::TaskId;

/// The wakers of all tasks.
#[derive(Default)]
pub(crate) struct Bells {
    word: Arc<Word>,
    wakers: Vec<Waker>,
}

/// What they leave.
#[derive(Default)]
struct Word {
    /// Whether there is any, which is asked between any two polls.
    is_there: AtomicBool,
    rung: Mutex<Vec<TaskId>>,
}

struct One {
    task: TaskId,
    word: Arc<Word>,
}

impl Wake for One {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.word.rung.lock().unwrap_or_else(PoisonError::into_inner).push(self.task);
        self.word.is_there.store(true, Ordering::Relaxed);
    }
}

impl Bells {
    /// Back to the beginning: nothing has rung.
    pub(crate) fn reset(&self) {
        drop(self.take_rung());
    }

    /// The waker of the task in that slot.
    pub(crate) fn waker(&mut self, task: TaskId) -> &Waker {
        while self.wakers.len() <= task.0 {
            let task = TaskId(self.wakers.len());
            self.wakers.push(Waker::from(Arc::new(One { task, word: Arc::clone(&self.word) })));
        }
        &self.wakers[task.0]
    }

    pub(crate) fn have_rung(&self) -> bool {
        self.word.is_there.load(Ordering::Relaxed)
    }

    /// Whose have, in the order in which they did.
    pub(crate) fn take_rung(&self) -> Vec<TaskId> {
        self.word.is_there.store(false, Ordering::Relaxed);
        std::mem::take(&mut *self.word.rung.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
