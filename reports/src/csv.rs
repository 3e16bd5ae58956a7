//! A sweep as comma-separated values: a row for each cell and property.
//!
//! RFC 4180, but with `\n` at the end of a line. Columns are those of [`COLUMNS`], with one for each axis of the matrix behind `lock`.

use std::collections::BTreeSet;

use crate::result::{CellReport, PropertyReport, SweepReport};
use crate::wilson;

/// The columns, and what is in them; `docs/results.md` says the same.
pub const COLUMNS: [(&str, &str); 21] = [
    ("scenario", "its name"),
    ("engine", "the version of the engine"),
    ("lock", "the lock"),
    ("property", "the property"),
    ("seeds", "how many seeds were played"),
    ("broken", "in how many of them it was broken"),
    ("share", "the share of these, six decimals"),
    ("share_low", "the lower end of its interval (Wilson, 95 %)"),
    ("share_high", "the upper end"),
    ("expected", "`always`, `broken` (at least once), `holds`, or `free` (no claim)"),
    ("as_expected", "`true` or `false`"),
    ("verdict", "`broken`, `inconclusive`, `vacuous` or `holds`: the first of them that some seed gives"),
    ("first_seed", "the first seed that broke it; empty: none did"),
    ("inconclusive", "in how many seeds the property could not be decided"),
    ("vacuous", "in how many seeds of the cell some fault never landed"),
    ("ungranted", "in how many seeds of the cell nobody was granted a lock"),
    ("grant_overlap_max_ms", "the longest overlap of two promises in any seed, in ms rounded up"),
    ("grant_overlap_median_ms", "the median of the longest of each seed"),
    ("belief_overlap_max_ms", "the longest overlap of two clients' beliefs in any seed, in ms rounded up"),
    ("belief_overlap_median_ms", "the median of the longest of each seed"),
    ("hash", "a fold of the trace hashes of all runs of the cell"),
];

/// How many columns come before those of the axes.
const BEFORE_AXES: usize = 3;

/// The result as comma-separated values.
///
/// # Panics
/// Never: what is written to memory is written.
#[must_use]
pub fn csv(report: &SweepReport) -> String {
    let axes = axes(report);
    let mut writer = ::csv::WriterBuilder::new().from_writer(Vec::new());
    let (before, after) = COLUMNS.split_at(BEFORE_AXES);
    let [before, after] = [before, after].map(|columns| columns.iter().map(|(name, _)| (*name).to_owned()));
    let head: Vec<String> = before.chain(axes.iter().map(|axis| format!("axis.{axis}"))).chain(after).collect();
    writer.write_record(head).expect(IN_MEMORY);
    for cell in &report.cells {
        for (name, property) in &cell.properties {
            writer.write_record(row(report, &axes, cell, name, property)).expect(IN_MEMORY);
        }
    }
    let bytes = writer.into_inner().expect(IN_MEMORY);
    String::from_utf8(bytes).expect("it was put together from text")
}

/// The axes of the matrix, in the order in which cells have them.
fn axes(report: &SweepReport) -> Vec<&String> {
    let mut seen = BTreeSet::new();
    report.cells.iter().flat_map(|cell| cell.params.keys()).filter(|axis| seen.insert(*axis)).collect()
}

fn row(
    report: &SweepReport,
    axes: &[&String],
    cell: &CellReport,
    name: &str,
    property: &PropertyReport,
) -> Vec<String> {
    let ppm = |share: u64| format!("{}.{:06}", share / MILLION, share % MILLION);
    let (low, high) = if cell.seeds > 0 { wilson(property.broken, cell.seeds) } else { (0, 1_000_000) };
    let share = (property.broken * MILLION + cell.seeds / 2).checked_div(cell.seeds).unwrap_or(0);
    let option = |axis: &&String| cell.params.get(*axis).cloned().unwrap_or_default();
    let mut row = vec![report.scenario.clone(), report.engine.clone(), cell.lock.clone()];
    row.extend(axes.iter().map(option));
    row.extend([
        name.to_owned(),
        cell.seeds.to_string(),
        property.broken.to_string(),
        ppm(share),
        ppm(low.into()),
        ppm(high.into()),
        property.expected.clone(),
        property.as_expected.to_string(),
        verdict(cell, property).to_owned(),
        property.first_seed.clone().unwrap_or_default(),
        property.inconclusive.to_string(),
        cell.vacuous.to_string(),
        cell.ungranted.to_string(),
        cell.grant_overlap_ms.max.to_string(),
        cell.grant_overlap_ms.median.to_string(),
        cell.belief_overlap_ms.max.to_string(),
        cell.belief_overlap_ms.median.to_string(),
        cell.hash.clone(),
    ]);
    row
}

/// How a property came out in a cell, in one word: the gravest of what its seeds say.
pub(crate) const fn verdict(cell: &CellReport, property: &PropertyReport) -> &'static str {
    if property.broken > 0 {
        "broken"
    } else if cell.vacuous > 0 {
        "vacuous"
    } else if property.inconclusive > 0 {
        "inconclusive"
    } else {
        "holds"
    }
}

const IN_MEMORY: &str = "what is written to memory is written";
const MILLION: u64 = 1_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::gc_pause;

    #[test]
    fn a_row_for_each_cell_and_property() {
        assert_eq!(csv(&gc_pause()), include_str!("../tests/golden/result.csv"));
    }

    #[test]
    fn the_columns_are_written_down_as_they_are() {
        let docs = include_str!("../../docs/results.md");
        for (name, what) in COLUMNS {
            assert!(docs.contains(&format!("| `{name}` | {what} |")), "docs/results.md lacks the row of `{name}`");
        }
        assert_eq!(docs.matches("\n| `").count(), COLUMNS.len() + 1, "and has the axes' row, and no other");
    }

    #[test]
    fn every_row_has_every_column_and_reads_back() {
        let mut report = gc_pause();
        // An option with all that separates, and a cell that lacks the axis.
        report.cells[0].params.insert("note".to_owned(), "a,b \"c\"\nd".to_owned());
        let text = csv(&report);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<_> = reader.records().map(|row| row.expect("all rows are of one length")).collect();
        assert_eq!(reader.headers().expect("a head").len(), COLUMNS.len() + 2);
        assert_eq!(rows.len(), 10);
        assert_eq!((&rows[0][4], &rows[9][4]), ("a,b \"c\"\nd", ""));
    }

    #[test]
    fn each_figure_is_in_its_own_column() {
        let mut report = gc_pause();
        report.cells.truncate(1);
        let cell = &mut report.cells[0];
        cell.properties.truncate(1);
        cell.properties["grant-exclusion"].inconclusive = 11;
        (cell.vacuous, cell.ungranted) = (12, 13);
        (cell.grant_overlap_ms.max, cell.grant_overlap_ms.median) = (15, 14);
        (cell.belief_overlap_ms.max, cell.belief_overlap_ms.median) = (17, 16);
        let text = csv(&report);
        let mut reader = ::csv::Reader::from_reader(text.as_bytes());
        let head = reader.headers().expect("a head").clone();
        let row = reader.records().next().expect("a row").expect("of the head's length");
        let figure = |name: &str| row[head.iter().position(|column| column == name).expect("a column")].to_owned();
        for (name, is) in [
            ("inconclusive", "11"),
            ("vacuous", "12"),
            ("ungranted", "13"),
            ("grant_overlap_median_ms", "14"),
            ("grant_overlap_max_ms", "15"),
            ("belief_overlap_median_ms", "16"),
            ("belief_overlap_max_ms", "17"),
        ] {
            assert_eq!(figure(name), is, "{name}");
        }
    }

    #[test]
    fn the_gravest_word_is_said() {
        let mut report = gc_pause();
        let (cell, name) = (&mut report.cells[0], "grant-exclusion");
        let mut words = vec![verdict(cell, &cell.properties[name])];
        cell.properties[name].inconclusive = 1;
        words.push(verdict(cell, &cell.properties[name]));
        cell.vacuous = 1;
        words.push(verdict(cell, &cell.properties[name]));
        cell.properties[name].broken = 1;
        words.push(verdict(cell, &cell.properties[name]));
        assert_eq!(words, ["holds", "inconclusive", "vacuous", "broken"]);
    }

    #[test]
    fn a_share_is_rounded_and_its_interval_is_around_it() {
        let mut report = gc_pause();
        report.cells.truncate(1);
        report.cells[0].seeds = 3;
        report.cells[0].properties.truncate(1);
        for (broken, shares) in [
            (0, "0.000000,0.000000,0.561507"),
            (1, "0.333333,0.061490,0.792346"),
            (2, "0.666667,0.207654,0.938510"),
            (3, "1.000000,0.438493,1.000000"),
        ] {
            report.cells[0].properties["grant-exclusion"].broken = broken;
            assert!(csv(&report).contains(&format!("grant-exclusion,3,{broken},{shares}")), "{}", csv(&report));
        }
    }
}
