//! Waiting for another task of the same process.
//!
//! A client library has a loop of its own, which learns things that the program waits for: that it is connected, that
//! something has changed. A bell is how it says so. It carries nothing: whoever hears it looks for itself.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

/// A bell that tasks of one process share. Copies are the same bell.
#[derive(Clone, Default)]
pub struct Bell(Rc<Inner>);

#[derive(Default)]
struct Inner {
    rings: Cell<u64>,
    waiting: RefCell<Vec<Waker>>,
}

impl Bell {
    /// Whoever waits for it goes on, in the order in which they began to.
    pub fn ring(&self) {
        self.0.rings.update(|rings| rings + 1);
        self.0.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Ends once it has rung after this call.
    pub fn rung(&self) -> Rung {
        Rung { bell: self.clone(), since: self.0.rings.get() }
    }
}

/// What [`Bell::rung`] waits with.
#[derive(Debug)]
#[must_use = "futures do nothing unless they are awaited"]
pub struct Rung {
    bell: Bell,
    since: u64,
}

impl Future for Rung {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Inner { rings, waiting } = &*self.bell.0;
        if rings.get() != self.since {
            return Poll::Ready(());
        }
        let mut waiting = waiting.borrow_mut();
        if !waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
            waiting.push(cx.waker().clone());
        }
        Poll::Pending
    }
}

impl fmt::Debug for Bell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bell(rung {} times)", self.0.rings.get())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn what_was_rung_before_is_not_heard_and_what_rings_before_the_first_look_is() {
        let bell = Bell::default();
        bell.ring();
        let count = Arc::<Count>::default();
        let (waker, mut rung) = (Waker::from(Arc::clone(&count)), pin!(bell.rung()));
        let mut cx = Context::from_waker(&waker);
        assert!(rung.as_mut().poll(&mut cx).is_pending() && rung.as_mut().poll(&mut cx).is_pending());
        bell.ring();
        bell.ring();
        assert_eq!(count.0.load(Ordering::Relaxed), 1, "it waits once, and is woken once");
        assert!(rung.poll(&mut cx).is_ready());
        let early = bell.rung();
        bell.ring();
        assert!(pin!(early).poll(&mut cx).is_ready());
    }
}
