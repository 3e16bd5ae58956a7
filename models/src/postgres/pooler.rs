//! A pooler before a PostgreSQL server: many clients share few connections to it.
//!
//! Sources: the documentation of PgBouncer 1.18, its source (`objects.c`, `janitor.c`), and what one of 1.18.0 did before a server of
//! 15.20: for whom it opens connections, which of several it takes, what clients are told when either side goes.
//!
//! | file | what |
//! |---|---|
//! | here | what comes from clients and from the server |
//! | [`line`] | one connection to the server |
//! | [`pool`] | which clients wait, which connections are free; when to open another, and when to close one |
//!
//! * **Transaction mode.** A client has a connection from its first statement until the answer after which the server is in no transaction
//!   block. So what belongs to a session (an advisory lock, a setting) stays with the connection, whoever has it next. Nothing is
//!   cleaned up: `server_reset_query` is not run.
//! * **Session mode.** A client has it until it leaves; then `DISCARD ALL` is run.
//! * **Whose connection.** That which was given back last (`server_round_robin` is off). If none is free, clients wait in the order in which they
//!   came, for `query_wait_timeout` at most.
//! * **A client that leaves** in the midst of a transaction or a statement takes its connection with it: the server rolls back.
//! * **A connection that breaks** takes its client with it, which is told so. One that nobody has is dropped, and nobody hears of it.
//! * **Clocks.** How long something has been so it reckons on the *wall* clock (`gettimeofday`); keepalive is the machine's.
//!
//! Left out: statement mode, several statements in one query, what a client sends before it has the answer to what it sent last (it waits
//! here), reserve pools and limits for users, `PAUSE` and the rest of its console, its rounds (it looks after its connections three times a second: what is due is done at once here).

mod line;
mod pool;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use host::{AttemptId, CallId, ConnId, Context, Deadline, KeepAlive, Origin, Server, Service, TimerId};

use super::PgRequest;
use super::answer::{Outcome, PgPush, PgReply, Status};
use super::error::{PgError, SqlState};
use super::key::{Database, Pid};
use crate::domain::{Locks, Message};
use crate::lock::{PoolMode, Pooler};
use line::{Line, State};
use pool::Pool;

/// A pooler.
#[derive(Debug)]
pub struct PgBouncer {
    settings: Pooler,
    server: Server<PgRequest>,
    clients: BTreeMap<ConnId, Client>,
    lines: BTreeMap<ConnId, Line>,
    pools: BTreeMap<Database, Pool>,
    next_call: u32,
}

/// A client that has said which database it wants.
#[derive(Debug)]
struct Client {
    database: Database,
    /// The connection to the server that it has.
    line: Option<ConnId>,
    /// What it has asked for, in order. The first has been passed on if it has a connection.
    asked: VecDeque<Asked>,
}

/// A statement of a client.
#[derive(Debug)]
struct Asked {
    from: Origin,
    /// For the history: on whose behalf.
    attempt: Option<AttemptId>,
    request: PgRequest,
}

impl PgBouncer {
    /// A pooler before that server, which is one for good: whoever is promoted in its place, it does not know of it.
    #[must_use]
    pub const fn new(settings: Pooler, server: Server<PgRequest>) -> Self {
        Self {
            settings,
            server,
            clients: BTreeMap::new(),
            lines: BTreeMap::new(),
            pools: BTreeMap::new(),
            next_call: 0,
        }
    }

    fn pool(&mut self, database: Database) -> &mut Pool {
        self.pools.entry(database).or_default()
    }

    /// A client says which database it wants. The first one waits for a connection to it, from which the pooler learns what to say to all.
    fn log_in(&mut self, cx: &mut Context<Locks>, from: Origin, database: Database) {
        cx.keep_alive(from.conn, KeepAlive::LINUX);
        let asked = Asked { from, attempt: cx.attempt, request: PgRequest::Startup(database) };
        self.clients.insert(from.conn, Client { database, line: None, asked: VecDeque::from([asked]) });
        if self.pool(database).knows_server {
            self.welcome(cx, from.conn);
        } else {
            self.queue_up(cx, from.conn);
        }
    }

    /// What it says is its own: no backend has that number.
    fn welcome(&mut self, cx: &mut Context<Locks>, client: ConnId) {
        let Some(asked) = self.clients.get_mut(&client).and_then(|client| client.asked.pop_front()) else { return };
        let number = u32::try_from(cx.random() >> 32).expect("half of it is left");
        let outcome = Ok(Outcome::Started(Pid(number)));
        cx.reply(asked.from, PgReply { outcome, warning: None, status: Status::Idle });
        self.go_on(cx, client);
    }

    /// What the client wants next is passed on, or it waits for a connection.
    fn go_on(&mut self, cx: &mut Context<Locks>, client: ConnId) {
        match self.clients.get(&client) {
            Some(Client { asked, .. }) if asked.is_empty() => {}
            Some(Client { line: Some(_), .. }) => self.pass_on(cx, client),
            Some(_) => self.queue_up(cx, client),
            None => {}
        }
    }

    fn queue_up(&mut self, cx: &mut Context<Locks>, client: ConnId) {
        let database = self.clients[&client].database;
        self.pool(database).queue.push_back((client, cx.wall));
        self.serve_queue(cx, database);
    }

    /// Passes the first statement of a client on.
    fn pass_on(&mut self, cx: &mut Context<Locks>, client: ConnId) {
        let Client { line, asked, .. } = &self.clients[&client];
        let (Some(line), Some(Asked { attempt, request, .. })) = (*line, asked.front()) else { return };
        let (attempt, request) = (*attempt, request.clone());
        let whose = std::mem::replace(&mut cx.attempt, attempt);
        self.ask(cx, line, request);
        cx.attempt = whose;
    }

    fn ask(&mut self, cx: &mut Context<Locks>, line: ConnId, request: PgRequest) {
        let call = CallId::new(self.next_call);
        self.next_call += 1;
        cx.request(line, call, request);
        self.lines.get_mut(&line).expect("it is there while it is used").is_busy = true;
    }

    /// The server has answered a client.
    fn answer(&mut self, cx: &mut Context<Locks>, line: ConnId, client: ConnId, reply: PgReply) {
        let Some(Client { asked, .. }) = self.clients.get_mut(&client) else { return };
        let (is_fatal, status) = (reply.is_fatal(), reply.status);
        if let Some(asked) = asked.pop_front() {
            cx.reply(asked.from, reply);
        }
        if is_fatal {
            // The server closes the connection, and with it goes the client.
            return;
        }
        let in_transaction_mode = self.settings.mode == PoolMode::Transaction;
        if in_transaction_mode && status == Status::Idle {
            self.clients.get_mut(&client).expect("it has just been answered").line = None;
            self.give_back(cx, line);
        }
        self.go_on(cx, client);
    }

    /// A client has left, or its machine has.
    fn client_left(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let Some(Client { database, line, .. }) = self.clients.remove(&conn) else { return };
        self.pool(database).queue.retain(|(client, _)| *client != conn);
        let Some(id) = line else { return };
        let line = self.lines.get_mut(&id).expect("it is there while a client has it");
        if line.is_busy || line.status != Status::Idle {
            self.drop_line(cx, id);
        } else {
            line.state = State::Resetting;
            self.ask(cx, id, PgRequest::DiscardAll);
        }
    }

    /// A client is shown out, and told why: in answer to its statement, if it waits for one.
    fn end_client(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let Some(Client { database, mut asked, .. }) = self.clients.remove(&conn) else { return };
        self.pool(database).queue.retain(|(client, _)| *client != conn);
        match asked.pop_front() {
            Some(Asked { from, .. }) => {
                let outcome = Err(PgError::fatal(SqlState::ProtocolViolation));
                cx.reply(from, PgReply { outcome, warning: None, status: Status::Idle });
            }
            None => cx.push(conn, PgPush(SqlState::ProtocolViolation)),
        }
        cx.close(conn);
    }
}

impl Service<Locks> for PgBouncer {
    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Pg(request) = message else { return };
        match (self.clients.get_mut(&from.conn), request) {
            (None, PgRequest::Startup(database)) => self.log_in(cx, from, database),
            (None, _) => cx.close(from.conn),
            (Some(client), request) => {
                client.asked.push_back(Asked { from, attempt: cx.attempt, request });
                if client.asked.len() == 1 {
                    self.go_on(cx, from.conn);
                }
            }
        }
        self.set_alarm(cx);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if let Some(line) = self.lines.get(&conn) {
            cx.keep_alive(conn, KeepAlive::LINUX);
            let database = line.database;
            self.ask(cx, conn, PgRequest::Startup(database));
        }
    }

    fn on_reply(&mut self, cx: &mut Context<Locks>, conn: ConnId, _: CallId, reply: Message) {
        let (Some(line), Message::PgReply(reply)) = (self.lines.get_mut(&conn), reply) else { return };
        (line.is_busy, line.status) = (false, reply.status);
        match line.state {
            State::Starting if reply.outcome.is_ok() => self.line_is_there(cx, conn),
            State::Starting => self.drop_line(cx, conn),
            State::Of(client) => self.answer(cx, conn, client, reply),
            State::Tested | State::Resetting if !reply.is_fatal() => self.give_back(cx, conn),
            State::Tested | State::Resetting | State::Free(_) => {}
        }
        self.set_alarm(cx);
    }

    fn on_push(&mut self, cx: &mut Context<Locks>, conn: ConnId, message: Message) {
        let (Some(line), Message::PgPush(push)) = (self.lines.get(&conn), message) else { return };
        if let State::Of(client) = line.state {
            cx.push(client, push);
        } else {
            // Nobody is there to whom it could be said.
            self.drop_line(cx, conn);
        }
        self.set_alarm(cx);
    }

    fn on_close(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if self.lines.contains_key(&conn) {
            self.line_is_gone(cx, conn);
        } else {
            self.client_left(cx, conn);
        }
        self.set_alarm(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, _: TimerId) {
        self.look_after_pools(cx);
        self.set_alarm(cx);
    }
}

impl PgBouncer {
    /// Sets the timer to what is due next in any pool.
    fn set_alarm(&self, cx: &mut Context<Locks>) {
        let of_pools = self.pools.values().filter_map(|pool| self.next_due(pool));
        match of_pools.chain(self.gives_up_connecting()).min() {
            Some(at) => cx.set_timer(ALARM, Deadline::Wall(at)),
            None => cx.cancel_timer(ALARM),
        }
    }
}

const ALARM: TimerId = TimerId(1);
