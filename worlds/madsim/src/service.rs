//! Services, stepped inside madsim tasks: one task attends to what comes in, the other keeps the timers.

use std::cell::RefCell;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use host::{AttemptId, ConnId, Context, Deadline, Effect, NodeId, Origin, Part, Service, SimTime, TimerId};
use models::{Locks, Message, Nudge};
use spec::Note;

use crate::process::give_way;
use crate::wire::{Frame, FrameKind, Side};
use crate::world::{Scope, World};

/// The task that attends to what comes in.
pub(crate) const ATTENDS: Scope = Scope { attempt: None, part: Part::REQUESTS };
/// The task that keeps the timers; a stall of the other does not touch it.
pub(crate) const TIMERS: Scope = Scope { attempt: None, part: Part("timers") };

/// What a service is to attend to.
pub(crate) enum Item {
    Request { from: Origin, attempt: Option<AttemptId>, message: Message },
    Closed(ConnId),
    Nudge(Nudge),
}

/// A service in one life of its process.
pub(crate) struct Serving {
    world: Rc<World>,
    node: NodeId,
    life: u32,
    service: RefCell<Box<dyn Service<Locks>>>,
}

impl World {
    pub(crate) fn service(self: &Rc<Self>, node: NodeId, life: u32, service: Box<dyn Service<Locks>>) -> Rc<Serving> {
        Rc::new(Serving { world: Rc::clone(self), node, life, service: RefCell::new(service) })
    }

    /// Gives a service something to attend to.
    pub(crate) fn hand_in(&self, node: NodeId, item: Item) {
        let mut state = self.state_mut();
        let node = state.node_mut(node);
        node.inbox.push_back(item);
        if let Some(waiter) = node.inbox_waiter.take() {
            waiter.wake();
        }
    }
}

impl Serving {
    pub(crate) async fn attends(self: Rc<Self>) {
        self.step(None, |service, cx| service.on_start(cx));
        loop {
            // Its own step may have made it stand still.
            give_way().await;
            match self.next_item().await {
                Item::Request { from, attempt, message } => {
                    self.step(attempt, |service, cx| service.on_message(cx, from, message));
                }
                Item::Closed(conn) => self.step(None, |service, cx| service.on_close(cx, conn)),
                Item::Nudge(nudge) => self.step(None, |service, cx| service.on_nudge(cx, nudge)),
            }
        }
    }

    async fn next_item(&self) -> Item {
        poll_fn(|cx| {
            let mut state = self.world.state_mut();
            let node = state.node_mut(self.node);
            match node.inbox.pop_front() {
                Some(item) => {
                    state.step(self.node);
                    Poll::Ready(item)
                }
                None => {
                    node.inbox_waiter = Some(cx.waker().clone());
                    Poll::Pending
                }
            }
        })
        .await
    }

    pub(crate) async fn keeps_time(self: Rc<Self>) {
        loop {
            let due = self.next_due();
            if let Some((timer, at)) = due
                && at <= self.world.now()
            {
                self.world.state_mut().node_mut(self.node).timers.remove(&timer);
                self.step(None, |service, cx| service.on_timer(cx, timer));
                give_way().await;
                continue;
            }
            let wait = due.map(|(_, at)| at.since(self.world.now()));
            let comes_due = async {
                match wait {
                    Some(wait) => self.world.sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            host::first(self.timers_change(due), comes_due).await;
        }
    }

    /// The timer that is due first.
    fn next_due(&self) -> Option<(TimerId, SimTime)> {
        let state = self.world.state();
        let timers = state.node(self.node).timers.iter();
        timers.min_by_key(|(timer, at)| (**at, **timer)).map(|(timer, at)| (*timer, *at))
    }

    async fn timers_change(&self, from: Option<(TimerId, SimTime)>) {
        poll_fn(|cx| {
            if self.next_due() != from {
                return Poll::Ready(());
            }
            self.world.state_mut().node_mut(self.node).timers_waiter = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
    }

    /// One step: the service reacts, and then its effects happen, as long as it lives.
    fn step(&self, attempt: Option<AttemptId>, react: impl FnOnce(&mut dyn Service<Locks>, &mut Context<Locks>)) {
        let (world, node) = (&self.world, self.node);
        let (mono, wall) = (world.monotonic(), world.wall(node));
        let (disk, shortages) = {
            let mut state = world.state_mut();
            if !state.may_act(node, self.life) {
                return;
            }
            (std::mem::take(&mut state.node_mut(node).disk), state.node(node).shortages)
        };
        let mut cx = Context { disk, shortages, attempt, ..Context::at(node, mono, wall) };
        let (synced, was_aside) = (cx.disk.syncs(), cx.disk.is_syncing_aside());
        react(self.service.borrow_mut().as_mut(), &mut cx);
        let has_synced = cx.disk.syncs() > synced;
        let begins_aside = cx.disk.is_syncing_aside() && !was_aside;
        world.state_mut().node_mut(node).disk = cx.disk;
        if has_synced {
            world.wait_for_disk(node);
        }
        if begins_aside {
            world.sync_aside(node);
        }
        for effect in cx.effects {
            // An effect may be a milestone at which the service is killed: the rest never happens.
            if world.state_mut().may_act(node, self.life) {
                self.effect(attempt, effect);
            }
        }
    }

    fn effect(&self, attempt: Option<AttemptId>, effect: Effect<Message, Note>) {
        let (world, node) = (&self.world, self.node);
        match effect {
            Effect::Reply(to, message) => {
                let frame = Frame::bare(to.conn.index(), Side::Server, FrameKind::Reply, attempt);
                world.send(frame.with(message, to.operation, Some(to.call)));
            }
            Effect::Push(conn, message) => {
                let operation = <Locks as host::Domain>::operation(&message);
                let frame = Frame::bare(conn.index(), Side::Server, FrameKind::Push, attempt);
                world.send(frame.with(message, operation, None));
            }
            Effect::SetTimer(timer, at) => {
                let at = match at {
                    Deadline::Mono(at) | Deadline::Boot(at) => World::when_monotonic(at),
                    Deadline::Wall(at) => world.when_wall(node, at),
                };
                self.change_timers(|timers| _ = timers.insert(timer, at));
            }
            Effect::CancelTimer(timer) => self.change_timers(|timers| _ = timers.remove(&timer)),
            Effect::Note(note) => world.note(node, note),
            // Without faults that this world refuses, the other side is there, or has said that it is gone.
            Effect::KeepAlive(..) => {}
            // No fault asks for it: a world whose services talk to each other is refused.
            Effect::Lead(_) => {}
            Effect::Connect(..) | Effect::Request(..) | Effect::Close(_) => {
                unreachable!("a world whose services open connections is refused")
            }
        }
    }

    fn change_timers(&self, change: impl FnOnce(&mut std::collections::BTreeMap<TimerId, SimTime>)) {
        let mut state = self.world.state_mut();
        let node = state.node_mut(self.node);
        change(&mut node.timers);
        if let Some(waiter) = node.timers_waiter.take() {
            waiter.wake();
        }
    }
}
