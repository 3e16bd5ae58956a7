//! What a lock promises beside exclusion: broken by one thing each, and held by what is not broken.

use super::*;

/// The head of a file with these tables.
fn world(tables: &str) -> String {
    format!("name = \"m\"\ntitle = \"m\"\nsource = \"own\"\nhorizon = \"40s\"\nlock = \"redis\"\n{tables}")
}

/// How the lock comes out with that fault, at an open resource.
fn of(tables: &str, fault: Wrong) -> Vec<(Property, u64)> {
    broken(&world(tables), fault, open)
}

/// A works for longer than its lease, and gives back what is B's by then.
#[test]
fn a_lock_that_deletes_without_a_look_breaks_owner_release() {
    let late = r#"
        [client.A]
        policy = "naive"
        do = ["acquire", { at = "12s" }, "release"]
        [client.B]
        do = [{ at = "10500ms" }, "acquire", { at = "18s" }, "release"]
        "#;
    assert_eq!(of(late, Wrong::Nothing), [(BeliefExclusion, 20)]);
    assert_eq!(of(late, Wrong::DeletesWithoutALook), [(BeliefExclusion, 20), (OwnerRelease, 20), (NoNeedlessLoss, 20)]);
}

/// A is through at 1 s, and B waits for the lock.
#[test]
fn a_lock_that_is_never_given_back_breaks_progress_and_is_leaked() {
    let waiting = r#"
        ttl = "none"
        bounds = { progress = "5s", leak = "20s" }
        [client.A]
        do = ["acquire", { at = "1s" }, "release"]
        [client.B]
        do = [{ at = "500ms" }, "acquire", "release"]
        "#;
    assert_eq!(of(waiting, Wrong::Nothing), []);
    assert_eq!(of(waiting, Wrong::KeepsTheKey), [(NoLeak, 20), (Progress, 20)]);
    let with_lease = waiting.replace("\"none\"", "\"10s\"");
    assert_eq!(of(&with_lease, Wrong::KeepsTheKey), [(Progress, 20)], "the lease ends it");
}

/// A keeps the lock for as long as it was promised.
#[test]
fn a_lock_that_promises_more_than_it_has_leaves_its_holder_uninformed() {
    let holding = "bounds = { inform = \"2s\" }\n[client.A]\ndo = [\"acquire\", \"hold\"]\n";
    assert_eq!(of(holding, Wrong::Nothing), []);
    assert_eq!(of(holding, Wrong::PromisesTwice), [(HolderInformed, 20), (NoNeedlessLoss, 20)]);
}

/// Two clients take turns, and whoever is through leaves the other time to come in.
#[test]
fn a_lock_that_asks_the_less_the_longer_it_waits_breaks_fairness() {
    let turns = r#"
        bounds = { overtakes = 1 }
        [client.worker]
        count = 2
        rounds = 8
        do = ["acquire", { sleep = "100ms" }, "release", { sleep = "1s" }]
        "#;
    assert_eq!(of(turns, Wrong::Nothing), []);
    assert_eq!(of(turns, Wrong::LosesHeart), [(Fairness, 20)]);
}

/// Of two that are to make one charge, the second finds the lock taken and leaves.
#[test]
fn a_lock_that_takes_no_for_yes_lets_a_charge_be_made_twice() {
    let charge = r#"
        [client.worker]
        count = 2
        do = [{ acquire = { wait = "0s" } }, { sleep = "1s" }, { effect = "charge" }, "release"]
        "#;
    assert_eq!(of(charge, Wrong::Nothing), []);
    assert!(of(charge, Wrong::TakesNoForYes).contains(&(SingleEffect, 20)));
}

/// The lock is sound, and has nothing against clients that take two in opposite order.
#[test]
fn clients_that_cross_break_no_deadlock() {
    let transfer = |first: &str, second: &str| {
        format!(
            r#"
            ttl = "none"
            [client.A]
            do = [{{ acquire = {{ key = "x" }} }}, {{ sleep = "100ms" }}, {{ acquire = {{ key = "y" }} }}, {{ release = {{ as = "y" }} }}, {{ release = {{ as = "x" }} }}]
            [client.B]
            do = [{{ acquire = {{ key = "{first}" }} }}, {{ sleep = "100ms" }}, {{ acquire = {{ key = "{second}" }} }}, {{ release = {{ as = "{second}" }} }}, {{ release = {{ as = "{first}" }} }}]
            "#
        )
    };
    assert_eq!(of(&transfer("x", "y"), Wrong::Nothing), []);
    assert_eq!(of(&transfer("y", "x"), Wrong::Nothing), [(NoDeadlock, 20)]);
}
