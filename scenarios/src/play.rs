//! A scenario over its cells: all of them, but of a bisected axis only as many as it takes to find where its
//! criterion turns.
//!
//! Which cells are played depends on what came out of others, and on nothing else: the same on any number of
//! threads.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::cell::{Cell, Scenario};
use crate::contender::Contender;
use crate::frontier::{Bisection, Frontier, bisect, most_steps};
use crate::sweep::{Progress, sweep};
use crate::tally::Tally;

/// What came out of a scenario.
#[derive(Debug)]
pub struct Played {
    /// The cells that were played, by their index in the scenario.
    pub cells: BTreeMap<usize, Tally>,
    /// The frontiers that were looked for, in the order of their lines.
    pub frontiers: Vec<Frontier>,
    /// Whether nobody stopped it.
    pub is_complete: bool,
}

/// Plays the selected cells (indices into the scenario's, in order), each by the contender that it is given.
///
/// A line of cells along a bisected axis is searched if all of it is selected; of a part of it, every cell is
/// played.
#[must_use]
pub fn play(
    scenario: &Scenario,
    selected: &[usize],
    contender: impl Fn(&Cell) -> Contender,
    seeds: &Range<u64>,
    progress: &Progress,
) -> Played {
    let mut played = Played { cells: BTreeMap::new(), frontiers: Vec::new(), is_complete: false };
    let tally = |index: usize, cells: &mut BTreeMap<usize, Tally>| {
        let cell = &scenario.cells[index];
        let tally = sweep(cell, &contender(cell), seeds.clone(), progress)?;
        let is_beyond = tally.beyond > 0;
        cells.insert(index, tally);
        Some(is_beyond)
    };
    for work in plan(scenario, selected) {
        let done = match work {
            Work::Cell(index) => tally(index, &mut played.cells).map(|_| ()),
            Work::Line(line, bisection) => {
                let found = bisect(line.len(), |place| tally(line[place], &mut played.cells));
                found.map(|found| played.frontiers.push(frontier(scenario, &line, bisection, found)))
            }
        };
        if done.is_none() {
            return played;
        }
    }
    played.is_complete = true;
    played
}

/// How many cells are played at most, of those that are selected.
#[must_use]
pub fn most_cells(scenario: &Scenario, selected: &[usize]) -> u64 {
    let count = |work: &Work<'_>| match work {
        Work::Cell(_) => 1,
        Work::Line(line, _) => most_steps(line.len()) as u64,
    };
    plan(scenario, selected).iter().map(count).sum()
}

/// What is to be done, in order.
enum Work<'s> {
    Cell(usize),
    /// All cells along a bisected axis.
    Line(Vec<usize>, &'s Bisection),
}

fn plan<'s>(scenario: &'s Scenario, selected: &[usize]) -> Vec<Work<'s>> {
    let Some((stride, bisection)) = scenario.bisected() else {
        return selected.iter().copied().map(Work::Cell).collect();
    };
    let count = bisection.values.len();
    let start_of = |index: usize| index - index / stride % count * stride;
    let mut lines: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for index in selected {
        lines.entry(start_of(*index)).or_default().push(*index);
    }
    let work = |line: Vec<usize>| {
        if line.len() == count { vec![Work::Line(line, bisection)] } else { line.into_iter().map(Work::Cell).collect() }
    };
    lines.into_values().flat_map(work).collect()
}

fn frontier(scenario: &Scenario, line: &[usize], bisection: &Bisection, found: Option<(usize, usize)>) -> Frontier {
    let between = found.map(|(below, above)| (bisection.values[below], bisection.values[above]));
    let claim = scenario.cells[line[0]].frontier.as_ref();
    Frontier { line: line[0], between, as_expected: claim.is_none_or(|claim| claim.admits(between)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::language::load;

    /// A holder that is stopped for as long as the axis says, and another client who tries every millisecond.
    fn scenario(matrix: &str, expect: &str) -> Scenario {
        let text = format!(
            r#"
            name = "pauses"
            title = "pauses"
            source = "own"
            lock = "redis"
            [matrix]
            {matrix}
            [client.worker]
            count = 2
            retry = {{ delay = "1ms" }}
            do = ["acquire", "read", "release"]
            [fault.gc]
            pause = "holder"
            when = {{ point = "about-to-read" }}
            [[expect]]
            free = ["belief-exclusion"]
            because = "this is not about beliefs"
            {expect}
            "#
        );
        load("pauses.toml", &text, &[]).unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn played(scenario: &Scenario, selected: &[usize]) -> Played {
        play(scenario, selected, |cell| Contender::built_in(&cell.lock), &(0..5), &Progress::default())
    }

    fn pauses(from: &str, to: &str) -> String {
        format!(
            "\"fault.gc.for\" = {{ from = {from:?}, to = {to:?}, bisect = \"effect-order\", to-within = \"250ms\" }}"
        )
    }

    #[test]
    fn of_a_searched_axis_only_what_is_needed_is_played() {
        let scenario = scenario(&pauses("9s", "11s"), "");
        let all = scenario.all_cells();
        let played = played(&scenario, &all);
        assert_eq!(all.len(), 9);
        let pauses: Vec<_> = played.cells.keys().map(|index| scenario.cells[*index].params[0].1.as_str()).collect();
        assert_eq!(pauses, ["9s", "10s", "10250ms", "10500ms", "11s"]);
        assert!(played.is_complete && played.cells.len() as u64 <= most_cells(&scenario, &all));
        assert_eq!(played.frontiers.len(), 1);
        assert_eq!(played.frontiers[0].between, Some((10_000_000_000, 10_250_000_000)));
    }

    #[test]
    fn a_part_of_a_line_is_played_as_it_is() {
        let scenario = scenario(&pauses("9s", "11s"), "");
        let played = played(&scenario, &[2, 7]);
        assert_eq!((played.cells.into_keys().collect::<Vec<_>>(), played.frontiers), (vec![2, 7], Vec::new()));
        assert_eq!(most_cells(&scenario, &[2, 7]), 2);
    }

    #[test]
    fn every_line_has_a_frontier_of_its_own_whatever_the_order_of_axes() {
        let matrix =
            format!("a = {{ a.ttl = \"10s\", b.ttl = \"9s\" }}\n{}\nhorizon = [\"60s\", \"61s\"]", pauses("8s", "11s"));
        let scenario = scenario(&matrix, "");
        let played = played(&scenario, &scenario.all_cells());
        let found: Vec<_> = played.frontiers.iter().map(|found| (found.line, found.between)).collect();
        let (nine, ten) = (Some((9_000_000_000, 9_250_000_000)), Some((10_000_000_000, 10_250_000_000)));
        assert_eq!(found, [(0, ten), (1, ten), (26, nine), (27, nine)]);
    }

    #[test]
    fn a_frontier_elsewhere_or_nowhere_is_not_as_expected() {
        let is_expected = |matrix: &str, is: &str| {
            let scenario = scenario(matrix, &format!("frontier = {{ axis = \"fault.gc.for\", is = {is:?} }}"));
            played(&scenario, &scenario.all_cells()).frontiers[0].as_expected
        };
        let around = pauses("9s", "11s");
        assert_eq!(
            ["9750ms", "10s", "10250ms", "10500ms"].map(|is| is_expected(&around, is)),
            [false, true, true, false]
        );
        assert!(!is_expected(&pauses("8s", "9s"), "10s"));
    }

    #[test]
    fn what_is_stopped_has_only_what_was_finished() {
        let scenario = scenario(&pauses("9s", "11s"), "");
        let progress = Progress::default();
        progress.stop();
        let contender = |cell: &Cell| Contender::built_in(&cell.lock);
        let played = play(&scenario, &scenario.all_cells(), contender, &(0..5), &progress);
        assert!(!played.is_complete && played.cells.is_empty());
    }
}
