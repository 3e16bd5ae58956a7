//! What `scenario` and `explain` tell of one run.

use reports::JudgedRun;
use scenarios::{Cell, Contender, Player, Run, report};

/// Tells of a run.
pub(super) fn judged<T>(cell: &Cell, contender: &Contender, run: &Run, tell: impl FnOnce(&JudgedRun<'_>) -> T) -> T {
    let faults = report::struck_faults(cell, &Player::new(cell, contender), run);
    tell(&JudgedRun {
        history: &run.history,
        judgement: &run.judgement,
        faults: &faults,
        lock: contender.name(),
        resource: cell.resource.guard.name(),
    })
}

/// Which run it is: `redis, resource open, seed 0`.
pub(super) fn place(cell: &Cell, contender: &Contender, run: &Run) -> String {
    let options = cell.params.iter().map(|(axis, option)| format!("{axis} {option}, "));
    format!("{}, {}seed {}", contender.name(), options.collect::<String>(), run.seed)
}
