//! The models of Redis, etcd, ZooKeeper and PostgreSQL held against the committed answers of real servers; `just transcripts` writes those down.

mod etcd;
mod format;
mod model;
mod postgres;
#[path = "../../src/rig.rs"]
#[expect(dead_code, reason = "the models' own tests need more of it")]
mod rig;
mod zookeeper;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use format::{Ask, End, Of, Row, START, Transcript, without_script};
use host::{ConnId, Service, Shortage, Shortages};
use model::Model;
use models::domain;
use models::lock::Persistence;
use models::lock::switch::Choice;
use models::redis::{Command, Value};

/// Every committed transcript, in the order of the names.
fn transcripts() -> Vec<(PathBuf, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/redis");
    let files = fs::read_dir(&folder).expect("the folder of transcripts");
    let mut paths: Vec<_> = files.map(|file| file.expect("a readable folder").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let text = fs::read_to_string(&path).expect("a readable transcript");
        let transcript = Transcript::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, transcript)
    };
    paths.into_iter().map(read).collect()
}

/// What scenario files call so.
fn persistence(word: &str) -> Persistence {
    let place = Persistence::WORDS.iter().position(|known| known.name == word);
    Persistence::ALL[place.unwrap_or_else(|| panic!("no such persistence: {word}"))]
}

/// The model, asked as the real server was.
struct Replay {
    persistence: Persistence,
    model: Model,
    now: i64,
    connections: BTreeMap<String, ConnId>,
    opened: u32,
}

impl Replay {
    fn new(persistence: Persistence) -> Self {
        Self { persistence, model: Model::new(persistence), now: START, connections: BTreeMap::new(), opened: 0 }
    }

    fn connection(&mut self, name: &str) -> ConnId {
        *self.connections.entry(name.to_owned()).or_insert_with(|| {
            self.opened += 1;
            ConnId::new(self.opened)
        })
    }

    fn ask(&mut self, ask: &Ask) -> Result<String, String> {
        let args: Vec<Value> = ask.say.iter().map(|arg| arg.as_str().into()).collect();
        let command = Command::from_args(&args).map_err(|error| error.to_string())?;
        let conn = self.connection(&ask.on);
        let reply = self.model.ask(conn, command, self.now);
        String::from_utf8(reply).map_err(|error| error.to_string())
    }

    /// Plays a row, and says what the model should have answered and did not.
    fn play(&mut self, row: &Row) -> Result<(), String> {
        match row {
            Row::About(_) => *self = Self::new(self.persistence),
            Row::Wait(millis) => self.now += millis,
            Row::Close(name) => {
                if let Some(conn) = self.connections.remove(name) {
                    self.model.close(conn, self.now);
                }
            }
            Row::Restart(end) => {
                if *end == End::Shutdown {
                    self.model.step(self.now, |redis, cx| redis.on_stop(cx));
                }
                self.model.step(self.now, |redis, cx| redis.on_start(cx));
                self.connections.clear();
            }
            Row::Short(of) => {
                self.model.shortages = Shortages::default();
                match of {
                    Of::Nothing => {}
                    Of::Disk => self.model.shortages.begin(Shortage::Disk),
                    Of::Memory => self.model.shortages.begin(Shortage::Memory),
                }
            }
            Row::Ask(Ask { unmodelled: Some(_), .. }) => {}
            Row::Ask(ask) => {
                let (told, reply) = (self.ask(ask)?, without_script(&ask.reply));
                if told != reply {
                    return Err(format!("{:?}: the server answers {reply:?}, the model {told:?}", ask.say));
                }
            }
        }
        Ok(())
    }
}

#[test]
fn the_model_answers_as_the_real_server_did() {
    let mut held = 0;
    let mut differences = Vec::new();
    for (path, transcript) in transcripts() {
        let mut replay = Replay::new(persistence(&transcript.header.persistence));
        for (i, row) in transcript.rows.iter().enumerate() {
            match replay.play(row) {
                Ok(()) => held += usize::from(matches!(row, Row::Ask(Ask { unmodelled: None, .. }))),
                Err(why) => {
                    differences.push(format!("{}:{}: {why}", path.display(), i + 2));
                    break;
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(held > 1_000, "only {held} answers were held against the model");
}

#[test]
fn every_question_has_an_answer_and_every_exemption_a_reason() {
    let mut subjects = 0;
    for (path, transcript) in transcripts() {
        assert!(matches!(transcript.rows.first(), Some(Row::About(_))), "{}: it begins with a subject", path.display());
        for row in &transcript.rows {
            match row {
                Row::About(about) => {
                    assert!(!about.is_empty());
                    subjects += 1;
                }
                Row::Ask(ask) => {
                    assert!(!ask.reply.is_empty(), "{}: {ask:?}: run `just transcripts`", path.display());
                    assert!(ask.unmodelled.as_ref().is_none_or(|why| !why.is_empty()), "{}: {ask:?}", path.display());
                }
                Row::Wait(_) | Row::Close(_) | Row::Restart(_) | Row::Short(_) => {}
            }
        }
    }
    assert!(subjects > 20, "only {subjects} subjects");
}

#[test]
fn what_the_server_appends_to_an_error_of_a_script_is_left_out() {
    let digest = "0123456789abcdef0123456789abcdef01234567";
    let appended = format!("*2\r\n-WRONGTYPE what script: {digest}, on @user_script:3.\r\n$3\r\nabc\r\n");
    assert_eq!(without_script(&appended), "*2\r\n-WRONGTYPE what\r\n$3\r\nabc\r\n");
    for unchanged in ["+OK\r\n", "-ERR no script: here\r\n", ":1\r\n", &format!("$9\r\na script: {digest}\r\n")] {
        assert_eq!(without_script(unchanged), unchanged);
    }
}
