//! The replica's side: its connection to the primary, and what it does with what comes.

use host::{CallId, ConnId, Context, NodeId, Server};
use spec::Note;

use super::feed::{Feed, Streamed, ToReplica, What};
use super::{Replication, TIMEOUT_SECONDS, unixtime};
use crate::domain::{Locks, Message};
use crate::redis::Command;
use crate::redis::keyspace::Keyspace;
use crate::redis::transaction::Transactions;

/// A replica's way to its primary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::redis) struct Follower {
    pub(super) primary: NodeId,
    pub(super) link: Way,
    /// The second of the wall clock in which it last heard of the primary.
    pub(super) heard_at: i64,
    /// The second of the wall clock since when the link is down.
    pub(super) down_since: i64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    /// It is tried again, once a second.
    Down,
    Opens(ConnId),
    /// The replica has asked for the stream.
    Asks(ConnId),
    Up(ConnId),
}

impl Way {
    const fn conn(self) -> Option<ConnId> {
        match self {
            Self::Down => None,
            Self::Opens(conn) | Self::Asks(conn) | Self::Up(conn) => Some(conn),
        }
    }
}

impl Replication {
    /// From now on it is the replica of that server.
    pub(super) fn follow(&mut self, cx: &mut Context<Locks>, primary: NodeId) {
        self.hang_up(cx);
        let now = unixtime(cx);
        self.follows = Some(Follower { primary, link: Way::Down, heard_at: now, down_since: now });
        self.dial(cx);
    }

    /// It follows nobody any more.
    pub(super) fn hang_up(&mut self, cx: &mut Context<Locks>) -> Option<NodeId> {
        let follower = self.follows.take()?;
        if let Some(conn) = follower.link.conn() {
            cx.close(conn);
        }
        Some(follower.primary)
    }

    fn dial(&mut self, cx: &mut Context<Locks>) {
        let heard_at = unixtime(cx);
        if let Some(follower) = &mut self.follows {
            let conn = cx.connect::<Command>(Server::on(follower.primary));
            (follower.link, follower.heard_at) = (Way::Opens(conn), heard_at);
        }
    }

    /// A connection of its own is open.
    pub(in crate::redis) fn opened(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let (history, offset) = (self.history, self.offset);
        if let Some(follower) = &mut self.follows
            && follower.link == Way::Opens(conn)
        {
            follower.link = Way::Asks(conn);
            cx.request(conn, STREAM, Message::from(Command::Psync { history, offset, replica: cx.node }));
        }
    }

    /// If that connection was the link to the primary, it is lost. One that was in use is opened again at once, one
    /// that did not open when the second is over.
    pub(super) fn lose_link(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let now = unixtime(cx);
        let Some(follower) = &mut self.follows else { return };
        let link = follower.link;
        if link.conn() != Some(conn) {
            return;
        }
        follower.link = Way::Down;
        match link {
            Way::Up(_) => {
                follower.down_since = now;
                self.dial(cx);
            }
            Way::Asks(_) => self.dial(cx),
            Way::Opens(_) | Way::Down => {}
        }
    }

    /// What has to be done about the primary once a second.
    pub(super) fn attend_to_primary(&mut self, cx: &mut Context<Locks>) {
        let (now, offset) = (unixtime(cx), self.offset);
        let Some(follower) = &mut self.follows else { return };
        match follower.link {
            Way::Down => self.dial(cx),
            link if now - follower.heard_at > TIMEOUT_SECONDS => {
                if let Some(conn) = link.conn() {
                    cx.close(conn);
                    self.lose_link(cx, conn);
                }
            }
            Way::Up(conn) => cx.request(conn, STREAM, Message::from(Command::ReplconfAck { offset })),
            Way::Opens(_) | Way::Asks(_) => {}
        }
    }

    /// Something came on a connection of its own.
    pub(in crate::redis) fn take_in(
        &mut self,
        cx: &mut Context<Locks>,
        (keys, transactions): (&mut Keyspace, &mut Transactions),
        conn: ConnId,
        ToReplica(feed): ToReplica,
    ) {
        let now = unixtime(cx);
        let Some(follower) = self.follows.as_mut().filter(|follower| follower.link.conn() == Some(conn)) else {
            return;
        };
        follower.heard_at = now;
        match feed {
            Feed::Continue(history) => {
                follower.link = Way::Up(conn);
                // Its own replicas are not told that the name is another: they are to ask.
                if self.history != history {
                    self.history = history;
                    self.feeds.disconnect(cx);
                }
            }
            Feed::Whole(history, offset, all, owner_notes) => {
                follower.link = Way::Up(conn);
                (self.history, self.offset, self.former) = (history, offset, None);
                (self.backlog, self.backlog_from) = (Vec::new(), offset);
                self.feeds.disconnect(cx);
                for key in keys.replace_all(all) {
                    transactions.touch(&key, false);
                }
                cx.request(conn, STREAM, Message::from(Command::ReplconfAck { offset }));
                self.tell(cx, owner_notes);
            }
            Feed::Next(streamed) => {
                self.apply((keys, transactions), &streamed);
                if streamed.what == What::AckWanted {
                    cx.request(conn, STREAM, Message::from(Command::ReplconfAck { offset: streamed.offset }));
                }
                self.tell(cx, streamed.owner_notes);
                self.stream(cx, streamed);
            }
        }
    }

    fn apply(&self, (keys, transactions): (&mut Keyspace, &mut Transactions), streamed: &Streamed) {
        assert_eq!(streamed.offset, self.offset + 1, "a connection loses nothing");
        let What::Changes(changes) = &streamed.what else { return };
        for (key, entry) in changes {
            match entry {
                Some(entry) => _ = keys.insert(*key, entry.clone()),
                None => _ = keys.remove(key),
            }
            transactions.touch(key, entry.is_some());
        }
    }

    /// Tells the history how much of what the primary has told of owners has come to this replica.
    fn tell(&mut self, cx: &mut Context<Locks>, owner_notes: u32) {
        if let Some(Follower { primary, .. }) = self.follows
            && self.told_of != owner_notes
        {
            self.told_of = owner_notes;
            cx.note(Note::Replicated { authority: cx.node, primary, notes: owner_notes });
        }
    }
}

/// What a replica sends is not answered: all of it has one number.
const STREAM: CallId = CallId::new(0);
