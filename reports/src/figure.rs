//! What a scenario expects to be some number: what was wanted, what was seen.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::counted;

/// One expectation of a number, and what it came to. Numbers are whole, in the figure's unit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FigureReport {
    /// In what it is counted: `ns`, `count`, or `ppm` of the seeds.
    pub unit: String,
    /// What was expected.
    pub expected: Wanted,
    /// What was seen.
    pub seen: Seen,
    /// Whether that is as expected, or the cell is vacuous and a number says nothing.
    pub as_expected: bool,
    /// If it is expected of every seed: in how many it was not so.
    pub off: u64,
    /// One seed that shows what it came to, in decimal: the first that is not as expected, or the one that
    /// had the extreme.
    pub seed: Option<String>,
}

/// What a figure is expected to be: near something, between bounds, or an instant that never comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Wanted {
    /// So much, ...
    pub is: Option<i64>,
    /// ... or at most that much more or less.
    pub within: Option<i64>,
    /// At least so much.
    pub min: Option<i64>,
    /// At most so much.
    pub max: Option<i64>,
    /// It never happens.
    pub never: bool,
}

/// What a figure came to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Seen {
    /// How many seeds had a value.
    pub seeds: u64,
    /// How many had none.
    pub missing: u64,
    /// The smallest value of a seed.
    pub min: Option<i64>,
    /// The largest value of a seed.
    pub max: Option<i64>,
    /// The sum of all values, in decimal: it may be larger than 64 bits hold.
    pub total: String,
    /// The statistic that is expected something of, if it is not every seed's value; a mean is rounded down.
    pub value: Option<i64>,
    /// Of a share: between which values the true one lies, in 95 of 100 such samples.
    pub interval: Option<[u32; 2]>,
}

/// The figures that are as expected, a line each: `effects.total: 400, as expected (400)`.
#[must_use]
pub fn as_expected(figures: &IndexMap<String, FigureReport>) -> Vec<String> {
    figures.iter().filter(|(_, figure)| figure.as_expected).map(|(path, figure)| sentence(path, figure)).collect()
}

/// What the figure at that path came to, and what it should be.
#[must_use]
pub fn sentence(path: &str, figure: &FigureReport) -> String {
    let show = |value| shown(&figure.unit, value);
    let Seen { seeds, missing, min, max, value, interval, .. } = &figure.seen;
    let came_to = match (value, min, max) {
        (Some(value), ..) => show(*value),
        (None, Some(min), Some(max)) if min == max => show(*min),
        (None, Some(min), Some(max)) => format!("{} to {}", show(*min), show(*max)),
        (None, ..) => "never".to_owned(),
    };
    let interval =
        interval.map(|[least, most]| format!(" (95 % interval: {} to {})", show(least.into()), show(most.into())));
    let interval = interval.unwrap_or_default();
    let mut sentence = format!("{path}: {came_to}{interval}, expected {}", wanted(&figure.unit, &figure.expected));
    if !figure.as_expected {
        let seed = figure.seed.as_ref();
        let seeds = counted(seeds + missing, "seed");
        sentence += &match (figure.off, seed) {
            (0, None) => String::new(),
            (0, Some(seed)) => format!("; see seed {seed}"),
            (off, Some(seed)) => format!("; not so in {off} of {seeds} (first: seed {seed})"),
            (off, None) => format!("; not so in {off} of {seeds}"),
        };
        if *missing > 0 && !figure.expected.never {
            sentence += &format!("; there is none in {missing} of {seeds}");
        }
    }
    sentence
}

fn wanted(unit: &str, wanted: &Wanted) -> String {
    let show = |value| shown(unit, value);
    match *wanted {
        Wanted { never: true, .. } => "never".to_owned(),
        Wanted { is: Some(is), within: None | Some(0), .. } => show(is),
        Wanted { is: Some(is), within: Some(within), .. } => format!("{} ± {}", show(is), show(within)),
        Wanted { min: Some(min), max: Some(max), .. } => format!("{} to {}", show(min), show(max)),
        Wanted { min: Some(min), .. } => format!("at least {}", show(min)),
        Wanted { max: Some(max), .. } => format!("at most {}", show(max)),
        Wanted { .. } => "at some time".to_owned(),
    }
}

/// A value in the unit that a person reads, exactly.
pub(crate) fn shown(unit: &str, value: i64) -> String {
    match unit {
        "ns" => decimal(value, 1_000_000_000, " s"),
        "ppm" => decimal(value, 10_000, " %"),
        _ => value.to_string(),
    }
}

/// A whole number of such parts as a decimal fraction, without zeros at its end.
fn decimal(value: i64, parts: u64, unit: &str) -> String {
    let sign = if value < 0 { "-" } else { "" };
    let (whole, rest) = (value.unsigned_abs() / parts, value.unsigned_abs() % parts);
    let digits = parts.ilog10() as usize;
    let rest = format!("{rest:0digits$}");
    let rest = rest.trim_end_matches('0');
    let point = if rest.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{rest}{unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(unit: &str, expected: Wanted, values: &[i64]) -> FigureReport {
        FigureReport {
            unit: unit.to_owned(),
            expected,
            seen: Seen {
                seeds: values.len() as u64,
                missing: 0,
                min: values.iter().min().copied(),
                max: values.iter().max().copied(),
                total: values.iter().sum::<i64>().to_string(),
                value: None,
                interval: None,
            },
            as_expected: true,
            off: 0,
            seed: None,
        }
    }

    const NEAR: Wanted =
        Wanted { is: Some(7_792_000_000), within: Some(3_000_000), min: None, max: None, never: false };
    const NEVER: Wanted = Wanted { is: None, within: None, min: None, max: None, never: true };

    #[test]
    fn what_is_seen_of_every_seed_is_told_from_the_least_to_the_most() {
        let overlap = figure("ns", NEAR, &[7_792_000_000, 7_791_000_500, 7_794_100_000]);
        assert_eq!(
            sentence("measure.grant-overlap.each", &overlap),
            "measure.grant-overlap.each: 7.7910005 s to 7.7941 s, expected 7.792 s ± 0.003 s"
        );
        assert!(sentence("x", &figure("ns", NEAR, &[5, 5])).starts_with("x: 0.000000005 s, expected"));
        assert_eq!(sentence("reach.A.granted", &figure("ns", NEVER, &[])), "reach.A.granted: never, expected never");
    }

    #[test]
    fn a_statistic_is_told_alone_and_a_share_with_its_interval() {
        let mut total = figure("count", Wanted { is: Some(4), ..Wanted::default() }, &[1, 3]);
        total.seen.value = Some(4);
        assert_eq!(sentence("measure.effects.total", &total), "measure.effects.total: 4, expected 4");
        let mut share = figure("ppm", Wanted { min: Some(200_000), max: Some(500_000), ..Wanted::default() }, &[]);
        (share.seen.value, share.seen.interval) = (Some(312_000), Some([284_049, 341_390]));
        assert_eq!(
            sentence("share.no-lost-update", &share),
            "share.no-lost-update: 31.2 % (95 % interval: 28.4049 % to 34.139 %), expected 20 % to 50 %"
        );
    }

    #[test]
    fn what_is_not_as_expected_says_where_to_look() {
        let mut each = figure("count", Wanted { max: Some(1), ..Wanted::default() }, &[0, 5, 7]);
        (each.as_expected, each.off, each.seed) = (false, 2, Some("1".to_owned()));
        assert_eq!(sentence("e", &each), "e: 0 to 7, expected at most 1; not so in 2 of 3 seeds (first: seed 1)");
        let mut most = figure("count", Wanted { max: Some(1), ..Wanted::default() }, &[0, 5, 7]);
        (most.as_expected, most.seen.value, most.seed) = (false, Some(7), Some("2".to_owned()));
        assert_eq!(sentence("m", &most), "m: 7, expected at most 1; see seed 2");
        let mut holed = figure("count", Wanted { min: Some(1), ..Wanted::default() }, &[1]);
        (holed.as_expected, holed.seen.missing) = (false, 2);
        assert_eq!(sentence("h", &holed), "h: 1, expected at least 1; there is none in 2 of 3 seeds");
    }

    #[test]
    fn values_are_shown_exactly_and_shortly() {
        let shown = |unit, values: &[i64]| values.iter().map(|value| shown(unit, *value)).collect::<Vec<_>>();
        assert_eq!(shown("ns", &[0, 1, -1_500_000, 10_000_000_000]), ["0 s", "0.000000001 s", "-0.0015 s", "10 s"]);
        assert_eq!(shown("ppm", &[0, 1, 325_000, 1_000_000]), ["0 %", "0.0001 %", "32.5 %", "100 %"]);
        assert_eq!(shown("count", &[-3, 12]), ["-3", "12"]);
    }
}
