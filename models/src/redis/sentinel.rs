//! A Redis Sentinel: it watches a primary, its replicas and the other Sentinels, and sees to it that a replica takes the
//! place of a primary that is down.
//!
//! Sources: the Redis 7.0.15 source (`sentinel.c`) and its documentation of Sentinel. Constants have their names there.
//!
//! | file | what |
//! |---|---|
//! | [`ask`] | what clients and other Sentinels ask |
//! | `instance` | what it knows of one server, and its connection to it |
//! | `watch` | `PING`, `INFO`, hellos; what follows from an `INFO` |
//! | `down` | subjectively and objectively down |
//! | `vote` | epochs: one vote in each |
//! | `failover` | the steps of a failover, and the choice of the replica |
//!
//! * **Clocks.** It acts when its timer ticks, 10 to 19 times a second, drawn anew each time so that Sentinels fall out of
//!   step: on the *monotonic* clock. How long ago something was, it reckons on the *wall* clock (`mstime`).
//! * **TILT.** A tick that comes more than two seconds after the last one, or before it, by the wall clock, means that
//!   the clock was set or that the process stood still: for 30 s it then looks on, and does nothing.
//! * **What it keeps** on its disk: epochs, its vote, who the primary is and who the replicas are.
//!
//! Departures: Sentinels know each other from the start, and send their hellos to each other alone. (Real ones find
//! each other through a channel of the servers that they watch, and send hellos there as well.) One primary is watched. A
//! hello and commands share one connection. Not modelled: `SENTINEL FAILOVER`, scripts, priorities of replicas (all
//! have the same), authentication, `-LOADING`.

pub mod ask;
mod down;
mod failover;
mod instance;
mod vote;
mod watch;

use std::collections::{BTreeMap, BTreeSet};

use host::{CallId, ConnId, Context, Deadline, Duration, Name, NodeId, Origin, Service, TimerId, span};

use crate::domain::{Locks, Message, Record};
pub use ask::{Answer, Ask, Hello, Told};
use failover::Failover;
use instance::{Instance, Kind};

/// How a Sentinel is set.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Watches {
    /// Under which name.
    pub name: Name,
    /// Which primary, at first.
    pub primary: NodeId,
    /// All Sentinels that watch it, this one among them.
    pub sentinels: Vec<NodeId>,
    /// `quorum`: so many must find the primary down.
    pub quorum: usize,
    /// `down-after-milliseconds`
    pub down_after: Duration,
    /// `failover-timeout`
    pub failover_timeout: Duration,
    /// `parallel-syncs`
    pub parallel_syncs: usize,
}

/// A Sentinel.
#[derive(Debug)]
pub struct Sentinel {
    settings: Watches,
    id: NodeId,
    memory: Memory,
    primary: Instance,
    replicas: BTreeMap<NodeId, Instance>,
    others: BTreeMap<NodeId, Instance>,
    /// `SRI_O_DOWN`
    objectively_down: bool,
    failover: Failover,
    /// When its last tick was, and since when it is in TILT, if it is, in ms of the wall clock.
    last_tick: i64,
    tilt: Option<i64>,
    subscribers: BTreeSet<ConnId>,
}

/// What a Sentinel writes into its configuration file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Memory {
    /// `current-epoch`
    epoch: u64,
    /// `config-epoch`: in which the primary was made that.
    config_epoch: u64,
    /// For whom it voted last, and in which epoch (`leader-epoch`).
    vote: Option<NodeId>,
    vote_epoch: u64,
    primary: NodeId,
    replicas: Vec<NodeId>,
}

impl Sentinel {
    /// A Sentinel that is set like this.
    #[must_use]
    pub fn new(settings: Watches) -> Self {
        let primary = settings.primary;
        let memory = Memory { epoch: 0, config_epoch: 0, vote: None, vote_epoch: 0, primary, replicas: Vec::new() };
        Self {
            settings,
            id: NodeId::default(),
            memory,
            primary: Instance::new(Kind::Primary, primary, 0),
            replicas: BTreeMap::new(),
            others: BTreeMap::new(),
            objectively_down: false,
            failover: Failover::default(),
            last_tick: 0,
            tilt: None,
            subscribers: BTreeSet::new(),
        }
    }

    /// `sentinelFlushConfig`
    fn remember(&mut self, cx: &mut Context<Locks>) {
        self.memory.primary = self.primary.node;
        self.memory.replicas = self.replicas.keys().copied().collect();
        cx.disk.replace(Record::Sentinel(self.memory.clone()));
    }

    fn await_tick(cx: &mut Context<Locks>) {
        let hz = span::uniform(LEAST_HZ, MOST_HZ, || cx.random());
        cx.set_timer(TICK, Deadline::Mono(cx.mono + Duration::from_millis(1_000 / hz)));
    }

    /// `sentinelTimer`
    fn tick(&mut self, cx: &mut Context<Locks>) {
        let now = now(cx);
        let since = now - self.last_tick;
        if !(0..=TILT_TRIGGER).contains(&since) {
            self.tilt = Some(now);
        }
        self.last_tick = now;
        self.attend_to_primary(cx);
        for kind in [Kind::Replica, Kind::Sentinel] {
            let all = if kind == Kind::Replica { &self.replicas } else { &self.others };
            for node in all.keys().copied().collect::<Vec<_>>() {
                self.attend_to(cx, kind, node);
            }
        }
        self.switch_when_done(cx);
    }

    /// The first half for everybody, then what is for the primary alone.
    fn attend_to_primary(&mut self, cx: &mut Context<Locks>) {
        if !self.attend_to(cx, Kind::Primary, self.primary.node) {
            return;
        }
        self.look_whether_objectively_down(cx);
        if self.start_failover_if_needed(cx) {
            self.ask_others(cx, true);
        }
        self.go_on_with_failover(cx);
        self.ask_others(cx, false);
    }

    /// `sentinelHandleRedisInstance`: keeps in touch with a server, and looks whether it is down. Whether it may be
    /// acted upon: not in TILT.
    fn attend_to(&mut self, cx: &mut Context<Locks>, kind: Kind, node: NodeId) -> bool {
        self.keep_in_touch(cx, kind, node);
        if self.is_tilted(cx) {
            return false;
        }
        self.look_whether_down(cx, kind, node);
        true
    }

    fn is_tilted(&mut self, cx: &Context<Locks>) -> bool {
        self.tilt = self.tilt.filter(|since| now(cx) - since < TILT_PERIOD);
        self.tilt.is_some()
    }

    fn instance(&mut self, kind: Kind, node: NodeId) -> Option<&mut Instance> {
        match kind {
            Kind::Primary => Some(&mut self.primary).filter(|primary| primary.node == node),
            Kind::Replica => self.replicas.get_mut(&node),
            Kind::Sentinel => self.others.get_mut(&node),
        }
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Instance> {
        std::iter::once(&mut self.primary).chain(self.replicas.values_mut()).chain(self.others.values_mut())
    }

    fn of_connection(&mut self, conn: ConnId) -> Option<&mut Instance> {
        self.all().find(|instance| instance.link.is_on(conn))
    }
}

impl Service<Locks> for Sentinel {
    fn on_start(&mut self, cx: &mut Context<Locks>) {
        *self = Self::new(self.settings.clone());
        self.id = cx.node;
        let now = now(cx);
        let written = cx.disk.records().iter().rev().find_map(|record| match record {
            Record::Sentinel(memory) => Some(memory.clone()),
            _ => None,
        });
        if let Some(memory) = written {
            self.memory = memory;
        }
        self.primary = Instance::new(Kind::Primary, self.memory.primary, now);
        for replica in self.memory.replicas.clone() {
            self.replicas.insert(replica, Instance::new(Kind::Replica, replica, now));
        }
        for other in self.settings.sentinels.iter().filter(|other| **other != cx.node) {
            self.others.insert(*other, Instance::new(Kind::Sentinel, *other, now));
        }
        self.last_tick = now;
        Self::await_tick(cx);
    }

    fn on_timer(&mut self, cx: &mut Context<Locks>, _: TimerId) {
        self.tick(cx);
        Self::await_tick(cx);
    }

    fn on_message(&mut self, cx: &mut Context<Locks>, from: Origin, message: Message) {
        let Message::Ask(ask) = message else { panic!("not for a Sentinel: {message:?}") };
        let answer = match ask {
            Ask::Ping => Answer::Pong,
            Ask::MasterAddr { name } => Answer::Addr((name == self.settings.name).then(|| self.current_primary())),
            Ask::CheckQuorum { name } if name == self.settings.name => self.quorum(),
            Ask::CheckQuorum { .. } => Answer::Addr(None),
            Ask::Subscribe => {
                self.subscribers.insert(from.conn);
                Answer::Ok
            }
            Ask::IsDown { primary, epoch, candidate } => self.is_down(cx, primary, epoch, candidate),
            Ask::Hello(hello) => {
                self.hear(cx, hello);
                Answer::Ok
            }
        };
        cx.reply(from, answer);
    }

    fn on_open(&mut self, cx: &mut Context<Locks>, conn: ConnId) {
        if let Some(instance) = self.of_connection(conn) {
            instance.link.opened(cx);
        }
    }

    fn on_close(&mut self, _: &mut Context<Locks>, conn: ConnId) {
        self.subscribers.remove(&conn);
        if let Some(instance) = self.of_connection(conn) {
            instance.link.lost();
        }
    }

    fn on_reply(&mut self, cx: &mut Context<Locks>, conn: ConnId, call: CallId, reply: Message) {
        let Some(instance) = self.of_connection(conn) else { return };
        instance.link.answered();
        let (kind, node) = (instance.kind, instance.node);
        match (call, reply) {
            (PING, _) => instance.link.heard_pong(now(cx)),
            (INFO, Message::RedisReply(crate::redis::Reply::Info(info))) => self.take_info(cx, kind, node, &info),
            (IS_DOWN, Message::Answer(Answer::Down { down, vote })) => instance.take_opinion(now(cx), down, vote),
            _ => {}
        }
    }
}

/// `mstime`: the wall clock.
fn now(cx: &Context<Locks>) -> i64 {
    cx.wall.millis()
}

const TICK: TimerId = TimerId(0);

/// What is asked, so that a reply finds its way back.
const PING: CallId = CallId::new(1);
const INFO: CallId = CallId::new(2);
const HELLO: CallId = CallId::new(3);
const IS_DOWN: CallId = CallId::new(4);
const REPLICA_OF: CallId = CallId::new(5);

/// `CONFIG_DEFAULT_HZ`, and up to as much more.
const LEAST_HZ: u64 = 10;
const MOST_HZ: u64 = 19;
/// `sentinel_ping_period`
const PING_PERIOD: i64 = 1_000;
/// `sentinel_info_period`
const INFO_PERIOD: i64 = 10_000;
/// `INFO` of replicas while their primary is down, a failover goes on, or their link to it is down.
const INFO_PERIOD_IN_TROUBLE: i64 = 1_000;
/// `sentinel_publish_period`
const PUBLISH_PERIOD: i64 = 2_000;
/// `sentinel_ask_period`
const ASK_PERIOD: i64 = 1_000;
/// `sentinel_election_timeout`
const ELECTION_TIMEOUT: i64 = 10_000;
/// `sentinel_slave_reconf_timeout`
const RECONF_TIMEOUT: i64 = 10_000;
/// `sentinel_tilt_trigger`
const TILT_TRIGGER: i64 = 2_000;
/// `sentinel_tilt_period`
const TILT_PERIOD: i64 = 30_000;
/// `SENTINEL_MAX_DESYNC`
const MAX_DESYNC: u64 = 1_000;
/// `SENTINEL_MIN_LINK_RECONNECT_PERIOD`
const MIN_LINK_RECONNECT_PERIOD: i64 = 15_000;
/// `SENTINEL_MAX_PENDING_COMMANDS`
const MAX_PENDING: u32 = 100;

#[cfg(test)]
mod tests;
