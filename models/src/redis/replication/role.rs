//! Which role a server plays, and the commands that tell and change it.
//!
//! Sources: `replication.c` (`replicationSetMaster`, `replicationUnsetMaster`, `roleCommand`), `server.c`
//! (`genRedisInfoString`) and `networking.c` (`clientKillCommand`) of Redis 7.0.15.

use std::fmt;

use host::{AttemptId, ConnId, Context, Duration, NodeId, digest_enum};
use spec::{Cause, Note};

use super::feed::History;
use super::replica::{Follower, Way};
use super::{Config, Replication, unixtime};
use crate::domain::Locks;
use crate::redis::Key;
use crate::redis::keyspace::Keyspace;
use crate::redis::transaction::Transactions;

/// What a server says of itself in `INFO`: the lines that somebody reads here.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Info {
    /// `run_id`: another in each life of the process.
    pub run: u64,
    /// `role`, and what follows from it.
    pub role: Role,
    /// `master_repl_offset` or `slave_repl_offset`.
    pub offset: u64,
}

/// `role`
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Role {
    /// `master`
    Primary {
        /// `slaveN`: who is connected.
        replicas: Vec<NodeId>,
    },
    /// `slave`
    Replica {
        /// `master_host` and `master_port`.
        of: NodeId,
        /// `master_link_status`
        link: Link,
    },
}

/// `master_link_status`
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Link {
    /// `up`
    Up,
    /// `down`
    Down {
        /// `master_link_down_since_seconds`
        since: Duration,
    },
}

digest_enum!(Role { 1 => Primary { replicas }, 2 => Replica { of, link } });
digest_enum!(Link { 1 => Up, 2 => Down { since } });

impl host::Digest for Info {
    fn digest(&self, fold: &mut host::Fold) {
        let Self { run, role, offset } = self;
        run.digest(fold);
        role.digest(fold);
        offset.digest(fold);
    }
}

impl Replication {
    /// `INFO`
    pub(in crate::redis) fn info(&self, cx: &Context<Locks>) -> Info {
        let role = match self.follows {
            None => Role::Primary { replicas: self.feeds.replicas() },
            Some(Follower { primary, link, down_since, .. }) => {
                let seconds = u64::try_from(unixtime(cx) - down_since).unwrap_or(0);
                let link = match link {
                    Way::Up(_) => Link::Up,
                    _ => Link::Down { since: Duration::from_secs(seconds) },
                };
                Role::Replica { of: primary, link }
            }
        };
        Info { run: self.run, role, offset: self.offset }
    }

    /// `REPLICAOF host port`: from now on it refuses to write. What it has it keeps, until the new primary sends it
    /// something else. Clients that wait for replicas are sent away.
    pub(in crate::redis) fn demote(&mut self, cx: &mut Context<Locks>, keys: &Keyspace, primary: NodeId) {
        let before = self.follows.map(|follower| follower.primary);
        if before == Some(primary) {
            return;
        }
        self.waits.send_away(cx);
        self.told_of = 0;
        self.follow(cx, primary);
        if before.is_none() {
            cx.lead(false);
            for (key, _) in keys.owners() {
                self.note_owner(cx, key, None, Cause::Demotion);
            }
            cx.note(Note::Demoted { authority: cx.node });
        }
    }

    /// `REPLICAOF NO ONE`: from now on it writes, and begins a history of its own. What has come of the old one is
    /// its beginning. Keys that are over on its clock are gone.
    pub(in crate::redis) fn promote(&mut self, cx: &mut Context<Locks>, keys: &mut Keyspace, now: i64) {
        let Some(instead_of) = self.hang_up(cx) else { return };
        self.former = Some((self.history, self.offset));
        self.history = History::fresh(cx);
        self.feeds.disconnect(cx);
        cx.lead(true);
        for key in keys.all_expired(now) {
            keys.remove(&key);
            self.change(key);
        }
        for (key, owner) in keys.owners() {
            self.note_owner(cx, key, Some(owner), Cause::Promotion);
        }
        cx.note(Note::Promoted { authority: cx.node, instead_of });
    }

    fn note_owner(&mut self, cx: &mut Context<Locks>, key: Key, attempt: Option<AttemptId>, cause: Cause) {
        self.owner_was_noted();
        cx.note(Note::Owner { authority: cx.node, key, attempt, cause });
    }

    /// `CONFIG REWRITE`: after a restart it will be what it is now.
    pub(in crate::redis) fn rewrite_config(&self, cx: &mut Context<Locks>) {
        self.write_config(cx, Config { replica_of: self.follows.map(|follower| follower.primary) });
    }

    /// `CLIENT KILL TYPE normal`: ends the connections of all clients but the one that asks. How many there were.
    /// (Of one that has never asked for anything a server knows nothing here.)
    pub(in crate::redis) fn kill_clients(
        &mut self,
        cx: &mut Context<Locks>,
        transactions: &mut Transactions,
        asking: ConnId,
    ) -> usize {
        let killed = self.clients.extract_if(.., |conn, _| *conn != asking);
        let mut count = 0;
        for (conn, _) in killed {
            cx.close(conn);
            transactions.forget(conn);
            self.waits.forget(conn);
            count += 1;
        }
        count
    }
}

impl fmt::Display for Info {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.role {
            Role::Primary { replicas } => write!(f, "role:master, {} replicas", replicas.len())?,
            Role::Replica { link: Link::Up, .. } => f.write_str("role:slave, link up")?,
            Role::Replica { link: Link::Down { since }, .. } => {
                write!(f, "role:slave, link down for {} s", since.as_secs())?;
            }
        }
        write!(f, ", offset {}", self.offset)
    }
}
