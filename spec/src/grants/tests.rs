use super::*;
use crate::testing::{Story, ms};

/// The claim of that attempt.
fn find(grants: &Grants, attempt: AttemptId) -> &Claim {
    grants.claims().find(|(_, claim)| claim.attempt == attempt).expect("the attempt has asked").1
}

fn ranks(story: &Story, clients: &[u16]) -> Vec<usize> {
    let grants = Grants::of(&story.history, story.rules.quorum);
    let rank = |client: &u16| find(&grants, story.attempt(*client)).rank.0;
    clients.iter().map(rank).collect()
}

#[test]
fn grants_are_ranked_by_their_grant_points_not_by_when_clients_learn_of_them() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1);
    story.at(20).client(2).asks("orders").owned_by(1);
    story.at(30).client(2).granted(200);
    story.at(40).client(1).granted(100);
    assert_eq!(ranks(&story, &[1, 2]), [1, 2]);
}

#[test]
fn grants_of_one_instant_are_ranked_in_the_order_in_which_they_happened() {
    let mut story = Story::new();
    story.at(10).client(2).asks("orders");
    story.client(1).asks("orders");
    story.client(2).owned_by(1);
    story.client(1).owned_by(1).granted(100);
    story.client(2).granted(100);
    assert_eq!(ranks(&story, &[1, 2]), [2, 1]);
}

#[test]
fn who_lost_the_lock_before_it_knew_of_it_and_has_it_again_is_granted_it_then() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1);
    story.at(20).client(2).asks("orders").owned_by(1).granted(100);
    story.at(30).client(1).owned_by(1).granted(100);
    assert_eq!(ranks(&story, &[1, 2]), [2, 1]);
}

#[test]
fn a_quorum_is_complete_with_its_last_server() {
    let mut story = Story::with_servers(3, 2);
    story.at(10).client(1).asks("orders").owned_by(1);
    story.at(10).client(2).asks("orders").owned_by(2).owned_by(3);
    story.at(20).client(1).owned_by(2);
    story.at(30).client(2).granted(100);
    story.client(1).granted(100);
    assert_eq!(ranks(&story, &[1, 2]), [2, 1]);
}

#[test]
fn a_server_is_counted_once_and_only_if_the_client_counted_it() {
    let mut story = Story::with_servers(3, 2);
    story.at(10).client(1).asks("orders").owned_by(1).owned_by(1).granted(100);
    story.at(20).client(2).asks("orders").owned_by(1).owned_by(2).granted_counting([2, 3], Some(100));
    assert_eq!(ranks(&story, &[1, 2]), [0, 0]);
}

#[test]
fn what_happens_after_the_client_takes_itself_to_be_granted_makes_no_grant() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").granted(100).owned_by(1);
    assert_eq!(ranks(&story, &[1]), [0]);
}

#[test]
fn an_owner_that_never_learns_of_it_is_no_grant() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1).failed();
    assert_eq!(ranks(&story, &[1]), [0]);
    assert_eq!(story.judged().measures.given, 0);
}

#[test]
fn the_newest_grant_of_each_lock_is_known_at_every_place() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(20).client(2).takes_lock("parcels", 100);
    story.at(30).client(3).takes(100);
    let grants = Grants::of(&story.history, 1);
    let mut newest = grants.newest();
    let orders = find(&grants, story.attempt(1)).lock;
    let parcels = find(&grants, story.attempt(2)).lock;
    // Each takes three notes: asks, owner, granted.
    let seen = [0, 1, 2, 4, 5, 7, 8].map(|entry| (newest.before(entry, orders).0, newest.before(entry, parcels).0));
    assert_eq!(seen, [(0, 0), (0, 0), (1, 0), (1, 0), (1, 2), (1, 2), (3, 2)]);
}

#[test]
fn a_client_dies_for_all_that_it_holds_and_for_nothing_that_it_takes_later() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(15).client(2).dies();
    story.at(20).client(1).pauses();
    story.at(30).client(1).dies();
    story.at(40).client(1).restarts().takes(200);
    let grants = Grants::of(&story.history, 1);
    let died = |nth| find(&grants, story.nth_attempt(1, nth)).granted.expect("it was granted").died;
    assert_eq!((died(1), died(2)), (ms(30), SimTime::NEVER));
}

#[test]
fn an_attempt_that_asked_for_nothing_is_no_claim() {
    let story = Story::new();
    let grants = Grants::of(&story.history, 1);
    assert_eq!((grants.len(), grants.given(), grants.locks()), (0, 0, 0));
}

#[test]
fn who_enters_again_what_its_session_owns_ranks_where_that_became_the_owner() {
    let ranks = |heard: bool| {
        let mut story = Story::new();
        story.rules.is_in_sessions = true;
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        story.at(20).client(2).asks("orders");
        if !heard {
            story.at(30).client(2).failed();
        }
        story.at(40).server(1).frees();
        story.at(40).client(2).owned_by(1);
        if heard {
            story.at(45).client(2).granted_for_good();
        }
        story.at(50).client(2).asks("orders").granted_for_good();
        let mut grants = Grants::default();
        grants.fill(&story.history, 1, true);
        let rank = |claim: usize| grants.claims().nth(claim).expect("it asked").1.rank.0;
        ([0, 1, 2].map(rank), grants.given())
    };
    assert_eq!(ranks(true), ([1, 2, 2], 2));
    assert_eq!(ranks(false), ([1, 0, 2], 2));
}
