//! How a client reaches the guarded resource, which lives with the coordinator: over its line to it. That the operation has
//! left is noted as the line is written.

use std::cell::Cell;
use std::fmt;

use host::{CallError, Calls, ConnectError, Connection, Domain, Duration, Either, Host, Never, Server, first};
use models::resource::{Op, OpReply};
use models::{Locks, Message};

use super::LiveHost;
use crate::line::Report;

/// A connection to the guarded resource.
pub struct ResourceConnection {
    host: LiveHost,
    is_open: Cell<bool>,
}

impl Calls<Op> for LiveHost {
    type Connection = ResourceConnection;

    async fn connect(&self, _: Server<Op>, _: Duration) -> Result<ResourceConnection, ConnectError> {
        Ok(ResourceConnection { host: self.clone(), is_open: Cell::new(true) })
    }
}

impl Connection<Op> for ResourceConnection {
    fn is_open(&self) -> bool {
        self.is_open.get()
    }

    async fn call(&self, op: Op, timeout: Duration) -> Result<OpReply, CallError> {
        if !self.is_open.get() {
            return Err(CallError::Closed);
        }
        let (host, call) = (&self.host, self.host.number());
        let (attempt, message) = (host.scope(), Message::from(op.clone()));
        let answer = host.await_answer(call);
        if let Some(left) = attempt.and_then(|attempt| Locks::left(&message, attempt)) {
            host.note(left);
        }
        host.say(&Report::Operates { call, attempt, op });
        match first(answer, host.sleep(timeout)).await {
            Either::Left(Ok(reply)) => Ok(reply),
            Either::Left(Err(_)) => Err(CallError::Closed),
            Either::Right(()) => {
                self.is_open.set(false);
                Err(CallError::TimedOut)
            }
        }
    }

    async fn pushed(&self) -> Option<Never> {
        std::future::pending().await
    }
}

impl fmt::Debug for ResourceConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ResourceConnection(open: {})", self.is_open.get())
    }
}
