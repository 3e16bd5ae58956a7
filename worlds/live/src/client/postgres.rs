//! How a client reaches a PostgreSQL server: not yet. What would need one is refused before anybody starts.

use std::convert::Infallible;

use host::{CallError, Calls, ConnectError, Connection, Duration, Server};
use models::postgres::{PgPush, PgReply, PgRequest};

use super::LiveHost;

/// A connection that nobody has.
#[derive(Debug)]
pub struct PgConnection(Infallible);

impl Calls<PgRequest> for LiveHost {
    type Connection = PgConnection;

    async fn connect(&self, server: Server<PgRequest>, _: Duration) -> Result<PgConnection, ConnectError> {
        self.strand(format!("nobody listens for {:?}", server.node())).await
    }
}

impl Connection<PgRequest> for PgConnection {
    fn is_open(&self) -> bool {
        match self.0 {}
    }

    async fn call(&self, _: PgRequest, _: Duration) -> Result<PgReply, CallError> {
        match self.0 {}
    }

    async fn pushed(&self) -> Option<PgPush> {
        match self.0 {}
    }
}
