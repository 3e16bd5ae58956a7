//! `rate-within-drift`: no lock server's clock runs faster against a holder's than the drift allowance
//! covers.
//!
//! Broken if that happens while a lease is live: from the moment at which its client began to ask to
//! the end of its promised window. The holder's clock is the monotonic one, on which it counts its
//! lease: while that stands still, as in machine sleep, it is outrun by any that runs. The server's is
//! whichever runs: it stands still only with the whole virtual machine. Every lock server counts,
//! whether or not it granted: a renewal or a failover may bring the lease there.

use host::{NodeId, Ppm, SimTime};

use super::ledger::earlier;
use crate::grants::{Claim, ClaimId};
use crate::history::{Note, Segment, Ticking};
use crate::judge::Case;

/// The first instant of a live lease at which a server's clock outran its holder's.
pub(super) fn first_beyond_drift(case: &Case<'_>) -> Option<SimTime> {
    let clocks = |node: &NodeId| case.history.nodes[node.index()].clocks.as_slice();
    let allowance = case.rules.rate_allowance;
    // In most runs no clock is fast enough at any time, and no lease need be looked at.
    let servers = || case.rules.authorities.iter();
    let fastest = servers().flat_map(clocks).max_by_key(|clock| server_rate(clock))?;
    let slowest = case.rules.policies.keys().flat_map(clocks).min_by_key(|clock| holder_rate(clock))?;
    if !outruns(fastest, slowest, allowance) {
        return None;
    }
    let mut first = None;
    for (id, claim) in case.grants.claims() {
        let Some((from, to)) = lease(case, id, claim) else { continue };
        for server in servers() {
            let own = clocks(&claim.attempt.client());
            first = earlier(first, first_outrun(clocks(server), own, allowance, from, to));
        }
    }
    first
}

/// How long a lease was live, if the claim had one: from the start, or by a renewal of what had none.
fn lease(case: &Case<'_>, id: ClaimId, claim: &Claim<'_>) -> Option<(SimTime, SimTime)> {
    let is_leased = claim.granted?.until.is_some() || is_renewed(case, id);
    case.windows_of(id).last().filter(|_| is_leased).map(|window| (claim.asked, window.to))
}

fn is_renewed(case: &Case<'_>, claim: ClaimId) -> bool {
    let mut entries = case.history.entries.iter().enumerate();
    entries.any(|(i, entry)| matches!(entry.note, Note::Renewed { .. }) && case.grants.subject(i) == Some(claim))
}

/// When, from `from` to `to`, the one first outruns the other.
fn first_outrun(server: &[Segment], own: &[Segment], allowance: Ppm, from: SimTime, to: SimTime) -> Option<SimTime> {
    let next = |clocks: &[Segment], at| clocks.partition_point(|clock| clock.since <= at);
    let mut at = from;
    while at < to {
        let (next_server, next_own) = (next(server, at), next(own, at));
        if outruns(&server[next_server.checked_sub(1)?], &own[next_own.checked_sub(1)?], allowance) {
            return Some(at);
        }
        let change = |clocks: &[Segment], next: usize| clocks.get(next).map_or(SimTime::NEVER, |clock| clock.since);
        at = change(server, next_server).min(change(own, next_own));
    }
    None
}

/// Whether the server's clock runs faster than the allowance covers: exactly, by cross-multiplication.
fn outruns(server: &Segment, own: &Segment, allowance: Ppm) -> bool {
    server_rate(server) * Ppm::WHOLE > holder_rate(own) * allowance.per_million()
}

/// Of a server's clocks, those on which it may count a lease stand still only with the whole machine.
fn server_rate(clock: &Segment) -> u64 {
    if clock.ticking == Ticking::None { 0 } else { clock.rate.per_million() }
}

fn holder_rate(clock: &Segment) -> u64 {
    if clock.ticking == Ticking::All { clock.rate.per_million() } else { 0 }
}

#[cfg(test)]
mod tests {
    use host::{Ppm, SimTime};

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
    fn a_server_that_is_faster_than_the_allowance_breaks_it_from_the_asking_on() {
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
