//! What a connection hears, and whether it is closed.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;

use host::{CallError, Duration, Either, Host, first};
use tokio::sync::{oneshot, watch};

use super::host::LiveHost;

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

    /// What is answered to what is sent, if it is within so long and before the connection is closed.
    pub(super) async fn answered<T>(
        &self,
        host: &LiveHost,
        sent: impl Future<Output = io::Result<oneshot::Receiver<T>>>,
        timeout: Duration,
    ) -> Result<T, CallError> {
        let asked = async {
            let answer = sent.await.map_err(|_| CallError::Closed)?;
            answer.await.map_err(|_| CallError::Closed)
        };
        let asked = async {
            match first(asked, self.closes()).await {
                Either::Left(answer) => answer,
                Either::Right(()) => Err(CallError::Closed),
            }
        };
        match first(asked, host.sleep(timeout)).await {
            Either::Left(answer) => answer,
            Either::Right(()) => Err(CallError::TimedOut),
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
