//! Sentinels: nobody starts them yet, and cells that have some are refused, so that none is ever reached.

use host::{CallError, Calls, ConnectError, Connection, Duration, Request, Server};
use models::redis::Ask;

use super::LiveHost;

/// A connection to a Sentinel: there is none.
#[derive(Debug)]
pub enum SentinelConnection {}

impl Calls<Ask> for LiveHost {
    type Connection = SentinelConnection;

    async fn connect(&self, _: Server<Ask>, _: Duration) -> Result<SentinelConnection, ConnectError> {
        Err(ConnectError::Refused)
    }
}

impl Connection<Ask> for SentinelConnection {
    fn is_open(&self) -> bool {
        match *self {}
    }

    async fn call(&self, _: Ask, _: Duration) -> Result<<Ask as Request>::Reply, CallError> {
        match *self {}
    }

    async fn pushed(&self) -> Option<<Ask as Request>::Push> {
        match *self {}
    }
}
