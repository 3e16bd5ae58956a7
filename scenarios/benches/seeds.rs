//! Seeds a second of a scenario's first cell, played and judged on one thread.
//!
//! `cargo bench --bench seeds -- [SCENARIO|FILE] [SEEDS]`, by default `gc-pause` and 20,000. For a figure that
//! does not hang on what else the machine does, count instructions:
//! `valgrind --tool=callgrind target/release/deps/seeds-… gc-pause 1000`.

#![expect(clippy::disallowed_types, reason = "a benchmark measures real time; no run sees it")]

use std::time::Instant;

use scenarios::catalogue;
use scenarios::language::load;
use scenarios::{Contender, Player};

fn main() {
    // Cargo adds an option of its own.
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with('-')).collect();
    let name = words.first().map_or("gc-pause", String::as_str);
    let seeds = words.get(1).map_or(20_000, |seeds| seeds.parse().expect("SEEDS is a number"));
    let text = std::fs::read_to_string(name)
        .unwrap_or_else(|_| catalogue::find(name).unwrap_or_else(|unknown| panic!("{unknown}")).text.to_owned());
    let scenario = load(name, &text, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    let cell = &scenario.cells[0];
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let (mut events, mut hash) = (0, host::Fold::new(0));
    let start = Instant::now();
    for seed in 0..seeds {
        let run = player.play(seed);
        events += run.events;
        hash.word(run.hash);
    }
    let nanos = start.elapsed().as_nanos();
    println!("{name}: {seeds} seeds, {events} events, hash {:016x}", hash.value());
    println!("{} seeds/s, {} ns/event", u128::from(seeds) * 1_000_000_000 / nanos, nanos / u128::from(events));
}
