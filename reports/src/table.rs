//! A sweep as a table for a person: a row for each cell, a column for each property that the scenario names or
//! of which there is something to say. The others are summed up below: they were broken in no seed.
//!
//! A field says how often the property was broken, and its mark whether that is as expected:
//!
//! | field | meaning |
//! |---|---|
//! | `holds ✓` | broken in no seed, as expected |
//! | `1000/1000 ✗` | broken in all of 1000 seeds, and should not be so often |
//! | `312/1000` | broken in some, and the scenario makes no claim |
//! | `vacuous ?`, `inconclusive ?` | not broken, but in some seed nothing was tried, or nothing could be decided |
//!
//! There are four layouts, from roomy to tight; the roomiest that fits the width is taken. Where none does,
//! cells stand below one another, each with a line for every property: no word is ever broken. Marks are coloured, and say the same without colour: whoever prints to something that knows no colours strips
//! them (`anstream` does).

use anstyle::{AnsiColor, Style};
use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};

use crate::figure;
use crate::frontier;
use crate::result::{CellReport, PropertyReport, SweepReport};
use crate::words::counted;

/// The table and, below it, what its signs mean; a newline ends each line.
#[must_use]
pub fn table(report: &SweepReport, width: usize) -> String {
    let columns = Columns::of(report);
    let fits =
        |layout: &Layout| grid(report, &columns, *layout).lines().all(|line| line.trim_end().chars().count() <= width);
    let layouts = [Layout::Roomy, Layout::Compact, Layout::Dense, Layout::Tight];
    let (layout, text) = match layouts.into_iter().find(fits) {
        Some(layout) => (layout, grid(report, &columns, layout).trim_fmt()),
        None => (Layout::Compact, listed(report, &columns)),
    };
    painted(&format!("{text}\n{}{}\n", summed_up(&columns.rest, width), legend(report, &columns, layout)))
}

/// What a person has to know beside the table, one line each: what is not as expected, and where
/// nothing was tried or decided.
#[must_use]
pub fn notes(report: &SweepReport) -> Vec<String> {
    let frontiers = report.frontiers.iter().filter(|frontier| !frontier.as_expected).map(frontier::sentence);
    report.cells.iter().flat_map(notes_of).chain(frontiers).collect()
}

/// The same of one cell.
#[must_use]
pub fn notes_of(cell: &CellReport) -> Vec<String> {
    let mut notes = Vec::new();
    let (place, seeds) = (place(cell), counted(cell.seeds, "seed"));
    for (name, property) in cell.properties.iter().filter(|(_, property)| !property.as_expected) {
        let first = property.first_seed.as_ref().map_or_else(String::new, |seed| format!(" (first: seed {seed})"));
        let (broken, seeds, expected) = (property.broken, &seeds, expectation(&property.expected));
        notes.push(format!("{place}: {name} is broken in {broken} of {seeds}{first}, but {expected}"));
    }
    for (path, figure) in cell.figures.iter().filter(|(_, figure)| !figure.as_expected) {
        notes.push(format!("{place}: {}", figure::sentence(path, figure)));
    }
    if let Some(differs) = &cell.outside_differs {
        notes.push(format!("{place}: {differs}"));
    }
    if cell.vacuous > 0 {
        let faults = cell.vacuous_faults.join(", ");
        let vacuous = cell.vacuous;
        notes.push(format!(
            "{place}: in {vacuous} of {seeds} a fault never landed ({faults}): what it acts on was not in use, or its moment never came"
        ));
    }
    if cell.inconclusive > 0 {
        let undecided = cell.properties.iter().filter(|(_, property)| property.inconclusive > 0);
        let undecided: Vec<&str> = undecided.map(|(name, _)| name.as_str()).collect();
        let (inconclusive, undecided) = (cell.inconclusive, undecided.join(", "));
        notes.push(format!("{place}: in {inconclusive} of {seeds} something could not be decided ({undecided})"));
    }
    notes
}

/// What was expected to be some number and is, a line each.
#[must_use]
pub fn figures(report: &SweepReport) -> Vec<String> {
    let of_cell = |cell: &CellReport| {
        let place = place(cell);
        // Of a cell in which a fault never landed no number says anything.
        let shown = if cell.vacuous > 0 { Vec::new() } else { figure::as_expected(&cell.figures) };
        shown.into_iter().map(move |figure| format!("{place}: {figure}")).collect::<Vec<_>>()
    };
    let frontiers = report.frontiers.iter().filter(|frontier| frontier.as_expected).map(frontier::sentence);
    report.cells.iter().flat_map(of_cell).chain(frontiers).collect()
}

/// The cells in which all held for want of a holder, a line each: nothing was broken, and nobody was granted
/// a lock in any seed. No expectation is hurt by it (a file that wants a grant says so by `reach`), but a person
/// should know.
#[must_use]
pub fn ungranted(report: &SweepReport) -> Vec<String> {
    let is_meant =
        |cell: &&CellReport| cell.ungranted == cell.seeds && cell.properties.values().all(|one| one.broken == 0);
    let told = |cell| format!("{}: nothing is broken, but nobody was granted a lock in any seed", place(cell));
    report.cells.iter().filter(is_meant).map(told).collect()
}

/// Which cell it is: `redis, open`.
pub(crate) fn place(cell: &CellReport) -> String {
    cell.params.values().fold(cell.lock.clone(), |place, option| format!("{place}, {option}"))
}

/// The sweep in one line: `as expected: 2 of 2 cells, 1000 seeds each`.
#[must_use]
pub fn summary(report: &SweepReport) -> String {
    let cells = &report.cells;
    let having = |is: fn(&CellReport) -> bool| cells.iter().filter(|cell| is(cell)).count() as u64;
    let asides = [(having(|cell| cell.vacuous > 0), "vacuous"), (having(|cell| cell.inconclusive > 0), "inconclusive")];
    let asides: Vec<_> =
        asides.into_iter().filter(|(number, _)| *number > 0).map(|(number, name)| format!("{number} {name}")).collect();
    let asides = if asides.is_empty() { String::new() } else { format!(" ({})", asides.join(", ")) };
    let (expected, all) = (having(|cell| cell.as_expected), counted(cells.len() as u64, "cell"));
    format!("as expected: {expected} of {all}{asides}, {}", seeds(cells))
}

fn seeds(cells: &[CellReport]) -> String {
    match cells {
        [one] => counted(one.seeds, "seed"),
        [first, rest @ ..] if rest.iter().all(|cell| cell.seeds == first.seeds) => {
            format!("{} each", counted(first.seeds, "seed"))
        }
        _ => format!("{} in all", counted(cells.iter().map(|cell| cell.seeds).sum(), "seed")),
    }
}

fn expectation(expected: &str) -> &str {
    match expected {
        "always" => "should be in every one",
        "broken" => "should be in at least one",
        "holds" => "should hold",
        other => other,
    }
}

/// How much room a table takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Layout {
    /// Everything is spelt out.
    Roomy,
    /// Headers take two lines; fields are as short as they can be.
    Compact,
    /// As compact, with less room between columns.
    Dense,
    /// As dense, and fields leave out how many seeds there were, which is said below.
    Tight,
}

/// Which columns a table has, beside the lock's.
struct Columns<'r> {
    /// Axes with more than one option.
    axes: Vec<&'r str>,
    properties: Vec<&'r str>,
    /// The properties that need none: nobody asked for them, and nothing is to be said of them.
    rest: Vec<&'r str>,
}

impl<'r> Columns<'r> {
    fn of(report: &'r SweepReport) -> Self {
        let mut axes = Vec::new();
        for cell in &report.cells {
            for axis in cell.params.keys() {
                let differs = |other: &CellReport| other.params.get(axis) != cell.params.get(axis);
                if !axes.contains(&axis.as_str()) && report.cells.iter().any(differs) {
                    axes.push(axis.as_str());
                }
            }
        }
        let (properties, rest) = columns_and_rest(report);
        Self { axes, properties, rest }
    }
}

/// The properties that have a column each, and the others. A column says something: that the property was
/// broken or undecided in some cell, or that what the scenario says of it is so.
fn columns_and_rest(report: &SweepReport) -> (Vec<&str>, Vec<&str>) {
    let mut all: Vec<&str> = Vec::new();
    for name in report.cells.iter().flat_map(|cell| cell.properties.keys()) {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    let says = |name: &&str| {
        let in_cells = report.cells.iter().filter_map(|cell| cell.properties.get(*name));
        in_cells.into_iter().any(|one| one.named || one.broken > 0 || one.inconclusive > 0)
    };
    let (said, rest): (Vec<&str>, Vec<&str>) = all.iter().partition(|name| says(name));
    // A table without a column could not even say that nothing was tried.
    if said.is_empty() { (vec![EVERY], rest) } else { (said, rest) }
}

/// What a cell has in a column. Where no property has one of its own, the same is to be said of them all.
fn of_column<'c>(cell: &'c CellReport, column: &str) -> Option<&'c PropertyReport> {
    if column == EVERY { cell.properties.values().next() } else { cell.properties.get(column) }
}

/// What is said below the table of the properties without a column.
fn summed_up(rest: &[&str], width: usize) -> String {
    if rest.is_empty() {
        return String::new();
    }
    let mut lines = vec!["broken in no seed:".to_owned()];
    for (i, name) in rest.iter().enumerate() {
        let word = if i + 1 < rest.len() { format!("{name},") } else { (*name).to_owned() };
        match lines.last_mut() {
            Some(line) if line.len() + 1 + word.len() <= width => *line = format!("{line} {word}"),
            _ => lines.push(format!("  {word}")),
        }
    }
    lines.join("\n") + "\n"
}

fn grid(report: &SweepReport, columns: &Columns<'_>, layout: Layout) -> Table {
    let line = LineStyle::none().fill('─').junction('─');
    let mut table = Table::new();
    table.load_style(TableStyle::new().header_separator(line)).set_content_arrangement(ContentArrangement::Disabled);
    let names = [&"lock"].into_iter().chain(&columns.axes);
    table.set_header(names.map(|name| (*name).to_owned()).chain(columns.properties.iter().map(|p| header(p, layout))));
    for cell in &report.cells {
        let options = columns.axes.iter().map(|axis| cell.params.get(*axis).cloned().unwrap_or_default());
        let property = |name: &&str| of_column(cell, name).map_or_else(String::new, |p| field(p, cell, layout));
        let fields = columns.properties.iter().map(property);
        table.add_row([cell.lock.clone()].into_iter().chain(options).chain(fields));
    }
    // One more letter stands between columns in any case.
    let gap = match layout {
        Layout::Roomy => 2,
        Layout::Compact => 1,
        Layout::Dense | Layout::Tight => 0,
    };
    for column in table.column_iter_mut() {
        column.set_padding((0, gap));
    }
    table
}

/// The cells below one another, for want of room.
fn listed(report: &SweepReport, columns: &Columns<'_>) -> String {
    let longest = columns.properties.iter().map(|name| name.len()).max().unwrap_or(0);
    let listed = |cell: &CellReport| {
        let options = columns.axes.iter().filter_map(|axis| Some(format!("\n{axis} {}", cell.params.get(*axis)?)));
        let property = |name: &&str| {
            let property = of_column(cell, name)?;
            Some(format!("\n  {name:longest$}  {}", field(property, cell, Layout::Compact)))
        };
        let lines = options.chain(columns.properties.iter().filter_map(property));
        format!("{}{}\n", cell.lock, lines.collect::<String>())
    };
    report.cells.iter().map(listed).collect::<Vec<_>>().join("\n")
}

fn header(property: &str, layout: Layout) -> String {
    match (layout, property.rsplit_once('-')) {
        (Layout::Roomy, _) | (_, None) => property.to_owned(),
        (_, Some((first, last))) => format!("{first}-\n{last}"),
    }
}

fn field(property: &PropertyReport, cell: &CellReport, layout: Layout) -> String {
    let (broken, seeds) = (property.broken, cell.seeds);
    let roomy = layout == Layout::Roomy;
    if broken == 0 && cell.vacuous > 0 {
        return format!("vacuous {DOUBT}");
    }
    if broken == 0 && property.inconclusive > 0 {
        return format!("{} {DOUBT}", if roomy { "inconclusive" } else { "inconcl." });
    }
    let said = match (broken, layout) {
        (0, _) => "holds".to_owned(),
        (_, Layout::Roomy) => format!("broken {broken}/{seeds}"),
        (_, Layout::Compact | Layout::Dense) => format!("{broken}/{seeds}"),
        (_, Layout::Tight) => broken.to_string(),
    };
    match (property.expected.as_str(), property.as_expected) {
        ("free", _) => said,
        (_, true) => format!("{said} {RIGHT}"),
        (_, false) => format!("{said} {WRONG}"),
    }
}

/// What the signs that occur in the table's fields mean.
fn legend(report: &SweepReport, columns: &Columns<'_>, layout: Layout) -> String {
    let of_cell =
        |cell| columns.properties.iter().filter_map(move |name| Some(field(of_column(cell, name)?, cell, layout)));
    let all: Vec<String> = report.cells.iter().flat_map(of_cell).collect();
    let fields = all.concat();
    let has_plain = all.iter().any(|field| !field.contains([RIGHT, WRONG, DOUBT]));
    let number = match (layout, report.cells.as_slice()) {
        (Layout::Roomy | Layout::Compact | Layout::Dense, _) => "k/n: broken in k of n seeds".to_owned(),
        (Layout::Tight, [first, rest @ ..]) if rest.iter().all(|cell| cell.seeds == first.seeds) => {
            format!("k: broken in k of {}", counted(first.seeds, "seed"))
        }
        (Layout::Tight, _) => "k: broken in k seeds".to_owned(),
    };
    let signs = [
        (fields.contains(|sign: char| sign.is_ascii_digit()), number),
        (fields.contains(RIGHT), format!("{RIGHT} as expected")),
        (fields.contains(WRONG), format!("{WRONG} not as expected")),
        (fields.contains(DOUBT), format!("{DOUBT} nothing is shown")),
        (has_plain, "no mark: no claim".to_owned()),
    ];
    let occurring: Vec<_> = signs.into_iter().filter_map(|(occurs, sign)| occurs.then_some(sign)).collect();
    occurring.join("   ")
}

/// The text with its marks coloured. Only now: a layout would count the bytes of a colour as letters.
fn painted(text: &str) -> String {
    let marks = [(RIGHT, AnsiColor::Green), (WRONG, AnsiColor::Red), (DOUBT, AnsiColor::Yellow)];
    marks.into_iter().fold(text.to_owned(), |text, (mark, colour)| {
        let style = Style::new().fg_color(Some(colour.into())).bold();
        text.replace(mark, &format!("{style}{mark}{style:#}"))
    })
}

/// The only column, where no property has one.
const EVERY: &str = "every property";
const RIGHT: char = '✓';
const WRONG: char = '✗';
const DOUBT: char = '?';

#[cfg(test)]
mod tests;
