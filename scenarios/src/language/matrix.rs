//! The matrix: axes, and the cells that they span.
//!
//! * No two axes set the same parameter, nor a part of it.
//! * The axes are in alphabetical order, `lock` first; the last runs fastest.
//! * There are at most 10,000 cells, and one axis at most is searched.

use std::collections::BTreeMap;

use spec::Property;

use super::axis::{Axis, Choice, axis};
use super::error::Sink;
use super::merge::{Path, lay};
use super::range::Bisect;
use super::reader::wrong_type;
use super::tree::{Site, Table, Value};
use crate::frontier::Criterion;

/// The most cells that one file may have.
const MOST_CELLS: u64 = 10_000;

/// The axes of a file, and whether they are all there.
pub(super) struct Matrix {
    pub(super) axes: Vec<ExpandedAxis>,
    /// Whether every axis was read and the cells may be counted. If not, there is one cell, to look
    /// for mistakes in.
    pub(super) sound: bool,
    /// What each axis sets, with the axis's name.
    parameters: BTreeMap<Path, String>,
}

/// An axis with all its options.
pub(super) struct ExpandedAxis {
    pub(super) name: String,
    pub(super) choices: Vec<Choice>,
    /// How it is searched, if it is.
    pub(super) bisect: Option<Bisect>,
}

/// Reads `[matrix]`, if there is one.
pub(super) fn matrix(sink: &Sink, file: &Table) -> Matrix {
    let Some(entry) = file.get("matrix") else {
        return Matrix { axes: Vec::new(), sound: true, parameters: BTreeMap::new() };
    };
    let entries = match &entry.node.value {
        Value::Table(table) => table.entries.as_slice(),
        _ => wrong_type(sink, &entry.node, "`matrix` is a table of axes").unwrap_or_default(),
    };
    if entries.is_empty() && entry.node.as_table().is_some() {
        sink.error(entry.site, "the matrix has no axis");
    }
    let mut axes: Vec<_> = entries.iter().filter_map(|entry| axis(sink, entry, file)).collect();
    let mut sound = axes.len() == entries.len();
    axes.sort_by(|a, b| (a.name != "lock", &a.name).cmp(&(b.name != "lock", &b.name)));
    let (axes, parameters) = disjoint(sink, axes, &mut sound);
    let searched: Vec<_> = axes.iter().filter(|axis| axis.bisect().is_some()).collect();
    if let [first, second, ..] = searched.as_slice()
        && let Some(site) = second.range_site()
    {
        sink.error(site, format!("one axis is searched at most, and `{}` is", first.name));
        sound = false;
    }
    let cells = axes.iter().map(Axis::count).fold(1, u64::saturating_mul);
    if cells > MOST_CELLS {
        sink.error(entry.site, format!("the matrix has {cells} cells, and {MOST_CELLS} are the most"));
        sound = false;
    }
    let limit = if sound { MOST_CELLS } else { 1 };
    let expand = |axis: Axis| {
        let (name, bisect) = (axis.name.clone(), axis.bisect());
        ExpandedAxis { name, choices: axis.choices(limit), bisect }
    };
    let axes = axes.into_iter().map(expand).collect();
    Matrix { axes, sound, parameters }
}

impl Matrix {
    /// How many cells there are.
    pub(super) fn cells(&self) -> usize {
        if self.sound { self.axes.iter().map(|axis| axis.choices.len()).product() } else { 1 }
    }

    /// The number of the option that each axis takes in that cell.
    pub(super) fn options(&self, cell: usize) -> Vec<usize> {
        let mut rest = cell;
        let mut options: Vec<_> = self
            .axes
            .iter()
            .rev()
            .map(|axis| {
                let option = rest % axis.choices.len();
                rest /= axis.choices.len();
                option
            })
            .collect();
        options.reverse();
        options
    }

    /// The option that each axis takes in that cell.
    pub(super) fn chosen(&self, cell: usize) -> Vec<&Choice> {
        self.axes.iter().zip(self.options(cell)).map(|(axis, option)| &axis.choices[option]).collect()
    }

    /// The file of that cell.
    pub(super) fn file(&self, base: &Table, cell: usize) -> Table {
        let mut file = base.clone();
        for choice in self.chosen(cell) {
            lay(&mut file, &choice.patch);
        }
        file
    }

    /// The property for which an axis is searched, with the axis's place, if there is one.
    pub(super) fn bisected_property(&self) -> Option<(Property, Site)> {
        let searched = self.axes.iter().find_map(|axis| axis.bisect.map(|bisect| (bisect, axis)));
        match searched {
            Some((Bisect { criterion: Criterion::Property(property), .. }, axis)) => {
                Some((property, axis.choices.first()?.site))
            }
            _ => None,
        }
    }

    /// The cell's name in messages: `resource=open held=linger`.
    pub(super) fn label(&self, cell: usize) -> String {
        let named =
            self.axes.iter().zip(self.chosen(cell)).map(|(axis, choice)| format!("{}={}", axis.name, choice.label));
        named.collect::<Vec<_>>().join(" ")
    }

    /// The axis that sets this parameter, a part of it, or what it is a part of.
    pub(super) fn setter(&self, path: &[String]) -> Option<&str> {
        setter(&self.parameters, path)
    }
}

/// Drops the axes that set what an earlier one sets.
fn disjoint(sink: &Sink, axes: Vec<Axis>, sound: &mut bool) -> (Vec<Axis>, BTreeMap<Path, String>) {
    let mut parameters = BTreeMap::new();
    let mut kept = Vec::new();
    for axis in axes {
        let own = axis.parameters();
        let clash = own.iter().find_map(|(path, site)| setter(&parameters, path).map(|other| (path, site, other)));
        if let Some((path, site, other)) = clash {
            clashes(sink, *site, path, other, &axis.name);
            *sound = false;
            continue;
        }
        parameters.extend(own.into_iter().map(|(path, _)| (path, axis.name.clone())));
        kept.push(axis);
    }
    (kept, parameters)
}

fn clashes(sink: &Sink, site: Site, path: &[String], other: &str, name: &str) {
    sink.error(site, format!("the axes `{other}` and `{name}` both set `{}`, or a part of it", path.join(".")));
}

fn setter<'p>(parameters: &'p BTreeMap<Path, String>, path: &[String]) -> Option<&'p str> {
    let whole = (1..=path.len()).find_map(|length| parameters.get(&path[..length]));
    let part =
        || parameters.range(path.to_vec()..).next().filter(|(other, _)| other.starts_with(path)).map(|(_, axis)| axis);
    whole.or_else(part).map(String::as_str)
}
