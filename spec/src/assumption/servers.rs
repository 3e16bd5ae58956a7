//! What befell a lock server while it had an owner for some key: `no-step` and `delayed-restart`; and what its disk lost:
//! `synced-disk`.
//!
//! * `no-step` is broken if the server's wall clock jumped then, and the server counts leases on it; or that
//!   of a client that does, while it was promised the lock. A clock on which no deadline hangs may be set.
//!   (A wall clock that runs on through machine sleep has not jumped; one that is set right after a virtual
//!   machine's stop has.) Where [others](crate::Rules::counters) count, it is their clocks: see [`rivals`](super::rivals).
//! * `delayed-restart` is broken if the server died then, and a process ran there again no more than
//!   the longest TTL later, and did not name the owner again: it must stay out for *longer*, since a key may live
//!   to its last instant. Broken at the restart.
//! * `synced-disk` is broken when a server is back whose disk has lost what was written to it, whatever that was:
//!   who owned what, or how far a counter of tokens had come.
//!
//! What a server owned when it died it owns no more, unless it names the owner again when it is back.
//! What it frees in the very instant of a step or a death it owned until then: the step itself may have
//! been what freed it.

use std::collections::{BTreeMap, BTreeSet};
use std::iter::Peekable;

use host::{Clock, NodeId, SimTime};

use super::ledger::earlier;
use super::rivals;
use crate::history::{Activity, Cause, Entry, Note};
use crate::judge::Case;
use crate::windows::Stretch;

/// The first step of a wall clock while a lease was counted on it: a lock server's while it had an owner for
/// some key, a client's while it was promised the lock.
pub(super) fn first_step(case: &Case<'_>) -> Option<SimTime> {
    let of_who_counts = if case.rules.counters.is_empty() {
        first_while_owned(case, steps(case))
    } else {
        rivals::first_while_off(case)
    };
    earlier(of_who_counts, first_of_a_holder(case))
}

/// The first restart of a lock server that had an owner for some key and came back too early.
pub(super) fn first_hasty_restart(case: &Case<'_>) -> Option<SimTime> {
    first_while_owned(case, hasty_restarts(case))
}

/// When a lock server was first back without what had been on its disk.
pub(super) fn first_loss_of_a_disk(case: &Case<'_>) -> Option<SimTime> {
    let mut losses = case.grants.mentions.losing.iter().map(|entry| &case.history.entries[*entry]);
    let is_of_a_server = |entry: &&Entry| match entry.note {
        Note::DiskLost { authority } => case.rules.authorities.contains(&authority),
        _ => false,
    };
    losses.find(is_of_a_server).map(|entry| entry.at)
}

/// Something that happened to a lock server, and matters if it had an owner for some key then, and forgot it.
struct Blow {
    at: SimTime,
    server: NodeId,
    /// When the assumption is broken, if it matters.
    breaks: SimTime,
    /// What it forgets.
    forgets: Forgets,
}

/// Which owners a blow takes from a server.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Forgets {
    /// None: that it has any is what matters.
    Nothing,
    /// Those that it does not name again when the assumption would be broken.
    Unnamed,
}

/// Every step of the wall clock of a lock server that counts leases on it.
fn steps(case: &Case<'_>) -> Vec<Blow> {
    let servers = case.rules.authorities.iter().filter(|server| case.lease_clock(**server) == Clock::Wall);
    let blows = servers.flat_map(|&server| {
        // What a standby's clock shows matters when it takes over leases that another's has set.
        let takes_over = promotions(case, server).filter(move |at| steps_of(case, server).any(|step| step <= *at));
        let read = steps_of(case, server).chain(takes_over);
        read.map(move |at| Blow { at, server, breaks: at, forgets: Forgets::Nothing })
    });
    blows.collect()
}

/// When a server took another's place.
fn promotions(case: &Case<'_>, server: NodeId) -> impl Iterator<Item = SimTime> {
    let entries = case.grants.mentions.replicating.iter().map(|entry| &case.history.entries[*entry]);
    let is_own = move |entry: &&Entry| matches!(entry.note, Note::Promoted { authority, .. } if authority == server);
    entries.filter(is_own).map(|entry| entry.at)
}

/// Every step of a node's wall clock.
fn steps_of(case: &Case<'_>, node: NodeId) -> impl Iterator<Item = SimTime> {
    let pairs = case.history.nodes[node.index()].clocks.windows(2);
    pairs.filter(|pair| pair[0].carried_to(pair[1].since).wall != pair[1].wall).map(|pair| pair[1].since)
}

/// The first step of the wall clock of a client while it counted a lease on it. A step ahead may be what
/// ended the promise.
fn first_of_a_holder(case: &Case<'_>) -> Option<SimTime> {
    let of = |window: &Stretch| case.grants[window.claim].attempt.client();
    let counted = case.promised.windows().filter(|window| case.lease_clock(of(window)) == Clock::Wall);
    let steps = |window: &Stretch| steps_of(case, of(window)).find(|at| window.from <= *at && *at <= window.to);
    counted.filter_map(steps).min()
}

/// Every death of a lock server that was followed by a restart within the longest TTL. Without a
/// lease, ownership outlives every delay, and so does the danger.
fn hasty_restarts(case: &Case<'_>) -> Vec<Blow> {
    let ttl = case.rules.ttl;
    let mut blows = Vec::new();
    for &server in case.rules.mortal() {
        let mut died = None;
        for &(at, activity) in &case.history.nodes[server.index()].activity {
            match (activity, died) {
                (Activity::Dead, None) => died = Some(at),
                (Activity::Running | Activity::Unrenewed | Activity::Paused, Some(since)) => {
                    if ttl.is_none_or(|ttl| at.since(since) <= ttl) {
                        blows.push(Blow { at: since, server, breaks: at, forgets: Forgets::Unnamed });
                    }
                    died = None;
                }
                _ => {}
            }
        }
    }
    blows
}

/// When the assumption was first broken by a blow to a server that had an owner for some key.
fn first_while_owned(case: &Case<'_>, mut blows: Vec<Blow>) -> Option<SimTime> {
    if blows.is_empty() {
        return None;
    }
    blows.sort_by_key(|blow| blow.at);
    let mut deaths = deaths(case).into_iter().peekable();
    let mut entries = case.history.entries.iter().peekable();
    let mut owned = Owned::default();
    let mut first = None;
    for blow in blows {
        while let Some((at, server)) = deaths.next_if(|(at, _)| *at < blow.at) {
            owned.take_all(&mut entries, at);
            owned.forget(server);
        }
        owned.take_all(&mut entries, blow.at);
        let kept = match blow.forgets {
            Forgets::Nothing => BTreeSet::new(),
            Forgets::Unnamed => named_again(case, blow.server, blow.breaks),
        };
        if owned.had_some(blow.server, blow.at, &kept) {
            first = earlier(first, Some(blow.breaks));
        }
    }
    first
}

/// The keys whose owners a server named again in the instant in which it was back.
fn named_again<'h>(case: &Case<'h>, server: NodeId, back: SimTime) -> BTreeSet<&'h str> {
    let of_that_instant = case.history.entries.iter().skip_while(|entry| entry.at < back);
    let of_that_instant = of_that_instant.take_while(|entry| entry.at == back);
    let named = of_that_instant.filter_map(|entry| match &entry.note {
        Note::Owner { authority, key, attempt: Some(_), cause: Cause::Restart } if *authority == server => Some(&**key),
        _ => None,
    });
    named.collect()
}

/// Every death of a lock server, in order.
fn deaths(case: &Case<'_>) -> Vec<(SimTime, NodeId)> {
    let mut deaths = Vec::new();
    for &server in case.rules.mortal() {
        let activity = &case.history.nodes[server.index()].activity;
        deaths.extend(activity.iter().filter(|(_, doing)| *doing == Activity::Dead).map(|(at, _)| (*at, server)));
    }
    deaths.sort_unstable();
    deaths
}

/// Which keys have an owner, as the servers see it.
#[derive(Default)]
struct Owned<'h> {
    keys: BTreeSet<(NodeId, &'h str)>,
    /// When each server last freed a key.
    freed: BTreeMap<NodeId, SimTime>,
}

impl<'h> Owned<'h> {
    /// Takes in what the servers said up to that instant, itself included.
    fn take_all(&mut self, entries: &mut Peekable<impl Iterator<Item = &'h Entry>>, until: SimTime) {
        while let Some(entry) = entries.next_if(|entry| entry.at <= until) {
            let Note::Owner { authority, key, attempt, .. } = &entry.note else { continue };
            let slot = (*authority, &**key);
            if attempt.is_some() {
                self.keys.insert(slot);
            } else if self.keys.remove(&slot) {
                self.freed.insert(*authority, entry.at);
            }
        }
    }

    fn forget(&mut self, server: NodeId) {
        self.keys.retain(|(other, _)| *other != server);
    }

    /// Whether the server owned something in that instant, the latest that was taken in, beside what it has kept.
    fn had_some(&self, server: NodeId, at: SimTime, kept: &BTreeSet<&str>) -> bool {
        let of_server = self.keys.range((server, "")..).take_while(|(one, _)| *one == server);
        self.freed.get(&server) == Some(&at) || of_server.into_iter().any(|(_, key)| !kept.contains(key))
    }
}

#[cfg(test)]
mod tests {
    use host::{Clock, NodeId};

    use crate::Assumption::{DelayedRestart, NoStep, SyncedDisk};
    use crate::history::{Entry, Note, Ticking};
    use crate::testing::{Story, lasting, ms};

    /// A story of two lock servers, the first of which has an owner from 10 ms on; the TTL is 90 ms.
    fn owned() -> Story {
        let mut story = Story::with_servers(2, 1);
        story.declare(NoStep);
        story.declare(DelayedRestart);
        story.at(10).client(1).takes(100);
        story
    }

    #[test]
    fn a_step_while_a_key_is_owned_breaks_it() {
        for by in [-5, 5] {
            let mut story = owned();
            story.at(50).server(1).steps(by);
            assert_eq!(story.breach(NoStep), Some(ms(50)));
        }
    }

    #[test]
    fn a_step_of_a_clock_on_which_the_server_counts_nothing_breaks_nothing() {
        let mut story = owned();
        story.at(10).server(1).counts_on(Clock::Monotonic);
        story.at(50).server(1).steps(60_000);
        assert_eq!(story.breach(NoStep), None);
    }

    #[test]
    fn a_step_of_the_clock_on_which_a_holder_counts_its_lease_breaks_it() {
        let stepped = |clock, client| {
            let mut story = Story::new();
            story.declare(NoStep);
            story.at(5).client(1).counts_on(clock);
            story.client(1).steps(7);
            let until = if clock == Clock::Wall { 107 } else { 100 };
            story.at(10).client(1).takes(until);
            story.at(50).client(client).steps(-5);
            story.breach(NoStep)
        };
        assert_eq!(stepped(Clock::Wall, 1), Some(ms(50)));
        assert_eq!(stepped(Clock::Boottime, 1), None);
        assert_eq!(stepped(Clock::Wall, 2), None, "it holds nothing");
    }

    #[test]
    fn a_step_of_a_replica_matters_when_it_takes_over_a_lease() {
        for owns in [true, false] {
            let mut story = Story::with_servers(2, 1);
            story.declare(NoStep);
            story.at(5).server(2).steps(1_000);
            story.at(10).client(1).takes(100);
            story.at(40).server(1).dies();
            if owns {
                story.at(50).client(1).taken_over_by(2);
            }
            story.at(50).server(2).promoted_instead_of(1);
            assert_eq!(story.breach(NoStep), owns.then_some(ms(50)));
        }
    }

    #[test]
    fn a_step_while_nothing_is_owned_breaks_nothing() {
        let mut story = Story::with_servers(2, 1);
        story.declare(NoStep);
        story.at(5).server(1).steps(1_000);
        story.at(10).client(1).takes(100);
        story.at(20).server(2).steps(1_000);
        story.at(30).client(1).steps(1_000);
        story.at(40).server(1).frees();
        story.at(50).server(1).steps(1_000);
        assert_eq!(story.breach(NoStep), None);
    }

    #[test]
    fn one_of_two_keys_that_is_freed_leaves_the_other_owned() {
        let mut story = owned();
        story.at(20).client(2).takes_lock("parcels", 100);
        story.at(30).server(1).frees();
        story.at(40).server(1).steps(1);
        assert_eq!(story.breach(NoStep), Some(ms(40)));
    }

    #[test]
    fn a_key_that_changes_hands_is_owned_once() {
        let mut story = owned();
        story.at(20).client(2).asks("orders").owned_by(1).owned_by(1);
        story.at(30).server(1).frees();
        story.at(40).server(1).steps(1);
        assert_eq!(story.breach(NoStep), None);
    }

    #[test]
    fn a_step_by_which_the_key_expires_breaks_it() {
        let mut story = owned();
        story.at(50).server(1).steps(90).frees();
        assert_eq!(story.breach(NoStep), Some(ms(50)));
        story = owned();
        story.at(49).server(1).frees();
        story.at(50).server(1).steps(90);
        assert_eq!(story.breach(NoStep), None);
    }

    #[test]
    fn a_server_that_has_died_owns_nothing_until_it_says_so_again() {
        let mut story = owned();
        story.at(20).server(1).dies();
        story.at(30).server(1).restarts();
        story.at(40).server(1).steps(1);
        assert_eq!(story.breach(NoStep), None);
        story.at(50).server(1).dies();
        story.at(60).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), Some(ms(30)));
        story.at(70).client(2).asks("orders").owned_by(1);
        story.at(80).server(1).steps(1);
        assert_eq!(story.breach(NoStep), Some(ms(80)));
    }

    #[test]
    fn a_second_death_with_nothing_owned_needs_no_delay() {
        let mut story = owned();
        story.at(20).server(1).dies();
        story.at(150).server(1).restarts();
        story.at(160).server(1).dies();
        story.at(161).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), None);
    }

    #[test]
    fn a_change_of_rate_or_a_machine_sleep_is_no_step() {
        let mut story = owned();
        story.at(20).server(1).runs_at(137);
        story.at(33).server(1).ticks(Ticking::AllButMonotonic);
        story.at(47).server(1).ticks(Ticking::All);
        story.at(50).server(1).ticks(Ticking::None);
        story.at(60).server(1).ticks(Ticking::All);
        assert_eq!(story.breach(NoStep), None);
        story.at(70).server(1).steps(10);
        assert_eq!(story.breach(NoStep), Some(ms(70)), "a stopped machine's wall clock is set right by a step");
    }

    #[test]
    fn a_restart_within_the_longest_ttl_breaks_it_when_the_server_is_back() {
        let mut story = owned();
        story.at(50).server(1).dies();
        story.at(140).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), Some(ms(140)), "a key may live to its last instant");
    }

    #[test]
    fn a_restart_at_once_breaks_nothing_if_the_server_names_every_owner_again() {
        let mut story = owned();
        story.at(50).server(1).dies();
        story.at(60).server(1).restarts();
        story.at(60).client(1).remembered_by(1);
        assert_eq!(story.breach(DelayedRestart), None);
        // One of two is not enough, nor is a name that comes later, nor another server's.
        let mut story = owned();
        story.at(20).client(2).takes_lock("parcels", 100);
        story.at(50).server(1).dies();
        story.at(60).server(1).restarts();
        story.at(60).client(1).remembered_by(1);
        assert_eq!(story.breach(DelayedRestart), Some(ms(60)));
        for (at, server) in [(61, 1), (60, 2)] {
            let mut story = owned();
            story.at(50).server(1).dies();
            story.at(60).server(1).restarts();
            story.at(at).client(1).remembered_by(server);
            assert_eq!(story.breach(DelayedRestart), Some(ms(60)));
        }
    }

    #[test]
    fn a_disk_that_loses_what_was_written_breaks_its_promise_when_the_server_is_back() {
        let mut story = owned();
        story.declare(SyncedDisk);
        story.at(50).server(1).dies();
        story.at(60).server(1).restarts();
        assert_eq!(story.breach(SyncedDisk), None, "nothing was on it");
        let (authority, at) = (NodeId::new(0), ms(60));
        story.history.entries.push(Entry { at, node: authority, note: Note::DiskLost { authority } });
        assert_eq!(story.breach(SyncedDisk), Some(ms(60)));
    }

    #[test]
    fn a_restart_after_the_longest_ttl_breaks_nothing() {
        let mut story = owned();
        story.at(50).server(1).dies();
        story.at(141).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), None);
        let mut story = owned();
        story.at(50).server(1).dies();
        assert_eq!(story.breach(DelayedRestart), None, "it never came back");
    }

    #[test]
    fn a_server_that_had_no_owner_when_it_died_may_come_back_at_once() {
        let mut story = Story::with_servers(2, 1);
        story.declare(DelayedRestart);
        story.at(5).server(1).dies();
        story.at(6).server(1).restarts();
        story.at(10).client(1).takes(100);
        story.at(20).server(2).dies();
        story.at(21).server(2).restarts();
        story.at(22).client(1).dies();
        story.at(23).client(1).restarts();
        assert_eq!(story.breach(DelayedRestart), None);
    }

    #[test]
    fn a_paused_server_is_not_dead() {
        let mut story = owned();
        story.at(20).server(1).pauses();
        story.at(30).server(1).resumes();
        assert_eq!(story.breach(DelayedRestart), None);
    }

    #[test]
    fn without_a_lease_no_restart_is_late_enough() {
        let mut story = owned();
        story.rules.ttl = None;
        story.at(50).server(1).dies();
        story.at(9_000).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), Some(ms(9_000)));
    }

    #[test]
    fn the_earliest_breach_is_the_one_that_is_told() {
        let mut story = owned();
        story.at(20).client(2).asks("orders").owned_by(2);
        story.at(30).server(1).dies();
        story.at(40).server(2).dies();
        story.at(45).server(2).restarts();
        story.at(60).server(1).restarts();
        assert_eq!(story.breach(DelayedRestart), Some(ms(45)));
        assert_eq!(story.rules.ttl, lasting(90));
    }
}
