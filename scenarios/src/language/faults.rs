//! The faults of a cell: `[fault.NAME]`.
//!
//! A fault is one *what*, one *when*, at most one *how long*. `off = true` takes it out of the cell;
//! it is then not checked any further, since the cells in which it is on do that. What is known never
//! to apply is refused.
//!
//! Faults of services that do not exist yet are refused by name, and so is `clone`, a machine copied with its
//! random state, so that both draw the same values from then on: a program is a future, which nobody can copy
//! half-way, and a copy from the start would be another client with the same stream, not a clone.

use super::error::Sink;
use super::nodes::Roles;
use super::reader::{Fields, table, wrong_type};
use super::suggest::expected;
use super::tree::{Entry, Value};
use super::value::{is_name, truth};
use super::what::{Kind, WHATS, what};
use super::when::{Length, World, lasts, when};
use crate::cell::{Fault, Lasts, What, When};

/// Faults of the language that nothing can suffer yet.
const NOT_YET: [&str; 5] = ["end-session", "clone", "recycle-backend", "lag", "change-leader"];

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
    let named = is_name(&entry.key);
    if !named {
        sink.error(entry.site, format!("`{}` is no name for a fault: letters, digits, `-` and `_`", entry.key));
    }
    if is_off(sink, entry) {
        return None;
    }
    let fault = table(sink, &entry.node, "a fault", |fields| {
        fields.get("off");
        let starts_at_milestone = fields.has("when") || fields.misspelt(&["when"]);
        let roles = if starts_at_milestone { Roles::Holder } else { Roles::None };
        let present: Vec<_> =
            WHATS.iter().filter_map(|kind| fields.get(kind.name).map(|below| (kind, below))).collect();
        let only = only_what(fields, entry, &present);
        let when = when(fields, world);
        let (name, length) = only.map_or(("", Length::Unknown), |kind| (kind.name, kind.length));
        let lasts = lasts(fields, name, length, when.as_ref(), world);
        // A *what* that is one too many is read all the same: it may have mistakes of its own.
        let whats: Vec<_> = present.iter().map(|(kind, below)| what(sink, kind.name, below, world, roles)).collect();
        only?;
        let (what, lasts) = (whats.into_iter().next()??, lasts?);
        one_machine(fields, &what, &lasts)?;
        is_backed_up_before(fields, &what, when.as_ref()?)?;
        Some(Fault { name: entry.key.clone(), what, when: when?, lasts, family: None })
    });
    fault.filter(|_| named)
}

/// Makes sure that it is one machine that counts.
fn one_machine(fields: &mut Fields<'_>, what: &What, lasts: &Lasts) -> Option<()> {
    let mut machines = 0;
    what.clone().each_node(&mut |_| machines += 1);
    let counted = fields.get("on-clock").filter(|_| matches!(lasts, Lasts::By(..)) && machines > 1);
    match counted {
        Some(entry) => {
            fields
                .sink
                .error(entry.site, format!("{machines} machines count each for itself: make it {machines} faults"));
            None
        }
        None => Some(()),
    }
}

/// Makes sure that what is put back was there before.
fn is_backed_up_before(fields: &mut Fields<'_>, what: &What, when: &When) -> Option<()> {
    let What::Restore { as_of, .. } = what else { return Some(()) };
    match when {
        When::At(at) if as_of < at => Some(()),
        When::At(_) => {
            fields.sink.error(fields.site, "a backup is made before it is put back: `as-of` is earlier than `at`");
            None
        }
        _ => {
            fields.sink.error(fields.site, "a backup is put back at a moment that is known: `at = \"10s\"`");
            None
        }
    }
}

/// The one thing that the fault does, if it is one that can be done.
fn only_what(fields: &mut Fields<'_>, fault: &Entry, present: &[(&'static Kind, &Entry)]) -> Option<&'static Kind> {
    let sink = fields.sink;
    fields.not_yet(&NOT_YET)?;
    match present {
        [(only, _)] => Some(only),
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
const TIMES: [&str; 8] = ["at", "when", "every", "times", "for", "on-clock", "until", "off"];

/// Whether the fault is switched off; one that is must at least be one.
fn is_off(sink: &Sink, entry: &Entry) -> bool {
    let Some(table) = entry.node.as_table() else { return false };
    let off = table.get("off").and_then(|off| truth(sink, &off.node)).unwrap_or(false);
    let something = table.keys().any(|key| WHATS.iter().any(|kind| kind.name == key));
    off && something
}
