//! What a connection hears, and whether it is closed.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;

use tokio::sync::watch;

/// What a connection hears of what is pushed.
pub(super) struct Ear<P> {
    /// What was pushed and not taken.
    heard: RefCell<VecDeque<P>>,
    is_closed: Cell<bool>,
    /// Rings when one of the two has changed.
    rings: watch::Sender<()>,
}

impl<P> Ear<P> {
    pub(super) fn new() -> Self {
        let (rings, _) = watch::channel(());
        Self { heard: RefCell::default(), is_closed: Cell::new(false), rings }
    }

    pub(super) fn hear(&self, push: P) {
        self.heard.borrow_mut().push_back(push);
        self.rings.send_replace(());
    }

    pub(super) fn close(&self) {
        self.is_closed.set(true);
        self.rings.send_replace(());
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.get()
    }

    /// Ends once it is closed.
    pub(super) async fn closes(&self) {
        let mut rings = self.rings.subscribe();
        while !self.is_closed.get() {
            // The sender lives as long as this.
            let _ = rings.changed().await;
        }
    }

    /// What was pushed next. `None`: it is closed, and nothing is left.
    pub(super) async fn next(&self) -> Option<P> {
        let mut rings = self.rings.subscribe();
        loop {
            let heard = self.heard.borrow_mut().pop_front();
            if heard.is_some() || self.is_closed.get() {
                return heard;
            }
            let _ = rings.changed().await;
        }
    }
}
