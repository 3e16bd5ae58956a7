//! How a client comes to the server that answers for its locks.

use host::{ConnectError, NodeId};

use super::{Command, RedisHost, Reply};
use crate::link::{Link, LinkError};

/// A way to a Redis server.
pub trait Way<H: RedisHost>: 'static {
    /// Opens it, if it is not open.
    async fn open(&self, host: &H) -> Result<(), ConnectError>;
    /// Sends a request and waits for its reply.
    async fn call(&self, host: &H, command: Command) -> Result<Reply, LinkError>;
    /// The server that answered last.
    fn server(&self) -> NodeId;
}

/// To one server for ever.
impl<H: RedisHost> Way<H> for Link<H, Command> {
    async fn open(&self, host: &H) -> Result<(), ConnectError> {
        Self::open(self, host).await
    }

    async fn call(&self, host: &H, command: Command) -> Result<Reply, LinkError> {
        Self::call(self, host, command).await
    }

    fn server(&self) -> NodeId {
        Self::server(self).node()
    }
}
