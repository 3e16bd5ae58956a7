use super::*;
use crate::testing::gc_pause;

fn overlapping() -> [Overlapping; 2] {
    let beliefs = vec![(0, 100), (62, 5), (90, 300), (99, 500), (111, 95)];
    [
        Overlapping { grants: vec![(0, 1_000)], beliefs },
        Overlapping { grants: vec![(0, 1_000)], beliefs: vec![(0, 1_000)] },
    ]
}

#[test]
fn the_same_sweep_gives_the_same_bytes() {
    assert_eq!(svg(&gc_pause(), &overlapping()), include_str!("../../tests/golden/result.svg"));
}

#[test]
fn whoever_is_long_is_shortened_and_nothing_of_xml_comes_through() {
    let mut report = gc_pause();
    report.cells[0].params.insert("note".to_owned(), format!("a<b>&\"{}", "long ".repeat(30)));
    let text = svg(&report, &overlapping());
    assert!(text.contains("a&lt;b&gt;&amp;&quot;") && text.contains('…') && !text.contains("<b>"), "{text}");
}

#[test]
fn colours_and_words_say_what_a_table_says() {
    let mut report = gc_pause();
    report.cells[0].properties["effect-order"].as_expected = false;
    report.cells[1].vacuous = 3;
    let text = svg(&report, &overlapping());
    let fills = |colour: &str| text.matches(&format!("fill=\"{colour}\"")).count();
    assert_eq!(fills("#D94F4F"), 1);
    // Five properties, of which belief-exclusion was broken.
    assert_eq!(text.matches("\nvacuous\n").count(), 4);
}

#[test]
fn overlaps_fall_into_bins_of_one_scale() {
    let overlaps = overlapping();
    let histogram = Histogram::of("beliefs", overlaps.iter().map(|overlap| &overlap.beliefs)).expect("there are some");
    assert_eq!(histogram.longest, 112);
    assert_eq!(histogram.cells[0].iter().sum::<u64>(), 900, "seeds without an overlap are left out");
    assert_eq!((histogram.cells[0][BINS - 1], histogram.cells[1]), (95, [0; BINS]));
    assert!(Histogram::of("promises", overlaps.iter().map(|overlap| &overlap.grants)).is_none());
}

#[test]
fn parts_are_rounded_and_lengths_are_told_with_their_thousands() {
    assert_eq!([part(120, 1, 1_000), part(120, 5, 1_000), part(120, 1_000, 1_000), part(120, 0, 0)], [0, 1, 120, 0]);
    assert_eq!([shown(0), shown(9_999), shown(12_500), shown(1_234_567)], ["0", "9999", "12 500", "1 234 567"]);
}

#[test]
fn a_picture_of_nothing_is_one() {
    let mut report = gc_pause();
    report.cells.clear();
    report.interrupted = true;
    let text = svg(&report, &[]);
    assert!(text.contains("nothing was played") && text.contains("Interrupted"));
}
