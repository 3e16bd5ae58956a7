//! `verify-determinism`: every cell of the catalogue played three times — on one thread, on several,
//! and recorded — with the same hashes and the same result, or it is a bug of ours.
//!
//! What one process cannot show (another build profile, another machine) others can compare: the
//! hashes are printed.

use fencepost::exit::Exit;
use scenarios::language::load;
use scenarios::{Cell, Contender, Player, Progress, Tally, catalogue, sweep};

use super::{Failure, pool};
use crate::args::VerifyArgs;
use crate::output::{print, remark};

pub(crate) fn run(args: &VerifyArgs) -> Result<Exit, Failure> {
    let filter = args.filter.as_deref().unwrap_or("");
    let entries: Vec<_> = catalogue::all().into_iter().filter(|entry| entry.name.contains(filter)).collect();
    if entries.is_empty() {
        return Err(Failure::NothingSelected(format!("no scenario's name contains `{filter}`")));
    }
    let (mut same, mut cells) = (true, 0);
    for entry in entries {
        let scenario = load(entry.file, entry.text, &[])?;
        for cell in &scenario.cells {
            let (hash, differs) = verify(cell, args)?;
            cells += 1;
            let options = cell.params.iter().map(|(axis, option)| format!(" {axis}={option}")).collect::<String>();
            let place = format!("{} lock={}{options}", scenario.name, cell.lock.facts().name);
            print(format_args!("{hash:016x} {place}\n"))?;
            if let Some(differs) = differs {
                same = false;
                remark(format_args!("error: {place}: {differs}"));
            }
        }
    }
    if same {
        remark(format_args!("{cells} cells: the same on 1 thread, on {}, and recorded", args.threads));
    }
    Ok(if same { Exit::AsExpected } else { Exit::Internal })
}

/// The hash of a cell's runs, and what differs between its passes.
fn verify(cell: &Cell, args: &VerifyArgs) -> Result<(u64, Option<String>), Failure> {
    let contender = Contender::built_in(&cell.lock);
    let on = |threads: u16| -> Result<Tally, Failure> {
        let play = || sweep(cell, &contender, 0..args.seeds, &Progress::default()).expect("nobody stops it");
        Ok(pool(Some(threads))?.install(play))
    };
    let (one, many) = (on(1)?, on(args.threads)?);
    if one != many {
        return Ok((one.hash, Some(format!("one thread and {} threads give different results", args.threads))));
    }
    let player = Player::new(cell, &contender);
    for seed in 0..args.seeds.min(RECORDED) {
        if player.play(seed).hash != player.record(seed).hash {
            return Ok((one.hash, Some(format!("recording seed {seed} changes it"))));
        }
    }
    Ok((one.hash, None))
}

/// Recording is slower than playing: some seeds are enough to see that it changes nothing.
const RECORDED: u64 = 50;
