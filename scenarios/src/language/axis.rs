//! One axis of the matrix.
//!
//! | written as | is |
//! |---|---|
//! | `path = [value, …]` | values of a parameter, each an option |
//! | `path = { from, to, step }` | a range of whole numbers or durations |
//! | `path = { from, to, bisect, to-within }` | a range that is searched |
//! | `[matrix.name]` with tables below | named options, each a partial file |
//!
//! A path with dots is quoted: `"fault.gc.for"`. A range is not expanded before the number of cells
//! is known to be allowed.

use std::collections::BTreeSet;

use super::error::Sink;
use super::merge::{Path, parameters};
use super::parameter::{PARAMETERS, check_named_table, check_top};
use super::range::{Bisect, Quantity, Range, is_range, range};
use super::reader::{fields, wrong_type};
use super::tree::{Entry, Node, Site, Table, Value};
use super::value::is_name;

/// An axis with its options.
pub(super) struct Axis {
    pub(super) name: String,
    options: Options,
}

/// One choice on an axis.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) label: String,
    /// Its place.
    pub(super) site: Site,
    /// Its value, as `where` may name it.
    pub(super) written: String,
    pub(super) quantity: Option<Quantity>,
    /// The partial file that it lays over the file.
    pub(super) patch: Table,
}

enum Options {
    Listed(Vec<Choice>),
    Range { path: Path, site: Site, range: Range },
}

/// Reads one entry of `[matrix]`; `file` is what the options are laid over.
pub(super) fn axis(sink: &Sink, entry: &Entry, file: &Table) -> Option<Axis> {
    let options = match &entry.node.value {
        Value::Table(options) if !is_range(options) => named_options(sink, entry, options, file),
        _ => path_options(sink, entry, file),
    };
    Some(Axis { name: entry.key.clone(), options: options? })
}

impl Axis {
    pub(super) fn count(&self) -> u64 {
        match &self.options {
            Options::Listed(choices) => choices.len() as u64,
            Options::Range { range, .. } => range.count,
        }
    }

    /// How it is searched, if it is.
    pub(super) fn bisect(&self) -> Option<Bisect> {
        match &self.options {
            Options::Listed(_) => None,
            Options::Range { range, .. } => range.bisect(),
        }
    }

    /// Its place, if it is a range.
    pub(super) const fn range_site(&self) -> Option<Site> {
        match &self.options {
            Options::Listed(_) => None,
            Options::Range { site, .. } => Some(*site),
        }
    }

    /// The first `limit` options.
    pub(super) fn choices(self, limit: u64) -> Vec<Choice> {
        match self.options {
            Options::Listed(mut choices) => {
                choices.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                choices
            }
            Options::Range { path, site, range } => {
                range.values(limit, site).map(|value| choice(&path, site, &value)).collect()
            }
        }
    }

    /// The parameters that its options set.
    pub(super) fn parameters(&self) -> Vec<(Path, Site)> {
        match &self.options {
            Options::Listed(choices) => choices.iter().flat_map(|choice| parameters(&choice.patch)).collect(),
            Options::Range { path, site, .. } => vec![(path.clone(), *site)],
        }
    }
}

/// `path = [value, …]` or `path = { from, to, step }`.
fn path_options(sink: &Sink, entry: &Entry, file: &Table) -> Option<Options> {
    let (site, node) = (entry.site, &entry.node);
    let path: Path = entry.key.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        sink.error(site, "a path is names with dots between them");
        return None;
    }
    check_top(sink, &path[0], site)?;
    check_named_table(sink, &path, site, file)?;
    match &node.value {
        Value::List(values) => listed(sink, entry, values.iter().map(|value| choice(&path, site, value)).collect()),
        Value::Table(table) => {
            fields(sink, node.site, table, range).map(|range| Options::Range { path, site: node.site, range })
        }
        _ => wrong_type(sink, node, "an axis is a list of values, a range `{ from, to, step }`, or named options"),
    }
}

/// `[matrix.name]` with a partial file for each option.
fn named_options(sink: &Sink, entry: &Entry, options: &Table, file: &Table) -> Option<Options> {
    let name = &entry.key;
    if PARAMETERS.contains(&name.as_str()) {
        let help = "quote a path: \"fault.gc.for\" = [\"9s\", \"15s\"]".to_owned();
        let message = format!("`{name}` is a field of the file, and so cannot be the name of an axis");
        sink.error_with(entry.site, message, Some(help));
        return None;
    }
    if !is_name(name) {
        sink.error(entry.site, format!("`{name}` is no name for an axis: letters, digits, `-` and `_`"));
        return None;
    }
    let choices: Vec<_> = options.entries.iter().map(|option| named_option(sink, option, file)).collect();
    listed(sink, entry, choices.into_iter().collect::<Option<_>>()?)
}

fn named_option(sink: &Sink, option: &Entry, file: &Table) -> Option<Choice> {
    let name = &option.key;
    if !is_name(name) {
        sink.error(option.site, format!("`{name}` is no name for an option: letters, digits, `-` and `_`"));
        return None;
    }
    let Some(patch) = option.node.as_table() else {
        return wrong_type(sink, &option.node, "an option is a table, a partial file");
    };
    let mut fine = true;
    for entry in &patch.entries {
        fine &= check_top(sink, &entry.key, entry.site).is_some();
    }
    for section in ["client", "fault"] {
        fine &= tables_exist(sink, section, patch, file);
    }
    fine.then(|| Choice {
        label: name.clone(),
        site: option.site,
        written: format!("{name:?}"),
        quantity: None,
        patch: patch.clone(),
    })
}

/// What an option changes must be there. An option may add a client or a fault, but a slip in a name
/// would add one too, quietly: so what is only switched off is in the file, and a client that is not
/// says what it does. (A fault that does not is refused when the cell is read.)
fn tables_exist(sink: &Sink, section: &str, patch: &Table, file: &Table) -> bool {
    let mut all = true;
    for entry in patch.table(section).map_or(&[][..], |table| &table.entries) {
        let Some(own) = entry.node.as_table() else { continue };
        let is_change = own.get("off").is_some() || (section == "client" && own.get("do").is_none());
        if is_change {
            let path = [section.to_owned(), entry.key.clone(), String::new()];
            all &= check_named_table(sink, &path, entry.site, file).is_some();
        }
    }
    all
}

fn listed(sink: &Sink, entry: &Entry, choices: Vec<Choice>) -> Option<Options> {
    if choices.is_empty() {
        sink.error(entry.site, format!("the axis `{}` has no option", entry.key));
        return None;
    }
    let (mut labels, mut quantities) = (BTreeSet::new(), BTreeSet::new());
    let mut twice = false;
    for choice in &choices {
        // `"1s"` and `"1000ms"` are one value.
        let known = choice.quantity.is_some_and(|quantity| !quantities.insert(quantity));
        if !labels.insert(&choice.label) || known {
            sink.error(choice.site, format!("the axis `{}` has `{}` twice", entry.key, choice.label));
            twice = true;
        }
    }
    (!twice).then_some(Options::Listed(choices))
}

fn choice(path: &Path, site: Site, node: &Node) -> Choice {
    Choice {
        label: node.label(),
        site: node.site,
        written: node.written(),
        quantity: Quantity::of(node),
        patch: Table::nested(path, site, node),
    }
}
