//! Laying one file over another.
//!
//! Tables merge key by key; anything else is replaced. A choice that is written as a word counts as
//! the table that it is short for, but only where it meets a table: `lock = "redis"` below
//! `lock.redis.token = …` is `[lock.redis]`, and `resource = "open"` is `resource.check = "open"`.
//! Places stay where the text is: what an option says is wrong in the option.

use super::tree::{Entry, Node, Site, Table, Value};

/// The path of a parameter: `fault`, `gc`, `for`.
pub(super) type Path = Vec<String>;

/// Lays `patch` over the file.
pub(super) fn lay(file: &mut Table, patch: &Table) {
    for entry in &patch.entries {
        let Some(below) = file.get_mut(&entry.key) else {
            file.entries.push(entry.clone());
            continue;
        };
        let mut above = entry.clone();
        if above.node.as_table().is_some() != below.node.as_table().is_some() {
            write_out(below);
            write_out(&mut above);
        }
        lay_entry(below, &above);
    }
}

/// Every parameter that the patch sets, with the place of its key. An empty table sets itself.
pub(super) fn parameters(patch: &Table) -> Vec<(Path, Site)> {
    let mut found = Vec::new();
    collect(patch, &mut Vec::new(), &mut found);
    found
}

fn lay_entry(below: &mut Entry, above: &Entry) {
    match (&mut below.node.value, &above.node.value) {
        (Value::Table(file), Value::Table(patch)) => {
            for entry in &patch.entries {
                match file.get_mut(&entry.key) {
                    Some(below) => lay_entry(below, entry),
                    None => file.entries.push(entry.clone()),
                }
            }
        }
        _ => *below = above.clone(),
    }
}

/// Writes a word of the top level as the table that it is short for.
fn write_out(entry: &mut Entry) {
    let Some(word) = entry.node.as_text() else { return };
    let site = entry.node.site;
    let (key, node) = match entry.key.as_str() {
        "lock" => (word.to_owned(), Node { site, value: Value::Table(Table::default()) }),
        "resource" => ("check".to_owned(), entry.node.clone()),
        _ => return,
    };
    entry.node.value = Value::Table(Table { entries: vec![Entry { key, site, node }] });
}

fn collect(patch: &Table, path: &mut Path, found: &mut Vec<(Path, Site)>) {
    for entry in &patch.entries {
        path.push(entry.key.clone());
        match entry.node.as_table() {
            Some(below) if !below.entries.is_empty() => collect(below, path, found),
            _ => found.push((path.clone(), entry.site)),
        }
        path.pop();
    }
}
