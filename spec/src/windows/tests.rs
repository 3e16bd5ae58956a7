use super::*;
use crate::history::Ticking;
use crate::judge::Case;
use crate::testing::{Story, ms};

/// The windows of that client's latest attempt.
fn windows(story: &Story, client: u16) -> Vec<(SimTime, SimTime)> {
    let case = Case::new(&story.history, &story.rules);
    let mut claims = case.grants.claims();
    let (_, claim) = claims.find(|(_, claim)| claim.attempt == story.attempt(client)).expect("the client has asked");
    let mut windows: Vec<_> = case.promised.of_claim(claim).map(|window| (window.from, window.to)).collect();
    windows.reverse();
    windows
}

/// The instant that follows that one.
fn just_after(at: u64) -> SimTime {
    ms(at) + INSTANT
}

#[test]
fn a_window_is_open_from_the_granted_note_to_the_promised_end() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1);
    story.at(12).client(1).granted(100);
    assert_eq!(windows(&story, 1), [(ms(12), ms(100))]);
}

#[test]
fn the_promised_end_is_read_from_the_holders_own_clock() {
    let mut story = Story::new();
    // A clock that counts half a second in a second.
    story.at(0).client(1).runs_at(-500_000).takes(100);
    assert_eq!(windows(&story, 1), [(ms(0), ms(200))]);
    let mut story = Story::new();
    story.at(0).client(1).takes(100);
    story.at(50).client(1).ticks(Ticking::AllButMonotonic);
    story.at(80).client(1).ticks(Ticking::All);
    assert_eq!(windows(&story, 1), [(ms(0), ms(130))]);
}

#[test]
fn a_release_closes_the_window_early_and_the_end_of_the_section_does_not() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(20).client(1).ended();
    story.at(30).client(1).releasing();
    assert_eq!(windows(&story, 1), [(ms(10), ms(30))]);
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(20).client(1).ended();
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))]);
}

#[test]
fn the_death_of_the_holder_ends_no_promise() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(20).client(1).dies();
    story.server(1).frees();
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))]);
}

#[test]
fn a_window_that_is_open_at_the_end_of_the_run_ends_there() {
    let mut story = Story::new();
    story.at(9_000).client(1).takes(12_000);
    assert_eq!(windows(&story, 1), [(ms(9_000), just_after(10_000))]);
}

#[test]
fn only_the_first_granted_note_of_an_attempt_counts() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(40).client(1).releasing();
    story.at(50).client(1).granted(500);
    assert_eq!(windows(&story, 1), [(ms(10), ms(40))]);
}

#[test]
fn a_renewal_that_the_server_executed_moves_the_end() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).client(1).owned_by(1);
    // By the time the client learns of it, the lock may already be another's.
    story.at(51).client(2).asks("orders").owned_by(1);
    story.at(52).client(1).renewed(150);
    assert_eq!(windows(&story, 1), [(ms(10), ms(150))]);
}

#[test]
fn a_renewal_that_found_the_attempt_as_owner_moves_the_end() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(52).client(1).renewed(150);
    story.at(53).client(1).renewed(160);
    assert_eq!(windows(&story, 1), [(ms(10), ms(160))]);
}

#[test]
fn a_renewal_that_found_another_owner_moves_nothing() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(40).client(2).asks("orders").owned_by(1);
    story.at(50).client(1).renewed(150);
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))]);
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(40).server(1).frees();
    story.at(50).client(1).renewed(150);
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))]);
}

#[test]
fn an_ownership_confirmed_for_an_earlier_renewal_is_not_counted_twice() {
    for answer in ["renewed", "failed"] {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(20).client(1).owned_by(1);
        story.at(30).client(2).asks("orders").owned_by(1);
        let client = story.at(40).client(1);
        let _ = if answer == "renewed" { client.renewed(110) } else { client.renewal_failed() };
        story.at(50).client(1).renewed(150);
        let end = if answer == "renewed" { 110 } else { 100 };
        assert_eq!(windows(&story, 1), [(ms(10), ms(end))], "{answer}");
    }
}

#[test]
fn a_renewal_needs_a_quorum_but_not_the_one_that_granted() {
    let mut story = Story::with_servers(3, 2);
    story.at(10).client(1).asks("orders").owned_by(1).owned_by(2).granted_counting([1, 2], Some(100));
    story.at(20).client(2).asks("orders").owned_by(1);
    story.at(30).client(1).renewed(150);
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))], "one server is no quorum");
    story.at(40).client(1).owned_by(3).renewed(160);
    assert_eq!(windows(&story, 1), [(ms(10), ms(160))], "a late grant counts for a renewal");
}

#[test]
fn a_lapsed_lease_that_is_renewed_opens_a_second_window() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(120).client(1).owned_by(1).renewed(200);
    assert_eq!(windows(&story, 1), [(ms(10), ms(100)), (ms(120), ms(200))]);
}

#[test]
fn a_renewal_may_shorten_the_promise_but_not_undo_it() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).client(1).renewed(70);
    assert_eq!(windows(&story, 1), [(ms(10), ms(70))]);
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).client(1).renewed(30);
    assert_eq!(windows(&story, 1), [(ms(10), ms(50))]);
}

#[test]
fn a_renewal_after_the_release_moves_nothing() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(40).client(1).releasing();
    story.at(50).client(1).renewed(150);
    assert_eq!(windows(&story, 1), [(ms(10), ms(40))]);
}

#[test]
fn without_a_lease_the_promise_stands_until_it_is_given_back() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
    // The server forgets it: no excuse, the holder is there.
    story.at(20).server(1).frees();
    story.at(500).client(1).releasing();
    assert_eq!(windows(&story, 1), [(ms(10), ms(500))]);
}

#[test]
fn without_a_lease_a_gone_holders_promise_stands_until_it_is_taken_away() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
    story.at(20).client(1).dies();
    assert_eq!(windows(&story, 1), [(ms(10), just_after(10_000))]);
    story.at(300).server(1).frees();
    assert_eq!(windows(&story, 1), [(ms(10), ms(300))]);
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
    story.at(15).server(1).frees();
    story.at(20).client(1).ended();
    assert_eq!(windows(&story, 1), [(ms(10), ms(20))]);
}

#[test]
fn a_client_that_miscounted_has_been_promised_the_lock_all_the_same() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").granted(100);
    assert_eq!(windows(&story, 1), [(ms(10), ms(100))]);
}

/// A lock that is promised for as long as it is owned.
fn owned() -> Story {
    let mut story = Story::new();
    story.rules.promise = Form::WhileOwned;
    story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
    story
}

#[test]
fn a_promise_for_as_long_as_it_is_owned_ends_with_the_ownership() {
    let mut story = owned();
    story.at(50).server(1).frees();
    assert_eq!(windows(&story, 1), [(ms(10), ms(50))]);
    let mut story = owned();
    story.at(40).client(1).ended().releasing();
    story.at(50).server(1).frees();
    assert_eq!(windows(&story, 1), [(ms(10), ms(40))], "or with the release");
}

#[test]
fn who_does_not_own_it_is_promised_nothing_for_as_long_as_it_does() {
    let mut story = Story::new();
    story.rules.promise = Form::WhileOwned;
    story.at(10).client(1).asks("orders").granted_for_good();
    assert_eq!(windows(&story, 1), []);
    let mut story = Story::new();
    story.rules.promise = Form::WhileOwned;
    story.at(10).client(1).asks("orders").owned_by(1);
    story.at(50).server(1).frees();
    story.at(60).client(1).granted_for_good();
    assert_eq!(windows(&story, 1), [], "the news came too late");
}

#[test]
fn a_member_of_a_cluster_that_dies_takes_nothing_with_it() {
    let mut story = owned();
    story.at(50).server(1).dies();
    story.at(60).server(1).restarts();
    assert_eq!(windows(&story, 1), [(ms(10), just_after(10_000))]);
}

#[test]
fn the_sessions_of_a_server_die_with_it() {
    let mut story = owned();
    story.rules.is_in_sessions = true;
    story.at(50).server(1).dies();
    assert_eq!(windows(&story, 1), [(ms(10), ms(50))]);
    story.at(60).server(1).restarts();
    story.at(70).client(2).asks("orders").owned_by(1).granted_for_good();
    assert_eq!(windows(&story, 1), [(ms(10), ms(50))]);
    assert_eq!(windows(&story, 2), [(ms(70), just_after(10_000))]);
}

/// The margin in ms.
fn margin(story: &Story) -> Option<i64> {
    let margin = story.judged().measures.grant_margin;
    margin.map(|ns| {
        assert_eq!(ns % 1_000_000, 0);
        ns / 1_000_000
    })
}

#[test]
fn the_margin_is_by_how_much_ownership_outlasts_the_promise() {
    for (lost, expected) in [(130, 30), (100, 0), (60, -40)] {
        let mut story = Story::new();
        story.at(10).client(1).takes(100);
        story.at(lost).server(1).frees();
        assert_eq!(margin(&story), Some(expected), "lost at {lost}");
    }
}

#[test]
fn the_margin_is_that_of_the_grant_that_has_the_least_and_of_its_last_promise() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).client(1).owned_by(1).renewed(150);
    story.at(170).server(1).frees();
    assert_eq!(margin(&story), Some(20));
    story.at(180).client(2).takes(200);
    story.at(205).server(1).frees();
    assert_eq!(margin(&story), Some(5));
}

#[test]
fn a_promise_that_was_given_back_in_time_has_no_margin() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(60).client(1).ended().releasing();
    story.at(61).server(1).frees();
    assert_eq!(margin(&story), None);
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).server(1).frees();
    story.at(60).client(1).ended().releasing();
    assert_eq!(margin(&story), Some(-50), "ownership was lost before it was given back");
}

#[test]
fn what_outlasts_the_run_is_counted_to_its_end_and_what_has_no_end_not_at_all() {
    let mut story = Story::new();
    story.at(10).client(1).takes(9_900);
    assert_eq!(story.judged().measures.grant_margin, Some(100_000_001), "the run lasts 10 s and an instant");
    let mut story = Story::new();
    story.at(10).client(1).takes(20_000);
    assert_eq!(margin(&story), None, "neither end came to pass");
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
    story.at(50).server(1).frees();
    assert_eq!(margin(&story), None, "there is no lease");
}

#[test]
fn only_grants_have_a_margin_and_a_lost_quorum_ends_ownership() {
    let mut story = Story::new();
    story.at(10).client(1).asks("orders").granted(100);
    assert_eq!(margin(&story), None, "no server had made it the owner");
    let mut story = Story::with_servers(3, 2);
    story.at(10).client(1).asks("orders").owned_by(1).owned_by(2).granted_counting([1, 2], Some(100));
    story.at(80).server(1).frees();
    story.at(120).server(2).frees();
    assert_eq!(margin(&story), Some(-20));
}
