//! Real servers, a primary and what may become its standby, sessions with them, and when all is quiet.
//!
//! It is when each session that has asked something waits for a lock, as the server's own table of locks has it (it is read as a
//! whole, at one moment), and all others are idle. Who lets go of a lock gives it to the next before it answers, so nobody is on
//! the way then. Who is to look for deadlocks soon has looked once it has said so in the server's log.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::thread::sleep;
use std::time::{Duration, Instant};

use fencepost_live::pg::{Connection, Told};
use fencepost_live::servers::postgres::{Ending, PgServer, PgTemplate};
use models::postgres::{Database, PgRequest, Pid, Setting};

use crate::format::{At, Does, Heard, Side};
use crate::{COUNTS, count};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);
/// So often it is looked whether all is quiet.
const LOOKS: Duration = Duration::from_millis(1);
/// Whose `deadlock_timeout` is no longer is waited for.
const SOON: Duration = Duration::from_millis(1_000);

/// Real servers, and sessions with them.
pub(crate) struct Real<'t> {
    template: &'t PgTemplate,
    primary: PgServer,
    standby: Option<PgServer>,
    /// Sessions that ask what the others do.
    watch: BTreeMap<At, Connection>,
    sessions: BTreeMap<String, Session>,
    /// Sessions whose clients have closed the connection, and whose backends may be there still.
    ghosts: BTreeMap<(String, Pid), Session>,
}

struct Session {
    connection: Connection,
    at: At,
    pid: Pid,
    /// It looks for deadlocks after a moment.
    looks: bool,
    /// It was asked to end.
    must_end: bool,
    /// It was asked to leave off what it waits for.
    must_answer: bool,
    /// It was told that it is over.
    is_over: bool,
    /// What its client has been told since it last heard.
    told: Vec<Told>,
}

impl<'t> Real<'t> {
    /// A primary whose tables are empty, and no standby yet. Its wall clock may be one that can be set.
    pub(crate) fn new(template: &'t PgTemplate, has_clock: bool) -> io::Result<Self> {
        let primary = PgServer::start_set(template, &[], None, has_clock.then_some(0))?;
        let (watch, sessions, ghosts) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Ok(Self { template, primary, standby: None, watch, sessions, ghosts })
    }

    fn standby(&self) -> Result<&PgServer, String> {
        self.standby.as_ref().ok_or_else(|| "there is no standby".to_owned())
    }

    /// Everything goes on until all is quiet.
    fn settle(&mut self) -> Result<Heard, String> {
        let began = Instant::now();
        loop {
            self.listen()?;
            // Twice: who looked for a deadlock may have let somebody in between the first look at who waits and that at the log.
            let is_quiet = self.is_quiet().and_then(|once| Ok(once && self.is_quiet()?));
            let is_quiet = is_quiet.map_err(|error| error.to_string())?;
            // Something may have come while that was asked.
            let has_heard = self.listen()?;
            if is_quiet && !has_heard {
                return Ok(self.heard());
            }
            if began.elapsed() > PATIENCE {
                let waits = |(name, session): (&String, &Session)| format!("{name}: {}", session.connection.waits());
                let who: Vec<_> = self.sessions.iter().map(waits).collect();
                return Err(format!("it is never quiet; who waits: {}", who.join(", ")));
            }
            sleep(LOOKS);
        }
    }

    /// Takes in what sessions have been told. Whether there was anything.
    fn listen(&mut self) -> Result<bool, String> {
        let mut has_heard = false;
        for session in self.sessions.values_mut() {
            while let Some(told) = session.connection.told().map_err(|error| error.to_string())? {
                session.told.push(told);
                session.must_answer = false;
                has_heard = true;
            }
            has_heard |= session.connection.is_over() && !session.is_over;
            session.is_over = session.connection.is_over();
        }
        Ok(has_heard)
    }

    fn heard(&mut self) -> Heard {
        let take = |(name, session): (&String, &mut Session)| {
            let told = session.told.drain(..).map(|Told { request, reply }| (request, reply)).collect();
            (name.clone(), told)
        };
        let heard: Heard = self.sessions.iter_mut().map(take).collect();
        heard.into_iter().filter(|(_, told): &(_, Vec<_>)| !told.is_empty()).collect()
    }

    fn is_quiet(&mut self) -> io::Result<bool> {
        for at in [At::Primary, At::Standby] {
            let server = if at == At::Primary { Some(&self.primary) } else { self.standby.as_ref() };
            let Some(server) = server.filter(|server| server.runs()) else { continue };
            let here = |session: &&Session| session.at == at;
            if !self.sessions.values().chain(self.ghosts.values()).any(|session| here(&session)) {
                continue;
            }
            let watch = match self.watch.remove(&at) {
                Some(watch) => watch,
                None => server.connect(Database::default())?,
            };
            let watch = self.watch.entry(at).or_insert(watch);
            let (waiting, there) = Self::look(watch)?;
            for session in self.sessions.values().filter(here).filter(|session| !session.is_over) {
                let is_served = there.contains(&session.pid) && !session.must_end;
                let is_still =
                    !session.connection.waits() || waiting.contains_key(&session.pid) && !session.must_answer;
                let since = waiting.get(&session.pid).filter(|_| session.looks);
                let has_looked = since.is_none_or(|since| has_looked(server, session.pid, *since));
                if !is_served || !is_still || !has_looked {
                    return Ok(false);
                }
            }
            self.ghosts.retain(|_, ghost| ghost.at != at || there.contains(&ghost.pid));
            if self.ghosts.values().filter(here).any(|ghost| !waiting.contains_key(&ghost.pid)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Who waits for a lock, and since when, in ms; and which backends there are.
    fn look(watch: &mut Connection) -> io::Result<(BTreeMap<Pid, u64>, BTreeSet<Pid>)> {
        let number = |field: &Option<String>| field.as_ref().and_then(|field| field.parse::<u64>().ok());
        let pid = |row: &[Option<String>]| number(row.first()?).and_then(|pid| u32::try_from(pid).ok()).map(Pid);
        // First: who is not there any more has let go of all its locks.
        let there = watch.ask("SELECT pid FROM pg_stat_activity")?.iter().filter_map(|row| pid(row)).collect();
        let waiting = watch.ask(
            "SELECT pid, coalesce((extract(epoch from waitstart) * 1000)::bigint, 9223372036854775807) \
             FROM pg_locks WHERE NOT granted",
        )?;
        let waiting = waiting.iter().filter_map(|row| Some((pid(row)?, number(row.get(1)?)?))).collect();
        Ok((waiting, there))
    }

    /// The servers' sessions are over, with what they have been told, or without.
    fn wait_for_the_end(&mut self, of: At) -> Result<(), String> {
        self.watch.remove(&of);
        self.ghosts.retain(|_, ghost| ghost.at != of);
        let began = Instant::now();
        while self.sessions.values().any(|session| session.at == of && !session.is_over) {
            self.listen()?;
            if began.elapsed() > PATIENCE {
                return Err("a server has ended, and its sessions have not".to_owned());
            }
            sleep(LOOKS);
        }
        Ok(())
    }
}

/// Whether that backend has looked for deadlocks since it began to wait.
fn has_looked(server: &PgServer, pid: Pid, since: u64) -> bool {
    let about = format!("process {pid} still waiting");
    let undone = format!("process {pid} avoided deadlock");
    let log = server.log().unwrap_or_default();
    let at = |line: &str| {
        let (seconds, rest) = line.split_once('.')?;
        Some(seconds.parse::<u64>().ok()? * 1_000 + rest.get(..3)?.parse::<u64>().ok()?)
    };
    let mut about = log.lines().filter(|line| line.contains(&about) || line.contains(&undone));
    about.any(|line| at(line).is_some_and(|at| at > since))
}

fn text(error: io::Error) -> String {
    error.to_string()
}

impl Side for Real<'_> {
    fn begin(&mut self, on: &str, at: At, database: Database) -> Result<Heard, String> {
        if let Some(before) = self.sessions.remove(on)
            && !before.is_over
        {
            return Err(format!("{on} has a session"));
        }
        let server = if at == At::Primary { &self.primary } else { self.standby()? };
        match Connection::open(server.port(), database) {
            Ok((connection, told)) => {
                if let Some(pid) = connection.pid() {
                    let told = vec![told];
                    let (looks, must_end, must_answer, is_over) = (false, false, false, false);
                    let session = Session { connection, at, pid, looks, must_end, must_answer, is_over, told };
                    self.sessions.insert(on.to_owned(), session);
                    return self.settle();
                }
                Ok(Heard::from([(on.to_owned(), vec![(told.request, told.reply)])]))
            }
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(Heard::new()),
            Err(error) => Err(text(error)),
        }
    }

    fn pid(&self, on: &str) -> Option<Pid> {
        self.sessions.get(on).map(|session| session.pid)
    }

    fn ask(&mut self, on: &str, request: PgRequest) -> Result<Heard, String> {
        if let PgRequest::Terminate(pid) | PgRequest::Cancel(pid) = request {
            let others = self.sessions.iter_mut().filter(|(name, session)| *name != on && session.pid == pid);
            for (_, session) in others {
                session.must_end |= matches!(request, PgRequest::Terminate(_));
                session.must_answer |= session.connection.waits();
            }
        }
        let session = self.sessions.get_mut(on).ok_or_else(|| format!("there is no session {on}"))?;
        match request {
            PgRequest::Set { setting: Setting::DeadlockTimeout, to, .. } => session.looks = to <= SOON,
            PgRequest::DiscardAll => session.looks = false,
            _ => {}
        }
        session.connection.send(request).map_err(text)?;
        let heard = self.settle()?;
        count(&COUNTS.waits, u64::from(!heard.contains_key(on)));
        Ok(heard)
    }

    fn close(&mut self, on: &str) -> Result<Heard, String> {
        let mut session = self.sessions.remove(on).ok_or_else(|| format!("there is no session {on}"))?;
        session.connection.close().map_err(text)?;
        self.ghosts.insert((on.to_owned(), session.pid), session);
        self.settle()
    }

    fn until(&mut self, on: &str) -> Result<Heard, String> {
        let session = self.sessions.get_mut(on).ok_or_else(|| format!("there is no session {on}"))?;
        let told = session.connection.wait().map_err(text)?;
        session.told.extend(told);
        self.settle()
    }

    fn gone(&mut self, on: &str) -> Result<Heard, String> {
        let began = Instant::now();
        let mut heard = Heard::new();
        while self.ghosts.keys().any(|(name, _)| name == on) {
            heard = self.settle()?;
            if began.elapsed() > PATIENCE {
                return Err(format!("{on} is never gone"));
            }
        }
        Ok(heard)
    }

    fn server(&mut self, does: Does) -> Result<Heard, String> {
        match does {
            Does::Standby => {
                self.standby = Some(self.primary.follow(self.template, &[], None, None).map_err(text)?);
            }
            Does::CatchUp => self.standby()?.catch_up(&self.primary).map_err(text)?,
            Does::Promote => self.standby()?.promote().map_err(text)?,
            Does::Start => self.primary.start_again().map_err(text)?,
            Does::Kill => _ = self.primary.kill().map_err(text)?,
            Does::Fast => _ = self.primary.stop(Ending::Fast).map_err(text)?,
            Does::Immediate => _ = self.primary.stop(Ending::Immediate).map_err(text)?,
            Does::Crash => self.primary.crash().map_err(text)?,
            Does::Ahead | Does::Behind => {
                self.primary.set_ahead(does.ahead().unwrap_or(0) * 1_000_000).map_err(text)?;
            }
        }
        if matches!(does, Does::Kill | Does::Fast | Does::Immediate | Does::Crash) {
            self.wait_for_the_end(At::Primary)?;
        }
        self.settle()
    }
}
