//! The model of ZooKeeper held against the committed answers of a real server.

mod format;
#[expect(dead_code, reason = "the conformance of worlds/live needs more of it")]
mod model;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use format::{Ask, Begin, Row, Transcript, answered, begun, told};
use model::Model;
use models::zookeeper::{Answer, Connect, Credentials, Millis, SessionId, ZkEvent, ZkReply, Zxid};

fn transcripts() -> Vec<(PathBuf, Transcript)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/zookeeper");
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
    clients: BTreeMap<String, Client>,
}

/// A client, as its library is.
struct Client {
    number: usize,
    session: Option<Credentials>,
    seen: Zxid,
}

impl Replay {
    fn new() -> Self {
        Self { model: Model::new(1), clients: BTreeMap::new() }
    }

    fn client(&mut self, name: &str) -> &mut Client {
        let number = self.clients.len();
        self.clients.entry(name.to_owned()).or_insert_with(|| Client { number, session: None, seen: Zxid::default() })
    }

    /// Plays a row, and says what the model should have answered and did not.
    fn play(&mut self, row: &Row) -> Result<(), String> {
        match row {
            Row::About(_) => *self = Self::new(),
            Row::Begin(begin) => self.begin(begin)?,
            Row::Ask(ask) => self.ask(ask)?,
            Row::Lose(name) => {
                let number = self.client(name).number;
                self.model.lose(number);
            }
            Row::Expire(name) => {
                let silent = self.client(name).number;
                self.wait(8_000, |number| number != silent);
            }
            // Containers are looked at once a minute.
            Row::Reap(_) => self.wait(61_000, |_| true),
        }
        Ok(())
    }

    fn wait(&mut self, ms: u64, is_there: impl Fn(usize) -> bool) {
        let numbers = self.clients.values().map(|client| client.number);
        let there: Vec<usize> = numbers.filter(|number| is_there(*number)).collect();
        self.model.wait(ms, &there);
    }

    fn begin(&mut self, begin: &Begin) -> Result<(), String> {
        let Begin { on, timeout, seen, forgot, reply } = begin;
        let client = self.client(on);
        let connect = connect(client.session, *timeout, seen.map_or(client.seen, Zxid), *forgot);
        let number = client.number;
        let said = self.model.connect(number, 0, connect);
        if let Some(ZkReply::Connected(begun)) = &said {
            self.client(on).session = Some(begun.session);
        }
        same(&begun(said.as_ref()), reply)
    }

    fn ask(&mut self, ask: &Ask) -> Result<(), String> {
        let Ask { on, say, told: committed, reply } = ask;
        let number = self.client(on).number;
        let answer: Option<Answer> = self.model.ask(number, say.request()?);
        let events: Vec<ZkEvent> = self.model.take_told(number).into_iter().flat_map(|told| told.events).collect();
        same(&told(&events), committed)?;
        let said = answered(answer.as_ref(), &|session| self.name(session));
        if let Some(answer) = answer {
            let client = self.client(on);
            client.seen = client.seen.max(answer.zxid);
        }
        same(&said, reply)
    }

    fn name(&self, session: SessionId) -> String {
        let has = |client: &Client| client.session.is_some_and(|known| known.session == session);
        let own = self.clients.iter().find(|(_, client)| has(client));
        own.map_or_else(|| "nobody".to_owned(), |(name, _)| name.clone())
    }
}

fn connect(session: Option<Credentials>, timeout: u32, last_seen: Zxid, forgot: bool) -> Connect {
    let forget = |known: Credentials| if forgot { Credentials { password: (1, 2), ..known } } else { known };
    Connect { last_seen, timeout: Millis(timeout), session: session.map(forget) }
}

fn same<T: PartialEq + std::fmt::Debug>(told: &T, committed: &T) -> Result<(), String> {
    if told == committed { Ok(()) } else { Err(format!("the server answers {committed:?}, the model {told:?}")) }
}

#[test]
fn the_model_of_zookeeper_answers_as_the_real_server_did() {
    let (mut held, mut subjects) = (0, 0);
    let mut differences = Vec::new();
    for (path, transcript) in transcripts() {
        let mut replay = Replay::new();
        for (i, row) in transcript.rows.iter().enumerate() {
            match replay.play(row) {
                Ok(()) => held += usize::from(matches!(row, Row::Ask(_) | Row::Begin(_))),
                Err(why) => {
                    differences.push(format!("{}:{}: {why}", path.display(), i + 2));
                    break;
                }
            }
            subjects += usize::from(matches!(row, Row::About(_)));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    assert!(held > 100 && subjects > 10, "only {held} answers about {subjects} subjects");
}
