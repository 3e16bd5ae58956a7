//! Transactions: what each connection has queued, and what it watches.
//!
//! Source: the Redis 7.0.15 source (`multi.c`) and what such a server answers. A watched key that changes, or
//! expires, keeps the transaction from running; one that had expired already when it was watched does not
//! change by going away.

use std::collections::BTreeMap;

use host::{ConnId, Shortage};

use super::execute::{Effect, Step};
use super::reply::Refusal;
use super::{Command, Key, Malformed, RedisError, Reply};

/// The transactions of all connections. A connection that neither queues nor watches has none.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(super) struct Transactions {
    by_connection: BTreeMap<ConnId, Transaction>,
}

#[derive(Clone, PartialEq, Eq, Default, Debug)]
struct Transaction {
    /// What was queued since `MULTI`.
    queue: Option<Vec<Command>>,
    /// A command was refused instead of being queued.
    spoilt: bool,
    watched: Vec<Watched>,
    /// A watched key has changed.
    dirty: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
struct Watched {
    key: Key,
    /// It had expired when it was watched, and is still in memory.
    stale: bool,
}

impl Transactions {
    /// A key has changed, or (if it does not exist any more) is gone.
    pub(super) fn touch(&mut self, key: &Key, exists: bool) {
        for transaction in self.by_connection.values_mut() {
            for watched in transaction.watched.iter_mut().filter(|watched| watched.key == *key) {
                if watched.stale && !exists {
                    watched.stale = false;
                } else {
                    transaction.dirty = true;
                }
            }
        }
    }

    /// Whether what comes on the connection is queued.
    pub(super) fn queues(&self, conn: ConnId) -> bool {
        self.by_connection.get(&conn).is_some_and(|transaction| transaction.queue.is_some())
    }

    /// The connection is closed.
    pub(super) fn forget(&mut self, conn: ConnId) {
        self.by_connection.remove(&conn);
    }
}

impl Step<'_> {
    /// Serves a request of a connection.
    pub(super) fn serve(&mut self, conn: ConnId, command: Command) -> Result<Reply, RedisError> {
        let queues = self.transactions.queues(conn);
        match command {
            Command::Subscribe { channel } => Ok(self.subscribe(conn, channel)),
            command if self.channels.count(conn) > 0 => match command {
                Command::Malformed(Malformed { error, queues: false, .. }) => Err(error),
                command => Err(RedisError::Subscribed { command: command.name() }),
            },
            Command::Multi if queues => Err(RedisError::NestedMulti),
            Command::Multi => {
                self.transactions.by_connection.entry(conn).or_default().queue = Some(Vec::new());
                Ok(Reply::Ok)
            }
            Command::Watch { .. } if queues => Err(RedisError::WatchInMulti),
            Command::Watch { key } => {
                let stale = self.keys.is_stale(&key, self.now);
                self.transactions.by_connection.entry(conn).or_default().watched.push(Watched { key, stale });
                Ok(Reply::Ok)
            }
            Command::Exec if queues => self.exec(conn),
            Command::Exec => Err(RedisError::WithoutMulti { command: "EXEC" }),
            Command::Malformed(Malformed { error: RedisError::AbortedUncounted, .. }) => {
                self.transactions.forget(conn);
                Err(RedisError::AbortedUncounted)
            }
            Command::Discard if !queues => Err(RedisError::WithoutMulti { command: "DISCARD" }),
            Command::Unwatch if !queues => {
                self.transactions.forget(conn);
                Ok(Reply::Ok)
            }
            Command::Discard => {
                self.transactions.forget(conn);
                Ok(Reply::Ok)
            }
            command if queues => self.queue(conn, command),
            command => self.run(command),
        }
    }

    fn queue(&mut self, conn: ConnId, command: Command) -> Result<Reply, RedisError> {
        // While memory is short, nothing is queued, not even what only reads.
        let refusal = match self.refuses(command.effect()) {
            None if self.cx.shortages.of(Shortage::Memory) => Some(Refusal::Short(Shortage::Memory)),
            refusal => refusal,
        };
        let transaction = self.transactions.by_connection.entry(conn).or_default();
        let error = match &command {
            Command::Malformed(malformed) if !malformed.queues => Some(malformed.error),
            _ => refusal.map(RedisError::Refused),
        };
        if let Some(error) = error {
            transaction.spoilt = true;
            return Err(error);
        }
        transaction.queue.get_or_insert_default().push(command);
        Ok(Reply::Queued)
    }

    fn exec(&mut self, conn: ConnId) -> Result<Reply, RedisError> {
        let Some(transaction) = self.transactions.by_connection.remove(&conn) else { return Ok(Reply::NilArray) };
        let commands = transaction.queue.unwrap_or_default();
        let expired = |watched: &Watched| !watched.stale && self.keys.is_stale(&watched.key, self.now);
        let changed = transaction.dirty || transaction.watched.iter().any(expired);
        let effects = [Effect::Writes, Effect::Grows];
        let wanted = effects.into_iter().filter(|effect| commands.iter().any(|command| command.effect() == *effect));
        if let Some(why) = wanted.filter_map(|effect| self.refuses(effect)).next() {
            return Err(RedisError::AbortedFor(why));
        }
        if transaction.spoilt {
            return Err(RedisError::Aborted);
        }
        if changed {
            return Ok(Reply::NilArray);
        }
        let replies = commands.into_iter().map(|command| match command {
            Command::Unwatch => Reply::Ok,
            command => self.run(command).unwrap_or_else(Reply::Error),
        });
        Ok(Reply::Array(replies.collect()))
    }
}
