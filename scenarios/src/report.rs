//! From runs and sweeps to what the reports are written from: names instead of numbers.

use std::ops::Range;

use host::NodeId;
use indexmap::IndexMap;
use models::lock::Lock;
use models::lock::postgres::PgLock;
use reports::figure::Seen;
use reports::trace::{TraceDrawn, TraceEvent, TraceFooter, TraceHeader, attempt_label};
use reports::{
    CellReport, FigureReport, FrontierReport, FrontierWanted, JudgedRun, PropertyReport, Spread, StruckFault,
    SweepReport, hex, wilson,
};
use spec::Property;

use crate::cell::{Cell, Fault, NodeRef, Scenario, When};
use crate::contender::Contender;
use crate::draw;
use crate::figure::{Figure, Wanted};
use crate::frontier::{Frontier, FrontierClaim};
use crate::play::Played;
use crate::run::{Player, Run};
use crate::tally::{FigureTally, Overlaps, PropertyTally, Standing, Tally};

/// The version of the engine: with scenario and seed it makes a run.
pub const ENGINE: &str = env!("CARGO_PKG_VERSION");

/// What came out of a scenario: the cells as they were played, and the frontiers.
#[must_use]
pub fn sweep_report(scenario: &Scenario, cells: Vec<CellReport>, played: &Played) -> SweepReport {
    let frontiers: Vec<_> = played.frontiers.iter().filter_map(|found| frontier(scenario, found)).collect();
    let as_expected = |cell: &CellReport| cell.as_expected;
    SweepReport {
        schema: reports::result::SCHEMA.to_owned(),
        engine: ENGINE.to_owned(),
        scenario: scenario.name.clone(),
        // What was not played cannot have come out as expected.
        as_expected: played.is_complete
            && cells.iter().all(as_expected)
            && frontiers.iter().all(|frontier| frontier.as_expected),
        interrupted: !played.is_complete,
        cells,
        frontiers,
    }
}

fn frontier(scenario: &Scenario, found: &Frontier) -> Option<FrontierReport> {
    let (axis, bisection) = scenario.axes.iter().find_map(|axis| axis.bisection.as_ref().map(|own| (axis, own)))?;
    let cell = &scenario.cells[found.line];
    let others = cell.params.iter().filter(|(name, _)| *name != axis.name);
    let wanted = |claim: &FrontierClaim| FrontierWanted {
        is: claim.is,
        within: claim.within,
        closed_form: claim.closed_form.map(|(form, _)| form.name().to_owned()),
        closed_form_value: claim.closed_form.map(|(_, value)| value),
    };
    Some(FrontierReport {
        axis: axis.name.clone(),
        lock: cell.lock.facts().name.to_owned(),
        params: others.cloned().collect(),
        criterion: bisection.criterion.name().to_owned(),
        unit: bisection.unit.name().to_owned(),
        between: found.between.map(|(below, above)| [below, above]),
        expected: cell.frontier.as_ref().map(wanted),
        as_expected: found.as_expected,
    })
}

/// One cell of a sweep.
#[must_use]
pub fn cell_report(cell: &Cell, lock: &str, tally: &Tally, trace: Option<String>) -> CellReport {
    let property = |property: Property| {
        let tally = tally.properties.get(&property)?;
        let report = PropertyReport {
            broken: tally.broken,
            inconclusive: tally.inconclusive,
            first_seed: tally.first_seed.map(|seed| seed.to_string()),
            expected: tally.expected.name().to_owned(),
            named: cell.expectations.contains_key(&property),
            as_expected: tally.as_expected,
        };
        Some((property.name().to_owned(), report))
    };
    CellReport {
        lock: lock.to_owned(),
        params: cell.params.iter().cloned().collect(),
        seeds: tally.seeds,
        vacuous: tally.vacuous,
        inconclusive: tally.inconclusive,
        ungranted: tally.ungranted,
        as_expected: tally.standing() == Standing::AsExpected,
        standing: tally.standing(),
        properties: Property::ALL.into_iter().filter_map(property).collect(),
        figures: tally.figures.iter().map(|figure| (figure.claim.figure.path(), self::figure(figure, tally))).collect(),
        grant_overlap_ms: spread(&tally.grant_overlap),
        belief_overlap_ms: spread(&tally.belief_overlap),
        assumptions_broken: tally.assumptions_broken.iter().map(|(a, seeds)| (a.name().to_owned(), *seeds)).collect(),
        outside_differs: tally.outside_differs.clone(),
        vacuous_faults: tally.missed_faults.keys().cloned().collect(),
        hash: hex(tally.hash),
        trace,
    }
}

/// One figure of a cell, with the tally that it is part of.
pub(crate) fn figure(figure: &FigureTally, of: &Tally) -> FigureReport {
    let FigureTally { claim, series, value, as_expected } = figure;
    let interval = match claim.figure {
        Figure::Share(property) => {
            let broken = of.properties.get(&property).map_or(0, |tally: &PropertyTally| tally.broken);
            let (least, most) = wilson(broken, of.seeds);
            Some([least, most])
        }
        _ => None,
    };
    let extreme = |extreme: Option<(i64, u64)>| extreme.map(|(value, _)| value);
    FigureReport {
        unit: claim.figure.unit().name().to_owned(),
        expected: match claim.wanted {
            Wanted::Near { is, within } => {
                reports::figure::Wanted { is: Some(is), within: Some(within), ..Default::default() }
            }
            Wanted::Between { min, max } => reports::figure::Wanted { min, max, ..Default::default() },
            Wanted::Never => reports::figure::Wanted { never: true, ..Default::default() },
        },
        seen: Seen {
            seeds: series.seeds,
            missing: series.missing,
            min: extreme(series.min),
            max: extreme(series.max),
            total: series.total.to_string(),
            value: *value,
            interval,
        },
        as_expected: *as_expected,
        off: series.off,
        seed: figure.witness().map(|seed| seed.to_string()),
    }
}

/// How long overlaps were in a cell, for a picture.
#[must_use]
pub fn overlapping(tally: &Tally) -> reports::plot::Overlapping {
    let [grants, beliefs] = [&tally.grant_overlap, &tally.belief_overlap].map(|overlaps| overlaps.lengths().collect());
    reports::plot::Overlapping { grants, beliefs }
}

fn spread(overlaps: &Overlaps) -> Spread {
    Spread { max: overlaps.max_ms(), median: overlaps.median_ms() }
}

/// The whole trace of a recorded run, as the bytes of a `.jsonl` file.
#[must_use]
pub fn trace(scenario: &Scenario, cell: &Cell, lock: &str, set: &[String], run: &Run) -> String {
    let names: Vec<String> = run.history.nodes.iter().map(|node| node.name.to_string()).collect();
    let faults: Vec<String> = cell.faults.iter().map(|fault| fault.name.clone()).collect();
    let header = TraceHeader {
        schema: reports::trace::SCHEMA.to_owned(),
        engine: ENGINE.to_owned(),
        scenario: scenario.name.clone(),
        seed: run.seed.to_string(),
        lock: lock.to_owned(),
        params: cell.params.iter().cloned().collect(),
        set: set.to_vec(),
        nodes: names.clone(),
        faults: faults.clone(),
        drawn: cell.faults.iter().filter_map(|fault| drawn(fault, run.seed)).collect(),
        unit: "ns".to_owned(),
        source: scenario.text.to_string(),
    };
    let name = |node: NodeId| names[node.index()].clone();
    let event = |(seq, record): (usize, &sim::Record)| TraceEvent {
        seq: seq as u64,
        t: record.at.as_nanos(),
        node: name(record.node),
        mono: record.mono.as_nanos(),
        wall: record.wall.as_nanos().to_string(),
        kind: record.kind.name().to_owned(),
        peer: record.peer.map(name),
        message: record.message,
        attempt: record.attempt.map(|attempt| attempt_label(&names[attempt.client().index()], attempt)),
        fault: record.fault.map(|fault| faults[fault].clone()),
        digest: hex(record.digest),
        what: record.text.clone(),
    };
    let events: Vec<TraceEvent> = run.records.iter().enumerate().map(event).collect();
    let footer = TraceFooter::of(run.history.end, run.history.ending, run.hash, &run.judgement);
    reports::trace::write(&header, &events, &footer)
}

/// A drawn fault as that seed has it, if it has it.
fn drawn(fault: &Fault, seed: u64) -> Option<TraceDrawn> {
    let mut placed = fault.is_drawn().then(|| draw::drawn(fault, seed))??;
    let mut nodes = Vec::new();
    placed.what.each_node(&mut |node| {
        if let NodeRef::Named(name) = node {
            nodes.push(name.clone());
        }
    });
    let at = match placed.when {
        When::At(at) | When::Every { at, .. } => Some(host::nanos(at)),
        When::Within { .. } | When::Milestone(_) => None,
    };
    Some(TraceDrawn { fault: placed.name, what: placed.what.name().to_owned(), nodes, at })
}

/// Tells of a run.
pub fn judged<T>(cell: &Cell, contender: &Contender, run: &Run, tell: impl FnOnce(&JudgedRun<'_>) -> T) -> T {
    let faults = struck_faults(cell, &Player::new(cell, contender), run);
    let errors = crate::said::errors(run);
    tell(&JudgedRun {
        history: &run.history,
        judgement: &run.judgement,
        faults: &faults,
        errors: &errors,
        lock: contender.name(),
        enters_again: matches!(cell.lock, Lock::Postgres(PgLock::Advisory(_))),
        resource: cell.resource.guard.name(),
    })
}

/// The strikes of a run, by the names of its faults.
#[must_use]
pub fn struck_faults<'a>(cell: &'a Cell, player: &Player<'_>, run: &Run) -> Vec<StruckFault<'a>> {
    let landed = player.landed_strikes(run);
    let struck = |(strike, landed): (&sim::Strike, bool)| StruckFault {
        name: &cell.faults[strike.fault].name,
        what: cell.faults[strike.fault].what.name(),
        part: cell.faults[strike.fault].what.part(),
        nodes: strike.nodes.clone(),
        from: strike.from,
        until: strike.until,
        landed,
    };
    run.strikes.iter().zip(landed).map(struck).collect()
}

/// The name of a trace's file: `redis-open-0.jsonl`.
#[must_use]
pub fn trace_file_name(cell: &Cell, lock: &str, seed: u64) -> String {
    format!("{}-{seed}.jsonl", trace_file_stem(cell, lock))
}

/// Whether a file of that name is a trace of that cell, of whichever seed.
#[must_use]
pub fn is_trace_of(cell: &Cell, lock: &str, name: &str) -> bool {
    let rest = name.strip_prefix(&trace_file_stem(cell, lock)).and_then(|rest| rest.strip_prefix('-'));
    let seed = rest.and_then(|rest| rest.strip_suffix(".jsonl"));
    seed.is_some_and(|seed| !seed.is_empty() && seed.bytes().all(|byte| byte.is_ascii_digit()))
}

fn trace_file_stem(cell: &Cell, lock: &str) -> String {
    let mut name = lock.to_owned();
    for (_, option) in &cell.params {
        name.push('-');
        name.push_str(option);
    }
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect()
}

/// The command that plays some seeds of a cell again, or of a line of cells. `scenario` is what the user
/// called it.
#[must_use]
pub fn reproduce(
    scenario: &str,
    lock: &str,
    params: &IndexMap<String, String>,
    set: &[String],
    seeds: &Range<u64>,
) -> String {
    let mut line = format!("fencepost scenario {} --lock {}", quoted(scenario), quoted(lock));
    for (axis, option) in params {
        line.push_str(&format!(" --cell {}", quoted(&format!("{axis}={option}"))));
    }
    for set in set {
        line.push_str(&format!(" --set {}", quoted(set)));
    }
    line.push_str(&format!(" --seeds {}..{}", seeds.start, seeds.end));
    line
}

/// The seeds that show how a cell differs: one that does, or all that were played.
#[must_use]
pub fn telling_seeds(cell: &CellReport, played: &Range<u64>) -> Range<u64> {
    cell.witness().and_then(|seed| seed.parse().ok()).map_or_else(|| played.clone(), only)
}

/// The range of that seed alone. (The last seed there is has no successor; nobody will miss it.)
#[must_use]
pub const fn only(seed: u64) -> Range<u64> {
    seed..seed.saturating_add(1)
}

/// As a shell takes it.
#[must_use]
pub fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::quoted;

    #[test]
    fn arguments_are_quoted_only_if_a_shell_would_change_them() {
        assert_eq!(quoted("fault.gc.for=5s"), "fault.gc.for=5s");
        assert_eq!(quoted("ttl=\"5s\""), "'ttl=\"5s\"'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
