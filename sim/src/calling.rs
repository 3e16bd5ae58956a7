//! A client's call, as its program awaits it.
//!
//! Not an `async fn`: most of what a client does is to call, and such a future would move each request once more, and
//! look twice for each reply.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as TaskContext, Poll};

use host::{CallError, Domain, Duration, Request};

use crate::calls::CallSlot;
use crate::process::SimConnection;

/// A call.
pub(crate) struct Calling<'a, D: Domain, R> {
    connection: &'a SimConnection<D, R>,
    timeout: Duration,
    /// What is asked, until it is sent.
    message: Option<D::Message>,
    stage: Stage,
}

/// How far a call is.
#[derive(Clone, Copy)]
enum Stage {
    /// It begins when it is first polled.
    Unsent,
    Waiting(CallSlot),
    /// It could not be sent, and gives way before it says so.
    GivesWay(CallError),
    Over,
}

impl<'a, D: Domain, R> Calling<'a, D, R> {
    pub(crate) const fn new(connection: &'a SimConnection<D, R>, message: D::Message, timeout: Duration) -> Self {
        Self { connection, timeout, message: Some(message), stage: Stage::Unsent }
    }
}

/// Nothing in it is ever pinned.
impl<D: Domain, R> Unpin for Calling<'_, D, R> {}

impl<D, R> Future for Calling<'_, D, R>
where
    D: Domain,
    R: Request,
    R::Reply: TryFrom<D::Message>,
{
    type Output = Result<R::Reply, CallError>;

    fn poll(self: Pin<&mut Self>, _: &mut TaskContext<'_>) -> Poll<Self::Output> {
        let Self { connection, timeout, message, stage } = self.get_mut();
        let mut core = connection.host.core.borrow_mut();
        match *stage {
            Stage::Waiting(slot) => {
                let Some(outcome) = core.poll_call(slot) else { return Poll::Pending };
                *stage = Stage::Over;
                return Poll::Ready(outcome.map(own_kind));
            }
            Stage::Unsent => {
                let message = message.take().expect("what is not sent yet is there");
                *stage = match core.start_call(connection.conn, message, *timeout) {
                    Ok(slot) => Stage::Waiting(slot),
                    Err(error) => {
                        let current = core.tasks.current();
                        core.tasks.wake(current);
                        Stage::GivesWay(error)
                    }
                };
            }
            Stage::GivesWay(error) => {
                *stage = Stage::Over;
                return Poll::Ready(Err(error));
            }
            Stage::Over => unreachable!("a call is not polled once it is over"),
        }
        Poll::Pending
    }
}

impl<D: Domain, R> Drop for Calling<'_, D, R> {
    fn drop(&mut self) {
        if let Stage::Waiting(slot) = self.stage {
            self.connection.host.if_alive(|core| core.drop_call(slot));
        }
    }
}

/// # Panics
/// If a service answered a request with another service's reply: a bug of the model.
pub(crate) fn own_kind<M, T: TryFrom<M>>(message: M) -> T {
    let Ok(own) = T::try_from(message) else { panic!("a service answered with another service's message") };
    own
}
