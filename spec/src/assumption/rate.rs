//! `rate-within-drift`: no lock server's clock runs faster against a holder's than the drift allowance
//! covers.
//!
//! Broken if that happens while both count a lease: from the moment at which the server made the attempt
//! the owner, until it names another, or until the promised window is over. (What a holder's clock misses
//! before that only shortens its promise.) Where [others](crate::Rules::counters) count, the members of a cluster or rivals, it is
//! any of their clocks, but the holder's own. From its death on a server counts nothing, and true time stands
//! in for its clock: by that it is kept away until the lease is over. The holder's
//! clock and the server's are those on which each counts the lease: while the holder's stands still, as the
//! monotonic one in machine sleep, it is outrun by any that runs.

use host::{Clock, NodeId, Ppm, SimTime};

use super::ledger::earlier;
use crate::grants::ClaimId;
use crate::history::{Activity, Note, Segment, Ticking};
use crate::judge::Case;
use crate::mentions::Mention;

/// The first instant of a live lease at which a server's clock outran its holder's.
pub(super) fn first_beyond_drift(case: &Case<'_>) -> Option<SimTime> {
    let clocks = |node: &NodeId| case.history.nodes[node.index()].clocks.as_slice();
    let allowance = case.rules.rate_allowance;
    // In most runs no clock is fast enough at any time, and no lease need be looked at.
    let rates = |node: &NodeId, on: Clock| clocks(node).iter().map(move |clock| on.rate_in(clock));
    let fastest = case.rules.counting().iter().flat_map(|node| rates(node, case.counting_clock(*node))).max()?;
    let slowest = case.rules.policies.keys().flat_map(|node| rates(node, case.lease_clock(*node))).min()?;
    if !outruns(fastest, slowest, allowance) {
        return None;
    }
    let mut first = None;
    for Counted { server, claim, from, to, died } in counted(case) {
        let Some(end) = end_of_lease(case, claim) else { continue };
        let client = case.grants[claim].attempt.client();
        let own = Counting { clocks: clocks(&client), on: case.lease_clock(client) };
        let of = |node: NodeId| Counting { clocks: clocks(&node), on: case.counting_clock(node) };
        let outrun = |server, from, to: SimTime| first_outrun(&server, &own, allowance, from, to.min(end));
        for counter in case.rules.counters.iter().filter(|counter| **counter != client) {
            first = earlier(first, outrun(of(*counter), from, to));
        }
        if case.rules.counters.is_empty() {
            first = earlier(first, outrun(of(server), from, to.min(died)));
            first = earlier(first, outrun(TRUE_TIME, died, to));
        }
    }
    first
}

/// Somebody's clocks, and on which of them leases are counted.
struct Counting<'h> {
    clocks: &'h [Segment],
    on: Clock,
}

const TRUE_TIME: Counting<'_> = Counting {
    clocks: &[Segment { since: SimTime::ZERO, mono: 0, boot: 0, wall: 0, rate: Ppm::ZERO, ticking: Ticking::All }],
    on: Clock::Monotonic,
};

/// How long a lock server took a claim for the owner, and so counted its lease.
struct Counted {
    server: NodeId,
    claim: ClaimId,
    from: SimTime,
    to: SimTime,
    /// When the server died, since then; `NEVER` if it did not.
    died: SimTime,
}

fn counted(case: &Case<'_>) -> Vec<Counted> {
    let mut all: Vec<Counted> = Vec::new();
    let mut latest: Vec<Option<usize>> = vec![None; case.grants.mentions.keys.len()];
    for said in &case.grants.mentions.owning {
        let entry = &case.history.entries[said.entry];
        let Note::Owner { authority, .. } = entry.note else { continue };
        let latest = &mut latest[said.key.index()];
        if let Some(last) = *latest {
            all[last].to = entry.at;
        }
        *latest = said.claim.map(|_| all.len());
        if let Some(claim) = said.claim {
            let (from, to, died) = (entry.at, SimTime::NEVER, SimTime::NEVER);
            all.push(Counted { server: authority, claim, from, to, died });
        }
    }
    for counted in &mut all {
        let mut activity = case.history.nodes[counted.server.index()].activity.iter();
        let died = activity.find(|(at, doing)| *doing == Activity::Dead && counted.from <= *at);
        counted.died = died.map_or(SimTime::NEVER, |(at, _)| *at);
    }
    all
}

/// When a claim's promise was over, if it had a lease: from the start, or by a renewal of what had none.
fn end_of_lease(case: &Case<'_>, claim: ClaimId) -> Option<SimTime> {
    let is_leased = case.grants[claim].granted?.until.is_some() || is_renewed(case, claim);
    case.promised.of_claim(&case.grants[claim]).next().filter(|_| is_leased).map(|window| window.to)
}

fn is_renewed(case: &Case<'_>, claim: ClaimId) -> bool {
    let is_renewal = |mention: &Mention| matches!(case.history.entries[mention.entry].note, Note::Renewed { .. });
    case.grants.mentions.holding.iter().any(|mention| mention.claim == claim && is_renewal(mention))
}

/// When, from `from` to `to`, the one first outruns the other.
fn first_outrun(
    server: &Counting<'_>,
    own: &Counting<'_>,
    allowance: Ppm,
    from: SimTime,
    to: SimTime,
) -> Option<SimTime> {
    let mut at = from;
    while at < to {
        let ((server_rate, server_changes), (own_rate, own_changes)) = (server.rate_at(at)?, own.rate_at(at)?);
        if outruns(server_rate, own_rate, allowance) {
            return Some(at);
        }
        at = server_changes.min(own_changes);
    }
    None
}

impl Counting<'_> {
    /// By how much it counts in a million of true time, and until when.
    fn rate_at(&self, at: SimTime) -> Option<(u64, SimTime)> {
        let next = self.clocks.partition_point(|clock| clock.since <= at);
        let rate = self.on.rate_in(&self.clocks[next.checked_sub(1)?]);
        Some((rate, self.clocks.get(next).map_or(SimTime::NEVER, |clock| clock.since)))
    }
}

/// Whether the server's clock runs faster than the allowance covers: exactly, by cross-multiplication.
const fn outruns(server_rate: u64, own_rate: u64, allowance: Ppm) -> bool {
    server_rate * Ppm::WHOLE > own_rate * allowance.per_million()
}

#[cfg(test)]
mod tests {
    use host::{Clock, Ppm, SimTime};

    use crate::Assumption::RateWithinDrift;
    use crate::history::Ticking;
    use crate::testing::{Story, ms};

    /// A story of one holder with a lease from 10 to 100 ms, under an allowance of 1 %.
    fn breach(before: impl Fn(&mut Story), after: impl Fn(&mut Story)) -> Option<SimTime> {
        let mut story = Story::new();
        story.declare(RateWithinDrift);
        story.rules.rate_allowance = Ppm::new(10_000);
        before(&mut story);
        story.at(10).client(1).takes(100);
        after(&mut story);
        story.breach(RateWithinDrift)
    }

    fn nothing(_: &mut Story) {}

    #[test]
    fn where_others_count_it_is_any_of_theirs() {
        let counted_by = |counters: &[u16], fast: u16| {
            let before = |story: &mut Story| {
                story.rules.counters = counters.iter().map(|node| host::NodeId::new(*node)).collect();
                let story = story.at(5);
                let node = if fast == 0 { story.server(1) } else { story.client(fast) };
                node.runs_at(10_001);
            };
            breach(before, nothing)
        };
        assert_eq!(counted_by(&[], 0), Some(ms(10)));
        // One server, and then the clients.
        let clients = [1, 2];
        assert_eq!(counted_by(&clients, 0), None, "the server counts nothing");
        assert_eq!(counted_by(&clients, 2), Some(ms(10)), "a rival does");
        assert_eq!(counted_by(&clients, 1), None, "a fast holder gives up early");
    }

    #[test]
    fn others_count_on_the_clock_that_is_said_to_be_theirs() {
        let breach = |on| {
            let mut story = Story::new();
            story.declare(RateWithinDrift);
            story.rules.counters = vec![host::NodeId::new(1), host::NodeId::new(2)];
            story.rules.counters_on = on;
            story.at(10).client(1).takes(100);
            story.at(50).client(1).ticks(Ticking::AllButMonotonic);
            story.at(50).client(2).ticks(Ticking::AllButMonotonic);
            story.breach(RateWithinDrift)
        };
        assert_eq!(breach(Clock::Monotonic), None, "in machine sleep it stands as the holder's does");
        assert_eq!(breach(Clock::Wall), Some(ms(50)));
    }

    #[test]
    fn a_server_that_is_faster_than_the_allowance_breaks_it_from_the_grant_on() {
        assert_eq!(
            breach(
                |story| {
                    story.at(5).server(1).runs_at(10_001);
                },
                nothing
            ),
            Some(ms(10))
        );
        assert_eq!(
            breach(
                |story| {
                    story.at(5).server(1).runs_at(10_000);
                },
                nothing
            ),
            None
        );
    }

    #[test]
    fn in_machine_sleep_only_the_monotonic_clock_is_outrun() {
        for (clock, broken) in [(Clock::Monotonic, Some(ms(50))), (Clock::Boottime, None), (Clock::Wall, None)] {
            let mut story = Story::new();
            story.declare(RateWithinDrift);
            story.rules.rate_allowance = Ppm::new(10_000);
            story.at(5).client(1).counts_on(clock);
            story.at(10).client(1).takes(100);
            story.at(50).client(1).ticks(Ticking::AllButMonotonic);
            assert_eq!(story.breach(RateWithinDrift), broken, "{clock:?}");
        }
    }

    #[test]
    fn a_server_outruns_a_sleeper_unless_it_sleeps_too_and_counts_on_what_stands_then() {
        for (clock, broken) in [(Clock::Wall, Some(ms(50))), (Clock::Monotonic, None)] {
            let mut story = Story::new();
            story.declare(RateWithinDrift);
            story.at(5).server(1).counts_on(clock);
            story.at(10).client(1).takes(100);
            story.at(50).client(1).ticks(Ticking::AllButMonotonic);
            story.at(50).server(1).ticks(Ticking::AllButMonotonic);
            assert_eq!(story.breach(RateWithinDrift), broken, "{clock:?}");
        }
    }

    #[test]
    fn what_counts_is_the_ratio_and_not_the_difference() {
        let both = |server, client| {
            breach(
                move |story| {
                    story.at(5).server(1).runs_at(server);
                    story.client(1).runs_at(client);
                },
                nothing,
            )
        };
        // 0.5 * 1.01 = 0.505.
        assert_eq!(both(-495_000, -500_000), None);
        assert_eq!(both(-494_999, -500_000), Some(ms(10)));
        assert_eq!(both(0, 100_000), None, "a slow server only costs availability");
    }

    #[test]
    fn a_rate_matters_only_while_a_lease_is_live() {
        let before = |story: &mut Story| {
            story.at(1).server(1).runs_at(50_000);
            story.at(9).server(1).runs_at(0);
        };
        assert_eq!(
            breach(before, |story| {
                story.at(100).server(1).runs_at(50_000);
            }),
            None
        );
        assert_eq!(
            breach(before, |story| {
                story.just_before(100).server(1).runs_at(50_000);
            })
            .map(|at| at < ms(100)),
            Some(true)
        );
        let released = |story: &mut Story| {
            story.at(50).client(1).releasing();
            story.at(60).server(1).runs_at(50_000);
        };
        assert_eq!(breach(nothing, released), None);
    }

    #[test]
    fn it_is_broken_when_the_rate_changes_on_either_side() {
        assert_eq!(
            breach(nothing, |story| {
                story.at(40).client(1).runs_at(-20_000);
            }),
            Some(ms(40))
        );
        let recovers = |story: &mut Story| {
            story.at(40).server(1).runs_at(5_000);
            story.at(50).server(1).runs_at(20_000);
            story.at(60).server(1).runs_at(0);
        };
        assert_eq!(breach(nothing, recovers), Some(ms(50)));
    }

    #[test]
    fn a_holders_clock_that_stands_still_is_outrun() {
        assert_eq!(
            breach(nothing, |story| {
                story.at(40).client(1).ticks(Ticking::AllButMonotonic);
            }),
            Some(ms(40))
        );
        let both_stopped = |story: &mut Story| {
            story.at(40).server(1).ticks(Ticking::None);
            story.client(1).ticks(Ticking::None);
        };
        assert_eq!(breach(nothing, both_stopped), None);
    }

    #[test]
    fn without_a_lease_no_rate_matters() {
        let mut story = Story::new();
        story.declare(RateWithinDrift);
        story.at(0).server(1).runs_at(500_000);
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        assert_eq!(story.breach(RateWithinDrift), None);
    }

    #[test]
    fn a_lease_that_begins_with_a_renewal_is_one() {
        let mut story = Story::new();
        story.declare(RateWithinDrift);
        story.at(0).server(1).runs_at(500_000);
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good().renewed(100);
        assert_eq!(story.breach(RateWithinDrift), Some(ms(10)));
    }

    #[test]
    fn the_rate_of_a_server_that_counts_no_lease_does_not_matter() {
        let fast = |story: &mut Story| {
            story.at(60).server(1).runs_at(50_000);
        };
        let dead = |story: &mut Story| {
            story.at(20).server(1).dies();
            story.at(30).server(1).restarts();
            fast(story);
        };
        assert_eq!(breach(nothing, dead), None, "it has forgotten the lease");
        let dead_while_the_holder_sleeps = |story: &mut Story| {
            story.at(20).server(1).dies();
            story.at(30).client(1).ticks(Ticking::AllButMonotonic);
        };
        assert_eq!(breach(nothing, dead_while_the_holder_sleeps), Some(ms(30)), "no delay is long enough for that");
        let freed = |story: &mut Story| {
            story.at(20).server(1).frees();
            fast(story);
        };
        assert_eq!(breach(nothing, freed), None);
        let mut story = Story::with_servers(2, 1);
        story.declare(RateWithinDrift);
        story.at(5).server(2).runs_at(50_000);
        story.at(10).client(1).takes(100);
        assert_eq!(story.breach(RateWithinDrift), None, "it was not asked");
        story.at(50).client(1).owned_by(2);
        assert_eq!(story.breach(RateWithinDrift), Some(ms(50)), "a renewal has brought the lease there");
    }

    #[test]
    fn a_clock_that_lags_before_the_grant_only_shortens_the_promise() {
        let mut story = Story::new();
        story.declare(RateWithinDrift);
        story.at(10).client(1).asks("orders").runs_at(-500_000);
        story.at(20).client(1).runs_at(0).owned_by(1).granted(100);
        assert_eq!(story.breach(RateWithinDrift), None);
    }

    #[test]
    fn the_rates_of_those_who_hold_nothing_do_not_matter() {
        assert_eq!(
            breach(
                |story| {
                    story.at(0).client(2).runs_at(-500_000);
                },
                nothing
            ),
            None
        );
    }
}
