//! Durations, spans, rates, counts.

use host::{Duration, Ppm, Span};
use models::script::Step;

use super::*;
use crate::cell::What;

/// A file in which one client sleeps for `span`.
fn sleeping(span: &str) -> String {
    format!("{HEAD}lock = \"redis\"\n[client.A]\ndo = [{{ sleep = {span} }}]\n")
}

fn slept(span: &str) -> Span {
    match cell(&sleeping(span)).clients[0].script.threads[0].as_slice() {
        [Step::Sleep(span)] => *span,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_duration_is_a_whole_number_and_a_unit() {
    for (text, nanos) in [
        ("7ns", 7),
        ("7us", 7_000),
        ("7ms", 7_000_000),
        ("7s", 7_000_000_000),
        ("7min", 420_000_000_000),
        ("7h", 25_200_000_000_000),
        ("0s", 0),
    ] {
        assert_eq!(slept(&format!("{text:?}")), Span::Fixed(Duration::from_nanos(nanos)), "{text}");
    }
}

#[test]
fn what_is_not_a_duration_is_refused_with_the_reason() {
    for (text, message) in [
        ("15sec", "duration `15sec` has an unknown unit `sec`; units are ns, us, ms, s, min, h"),
        ("15", "duration `15` has no unit; units are ns, us, ms, s, min, h"),
        ("1.5s", "duration `1.5s` is no whole number: write `1500ms`"),
        ("0.1234567891s", "duration `0.1234567891s` is no whole number"),
        ("1.5", "duration `1.5` is no whole number"),
        ("2.25h", "duration `2.25h` is no whole number: write `8100s`"),
        ("1.s", "duration `1.s` is no whole number: write `1s`"),
        ("1m", "duration `1m` has an unknown unit `m`: a minute is `min`, a millisecond `ms`"),
        ("15 s", "duration `15 s` has an unknown unit ` s`; units are ns, us, ms, s, min, h"),
        ("soon", "`soon` is not a duration: one whole number and one unit, as in \"1500ms\""),
        ("", "`` is not a duration: one whole number and one unit, as in \"1500ms\""),
        ("-5s", "duration `-5s` has a sign; only clock steps and offsets have one"),
        ("+5s", "duration `+5s` has a sign; only clock steps and offsets have one"),
        ("99999999999999h", "duration `99999999999999h` is longer than a hundred years"),
        ("99999999999999999999ns", "duration `99999999999999999999ns` is longer than a hundred years"),
        ("876601h", "duration `876601h` is longer than a hundred years"),
    ] {
        refuse(&sleeping(&format!("«{text:?}»")), message);
    }
    assert_eq!(slept("\"876600h\""), Span::Fixed(Duration::from_secs(876_600 * 3_600)));
}

#[test]
fn a_duration_is_a_string() {
    refuse(&sleeping("«5»"), "a duration is a string, or a table from which it is drawn, not an integer");
    refuse(&top("lock = \"redis\"\nttl = «10»"), "a duration is a string such as \"1500ms\", not an integer");
    refuse(&top("lock = \"redis\"\nttl = «1.5»"), "a duration is a string such as \"1500ms\", not a float");
    refuse(&top("lock = \"redis\"\nttl = «1979-05-27»"), "a duration is a string such as \"1500ms\", not a date");
}

#[test]
fn a_spent_duration_may_be_drawn() {
    let ms = Duration::from_millis;
    assert_eq!(slept("{ from = \"1ms\", to = \"2ms\" }"), Span::Uniform { from: ms(1), to: ms(2) });
    assert_eq!(slept("{ mean = \"5ms\" }"), Span::Exponential { mean: ms(5) });
    assert_eq!(
        slept("{ pareto = { min = \"20ms\", alpha = \"1.2\", cap = \"60s\" } }"),
        Span::Pareto { min: ms(20), alpha_milli: 1_200, cap: ms(60_000) }
    );
    assert_eq!(
        slept("{ pareto = { min = \"1ms\", alpha = \"3\", cap = \"1ms\" } }"),
        Span::Pareto { min: ms(1), alpha_milli: 3_000, cap: ms(1) }
    );
}

#[test]
fn a_distribution_that_makes_no_sense_is_refused() {
    refuse(&sleeping("«{ from = \"2ms\", to = \"1ms\" }»"), "`from` (2ms) is after `to` (1ms)");
    refuse(&sleeping("«{ from = \"2ms\" }»"), "missing `to`");
    refuse(&sleeping("{ mean = \"2ms\", «from» = \"1ms\" }"), "unknown field `from`, expected `mean`");
    refuse(&sleeping("{ mean = «\"0s\"» }"), "a duration of zero does nothing here");
    let pareto = |alpha: &str| sleeping(&format!("{{ pareto = {{ min = \"1ms\", alpha = {alpha}, cap = \"2ms\" }} }}"));
    refuse(&pareto("«1.2»"), "`alpha` is a decimal fraction in a string, such as \"1.2\", not a float");
    for alpha in ["0", "0.000", "1.2345", "-1", "", "1.", "99999999999"] {
        let message = format!("`{alpha}` is not a positive decimal fraction with at most three decimals");
        refuse(&pareto(&format!("«{alpha:?}»")), &message);
    }
    refuse(
        &sleeping("{ pareto = «{ min = \"3ms\", alpha = \"1\", cap = \"2ms\" }» }"),
        "`min` (3ms) is after `cap` (2ms)",
    );
}

#[test]
fn only_clock_steps_and_offsets_are_signed() {
    let step = |by: &str| file(&format!("[fault.jump]\nstep-clock = {{ node = \"redis-1\", by = {by} }}\n"));
    assert!(matches!(cell(&step("\"-10s\"")).faults[0].what, What::StepClock { by: -10_000_000_000, .. }));
    assert!(matches!(cell(&step("\"+10s\"")).faults[0].what, What::StepClock { by: 10_000_000_000, .. }));
    assert!(matches!(cell(&step("\"10s\"")).faults[0].what, What::StepClock { by: 10_000_000_000, .. }));
    refuse(&step("«\"-99999999999999h\"»"), "duration `-99999999999999h` is longer than a hundred years");
    refuse(&step("«\"-\"»"), "`-` is not a duration: one whole number and one unit, as in \"1500ms\"");
    let offset = cell(&file("[node.redis-1]\nwall-offset = \"-3s\"\n")).nodes["redis-1"];
    assert_eq!(offset.wall_offset, -3_000_000_000);
}

#[test]
fn a_rate_is_whole_ppm_within_reason() {
    let rate = |ppm: &str| file(&format!("[node.A]\nrate-ppm = {ppm}\n"));
    assert_eq!(cell(&rate("-20_000")).nodes["A"].rate, Ppm::new(-20_000));
    refuse(&rate("«-1_000_000»"), "-1000000 lies outside -999999 to 1000000");
    refuse(&rate("«1_000_001»"), "1000001 lies outside -999999 to 1000000");
    refuse(&rate("«\"5\"»"), "a rate is a whole number of ppm, not a string");
    refuse(&rate("«99999999999999999999»"), "a rate is a whole number of ppm, not an integer beyond 64 bits");
}
