//! Expectations.

use spec::{Assumption, Property};

use super::json::{
    Json, any_of, described, list, object, one_key, own_names, pattern, reference, string, truth, whole, words,
};
use super::scripts::place;
use crate::figure::{Metric, Statistic};
use crate::frontier::ClosedForm;

pub(super) fn entry() -> Json {
    let properties = |what: &str| list(what, words("", Property::ALL.map(Property::name)));
    object(
        "What is true in some cells.",
        vec![
            ("where", own_names("In which cells: for each axis a value, a list, or from and to.", Json::Bool(true))),
            ("always", properties("Broken in every seed.")),
            ("broken", properties("Broken in at least one seed.")),
            ("holds", properties("Broken in no seed, as is every property that no entry names.")),
            ("free", properties("No claim is made; say because.")),
            ("because", string("Why no twin repairs it, or why no claim is made.")),
            ("outside", list("What the lock had been promised and did not get.", assumption())),
            ("measure", measure()),
            ("first", of_properties("When a property is first broken.")),
            ("share", of_properties("In how many of the seeds a property is broken.")),
            ("reach", list("When milestones are reached.", reached())),
            ("frontier", frontier()),
        ],
    )
}

/// `is` and `within`, or `min` and `max`.
pub(super) fn bounds() -> Json {
    object("What a number is expected to be.", bound_keys())
}

pub(super) fn criterion() -> Json {
    let names = Metric::ALL.map(Metric::name).into_iter().chain(Property::ALL.map(Property::name));
    words("What the range is searched for: where the metric leaves zero, or the property is broken.", names)
}

fn bound_keys() -> Vec<(&'static str, Json)> {
    let share = || pattern("A share.", "^[0-9]+(\\.[0-9]{1,4})?%$");
    let number = |what: &str| any_of(what, [whole(""), reference("signed-duration"), share()]);
    vec![
        ("is", number("So much,")),
        ("within", number("or at most that much more or less.")),
        ("min", number("At least so much.")),
        ("max", number("At most so much.")),
    ]
}

fn assumption() -> Json {
    words("", Assumption::ALL.map(Assumption::name))
}

fn measure() -> Json {
    let metric = |metric: Metric| {
        let statistics = Statistic::ALL.map(|statistic| (statistic.name(), reference("bounds")));
        (metric.name(), object("", statistics.to_vec()))
    };
    object("What is counted or timed.", Metric::ALL.map(metric).to_vec())
}

fn of_properties(what: &str) -> Json {
    object(what, Property::ALL.map(|property| (property.name(), reference("bounds"))).to_vec())
}

fn reached() -> Json {
    let never = ("never", truth("It never is."));
    object("", [place(), vec![never], bound_keys()].concat())
}

fn frontier() -> Json {
    let number = |what: &str| any_of(what, [whole(""), reference("signed-duration")]);
    let after = || object("", vec![("after", described("So long after the lease began.", reference("duration")))]);
    let form = |name: &'static str| (name, if name == "lease-drift" { object("", Vec::new()) } else { after() });
    let forms = [words("", ClosedForm::NAMES), one_key("", ClosedForm::NAMES.map(form).to_vec())];
    object(
        "Where what an axis is searched for turns.",
        vec![
            ("axis", string("Which axis.")),
            ("is", number("It turns here,")),
            ("within", number("or at most that far off.")),
            ("closed-form", any_of("The arithmetic that says where.", forms)),
        ],
    )
}
