//! The moments for which faults and cues wait: instants, and milestones counted as clients come to them.

use host::{Cue, Duration, NodeId, SimTime, TimerId};
use sim::{Lasts, When};

use super::Coordinator;
use crate::line::Order;

/// A milestone that is waited for.
pub(crate) struct Trigger {
    clients: Vec<NodeId>,
    pub(crate) point: &'static str,
    nth: u32,
    plus: Duration,
    action: Action,
    seen: u32,
}

/// What happens when a moment comes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Strike(usize),
    End(usize),
    Cue(Cue),
}

/// What is due at some instant.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due {
    /// A moment, and those that follow it.
    Moment { action: Action, reacher: Option<NodeId>, counted: bool, again: Option<Again> },
    /// A strike's time is over.
    Over(usize),
    /// A throttled process is to stop, or to run again.
    Throttle { strike: usize, stop: bool },
    /// The guarded resource has a timer.
    Resource(TimerId),
}

/// A moment comes again after so long, so many times; `None`: without end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Again {
    every: Duration,
    times: Option<u32>,
}

impl Coordinator {
    /// Waits for everything that is planned. Called once, before the run begins.
    pub(super) fn arm(&mut self, cues: &[When]) {
        for index in 0..self.faults.len() {
            let (when, lasts) = (self.faults[index].when.clone(), self.faults[index].lasts.clone());
            self.arm_one(&when, Action::Strike(index));
            if let Lasts::Until(when) = lasts {
                self.arm_one(&when, Action::End(index));
            }
        }
        for (cue, when) in (0..).zip(cues) {
            self.arm_one(when, Action::Cue(Cue(cue)));
        }
    }

    fn arm_one(&mut self, when: &When, action: Action) {
        // A cue's waiter is waited for anyway.
        let counted = !matches!(action, Action::Cue(_));
        match when {
            When::At(at) => self.queue_moment(SimTime::ZERO + *at, action, None, counted, None),
            When::Every { times: Some(0), .. } => {}
            When::Every { at, every, times } => {
                let again = Again { every: *every, times: times.map(|times| times - 1) };
                self.queue_moment(SimTime::ZERO + *at, action, None, counted && times.is_some(), Some(again));
            }
            When::Milestone { clients, point, nth, plus } => {
                let (clients, point, nth, plus) = (clients.clone(), point.0, *nth, *plus);
                self.triggers.push(Trigger { clients, point, nth, plus, action, seen: 0 });
            }
            When::Step { .. } => unreachable!("refused: nobody counts the steps of a real process"),
        }
    }

    fn queue_moment(
        &mut self,
        at: SimTime,
        action: Action,
        reacher: Option<NodeId>,
        counted: bool,
        again: Option<Again>,
    ) {
        self.pending += u32::from(counted);
        self.queue(at, Due::Moment { action, reacher, counted, again });
    }

    /// Something is due then.
    pub(super) fn queue(&mut self, at: SimTime, due: Due) {
        self.queued += 1;
        self.timers.insert((at, self.queued), due);
    }

    /// Does what is due.
    pub(super) fn do_what_is_due(&mut self) {
        while let Some((&(at, number), &due)) = self.timers.first_key_value()
            && at <= self.now()
        {
            self.timers.remove(&(at, number));
            match due {
                Due::Moment { action, reacher, counted, again } => {
                    self.pending -= u32::from(counted);
                    if let Some(Again { every, times }) = again
                        && times != Some(0)
                    {
                        let next = Again { every, times: times.map(|times| times - 1) };
                        self.queue_moment(at + every, action, None, counted, Some(next));
                    }
                    self.act(action, reacher);
                }
                Due::Over(strike) => self.end(strike),
                Due::Throttle { strike, stop } => self.throttle(strike, stop),
                Due::Resource(timer) => self.resource_timer(timer),
            }
        }
    }

    /// A client reaches a milestone.
    pub(super) fn reach(&mut self, client: NodeId, reached: &str) {
        let mut now = Vec::new();
        for trigger in &mut self.triggers {
            if trigger.point == reached && (trigger.clients.is_empty() || trigger.clients.contains(&client)) {
                trigger.seen += 1;
                if trigger.seen == trigger.nth {
                    now.push((trigger.plus, trigger.action));
                }
            }
        }
        for (plus, action) in now {
            if plus.is_zero() {
                self.act(action, Some(client));
            } else {
                let counted = !matches!(action, Action::Cue(_));
                self.queue_moment(self.now() + plus, action, Some(client), counted, None);
            }
        }
    }

    fn act(&mut self, action: Action, reacher: Option<NodeId>) {
        match action {
            Action::Strike(fault) => self.strike(fault, reacher),
            Action::End(fault) => {
                for strike in 0..self.strikes.len() {
                    if self.strikes[strike].fault == fault {
                        self.end(strike);
                    }
                }
            }
            Action::Cue(cue) => {
                let now = self.now();
                self.cues[usize::from(cue.0)].get_or_insert(now);
                for node in self.clients() {
                    self.order(node, &Order::Cue(cue));
                }
            }
        }
    }
}
