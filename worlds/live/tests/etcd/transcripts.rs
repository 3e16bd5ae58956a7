//! The committed transcripts: asked again, the server answers as it is written.

use std::collections::BTreeMap;
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};
use std::{env, fs, io};

use fencepost_live::gateway::Gateway;
use fencepost_live::servers::etcd::EtcdCluster;
use libtest_mimic::Failed;
use models::etcd::wire::{Json, forget_who};
use serde_json::json;

use crate::common::{Outcome, first_difference, folder, lines};
use crate::format::{Ask, Row, Transcript, posted, written};
use crate::{COUNTS, count};

/// The service whose transcripts these are.
pub(crate) const SERVICE: &str = "etcd";

/// Asks a real server what the transcript asks, and compares, or writes down, its answers.
pub(crate) fn are_as_committed(name: &str) -> Outcome {
    let path = folder(SERVICE).join(name);
    let committed = Transcript::parse(&fs::read_to_string(&path)?)?;
    let mut asked = committed.clone();
    let mut session = None;
    for row in &mut asked.rows {
        play(&mut session, row)?;
    }
    asked.header.server = EtcdCluster::version()?;
    if env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, lines(&asked.header, &asked.rows)?)?;
        return Ok(());
    }
    first_difference(name, &committed.rows, &asked.rows).inspect_err(|_| count(&COUNTS.different, 1))
}

type Answer = io::Result<(u16, Json)>;

/// A real server, and whom it lets wait.
struct Session {
    server: EtcdCluster,
    waiting: BTreeMap<String, JoinHandle<Answer>>,
}

fn play(session: &mut Option<Session>, row: &mut Row) -> Outcome {
    if let Row::About(_) = row {
        // The old one ends before the new one begins.
        drop(session.take());
        *session = Some(Session { server: EtcdCluster::start(1)?, waiting: BTreeMap::new() });
        return Ok(());
    }
    let session = session.as_mut().ok_or("a transcript begins with a subject")?;
    let gateway = session.server.gateway(0);
    match row {
        Row::Ask(Ask { post, body, status, reply }) => {
            (*status, *reply) = said(gateway.post(post, &posted(body)))?;
            count(&COUNTS.replies, 1);
        }
        Row::Begin { name, post, body } => {
            let before = revision(gateway)?;
            let (own, post, body) = (gateway.clone(), post.clone(), posted(body));
            session.waiting.insert(name.clone(), spawn(move || own.post(&post, &body)));
            // It is in the queue once it has changed something.
            until("it is in the queue", || Ok(revision(gateway)? > before))?;
        }
        Row::End { name, status, reply } => {
            let waits = session.waiting.remove(name).ok_or("nobody of that name waits")?;
            let answer = waits.join().map_err(|_| "who waited has panicked")?;
            (*status, *reply) = said(answer)?;
            count(&COUNTS.replies, 1);
        }
        Row::Ends(id) => {
            let body = json!({"ID": id.to_string()});
            until("the lease has ended", || Ok(gateway.post("/v3/lease/timetolive", &body)?.1["TTL"] == "-1"))?;
        }
        Row::Restart => {
            session.server.kill(0)?;
            session.server.start_again(0)?;
        }
        Row::About(_) => {}
    }
    Ok(())
}

fn said(answer: Answer) -> Result<(u16, Json), Failed> {
    let (status, mut said) = answer?;
    forget_who(&mut said);
    Ok((status, written(&said)))
}

fn revision(gateway: &Gateway) -> io::Result<u64> {
    let (_, said) = gateway.post("/v3/kv/range", &json!({"key": "AA=="}))?;
    said["header"]["revision"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| io::Error::other(said.to_string()))
}

/// Looks again and again, for a long time.
fn until(what: &str, mut holds: impl FnMut() -> io::Result<bool>) -> Outcome {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        if holds()? {
            return Ok(());
        }
        sleep(Duration::from_millis(10));
    }
    Err(format!("not in time: {what}").into())
}
