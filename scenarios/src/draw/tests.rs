use std::collections::BTreeSet;

use super::*;
use crate::cell::What;
use crate::language::load;
use crate::{Cell, Contender, Player, Progress, Standing, sweep};

fn cell(text: &str) -> Cell {
    let text = format!("name = \"drawn\"\ntitle = \"drawn\"\nsource = \"own\"\nhorizon = \"40s\"\n{text}");
    load("drawn.toml", &text, &[]).unwrap_or_else(|error| panic!("{error}")).cells.remove(0)
}

/// The one fault of a file, for a hundred seeds.
fn drawn_for(fault: &str) -> Vec<Fault> {
    let cell = cell(&format!("lock = \"redis\"\n[client.A]\n[client.B]\n[fault.f]\n{fault}"));
    (0..100).map(|seed| drawn(&cell.faults[0], seed).expect("it is always there")).collect()
}

#[test]
fn every_node_and_every_instant_comes_and_none_else() {
    let drawn = drawn_for("kill = \"any\"\nat = { from = \"1s\", to = \"1000000003ns\" }");
    let hit: BTreeSet<_> = drawn.iter().map(|fault| &fault.what).map(|what| format!("{what:?}")).collect();
    let all =
        ["A", "B", "redis-1", "resource"].map(|name| format!("{:?}", What::Kill(vec![NodeRef::Named(name.into())])));
    assert_eq!(hit.into_iter().collect::<Vec<_>>(), all);
    let at = |fault: &Fault| match fault.when {
        When::At(at) => at.as_nanos(),
        _ => panic!("{:?} is not drawn", fault.when),
    };
    let instants: BTreeSet<_> = drawn.iter().map(at).collect();
    assert_eq!(instants.into_iter().collect::<Vec<_>>(), [1_000_000_000, 1_000_000_001, 1_000_000_002, 1_000_000_003]);
    assert!(drawn.iter().all(|fault| !fault.is_drawn()));
}

#[test]
fn draws_are_written_down() {
    // Golden: a change here changes the meaning of every seed.
    let drawn = drawn_for("kill = \"any\"\nat = { from = \"1s\", to = \"9s\" }\nfor = \"1s\"");
    let first: Vec<_> = drawn[..3].iter().map(|fault| format!("{:?} {:?}", fault.what, fault.when)).collect();
    assert_eq!(first, GOLDEN);
}

const GOLDEN: [&str; 3] = [
    "Kill([Named(\"resource\")]) At(2.052733102s)",
    "Kill([Named(\"B\")]) At(6.851272188s)",
    "Kill([Named(\"B\")]) At(2.619947381s)",
];

#[test]
fn a_family_is_there_in_half_of_the_seeds_whatever_the_others_do() {
    let there = |family: Family| (0..1_000).filter(|seed| is_there(family, *seed)).collect::<BTreeSet<_>>();
    for (place, one) in Family::ALL.into_iter().enumerate() {
        assert!(there(one).len().abs_diff(500) < 50, "{one:?}: {}", there(one).len());
        for other in &Family::ALL[..place] {
            let both = there(one).intersection(&there(*other)).count();
            assert!(both.abs_diff(250) < 50, "{one:?} and {other:?}: {both}");
        }
    }
}

const HOSTILE: &str = "profile = \"hostile\"\n[client.A]\nrounds = \"forever\"\n[client.B]\nrounds = \"forever\"\n";

#[test]
fn the_same_plan_is_drawn_whichever_lock_is_played() {
    let plan = |lock: &str| {
        let cell = cell(&format!("{HOSTILE}[lock.redis]\n{lock}"));
        let drawn = |seed| cell.faults.iter().filter_map(move |fault| drawn(fault, seed)).collect::<Vec<_>>();
        (0..20).map(drawn).collect::<Vec<_>>()
    };
    assert_eq!(plan("token = \"none\""), plan("renew = { every = \"3s\" }"));
    let sizes: BTreeSet<_> = plan("").iter().map(Vec::len).collect();
    assert!(sizes.len() > 3, "{sizes:?}");
}

#[test]
fn a_profile_has_nothing_that_cannot_apply() {
    let names = |text: &str| cell(text).faults.into_iter().map(|fault| fault.name).collect::<BTreeSet<_>>();
    let all = names(&format!("lock = \"redis\"\n{HOSTILE}"));
    assert!(all.contains("hostile:set-ahead") && all.contains("hostile:held-write"), "{all:?}");
    let endless = names(&format!("lock = \"redis\"\nttl = \"none\"\n{HOSTILE}"));
    let gone: Vec<_> = all.difference(&endless).map(String::as_str).collect();
    assert_eq!(gone, ["hostile:fast-slew", "hostile:leap-second", "hostile:set-ahead", "hostile:set-back"]);
    let monotonic = names(&format!("lock = \"redis\"\nservice.redis.ttl-clock = \"monotonic\"\n{HOSTILE}"));
    let gone: Vec<_> = all.difference(&monotonic).map(String::as_str).collect();
    assert_eq!(gone, ["hostile:leap-second", "hostile:set-ahead", "hostile:set-back"]);
    let silent = names("lock = \"redis\"\nprofile = \"hostile\"\n[client.A]\ndo = [\"acquire\", \"release\"]\n");
    assert_eq!(all.difference(&silent).collect::<Vec<_>>(), ["hostile:held-write"]);
    assert_eq!(names("lock = \"redis\"\nprofile = \"calm\"\n[client.A]\n").len(), 0);
}

fn standing(text: &str, seeds: u64) -> (Standing, Vec<String>) {
    let cell = cell(text);
    let contender = Contender::built_in(&cell.lock);
    let tally = sweep(&cell, &contender, 0..seeds, &Progress::default()).expect("nobody stops it");
    (tally.standing(), tally.missed_faults.into_keys().collect())
}

#[test]
fn a_drawn_fault_must_land_in_one_seed_and_a_placed_one_in_each() {
    let world = "lock = \"redis\"\n[client.A]\ndo = [\"acquire\", { at = \"5s\" }, \"release\"]\n[fault.f]\npause = \"A\"\nfor = \"10ms\"\n";
    let fine = (Standing::AsExpected, vec![]);
    assert_eq!(standing(&format!("{world}at = {{ from = \"1s\", to = \"9s\" }}"), 20), fine);
    assert_eq!(standing(&format!("{world}at = \"1s\""), 20), fine);
    let vacuous = (Standing::Vacuous, vec!["f".to_owned()]);
    assert_eq!(standing(&format!("{world}at = {{ from = \"6s\", to = \"9s\" }}"), 20), vacuous);
    assert_eq!(standing(&format!("{world}at = \"6s\""), 20), vacuous);
}

#[test]
fn a_profile_of_which_nothing_lands_was_not_tried() {
    // Everybody is gone before anything strikes.
    let idle = "lock = \"redis\"\nprofile = \"lan\"\n[client.A]\ndo = [{ sleep = \"1s\" }]\n";
    assert_eq!(standing(idle, 20), (Standing::Vacuous, vec!["lan:*".to_owned()]));
    let calm = "lock = \"redis\"\nprofile = \"calm\"\n[client.A]\n";
    assert_eq!(standing(calm, 20).0, Standing::AsExpected);
    let busy = "lock = \"redis\"\nprofile = \"lan\"\n[client.A]\nrounds = \"forever\"\n";
    assert_eq!(standing(busy, 20), (Standing::AsExpected, vec![]));
}

#[test]
fn a_seed_without_its_drawn_fault_is_no_vacuous_run() {
    let cell = cell(&format!("lock = \"redis\"\n{HOSTILE}"));
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(&cell, &contender);
    for seed in 0..20 {
        let run = player.play(seed);
        assert!(run.landed.contains(&false));
        assert!(run.judgement.verdicts.values().all(|verdict| !matches!(verdict, spec::Verdict::Vacuous(_))));
    }
}

#[test]
fn one_player_plays_each_seed_with_a_plan_of_its_own() {
    let cell = cell(&format!("lock = \"redis\"\n{HOSTILE}"));
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(&cell, &contender);
    let hashes: Vec<_> = (0..5).map(|seed| player.play(seed).hash).collect();
    let alone: Vec<_> = (0..5).map(|seed| Player::new(&cell, &contender).play(seed).hash).collect();
    assert_eq!(hashes, alone);
    let strikes: BTreeSet<_> = (0..5).map(|seed| player.play(seed).strikes.len()).collect();
    assert!(strikes.len() > 1, "{strikes:?}");
}

#[test]
fn a_trace_says_what_was_drawn_and_nothing_of_what_was_placed() {
    let text = format!(
        "name = \"drawn\"\ntitle = \"drawn\"\nsource = \"own\"\nlock = \"redis\"\n{HOSTILE}[fault.f]\npause = \"A\"\nfor = \"1s\"\n"
    );
    let scenario = load("drawn.toml", &text, &[]).expect("it is a scenario");
    let cell = &scenario.cells[0];
    let run = Player::new(cell, &Contender::built_in(&cell.lock)).record(3);
    let trace = crate::report::trace(&scenario, cell, "redis", &[], &run);
    let header = reports::trace::read(&trace).expect("it is a trace").header;
    let had: BTreeSet<_> = header.drawn.iter().map(|drawn| drawn.fault.clone()).collect();
    let have = cell.faults.iter().filter(|fault| fault.is_drawn()).filter_map(|fault| drawn(fault, 3));
    assert_eq!(had, have.map(|fault| fault.name).collect());
    assert!(!had.is_empty() && header.drawn.iter().all(|drawn| drawn.at.is_some() && !drawn.nodes.is_empty()));
    // And what struck once struck then.
    let strikes =
        |name: &str| run.strikes.iter().filter(|strike| cell.faults[strike.fault].name == name).collect::<Vec<_>>();
    for drawn in &header.drawn {
        if let [only] = strikes(&drawn.fault).as_slice() {
            assert_eq!(Some(only.from.as_nanos()), drawn.at, "{}", drawn.fault);
        }
    }
}
