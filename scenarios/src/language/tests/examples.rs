//! The catalogue's files, read as what they say.

use models::guard::Guard;
use spec::Property;

use super::*;
use crate::catalogue;
use crate::cell::{Expected, Held, NodeRef, What};

fn example(name: &str) -> Scenario {
    accept(catalogue::find(name).expect("it is in the catalogue").text)
}

/// What is not expected to hold in a cell.
fn broken(cell: &Cell) -> Vec<&str> {
    let breaks = |expected| matches!(expected, Expected::Always | Expected::Broken);
    let broken = cell.expectations.iter().filter(|(_, claim)| breaks(claim.expected));
    broken.map(|(property, _)| property.name()).collect()
}

#[test]
fn gc_pause_breaks_more_where_the_resource_is_open() {
    let scenario = example("gc-pause");
    assert_eq!(scenario.seeds, 1000);
    assert_eq!(scenario.axes.iter().map(|axis| axis.name.as_str()).collect::<Vec<_>>(), ["lock", "resource"]);
    assert!(scenario.cells.len() > 2, "several locks");
    for of_a_lock in scenario.cells.chunks(2) {
        let [open, fenced] = of_a_lock else { panic!("two cells for each lock") };
        assert_eq!((open.resource.guard, fenced.resource.guard), (Guard::Open, Guard::FenceRw));
        if open.lock.facts().name == "postgres" {
            // What has no lease does not run out.
            assert_eq!((broken(open), broken(fenced)), (vec![], vec![]));
            continue;
        }
        assert_eq!(broken(open), ["belief-exclusion", "effect-order", "no-lost-update"]);
        assert_eq!(broken(fenced), ["belief-exclusion"]);
        assert!(open.expectations[&Property::BeliefExclusion].because.is_some());
    }
    for cell in &scenario.cells {
        assert_eq!(cell.faults[0].what, What::Pause(vec![NodeRef::Holder]));
        assert_eq!(
            cell.clients.iter().map(|client| client.name.as_str()).collect::<Vec<_>>(),
            ["worker-1", "worker-2"]
        );
    }
}

#[test]
fn write_delayed_breaks_whatever_the_holder_does() {
    let scenario = example("write-delayed");
    assert_eq!(scenario.cells.len(), 12);
    for cell in &scenario.cells {
        let option = |axis: &str| cell.params.iter().find(|(name, _)| name == axis).map(|(_, option)| option.as_str());
        let lingers = option("held") == Some("linger");
        let breaks = lingers && option("resource") == Some("open");
        assert_eq!(
            broken(cell),
            if breaks { &["effect-order", "no-lost-update"][..] } else { &[] },
            "{:?}",
            cell.params
        );
        assert_eq!(cell.faults.len(), if option("holder") == Some("killed") { 2 } else { 1 });
        let What::Cut { held, .. } = cell.faults[0].what else { panic!("the first fault is the cut") };
        assert_eq!(held == Held::Linger, lingers);
    }
}
