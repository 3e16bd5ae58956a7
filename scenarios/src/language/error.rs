//! What is wrong with a scenario, and where: every mistake of a file in one pass.
//!
//! The loader puts its findings into a [`Sink`]. The same mistake in an option of the matrix is found
//! once in every cell that the option is part of; the sink keeps it once, and remembers in which
//! cells, so that a mistake of one combination can name it. This file renders plain text; colours and
//! boxes are the command line's business.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use super::tree::Site;

/// Everything that is wrong with a scenario. Displays as plain text, one block for each mistake.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct LoadErrors {
    texts: Vec<Text>,
    errors: Vec<LoadError>,
}

/// One of the texts in which mistakes were found: the file, or a `--set` argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Text {
    /// The file's name, or `--set`.
    pub name: String,
    /// What it says.
    pub content: String,
}

/// One mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LoadError {
    /// What is wrong, in lower case.
    pub message: String,
    /// In which text: an index into [`LoadErrors::texts`].
    pub text: usize,
    /// At which bytes of it.
    pub span: Range<usize>,
    /// What might be meant.
    pub help: Option<String>,
    /// One combination of the matrix in which it is wrong, if it is right in another.
    pub cell: Option<String>,
}

impl LoadErrors {
    /// The mistakes, in the order of the texts.
    #[must_use]
    pub fn errors(&self) -> &[LoadError] {
        &self.errors
    }

    /// The file and the `--set` arguments.
    #[must_use]
    pub fn texts(&self) -> &[Text] {
        &self.texts
    }

    /// Where a mistake begins: its line and its column in characters, both from 1.
    #[must_use]
    pub fn position(&self, error: &LoadError) -> (usize, usize) {
        let place = self.place(error);
        (place.line, place.column)
    }

    fn place(&self, error: &LoadError) -> Place<'_> {
        let content = self.texts.get(error.text).map_or("", |text| text.content.as_str());
        let start = floor(content, error.span.start);
        let line_start = content[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = content[start..].find('\n').map_or(content.len(), |at| start + at);
        let end = floor(content, error.span.end).clamp(start, line_end);
        Place {
            line: content[..line_start].matches('\n').count() + 1,
            column: content[line_start..start].chars().count() + 1,
            width: content[start..end].trim_end_matches('\r').chars().count().max(1),
            text: content[line_start..line_end].trim_end_matches('\r'),
        }
    }
}

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for error in &self.errors {
            let place = self.place(error);
            let name = self.texts.get(error.text).map_or("", |text| text.name.as_str());
            let number = place.line.to_string();
            let gutter = " ".repeat(number.len());
            writeln!(f, "error: {}", error.message)?;
            writeln!(f, "{gutter}--> {name}:{}:{}", place.line, place.column)?;
            // A tab would put the carets elsewhere than below the place.
            writeln!(f, "{number} | {}", place.text.replace('\t', " "))?;
            write!(f, "{gutter} | {}{}", " ".repeat(place.column - 1), "^".repeat(place.width))?;
            if let Some(help) = &error.help {
                write!(f, "  help: {help}")?;
            }
            writeln!(f)?;
            if let Some(cell) = &error.cell {
                writeln!(f, "{gutter} = in the cell {cell}")?;
            }
        }
        Ok(())
    }
}

/// A mistake's place, as it is drawn.
struct Place<'t> {
    line: usize,
    column: usize,
    width: usize,
    text: &'t str,
}

/// The last boundary of a character at or before that byte.
fn floor(content: &str, byte: usize) -> usize {
    (0..=byte.min(content.len())).rev().find(|at| content.is_char_boundary(*at)).unwrap_or(0)
}

/// Where the loader's findings go.
#[derive(Default)]
pub(super) struct Sink {
    found: RefCell<BTreeMap<(Site, String), Finding>>,
    /// The cell that is being read.
    cell: Cell<Option<usize>>,
}

struct Finding {
    help: Option<String>,
    /// In which cells it was found.
    cells: BTreeSet<usize>,
}

impl Sink {
    /// Says that from here on (and until told otherwise) that cell is being read.
    pub(super) fn enter(&self, cell: Option<usize>) {
        self.cell.set(cell);
    }

    pub(super) fn error(&self, site: Site, message: impl Into<String>) {
        self.error_with(site, message, None);
    }

    pub(super) fn error_with(&self, site: Site, message: impl Into<String>, help: Option<String>) {
        let mut found = self.found.borrow_mut();
        let finding = found.entry((site, message.into())).or_insert(Finding { help, cells: BTreeSet::new() });
        finding.cells.extend(self.cell.get());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// Everything found, in the order of the texts. `label` names a cell.
    pub(super) fn into_errors(self, texts: Vec<Text>, cells: usize, label: impl Fn(usize) -> String) -> LoadErrors {
        assert!(!self.is_empty(), "a scenario was refused without a reason");
        let errors = self.found.into_inner().into_iter().map(|((site, message), finding)| LoadError {
            message,
            text: site.text,
            span: site.start..site.end,
            help: finding.help,
            cell: finding.cells.first().filter(|_| finding.cells.len() < cells).map(|first| label(*first)),
        });
        LoadErrors { texts, errors: errors.collect() }
    }
}
