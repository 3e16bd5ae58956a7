//! What is wrong with a scenario, and where: every mistake of a file in one pass.
//!
//! The loader puts its findings into a [`Sink`]. The same mistake in an option of the matrix is found
//! once in every cell that the option is part of; the sink keeps it once, and remembers in which
//! cells, so that a mistake of one combination can name it.
//!
//! How a mistake is drawn (line, carets, tabs, wide characters, colours) is the business of
//! `annotate-snippets`, the library that draws for rustc.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};

use super::tree::Site;

/// Everything that is wrong with a scenario. Displays as plain text, one block for each mistake, with an
/// empty line between them.
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

    /// The same as `Display`, with ANSI escapes for colour. Who prints it decides whether they stay.
    #[must_use]
    pub fn coloured(&self) -> String {
        self.render(&Renderer::styled())
    }

    fn render(&self, renderer: &Renderer) -> String {
        let mistakes: Vec<_> = self.errors.iter().map(|error| renderer.render(&[self.report(error)])).collect();
        mistakes.join("\n\n")
    }

    fn report<'e>(&'e self, error: &'e LoadError) -> Group<'e> {
        let text = &self.texts[error.text];
        let label = error.help.as_ref().map(|help| format!("help: {help}"));
        let place = AnnotationKind::Primary.span(error.span.clone()).label(label);
        let snippet = Snippet::source(&text.content).path(&text.name).annotation(place);
        let cell = error.cell.as_ref().map(|cell| Level::NOTE.message(format!("in the cell {cell}")));
        Level::ERROR.primary_title(&error.message).element(snippet).elements(cell)
    }
}

impl fmt::Display for LoadErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(&Renderer::plain()))
    }
}

/// Where the loader's findings go.
#[derive(Default)]
pub(super) struct Sink {
    found: RefCell<BTreeMap<(Site, String), Finding>>,
    /// The cell that is being read.
    cell: Cell<Option<usize>>,
}

struct Finding {
    /// How its message goes on, in the first cell in which it was found.
    list: String,
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
        self.error_listing(site, message, String::new(), help);
    }

    /// A mistake whose message ends with a list of what there is. Another cell may have other things, and
    /// it is the same mistake nevertheless.
    pub(super) fn error_listing(&self, site: Site, message: impl Into<String>, list: String, help: Option<String>) {
        let mut found = self.found.borrow_mut();
        let finding = found.entry((site, message.into())).or_insert(Finding { list, help, cells: BTreeSet::new() });
        finding.cells.extend(self.cell.get());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.found.borrow().is_empty()
    }

    /// The first thing found, in the order of the texts.
    pub(super) fn first(&self) -> Option<(Site, String)> {
        self.found.borrow().first_key_value().map(|(key, _)| key.clone())
    }

    /// Everything found, in the order of the texts. `label` names a cell.
    pub(super) fn into_errors(self, texts: Vec<Text>, cells: usize, label: impl Fn(usize) -> String) -> LoadErrors {
        assert!(!self.is_empty(), "a scenario was refused without a reason");
        let errors = self.found.into_inner().into_iter().map(|((site, message), finding)| LoadError {
            message: message + &finding.list,
            text: site.text,
            span: site.start..site.end,
            help: finding.help,
            cell: finding.cells.first().filter(|_| finding.cells.len() < cells).map(|first| label(*first)),
        });
        LoadErrors { texts, errors: errors.collect() }
    }
}
