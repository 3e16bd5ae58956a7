//! The language of scenario files: from TOML to checked [cells](crate::cell::Cell).
//!
//! One file makes one claim: a world, what goes wrong in it, what must then be true. The language is
//! plain TOML, and five ideas:
//!
//! 1. Every parameter has a path (`fault.gc.for`); `--set`, the matrix and a sweep use the same paths.
//! 2. A cell is a whole file: `[matrix]` lays options over the file, and every combination is read and
//!    checked like a file of its own.
//! 3. A name is short for its empty table: `lock = "redis"` is `[lock.redis]`.
//! 4. A milestone is a named moment; faults start or end at it, scripts wait for it.
//! 5. A fault is one *what*, one *when*, at most one *how long*.
//!
//! What the language has but nothing can use yet is refused at its place; nothing is ever ignored.
//!
//! | step | file |
//! |---|---|
//! | text to a tree with places | [`tree`] |
//! | `--set` laid over it | [`set`] |
//! | axes, cells, laying options over the file | [`parameter`], [`range`], [`axis`], [`matrix`](mod@matrix), [`merge`] |
//! | one cell: its top level | [`top`], [`lock`], [`resource`](mod@resource), [`clients`], [`steps`] |
//! | names, moments and what scripts can reach | [`nodes`], [`when`], [`uses`] |
//! | faults | [`faults`], [`what`], [`link`], [`message`], [`inside`], [`profile`] |
//! | expectations, their bounds and the twin rule | [`expect`], [`figures`], [`frontier`], [`bounds`], [`twin`] |
//! | the same for editors | [`schema`](mod@schema) |
//! | tools: keys, values, mistakes, what to say of unknown words | [`reader`], [`value`], [`error`], [`suggest`] |
//!
//! It is not a validator of types alone: names are resolved, and what can never apply is a mistake. It
//! reads no file and prints nothing.

mod axis;
mod bounds;
mod clients;
mod error;
mod expect;
mod faults;
mod figures;
mod frontier;
mod inside;
mod link;
mod lock;
mod matrix;
mod merge;
mod message;
mod nodes;
mod parameter;
mod profile;
mod range;
mod reader;
mod resource;
mod schema;
mod service;
mod set;
mod steps;
mod store;
mod suggest;
mod top;
mod tree;
mod twin;
mod uses;
mod value;
mod what;
mod when;

#[cfg(test)]
mod tests;

pub use error::{LoadError, LoadErrors, Text};
pub use schema::schema;
pub use set::Override;
pub use suggest::instead;

use crate::cell::{Axis, Scenario};
use crate::frontier::Bisection;
use error::Sink;
use expect::{Claims, claims, expectations};
use matrix::{Matrix, matrix};
use range::Quantity;
use top::Header;
use tree::Table;

/// Reads a scenario file, with parameters laid over it.
///
/// `file_name` is for messages only.
///
/// ```
/// # use scenarios::language::load;
/// let file = "name = \"short\"\ntitle = \"t\"\nsource = \"s\"\nlock = \"redis\"\nttl = \"10sec\"\n[client.A]\n";
/// let errors = load("short.toml", file, &[]).unwrap_err();
/// let shown = [
///     "error: duration `10sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h",
///     " --> short.toml:5:7",
///     "  |",
///     "5 | ttl = \"10sec\"",
///     "  |       ^^^^^^^",
/// ];
/// assert_eq!(errors.to_string(), shown.join("\n"));
/// ```
///
/// # Errors
/// Everything that is wrong with the file and the overrides, each with its place.
pub fn load(file_name: &str, text: &str, overrides: &[Override]) -> Result<Scenario, LoadErrors> {
    // A byte order mark is no part of the text, or columns would begin at two.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let sink = Sink::default();
    let Some((file, matrix)) = base(&sink, text, overrides) else {
        return Err(sink.into_errors(texts(file_name, text, overrides), 1, |_| String::new()));
    };
    match scenario(&sink, text, &file, &matrix) {
        Some(scenario) if sink.is_empty() => Ok(scenario),
        _ => Err(sink.into_errors(texts(file_name, text, overrides), matrix.cells(), |cell| matrix.label(cell))),
    }
}

/// The file with the overrides laid over it, and its matrix.
fn base(sink: &Sink, text: &str, overrides: &[Override]) -> Option<(Table, Matrix)> {
    let file = tree::parse(sink, 0, text);
    let sets: Vec<_> =
        overrides.iter().enumerate().filter_map(|(i, argument)| set::parse(sink, i + 1, argument)).collect();
    let mut file = file?;
    let sets: Vec<_> = sets.into_iter().filter(|set| set::has_place(sink, set, &file)).collect();
    for set in &sets {
        merge::lay(&mut file, &set.patch);
    }
    let matrix = matrix(sink, &file);
    for set in &sets {
        set::is_free(sink, set, &matrix);
    }
    Some((file, matrix))
}

fn scenario(sink: &Sink, text: &str, file: &Table, matrix: &Matrix) -> Option<Scenario> {
    let entries = expectations(sink, file, matrix);
    let mut header: Option<Header> = None;
    let mut cells = Vec::new();
    let mut expected: Vec<Claims<'_>> = Vec::new();
    for number in 0..matrix.cells() {
        sink.enter(Some(number));
        let mut claims = claims(sink, &entries, matrix, number);
        if let Some((own, mut cell)) = top::cell(sink, &matrix.file(file, number), &claims) {
            claims.bounds = Some(cell.bounds);
            cell.params = params(matrix, number);
            cell.criterion = matrix.axes.iter().find_map(|axis| axis.bisect).map(|bisect| bisect.criterion);
            cells.push(cell);
            header.get_or_insert(own);
        }
        expected.push(claims);
    }
    sink.enter(None);
    if matrix.sound {
        twin::twins(sink, matrix, &expected);
    }
    let header = header?;
    Some(Scenario {
        name: header.name,
        title: header.title,
        source: header.source,
        note: header.note,
        text: text.into(),
        seeds: header.seeds,
        axes: axes(matrix),
        cells,
    })
}

fn axes(matrix: &Matrix) -> Vec<Axis> {
    let options = |axis: &matrix::ExpandedAxis| axis.choices.iter().map(|choice| choice.label.clone()).collect();
    let bisection = |axis: &matrix::ExpandedAxis| {
        let values = axis.choices.iter().filter_map(|choice| choice.quantity.map(Quantity::get)).collect();
        axis.bisect.map(|bisect| Bisection { criterion: bisect.criterion, unit: bisect.unit, values })
    };
    let axis = |axis: &matrix::ExpandedAxis| Axis {
        name: axis.name.clone(),
        options: options(axis),
        bisection: bisection(axis),
    };
    matrix.axes.iter().map(axis).collect()
}

/// The options of a cell, but for its lock.
fn params(matrix: &Matrix, cell: usize) -> Vec<(String, String)> {
    let chosen = matrix.axes.iter().zip(matrix.chosen(cell));
    chosen
        .filter(|(axis, _)| axis.name != "lock")
        .map(|(axis, choice)| (axis.name.clone(), choice.label.clone()))
        .collect()
}

fn texts(file_name: &str, text: &str, overrides: &[Override]) -> Vec<Text> {
    let file = Text { name: file_name.to_owned(), content: text.to_owned() };
    let sets = overrides.iter().map(|set| Text { name: "--set".to_owned(), content: set.text().to_owned() });
    [file].into_iter().chain(sets).collect()
}
