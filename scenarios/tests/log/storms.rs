//! Clusters in which everything goes wrong that can.

use std::env;

use rayon::prelude::*;

use crate::check::{Found, check};
use crate::faults::{Dice, draw};
use crate::register::Note;
use crate::world::{Plan, ms, play};

/// The cluster of a seed.
fn plan(seed: u64) -> Plan {
    let mut dice = Dice(!seed);
    Plan {
        members: if dice.below(3) == 0 { 5 } else { 3 },
        clients: 2,
        pre_vote: dice.below(2) == 0,
        begins: dice.below(2) == 0,
        head_start: dice.below(2) == 0,
        compacts: *dice.one_of(&[5, 20, 1_000]),
        asks_for: ms(10_000),
        pause: ms(*dice.one_of(&[50, 300, 2_000])),
    }
}

/// Plays the cluster of a seed, and what happens to it.
fn outcome(seed: u64) -> sim::Outcome<Note> {
    let plan = plan(seed);
    play(&plan, seed, draw(seed, plan.members))
}

/// What was found in it, or what was broken, and how to see it again.
fn found(seed: u64) -> Result<Found, String> {
    check(&outcome(seed)).map_err(|what| {
        let plan = plan(seed);
        format!("seed {seed}, {what}\n{plan:?}\n{:#?}", draw(seed, plan.members))
    })
}

/// How many seeds are played: `just soak` says so.
fn seeds() -> u64 {
    let said = env::var_os("SOAK_SEEDS");
    said.map_or(SEEDS, |said| said.to_str().and_then(|said| said.parse().ok()).expect("SOAK_SEEDS is a number"))
}

const SEEDS: u64 = 20_000;

#[test]
fn nothing_that_happens_to_members_breaks_what_the_log_promises() {
    let total = (0..seeds()).into_par_iter().map(found).try_reduce(Found::default, |one, other| Ok(one.and(other)));
    let total = total.unwrap_or_else(|what| panic!("{what}"));
    // Nothing was proved by clusters in which nothing happened.
    let seeds = usize::try_from(seeds()).expect("few");
    assert!(
        total.answered > 20 * seeds && total.leaders > seeds + seeds / 2 && total.restored > seeds / 4,
        "{total:?}"
    );
    println!("{seeds} seeds: {total:?}");
}

#[test]
fn a_run_is_the_same_again_and_on_another_thread() {
    for seed in 0..60 {
        let hash = |seed| outcome(seed).hash;
        let here = hash(seed);
        let (again, elsewhere) = rayon::join(|| hash(seed), || hash(seed));
        assert_eq!((again, elsewhere), (here, here), "seed {seed}");
    }
}
