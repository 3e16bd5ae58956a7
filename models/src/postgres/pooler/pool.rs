//! The connections to one database, and the clients that wait for one.

use std::collections::VecDeque;

use host::{ConnId, Context, Duration, WallTime};

use super::line::{Line, State};
use super::{PgBouncer, PgRequest};
use crate::domain::Locks;
use crate::postgres::key::Database;

/// What is kept of one database.
#[derive(Debug, Default)]
pub(super) struct Pool {
    /// Clients that wait, and since when.
    pub(super) queue: VecDeque<(ConnId, WallTime)>,
    /// Connections that are free; the last one was given back last.
    free: Vec<ConnId>,
    /// The server has told what a client is told when it logs in.
    pub(super) knows_server: bool,
    /// An attempt to connect came to nothing, and was begun then.
    failed: Option<WallTime>,
    /// When a connection was last closed because of its age.
    last_retired: Option<WallTime>,
}

impl PgBouncer {
    /// Clients that wait get what is free. If there is not enough, another connection is opened, one at a time.
    pub(super) fn serve_queue(&mut self, cx: &mut Context<Locks>, database: Database) {
        while self.pools[&database].queue.front().is_some_and(|(client, _)| self.wants_line(*client)) {
            let Some(line) = self.pool(database).free.pop() else { break };
            let State::Free(since) = self.lines[&line].state else { unreachable!("those that are free") };
            if elapsed(since, cx.wall) >= CHECK_DELAY {
                self.lines.get_mut(&line).expect("it is free").state = State::Tested;
                self.ask(cx, line, PgRequest::One);
            } else if let Some((client, _)) = self.pool(database).queue.pop_front() {
                self.hand_over(cx, line, client);
            }
        }
        self.open_if_needed(cx, database);
    }

    /// Whether it waits for a connection, and not only to be let in.
    fn wants_line(&self, client: ConnId) -> bool {
        let asked = self.clients[&client].asked.front();
        asked.is_some_and(|asked| !matches!(asked.request, PgRequest::Startup(_)))
    }

    fn hand_over(&mut self, cx: &mut Context<Locks>, line: ConnId, client: ConnId) {
        self.lines.get_mut(&line).expect("it is free").state = State::Of(client);
        self.clients.get_mut(&client).expect("it waits").line = Some(line);
        self.pass_on(cx, client);
    }

    fn open_if_needed(&mut self, cx: &mut Context<Locks>, database: Database) {
        let lines = || self.lines.values().filter(|line| line.database == database);
        let is_at_it = lines().any(|line| matches!(line.state, State::Starting | State::Tested));
        let is_full = lines().count() >= usize::from(self.settings.size);
        let pool = &self.pools[&database];
        let is_too_soon = pool.failed.is_some_and(|at| elapsed(at, cx.wall) < LOGIN_RETRY);
        if !pool.queue.is_empty() && !is_at_it && !is_full && !is_too_soon {
            let conn = cx.connect(self.server);
            self.lines.insert(conn, Line::new(database, cx.wall));
            self.pool(database).failed = None;
        }
    }

    /// A backend serves it: whoever waited to be let in need wait no more.
    pub(super) fn line_is_there(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let database = self.lines[&conn].database;
        let pool = self.pool(database);
        if !std::mem::replace(&mut pool.knows_server, true) {
            // Nobody has asked for anything yet.
            for (client, _) in std::mem::take(&mut pool.queue) {
                self.welcome(cx, client);
            }
        }
        self.give_back(cx, conn);
    }

    /// Nobody needs it any more: the next one gets it, unless it is too old.
    pub(super) fn give_back(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let line = self.lines.get_mut(&conn).expect("it is given back once");
        let database = line.database;
        line.state = State::Free(cx.wall);
        self.pool(database).free.push(conn);
        if self.is_to_retire(conn, cx.wall) {
            self.pool(database).last_retired = Some(cx.wall);
            self.drop_line(cx, conn);
        }
        self.serve_queue(cx, database);
    }

    /// `life_over`: they are closed one after another, not all at once.
    fn is_to_retire(&self, conn: ConnId, now: WallTime) -> bool {
        let line = &self.lines[&conn];
        elapsed(line.since, now) >= self.settings.server_lifetime
            && self.pools[&line.database].last_retired.is_none_or(|at| elapsed(at, now) >= self.retiring_gap())
    }

    fn retiring_gap(&self) -> Duration {
        self.settings.server_lifetime / u32::from(self.settings.size.max(1))
    }

    /// The pooler closes a connection to the server.
    pub(super) fn drop_line(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        cx.close(conn);
        self.line_is_gone(cx, conn);
    }

    /// A connection to the server is no more. Its client, if it has one still, goes with it.
    pub(super) fn line_is_gone(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        let Some(Line { database, state, since, .. }) = self.lines.remove(&conn) else { return };
        self.pool(database).free.retain(|other| *other != conn);
        match state {
            State::Starting => self.pool(database).failed = Some(since),
            State::Of(client) => self.end_client(cx, client),
            State::Free(_) | State::Tested | State::Resetting => {}
        }
        self.serve_queue(cx, database);
    }

    /// Who has waited for too long is shown out; what is free for too long, or too old, is closed; what failed is tried again.
    pub(super) fn look_after_pools(&mut self, cx: &mut Context<Locks>) {
        let is_vain = |line: &Line| line.state == State::Starting && elapsed(line.since, cx.wall) >= CONNECT_TIMEOUT;
        let vain: Vec<_> = self.lines.iter().filter(|(_, line)| is_vain(line)).map(|(conn, _)| *conn).collect();
        for line in vain {
            self.drop_line(cx, line);
        }
        for database in self.pools.keys().copied().collect::<Vec<_>>() {
            while let Some((client, since)) = self.pools[&database].queue.front().copied()
                && elapsed(since, cx.wall) >= QUERY_WAIT
            {
                self.end_client(cx, client);
            }
            for line in self.pools[&database].free.clone() {
                let is_idle = matches!(self.lines[&line].state, State::Free(at) if elapsed(at, cx.wall) >= SERVER_IDLE);
                let retires = !is_idle && self.is_to_retire(line, cx.wall);
                if retires {
                    self.pool(database).last_retired = Some(cx.wall);
                }
                if is_idle || retires {
                    self.drop_line(cx, line);
                }
            }
            self.serve_queue(cx, database);
        }
    }

    /// When the first attempt to connect has lasted for too long.
    pub(super) fn gives_up_connecting(&self) -> Option<WallTime> {
        let attempts = self.lines.values().filter(|line| line.state == State::Starting);
        attempts.map(|line| line.since + CONNECT_TIMEOUT).min()
    }

    /// When there is something to be done in a pool.
    pub(super) fn next_due(&self, pool: &Pool) -> Option<WallTime> {
        let waited = pool.queue.front().map(|(_, since)| *since + QUERY_WAIT);
        let again = pool.failed.filter(|_| !pool.queue.is_empty()).map(|at| at + LOGIN_RETRY);
        let closes = pool.free.iter().map(|conn| {
            let line = &self.lines[conn];
            let State::Free(since) = line.state else { unreachable!("those that are free") };
            let (old, idle) = (line.since + self.settings.server_lifetime, since + SERVER_IDLE);
            let in_turn = pool.last_retired.map_or(old, |at| at + self.retiring_gap());
            old.max(in_turn).min(idle)
        });
        waited.into_iter().chain(again).chain(closes).min()
    }
}

/// How long something has been so; not at all if the clock was set back behind it.
fn elapsed(since: WallTime, now: WallTime) -> Duration {
    Duration::from_nanos(now.as_nanos().saturating_sub(since.as_nanos()).try_into().unwrap_or(0))
}

/// `server_connect_timeout`
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// `server_login_retry`
const LOGIN_RETRY: Duration = Duration::from_secs(15);
/// `query_wait_timeout`
const QUERY_WAIT: Duration = Duration::from_secs(120);
/// `server_check_delay`: before a connection that was free for so long is used, `SELECT 1` is asked on it.
const CHECK_DELAY: Duration = Duration::from_secs(30);
/// `server_idle_timeout`
const SERVER_IDLE: Duration = Duration::from_secs(600);
