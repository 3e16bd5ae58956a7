//! Which cells of a scenario `--lock` and `--cell` leave.

use scenarios::{Cell, Scenario};

use super::{Failure, not_there};
use crate::args::ScenarioArgs;

/// The indices of the cells that the arguments leave. Several options of one axis are an *or*, several axes an
/// *and*.
pub(super) fn selected(scenario: &Scenario, args: &ScenarioArgs) -> Result<Vec<usize>, Failure> {
    check_words(scenario, args)?;
    let is_left = |cell: &Cell| {
        let lock = cell.lock.facts().name;
        let has = |axis: &str, option: &str| {
            axis == "lock" && option == lock || cell.params.iter().any(|param| (&*param.0, &*param.1) == (axis, option))
        };
        let has_one_of = |axis: &str| args.cells.iter().filter(|(name, _)| name == axis).any(|(_, o)| has(axis, o));
        (args.locks.is_empty() || args.locks.iter().any(|wanted| wanted == lock))
            && args.cells.iter().all(|(axis, _)| has_one_of(axis))
    };
    let cells: Vec<usize> = (0..scenario.cells.len()).filter(|index| is_left(&scenario.cells[*index])).collect();
    if cells.is_empty() {
        return Err(Failure::NothingSelected(format!("no cell of {} is left by --lock and --cell", scenario.name)));
    }
    Ok(cells)
}

/// That there are such locks, axes and options.
fn check_words(scenario: &Scenario, args: &ScenarioArgs) -> Result<(), Failure> {
    for lock in &args.locks {
        let known: Vec<_> = models::lock::LOCKS.iter().map(|facts| facts.name).collect();
        if !known.contains(&lock.as_str()) {
            return Err(not_there(format!("unknown lock `{lock}`"), lock, "fencepost", &known));
        }
    }
    for (axis, option) in &args.cells {
        let axes: Vec<_> = scenario.axes.iter().map(|axis| axis.name.as_str()).collect();
        let Some(known) = scenario.axes.iter().find(|known| known.name == *axis) else {
            return Err(not_there(format!("unknown axis `{axis}`"), axis, &scenario.name, &axes));
        };
        let options: Vec<_> = known.options.iter().map(String::as_str).collect();
        if !options.contains(&option.as_str()) {
            return Err(not_there(format!("the axis `{axis}` has no option `{option}`"), option, "it", &options));
        }
    }
    Ok(())
}
