//! Several services that talk to each other, stepped without a kernel: for tests.
//!
//! Every message takes a millisecond. Clocks run true, but wall clocks may be set apart. A service may stand still, die
//! and start again, or be cut off. What machines find out about connections that are cut is what keepalive does to idle ones.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use host::{
    AttemptId, CallId, ConnId, Context, Deadline, Disk, Duration, Effect, KeepAlive, MonoTime, NodeId, Operation,
    Origin, Service, TimerId, WallTime, Words,
};
use spec::Note;

use crate::domain::{Locks, Message, Nudge, Record};

/// How a service is made, at the start and after each death.
pub(crate) type Make = Box<dyn Fn() -> Box<dyn Service<Locks>>>;

/// A service, or the tester, who is the last node.
struct Member {
    make: Option<Make>,
    service: Option<Box<dyn Service<Locks>>>,
    disk: Disk<Record>,
    ahead: i64,
    paused: bool,
    held: Vec<What>,
}

struct Line {
    ends: [usize; 2],
    open: [bool; 2],
    /// When something last came over it, either way.
    used: u64,
}

enum What {
    Timer(TimerId, u64),
    /// The machine asks whether the other side of the line is there; how often it has in vain.
    Ask(usize, KeepAlive, u16),
    Connect(usize),
    Accept(usize),
    Gone(usize),
    Request(usize, CallId, Operation, Option<AttemptId>, Message),
    Reply(usize, CallId, Message),
    Push(usize, Message),
}

pub(crate) struct Rig {
    members: Vec<Member>,
    now: u64,
    queue: BTreeMap<(u64, u64), (usize, What)>,
    serial: u64,
    lines: Vec<Line>,
    timers: BTreeMap<(usize, TimerId), (Deadline, u64)>,
    cuts: BTreeSet<(usize, usize)>,
    words: Rc<Lots>,
    pub(crate) notes: Vec<(u64, NodeId, Note)>,
    pub(crate) leader: Option<usize>,
    /// What has come back to the tester, with the millisecond in which it did.
    pub(crate) replies: Vec<(u64, usize, Message)>,
    pub(crate) pushes: Vec<(u64, usize, Message)>,
    asking: Option<AttemptId>,
}

/// Words, one after another, of a small generator.
struct Lots(Cell<u64>);

impl Words for Lots {
    fn word(&self, _: NodeId) -> u64 {
        // SplitMix64.
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut word = self.0.get();
        word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ word >> 31
    }
}

const MS: u64 = 1_000_000;
const WALL: i64 = 1_700_000_000_000;

impl Rig {
    pub(crate) fn new(seed: u64, services: Vec<Make>) -> Self {
        let new = |make| Member { make, service: None, disk: Disk::default(), ahead: 0, paused: false, held: vec![] };
        let count = services.len();
        let mut rig = Self {
            members: services.into_iter().map(Some).chain([None]).map(new).collect(),
            now: 0,
            queue: BTreeMap::new(),
            serial: 0,
            lines: Vec::new(),
            timers: BTreeMap::new(),
            cuts: BTreeSet::new(),
            words: Rc::new(Lots(Cell::new(seed))),
            notes: Vec::new(),
            leader: None,
            replies: Vec::new(),
            pushes: Vec::new(),
            asking: None,
        };
        for node in 0..count {
            rig.start(node);
        }
        rig
    }

    pub(crate) fn ms(&self) -> u64 {
        self.now / MS
    }

    /// Sets a wall clock ahead, or back.
    pub(crate) fn step_wall(&mut self, node: usize, by: i64) {
        self.members[node].ahead += by;
        let again: Vec<_> =
            self.timers.iter().filter(|((of, _), _)| *of == node).map(|((_, id), (at, _))| (*id, *at)).collect();
        for (id, at) in again {
            self.set_timer(node, id, at);
        }
    }

    pub(crate) fn pause(&mut self, node: usize) {
        self.members[node].paused = true;
    }

    pub(crate) fn resume(&mut self, node: usize) {
        self.members[node].paused = false;
        let held = std::mem::take(&mut self.members[node].held);
        let (timers, others): (Vec<_>, Vec<_>) = held.into_iter().partition(|what| matches!(what, What::Timer(..)));
        for what in others.into_iter().chain(timers) {
            self.happen(node, what);
        }
    }

    pub(crate) fn kill(&mut self, node: usize) {
        self.members[node].service = None;
        self.members[node].held.clear();
        self.timers.retain(|(of, _), _| *of != node);
        for line in 0..self.lines.len() {
            for side in 0..2 {
                if self.lines[line].ends[side] == node && std::mem::take(&mut self.lines[line].open[side]) {
                    self.send(node, self.lines[line].ends[1 - side], What::Gone(line));
                }
            }
        }
    }

    /// The process is asked to end, and does.
    pub(crate) fn stop(&mut self, node: usize) {
        self.step(node, None, |service, cx| service.on_stop(cx));
        self.kill(node);
    }

    pub(crate) fn start(&mut self, node: usize) {
        let service = self.members[node].make.as_ref().map(|make| make());
        self.members[node].service = service;
        self.step(node, None, |service, cx| service.on_start(cx));
    }

    pub(crate) fn nudge(&mut self, node: usize, nudge: Nudge) {
        self.step(node, None, |service, cx| service.on_nudge(cx, nudge));
    }

    /// Nothing passes between these two any more, either way.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        self.cuts.extend([(one, other), (other, one)]);
    }

    pub(crate) fn heal(&mut self) {
        self.cuts.clear();
    }

    pub(crate) const fn tester(&self) -> usize {
        self.members.len() - 1
    }

    /// From here on, that attempt is asking.
    pub(crate) const fn as_attempt(&mut self, attempt: Option<AttemptId>) {
        self.asking = attempt;
    }

    /// The tester opens a connection.
    pub(crate) fn line(&mut self, node: usize) -> usize {
        self.lines.push(Line { ends: [self.tester(), node], open: [true, true], used: self.now });
        self.lines.len() - 1
    }

    /// The tester closes a connection.
    pub(crate) fn hang_up(&mut self, line: usize) {
        self.lines[line].open[0] = false;
        self.send(self.tester(), self.lines[line].ends[1], What::Gone(line));
    }

    pub(crate) fn is_open(&self, line: usize) -> bool {
        self.lines[line].open[0]
    }

    /// The tester sends something.
    pub(crate) fn tell(&mut self, line: usize, message: impl Into<Message>) {
        let message = message.into();
        let operation = <Locks as host::Domain>::operation(&message);
        let what = What::Request(line, CallId::new(0), operation, self.asking, message);
        self.send(self.tester(), self.lines[line].ends[1], what);
    }

    /// The tester asks, and waits a little for the answer.
    pub(crate) fn ask(&mut self, line: usize, message: impl Into<Message>) -> Option<Message> {
        let before = self.replies.len();
        self.tell(line, message);
        self.run(3);
        self.replies[before..].iter().find(|(_, on, _)| *on == line).map(|(_, _, reply)| reply.clone())
    }

    /// Time passes: so many ms.
    pub(crate) fn run(&mut self, ms: u64) {
        let until = self.now + ms * MS;
        while let Some((&(at, serial), _)) = self.queue.first_key_value().filter(|((at, _), _)| *at <= until) {
            let (node, what) = self.queue.remove(&(at, serial)).expect("it is the first");
            self.now = at;
            if self.members[node].paused && !matches!(what, What::Connect(_) | What::Ask(..)) {
                self.members[node].held.push(what);
            } else {
                self.happen(node, what);
            }
        }
        self.now = until;
    }

    /// Time passes until something holds, in steps of 10 ms; the millisecond in which it did.
    pub(crate) fn run_until(&mut self, most: u64, holds: impl Fn(&mut Self) -> bool) -> Option<u64> {
        for _ in 0..most / 10 {
            if holds(self) {
                return Some(self.ms());
            }
            self.run(10);
        }
        None
    }

    fn happen(&mut self, node: usize, what: What) {
        let alive = self.members[node].service.is_some() || node == self.tester();
        if let What::Accept(line) | What::Request(line, ..) | What::Reply(line, ..) | What::Push(line, _) = what {
            self.lines[line].used = self.now;
        }
        match what {
            What::Timer(id, serial) => {
                if self.timers.get(&(node, id)).is_some_and(|(_, current)| *current == serial) {
                    self.timers.remove(&(node, id));
                    self.step(node, None, |service, cx| service.on_timer(cx, id));
                }
            }
            What::Ask(line, how, asked) => self.keep_alive(node, line, how, asked),
            What::Connect(line) => {
                self.lines[line].open[1] = alive;
                let answer = if alive { What::Accept(line) } else { What::Gone(line) };
                self.send(node, self.lines[line].ends[0], answer);
            }
            What::Accept(line) if alive => {
                self.lines[line].open[0] = true;
                self.step(node, None, |service, cx| service.on_open(cx, conn(line)));
            }
            What::Gone(line) => {
                let side = usize::from(self.lines[line].ends[1] == node);
                self.lines[line].open[side] = false;
                self.step(node, None, |service, cx| service.on_close(cx, conn(line)));
            }
            What::Request(line, call, operation, attempt, message) if alive && self.lines[line].open[1] => {
                let from = Origin { conn: conn(line), call, operation };
                self.step(node, attempt, |service, cx| service.on_message(cx, from, message));
            }
            What::Reply(line, ..) | What::Push(line, _) if !alive || !self.lines[line].open[0] => {}
            What::Reply(line, _, message) if node == self.tester() => {
                self.replies.push((self.now / MS, line, message));
            }
            What::Push(line, message) if node == self.tester() => self.pushes.push((self.now / MS, line, message)),
            What::Reply(line, call, message) => {
                self.step(node, None, |service, cx| service.on_reply(cx, conn(line), call, message));
            }
            What::Push(line, message) => {
                self.step(node, None, |service, cx| service.on_push(cx, conn(line), message));
            }
            What::Accept(_) | What::Request(..) => {}
        }
    }

    fn step(
        &mut self,
        node: usize,
        attempt: Option<AttemptId>,
        react: impl FnOnce(&mut dyn Service<Locks>, &mut Context<Locks>),
    ) {
        let Some(mut service) = self.members[node].service.take() else { return };
        let mut cx = Context::at(
            NodeId::new(u16::try_from(node).expect("few")),
            MonoTime::from_nanos(self.now + 1_000 * MS),
            WallTime::from_millis(self.wall(node)),
        );
        cx.attempt = attempt;
        cx.words = self.words.clone();
        cx.next_conn = u32::try_from(self.lines.len()).expect("few");
        cx.disk = std::mem::take(&mut self.members[node].disk);
        react(&mut *service, &mut cx);
        self.members[node].service = Some(service);
        self.members[node].disk = cx.disk;
        for effect in cx.effects {
            self.effect(node, effect);
        }
    }

    fn effect(&mut self, node: usize, effect: Effect<Message, Note>) {
        match effect {
            Effect::Reply(to, message) => {
                let line = to.conn.index();
                self.send(node, self.lines[line].ends[0], What::Reply(line, to.call, message));
            }
            Effect::Push(to, message) => {
                let line = to.index();
                self.send(node, self.lines[line].ends[0], What::Push(line, message));
            }
            Effect::Connect(id, to) => {
                assert_eq!(id.index(), self.lines.len());
                self.lines.push(Line { ends: [node, to.index()], open: [false, false], used: self.now });
                self.send(node, to.index(), What::Connect(id.index()));
            }
            Effect::Request(on, call, attempt, message) => {
                let line = on.index();
                if self.lines[line].open[0] {
                    let operation = <Locks as host::Domain>::operation(&message);
                    let what = What::Request(line, call, operation, attempt, message);
                    self.send(node, self.lines[line].ends[1], what);
                }
            }
            Effect::Close(of) => {
                let line = of.index();
                let side = usize::from(self.lines[line].ends[1] == node);
                self.lines[line].open[side] = false;
                self.send(node, self.lines[line].ends[1 - side], What::Gone(line));
            }
            Effect::KeepAlive(of, how) => self.keep_alive(node, of.index(), how, 0),
            Effect::Lead(true) => self.leader = Some(node),
            Effect::Lead(false) => self.leader = self.leader.filter(|leader| *leader != node),
            Effect::SetTimer(id, at) => self.set_timer(node, id, at),
            Effect::CancelTimer(id) => _ = self.timers.remove(&(node, id)),
            Effect::Note(note) => {
                self.notes.push((self.now / MS, NodeId::new(u16::try_from(node).expect("few")), note));
            }
        }
    }

    /// The node's machine asks whether the other side of a line is there, or finds that it need not yet.
    fn keep_alive(&mut self, node: usize, line: usize, how: KeepAlive, asked: u16) {
        let Line { ends, open, used } = self.lines[line];
        let side = usize::from(ends[1] == node);
        if !open[side] {
            return;
        }
        let due = used + host::nanos(how.idle);
        let (one, other) = (ends[side], ends[1 - side]);
        let is_cut = self.cuts.contains(&(one, other)) || self.cuts.contains(&(other, one));
        let (at, what) = if due > self.now {
            (due, What::Ask(line, how, 0))
        } else if asked > 0 && asked >= how.count {
            (self.now, What::Gone(line))
        } else if is_cut {
            (self.now + host::nanos(how.interval), What::Ask(line, how, asked + 1))
        } else {
            (self.now + host::nanos(how.idle), What::Ask(line, how, 0))
        };
        self.serial += 1;
        self.queue.insert((at, self.serial), (node, what));
    }

    fn wall(&self, node: usize) -> i64 {
        WALL + i64::try_from(self.now / MS).expect("short") + self.members[node].ahead
    }

    fn set_timer(&mut self, node: usize, id: TimerId, at: Deadline) {
        let due = match at {
            Deadline::Mono(at) | Deadline::Boot(at) => at.as_nanos() - 1_000 * MS,
            Deadline::Wall(at) => self.now + u64::try_from(at.millis() - self.wall(node)).unwrap_or(0) * MS,
        };
        self.serial += 1;
        self.timers.insert((node, id), (at, self.serial));
        self.queue.insert((due.max(self.now), self.serial), (node, What::Timer(id, self.serial)));
    }

    fn send(&mut self, from: usize, to: usize, what: What) {
        if !self.cuts.contains(&(from, to)) {
            self.serial += 1;
            self.queue.insert((self.now + MS, self.serial), (to, what));
        }
    }
}

fn conn(line: usize) -> ConnId {
    ConnId::new(u32::try_from(line).expect("few"))
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}
