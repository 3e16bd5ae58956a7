//! Random requests to the model and to a real cluster: every reply and every event equal.
//!
//! Time is the machine's. What is left of a lease lies between what it is if all was done as early, and as late, as the
//! client's stamps allow. No lease ends while something else is asked: before one may, everybody waits until it has, and
//! in which order they have, the events say.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write;
use std::time::{Duration, Instant};

use fencepost_live::gateway::Lines;
use fencepost_live::servers::etcd::EtcdCluster;
use host::NodeId;
use models::etcd::wire::Json;
use models::etcd::{Delete, Event, EventKind, Key, Keys, LeaseId, Push, Put, Reply, Revision, Rpc, Watch};
use proptest::test_runner::TestCaseError;

use crate::common::{Named, Outcome, runner, why};
use crate::model::Model;
use crate::sequence::{Step, sequences, told};
use crate::{COUNTS, count};

pub(crate) const TRIALS: [Named; 3] = [
    ("random requests to one member", || all_are_answered_alike(Mix { members: 1, ends: false, seed: 1 }, 130)),
    ("random requests to three members", || all_are_answered_alike(Mix { members: 3, ends: false, seed: 2 }, 80)),
    ("random requests to one member whose leases end", || {
        all_are_answered_alike(Mix { members: 1, ends: true, seed: 3 }, 8)
    }),
];

/// How many requests a sequence has.
const LENGTH: usize = 60;
/// Nothing else is asked if a lease may end within that time.
const NEAR: Duration = Duration::from_millis(400);
/// How much later than it should a lease may end, for a machine that is busy.
const BUSY: Duration = Duration::from_millis(1_500);
/// How long events may take.
const LONG: Duration = Duration::from_secs(30);

#[derive(Clone, Copy, Debug)]
struct Mix {
    members: usize,
    ends: bool,
    seed: u8,
}

fn all_are_answered_alike(mix: Mix, cases: u32) -> Outcome {
    // One cluster for all sequences: revisions go on. After a difference both begin anew.
    let session = RefCell::new(None);
    let played = runner(mix.seed, cases, 100).run(&sequences(LENGTH, mix.ends), |(steps, watch)| {
        let mut session = session.borrow_mut();
        let mut own = match session.take() {
            Some(own) => own,
            None => Session::new(mix).map_err(|error| TestCaseError::fail(error.to_string()))?,
        };
        own.play(&steps, &watch).map_err(|why| TestCaseError::fail(format!("{}{why}", own.log)))?;
        *session = Some(own);
        Ok(())
    });
    played.map_err(|error| {
        count(&COUNTS.different, 1);
        why(error)
    })
}

/// A real cluster and the model of one.
struct Session {
    cluster: EtcdCluster,
    model: Model,
    began: Instant,
    /// Every event there is.
    lines: Lines,
    /// Those that have come and have not been compared.
    come: VecDeque<Event>,
    /// How many of the model's changes have been compared with events.
    compared: usize,
    log: String,
}

type Played<T = ()> = Result<T, String>;

fn broken(error: std::io::Error) -> String {
    error.to_string()
}

impl Session {
    fn new(mix: Mix) -> std::io::Result<Self> {
        let cluster = EtcdCluster::start(mix.members)?;
        let all = Watch { prev_kv: true, ..Watch::of(Keys::Under("".into()), Some(Revision(2))) };
        let lines = cluster.gateway(0).watch(&[all])?;
        Ok(Self {
            cluster,
            model: Model::new(),
            began: Instant::now(),
            lines,
            come: VecDeque::new(),
            compared: 0,
            log: String::new(),
        })
    }

    fn play(&mut self, steps: &[Step], watch: &Watch) -> Played {
        self.log.clear();
        self.ask(0, &Delete { keys: Keys::Under("".into()), prev_kv: true }.into())?;
        for id in self.model.store.leases().keys().copied().collect::<Vec<_>>() {
            self.ask(0, &Rpc::LeaseRevoke { id })?;
        }
        self.compare_events()?;
        let from = Revision(self.model.store.revision().0 + 1);
        for step in steps {
            match step {
                Step::Ask(client, rpc) => {
                    let rpc = told(rpc, &self.model.store, self.cluster.size());
                    self.ask(*client, &rpc)?;
                    count(&COUNTS.random, 1);
                }
                Step::LetEnd => self.let_end(Duration::from_secs(3))?,
            }
        }
        self.compare_events()?;
        self.watch_the_past(&Watch { from: Some(from), ..watch.clone() })
    }

    fn now(&self) -> Duration {
        self.began.elapsed()
    }

    /// Asks both, and compares.
    fn ask(&mut self, client: usize, rpc: &Rpc) -> Played {
        self.let_end(NEAR)?;
        let member = client % self.cluster.size();
        let from = self.now();
        let (status, said) = self.cluster.gateway(member).ask(rpc).map_err(|error| format!("{rpc}: {error}"))?;
        let window = (from, self.now());
        let _ = writeln!(self.log, "{client} at {window:?}: {rpc} => {status} {said}");
        count(&COUNTS.replies, 1);
        let left = self.left(rpc, window);
        let mut reply = self.model.ask(rpc, window);
        self.allow(rpc, &mut reply, left, &said);
        let (told_status, told) = reply.to_json();
        if (status, in_order(&said)) == (told_status, in_order(&told)) {
            return Ok(());
        }
        Err(format!("the model says {told_status} {told}"))
    }

    /// The least and the most seconds that may be left of the lease that is asked after.
    fn left(&self, rpc: &Rpc, (from, to): (Duration, Duration)) -> Option<(i64, i64)> {
        let Rpc::LeaseTimeToLive { id, .. } = rpc else { return None };
        let clocks = crate::model::clocks;
        Some((self.model.early.left(*id, clocks(to))?, self.model.late.left(*id, clocks(from))?))
    }

    /// What the model cannot know to the letter, and takes from the server if it may be so.
    fn allow(&self, rpc: &Rpc, reply: &mut Reply, left: Option<(i64, i64)>, said: &Json) {
        let Reply::Done(told) = reply else { return };
        let said = said.get("result").unwrap_or(said);
        let number = |json: &Json| json.as_str().and_then(|text| text.parse::<i64>().ok()).unwrap_or(0);
        if let (Some((least, most)), models::etcd::Body::LeaseTimeToLive { ttl, .. }) = (left, &mut told.body) {
            let said = number(&said["TTL"]);
            if (least..=most).contains(&said) {
                *ttl = said;
            }
        }
        // Of a lease that the leader is asked after, a follower says how far it is itself: it may lag.
        let is_forwarded = matches!(rpc, Rpc::LeaseKeepAlive { .. } | Rpc::LeaseTimeToLive { .. });
        if is_forwarded && self.cluster.size() > 1 {
            let said = u64::try_from(number(&said["header"]["revision"])).unwrap_or(0);
            told.header.revision = told.header.revision.min(Revision(said));
        }
    }

    /// Waits for every lease that may end within that time.
    fn let_end(&mut self, within: Duration) -> Played {
        let now = self.now();
        let ids = self.model.store.leases().keys().copied();
        let near: Vec<_> = ids.filter(|id| self.model.ends(*id).is_some_and(|(end, _)| end <= now + within)).collect();
        if near.is_empty() {
            return Ok(());
        }
        for id in &near {
            self.see_end(*id)?;
        }
        // Their keys went in the order of the events.
        let (_, said) = self.cluster.gateway(0).ask(&Delete::one("nothing".into()).into()).map_err(broken)?;
        let revision = said["header"]["revision"].as_str().and_then(|text| text.parse().ok()).unwrap_or(0);
        self.await_events(Revision(revision))?;
        let mut order: Vec<(Revision, LeaseId)> = Vec::new();
        for id in near {
            let key = self.model.store.leases()[&id].keys.first().copied();
            let gone = |event: &&Event| Some(event.key()) == key && event.revision() > self.model.store.revision();
            order.push((self.come.iter().find(gone).map_or(Revision(0), Event::revision), id));
        }
        order.sort_unstable();
        for (_, id) in order {
            self.model.end(id);
            count(&COUNTS.ended, 1);
        }
        let _ = writeln!(self.log, "leases have ended, at revision {revision}");
        if self.model.store.revision() == Revision(revision) {
            return Ok(());
        }
        Err(format!("the model is at {}", self.model.store.revision()))
    }

    /// Looks until the lease is gone: not before its end, nor long after the pass behind it.
    fn see_end(&mut self, id: LeaseId) -> Played {
        let (over, found) = self.model.ends(id).ok_or("no such lease")?;
        let mut there = Duration::ZERO;
        loop {
            let from = self.now();
            let asked = Rpc::LeaseTimeToLive { id, keys: false };
            let (_, said) = self.cluster.gateway(0).ask(&asked).map_err(broken)?;
            if said["TTL"] == "-1" {
                let is_in_time = over <= self.now() && there <= found + BUSY;
                let window = format!("{id:?} was there at {there:?}, and gone at {:?}", self.now());
                return if is_in_time { Ok(()) } else { Err(format!("{window}: its time is {over:?} to {found:?}")) };
            }
            there = from;
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Takes in events until that revision has come.
    fn await_events(&mut self, revision: Revision) -> Played {
        let began = Instant::now();
        let is_there = |session: &Self| session.come.back().is_some_and(|event| event.revision() >= revision);
        let nothing_new = self.model.store.revision() == revision && self.compared == self.model.store.history().len();
        while !nothing_new && !is_there(self) {
            if began.elapsed() > LONG {
                return Err(format!("no event of revision {revision} comes"));
            }
            if let Some(line) = self.lines.next(LONG).map_err(broken)? {
                self.come.extend(events(&line)?);
            }
        }
        Ok(())
    }

    /// Every change since is an event, and nothing else is.
    fn compare_events(&mut self) -> Played {
        self.await_events(self.model.store.revision())?;
        let changes = &self.model.store.history()[self.compared..];
        let expected: Vec<Event> = changes.iter().map(|kind| self.model.store.event(kind, true)).collect();
        let come: Vec<Event> = self.come.drain(..).collect();
        self.compared = self.model.store.history().len();
        count(&COUNTS.events, come.len() as u64);
        if come == expected { Ok(()) } else { Err(format!("events {come:?}\nthe model has {expected:?}")) }
    }

    /// A watch that begins in the past is told all that it asked for, until a last change that it is told as well.
    fn watch_the_past(&mut self, watch: &Watch) -> Played {
        let last = match watch.keys {
            Keys::One(key) if !key.is_empty() => key,
            Keys::One(_) => return Ok(()),
            Keys::Under(prefix) => Key::from(&*format!("{}1", prefix.as_str())),
            Keys::Between(first, _) => first,
        };
        if watch.no_put && watch.no_delete {
            return Ok(());
        }
        self.ask(0, &Put::new(last, "last".into(), None).into())?;
        if watch.no_put {
            self.ask(0, &Delete::one(last).into())?;
        }
        let end = self.model.store.revision();
        let lines = self.cluster.gateway(0).watch(std::slice::from_ref(watch)).map_err(broken)?;
        let mut come: Vec<Event> = Vec::new();
        while come.last().is_none_or(|event| event.revision() < end) {
            let line = lines.next(LONG).map_err(broken)?.ok_or_else(|| format!("{watch}: {come:?} and no more"))?;
            come.extend(events(&line)?);
        }
        let store = &self.model.store;
        let is_told = |kind: &&EventKind| {
            let is_filtered = match kind {
                EventKind::Put(_) => watch.no_put,
                EventKind::Delete { .. } => watch.no_delete,
            };
            !is_filtered && watch.keys.contains(&kind.key()) && Some(kind.revision()) >= watch.from
        };
        let expected: Vec<_> =
            store.history().iter().filter(is_told).map(|kind| store.event(kind, watch.prev_kv)).collect();
        count(&COUNTS.events, come.len() as u64);
        if come == expected { Ok(()) } else { Err(format!("{watch}: events {come:?}\nthe model has {expected:?}")) }
    }
}

fn events(line: &Json) -> Played<Vec<Event>> {
    let push = Push::from_json(NodeId::new(0), line).map_err(|error| format!("{error}: {line}"))?;
    Ok(push.map_or_else(Vec::new, |push| push.events.to_vec()))
}

/// The names of a lease's keys come in any order.
fn in_order(json: &Json) -> Json {
    let mut json = json.clone();
    if let Some(keys) = json.get_mut("keys").and_then(Json::as_array_mut) {
        keys.sort_by_key(Json::to_string);
    }
    json
}
