//! Expectations of numbers: `measure`, `first`, `share` and `reach`.
//!
//! * `measure.METRIC.STATISTIC`, `first.PROPERTY` and `share.PROPERTY` are tables of bounds.
//! * Bounds are `{ is, within }` or `{ min, max }`, either of which may be missing: durations for what is
//!   timed, whole numbers for what is counted, percentages in strings for shares. Both ends belong.
//! * `reach` is a list of milestones with bounds beside `client`, `point` and `nth`: none, if it is enough
//!   that the client gets there, or `never = true`.
//! * Of a property that holds throughout a cell, no first break and no share can be expected there.

use spec::Property;

use super::error::Sink;
use super::expect::Claims;
use super::reader::{Fields, list, table, wrong_type};
use super::tree::{Entry, Node, Site, Value};
use super::value::{duration, signed, truth};
use super::when::{World, place};
use crate::cell::Expected;
use crate::figure::{Figure, FigureClaim, Metric, Statistic, Unit, Wanted};

/// A figure of which something is expected, with its place.
pub(super) type Placed = (FigureClaim, Site);

/// The keys of an entry that expect numbers.
pub(super) const KEYS: [&str; 4] = ["measure", "first", "share", "reach"];

/// Reads `measure`, `first` and `share` of one entry.
pub(super) fn figures(fields: &mut Fields<'_>) -> Option<Vec<Placed>> {
    let measures = fields.or("measure", Vec::new(), |sink, node| table(sink, node, "`measure`", measures));
    let first = fields.or("first", Vec::new(), |sink, node| of_properties(sink, node, "`first`", Figure::First));
    let share = fields.or("share", Vec::new(), |sink, node| of_properties(sink, node, "`share`", Figure::Share));
    Some([measures?, first?, share?].into_iter().flatten().collect())
}

/// Reads the milestones of one cell: `reach`.
pub(super) fn reach(sink: &Sink, node: &Node, world: &World) -> Option<Vec<Placed>> {
    list(sink, node, "`reach`", |sink, node| {
        let claim = table(sink, node, "a milestone", |fields| {
            let milestone = place(fields, world);
            let never = fields.or("never", false, truth);
            let wanted = bounds(fields, Unit::Time, Signs::None);
            let (wanted, site) = (wanted?, fields.site);
            let wanted = match (never?, wanted) {
                (true, None) => Wanted::Never,
                (true, Some(_)) => {
                    sink.error(site, "what never happens has no instant: `never` stands alone");
                    return None;
                }
                (false, wanted) => wanted.unwrap_or(Wanted::Between { min: None, max: None }),
            };
            Some(FigureClaim { figure: Figure::Reach(milestone?), wanted })
        });
        claim.map(|claim| (claim, node.site))
    })
}

/// Adds what is expected of a number to a cell, unless something is already.
pub(super) fn add(sink: &Sink, figures: &mut Vec<FigureClaim>, (claim, site): &Placed) {
    if figures.iter().any(|other| other.figure == claim.figure) {
        sink.error(*site, format!("something is already expected of `{}` in this cell", claim.figure.path()));
    } else {
        figures.push(claim.clone());
    }
}

/// Whether what a figure tells of a property can come to anything, as the entries say what breaks.
pub(super) fn can_break(sink: &Sink, claims: &Claims<'_>, (claim, site): &Placed) {
    let (Figure::First(property) | Figure::Share(property)) = claim.figure else { return };
    if claims.expected(property) == Expected::Holds {
        let message = format!("`{}` holds in this cell: there is no break to tell of", property.name());
        sink.error_with(*site, message, Some("say `always`, `broken` or `free` of it".to_owned()));
    }
}

fn measures(fields: &mut Fields<'_>) -> Option<Vec<Placed>> {
    each(fields, Metric::ALL, Metric::name, |sink, entry, metric| {
        table(sink, &entry.node, "a metric", |fields| statistics(fields, metric))
    })
}

fn statistics(fields: &mut Fields<'_>, metric: Metric) -> Option<Vec<Placed>> {
    each(fields, Statistic::ALL, Statistic::name, |sink, entry, statistic| {
        placed(sink, entry, Figure::Measure(metric, statistic), metric.signs())
    })
}

fn of_properties(sink: &Sink, node: &Node, what: &str, figure: fn(Property) -> Figure) -> Option<Vec<Placed>> {
    table(sink, node, what, |fields| {
        let read = |sink: &Sink, entry: &Entry, property| placed(sink, entry, figure(property), Signs::None);
        each(fields, Property::ALL, Property::name, read)
    })
}

/// Reads a table whose keys are the names of those things, of which one at least is there.
fn each<'t, T: Copy, const N: usize>(
    fields: &mut Fields<'t>,
    things: [T; N],
    name: fn(T) -> &'static str,
    read: impl Fn(&'t Sink, &'t Entry, T) -> Option<Vec<Placed>>,
) -> Option<Vec<Placed>> {
    let sink = fields.sink;
    let there = things.into_iter().filter_map(|thing| fields.get(name(thing)).map(|entry| read(sink, entry, thing)));
    let there: Vec<_> = there.collect();
    if there.is_empty() && fields.unknown().next().is_none() {
        sink.error(fields.site, "nothing is expected here");
        return None;
    }
    there.into_iter().collect::<Option<Vec<_>>>().map(|all| all.into_iter().flatten().collect())
}

/// Reads what is expected of one figure.
fn placed(sink: &Sink, entry: &Entry, figure: Figure, signs: Signs) -> Option<Vec<Placed>> {
    table(sink, &entry.node, "what is expected of a number", |fields| {
        let wanted = bounds(fields, figure.unit(), signs)?;
        if wanted.is_none() && fields.unknown().next().is_none() {
            fields.sink.error(fields.site, "nothing is expected here: say `is`, `min` or `max`");
        }
        Some(vec![(FigureClaim { figure, wanted: wanted? }, entry.site)])
    })
}

/// Whether a value may lie below zero.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    /// It may not.
    None,
    /// It may.
    Both,
}

impl Metric {
    const fn signs(self) -> Signs {
        if matches!(self, Self::GrantMargin) { Signs::Both } else { Signs::None }
    }
}

/// Reads `is`, `within`, `min` and `max`. `Some(None)`: none of them is there.
fn bounds(fields: &mut Fields<'_>, unit: Unit, signs: Signs) -> Option<Option<Wanted>> {
    let sink = fields.sink;
    let value = |sink, node| value(sink, node, unit, signs);
    let (is_entry, within_entry) = (fields.get("is"), fields.get("within"));
    let (is, min, max) = (fields.maybe("is", value), fields.maybe("min", value), fields.maybe("max", value));
    let within = fields.maybe("within", |sink, node| self::value(sink, node, unit, Signs::None));
    let (is, within, min, max) = (is?, within?, min?, max?);
    if let (Some(entry), true) = (is_entry, min.is_some() || max.is_some()) {
        sink.error(entry.site, "a number `is` something, or lies between `min` and `max`");
        return None;
    }
    match (is, within_entry) {
        (Some(is), _) => Some(Some(Wanted::Near { is, within: within.unwrap_or(0) })),
        (None, Some(entry)) => {
            sink.error(entry.site, "`within` says how far off `is` a number may be, and there is no `is`");
            None
        }
        (None, None) if min.is_none() && max.is_none() => Some(None),
        (None, None) if min.zip(max).is_some_and(|(min, max)| max < min) => {
            sink.error(fields.site, "no number lies there: `min` is above `max`");
            None
        }
        (None, None) => Some(Some(Wanted::Between { min, max })),
    }
}

fn value(sink: &Sink, node: &Node, unit: Unit, signs: Signs) -> Option<i64> {
    match (unit, signs) {
        (Unit::Time, Signs::Both) => signed(sink, node),
        (Unit::Time, Signs::None) => {
            duration(sink, node).map(|length| i64::try_from(length.as_nanos()).unwrap_or(i64::MAX))
        }
        (Unit::Count, _) => match node.value {
            Value::Integer(number) if number >= 0 => Some(number),
            Value::Integer(number) => {
                sink.error(node.site, format!("{number} lies below zero, and this is counted"));
                None
            }
            _ => wrong_type(sink, node, "this is counted: a whole number"),
        },
        (Unit::Share, _) => share(sink, node),
    }
}

/// `"32.5%"`, in parts per million.
fn share(sink: &Sink, node: &Node) -> Option<i64> {
    let Some(text) = node.as_text() else { return wrong_type(sink, node, "a share is a string such as \"32.5%\"") };
    let ppm = text.strip_suffix('%').and_then(|number| {
        let (whole, decimals) = number.split_once('.').unwrap_or((number, "0"));
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_number = digits(whole) && digits(decimals) && decimals.len() <= 4;
        is_number.then(|| format!("{whole}{decimals:0<4}").parse::<i64>().ok()).flatten()
    });
    if ppm.is_none_or(|ppm| ppm > 1_000_000) {
        sink.error(node.site, format!("`{text}` is no share: 0% to 100%, with at most four decimals, as in \"32.5%\""));
        return None;
    }
    ppm
}
