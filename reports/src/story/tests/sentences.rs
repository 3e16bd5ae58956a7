//! Single sentences of stories, and what must not be in them.

use spec::{Authorities, Note, OpId, Policy, Version};

use super::*;
use crate::run::Failed;

#[test]
fn an_update_of_somebody_who_never_asked_is_lost() {
    let mut told = Told::new("open");
    let holder = attempt(WORKER_1, 1);
    told.wrote(50, None, 0, Some(0), 0);
    told.takes(100, holder, 1, None).wrote(200, holder, 0, Some(0), 1);
    let sentence = "At 0.050 s somebody outside any attempt wrote version 1 of `account`.";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
}

#[test]
fn a_client_that_no_server_made_the_owner() {
    let mut told = granted_twice();
    told.asks(6_000, attempt(WORKER_3, 1)).granted(6_001, attempt(WORKER_3, 1), 3, Some(16_000));
    told.read(6_100, attempt(WORKER_2, 1), 0, 0).read(6_200, attempt(WORKER_3, 1), 0, 0);
    let sentence = "At 6.001 s worker-3, which no server had made the owner, took the lock to be its own with token 3, until 16.000 s.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}

#[test]
fn a_client_that_acts_without_a_grant() {
    let mut told = Told::new("open");
    let [holder, other] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, holder, 1, Some(10_100)).read(200, holder, 0, 0).asks(300, other).read(400, other, 0, 0);
    expect_sentence(&told, Property::EffectOrder, "At 0.300 s worker-2 asked for the lock and was not granted it.");
    expect_sentence(
        &told,
        Property::EffectOrder,
        "At 0.400 s the open resource answered the read of worker-2 with version 0 of `account`, after the read of worker-1 at 0.200 s.",
    );
}

#[test]
fn a_holder_with_a_slow_clock_is_told_on_both_clocks() {
    let mut told = granted_twice();
    told.runs_at(WORKER_1, -500_000);
    let sentence =
        "At 0.101 s worker-1 was granted the redis lock with token 1, until 20.200 s (10.100 s on its own clock).";
    expect_sentence(&told, Property::GrantExclusion, sentence);
}

#[test]
fn what_became_of_a_grant_is_told_as_far_as_it_had_come() {
    let mut told = granted_twice();
    told.history.entries.clear();
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, first, 1, Some(4_100)).owns(3_000, first).renewed(3_001, first, 7_000);
    told.takes(5_000, second, 2, Some(15_000)).renewed(6_000, first, 9_000);
    told.note(9_000, WORKER_1, Note::ToldOfLoss { attempt: first });
    let sentence = "At 0.101 s worker-1 was granted the redis lock with token 1, and last extended its lease at 3.001 s, until 7.000 s.";
    expect_sentence(&told, Property::GrantExclusion, sentence);
}

#[test]
fn an_overlap_that_came_to_nothing_at_the_resource() {
    expect_sentence(
        &granted_twice(),
        Property::GrantExclusion,
        "No operation of worker-1 reached the resource after that; for up to 5.099 s both believed they held the lock.",
    );
}

#[test]
fn only_faults_that_hit_something_by_then_are_told() {
    let mut told = granted_twice();
    told.fault(("idle", "pause"), &[WORKER_3], 50, 60).fault(("late", "pause"), &[WORKER_1], 6_000, 7_000);
    told.faults[0].landed = false;
    expect_sentence(&told, Property::GrantExclusion, "By 5.001 s no fault had hit anything in use.");
}

#[test]
fn a_fault_that_strikes_often_and_many_faults_are_told_in_short() {
    let mut told = granted_twice();
    for from in [1_000, 2_000, 3_000] {
        told.fault(("hiccup", "pause"), &[WORKER_1], from, from + 100);
    }
    expect_sentence(
        &told,
        Property::GrantExclusion,
        "Faults struck: a pause (`hiccup`) on worker-1, 3 times from 1.000 s to 3.000 s.",
    );
    told.fault(("ntp", "step-clock"), &[REDIS], 3_500, 3_500).steps(3_500, REDIS, 1_000);
    told.fault(("link", "slow"), &[WORKER_1, REDIS], 3_600, 4_000);
    expect_sentence(
        &told,
        Property::GrantExclusion,
        "Faults struck: a pause (`hiccup`) on worker-1, 3 times from 1.000 s to 3.000 s; a clock step (`ntp`) on redis-1 at 3.500 s, ahead by 1.000 s; a slow network (`link`) on links of worker-1 and redis-1 at 3.600 s for 0.400 s.",
    );
    told.fault(("gone", "kill"), &[WORKER_3], 3_700, None);
    expect_sentence(
        &told,
        Property::GrantExclusion,
        "Faults struck: a pause (`hiccup`) on worker-1, 3 times from 1.000 s to 3.000 s; a clock step (`ntp`) on redis-1 at 3.500 s, ahead by 1.000 s; 2 other faults.",
    );
}

#[test]
fn each_kind_of_fault_is_told_in_its_own_way() {
    let tell = |kind: &'static str, until: Option<u64>| {
        let mut told = granted_twice();
        told.fault(("x", kind), &[WORKER_1], 1_000, until);
        told.tell(|run| faults::by(run, ms(5_001)).expect("it landed").words)
    };
    assert_eq!(tell("power-off", None), "At 1.000 s a loss of power (fault `x`) struck worker-1; it never ran again");
    assert_eq!(
        tell("clock-rate", None),
        "At 1.000 s a change of clock rate (fault `x`) struck worker-1 to the end of the run"
    );
    assert_eq!(
        tell("cut", Some(1_500)),
        "At 1.000 s a cut of the network (fault `x`) struck links of worker-1 for 0.500 s"
    );
    assert_eq!(
        tell("delay", Some(3_000)),
        "From 1.000 s to 3.000 s a delay of messages (fault `x`) was laid out for worker-1, and one met it"
    );
    assert_eq!(
        tell("drop", None),
        "From 1.000 s a loss of messages (fault `x`) was laid out for worker-1, and one met it"
    );
    assert_eq!(tell("reset", Some(1_000)), "At 1.000 s a reset of connections (fault `x`) struck links of worker-1");
    assert_eq!(tell("locusts", Some(1_000)), "At 1.000 s locusts (fault `x`) struck worker-1");
}

#[test]
fn a_lock_that_had_all_it_needs_is_to_blame() {
    let sentence = "That breaks grant-exclusion and belief-exclusion, inside the assumptions of redis: the lock, or its use, is to blame.";
    expect_sentence(&granted_twice(), Property::GrantExclusion, sentence);
}

#[test]
fn a_lock_is_to_blame_for_what_is_inside_its_assumptions_and_for_nothing_else() {
    let mut told = granted_twice();
    told.wrote(6_000, attempt(WORKER_2, 1), 0, Some(0), 0).wrote(6_100, attempt(WORKER_1, 1), 0, Some(0), 1);
    let sentence = "That breaks grant-exclusion and belief-exclusion inside the assumptions of redis, so that the lock, or its use, is to blame, and no-lost-update and effect-order outside them: the resource has no sound fence (resource-checks-tokens).";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
}

#[test]
fn without_a_lock_no_lock_is_to_blame() {
    let mut told = granted_twice();
    told.wrote(6_000, attempt(WORKER_2, 1), 0, Some(0), 0).wrote(6_100, attempt(WORKER_1, 1), 0, Some(0), 1);
    let short = told.tell(|run| short_story(&JudgedRun { lock: "none", ..*run }, Property::NoLostUpdate));
    let last = short.last().expect("a story has sentences");
    assert!(last.ends_with(": nothing but the resource could have kept them apart."), "{last}");
    assert!(!last.contains("assumptions"), "{last}");
}

#[test]
fn what_others_broke_is_told_apart() {
    let mut told = Told::new("first_only");
    let earlier = attempt(WORKER_3, 1);
    told.takes(10, earlier, 7, Some(10_010)).refused(20, earlier, 0).gives_back(30, earlier);
    told.takes(100, attempt(WORKER_1, 1), 8, Some(10_100)).takes(5_000, attempt(WORKER_2, 1), 9, Some(15_000));
    let sentence = "That breaks grant-exclusion and belief-exclusion, inside the assumptions of redis: the lock, or its use, is to blame; the run also breaks rightful-accepted.";
    expect_sentence(&told, Property::GrantExclusion, sentence);
    told.wrote(6_000, attempt(WORKER_2, 1), 0, Some(0), 0).wrote(6_100, attempt(WORKER_1, 1), 0, Some(0), 1);
    let text = told.tell(|run| short_story(run, Property::NoLostUpdate)).join(" ");
    assert!(text.ends_with("; the run also breaks rightful-accepted."), "{text}");
}

#[test]
fn two_others_who_overlapped_are_told_apart() {
    let mut told = granted_twice();
    told.takes(20_000, attempt(WORKER_3, 1), 3, Some(30_000)).read(20_001, attempt(WORKER_3, 1), 0, 0);
    told.read(20_002, attempt(WORKER_2, 1), 0, 0);
    let text = told.tell(|run| short_story(run, Property::EffectOrder)).join(" ");
    assert!(text.ends_with("; the run also breaks grant-exclusion and belief-exclusion."), "{text}");
}

#[test]
fn a_lock_that_rests_on_nothing_is_to_blame_for_what_an_open_resource_let_in() {
    let mut told = paused_at_an_open_resource();
    told.rules.needs.clear();
    let sentence = "That breaks no-lost-update, belief-exclusion and effect-order, inside the assumptions of redis: the lock, or its use, is to blame.";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
    told.rules.needs = [(Property::BeliefExclusion, vec![Assumption::PauseWithinValidity])].into();
    let text = told.tell(|run| short_story(run, Property::NoLostUpdate)).join(" ");
    assert!(text.contains("so that the lock, or its use, is to blame"), "{text}");
}

#[test]
fn a_resource_that_compares_tokens_shares_the_blame_for_what_it_let_in() {
    let mut told = Told::new("fence_rw");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, first, 1, Some(1_100)).takes(2_000, second, 2, Some(12_000));
    told.read(2_100, second, 0, 0).read(2_200, first, 0, 0);
    let sentence = "That breaks effect-order, inside the assumptions of redis: the lock, its use or the resource's check is to blame.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}

#[test]
fn a_belief_that_came_to_nothing_is_told_with_its_length_once() {
    let mut told = paused_at_an_open_resource();
    let stale = attempt(WORKER_1, 1);
    told.history.entries.retain(|entry| entry.at < ms(15_152) || entry.note.attempt() != Some(stale));
    expect_sentence(
        &told,
        Property::BeliefExclusion,
        "At 10.214 s worker-2 was granted the lock with token 34, until 20.213 s; at 10.214 s both believed they held it, though it was never promised to both at once.",
    );
    expect_sentence(
        &told,
        Property::BeliefExclusion,
        "No operation of worker-1 reached the resource after that; for up to 9.999 s both believed they held the lock.",
    );
}

#[test]
fn two_that_share_have_it_at_once() {
    let mut told = granted_twice();
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.wrote(6_100, Some(first), 0, Some(0), 0).wrote(6_200, Some(second), 1, Some(0), 1).all_share();
    let sentence = "At 5.001 s worker-2 was granted the lock with token 2, until 15.000 s; the two share it.";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
    let said = told.tell(holds_story);
    assert!(said.iter().any(|sentence| sentence.contains("promised to two at once that do not share it")), "{said:?}");
}

#[test]
fn who_has_another_key_has_another_lock() {
    let mut told = granted_twice();
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.wrote(6_100, Some(first), 0, Some(0), 0).wrote(6_200, Some(second), 1, Some(0), 1);
    told.asked_for(second, "parcels");
    let sentence = "At 5.001 s worker-2 was granted the lock with token 2, until 15.000 s; `orders` and `parcels` are two locks, and neither keeps out who has the other.";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
}

#[test]
fn of_two_who_are_not_the_first_to_overlap_nothing_is_said_about_promises() {
    let mut told = granted_twice();
    let [second, third] = [attempt(WORKER_2, 1), attempt(WORKER_3, 1)];
    told.takes(6_000, third, 3, Some(16_000)).read(6_100, third, 0, 0).read(6_200, second, 0, 0);
    let sentence = "At 6.001 s worker-3 was granted the lock with token 3, until 16.000 s.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}

#[test]
fn an_operation_that_the_fault_did_not_hold_up_is_not_told_with_it() {
    let mut told = paused_at_an_open_resource();
    // The pause begins before the decision, or ends after the write has left.
    for (from, until) in [(151, 15_152), (152, 15_153)] {
        told.faults[0].from = ms(from);
        told.faults[0].until = Some(ms(until));
        let text = told.tell(|run| short_story(run, Property::NoLostUpdate)).join(" ");
        assert!(!text.contains("before the write left") && text.contains("decided on at 0.152 s:"), "{text}");
    }
    let mut told = held_write();
    // The cut ends after the write has arrived.
    told.faults[0].until = Some(ms(90_152));
    let text = told.tell(|run| short_story(run, Property::NoLostUpdate)).join(" ");
    assert!(!text.contains("on its way") && text.contains("sent at 0.151 s:"), "{text}");
}

#[test]
fn the_grant_before_is_told_only_where_it_may_be_the_reason() {
    let mut told = Told::new("fence_rw");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(10, first, 1, Some(10_010)).gives_back(20, first);
    told.takes(100, second, 2, Some(10_100)).read(110, second, 0, 0).refused(120, second, 1);
    let sentence = "No newer grant came before the refusal, so that worker-2 was the rightful holder.";
    expect_sentence(&told, Property::RightfulAccepted, sentence);
    // As if its read had never come: the grant before is of the same lock, or it is none.
    told.history.entries.retain(|entry| !matches!(entry.note, Note::Read { .. }));
    let text = told.tell(|run| short_story(run, Property::RightfulAccepted)).join(" ");
    assert!(text.starts_with("At 0.011 s worker-1 was granted"), "{text}");
    let asks = told.history.entries.iter_mut().find_map(|entry| match &mut entry.note {
        Note::Attempting { lock, .. } => Some(lock),
        _ => None,
    });
    *asks.expect("somebody asks") = "parcels".into();
    expect_sentence(&told, Property::RightfulAccepted, sentence);
}

#[test]
fn naive_clients_are_not_said_to_have_looked_at_their_clocks() {
    let mut told = paused_at_an_open_resource();
    told.rules.policies.insert(WORKER_1, Policy::Naive);
    let text = told.tell(|run| story(run, Property::EffectOrder)).join(" ");
    assert!(text.contains("decided on its write") && !text.contains("looked"), "{text}");
}

#[test]
fn what_was_not_decided_is_not_said_to_hold() {
    let mut told = Told::new("open");
    told.history.ending = Ending::Budget;
    let sentences = told.tell(holds_story);
    assert!(sentences.iter().all(|sentence| !sentence.contains("held")), "{sentences:?}");
    let names = "grant-exclusion, belief-exclusion, effect-order, no-lost-update and rightful-accepted";
    let undecided = format!("Not decided, since the event budget was spent at 60.000000000s: {names}.");
    assert!(sentences.contains(&undecided), "{sentences:?}");
}

#[test]
fn a_story_of_what_did_not_break_says_so() {
    let told = paused_at_a_fence();
    let text = told.tell(|run| story(run, Property::EffectOrder));
    assert_eq!(text, told.tell(holds_story));
    assert!(text.contains(&"Broken at 10.214 s: belief-exclusion.".to_owned()), "{text:?}");
}

#[test]
fn who_wrote_another_object_is_no_predecessor() {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, first, 1, Some(1_100)).wrote(200, first, 0, Some(0), 0);
    told.takes(2_000, second, 2, Some(12_000));
    let (op, object) = (OpId(0), "parcels".into());
    let (based_on, replaced) = (None, Version(0));
    told.note(2_100, WORKER_2, Note::Wrote { attempt: Some(second), op, object, based_on, replaced });
    told.wrote(2_200, first, 1, None, 1);
    let sentence = "At 2.200 s, 1.100 s after the lease of worker-1 had ended, the open resource accepted its write, after the write of worker-2 at 2.100 s: based on no version, it replaced version 1 of `account`, its own.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}

#[test]
fn why_servers_refused_is_told_of_a_run_in_which_all_held() {
    let mut told = Told::new("open");
    told.takes(100, attempt(WORKER_1, 1), 1, Some(10_100)).gives_back(300, attempt(WORKER_1, 1));
    let index = || Failed::Statement(Some("create index concurrently".to_owned()));
    told.error(200, WORKER_1, index(), "deadlock detected").error(400, WORKER_2, index(), "deadlock detected");
    told.error(500, WORKER_2, Failed::Session, "idle for too long").error(
        600,
        WORKER_2,
        Failed::Statement(None),
        "cancelled",
    );
    let sentences = told.tell(holds_story);
    assert_eq!(
        sentences[2..5],
        [
            "From 0.200 s to 0.400 s `create index concurrently` of worker-1 and worker-2 failed 2 times at redis-1 (40P01): deadlock detected.",
            "At 0.500 s a session of worker-2 was ended by redis-1 (40P01): idle for too long.",
            "From 0.600 s on servers answered with 1 other error.",
        ]
    );
}

#[test]
fn of_a_violation_only_errors_before_it_and_of_who_is_involved_are_told() {
    let mut told = granted_twice();
    told.error(4_000, WORKER_2, Failed::Session, "idle for too long");
    told.error(4_100, WORKER_2, Failed::Session, "idle for too long");
    told.error(4_000, WORKER_3, Failed::Session, "of no interest").error(6_000, WORKER_1, Failed::Session, "too late");
    let short = told.tell(|run| short_story(run, Property::GrantExclusion));
    assert_eq!(short.len(), 6, "{short:#?}");
    assert_eq!(
        short[1],
        "From 4.000 s to 4.100 s 2 sessions of worker-2 were ended by redis-1 (40P01): idle for too long."
    );
}

#[test]
fn who_comes_on_the_session_that_has_the_lock_is_counted_once_more() {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, first, 1, None).asks(200, second).granted(201, second, 2, None);
    told.enters_again = true;
    let sentence = "At 0.201 s worker-2, on the session that had it for worker-1, was counted again by redis-1 and so granted the lock with token 2, until it gives it back; ";
    let starts = |told: &Told| {
        let (short, _) = both_stories(told, Property::BeliefExclusion);
        short.iter().any(|one| one.starts_with(sentence))
    };
    assert!(starts(&told));
    told.enters_again = false;
    assert!(!starts(&told), "another lock lets nobody in once more");
    told.enters_again = true;
    for entry in &mut told.history.entries {
        if let Note::Granted { counted, .. } = &mut entry.note {
            *counted = Authorities::one(WORKER_3);
        }
    }
    assert!(!starts(&told), "what a server has that it did not ask does not matter");
}
