//! Random requests to the model and to real servers: every reply equal, and every event, in its place among the replies of
//! its connection.
//!
//! On several servers each client is at one of its own, and asks it to catch up (`sync`) before whatever it asks: so it is
//! known what a follower has.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;

use fencepost_live::jute::Connection;
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkServer, ZkSettings};
use models::zookeeper::tree::Tree;
use models::zookeeper::{
    Answer, Body, Connect, Connected, Delete, EventKind, Millis, Mode, NodeName, OpResult, Path, SessionId, SetData,
    SetWatches, Stat, ZkError, ZkEvent, ZkReply, ZkRequest, Zxid,
};
use proptest::test_runner::TestCaseError;

use crate::common::{Named, Outcome, runner, why};
use crate::model::{Model, Told};
use crate::sequence::{CLIENTS, Step, sequences, told};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 2] = [
    ("random requests to one server", || all_are_answered_alike(1, 1, 120)),
    ("random requests to three servers", || all_are_answered_alike(3, 2, 60)),
];

/// How often a client knocks at a server.
const MOST_TRIES: usize = 2_000;
/// How many steps a sequence has.
const LENGTH: usize = 80;
/// No session ends by itself meanwhile: the longest that there is.
const TIMEOUT: Millis = Millis(40_000);
/// No container is looked after meanwhile.
const SETTINGS: ZkSettings = ZkSettings { containers: Millis(3_600_000), ..ZkSettings::SHIPPED };

fn all_are_answered_alike(size: usize, seed: u8, cases: u32) -> Outcome {
    // The same servers for all sequences: the count of changes goes on. After a difference both begin anew.
    let both = RefCell::new(None);
    let played = runner(seed, cases, 60).run(&sequences(LENGTH), |steps| {
        let mut both = both.borrow_mut();
        let mut own = match both.take() {
            Some(own) => own,
            None => Both::new(size).map_err(|error| TestCaseError::fail(error.to_string()))?,
        };
        own.play(&steps).map_err(|why| TestCaseError::fail(format!("{}{why}", own.log)))?;
        *both = Some(own);
        Ok(())
    });
    played.map_err(why).and_then(|()| both.take().map_or(Ok(()), Both::compare_logs)).inspect_err(|_| {
        count(&COUNTS.different, 1);
    })
}

/// Real servers and the model of them.
struct Both {
    ensemble: ZkEnsemble,
    model: Model,
    clients: [Client; CLIENTS],
    /// What the servers' sessions are to the model.
    names: BTreeMap<SessionId, SessionId>,
    log: String,
}

/// A client, as its library is.
#[derive(Default)]
struct Client {
    connection: Option<Connection>,
    /// Its session, and what that is to the model.
    session: Option<(Connected, Connected)>,
    /// The newest change that it has seen.
    seen: Zxid,
    /// Nodes that it watches, that were there, and that were not; and those whose children it watches.
    data: BTreeSet<Path>,
    exist: BTreeSet<Path>,
    child: BTreeSet<Path>,
    /// How often it has lost its connection.
    moves: usize,
}

type Played<T = ()> = Result<T, String>;

fn broken(error: std::io::Error) -> String {
    error.to_string()
}

impl Both {
    fn new(size: usize) -> std::io::Result<Self> {
        let ensemble = ZkEnsemble::start(size, SETTINGS)?;
        let (model, clients, names) = (Model::new(size), Default::default(), BTreeMap::new());
        Ok(Self { ensemble, model, clients, names, log: String::new() })
    }

    fn play(&mut self, steps: &[Step]) -> Played {
        self.log.clear();
        for client in 0..CLIENTS {
            self.close(client)?;
        }
        self.connect(0)?;
        self.delete_below(Path::ROOT)?;
        self.ask(0, ZkRequest::SetData(Box::new(SetData { path: Path::ROOT, data: "".into(), version: None })))?;
        for parent in ["/L", "/a"] {
            self.ask(0, ZkRequest::create(parent.into(), "".into(), Mode::Persistent))?;
        }
        self.log.clear();
        for step in steps {
            match step {
                Step::Ask(client, request) => {
                    self.connect(*client)?;
                    let request = told(request, &mut |look| self.model.ask(*client, look)?.outcome.ok());
                    self.ask(*client, request)?;
                    count(&COUNTS.random, 1);
                }
                Step::Close(client) => self.close(*client)?,
                Step::Lose(client) => self.lose(*client),
                Step::Move(client) => self.go_elsewhere(*client)?,
            }
        }
        (0..CLIENTS).try_for_each(|client| self.ask(client, ZkRequest::Ping))
    }

    fn delete_below(&mut self, parent: Path) -> Played {
        let found = self.model.ask(0, ZkRequest::GetChildren { path: parent, watch: false });
        let Some(Ok(Body::Children { names, .. })) = found.map(|answer| answer.outcome) else {
            return Err(format!("{parent} is not there"));
        };
        let prefix = if parent.is_root() { String::new() } else { parent.to_string() };
        for name in names.into_iter().filter(|name| *name != "zookeeper".into()) {
            let path = Path::below(prefix.as_str().into(), name);
            self.delete_below(path)?;
            self.ask(0, ZkRequest::Delete(Delete { path, version: None }))?;
        }
        Ok(())
    }

    /// What each server has written down makes the tree that they all answer from.
    fn compare_logs(mut self) -> Outcome {
        for client in 0..CLIENTS {
            self.ask(client, ZkRequest::create("/last".into(), "".into(), Mode::Ephemeral))?;
        }
        for server in 0..self.ensemble.size() {
            let mut tree = Tree::default();
            for logged in self.ensemble.server(server).logged()? {
                let applied = logged.apply(&mut tree);
                let is_same = applied.outcome.as_ref().err() == logged.change.as_ref().err();
                if applied.zxid != logged.zxid || !is_same {
                    return Err(format!("server {server} has written {logged:?}, the model does {applied:?}").into());
                }
            }
            self.compare_below(Path::ROOT, &tree)?;
        }
        Ok(())
    }

    fn compare_below(&mut self, path: Path, tree: &Tree) -> Outcome {
        let connection = self.clients[0].connection.as_mut().ok_or("it is connected")?;
        let answer = connection.ask(ZkRequest::GetChildren { path, watch: false })?.1.ok_or("it is answered")?;
        let Ok(Body::Children { mut names, stat }) = answer.outcome else {
            return Err(format!("{path}: {answer}").into());
        };
        names.sort();
        let told: Vec<NodeName> = tree.children(&path).into_iter().flatten().collect();
        // Where the servers of an ensemble are is there without having been agreed upon.
        let is_config = path == Path::from("/zookeeper/config");
        if names != told || !is_config && tree.stat(&path) != Ok(stat) {
            return Err(
                format!("{path}: the log has {told:?} and {:?}, not {names:?} and {stat:?}", tree.stat(&path)).into()
            );
        }
        count(&COUNTS.replies, 1);
        let parent = if path.is_root() { String::new() } else { path.to_string() };
        names.into_iter().try_for_each(|name| self.compare_below(Path::below(parent.as_str().into(), name), tree))
    }

    fn close(&mut self, client: usize) -> Played {
        if self.clients[client].session.is_none() {
            return Ok(());
        }
        self.ask(client, ZkRequest::CloseSession)?;
        self.model.lose(client);
        let own = std::mem::take(&mut self.clients[client]);
        match own.connection.map(|mut connection| connection.receive()) {
            Some(Ok(None)) => Ok(()),
            other => Err(format!("after the end of a session: {other:?}")),
        }
    }

    fn lose(&mut self, client: usize) {
        let own = &mut self.clients[client];
        if own.connection.take().is_some() {
            own.moves += 1;
            self.model.lose(client);
            let _ = writeln!(self.log, "{client} loses its connection");
        }
    }

    /// The server where it was has closed the connection, or does so when the leader refuses what is written on it.
    fn go_elsewhere(&mut self, client: usize) -> Played {
        let own = &mut self.clients[client];
        let Some(mut before) = own.connection.take() else { return Ok(()) };
        own.moves += 1;
        self.model.stay_behind(client, CLIENTS);
        self.connect(client)?;
        let write = ZkRequest::create("/moved".into(), "".into(), Mode::Persistent);
        let (_, said) = before.ask(write.clone()).map_err(broken)?;
        let told = self.model.ask(CLIENTS, write);
        self.model.lose(CLIENTS);
        let _ = writeln!(self.log, "{client} writes where it was before => {}", heard(&[], said.as_ref()));
        if said.is_none() && told.is_none() { Ok(()) } else { Err(format!("the model says {told:?}")) }
    }

    /// Sees to it that the client is connected, in its session, with its watches.
    fn connect(&mut self, client: usize) -> Played {
        let own = &mut self.clients[client];
        if own.connection.is_some() {
            return Ok(());
        }
        let server = (client + own.moves) % self.ensemble.size();
        let known = own.session.map(|(known, _)| known.session);
        let connect = Connect { last_seen: own.seen, timeout: TIMEOUT, session: known };
        let (connection, reply) = begin(self.ensemble.server(server), &connect).map_err(broken)?;
        let ZkReply::Connected(begun) = reply else { return Err(format!("{client}: {connect} => {reply}")) };
        if begun.timeout != TIMEOUT || known.is_some_and(|known| known != begun.session) {
            return Err(format!("{client}: {connect} => {begun:?}"));
        }
        let _ = writeln!(self.log, "{client}: {connect} => {}", begun.session.session);
        own.connection = Some(connection);
        let known_to_model = own.session.map(|(_, told)| told.session);
        let connect = Connect { session: known_to_model, ..connect };
        let Some(ZkReply::Connected(told)) = self.model.connect(client, server, connect) else {
            return Err("the model hangs up".to_owned());
        };
        if told.timeout != begun.timeout {
            return Err(format!("the model says {told:?}"));
        }
        own.session = Some((*begun, *told));
        self.names.insert(begun.session.session, told.session.session);
        if known.is_none() {
            return Ok(());
        }
        let list = |paths: &mut BTreeSet<Path>| std::mem::take(paths).into_iter().collect::<Vec<_>>();
        let (data, exist, child) = (list(&mut own.data), list(&mut own.exist), list(&mut own.child));
        let watches = SetWatches { since: own.seen, data, exist, child };
        for (set, own) in
            [(&watches.data, &mut own.data), (&watches.exist, &mut own.exist), (&watches.child, &mut own.child)]
        {
            own.extend(set);
        }
        self.ask(client, ZkRequest::SetWatches(Box::new(watches)))
    }

    /// Asks both, and compares.
    fn ask(&mut self, client: usize, request: ZkRequest) -> Played {
        self.connect(client)?;
        let own = &mut self.clients[client];
        let connection = own.connection.as_mut().ok_or("it is connected")?;
        let mut events = Vec::new();
        if self.ensemble.size() > 1 {
            events.extend(connection.ask(ZkRequest::Sync { path: Path::ROOT }).map_err(broken)?.0);
        }
        let (more, said) = connection.ask(request.clone()).map_err(|error| format!("{client}: {request}: {error}"))?;
        events.extend(more);
        let _ = writeln!(self.log, "{client}: {request} => {}", heard(&events, said.as_ref()));
        let mut said = said.ok_or("the server has hung up")?;
        own.keep(&request, &events, &said);
        self.in_the_models_words(&mut said);
        count(&COUNTS.replies, 1);
        count(&COUNTS.events, events.len() as u64);
        if self.ensemble.size() > 1 {
            self.model.ask(client, ZkRequest::Sync { path: Path::ROOT });
        }
        let told = self.model.ask(client, request);
        let expected = self.model.take_told(client);
        if Some(&said) == told.as_ref() && are_told(&events, &expected) {
            return Ok(());
        }
        Err(format!("the server says {said:?}\nthe model says  {told:?}, with {expected:?}"))
    }
}

/// Connects, and again for as long as the server has not seen what the client has: it hangs up without a word then.
fn begin(server: &ZkServer, connect: &Connect) -> std::io::Result<(Connection, ZkReply)> {
    for _ in 0..MOST_TRIES {
        let mut connection = server.connect()?;
        if let Some(reply) = connection.begin(connect)? {
            return Ok((connection, reply));
        }
        sleep(Duration::from_millis(5));
    }
    Err(std::io::Error::other("the server never catches up with its client"))
}

/// What is a number to the servers, and another to the model.
impl Both {
    fn in_the_models_words(&self, said: &mut Answer) {
        let rename = |stat: &mut Stat| stat.owner = stat.owner.map(|owner| *self.names.get(&owner).unwrap_or(&owner));
        let Ok(body) = &mut said.outcome else { return };
        match body {
            Body::Children { names, stat } => {
                names.sort();
                rename(stat);
            }
            Body::Created { stat, .. } | Body::Exists { stat } | Body::Data { stat, .. } | Body::Set { stat } => {
                rename(stat);
            }
            Body::Multi { results } => {
                for result in results {
                    if let OpResult::Set { stat } = result {
                        rename(stat);
                    }
                }
            }
            Body::Nothing | Body::Deleted | Body::Synced { .. } | Body::MultiFailed { .. } => {}
        }
    }
}

fn heard(events: &[ZkEvent], said: Option<&Answer>) -> String {
    let events: String = events.iter().map(|event| format!("({event}) ")).collect();
    events + &said.map_or_else(|| "nothing".to_owned(), ToString::to_string)
}

/// Whether those are the events that were to be told, in their order as far as they have one.
fn are_told(events: &[ZkEvent], expected: &[Told]) -> bool {
    let mut events = events;
    for told in expected {
        let Some((these, rest)) = events.split_at_checked(told.events.len()) else { return false };
        let (mut these, mut own) = (these.to_vec(), told.events.clone());
        if !told.in_order {
            these.sort_unstable();
            own.sort_unstable();
        }
        if these != own {
            return false;
        }
        events = rest;
    }
    events.is_empty()
}

impl Client {
    /// What the library keeps of what it has asked and heard (`ZKWatchManager.materialize`, `ExistsWatchRegistration`).
    fn keep(&mut self, request: &ZkRequest, events: &[ZkEvent], said: &Answer) {
        self.seen = self.seen.max(said.zxid);
        for event in events {
            match event.kind {
                EventKind::Created | EventKind::DataChanged => {
                    self.data.remove(&event.path);
                    self.exist.remove(&event.path);
                }
                EventKind::ChildrenChanged => _ = self.child.remove(&event.path),
                EventKind::Deleted => {
                    self.data.remove(&event.path);
                    self.exist.remove(&event.path);
                    self.child.remove(&event.path);
                }
            }
        }
        match (request, &said.outcome) {
            (ZkRequest::Exists { path, watch: true } | ZkRequest::GetData { path, watch: true }, Ok(_)) => {
                self.data.insert(*path);
            }
            (ZkRequest::Exists { path, watch: true }, Err(ZkError::NoNode)) => _ = self.exist.insert(*path),
            (ZkRequest::GetChildren { path, watch: true }, Ok(_)) => _ = self.child.insert(*path),
            _ => {}
        }
    }
}
