//! The moments for which faults and cues wait: instants slept for by the supervisor, milestones counted as
//! they are passed.

use std::rc::Rc;

use host::{Cue, Duration, NodeId, Point};
use sim::{Lasts, When};

use crate::world::World;

/// A milestone that is waited for.
pub(crate) struct Trigger {
    clients: Vec<NodeId>,
    point: Point,
    nth: u32,
    plus: Duration,
    action: Action,
    seen: u32,
}

/// What happens when a moment comes.
#[derive(Clone, Copy)]
enum Action {
    Strike(usize),
    End(usize),
    Cue(Cue),
}

impl World {
    /// Waits for everything that is planned. Called once, as the run begins.
    pub(crate) fn arm(self: &Rc<Self>, cues: Vec<When>) {
        let faults = self.state().faults.all();
        for (index, fault) in faults.iter().enumerate() {
            self.arm_one(&fault.when, Action::Strike(index));
            if let Lasts::Until(when) = &fault.lasts {
                self.arm_one(when, Action::End(index));
            }
        }
        for (cue, when) in cues.iter().enumerate() {
            self.state_mut().cues.push(Default::default());
            self.arm_one(when, Action::Cue(Cue(u16::try_from(cue).expect("a plan has fewer than 65,536 cues"))));
        }
    }

    fn arm_one(self: &Rc<Self>, when: &When, action: Action) {
        match when {
            When::At(at) => self.act_after(*at, action, None),
            When::Every { at, every, times } => self.act_again(*at, *every, *times, action),
            When::Milestone { clients, point, nth, plus } => {
                let (clients, point, nth, plus) = (clients.clone(), *point, *nth, *plus);
                self.state_mut().faults.triggers.push(Trigger { clients, point, nth, plus, action, seen: 0 });
            }
            When::Step { .. } => unreachable!("refused: madsim does not count steps"),
        }
    }

    fn act_after(self: &Rc<Self>, wait: Duration, action: Action, reacher: Option<NodeId>) {
        // A cue's waiter is waited for anyway.
        let counted = !matches!(action, Action::Cue(_));
        self.state_mut().faults.pending += u32::from(counted);
        self.later(wait, move |world| {
            world.state_mut().faults.pending -= u32::from(counted);
            world.act(action, reacher);
            world.state_mut().happened();
        });
    }

    /// Acts after `wait`, and then after each `every`, so many times.
    fn act_again(self: &Rc<Self>, wait: Duration, every: Duration, times: Option<u32>, action: Action) {
        if times == Some(0) {
            return;
        }
        // The run's end does not wait for what has none.
        let counted = times.is_some();
        self.state_mut().faults.pending += u32::from(counted);
        self.later(wait, move |world| {
            world.state_mut().faults.pending -= u32::from(counted);
            world.act_again(every, every, times.map(|times| times - 1), action);
            world.act(action, None);
            world.state_mut().happened();
        });
    }

    /// A client reaches a milestone.
    pub(crate) fn reach(self: &Rc<Self>, client: NodeId, reached: Point) {
        let mut reached_now = Vec::new();
        for trigger in &mut self.state_mut().faults.triggers {
            if trigger.point == reached && (trigger.clients.is_empty() || trigger.clients.contains(&client)) {
                trigger.seen += 1;
                if trigger.seen == trigger.nth {
                    reached_now.push((trigger.plus, trigger.action));
                }
            }
        }
        for (plus, action) in reached_now {
            if plus.is_zero() {
                self.act(action, Some(client));
            } else {
                self.act_after(plus, action, Some(client));
            }
        }
    }

    fn act(self: &Rc<Self>, action: Action, reacher: Option<NodeId>) {
        match action {
            Action::Strike(fault) => self.strike(fault, reacher),
            Action::End(fault) => {
                let strikes = self.state().faults.strikes.len();
                for strike in 0..strikes {
                    if self.state().faults.strikes[strike].fault == fault {
                        self.end(strike);
                    }
                }
            }
            Action::Cue(cue) => self.come(cue),
        }
    }
}
