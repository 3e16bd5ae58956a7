//! A sweep as a picture (SVG): a row for each cell, a column for each property that the scenario names or that was broken somewhere.
//!
//! A bar is the share of seeds in which the property was broken, its whisker the interval of Wilson (95 %). Behind them is how long
//! promises and beliefs overlapped, if some did: one histogram a cell, all on one scale. All axes are linear.
//!
//! Everything is laid out in whole pixels here; no font is measured (labels are set in a font whose letters are all of one width).

mod canvas;

use crate::csv::verdict;
use crate::frontier;
use crate::result::{CellReport, PropertyReport, SweepReport};
use crate::{table, wilson};
use canvas::{BAD, BLUE, Canvas, FAINT, GREY, INK, PALE, Side};

/// How long overlaps were in a cell: of promises, and of beliefs.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Overlapping {
    /// Each length in ms, in ascending order, and how many seeds had it as their longest.
    pub grants: Vec<(u64, u64)>,
    /// The same of beliefs.
    pub beliefs: Vec<(u64, u64)>,
}

/// The picture. `overlaps` are of the report's cells, in their order.
#[must_use]
pub fn svg(report: &SweepReport, overlaps: &[Overlapping]) -> String {
    let plan = Plan::of(report, overlaps);
    let mut canvas = Canvas::new(plan.width(), plan.height());
    plan.head(&mut canvas);
    for (index, cell) in report.cells.iter().enumerate() {
        plan.row(&mut canvas, index, cell);
    }
    plan.foot(&mut canvas);
    canvas.finish()
}

/// What goes where.
struct Plan<'a> {
    report: &'a SweepReport,
    labels: Vec<String>,
    properties: Vec<&'a String>,
    histograms: Vec<Histogram>,
    remarks: Vec<String>,
}

/// A column of histograms.
struct Histogram {
    name: &'static str,
    /// The end of its axis: the longest that there is, in ms, made even for the mark in the middle.
    longest: u64,
    /// For each cell, how many seeds are in each bin; seeds without an overlap are in none.
    cells: Vec<[u64; BINS]>,
}

impl Histogram {
    fn of<'o>(name: &'static str, all: impl Iterator<Item = &'o Vec<(u64, u64)>> + Clone) -> Option<Self> {
        let longest =
            all.clone().flatten().map(|(ms, _)| *ms).max().filter(|longest| *longest > 0)?.next_multiple_of(2);
        let cells = all.map(|lengths| {
            let mut bins = [0; BINS];
            for (ms, seeds) in lengths.iter().filter(|(ms, _)| *ms > 0) {
                bins[usize::try_from((ms * BINS as u64 - 1) / longest).expect("a bin")] += seeds;
            }
            bins
        });
        Some(Self { name, longest, cells: cells.collect() })
    }
}

impl<'a> Plan<'a> {
    fn of(report: &'a SweepReport, overlaps: &[Overlapping]) -> Self {
        let mut properties: Vec<&String> = Vec::new();
        for (name, property) in report.cells.iter().flat_map(|cell| &cell.properties) {
            if (property.named || property.broken > 0) && !properties.contains(&name) {
                properties.push(name);
            }
        }
        // In the order in which cells have them.
        let order = |name: &String| report.cells.iter().find_map(|cell| cell.properties.get_index_of(name));
        properties.sort_by_key(|name| order(name));
        let histograms = [
            Histogram::of("promises overlap", overlaps.iter().map(|overlap| &overlap.grants)),
            Histogram::of("beliefs overlap", overlaps.iter().map(|overlap| &overlap.beliefs)),
        ];
        let labels = report.cells.iter().map(|cell| shortened(&table::place(cell))).collect();
        let mut plan = Self {
            report,
            labels,
            properties,
            histograms: histograms.into_iter().flatten().collect(),
            remarks: vec![],
        };
        plan.remarks = plan.remarks();
        plan
    }

    fn remarks(&self) -> Vec<String> {
        let mut remarks = vec![
            "Bar: share of the seeds in which the property was broken; whisker: 95 % interval (Wilson).".to_owned(),
            "Blue: as expected. Red: not as expected. Grey word: not broken, but nothing was tried, or decided."
                .to_owned(),
        ];
        if !self.histograms.is_empty() {
            remarks.push(
                "Overlap: how many seeds had a longest overlap of that length; seeds without one are left out."
                    .to_owned(),
            );
        }
        if self.report.interrupted {
            remarks.push("Interrupted: cells that were not finished are missing.".to_owned());
        }
        remarks.extend(self.report.frontiers.iter().map(frontier::sentence));
        let columns = usize::try_from((self.width() - 2 * MARGIN) / LETTER).unwrap_or(1);
        remarks.iter().flat_map(|remark| broken_to(remark, columns)).collect()
    }

    fn label_width(&self) -> i32 {
        let longest = self.labels.iter().map(|label| length(label)).max().unwrap_or(0);
        (longest * LETTER + GAP).max(120)
    }

    fn columns(&self) -> i32 {
        i32::try_from(self.properties.len() + self.histograms.len()).expect("few columns")
    }

    fn width(&self) -> i32 {
        (2 * MARGIN + self.label_width() + self.columns() * (PANEL + GAP)).max(720)
    }

    fn rows(&self) -> i32 {
        i32::try_from(self.labels.len()).expect("a picture has fewer than 2^31 rows")
    }

    fn bottom(&self) -> i32 {
        TOP + self.rows() * ROW
    }

    fn height(&self) -> i32 {
        let remarks = i32::try_from(self.remarks.len()).expect("few remarks");
        self.bottom() + 44 + remarks * LINE + MARGIN
    }

    /// Where the nth column begins.
    fn left(&self, column: usize) -> i32 {
        MARGIN + self.label_width() + i32::try_from(column).expect("few columns") * (PANEL + GAP)
    }

    /// Title, names of columns, and the grid behind all.
    fn head(&self, canvas: &mut Canvas) {
        canvas.text(MARGIN, 26, &self.report.scenario, 18, INK, Side::Left);
        let mut seeds: Vec<u64> = self.report.cells.iter().map(|cell| cell.seeds).collect();
        seeds.sort_unstable();
        let each = match (seeds.first(), seeds.last()) {
            (Some(least), Some(most)) if least == most => format!("{least} seeds each"),
            (Some(least), Some(most)) => format!("{least} to {most} seeds each"),
            _ => "nothing was played".to_owned(),
        };
        canvas.text(MARGIN, 46, &each, 12, GREY, Side::Left);
        for row in 0..self.rows() {
            if row % 2 == 0 {
                canvas.fill(MARGIN, TOP + row * ROW, self.width() - MARGIN, TOP + (row + 1) * ROW, PALE);
            }
        }
        for (column, name) in self.properties.iter().enumerate() {
            self.column(canvas, column, name, &["0", "50", "100 %"]);
        }
        for (n, histogram) in self.histograms.iter().enumerate() {
            let ticks = ["0".to_owned(), shown(histogram.longest / 2), format!("{} ms", shown(histogram.longest))];
            self.column(canvas, self.properties.len() + n, histogram.name, &ticks.each_ref().map(String::as_str));
        }
    }

    fn column(&self, canvas: &mut Canvas, column: usize, name: &str, ticks: &[&str; 3]) {
        let left = self.left(column);
        canvas.text(left, TOP - 10, name, 12, INK, Side::Left);
        for (at, (tick, side)) in (0..).zip(ticks.iter().zip([Side::Left, Side::Middle, Side::Right])) {
            let x = left + at * PANEL / 2;
            canvas.line(x, TOP, x, self.bottom(), FAINT);
            canvas.text(x, self.bottom() + 14, tick, 10, GREY, side);
        }
    }

    fn row(&self, canvas: &mut Canvas, index: usize, cell: &CellReport) {
        let top = TOP + i32::try_from(index).expect("fewer than 2^31 rows") * ROW;
        canvas.text(MARGIN + 4, top + 13, &self.labels[index], 11, INK, Side::Left);
        for (column, name) in self.properties.iter().enumerate() {
            if let Some(property) = cell.properties.get(*name) {
                bar(canvas, self.left(column), top, cell, property);
            }
        }
        for (n, histogram) in self.histograms.iter().enumerate() {
            let left = self.left(self.properties.len() + n);
            // Each row by its own highest bin: it is the shape that is to be seen.
            let highest = histogram.cells[index].iter().copied().max().unwrap_or(0);
            for (bin, seeds) in (0..).zip(histogram.cells[index]).filter(|(_, seeds)| *seeds > 0) {
                let height = 1 + part(ROW - 4, seeds, highest);
                let (from, to) = (left + bin * BIN, left + (bin + 1) * BIN);
                canvas.fill(from, top + ROW - 1 - height, (to - 1).max(from + 1), top + ROW - 1, BLUE);
            }
        }
    }

    fn foot(&self, canvas: &mut Canvas) {
        for (line, remark) in (0..).zip(&self.remarks) {
            canvas.text(MARGIN, self.bottom() + 44 + line * LINE, remark, 11, GREY, Side::Left);
        }
    }
}

/// One share, with its interval.
fn bar(canvas: &mut Canvas, left: i32, top: i32, cell: &CellReport, property: &PropertyReport) {
    let (middle, word) = (top + ROW / 2, verdict(cell, property));
    if cell.seeds == 0 {
        return;
    }
    if word == "vacuous" || word == "inconclusive" {
        return canvas.text(left + 3, top + 13, word, 10, GREY, Side::Left);
    }
    let colour = if property.as_expected { BLUE } else { BAD };
    let end = left + part(PANEL, property.broken, cell.seeds);
    if property.broken > 0 {
        canvas.fill(left, top + 4, end.max(left + 1), top + ROW - 4, colour);
    }
    let (low, high) = wilson(property.broken, cell.seeds);
    let [low, high] = [low, high].map(|ppm| left + part(PANEL, ppm.into(), 1_000_000));
    canvas.line(low, middle, high, middle, INK);
    for x in [low, high] {
        canvas.line(x, middle - 3, x, middle + 3, INK);
    }
}

/// So much of a length, rounded.
fn part(length: i32, of: u64, whole: u64) -> i32 {
    let length = u128::from(length.unsigned_abs());
    let whole = u128::from(whole.max(1));
    i32::try_from((length * u128::from(of) + whole / 2) / whole).expect("no more than the length")
}

/// Whole ms as a person reads them: `1500`, `12 500` with a space for thousands from five digits on.
fn shown(ms: u64) -> String {
    let digits = ms.to_string();
    if digits.len() < 5 {
        return digits;
    }
    let first = digits.len() % 3;
    let (head, tail) = digits.split_at(first);
    let groups = tail.as_bytes().chunks(3).map(|group| String::from_utf8_lossy(group).into_owned());
    let groups: Vec<String> = Some(head.to_owned()).filter(|head| !head.is_empty()).into_iter().chain(groups).collect();
    groups.join(" ")
}

/// A label that is too long loses its middle.
fn shortened(label: &str) -> String {
    let letters: Vec<char> = label.chars().collect();
    if letters.len() <= LONGEST_LABEL {
        return label.to_owned();
    }
    let half = LONGEST_LABEL / 2;
    let [head, tail] =
        [&letters[..half], &letters[letters.len() - half + 1..]].map(|part| part.iter().collect::<String>());
    format!("{head}…{tail}")
}

fn length(label: &str) -> i32 {
    i32::try_from(label.chars().count()).expect("labels are short")
}

fn broken_to(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().expect("there is one");
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > columns {
            lines.push(word.to_owned());
        } else {
            last.push_str(if last.is_empty() { "" } else { " " });
            last.push_str(word);
        }
    }
    lines
}

/// Room around all.
const MARGIN: i32 = 20;
/// Room between columns.
const GAP: i32 = 26;
/// Where the rows begin.
const TOP: i32 = 84;
const ROW: i32 = 18;
const LINE: i32 = 16;
/// How wide a column is.
const PANEL: i32 = 120;
/// How wide a letter of 11 pixels is, rounded up.
const LETTER: i32 = 7;
const LONGEST_LABEL: usize = 72;
const BINS: usize = 30;
/// How wide one is.
const BIN: i32 = PANEL / 30;

#[cfg(test)]
mod tests;
