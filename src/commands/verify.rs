//! `verify-determinism`: every cell of the catalogue played three times — on one thread, on several,
//! and recorded — with the same hashes and the same result, or it is a bug of ours.
//!
//! What one process cannot show (another build profile, another machine) others can compare: the
//! hashes are printed. Ctrl-C ends it with what has been compared; a scenario is compared whole or not at all.

use std::sync::Arc;

use fencepost::exit::Exit;
use scenarios::language::load;
use scenarios::{Cell, Contender, Played, Player, Progress, Scenario, Tally, catalogue, play};

use super::{Failure, pool};
use crate::args::VerifyArgs;
use crate::interrupt;
use crate::output::{print, remark};

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let filter = args.filter.as_deref().unwrap_or("");
    let entries: Vec<_> = catalogue::all().into_iter().filter(|entry| entry.name.contains(filter)).collect();
    if entries.is_empty() {
        return Err(Failure::NothingSelected(format!("no scenario's name contains `{filter}`")));
    }
    let progress = Arc::new(Progress::default());
    interrupt::stops(&progress);
    let (mut same, mut cells, mut scenarios, all) = (true, 0, 0, entries.len());
    for entry in entries {
        let scenario = load(entry.file, entry.text, &[])?;
        let one = played(&scenario, 1, args, &progress)?;
        let many = played(&scenario, args.threads, args, &progress)?;
        if !(one.is_complete && many.is_complete) {
            break;
        }
        scenarios += 1;
        if one.frontiers != many.frontiers {
            same = false;
            remark(format_args!("error: {}: one thread and {} find other frontiers", scenario.name, args.threads));
        }
        for (index, tally) in &one.cells {
            let cell = &scenario.cells[*index];
            cells += 1;
            let options = cell.params.iter().map(|(axis, option)| format!(" {axis}={option}")).collect::<String>();
            let place = format!("{} lock={}{options}", scenario.name, cell.lock.facts().name);
            print(format_args!("{:016x} {place}\n", tally.hash))?;
            if let Some(differs) = differs(cell, tally, many.cells.get(index), args) {
                same = false;
                remark(format_args!("error: {place}: {differs}"));
            }
        }
    }
    let is_whole = scenarios == all;
    if !is_whole {
        remark(format_args!("interrupted: {scenarios} of {all} scenarios were compared"));
    }
    if same && cells > 0 {
        remark(format_args!("{cells} cells: the same on 1 thread, on {}, and recorded", args.threads));
    }
    Ok(match (same, is_whole) {
        (false, _) => Exit::Internal,
        (true, false) => Exit::Interrupted,
        (true, true) => Exit::AsExpected,
    })
}

fn played(scenario: &Scenario, threads: u16, args: &VerifyArgs, progress: &Progress) -> Result<Played, Failure> {
    let contender = |cell: &Cell| Contender::built_in(&cell.lock);
    let work = || play(scenario, &scenario.all_cells(), contender, &(0..args.seeds), progress);
    Ok(pool(Some(threads))?.install(work))
}

/// What differs between a cell's passes.
fn differs(cell: &Cell, one: &Tally, many: Option<&Tally>, args: &VerifyArgs) -> Option<String> {
    if many != Some(one) {
        return Some(format!("one thread and {} threads give different results", args.threads));
    }
    let contender = Contender::built_in(&cell.lock);
    let player = Player::new(cell, &contender);
    let mut seeds = 0..args.seeds.min(RECORDED);
    let seed = seeds.find(|seed| player.play(*seed).hash != player.record(*seed).hash)?;
    Some(format!("recording seed {seed} changes it"))
}

/// Recording is slower than playing: some seeds are enough to see that it changes nothing.
const RECORDED: u64 = 50;
