//! The workload on fencepost: a scenario like any other, judged like any other.

use std::ops::Range;

use host::Duration;
use scenarios::{Cell, Contender, Player, Run, Scenario, catalogue, language};
use spec::Note;

use crate::{Size, Work};

/// Plays the workload's seeds.
pub(crate) fn kernel(size: Size) -> Box<dyn Fn(u64) -> Work> {
    let text = format!(
        r#"
        name = "workload"
        title = "Some clients, one lock server, no faults"
        source = "own"
        horizon = "1h"
        lock = "redis"
        network = {{ client-server = {{ from = "200us", to = "2ms" }} }}
        [client.worker]
        count = {}
        rounds = {}
        retry = {{ delay = {{ from = "1ms", to = "50ms" }} }}
        do = ["acquire", {{ sleep = {{ from = "1ms", to = "20ms" }} }}, "release"]
        "#,
        size.clients, size.rounds
    );
    let player = player(&load("workload.toml", &text).cells[0]);
    Box::new(move |seed| {
        let run = player.play(seed);
        assert!(run.broken().is_empty(), "seed {seed}: {:?}", run.broken());
        work(&run)
    })
}

fn work(run: &Run) -> Work {
    let grants = run.history.entries.iter().filter(|entry| matches!(entry.note, Note::Granted { .. })).count() as u64;
    let simulated = Duration::from_nanos(run.history.end.as_nanos());
    Work { grants, events: run.application_events, simulated }
}

/// A cell's options, and what plays its seeds.
type Playable = (String, Box<dyn Fn(Range<u64>) -> u64>);

/// The cells of a scenario of the catalogue, each with what plays some of its seeds.
pub(crate) fn cells(name: &str) -> Vec<Playable> {
    playable(name, |player, seed| player.play(seed).hash)
}

/// The same on madsim.
#[cfg(madsim)]
pub(crate) fn cells_on_madsim(name: &str) -> Vec<Playable> {
    playable(name, |player, seed| {
        let mut world = fencepost_madsim::MadSim::new(seed);
        player.build_on(&mut world, seed);
        player.conclude(seed, world.run(player.bounds())).hash
    })
}

fn playable(name: &str, play: impl Fn(&Player<'static>, u64) -> u64 + Copy + 'static) -> Vec<Playable> {
    let entry = catalogue::find(name).expect("it is in the catalogue");
    let playable = |cell: &Cell| -> Playable {
        let options: Vec<String> = cell.params.iter().map(|(axis, option)| format!("{axis} = {option}")).collect();
        let player = player(cell);
        (options.join(", "), Box::new(move |seeds| seeds.map(|seed| play(&player, seed)).fold(0, |a, b| a ^ b)))
    };
    load(entry.file, entry.text).cells.iter().map(playable).collect()
}

fn load(file: &str, text: &str) -> Scenario {
    language::load(file, text, &[]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// A bench lives as long as its process: what it plays may do so too.
fn player(cell: &Cell) -> Player<'static> {
    let cell: &'static Cell = Box::leak(Box::new(cell.clone()));
    Player::new(cell, Box::leak(Box::new(Contender::built_in(&cell.lock))))
}
