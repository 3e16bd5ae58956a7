//! What a lock promises beside exclusion: broken by one thing each, and held by what is not broken.

use super::*;

/// The head of a file with these tables.
pub(super) fn world(tables: &str) -> String {
    format!("name = \"m\"\ntitle = \"m\"\nsource = \"own\"\nhorizon = \"40s\"\nlock = \"redis\"\n{tables}")
}

/// A works for longer than its lease, and gives back what is B's by then.
pub(super) const LATE: &str = r#"
[client.A]
policy = "naive"
do = ["acquire", { at = "12s" }, "release"]
[client.B]
do = [{ at = "10500ms" }, "acquire", { at = "18s" }, "release"]
"#;

/// A is through at 1 s, and B waits for the lock.
pub(super) const WAITING: &str = r#"
ttl = "none"
bounds = { progress = "5s", leak = "20s" }
[client.A]
do = ["acquire", { at = "1s" }, "release"]
[client.B]
do = [{ at = "500ms" }, "acquire", "release"]
"#;

/// Two clients take turns, and whoever is through leaves the other time to come in.
pub(super) const ALTERNATING: &str = r#"
bounds = { overtakes = 1 }
[client.worker]
count = 2
rounds = 8
do = ["acquire", { sleep = "100ms" }, "release", { sleep = "1s" }]
"#;

/// Of two that are to make one charge, the second finds the lock taken and leaves.
pub(super) const CHARGE: &str = r#"
[client.worker]
count = 2
do = [{ acquire = { wait = "0s" } }, { sleep = "1s" }, { effect = "charge" }, "release"]
"#;

/// A keeps the lock for as long as it was promised.
pub(super) const HOLDING: &str = r#"
bounds = { inform = "2s" }
[client.A]
do = ["acquire", "hold"]
"#;

/// A takes x and then y; B takes two locks in that order. Nothing else is wrong.
pub(super) fn transfer([first, second]: [&str; 2]) -> String {
    let takes = |one: &str, other: &str| {
        format!(
            r#"do = [
                {{ acquire = {{ key = "{one}" }} }}, {{ sleep = "100ms" }}, {{ acquire = {{ key = "{other}" }} }},
                {{ release = {{ as = "{other}" }} }}, {{ release = {{ as = "{one}" }} }},
            ]"#
        )
    };
    format!("ttl = \"none\"\n[client.A]\n{}\n[client.B]\n{}\n", takes("x", "y"), takes(first, second))
}

/// How the lock comes out with that fault, at an open resource.
fn of(tables: &str, fault: Wrong) -> Vec<(Property, u64)> {
    broken(&world(tables), fault, open)
}

#[test]
fn a_lock_that_deletes_without_a_look_breaks_owner_release() {
    assert_eq!(of(LATE, Wrong::Nothing), [(BeliefExclusion, 20)]);
    assert_eq!(of(LATE, Wrong::DeletesWithoutALook), [(BeliefExclusion, 20), (OwnerRelease, 20), (NoNeedlessLoss, 20)]);
}

#[test]
fn a_lock_that_is_never_given_back_breaks_progress_and_is_leaked() {
    assert_eq!(of(WAITING, Wrong::Nothing), []);
    assert_eq!(of(WAITING, Wrong::KeepsTheKey), [(NoLeak, 20), (Progress, 20)]);
    let with_lease = WAITING.replace("\"none\"", "\"10s\"");
    assert_eq!(of(&with_lease, Wrong::KeepsTheKey), [(Progress, 20)], "the lease ends it");
}

#[test]
fn a_lock_that_promises_more_than_it_has_leaves_its_holder_uninformed() {
    assert_eq!(of(HOLDING, Wrong::Nothing), []);
    assert_eq!(of(HOLDING, Wrong::PromisesTwice), [(HolderInformed, 20), (NoNeedlessLoss, 20)]);
}

#[test]
fn a_lock_that_asks_the_less_the_longer_it_waits_breaks_fairness() {
    assert_eq!(of(ALTERNATING, Wrong::Nothing), []);
    assert_eq!(of(ALTERNATING, Wrong::LosesHeart), [(Fairness, 20)]);
}

#[test]
fn a_lock_that_takes_no_for_yes_lets_a_charge_be_made_twice() {
    assert_eq!(of(CHARGE, Wrong::Nothing), []);
    assert!(of(CHARGE, Wrong::TakesNoForYes).contains(&(SingleEffect, 20)));
}

/// The lock is sound, and has nothing against clients that take two in opposite order.
#[test]
fn clients_that_cross_break_no_deadlock() {
    assert_eq!(of(&transfer(["x", "y"]), Wrong::Nothing), []);
    assert_eq!(of(&transfer(["y", "x"]), Wrong::Nothing), [(NoDeadlock, 20)]);
}
