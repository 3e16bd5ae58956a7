//! Which cells of a scenario somebody means who names locks and options of its axes.

use crate::cell::{Cell, Scenario};
use crate::language::instead;

/// Why no cell is meant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Unselected {
    /// There is no such lock, axis or option.
    #[error("{0}")]
    NotThere(String),
    /// There are, and no cell has all of them.
    #[error("no cell of {0} is left by --lock and --cell")]
    Nothing(String),
}

/// The indices of the cells that have one of these locks (none: any) and these options, an axis and an option each.
/// Several options of one axis are an *or*, several axes an *and*.
///
/// # Errors
/// If none is left, or something is named that is not there.
pub fn selected(scenario: &Scenario, locks: &[String], options: &[(String, String)]) -> Result<Vec<usize>, Unselected> {
    check_words(scenario, locks, options)?;
    let is_left = |cell: &Cell| {
        let lock = cell.lock.facts().name;
        let has = |axis: &str, option: &str| {
            axis == "lock" && option == lock || cell.params.iter().any(|param| (&*param.0, &*param.1) == (axis, option))
        };
        let has_one_of = |axis: &str| options.iter().filter(|(name, _)| name == axis).any(|(_, o)| has(axis, o));
        (locks.is_empty() || locks.iter().any(|wanted| wanted == lock))
            && options.iter().all(|(axis, _)| has_one_of(axis))
    };
    let cells: Vec<usize> = (0..scenario.cells.len()).filter(|index| is_left(&scenario.cells[*index])).collect();
    if cells.is_empty() { Err(Unselected::Nothing(scenario.name.clone())) } else { Ok(cells) }
}

/// That there are such locks, axes and options.
fn check_words(scenario: &Scenario, locks: &[String], options: &[(String, String)]) -> Result<(), Unselected> {
    let not_there = |message: String, name: &str, owner: &str, known: &[&str]| {
        Err(Unselected::NotThere(message + &instead(name, owner, known)))
    };
    for lock in locks {
        let known: Vec<_> = models::lock::LOCKS.iter().map(|facts| facts.name).collect();
        if !known.contains(&lock.as_str()) {
            return not_there(format!("unknown lock `{lock}`"), lock, "fencepost", &known);
        }
    }
    for (axis, option) in options {
        let axes: Vec<_> = scenario.axes.iter().map(|axis| axis.name.as_str()).collect();
        let Some(known) = scenario.axes.iter().find(|known| known.name == *axis) else {
            return not_there(format!("unknown axis `{axis}`"), axis, &scenario.name, &axes);
        };
        let known: Vec<_> = known.options.iter().map(String::as_str).collect();
        if !known.contains(&option.as_str()) {
            return not_there(format!("the axis `{axis}` has no option `{option}`"), option, "it", &known);
        }
    }
    Ok(())
}
