//! Faults of single messages: "the reply to the second `set`" is lost, or late.

use std::rc::Rc;

use host::Duration;
use sim::{Cast, Direction, MessageMatch, Target, What};

use crate::wire::{Frame, FrameKind, Side};
use crate::world::{State, World};

/// A message fault in force.
pub(crate) struct Matching {
    pub(crate) strike: usize,
    /// How many messages have matched.
    pub(crate) seen: u32,
}

impl World {
    /// A frame leaves: message faults may delay it by so much, or lose it (`None`).
    pub(crate) fn meet_message_faults(&self, frame: &Frame) -> Option<Duration> {
        let mut state = self.state_mut();
        let mut delay = Duration::ZERO;
        for index in 0..state.faults.matching.len() {
            let strike = state.faults.matching[index].strike;
            let planned = Rc::clone(&state.faults.plan[state.faults.strikes[strike].fault].fault);
            let (What::Drop(matches) | What::Delay(matches, _)) = &planned.what else { continue };
            if !state.matches(matches, frame, state.faults.details[strike].cast) {
                continue;
            }
            state.faults.matching[index].seen += 1;
            if matches.nth.is_some_and(|nth| nth != state.faults.matching[index].seen) {
                continue;
            }
            match &planned.what {
                What::Delay(_, by) => delay += state.meet(strike, by),
                _ => {
                    state.faults.strikes[strike].met += 1;
                    return None;
                }
            }
        }
        Some(delay)
    }
}

impl State {
    fn matches(&self, matches: &MessageMatch, frame: &Frame, cast: Cast) -> bool {
        let kind = match matches.direction {
            Direction::Request => FrameKind::Request,
            Direction::Reply => FrameKind::Reply,
            Direction::Push => FrameKind::Push,
        };
        let (client, server) = self.wires.route(frame.conn, Side::Client);
        let is = |target: &Target, node| target.node(cast) == Some(node);
        frame.kind == kind
            && frame.operation == Some(matches.operation)
            && matches.clients.iter().any(|target| is(target, client))
            && matches.server.as_ref().is_none_or(|target| is(target, server))
    }
}
