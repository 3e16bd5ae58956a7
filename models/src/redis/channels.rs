//! Channels: who hears what is published.
//!
//! Source: the Redis 7.0.15 source (`pubsub.c`, `server.c`) and what such a server answers. A message goes to whoever
//! is subscribed when it is published, once, and is kept for nobody; what a connection that is gone would have
//! heard is lost. A connection that is subscribed may ask for nothing else.
//!
//! Not modelled: patterns, shards, transactions that subscribe (the command is not queued), and to unsubscribe
//! otherwise than by closing the connection.

use std::collections::BTreeMap;
use std::fmt;

use host::{ConnId, Digest, Fold};

use super::execute::Step;
use super::{Reply, Value};

/// What a server pushes to who is subscribed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Published {
    /// On which channel.
    pub channel: Value,
    /// What was said.
    pub message: Value,
}

/// Who is subscribed to which channel, in the order in which they came.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Channels {
    by_name: BTreeMap<Value, Vec<ConnId>>,
}

impl Channels {
    /// The connection is closed.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.by_name.retain(|_, subscribed| {
            subscribed.retain(|other| *other != conn);
            !subscribed.is_empty()
        });
    }

    /// To how many channels it is subscribed.
    pub(super) fn count(&self, conn: ConnId) -> usize {
        self.by_name.values().filter(|subscribed| subscribed.contains(&conn)).count()
    }
}

impl Step<'_> {
    pub(super) fn subscribe(&mut self, conn: ConnId, channel: Value) -> Reply {
        let subscribed = self.channels.by_name.entry(channel.clone()).or_default();
        if !subscribed.contains(&conn) {
            subscribed.push(conn);
        }
        let count = self.channels.count(conn);
        Reply::Array(vec![Reply::Bulk("subscribe".into()), Reply::Bulk(channel), Reply::Int(count as i64)])
    }

    /// Tells everybody who is subscribed, and how many these are.
    pub(super) fn publish(&mut self, channel: &Value, message: &Value) -> Reply {
        let subscribed = self.channels.by_name.get(channel).map_or(&[][..], Vec::as_slice);
        for conn in subscribed {
            let published = Published { channel: channel.clone(), message: message.clone() };
            self.cx.push(*conn, published);
        }
        Reply::Int(subscribed.len() as i64)
    }
}

impl Digest for Published {
    fn digest(&self, fold: &mut Fold) {
        let Self { channel, message } = self;
        channel.digest(fold);
        message.digest(fold);
    }
}

impl fmt::Display for Published {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} {}", self.channel, self.message)
    }
}
