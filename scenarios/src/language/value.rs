//! The values of scenario files: durations, spans, rates, counts, words.
//!
//! * A duration is a string, one whole number and one unit of `ns us ms s min h`; a sign is for clock
//!   steps and offsets only. None is longer than a hundred years, so that sums fit into 64 bits.
//! * Where a duration is spent rather than configured it may be drawn anew each time:
//!   `{ from, to }`, `{ mean }`, `{ pareto = { min, alpha, cap } }`.
//! * Rates are whole parts per million.

use host::{Duration, Ppm, Span, nanos};

use super::error::Sink;
use super::reader::{Fields, table, wrong_type};
use super::tree::{Node, Value};

/// The longest duration, in ns: a hundred years of 365.25 days.
const LONGEST: i64 = 100 * 31_557_600 * 1_000_000_000;

const UNITS: [(&str, i64); 6] = [
    ("h", 3_600_000_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
];

/// A duration, without a sign.
pub(super) fn duration(sink: &Sink, node: &Node) -> Option<Duration> {
    let text = duration_text(sink, node)?;
    if text.starts_with(['+', '-']) {
        sink.error(node.site, format!("duration `{text}` has a sign; only clock steps and offsets have one"));
        return None;
    }
    let nanos = signed(sink, node)?;
    Some(Duration::from_nanos(nanos.unsigned_abs()))
}

/// A duration of which zero makes no sense.
pub(super) fn positive(sink: &Sink, node: &Node) -> Option<Duration> {
    let duration = duration(sink, node)?;
    if duration.is_zero() {
        sink.error(node.site, "a duration of zero does nothing here");
        return None;
    }
    Some(duration)
}

/// A duration with or without a sign, in ns.
pub(super) fn signed(sink: &Sink, node: &Node) -> Option<i64> {
    let text = duration_text(sink, node)?;
    parse_nanos(text).map_err(|message| sink.error(node.site, message)).ok()
}

/// A signed duration in ns.
pub(super) fn parse_nanos(text: &str) -> Result<i64, String> {
    let (negative, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let digits = magnitude.len() - magnitude.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = magnitude.split_at(digits);
    if number.is_empty() {
        return Err(format!("`{text}` is not a duration: one whole number and one unit, as in \"1500ms\""));
    }
    let Some((_, factor)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(match unit {
            "" => format!("duration `{text}` has no unit; units are ns, us, ms, s, min, h"),
            "m" => format!("duration `{text}` has an unknown unit `m`: a minute is `min`, a millisecond `ms`"),
            _ if unit.starts_with('.') => fraction(text, number, unit),
            _ => format!("duration `{text}` has an unknown unit `{unit}`; units are ns, us, ms, s, min, h"),
        });
    };
    let nanos = number.parse::<i64>().ok().and_then(|number| number.checked_mul(*factor));
    match nanos.filter(|nanos| *nanos <= LONGEST) {
        Some(nanos) if negative => Ok(-nanos),
        Some(nanos) => Ok(nanos),
        None => Err(format!("duration `{text}` is longer than a hundred years")),
    }
}

/// What to say of a decimal fraction: the same in a smaller unit, if that is exact.
fn fraction(text: &str, whole: &str, rest: &str) -> String {
    let digits = rest.len() - rest[1..].trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (decimals, unit) = (&rest[1..digits], &rest[digits..]);
    let exact = || {
        let (_, factor) = UNITS.iter().find(|(name, _)| *name == unit)?;
        let parts = 10_i64.checked_pow(u32::try_from(decimals.len()).ok()?)?;
        let scaled = format!("{whole}{decimals}").parse::<i64>().ok()?.checked_mul(*factor)?;
        (scaled % parts == 0).then(|| show_nanos(scaled / parts))
    };
    let instead = exact().map_or_else(String::new, |exact| format!(": write `{exact}`"));
    format!("duration `{text}` is no whole number{instead}")
}

/// A duration as the language writes it, in the largest unit up to seconds that is exact.
pub(super) fn show(duration: Duration) -> String {
    show_nanos(i64::try_from(nanos(duration)).unwrap_or(i64::MAX))
}

/// A signed number of ns as the language writes it.
pub(super) fn show_nanos(nanos: i64) -> String {
    let exact = UNITS[2..].iter().find(|(_, factor)| nanos % factor == 0);
    match exact {
        Some((unit, factor)) if nanos != 0 => format!("{}{unit}", nanos / factor),
        _ => "0s".to_owned(),
    }
}

/// A duration, or a distribution of them.
pub(super) fn span(sink: &Sink, node: &Node) -> Option<Span> {
    match &node.value {
        Value::Text(_) => duration(sink, node).map(Span::Fixed),
        Value::Table(below) if below.get("pareto").is_some() => {
            table(sink, node, "a drawn duration", |fields| fields.need("pareto", pareto))
        }
        Value::Table(below) if below.get("mean").is_some() => {
            table(sink, node, "a drawn duration", |fields| fields.need("mean", positive))
                .map(|mean| Span::Exponential { mean })
        }
        Value::Table(_) => table(sink, node, "a drawn duration", uniform),
        _ => wrong_type(sink, node, "a duration is a string, or a table from which it is drawn"),
    }
}

fn uniform(fields: &mut Fields<'_>) -> Option<Span> {
    range(fields).map(|(from, to)| Span::Uniform { from, to })
}

/// Reads `from` and `to`.
pub(super) fn range(fields: &mut Fields<'_>) -> Option<(Duration, Duration)> {
    let (from, to) = (fields.need("from", duration), fields.need("to", duration));
    let (from, to) = (from?, to?);
    if from > to {
        fields.sink.error(fields.site, format!("`from` ({}) is after `to` ({})", show(from), show(to)));
        return None;
    }
    Some((from, to))
}

fn pareto(sink: &Sink, node: &Node) -> Option<Span> {
    table(sink, node, "a Pareto distribution", |fields| {
        let (min, alpha, cap) =
            (fields.need("min", positive), fields.need("alpha", milli), fields.need("cap", duration));
        let (min, alpha_milli, cap) = (min?, alpha?, cap?);
        if min > cap {
            fields.sink.error(fields.site, format!("`min` ({}) is after `cap` ({})", show(min), show(cap)));
            return None;
        }
        Some(Span::Pareto { min, alpha_milli, cap })
    })
}

/// A positive decimal fraction with at most three decimals, in thousandths. It is a string, since
/// TOML's floats are binary.
fn milli(sink: &Sink, node: &Node) -> Option<u32> {
    let Some(text) = node.as_text() else {
        return wrong_type(sink, node, "`alpha` is a decimal fraction in a string, such as \"1.2\"");
    };
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = (digits(whole) && digits(decimals) && decimals.len() <= 3)
        .then(|| format!("{whole}{decimals:0<3}").parse::<u32>().ok())
        .flatten();
    if value.is_none_or(|value| value == 0) {
        sink.error(node.site, format!("`{text}` is not a positive decimal fraction with at most three decimals"));
        return None;
    }
    value
}

/// A clock's rate.
pub(super) fn ppm(sink: &Sink, node: &Node) -> Option<Ppm> {
    integer(sink, node, "a rate is a whole number of ppm", -999_999, 1_000_000).map(Ppm::new)
}

/// A number of times, at least one.
pub(super) fn times(sink: &Sink, node: &Node) -> Option<u32> {
    integer(sink, node, "a number of times is a whole number", 1, u32::MAX)
}

/// A whole number between two bounds, both included; `what` opens the message for another type.
pub(super) fn integer<T>(sink: &Sink, node: &Node, what: &str, min: T, max: T) -> Option<T>
where
    T: TryFrom<i64> + Into<i64> + Copy,
{
    let Value::Integer(number) = node.value else { return wrong_type(sink, node, what) };
    if number < min.into() || number > max.into() {
        sink.error(node.site, format!("{number} lies outside {} to {}", min.into(), max.into()));
        return None;
    }
    T::try_from(number).ok()
}

/// `true` or `false`.
pub(super) fn truth(sink: &Sink, node: &Node) -> Option<bool> {
    match node.value {
        Value::Truth(truth) => Some(truth),
        _ => wrong_type(sink, node, "this is `true` or `false`"),
    }
}

/// A string that says something.
pub(super) fn text(sink: &Sink, node: &Node) -> Option<String> {
    let Some(text) = node.as_text() else { return wrong_type(sink, node, "this is a string") };
    if text.trim().is_empty() {
        sink.error(node.site, "this says nothing");
        return None;
    }
    Some(text.to_owned())
}

/// Whether that may be the name of a client, a fault, an axis, an option: a letter or a digit, then
/// letters, digits, `-` and `_`.
pub(super) fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

fn duration_text<'n>(sink: &Sink, node: &'n Node) -> Option<&'n str> {
    node.as_text().or_else(|| wrong_type(sink, node, "a duration is a string such as \"1500ms\""))
}
