//! A part of a process hangs: none of its code is run until it goes on. A signal can stop only the whole.

use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use ::host::Part;

/// The parts of a process that hang.
#[derive(Default)]
pub(super) struct Hangs {
    /// Once for each fault that says so.
    parts: RefCell<Vec<String>>,
    /// Whoever would have run.
    parked: RefCell<Vec<Waker>>,
}

impl Hangs {
    /// One more fault makes that part hang, or one less.
    pub(super) fn change(&self, part: &str, hangs: bool) {
        let mut parts = self.parts.borrow_mut();
        if hangs {
            parts.push(part.to_owned());
        } else if let Some(place) = parts.iter().position(|other| other == part) {
            parts.remove(place);
        }
        // Who must go on waiting is parked again.
        self.parked.take().into_iter().for_each(Waker::wake);
    }

    fn hangs(&self, part: Part) -> bool {
        self.parts.borrow().iter().any(|other| other == part.0)
    }
}

/// Code of one part of the process.
pub(super) struct OfPart<F> {
    pub(super) hangs: Rc<Hangs>,
    pub(super) part: Part,
    pub(super) body: Pin<Box<F>>,
}

impl<F: Future> Future for OfPart<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        if self.hangs.hangs(self.part) {
            self.hangs.parked.borrow_mut().push(cx.waker().clone());
            return Poll::Pending;
        }
        self.body.as_mut().poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use std::task::Waker;

    use super::*;

    #[test]
    fn a_part_hangs_while_any_fault_says_so_and_the_others_run() {
        let hangs = Rc::<Hangs>::default();
        let runs = |part| {
            let mut code = OfPart { hangs: Rc::clone(&hangs), part, body: Box::pin(async {}) };
            Pin::new(&mut code).poll(&mut Context::from_waker(Waker::noop())).is_ready()
        };
        let (renewal, worker) = (Part::RENEWAL, Part::WORKER);
        hangs.change(renewal.0, true);
        hangs.change(renewal.0, true);
        assert_eq!((runs(renewal), runs(worker)), (false, true));
        hangs.change(renewal.0, false);
        assert_eq!((runs(renewal), runs(worker)), (false, true));
        hangs.change(renewal.0, false);
        assert!(runs(renewal));
    }
}
