//! Which parameters a file has: what an option or a `--set` may reach.
//!
//! Only the path is checked here; whether the value makes sense is found when the cell is read, as if
//! it stood in the file. What must be checked before is a slip in the name of a client or a fault,
//! which would quietly make a new one.

use super::error::Sink;
use super::suggest::{nearest, no_such_name, no_such_word};
use super::tree::{Site, Table};

/// The keys of the top level that an option may set.
pub(super) const PARAMETERS: [&str; 11] =
    ["profile", "horizon", "ttl", "lock", "service", "network", "node", "resource", "client", "fault", "bounds"];
/// The keys of the top level that belong to the file as a whole.
const OF_THE_FILE: [&str; 7] = ["name", "title", "source", "note", "seeds", "matrix", "expect"];

/// Whether a key of the top level may differ from cell to cell.
pub(super) fn check_top(sink: &Sink, key: &str, site: Site) -> Option<()> {
    if PARAMETERS.contains(&key) {
        return Some(());
    }
    if OF_THE_FILE.contains(&key) {
        sink.error(site, format!("`{key}` belongs to the whole file: no option may set it"));
    } else {
        let meant = nearest(key, PARAMETERS);
        no_such_word(sink, site, &format!("unknown field `{key}`"), meant, ", expected", &PARAMETERS);
    }
    None
}

/// Whether the client or fault is in the file of which a parameter is set.
pub(super) fn check_named_table(sink: &Sink, path: &[String], site: Site, file: &Table) -> Option<()> {
    let [section, name, _, ..] = path else { return Some(()) };
    if section != "client" && section != "fault" {
        return Some(());
    }
    let known = file.table(section).unwrap_or(Table::EMPTY);
    if known.get(name).is_some() {
        return Some(());
    }
    no_such_name(sink, site, &format!("the file has no {section} `{name}`"), name, known.keys());
    None
}
