//! `--set key=value`: one parameter, laid over the file before the matrix is read.
//!
//! The argument is one line of TOML, so that its value has a type (`seeds=10`, `ttl="5s"`) and its
//! mistakes have places. It sets what is there: a slip in the name of a client, a fault or an axis is
//! refused, since it would make a new one. It cannot set what an axis sets; the axis itself it can
//! (`matrix.resource=["open"]`).

use super::error::Sink;
use super::matrix::Matrix;
use super::merge::{Path, parameters};
use super::parameter::check_named_table;
use super::suggest::did_you_mean;
use super::tree::{Entry, Site, Table, parse as parse_text};

/// One `--set` argument.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Override {
    text: String,
}

impl Override {
    /// The argument as it was given: `fault.gc.for="9s"`. It is read by [`load`](super::load).
    #[must_use]
    pub fn new(argument: impl Into<String>) -> Self {
        Self { text: argument.into() }
    }

    /// The argument as it was given.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// An argument, read.
pub(super) struct Set {
    pub(super) patch: Table,
    /// The key as it is written, name by name, each with its place.
    key: Vec<(String, Site)>,
}

/// Reads the `number`-th text as one key and one value.
pub(super) fn parse(sink: &Sink, number: usize, argument: &Override) -> Option<Set> {
    let whole = Site { text: number, start: 0, end: argument.text.len() };
    if argument.text.contains('\n')
        || argument.text.trim_start().starts_with(['[', '#'])
        || argument.text.trim().is_empty()
    {
        sink.error(whole, "this is one parameter and its value, as in `ttl=\"5s\"`");
        return None;
    }
    let own = Sink::default();
    let Some(patch) = parse_text(&own, number, &argument.text) else {
        // A shell eats the quotes of a string, and TOML says so in many words.
        let help = "a string keeps its quotes, as in --set 'ttl=\"5s\"'".to_owned();
        let first = own.into_errors(Vec::new(), 1, |_| String::new()).errors().first().cloned();
        let (message, span) = first.map_or_else(|| ("not TOML".to_owned(), 0..0), |error| (error.message, error.span));
        sink.error_with(Site { text: number, start: span.start, end: span.end }, message, Some(help));
        return None;
    };
    let key = written_key(&patch, &argument.text);
    Some(Set { patch, key })
}

/// Whether the file has what is set: an axis, an option, a client or a fault of that name.
pub(super) fn has_place(sink: &Sink, set: &Set, file: &Table) -> bool {
    let path: Path = set.key.iter().map(|(name, _)| name.clone()).collect();
    match set.key.as_slice() {
        [(section, _), (name, site), (option, option_site), ..] if section == "matrix" => {
            let axes = file.table("matrix").unwrap_or(Table::EMPTY);
            let Some(axis) = axes.get(name) else {
                return missing(sink, *site, "axis", name, axes);
            };
            let options = axis.node.as_table().unwrap_or(Table::EMPTY);
            path.len() < 4 || options.get(option).is_some() || missing(sink, *option_site, "option", option, options)
        }
        [_, (_, site), ..] => check_named_table(sink, &path, *site, file).is_some(),
        _ => true,
    }
}

/// Whether no axis sets it too.
pub(super) fn is_free(sink: &Sink, set: &Set, matrix: &Matrix) {
    for (path, site) in parameters(&set.patch) {
        if let Some(axis) = matrix.setter(&path) {
            let message = format!("the axis `{axis}` sets `{}`, or a part of it, in every cell", path.join("."));
            sink.error_with(site, message, Some(format!("set the axis: `matrix.{}`", quoted(axis))));
        }
    }
}

fn missing(sink: &Sink, site: Site, what: &str, name: &str, known: &Table) -> bool {
    sink.error_with(site, format!("the file has no {what} `{name}`"), did_you_mean(name, known.keys()));
    false
}

fn quoted(axis: &str) -> String {
    if axis.contains('.') { format!("{axis:?}") } else { axis.to_owned() }
}

/// The names of the key, up to the `=`. What is below belongs to the value.
fn written_key(patch: &Table, text: &str) -> Vec<(String, Site)> {
    let mut key = Vec::new();
    let mut table = Some(patch);
    while let Some([Entry { key: name, site, node }]) = table.map(|table| table.entries.as_slice()) {
        key.push((name.clone(), *site));
        let goes_on = text.get(site.end..).is_some_and(|rest| rest.trim_start().starts_with('.'));
        table = if goes_on { node.as_table() } else { None };
    }
    key
}
