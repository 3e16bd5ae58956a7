//! Many scenarios, checked: a line for each, and how they came out together: `fencepost.check/1`.

use anstyle::{AnsiColor, Style};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::{Standing, SweepReport};
use crate::words::counted;

/// The name of the format.
pub const SCHEMA: &str = "fencepost.check/1";

/// Many scenarios, each swept over its seeds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// The name of the format: `fencepost.check/1`.
    pub schema: String,
    /// The version of the engine that played the runs.
    pub engine: String,
    /// Whether every scenario came out as expected, and none was left out.
    pub as_expected: bool,
    /// How many scenarios were to be played; more than there are below, if it was interrupted.
    pub selected: u64,
    /// The scenarios that were played, in order.
    pub scenarios: Vec<SweepReport>,
}

/// One scenario in one line; `width` is that of the longest name.
#[must_use]
pub fn line(report: &SweepReport, width: usize) -> String {
    let standing = report.standing();
    let (mark, colour) = match standing {
        Standing::AsExpected => ('✓', AnsiColor::Green),
        Standing::Differs => ('✗', AnsiColor::Red),
        Standing::Vacuous | Standing::Inconclusive => ('?', AnsiColor::Yellow),
    };
    let style = Style::new().fg_color(Some(colour.into())).bold();
    let (name, cells) = (&report.scenario, counted(report.cells.len() as u64, "cell"));
    let runs = counted(runs(report), "run");
    format!("{style}{mark}{style:#} {name:width$}  {:12}  {cells}, {runs}", standing.name())
}

/// How all came out: `60 scenarios, 213 cells, 41300 runs: 58 as expected, 1 differs, 1 vacuous`.
#[must_use]
pub fn closing(report: &CheckReport) -> String {
    let all = &report.scenarios;
    let cells = all.iter().map(|scenario| scenario.cells.len() as u64).sum();
    let having = |standing: Standing| {
        let number = all.iter().filter(|scenario| scenario.standing() == standing).count();
        let name = if standing == Standing::Differs && number > 1 { "differ" } else { standing.name() };
        (number > 0).then(|| format!("{number} {name}"))
    };
    let standings = [Standing::AsExpected, Standing::Differs, Standing::Vacuous, Standing::Inconclusive];
    let standings: Vec<_> = standings.into_iter().filter_map(having).collect();
    let scenarios = counted(all.len() as u64, "scenario");
    let (cells, runs) = (counted(cells, "cell"), counted(all.iter().map(runs).sum(), "run"));
    format!("{scenarios}, {cells}, {runs}: {}", standings.join(", "))
}

/// The result as JSON, indented by two spaces, with a newline at its end.
///
/// # Panics
/// Never: nothing in a report can fail to be written.
#[must_use]
pub fn to_json(report: &CheckReport) -> String {
    let mut json = serde_json::to_string_pretty(report).expect("strings, integers and maps with string keys");
    json.push('\n');
    json
}

fn runs(report: &SweepReport) -> u64 {
    report.cells.iter().map(|cell| cell.seeds).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gc_pause, without_colours};

    fn standing(standing: Standing) -> SweepReport {
        let mut report = gc_pause();
        report.cells[1].standing = standing;
        report
    }

    #[test]
    fn a_line_says_how_a_scenario_came_out_and_how_much_was_played() {
        assert_eq!(without_colours(&line(&gc_pause(), 10)), "✓ gc-pause    as expected   2 cells, 2000 runs");
        assert_eq!(
            without_colours(&line(&standing(Standing::Differs), 8)),
            "✗ gc-pause  differs       2 cells, 2000 runs"
        );
        assert_eq!(
            without_colours(&line(&standing(Standing::Vacuous), 8)),
            "? gc-pause  vacuous       2 cells, 2000 runs"
        );
    }

    #[test]
    fn the_closing_line_counts_scenarios_cells_and_runs() {
        let mut report = CheckReport {
            schema: SCHEMA.to_owned(),
            engine: "0.1.0".to_owned(),
            as_expected: true,
            selected: 3,
            scenarios: vec![gc_pause()],
        };
        assert_eq!(closing(&report), "1 scenario, 2 cells, 2000 runs: 1 as expected");
        report.scenarios.extend([standing(Standing::Inconclusive), standing(Standing::Differs)]);
        let expected = "3 scenarios, 6 cells, 6000 runs: 1 as expected, 1 differs, 1 inconclusive";
        assert_eq!(closing(&report), expected);
        report.scenarios.push(standing(Standing::Differs));
        assert!(closing(&report).ends_with(": 1 as expected, 2 differ, 1 inconclusive"));
        let read: CheckReport = serde_json::from_str(&to_json(&report)).expect("it was just written");
        assert_eq!(read, report);
    }
}
