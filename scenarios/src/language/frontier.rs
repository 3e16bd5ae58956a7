//! Frontiers: `bisect` and `to-within` of a range, and what an entry expects of it.
//!
//! * `{ from, to, bisect = CRITERION, to-within }`: the range goes up by `to-within`, and only the values are
//!   played that it takes to find where the criterion turns, a metric or a property. One axis at most.
//! * `frontier = { axis, is, within, closed-form }`: where it does. `within` is at least `to-within`, and that
//!   if it is missing. A closed form is a word, or `{ pause-validity = { after = "2ms" } }`.
//! * A bisected property makes no other claim along the axis but those that an entry spells out.

use host::Duration;
use spec::Property;

use super::error::Sink;
use super::expect::FrontierEntry;
use super::matrix::{ExpandedAxis, Matrix};
use super::range::Quantity;
use super::reader::{Fields, choice, table, word, wrong_type};
use super::suggest::no_such_name;
use super::tree::Node;
use super::value::duration;
use super::when::World;
use crate::figure::{Metric, Unit};
use crate::frontier::{ClosedForm, Criterion, FrontierClaim};

/// Reads what a bisected axis is searched for.
pub(super) fn criterion(sink: &Sink, node: &Node) -> Option<Criterion> {
    let names: Vec<_> =
        Metric::ALL.iter().map(|metric| metric.name()).chain(Property::ALL.map(Property::name)).collect();
    let name = word(sink, node, "what is searched for", &names)?;
    let metric = Metric::ALL.into_iter().find(|metric| metric.name() == name).map(Criterion::Metric);
    metric.or_else(|| Property::ALL.into_iter().find(|property| property.name() == name).map(Criterion::Property))
}

/// Reads `frontier` of an entry. Its closed form is worked out for each cell.
pub(super) fn frontier(sink: &Sink, node: &Node, matrix: &Matrix) -> Option<FrontierEntry> {
    table(sink, node, "a frontier", |fields| {
        let axis = fields.need("axis", |sink, node| bisected(sink, node, matrix));
        let of_axis = |sink: &Sink, node: &Node| same_kind(sink, node, axis);
        let is = fields.maybe("is", of_axis);
        let within = fields.maybe("within", of_axis);
        let within_site = fields.get("within").map(|entry| entry.node.site);
        let form = fields.maybe("closed-form", |sink, node| closed_form(sink, node).map(|form| (form, node.site)));
        let (axis, is, within, form) = (axis?, is?, within?, form?);
        if is.is_none() && form.is_none() {
            sink.error(fields.site, "nothing is expected of this frontier: say `is` or `closed-form`");
            return None;
        }
        let step = axis.step;
        if let (Some(site), Some(within)) = (within_site, within)
            && within < step
        {
            sink.error(site, "the axis is only searched to within its `to-within`: `within` is at least that");
            return None;
        }
        if let Some((form, site)) = form
            && !is_about(form, axis)
        {
            sink.error(site, format!("`{}` says nothing of the axis `{}`: {}", form.name(), axis.name, about(form)));
            return None;
        }
        Some(FrontierEntry { is, within: within.unwrap_or(step), form })
    })
}

/// What an entry expects in one cell, as its lock and its leases are.
pub(super) fn claim(sink: &Sink, entry: &FrontierEntry, world: &World) -> Option<FrontierClaim> {
    let closed_form = match entry.form {
        None => None,
        Some((form, site)) => {
            let (lock, ttl) = (world.lock.as_ref()?, world.ttl?);
            let Some(ttl) = ttl else {
                sink.error(site, "this is about leases, and there are none: `ttl` is \"none\"");
                return None;
            };
            Some((form, form.value(lock, ttl)))
        }
    };
    Some(FrontierClaim { is: entry.is, within: entry.within, closed_form })
}

/// A bisected axis, as its frontier is read.
#[derive(Clone, Copy)]
struct Bisected<'m> {
    name: &'m str,
    unit: Unit,
    step: i64,
}

/// Whether the arithmetic is about what the axis sets.
fn is_about(form: ClosedForm, axis: Bisected<'_>) -> bool {
    let last = axis.name.rsplit('.').next();
    let keys: &[&str] = match form {
        ClosedForm::LeaseDrift => &["rate-ppm", "ppm"],
        ClosedForm::PauseValidity { .. } => &["for"],
        ClosedForm::JumpRemaining { .. } => &["by"],
    };
    form.unit() == axis.unit && last.is_some_and(|last| keys.contains(&last))
}

const fn about(form: ClosedForm) -> &'static str {
    match form {
        ClosedForm::LeaseDrift => "it is about the rate of a lock server's clock",
        ClosedForm::PauseValidity { .. } => "it is about the length of a pause",
        ClosedForm::JumpRemaining { .. } => "it is about a step of a lock server's clock",
    }
}

fn bisected<'m>(sink: &Sink, node: &Node, matrix: &'m Matrix) -> Option<Bisected<'m>> {
    let Some(name) = node.as_text() else { return wrong_type(sink, node, "an axis is named by a string") };
    let of_axis = |axis: &'m ExpandedAxis| {
        let bisect = axis.bisect.as_ref()?;
        Some(Bisected { name: &axis.name, unit: bisect.unit, step: bisect.step })
    };
    match matrix.axes.iter().find(|axis| axis.name == name) {
        Some(axis) => of_axis(axis).or_else(|| {
            let help = "as in { from = 0, to = 20_000, bisect = \"grant-margin\", to-within = 50 }".to_owned();
            sink.error_with(node.site, format!("the axis `{name}` is not searched: it has no `bisect`"), Some(help));
            None
        }),
        None => {
            if matrix.sound {
                let names = matrix.axes.iter().map(|axis| axis.name.as_str());
                no_such_name(sink, node.site, &format!("the matrix has no axis `{name}`"), name, names);
            }
            None
        }
    }
}

/// Reads a value of the axis's kind.
fn same_kind(sink: &Sink, node: &Node, axis: Option<Bisected<'_>>) -> Option<i64> {
    let quantity = super::range::quantity(sink, node)?;
    match (quantity, axis?.unit) {
        (Quantity::Number(value), Unit::Count) | (Quantity::Time(value), Unit::Time) => Some(value),
        (_, Unit::Time) => wrong_type(sink, node, "the values of this axis are durations"),
        _ => wrong_type(sink, node, "the values of this axis are whole numbers"),
    }
}

fn closed_form(sink: &Sink, node: &Node) -> Option<ClosedForm> {
    let form = choice(sink, node, "a closed form", &ClosedForm::NAMES, &[])?;
    let after = |fields: &mut Fields<'_>| fields.or("after", Duration::ZERO, duration);
    match form.name {
        "lease-drift" => form.bare(sink, ClosedForm::LeaseDrift),
        "pause-validity" => form.table(sink, after).map(|after| ClosedForm::PauseValidity { after }),
        _ => form.table(sink, after).map(|after| ClosedForm::JumpRemaining { after }),
    }
}
