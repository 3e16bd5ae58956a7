use host::Duration;

use super::*;
use crate::language::load;

/// A cell that expects `outside`, with seeds in which a belief was broken with these excuses.
fn differences(outside: &str, excuses: &[&[Assumption]]) -> Vec<String> {
    let text = format!(
        r#"
        name = "sweep"
        title = "sweep"
        source = "own"
        lock = "redis"
        [client.A]
        [[expect]]
        always = ["belief-exclusion"]
        because = "it is broken here"
        outside = {outside}
        "#
    );
    let cell = load("sweep.toml", &text, &[]).expect("it is a scenario").cells.remove(0);
    let mut tally = Tally::new(&cell, excuses.len() as u64);
    for (seed, needs) in (0..).zip(excuses) {
        let verdicts = vec![(Property::BeliefExclusion, Mark::Broken)];
        let outside = vec![(Property::BeliefExclusion, needs.to_vec())];
        let (grant_overlap, belief_overlap) = (Duration::ZERO, Duration::ZERO);
        let landed = Vec::new();
        tally.add(
            &cell,
            seed,
            &Kept {
                verdicts,
                landed,
                given: 1,
                grant_overlap,
                belief_overlap,
                outside,
                values: Vec::new(),
                beyond: false,
                events: 0,
                hash: 0,
            },
        );
    }
    tally.compare(&cell);
    assert_eq!(tally.outside_differs.as_ref(), tally.differences.first());
    tally.differences
}

/// How a cell that expects this of `belief-exclusion` comes out.
fn standing(expects: &str, marks: &[Mark]) -> Standing {
    let text = format!(
        r#"
        name = "sweep"
        title = "sweep"
        source = "own"
        lock = "redis"
        [client.A]
        [fault.late]
        pause = "A"
        for = "1s"
        [[expect]]
        {expects} = ["belief-exclusion"]
        because = "it is broken here"
        outside = ["pause-within-validity"]
        measure.effects.each.is = 2
        "#
    );
    let cell = load("sweep.toml", &text, &[]).expect("it is a scenario").cells.remove(0);
    let mut tally = Tally::new(&cell, marks.len() as u64);
    for (seed, mark) in (0..).zip(marks) {
        let needs = vec![(Property::BeliefExclusion, vec![Assumption::PauseWithinValidity])];
        let kept = Kept {
            verdicts: vec![(Property::BeliefExclusion, *mark)],
            given: 1,
            landed: vec![*mark != Mark::Vacuous],
            grant_overlap: Duration::ZERO,
            belief_overlap: Duration::ZERO,
            outside: if *mark == Mark::Broken { needs } else { Vec::new() },
            values: vec![Some(if *mark == Mark::Vacuous { 7 } else { 2 })],
            beyond: false,
            events: 0,
            hash: 0,
        };
        tally.add(&cell, seed, &kept);
    }
    tally.compare(&cell);
    tally.standing()
}

#[test]
fn a_seed_in_which_nothing_was_tried_is_no_counter_example() {
    use Mark::{Broken, Holds, Vacuous};
    assert_eq!(standing("always", &[Broken, Broken]), Standing::AsExpected);
    assert_eq!(standing("always", &[Broken, Vacuous]), Standing::Vacuous);
    assert_eq!(standing("always", &[Vacuous, Vacuous]), Standing::Vacuous);
    assert_eq!(standing("always", &[Broken, Vacuous, Holds]), Standing::Differs);
    assert_eq!(standing("broken", &[Vacuous, Holds]), Standing::Vacuous);
    assert_eq!(standing("broken", &[Holds, Holds]), Standing::Differs);
}

#[test]
fn an_excuse_that_some_seeds_have_does_not_excuse_the_others() {
    const PAUSE: &[Assumption] = &[Assumption::PauseWithinValidity];
    let expected = "[\"pause-within-validity\"]";
    assert_eq!(differences(expected, &[PAUSE, PAUSE]), [""; 0]);
    assert_eq!(differences("[]", &[&[], &[]]), [""; 0]);
    let mixed = "belief-exclusion broken outside the lock's assumptions in 2 seeds, but inside in 1 more";
    assert_eq!(differences(expected, &[PAUSE, &[], PAUSE]), [mixed]);
    let wrong = "outside [pause-within-validity], expected outside []";
    assert_eq!(differences("[]", &[PAUSE, PAUSE]), [wrong]);
}

/// How the figures of a file with two clients come out over ten seeds, one after the other.
fn figures(expect: &str) -> Vec<FigureTally> {
    let text = format!(
        r#"
        name = "figures"
        title = "figures"
        source = "own"
        lock = "redis"
        [client.A]
        do = ["acquire", {{ at = "12s" }}, "read", "write", "release"]
        policy = "naive"
        [client.B]
        do = [{{ at = "1s" }}, "acquire", "read", "write", "release"]
        [[expect]]
        free = ["belief-exclusion", "effect-order", "no-lost-update", "rightful-accepted"]
        because = "they are not what this is about"
        {expect}
        "#
    );
    let cell = load("figures.toml", &text, &[]).expect("it is a scenario").cells.remove(0);
    let contender = crate::Contender::built_in(&cell.lock);
    let tally = crate::sweep(&cell, &contender, 0..10, &crate::Progress::default()).expect("nobody stops it");
    let off = tally.figures.iter().filter(|figure| !figure.as_expected).count();
    assert_eq!(tally.differences.len(), off, "{:?}", tally.differences);
    tally.figures
}

fn as_expected(expect: &str) -> Vec<bool> {
    figures(expect).iter().map(|figure| figure.as_expected).collect()
}

#[test]
fn what_is_counted_and_timed_is_held_against_what_is_expected() {
    // A reads and writes after B has: its grant ran out at 9.9 s, the key at 10 s. The resource syncs what it
    // was written.
    let right = "measure = { stale-effects.each.is = 2, effects.total.is = 40, given.mean.is = 2, syncs.max.max = 2, \
                 grant-margin.min = { min = \"102ms\", max = \"105ms\" }, grant-overlap.each.is = \"0s\" }";
    assert_eq!(as_expected(right), [true; 6]);
    let waits = "measure = { wait.each = { is = \"9200ms\", within = \"250ms\" }, outage.max.max = \"9ms\" }";
    assert_eq!(as_expected(waits), [true, true], "B waits for A's lease, and A is inside meanwhile");
    let waits = "measure = { wait.each.max = \"9s\", outage.max.max = \"1ms\" }";
    assert_eq!(as_expected(waits), [false, false]);
    let wrong = "measure = { stale-effects.each.max = 1, effects.total.is = 39, given.mean.min = 3, syncs.max.min = 3, \
                 grant-margin.min.min = \"105ms\", grant-overlap.each.min = \"1ns\" }";
    assert_eq!(as_expected(wrong), [false; 6]);
}

#[test]
fn a_first_break_is_timed_and_a_share_is_counted() {
    let effect = "first.effect-order = { is = \"12s\", within = \"20ms\" }\nshare.effect-order.is = \"100%\"";
    assert_eq!(as_expected(effect), [true, true]);
    let effect = "first.effect-order.max = \"12s\"\nshare.effect-order.max = \"99.9999%\"";
    assert_eq!(as_expected(effect), [false, false]);
    let never = "first.rightful-accepted.min = \"0s\"\nshare.rightful-accepted.max = \"0%\"";
    assert_eq!(as_expected(never), [false, true], "what was broken in no seed was not first broken in time");
}

#[test]
fn a_milestone_is_reached_in_every_seed_or_in_none() {
    let reach = |milestone: &str| as_expected(&format!("reach = [{milestone}]"));
    assert_eq!(reach("{ client = \"B\", point = \"granted\", min = \"10s\", max = \"10500ms\" }"), [true]);
    assert_eq!(reach("{ client = \"B\", point = \"granted\", max = \"10s\" }"), [false]);
    assert_eq!(reach("{ client = \"B\", point = \"granted\", nth = 2 }"), [false]);
    assert_eq!(reach("{ client = \"A\", point = \"released\", never = true }"), [true]);
    assert_eq!(reach("{ client = \"A\", point = \"release-refused\", never = true }"), [false]);
    assert_eq!(
        reach("{ point = \"granted\", max = \"10ms\" }, { point = \"granted\", nth = 2, min = \"10s\" }"),
        [true; 2]
    );
}

#[test]
fn to_look_at_milestones_changes_no_run() {
    let hash = |reach: &str| {
        let text =
            format!("name = \"x\"\ntitle = \"x\"\nsource = \"x\"\nlock = \"redis\"\n[client.A]\n[client.B]\n{reach}");
        let cell = load("x.toml", &text, &[]).expect("it is a scenario").cells.remove(0);
        let contender = crate::Contender::built_in(&cell.lock);
        crate::Player::new(&cell, &contender).play(3).hash
    };
    assert_eq!(hash(""), hash("[[expect]]\nreach = [{ point = \"granted\", nth = 2 }]"));
}
