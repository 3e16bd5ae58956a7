use super::*;
use crate::testing::{gc_pause, longest_belief_overlap, without_colours};

/// The table without its colours.
fn plain(report: &SweepReport, width: usize) -> String {
    without_colours(&table(report, width))
}

/// The sweep with a change to its cell at an open resource.
fn changed(change: impl FnOnce(&mut CellReport)) -> SweepReport {
    let mut report = gc_pause();
    change(&mut report.cells[0]);
    report
}

/// A sweep over two locks and three axes.
fn many_cells() -> SweepReport {
    let mut report = gc_pause();
    let two = std::mem::take(&mut report.cells);
    for (lock, held, holder) in [("redis", "linger", "checked"), ("redlock", "dropped", "killed")] {
        for cell in &two {
            let mut cell = CellReport { lock: lock.to_owned(), ..cell.clone() };
            cell.params.insert("held".to_owned(), held.to_owned());
            cell.params.insert("holder".to_owned(), holder.to_owned());
            cell.params.insert("ttl".to_owned(), "10s".to_owned());
            report.cells.push(cell);
        }
    }
    report
}

#[test]
fn a_wide_table_spells_everything_out() {
    assert_eq!(plain(&gc_pause(), 140), include_str!("../../tests/golden/table-140.txt"));
}

#[test]
fn a_table_for_80_columns_breaks_its_headers() {
    assert_eq!(plain(&gc_pause(), 80), include_str!("../../tests/golden/table-80.txt"));
}

#[test]
fn a_table_with_many_axes_still_fits_80_columns() {
    assert_eq!(plain(&many_cells(), 80), include_str!("../../tests/golden/table-80-axes.txt"));
}

#[test]
fn a_table_gives_up_space_before_it_gives_up_how_many_seeds_there_were() {
    let mut report = many_cells();
    assert!(plain(&report, 90).contains(" 1000/1000 ✓ 1000/1000 ✓ "), "{}", plain(&report, 90));
    report.cells[0].seeds = 999;
    assert!(plain(&report, 80).contains("k: broken in k seeds"), "{}", plain(&report, 80));
}

#[test]
fn no_word_is_broken_however_narrow_it_is() {
    for report in [gc_pause(), many_cells()] {
        for width in 40..160 {
            let text = plain(&report, width);
            // In a table, a header takes two lines.
            for part in ["open", "fence_rw", "belief-", "exclusion", "effect-", "order", "no-lost-", "update"] {
                assert!(text.contains(part), "{width} columns:\n{text}");
            }
        }
    }
    let narrow = plain(&gc_pause(), 40);
    assert!(narrow.starts_with("redis\nresource open\n"), "{narrow}");
    assert!(narrow.lines().any(|line| line == "  no-lost-update     1000/1000 ✓"), "{narrow}");
}

#[test]
fn no_table_is_wider_than_it_may_be() {
    for report in [gc_pause(), many_cells()] {
        for width in 40..160 {
            let text = plain(&report, width);
            // The legend is one line, which a terminal may break.
            let rows = text.lines().take(text.lines().count() - 1);
            for row in rows {
                assert!(row.chars().count() <= width, "{width} columns:\n{text}");
            }
        }
    }
}

#[test]
fn an_axis_with_one_option_has_no_column() {
    let text = plain(&many_cells(), 140);
    assert!(text.contains("held") && !text.contains("ttl"), "{text}");
}

#[test]
fn what_is_not_as_expected_is_marked_and_noted() {
    let report = changed(|cell| {
        cell.as_expected = false;
        let property = &mut cell.properties["rightful-accepted"];
        (property.broken, property.as_expected, property.first_seed) = (3, false, Some("17".to_owned()));
    });
    assert!(plain(&report, 140).contains("broken 3/1000 ✗"), "{}", plain(&report, 140));
    assert!(plain(&report, 80).contains("3/1000 ✗") && plain(&report, 80).contains("✗ not as expected"));
    let note = "redis, open: rightful-accepted is broken in 3 of 1000 seeds (first: seed 17), but should hold";
    assert_eq!(notes(&report), [note]);
    assert_eq!(summary(&report), "as expected: 1 of 2 cells, 1000 seeds each");
}

#[test]
fn a_property_that_should_break_and_does_not_is_noted_too() {
    let report = changed(|cell| {
        let property = &mut cell.properties["effect-order"];
        (property.broken, property.as_expected, property.first_seed) = (0, false, None);
    });
    let note = "redis, open: effect-order is broken in 0 of 1000 seeds, but should be in every one";
    assert_eq!(notes(&report), [note]);
    assert!(plain(&report, 140).contains("holds ✗"));
}

#[test]
fn a_vacuous_cell_shows_nothing_as_held() {
    let report = changed(|cell| {
        (cell.vacuous, cell.as_expected) = (4, false);
        cell.vacuous_faults = vec!["gc".to_owned()];
    });
    let row = plain(&report, 140).lines().find(|row| row.contains("open")).map(str::to_owned).expect("it has a row");
    assert!(row.contains("vacuous ?") && !row.contains("holds"), "{row}");
    assert!(row.contains("broken 1000/1000 ✓"), "what is broken was put to the test: {row}");
    assert_eq!(
        notes(&report),
        [
            "redis, open: in 4 of 1000 seeds a fault never landed (gc): what it acts on was not in use, or its moment never came"
        ]
    );
    assert_eq!(summary(&report), "as expected: 1 of 2 cells (1 vacuous), 1000 seeds each");
}

#[test]
fn what_was_undecided_is_not_shown_as_held_and_nothing_else_suffers() {
    let report = changed(|cell| {
        (cell.inconclusive, cell.as_expected) = (5, false);
        cell.properties["rightful-accepted"].inconclusive = 5;
    });
    assert!(plain(&report, 140).contains("inconclusive ?") && plain(&report, 80).contains("inconcl. ?"));
    let row = plain(&report, 140).lines().find(|row| row.contains("open")).map(str::to_owned).expect("it has a row");
    assert!(row.contains("holds ✓"), "{row}");
    assert_eq!(notes(&report), ["redis, open: in 5 of 1000 seeds something could not be decided (rightful-accepted)"]);
    assert_eq!(summary(&report), "as expected: 1 of 2 cells (1 inconclusive), 1000 seeds each");
}

#[test]
fn properties_of_which_nothing_is_to_be_said_are_summed_up() {
    let mut report = gc_pause();
    for cell in &mut report.cells {
        for name in ["grant-exclusion", "effect-order", "rightful-accepted"] {
            cell.properties[name].named = false;
        }
    }
    let text = plain(&report, 140);
    assert!(!text.lines().next().expect("it has a header").contains("grant-exclusion"), "{text}");
    assert!(text.contains("effect-order"), "one that was broken has its column: {text}");
    assert!(text.contains("\nbroken in no seed: grant-exclusion, rightful-accepted\n"), "{text}");
    assert!(plain(&report, 50).contains("\nbroken in no seed: grant-exclusion,\n  rightful-accepted\n"));
}

#[test]
fn a_table_has_a_column_whatever_happened() {
    let mut report = gc_pause();
    for property in report.cells.iter_mut().flat_map(|cell| cell.properties.values_mut()) {
        (property.named, property.broken) = (false, 0);
    }
    let text = plain(&report, 80);
    assert!(text.starts_with("lock    resource   every property\n"), "{text}");
    assert!(text.contains("redis   open       holds ✓\n"), "{text}");
    assert!(text.contains("broken in no seed: grant-exclusion, belief-exclusion, effect-order,\n"), "{text}");
    report.cells[0].vacuous = 1;
    let text = plain(&report, 80);
    assert!(text.contains("redis   open       vacuous ?\n") && text.contains("fence_rw   holds ✓"), "{text}");
}

#[test]
fn a_number_of_a_vacuous_cell_is_not_told_to_be_as_expected() {
    let mut report = gc_pause();
    let cell = &mut report.cells[1];
    cell.figures.insert("measure.belief-overlap.max".to_owned(), longest_belief_overlap());
    cell.vacuous = 1;
    assert_eq!(figures(&report), [""; 0]);
}

#[test]
fn where_no_claim_is_made_there_is_no_mark() {
    let report = changed(|cell| {
        let property = &mut cell.properties["effect-order"];
        (property.broken, property.expected) = (312, "free".to_owned());
    });
    assert!(plain(&report, 140).lines().any(|row| row.contains("broken 312/1000   ")), "{}", plain(&report, 140));
    let legend = "k/n: broken in k of n seeds   ✓ as expected   no mark: no claim\n";
    assert!(plain(&report, 140).ends_with(legend), "{}", plain(&report, 140));
    assert!(!plain(&gc_pause(), 140).contains("no mark"));
}

#[test]
fn colours_say_nothing_that_marks_do_not() {
    let text = table(&gc_pause(), 80);
    assert!(text.contains("\x1b[1m\x1b[32m✓\x1b[0m"), "{text:?}");
}

#[test]
fn the_summary_speaks_of_seeds_as_they_are() {
    let mut report = changed(|cell| cell.seeds = 1);
    assert_eq!(summary(&report), "as expected: 2 of 2 cells, 1001 seeds in all");
    report.cells[0].inconclusive = 1;
    for name in ["no-lost-update", "rightful-accepted"] {
        report.cells[0].properties[name].inconclusive = 1;
    }
    assert_eq!(
        notes(&report),
        ["redis, open: in 1 of 1 seed something could not be decided (no-lost-update, rightful-accepted)"]
    );
    report.cells[0].inconclusive = 0;
    report.cells.truncate(1);
    assert_eq!(summary(&report), "as expected: 1 of 1 cell, 1 seed");
    report.cells.clear();
    assert_eq!(summary(&report), "as expected: 0 of 0 cells, 0 seeds in all");
}

#[test]
fn a_cell_in_which_nobody_was_ever_granted_a_lock_is_told() {
    let mut report = gc_pause();
    assert_eq!(ungranted(&report), [""; 0]);
    (report.cells[0].ungranted, report.cells[1].ungranted) = (1_000, 999);
    assert_eq!(ungranted(&report), [""; 0], "that something is broken speaks for itself");
    report.cells.iter_mut().flat_map(|cell| cell.properties.values_mut()).for_each(|property| property.broken = 0);
    assert_eq!(ungranted(&report), ["redis, open: nothing is broken, but nobody was granted a lock in any seed"]);
}

#[test]
fn an_excuse_that_is_not_the_expected_one_is_said() {
    let mut report = gc_pause();
    report.cells[0].outside_differs = Some("broken outside of [no-step], but the file says outside of []".to_owned());
    let said = notes(&report);
    assert!(said.iter().any(|note| note.contains("broken outside of [no-step]")), "{said:?}");
}

#[test]
fn figures_are_told_where_they_are_as_expected_and_noted_where_they_are_not() {
    let mut report = gc_pause();
    let mut figure = longest_belief_overlap();
    report.cells[1].figures.insert("measure.belief-overlap.max".to_owned(), figure.clone());
    let told = "redis, fence_rw: measure.belief-overlap.max: 0.1105 s, expected at most 0.12 s";
    assert_eq!((figures(&report), notes(&report)), (vec![told.to_owned()], Vec::new()));
    figure.as_expected = false;
    report.cells[1].figures.insert("measure.belief-overlap.max".to_owned(), figure);
    assert_eq!((figures(&report), notes(&report)), (Vec::new(), vec![format!("{told}; see seed 17")]));
}
