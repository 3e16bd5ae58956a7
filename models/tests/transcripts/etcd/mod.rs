//! The model of etcd held against the committed answers of a real server.

mod format;
mod server;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use format::{Ask, Row, Transcript, posted, written};
use host::{CallId, Duration};
use models::etcd::{Body, LeaseId, Reply, Rpc};
use serde_json::Value as Json;
use server::Server;

fn transcripts() -> Vec<(PathBuf, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/etcd");
    let files = fs::read_dir(&folder).expect("the folder of transcripts");
    let paths = files.map(|file| file.expect("a readable folder").path());
    let mut paths: Vec<_> = paths.filter(|path| path.extension().is_some_and(|end| end == "jsonl")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable transcript");
        let transcript = Transcript::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, transcript)
    };
    paths.into_iter().map(read).collect()
}

/// The model, asked as the real server was.
struct Replay {
    server: Server,
    /// The names of those who wait for an answer.
    waiting: BTreeMap<String, CallId>,
}

impl Replay {
    fn new() -> Self {
        Self { server: Server::start(), waiting: BTreeMap::new() }
    }

    /// Plays a row, and says what the model should have answered and did not.
    fn play(&mut self, row: &Row) -> Result<(), String> {
        // A real server takes some time, and never all of a second.
        self.server.wait(Duration::from_millis(1));
        match row {
            Row::About(_) => *self = Self::new(),
            Row::Ask(Ask { post, body, status, reply }) => {
                let call = self.server.ask(request(post, body)?);
                same(&self.server.take_answer(call).ok_or("it waits")?, *status, reply)?;
            }
            Row::Begin { name, post, body } => {
                let call = self.server.ask(request(post, body)?);
                self.waiting.insert(name.clone(), call);
            }
            Row::End { name, status, reply } => {
                let call = self.waiting.remove(name).ok_or("nobody of that name asked")?;
                same(&self.server.take_answer(call).ok_or("it waits still")?, *status, reply)?;
            }
            Row::Ends(number) => {
                let id = LeaseId::new(*number).ok_or("lease 0")?;
                self.server.wait_until("the lease has ended", |server| {
                    let call = server.ask(Rpc::LeaseTimeToLive { id, keys: false });
                    matches!(server.take_answer(call), Some(Reply::Done(said))
                        if matches!(said.body, Body::LeaseTimeToLive { ttl: -1, .. }))
                });
            }
            Row::Restart => self.server.restart(),
        }
        Ok(())
    }
}

fn request(post: &str, body: &Json) -> Result<Rpc, String> {
    Rpc::from_json(post, &posted(body)).map_err(|error| error.to_string())
}

fn same(told: &Reply, status: u16, reply: &Json) -> Result<(), String> {
    let (told_status, told) = told.to_json();
    let told = written(&told);
    if (told_status, &told) == (status, reply) {
        return Ok(());
    }
    Err(format!("the server answers {status} {reply}, the model {told_status} {told}"))
}

#[test]
fn the_model_of_etcd_answers_as_the_real_server_did() {
    let (mut held, mut subjects) = (0, 0);
    let mut differences = Vec::new();
    for (path, transcript) in transcripts() {
        assert!(matches!(transcript.rows.first(), Some(Row::About(_))), "{}: it begins with a subject", path.display());
        let mut replay = Replay::new();
        for (i, row) in transcript.rows.iter().enumerate() {
            subjects += usize::from(matches!(row, Row::About(_)));
            match replay.play(row) {
                Ok(()) => held += usize::from(matches!(row, Row::Ask(_) | Row::End { .. })),
                Err(why) => {
                    differences.push(format!("{}:{}: {why}", path.display(), i + 2));
                    break;
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(held > 150 && subjects > 15, "only {held} answers on {subjects} subjects were held against the model");
}
