//! The moments for which faults and cues wait.

use host::{Cue, Domain, Duration, NodeId, Point, SimTime};

use crate::core::Core;
use crate::event::Event;
use crate::plan::{Lasts, What, When};

/// A moment, and what happens then.
pub(crate) struct Trigger {
    when: When,
    action: Action,
    /// How often the moment has come, or the milestone been reached.
    seen: u32,
    spent: bool,
}

impl Trigger {
    /// As before the moment has come.
    pub(crate) const fn reset(&mut self) {
        (self.seen, self.spent) = (0, false);
    }
}

/// What happens when a moment comes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    /// That fault strikes.
    Strike(usize),
    /// Whatever is in force of that fault ends.
    End(usize),
    /// Whoever waits for that cue is woken.
    Cue(Cue),
}

impl<D: Domain> Core<D> {
    /// Arms a trigger for everything that is planned. Called once in each run, as it begins.
    pub(crate) fn arm_triggers(&mut self) {
        if self.faults.triggers.is_empty() {
            self.plan_triggers();
        }
        for (fault, state) in self.faults.plan.iter().enumerate() {
            if let What::Restore(_, as_of) = &state.what {
                self.queue.push(SimTime::ZERO + *as_of, Event::BackUp(fault));
            }
        }
        for trigger in 0..self.faults.triggers.len() {
            let Trigger { when, action, .. } = &self.faults.triggers[trigger];
            match when {
                When::Every { times: Some(0), .. } => {}
                When::At(at) | When::Every { at, .. } => {
                    self.queue_moment(trigger, *action, *at, None, is_endless(when));
                }
                When::Milestone { .. } => self.faults.awaited_milestones += 1,
                When::Step { .. } => self.faults.watches_steps = true,
            }
        }
    }

    fn plan_triggers(&mut self) {
        let triggers = &mut self.faults.triggers;
        let mut plan =
            |when: &When, action| triggers.push(Trigger { when: when.clone(), action, seen: 0, spent: false });
        for (fault, state) in self.faults.plan.iter().enumerate() {
            plan(&state.when, Action::Strike(fault));
            if let Lasts::Until(when) = &state.lasts {
                plan(when, Action::End(fault));
            }
        }
        for (cue, state) in self.cues.iter().enumerate() {
            let cue = Cue(u16::try_from(cue).expect("a plan has fewer than 65,536 cues"));
            plan(&state.when, Action::Cue(cue));
        }
    }

    /// Puts a moment into the queue. The run's end waits for it, unless it is a cue (its waiter is
    /// waited for anyway) or comes without end.
    fn queue_moment(&mut self, trigger: usize, action: Action, wait: Duration, reacher: Option<NodeId>, endless: bool) {
        let counted = !endless && !matches!(action, Action::Cue(_));
        self.faults.pending += u32::from(counted);
        self.queue.push(self.now + wait, Event::Moment { trigger, reacher, counted });
    }

    /// A planned moment has come.
    pub(crate) fn moment(&mut self, trigger: usize, reacher: Option<NodeId>, counted: bool) {
        self.faults.pending -= u32::from(counted);
        let state = &mut self.faults.triggers[trigger];
        state.seen += 1;
        let (action, seen) = (state.action, state.seen);
        if let When::Every { every, times, .. } = state.when
            && times.is_none_or(|times| seen < times)
        {
            self.queue_moment(trigger, action, every, None, times.is_none());
        }
        self.act(action, reacher);
    }

    /// A client reaches a milestone.
    pub(crate) fn reach(&mut self, client: NodeId, reached: Point) {
        for trigger in 0..self.faults.triggers.len() {
            let state = &mut self.faults.triggers[trigger];
            let When::Milestone { clients, point, nth, plus } = &state.when else { continue };
            if state.spent || *point != reached || !(clients.is_empty() || clients.contains(&client)) {
                continue;
            }
            state.seen += 1;
            state.spent = state.seen >= *nth;
            if state.spent {
                let (action, plus) = (state.action, *plus);
                self.faults.awaited_milestones -= 1;
                if plus.is_zero() {
                    self.act(action, Some(client));
                } else {
                    self.queue_moment(trigger, action, plus, Some(client), false);
                }
            }
        }
    }

    /// A node is about to take its next step.
    pub(crate) fn reach_step(&mut self, node: NodeId) {
        let next = self.node(node).steps + 1;
        for trigger in 0..self.faults.triggers.len() {
            let state = &mut self.faults.triggers[trigger];
            let When::Step { node: whose, nth } = state.when else { continue };
            if !state.spent && whose == node && nth == next {
                state.spent = true;
                let action = state.action;
                self.act(action, Some(node));
            }
        }
    }

    fn act(&mut self, action: Action, reacher: Option<NodeId>) {
        match action {
            Action::Strike(fault) => self.strike(fault, reacher),
            Action::End(fault) => self.end_all(fault),
            Action::Cue(cue) => {
                let now = self.now;
                let state = &mut self.cues[usize::from(cue.0)];
                state.come.get_or_insert(now);
                let waiters = std::mem::take(&mut state.waiters);
                self.tasks.wake_all(waiters);
            }
        }
    }
}

const fn is_endless(when: &When) -> bool {
    matches!(when, When::Every { times: None, .. })
}
