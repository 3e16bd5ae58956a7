//! A fault at every step of both clients in turn: exactly the windows that an argument on paper finds.
//!
//! A client looks at its clock, then the operation leaves its machine. What happens between the two
//! cannot be seen by any client: that is where a pause hurts. Everywhere else the client wakes up, looks
//! at its clock and stops, or has nothing in hand.

use std::collections::BTreeMap;

use host::{Activity, NodeId, SimTime, Span};
use models::Nudge;
use scenarios::language::load;
use scenarios::{Contender, Player, Run, Scenario};
use sim::{Entity, Fault, Lasts, Target, What, When};
use spec::{Note, Property};

/// `gc-pause` without its pause.
fn world(resource: &str) -> Scenario {
    let text = format!(
        r#"
        name = "steps"
        title = "two clients, nothing goes wrong"
        source = "own"
        lock = "redis"
        resource = "{resource}"
        [client.worker]
        count = 2
        "#
    );
    load("steps.toml", &text, &[]).expect("it is a scenario")
}

fn at_step(node: NodeId, nth: u32, what: What<Nudge>, lasts: Lasts) -> Fault<Nudge> {
    Fault { entity: Entity::named("fault"), what, when: When::Step { node, nth }, lasts }
}

const SEED: u64 = 1;

/// Where in its program the first holder was struck.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Place {
    /// Between the check and the leaving of its read.
    ReadInHand,
    /// Between the check and the leaving of its write.
    WriteInHand,
    Elsewhere,
}

fn place(run: &Run, client: NodeId, struck: SimTime) -> Place {
    let mut place = Place::Elsewhere;
    for entry in run.history.entries.iter().filter(|entry| entry.at <= struck && entry.node == client) {
        match entry.note {
            Note::Checked { op, .. } if op.0 == 0 => place = Place::ReadInHand,
            Note::Checked { .. } => place = Place::WriteInHand,
            Note::Left { .. } => place = Place::Elsewhere,
            _ => {}
        }
    }
    place
}

/// For each client (the first holder first), for each place, which properties a 15 s pause broke and at
/// how many steps.
type Findings = BTreeMap<(bool, Place), BTreeMap<Vec<&'static str>, u32>>;

fn pauses_everywhere(resource: &str) -> Findings {
    let scenario = world(resource);
    let cell = &scenario.cells[0];
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let plain = player.play(SEED);
    let granted = |note: &Note| matches!(note, Note::Granted { .. });
    let first = plain.history.entries.iter().find(|e| granted(&e.note)).expect("somebody holds it first").node;
    let mut findings = Findings::new();
    for name in ["worker-1", "worker-2"] {
        let node = player.node(name);
        let steps = plain.steps[node.index()];
        assert!(steps > 10, "{name} takes {steps} steps");
        for step in 1..=steps {
            let lasts = Lasts::For(Span::Fixed(host::Duration::from_secs(15)));
            let pause = at_step(node, step, What::Pause(vec![Target::Node(node)]), lasts);
            let run = player.play_with(SEED, &[pause]);
            assert_eq!(run.strikes.len(), 1, "step {step} of {name} is reached");
            let broken: Vec<_> = run.broken().keys().map(|property| property.name()).collect();
            let key = (node == first, place(&run, node, run.strikes[0].from));
            *findings.entry(key).or_default().entry(broken).or_default() += 1;
        }
    }
    findings
}

/// What was broken at every single step of that place, which has some steps.
fn always(findings: &Findings, first_holder: bool, place: Place) -> &[&'static str] {
    let outcomes = findings.get(&(first_holder, place)).unwrap_or_else(|| panic!("no step is {place:?}"));
    assert_eq!(
        outcomes.len(),
        1,
        "{place:?} of the {}: {outcomes:?}",
        if first_holder { "first holder" } else { "other" }
    );
    outcomes.keys().next().expect("there is one")
}

#[test]
fn a_pause_of_the_first_holder_hurts_only_with_an_operation_in_hand() {
    let findings = pauses_everywhere("open");
    assert_eq!(always(&findings, true, Place::ReadInHand), ["belief-exclusion", "effect-order"]);
    let all = ["belief-exclusion", "effect-order", "no-lost-update"];
    assert_eq!(always(&findings, true, Place::WriteInHand), all);
    assert_eq!(always(&findings, true, Place::Elsewhere), [""; 0]);
}

#[test]
fn a_pause_of_the_other_client_hurts_nowhere() {
    let findings = pauses_everywhere("open");
    for place in [Place::ReadInHand, Place::WriteInHand, Place::Elsewhere] {
        assert_eq!(always(&findings, false, place), [""; 0]);
    }
}

#[test]
fn a_fence_repairs_what_reaches_the_resource_and_no_belief() {
    let findings = pauses_everywhere("fence_rw");
    assert_eq!(always(&findings, true, Place::ReadInHand), ["belief-exclusion"]);
    assert_eq!(always(&findings, true, Place::WriteInHand), ["belief-exclusion"]);
    assert_eq!(always(&findings, true, Place::Elsewhere), [""; 0]);
    for place in [Place::ReadInHand, Place::WriteInHand, Place::Elsewhere] {
        assert_eq!(always(&findings, false, place), [""; 0]);
    }
}

/// Whether the node noted anything while its process was dead.
fn speaks_while_dead(run: &Run, node: NodeId) -> bool {
    let activity = &run.history.nodes[node.index()].activity;
    run.history.entries.iter().filter(|entry| entry.node == node).any(|entry| {
        let before = activity.iter().take_while(|(at, _)| *at < entry.at).last();
        before.is_some_and(|(_, activity)| *activity == Activity::Dead)
    })
}

#[test]
fn a_kill_at_any_step_breaks_nothing_and_no_effect_of_the_dead_gets_through() {
    let restart = |secs| Lasts::For(Span::Fixed(host::Duration::from_secs(secs)));
    for resource in ["open", "fence_rw"] {
        let scenario = world(resource);
        let cell = &scenario.cells[0];
        let contender = Contender::built_in(&cell.lock);
        let player = Player::new(cell, &contender);
        let plain = player.play(SEED);
        for name in ["worker-1", "worker-2"] {
            let node = player.node(name);
            for step in 1..=plain.steps[node.index()] {
                for lasts in [Lasts::ToTheEnd, restart(1)] {
                    let kill = at_step(node, step, What::Kill(vec![Target::Node(node)]), lasts.clone());
                    let run = player.play_with(SEED, &[kill]);
                    assert_eq!(run.strikes.len(), 1, "step {step} of {name} is reached");
                    let broken = run.broken();
                    assert!(broken.is_empty(), "{resource}, {name} killed before step {step}, {lasts:?}: {broken:?}");
                    assert!(!speaks_while_dead(&run, node), "{name} killed before step {step}");
                }
            }
        }
    }
}

#[test]
fn the_first_holder_s_update_survives_its_own_death_only_if_it_had_left() {
    // Not a property, but what makes the kill above a real one: some kills cost the update, some do not.
    let scenario = world("open");
    let cell = &scenario.cells[0];
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let plain = player.play(SEED);
    let writes = |run: &Run| run.history.entries.iter().filter(|e| matches!(e.note, Note::Wrote { .. })).count();
    assert_eq!(writes(&plain), 2);
    let node = player.node("worker-1");
    let mut counts = BTreeMap::new();
    for step in 1..=plain.steps[node.index()] {
        let kill = at_step(node, step, What::Kill(vec![Target::Node(node)]), Lasts::ToTheEnd);
        *counts.entry(writes(&player.play_with(SEED, &[kill]))).or_insert(0) += 1;
    }
    assert_eq!(counts.keys().copied().collect::<Vec<_>>(), [1, 2], "{counts:?}");
    let unbounded = Property::ALL.into_iter().filter(|one| one.is_judged(&spec::Bounds::default()));
    assert!(plain.judgement.verdicts.keys().copied().eq(unbounded));
}
