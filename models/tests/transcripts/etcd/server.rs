//! The model of a cluster's only member, stepped without a kernel: its timers are due when they say.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

use host::{
    CallId, ConnId, Context, Deadline, Disk, Duration, Effect, MonoTime, NodeId, Operation, Origin, Service, TimerId,
    WallTime, Words,
};
use models::domain::{Locks, Message, Record};
use models::etcd::server::Etcd;
use models::etcd::{Reply, Rpc};
use models::lock::etcd::EtcdServers;

/// A running member.
pub(crate) struct Server {
    etcd: Etcd,
    disk: Disk<Record>,
    now: Duration,
    timers: BTreeMap<TimerId, Duration>,
    answers: BTreeMap<CallId, Reply>,
    asked: u32,
    leads: bool,
    words: Rc<Drawn>,
}

/// What a member draws: one word after another, most of them large.
#[derive(Default)]
struct Drawn(Cell<u64>);

impl Words for Drawn {
    fn word(&self, _: NodeId) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        self.0.get()
    }
}

const NODE: NodeId = NodeId::new(0);
/// Nothing takes longer.
const LONG: Duration = Duration::from_secs(100);

impl Server {
    /// Starts one, of a new cluster. It leads.
    pub(crate) fn start() -> Self {
        let etcd = Etcd::new(&[NODE], EtcdServers::default());
        let (timers, answers) = (BTreeMap::new(), BTreeMap::new());
        let now = Duration::from_secs(1);
        let mut server =
            Self { etcd, disk: Disk::default(), now, timers, answers, asked: 0, leads: false, words: Rc::default() };
        server.restart();
        server
    }

    /// Kills it, and starts it again with what it has on its disk. It leads again.
    pub(crate) fn restart(&mut self) {
        self.timers.clear();
        self.leads = false;
        self.step(|etcd, cx| etcd.on_start(cx));
        self.wait_until("it leads", |server| server.leads);
    }

    /// Asks it.
    pub(crate) fn ask(&mut self, rpc: Rpc) -> CallId {
        self.asked += 1;
        let call = CallId::new(self.asked);
        let from = Origin { conn: ConnId::new(0), call, operation: Operation("any") };
        self.step(|etcd, cx| etcd.on_message(cx, from, rpc.into()));
        call
    }

    /// What it has answered, if it has.
    pub(crate) fn take_answer(&mut self, call: CallId) -> Option<Reply> {
        self.answers.remove(&call)
    }

    /// Time passes.
    pub(crate) fn wait(&mut self, duration: Duration) {
        let until = self.now + duration;
        while self.fire_before(until) {}
        self.now = until;
    }

    /// Time passes until that is so.
    pub(crate) fn wait_until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        let last = self.now + LONG;
        while !holds(self) {
            assert!(self.fire_before(last), "it never happens: {what}");
        }
    }

    fn fire_before(&mut self, until: Duration) -> bool {
        let next = self.timers.iter().map(|(timer, at)| (*at, *timer)).min();
        let Some((at, timer)) = next.filter(|(at, _)| *at <= until) else { return false };
        self.timers.remove(&timer);
        self.now = self.now.max(at);
        self.step(|etcd, cx| etcd.on_timer(cx, timer));
        true
    }

    fn step(&mut self, step: impl FnOnce(&mut Etcd, &mut Context<Locks>)) {
        let nanos = host::nanos(self.now);
        let mut cx = Context::at(NODE, MonoTime::from_nanos(nanos), WallTime::from_nanos(nanos.cast_signed()));
        cx.words = Rc::clone(&self.words) as Rc<dyn Words>;
        std::mem::swap(&mut self.disk, &mut cx.disk);
        step(&mut self.etcd, &mut cx);
        self.disk = cx.disk;
        for effect in cx.effects {
            match effect {
                Effect::Reply(to, Message::EtcdReply(reply)) => _ = self.answers.insert(to.call, reply),
                Effect::SetTimer(timer, Deadline::Mono(at)) => {
                    self.timers.insert(timer, Duration::from_nanos(at.as_nanos()));
                }
                Effect::CancelTimer(timer) => _ = self.timers.remove(&timer),
                Effect::Lead(leads) => self.leads = leads,
                Effect::Note(_) => {}
                other => panic!("one member, and nobody who watches: {other:?}"),
            }
        }
    }
}
