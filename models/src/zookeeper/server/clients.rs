//! Sessions of clients at this member, and what they ask, in its order.
//!
//! Source: `ZooKeeperServer.java` (`processConnectRequest`, `reopenSession`, `finishSessionInit`, `submitRequestNow`),
//! `CommitProcessor.java`, `FinalRequestProcessor.java`, `NIOServerCnxn.java` of ZooKeeper 3.8.0.
//!
//! * Who comes while this member neither leads nor follows finds the connection closed; so does who has seen more than it has.
//! * A client that goes on with its session here loses the connection that it had here before.
//! * A request in a session that is no more is dropped, without an answer: the connection is about to be closed.

use std::collections::{BTreeMap, VecDeque};

use host::{ConnId, Context, Origin};

use super::{Touched, ZooKeeper};
use crate::domain::Locks;
use crate::zookeeper::ZkError;
use crate::zookeeper::answer::{Answer, Body, Connected, ZkReply};
use crate::zookeeper::api::{Connect, Credentials, Op, ZkRequest};
use crate::zookeeper::learner::Ticket;
use crate::zookeeper::path::{Millis, Path, SessionId, Zxid};
use crate::zookeeper::tree::Change;

/// The clients of one member.
#[derive(Default, Debug)]
pub(super) struct Clients {
    all: BTreeMap<ConnId, Client>,
    /// Whose connection waits for what.
    tickets: BTreeMap<Ticket, ConnId>,
    /// Who came before the ensemble had its leader.
    early: Vec<(Origin, Connect)>,
    /// For who follows: sessions that were heard since the leader asked last.
    pub(super) touched: Touched,
    /// Answers that wait until so much is applied.
    syncs: Vec<(u64, Ticket)>,
}

/// A client's connection.
#[derive(Debug)]
struct Client {
    session: SessionId,
    timeout: Millis,
    /// What it asked and has no answer to, the oldest first.
    queue: VecDeque<Asked>,
}

/// What a client asked.
#[derive(Debug)]
enum Asked {
    /// For its session: it has none here before that is answered.
    Session(Origin),
    /// For something to be agreed upon.
    Shared(Origin),
    /// For what was agreed upon by now to be here.
    Sync(Origin, Path),
    /// For what this member has.
    Own(Origin, ZkRequest),
}

impl ZooKeeper {
    /// A client says something.
    pub(super) fn serve(&mut self, cx: &mut Context<Locks>, from: Origin, request: ZkRequest) {
        match request {
            ZkRequest::Connect(connect) => self.welcome(cx, from, *connect),
            other => self.ask(cx, from, other),
        }
    }

    /// Who came too early is welcome now.
    pub(super) fn welcome_early(&mut self, cx: &mut Context<Locks>) {
        self.is_beginning = false;
        for (from, connect) in std::mem::take(&mut self.clients.early) {
            self.welcome(cx, from, connect);
        }
    }

    fn welcome(&mut self, cx: &mut Context<Locks>, from: Origin, connect: Connect) {
        if !self.serves() && self.is_beginning {
            self.clients.early.push((from, connect));
            return;
        }
        if !self.serves() || connect.last_seen > self.seen() {
            cx.close(from.conn);
            return;
        }
        let timeout = Millis::from(self.servers.negotiated(connect.timeout.as_duration()));
        let ticket = self.ticket(cx);
        let session = match connect.session {
            Some(credentials) if credentials.password != password(credentials.session) => {
                expired(cx, from);
                return;
            }
            Some(Credentials { session, .. }) => {
                self.hang_up(cx, session);
                session
            }
            None => self.fresh_session(cx),
        };
        let queue = VecDeque::from([Asked::Session(from)]);
        self.clients.all.insert(from.conn, Client { session, timeout, queue });
        self.clients.tickets.insert(ticket, from.conn);
        if connect.session.is_some() {
            self.revalidate(cx, ticket, session, timeout);
        } else {
            self.submit(cx, ticket, session, Change::Open { session, timeout });
        }
    }

    /// Whether the session of who waits for that is there.
    pub(super) fn validated(&mut self, cx: &mut Context<Locks>, ticket: Ticket, is_valid: bool) {
        let Some(conn) = self.clients.tickets.remove(&ticket) else { return };
        let Some(client) = self.clients.all.get_mut(&conn) else { return };
        let Some(Asked::Session(from)) = client.queue.pop_front() else { return };
        let (session, timeout) = (client.session, client.timeout);
        if is_valid {
            let session = Credentials { session, password: password(session) };
            cx.reply(from, ZkReply::Connected(Box::new(Connected { timeout, session })));
            self.go_on(cx, conn);
        } else {
            self.clients_lose(conn);
            expired(cx, from);
        }
    }

    /// A request within a session.
    fn ask(&mut self, cx: &mut Context<Locks>, from: Origin, request: ZkRequest) {
        let Some(client) = self.clients.all.get(&from.conn) else { return };
        let (session, timeout) = (client.session, client.timeout);
        if !self.touch(cx, session, timeout) {
            return;
        }
        let asked = match &request {
            ZkRequest::Sync { path } => Asked::Sync(from, *path),
            other if is_shared(other) => Asked::Shared(from),
            _ => Asked::Own(from, request.clone()),
        };
        let is_own = matches!(asked, Asked::Own(..));
        self.clients.all.get_mut(&from.conn).expect("it is there").queue.push_back(asked);
        if is_own {
            self.go_on(cx, from.conn);
            return;
        }
        let ticket = self.ticket(cx);
        self.clients.tickets.insert(ticket, from.conn);
        match change_of(session, request) {
            Some(change) => self.submit(cx, ticket, session, change),
            None => self.ask_how_far(cx, ticket),
        }
    }

    /// Answers what has its turn.
    fn go_on(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        loop {
            let Some(client) = self.clients.all.get_mut(&conn) else { return };
            let Some(Asked::Own(from, request)) = client.queue.pop_front_if(|asked| matches!(asked, Asked::Own(..)))
            else {
                return;
            };
            let outcome = self.read(cx, conn, request);
            answer(cx, from, self.seen(), outcome);
        }
    }

    /// The newest number that this member has seen. Who leads begins its epoch with one that is no change's (`Leader.startZkServer`);
    /// who follows knows of the epoch only by its first change.
    fn seen(&self) -> Zxid {
        if self.member.leads() { self.tree.zxid() } else { self.tree.last() }
    }

    /// What this member has.
    fn read(&mut self, cx: &mut Context<Locks>, conn: ConnId, request: ZkRequest) -> Result<Body, ZkError> {
        match request {
            ZkRequest::Exists { path, watch } => {
                if watch {
                    self.watches.add_data(path, conn);
                }
                Ok(Body::Exists { stat: self.tree.stat(&path)? })
            }
            ZkRequest::GetData { path, watch } => {
                let (data, stat) = self.tree.data(&path)?;
                if watch {
                    self.watches.add_data(path, conn);
                }
                Ok(Body::Data { data, stat })
            }
            ZkRequest::GetChildren { path, watch } => {
                let names = self.tree.children(&path)?.collect();
                if watch {
                    self.watches.add_child(path, conn);
                }
                Ok(Body::Children { names, stat: self.tree.stat(&path)? })
            }
            ZkRequest::SetWatches(watches) => {
                self.watches.set(cx, conn, &self.tree, &watches);
                Ok(Body::Nothing)
            }
            _ => Ok(Body::Nothing),
        }
    }

    /// What somebody waited for is done, here or in vain.
    pub(super) fn done(&mut self, cx: &mut Context<Locks>, ticket: Ticket, zxid: Zxid, outcome: Result<Body, ZkError>) {
        let Some(conn) = self.clients.tickets.remove(&ticket) else { return };
        let Some(client) = self.clients.all.get_mut(&conn) else { return };
        let (from, outcome) = match client.queue.pop_front() {
            Some(Asked::Shared(from)) => (from, outcome),
            Some(Asked::Sync(from, path)) => (from, Ok(Body::Synced { path })),
            other => unreachable!("what has a ticket is waited for in the order of the log: {other:?}"),
        };
        if outcome == Err(ZkError::SessionMoved) {
            // The connection is torn down without a word.
            cx.close(conn);
            self.clients_lose(conn);
            return;
        }
        answer(cx, from, zxid, outcome);
        self.go_on(cx, conn);
    }

    /// The leader has said how far the log was.
    pub(super) fn synced(&mut self, cx: &mut Context<Locks>, ticket: Ticket, index: u64) {
        self.clients.syncs.push((index, ticket));
        self.answer_syncs(cx);
    }

    /// Answers those who wait for no more than what is applied.
    pub(super) fn answer_syncs(&mut self, cx: &mut Context<Locks>) {
        let applied = self.member.applied().index;
        while let Some(at) = self.clients.syncs.iter().position(|(index, _)| *index <= applied) {
            let (_, ticket) = self.clients.syncs.remove(at);
            self.done(cx, ticket, self.seen(), Ok(Body::Nothing));
        }
    }

    /// A session has ended: whose it was here hears that, and the connection is closed.
    pub(super) fn hang_up(&mut self, cx: &mut Context<Locks>, session: SessionId) {
        let own = |(conn, client): (&ConnId, &Client)| (client.session == session).then_some(*conn);
        let conns: Vec<_> = self.clients.all.iter().filter_map(own).collect();
        for conn in conns {
            cx.close(conn);
            self.clients_lose(conn);
        }
    }

    /// Nobody is served here for now.
    pub(super) fn hang_up_all(&mut self, cx: &mut Context<Locks>) {
        let conns: Vec<_> = self.clients.all.keys().copied().collect();
        for conn in conns {
            cx.close(conn);
            self.clients_lose(conn);
        }
        self.clients.touched.clear();
        self.clients.syncs.clear();
    }

    /// That client's connection is gone. Its session is not.
    pub(super) fn clients_lose(&mut self, conn: ConnId) {
        self.clients.early.retain(|(from, _)| from.conn != conn);
        if self.clients.all.remove(&conn).is_some() {
            self.clients.tickets.retain(|_, of| *of != conn);
            self.watches.forget(conn);
        }
    }
}

/// Whether that is to be agreed upon.
const fn is_shared(request: &ZkRequest) -> bool {
    matches!(
        request,
        ZkRequest::CloseSession
            | ZkRequest::Multi(_)
            | ZkRequest::Create(_)
            | ZkRequest::Delete(_)
            | ZkRequest::SetData(_)
    )
}

/// What is to be agreed upon for that request.
fn change_of(session: SessionId, request: ZkRequest) -> Option<Change> {
    let op = match request {
        ZkRequest::CloseSession => return Some(Change::Close { session }),
        ZkRequest::Multi(multi) => return Some(Change::Multi { session, multi: *multi }),
        ZkRequest::Create(create) => Op::Create(*create),
        ZkRequest::Delete(delete) => Op::Delete(delete),
        ZkRequest::SetData(set) => Op::SetData(*set),
        _ => return None,
    };
    Some(Change::One { session, op })
}

fn answer(cx: &mut Context<Locks>, from: Origin, zxid: Zxid, outcome: Result<Body, ZkError>) {
    cx.reply(from, ZkReply::Answer(Box::new(Answer { zxid, outcome })));
}

fn expired(cx: &mut Context<Locks>, from: Origin) {
    cx.reply(from, ZkReply::Expired);
    cx.close(from.conn);
}

/// The password of a session. (`generatePasswd`: drawn from the session's number and a secret of all members'.)
const fn password(SessionId(number): SessionId) -> (u64, u64) {
    const SECRET: u64 = 0xb3_415c_0000;
    (number ^ SECRET, number.rotate_left(32) ^ SECRET)
}
