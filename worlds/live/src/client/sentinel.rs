//! How a client reaches a Sentinel: by the `redis` crate. Servers are known by the ports on which they listen.

use std::fmt;

use host::{CallError, Calls, ConnectError, Connection, Duration, NodeId, Server};
use models::redis::sentinel::{Answer, Told};
use models::redis::{Ask, sentinel_lock};
use redis::Value;

use super::LiveHost;
use super::wire::Wire;

/// A connection to a Sentinel.
pub struct SentinelConnection {
    host: LiveHost,
    sentinel: NodeId,
    wire: Wire,
}

impl Calls<Ask> for LiveHost {
    type Connection = SentinelConnection;

    async fn connect(&self, sentinel: Server<Ask>, timeout: Duration) -> Result<SentinelConnection, ConnectError> {
        let sentinel = sentinel.node();
        let Some(listens) = self.port(sentinel) else { self.strand(format!("nobody listens for {sentinel:?}")).await };
        let wire = Wire::open(self, listens, timeout).await?;
        Ok(SentinelConnection { host: self.clone(), sentinel, wire })
    }
}

impl SentinelConnection {
    /// The server that listens on the port of that address.
    fn at(&self, port: &[u8]) -> Option<NodeId> {
        std::str::from_utf8(port).ok()?.parse().ok().and_then(|port| self.host.node_at(port))
    }
}

impl Connection<Ask> for SentinelConnection {
    fn is_open(&self) -> bool {
        self.wire.is_open()
    }

    async fn call(&self, ask: Ask, timeout: Duration) -> Result<Answer, CallError> {
        let answer = match ask {
            Ask::Subscribe => return self.wire.subscribe(SWITCHED, timeout).await.map(|()| Answer::Ok),
            Ask::Ping => return self.wire.ask(&[b"PING"], timeout).await.map(|_| Answer::Pong),
            Ask::MasterAddr { name } => {
                let asked: [&[u8]; 3] = [b"SENTINEL", b"GET-MASTER-ADDR-BY-NAME", name.as_str().as_bytes()];
                self.wire.ask(&asked, timeout).await?
            }
            other => self.host.strand(format!("no client asks this: {other:?}")).await,
        };
        let addr = match &answer {
            Value::Nil => Some(None),
            Value::Array(parts) => match parts.as_slice() {
                [_, Value::BulkString(port)] => self.at(port).map(Some),
                _ => None,
            },
            _ => None,
        };
        match addr {
            Some(addr) => Ok(Answer::Addr(addr)),
            None => self.host.strand(format!("{:?} says {answer:?}", self.sentinel)).await,
        }
    }

    async fn pushed(&self) -> Option<Told> {
        let (_, message) = self.wire.hear().await?;
        // `name host port host port`
        let words: Vec<&[u8]> = message.split(|byte| *byte == b' ').collect();
        let switch = match words.as_slice() {
            [name, _, from, _, to] if *name == sentinel_lock::NAME.as_str().as_bytes() => {
                self.at(from).zip(self.at(to))
            }
            _ => None,
        };
        match switch {
            Some((from, to)) => Some(Told::SwitchMaster { from, to }),
            None => self.host.strand(format!("{:?} tells {}", self.sentinel, String::from_utf8_lossy(&message))).await,
        }
    }
}

impl fmt::Debug for SentinelConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SentinelConnection({:?})", self.sentinel)
    }
}

/// On which channel a Sentinel tells of switches.
const SWITCHED: &[u8] = b"+switch-master";
