//! The committed transcripts: asked again, the server answers as it is written.

use std::collections::BTreeMap;
use std::thread::sleep;
use std::time::{Duration, Instant};
use std::{env, fs};

use fencepost_live::jute::Connection;
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkSettings};
use libtest_mimic::Failed;
use models::zookeeper::{Connect, Credentials, Millis, SessionId, ZkReply, Zxid};

use crate::common::{Outcome, first_difference, folder, lines};
use crate::format::{Ask, Begin, Row, Transcript, answered, begun, told};
use crate::{COUNTS, count};

/// The service whose transcripts these are.
pub(crate) const SERVICE: &str = "zookeeper";
/// Containers are looked at often, so that nobody has to wait.
const SETTINGS: ZkSettings = ZkSettings { containers: Millis(200), ..ZkSettings::SHIPPED };

/// Asks a real server what the transcript asks, and compares, or writes down, its answers.
pub(crate) fn are_as_committed(name: &str) -> Outcome {
    let path = folder(SERVICE).join(name);
    let committed = Transcript::parse(&fs::read_to_string(&path)?)?;
    let mut asked = committed.clone();
    let mut session = None;
    for (i, row) in asked.rows.iter_mut().enumerate() {
        play(&mut session, row).map_err(|error| format!("{name}:{}: {}", i + 2, error.message().unwrap_or("?")))?;
    }
    asked.header.server = ZkEnsemble::version()?;
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, lines(&asked.header, &asked.rows)?)?;
        return Ok(());
    }
    first_difference(name, &committed.rows, &asked.rows).inspect_err(|_| count(&COUNTS.different, 1))
}

/// A real server, and its clients.
struct Session {
    server: ZkEnsemble,
    clients: BTreeMap<String, Client>,
}

/// A client, as its library is.
#[derive(Default)]
struct Client {
    connection: Option<Connection>,
    session: Option<Credentials>,
    seen: Zxid,
}

fn play(session: &mut Option<Session>, row: &mut Row) -> Outcome {
    if let Row::About(_) = row {
        // The old one ends before the new one begins.
        drop(session.take());
        *session = Some(Session { server: ZkEnsemble::start(1, SETTINGS)?, clients: BTreeMap::new() });
        return Ok(());
    }
    let session = session.as_mut().ok_or("a transcript begins with a subject")?;
    match row {
        Row::Begin(begin) => session.begin(begin),
        Row::Ask(ask) => session.ask(ask),
        Row::Lose(name) => {
            session.client(name).connection = None;
            Ok(())
        }
        // The end of a session has a number, and that of a container.
        Row::Expire(_) | Row::Reap(_) => session.wait_for_a_change(),
        Row::About(_) => Ok(()),
    }
}

impl Session {
    fn client(&mut self, name: &str) -> &mut Client {
        self.clients.entry(name.to_owned()).or_default()
    }

    fn begin(&mut self, begin: &mut Begin) -> Outcome {
        let Begin { on, timeout, seen, forgot, reply } = begin;
        let mut connection = self.server.server(0).connect()?;
        let client = self.client(on);
        let mut session = client.session;
        if let Some(session) = &mut session
            && *forgot
        {
            session.password = (1, 2);
        }
        let connect = Connect { last_seen: seen.map_or(client.seen, Zxid), timeout: Millis(*timeout), session };
        let said = connection.begin(&connect)?;
        if let Some(ZkReply::Connected(begun)) = &said {
            client.session = Some(begun.session);
        }
        client.connection = Some(connection);
        *reply = begun(said.as_ref());
        count(&COUNTS.replies, 1);
        Ok(())
    }

    fn ask(&mut self, ask: &mut Ask) -> Outcome {
        let Ask { on, say, told: heard, reply } = ask;
        let client = self.client(on);
        let connection = client.connection.as_mut().ok_or("it is not connected")?;
        let (events, answer) = connection.ask(say.request()?)?;
        client.seen = client.seen.max(answer.as_ref().map(|answer| answer.zxid).unwrap_or_default());
        *heard = told(&events);
        *reply = answered(answer.as_ref(), &|session| self.name(session));
        count(&COUNTS.replies, 1);
        count(&COUNTS.events, events.len() as u64);
        Ok(())
    }

    fn name(&self, session: SessionId) -> String {
        let has = |client: &Client| client.session.is_some_and(|known| known.session == session);
        let own = self.clients.iter().find(|(_, client)| has(client));
        own.map_or_else(|| "nobody".to_owned(), |(name, _)| name.clone())
    }

    fn wait_for_a_change(&self) -> Result<(), Failed> {
        let server = self.server.server(0);
        let (before, began) = (server.status()?.zxid, Instant::now());
        while server.status()?.zxid == before {
            if began.elapsed() > Duration::from_secs(30) {
                return Err("nothing has changed".into());
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }
}
