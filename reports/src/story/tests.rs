use host::Activity;

use super::*;
use crate::testing::{
    REDIS, Told, WORKER_1, WORKER_2, WORKER_3, attempt, ms, paused_at_a_fence, paused_at_an_open_resource,
};

/// The story has that wording, a sentence a line, its details indented.
#[track_caller]
fn expect_story(told: &Told, property: Property, wording: &str) {
    let (short, full) = both_stories(told, property);
    let lines: Vec<_> =
        full.iter().map(|one| if short.contains(one) { one.clone() } else { format!("  {one}") }).collect();
    assert_eq!(lines.join("\n"), wording.trim_end(), "\n{}\n", lines.join("\n"));
    assert_eq!(short.len(), 5, "{short:#?}");
}

/// That sentence is among the five of the story.
#[track_caller]
fn expect_sentence(told: &Told, property: Property, sentence: &str) {
    let (short, _) = both_stories(told, property);
    assert!(short.iter().any(|one| one == sentence), "\n{}\n", short.join("\n"));
}

/// The short story and the full one: the full one is the short one and details, and nobody runs out of
/// breath.
#[track_caller]
fn both_stories(told: &Told, property: Property) -> (Vec<String>, Vec<String>) {
    let (short, full) = (told.tell(|run| short_story(run, property)), told.tell(|run| story(run, property)));
    let mut rest = full.iter();
    assert!(short.iter().all(|one| rest.any(|other| one == other)), "{short:#?}\n{full:#?}");
    assert!((4..=5).contains(&short.len()) && full.len() <= 8, "{full:#?}");
    for sentence in &short {
        // A figure and its unit are one word.
        let words = sentence.split(' ').filter(|word| word.trim_matches([',', ';', ':', '.']) != "s").count();
        assert!(words <= 40, "{words} words: {sentence}");
        assert!(sentence.ends_with('.') && !sentence.contains("  "), "{sentence}");
    }
    (short, full)
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
        Property::NoLostUpdate,
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

/// The network keeps the first holder's write from 0.15 s to 90.15 s.
fn held_write() -> Told {
    let mut told = Told::new("open");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.fault(("held-write", "cut"), &[WORKER_1], 150, 90_150);
    told.takes(100, first, 1, Some(10_100)).read(110, first, 0, 0);
    told.checked(150, first, 1).left(151, first, 1);
    told.takes(10_900, second, 2, Some(20_900)).wrote(10_950, second, 1, Some(0), 0).gives_back(11_000, second);
    told.wrote(90_151, first, 1, Some(0), 1);
    told
}

#[test]
fn a_write_that_the_network_holds() {
    expect_story(
        &held_write(),
        Property::NoLostUpdate,
        include_str!("../../tests/golden/story/a-write-that-the-network-holds.txt"),
    );
}

#[test]
fn a_write_that_the_network_holds_while_its_sender_is_shot() {
    let mut told = held_write();
    told.fault(("stonith", "kill"), &[WORKER_1], 9_000, 9_000).becomes(9_000, WORKER_1, Activity::Dead);
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
fn a_holder_that_is_refused_at_once_is_told_with_the_grant_before() {
    let mut told = Told::new("fence_rw");
    let [first, second] = [attempt(WORKER_1, 1), attempt(WORKER_2, 1)];
    told.takes(10, attempt(WORKER_3, 1), 900, Some(50)).takes(100, first, 500, Some(10_100)).read(110, first, 0, 0);
    told.gives_back(120, first).takes(200, second, 20, Some(10_200)).refused(210, second, 0);
    expect_story(
        &told,
        Property::RightfulAccepted,
        include_str!("../../tests/golden/story/a-holder-that-is-refused-at-once.txt"),
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
fn a_run_in_which_all_held() {
    let mut told = Told::new("open");
    let holder = attempt(WORKER_1, 1);
    told.fault(("gc", "pause"), &[WORKER_2], 200, 300);
    told.faults[0].landed = false;
    told.takes(100, holder, 1, Some(10_100)).read(200, holder, 0, 0).gives_back(300, holder);
    let wording = include_str!("../../tests/golden/story/a-run-in-which-all-held.txt");
    assert_eq!(told.tell(holds_story).join("\n"), wording.trim_end());
}

mod promise;
mod sentences;
