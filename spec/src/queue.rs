//! Who waits for which lock, and since when.
//!
//! A client waits from its first try until one is granted, it gives up, or it dies; also while it sleeps
//! between two tries. A single try that is given up at once is no wait, unless the servers have a queue, in which it
//! stood. Nobody can be expected to get further while it stands still: a pause ends a wait, and with the resumption another begins.

use host::{NodeId, SimTime};

use crate::grants::{ClaimId, LockId};
use crate::history::Activity;
use crate::judge::Case;

/// A stretch of true time, its end excluded, during which a running client waited for a lock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) lock: LockId,
    pub(crate) client: NodeId,
    pub(crate) from: SimTime,
    pub(crate) to: SimTime,
    /// Its first try.
    pub(crate) first: ClaimId,
    /// Its last try, if that was granted, and with that ended the wait.
    pub(crate) granted: Option<ClaimId>,
}

/// Every wait: those for one lock together, in the order in which they began.
pub(crate) fn waits(case: &Case<'_>) -> Vec<Wait> {
    let mut waits = Vec::new();
    for chain in chains(case) {
        let Wait { client, from, to, granted, .. } = chain;
        if from == to {
            // Granted at once.
            waits.push(chain);
        }
        let node = &case.history.nodes[client.index()];
        for (since, until) in node.stretches(from, to, Activity::acts) {
            let granted = granted.filter(|_| until == to);
            waits.push(Wait { from: since, to: until, granted, ..chain });
        }
    }
    // Tries are in the order of their notes: pauses apart, so are the waits.
    waits.sort_by_key(|wait| (wait.lock, wait.from, case.lives()[wait.first.index()].entry));
    waits
}

/// Every wait from the first try to the last, pauses included.
fn chains(case: &Case<'_>) -> Vec<Wait> {
    let lives = case.lives();
    let mut chains: Vec<Wait> = Vec::new();
    // By claim: the chain that it belongs to.
    let mut chain_of: Vec<Option<usize>> = vec![None; lives.len()];
    for (id, claim) in case.grants.claims() {
        let life = &lives[id.index()];
        if life.asked == SimTime::NEVER {
            continue;
        }
        let (lock, client, from) = (claim.lock, claim.attempt.client(), life.asked);
        let chain = life.after.and_then(|after| chain_of[after.index()]).unwrap_or_else(|| {
            chains.push(Wait { lock, client, from, to: from, first: id, granted: None });
            chains.len() - 1
        });
        chain_of[id.index()] = Some(chain);
        let wait = &mut chains[chain];
        wait.granted = claim.granted.map(|_| id);
        // Between two tries it waits; what is in its section or dead waits no longer.
        wait.to = life.entered.min(life.gave_up).min(life.died).min(case.liveness_end());
        if wait.first == id && life.gave_up != SimTime::NEVER && !case.rules.queues {
            wait.to = wait.from;
        }
    }
    chains.retain(|wait| wait.from < wait.to || wait.granted.is_some());
    chains
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Story;

    /// Beginning and end of each wait, in ms, and whether it ended with a grant.
    fn of(story: &Story) -> Vec<(u64, u64, bool)> {
        let millis = |at: SimTime| at.as_nanos() / 1_000_000;
        let case = Case::new(&story.history, &story.rules);
        waits(&case).iter().map(|wait| (millis(wait.from), millis(wait.to), wait.granted.is_some())).collect()
    }

    #[test]
    fn a_client_waits_between_its_tries_until_it_is_granted() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").denied();
        story.at(30).client(1).asks_again("orders").failed();
        story.at(50).client(1).asks_again("orders").owned_by(1);
        story.at(51).client(1).granted(100);
        assert_eq!(of(&story), [(10, 51, true)]);
    }

    #[test]
    fn who_is_granted_at_once_has_waited_for_an_instant() {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        assert_eq!(of(&story), [(10, 10, true)]);
    }

    #[test]
    fn it_waits_no_longer_once_it_gives_up_or_dies() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").denied();
        story.at(20).client(2).asks("orders").denied();
        story.at(30).client(1).asks_again("orders").denied().gives_up();
        story.at(40).client(2).dies();
        story.at(50).client(2).restarts();
        assert_eq!(of(&story), [(10, 30, false), (20, 40, false)]);
    }

    #[test]
    fn a_single_try_is_no_wait() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders");
        story.at(12).client(1).denied().gives_up();
        assert_eq!(of(&story), []);
    }

    #[test]
    fn a_single_try_that_stood_in_a_queue_is_a_wait() {
        let mut story = Story::new();
        story.rules.queues = true;
        story.at(10).client(1).asks("orders");
        story.at(2_010).client(1).failed().gives_up();
        assert_eq!(of(&story), [(10, 2_010, false)]);
    }

    #[test]
    fn who_is_denied_and_does_not_give_up_waits_to_the_horizon() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").denied();
        assert_eq!(of(&story), [(10, 10_000, false)]);
    }

    #[test]
    fn a_pause_ends_a_wait_and_another_begins() {
        let mut story = Story::new();
        story.at(10).client(1).asks("orders").denied();
        story.at(30).client(1).pauses();
        story.at(50).client(1).resumes();
        story.at(60).client(1).asks_again("orders").owned_by(1).granted(100);
        assert_eq!(of(&story), [(10, 30, false), (50, 60, true)]);
    }

    #[test]
    fn waits_are_told_by_lock_and_beginning() {
        let mut story = Story::new();
        story.at(10).client(1).asks("parcels").denied();
        story.at(20).client(2).asks("orders").denied();
        story.at(20).client(3).asks("orders").denied();
        let case = Case::new(&story.history, &story.rules);
        let clients: Vec<_> = waits(&case).iter().map(|wait| wait.client.index()).collect();
        assert_eq!(clients, [2, 3, 1]);
    }
}
