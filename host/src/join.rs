//! Waiting for two things, in an order that is always the same.
//!
//! `select!` macros and `FuturesUnordered` bring random branch order and wakers of their own: both
//! would make a run depend on more than its seed. These are all a recipe needs.

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
    let outputs = until(futures, |_| false).await;
    outputs.into_iter().map(|output| output.expect("every future has ended")).collect()
}

/// Waits until the results so far are `enough`, or for all; polls in the given order, which the results keep. Those
/// that have not ended are dropped, as the loser of [`first`] is.
pub async fn until<F: Future>(
    futures: impl IntoIterator<Item = F>,
    enough: impl Fn(&[Option<F::Output>]) -> bool,
) -> Vec<Option<F::Output>> {
    let mut futures: Vec<_> = futures.into_iter().map(Box::pin).collect();
    let mut outputs: Vec<_> = futures.iter().map(|_| None).collect();
    poll_fn(|cx| {
        for (future, output) in futures.iter_mut().zip(0..) {
            if outputs[output].is_some() {
                continue;
            }
            if let Poll::Ready(value) = future.as_mut().poll(cx) {
                outputs[output] = Some(value);
                if enough(&outputs) {
                    return Poll::Ready(());
                }
            }
        }
        if outputs.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    outputs
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

    #[test]
    fn enough_is_enough() {
        let some = |votes: &[Option<i32>], many: usize| votes.iter().flatten().count() >= many;
        assert_eq!(now(until([ready(1), ready(2), ready(3)], |votes| some(votes, 2))), [Some(1), Some(2), None]);
        assert_eq!(now(until([ready(1), ready(2)], |votes| some(votes, 9))), [Some(1), Some(2)], "all are, too");
        let polled = core::cell::Cell::new(0);
        let waiting = || {
            poll_fn(|_| {
                polled.set(polled.get() + 1);
                Poll::<i32>::Pending
            })
        };
        let mut two = pin!(until([waiting(), waiting()], |_| true));
        assert!(two.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
        assert_eq!(polled.get(), 2);
    }
}
