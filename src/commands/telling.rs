//! What `scenario` and `explain` tell of one run.

use scenarios::{Cell, Contender, Run};

/// Which run it is: `redis, resource open, seed 0`.
pub(super) fn place(cell: &Cell, contender: &Contender, run: &Run) -> String {
    let options = cell.params.iter().map(|(axis, option)| format!("{axis} {option}, "));
    format!("{}, {}seed {}", contender.name(), options.collect::<String>(), run.seed)
}
