//! The faults of a cell: `[fault.NAME]`.
//!
//! A fault is one *what*, one *when*, at most one *how long*. `off = true` takes it out of the cell;
//! it is then not checked any further, since the cells in which it is on do that. What is known never
//! to apply is refused.

use super::error::Sink;
use super::nodes::Roles;
use super::reader::{Fields, table, wrong_type};
use super::suggest::expected;
use super::tree::{Entry, Value};
use super::value::{is_name, truth};
use super::what::{Kind, WHATS, what};
use super::when::{World, lasts, when};
use crate::cell::Fault;

/// Faults of the language that nothing can suffer yet.
const NOT_YET: [&str; 12] = [
    "shutdown",
    "cancel",
    "end-session",
    "clone",
    "promote",
    "recycle-backend",
    "disk",
    "lag",
    "half-open",
    "change-leader",
    "evict",
    "restore",
];

/// Reads all faults of a file, in the order of their names.
pub(super) fn faults(fields: &mut Fields<'_>, world: &World) -> Vec<Fault> {
    let sink = fields.sink;
    let Some(entry) = fields.get("fault") else { return Vec::new() };
    let Value::Table(table) = &entry.node.value else {
        return wrong_type(sink, &entry.node, "`fault` is a table of faults").unwrap_or_default();
    };
    let mut entries: Vec<_> = table.entries.iter().collect();
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries.into_iter().filter_map(|entry| fault(sink, entry, world)).collect()
}

fn fault(sink: &Sink, entry: &Entry, world: &World) -> Option<Fault> {
    if !is_name(&entry.key) {
        sink.error(entry.site, format!("`{}` is no name for a fault: letters, digits, `-` and `_`", entry.key));
        return None;
    }
    if is_off(sink, entry) {
        return None;
    }
    table(sink, &entry.node, "a fault", |fields| {
        fields.get("off");
        let roles = if fields.has("when") { Roles::Holder } else { Roles::None };
        let chosen = only_what(fields, entry);
        let when = when(fields, world);
        let kind = chosen.as_ref().map(|(kind, _)| *kind);
        // Without a *what* nobody knows which lengths it may have.
        let lasts = match kind {
            Some(kind) => lasts(fields, kind.name, kind.length, when.as_ref(), world),
            None => {
                fields.get("for");
                fields.get("until");
                None
            }
        };
        let what = chosen.and_then(|(kind, below)| what(sink, kind.name, below, world, roles));
        Some(Fault { name: entry.key.clone(), what: what?, when: when?, lasts: lasts? })
    })
}

/// The one thing that the fault does.
fn only_what<'t>(fields: &mut Fields<'t>, fault: &Entry) -> Option<(&'static Kind, &'t Entry)> {
    let sink = fields.sink;
    let present: Vec<_> = WHATS.iter().filter_map(|kind| fields.get(kind.name).map(|entry| (kind, entry))).collect();
    fields.not_yet(&NOT_YET)?;
    match present.as_slice() {
        [only] => Some(*only),
        [(first, _), (_, second), ..] => {
            sink.error(second.site, format!("a fault is one thing, and `{}` already is `{}`", fault.key, first.name));
            None
        }
        [] => {
            // A misspelt one is an unknown field, and reported as that.
            let misspelt = fields.unknown().any(|entry| !TIMES.contains(&entry.key.as_str()));
            if !misspelt {
                let message = format!(
                    "nothing goes wrong in the fault `{}`, expected {}",
                    fault.key,
                    expected(WHATS.iter().map(|kind| kind.name))
                );
                sink.error(fault.site, message);
            }
            None
        }
    }
}

/// The keys of a fault that are not its *what*.
const TIMES: [&str; 7] = ["at", "when", "every", "times", "for", "until", "off"];

/// Whether the fault is switched off; one that is must at least be one.
fn is_off(sink: &Sink, entry: &Entry) -> bool {
    let Some(table) = entry.node.as_table() else { return false };
    let off = table.get("off").and_then(|off| truth(sink, &off.node)).unwrap_or(false);
    let something = table.keys().any(|key| WHATS.iter().any(|kind| kind.name == key));
    off && something
}
