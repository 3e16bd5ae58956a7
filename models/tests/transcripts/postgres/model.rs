//! The model's servers, a primary and what may become its standby, stepped without a kernel, and sessions with them.

use std::collections::{BTreeMap, VecDeque};

use host::{Duration, NodeId, Server, Service};
use models::domain::{Locks, Message, Nudge};
use models::lock::{PgServers, PgTimeouts};
use models::postgres::server::Postgres;
use models::postgres::{Database, Outcome, PgError, PgPush, PgReply, PgRequest, Pid, Status};

use super::format::{At, Does, Heard, Side};
use crate::rig::Rig;

/// After so many ms everybody waits or is idle, and who looks for deadlocks after 10 ms has looked. (No more: what nobody waits for is
/// on disk after 200, and the transcripts' servers take longer.)
const QUIET: u64 = 20;
/// After so many a client is found to be gone by who looks after it.
const LONG: u64 = 2_000;
/// Within so many somebody is told what they wait for.
const MOST: u64 = 20_000;

/// The model, and its sessions.
pub(crate) struct Model {
    rig: Rig,
    sessions: BTreeMap<String, Session>,
}

/// A session, as its client knows it.
struct Session {
    line: usize,
    pid: Option<Pid>,
    /// What it has asked, and has not been answered.
    asked: VecDeque<PgRequest>,
    is_over: bool,
}

impl Model {
    /// A primary whose tables are empty, and no standby yet.
    pub(crate) fn new() -> Self {
        let timeouts = PgTimeouts { deadlock: Duration::from_secs(3_600), ..PgTimeouts::default() };
        let settings = PgServers { standbys: 1, timeouts, ..PgServers::default() };
        let (primary, standby) = (settings.clone(), settings);
        let first: Box<dyn Fn() -> Box<dyn Service<Locks>>> =
            Box::new(move || Box::new(Postgres::primary(primary.clone())));
        let second: Box<dyn Fn() -> Box<dyn Service<Locks>>> =
            Box::new(move || Box::new(Postgres::standby(standby.clone(), Server::on(NodeId::new(0)))));
        let mut rig = Rig::new(7, vec![first, second]);
        rig.kill(1);
        rig.run(QUIET);
        Self { rig, sessions: BTreeMap::new() }
    }

    fn session(&mut self, on: &str) -> Result<&mut Session, String> {
        self.sessions.get_mut(on).ok_or_else(|| format!("there is no session {on}"))
    }

    /// Time passes until all is quiet.
    fn settle(&mut self) -> Heard {
        self.rig.run(QUIET);
        self.hear()
    }

    /// What sessions were told since they were last asked that.
    fn hear(&mut self) -> Heard {
        let said: Vec<(usize, PgReply)> = self.rig.replies.drain(..).filter_map(reply).collect();
        let unasked: Vec<(usize, PgReply)> = self.rig.pushes.drain(..).filter_map(push).collect();
        let mut heard = Heard::new();
        for (name, session) in &mut self.sessions {
            let own = heard.entry(name.clone()).or_default();
            for (_, reply) in said.iter().chain(&unasked).filter(|(line, _)| *line == session.line) {
                if let Ok(Outcome::Started(pid)) = reply.outcome {
                    session.pid = Some(pid);
                }
                own.push((session.asked.pop_front(), Some(reply.clone())));
            }
            if !session.is_over && !self.rig.is_open(session.line) {
                session.is_over = true;
                let left = !session.asked.is_empty() && own.is_empty();
                own.extend(left.then(|| (session.asked.pop_front(), None)));
                session.asked.clear();
            }
        }
        heard.retain(|_, told| !told.is_empty());
        heard
    }
}

fn reply((_, line, message): (u64, usize, Message)) -> Option<(usize, PgReply)> {
    match message {
        Message::PgReply(reply) => Some((line, reply)),
        _ => None,
    }
}

fn push((_, line, message): (u64, usize, Message)) -> Option<(usize, PgReply)> {
    let Message::PgPush(PgPush(state)) = message else { return None };
    let outcome = Err(PgError::fatal(state));
    Some((line, PgReply { outcome, warning: None, status: Status::Idle }))
}

impl Side for Model {
    fn begin(&mut self, on: &str, at: At, database: Database) -> Result<Heard, String> {
        let at = usize::from(at == At::Standby);
        if let Some(before) = self.sessions.remove(on)
            && !before.is_over
        {
            self.rig.hang_up(before.line);
        }
        let line = self.rig.line(at);
        let request = PgRequest::Startup(database);
        let asked = VecDeque::from([request.clone()]);
        self.sessions.insert(on.to_owned(), Session { line, pid: None, asked, is_over: false });
        self.rig.tell(line, request);
        let heard = self.settle();
        if !heard.contains_key(on) {
            self.sessions.remove(on);
        }
        Ok(heard)
    }

    fn pid(&self, on: &str) -> Option<Pid> {
        self.sessions.get(on)?.pid
    }

    fn ask(&mut self, on: &str, request: PgRequest) -> Result<Heard, String> {
        let session = self.session(on)?;
        let line = session.line;
        if session.is_over {
            return Ok(Heard::from([(on.to_owned(), vec![(Some(request), None)])]));
        }
        session.asked.push_back(request.clone());
        self.rig.tell(line, request);
        Ok(self.settle())
    }

    fn close(&mut self, on: &str) -> Result<Heard, String> {
        let session = self.sessions.remove(on).ok_or_else(|| format!("there is no session {on}"))?;
        self.rig.hang_up(session.line);
        Ok(self.settle())
    }

    fn until(&mut self, on: &str) -> Result<Heard, String> {
        let line = self.session(on)?.line;
        let is_told = |rig: &mut Rig| {
            rig.replies.iter().chain(&rig.pushes).any(|(_, told, _)| *told == line) || !rig.is_open(line)
        };
        self.rig.run_until(MOST, is_told).ok_or_else(|| format!("{on} is never told anything"))?;
        Ok(self.settle())
    }

    fn gone(&mut self, _: &str) -> Result<Heard, String> {
        self.rig.run(LONG);
        Ok(self.hear())
    }

    fn server(&mut self, does: Does) -> Result<Heard, String> {
        match does {
            Does::Standby => self.rig.start(1),
            // It is never behind for long; and no time passes in which more would be written by the way.
            Does::CatchUp => return Ok(self.hear()),
            Does::Promote => self.rig.nudge(1, Nudge::Promote),
            Does::Kill | Does::Immediate => self.rig.kill(0),
            Does::Fast => self.rig.stop(0),
            Does::Crash => {
                self.rig.kill(0);
                self.rig.run(QUIET);
                self.rig.start(0);
            }
            Does::Start => self.rig.start(0),
            Does::Ahead | Does::Behind => self.rig.step_wall(0, does.ahead().unwrap_or(0)),
        }
        Ok(self.settle())
    }
}
