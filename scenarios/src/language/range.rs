//! Values with an order, and ranges of them: `{ from = "8s", to = "12s", step = "100ms" }`, or, if it is
//! searched, `bisect` and `to-within` instead of `step`: see [`frontier`](super::frontier).
//!
//! A range is of whole numbers or of durations, goes up, and is kept as its bounds until somebody
//! knows how many of its values are wanted.

use super::error::Sink;
use super::frontier::criterion;
use super::reader::{Fields, wrong_type};
use super::tree::{Node, Site, Table, Value};
use super::value::{parse_nanos, show_nanos};
use crate::figure::Unit;
use crate::frontier::Criterion;

/// A value with an order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Quantity {
    Number(i64),
    /// In ns.
    Time(i64),
}

/// A range of values.
pub(super) struct Range {
    from: Quantity,
    step: i64,
    /// How many values it has.
    pub(super) count: u64,
    /// For what it is searched, if it is.
    pub(super) criterion: Option<Criterion>,
}

/// How a range is searched.
#[derive(Clone, Copy)]
pub(super) struct Bisect {
    pub(super) criterion: Criterion,
    pub(super) unit: Unit,
    pub(super) step: i64,
}

/// Whether that table is a range rather than a table of named options, which are tables all.
pub(super) fn is_range(table: &Table) -> bool {
    let is_value = |key: &str| table.get(key).is_some_and(|entry| entry.node.as_table().is_none());
    ["from", "to", "step", "bisect", "to-within"].into_iter().any(is_value)
}

/// Reads `{ from, to, step }`.
pub(super) fn range(fields: &mut Fields<'_>) -> Option<Range> {
    let criterion = fields.maybe("bisect", criterion);
    let key = if fields.has("bisect") || fields.has("to-within") { "to-within" } else { "step" };
    let (from, to, step) = (fields.need("from", quantity), fields.need("to", quantity), fields.need(key, quantity));
    if let (Some(entry), true) = (fields.get("step"), key != "step") {
        fields.sink.error(entry.site, "a range goes up by `step`, or is searched `to-within` so much");
        return None;
    }
    if let (Some(entry), false) = (fields.get("to-within"), fields.has("bisect")) {
        fields.sink.error(entry.site, "`to-within` says how closely a range is searched: say for what, with `bisect`");
        return None;
    }
    let (from, to, step, criterion) = (from?, to?, step?, criterion?);
    if let Some(message) = not_a_range(from, to, step) {
        fields.sink.error(fields.site, message);
        return None;
    }
    let width = from.get().abs_diff(to.get());
    let count = (width / step.get().unsigned_abs()).saturating_add(1);
    if criterion.is_some() && count < 2 {
        fields.sink.error(fields.site, "there is nothing to search between: this range has one value");
        return None;
    }
    Some(Range { from, step: step.get(), count, criterion })
}

/// Reads a whole number or a duration.
pub(super) fn quantity(sink: &Sink, node: &Node) -> Option<Quantity> {
    if let Value::Text(text) = &node.value {
        return parse_nanos(text).map(Quantity::Time).map_err(|message| sink.error(node.site, message)).ok();
    }
    Quantity::of(node).or_else(|| wrong_type(sink, node, "a range is one of whole numbers or of durations"))
}

impl Range {
    /// How it is searched, if it is.
    pub(super) fn bisect(&self) -> Option<Bisect> {
        self.criterion.map(|criterion| Bisect { criterion, unit: self.from.unit(), step: self.step })
    }

    /// The first `limit` values, as if they stood at that place.
    pub(super) fn values(&self, limit: u64, site: Site) -> impl Iterator<Item = Node> {
        let steps = i64::try_from(limit.min(self.count)).unwrap_or(i64::MAX);
        (0..steps).map(move |steps| self.from.after(steps, self.step).node(site))
    }
}

impl Quantity {
    /// The quantity that a value says, if it says one.
    pub(super) fn of(node: &Node) -> Option<Self> {
        match &node.value {
            Value::Integer(number) => Some(Self::Number(*number)),
            Value::Text(text) => parse_nanos(text).ok().map(Self::Time),
            _ => None,
        }
    }

    /// Whether it lies between two of its kind, or is one of them.
    pub(super) fn lies_between(self, from: Self, to: Self) -> bool {
        match (self, from, to) {
            (Self::Number(value), Self::Number(from), Self::Number(to))
            | (Self::Time(value), Self::Time(from), Self::Time(to)) => from <= value && value <= to,
            _ => false,
        }
    }

    pub(super) const fn unit(self) -> Unit {
        match self {
            Self::Number(_) => Unit::Count,
            Self::Time(_) => Unit::Time,
        }
    }

    pub(super) const fn get(self) -> i64 {
        match self {
            Self::Number(value) | Self::Time(value) => value,
        }
    }

    /// The quantity so many steps further on, within the range and so within 64 bits.
    fn after(self, steps: i64, step: i64) -> Self {
        let value = i128::from(self.get()) + i128::from(steps) * i128::from(step);
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        match self {
            Self::Number(_) => Self::Number(value),
            Self::Time(_) => Self::Time(value),
        }
    }

    fn node(self, site: Site) -> Node {
        let value = match self {
            Self::Number(value) => Value::Integer(value),
            Self::Time(nanos) => Value::Text(show_nanos(nanos)),
        };
        Node { site, value }
    }
}

/// Why these are not the bounds and the step of a range, if they are not.
const fn not_a_range(from: Quantity, to: Quantity, step: Quantity) -> Option<&'static str> {
    match (from, to, step) {
        (Quantity::Number(from), Quantity::Number(to), Quantity::Number(step))
        | (Quantity::Time(from), Quantity::Time(to), Quantity::Time(step)) => {
            if step <= 0 {
                Some("a range goes up: `step` is above zero")
            } else if from > to {
                Some("this range is empty: `from` lies above `to`")
            } else {
                None
            }
        }
        _ => Some("`from`, `to` and `step` are all numbers or all durations"),
    }
}
