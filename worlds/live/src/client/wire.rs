//! A connection of the `redis` crate to a server or a Sentinel: one that asks, or, once it has subscribed, one that
//! hears.
//!
//! The crate's own time limits are off: the limit is the call's, and a call that has run into it costs the connection.

use std::cell::RefCell;
use std::future::poll_fn;
use std::net::Ipv4Addr;
use std::task::Poll;

use futures_util::StreamExt;
use host::{CallError, ConnectError, Duration, Either, Host, first};
use redis::aio::{MultiplexedConnection, PubSub, PubSubStream};
use redis::{AsyncConnectionConfig, Cmd, RedisConnectionInfo, Value};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::LiveHost;

/// An open connection, or one that was.
pub(super) struct Wire {
    host: LiveHost,
    /// Where the other end listens.
    listens: u16,
    /// From which port it came: by this the server knows it.
    pub(super) port: u16,
    connection: MultiplexedConnection,
    /// What reads and writes; it ends when the connection does.
    driver: JoinHandle<()>,
    hears: RefCell<Ear>,
}

/// What a connection hears.
enum Ear {
    /// It has not subscribed.
    Closed,
    Open(PubSubStream),
    /// The other end is gone.
    Deaf,
}

impl Wire {
    /// Connects to who listens there.
    pub(super) async fn open(host: &LiveHost, listens: u16, timeout: Duration) -> Result<Self, ConnectError> {
        let opens = async {
            let (stream, port) = dial(listens).await?;
            let config = AsyncConnectionConfig::new().set_response_timeout(None);
            let (connection, driver) = MultiplexedConnection::new_with_config(&about(), stream, config).await.ok()?;
            let (host, driver) = (host.clone(), tokio::task::spawn_local(driver));
            Some(Self { host, listens, port, connection, driver, hears: RefCell::new(Ear::Closed) })
        };
        match first(opens, host.sleep(timeout)).await {
            Either::Left(opened) => opened.ok_or(ConnectError::Refused),
            Either::Right(()) => Err(ConnectError::TimedOut),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        match &*self.hears.borrow() {
            Ear::Closed => !self.driver.is_finished(),
            Ear::Open(_) => true,
            Ear::Deaf => false,
        }
    }

    fn close(&self) {
        self.driver.abort();
    }

    /// Asks, and waits for the answer.
    pub(super) async fn ask(&self, args: &[&[u8]], timeout: Duration) -> Result<Value, CallError> {
        let mut packed = Cmd::new();
        args.iter().for_each(|arg| _ = packed.arg(*arg));
        let mut connection = self.connection.clone();
        match first(connection.send_packed_command(&packed), self.host.sleep(timeout)).await {
            Either::Left(answer) => answer.map_err(|_| CallError::Closed),
            Either::Right(()) => {
                self.close();
                Err(CallError::TimedOut)
            }
        }
    }

    /// Subscribes: from here on it hears and asks nothing more. The crate wants a new connection for that, which takes
    /// this one's place.
    pub(super) async fn subscribe(&self, channel: &[u8], timeout: Duration) -> Result<(), CallError> {
        let opens = async {
            let (stream, _) = dial(self.listens).await?;
            let mut hears = PubSub::new(&about(), stream).await.ok()?;
            hears.subscribe(channel).await.ok()?;
            Some(hears.into_on_message())
        };
        let opened = first(opens, self.host.sleep(timeout)).await;
        self.close();
        match opened {
            Either::Left(Some(stream)) => {
                self.hears.replace(Ear::Open(stream));
                Ok(())
            }
            Either::Left(None) => Err(CallError::Closed),
            Either::Right(()) => Err(CallError::TimedOut),
        }
    }

    /// What is published next, and on which channel. `None`: the connection is gone. Who has not subscribed waits for ever.
    pub(super) async fn hear(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        poll_fn(|cx| {
            let mut hears = self.hears.borrow_mut();
            let heard = match &mut *hears {
                Ear::Closed => return Poll::Pending,
                Ear::Deaf => return Poll::Ready(None),
                Ear::Open(stream) => stream.poll_next_unpin(cx),
            };
            if let Poll::Ready(None) = heard {
                *hears = Ear::Deaf;
            }
            let said =
                |said: redis::Msg| (said.get_channel_name().as_bytes().to_vec(), said.get_payload_bytes().to_vec());
            heard.map(|heard| heard.map(said))
        })
        .await
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.close();
    }
}

/// Opens a connection to who listens there: and from which port.
async fn dial(listens: u16) -> Option<(TcpStream, u16)> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, listens)).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let port = stream.local_addr().ok()?.port();
    Some((stream, port))
}

fn about() -> RedisConnectionInfo {
    RedisConnectionInfo::default().set_skip_set_lib_name()
}
