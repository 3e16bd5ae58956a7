//! The layer in front of the server: which locks some thread of this process has, so that its other threads
//! need not ask.

use std::cell::RefCell;
use std::collections::BTreeSet;

use spec::LockName;

/// The locks that threads of this process have, or ask for.
#[derive(Default)]
pub(super) struct LocalLayer(RefCell<BTreeSet<LockName>>);

/// One of them. Dropped, it is free again, unless it was kept.
pub(super) struct Taken<'l> {
    layer: &'l LocalLayer,
    lock: Option<LockName>,
}

impl LocalLayer {
    /// Takes that lock, if no other thread has it.
    pub(super) fn take(&self, lock: LockName) -> Option<Taken<'_>> {
        let is_free = self.0.borrow_mut().insert(lock);
        is_free.then(|| Taken { layer: self, lock: Some(lock) })
    }

    pub(super) fn free(&self, lock: LockName) {
        self.0.borrow_mut().remove(&lock);
    }
}

impl Taken<'_> {
    /// The thread has it until it is freed.
    pub(super) fn keep(mut self) {
        self.lock = None;
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        if let Some(lock) = self.lock {
            self.layer.free(lock);
        }
    }
}
