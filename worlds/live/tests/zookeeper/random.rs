//! Random requests to the model and to real servers: every reply equal, and every event, in its place among the replies of
//! its connection.
//!
//! On several servers each client is at one of its own, and asks it to catch up (`sync`) before whatever it asks: so it is
//! known what a follower has.

mod client;
mod logs;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::io;
use std::thread::sleep;
use std::time::Duration;

use fencepost_live::jute::Connection;
use fencepost_live::servers::zookeeper::{ZkEnsemble, ZkServer, ZkSettings};
use models::zookeeper::{
    Answer, Body, Connect, Delete, Millis, Mode, OpResult, Path, SessionId, SetData, SetWatches, Stat, ZkEvent,
    ZkReply, ZkRequest, Zxid,
};
use proptest::test_runner::TestCaseError;

use self::client::Client;
use crate::common::{Named, Outcome, runner, why};
use crate::model::{Model, Told};
use crate::sequence::{CLIENTS, Step, sequences, told};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 4] = [
    ("random requests to one server", || all_are_answered_alike(Mix { size: 1, restarts: false, seed: 1 }, 120)),
    ("random requests to three servers", || all_are_answered_alike(Mix { size: 3, restarts: false, seed: 2 }, 60)),
    ("random requests to one server that starts again", || {
        all_are_answered_alike(Mix { size: 1, restarts: true, seed: 3 }, 12)
    }),
    ("random requests to three servers whose leader dies", || {
        all_are_answered_alike(Mix { size: 3, restarts: true, seed: 4 }, 8)
    }),
];

#[derive(Clone, Copy, Debug)]
struct Mix {
    size: usize,
    restarts: bool,
    seed: u8,
}

/// How often a server may never answer, and all begins anew.
const MOST_UNANSWERED: u32 = 3;
/// How often a client knocks at a server.
const MOST_TRIES: usize = 2_000;
/// How many steps a sequence has.
const LENGTH: usize = 80;
/// No session ends by itself meanwhile: the longest that there is.
const TIMEOUT: Millis = Millis(40_000);
/// No container is looked after meanwhile.
const SETTINGS: ZkSettings = ZkSettings { containers: Millis(3_600_000), ..ZkSettings::SHIPPED };

fn all_are_answered_alike(mix: Mix, cases: u32) -> Outcome {
    // The same servers for all sequences: the count of changes goes on. After a difference both begin anew.
    let (both, unanswered) = (RefCell::new(None), Cell::new(0));
    let played = runner(mix.seed, cases, 60).run(&sequences(LENGTH, mix.restarts), |steps| {
        let mut both = both.borrow_mut();
        let mut own = match both.take() {
            Some(own) => own,
            None => Both::new(mix.size).map_err(|error| TestCaseError::fail(error.to_string()))?,
        };
        match own.play(&steps) {
            Ok(()) => *both = Some(own),
            Err(Trouble::Unanswered) if unanswered.get() < MOST_UNANSWERED => {
                unanswered.update(|times| times + 1);
                count(&COUNTS.unanswered, 1);
            }
            Err(Trouble::Unanswered) => return Err(TestCaseError::fail("again and again a server never answers")),
            Err(Trouble::Differs(why)) => return Err(TestCaseError::fail(format!("{}{why}", own.log))),
        }
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
    leader: usize,
    /// The newest change that anybody was told of.
    newest: Zxid,
    log: String,
}

/// Why a sequence does not go on.
#[derive(Debug)]
enum Trouble {
    /// Something is not as the model has it.
    Differs(String),
    /// A server never answers. On a machine that has much else to do, one of 3.8.0 now and then keeps a request until something else
    /// comes: it has it outstanding (`srvr`), with nothing to do in any thread. A ping mostly makes it go on.
    Unanswered,
}

type Played<T = ()> = Result<T, Trouble>;

impl<T: Into<String>> From<T> for Trouble {
    fn from(why: T) -> Self {
        Self::Differs(why.into())
    }
}

fn broken(error: io::Error) -> Trouble {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Trouble::Unanswered,
        _ => Trouble::Differs(error.to_string()),
    }
}

impl Both {
    fn new(size: usize) -> io::Result<Self> {
        let ensemble = ZkEnsemble::start(size, SETTINGS)?;
        let (model, clients, names) = (Model::new(size), Default::default(), BTreeMap::new());
        let (leader, newest) = (ensemble.wait_until_served()?, Zxid::default());
        Ok(Self { ensemble, model, clients, names, leader, newest, log: String::new() })
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
                Step::Restart => self.restart()?,
            }
        }
        (0..CLIENTS).try_for_each(|client| self.ask(client, ZkRequest::Ping))
    }

    fn delete_below(&mut self, parent: Path) -> Played {
        let found = self.model.ask(0, ZkRequest::GetChildren { path: parent, watch: false });
        let Some(Ok(Body::Children { names, .. })) = found.map(|answer| answer.outcome) else {
            return Err(format!("{parent} is not there").into());
        };
        let prefix = if parent.is_root() { String::new() } else { parent.to_string() };
        for name in names.into_iter().filter(|name| *name != "zookeeper".into()) {
            let path = Path::below(prefix.as_str().into(), name);
            self.delete_below(path)?;
            self.ask(0, ZkRequest::Delete(Delete { path, version: None }))?;
        }
        Ok(())
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
            other => Err(format!("after the end of a session: {other:?}").into()),
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

    fn restart(&mut self) -> Played {
        (0..CLIENTS).for_each(|client| self.lose(client));
        let leader = self.ensemble.wait_until_served().map_err(broken)?;
        self.ensemble.server_mut(leader).kill().map_err(broken)?;
        // Another leads before who was killed is back, to which it might seem that nothing had happened.
        if self.ensemble.size() > 1 {
            self.ensemble.wait_until_served().map_err(broken)?;
        }
        self.ensemble.server_mut(leader).start_again().map_err(broken)?;
        self.leader = self.ensemble.wait_until_served().map_err(broken)?;
        self.model.restart();
        let _ = writeln!(self.log, "server {leader} dies, and starts again");
        Ok(())
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
        if said.is_none() && told.is_none() { Ok(()) } else { Err(format!("the model says {told:?}").into()) }
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
        let ZkReply::Connected(begun) = reply else { return Err(format!("{client}: {connect} => {reply}").into()) };
        if begun.timeout != TIMEOUT || known.is_some_and(|known| known != begun.session) {
            return Err(format!("{client}: {connect} => {begun:?}").into());
        }
        let _ = writeln!(self.log, "{client}: {connect} => {}", begun.session.session);
        own.connection = Some(connection);
        own.server = server;
        let known_to_model = own.session.map(|(_, told)| told.session);
        let connect = Connect { session: known_to_model, ..connect };
        // Who leads the model's servers is another, as the case may be: the two change places.
        let place = match (server == self.leader, server == self.model.leader()) {
            (true, _) => self.model.leader(),
            (false, true) => self.leader,
            (false, false) => server,
        };
        let Some(ZkReply::Connected(told)) = self.model.connect(client, place, connect) else {
            return Err("the model hangs up".into());
        };
        if told.timeout != begun.timeout {
            return Err(format!("the model says {told:?}").into());
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
            let is_leader = own.server == self.leader;
            catch_up(connection, self.newest, is_leader, &mut events)?;
        }
        let (more, said) = connection.ask(request.clone()).map_err(broken)?;
        events.extend(more);
        let _ = writeln!(self.log, "{client}: {request} => {}", heard(&events, said.as_ref()));
        let mut said = said.ok_or("the server has hung up")?;
        own.keep(&request, &events, &said);
        self.newest = self.newest.max(said.zxid);
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
        Err(format!("the server says {said:?}\nthe model says  {told:?}, with {expected:?}").into())
    }
}

/// Asks the server to catch up. One that follows has what anybody was answered when that is answered; who leads does not ask itself,
/// and may be a little behind those that follow it: it puts what is agreed upon into a queue, and answers meanwhile
/// (`CommitProcessor`, without `matchSyncs`).
fn catch_up(connection: &mut Connection, newest: Zxid, is_leader: bool, events: &mut Vec<ZkEvent>) -> Played {
    for _ in 0..MOST_TRIES {
        let (heard, said) = connection.ask(ZkRequest::Sync { path: Path::ROOT }).map_err(broken)?;
        events.extend(heard);
        let has = said.ok_or("the server has hung up")?.zxid;
        if has >= newest {
            return Ok(());
        }
        if !is_leader {
            return Err(format!("it has caught up to {has}, and {newest} was answered").into());
        }
    }
    Err(format!("who leads never comes to {newest}").into())
}

/// Connects, and again for as long as the server has not seen what the client has: it hangs up without a word then.
fn begin(server: &ZkServer, connect: &Connect) -> io::Result<(Connection, ZkReply)> {
    for _ in 0..MOST_TRIES {
        let mut connection = server.connect()?;
        if let Some(reply) = connection.begin(connect)? {
            return Ok((connection, reply));
        }
        sleep(Duration::from_millis(5));
    }
    Err(io::Error::other("the server never catches up with its client"))
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
