//! Expectations: `[[expect]]`.
//!
//! * Entries add up: each names the cells that it is about (`where`: for each axis a value, a list, or
//!   `{ from, to }`), and what is true in them.
//! * `always` is broken in every seed, `broken` in at least one, `holds` in none (as is every property
//!   that no entry names), `free` makes no claim and says why (`because`).
//! * What is expected to be some number (`measure`, `first`, `share`, `reach`) is read in
//!   [`figures`].
//! * `outside` lists the assumptions that were not kept; `[]` blames the lock.
//! * No two entries say something of the same property in the same cell.
//! * What breaks in a cell holds in a twin, or the entry says `because`: see [`twin`](super::twin).

use std::collections::BTreeMap;

use spec::{Assumption, Bounds, Property};

use super::axis::Choice;
use super::error::Sink;
use super::figures::{self, Placed};
use super::frontier::frontier;
use super::matrix::{ExpandedAxis, Matrix};
use super::range::{Quantity, quantity};
use super::reader::{Fields, fields, list, not_supported, table, word, wrong_type};
use super::suggest::no_such_name;
use super::tree::{Entry, Node, Site, Table, Value};
use super::value::text;
use crate::cell::{Expectation, Expected};
use crate::figure::FigureClaim;
use crate::frontier::ClosedForm;

/// Properties of the language that nothing judges yet.
const NOT_YET: [&str; 2] = ["stock-never-oversold", "paid-once"];

const CLAIMS: [(&str, Expected); 4] =
    [("always", Expected::Always), ("broken", Expected::Broken), ("holds", Expected::Holds), ("free", Expected::Free)];

/// One entry, read.
pub(super) struct Claim<'t> {
    /// For each axis, whether each of its options is meant.
    meant: Vec<Vec<bool>>,
    claims: Vec<(Property, Expected, Site)>,
    because: Option<String>,
    outside: Option<(Vec<Assumption>, Site)>,
    figures: Vec<Placed>,
    frontier: Option<(FrontierEntry, Site)>,
    /// What is read when the cell's clients are known.
    reach: Option<&'t Node>,
}

/// What an entry expects of a frontier, before the cell's lock is known.
#[derive(Clone)]
pub(super) struct FrontierEntry {
    pub(super) is: Option<i64>,
    pub(super) within: i64,
    pub(super) form: Option<(ClosedForm, Site)>,
}

/// What all entries together say of one cell.
#[derive(Default)]
pub(super) struct Claims<'t> {
    /// Each with its place.
    pub(super) properties: BTreeMap<Property, (Expectation, Site)>,
    /// The bounds of the cell, once they are read: a property that lacks its own is not judged.
    pub(super) bounds: Option<Bounds>,
    pub(super) outside: Option<Vec<Assumption>>,
    pub(super) figures: Vec<FigureClaim>,
    pub(super) frontier: Option<FrontierEntry>,
    /// Lists of milestones, to be read when the cell's clients are known.
    pub(super) reach: Vec<&'t Node>,
}

impl Claims<'_> {
    /// What is expected of that property: it holds, if no entry names it.
    pub(super) fn expected(&self, property: Property) -> Expected {
        if self.bounds.is_some_and(|bounds| !property.is_judged(&bounds)) {
            return Expected::Free;
        }
        self.properties.get(&property).map_or(Expected::Holds, |(claim, _)| claim.expected)
    }
}

/// Reads all entries of a file.
pub(super) fn expectations<'t>(sink: &'t Sink, file: &'t Table, matrix: &Matrix) -> Vec<Claim<'t>> {
    let Some(entry) = file.get("expect") else { return Vec::new() };
    let Value::List(entries) = &entry.node.value else {
        return wrong_type(sink, &entry.node, "`expect` is a list of tables: `[[expect]]`").unwrap_or_default();
    };
    entries.iter().filter_map(|node| table(sink, node, "an expectation", |fields| one(fields, matrix))).collect()
}

/// What the entries say of one cell.
///
/// A property for which an axis is searched makes no claim of its own along it, unless an entry says so.
pub(super) fn claims<'t>(sink: &Sink, entries: &[Claim<'t>], matrix: &Matrix, cell: usize) -> Claims<'t> {
    let options = &matrix.options(cell);
    let mut claims = Claims::default();
    let meant = |entry: &&Claim<'t>| entry.meant.iter().zip(options).all(|(meant, option)| meant[*option]);
    for entry in entries.iter().filter(meant) {
        for (property, expected, site) in &entry.claims {
            let expectation = Expectation { expected: *expected, because: entry.because.clone() };
            if claims.properties.contains_key(property) {
                sink.error(*site, format!("something is already expected of `{}` in this cell", property.name()));
            } else {
                claims.properties.insert(*property, (expectation, *site));
            }
        }
        if let Some((outside, site)) = &entry.outside {
            if claims.outside.is_some() {
                sink.error(*site, "`outside` is already said for this cell");
            }
            claims.outside = Some(outside.clone());
        }
        for figure in &entry.figures {
            figures::add(sink, &mut claims.figures, figure);
        }
        if let Some((frontier, site)) = &entry.frontier {
            if claims.frontier.is_some() {
                sink.error(*site, "a frontier is already expected for this cell");
            }
            claims.frontier = Some(frontier.clone());
        }
        claims.reach.extend(entry.reach);
    }
    if let Some((property, site)) = matrix.bisected_property() {
        let because = Some("the frontier says where it breaks".to_owned());
        claims.properties.entry(property).or_insert((Expectation { expected: Expected::Free, because }, site));
    }
    for figure in entries.iter().filter(meant).flat_map(|entry| &entry.figures) {
        figures::can_break(sink, &claims, figure);
    }
    claims
}

fn one<'t>(fields: &mut Fields<'t>, matrix: &Matrix) -> Option<Claim<'t>> {
    let sink = fields.sink;
    let everywhere = || matrix.axes.iter().map(|axis| vec![true; axis.choices.len()]).collect();
    let meant = match fields.get("where") {
        Some(entry) => table(sink, &entry.node, "`where`", |fields| cells_meant(fields, matrix)),
        None => Some(everywhere()),
    };
    let claims = claims_of(fields);
    let because = fields.maybe("because", text);
    let outside =
        fields.maybe("outside", |sink, node| list(sink, node, "`outside`", assumption).map(|all| (all, node.site)));
    let of_numbers = figures::KEYS.iter().any(|key| fields.has(key));
    let figures = figures::figures(fields);
    let reach = fields.get("reach").map(|entry| &entry.node);
    let frontier =
        fields.maybe("frontier", |sink, node| frontier(sink, node, matrix).map(|frontier| (frontier, node.site)));
    let (claims, because, outside, figures, frontier) = (claims?, because?, outside?, figures?, frontier?);
    if let (Some((_, site)), Some(meant)) = (&frontier, &meant)
        && matrix.axes.iter().zip(meant).any(|(axis, meant)| axis.bisect.is_some() && meant.contains(&false))
    {
        sink.error(*site, "a frontier is expected of the whole axis: `where` may not name a part of it");
        return None;
    }
    if claims.is_empty() && outside.is_none() && frontier.is_none() && !of_numbers {
        sink.error(fields.site, "this entry expects nothing");
        return None;
    }
    if because.is_none()
        && let Some((property, _, site)) = claims.iter().find(|(_, expected, _)| *expected == Expected::Free)
    {
        sink.error(*site, format!("no claim is made of `{}`: say `because`", property.name()));
        return None;
    }
    Some(Claim { meant: meant?, claims, because, outside, figures, frontier, reach })
}

/// Reads `always`, `broken`, `holds` and `free`.
fn claims_of(fields: &mut Fields<'_>) -> Option<Vec<(Property, Expected, Site)>> {
    let lists = CLAIMS.map(|(key, expected)| {
        let read = |sink, node| list(sink, node, "this", property);
        let properties = fields.or(key, Vec::new(), read)?;
        Some(properties.into_iter().map(move |(property, site)| (property, expected, site)))
    });
    let mut claims: Vec<(Property, Expected, Site)> = Vec::new();
    for claim in lists.into_iter().collect::<Option<Vec<_>>>()?.into_iter().flatten() {
        if claims.iter().any(|(property, ..)| *property == claim.0) {
            fields.sink.error(claim.2, format!("this entry names `{}` twice", claim.0.name()));
            return None;
        }
        claims.push(claim);
    }
    Some(claims)
}

fn property(sink: &Sink, node: &Node) -> Option<(Property, Site)> {
    if let Some(name) = node.as_text().filter(|name| NOT_YET.contains(name)) {
        return not_supported(sink, node.site, name);
    }
    let names = Property::ALL.map(Property::name);
    let name = word(sink, node, "a property", &names)?;
    Property::ALL.into_iter().find(|property| property.name() == name).map(|property| (property, node.site))
}

fn assumption(sink: &Sink, node: &Node) -> Option<Assumption> {
    let names = Assumption::ALL.map(Assumption::name);
    let name = word(sink, node, "an assumption", &names)?;
    Assumption::ALL.into_iter().find(|assumption| assumption.name() == name)
}

/// Reads `where`. If an axis of the matrix could not be read, it may be the one that is named.
fn cells_meant(fields: &mut Fields<'_>, matrix: &Matrix) -> Option<Vec<Vec<bool>>> {
    let sink = fields.sink;
    let mut meant: Vec<_> = matrix.axes.iter().map(|axis| vec![true; axis.choices.len()]).collect();
    let mut fine = Some(());
    for entry in fields.entries() {
        let Some(at) = matrix.axes.iter().position(|axis| axis.name == entry.key) else {
            if matrix.sound {
                unknown_axis(sink, entry, matrix);
            }
            fine = None;
            continue;
        };
        match options_meant(sink, &entry.node, &matrix.axes[at], matrix.sound) {
            Some(options) => meant[at] = options,
            None => fine = None,
        }
    }
    fine.map(|()| meant)
}

fn unknown_axis(sink: &Sink, entry: &Entry, matrix: &Matrix) {
    let names = || matrix.axes.iter().map(|axis| axis.name.as_str());
    let part_of = names().find(|name| name.split('.').next() == Some(entry.key.as_str()) && name.contains('.'));
    let message = format!("the matrix has no axis `{}`", entry.key);
    match part_of {
        Some(path) => sink.error_with(entry.site, message, Some(format!("quote the axis: {path:?}"))),
        None => no_such_name(sink, entry.site, &message, &entry.key, names()),
    }
}

/// Which options of an axis a value, a list or a range means.
fn options_meant(sink: &Sink, node: &Node, axis: &ExpandedAxis, sound: bool) -> Option<Vec<bool>> {
    let written = |value: &Node| {
        let (text, quantity) = (value.written(), Quantity::of(value));
        let is = |choice: &Choice| choice.written == text || quantity.is_some() && choice.quantity == quantity;
        let found: Vec<_> = axis.choices.iter().map(is).collect();
        if found.contains(&true) {
            return Some(found);
        }
        if sound {
            let label = value.label();
            let message = format!("the axis `{}` has no option `{label}`", axis.name);
            no_such_name(sink, value.site, &message, &label, axis.choices.iter().map(|choice| choice.label.as_str()));
        }
        None
    };
    // A value that is itself a list or a table is an option before it is a list of options.
    let whole = node.written();
    if axis.choices.iter().any(|choice| choice.written == whole) {
        return written(node);
    }
    match &node.value {
        Value::List(values) if values.is_empty() => {
            sink.error(node.site, "this means no cell");
            None
        }
        Value::List(values) => {
            let each: Vec<_> = values.iter().map(written).collect();
            let each = each.into_iter().collect::<Option<Vec<_>>>()?;
            Some((0..axis.choices.len()).map(|i| each.iter().any(|found| found[i])).collect())
        }
        Value::Table(range) => fields(sink, node.site, range, |fields| between(fields, axis, sound)),
        _ => written(node),
    }
}

fn between(fields: &mut Fields<'_>, axis: &ExpandedAxis, sound: bool) -> Option<Vec<bool>> {
    let (from, to) = (fields.need("from", quantity), fields.need("to", quantity));
    let (from, to) = (from?, to?);
    let inside = |choice: &Choice| choice.quantity.is_some_and(|quantity| quantity.lies_between(from, to));
    let meant: Vec<_> = axis.choices.iter().map(inside).collect();
    if !meant.contains(&true) && sound {
        fields.sink.error(fields.site, format!("no option of the axis `{}` lies in this range", axis.name));
        return None;
    }
    Some(meant)
}
