//! The model of etcd held against the committed answers of a real server.

mod format;
mod model;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use format::{Ask, Row, Transcript, posted, written};
use host::Duration;
use model::{ELECTION, Model, clocks};
use models::etcd::v3lock::{Locking, Next, unlocked};
use models::etcd::{Delete, EventKind, Key, LeaseId, Reply, Revision, Rpc, check};
use serde_json::Value as Json;

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
    model: Model,
    now: Duration,
    /// Who waits for which key to be deleted, at that revision or later.
    waiting: BTreeMap<String, (Locking, Key, Revision)>,
    answers: BTreeMap<String, Reply>,
}

impl Replay {
    fn new() -> Self {
        Self { model: Model::new(), now: Duration::from_secs(2), waiting: BTreeMap::new(), answers: BTreeMap::new() }
    }

    /// Plays a row, and says what the model should have answered and did not.
    fn play(&mut self, row: &Row) -> Result<(), String> {
        // A real server takes some time, and never all of a second.
        self.now += Duration::from_millis(1);
        match row {
            Row::About(_) => *self = Self::new(),
            Row::Ask(Ask { post, body, status, reply }) => {
                let rpc = request(post, body)?;
                let told = self.begin("", &rpc).ok_or("it waits")?;
                same(&told, *status, reply)?;
            }
            Row::Begin { name, post, body } => {
                let rpc = request(post, body)?;
                if let Some(reply) = self.begin(name, &rpc) {
                    self.answers.insert(name.clone(), reply);
                }
            }
            Row::End { name, status, reply } => {
                let told = self.answers.remove(name).ok_or("it waits still")?;
                same(&told, *status, reply)?;
            }
            Row::Ends(number) => {
                let id = LeaseId::new(*number).ok_or("lease 0")?;
                let (_, gone) = self.model.ends(id).ok_or("no such lease")?;
                self.now = self.now.max(gone);
                self.model.end(id);
            }
            Row::Restart => {
                for leader in [&mut self.model.early, &mut self.model.late] {
                    leader.demote();
                    leader.promote(&self.model.store, clocks(self.now), ELECTION);
                }
            }
        }
        self.let_go_on();
        Ok(())
    }

    /// Asks. Who has to wait has no answer yet.
    fn begin(&mut self, name: &str, rpc: &Rpc) -> Option<Reply> {
        match rpc {
            Rpc::Lock { name: lock, lease } => {
                let (locking, next) = Locking::begin(*lock, *lease);
                self.go_on(name, locking, next)
            }
            Rpc::Unlock { key } if check(rpc).is_ok() => {
                Some(unlocked(self.model.ask(&Delete::one(*key).into(), (self.now, self.now))))
            }
            other => Some(self.model.ask(other, (self.now, self.now))),
        }
    }

    fn go_on(&mut self, name: &str, mut locking: Locking, mut next: Next) -> Option<Reply> {
        loop {
            match next {
                Next::Ask(rpc) => {
                    let reply = self.model.ask(&rpc, (self.now, self.now));
                    next = locking.on_reply(reply);
                }
                Next::Await(key, from) => {
                    self.waiting.insert(name.to_owned(), (locking, key, from));
                    return None;
                }
                Next::Answer(reply) => return Some(reply),
            }
        }
    }

    /// Who waited for a key that is deleted by now goes on.
    fn let_go_on(&mut self) {
        for (name, (mut locking, key, from)) in std::mem::take(&mut self.waiting) {
            let is_it = |kind: &EventKind| matches!(kind, EventKind::Delete { .. }) && kind.key() == key;
            if self.model.store.history().iter().any(|kind| is_it(kind) && kind.revision() >= from) {
                let next = locking.on_deleted();
                if let Some(reply) = self.go_on(&name, locking, next) {
                    self.answers.insert(name, reply);
                }
            } else {
                self.waiting.insert(name, (locking, key, from));
            }
        }
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
