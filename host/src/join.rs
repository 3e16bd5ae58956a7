//! Waiting for two things, in an order that is always the same.
//!
//! `select!` macros and `FuturesUnordered` bring random branch order and wakers of their own: both
//! would make a run depend on more than its seed. These two are all a recipe needs.

use core::future::{Future, poll_fn};
use core::pin::Pin;
use core::task::{Context, Poll};

use pin_project_lite::pin_project;

/// Which of two futures ended first, and with what.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Either<A, B> {
    /// The first did, or both were ready.
    Left(A),
    /// The second did.
    Right(B),
}

/// Waits for whichever ends first, polling `a` before `b`, and drops the loser.
///
/// A dropped call is not undone: its request may still be served, its late reply is ignored.
pub const fn first<A: Future, B: Future>(a: A, b: B) -> First<A, B> {
    First { b, a }
}

pin_project! {
    /// What [`first`] waits with. Not an `async fn`, whose future would have room for both twice: once as
    /// arguments and once as what is polled; and futures of clients are nested ten deep.
    #[derive(Debug)]
    #[must_use = "futures do nothing unless they are awaited"]
    pub struct First<A, B> {
        // Dropped in this order.
        #[pin]
        b: B,
        #[pin]
        a: A,
    }
}

impl<A: Future, B: Future> Future for First<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        if let Poll::Ready(value) = this.a.poll(cx) {
            return Poll::Ready(Either::Left(value));
        }
        this.b.poll(cx).map(Either::Right)
    }
}

/// Waits for all, polling them in the given order; the results keep it.
pub async fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    let mut slots: Vec<_> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|cx| {
        let mut waiting = false;
        for (future, output) in &mut slots {
            if output.is_none() {
                match future.as_mut().poll(cx) {
                    Poll::Ready(value) => *output = Some(value),
                    Poll::Pending => waiting = true,
                }
            }
        }
        if waiting { Poll::Pending } else { Poll::Ready(()) }
    })
    .await;
    slots.into_iter().map(|(_, output)| output.expect("every future has ended")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::future::{pending, ready};
    use core::pin::pin;
    use core::task::Waker;

    fn now<F: Future>(future: F) -> F::Output {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(value) => value,
            Poll::Pending => panic!("the future is not ready"),
        }
    }

    #[test]
    fn the_first_wins_a_tie() {
        assert_eq!(now(first(ready(1), ready(2))), Either::Left(1));
        assert_eq!(now(first(pending::<()>(), ready(2))), Either::Right(2));
    }

    #[test]
    fn all_keeps_the_given_order() {
        assert_eq!(now(all([ready(1), ready(2), ready(3)])), [1, 2, 3]);
    }
}
