//! `no-step` where those that want a lock [count](crate::Rules::counters) for how long another has it.
//!
//! On their wall clocks they read what another's has written, so that a jump does not end with its instant. Broken while somebody had
//! the lock, be it promised still or not, and the clock of one who asked for it or extended it was not where it would be without jumps and
//! stops. On any other clock nothing can jump.

use host::{Clock, NodeId, SimTime};

use crate::history::{Segment, Ticking};
use crate::judge::Case;
use crate::owners::Tenure;

/// When first somebody had the lock while the wall clock was off of one who counts on it.
pub(super) fn first_while_off(case: &Case<'_>) -> Option<SimTime> {
    if case.rules.counters_on != Clock::Wall {
        return None;
    }
    let off: Vec<_> = case.rules.counters.iter().flat_map(|node| off(case, *node)).collect();
    let meets = |tenure: &Tenure| {
        let both = off.iter().map(|(since, until)| (tenure.from.max(*since), tenure.to.min(*until)));
        both.filter(|(from, to)| from < to).map(|(from, _)| from).min()
    };
    case.owners().tenures.iter().filter_map(meets).min()
}

/// From when to when a node's wall clock was not where it would be if nobody had set it and it had never stood still.
fn off(case: &Case<'_>, node: NodeId) -> Vec<(SimTime, SimTime)> {
    let clocks = &case.history.nodes[node.index()].clocks;
    let ends = clocks.iter().skip(1).map(|next| next.since).chain([SimTime::NEVER]);
    let mut by = 0;
    let mut last: Option<&Segment> = None;
    let mut stretches = Vec::new();
    for (clock, end) in clocks.iter().zip(ends) {
        if let Some(last) = last {
            let running = Segment { ticking: Ticking::All, ..*last };
            by += clock.wall - running.carried_to(clock.since).wall;
        }
        if by != 0
            && let Some(read) = first_reading(case, node, (clock.since, end))
        {
            stretches.push((read, end));
        }
        last = Some(clock);
    }
    stretches
}

/// When, in that stretch, a client first had to do with a lease: who does nothing about any reads no clock for it.
fn first_reading(case: &Case<'_>, client: NodeId, (from, to): (SimTime, SimTime)) -> Option<SimTime> {
    let mut entries = case.history.entries.iter().filter(|entry| from <= entry.at && entry.at < to);
    entries.find(|entry| entry.note.reads_clock() && entry.node == client).map(|entry| entry.at)
}

#[cfg(test)]
mod tests {
    use host::{Clock, NodeId};

    use crate::Assumption::NoStep;
    use crate::history::Ticking;
    use crate::testing::{Story, ms};

    /// A story in which those that want the lock count on their own clocks.
    fn counted_by_rivals(on: Clock) -> Story {
        let mut story = Story::new();
        story.declare(NoStep);
        story.rules.counters = vec![NodeId::new(1), NodeId::new(2)];
        story.rules.counters_on = on;
        story
    }

    #[test]
    fn where_rivals_count_it_is_their_clocks_that_may_not_step() {
        let stepped = |on, node: u16, asks: bool| {
            let mut story = counted_by_rivals(on);
            story.at(10).client(1).takes(100);
            if node == 0 {
                story.at(50).server(1).steps(-5);
            } else {
                story.at(50).client(node).steps(-5);
            }
            if asks {
                story.at(60).client(node.max(1)).asks("orders").denied();
            }
            story.breach(NoStep)
        };
        for (node, broken) in [(0, None), (1, Some(ms(60))), (2, Some(ms(60))), (3, None)] {
            assert_eq!(stepped(Clock::Wall, node, true), broken, "node {node}");
            assert_eq!(stepped(Clock::Wall, node, false), None, "node {node} reads no clock");
            assert_eq!(stepped(Clock::Monotonic, node, true), None, "node {node}");
        }
    }

    #[test]
    fn what_a_stepped_clock_has_written_is_read_by_another_for_as_long_as_it_is_off() {
        let breach = |set_right: u64, by: i64| {
            let mut story = counted_by_rivals(Clock::Wall);
            story.at(5).client(2).steps(7);
            story.at(set_right).client(2).steps(by);
            story.at(20).client(1).takes(100);
            story.at(30).client(2).asks("orders").denied();
            story.breach(NoStep)
        };
        assert_eq!(breach(9, -7), None, "it was set right before anybody had the lock");
        assert_eq!(breach(9, -6), Some(ms(30)), "not quite");
    }

    #[test]
    fn a_lock_that_is_had_for_longer_than_promised_counts_as_long_as_it_is_had() {
        let breach = |is_had: bool| {
            let mut story = counted_by_rivals(Clock::Wall);
            story.at(10).client(1).takes(100);
            if !is_had {
                story.at(110).server(1).frees();
            }
            story.at(150).client(2).steps(7);
            story.at(160).client(2).asks("orders").denied();
            story.breach(NoStep)
        };
        assert_eq!([breach(true), breach(false)], [Some(ms(160)), None]);
    }

    #[test]
    fn a_wall_clock_that_stood_still_is_off_until_it_is_set_right() {
        let breach = |set_right: i64| {
            let mut story = counted_by_rivals(Clock::Wall);
            story.at(2).client(2).ticks(Ticking::None);
            story.at(5).client(2).ticks(Ticking::All);
            story.at(6).client(2).steps(set_right);
            story.at(20).client(1).takes(100);
            story.at(30).client(2).asks("orders").denied();
            story.breach(NoStep)
        };
        assert_eq!([breach(3), breach(2)], [None, Some(ms(30))]);
        let mut story = counted_by_rivals(Clock::Wall);
        story.at(2).client(2).ticks(Ticking::AllButMonotonic);
        story.at(5).client(2).ticks(Ticking::All);
        story.at(20).client(1).takes(100);
        assert_eq!(story.breach(NoStep), None, "it runs on through machine sleep");
    }
}
