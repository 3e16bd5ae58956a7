//! `bounds`, and what is expected of the properties that need one.

use host::Duration;
use spec::Bounds;

use super::*;

#[test]
fn bounds_are_read_and_have_no_defaults() {
    assert_eq!(cell(&file("")).bounds, Bounds::default());
    let bounds = "[bounds]\nprogress = \"30s\"\ninform = \"500ms\"\nleak = \"10001ms\"\novertakes = 3\n";
    let (progress, inform) = (Some(Duration::from_secs(30)), Some(Duration::from_millis(500)));
    let (leak, overtakes) = (Some(Duration::from_millis(10_001)), Some(3));
    assert_eq!(cell(&file(bounds)).bounds, Bounds { progress, inform, leak, overtakes });
    assert_eq!(cell(&file("[bounds]\novertakes = 0\n")).bounds.overtakes, Some(0));
}

#[test]
fn a_bound_that_no_run_can_pass_is_refused() {
    let table = |entry: &str| file(&format!("[bounds]\n{entry}\n"));
    refuse(&table("progress = «\"60s\"»"), "the run ends after 60s: it can never last for so long");
    refuse(&table("inform = «\"2min\"»"), "the run ends after 60s: it can never last for so long");
    refuse(&table("progress = «\"0s\"»"), "a duration of zero does nothing here");
    refuse(&table("overtakes = «-1»"), "-1 lies outside 0 to 4294967295");
    refuse(
        &table("«overtake» = 1"),
        "unknown field `overtake`, expected one of `progress`, `inform`, `leak`, `overtakes`",
    );
}

#[test]
fn what_a_lease_still_ends_is_no_leak() {
    let leak = |ttl: &str, leak: &str| top(&format!("lock = \"redis\"\n{ttl}\nbounds.leak = {leak}"));
    refuse(&leak("", "«\"10s\"»"), "a lease of 10s may still end what lasts for no longer than that");
    refuse(&leak("ttl = \"30s\"", "«\"20s\"»"), "a lease of 30s may still end what lasts for no longer than that");
    accept(&leak("ttl = \"5s\"", "\"6s\""));
    accept(&leak("ttl = \"none\"", "\"1s\""));
}

#[test]
fn nothing_is_expected_of_a_property_without_its_bound() {
    for (property, key) in
        [("progress", "progress"), ("holder-informed", "inform"), ("no-leak", "leak"), ("fairness", "overtakes")]
    {
        let expect = format!("[[expect]]\nholds = [«\"{property}\"»]\n");
        let error = refuse(&file(&expect), &format!("`{property}` is not judged without its bound"));
        assert_eq!(error.help, Some(format!("say `bounds.{key}`")));
        let value = if key == "overtakes" { "1" } else { "\"20s\"" };
        accept(&file(&format!("[bounds]\n{key} = {value}\n{expect}").replace(['«', '»'], "")));
    }
}

#[test]
fn a_cell_in_which_a_property_is_not_judged_is_no_twin() {
    let matrix = |bounded: &str| {
        file(&format!(
            "[matrix.case]\nbug = {{ bounds.progress = \"5s\" }}\n{bounded}\n\
             [[expect]]\nwhere = {{ case = \"bug\" }}\nalways = [«\"progress\"»]\n"
        ))
    };
    refuse(
        &matrix("fix = { ttl = \"5s\" }"),
        "`progress` breaks here, and no single other option of the matrix makes it hold",
    );
    accept(&matrix("fix = { ttl = \"5s\", bounds.progress = \"5s\" }").replace(['«', '»'], ""));
}
