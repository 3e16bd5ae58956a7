//! Where something turns along an axis that was searched.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::figure::shown;

/// Where a criterion turns, on one line of cells. Numbers are whole, in the axis's unit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrontierReport {
    /// The axis that was searched.
    pub axis: String,
    /// The lock.
    pub lock: String,
    /// The option chosen on each other axis.
    pub params: IndexMap<String, String>,
    /// What turns: a metric (from zero on), or a property (from its first break on).
    pub criterion: String,
    /// In what the axis's values are: `ns` or `count`.
    pub unit: String,
    /// The two neighbours between which it turns, the lower one first; null: it turns nowhere on the axis.
    pub between: Option<[i64; 2]>,
    /// What was expected, if something was.
    pub expected: Option<FrontierWanted>,
    /// Whether that is so.
    pub as_expected: bool,
}

/// What is expected of a frontier.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct FrontierWanted {
    /// Where it lies, if a number is given.
    pub is: Option<i64>,
    /// How far off it may be.
    pub within: i64,
    /// The name of the arithmetic that says where it lies, if one does.
    pub closed_form: Option<String>,
    /// What that says.
    pub closed_form_value: Option<i64>,
}

/// One frontier in one sentence.
#[must_use]
pub fn sentence(frontier: &FrontierReport) -> String {
    let show = |value| shown(&frontier.unit, value);
    let place = frontier.params.values().fold(frontier.lock.clone(), |place, option| format!("{place}, {option}"));
    let (axis, criterion) = (&frontier.axis, &frontier.criterion);
    let turns = match frontier.between {
        Some([below, above]) => format!("turns between {} and {}", show(below), show(above)),
        None => "turns nowhere".to_owned(),
    };
    let expected = frontier.expected.as_ref().map_or_else(String::new, |wanted| {
        let form = wanted.closed_form.as_ref().zip(wanted.closed_form_value);
        let form = form.map(|(name, value)| format!("{} ({name})", show(value)));
        // Two that agree are one.
        let is = wanted.is.filter(|is| Some(*is) != wanted.closed_form_value);
        let all: Vec<_> = is.map(show).into_iter().chain(form).collect();
        format!(", expected {} ± {}", all.join(" and "), show(wanted.within))
    });
    format!("{place}: along {axis}, {criterion} {turns}{expected}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frontier_is_told_with_what_was_expected_of_it() {
        let mut frontier = FrontierReport {
            axis: "node.redis-1.rate-ppm".to_owned(),
            lock: "redis".to_owned(),
            params: IndexMap::from([("resource".to_owned(), "open".to_owned())]),
            criterion: "grant-margin".to_owned(),
            unit: "count".to_owned(),
            between: Some([10_300, 10_350]),
            expected: None,
            as_expected: true,
        };
        let turns = "redis, open: along node.redis-1.rate-ppm, grant-margin turns between 10300 and 10350";
        assert_eq!(sentence(&frontier), turns);
        let form = Some("lease-drift".to_owned());
        let wanted =
            FrontierWanted { is: Some(10_305), within: 200, closed_form: form, closed_form_value: Some(10_306) };
        frontier.expected = Some(wanted);
        assert_eq!(sentence(&frontier), format!("{turns}, expected 10305 and 10306 (lease-drift) ± 200"));
        if let Some(wanted) = &mut frontier.expected {
            wanted.is = Some(10_306);
        }
        assert_eq!(sentence(&frontier), format!("{turns}, expected 10306 (lease-drift) ± 200"));
        (frontier.between, frontier.expected, frontier.unit) = (None, None, "ns".to_owned());
        assert!(sentence(&frontier).ends_with("grant-margin turns nowhere"));
    }
}
