//! `pause-within-validity`: no holder stands still past its own deadline.
//!
//! Broken if a process stood still at the instant at which its own deadline passed, while it held the
//! lock; or if it was stopped between a check within its deadline and the departure of the operation,
//! and the operation left after the deadline. In the first case it is broken at the deadline, in the
//! second at the deadline or at the beginning of the pause, whichever is later. What is promised for as long as it is
//! owned has for its deadline the end of the ownership. A holder whose acting
//! part hangs stands still too, though its renewal may live.
//!
//! Holding ends with the section, with the news of a loss, and with death. A deadline that had passed
//! before the client learnt of it is no matter of pauses: a lock must look at the clock before it
//! takes itself to be granted.

use host::{MonoTime, NodeId, SimTime};

use super::ledger::earlier;
use crate::grants::Claim;
use crate::history::{Activity, History, NodeHistory, Note};
use crate::judge::Case;
use crate::rules::Promise;

/// The first instant at which a holder stood still past its deadline.
pub(super) fn first_beyond_validity(case: &Case<'_>) -> Option<SimTime> {
    let is_pause = |(_, activity): &(SimTime, Activity)| activity.stands_still();
    if !case.history.nodes.iter().any(|node| node.activity.iter().any(is_pause)) {
        return None;
    }
    // By grant, in the order in which clients note them.
    let mut holds: Vec<_> = case.grants.taken().filter_map(|(_, claim)| Hold::of(case, claim)).collect();
    let mut first = None;
    for mention in &case.grants.mentions.holding {
        let Some(granted) = &case.grants[mention.claim].granted else { continue };
        if granted.entry < mention.entry {
            let entry = &case.history.entries[mention.entry];
            first = earlier(first, holds[granted.place].take(entry.at, &entry.note));
        }
    }
    for hold in &mut holds {
        first = earlier(first, hold.finish(hold.died.min(case.history.end)));
    }
    first
}

/// A claim as its holder sees it.
struct Hold<'h> {
    history: &'h History,
    client: NodeId,
    died: SimTime,
    /// When the holder's own clock reaches the promised end; `NEVER` if none is to come.
    deadline: SimTime,
    /// When the last check passed.
    checked: SimTime,
    over: bool,
}

impl<'h> Hold<'h> {
    fn of(case: &Case<'h>, claim: &Claim) -> Option<Self> {
        let (granted, history) = (claim.granted?, case.history);
        let (client, died) = (claim.attempt.client(), granted.died);
        let none = SimTime::NEVER;
        let mut hold = Self { history, client, died, deadline: none, checked: none, over: false };
        match (case.rules.promise, granted.until) {
            (Promise::UntilDue, Some(until)) => hold.learn(granted.at, until),
            (Promise::UntilDue, None) => {}
            (Promise::WhileOwned, _) => {
                let lost = case.promised.of_claim(claim).next().map(|window| window.to);
                hold.deadline = lost.filter(|lost| *lost < history.over()).unwrap_or(SimTime::NEVER);
            }
        }
        Some(hold)
    }

    /// Takes in what the holder noted; gives back when it stood still too long, if that now shows.
    fn take(&mut self, at: SimTime, note: &Note) -> Option<SimTime> {
        match note {
            Note::Renewed { until, .. } => {
                let breach = self.paused_at_deadline(at);
                self.learn(at, *until);
                breach
            }
            Note::Checked { .. } => {
                self.checked = at;
                None
            }
            Note::Left { .. } => self.paused_before_leaving(at),
            Note::ToldOfLoss { .. } | Note::Ended { .. } => self.finish(at),
            _ => None,
        }
    }

    /// The holder learns of a deadline.
    fn learn(&mut self, at: SimTime, until: MonoTime) {
        let deadline = self.history.when(self.client, until);
        self.deadline = if deadline < at { SimTime::NEVER } else { deadline };
    }

    /// The holder holds no longer.
    fn finish(&mut self, at: SimTime) -> Option<SimTime> {
        let breach = self.paused_at_deadline(at);
        self.over = true;
        breach
    }

    fn paused_at_deadline(&self, now: SimTime) -> Option<SimTime> {
        // Who notes something just then stands still afterwards, if at all.
        let has_passed = !self.over && self.deadline < now;
        (has_passed && self.node().doing(self.deadline).stands_still()).then_some(self.deadline)
    }

    fn paused_before_leaving(&self, left: SimTime) -> Option<SimTime> {
        if self.over || self.checked > self.deadline || left <= self.deadline {
            return None;
        }
        let activity = &self.node().activity;
        let since_check = &activity[activity.partition_point(|(at, _)| *at < self.checked)..];
        let mut changes = since_check.iter().take_while(|(at, _)| *at < left);
        let (paused, _) = changes.find(|(_, activity)| activity.stands_still())?;
        Some(self.deadline.max(*paused))
    }

    fn node(&self) -> &'h NodeHistory {
        &self.history.nodes[self.client.index()]
    }
}

#[cfg(test)]
mod tests {
    use host::SimTime;

    use crate::Assumption::PauseWithinValidity;
    use crate::history::Ticking;
    use crate::rules::Promise;
    use crate::testing::{Story, ms};

    #[test]
    fn what_is_owned_for_as_long_as_it_is_promised_is_lost_by_who_stands_still_then() {
        for (lost, expected) in [(60, Some(ms(60))), (90, None)] {
            let mut story = Story::new();
            story.rules.promise = Promise::WhileOwned;
            story.declare(PauseWithinValidity);
            story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
            story.at(50).client(1).pauses();
            if lost == 60 {
                story.at(60).server(1).frees();
            }
            story.at(80).client(1).resumes();
            if lost == 90 {
                story.at(90).server(1).frees();
            }
            story.at(100).client(1).ended();
            assert_eq!(story.breach(PauseWithinValidity), expected, "lost at {lost}");
        }
    }

    /// A story of one holder with a lease to 100 ms.
    fn breach(tell: impl Fn(&mut Story)) -> Option<SimTime> {
        let mut story = Story::new();
        story.declare(PauseWithinValidity);
        story.at(10).client(1).takes(100);
        tell(&mut story);
        story.breach(PauseWithinValidity)
    }

    #[test]
    fn a_pause_across_the_deadline_breaks_it_at_the_deadline() {
        let at = breach(|story| {
            story.at(50).client(1).pauses();
            story.at(120).client(1).resumes();
        });
        assert_eq!(at, Some(ms(100)));
        let at = breach(|story| {
            story.at(100).client(1).pauses();
        });
        assert_eq!(at, Some(ms(100)), "a pause that begins with the deadline and never ends");
    }

    #[test]
    fn a_hanging_worker_stands_still_too() {
        let at = breach(|story| {
            story.at(50).client(1).hangs();
            story.at(120).client(1).resumes();
        });
        assert_eq!(at, Some(ms(100)));
    }

    #[test]
    fn a_pause_within_the_lease_breaks_nothing() {
        let at = breach(|story| {
            story.at(50).client(1).pauses();
            story.at(100).client(1).resumes();
        });
        assert_eq!(at, None);
    }

    #[test]
    fn who_ends_with_the_deadline_may_stand_still_from_then_on() {
        let at = breach(|story| {
            story.at(100).client(1).ended().pauses();
        });
        assert_eq!(at, None);
        let at = breach(|story| {
            story.at(100).client(1).renewed(200).hangs();
            story.at(150).client(1).resumes();
        });
        assert_eq!(at, None);
    }

    #[test]
    fn a_pause_after_the_deadline_breaks_nothing_with_nothing_in_hand() {
        let at = breach(|story| {
            story.at(90).client(1).checked().left();
            story.at(101).client(1).pauses();
            story.at(200).client(1).resumes().ended();
        });
        assert_eq!(at, None);
    }

    #[test]
    fn a_pause_after_the_deadline_breaks_it_with_an_operation_in_hand() {
        let at = breach(|story| {
            story.at(99).client(1).checked();
            story.at(101).client(1).pauses();
            story.at(200).client(1).resumes().left().ended();
        });
        assert_eq!(at, Some(ms(101)));
        let at = breach(|story| {
            story.at(99).client(1).checked();
            story.at(105).client(1).left().pauses();
            story.at(200).client(1).resumes().ended();
        });
        assert_eq!(at, None, "it had left");
        let at = breach(|story| {
            story.at(101).client(1).checked();
            story.at(102).client(1).pauses();
            story.at(200).client(1).resumes().left().ended();
        });
        assert_eq!(at, None, "the check came too late already");
    }

    #[test]
    fn who_holds_no_longer_may_stand_still() {
        for end in ["ended", "told", "dead"] {
            let at = breach(|story| {
                let client = story.at(50).client(1);
                let _ = match end {
                    "ended" => client.ended(),
                    "told" => client.told_of_loss(),
                    _ => client.dies(),
                };
                story.at(60).client(1).pauses();
            });
            assert_eq!(at, None, "{end}");
        }
    }

    #[test]
    fn a_renewal_moves_the_deadline_that_counts() {
        let at = breach(|story| {
            story.at(50).client(1).renewed(150);
            story.at(90).client(1).pauses();
            story.at(120).client(1).resumes();
        });
        assert_eq!(at, None);
        let at = breach(|story| {
            story.at(90).client(1).pauses();
            story.at(120).client(1).resumes().renewed(220);
        });
        assert_eq!(at, Some(ms(100)), "the renewal came too late");
        let at = breach(|story| {
            story.at(50).client(1).renewed(150);
            story.at(140).client(1).pauses();
        });
        assert_eq!(at, Some(ms(150)));
    }

    #[test]
    fn a_deadline_that_had_passed_before_the_grant_is_not_the_pauses_fault() {
        let mut story = Story::new();
        story.declare(PauseWithinValidity);
        story.at(10).client(1).asks("orders").owned_by(1).pauses();
        // No look at the clock before it takes itself to be granted.
        story.at(120).client(1).resumes().granted(100);
        assert_eq!(story.breach(PauseWithinValidity), None);
    }

    #[test]
    fn a_holder_whose_clock_sleeps_with_it_does_not_reach_its_deadline_meanwhile() {
        let at = breach(|story| {
            story.at(50).client(1).pauses().ticks(Ticking::AllButMonotonic);
            story.at(500).client(1).resumes().ticks(Ticking::All);
        });
        assert_eq!(at, None);
    }

    #[test]
    fn only_the_holders_own_pauses_count() {
        let at = breach(|story| {
            story.at(50).client(2).pauses();
            story.at(60).server(1).pauses();
        });
        assert_eq!(at, None);
    }
}
