//! The result of a sweep as one JSON object: `fencepost.result/1`.
//!
//! This is what `--format json` prints. The order of keys is the order of fields here, and every key
//! is always there. Changing the meaning of a key, or taking one away, makes a new schema; a new key
//! does not, and readers ignore keys that they do not know.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::FigureReport;
use crate::frontier::FrontierReport;

/// The name of the format.
pub const SCHEMA: &str = "fencepost.result/1";

/// One scenario, swept over seeds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SweepReport {
    /// The name of the format: `fencepost.result/1`.
    pub schema: String,
    /// The version of the engine that played the runs.
    pub engine: String,
    /// The scenario's name.
    pub scenario: String,
    /// Whether every cell came out as expected, and none was left out.
    pub as_expected: bool,
    /// Whether somebody stopped it before all cells were played: below are those that were finished.
    pub interrupted: bool,
    /// One for each lock and each combination of the matrix's options, in the order of the matrix; of an
    /// axis that was searched, only those that were played.
    pub cells: Vec<CellReport>,
    /// Where what was searched for turns, on each line along that axis.
    pub frontiers: Vec<FrontierReport>,
}

/// One cell: one lock and one option on each axis, over many seeds.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CellReport {
    /// The lock.
    pub lock: String,
    /// The option chosen on each other axis.
    pub params: IndexMap<String, String>,
    /// How many seeds were played.
    pub seeds: u64,
    /// In how many of them some fault never landed, so that nothing was tried.
    pub vacuous: u64,
    /// In how many of them some property could not be decided.
    pub inconclusive: u64,
    /// In how many of them nobody was granted a lock, although some script asks for one: then what is said of
    /// promises and their holders held for want of any.
    pub ungranted: u64,
    /// Whether all properties came out as expected, and faults landed as they should.
    pub as_expected: bool,
    /// How it came out.
    pub standing: Standing,
    /// How each property that was judged came out.
    pub properties: IndexMap<String, PropertyReport>,
    /// What is expected to be some number, by its path in the scenario file, and what it came to.
    pub figures: IndexMap<String, FigureReport>,
    /// The longest overlap of two promises in each seed.
    pub grant_overlap_ms: Spread,
    /// The longest overlap of two clients' beliefs in each seed.
    pub belief_overlap_ms: Spread,
    /// In how many seeds each assumption was not met on which some broken property rests.
    pub assumptions_broken: IndexMap<String, u64>,
    /// If the assumptions outside of which it was broken are not those that the file expects: how.
    pub outside_differs: Option<String>,
    /// The faults that did not land where they should have.
    pub vacuous_faults: Vec<String>,
    /// A fold of the trace hashes of all runs, in the order of the seeds: 16 hexadecimal digits.
    pub hash: String,
    /// Where the trace of the first violation was written, if it was.
    pub trace: Option<String>,
}

/// How a cell came out. Broken promises outrank untested ones, and those outrank undecided ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// All is as expected.
    AsExpected,
    /// Some property could not be decided.
    Inconclusive,
    /// Some fault never landed: nothing was tried.
    Vacuous,
    /// Something is not as expected.
    Differs,
}

impl Standing {
    /// In words.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::AsExpected => "as expected",
            Self::Inconclusive => "inconclusive",
            Self::Vacuous => "vacuous",
            Self::Differs => "differs",
        }
    }
}

impl SweepReport {
    /// How the scenario came out: as the gravest of its cells.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let off = self.frontiers.iter().any(|frontier| !frontier.as_expected).then_some(Standing::Differs);
        self.cells.iter().map(|cell| cell.standing).chain(off).max().unwrap_or(Standing::AsExpected)
    }
}

impl CellReport {
    /// One seed that shows what is not as expected, if one does.
    #[must_use]
    pub fn witness(&self) -> Option<&str> {
        let broken = self.properties.values().filter(|property| property.expected == "holds" && !property.as_expected);
        let off = self.figures.values().filter(|figure| !figure.as_expected);
        let mut seeds = broken
            .map(|property| &property.first_seed)
            .chain(off.map(|figure| &figure.seed))
            .filter_map(Option::as_deref);
        seeds.next()
    }
}

/// One property of one cell.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PropertyReport {
    /// In how many seeds it was broken.
    pub broken: u64,
    /// In how many seeds it could not be decided.
    pub inconclusive: u64,
    /// The first seed that broke it, in decimal.
    pub first_seed: Option<String>,
    /// How often it should be broken: `always`, `broken` (at least once), `holds`, or `free` (no claim).
    pub expected: String,
    /// Whether the scenario says so; of a property of which it says nothing it is expected that it holds.
    pub named: bool,
    /// Whether it came out as expected, or may have for all that was tried: a seed in which a fault never
    /// landed is no counter-example (see `vacuous` of the cell).
    pub as_expected: bool,
}

/// A figure over the seeds of a cell, in whole milliseconds, rounded up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// The largest.
    pub max: u64,
    /// The median.
    pub median: u64,
}

/// The result as JSON, indented by two spaces, with a newline at its end.
///
/// # Panics
/// Never: nothing in a report can fail to be written.
#[must_use]
pub fn to_json(report: &SweepReport) -> String {
    let mut json = serde_json::to_string_pretty(report).expect("strings, integers and maps with string keys");
    json.push('\n');
    json
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{gc_pause, longest_belief_overlap};

    #[test]
    fn keys_come_in_the_order_of_the_format() {
        let mut report = gc_pause();
        report.cells.truncate(1);
        report.cells[0].properties.truncate(2);
        report.cells[0].figures.insert("measure.belief-overlap.max".to_owned(), longest_belief_overlap());
        assert_eq!(to_json(&report), include_str!("../tests/golden/result.json"));
    }

    #[test]
    fn a_result_reads_back_as_it_was_written() {
        let report = gc_pause();
        let read: SweepReport = serde_json::from_str(&to_json(&report)).expect("it was just written");
        assert_eq!(read, report);
    }

    #[test]
    fn readers_ignore_keys_that_they_do_not_know() {
        let json = to_json(&gc_pause()).replacen("\"engine\"", "\"colour\": [\"red\"],\n  \"engine\"", 1);
        let read: SweepReport = serde_json::from_str(&json).expect("an unknown key is no matter");
        assert_eq!(read, gc_pause());
    }
}
