//! Processes: how they start, stand still, die and start again, as madsim nodes.
//!
//! madsim pauses and kills *nodes*. So every part of a process that may hang by itself is a madsim node of its
//! own: a client's worker and its renewal, the thread of a service that serves requests and the one with its
//! timers. A process stands still when all its nodes are paused, hangs in part when one is, and dies when all
//! are killed; the next life gets new ones. The machine's network card is another madsim node, since it works
//! on while the process does not.

use std::future::Future;
use std::rc::Rc;

use host::{Duration, NodeId, Part, Point};
use madsim::runtime::NodeHandle;
use madsim::task::JoinHandle;
use send_wrapper::SendWrapper;

use crate::kernel::Program;
use crate::process::MadHost;
use crate::service::{ATTENDS, TIMERS};
use crate::wire::FrameKind;
use crate::world::{Scope, Scoped, World};

impl World {
    /// Starts a process: calls its factory, and lets it begin.
    pub(crate) fn start(self: &Rc<Self>, node: NodeId) {
        let (program, life) = {
            let state = self.state();
            (Rc::clone(&state.node(node).program), state.node(node).life)
        };
        match &*program {
            Program::Client(factory) => {
                let (world, future) = (Rc::clone(self), factory(MadHost { world: Rc::clone(self), node, life }));
                let client = async move {
                    future.await;
                    world.state_mut().client_finished(node);
                };
                drop(self.spawn(node, Scope { attempt: None, part: Part::WORKER }, client));
            }
            Program::Service { factory, .. } => {
                let service = self.service(node, life, factory());
                drop(self.spawn(node, ATTENDS, Rc::clone(&service).attends()));
                drop(self.spawn(node, TIMERS, service.keeps_time()));
            }
        }
    }

    /// Starts a task of a process, on the madsim node of its part.
    pub(crate) fn spawn(
        self: &Rc<Self>,
        node: NodeId,
        scope: Scope,
        future: impl Future<Output = ()> + 'static,
    ) -> JoinHandle<()> {
        self.part(node, scope.part).spawn(SendWrapper::new(Scoped::new(self, scope.attempt, Some(scope.part), future)))
    }

    fn part(&self, node: NodeId, part: Part) -> NodeHandle {
        let known =
            self.state().node(node).parts.iter().find(|(name, _)| *name == part).map(|(_, known)| known.clone());
        known.unwrap_or_else(|| {
            let new = self.runtime.create_node().build();
            let mut state = self.state_mut();
            let node = state.node_mut(node);
            node.parts.push((part, new.clone()));
            if node.holds_up(part) {
                self.runtime.pause(new.id());
            }
            new
        })
    }

    /// A program passes a named point. Whether it must stop there: it stands still, hangs or is dead.
    pub(crate) fn pass_point(self: &Rc<Self>, node: NodeId, life: u32, point: Point) -> bool {
        let part = self.scope().part;
        {
            let mut state = self.state_mut();
            if !state.may_act(node, life) {
                return true;
            }
            state.step(node);
        }
        self.reach(node, point);
        let state = self.state();
        !state.is_life(node, life) || state.node(node).holds_up(part)
    }

    /// The process dies. It is marked dead first: madsim runs the `Drop` code of its futures in the crash.
    /// Whether there was a life to end.
    pub(crate) fn kill(self: &Rc<Self>, node: NodeId) -> bool {
        let now = self.now();
        let parts = {
            let mut state = self.state_mut();
            let dying = state.node_mut(node);
            if !dying.alive {
                return false;
            }
            dying.alive = false;
            dying.life += 1;
            dying.paused = 0;
            dying.stalled.clear();
            dying.timers.clear();
            let unsent = std::mem::take(&mut dying.outbox);
            dying.inbox.clear();
            let parts = std::mem::take(&mut dying.parts);
            for (_, frame) in unsent {
                state.wires.is_through(frame.number);
            }
            state.client_finished(node);
            state.record_activity(node, now);
            state.happened();
            parts
        };
        for (_, part) in parts {
            self.runtime.kill(part.id());
        }
        true
    }

    /// The machine of a process that died says so to all who had a connection with it.
    pub(crate) fn reset_connections_of(self: &Rc<Self>, node: NodeId) {
        let ends = self.state_mut().wires.close_ends_of(node);
        for (conn, side) in ends {
            self.send_from_machine(conn, side, FrameKind::Reset);
        }
    }

    /// A dead process starts again, from what its disk holds, if nothing keeps it from living.
    pub(crate) fn revive(self: &Rc<Self>, node: NodeId) {
        let now = self.now();
        {
            let mut state = self.state_mut();
            let revived = state.node_mut(node);
            if revived.alive || revived.down > 0 {
                return;
            }
            revived.alive = true;
            if matches!(*revived.program, Program::Client(_)) {
                revived.unfinished = true;
                state.unfinished_clients += 1;
            }
            state.record_activity(node, now);
        }
        self.start(node);
    }
}

/// Standing still.
impl World {
    /// A process begins or ceases to stand still, for one reason.
    pub(crate) fn change_paused(self: &Rc<Self>, node: NodeId, begins: bool) {
        {
            let mut state = self.state_mut();
            let node = state.node_mut(node);
            node.paused = if begins { node.paused + 1 } else { node.paused - 1 };
        }
        self.follow_standing(node);
    }

    /// One part of a process hangs.
    pub(crate) fn begin_stall(self: &Rc<Self>, node: NodeId, part: Part) {
        self.state_mut().node_mut(node).stalled.push(part);
        self.follow_standing(node);
    }

    /// One part of a process no longer hangs, unless another reason says so too.
    pub(crate) fn end_stall(self: &Rc<Self>, node: NodeId, part: Part) {
        {
            let mut state = self.state_mut();
            let stalled = &mut state.node_mut(node).stalled;
            let place = stalled.iter().position(|other| *other == part).expect("the stall that ends had begun");
            stalled.remove(place);
        }
        self.follow_standing(node);
    }

    /// A service has synced its disk: if that is slow, the part that attends to requests waits for it.
    pub(crate) fn wait_for_disk(self: &Rc<Self>, node: NodeId) {
        let wait = self.time_to_sync(node);
        let life = self.state().node(node).life;
        if !wait.is_zero() {
            self.begin_stall(node, Part::REQUESTS);
            self.later(wait, move |world| {
                let lives = world.state().is_life(node, life);
                if lives {
                    world.end_stall(node, Part::REQUESTS);
                }
            });
        }
    }

    /// A service has begun to sync its disk beside its requests, which do not wait.
    pub(crate) fn sync_aside(self: &Rc<Self>, node: NodeId) {
        let end = move |world: &Rc<Self>| world.state_mut().node_mut(node).disk.end_sync_aside();
        match self.time_to_sync(node) {
            wait if wait.is_zero() => end(self),
            wait => self.later(wait, move |world| end(world)),
        }
    }

    /// How long a sync takes that begins now.
    fn time_to_sync(&self, node: NodeId) -> Duration {
        let mut state = self.state_mut();
        let slow = state.node(node).slow_disk.clone();
        slow.iter().map(|(strike, by)| state.meet(*strike, by)).sum()
    }

    /// A process, or a part of it, begins or ceases to stand still: its madsim nodes follow.
    fn follow_standing(self: &Rc<Self>, node: NodeId) {
        let now = self.now();
        let go = {
            let mut state = self.state_mut();
            state.record_activity(node, now);
            let node = state.node_mut(node);
            for (part, madsim) in &node.parts {
                if node.paused > 0 || node.stalled.contains(part) {
                    self.runtime.pause(madsim.id());
                } else {
                    self.runtime.resume(madsim.id());
                }
            }
            let (still, go) = std::mem::take(&mut node.outbox).into_iter().partition(|(part, _)| node.holds_up(*part));
            node.outbox = still;
            go
        };
        for (_, frame) in go {
            self.leave(frame);
        }
    }
}
