//! Expectations of numbers: `measure`, `first`, `share`, `reach`.

use host::Duration;
use models::script::points;
use spec::Property;

use super::*;
use crate::cell::Milestone;
use crate::figure::{Figure, FigureClaim, Metric, Statistic, Wanted};

/// What is expected to be some number in the one cell of a file with this entry.
fn figures(entry: &str) -> Vec<FigureClaim> {
    cell(&file(&format!("[[expect]]\n{entry}\n"))).figures
}

fn measure(metric: Metric, statistic: Statistic, wanted: Wanted) -> FigureClaim {
    FigureClaim { figure: Figure::Measure(metric, statistic), wanted }
}

const fn between(min: Option<i64>, max: Option<i64>) -> Wanted {
    Wanted::Between { min, max }
}

#[test]
fn a_metric_is_expected_to_have_a_statistic_near_or_between() {
    let entry = "measure.grant-overlap.each = { is = \"7792ms\", within = \"3ms\" }\n\
                 measure.effects = { total.is = 4, mean = { min = 1, max = 2 } }\n\
                 measure.messages.p99.max = 100";
    assert_eq!(
        figures(entry),
        [
            measure(Metric::GrantOverlap, Statistic::Each, Wanted::Near { is: 7_792_000_000, within: 3_000_000 }),
            measure(Metric::Effects, Statistic::Mean, between(Some(1), Some(2))),
            measure(Metric::Effects, Statistic::Total, Wanted::Near { is: 4, within: 0 }),
            measure(Metric::Messages, Statistic::P99, between(None, Some(100))),
        ]
    );
}

#[test]
fn every_metric_and_every_statistic_can_be_expected_something_of() {
    for metric in Metric::ALL {
        for statistic in Statistic::ALL {
            let zero = if metric.unit() == crate::figure::Unit::Time { "\"0s\"" } else { "0" };
            let entry = format!("measure.{}.{}.is = {zero}", metric.name(), statistic.name());
            let claim = measure(metric, statistic, Wanted::Near { is: 0, within: 0 });
            assert_eq!(figures(&entry), [claim]);
        }
    }
}

#[test]
fn only_a_margin_may_lie_below_zero() {
    let least = |metric: &str| format!("measure.{metric}.min.min = «\"-5ms\"»");
    let margin = figures(&least("grant-margin").replace(['«', '»'], ""));
    assert_eq!(margin, [measure(Metric::GrantMargin, Statistic::Min, between(Some(-5_000_000), None))]);
    let refused = |entry: &str, message: &str| refuse(&file(&format!("[[expect]]\n{entry}")), message);
    refused(&least("grant-overlap"), "duration `-5ms` has a sign; only clock steps and offsets have one");
    refused("measure.refused.each.is = «-1»", "-1 lies below zero, and this is counted");
    refused("measure.refused.each.is = «\"1s\"»", "this is counted: a whole number, not a string");
    refused(
        "measure.grant-margin.each = { is = \"1s\", within = «\"-1s\"» }",
        "duration `-1s` has a sign; only clock steps and offsets have one",
    );
}

#[test]
fn a_first_break_and_a_share_are_of_what_may_break() {
    let entry = "broken = [\"effect-order\"]\nbecause = \"so\"\nfirst.effect-order = { max = \"12s\" }\n\
                 share.effect-order = { is = \"32.5%\", within = \"0.0001%\" }";
    assert_eq!(
        figures(entry),
        [
            FigureClaim { figure: Figure::First(Property::EffectOrder), wanted: between(None, Some(12_000_000_000)) },
            FigureClaim {
                figure: Figure::Share(Property::EffectOrder),
                wanted: Wanted::Near { is: 325_000, within: 1 }
            },
        ]
    );
    let holds = refuse(
        &file("[[expect]]\nfirst.«effect-order».is = \"1s\""),
        "`effect-order` holds in this cell: there is no break to tell of",
    );
    assert_eq!(holds.help.as_deref(), Some("say `always`, `broken` or `free` of it"));
    for bad in ["32,5%", "101%", "1.00001%", "-1%", "5", "%", "1.%", ".5%"] {
        let text = file(&format!(
            "[[expect]]\nfree = [\"effect-order\"]\nbecause = \"so\"\nshare.effect-order.min = «{bad:?}»"
        ));
        let message = format!("`{bad}` is no share: 0% to 100%, with at most four decimals, as in \"32.5%\"");
        refuse(&text, &message);
    }
}

#[test]
fn what_breaks_may_be_said_by_another_entry() {
    let figures = figures("first.effect-order.is = \"1s\"\n[[expect]]\nalways = [\"effect-order\"]\nbecause = \"so\"");
    assert_eq!(figures.len(), 1);
}

#[test]
fn milestones_are_reached_at_an_instant_at_some_time_or_never() {
    let entry = "reach = [\n\
                 { client = \"B\", point = \"granted\", nth = 2, min = \"18s\", max = \"18200ms\" },\n\
                 { point = \"released\" },\n\
                 { client = \"A\", point = \"denied\", never = true },\n]";
    let reach = |client: Option<&str>, point, nth, wanted| {
        let milestone = Milestone { client: client.map(str::to_owned), point, nth, plus: Duration::ZERO };
        FigureClaim { figure: Figure::Reach(milestone), wanted }
    };
    assert_eq!(
        figures(entry),
        [
            reach(Some("B"), points::GRANTED, 2, between(Some(18_000_000_000), Some(18_200_000_000))),
            reach(None, points::RELEASED, 1, between(None, None)),
            reach(Some("A"), points::DENIED, 1, Wanted::Never),
        ]
    );
    let paths: Vec<_> = figures(entry).iter().map(|claim| claim.figure.path()).collect();
    assert_eq!(paths, ["reach.B.granted.2", "reach.released", "reach.A.denied"]);
}

#[test]
fn a_milestone_that_cannot_be_reached_is_refused_where_it_stands() {
    let reach = |milestone: &str| file(&format!("[[expect]]\nreach = [{milestone}]"));
    refuse(
        &reach("{ client = «\"C\"», point = \"granted\" }"),
        "this cell has no node `C`; it has: `A`, `B`, `redis-1`, `resource`",
    );
    refuse(
        &reach("{ client = \"A\", point = «\"renewed\"» }"),
        "client `A` never reaches the point `renewed` in this cell",
    );
    refuse(
        &reach("{ point = \"granted\", «plus» = \"1s\" }"),
        "unknown field `plus`, expected one of `client`, `point`, `nth`, `never`, `is`, `within`, `min`, `max`",
    );
    refuse(
        &reach("«{ point = \"granted\", never = true, min = \"1s\" }»"),
        "what never happens has no instant: `never` stands alone",
    );
}

#[test]
fn bounds_that_make_no_sense_are_refused() {
    let refused = |bounds: &str, message: &str| {
        refuse(&file(&format!("[[expect]]\nmeasure.given.each = {bounds}")), message);
    };
    refused("{ «is» = 1, max = 2 }", "a number `is` something, or lies between `min` and `max`");
    refused("{ «within» = 1 }", "`within` says how far off `is` a number may be, and there is no `is`");
    refused("«{ min = 2, max = 1 }»", "no number lies there: `min` is above `max`");
    refused("«{}»", "nothing is expected here: say `is`, `min` or `max`");
    refused("{ «most» = 1 }", "unknown field `most`, expected one of `is`, `within`, `min`, `max`");
    refuse(&file("[[expect]]\nmeasure = «{}»"), "nothing is expected here");
    refuse(&file("[[expect]]\nmeasure.given = «{}»"), "nothing is expected here");
    refuse(&file("[[expect]]\nfirst = «{}»"), "nothing is expected here");
    refused("«3»", "what is expected of a number is a table, not an integer");
}

#[test]
fn unknown_metrics_statistics_and_properties_are_refused() {
    suggest(
        &file("[[expect]]\nmeasure.«grant-overlp».each.is = \"0s\""),
        "unknown field `grant-overlp`",
        "grant-overlap",
    );
    for (entry, meant) in [("measure.given.meen.is = 1", "mean"), ("first.effect-odrer.is = \"1s\"", "effect-order")] {
        let errors = mistakes(&file(&format!("[[expect]]\n{entry}")));
        assert_eq!(errors.errors()[0].help, Some(format!("did you mean `{meant}`?")));
    }
}

#[test]
fn a_figure_is_expected_once_in_a_cell() {
    let text = file("[[expect]]\nmeasure.given.each.min = 1\n[[expect]]\nmeasure.given.«each».max = 2");
    refuse(&text, "something is already expected of `measure.given.each` in this cell");
    let text = file("[[expect]]\nreach = [{ point = \"granted\" }, «{ point = \"granted\", nth = 1 }»]");
    refuse(&text, "something is already expected of `reach.granted` in this cell");
}
