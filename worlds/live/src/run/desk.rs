//! The guarded resource: the model's state machine, stepped by the coordinator on the machine's clocks. It is ours in
//! every world, since it is what tells whether the lock did its work.

use std::collections::BTreeMap;

use host::{
    AttemptId, CallId, ConnId, Context, Deadline, Disk, Effect, MonoTime, NodeId, Origin, Service, SimTime, TimerId,
};
use models::domain::Record;
use models::resource::{Op, OpReply};
use models::{Locks, Message};
use spec::{Entry, Note};

use super::Coordinator;
use super::moments::Due;
use crate::line::Order;
use crate::now;

/// The resource and what it works on.
pub(crate) struct Desk {
    pub(super) node: NodeId,
    service: Box<dyn Service<Locks>>,
    disk: Disk<Record>,
    /// Whose call each is that was not answered: client, life, and the client's number for it.
    calls: BTreeMap<CallId, (NodeId, u32, u64)>,
    next_call: u32,
    timers: u32,
    syncs: u64,
}

impl Desk {
    pub(super) fn new(node: NodeId, service: Box<dyn Service<Locks>>) -> Self {
        let (disk, calls) = (Disk::default(), BTreeMap::new());
        Self { node, service, disk, calls, next_call: 0, timers: 0, syncs: 0 }
    }

    /// Whether something is to come of what it was asked.
    pub(super) const fn is_busy(&self) -> bool {
        self.timers > 0
    }

    pub(super) const fn syncs(&self) -> u64 {
        self.syncs
    }
}

impl Coordinator {
    /// A client asks the resource.
    pub(super) fn operate(&mut self, from: (NodeId, u32), call: u64, attempt: Option<AttemptId>, op: Op) {
        let number = CallId::new(self.desk.next_call);
        self.desk.next_call += 1;
        self.desk.calls.insert(number, (from.0, from.1, call));
        self.messages += 1;
        let conn = ConnId::new(u32::try_from(from.0.index()).unwrap_or(0));
        let origin = Origin { conn, call: number, operation: op.operation() };
        self.step(attempt, |desk, cx| desk.on_message(cx, origin, Message::from(op)));
    }

    /// A timer of the resource is due.
    pub(super) fn resource_timer(&mut self, timer: TimerId) {
        self.desk.timers -= 1;
        self.step(None, |desk, cx| desk.on_timer(cx, timer));
    }

    fn step(&mut self, attempt: Option<AttemptId>, act: impl FnOnce(&mut dyn Service<Locks>, &mut Context<Locks>)) {
        let mut cx = Context::at(self.desk.node, now::monotonic(), now::wall());
        cx.boot = now::boottime();
        cx.attempt = attempt;
        cx.disk = std::mem::take(&mut self.desk.disk);
        act(&mut *self.desk.service, &mut cx);
        self.desk.syncs = cx.disk.syncs();
        self.desk.disk = std::mem::take(&mut cx.disk);
        for effect in cx.effects {
            match effect {
                Effect::Note(note) => self.resource_notes(note),
                Effect::Reply(origin, message) => self.answer(origin, message),
                Effect::SetTimer(timer, Deadline::Mono(at)) => {
                    self.desk.timers += 1;
                    self.queue(self.when(at), Due::Resource(timer));
                }
                other => panic!("the resource does not do this: {other:?}"),
            }
        }
    }

    fn resource_notes(&mut self, note: Note) {
        let milestone = <Locks as host::Domain>::milestone(&note);
        self.notes.push(Entry { at: self.now(), node: self.desk.node, note });
        if let Some((attempt, point)) = milestone {
            self.reach(attempt.client(), point.0);
        }
    }

    /// The answer is written after all that was to strike before it.
    fn answer(&mut self, to: Origin, message: Message) {
        let Ok(reply) = OpReply::try_from(message) else { panic!("the resource answers with its own replies") };
        let Some((client, life, call)) = self.desk.calls.remove(&to.call) else { return };
        if self.nodes[client.index()].life == life {
            self.messages += 1;
            self.order(client, &Order::Answer { call, reply });
        }
    }

    /// When the monotonic clock reads that.
    pub(super) fn when(&self, at: MonoTime) -> SimTime {
        SimTime::from_nanos(at.as_nanos().saturating_sub(self.zero.as_nanos()))
    }
}
