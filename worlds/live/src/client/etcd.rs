//! Members of an etcd cluster: nobody starts them yet, and cells that have some are refused, so that none is ever reached.

use host::{CallError, Calls, ConnectError, Connection, Duration, Request, Server};
use models::etcd::Rpc;

use super::LiveHost;

/// A connection to a member: there is none.
#[derive(Debug)]
pub enum EtcdConnection {}

impl Calls<Rpc> for LiveHost {
    type Connection = EtcdConnection;

    async fn connect(&self, _: Server<Rpc>, _: Duration) -> Result<EtcdConnection, ConnectError> {
        Err(ConnectError::Refused)
    }
}

impl Connection<Rpc> for EtcdConnection {
    fn is_open(&self) -> bool {
        match *self {}
    }

    async fn call(&self, _: Rpc, _: Duration) -> Result<<Rpc as Request>::Reply, CallError> {
        match *self {}
    }

    async fn pushed(&self) -> Option<<Rpc as Request>::Push> {
        match *self {}
    }
}
