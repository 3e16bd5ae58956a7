use host::Activity;
use spec::{Note, OpId, Policy, Version};

use super::*;
use crate::testing::{
    REDIS, Told, WORKER_1, WORKER_2, WORKER_3, attempt, ms, paused_at_a_fence, paused_at_an_open_resource,
};

/// The story has that wording, a sentence a line, and no more and no fewer of them than a story should.
#[track_caller]
fn expect_story(told: &Told, property: Property, wording: &str) {
    let sentences = told.tell(|run| story(run, property));
    assert_eq!(sentences.join("\n"), wording.trim_end(), "\n{}\n", sentences.join("\n"));
    assert!((5..=8).contains(&sentences.len()), "{} sentences", sentences.len());
}

/// That sentence is among those of the story.
#[track_caller]
fn expect_sentence(told: &Told, property: Property, sentence: &str) {
    let sentences = told.tell(|run| story(run, property));
    assert!(sentences.iter().any(|one| one == sentence), "\n{}\n", sentences.join("\n"));
    assert!((5..=8).contains(&sentences.len()), "{} sentences", sentences.len());
}

/// Two clients without a fault: the second takes the lock at 5 s, although the first still holds it.
fn granted_twice() -> Told {
    let mut told = Told::new("open");
    told.takes(100, attempt(WORKER_1, 1), 1, Some(10_100));
    told.takes(5_000, attempt(WORKER_2, 1), 2, Some(15_000));
    told
}

#[test]
fn a_paused_holder_at_an_open_resource() {
    expect_story(
        &paused_at_an_open_resource(),
        Property::EffectOrder,
        include_str!("../../tests/golden/story/a-paused-holder-at-an-open-resource.txt"),
    );
}

#[test]
fn a_paused_holder_at_a_resource_that_compares_tokens() {
    expect_story(
        &paused_at_a_fence(),
        Property::BeliefExclusion,
        include_str!("../../tests/golden/story/a-paused-holder-at-a-resource-that-compares-tokens.txt"),
    );
}

#[test]
fn a_servers_clock_that_jumps() {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.fault(("ntp", "step-clock"), &[REDIS], 3_000, 3_000).steps(3_000, REDIS, 20_000);
    told.takes(100, first, 1, Some(10_100)).takes(3_200, second, 2, Some(13_200));
    expect_story(
        &told,
        Property::GrantExclusion,
        include_str!("../../tests/golden/story/a-servers-clock-that-jumps.txt"),
    );
}

#[test]
fn a_write_that_the_network_holds_while_its_sender_is_shot() {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.fault(("held-write", "cut"), &[WORKER_1], 150, 90_150);
    told.fault(("stonith", "kill"), &[WORKER_1], 9_000, 9_000).becomes(9_000, WORKER_1, Activity::Dead);
    told.takes(100, first, 1, Some(10_100)).read(110, first, 0, 0);
    told.checked(150, first, 1).left(151, first, 1);
    told.takes(10_900, second, 2, Some(20_900)).wrote(10_950, second, 1, Some(0), 0).gives_back(11_000, second);
    told.wrote(90_151, first, 1, Some(0), 1);
    expect_story(
        &told,
        Property::NoLostUpdate,
        include_str!("../../tests/golden/story/a-write-that-the-network-holds-while-its-sender-is-shot.txt"),
    );
}

#[test]
fn a_holder_that_is_refused_without_a_fault() {
    let mut told = Told::new("first_only");
    let holder = attempt(WORKER_1, 1);
    told.takes(100, holder, 1, Some(10_100)).checked(110, holder, 0).left(111, holder, 0).read(112, holder, 0, 0);
    told.checked(150, holder, 1).left(151, holder, 1).refused(152, holder, 1);
    expect_story(
        &told,
        Property::RightfulAccepted,
        include_str!("../../tests/golden/story/a-holder-that-is-refused-without-a-fault.txt"),
    );
}

#[test]
fn an_update_lost_to_somebody_who_never_asked() {
    let mut told = Told::new("open");
    let holder = attempt(WORKER_1, 1);
    told.takes(100, holder, 1, None).wrote(200, holder, 0, Some(0), 0).wrote(300, None, 0, Some(0), 1);
    expect_story(
        &told,
        Property::NoLostUpdate,
        include_str!("../../tests/golden/story/an-update-lost-to-somebody-who-never-asked.txt"),
    );
}

#[test]
fn an_update_of_somebody_who_never_asked_is_lost() {
    let mut told = Told::new("open");
    let holder = attempt(WORKER_1, 1);
    told.wrote(50, None, 0, Some(0), 0);
    told.takes(100, holder, 1, None).wrote(200, holder, 0, Some(0), 1);
    let sentence = "Somebody outside any attempt acted at 0.050 s: the write made version 1 of `account`.";
    expect_sentence(&told, Property::NoLostUpdate, sentence);
}

#[test]
fn a_client_that_comes_back_is_told_from_its_former_life() {
    let mut told = Told::new("open");
    let [before, after] = [attempt(WORKER_1, 1), attempt(WORKER_1, 2)];
    told.fault(("crash", "kill"), &[WORKER_1], 1_000, 2_000);
    told.becomes(1_000, WORKER_1, Activity::Dead).becomes(2_000, WORKER_1, Activity::Running);
    told.takes(100, before, 1, Some(10_100)).takes(2_500, after, 2, Some(12_500));
    expect_story(
        &told,
        Property::GrantExclusion,
        include_str!("../../tests/golden/story/a-client-that-comes-back-is-told-from-its-former-life.txt"),
    );
}

#[test]
fn a_client_that_no_server_made_the_owner() {
    let mut told = granted_twice();
    told.asks(6_000, attempt(WORKER_3, 1)).granted(6_001, attempt(WORKER_3, 1), 3, Some(16_000));
    told.read(6_100, attempt(WORKER_2, 1), 0, 0).read(6_200, attempt(WORKER_3, 1), 0, 0);
    let sentence = "At 6.001 s worker-3 took the lock to be its own with token 3, until 16.000 s; no server had made it the owner.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}

#[test]
fn a_client_that_acts_without_a_grant() {
    let mut told = Told::new("open");
    let [holder, other] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(100, holder, 1, Some(10_100)).read(200, holder, 0, 0).asks(300, other).read(400, other, 0, 0);
    expect_sentence(
        &told,
        Property::EffectOrder,
        "At 0.300 s worker-2 asked for the lock (redis) and was not granted it.",
    );
    expect_sentence(
        &told,
        Property::EffectOrder,
        "At 0.400 s the open resource answered the read of worker-2 with version 0 of `account`.",
    );
}

#[test]
fn a_holder_with_a_slow_clock_is_told_on_both_clocks() {
    let mut told = granted_twice();
    told.runs_at(WORKER_1, -500_000);
    let sentence =
        "At 0.101 s worker-1 was granted the lock (redis) with token 1, until 20.200 s (10.100 s on its own clock).";
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
    let sentence = "At 0.101 s worker-1 was granted the lock (redis) with token 1, until 4.100 s; it last extended its lease at 3.001 s, until 7.000 s.";
    expect_sentence(&told, Property::GrantExclusion, sentence);
}

#[test]
fn an_overlap_that_came_to_nothing_at_the_resource() {
    expect_sentence(
        &granted_twice(),
        Property::GrantExclusion,
        "No operation of worker-1 reached the resource after that.",
    );
}

#[test]
fn only_faults_that_hit_something_by_then_are_told() {
    let mut told = granted_twice();
    told.fault(("idle", "pause"), &[WORKER_3], 50, 60).fault(("late", "pause"), &[WORKER_1], 6_000, 7_000);
    told.faults[0].landed = false;
    expect_sentence(&told, Property::GrantExclusion, "No fault had hit anything in use by then.");
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
    told.fault(("ntp", "step-clock"), &[REDIS], 3_500, 3_500).fault(("link", "slow"), &[WORKER_1, REDIS], 3_600, 4_000);
    told.fault(("gone", "kill"), &[WORKER_3], 3_700, None).fault(("odd", "locusts"), &[WORKER_3], 3_800, None);
    expect_sentence(
        &told,
        Property::GrantExclusion,
        "Faults struck: a pause (`hiccup`) on worker-1, 3 times from 1.000 s to 3.000 s; a clock step (`ntp`) on redis-1 at 3.500 s; a slow network (`link`) on links of worker-1 and redis-1 at 3.600 s for 0.400 s; 2 other faults.",
    );
}

#[test]
fn each_kind_of_fault_is_told_in_its_own_way() {
    let tell = |kind: &'static str, until: Option<u64>| {
        let mut told = granted_twice();
        told.fault(("x", kind), &[WORKER_1], 1_000, until);
        told.tell(|run| faults::by(run, ms(5_001))).expect("it landed").1
    };
    assert_eq!(tell("power-off", None), "A loss of power (fault `x`) struck worker-1 at 1.000 s; it never ran again.");
    assert_eq!(
        tell("clock-rate", None),
        "A change of clock rate (fault `x`) struck worker-1 at 1.000 s and was in force to the end of the run."
    );
    assert_eq!(
        tell("cut", Some(1_500)),
        "A cut of the network (fault `x`) struck links of worker-1 at 1.000 s and lasted 0.500 s, until 1.500 s."
    );
    assert_eq!(
        tell("delay", Some(3_000)),
        "A delay of messages (fault `x`) was laid out for worker-1 from 1.000 s to 3.000 s, and one met it."
    );
    assert_eq!(
        tell("drop", None),
        "A loss of messages (fault `x`) was laid out for worker-1 from 1.000 s, and one met it."
    );
    assert_eq!(tell("reset", Some(1_000)), "A reset of connections (fault `x`) struck links of worker-1 at 1.000 s.");
    assert_eq!(tell("locusts", Some(1_000)), "Locusts (fault `x`) struck worker-1 at 1.000 s.");
}

#[test]
fn a_lock_that_had_all_it_needs_is_to_blame() {
    let sentence = "All that redis assumes for this was given by then: the violation is inside its assumptions, and the lock is to blame.";
    expect_sentence(&granted_twice(), Property::GrantExclusion, sentence);
}

#[test]
fn naive_clients_are_not_said_to_have_looked_at_their_clocks() {
    let mut told = paused_at_an_open_resource();
    told.rules.policies.insert(WORKER_1, Policy::Naive);
    let text = told.tell(|run| story(run, Property::EffectOrder)).join(" ");
    assert!(text.contains("decided on at 0.152 s") && !text.contains("looked"), "{text}");
}

#[test]
fn a_run_in_which_all_held() {
    let mut told = Told::new("open");
    let holder = attempt(WORKER_1, 1);
    told.fault(("gc", "pause"), &[WORKER_2], 200, 300);
    told.faults[0].landed = false;
    told.takes(100, holder, 1, Some(10_100)).read(200, holder, 0, 0).gives_back(300, holder);
    let wording = include_str!("../../tests/golden/story/a-run-in-which-all-held.txt");
    assert_eq!(told.tell(holds_story).join("\n"), wording.trim_end());
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
    let sentence = "At 2.200 s, 1.100 s after its lease had ended, the open resource accepted the write of worker-1: based on no version of `account`, it replaced version 1, its own.";
    expect_sentence(&told, Property::EffectOrder, sentence);
}
