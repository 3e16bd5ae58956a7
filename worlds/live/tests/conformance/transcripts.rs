//! The committed transcripts: asked again, the server answers as it is written.

use std::collections::BTreeMap;
use std::{env, fs, io};

use fencepost_live::resp::Connection;
use fencepost_live::servers::redis::RedisServer;
use libtest_mimic::Failed;

use crate::common::{Outcome, first_difference, folder, lines};
use crate::format::{Ask, End, Of, Row, START, Transcript};
use crate::processes::is;
use crate::replicas::wait_until;
use crate::{COUNTS, common, count, random};

/// The transcript whose questions are random.
const RANDOM: &str = "random.jsonl";

const SERVICE: &str = "redis";

/// The files of transcripts.
pub(crate) fn names() -> Vec<String> {
    let mut names = common::names(SERVICE);
    names.push(RANDOM.to_owned());
    names.sort();
    names.dedup();
    names
}

/// How a server is started that keeps what the word of scenario files says.
pub(crate) fn settings(persistence: &str) -> Result<&'static [(&'static str, &'static str)], Failed> {
    Ok(match persistence {
        "none" => &[("save", ""), ("appendonly", "no")],
        "save" => &[("save", "3600 1 300 100 60 10000"), ("appendonly", "no")],
        "aof-everysec" => &[("save", ""), ("appendonly", "yes"), ("appendfsync", "everysec")],
        "aof-always" => &[("save", ""), ("appendonly", "yes"), ("appendfsync", "always")],
        other => return Err(format!("no such persistence: {other}").into()),
    })
}

/// Asks a real server what the transcript asks, and compares, or writes down, its answers.
pub(crate) fn are_as_committed(name: &str) -> Result<(), Failed> {
    let path = folder(SERVICE).join(name);
    let is_written = env::var_os("UPDATE_GOLDEN").is_some();
    // Random questions are drawn when they are written down: another version of the library may draw others.
    let is_drawn = name == RANDOM && is_written;
    let committed = if is_drawn { random::transcript()? } else { Transcript::parse(&fs::read_to_string(&path)?)? };
    let mut asked = committed.clone();
    // Its folder may be taken from it.
    let settings = [settings(&asked.header.persistence)?, &[("enable-protected-configs", "yes")]].concat();
    let mut session = Session::new(RedisServer::start_stopped_at(&settings, START)?);
    for row in &mut asked.rows {
        session.play(row)?;
    }
    asked.header.server = RedisServer::version()?;
    if is_written {
        fs::write(&path, lines(&asked.header, &asked.rows)?)?;
        return Ok(());
    }
    first_difference(name, &committed.rows, &asked.rows).inspect_err(|_| count(&COUNTS.different, 1))
}

/// A real server, and who is connected to it.
struct Session {
    server: RedisServer,
    now: i64,
    connections: BTreeMap<String, Connection>,
    /// The folder that it had before it was given one that is gone.
    no_folder: Option<Vec<u8>>,
}

impl Session {
    fn new(server: RedisServer) -> Self {
        Self { server, now: START, connections: BTreeMap::new(), no_folder: None }
    }

    fn connection(&mut self, name: &str) -> io::Result<&mut Connection> {
        if !self.connections.contains_key(name) {
            self.connections.insert(name.to_owned(), self.server.connect()?);
        }
        self.connections.get_mut(name).ok_or_else(|| io::ErrorKind::NotConnected.into())
    }

    fn set_clock(&mut self, now: i64) -> io::Result<()> {
        self.now = now;
        self.server.clock().map_or(Ok(()), |clock| clock.set(now))
    }

    /// Plays a row; to a question, it writes the answer down.
    fn play(&mut self, row: &mut Row) -> Result<(), Failed> {
        match row {
            Row::About(_) => {
                self.connections.clear();
                self.set_clock(START)?;
                let emptied = self.server.connect()?.ask(&["FLUSHALL"])?;
                self.run_short_of(Of::Nothing)?;
                if emptied != b"+OK\r\n" {
                    return Err(format!("FLUSHALL: {}", String::from_utf8_lossy(&emptied)).into());
                }
            }
            Row::Wait(millis) => self.set_clock(self.now + *millis)?,
            Row::Close(name) => drop(self.connections.remove(name)),
            Row::Restart(end) => {
                self.connections.clear();
                match end {
                    End::Kill => self.server.kill()?,
                    End::Shutdown => self.server.shut_down()?,
                };
                self.server.start_again()?;
            }
            Row::Short(of) => self.run_short_of(*of)?,
            Row::Ask(Ask { on, say, reply, .. }) => {
                let answer = self.connection(on)?.ask(say)?;
                *reply = String::from_utf8(answer).map_err(|error| format!("{say:?}: {error}"))?;
                count(&COUNTS.replies, 1);
            }
        }
        Ok(())
    }

    /// A limit of memory below what it uses; or a snapshot that fails, for want of a folder. (A folder that may not be
    /// written would not do: the superuser may.)
    fn run_short_of(&mut self, of: Of) -> Outcome {
        let mut line = self.server.connect()?;
        let limit = if of == Of::Memory { "1" } else { "0" };
        is(&line.ask(&["CONFIG", "SET", "maxmemory", limit])?, "+OK\r\n")?;
        if of == Of::Disk {
            self.no_folder = Some(line.ask_for_list(&["CONFIG", "GET", "dir"])?.pop().ok_or("it has a folder")?);
            let gone = tempfile::tempdir()?;
            is(&line.ask(&["CONFIG", "SET", "dir", &gone.path().to_string_lossy()])?, "+OK\r\n")?;
            gone.close()?;
        } else if let Some(folder) = self.no_folder.take() {
            is(&line.ask(&[b"CONFIG", b"SET" as &[u8], b"dir", &folder])?, "+OK\r\n")?;
        } else {
            return Ok(());
        }
        line.ask(&["BGSAVE"])?;
        let status = if of == Of::Disk { "rdb_last_bgsave_status:err" } else { "rdb_last_bgsave_status:ok" };
        wait_until("the snapshot is over", || {
            let info = line.ask(&["INFO", "persistence"])?;
            let info = String::from_utf8_lossy(&info);
            Ok(info.contains(status) && info.contains("rdb_bgsave_in_progress:0"))
        })
    }
}
