//! `--set key=value`: one parameter, laid over the file before the matrix is read.
//!
//! The argument is one line of TOML, so that its value has a type (`seeds=10`) and its mistakes have
//! places. But a shell eats quotes: a value that is no TOML is the string that it would be in quotes
//! (`ttl=5s`), unless it begins like a list, a table or a string, and so was meant to be one.
//!
//! It sets what is there: a slip in the name of a client, a fault or an axis is refused, since it would
//! make a new one. It cannot set what an axis sets; the axis itself it can (`matrix.resource=["open"]`).

use super::error::Sink;
use super::matrix::Matrix;
use super::merge::{Path, parameters};
use super::parameter::check_named_table;
use super::suggest::no_such_name;
use super::tree::{Entry, Node, Site, Table, Value, parse as parse_text};

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
    let text = argument.text.as_str();
    if text.contains('\n') || text.trim_start().starts_with(['[', '#']) || text.trim().is_empty() {
        let whole = Site { text: number, start: 0, end: text.len() };
        sink.error(whole, "this is one parameter and its value, as in `ttl=5s`");
        return None;
    }
    let own = Sink::default();
    let Some(patch) = parse_text(&own, number, text).or_else(|| unquoted(number, text)) else {
        let (site, message) = own.first()?;
        unreadable(sink, site, message, text);
        return None;
    };
    let key = written_key(&patch, text);
    Some(Set { patch, key })
}

/// Whether the file has what is set: an axis, an option, a client or a fault of that name.
pub(super) fn has_place(sink: &Sink, set: &Set, file: &Table) -> bool {
    let path: Path = set.key.iter().map(|(name, _)| name.clone()).collect();
    match set.key.as_slice() {
        [(section, _), (name, site), (option, option_site), ..] if section == "matrix" => {
            let axes = file.table("matrix").unwrap_or(Table::EMPTY);
            let Some(axis) = axes.get(name) else {
                return missing(sink, *site, &format!("the file has no axis `{name}`"), name, axes);
            };
            let options = axis.node.as_table().unwrap_or(Table::EMPTY);
            let message = || format!("the axis `{name}` has no option `{option}`");
            path.len() < 4 || options.get(option).is_some() || missing(sink, *option_site, &message(), option, options)
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

fn missing(sink: &Sink, site: Site, message: &str, name: &str, known: &Table) -> bool {
    no_such_name(sink, site, message, name, known.keys());
    false
}

fn quoted(axis: &str) -> String {
    if axis.contains('.') { format!("{axis:?}") } else { axis.to_owned() }
}

/// Reads an argument whose value has lost its quotes, if that can be.
fn unquoted(number: usize, text: &str) -> Option<Table> {
    let (key, value) = text.split_at(value_start(text)?);
    let word = value.trim();
    if word.is_empty() || begins_like_toml(word) {
        return None;
    }
    // The key's places are those in the argument; the value is put in afterwards.
    let mut patch = parse_text(&Sink::default(), number, &format!("{key}0"))?;
    let start = text.len() - value.trim_start().len();
    let site = Site { text: number, start, end: start + word.len() };
    *innermost(&mut patch)? = Node { site, value: Value::Text(word.to_owned()) };
    Some(patch)
}

/// Whether a value was meant to be more than a bare word.
fn begins_like_toml(value: &str) -> bool {
    value.starts_with(['[', '{', '"', '\''])
}

/// Where the value begins: behind the first `=` that is not part of a quoted name.
fn value_start(text: &str) -> Option<usize> {
    let mut quote = None;
    let is_equals = |letter: char| {
        match quote {
            Some(open) if letter == open => quote = None,
            None if matches!(letter, '"' | '\'') => quote = Some(letter),
            _ => {}
        }
        letter == '=' && quote.is_none()
    };
    text.find(is_equals).map(|at| at + 1)
}

/// The value of a patch that sets one parameter.
fn innermost(patch: &mut Table) -> Option<&mut Node> {
    let [Entry { node, .. }] = patch.entries.as_mut_slice() else { return None };
    match node.value {
        Value::Table(ref mut below) => innermost(below),
        _ => Some(node),
    }
}

/// Says what TOML says of an argument, and what to do about it.
fn unreadable(sink: &Sink, site: Site, message: String, text: &str) {
    let start = value_start(text).unwrap_or(text.len());
    let value = text[start..].trim();
    if value.starts_with(['[', '{']) {
        let help = "a shell eats quotes: put single ones around all, as in --set 'client.A.do=[\"acquire\"]'";
        sink.error_with(site, message, Some(help.to_owned()));
    } else if value.is_empty() && site.start >= start {
        sink.error_with(site, "the value is missing", Some("as in `ttl=5s`".to_owned()));
    } else {
        sink.error(site, message);
    }
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
