use host::Duration;

use super::*;
use crate::Property::{BeliefExclusion, GrantExclusion};
use crate::testing::{Story, lasting, ms};

/// A story in which there is one belief, until `expected`.
#[track_caller]
fn expect_belief_until(expected: u64, tell: impl Fn(&mut Story)) {
    expect_belief_to(ms(expected), tell);
}

#[track_caller]
fn expect_belief_to(expected: SimTime, tell: impl Fn(&mut Story)) {
    let mut story = Story::new();
    tell(&mut story);
    let case = Case::new(&story.history, &story.rules);
    let ends: Vec<_> =
        beliefs(&case, case.history.over()).into_iter().filter(Stretch::is_some).map(|belief| belief.to).collect();
    assert_eq!(ends, [expected]);
}

#[test]
fn two_clients_that_believe_at_once_break_it() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(60).client(2).takes(160);
    let broken = story.broken(BeliefExclusion);
    assert_eq!((broken.at, broken.overlap), (ms(60), lasting(40)));
    assert_eq!(broken.attempts, [story.attempt(1), story.attempt(2)]);
    assert_eq!(broken.entries, [2, 5], "the two `granted` notes");
    assert_eq!(Some(story.judged().measures.belief_overlap), lasting(40));
}

#[test]
fn a_belief_that_begins_when_another_ends_does_not_overlap_it() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(100).client(2).takes(160);
    story.holds(BeliefExclusion);
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.just_before(100).client(2).takes(160);
    assert_eq!(story.broken(BeliefExclusion).overlap, Some(Duration::from_nanos(1)));
}

#[test]
fn an_operation_that_was_checked_and_is_held_back_is_believed_in_until_it_leaves() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100).checked();
    story.at(120).client(2).takes(220);
    story.at(150).client(1).left();
    let broken = story.broken(BeliefExclusion);
    assert_eq!((broken.at, broken.overlap), (ms(120), lasting(30)));
    // The promise of the first has run out, so the second is in the right.
    assert_eq!(broken.attempts, [story.attempt(2), story.attempt(1)]);
    story.holds(GrantExclusion);
}

#[test]
fn an_operation_that_left_in_time_is_nothing_to_believe_in_afterwards() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100).checked();
    story.at(99).client(1).left();
    story.at(120).client(2).takes(220);
    story.holds(BeliefExclusion);
}

#[test]
fn a_client_that_looks_believes_until_its_deadline() {
    expect_belief_until(100, |story| {
        story.at(10).client(1).takes(100);
    });
}

#[test]
fn a_check_while_the_belief_lasts_only_extends_it() {
    expect_belief_until(150, |story| {
        story.at(10).client(1).takes(100);
        story.at(90).client(1).checked();
        story.at(150).client(1).left();
    });
}

#[test]
fn a_check_after_the_deadline_begins_another_belief() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(120).client(1).checked();
    story.at(125).client(2).takes(220);
    story.at(130).client(1).left();
    let broken = story.broken(BeliefExclusion);
    assert_eq!((broken.at, broken.overlap), (ms(125), lasting(5)));
    assert_eq!(broken.entries, [6, 3], "the newer grant, and the check of the older");
}

#[test]
fn a_naive_client_believes_to_the_end_of_its_section() {
    expect_belief_until(300, |story| {
        story.policy(1, Policy::Naive);
        story.at(10).client(1).takes(100);
        story.at(300).client(1).ended();
        story.at(310).client(1).releasing();
    });
}

#[test]
fn a_client_that_looks_only_at_checks_believes_until_one_ends_its_section() {
    expect_belief_until(300, |story| {
        story.policy(1, Policy::AtChecks);
        story.at(10).client(1).takes(100);
        story.at(300).client(1).ended();
        story.at(310).client(1).releasing();
    });
}

#[test]
fn a_client_with_a_margin_stops_earlier() {
    expect_belief_until(75, |story| {
        story.policy(1, Policy::Margin(Duration::from_millis(25)));
        story.at(10).client(1).takes(100);
    });
    let mut story = Story::new();
    story.policy(1, Policy::Margin(Duration::from_millis(95)));
    story.at(10).client(1).takes(100);
    let case = Case::new(&story.history, &story.rules);
    assert!(!beliefs(&case, story.history.over()).iter().any(Stretch::is_some), "it never believed");
}

#[test]
fn the_deadline_is_read_from_the_clients_own_clock() {
    expect_belief_until(200, |story| {
        story.at(0).client(1).runs_at(-500_000).takes(100);
    });
}

#[test]
fn a_client_without_a_lease_believes_to_the_end_of_its_section() {
    expect_belief_until(300, |story| {
        story.at(10).client(1).asks("orders").owned_by(1).granted_for_good();
        story.at(300).client(1).ended();
    });
}

#[test]
fn a_belief_that_is_open_at_the_end_of_the_run_ends_there() {
    // Its last instant included: things still happen in it.
    expect_belief_to(SimTime::from_nanos(10_000_000_001), |story| {
        story.at(10).client(1).takes(100).checked();
    });
}

#[test]
fn an_operation_that_never_leaves_is_believed_in_to_the_end_of_the_section() {
    expect_belief_until(400, |story| {
        story.at(10).client(1).takes(100).checked().checked();
        story.at(20).client(1).left();
        story.at(400).client(1).ended();
    });
}

#[test]
fn a_second_check_of_the_same_operation_is_settled_by_the_one_departure() {
    expect_belief_until(100, |story| {
        story.at(10).client(1).takes(100).checked();
        let check = story.history.entries[story.last_but(0)].clone();
        story.history.entries.push(check);
        story.at(20).client(1).left();
    });
}

#[test]
fn a_renewal_moves_the_deadline_whatever_servers_say() {
    expect_belief_until(180, |story| {
        story.at(10).client(1).takes(100);
        story.at(20).server(1).frees();
        story.at(50).client(1).renewed(180);
    });
    expect_belief_until(60, |story| {
        story.at(10).client(1).takes(100);
        story.at(50).client(1).renewed(60);
    });
}

#[test]
fn a_renewal_while_an_operation_is_held_back_leaves_no_gap() {
    expect_belief_until(200, |story| {
        story.at(10).client(1).takes(100).checked();
        story.at(150).client(1).renewed(200);
        story.at(160).client(1).left();
    });
}

#[test]
fn the_news_of_a_loss_ends_the_belief_for_good() {
    expect_belief_until(50, |story| {
        story.policy(1, Policy::Naive);
        story.at(10).client(1).takes(100);
        story.at(50).client(1).told_of_loss();
        story.at(60).client(1).renewed(180);
    });
}

#[test]
fn the_news_of_a_loss_calls_no_operation_back() {
    expect_belief_until(70, |story| {
        story.at(10).client(1).takes(100);
        story.at(40).client(1).checked();
        story.at(50).client(1).told_of_loss();
        story.at(70).client(1).left();
    });
}

#[test]
fn a_pause_ends_no_belief_and_a_death_does() {
    expect_belief_until(100, |story| {
        story.at(10).client(1).takes(100);
        story.at(20).client(1).pauses();
        story.at(30).client(1).resumes();
    });
    expect_belief_until(20, |story| {
        story.at(10).client(1).takes(100).checked();
        story.at(20).client(1).dies();
    });
}

#[test]
fn nothing_is_believed_before_the_grant() {
    expect_belief_until(100, |story| {
        story.at(10).client(1).asks("orders").checked();
        story.at(20).client(1).owned_by(1).granted(100);
    });
}

#[test]
fn nothing_is_believed_after_the_section() {
    expect_belief_until(50, |story| {
        story.at(10).client(1).takes(100);
        story.at(50).client(1).ended();
        story.at(60).client(1).renewed(180).checked();
        story.at(70).client(1).left();
    });
}

#[test]
fn who_ends_its_section_at_once_has_believed_for_an_instant() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(50).client(2).takes(160).ended();
    assert_eq!(story.broken(BeliefExclusion).at, ms(50));
    // Its deadline had passed before it was granted: it believes nothing, not even for an instant.
    let mut story = Story::new();
    story.at(60).client(1).takes(100);
    story.at(80).client(2).takes(70).ended();
    story.holds(BeliefExclusion);
}

#[test]
fn a_client_does_not_exclude_itself() {
    let mut story = Story::new();
    story.policy(1, Policy::Naive);
    story.at(10).client(1).takes(100);
    story.at(60).client(1).takes(160);
    story.holds(BeliefExclusion);
}

#[test]
fn beliefs_in_different_locks_do_not_meet() {
    let mut story = Story::new();
    story.at(10).client(1).takes(100);
    story.at(60).client(2).takes_lock("parcels", 160);
    story.holds(BeliefExclusion);
}
